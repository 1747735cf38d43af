#include "sketch/distinct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/distinct_int.h"
#include "sketch/form_int.h"

#define FORM_MAGIC "RKUL"
#define FORM_VERSION 1
#define PARAMETER_BYTES 36
#define BODY_AT (SK_FORM_HEAD_BYTES + PARAMETER_BYTES)
#define HASH_BYTES 8

enum state { STATE_EXACT, STATE_ONE_PIECE, STATE_UNION, STATE_PLAIN_UNION };

struct parameters {
    unsigned precision, state;
    uint32_t exact_until, count;
    struct martingale martingale;
};

/* Shell's sort with Knuth's gaps: in place, no recursion, quick on the nearly sorted table. */
static void sort_hashes(uint8_t *hashes, size_t n)
{
    size_t gap = 1;
    while (gap < n / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3) {
        for (size_t i = gap; i < n; i++) {
            uint64_t hash = sk_get64(hashes + i * HASH_BYTES);
            size_t j = i;
            for (; j >= gap && sk_get64(hashes + (j - gap) * HASH_BYTES) > hash; j -= gap)
                memcpy(hashes + j * HASH_BYTES, hashes + (j - gap) * HASH_BYTES, HASH_BYTES);
            sk_put64(hashes + j * HASH_BYTES, hash);
        }
    }
}

static size_t put_hashes(const struct sk_distinct *d, uint8_t *to)
{
    size_t n = 0;
    if (d->zero)
        sk_put64(to + n++ * HASH_BYTES, 0);
    for (size_t i = 0; i < d->slots; i++)
        if (d->table[i])
            sk_put64(to + n++ * HASH_BYTES, d->table[i]);
    sort_hashes(to, n);
    return n * HASH_BYTES;
}

static enum state state_of(const struct sk_distinct *d)
{
    if (!d->dense)
        return STATE_EXACT;
    if (d->one_piece)
        return STATE_ONE_PIECE;
    return d->state_mask == STATE_ALL ? STATE_UNION : STATE_PLAIN_UNION;
}

static size_t body_bytes(const struct sk_distinct *d)
{
    return d->dense ? (size_t) 1 << d->precision : (size_t) d->count * HASH_BYTES;
}

static size_t save_room(const void *sketch)
{
    const struct sk_distinct *d = sketch;
    size_t registers = (size_t) 1 << d->precision, hashes = (size_t) d->exact_until * HASH_BYTES;
    return BODY_AT + (registers > hashes ? registers : hashes) + SK_FORM_TAIL_BYTES;
}

static size_t save(const void *sketch, const struct sk_stamp *stamp, uint8_t *to, size_t room)
{
    const struct sk_distinct *d = sketch;
    if (room < BODY_AT + body_bytes(d) + SK_FORM_TAIL_BYTES)
        return 0;
    sk_form_begin(to, FORM_MAGIC, FORM_VERSION, stamp);
    uint8_t *at = to + SK_FORM_HEAD_BYTES;
    at[0] = (uint8_t) d->precision;
    at[1] = (uint8_t) state_of(d);
    sk_put16(at + 2, 0);
    sk_put32(at + 4, d->exact_until);
    sk_put32(at + 8, d->count);
    sk_put64(at + 12, d->martingale.estimate);
    sk_put64(at + 20, d->martingale.variance.lo);
    sk_put64(at + 28, d->martingale.variance.hi);
    if (d->dense)
        memcpy(to + BODY_AT, d->registers, body_bytes(d));
    else
        put_hashes(d, to + BODY_AT);
    return sk_form_end(to, BODY_AT + body_bytes(d));
}

static bool martingale_zero(const struct martingale *m)
{
    return !m->estimate && !m->variance.hi && !m->variance.lo;
}

static bool martingale_valid(const struct martingale *m, uint64_t keys_least)
{
    return m->estimate >= keys_least << MARTINGALE_BITS && m->estimate <= MARTINGALE_MAX;
}

/* The hashes ascend, so none comes twice, and each finds its place in the table at once. */
static int get_hashes(struct sk_distinct *d, const uint8_t *from, uint32_t n)
{
    if (!martingale_zero(&d->martingale))
        return -EBADMSG;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t hash = sk_get64(from + (size_t) i * HASH_BYTES);
        if (i > 0 && hash <= sk_get64(from + (size_t) (i - 1) * HASH_BYTES))
            return -EBADMSG;
        distinct_put(d, hash);
    }
    return 0;
}

