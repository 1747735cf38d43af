#include "sketch/cuckoo.h"

#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/hash.h"

#define SLOTS 4 /* a bucket */
#define STASH 8
#define KICKS 500
#define GROUP 32     /* hashes whose buckets are on their way */
#define WORD_BYTES 8 /* how a bucket is read */
#define LOAD_LARGE 0.955
#define LOAD 0.9375 /* small tables vary too much, huge ones need longer walks */

/* A bucket is 4 lanes of f bits in a little-endian word, lane 0 lowest; 0 is an empty slot:
 *
 *     47        36 35        24 23        12 11         0
 *     |  slot 3   |  slot 2    |  slot 1    |  slot 0   |     f = 12, 6 bytes
 *
 * Buckets lie one behind another without gaps. A word is read and written as 8 bytes, of which the
 * high ones may be neighbours': they are written back as they were. */
struct sk_cuckoo {
    struct sk_cuckoo_shape shape;
    uint64_t mask;        /* a bucket's bits in its word */
    uint64_t lows, highs; /* the lowest and the highest bit of each lane */
    uint64_t slots_filled;
    uint64_t kick_state;
    unsigned bucket_bytes;
    unsigned stashed;
    struct {
        uint64_t fingerprint, bucket; /* one of its two */
    } stash[STASH];
    uint8_t buckets[];
};

/* Where a hash may be. */
struct place {
    uint64_t fingerprint; /* above 0 */
    uint64_t bucket, other;
};

static uint64_t fingerprints(uint32_t bits)
{
    return (UINT64_C(1) << bits) - 1;
}

/* Odds that an absent hash finds its fingerprint among so many. */
static double rate_of(double met, uint32_t bits)
{
    return -expm1(met * log1p(-1 / (double) fingerprints(bits)));
}

static uint64_t room(uint64_t buckets)
{
    double load = buckets >= 1 << 10 && buckets <= 1 << 24 ? LOAD_LARGE : LOAD;
    return (uint64_t) (load * SLOTS * (double) buckets);
}

int sk_cuckoo_shape(uint64_t capacity, double false_positive, struct sk_cuckoo_shape *ret)
{
    if (capacity == 0 || !(false_positive > 0 && false_positive < 1))
        return -EINVAL;
    uint64_t buckets = 2;
    while (buckets <= SK_CUCKOO_BUCKETS_MAX && room(buckets) < capacity)
        buckets *= 2;
    if (buckets > SK_CUCKOO_BUCKETS_MAX)
        return -EOVERFLOW;
    double met = 2 * (double) capacity / (double) buckets;
    for (uint32_t bits = 8; bits <= 16; bits += 4) {
        if (rate_of(met, bits) <= false_positive) {
            *ret = (struct sk_cuckoo_shape){.buckets = buckets, .fingerprint_bits = bits};
            return 0;
        }
    }
    return -ERANGE;
}

static bool sound(struct sk_cuckoo_shape s)
{
    bool power_of_two = s.buckets >= 2 && (s.buckets & (s.buckets - 1)) == 0;
    bool lanes = s.fingerprint_bits == 8 || s.fingerprint_bits == 12 || s.fingerprint_bits == 16;
    return power_of_two && s.buckets <= SK_CUCKOO_BUCKETS_MAX && lanes;
}

int sk_cuckoo_new(struct sk_cuckoo **ret, struct sk_cuckoo_shape shape)
{
    if (!sound(shape))
        return -EINVAL;
    uint32_t f = shape.fingerprint_bits;
    uint64_t body = shape.buckets * (SLOTS * f / 8) + WORD_BYTES;
    if (body > SIZE_MAX - sizeof(struct sk_cuckoo))
        return -ENOMEM;
    struct sk_cuckoo *c = calloc(1, sizeof *c + (size_t) body);
    if (!c)
        return -ENOMEM;
    c->shape = shape;
    c->bucket_bytes = SLOTS * f / 8;
    c->lows = 1 | UINT64_C(1) << f | UINT64_C(1) << 2 * f | UINT64_C(1) << 3 * f;
    c->highs = c->lows << (f - 1);
    c->mask = c->lows * fingerprints(f);
    *ret = c;
    return 0;
}

struct sk_cuckoo *sk_cuckoo_free(struct sk_cuckoo *c)
{
    free(c);
    return NULL;
}

