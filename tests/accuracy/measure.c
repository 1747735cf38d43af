#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define SEEDS 200
#define SEEDS_QUICK 20
#define ROUNDS 15
#define HASH_ROUNDS 200
#define HASHED_KEYS 4096
#define HASHED_BYTES 32
#define HASHED_TIMES 25

static unsigned missed;
static bool too_few;
static double hash_ns = HUGE_VAL;

static _Noreturn void usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [-q] [-s SEEDS] [-p FILE]\n"
            "  -q        quick: %d seeds, and smaller sets\n"
            "  -s SEEDS  1 to 100000 (default %d)\n"
            "  -p FILE   write the plot, if this program has one\n",
            program, SEEDS_QUICK, SEEDS);
    exit(64);
}

struct measure_options measure_begin(int argc, char **argv, const char *title)
{
    struct measure_options o = {0};
    const char *name = strrchr(argv[0], '/');
    name = name ? name + 1 : argv[0];
    for (int c; (c = getopt(argc, argv, "qs:p:")) != -1;) {
        char *end;
        switch (c) {
        case 'q':
            o.quick = true;
            break;
        case 's':
            o.seeds = (unsigned) strtoul(optarg, &end, 10);
            if (*end || o.seeds < 1 || o.seeds > 100000)
                usage(name);
            break;
        case 'p':
            o.plot = optarg;
            break;
        default:
            usage(name);
        }
    }
    if (optind < argc)
        usage(name);
    if (!o.seeds)
        o.seeds = o.quick ? SEEDS_QUICK : SEEDS;
    too_few = o.seeds < SEEDS || o.quick;
    printf("## %s\n\n`tests/accuracy/%s%s -s %u`; seeds 1 to %u, each a hash key of its own.\n",
           title, name, o.quick ? " -q" : "", o.seeds, o.seeds);
    return o;
}

int measure_end(void)
{
    if (missed)
        fprintf(stderr, "targets missed: %u\n", missed);
    return fflush(stdout) || ferror(stdout) ? 74 : missed ? EXIT_FAILURE : EXIT_SUCCESS;
}

struct sk_secret measure_secret(uint64_t seed)
{
    struct sk_secret secret;
    for (size_t i = 0; i < sizeof secret.bytes; i += sizeof seed) {
        uint64_t word = sk_mix(seed += UINT64_C(0x9e3779b97f4a7c15));
        memcpy(secret.bytes + i, &word, sizeof word);
    }
    return secret;
}

void measure_add(struct measure_errors *e, double estimate, double truth)
{
    double error = estimate / truth - 1;
    e->sum += error;
    e->square += error * error;
    e->n++;
}

double measure_bias(const struct measure_errors *e)
{
    return 100 * e->sum / e->n;
}

double measure_rmse(const struct measure_errors *e)
{
    return 100 * sqrt(e->square / e->n);
}

const char *measure_always(bool met)
{
    missed += !met;
    return met ? "met" : "**missed**";
}

const char *measure_target(bool met)
{
    return too_few ? "-" : measure_always(met);
}

/* Of this thread, so that a busy machine disturbs less. */
static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static uint8_t hashed[HASHED_KEYS][HASHED_BYTES];

static uint64_t hash_call(const struct sk_secret *secret, const uint8_t *key)
{
    return sk_hash(secret, key, HASHED_BYTES).hi;
}

/* Compiled into the loop, with its length known: as cheap as the function can be had. */
static uint64_t hash_inline(const struct sk_secret *secret, const uint8_t *key)
{
    return XXH3_128bits_withSecret(key, HASHED_BYTES, secret->bytes, sizeof secret->bytes).high64;
}

static inline __attribute__((always_inline)) double
hash_round(uint64_t (*hash)(const struct sk_secret *, const uint8_t *))
{
    static volatile uint64_t sink;
    struct sk_secret secret = measure_secret(1);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < HASHED_KEYS; i++)
        memcpy(hashed[i], &i, sizeof i);
    double start = now_ns();
    for (unsigned times = 0; times < HASHED_TIMES; times++)
        for (size_t i = 0; i < HASHED_KEYS; i++)
            sum += hash(&secret, hashed[i]);
    double ns = (now_ns() - start) / (HASHED_KEYS * HASHED_TIMES);
    sink = sum;
    (void) sink;
    return ns;
}

void measure_speed_head(void)
{
    double inlined = HUGE_VAL;
    for (unsigned round = 0; round < HASH_ROUNDS; round++) {
        hash_ns = fmin(hash_ns, hash_round(hash_call));
        inlined = fmin(inlined, hash_round(hash_inline));
    }
    printf("\n| operation | ns | x one XXH3-128 of %d bytes | target | |\n|---|---|---|---|---|\n"
           "| that hash, as the daemon calls it: the measure | %.1f | 1 | | |\n"
           "| the same compiled in, its length known | %.1f | %.2f | | |\n",
           HASHED_BYTES, hash_ns, inlined, inlined / hash_ns);
}

double measure_speed(const struct measure_work *work)
{
    double best = HUGE_VAL;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (work->before)
            work->before(work->of);
        hash_ns = fmin(hash_ns, hash_round(hash_call));
        double start = now_ns();
        work->run(work->of);
        best = fmin(best, (now_ns() - start) / (double) work->operations);
    }
    double ratio = best / hash_ns;
    printf(best < 1000 ? "| %s | %.1f | %.2f |" : "| %s | %.0f | %.0f |", work->what, best, ratio);
    if (work->at_most > 0)
        printf(" ≤ %g | %s |\n", work->at_most, measure_always(ratio <= work->at_most));
    else
        printf(" | |\n");
    return best;
}
