#include "sketch/bloom.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "sketch/hash.h"
#include "tap.h"

static uint64_t key(uint64_t i)
{
    return sk_mix(i + UINT64_C(0x5eed00000000));
}

static struct sk_bloom *bloom(uint64_t bits, uint32_t hashes)
{
    struct sk_bloom *b = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_bloom_new(&b, (struct sk_bloom_shape){bits, hashes}), 0);
    return b;
}

static void a_million_at_one_percent_has_the_published_geometry(void)
{
    struct sk_bloom_shape s;
    CU_ASSERT_EQUAL(sk_bloom_shape(1000000, 0.01, &s), 0);
    CU_ASSERT_EQUAL(s.bits, 9585088);
    CU_ASSERT_EQUAL(s.hashes, 7);
    struct sk_bloom *b = bloom(s.bits, s.hashes);
    CU_ASSERT(sk_bloom_bytes(b) >= 1198136 && sk_bloom_bytes(b) < 1198136 + 64);
    sk_bloom_free(b);
    CU_ASSERT_EQUAL(sk_bloom_shape(100000, 0.0001, &s), 0);
    CU_ASSERT_EQUAL(s.bits, 1917056);
    CU_ASSERT_EQUAL(s.hashes, 13);
}

static void bad_shapes_are_refused_and_change_nothing(void)
{
    static const struct {
        uint64_t capacity;
        double rate;
        int r;
    } rows[] = {{0, 0.01, -EINVAL},
                {1, 0, -EINVAL},
                {1, -1, -EINVAL},
                {1, 1, -EINVAL},
                {1, 1.5, -EINVAL},
                {1, NAN, -EINVAL},
                {1, INFINITY, -EINVAL},
                {UINT64_C(1) << 63, 0.01, -EOVERFLOW},
                {UINT64_MAX, 1e-300, -EOVERFLOW}};
    struct sk_bloom_shape s = {42, 42};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(sk_bloom_shape(rows[i].capacity, rows[i].rate, &s), rows[i].r);
    CU_ASSERT_EQUAL(s.bits, 42);
    CU_ASSERT_EQUAL(sk_bloom_shape(1, 1e-300, &s), 0);
    CU_ASSERT(s.hashes >= 1 && s.hashes <= 64);
    struct sk_bloom *b = NULL;
    CU_ASSERT_EQUAL(sk_bloom_new(&b, (struct sk_bloom_shape){0, 7}), -EINVAL);
    CU_ASSERT_EQUAL(sk_bloom_new(&b, (struct sk_bloom_shape){63, 7}), -EINVAL);
    CU_ASSERT_EQUAL(sk_bloom_new(&b, (struct sk_bloom_shape){64, 0}), -EINVAL);
    CU_ASSERT_EQUAL(sk_bloom_new(&b, (struct sk_bloom_shape){64, 65}), -EINVAL);
    CU_ASSERT_EQUAL(sk_bloom_new(&b, (struct sk_bloom_shape){SK_BLOOM_BITS_MAX + 64, 7}), -EINVAL);
    CU_ASSERT_PTR_NULL(b);
}

static void nothing_added_is_ever_denied(void)
{
    struct sk_bloom *b = bloom(9600, 7);
    for (uint64_t i = 0; i < 5000; i++) {
        sk_bloom_add(b, key(i));
        CU_ASSERT_FALSE(sk_bloom_add(b, key(i)));
    }
    for (uint64_t i = 0; i < 5000; i++)
        CU_ASSERT(sk_bloom_has(b, key(i)));
    CU_ASSERT_FALSE(sk_bloom_add(b, 0) && !sk_bloom_has(b, 0));
    CU_ASSERT_FALSE(sk_bloom_add(b, UINT64_MAX) && !sk_bloom_has(b, UINT64_MAX));
    sk_bloom_free(b);
}

static void new_means_not_there_before(void)
{
    struct sk_bloom *b = bloom(9600, 7);
    for (uint64_t i = 0; i < 2000; i++) {
        bool had = sk_bloom_has(b, key(i));
        CU_ASSERT_EQUAL(sk_bloom_add(b, key(i)), !had);
    }
    sk_bloom_free(b);
}

/* Fixed keys, 20,000 probes each time, so the measured rate has a standard error of
 * sqrt(r (1 - r) / 20,000); five of them and 1 % of the rate for the fill's own spread. */
static void rate_tells_the_false_positives_up_to_threefold_capacity(void)
{
    struct sk_bloom_shape s;
    sk_bloom_shape(20000, 0.01, &s);
    struct sk_bloom *b = bloom(s.bits, s.hashes);
    double before = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        sk_bloom_add(b, key(i));
        CU_ASSERT(sk_bloom_rate(b) >= before && sk_bloom_rate(b) <= 1);
        before = sk_bloom_rate(b);
        if (i % 20000 != 19999)
            continue;
        unsigned hits = 0;
        for (uint64_t probe = 0; probe < 20000; probe++)
            hits += sk_bloom_has(b, key(1000000 + probe));
        double rate = sk_bloom_rate(b), error = sqrt(rate * (1 - rate) / 20000);
        CU_ASSERT_DOUBLE_EQUAL(hits / 20000.0, rate, 5 * error + 0.01 * rate);
        /* The items come from the fill alone; their relative error here is under 0.3 % (1 sigma).
         */
        CU_ASSERT_DOUBLE_EQUAL(sk_bloom_items(b), i + 1.0, 0.015 * (i + 1.0));
    }
    /* (1 - e^(-7 * 60,000 / bits))^7 = 43.6 % */
    CU_ASSERT_DOUBLE_EQUAL(sk_bloom_rate(b), 0.436, 0.01);
    sk_bloom_free(b);
}