/* The other bucket is found without the hash, never is the same, and leads back. */
static uint64_t other_of(const struct sk_cuckoo *c, uint64_t bucket, uint64_t fingerprint)
{
    return bucket ^ (1 + sk_range(sk_mix(fingerprint), c->shape.buckets - 1));
}

static struct place place_of(const struct sk_cuckoo *c, uint64_t hash)
{
    uint64_t word = sk_mix_row(hash, 0);
    struct place p;
    p.fingerprint = 1 + ((word >> 32) * fingerprints(c->shape.fingerprint_bits) >> 32);
    p.bucket = (word & UINT32_MAX) & (c->shape.buckets - 1);
    p.other = other_of(c, p.bucket, p.fingerprint);
    return p;
}

static uint64_t read_word(const struct sk_cuckoo *c, uint64_t bucket)
{
    uint64_t word;
    memcpy(&word, c->buckets + bucket * c->bucket_bytes, sizeof word);
    return le64toh(word);
}

static void write_word(struct sk_cuckoo *c, uint64_t bucket, uint64_t word)
{
    word = htole64(word);
    memcpy(c->buckets + bucket * c->bucket_bytes, &word, sizeof word);
}

/* The top bit of the lanes that hold the value; exact up to the lowest of them, 0 if there is none:
 * a lane borrows only above one that matched. Neighbours' bits lie above all lanes. */
static uint64_t lanes_with(const struct sk_cuckoo *c, uint64_t word, uint64_t value)
{
    uint64_t x = word ^ c->lows * value;
    return (x - c->lows) & ~x & c->highs;
}

static unsigned lowest_shift(const struct sk_cuckoo *c, uint64_t lanes)
{
    return (unsigned) __builtin_ctzll(lanes) - (c->shape.fingerprint_bits - 1);
}

/* Puts `to` in a slot that holds `from`; false if none does. */
static bool replace(struct sk_cuckoo *c, uint64_t bucket, uint64_t from, uint64_t to)
{
    uint64_t word = read_word(c, bucket), lanes = lanes_with(c, word, from);
    if (!lanes)
        return false;
    write_word(c, bucket, word ^ (from ^ to) << lowest_shift(c, lanes));
    return true;
}

static bool fill_slot(struct sk_cuckoo *c, uint64_t bucket, uint64_t fingerprint)
{
    bool done = replace(c, bucket, 0, fingerprint);
    c->slots_filled += done;
    return done;
}

/* The index in the stash, or STASH. */
static unsigned find_stashed(const struct sk_cuckoo *c, struct place p)
{
    for (unsigned i = 0; i < c->stashed; i++) {
        if (c->stash[i].fingerprint == p.fingerprint &&
            (c->stash[i].bucket == p.bucket || c->stash[i].bucket == p.other))
            return i;
    }
    return STASH;
}

static bool has(const struct sk_cuckoo *c, struct place p)
{
    return (lanes_with(c, read_word(c, p.bucket), p.fingerprint) |
            lanes_with(c, read_word(c, p.other), p.fingerprint)) != 0 ||
           find_stashed(c, p) < STASH;
}

bool sk_cuckoo_has(const struct sk_cuckoo *c, uint64_t hash)
{
    return has(c, place_of(c, hash));
}

/* Walks from a full bucket: takes a slot there, and carries its holder to that one's other bucket,
 * until a slot is free. Who is left without one goes to the stash, which has room. */
static void kick(struct sk_cuckoo *c, struct place p)
{
    uint64_t bucket = 0, fingerprint = p.fingerprint;
    for (int i = 0; i < KICKS; i++) {
        uint64_t draw = sk_mix_row(c->kick_state++, 0);
        if (i == 0)
            bucket = draw >> 8 & 1 ? p.bucket : p.other;
        unsigned shift = (draw & (SLOTS - 1)) * c->shape.fingerprint_bits;
        uint64_t word = read_word(c, bucket);
        uint64_t holder = word >> shift & fingerprints(c->shape.fingerprint_bits);
        write_word(c, bucket, word ^ (holder ^ fingerprint) << shift);
        fingerprint = holder;
        bucket = other_of(c, bucket, fingerprint);
        if (fill_slot(c, bucket, fingerprint))
            return;
    }
    c->stash[c->stashed].fingerprint = fingerprint;
    c->stash[c->stashed++].bucket = bucket;
}

