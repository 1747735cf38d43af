/* Shared by report*.c alone.
 *
 * report.c          options, order of the work, exit codes
 * report_files.c    which FILEs are read, and in which order
 * report_read.c     blocks -> batches -> store, with parse workers
 * report_json.c, report_table.c    the answers */
#ifndef CLI_REPORT_INT_H
#define CLI_REPORT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/lines.h"
#include "cli/progress.h"
#include "ingest.h"
#include "input/reader.h"
#include "keys/plan.h"
#include "store/query.h"
#include "store/store.h"

#define REPORT_THREADS_MAX 64
#define REPORT_WARNINGS_MAX 100
/* The days that a date can name: years 0 to 9999. */
#define REPORT_DAY_FIRST (-719528)
#define REPORT_DAY_EPOCH 0 /* lines before 1970 are late unless --from says more */
#define REPORT_DAY_LAST 2932896

struct report_options {
    struct lines_options lines;
    const char *from, *to, *hash_key;
    unsigned long top; /* 0: not said */
    unsigned long threads;
    bool is_json, no_progress;
    struct clock clock;
    char **files; /* borrowed from argv */
    unsigned n_files;
};

struct report_file {
    const char *path;
    bool is_regular;
    struct reader *reader; /* kept open for what cannot be opened twice; NULL else */
    uint64_t size_bytes;
    int64_t first_s; /* of its first counted line; INT64_MAX: none */
    unsigned given;  /* its place among the arguments */
    unsigned rule;   /* index into the report's rules */
    bool has_format; /* its first lines tell the format (auto) */
    char head[512];  /* its first bytes, unpacked: files that differ here differ */
    size_t head_bytes;
};

struct report {
    const struct report_options *o;
    struct lines lines;
    struct plan *plan;
    struct store *store;
    struct query *query;
    /* One for each format that `auto` has found, one for all formats else. */
    struct ingest_rule rules[CONFIG_FORMATS_MAX];
    unsigned n_rules;
    struct day_window window;
    struct report_file *files; /* those that are read, in order */
    unsigned n_files;
    uint64_t all_bytes;               /* of them; 0: not known */
    bool a_file_failed, a_file_unfit; /* not read; of no known format */
    struct books books;
    enum reject first_reject;
    uint64_t first_reject_line;
    const char *first_reject_file;
    char *warnings[REPORT_WARNINGS_MAX];
    unsigned n_warnings;
    /* Series that only the table asks for; -1: none. */
    int bots, bot_hits, hosts;
    struct progress progress;
    int64_t elapsed_ns;
};

/* Says it on standard error and keeps it for the answer. */
void report_warn(struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Opens what can be opened; FILEs that cannot be read are said and set a_file_failed. The rest is
 * in the order in which it is read once report_files_sort was called (which needs the plan). 0 or
 * -ENOMEM. */
int report_files_open(struct report *r);
/* `auto`: the format of each file; those that none fits are said, dropped, and set a_file_unfit. 0
 * or -errno with a sentence. */
int report_files_detect(struct report *r, struct err *e);
int report_files_sort(struct report *r);
void report_files_close(struct report *r);

/* The first and the last day of the lines of all files, whatever the window says. false: none, or a
 * file cannot be read twice. */
bool report_files_days(struct report *r, int32_t *ret_first, int32_t *ret_last);

/* Reads all files into the store. 0; -errno, said. A damaged file sets a_file_failed. */
int report_read(struct report *r);

/* Writes to standard output (output_end says when that failed). 0 or -errno. */
int report_json(struct report *r);
int report_table(struct report *r);

/* The days with traffic, ascending. 0 or -errno; the caller frees *ret. */
int report_days(struct report *r, int32_t **ret, unsigned *ret_n);

#endif
