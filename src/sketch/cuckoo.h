/* A set with delete in about 13 bits a member: cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher
 * 2014). Buckets of 4 fingerprints of 8, 12 or 16 bits; a member may be in two buckets, each found
 * from the other by XOR with a mix of its fingerprint. A full pair moves others on, 500 times at
 * most; who is then without a place goes to a stash of 8. With the stash full too an add is refused
 * and changes nothing: nobody is ever lost.
 *
 * Buckets are a power of two, filled to 95.5 % by the capacity (15/16 below 1,024 and above 2^24 of
 * them), so a member takes 1.05 to 2.1 fingerprints. Rate: 1 - (1 - 1/(2^f - 1))^(8 fill).
 *
 * It is for sets whose members are added once and removed only after having been added. Then it
 * never denies a member, and items are exact. Otherwise, measured with 1,000,000 members and 12
 * bits (tests/accuracy/filters, doc/filters.md):
 * - Each add takes a slot, and a hash has 8: members added twice fill a filter sized for them (48 %
 *   of the adds refused), and the ninth add of one is refused even if all else is empty. Hits of a
 *   log as adds: 93 % refused, 36 % of the keys never taken.
 * - A key removed without being there is refused, except where the answer "there" is false (0.19
 *   %): then a member that looks alike is gone, denied from then on, one for each.
 *
 * What gets moved is drawn from a state in the object: the same calls give the same filter.
 * Memory: in _new only. One thread per object. */
#ifndef SKETCH_CUCKOO_H
#define SKETCH_CUCKOO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sk_cuckoo; /* opaque */

struct sk_cuckoo_shape {
    uint64_t buckets;          /* a power of two, 2 at least */
    uint32_t fingerprint_bits; /* 8, 12 or 16 */
};

#define SK_CUCKOO_BUCKETS_MAX (UINT64_C(1) << 32)

/* The least buckets, then the least fingerprint that keeps to the rate at capacity. 0; -EINVAL:
 * capacity 0 or rate outside (0,1); -EOVERFLOW: over SK_CUCKOO_BUCKETS_MAX; -ERANGE: a rate that 16
 * bits do not reach (0.012 % they always do). */
int sk_cuckoo_shape(uint64_t capacity, double false_positive, struct sk_cuckoo_shape *ret);
int sk_cuckoo_new(struct sk_cuckoo **ret, struct sk_cuckoo_shape shape); /* 0, -EINVAL, -ENOMEM */
struct sk_cuckoo *sk_cuckoo_free(struct sk_cuckoo *c);

bool sk_cuckoo_has(const struct sk_cuckoo *c, uint64_t hash);
/* 0; -ENOSPC: full, or this hash is there 8 times; nothing changed. */
int sk_cuckoo_add(struct sk_cuckoo *c, uint64_t hash);
/* Takes one add back; false: it was not there, nothing changed. */
bool sk_cuckoo_remove(struct sk_cuckoo *c, uint64_t hash);
/* The same for n hashes with prefetching. Adds up to the first that is refused; returns how many
 * were added, n if all. */
size_t sk_cuckoo_add_batch(struct sk_cuckoo *c, const uint64_t *hashes, size_t n);
void sk_cuckoo_has_batch(const struct sk_cuckoo *c, const uint64_t *hashes, size_t n,
                         bool *ret_has);

struct sk_cuckoo_shape sk_cuckoo_shape_of(const struct sk_cuckoo *c);
uint64_t sk_cuckoo_slots(const struct sk_cuckoo *c);
uint64_t sk_cuckoo_items(const struct sk_cuckoo *c);   /* adds less removes, exact */
unsigned sk_cuckoo_stashed(const struct sk_cuckoo *c); /* items in the stash; 8: nearly full */
double sk_cuckoo_fill(const struct sk_cuckoo *c);      /* filled slots / slots */
double sk_cuckoo_rate(const struct sk_cuckoo *c);      /* expected false-positive rate now */
size_t sk_cuckoo_bytes(const struct sk_cuckoo *c);

#endif
