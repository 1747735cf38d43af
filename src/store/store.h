/* Summaries by day, and the only lock that data passes.
 *
 * Writers (the ingest loop) apply batches with the positions that hold after them; the committer
 * thread moves the disk from (S1,P1) to (S2,P2) in one SQLite transaction; readers (one thread each
 * with a struct query of its own, query.h) copy under the lock and calculate outside. The lock is
 * held for a batch or a copy, never during I/O, JSON or allocation.
 *
 * The database belongs to the committer thread alone: who needs a record of a day that is not open
 * asks it (store_call) and waits. Without a directory (report) there is no committer: the database
 * is a temporary file of SQLite's and calls run on the caller's thread.
 *
 * At most STORE_DAYS_OPEN days are open for writing; for one more the least recently written is put
 * into the spill, an unlinked temporary database, whose rows the next commit takes over in its
 * transaction. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "keys/books.h"
#include "keys/metric.h"
#include "keys/plan.h"
#include "sketch/hash.h"

#define STORE_DAYS_OPEN 8
#define STORE_SCHEMA_VERSION 1
#define STORE_INPUTS_MAX 64
#define STORE_DAY_NONE INT32_MIN

struct store; /* opaque */

struct store_options {
    const char *directory;         /* NULL: a temporary database, no committer, nothing kept */
    const struct metrics *metrics; /* borrowed for the store's life */
    const char
        *definition_suffix; /* client rule, prefixes, zone: part of every series' definition */
    const char *zone;       /* resolved zone name, kept and compared */
    const struct sk_secret *secret;
    int64_t commit_every_ns;
    uint32_t retention_days; /* 0: forever */
    int32_t today;
    const char *const *inputs; /* names, for books and positions */
    unsigned n_inputs;
    const char *const *ignore_texts; /* of the ignore rules, in the order of struct books' ignored,
                                        so that kept counts find their rule again when the list has
                                        changed; NULL: by number */
    unsigned n_ignore;
    const struct clock *clock; /* for the time of a filter's rebuild; NULL: the system's */
};

/* Opens or makes the database, restores filters from their journals, starts the committer.
 * 0; -EBUSY: another daemon (the sentence names it and its pid); -EKEYREJECTED: foreign or lost
 * key; -EPROTONOSUPPORT: newer schema; -EACCES, -ENOSPC, -EROFS, ...: cannot create; -ENOMEM. A
 * damaged database is set aside, said in *ret_note (may stay empty) and started anew. */
int store_open(struct store **ret, const struct store_options *options, struct err *ret_note,
               struct err *e);
/* Commits what is dirty and closes; queries must be freed before. The last commit's result; a delta
 * that is half applied is not committed (-EAGAIN), the disk stays before it. */
int store_close(struct store *s);

/* ---- writing: one thread (the ingest loop) ---- */

struct store_position {
    uint64_t id;
    const uint8_t *bytes;
    uint32_t n; /* 0: forget */
};

struct store_delta {
    unsigned input;            /* index of the input */
    const struct batch *batch; /* NULL: none */
    const struct books *books; /* what to add; NULL: nothing */
    const struct store_position *positions;
    unsigned n_positions;
    int64_t last_line_s; /* newest instant among the lines; 0: none */
    bool more; /* the positions of these lines come with a later delta: nothing is committed before
                  it (nor by store_close, when it never comes: then the disk stays at the last
                  commit) */
};

/* Applies all of it in one step: a commit sees either nothing or everything of a delta (days that
 * have to be opened are opened before). 0; -ENOMEM, -EAGAIN (the store is behind: no room on any
 * disk): wait and try the same delta again, with the batch as it is: a part of one with many days
 * may be in memory already, which no commit takes before the rest. Without a directory: -ENOSPC,
 * -EIO of the temporary file. -EINVAL: too many lines, no such input, or not the delta that was
 * begun. */
int store_apply(struct store *s, const struct store_delta *delta);

/* The clock's day has moved: retention, expiry of filters, the day's change. */
void store_day(struct store *s, int32_t today);
/* Commits now and waits. 0 or the error; -EAGAIN: a delta is half applied (above). */
int store_commit(struct store *s);

/* ---- restoring, before the first apply ---- */

/* Calls visit for each stored position of an input. */
int store_positions(struct store *s, unsigned input,
                    int (*visit)(void *arg, uint64_t id, const uint8_t *bytes, uint32_t n),
                    void *arg);
bool store_is_new(const struct store *s); /* the database was made by this start */

/* ---- what the inputs show in /status; the ingest loop publishes, readers copy ---- */

struct input_file_status {
    char path[512];
    uint64_t offset, size, lag_bytes;
};

struct rejected_sample {
    char line[512];             /* escaped, valid UTF-8, cut */
    const char *reason, *field; /* static texts */
    uint32_t column;
};
#define REJECTED_SAMPLES 10

struct input_status {
    const char *kind; /* "files", "udp", "stdin" */
    uint64_t lag_bytes;
    uint64_t received, kernel_drops, ring_drops, disallowed, truncated;
    uint64_t resets, copies, retired, lost_files;
    unsigned globs_empty, unreadable;
    bool catching_up;
    bool gone; /* all of it: no file matches, the socket is closed */
    unsigned n_samples;
    struct rejected_sample samples[REJECTED_SAMPLES]; /* newest first */
};

/* Copies status and the file rows. 0 or -ENOMEM. */
int store_publish_input(struct store *s, unsigned input, const struct input_status *status,
                        const struct input_file_status *files, unsigned n_files);

/* ---- state of the store, for /status, /metrics, /readyz ---- */

struct store_state {
    uint64_t commits, commit_failures;
    int64_t last_commit_ns;     /* monotonic; 0: never */
    int64_t commit_duration_ns; /* the last one */
    int64_t dirty_since_ns;     /* monotonic; 0: clean */
    int last_error;             /* of the last commit: 0 or -errno */
    uint64_t database_bytes;
    uint64_t lock_held_max_ns;
    unsigned days_open;
    size_t memory_bytes; /* sketches, filters, buffers */
    bool restored;       /* filters are rebuilt; false only while starting */
};
void store_state(struct store *s, struct store_state *ret);
/* Memory that the configuration costs at most, computed, not measured. */
size_t store_memory_bound(const struct store_options *options);

#endif
