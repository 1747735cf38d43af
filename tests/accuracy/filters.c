/* Filters: false-positive rates beside their formulas, what misuse does, bytes and speed. Prints
 * its part of doc/accuracy.md; doc/filters.md quotes from it. */
#include "sketch/bloom.h"
#include "sketch/counting.h"
#include "sketch/cuckoo.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "streams.h"

#define MEMBERS 1000000
#define RATE 0.01
#define OTHERS (UINT64_C(1) << 40) /* keys from here on are never added */
#define CHUNK 4096

/* Hashes of key numbers, as the daemon hands them to its filters. */
static void hash_keys(const struct sk_secret *secret, uint64_t from, size_t n, uint64_t *ret)
{
    for (size_t i = 0; i < n; i++, from++)
        ret[i] = sk_hash(secret, &from, sizeof from).lo;
}

static uint64_t *hashed(unsigned seed, uint64_t from, size_t n)
{
    struct sk_secret secret = measure_secret(seed);
    uint64_t *hashes = must_alloc(n, sizeof *hashes);
    hash_keys(&secret, from, n, hashes);
    return hashes;
}

/* ---- one face for the three ---- */

struct filter {
    const char *name;
    void *of;
    bool (*add)(void *of, uint64_t hash); /* false: refused */
    bool (*has)(const void *of, uint64_t hash);
    bool (*remove)(void *of, uint64_t hash); /* NULL: it cannot */
    void (*has_batch)(const void *of, const uint64_t *hashes, size_t n, bool *ret_has);
};

static bool bloom_add(void *of, uint64_t hash)
{
    sk_bloom_add(of, hash);
    return true;
}

static bool bloom_has(const void *of, uint64_t hash)
{
    return sk_bloom_has(of, hash);
}

static void bloom_has_batch(const void *of, const uint64_t *hashes, size_t n, bool *ret_has)
{
    sk_bloom_has_batch(of, hashes, n, ret_has);
}

static bool counting_add(void *of, uint64_t hash)
{
    sk_counting_add(of, hash);
    return true;
}

static bool counting_has(const void *of, uint64_t hash)
{
    return sk_counting_has(of, hash);
}

static bool counting_remove(void *of, uint64_t hash)
{
    return sk_counting_remove(of, hash);
}

static void counting_has_batch(const void *of, const uint64_t *hashes, size_t n, bool *ret_has)
{
    sk_counting_has_batch(of, hashes, n, ret_has);
}

static bool cuckoo_add(void *of, uint64_t hash)
{
    return sk_cuckoo_add(of, hash) == 0;
}

static bool cuckoo_has(const void *of, uint64_t hash)
{
    return sk_cuckoo_has(of, hash);
}

static bool cuckoo_remove(void *of, uint64_t hash)
{
    return sk_cuckoo_remove(of, hash);
}

static void cuckoo_has_batch(const void *of, const uint64_t *hashes, size_t n, bool *ret_has)
{
    sk_cuckoo_has_batch(of, hashes, n, ret_has);
}

static struct filter bloom(uint64_t capacity)
{
    struct sk_bloom_shape s;
    struct sk_bloom *b;
    if (sk_bloom_shape(capacity, RATE, &s) < 0 || sk_bloom_new(&b, s) < 0)
        abort();
    return (struct filter){"Bloom", b, bloom_add, bloom_has, NULL, bloom_has_batch};
}

static struct filter counting(uint64_t capacity)
{
    struct sk_counting_shape s;
    struct sk_counting *c;
    if (sk_counting_shape(capacity, RATE, &s) < 0 || sk_counting_new(&c, s) < 0)
        abort();
    return (struct filter){"counting Bloom",  c, counting_add, counting_has, counting_remove,
                           counting_has_batch};
}

static struct filter cuckoo_of(struct sk_cuckoo_shape s)
{
    static const char *const names[] = {"cuckoo, 8 bits", "cuckoo, 12 bits", "cuckoo, 16 bits"};
    struct sk_cuckoo *c;
    if (sk_cuckoo_new(&c, s) < 0)
        abort();
    return (struct filter){names[s.fingerprint_bits / 4 - 2],
                           c,
                           cuckoo_add,
                           cuckoo_has,
                           cuckoo_remove,
                           cuckoo_has_batch};
}

