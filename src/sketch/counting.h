/* A Bloom filter with delete: counting Bloom filter (Fan, Cao, Almeida, Broder 2000). Sized like
 * sketch/bloom.h, with 4 bits where that has one: m/2 bytes. A cell that has reached 15 sticks: it
 * never goes down, since nobody knows how far it would have gone.
 *
 * It is for sets whose members are added once and removed only after having been added. Then it
 * never denies a member, removal restores what adding changed, and at capacity no cell sticks (odds
 * 1.4 in 10^15 a cell, as in the paper). Otherwise, measured with 1,000,000 members at 1 %
 * (tests/accuracy/filters, doc/filters.md):
 * - A member added r times is there until it was removed r times. To skip an add because the answer
 *   is "there" would lose the members that a false positive hides.
 * - Repeats stick cells: 2 adds of each member 1 in 1,000,000, 4 adds 0.7 %, 8 adds 17 %, 16 adds
 *   52 %, which are all that are used. What has only such cells is never forgotten, and others
 *   find them set.
 * - A key removed without being there is refused, except where the answer "there" is false (1 %):
 *   then members lose cells and are denied from then on, 4.7 for each.
 *
 * Memory: in _new only. One thread per object. */
#ifndef SKETCH_COUNTING_H
#define SKETCH_COUNTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sk_counting; /* opaque */

struct sk_counting_shape {
    uint64_t cells;
    uint32_t hashes;
};

#define SK_COUNTING_CELLS_MAX (UINT64_C(1) << 40)
#define SK_COUNTING_STUCK 15 /* what a cell counts to */

/* 0; -EINVAL: capacity 0 or rate outside (0,1); -EOVERFLOW: over SK_COUNTING_CELLS_MAX. */
int sk_counting_shape(uint64_t capacity, double false_positive, struct sk_counting_shape *ret);
int sk_counting_new(struct sk_counting **ret,
                    struct sk_counting_shape shape); /* -EINVAL, -ENOMEM */
struct sk_counting *sk_counting_free(struct sk_counting *c);

bool sk_counting_has(const struct sk_counting *c, uint64_t hash);
/* Adds once more; true: it was not there (definitely new). */
bool sk_counting_add(struct sk_counting *c, uint64_t hash);
/* Takes one add back; false: it was not there, nothing changed. */
bool sk_counting_remove(struct sk_counting *c, uint64_t hash);
/* The same for n hashes with prefetching; ret_new (may be NULL) and ret_has as one by one. */
void sk_counting_add_batch(struct sk_counting *c, const uint64_t *hashes, size_t n, bool *ret_new);
void sk_counting_has_batch(const struct sk_counting *c, const uint64_t *hashes, size_t n,
                           bool *ret_has);

struct sk_counting_shape sk_counting_shape_of(const struct sk_counting *c);
uint64_t sk_counting_used(const struct sk_counting *c);  /* cells above 0 */
uint64_t sk_counting_stuck(const struct sk_counting *c); /* cells at 15, for ever */
double sk_counting_fill(const struct sk_counting *c);    /* used / cells */
double sk_counting_rate(const struct sk_counting *c);    /* fill^k: expected false-positive rate */
double sk_counting_items(const struct sk_counting *c);   /* distinct members, estimated from fill */
size_t sk_counting_bytes(const struct sk_counting *c);

#endif
