/* Top-K over a range: the candidates of every day are asked of every day, one day's table in memory
 * at a time, in three passes:
 *   1. collect the hashes of every day's candidates;
 *   2. add up each candidate's estimates;
 *   3. fetch the keys of those that are listed.
 * Keys are not kept before the third pass, so memory does not depend on how long strangers make
 * them. */
#include "store/query_int.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "sketch/hash.h"
#include "sketch/topk.h"

struct candidate {
    uint64_t hash, count;
    bool listed; /* its key is among the rows */
};

struct ranking {
    struct candidate *list;
    uint32_t n, room;
    uint32_t *table; /* hash table of places in list; UINT32_MAX: free */
    uint32_t table_room;
    struct sk_topk_row *rows; /* scratch of SK_TOPK_K_MAX */
    double bound;             /* sum of e/width * total */
    uint32_t head;            /* bytes of a length to put before a key of one field */
};

/* ---- 1: candidates ---- */

static uint32_t *table_place(struct ranking *k, uint64_t hash)
{
    uint32_t at = (uint32_t) sk_mix(hash) & (k->table_room - 1);
    while (k->table[at] != UINT32_MAX && k->list[k->table[at]].hash != hash)
        at = (at + 1) & (k->table_room - 1);
    return &k->table[at];
}

static int grow(struct ranking *k)
{
    if (k->room > UINT32_MAX / 8)
        return -ENOMEM;
    uint32_t room = k->room ? 2 * k->room : 1024;
    struct candidate *list = realloc(k->list, room * sizeof(*list));
    if (!list)
        return -ENOMEM;
    k->list = list;
    k->room = room;
    uint32_t *table = realloc(k->table, 2 * (size_t) room * sizeof(*table));
    if (!table)
        return -ENOMEM;
    k->table = table;
    k->table_room = 2 * room;
    memset(table, 0xff, 2 * (size_t) room * sizeof(*table));
    for (uint32_t i = 0; i < k->n; i++)
        *table_place(k, list[i].hash) = i;
    return 0;
}

static int collect(struct ranking *k, const struct sk_topk *t)
{
    uint32_t n = sk_topk_list(t, k->rows);
    for (uint32_t i = 0; i < n; i++) {
        if (k->n == k->room && grow(k) < 0)
            return -ENOMEM;
        uint32_t *place = table_place(k, k->rows[i].hash);
        if (*place != UINT32_MAX)
            continue;
        *place = k->n;
        k->list[k->n++] = (struct candidate){.hash = k->rows[i].hash};
    }
    return 0;
}

/* ---- 2: counts ---- */

static uint64_t add_most(uint64_t a, uint64_t b)
{
    return b > TRAFFIC_MOST - a ? TRAFFIC_MOST : a + b;
}

static void add_counts(struct ranking *k, const struct sk_topk *t, struct topk_answer *a)
{
    const struct sk_cms *cms = sk_topk_cms(t);
    for (uint32_t i = 0; i < k->n; i++)
        k->list[i].count = add_most(k->list[i].count, sk_topk_count(t, k->list[i].hash));
    a->total = add_most(a->total, sk_cms_total(cms));
    k->bound += M_E / sk_cms_width(cms) * (double) sk_cms_total(cms);
    if (a->confidence == 0 || sk_cms_confidence(cms) < a->confidence)
        a->confidence = sk_cms_confidence(cms);
    a->saturated = a->saturated || sk_cms_saturated(cms);
}

/* ---- 3: keys ---- */

static int by_count(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* The n-th largest count: all above it are listed, and of those equal to it the first by key. */
static int threshold(const struct ranking *k, uint32_t n, uint64_t *ret)
{
    uint64_t *counts = malloc(((size_t) k->n + 1) * sizeof(*counts));
    if (!counts)
        return -ENOMEM;
    for (uint32_t i = 0; i < k->n; i++)
        counts[i] = k->list[i].count;
    qsort(counts, k->n, sizeof(*counts), by_count);
    *ret = k->n > n ? counts[n - 1] : 0;
    free(counts);
    return 0;
}

static bool row_before(const struct topk_row *a, uint32_t head, uint64_t count,
                       const struct sk_topk_row *b)
{
    if (a->count != count)
        return a->count > count;
    uint32_t a_bytes = a->key_bytes - head, n = a_bytes < b->key_bytes ? a_bytes : b->key_bytes;
    int c = n ? memcmp(a->key + head, b->key, n) : 0;
    return c != 0 ? c < 0 : a_bytes < b->key_bytes;
}

/* The key as plan.h encodes it. NULL: no memory */
static uint8_t *encode_key(const struct sk_topk_row *row, uint32_t head)
{
    uint8_t *key = malloc((size_t) head + row->key_bytes + 1);
    if (!key)
        return NULL;
    if (head)
        le_put32(key, row->key_bytes);
    memcpy(key + head, row->key, row->key_bytes);
    return key;
}

/* Puts a row in its place among at most `most`. */
static int insert_row(struct topk_answer *a, uint32_t most, uint32_t head, uint64_t count,
                      const struct sk_topk_row *row)
{
    uint32_t from = 0, to = a->n_rows;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (row_before(&a->rows[middle], head, count, row))
            from = middle + 1;
        else
            to = middle;
    }
    if (from == most)
        return 0;
    uint8_t *key = encode_key(row, head);
    if (!key)
        return -ENOMEM;
    if (a->n_rows == most)
        free(a->rows[--a->n_rows].key);
    memmove(a->rows + from + 1, a->rows + from, (a->n_rows - from) * sizeof(*a->rows));
    a->rows[from] =
        (struct topk_row){.key = key, .key_bytes = head + row->key_bytes, .count = count};
    a->n_rows++;
    return 0;
}

