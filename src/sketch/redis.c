#include "sketch/redis.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "sketch/distinct_int.h"

#define REGISTERS (1 << SK_REDIS_PRECISION)
#define RANK_BITS (64 - SK_REDIS_PRECISION) /* a rank of RANK_BITS + 1: all of them are 0 */
#define RANK_MAX (RANK_BITS + 1)
#define HEAD_BYTES 16
#define ENCODING_AT 4
#define COUNT_AT 8
#define COUNT_STALE 0x80              /* in the count's last byte */
#define ALPHA 0.721347520444481703680 /* 1 / (2 ln 2) */

enum encoding { DENSE, SPARSE };

static const char magic[4] = {'H', 'Y', 'L', 'L'};

/* ---- ranks at p = 14 ---- */

static void raise_rank(uint8_t *ranks, size_t i, unsigned rank)
{
    if (rank > RANK_MAX)
        rank = RANK_MAX;
    if (rank > ranks[i])
        ranks[i] = (uint8_t) rank;
}

static void add_hash(uint8_t *ranks, uint64_t hash)
{
    uint64_t rest = hash << SK_REDIS_PRECISION;
    raise_rank(ranks, hash >> RANK_BITS, rest ? (unsigned) __builtin_clzll(rest) + 1 : RANK_MAX);
}

/* A register of higher precision: the low bits of its index are the first that ranks count. */
static void add_register(uint8_t *ranks, uint8_t state, size_t i, unsigned drop)
{
    uint64_t low = drop ? (uint64_t) i << (64 - drop) : 0;
    if (state)
        raise_rank(ranks, i >> drop,
                   low ? (unsigned) __builtin_clzll(low) + 1 : state_rank(state) + drop);
}

static int ranks_of(const struct sk_distinct *d, uint8_t ranks[REGISTERS])
{
    if (d->precision < SK_REDIS_PRECISION)
        return -EINVAL;
    memset(ranks, 0, REGISTERS);
    if (d->dense)
        for (size_t i = 0; i < (size_t) 1 << d->precision; i++)
            add_register(ranks, d->registers[i], i, d->precision - SK_REDIS_PRECISION);
    if (d->zero)
        add_hash(ranks, 0);
    for (size_t i = 0; i < d->slots; i++)
        if (d->table[i])
            add_hash(ranks, d->table[i]);
    return 0;
}

/* ---- dense ---- */

int sk_redis_write(const struct sk_distinct *d, uint8_t to[SK_REDIS_BYTES])
{
    uint8_t ranks[REGISTERS];
    int r = ranks_of(d, ranks);
    if (r < 0)
        return r;
    memset(to, 0, HEAD_BYTES);
    memcpy(to, magic, sizeof magic);
    to[ENCODING_AT] = DENSE;
    to[COUNT_AT + 7] = COUNT_STALE;
    uint8_t *at = to + HEAD_BYTES;
    for (size_t i = 0; i < REGISTERS; i += 4, at += 3) {
        at[0] = (uint8_t) (ranks[i] | ranks[i + 1] << 6);
        at[1] = (uint8_t) (ranks[i + 1] >> 2 | ranks[i + 2] << 4);
        at[2] = (uint8_t) (ranks[i + 2] >> 4 | ranks[i + 3] << 2);
    }
    return 0;
}

static int read_dense(const uint8_t *at, size_t n, uint8_t ranks[REGISTERS])
{
    if (n != SK_REDIS_BYTES - HEAD_BYTES && n != SK_REDIS_BYTES - HEAD_BYTES + 1)
        return -EBADMSG;
    if (n > SK_REDIS_BYTES - HEAD_BYTES && at[n - 1] != '\n')
        return -EBADMSG;
    for (size_t i = 0; i < REGISTERS; i += 4, at += 3) {
        ranks[i] = at[0] & 63;
        ranks[i + 1] = (uint8_t) ((at[0] >> 6 | at[1] << 2) & 63);
        ranks[i + 2] = (uint8_t) ((at[1] >> 4 | at[2] << 4) & 63);
        ranks[i + 3] = at[2] >> 2;
    }
    for (size_t i = 0; i < REGISTERS; i++)
        if (ranks[i] > RANK_MAX)
            return -EBADMSG;
    return 0;
}

/* ---- sparse ---- */

struct run {
    size_t registers;
    uint8_t rank;
};

