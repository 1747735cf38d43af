/* Counts by key, never below the truth: Count-Min Sketch (Cormode, Muthukrishnan 2005) with
 * conservative update (Estan, Varghese 2002) and one independent mix per row.
 *
 * For error e and confidence 1-d: width = ceil(2.718.../e), depth = ceil(ln 1/d); the over-count of
 * a key is at most e * total with the confidence asked. Cells of 32 bits (hits) or 64 bits (bytes,
 * milliseconds) saturate and say so; the total has 64 bits and saturates at 2^63-1.
 * Memory: width * depth * cell, allocated in _new only. One thread per object. */
#ifndef SKETCH_CMS_H
#define SKETCH_CMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/sketch.h"

#define SK_CMS_DEPTH_MAX 16
#define SK_CMS_BYTES_MAX ((size_t) 1 << 30)

struct sk_cms; /* opaque */

enum sk_cms_cell { SK_CMS_CELL_32, SK_CMS_CELL_64 };

/* width and depth for error and confidence, both in (0,1). 0; -EINVAL; -EOVERFLOW: over the limits.
 */
int sk_cms_shape(double error, double confidence, uint32_t *ret_width, uint32_t *ret_depth);
/* 0; -EINVAL; -EOVERFLOW; -ENOMEM */
int sk_cms_new(struct sk_cms **ret, uint32_t width, uint32_t depth, enum sk_cms_cell cell);
struct sk_cms *sk_cms_free(struct sk_cms *c);

/* Adds weight and returns the key's estimate after it. */
uint64_t sk_cms_add(struct sk_cms *c, uint64_t hash, uint64_t weight);
uint64_t sk_cms_count(const struct sk_cms *c, uint64_t hash);

uint64_t sk_cms_total(const struct sk_cms *c); /* sum of all weights */
bool sk_cms_saturated(const struct sk_cms *c); /* a cell has hit its limit: counts may be low */
uint32_t sk_cms_width(const struct sk_cms *c);
uint32_t sk_cms_depth(const struct sk_cms *c);
/* ceil(e/width * total): what a count may be over the truth, with the confidence of the shape. */
uint64_t sk_cms_error_bound(const struct sk_cms *c);
double sk_cms_confidence(const struct sk_cms *c); /* 1 - exp(-depth) */
/* Adds the cells: same shape only. 0; -EINVAL, nothing changed. Estimates stay never below the
 * truth. */
int sk_cms_merge(struct sk_cms *into, const struct sk_cms *from);
size_t sk_cms_bytes(const struct sk_cms *c);

/* For sk_topk's form: the body without a frame, little-endian.
 *
 *    0  +---------------+------------------------------+
 *       | width, depth  | u32 each                     |
 *       | cell          | u8: 0 of 32 bits, 1 of 64    |
 *       | saturated     | u8: 0, 1                     |
 *       | 0             | u16                          |
 *       | total         | u64                          |
 *   20  +---------------+------------------------------+
 *       | width * depth cells, row by row              |
 *       +----------------------------------------------+
 *
 * _put returns the bytes written, 0: room is too small. _get: 0; -EBADMSG; -ENOMEM. */
size_t sk_cms_put_room(const struct sk_cms *c);
size_t sk_cms_put(const struct sk_cms *c, uint8_t *to, size_t room);
int sk_cms_get(struct sk_cms **ret, const uint8_t *from, size_t n, size_t *ret_used);

#endif
