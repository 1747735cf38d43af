/* Unions of days, and the keys first met on them. */
#include "store/query_int.h"

#include <errno.h>
#include <math.h>

int query_unite(struct query *q, unsigned column, int32_t day, const struct sk_distinct *d,
                struct united *t)
{
    struct sk_estimate e;
    if (sk_distinct_empty(d))
        return 0;
    query_cache_estimate(q->cache, column, day, d, &e);
    t->sum += e.value;
    t->largest = e.value > t->largest ? e.value : t->largest;
    if (sk_distinct_exact(d) && e.value > t->certain_least)
        t->certain_least = e.value;
    t->certain_most = sk_distinct_exact(d) && t->certain_most >= 0 ? t->certain_most + e.value : -1;
    t->single = e;
    t->n_nonempty++;
    return t->all ? sk_distinct_merge(t->all, d) : sk_distinct_copy(&t->all, d);
}

static double within(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

void query_united_estimate(const struct united *t, struct sk_estimate *ret)
{
    if (t->n_nonempty == 0) {
        *ret = (struct sk_estimate){.estimator = SK_EXACT};
        return;
    }
    if (t->n_nonempty == 1) {
        *ret = t->single;
        return;
    }
    sk_distinct_estimate(t->all, ret);
    if (ret->estimator == SK_EXACT)
        return;
    ret->value = within(ret->value, t->largest, t->sum);
    if (ret->low < t->certain_least)
        ret->low = t->certain_least;
    if (t->certain_most >= 0 && ret->high > t->certain_most)
        ret->high = t->certain_most;
    ret->low = ret->low < ret->value ? ret->low : ret->value;
    ret->high = ret->high > ret->value ? ret->high : ret->value;
}

#define NEW_ALL_MET 0.025

static double of_units(unsigned __int128 x)
{
    return (double) x / (double) NEW_UNIT;
}

/* Only of days that have such a record: many have none, once the filter has met everybody. */
static int sum_days(struct query *q, unsigned column, int32_t from, int32_t to, struct new_sum *ret)
{
    int r = query_find_days(q, column, from, to);
    for (unsigned i = 0; r >= 0 && i < q->n_days; i++) {
        const void *sketch;
        r = query_sketch(q, column, q->days[i], &sketch);
        if (r <= 0)
            continue;
        const struct new_sum *day = sketch;
        ret->keys += day->keys;
        ret->weight += day->weight;
        ret->variance += day->variance;
    }
    return r < 0 ? r : 0;
}

/* most: no more keys can have been new than there were; never below those that certainly were. */
static int sum_new(struct query *q, unsigned series, int32_t from, int32_t to, double most,
                   struct new_keys *ret)
{
    struct store *s = q->store;
    int column = s->columns.new_of_metric[series];
    struct new_sum sum = {.keys = 0};
    *ret = (struct new_keys){.known = false, .since = STORE_DAY_NONE};
    int r = column < 0 ? 0 : sum_days(q, (unsigned) column, from, to, &sum);
    if (r < 0 || column < 0)
        return r;
    store_lock(s);
    const struct filter *f = s->filters[s->filter_of[s->columns.list[column].seen]];
    ret->known = !f->row.saturated;
    ret->since = f->row.since;
    store_unlock(s);
    double least = (double) sum.keys;
    most = most > least ? most : least;
    double variance = of_units(sum.variance), margin = SK_Z95 * sqrt(variance);
    /* while that many are expected to be missed, none is with over 97.5 % (Poisson) */
    bool all = variance < NEW_ALL_MET;
    ret->estimate = all ? least : within(of_units(sum.weight), least, most);
    ret->low = all ? least : within(ret->estimate - margin, least, ret->estimate);
    ret->high = all ? least : within(ret->estimate + margin, ret->estimate, most);
    return 0;
}

int query_distinct(struct query *q, unsigned series, int32_t from, int32_t to,
                   struct distinct_answer *ret)
{
    int column = query_column(q, (int) series);
    if (column < 0 || q->store->columns.list[column].role != COLUMN_UNIQUES)
        return -EINVAL;
    struct united t = {.n_nonempty = 0};
    struct distinct_answer answer = {.days_with_record = 0};
    int r = query_find_days(q, (unsigned) column, from, to);
    for (unsigned i = 0; r >= 0 && i < q->n_days; i++) {
        const void *sketch;
        r = query_sketch(q, (unsigned) column, q->days[i], &sketch);
        if (r <= 0)
            continue;
        answer.days_with_record++;
        r = query_unite(q, (unsigned) column, q->days[i], sketch, &t);
    }
    if (r >= 0) {
        query_united_estimate(&t, &answer.estimate);
        answer.sum_of_days = t.sum;
        r = sum_new(q, series, from, to,
                    t.certain_most >= 0 ? t.certain_most : answer.estimate.high, &answer.new_keys);
    }
    sk_distinct_free(t.all);
    if (r < 0)
        return r;
    *ret = answer;
    return 0;
}
