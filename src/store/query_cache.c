#include "store/query_cache.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS 512

struct entry {
    unsigned column;
    int32_t day;
    uint64_t version;
    void *sketch;
    size_t bytes;
    bool estimated;
    struct sk_estimate estimate;
    struct entry *chain;         /* of its bucket */
    struct entry *newer, *older; /* by use */
};

struct query_cache {
    const struct columns *columns;
    size_t bytes, most_bytes;
    struct entry *buckets[BUCKETS];
    struct entry *newest, *oldest;
};

static struct entry **bucket(struct query_cache *c, unsigned column, int32_t day)
{
    return &c->buckets[((uint32_t) day * 31 + column) % BUCKETS];
}

int query_cache_new(struct query_cache **ret, const struct columns *columns, size_t most_bytes)
{
    struct query_cache *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->columns = columns;
    c->most_bytes = most_bytes;
    *ret = c;
    return 0;
}

static void unlink_use(struct query_cache *c, struct entry *e)
{
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void link_newest(struct query_cache *c, struct entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

/* Removes an entry and returns its sketch. */
static void *take_out(struct query_cache *c, struct entry *e)
{
    void *sketch = e->sketch;
    struct entry **at = bucket(c, e->column, e->day);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    unlink_use(c, e);
    c->bytes -= e->bytes;
    free(e);
    return sketch;
}

static void drop(struct query_cache *c, struct entry *e)
{
    const struct sk_kind *kind = c->columns->list[e->column].kind;
    kind->free(take_out(c, e));
}

struct query_cache *query_cache_free(struct query_cache *c)
{
    if (c)
        query_cache_clear(c);
    free(c);
    return NULL;
}

static struct entry *find(struct query_cache *c, unsigned column, int32_t day)
{
    struct entry *e = *bucket(c, column, day);
    while (e && (e->column != column || e->day != day))
        e = e->chain;
    return e;
}

const void *query_cache_get(struct query_cache *c, unsigned column, int32_t day, uint64_t version)
{
    struct entry *e = find(c, column, day);
    if (!e || e->version != version)
        return NULL;
    unlink_use(c, e);
    link_newest(c, e);
    return e->sketch;
}

int query_cache_put(struct query_cache *c, unsigned column, int32_t day, uint64_t version,
                    void *sketch)
{
    struct entry *old = find(c, column, day), *e = malloc(sizeof(*e));
    if (old)
        drop(c, old);
    if (!e) {
        c->columns->list[column].kind->free(sketch);
        return -ENOMEM;
    }
    *e = (struct entry){.column = column,
                        .day = day,
                        .version = version,
                        .sketch = sketch,
                        .bytes = sizeof(*e) + c->columns->list[column].kind->bytes(sketch)};
    while (c->oldest && c->bytes + e->bytes > c->most_bytes)
        drop(c, c->oldest);
    e->chain = *bucket(c, column, day);
    *bucket(c, column, day) = e;
    link_newest(c, e);
    c->bytes += e->bytes;
    return 0;
}

void query_cache_estimate(struct query_cache *c, unsigned column, int32_t day,
                          const struct sk_distinct *sketch, struct sk_estimate *ret)
{
    struct entry *e = find(c, column, day);
    if (!e || e->sketch != sketch) {
        sk_distinct_estimate(sketch, ret);
        return;
    }
    if (!e->estimated)
        sk_distinct_estimate(sketch, &e->estimate);
    e->estimated = true;
    *ret = e->estimate;
}

void *query_cache_take(struct query_cache *c, unsigned column, int32_t day, uint64_t version)
{
    struct entry *e = find(c, column, day);
    return e && e->version == version ? take_out(c, e) : NULL;
}

void query_cache_drop_day(struct query_cache *c, int32_t day)
{
    for (unsigned i = 0; i < c->columns->n; i++) {
        struct entry *e = find(c, i, day);
        if (e)
            drop(c, e);
    }
}

void query_cache_clear(struct query_cache *c)
{
    while (c->oldest)
        drop(c, c->oldest);
}

size_t query_cache_bytes(const struct query_cache *c)
{
    return c->bytes;
}