static struct filter cuckoo(uint64_t capacity)
{
    struct sk_cuckoo_shape s;
    if (sk_cuckoo_shape(capacity, RATE, &s) < 0)
        abort();
    return cuckoo_of(s);
}

static void filter_done(struct filter *f)
{
    if (f->add == bloom_add)
        sk_bloom_free(f->of);
    else if (f->add == counting_add)
        sk_counting_free(f->of);
    else
        sk_cuckoo_free(f->of);
}

/* How many of the n keys from `from` on the filter claims to have. */
static uint64_t claimed(const struct filter *f, const struct sk_secret *secret, uint64_t from,
                        uint64_t n)
{
    uint64_t hashes[CHUNK], sum = 0;
    bool has[CHUNK];
    for (uint64_t done = 0; done < n; done += CHUNK) {
        size_t chunk = n - done < CHUNK ? (size_t) (n - done) : CHUNK;
        hash_keys(secret, from + done, chunk, hashes);
        f->has_batch(f->of, hashes, chunk, has);
        for (size_t i = 0; i < chunk; i++)
            sum += has[i];
    }
    return sum;
}

static double percent(double part, double whole)
{
    return 100 * part / whole;
}

/* ---- Bloom: the published experiment ---- */

#define BLOOM_PROBES 2000000
#define BLOOM_SEEDS 10
#define FORMULA_PERCENT 3 /* how far measured and formula may be apart */

static const uint64_t bloom_sizes[] = {500000, 1000000, 1500000, 2000000, 3000000};
#define BLOOM_SIZES (sizeof bloom_sizes / sizeof bloom_sizes[0])

struct bloom_row {
    double fill, expected, measured, worst, items; /* sums over the seeds, but for the worst */
    uint64_t called_new, denied;
};

static void fill_blooms(unsigned seed, struct bloom_row *rows)
{
    struct filter f = bloom(MEMBERS);
    struct sk_secret secret = measure_secret(seed);
    uint64_t n = 0, called_new = 0;
    for (size_t i = 0; i < BLOOM_SIZES; i++) {
        for (; n < bloom_sizes[i]; n++)
            called_new += sk_bloom_add(f.of, sk_hash(&secret, &n, sizeof n).lo);
        double measured = (double) claimed(&f, &secret, OTHERS, BLOOM_PROBES) / BLOOM_PROBES;
        double expected = sk_bloom_rate(f.of);
        rows[i].fill += sk_bloom_fill(f.of);
        rows[i].expected += expected;
        rows[i].measured += measured;
        rows[i].worst = fmax(rows[i].worst, fabs(measured / expected - 1));
        rows[i].items += sk_bloom_items(f.of);
        rows[i].called_new += called_new;
        rows[i].denied += n - claimed(&f, &secret, 0, n);
    }
    filter_done(&f);
}

static void print_bloom_row(uint64_t n, const struct bloom_row *r, struct sk_bloom_shape s,
                            unsigned seeds)
{
    double ideal = -expm1(-(double) s.hashes * (double) n / (double) s.bits);
    bool met = r->denied == 0 && (n < MEMBERS || 100 * r->worst <= FORMULA_PERCENT);
    printf("| %" PRIu64 " | %.2f %% | %.2f %% | %.4f %% | %.4f %% | %.4f %% | %.2f %% | %.0f | "
           "%.0f | %" PRIu64 " | %s |\n",
           n, 100 * r->fill / seeds, 100 * ideal, 100 * pow(ideal, s.hashes),
           100 * r->expected / seeds, 100 * r->measured / seeds, 100 * r->worst,
           (double) r->called_new / seeds, r->items / seeds, r->denied, measure_always(met));
}

