/* A `seen` filter with what makes it safe: bits in memory, a journal on disk.
 *
 * Every hash that is added is journalled, unless the recent cache knows that the blocks of the same
 * day hold it already; the filter never decides that, because its false positives would be lost at
 * the next rebuild. Hashes wait in a ring until the commit that writes them with the positions:
 *
 *     ring   head ......... saving ......... tail
 *            |  in flight   |   since then   |         head moves when a commit has succeeded
 *
 * Lines are met in chunks of FILTER_CHUNK adds, counted from the filter's start and not from a
 * batch's: the rate that corrects `new` is taken at their borders, so answers do not depend on
 * batch sizes. Callers hold the store's lock, but where it says otherwise. Nothing here allocates
 * after _new. */
#ifndef STORE_SEEN_H
#define STORE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keys/plan.h"
#include "sketch/bloom.h"
#include "store/day.h"
#include "store/db.h"

#define FILTER_CHUNK 64
#define FILTER_RING ((uint32_t) 1 << 16)   /* hashes between two commits; more go to the spill */
#define FILTER_RECENT ((uint32_t) 1 << 16) /* hashes that the recent cache remembers */
#define FILTER_CHUNKS_MAX (BATCH_LINES / FILTER_CHUNK + 2)

struct filter {
    const struct metric *metric;
    unsigned series; /* its metric's number */
    int64_t series_id;
    struct sk_bloom *bloom;
    struct sk_bloom *next; /* under construction: adds go to both */
    struct db_filter row;  /* generation, geometry, since: what is committed of it */
    bool dirty;            /* the row has changed */
    bool degraded;         /* over target, but memory_limit forbids a larger one */
    bool rebuild_wanted;
    uint64_t journal_entries; /* committed, in the spill and in the ring */

    uint64_t adds; /* lines met since the start */
    struct new_weight weight;

    uint64_t *ring_hash;
    int32_t *ring_day;
    uint64_t head, tail; /* count up for ever; a place is the count modulo FILTER_RING */
    struct filter_recent {
        uint64_t hash;
        int32_t day;
        bool used;
    } * recent;

    /* Of the batch being applied: 0 for a line whose key was known (or absent), else 1 + its chunk.
     */
    uint8_t *met;
    struct new_weight weights[FILTER_CHUNKS_MAX];
    unsigned n_weights;

    /* In flight: the committer's, no lock. */
    uint64_t saving_tail;
    struct db_filter saving_row;
    bool saving;
};

/* Geometry from row where row->capacity is not 0, else from the metric. 0, -ENOMEM, -EINVAL,
 * -EOVERFLOW */
int filter_new(struct filter **ret, const struct metric *metric, unsigned series, int64_t series_id,
               const struct db_filter *row);
struct filter *filter_free(struct filter *f);

/* Forgets the marks of the last batch. */
void filter_begin(struct filter *f, uint32_t n_lines);
/* Adds the keys of lines [from, n) of a batch's series, in order; stops behind the chunk that makes
 * a rebuild necessary if stop_for_rebuild. Returns the next line's index. There must be room for as
 * many hashes in the ring. */
uint32_t filter_add(struct filter *f, const struct batch *batch, uint32_t from,
                    bool stop_for_rebuild);
uint32_t filter_ring_room(const struct filter *f);
/* The weight of a line whose key was new, else NULL. */
const struct new_weight *filter_met(const struct filter *f, uint32_t line);

bool filter_seen(const struct filter *f, uint64_t hash);
double filter_rate(const struct filter *f); /* of "seen" answers; 1 when saturated */
/* Over target and over the capacity of this generation. */
bool filter_over(const struct filter *f);
/* The day has moved: the recent cache is emptied, `since` follows what is kept. */
void filter_day(struct filter *f, int32_t today);
int32_t filter_first_day(const struct filter *f, int32_t today); /* the oldest that `keep` keeps */
size_t filter_bytes(const struct filter *f);

/* ---- the committer, no lock: the places between head and `tail` do not change ---- */

/* Writes the hashes [head, tail) as blocks by day. */
int filter_write_ring(struct filter *f, uint64_t tail, enum db_place place, struct db *db);

#endif