/* Ranks below 1 cannot have been seen, nor any above the last. */
static bool state_valid(uint8_t state, unsigned precision)
{
    unsigned u = state_rank(state);
    if (u > rank_max(precision))
        return false;
    return u >= 3 || (u == 2 && !(state & 1)) || !(state & 3);
}

static int get_registers(struct sk_distinct *d, const uint8_t *from)
{
    bool valid[256], any = false;
    size_t n = (size_t) 1 << d->precision;
    for (unsigned state = 0; state < 256; state++)
        valid[state] =
            state_valid((uint8_t) state, d->precision) && !(state & ~(unsigned) d->state_mask);
    for (size_t i = 0; i < n; i++) {
        if (!valid[from[i]])
            return -EBADMSG;
        any |= from[i] != 0;
    }
    memcpy(d->registers, from, n);
    if (any && d->one_piece)
        return martingale_valid(&d->martingale, (uint64_t) d->exact_until + 1) ? 0 : -EBADMSG;
    if (!martingale_zero(&d->martingale))
        return -EBADMSG;
    /* Without any key it can only be one that has no exact phase and waits for its first. */
    return any || (d->one_piece && !d->exact_until) ? 0 : -EBADMSG;
}

/* The parameters, and that the body is as long as they say. */
static int get_parameters(struct parameters *ret, const uint8_t *at, size_t n)
{
    if (n < PARAMETER_BYTES)
        return -EBADMSG;
    struct parameters p = {
        .precision = at[0],
        .state = at[1],
        .exact_until = sk_get32(at + 4),
        .count = sk_get32(at + 8),
        .martingale = {.estimate = sk_get64(at + 12),
                       .variance = {.lo = sk_get64(at + 20), .hi = sk_get64(at + 28)}}};
    bool dense = p.state != STATE_EXACT;
    if (p.precision < SK_DISTINCT_PRECISION_MIN || p.precision > SK_DISTINCT_PRECISION_MAX ||
        p.state > STATE_PLAIN_UNION || sk_get16(at + 2) != 0)
        return -EBADMSG;
    if (p.exact_until > SK_DISTINCT_EXACT_MAX || p.count > p.exact_until ||
        (dense ? p.count != 0 : p.exact_until == 0))
        return -EBADMSG;
    if (n - PARAMETER_BYTES != (dense ? (size_t) 1 << p.precision : (size_t) p.count * HASH_BYTES))
        return -EBADMSG;
    *ret = p;
    return 0;
}

static int load(void **ret, const uint8_t *from, size_t n, const struct sk_stamp *stamp)
{
    const uint8_t *at;
    struct parameters p;
    struct sk_distinct *d;
    int r = sk_form_check(from, n, FORM_MAGIC, FORM_VERSION, stamp, &at, &n);
    if (r < 0)
        return r;
    r = get_parameters(&p, at, n);
    if (r < 0)
        return r;
    r = distinct_new(&d, p.precision, p.exact_until, p.state != STATE_EXACT);
    if (r < 0)
        return r;
    d->one_piece = p.state == STATE_ONE_PIECE;
    d->state_mask = p.state == STATE_PLAIN_UNION ? STATE_RANK : STATE_ALL;
    d->martingale = p.martingale;
    r = d->dense ? get_registers(d, at + PARAMETER_BYTES)
                 : get_hashes(d, at + PARAMETER_BYTES, p.count);
    if (r < 0) {
        sk_distinct_free(d);
        return r;
    }
    if (d->one_piece)
        d->martingale.chance = distinct_chance(d);
    *ret = d;
    return 0;
}

static void *free_any(void *sketch)
{
    return sk_distinct_free(sketch);
}

static size_t bytes_any(const void *sketch)
{
    return sk_distinct_bytes(sketch);
}

const struct sk_kind sk_kind_distinct = {
    .name = "distinct",
    .id = 1,
    .version = FORM_VERSION,
    .save_room = save_room,
    .save = save,
    .load = load,
    .free = free_any,
    .bytes = bytes_any,
};
