/* Questions to the store. A struct query is one thread's (the HTTP thread, the report): it holds
 * the cache of closed days (query_cache) and scratch for unions. Answers are plain structs;
 * answer.h makes JSON. */
#ifndef STORE_QUERY_H
#define STORE_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "sketch/distinct.h"
#include "sketch/estimate.h"
#include "sketch/topk.h"
#include "store/store.h"

struct query; /* opaque */

int query_new(struct query **ret, struct store *s, size_t cache_bytes);
struct query *query_free(struct query *q);

const struct metrics *query_metrics(const struct query *q);

/* Days that hold records of a series (index as in metrics; QUERY_TRAFFIC: any line), ascending,
 * within [from, to]; at most room; returns how many there are in all, or -errno. */
#define QUERY_TRAFFIC (-1)
int query_days(struct query *q, int series, int32_t from, int32_t to, int32_t *ret_days,
               unsigned room);
int32_t query_oldest_kept(const struct query *q); /* by retention, from the store's today */
int32_t query_first_day(struct query *q); /* the first stored day; STORE_DAY_NONE: nothing stored */

/* Exact totals of a day. */
#define STATUS_SLOTS 1001 /* 0..999, then "-" */
struct traffic {
    uint64_t hits, bytes;
    uint64_t status[STATUS_SLOTS];
    bool complete; /* no line of it is known lost, no input was catching up when it was asked */
};
/* 1: there; 0: no record; -errno */
int query_traffic(struct query *q, int32_t day, struct traffic *ret);

/* Keys first met, by the filter with the same key (DESIGN 6, NEW). */
struct new_keys {
    bool known; /* there is such a filter */
    double estimate, low, high;
    int32_t since; /* day from which the filter has watched */
};

struct distinct_answer {
    struct sk_estimate estimate;
    double sum_of_days;
    unsigned days_with_record;
    struct new_keys new_keys;
};
/* Union over [from, to]. A union's estimate lies within [its largest day, the sum of its days]; one
 * non-empty day answers as that day. 0 or -errno. */
int query_distinct(struct query *q, unsigned series, int32_t from, int32_t to,
                   struct distinct_answer *ret);

/* from > to: no day. */
struct day_range {
    int32_t from, to;
};
struct overlap_answer {
    struct sk_estimate side[2]; /* as query_distinct has them */
    struct sk_estimate all;  /* who came on either's days: as query_distinct, where they adjoin */
    struct sk_estimate both; /* on a day of each; at most the smaller side */
    bool reliable;           /* see sk_overlap */
};
/* Who came in both of two ranges of days, which may share days. 0 or -errno. */
int query_overlap(struct query *q, unsigned series, const struct day_range range[2],
                  struct overlap_answer *ret);

struct topk_row {
    uint8_t *key; /* encoded as in plan.h; owned by the answer */
    uint32_t key_bytes;
    uint64_t count, low, high;
};
struct topk_answer {
    struct topk_row *rows; /* the first n, ranked */
    uint32_t n_rows;
    uint32_t k;
    uint64_t total, error_bound;
    double confidence;
    bool saturated;
};
/* Sum of per-day estimates over the union of the days' candidates. 0 or -errno; topk_answer_done
 * after. */
int query_topk(struct query *q, unsigned series, int32_t from, int32_t to, uint32_t n,
               struct topk_answer *ret);
void topk_answer_done(struct topk_answer *a);

struct seen_answer {
    bool seen;
    double false_positive_rate; /* 0 where "not seen" is definite */
    int32_t since;
    uint64_t generation;
};
int query_seen(struct query *q, unsigned series, uint64_t hash_lo, struct seen_answer *ret);

struct filter_state {
    bool degraded, saturated, rebuilding;
    uint64_t bits;
    uint32_t hashes;
    uint64_t capacity; /* of this generation */
    double items, fill_ratio, rate, target;
    uint64_t generation, rebuilds;
    int64_t last_rebuild_s; /* instant; 0: never */
    uint64_t journal_entries;
    size_t memory_bytes;
};
int query_filter(struct query *q, unsigned series, struct filter_state *ret);

/* Inputs: name, books and published status; files through rows. */
const char *query_input_name(const struct query *q, unsigned input); /* NULL behind the last */
int query_input(struct query *q, unsigned input, struct books *ret_books,
                struct input_status *ret_status, int64_t *ret_last_line_s);
/* A copy of the file rows, freed by the caller. 0 or -ENOMEM. */
int query_input_files(struct query *q, unsigned input, struct input_file_status **ret,
                      unsigned *ret_n);
/* Series whose definition has changed: warnings for /uniques and friends; the first day of the
 * series. */
int32_t query_series_since(struct query *q, unsigned series); /* STORE_DAY_NONE: no record yet */

void query_state(struct query *q, struct store_state *ret);

#endif
