#include "sketch/counting.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sketch/bloom.h"
#include "sketch/hash.h"

#define CELLS_A_BYTE 2
#define CELLS_STEP 64 /* cells come in this many, as the bits of a Bloom filter do */
#define HASHES_MAX 64
#define GROUP_PROBES 256 /* cells on their way at once: four of HASHES_MAX */

struct sk_counting {
    struct sk_counting_shape shape;
    uint64_t used, stuck;
    uint8_t pairs[]; /* the even cell in the low half */
};

int sk_counting_shape(uint64_t capacity, double false_positive, struct sk_counting_shape *ret)
{
    struct sk_bloom_shape s;
    _Static_assert(SK_COUNTING_CELLS_MAX == SK_BLOOM_BITS_MAX, "one arithmetic for both");
    int r = sk_bloom_shape(capacity, false_positive, &s);
    if (r == 0)
        *ret = (struct sk_counting_shape){.cells = s.bits, .hashes = s.hashes};
    return r;
}

int sk_counting_new(struct sk_counting **ret, struct sk_counting_shape shape)
{
    if (shape.cells == 0 || shape.cells > SK_COUNTING_CELLS_MAX || shape.cells % CELLS_STEP != 0 ||
        shape.hashes == 0 || shape.hashes > HASHES_MAX)
        return -EINVAL;
    if (shape.cells / CELLS_A_BYTE > SIZE_MAX - sizeof(struct sk_counting))
        return -ENOMEM;
    struct sk_counting *c = calloc(1, sizeof *c + (size_t) (shape.cells / CELLS_A_BYTE));
    if (!c)
        return -ENOMEM;
    c->shape = shape;
    *ret = c;
    return 0;
}

struct sk_counting *sk_counting_free(struct sk_counting *c)
{
    free(c);
    return NULL;
}

static uint64_t position(const struct sk_counting *c, uint64_t hash, uint32_t probe)
{
    return sk_range(sk_mix_row(hash, probe), c->shape.cells);
}

static unsigned shift_of(uint64_t at)
{
    return at % CELLS_A_BYTE * 4;
}

static unsigned cell(const struct sk_counting *c, uint64_t at)
{
    return c->pairs[at / CELLS_A_BYTE] >> shift_of(at) & SK_COUNTING_STUCK;
}

/* Returns what was there. */
static unsigned raise_cell(struct sk_counting *c, uint64_t at)
{
    unsigned was = cell(c, at);
    if (was == SK_COUNTING_STUCK)
        return was;
    c->pairs[at / CELLS_A_BYTE] += (uint8_t) (1u << shift_of(at));
    c->used += was == 0;
    c->stuck += was + 1 == SK_COUNTING_STUCK;
    return was;
}

/* A key that was never added may have two probes in one cell of 1, hence the look at 0. */
static void lower_cell(struct sk_counting *c, uint64_t at)
{
    unsigned was = cell(c, at);
    if (was == 0 || was == SK_COUNTING_STUCK)
        return;
    c->pairs[at / CELLS_A_BYTE] -= (uint8_t) (1u << shift_of(at));
    c->used -= was == 1;
}

bool sk_counting_has(const struct sk_counting *c, uint64_t hash)
{
    for (uint32_t i = 0; i < c->shape.hashes; i++) {
        if (cell(c, position(c, hash, i)) == 0)
            return false;
    }
    return true;
}

bool sk_counting_add(struct sk_counting *c, uint64_t hash)
{
    bool fresh = false;
    for (uint32_t i = 0; i < c->shape.hashes; i++)
        fresh |= raise_cell(c, position(c, hash, i)) == 0;
    return fresh;
}

bool sk_counting_remove(struct sk_counting *c, uint64_t hash)
{
    if (!sk_counting_has(c, hash))
        return false;
    for (uint32_t i = 0; i < c->shape.hashes; i++)
        lower_cell(c, position(c, hash, i));
    return true;
}

/* Asks memory for the cells of as many hashes as fit; returns how many. */
static size_t fetch_group(const struct sk_counting *c, const uint64_t *hashes, size_t n,
                          uint64_t *ret_at)
{
    const uint32_t k = c->shape.hashes;
    size_t group = n < GROUP_PROBES / k ? n : GROUP_PROBES / k;
    for (size_t i = 0; i < group; i++) {
        for (uint32_t probe = 0; probe < k; probe++) {
            uint64_t at = position(c, hashes[i], probe);
            __builtin_prefetch(&c->pairs[at / CELLS_A_BYTE], 1);
            *ret_at++ = at;
        }
    }
    return group;
}

void sk_counting_add_batch(struct sk_counting *c, const uint64_t *hashes, size_t n, bool *ret_new)
{
    uint64_t at[GROUP_PROBES];
    const uint32_t k = c->shape.hashes;
    for (size_t done = 0; done < n;) {
        size_t group = fetch_group(c, hashes + done, n - done, at);
        for (size_t i = 0; i < group; i++) {
            bool fresh = false;
            for (uint32_t probe = 0; probe < k; probe++)
                fresh |= raise_cell(c, at[i * k + probe]) == 0;
            if (ret_new)
                ret_new[done + i] = fresh;
        }
        done += group;
    }
}

void sk_counting_has_batch(const struct sk_counting *c, const uint64_t *hashes, size_t n,
                           bool *ret_has)
{
    uint64_t at[GROUP_PROBES];
    const uint32_t k = c->shape.hashes;
    for (size_t done = 0; done < n;) {
        size_t group = fetch_group(c, hashes + done, n - done, at);
        for (size_t i = 0; i < group; i++) {
            bool has = true;
            for (uint32_t probe = 0; probe < k; probe++)
                has &= cell(c, at[i * k + probe]) != 0;
            ret_has[done + i] = has;
        }
        done += group;
    }
}

struct sk_counting_shape sk_counting_shape_of(const struct sk_counting *c)
{
    return c->shape;
}

uint64_t sk_counting_used(const struct sk_counting *c)
{
    return c->used;
}

uint64_t sk_counting_stuck(const struct sk_counting *c)
{
    return c->stuck;
}

double sk_counting_fill(const struct sk_counting *c)
{
    return (double) c->used / (double) c->shape.cells;
}

double sk_counting_rate(const struct sk_counting *c)
{
    return pow(sk_counting_fill(c), c->shape.hashes);
}

double sk_counting_items(const struct sk_counting *c)
{
    double cells = (double) c->shape.cells, clear = cells - (double) c->used;
    if (clear < 0.5)
        clear = 0.5; /* a full filter has no upper bound; a number all the same */
    return -(cells / c->shape.hashes) * log(clear / cells);
}

size_t sk_counting_bytes(const struct sk_counting *c)
{
    return sizeof *c + (size_t) (c->shape.cells / CELLS_A_BYTE);
}
