/* The hash contract (doc/hash.md): XXH3 128 bits over the key's bytes with a secret of 192 random
 * bytes. The high half feeds distinct counting, the low half Count-Min, top-K and filters. XXH3's
 * seed is no key (colliding pairs exist for whole classes of seeds); its secret is. Pure, any
 * thread. */
#ifndef SKETCH_HASH_H
#define SKETCH_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SK_SECRET_BYTES 192
#define SK_FINGERPRINT_BYTES 16
#define SK_HASH_ID_XXH3_128_SECRET 1

struct sk_hash {
    uint64_t hi, lo;
};

struct sk_secret {
    uint8_t bytes[SK_SECRET_BYTES];
};

/* What is written beside every stored sketch: sketches of another stamp are never mixed. */
struct sk_stamp {
    uint16_t hash_id;
    uint8_t fingerprint[SK_FINGERPRINT_BYTES];
};

struct sk_hash sk_hash(const struct sk_secret *secret, const void *key, size_t n);

/* 64 bits for tables in memory, at half the cost: never stored, no part of the contract. */
uint64_t sk_hash_local(const struct sk_secret *secret, const void *key, size_t n);

/* The fingerprint is the hash of a fixed text under the secret: it names the key and reveals
 * nothing. */
struct sk_stamp sk_stamp(const struct sk_secret *secret);

/* A bijective mix of 64 bits (the finaliser of SplitMix64, Steele and others 2014): one independent
 * word a row or probe, from hash + row * odd constant. */
static inline uint64_t sk_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static inline uint64_t sk_mix_row(uint64_t hash, unsigned row)
{
    return sk_mix(hash + UINT64_C(0x9e3779b97f4a7c15) * (row + 1));
}

/* word * n / 2^64: a uniform position below n for any n (Lemire 2019). */
static inline uint64_t sk_range(uint64_t word, uint64_t n)
{
    return (uint64_t) ((unsigned __int128) word * n >> 64);
}

#endif
