#include "sketch/distinct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/distinct_int.h"
#include "sketch/hash.h"

/* One register, p = 14, after keys of ranks 2, 4 and 5 (rank = leading zeros of the bits after the
 * index, plus 1, at most 64 - p + 1):
 *
 *      7   6   5   4   3   2 | 1       0
 *    +-----------------------+-------+-------+
 *    | u = 5                 | 4: 1  | 3: 0  |     rank 2 has left the window
 *    +-----------------------+-------+-------+
 *
 * As a byte the larger u is the larger number. Of two registers the larger one stays, and the
 * smaller one's window (its u and two bits: 1ab) moves right by the difference of the ranks and is
 * ORed. */

#define VECTOR_BYTES 16

typedef uint8_t vector __attribute__((vector_size(VECTOR_BYTES)));

static uint8_t state_merge(uint8_t a, uint8_t b)
{
    uint8_t large = a > b ? a : b;
    uint8_t small = a > b ? b : a;
    uint64_t window = small ? 4u | (small & 3u) : 0;
    return (uint8_t) (large | (window >> (state_rank(large) - state_rank(small)) & 3));
}

/* state_merge on 16 registers at once. Bytes cannot be shifted each by its own distance, but only
 * the distances 0, 1 and 2 leave anything of the window; 4 times the distance is at hand. */
static void merge_vector(uint8_t *into, const uint8_t *from)
{
    vector a, b;
    memcpy(&a, into, sizeof a);
    memcpy(&b, from, sizeof b);
    vector larger = (vector) (a > b);
    vector large = (a & larger) | (b & ~larger);
    vector small = (b & larger) | (a & ~larger);
    vector apart = (large & 0xfc) - (small & 0xfc);
    vector second = (vector) ((small & 2) != 0) & 1;
    vector seen = ((vector) (apart == 0) & small & 3) | ((vector) (apart == 4) & (2 | second)) |
                  ((vector) (apart == 8) & 1);
    large |= seen & (vector) (small != 0);
    memcpy(into, &large, sizeof large);
}

/* What register i of a sketch with `drop` more bits of index says at the smaller precision: those
 * low bits of i become the first bits of what ranks are counted in. */
static uint8_t state_fold(uint8_t state, size_t i, unsigned drop)
{
    if (!state)
        return 0;
    uint64_t low = i & ((UINT64_C(1) << drop) - 1);
    if (!low)
        return (uint8_t) (state + (drop << 2));
    unsigned rank = (unsigned) __builtin_clzll(low) - (64 - drop) + 1;
    return (uint8_t) (rank << 2);
}

/* The share of new keys that would change a register in this state, times 2^(64-p). */
static uint64_t state_chance(uint8_t state, unsigned precision)
{
    unsigned bits =
        64 - precision; /* a rank k <= bits has probability 2^-k, bits + 1 has 2^-bits */
    unsigned u = state_rank(state);
    uint64_t chance = u <= bits ? UINT64_C(1) << (bits - u) : 0;
    if (u >= 2 && !(state & 2))
        chance += UINT64_C(1) << (bits - (u - 1));
    if (u >= 3 && !(state & 1))
        chance += UINT64_C(1) << (bits - (u - 2));
    return chance;
}

uint64_t distinct_chance(const struct sk_distinct *d)
{
    size_t histogram[256] = {0};
    uint64_t chance = 0;
    for (size_t i = 0; i < (size_t) 1 << d->precision; i++)
        histogram[d->registers[i]]++;
    for (unsigned state = 0; state < 256; state++)
        if (histogram[state])
            chance += histogram[state] * state_chance((uint8_t) state, d->precision);
    return chance;
}

/* The register goes from one state to another by a key that came with probability `chance`: it
 * stands for 1/chance keys, with variance (1 - chance) / chance^2. The quotient is a double, which
 * IEEE 754 rounds in one way everywhere; all sums are integers. */
static void martingale_step(struct martingale *m, unsigned precision, uint8_t old, uint8_t new)
{
    double keys =
        m->chance ? 0x1p84 / (double) m->chance + 0.5 : (double) MARTINGALE_ONE; /* 2^(64+20) */
    uint64_t step = keys < 0x1p62 ? (uint64_t) keys : UINT64_C(1) << 62;
    m->chance -= state_chance(old, precision) - state_chance(new, precision);

    m->estimate += step;
    if (m->estimate > MARTINGALE_MAX)
        m->estimate = MARTINGALE_MAX;
    unsigned __int128 variance = (unsigned __int128) m->variance.hi << 64 | m->variance.lo;
    unsigned __int128 more = (unsigned __int128) step * (step - MARTINGALE_ONE);
    variance = variance + more < variance ? ~(unsigned __int128) 0 : variance + more;
    m->variance = (struct variance){(uint64_t) (variance >> 64), (uint64_t) variance};
}