/* The length of the run's code, at most n; 0: it is cut. */
static size_t read_run(const uint8_t *at, size_t n, struct run *ret)
{
    if (at[0] & 0x80) {
        *ret = (struct run){(at[0] & 3) + 1u, (uint8_t) ((at[0] >> 2 & 31) + 1)};
        return 1;
    }
    if (!(at[0] & 0x40)) {
        *ret = (struct run){at[0] + 1u, 0};
        return 1;
    }
    if (n < 2)
        return 0;
    *ret = (struct run){((at[0] & 63u) << 8 | at[1]) + 1, 0};
    return 2;
}

static int read_sparse(const uint8_t *at, size_t n, uint8_t ranks[REGISTERS])
{
    size_t i = 0;
    struct run run;
    while (n > 0 && i < REGISTERS) {
        size_t code = read_run(at, n, &run);
        if (code == 0 || run.registers > REGISTERS - i)
            return -EBADMSG;
        memset(ranks + i, run.rank, run.registers);
        i += run.registers;
        at += code;
        n -= code;
    }
    bool ends = n == 0 || (n == 1 && at[0] == '\n');
    return i == REGISTERS && ends ? 0 : -EBADMSG;
}

/* ---- reading ---- */

/* Registers of a union, without history. No key at all: the empty set, which is of one piece. */
static int make_set(struct sk_distinct **ret, const uint8_t ranks[REGISTERS])
{
    bool any = false;
    for (size_t i = 0; i < REGISTERS; i++)
        any |= ranks[i] != 0;
    if (!any)
        return sk_distinct_new(ret, SK_REDIS_PRECISION, 0);
    struct sk_distinct *d;
    int r = distinct_new(&d, SK_REDIS_PRECISION, 0, true);
    if (r < 0)
        return r;
    d->state_mask = STATE_RANK;
    for (size_t i = 0; i < REGISTERS; i++)
        d->registers[i] = (uint8_t) (ranks[i] << 2);
    *ret = d;
    return 0;
}

int sk_redis_read(struct sk_distinct **ret, const uint8_t *from, size_t n)
{
    uint8_t ranks[REGISTERS];
    if (n < HEAD_BYTES || memcmp(from, magic, sizeof magic) != 0)
        return -EBADMSG;
    if (from[ENCODING_AT] > SPARSE || from[5] || from[6] || from[7])
        return -EPROTO;
    int r = from[ENCODING_AT] == DENSE ? read_dense(from + HEAD_BYTES, n - HEAD_BYTES, ranks)
                                       : read_sparse(from + HEAD_BYTES, n - HEAD_BYTES, ranks);
    return r < 0 ? r : make_set(ret, ranks);
}

/* ---- the estimate ---- */

/* x + sum over k >= 1 of x^(2^k) 2^(k-1); 0 <= x < 1. */
static double sigma(double x)
{
    double weight = 1, sum = x, before;
    do {
        x *= x;
        before = sum;
        sum += x * weight;
        weight += weight;
    } while (sum != before);
    return sum;
}

/* (1 - x - sum over k >= 1 of (1 - x^(2^-k))^2 2^-k) / 3 */
static double tau(double x)
{
    double weight = 1, sum = 1 - x, before;
    if (x == 0 || x == 1)
        return 0;
    do {
        x = sqrt(x);
        before = sum;
        weight *= 0.5;
        sum -= (1 - x) * (1 - x) * weight;
    } while (sum != before);
    return sum / 3;
}

/* In the order of operations of the paper, so that the digits are those of Redis. */
static uint64_t estimate(const uint8_t ranks[REGISTERS])
{
    uint32_t counts[RANK_MAX + 1] = {0};
    double m = REGISTERS;
    for (size_t i = 0; i < REGISTERS; i++)
        counts[ranks[i]]++;
    if (counts[0] == REGISTERS)
        return 0;
    double z = m * tau((m - counts[RANK_MAX]) / m);
    for (unsigned k = RANK_BITS; k >= 1; k--)
        z = (z + counts[k]) * 0.5;
    z += m * sigma(counts[0] / m);
    double n = z > 0 ? ALPHA * m * m / z : HUGE_VAL; /* all ranks at their end */
    return n < 0x1p63 ? (uint64_t) llround(n) : (uint64_t) INT64_MAX;
}

int sk_redis_estimate(const struct sk_distinct *d, uint64_t *ret)
{
    uint8_t ranks[REGISTERS];
    int r = ranks_of(d, ranks);
    if (r == 0)
        *ret = estimate(ranks);
    return r;
}
