/* What the files of the Bloom filter share. */
#ifndef SKETCH_BLOOM_INT_H
#define SKETCH_BLOOM_INT_H

#include "sketch/bloom.h"
#include "sketch/hash.h"

#define SK_BLOOM_WORD_BITS 64

struct sk_bloom {
    struct sk_bloom_shape shape;
    uint64_t ones;
    uint64_t words[];
};

static inline uint64_t sk_bloom_position(const struct sk_bloom *b, uint64_t hash, uint32_t probe)
{
    return sk_range(sk_mix_row(hash, probe), b->shape.bits);
}

#endif