/* Small filters show whether probes are independent: plain double hashing has 9 times the formula's
 * rate at 1,000 items and 10^-6, far more with a power of two (measured). Here k = 20, m = 28,800
 * and m = 32,768: none of 200,000 probes may hit (expected 0.2). */
static void small_filters_keep_their_rate(void)
{
    static const uint64_t sizes[] = {28800, 32768};
    for (int i = 0; i < 2; i++) {
        struct sk_bloom *b = bloom(sizes[i], 20);
        unsigned hits = 0;
        for (uint64_t n = 0; n < 1000; n++)
            sk_bloom_add(b, key(n));
        for (uint64_t n = 0; n < 200000; n++)
            hits += sk_bloom_has(b, key(1000000 + n));
        CU_ASSERT(hits <= 2);
        sk_bloom_free(b);
    }
}

/* No hash may set but one or two bits, as h1 + i h2 does when h2 is 0 or m/2. */
static void every_hash_sets_about_k_bits(void)
{
    for (uint64_t i = 0; i < 2000; i++) {
        struct sk_bloom *b = bloom(1024, 7);
        uint64_t hash = i < 1000 ? i : UINT64_C(1) << (i % 64);
        sk_bloom_add(b, hash);
        CU_ASSERT(sk_bloom_ones(b) >= 5 && sk_bloom_ones(b) <= 7);
        sk_bloom_free(b);
    }
}

static uint64_t count_ones(const struct sk_bloom *b, uint64_t keys)
{
    uint64_t has = 0;
    for (uint64_t i = 0; i < keys; i++)
        has += sk_bloom_has(b, key(i));
    return has;
}

static void batch_equals_one_by_one_also_with_repeats(void)
{
    enum { N = 1000 };
    static uint64_t hashes[N];
    static bool fresh[N];
    for (uint64_t i = 0; i < N; i++)
        hashes[i] = key(i % 3 ? i / 5 : i); /* neighbours repeat within a group */
    static const uint32_t probes[] = {1, 7, 9, 20, 64};
    for (size_t p = 0; p < sizeof probes / sizeof probes[0]; p++) {
        for (size_t n = 0; n <= N; n = n ? n * 3 + 1 : 1) {
            struct sk_bloom *one = bloom(4096, probes[p]), *batch = bloom(4096, probes[p]);
            sk_bloom_add_batch(batch, hashes, n, fresh);
            for (size_t i = 0; i < n; i++)
                CU_ASSERT_EQUAL(sk_bloom_add(one, hashes[i]), fresh[i]);
            CU_ASSERT_EQUAL(sk_bloom_ones(one), sk_bloom_ones(batch));
            CU_ASSERT_EQUAL(count_ones(one, 3000), count_ones(batch, 3000));
            sk_bloom_add_batch(batch, hashes, n, NULL);
            CU_ASSERT_EQUAL(sk_bloom_ones(one), sk_bloom_ones(batch));
            sk_bloom_free(one);
            sk_bloom_free(batch);
        }
    }
}

static void full_and_empty_filters_have_finite_numbers(void)
{
    struct sk_bloom *b = bloom(64, 2);
    CU_ASSERT_EQUAL(sk_bloom_rate(b), 0);
    CU_ASSERT_EQUAL(sk_bloom_items(b), 0);
    for (uint64_t i = 0; i < 10000; i++)
        sk_bloom_add(b, key(i));
    CU_ASSERT_EQUAL(sk_bloom_ones(b), 64);
    CU_ASSERT_EQUAL(sk_bloom_fill(b), 1);
    CU_ASSERT_EQUAL(sk_bloom_rate(b), 1);
    CU_ASSERT(isfinite(sk_bloom_items(b)));
    sk_bloom_free(b);
}

static const struct test tests[] = {
    TEST(a_million_at_one_percent_has_the_published_geometry),
    TEST(bad_shapes_are_refused_and_change_nothing),
    TEST(nothing_added_is_ever_denied),
    TEST(new_means_not_there_before),
    TEST(rate_tells_the_false_positives_up_to_threefold_capacity),
    TEST(small_filters_keep_their_rate),
    TEST(every_hash_sets_about_k_bits),
    TEST(batch_equals_one_by_one_also_with_repeats),
    TEST(full_and_empty_filters_have_finite_numbers),
    TESTS_END,
};

int main(void)
{
    return tap_run("bloom", tests);
}
