/* Keys crafted against the hash without a secret, and what the secret makes of them (doc/hash.md).
 * Only this test hashes without one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sketch/distinct.h"
#include "sketch/hash.h"
#include "tap.h"

#define PRECISION 14
#define REGISTERS (1 << PRECISION)
#define TRIED (1 << 24)
#define CROWDED 16 /* registers that the hiding keys share: 2^24 tries give 2^14 of them */
#define HIDING_MAX 20000
#define SECRETS 16

/* One client, 192.0.2.7, with the user agent "scan/" and eight hex digits: a visitor's key as
 * joined by doc/hash.md. Only the digits change. */
#define KEY_BYTES 37
#define DIGITS_AT 29

static uint32_t inflating[REGISTERS]; /* for each register the number with the highest rank */
static uint32_t hiding[HIDING_MAX];
static uint32_t n_hiding;

static void key_begin(uint8_t key[KEY_BYTES])
{
    static const uint8_t head[DIGITS_AT + 1] = "\x10\0\0\0"
                                               "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\x02\x07"
                                               "\x0d\0\0\0"
                                               "scan/";
    memcpy(key, head, DIGITS_AT);
}

static void key_set(uint8_t key[KEY_BYTES], uint32_t number)
{
    for (unsigned i = KEY_BYTES; i-- > DIGITS_AT; number >>= 4)
        key[i] = (uint8_t) "0123456789abcdef"[number & 15];
}

static uint64_t hash_without_secret(const uint8_t key[KEY_BYTES])
{
    return XXH3_128bits(key, KEY_BYTES).high64;
}

/* What anybody can do who knows the function: 2^24 hashes, a fraction of a second. */
static void craft(void)
{
    static uint8_t best[REGISTERS];
    uint8_t key[KEY_BYTES];
    if (n_hiding)
        return;
    key_begin(key);
    for (uint32_t number = 0; number < TRIED; number++) {
        key_set(key, number);
        uint64_t hash = hash_without_secret(key);
        uint32_t at = (uint32_t) (hash >> (64 - PRECISION));
        uint8_t rank = (uint8_t) (__builtin_clzll(hash << PRECISION | 1) + 1);
        if (rank > best[at]) {
            best[at] = rank;
            inflating[at] = number;
        }
        if (at < CROWDED && n_hiding < HIDING_MAX)
            hiding[n_hiding++] = number;
    }
    for (uint32_t i = 0; i < REGISTERS; i++)
        CU_ASSERT_NOT_EQUAL_FATAL(best[i], 0);
}

static struct sk_secret secret_of(uint64_t seed)
{
    struct sk_secret secret;
    for (uint64_t i = 0; i < sizeof secret.bytes / sizeof i; i++) {
        uint64_t word = sk_mix_row(seed, (unsigned) i);
        memcpy(secret.bytes + i * sizeof word, &word, sizeof word);
    }
    return secret;
}

/* The keys counted in one piece; NULL: without a secret. */
static struct sk_distinct *counted(const uint32_t *numbers, uint32_t n,
                                   const struct sk_secret *secret)
{
    struct sk_distinct *d = NULL;
    uint8_t key[KEY_BYTES];
    CU_ASSERT_EQUAL_FATAL(sk_distinct_new(&d, PRECISION, 0), 0);
    key_begin(key);
    for (uint32_t i = 0; i < n; i++) {
        key_set(key, numbers[i]);
        sk_distinct_add(d, secret ? sk_hash(secret, key, sizeof key).hi : hash_without_secret(key));
    }
    return d;
}

static struct sk_estimate in_one_piece(const uint32_t *numbers, uint32_t n,
                                       const struct sk_secret *secret)
{
    struct sk_estimate e;
    struct sk_distinct *d = counted(numbers, n, secret);
    sk_distinct_estimate(d, &e);
    CU_ASSERT_EQUAL(e.estimator, SK_MARTINGALE);
    sk_distinct_free(d);
    return e;
}

/* The same keys, half of them on each of two days. */
static struct sk_estimate in_two_days(const uint32_t *numbers, uint32_t n,
                                      const struct sk_secret *secret)
{
    struct sk_estimate e;
    struct sk_distinct *both = counted(numbers, n / 2, secret);
    struct sk_distinct *day = counted(numbers + n / 2, n - n / 2, secret);
    CU_ASSERT_EQUAL(sk_distinct_merge(both, day), 0);
    sk_distinct_estimate(both, &e);
    CU_ASSERT_EQUAL(e.estimator, SK_MAXIMUM_LIKELIHOOD);
    sk_distinct_free(day);
    sk_distinct_free(both);
    return e;
}

static void show(const char *what, uint32_t n, struct sk_estimate day, struct sk_estimate both)
{
    printf("# %u keys %s: a day %.0f, two days %.0f\n", n, what, day.value, both.value);
}

static void inflating_keys_count_as_millions_without_a_secret(void)
{
    craft();
    struct sk_estimate day = in_one_piece(inflating, REGISTERS, NULL);
    struct sk_estimate both = in_two_days(inflating, REGISTERS, NULL);
    show("crafted to inflate, no secret", REGISTERS, day, both);
    CU_ASSERT(both.value > 2e6);
    /* A day is harder to inflate: one key each, the martingale adds what chance it had. */
    CU_ASSERT(day.value > 4.0 * REGISTERS);
}

static void hiding_keys_count_as_a_few_without_a_secret(void)
{
    craft();
    CU_ASSERT(n_hiding > 16000 && n_hiding < HIDING_MAX);
    struct sk_estimate day = in_one_piece(hiding, n_hiding, NULL);
    struct sk_estimate both = in_two_days(hiding, n_hiding, NULL);
    show("crafted to hide, no secret", n_hiding, day, both);
    CU_ASSERT(both.value < 1000 && day.value < 1000);
}

static void check_within(struct sk_estimate e, uint32_t n)
{
    CU_ASSERT(fabs(e.value / n - 1) <= 3 * e.relative_standard_error);
    CU_ASSERT(e.relative_standard_error < 0.005); /* so that the line above means something */
}

/* Three standard errors: a new secret would fail an assertion with a chance of 0.3 %; these are
 * fixed. */
static void check_secrets(const char *what, const uint32_t *numbers, uint32_t n)
{
    craft();
    for (uint64_t seed = 1; seed <= SECRETS; seed++) {
        struct sk_secret secret = secret_of(seed);
        struct sk_estimate day = in_one_piece(numbers, n, &secret);
        struct sk_estimate both = in_two_days(numbers, n, &secret);
        if (seed == 1)
            show(what, n, day, both);
        check_within(day, n);
        check_within(both, n);
    }
}

static void inflating_keys_count_as_they_are_under_a_secret(void)
{
    check_secrets("crafted to inflate, under a secret", inflating, REGISTERS);
}

static void hiding_keys_count_as_they_are_under_a_secret(void)
{
    craft();
    check_secrets("crafted to hide, under a secret", hiding, n_hiding);
}

static const struct test tests[] = {TEST(inflating_keys_count_as_millions_without_a_secret),
                                    TEST(inflating_keys_count_as_they_are_under_a_secret),
                                    TEST(hiding_keys_count_as_a_few_without_a_secret),
                                    TEST(hiding_keys_count_as_they_are_under_a_secret), TESTS_END};

int main(void)
{
    return tap_run("attack", tests);
}
