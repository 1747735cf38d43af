#include "sketch/bloom.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sketch/bloom_int.h"

#define LN2 0.69314718055994530942
#define WORD_BITS SK_BLOOM_WORD_BITS
#define HASHES_MAX 64
#define AHEAD 16         /* hashes whose words are on their way */
#define AHEAD_PROBES 128 /* and their probes at most: two of HASHES_MAX */

int sk_bloom_shape(uint64_t capacity, double false_positive, struct sk_bloom_shape *ret)
{
    if (capacity == 0 || !(false_positive > 0 && false_positive < 1))
        return -EINVAL;
    double bits = ceil(-(double) capacity * log(false_positive) / (LN2 * LN2));
    if (!(bits <= (double) SK_BLOOM_BITS_MAX))
        return -EOVERFLOW;
    uint64_t rounded = ((uint64_t) bits + WORD_BITS - 1) / WORD_BITS * WORD_BITS;
    double hashes = round((double) rounded / (double) capacity * LN2);
    ret->bits = rounded;
    ret->hashes = (uint32_t) fmin(fmax(hashes, 1), HASHES_MAX);
    return 0;
}

int sk_bloom_new(struct sk_bloom **ret, struct sk_bloom_shape shape)
{
    if (shape.bits == 0 || shape.bits > SK_BLOOM_BITS_MAX || shape.bits % WORD_BITS != 0 ||
        shape.hashes == 0 || shape.hashes > HASHES_MAX)
        return -EINVAL;
    if (shape.bits / 8 > SIZE_MAX - sizeof(struct sk_bloom))
        return -ENOMEM;
    struct sk_bloom *b = calloc(1, sizeof *b + (size_t) (shape.bits / 8));
    if (!b)
        return -ENOMEM;
    b->shape = shape;
    *ret = b;
    return 0;
}

struct sk_bloom *sk_bloom_free(struct sk_bloom *b)
{
    free(b);
    return NULL;
}

static uint64_t position(const struct sk_bloom *b, uint64_t hash, uint32_t probe)
{
    return sk_bloom_position(b, hash, probe);
}

/* Sets a bit; 1 if it was clear. */
static uint64_t set_bit(struct sk_bloom *b, uint64_t at)
{
    uint64_t *word = &b->words[at / WORD_BITS];
    uint64_t was_clear = ~(*word >> at % WORD_BITS) & 1;
    *word |= UINT64_C(1) << at % WORD_BITS;
    return was_clear;
}

bool sk_bloom_has(const struct sk_bloom *b, uint64_t hash)
{
    for (uint32_t i = 0; i < b->shape.hashes; i++) {
        uint64_t at = position(b, hash, i);
        if (!(b->words[at / WORD_BITS] >> at % WORD_BITS & 1))
            return false;
    }
    return true;
}

bool sk_bloom_add(struct sk_bloom *b, uint64_t hash)
{
    uint64_t flipped = 0;
    for (uint32_t i = 0; i < b->shape.hashes; i++)
        flipped += set_bit(b, position(b, hash, i));
    b->ones += flipped;
    return flipped != 0;
}

static void fetch(const struct sk_bloom *b, uint64_t hash, uint64_t *ret_at)
{
    for (uint32_t i = 0; i < b->shape.hashes; i++) {
        ret_at[i] = position(b, hash, i);
        __builtin_prefetch(&b->words[ret_at[i] / WORD_BITS], 1);
    }
}

static bool set_bits(struct sk_bloom *b, const uint64_t *at)
{
    uint64_t flipped = 0;
    for (uint32_t i = 0; i < b->shape.hashes; i++)
        flipped += set_bit(b, at[i]);
    b->ones += flipped;
    return flipped != 0;
}

/* Words are asked for long before they are needed: at is a ring of the positions in between. */
void sk_bloom_add_batch(struct sk_bloom *b, const uint64_t *hashes, size_t n, bool *ret_new)
{
    uint64_t at[AHEAD_PROBES];
    const uint32_t k = b->shape.hashes;
    const uint32_t ring = AHEAD_PROBES / k < AHEAD ? AHEAD_PROBES / k * k : AHEAD * k;
    size_t fetched = 0;
    uint32_t in = 0, out = 0;
    for (; fetched < n && in < ring; fetched++, in += k)
        fetch(b, hashes[fetched], at + in);
    for (size_t i = 0; i < n; i++) {
        bool is_new = set_bits(b, at + out);
        if (ret_new)
            ret_new[i] = is_new;
        if (fetched < n)
            fetch(b, hashes[fetched++], at + out);
        out = out + k < ring ? out + k : 0;
    }
}

struct sk_bloom_shape sk_bloom_shape_of(const struct sk_bloom *b)
{
    return b->shape;
}

uint64_t sk_bloom_ones(const struct sk_bloom *b)
{
    return b->ones;
}

double sk_bloom_fill(const struct sk_bloom *b)
{
    return (double) b->ones / (double) b->shape.bits;
}

double sk_bloom_rate(const struct sk_bloom *b)
{
    return pow(sk_bloom_fill(b), b->shape.hashes);
}

double sk_bloom_items(const struct sk_bloom *b)
{
    double bits = (double) b->shape.bits, clear = bits - (double) b->ones;
    if (clear < 0.5)
        clear = 0.5; /* a full filter has no upper bound; a number all the same */
    return -(bits / b->shape.hashes) * log(clear / bits);
}

size_t sk_bloom_bytes(const struct sk_bloom *b)
{
    return sizeof *b + (size_t) (b->shape.bits / 8);
}