static bool dense_add(struct sk_distinct *d, uint64_t hash)
{
    unsigned p = d->precision;
    uint8_t *at = &d->registers[hash >> (64 - p)];
    unsigned rank = (unsigned) __builtin_clzll(hash << p | UINT64_C(1) << (p - 1)) + 1;
    uint8_t old = *at;
    uint8_t new = state_merge(old, (uint8_t) (rank << 2)) & d->state_mask;
    if (new == old)
        return false;
    *at = new;
    if (d->one_piece)
        martingale_step(&d->martingale, p, old, new);
    return true;
}

static size_t table_next(const struct sk_distinct *d, size_t slot)
{
    return slot + 1 < d->slots ? slot + 1 : 0;
}

bool distinct_has(const struct sk_distinct *d, uint64_t hash)
{
    if (!hash)
        return d->zero;
    size_t slot = (size_t) sk_range(hash, d->slots);
    while (d->table[slot] && d->table[slot] != hash)
        slot = table_next(d, slot);
    return d->table[slot] != 0;
}

void distinct_put(struct sk_distinct *d, uint64_t hash)
{
    d->count++;
    if (!hash) {
        d->zero = true;
        return;
    }
    size_t slot = (size_t) sk_range(hash, d->slots);
    while (d->table[slot])
        slot = table_next(d, slot);
    d->table[slot] = hash;
}

/* The exact set becomes registers, which were allocated with it; its table is given back. */
static void promote(struct sk_distinct *d)
{
    d->dense = true;
    d->one_piece = false;
    if (d->zero)
        dense_add(d, 0);
    for (size_t i = 0; i < d->slots; i++)
        if (d->table[i])
            dense_add(d, d->table[i]);
    free(d->table);
    d->table = NULL;
    d->slots = 0;
    d->count = 0;
    d->zero = false;
}

/* From here on the set is known to have `keys` members and is counted key by key. */
static void martingale_start(struct sk_distinct *d, uint64_t keys)
{
    d->one_piece = true;
    d->martingale =
        (struct martingale){.estimate = keys << MARTINGALE_BITS, .chance = distinct_chance(d)};
}

static bool exact_add(struct sk_distinct *d, uint64_t hash)
{
    if (distinct_has(d, hash))
        return false;
    if (d->count < d->exact_until) {
        distinct_put(d, hash);
        return true;
    }
    uint64_t keys = (uint64_t) d->count + 1;
    promote(d);
    dense_add(d, hash);
    martingale_start(d, keys);
    return true;
}

int distinct_new(struct sk_distinct **ret, unsigned precision, uint32_t exact_until, bool dense)
{
    struct sk_distinct *d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->precision = precision;
    d->exact_until = exact_until;
    d->dense = dense;
    d->state_mask = STATE_ALL;
    d->registers = calloc((size_t) 1 << precision, 1);
    if (!dense) {
        d->slots = (size_t) exact_until + exact_until / 2 + 2; /* at most two thirds full */
        d->table = calloc(d->slots, sizeof *d->table);
    }
    if (!d->registers || (!dense && !d->table)) {
        sk_distinct_free(d);
        return -ENOMEM;
    }
    *ret = d;
    return 0;
}

int sk_distinct_new(struct sk_distinct **ret, unsigned precision, uint32_t exact_until)
{
    if (precision < SK_DISTINCT_PRECISION_MIN || precision > SK_DISTINCT_PRECISION_MAX ||
        exact_until > SK_DISTINCT_EXACT_MAX)
        return -EINVAL;
    struct sk_distinct *d;
    int r = distinct_new(&d, precision, exact_until, exact_until == 0);
    if (r < 0)
        return r;
    if (d->dense)
        martingale_start(d, 0);
    *ret = d;
    return 0;
}

struct sk_distinct *sk_distinct_free(struct sk_distinct *d)
{
    if (d) {
        free(d->table);
        free(d->registers);
        free(d);
    }
    return NULL;
}

int sk_distinct_copy(struct sk_distinct **ret, const struct sk_distinct *d)
{
    size_t registers = (size_t) 1 << d->precision;
    struct sk_distinct *copy = malloc(sizeof *copy);
    if (!copy)
        return -ENOMEM;
    *copy = *d;
    copy->table = d->table ? malloc(d->slots * sizeof *d->table) : NULL;
    copy->registers = malloc(registers);
    if (!copy->registers || (d->table && !copy->table)) {
        sk_distinct_free(copy);
        return -ENOMEM;
    }
    memcpy(copy->registers, d->registers, registers);
    if (d->table)
        memcpy(copy->table, d->table, d->slots * sizeof *d->table);
    *ret = copy;
    return 0;
}

bool sk_distinct_add(struct sk_distinct *d, uint64_t hash)
{
    return d->dense ? dense_add(d, hash) : exact_add(d, hash);
}

