/* Who came in both of two ranges of days. */
#include "store/query_int.h"

#include <errno.h>
#include <math.h>

#include "sketch/overlap.h"

struct ranges {
    struct united side[2], all;
    unsigned n_common;     /* days with something in them that lie in both ranges */
    double common_largest; /* of their estimates: these keys came in both */
};

static bool holds(const struct day_range *r, int32_t day)
{
    return r->from <= day && day <= r->to;
}

static int unite_day(struct query *q, unsigned column, int32_t day, const struct day_range range[2],
                     struct ranges *r)
{
    const void *sketch;
    bool in[2] = {holds(&range[0], day), holds(&range[1], day)};
    int rc = in[0] || in[1] ? query_sketch(q, column, day, &sketch) : 0;
    if (rc <= 0)
        return rc;
    rc = query_unite(q, column, day, sketch, &r->all);
    for (int i = 0; i < 2; i++)
        if (rc == 0 && in[i])
            rc = query_unite(q, column, day, sketch, &r->side[i]);
    if (rc == 0 && in[0] && in[1] && !sk_distinct_empty(sketch)) {
        struct sk_estimate e;
        query_cache_estimate(q->cache, column, day, sketch, &e);
        r->n_common++;
        r->common_largest = fmax(r->common_largest, e.value);
    }
    return rc;
}

/* Each day is looked at once: open ones may move between two looks. */
static int unite(struct query *q, unsigned column, const struct day_range range[2],
                 struct ranges *r)
{
    int32_t from = INT32_MAX, to = INT32_MIN;
    for (int i = 0; i < 2; i++) {
        if (range[i].from > range[i].to)
            continue;
        from = range[i].from < from ? range[i].from : from;
        to = range[i].to > to ? range[i].to : to;
    }
    int rc = query_find_days(q, column, from, to);
    for (unsigned i = 0; rc >= 0 && i < q->n_days; i++)
        rc = unite_day(q, column, q->days[i], range, r);
    return rc < 0 ? rc : 0;
}

/* The days of one side are all among the other's: it is shared as a whole. */
static bool is_part(const struct ranges *r, int side)
{
    return r->side[side].n_nonempty == r->n_common;
}

static int estimate(const struct ranges *r, struct overlap_answer *a)
{
    struct sk_overlap o;
    for (int i = 0; i < 2; i++)
        query_united_estimate(&r->side[i], &a->side[i]);
    query_united_estimate(&r->all, &a->all);
    if (is_part(r, 0) || is_part(r, 1)) {
        a->both = a->side[is_part(r, 0) ? 0 : 1];
        a->reliable = a->both.relative_standard_error <= SK_OVERLAP_RELIABLE;
        return 0;
    }
    int rc = sk_overlap(r->side[0].all, r->side[1].all, &o);
    if (rc < 0)
        return rc;
    struct sk_estimate *e = &o.both;
    e->value = fmin(fmax(e->value, r->common_largest), fmin(a->side[0].value, a->side[1].value));
    e->low = fmin(e->low, e->value);
    e->high = fmax(fmin(e->high, fmin(a->side[0].high, a->side[1].high)), e->value);
    a->both = *e;
    a->reliable = o.reliable;
    return 0;
}

int query_overlap(struct query *q, unsigned series, const struct day_range range[2],
                  struct overlap_answer *ret)
{
    int column = query_column(q, (int) series);
    if (column < 0 || q->store->columns.list[column].role != COLUMN_UNIQUES)
        return -EINVAL;
    struct ranges r = {.n_common = 0};
    struct overlap_answer answer;
    int rc = unite(q, (unsigned) column, range, &r);
    if (rc == 0)
        rc = estimate(&r, &answer);
    for (int i = 0; i < 2; i++)
        sk_distinct_free(r.side[i].all);
    sk_distinct_free(r.all.all);
    if (rc == 0)
        *ret = answer;
    return rc;
}