static void run_bloom(unsigned seeds)
{
    struct bloom_row rows[BLOOM_SIZES] = {{0}};
    struct sk_bloom_shape s;
    if (sk_bloom_shape(MEMBERS, RATE, &s) < 0)
        abort();
    for (unsigned seed = 1; seed <= seeds; seed++)
        fill_blooms(seed, rows);
    printf("\n### Bloom filter: 1,000,000 members at 1 %%\n\n"
           "%" PRIu64 " bits, %" PRIu32 " probes, %" PRIu64 " bytes (published: 9,585,088 bits, 7, "
           "1.01 %%, nobody denied, 43.64 %% after 3,000,000): %s.\n\n"
           "Seeds 1 to %u (a filter is an experiment of millions), means of them; %d keys that "
           "were never added are asked each time. "
           "Target: from 1,000,000 on no seed's measured rate is over %d %% away from fill^k, and "
           "no member is ever denied.\n\n"
           "| members | fill | 1-e^(-kn/m) | that^k | fill^k | measured | worst seed off fill^k | "
           "adds called new | members by fill | denied | |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n",
           s.bits, s.hashes, s.bits / 8, measure_always(s.bits == 9585088 && s.hashes == 7), seeds,
           BLOOM_PROBES, FORMULA_PERCENT);
    for (size_t i = 0; i < BLOOM_SIZES; i++)
        print_bloom_row(bloom_sizes[i], &rows[i], s, seeds);
    double best = (double) s.bits / MEMBERS * log(2);
    printf(
        "\nWhy %.1f %% are set after 1,000,000 and not half: half would be right for %.3f "
        "probes, but there are %" PRIu32 ", and %" PRIu32 " x 1,000,000 throws at %" PRIu64
        " bits leave e^(-%.4f) of them clear. For the same reason 1 %% is passed a little early, "
        "at %.0f members. Adds called new are no count of members: what a false positive hides "
        "is missing. The fill knows.\n",
        100 * rows[1].fill / seeds, best, s.hashes, s.hashes, s.bits,
        (double) s.hashes * MEMBERS / (double) s.bits,
        -(double) s.bits / s.hashes * log1p(-pow(RATE, 1.0 / s.hashes)));
}

/* ---- cuckoo: rate by fill, and how full it gets ---- */

#define CUCKOO_BUCKETS (1 << 18)

static void run_cuckoo_rates(bool quick)
{
    static const double fills[] = {0.25, 0.5, 0.75, 0.95};
    struct sk_secret secret = measure_secret(1);
    printf("\n### Cuckoo filter: rate by fill\n\n"
           "%d slots, seed 1; absent keys are asked. Target: measured within %d %% of 1 - (1 - "
           "1/(2^f - 1))^(8 fill) and three standard errors, no member denied. A full one has "
           "refused an add.\n\n"
           "| fingerprint | fill | formula | measured | off | its standard error | denied | |\n"
           "|---|---|---|---|---|---|---|---|\n",
           4 * CUCKOO_BUCKETS, FORMULA_PERCENT);
    for (uint32_t bits = 8; bits <= 16; bits += 4) {
        struct filter f = cuckoo_of((struct sk_cuckoo_shape){CUCKOO_BUCKETS, bits});
        uint64_t n = 0, probes = bits == 16 ? 40000000 : bits == 12 ? 10000000 : 2000000;
        bool full = false;
        if (quick)
            probes /= 4;
        for (size_t i = 0; i < 5; i++) {
            double stop = i < 4 ? fills[i] * 4 * CUCKOO_BUCKETS : HUGE_VAL;
            while (!full && (double) n < stop) {
                full = !f.add(f.of, sk_hash(&secret, &n, sizeof n).lo);
                n += !full;
            }
            double rate = sk_cuckoo_rate(f.of);
            double measured = (double) claimed(&f, &secret, OTHERS, probes) / (double) probes;
            double off = 100 * fabs(measured / rate - 1);
            double error = 100 / sqrt(rate * (double) probes);
            uint64_t denied = n - claimed(&f, &secret, 0, n);
            printf("| %" PRIu32
                   " bits | %.2f %%%s | %.4f %% | %.4f %% | %.2f %% | %.2f %% | %" PRIu64
                   " | %s |\n",
                   bits, 100 * sk_cuckoo_fill(f.of), full ? ", full" : "", 100 * rate,
                   100 * measured, off, error, denied,
                   measure_always(denied == 0 && off <= fmax(FORMULA_PERCENT, 3 * error)));
        }
        filter_done(&f);
    }
}

/* ---- bytes ---- */

static void print_bytes(const char *name, double bytes, double expected, const char *removal)
{
    printf("| %s | %.0f | %.2f | %.4f %% | %s |\n", name, bytes, bytes / MEMBERS, 100 * expected,
           removal);
}

