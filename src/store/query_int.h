/* Shared by query.c (days, traffic, filters, state), query_distinct.c, query_overlap.c and
 * query_topk.c. */
#ifndef STORE_QUERY_INT_H
#define STORE_QUERY_INT_H

#include "base/buf.h"
#include "store/query.h"
#include "store/query_cache.h"
#include "store/store_int.h"

/* The stored days of a column, from the database; valid until a day is written out. */
struct day_list {
    bool valid;
    int32_t *days;
    unsigned n;
};

/* An open day as a question first saw it: a question of several passes must not see it move. */
struct frozen {
    unsigned column;
    int32_t day;
    uint64_t version;
    void *sketch;
};

struct query {
    struct store *store;
    struct query_cache *cache;
    uint64_t synced; /* evictions that cache and lists know of */
    int32_t today, oldest_kept;
    struct day_list lists[COLUMNS_MAX];
    uint8_t *form; /* an open cell, copied under the lock */
    size_t form_room;
    int32_t *days; /* of the question being answered */
    unsigned n_days, days_room;
    bool freezing;
    unsigned n_frozen;
    struct frozen frozen[STORE_DAYS_OPEN];
};

/* The column of a series or QUERY_TRAFFIC; -1: it has none. */
int query_column(const struct query *q, int series);
/* Fills q->days with the days of [from, to] that hold a record of a column, ascending. 0 or -errno
 */
int query_find_days(struct query *q, unsigned column, int32_t from, int32_t to);
/* From here to query_thaw open days stay as they are first seen. */
void query_freeze(struct query *q);
void query_thaw(struct query *q);
/* A day's sketch, borrowed until the next call. 1; 0: none; -errno */
int query_sketch(struct query *q, unsigned column, int32_t day, const void **ret);

/* Days of a uniques series, united one by one; begins as {.n_nonempty = 0}. */
struct united {
    struct sk_distinct *all;            /* the union; NULL: nothing so far; freed by the caller */
    struct sk_estimate single;          /* of the only day with something in it so far */
    double sum, largest;                /* of the days' estimates */
    double certain_least, certain_most; /* by the days that are exact; most: < 0 when one is not */
    unsigned n_nonempty;
};
/* 0 or -ENOMEM */
int query_unite(struct query *q, unsigned column, int32_t day, const struct sk_distinct *d,
                struct united *t);
/* Within [the largest day, the sum of the days]; of one day, that day's. */
void query_united_estimate(const struct united *t, struct sk_estimate *ret);

#endif