void sk_distinct_add_batch(struct sk_distinct *d, const uint64_t *hashes, size_t n)
{
    size_t i = 0;
    while (i < n && !d->dense)
        exact_add(d, hashes[i++]);
    while (i < n)
        dense_add(d, hashes[i++]);
}

/* The empty set is the neutral element: into becomes the other. */
static int become_copy(struct sk_distinct *into, const struct sk_distinct *from)
{
    struct sk_distinct *copy;
    int r = sk_distinct_copy(&copy, from);
    if (r < 0)
        return r;
    struct sk_distinct old = *into;
    *into = *copy;
    *copy = old;
    sk_distinct_free(copy);
    return 0;
}

/* In place: register j is made of those from j << drop on, of which none below j is read again. */
static void fold(struct sk_distinct *d, unsigned precision)
{
    unsigned drop = d->precision - precision;
    for (size_t j = 0; d->dense && j < (size_t) 1 << precision; j++) {
        uint8_t state = 0;
        for (size_t i = j << drop; i < (j + 1) << drop; i++)
            state = state_merge(state, state_fold(d->registers[i], i, drop));
        d->registers[j] = state;
    }
    d->precision = precision;
    uint8_t *smaller = realloc(d->registers, (size_t) 1 << precision);
    if (smaller)
        d->registers = smaller;
}

static bool same_state(const struct sk_distinct *a, const struct sk_distinct *b)
{
    return a->dense && b->dense && a->one_piece && b->one_piece && a->precision == b->precision &&
           a->martingale.estimate == b->martingale.estimate &&
           a->martingale.variance.hi == b->martingale.variance.hi &&
           a->martingale.variance.lo == b->martingale.variance.lo &&
           memcmp(a->registers, b->registers, (size_t) 1 << a->precision) == 0;
}

static uint32_t exact_missing(const struct sk_distinct *in, const struct sk_distinct *of)
{
    uint32_t missing = of->zero && !in->zero;
    for (size_t i = 0; i < of->slots; i++)
        missing += of->table[i] && !distinct_has(in, of->table[i]);
    return missing;
}

static void add_all(struct sk_distinct *into, const struct sk_distinct *exact)
{
    if (exact->zero)
        sk_distinct_add(into, 0);
    for (size_t i = 0; i < exact->slots; i++)
        if (exact->table[i])
            sk_distinct_add(into, exact->table[i]);
}

static void merge_registers(struct sk_distinct *into, const struct sk_distinct *from)
{
    unsigned drop = from->precision - into->precision;
    size_t n = (size_t) 1 << from->precision;
    if (!drop) {
        for (size_t i = 0; i < n; i += VECTOR_BYTES)
            merge_vector(into->registers + i, from->registers + i);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint8_t *at = &into->registers[i >> drop];
        *at = state_merge(*at, state_fold(from->registers[i], i, drop));
    }
}

/* Without history on one side the union has none. */
static void merge_history(struct sk_distinct *into, const struct sk_distinct *from)
{
    into->state_mask &= from->state_mask;
    for (size_t i = 0; into->state_mask != STATE_ALL && i < (size_t) 1 << into->precision; i++)
        into->registers[i] &= into->state_mask;
}

int sk_distinct_merge(struct sk_distinct *into, const struct sk_distinct *from)
{
    if (into == from || sk_distinct_empty(from) || same_state(into, from))
        return 0;
    if (sk_distinct_empty(into))
        return become_copy(into, from);

    /* Both parameters fold to the smaller one, so the order of merging does not matter. */
    if (from->exact_until < into->exact_until)
        into->exact_until = from->exact_until;
    if (from->precision < into->precision)
        fold(into, from->precision);
    /* Counted first: inserting in the order of from's table would crowd the start of into's. */
    bool exact = !into->dense && !from->dense &&
                 exact_missing(into, from) + (uint64_t) into->count <= into->exact_until;
    if (!exact && !into->dense)
        promote(into);
    if (!exact) {
        into->one_piece = false;
        into->martingale = (struct martingale){0};
    }
    if (from->dense)
        merge_registers(into, from);
    else
        add_all(into, from);
    if (into->dense)
        merge_history(into, from);
    return 0;
}

bool sk_distinct_empty(const struct sk_distinct *d)
{
    /* Registers that were merged come from a set that was not empty. */
    return d->dense ? d->one_piece && d->martingale.estimate == 0 : d->count == 0;
}

bool sk_distinct_exact(const struct sk_distinct *d)
{
    return !d->dense || sk_distinct_empty(d);
}

unsigned sk_distinct_precision(const struct sk_distinct *d)
{
    return d->precision;
}

size_t sk_distinct_bytes(const struct sk_distinct *d)
{
    return sizeof *d + ((size_t) 1 << d->precision) + d->slots * sizeof *d->table;
}