static void run_bytes(void)
{
    uint64_t *hashes = hashed(1, 0, MEMBERS);
    struct filter filters[] = {bloom(MEMBERS), counting(MEMBERS),
                               cuckoo_of((struct sk_cuckoo_shape){CUCKOO_BUCKETS, 8}),
                               cuckoo_of((struct sk_cuckoo_shape){CUCKOO_BUCKETS, 12}),
                               cuckoo_of((struct sk_cuckoo_shape){CUCKOO_BUCKETS, 16})};
    printf("\n### Bytes\n\n"
           "1,000,000 members; Bloom and counting Bloom filter for 1 %%.\n\n"
           "| filter | bytes | bytes a member | expected rate | remove |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        struct filter *f = &filters[i];
        for (size_t k = 0; k < MEMBERS; k++)
            f->add(f->of, hashes[k]);
        if (i == 0)
            print_bytes(f->name, (double) sk_bloom_bytes(f->of), sk_bloom_rate(f->of), "no");
        else if (i == 1)
            print_bytes(f->name, (double) sk_counting_bytes(f->of), sk_counting_rate(f->of), "yes");
        else
            print_bytes(f->name, (double) sk_cuckoo_bytes(f->of), sk_cuckoo_rate(f->of), "yes");
        filter_done(f);
    }
    free(hashes);
}

/* ---- misuse: members added more than once, keys removed that are not there ---- */

/* Every member is added `times` times, pass by pass; then each is removed once, then as often as it
 * was taken. */
static void added_often(struct filter f, const uint64_t *hashes, unsigned times)
{
    static uint8_t taken[MEMBERS];
    uint64_t refused = 0, after_one = 0, after_all = 0, lost = 0;
    memset(taken, 0, sizeof taken);
    for (unsigned pass = 0; pass < times; pass++) {
        for (size_t i = 0; i < MEMBERS; i++) {
            bool in = f.add(f.of, hashes[i]);
            taken[i] += in;
            refused += !in;
        }
    }
    double stuck = 0;
    if (f.add == counting_add)
        stuck =
            percent((double) sk_counting_stuck(f.of), (double) sk_counting_shape_of(f.of).cells);
    for (size_t i = 0; i < MEMBERS; i++)
        lost += taken[i] == 0;
    for (size_t i = 0; i < MEMBERS; i++)
        if (taken[i])
            f.remove(f.of, hashes[i]);
    for (size_t i = 0; i < MEMBERS; i++)
        after_one += f.has(f.of, hashes[i]);
    for (size_t i = 0; i < MEMBERS; i++)
        for (unsigned k = 1; k < taken[i]; k++)
            f.remove(f.of, hashes[i]);
    for (size_t i = 0; i < MEMBERS; i++)
        after_all += f.has(f.of, hashes[i]);
    printf("| %s | %u | %.2f %% | %.2f %% | %.4f %% | %.2f %% | %.2f %% |\n", f.name, times,
           percent((double) refused, (double) times * MEMBERS), percent((double) lost, MEMBERS),
           stuck, percent((double) after_one, MEMBERS), percent((double) after_all, MEMBERS));
    filter_done(&f);
}