static int fetch_keys(struct ranking *k, const struct sk_topk *t, uint32_t most, uint64_t least,
                      struct topk_answer *a)
{
    uint32_t n = sk_topk_list(t, k->rows);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = *table_place(k, k->rows[i].hash);
        if (place == UINT32_MAX)
            continue; /* a closed day was opened and written to since the first pass */
        struct candidate *c = &k->list[place];
        if (c->listed || c->count < least)
            continue;
        c->listed = true;
        int r = insert_row(a, most, k->head, c->count, &k->rows[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the whole ---- */

static int pass(struct query *q, struct ranking *k, unsigned column, int number, uint32_t n,
                uint64_t least, struct topk_answer *a)
{
    for (unsigned i = 0; i < q->n_days; i++) {
        const void *sketch;
        int r = query_sketch(q, column, q->days[i], &sketch);
        if (r == 0)
            continue;
        if (r > 0 && number == 1)
            r = collect(k, sketch);
        else if (r > 0 && number == 2)
            add_counts(k, sketch, a);
        else if (r > 0 && k->n)
            r = fetch_keys(k, sketch, n, least, a);
        if (r < 0)
            return r;
    }
    return 0;
}

static int rank(struct query *q, struct ranking *k, unsigned column, uint32_t n,
                struct topk_answer *a)
{
    uint64_t least = 0;
    int r = pass(q, k, column, 1, n, 0, a);
    if (r == 0)
        r = pass(q, k, column, 2, n, 0, a);
    if (r == 0)
        r = threshold(k, n, &least);
    if (r == 0)
        r = pass(q, k, column, 3, n, least, a);
    double bound = ceil(k->bound);
    a->error_bound = bound < (double) TRAFFIC_MOST ? (uint64_t) bound : TRAFFIC_MOST;
    for (uint32_t i = 0; i < a->n_rows; i++) {
        struct topk_row *row = &a->rows[i];
        row->high = row->count;
        row->low = row->count > a->error_bound ? row->count - a->error_bound : 0;
    }
    return r;
}

int query_topk(struct query *q, unsigned series, int32_t from, int32_t to, uint32_t n,
               struct topk_answer *ret)
{
    const struct metrics *metrics = query_metrics(q);
    if (series >= metrics->n || metrics->list[series].kind != METRIC_TOPK || n == 0)
        return -EINVAL;
    unsigned column = (unsigned) q->store->columns.of_metric[series];
    struct topk_answer a = {.k = metrics->list[series].k};
    struct ranking k = {.head = metrics->list[series].key.n == 1 ? STORE_KEY_HEAD_BYTES : 0};
    int r = query_find_days(q, column, from, to);
    a.rows = calloc((size_t) n + 1, sizeof(*a.rows));
    k.rows = malloc(SK_TOPK_K_MAX * sizeof(*k.rows));
    if (r == 0) {
        query_freeze(q);
        r = a.rows && k.rows ? rank(q, &k, column, n, &a) : -ENOMEM;
        query_thaw(q);
    }
    if (a.confidence == 0)
        a.confidence = metrics->list[series].confidence;
    free(k.list);
    free(k.table);
    free(k.rows);
    if (r < 0) {
        topk_answer_done(&a);
        return r;
    }
    *ret = a;
    return 0;
}

void topk_answer_done(struct topk_answer *a)
{
    for (uint32_t i = 0; a->rows && i < a->n_rows; i++)
        free(a->rows[i].key);
    free(a->rows);
    *a = (struct topk_answer){.n_rows = 0};
}
