/* The k most frequent keys: a Count-Min Sketch, a min-heap of k candidates with their key bytes,
 * and an index by hash (full key compare). Counts are re-read from the sketch when listed; ties by
 * key bytes.
 *
 * Key bytes over SK_TOPK_KEY_BYTES are kept as their first 2,000 bytes, the three bytes of "…" and
 * 16 hex digits of the hash. Adding never allocates: k key slots of SK_TOPK_KEY_BYTES are one
 * mapping made in _new, whose pages are touched only where keys are long (over 256 bytes; shorter
 * ones lie together). One thread per object. Which entry leaves for a better one is a function of
 * counts and keys alone, and a loaded object goes on as the saved one would have.
 *
 * Form, little-endian, in the frame of sketch.h (offsets from its start):
 *
 *    0  "RKTK", version 1, hash id, fingerprint
 *   24  +--------------------------------------------------------+
 *       | k, entries             | u32 each                      |
 *   32  | the Count-Min Sketch   | as sk_cms_put writes it       |
 *       +--------------------------------------------------------+
 *       | for each entry, in the order of the heap, worst first: |
 *       |   hash, count          | u64 each                      |
 *       |   key length           | u16                           |
 *       |   key                  | so many bytes                 |
 *       +--------------------------------------------------------+
 *       | CRC-32                                                 |
 */
#ifndef SKETCH_TOPK_H
#define SKETCH_TOPK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/cms.h"
#include "sketch/sketch.h"

#define SK_TOPK_K_MAX 1000
#define SK_TOPK_KEY_BYTES 2048

struct sk_topk; /* opaque */

struct sk_topk_row {
    const uint8_t *key; /* borrowed until the next add or free */
    uint32_t key_bytes;
    uint64_t hash;
    uint64_t count;
};

/* 0; -EINVAL: k is 0 or over SK_TOPK_K_MAX, or the shape; -EOVERFLOW; -ENOMEM */
int sk_topk_new(struct sk_topk **ret, uint32_t k, uint32_t width, uint32_t depth,
                enum sk_cms_cell cell);
struct sk_topk *sk_topk_free(struct sk_topk *t);

/* The key's bytes are copied if it enters the heap. A weight of 0 adds nothing. */
void sk_topk_add(struct sk_topk *t, uint64_t hash, const void *key, size_t key_bytes,
                 uint64_t weight);

/* The same for many, in their order, at less cost each. */
struct sk_topk_item {
    uint64_t hash, weight;
    const void *key;
    size_t key_bytes;
};
void sk_topk_add_batch(struct sk_topk *t, const struct sk_topk_item *items, size_t n);

/* Estimate of any key, in the heap or not. */
uint64_t sk_topk_count(const struct sk_topk *t, uint64_t hash);
/* Up to k rows, most frequent first, into rows[k]; returns how many. Sorts in place in rows. */
uint32_t sk_topk_list(const struct sk_topk *t, struct sk_topk_row *rows);
uint32_t sk_topk_k(const struct sk_topk *t);
const struct sk_cms *sk_topk_cms(const struct sk_topk *t);
size_t sk_topk_bytes(const struct sk_topk *t);

extern const struct sk_kind sk_kind_topk; /* its objects are struct sk_topk */

#endif
