/* How many different keys: exact while they are few, then 2^p one-byte registers.
 *
 * A register holds the HyperLogLog rank u and two history bits (were ranks u-1 and u-2 seen):
 * UltraLogLog, O. Ertl 2023, arXiv:2308.16862; dropping the two bits leaves a plain HyperLogLog
 * (Flajolet and others 2007). Unions are estimated by maximum likelihood; a set that was counted in
 * one piece by the martingale estimator (HIP: Ting 2014; Cohen 2015), whose state is kept in
 * integers so that saving and loading changes no bit. Registers that came from a plain HyperLogLog
 * (redis.h) have no history, nor has any union with them: they say less, but nothing wrong.
 *
 * Memory: fixed at sk_distinct_new (16 KiB of registers for p = 14, and the exact set's table of 12
 * bytes an entry of exact_until, given back when the set becomes registers); adding never
 * allocates. One thread per object. Keys come as 64-bit hashes, all of one stamp.
 *
 * Form, little-endian, in the frame of sketch.h (offsets from its start):
 *
 *    0  "RKUL", version 1, hash id, fingerprint
 *   24  +-----------+----------------------------------------------------+
 *       | precision | u8                                                 |
 *       | state     | u8: 0 exact, 1 registers of one piece, 2 of unions,|
 *       |           | 3 of unions that know ranks only                   |
 *       | 0         | u16                                                |
 *       | exact_until, count | u32 each; count 0 unless exact            |
 *       | martingale estimate | u64, in 2^-20; 0 unless of one piece     |
 *       | its variance        | u128, in 2^-40; as above                 |
 *   60  +-----------+----------------------------------------------------+
 *       | exact: count hashes, u64, ascending                            |
 *       | else: 2^precision registers, u8: u << 2 | seen(u-1) << 1 | seen(u-2)
 *       +----------------------------------------------------------------+
 *       | CRC-32                                                         |
 */
#ifndef SKETCH_DISTINCT_H
#define SKETCH_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/estimate.h"
#include "sketch/sketch.h"

#define SK_DISTINCT_PRECISION_MIN 4
#define SK_DISTINCT_PRECISION_MAX 18
#define SK_DISTINCT_EXACT_MAX 1000000

struct sk_distinct; /* opaque */

/* 0; -EINVAL: precision or exact_until out of range; -ENOMEM. exact_until 0: registers from the
 * start. */
int sk_distinct_new(struct sk_distinct **ret, unsigned precision, uint32_t exact_until);
struct sk_distinct *sk_distinct_free(struct sk_distinct *d); /* NULL is fine; returns NULL */

/* true: the state changed (the key was certainly new). */
bool sk_distinct_add(struct sk_distinct *d, uint64_t hash);
void sk_distinct_add_batch(struct sk_distinct *d, const uint64_t *hashes, size_t n);

/* into := union of both. Exact, associative, commutative, idempotent; between exact and dense;
 * between precisions and exact_until (into folds to the smaller ones). Registers of a union are no
 * longer "counted in one piece" unless one side is empty, when the union is the other with its
 * parameters and into allocates as sk_distinct_copy does, or both are the same. 0; -ENOMEM: into is
 * as before. */
int sk_distinct_merge(struct sk_distinct *into, const struct sk_distinct *from);
/* A copy to merge into. 0 or -ENOMEM. */
int sk_distinct_copy(struct sk_distinct **ret, const struct sk_distinct *d);

/* Exact while the set is small; else martingale if it was counted in one piece, else maximum
 * likelihood. The standard error is a function of n, p and estimator, not one constant. */
void sk_distinct_estimate(const struct sk_distinct *d, struct sk_estimate *ret);

bool sk_distinct_exact(const struct sk_distinct *d);
bool sk_distinct_empty(const struct sk_distinct *d);
unsigned sk_distinct_precision(const struct sk_distinct *d);
size_t sk_distinct_bytes(const struct sk_distinct *d);

extern const struct sk_kind sk_kind_distinct; /* its objects are struct sk_distinct */

#endif
