/* Closed days that questions have loaded, and copies of open ones: least recently used go first, by
 * bytes. One thread per object. */
#ifndef STORE_QUERY_CACHE_H
#define STORE_QUERY_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "sketch/distinct.h"
#include "store/day.h"

struct query_cache; /* opaque */

int query_cache_new(struct query_cache **ret, const struct columns *columns, size_t most_bytes);
struct query_cache *query_cache_free(struct query_cache *c);

/* The sketch if it is of this version (0: a closed day), or NULL. Borrowed until the next put or
 * drop. */
const void *query_cache_get(struct query_cache *c, unsigned column, int32_t day, uint64_t version);
/* Takes the sketch over, also one larger than all that is allowed: it goes with the next put. 0,
 * -ENOMEM (the sketch is freed) */
int query_cache_put(struct query_cache *c, unsigned column, int32_t day, uint64_t version,
                    void *sketch);
/* The estimate of a distinct sketch that get returned or put took: worked out once. */
void query_cache_estimate(struct query_cache *c, unsigned column, int32_t day,
                          const struct sk_distinct *sketch, struct sk_estimate *ret);
/* Gives the sketch away if it is of this version, or NULL. */
void *query_cache_take(struct query_cache *c, unsigned column, int32_t day, uint64_t version);
void query_cache_drop_day(struct query_cache *c, int32_t day);
void query_cache_clear(struct query_cache *c);
size_t query_cache_bytes(const struct query_cache *c);

#endif
