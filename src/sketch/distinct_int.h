/* Shared by distinct.c (state), distinct_estimate.c (numbers), distinct_form.c (bytes), overlap.c
 * and redis.c. */
#ifndef SKETCH_DISTINCT_INT_H
#define SKETCH_DISTINCT_INT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/distinct.h"

/* The martingale estimate counts in 2^-20, its variance in 2^-40 (its square). Both saturate. */
#define MARTINGALE_BITS 20
#define MARTINGALE_ONE (UINT64_C(1) << MARTINGALE_BITS)
#define MARTINGALE_MAX (UINT64_C(1) << 63)

struct variance {
    uint64_t hi, lo;
};

struct martingale {
    uint64_t estimate;
    struct variance variance;
    /* Probability that the next new key changes a register, in 2^-64; 2^64 is written 0 (no
     * register is set). A function of the registers alone, so it is not saved. */
    uint64_t chance;
};

#define STATE_ALL 0xff
#define STATE_RANK 0xfc /* ranks of a plain HyperLogLog: what was below them is not known */

/* Either `table` or `registers` is in use, by `dense`. */
struct sk_distinct {
    unsigned precision;
    uint32_t exact_until;
    bool dense;
    bool one_piece; /* dense only: counted key by key, so the martingale holds */
    /* Dense only: the bits of a register that say something. */
    uint8_t state_mask;
    bool zero;      /* exact only: the hash 0 is in the set, which the table cannot say */
    uint32_t count; /* exact only: hashes in the set */
    size_t slots;
    uint64_t *table; /* linear probing from sk_range(hash, slots); 0 is free */
    uint8_t *registers;
    struct martingale martingale;
};

/* A register's byte: u << 2 | seen(u-1) << 1 | seen(u-2); 0: no key yet. */
static inline unsigned state_rank(uint8_t state)
{
    return state >> 2;
}

/* How many ranks below the highest a register knows of. */
static inline unsigned history_ranks(const struct sk_distinct *d)
{
    return d->state_mask == STATE_ALL ? 2 : 0;
}

static inline unsigned rank_max(unsigned precision)
{
    return 64 - precision + 1;
}

static inline double rank_probability(unsigned rank, unsigned max)
{
    return ldexp(1, -(int) (rank < max ? rank : max - 1));
}

/* Probability of all ranks above this one. */
static inline double rank_tail(unsigned rank, unsigned max)
{
    return rank < max ? ldexp(1, -(int) rank) : 0;
}

/* Parameters are in range. Dense: registers without a key, of which the caller says what they are.
 */
int distinct_new(struct sk_distinct **ret, unsigned precision, uint32_t exact_until, bool dense);
bool distinct_has(const struct sk_distinct *d, uint64_t hash);
/* For a hash that is not in the exact set; the table has room. */
void distinct_put(struct sk_distinct *d, uint64_t hash);
/* Probability that the next new key changes some register, as in struct martingale. */
uint64_t distinct_chance(const struct sk_distinct *d);

#endif