static void run_added_often(const uint64_t *hashes)
{
    static const unsigned times[] = {1, 2, 3, 4, 8, 16};
    enum { ALL = sizeof times / sizeof times[0], SOME = 4 }; /* then it changes no more */
    printf(
        "\n### Members added more than once\n\n"
        "1,000,000 members at 1 %%, each added r times; then each is removed once, then as often "
        "as it was added. Seed 1. Never taken: members of whom every add was refused.\n\n"
        "| filter | r | adds refused | members never taken | cells stuck | there after one "
        "remove | there after all removes |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < ALL; i++)
        added_often(counting(MEMBERS), hashes, times[i]);
    for (size_t i = 0; i < SOME; i++)
        added_often(cuckoo(MEMBERS), hashes, times[i]);
}

/* The published stream of views, every view an add, as a log brings them. */
static void run_hits(void)
{
    struct stream s = stream_views();
    struct sk_secret secret = measure_secret(1);
    struct sk_hash *hashes = must_alloc(s.keys, sizeof *hashes);
    stream_hash(s.text, s.keys, &secret, hashes);
    struct filter c = counting(s.distinct), k = cuckoo(s.distinct);
    uint64_t refused = 0, denied = 0;
    for (size_t i = 0; i < s.n; i++) {
        c.add(c.of, hashes[s.key[i]].lo);
        refused += !k.add(k.of, hashes[s.key[i]].lo);
    }
    for (uint32_t i = 0; i < s.keys; i++)
        denied += s.count[i] && !k.has(k.of, hashes[i].lo);
    printf("\n### Every hit an add\n\n"
           "%zu views of %" PRIu32 " books by 1/rank, filters for %" PRIu32
           " at 1 %%. The counting "
           "filter has %.1f %% of its used cells stuck (%.1f %% of all). The cuckoo filter refuses "
           "%.1f %% of the views, and denies %.1f %% of the books. Both need to be asked first "
           "whether they have the key, and then an add that a false positive hides is lost: for "
           "such sets take a Bloom filter, and build it anew.\n",
           s.n, s.keys, s.distinct,
           percent((double) sk_counting_stuck(c.of), (double) sk_counting_used(c.of)),
           percent((double) sk_counting_stuck(c.of), (double) sk_counting_shape_of(c.of).cells),
           percent((double) refused, (double) s.n), percent((double) denied, s.distinct));
    filter_done(&c);
    filter_done(&k);
    free(hashes);
    stream_done(&s);
}

#define STRANGERS 100000

static void strangers_removed(struct filter f, const uint64_t *hashes)
{
    struct sk_secret secret = measure_secret(1);
    uint64_t removed = 0;
    for (size_t i = 0; i < MEMBERS; i++)
        f.add(f.of, hashes[i]);
    for (uint64_t i = OTHERS; i < OTHERS + STRANGERS; i++)
        removed += f.remove(f.of, sk_hash(&secret, &i, sizeof i).lo);
    uint64_t denied = MEMBERS - claimed(&f, &secret, 0, MEMBERS);
    printf("| %s | %.3f %% | %" PRIu64 " | %.2f |\n", f.name, percent((double) removed, STRANGERS),
           denied, removed ? (double) denied / (double) removed : 0);
    filter_done(&f);
}

static void run_strangers(const uint64_t *hashes)
{
    printf("\n### Keys removed that are not there\n\n"
           "1,000,000 members, then %d others are removed. Seed 1.\n\n"
           "| filter | removals that went through | members denied from then on | for each |\n"
           "|---|---|---|---|\n",
           STRANGERS);
    strangers_removed(counting(MEMBERS), hashes);
    for (uint32_t bits = 8; bits <= 16; bits += 4)
        strangers_removed(cuckoo_of((struct sk_cuckoo_shape){CUCKOO_BUCKETS, bits}), hashes);
}

/* ---- speed ---- */

#define LARGE 100000000 /* 120 MB: no cache holds it */
#define LARGE_ASKED 400000

struct speed {
    struct filter f;
    const uint64_t *hashes;
    bool *has;
    size_t n;
};

static void fresh(void *of)
{
    struct speed *s = of;
    bool is_bloom = s->f.add == bloom_add, is_counting = s->f.add == counting_add;
    filter_done(&s->f);
    s->f = is_bloom ? bloom(MEMBERS) : is_counting ? counting(MEMBERS) : cuckoo(MEMBERS);
}

static void add_batch(void *of)
{
    struct speed *s = of;
    if (s->f.add == bloom_add)
        sk_bloom_add_batch(s->f.of, s->hashes, s->n, NULL);
    else if (s->f.add == counting_add)
        sk_counting_add_batch(s->f.of, s->hashes, s->n, NULL);
    else if (sk_cuckoo_add_batch(s->f.of, s->hashes, s->n) != s->n)
        abort();
}

static void has_each(void *of)
{
    struct speed *s = of;
    for (size_t i = 0; i < s->n; i++)
        s->has[i] = s->f.has(s->f.of, s->hashes[i]);
}

static void has_batch(void *of)
{
    struct speed *s = of;
    s->f.has_batch(s->f.of, s->hashes, s->n, s->has);
}

static void add_each(void *of)
{
    struct speed *s = of;
    for (size_t i = 0; i < s->n; i++)
        s->f.add(s->f.of, s->hashes[i]);
}

/* `targets`: add one by one, add in a batch, members asked one by one and in a batch, others asked
 * so; 0 is none. */
static void filter_speed(struct filter f, const uint64_t *members, const uint64_t *others,
                         bool *has, const double targets[6])
{
    struct speed s = {f, members, has, MEMBERS};
    char what[6][80];
    static const char *const does[] = {"add",
                                       "add in a batch",
                                       "ask for a member",
                                       "ask for members in a batch",
                                       "ask for what is not there",
                                       "ask for what is not there, in a batch"};
    void (*const runs[])(void *) = {add_each, add_batch, has_each, has_batch, has_each, has_batch};
    for (size_t i = 0; i < 6; i++) {
        snprintf(what[i], sizeof what[i], "%s: %s", f.name, does[i]);
        s.hashes = i < 4 ? members : others;
        measure_speed(&(struct measure_work){what[i], i < 2 ? fresh : NULL, runs[i], &s, MEMBERS,
                                             targets[i]});
    }
    filter_done(&s.f);
}

/* One by one and in a batch; the ratio. */
static double batch_gain(const char *what, struct speed *s, const uint64_t *hashes)
{
    char row[80];
    s->hashes = hashes;
    snprintf(row, sizeof row, "ask for %s", what);
    double one = measure_speed(&(struct measure_work){row, NULL, has_each, s, s->n, 0});
    snprintf(row, sizeof row, "ask for %s, in a batch", what);
    return measure_speed(&(struct measure_work){row, NULL, has_batch, s, s->n, 0}) / one;
}

static void run_large(const uint64_t *members, const uint64_t *others, bool *has)
{
    struct sk_secret secret = measure_secret(1);
    struct speed s = {bloom(LARGE), members, has, LARGE_ASKED};
    uint64_t hashes[CHUNK], *mixed = must_alloc(LARGE_ASKED, sizeof *mixed);
    for (uint64_t done = 0; done < LARGE; done += CHUNK) {
        hash_keys(&secret, done, CHUNK, hashes);
        sk_bloom_add_batch(s.f.of, hashes, CHUNK, NULL);
    }
    for (size_t i = 0; i < LARGE_ASKED; i++)
        mixed[i] = sk_mix(i) & 1 ? members[i] : others[i];
    printf("\n### Speed: a Bloom filter larger than caches\n\n"
           "100,000,000 members at 1 %%, 120 MB, full.\n");
    measure_speed_head();
    double none = batch_gain("what is not there", &s, others);
    double half = batch_gain("members and others, by chance", &s, mixed);
    double all = batch_gain("members", &s, members);
    printf(
        "\nA batch takes, of the time one by one: %.2f for what is not there (%s), %.2f for half "
        "and half (%s), %.2f for members (%s); target ≤ 0.5. For members all 7 words come from "
        "memory in any order of asking, and a processor that guesses \"set\" rightly asks ahead "
        "by itself.\n",
        none, measure_always(none <= 0.5), half, measure_always(half <= 0.5), all,
        measure_always(all <= 0.5));
    free(mixed);
    filter_done(&s.f);
}

static void run_speed(const uint64_t *members, bool quick)
{
    uint64_t *others = hashed(1, OTHERS, MEMBERS);
    bool *has = must_alloc(MEMBERS, sizeof *has);
    printf("\n### Speed: filters\n\n"
           "One thread, 1,000,000 members at 1 %%, full when asked, the key already hashed; least "
           "of several rounds, each beside a round of hashing.\n");
    measure_speed_head();
    filter_speed(bloom(MEMBERS), members, others, has, (double[6]){0, 4, 0, 4, 0, 4});
    filter_speed(counting(MEMBERS), members, others, has, (double[6]){0});
    filter_speed(cuckoo(MEMBERS), members, others, has, (double[6]){0});
    if (!quick)
        run_large(members, others, has);
    free(others);
    free(has);
}

int main(int argc, char **argv)
{
    struct measure_options o = measure_begin(argc, argv, "Filters");
    uint64_t *members = hashed(1, 0, MEMBERS);
    run_bloom(o.quick ? 1 : o.seeds < BLOOM_SEEDS ? o.seeds : BLOOM_SEEDS);
    run_cuckoo_rates(o.quick);
    run_bytes();
    run_added_often(members);
    run_hits();
    run_strangers(members);
    run_speed(members, o.quick);
    free(members);
    return measure_end();
}
