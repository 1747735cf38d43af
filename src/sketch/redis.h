/* Distinct counts as Redis keeps them: the string behind PFADD, PFCOUNT and PFMERGE, a plain
 * HyperLogLog of 2^14 registers (layout as Redis 2.8.9 to 8 document and a Redis 7.0 showed it).
 *
 *      0  "HYLL"
 *      4  encoding: 0 dense, 1 sparse
 *      5  0 0 0
 *      8  cached count, u64 little-endian; top bit set: to be worked out anew
 *     16  dense: 16,384 registers of 6 bits, 12,288 bytes; register i begins at bit 6 i, bits
 *         counted from the lowest of the first byte:
 *
 *         |11000000|22221111|33333322|55444444|
 *
 *         sparse: runs in the registers' order, of exactly 16,384 together:
 *         00nnnnnn           n + 1 registers of 0
 *         01nnnnnn nnnnnnnn  n + 1 registers of 0
 *         1vvvvvnn           n + 1 registers of v + 1
 *
 * A register is a rank, 0 to 51. Redis takes any spread of keys over registers and ranks, so our
 * hash serves as well as its own; but strings of different hashes (or hash keys) cannot be merged,
 * and PFADD to one of ours counts everybody anew. The string does not say whose it is: that its
 * hash is the caller's, the caller must know.
 *
 * Writing drops the two history bits of a register. A rank alone does not tell them, so what is
 * read has no history: it merges with every other set, and such a union is estimated from ranks
 * alone (standard error 1.04/sqrt(m), not 0.76/sqrt(m)).
 *
 * No allocation but for what is read. Reads only its inputs; any thread. */
#ifndef SKETCH_REDIS_H
#define SKETCH_REDIS_H

#include <stddef.h>
#include <stdint.h>

#include "sketch/distinct.h"

#define SK_REDIS_PRECISION 14
#define SK_REDIS_BYTES 12304

/* Dense, with the count to be worked out by Redis; a higher precision folds. 0; -EINVAL: the
 * precision is below 14. */
int sk_redis_write(const struct sk_distinct *d, uint8_t to[SK_REDIS_BYTES]);

/* The count that Redis gives for the written string: the improved estimator of O. Ertl 2017
 * (arXiv:1702.01284, section 2), rounded. 0 or -EINVAL as above. */
int sk_redis_estimate(const struct sk_distinct *d, uint64_t *ret);

/* Either encoding; one line feed behind it, as redis-cli adds, is dropped, and the cached count is
 * not looked at. 0; -EBADMSG: damaged, cut or too long, a rank over 51, runs that do not add up;
 * -EPROTO: an encoding or a use of the three bytes that is not known; -ENOMEM. Takes hostile bytes.
 */
int sk_redis_read(struct sk_distinct **ret, const uint8_t *from, size_t n);

#endif
