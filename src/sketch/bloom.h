/* Seen before? A Bloom filter (Bloom 1970) that watches its own fill.
 *
 * m = ceil(-n ln p / (ln 2)^2) bits rounded up to 64 and k = max(1, round(m/n ln 2)) probes:
 * 1,000,000 items at 1 % are exactly 9,585,088 bits and 7. One independent mix a probe. The running
 * number of set bits gives the expected false-positive rate fill^k and the items -(m/k) ln(1 -
 * fill), which need no count of adds. Never a false negative. Memory: m/8 bytes, in _new only. One
 * thread per object. */
#ifndef SKETCH_BLOOM_H
#define SKETCH_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sk_bloom; /* opaque */

struct sk_bloom_shape {
    uint64_t bits;
    uint32_t hashes;
};

#define SK_BLOOM_BITS_MAX (UINT64_C(1) << 40)

/* 0; -EINVAL: capacity 0 or rate outside (0,1); -EOVERFLOW: over SK_BLOOM_BITS_MAX. */
int sk_bloom_shape(uint64_t capacity, double false_positive, struct sk_bloom_shape *ret);
int sk_bloom_new(struct sk_bloom **ret, struct sk_bloom_shape shape); /* 0, -EINVAL, -ENOMEM */
struct sk_bloom *sk_bloom_free(struct sk_bloom *b);

bool sk_bloom_has(const struct sk_bloom *b, uint64_t hash);
/* Adds; true: it was not there (definitely new). */
bool sk_bloom_add(struct sk_bloom *b, uint64_t hash);
/* The same for n hashes with prefetching; ret_new[i] (may be NULL) as by sk_bloom_add in that
 * order. */
void sk_bloom_add_batch(struct sk_bloom *b, const uint64_t *hashes, size_t n, bool *ret_new);
/* Asks for n at once, with prefetching: ret_has[i] as by sk_bloom_has. */
void sk_bloom_has_batch(const struct sk_bloom *b, const uint64_t *hashes, size_t n, bool *ret_has);

struct sk_bloom_shape sk_bloom_shape_of(const struct sk_bloom *b);
uint64_t sk_bloom_ones(const struct sk_bloom *b); /* set bits */
double sk_bloom_fill(const struct sk_bloom *b);   /* ones / bits */
double sk_bloom_rate(const struct sk_bloom *b);   /* fill^k: expected false-positive rate now */
double sk_bloom_items(const struct sk_bloom *b);  /* estimated from fill */
size_t sk_bloom_bytes(const struct sk_bloom *b);

#endif
