/* One line's whole way, from a block of bytes to a batch for the store: read ingest.c first.
 *
 * struct ingest_rule says how the lines of one input are understood; it is constant and shared.
 * struct ingest_worker is one thread's parser, planner and batch. Nothing is allocated per line.
 * The same block gives the same batch and the same sheet on every thread. */
#ifndef INGEST_H
#define INGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "input/block.h"
#include "keys/plan.h"
#include "parse/format.h"
#include "parse/parser.h"
#include "store/store.h"

struct ingest_rule {
    const char *input;                   /* the input's name; FIELD_INPUT of its records */
    const struct format *const *formats; /* tried in order */
    unsigned n_formats;
    bool day_of_log; /* timezone: log */
    const struct plan *plan;
};

/* What became of the lines of a block: the books, and what people want to see of the refused ones.
 */
struct ingest_sheet {
    struct books books;
    int64_t last_line_s;        /* newest instant of a counted line; 0: none */
    enum reject first_reject;   /* of the first refused line, REJECT_NONE: none was */
    uint64_t first_reject_line; /* its number in its file, 0: not known */
    unsigned n_samples;         /* the last refused lines, oldest first */
    struct rejected_sample samples[REJECTED_SAMPLES];
};

struct ingest_worker;

int ingest_worker_new(struct ingest_worker **ret,
                      const struct ingest_rule *rule); /* 0, -EINVAL, -ENOMEM */
struct ingest_worker *ingest_worker_free(struct ingest_worker *w);

/* What is left of a block while it is read. */
struct ingest_rest {
    struct slice lines;
    uint64_t line_number;   /* of the next line; 0: not known */
    uint64_t dropped_bytes; /* consumed beyond the lines */
    uint32_t too_long;
};
void ingest_begin(struct ingest_rest *rest, const struct block *b);

/* Empties the worker's batch and fills it from the rest. true: the rest is read; false: the batch
 * is full and has to be applied before the next call. Adds to the sheet (zeroed by the caller at
 * the start of what he wants to see summed). */
bool ingest_fill(struct ingest_worker *w, struct ingest_rest *rest, struct slice host,
                 const struct day_window *window, struct ingest_sheet *sheet);
const struct batch *ingest_batch(const struct ingest_worker *w);

/* Formats for a rule: compiled from specs; `auto` is detected on the head of the input (at most
 * DETECT_LINES lines). ret_formats has room for n_specs. 0; -EINVAL with a sentence; -ENOENT: auto,
 * and no preset fits at least half of the lines; -ENOMEM. */
int ingest_formats(const struct format_spec *specs, unsigned n_specs, struct slice head,
                   struct format **ret_formats, struct err *e);

#endif