/* Eight times the same: no walk helps, and the stash is for others. */
static bool all_alike(const struct sk_cuckoo *c, struct place p)
{
    uint64_t alike = c->lows * p.fingerprint;
    return ((read_word(c, p.bucket) ^ alike) & c->mask) == 0 &&
           ((read_word(c, p.other) ^ alike) & c->mask) == 0;
}

static int add(struct sk_cuckoo *c, struct place p)
{
    if (fill_slot(c, p.bucket, p.fingerprint) || fill_slot(c, p.other, p.fingerprint))
        return 0;
    if (c->stashed == STASH || all_alike(c, p))
        return -ENOSPC;
    kick(c, p);
    return 0;
}

int sk_cuckoo_add(struct sk_cuckoo *c, uint64_t hash)
{
    return add(c, place_of(c, hash));
}

static void drop_stashed(struct sk_cuckoo *c, unsigned i)
{
    c->stash[i] = c->stash[--c->stashed];
}

/* A slot became free: somebody in the stash may fit again. */
static void settle_stashed(struct sk_cuckoo *c)
{
    for (unsigned i = c->stashed; i-- > 0;) {
        uint64_t bucket = c->stash[i].bucket, fingerprint = c->stash[i].fingerprint;
        if (fill_slot(c, bucket, fingerprint) ||
            fill_slot(c, other_of(c, bucket, fingerprint), fingerprint))
            drop_stashed(c, i);
    }
}

bool sk_cuckoo_remove(struct sk_cuckoo *c, uint64_t hash)
{
    struct place p = place_of(c, hash);
    unsigned stashed = find_stashed(c, p);
    if (stashed < STASH) {
        drop_stashed(c, stashed);
        return true;
    }
    if (!replace(c, p.bucket, p.fingerprint, 0) && !replace(c, p.other, p.fingerprint, 0))
        return false;
    c->slots_filled--;
    settle_stashed(c);
    return true;
}

static size_t fetch_group(const struct sk_cuckoo *c, const uint64_t *hashes, size_t n,
                          struct place *ret_places)
{
    size_t group = n < GROUP ? n : GROUP;
    for (size_t i = 0; i < group; i++) {
        ret_places[i] = place_of(c, hashes[i]);
        __builtin_prefetch(c->buckets + ret_places[i].bucket * c->bucket_bytes, 1);
        __builtin_prefetch(c->buckets + ret_places[i].other * c->bucket_bytes, 1);
    }
    return group;
}

size_t sk_cuckoo_add_batch(struct sk_cuckoo *c, const uint64_t *hashes, size_t n)
{
    struct place places[GROUP];
    for (size_t done = 0; done < n;) {
        size_t group = fetch_group(c, hashes + done, n - done, places);
        for (size_t i = 0; i < group; i++, done++) {
            if (add(c, places[i]) != 0)
                return done;
        }
    }
    return n;
}

void sk_cuckoo_has_batch(const struct sk_cuckoo *c, const uint64_t *hashes, size_t n, bool *ret_has)
{
    struct place places[GROUP];
    for (size_t done = 0; done < n;) {
        size_t group = fetch_group(c, hashes + done, n - done, places);
        for (size_t i = 0; i < group; i++, done++)
            ret_has[done] = has(c, places[i]);
    }
}

struct sk_cuckoo_shape sk_cuckoo_shape_of(const struct sk_cuckoo *c)
{
    return c->shape;
}

uint64_t sk_cuckoo_slots(const struct sk_cuckoo *c)
{
    return c->shape.buckets * SLOTS;
}

uint64_t sk_cuckoo_items(const struct sk_cuckoo *c)
{
    return c->slots_filled + c->stashed;
}

unsigned sk_cuckoo_stashed(const struct sk_cuckoo *c)
{
    return c->stashed;
}

double sk_cuckoo_fill(const struct sk_cuckoo *c)
{
    return (double) c->slots_filled / (double) sk_cuckoo_slots(c);
}

/* A hash meets 8 slots, and somebody in the stash if its pair of buckets is the same. */
double sk_cuckoo_rate(const struct sk_cuckoo *c)
{
    double met = 2 * (double) (c->slots_filled + c->stashed) / (double) c->shape.buckets;
    return rate_of(met, c->shape.fingerprint_bits);
}

size_t sk_cuckoo_bytes(const struct sk_cuckoo *c)
{
    return sizeof *c + (size_t) c->shape.buckets * c->bucket_bytes + WORD_BYTES;
}
