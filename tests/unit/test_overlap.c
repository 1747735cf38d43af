#include "sketch/overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/hash.h"
#include "sketch/redis.h"
#include "tap.h"

/* Keys are fixed, so no test fails by luck; the odds that stand beside bounds are those of new
 * keys. */
static uint64_t key(uint64_t seed, uint64_t i)
{
    return sk_mix_row(i + (seed << 32), 4);
}

static struct sk_distinct *with_range(unsigned precision, uint32_t exact_until, uint64_t seed,
                                      uint64_t from, uint64_t to)
{
    struct sk_distinct *d = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_distinct_new(&d, precision, exact_until), 0);
    for (uint64_t i = from; i < to; i++)
        sk_distinct_add(d, key(seed, i));
    return d;
}

static struct sk_estimate size_of(const struct sk_distinct *d)
{
    struct sk_estimate e;
    sk_distinct_estimate(d, &e);
    return e;
}

static struct sk_overlap overlap(const struct sk_distinct *a, const struct sk_distinct *b)
{
    struct sk_overlap o, turned;
    CU_ASSERT_EQUAL_FATAL(sk_overlap(a, b, &o), 0);
    CU_ASSERT_EQUAL_FATAL(sk_overlap(b, a, &turned), 0);
    double most = fmin(size_of(a).value, size_of(b).value);
    CU_ASSERT_DOUBLE_EQUAL(o.both.value, turned.both.value, 1e-6 * (most + 1));
    CU_ASSERT(o.both.value >= 0 && o.both.value <= most);
    CU_ASSERT(o.both.low >= 0 && o.both.low <= o.both.value && o.both.value <= o.both.high);
    CU_ASSERT(isfinite(o.both.high) && isfinite(o.both.relative_standard_error));
    return o;
}

/* Sets [0, a) and [a - both, a - both + b). */
static struct sk_overlap of_shape(unsigned precision, uint32_t exact_until, uint64_t seed,
                                  uint64_t a, uint64_t b, uint64_t both)
{
    struct sk_distinct *x = with_range(precision, exact_until, seed, 0, a);
    struct sk_distinct *y = with_range(precision, exact_until, seed, a - both, a - both + b);
    struct sk_overlap o = overlap(x, y);
    sk_distinct_free(x);
    sk_distinct_free(y);
    return o;
}

static void exact_sets_share_what_they_share(void)
{
    static const uint64_t shapes[][3] = {
        {100, 200, 0}, {100, 200, 30}, {100, 200, 100}, {0, 200, 0}, {300, 300, 300}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct sk_overlap o = of_shape(14, 300, 1, shapes[i][0], shapes[i][1], shapes[i][2]);
        double both = (double) shapes[i][2];
        CU_ASSERT(o.both.value == both && o.both.low == both && o.both.high == both);
        CU_ASSERT(o.both.estimator == SK_EXACT && o.both.relative_standard_error == 0);
        CU_ASSERT(o.reliable);
    }
    struct sk_distinct *a = with_range(14, 10, 1, 0, 3), *b = with_range(12, 10, 1, 5, 7);
    sk_distinct_add(a, 0);
    sk_distinct_add(b, 0);
    CU_ASSERT_EQUAL(overlap(a, b).both.value, 1);
    sk_distinct_free(a);
    sk_distinct_free(b);
}

static void an_empty_set_shares_nothing_for_certain(void)
{
    struct sk_distinct *none = with_range(14, 0, 1, 0, 0), *many = with_range(14, 0, 1, 0, 50000);
    struct sk_overlap o = overlap(none, many);
    CU_ASSERT(o.both.value == 0 && o.both.high == 0 && o.both.estimator == SK_EXACT && o.reliable);
    sk_distinct_free(none);
    sk_distinct_free(many);
}

/* The published Monday and Tuesday. Standard error 0.9 % of those who came on both; a sample of 20
 * has an RMSE below 1.2 % but for odds of 1 in 500. The sketch must say it, and its intervals hold
 * 95 %: 16 or fewer of 20 is 1 in 600. */
static void monday_and_tuesday(void)
{
    enum { SEEDS = 20, BOTH = 190959 };
    double square = 0;
    int held = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct sk_overlap o = of_shape(14, 10000, seed, 390808, 390741, BOTH);
        square += pow(o.both.value / BOTH - 1, 2);
        held += o.both.low <= BOTH && BOTH <= o.both.high;
        CU_ASSERT(o.reliable && o.both.estimator == SK_MAXIMUM_LIKELIHOOD);
        CU_ASSERT_DOUBLE_EQUAL(o.both.relative_standard_error, 0.0092, 0.001);
    }
    CU_ASSERT(sqrt(square / SEEDS) < 0.012);
    CU_ASSERT(held > 16);
}

/* 200 pairs at p = 10 for each shape: the errors are as large as they say (a sample's spread is
 * within 20 % but for 1 in 16,000), without bias, and the intervals hold 95 % (under 179 of 200:
 * 1 in 1,500). */
static void standard_error_is_what_it_says(void)
{
    enum { SEEDS = 200 };
    static const uint64_t shapes[][3] = {{20000, 20000, 10000},
                                         {20000, 30000, 4000},
                                         {3000, 40000, 2500},
                                         {800, 900, 400},
                                         {5000, 5000, 4800}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        double both = (double) shapes[i][2], sum = 0, square = 0;
        int held = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct sk_overlap o = of_shape(10, 0, seed, shapes[i][0], shapes[i][1], shapes[i][2]);
            double z =
                (o.both.value - both) / (o.both.relative_standard_error * fmax(o.both.value, 1));
            sum += z;
            square += z * z;
            held += o.both.low <= both && both <= o.both.high;
        }
        CU_ASSERT_DOUBLE_EQUAL(sum / SEEDS, 0, 0.25);
        CU_ASSERT_DOUBLE_EQUAL(sqrt(square / SEEDS), 1, 0.2);
        CU_ASSERT(held >= 179);
    }
}

/* Nothing shared: at most 2.5 % say that something is. */
static void disjoint_sets_may_share_nothing(void)
{
    int above = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct sk_overlap o = of_shape(12, 0, seed, 50000, 60000, 0);
        above += o.both.low > 0;
        CU_ASSERT(o.both.high < 3000);
        CU_ASSERT_FALSE(o.reliable);
    }
    CU_ASSERT(above <= 4); /* 5 or more of 40: 1 in 300 */
}

static void a_tiny_overlap_is_not_reliable(void)
{
    struct sk_overlap o = of_shape(14, 10000, 3, 100000, 100000, 300);
    CU_ASSERT_FALSE(o.reliable);
    CU_ASSERT(o.both.low < 300 && o.both.high > 300 && o.both.high < 2000);
    CU_ASSERT(o.both.relative_standard_error > 0.1);
}

static void a_subset_is_shared_as_a_whole(void)
{
    static const uint64_t sizes[] = {500, 9000, 30000, 200000}; /* two of them are exact */
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sk_distinct *part = with_range(14, 10000, 7, 0, sizes[i]);
        struct sk_distinct *whole = with_range(14, 10000, 7, 0, 300000);
        struct sk_overlap o = overlap(part, whole);
        double size = size_of(part).value;
        CU_ASSERT(o.both.low <= size && size <= o.both.high);
        CU_ASSERT_DOUBLE_EQUAL(o.both.value, size, i < 2 ? 0.1 * size : 0.01 * size);
        CU_ASSERT(o.reliable);
        sk_distinct_free(part);
        sk_distinct_free(whole);
    }
}

static void a_set_shares_itself(void)
{
    for (uint64_t merged = 0; merged < 2; merged++) {
        struct sk_distinct *d = with_range(14, 1000, 2, 0, 100000),
                           *more = with_range(14, 9, 2, 0, 9);
        if (merged)
            CU_ASSERT_EQUAL(sk_distinct_merge(d, more), 0);
        struct sk_overlap o = overlap(d, d);
        struct sk_estimate size = size_of(d);
        CU_ASSERT_DOUBLE_EQUAL(o.both.value, size.value, 1);
        CU_ASSERT_DOUBLE_EQUAL(o.both.high, size.high, 0.001 * size.value);
        CU_ASSERT_DOUBLE_EQUAL(o.both.low, size.low, 0.001 * size.value);
        CU_ASSERT(o.reliable);
        sk_distinct_free(d);
        sk_distinct_free(more);
    }
}

/* A side of exact hashes counts as its registers would, and is told as exact by nobody. */
static void an_exact_side_meets_registers(void)
{
    struct sk_distinct *few = with_range(14, 1000, 5, 0, 800);
    struct sk_distinct *many = with_range(14, 1000, 5, 400, 60000);
    struct sk_overlap o = overlap(few, many);
    CU_ASSERT_EQUAL(o.both.estimator, SK_MAXIMUM_LIKELIHOOD);
    CU_ASSERT(o.both.low < 400 && 400 < o.both.high && o.both.high <= 800);
    CU_ASSERT_DOUBLE_EQUAL(o.both.value, 400, 4 * o.both.relative_standard_error * o.both.value);
    sk_distinct_free(few);
    sk_distinct_free(many);
}

static uint8_t *form_of(const struct sk_distinct *d, size_t *ret_n)
{
    static const struct sk_stamp stamp = {.hash_id = 1};
    uint8_t *form = malloc(sk_kind_distinct.save_room(d));
    CU_ASSERT_PTR_NOT_NULL_FATAL(form);
    *ret_n = sk_kind_distinct.save(d, &stamp, form, sk_kind_distinct.save_room(d));
    return form;
}

static void different_precisions_fold_and_nothing_is_changed(void)
{
    struct sk_distinct *fine = with_range(14, 0, 6, 0, 40000);
    struct sk_distinct *coarse = with_range(11, 0, 6, 10000, 60000);
    struct sk_distinct *folded = with_range(11, 0, 6, 0, 1);
    size_t n[4];
    uint8_t *before[2] = {form_of(fine, &n[0]), form_of(coarse, &n[1])};
    struct sk_overlap o = overlap(fine, coarse);
    uint8_t *after[2] = {form_of(fine, &n[2]), form_of(coarse, &n[3])};
    for (int i = 0; i < 2; i++) {
        CU_ASSERT(n[i] == n[i + 2] && memcmp(before[i], after[i], n[i]) == 0);
        free(before[i]);
        free(after[i]);
    }
    /* 30,000 shared; p = 11: about 2.3 % */
    CU_ASSERT_DOUBLE_EQUAL(o.both.value, 30000, 4 * 0.023 * 30000);
    CU_ASSERT_EQUAL(sk_distinct_merge(folded, fine), 0);
    struct sk_overlap same = overlap(folded, coarse);
    /* the same registers; only the size is known better where it was counted in one piece */
    CU_ASSERT(same.both.relative_standard_error > o.both.relative_standard_error);
    CU_ASSERT_DOUBLE_EQUAL(same.both.value, o.both.value, 0.05 * 30000);
    sk_distinct_free(fine);
    sk_distinct_free(coarse);
    sk_distinct_free(folded);
}

/* What came from a plain HyperLogLog has ranks alone and a larger error, but no other answer. */
static void registers_without_history_overlap_too(void)
{
    enum { BOTH = 60000 };
    static uint8_t string[SK_REDIS_BYTES];
    struct sk_distinct *a = with_range(14, 0, 8, 0, 100000), *plain = NULL;
    struct sk_distinct *b = with_range(14, 0, 8, 40000, 140000);
    CU_ASSERT_EQUAL(sk_redis_write(a, string), 0);
    CU_ASSERT_EQUAL_FATAL(sk_redis_read(&plain, string, sizeof string), 0);
    struct sk_overlap full = overlap(a, b), mixed = overlap(plain, b),
                      alone = overlap(plain, plain);
    CU_ASSERT(mixed.both.relative_standard_error > full.both.relative_standard_error);
    CU_ASSERT(mixed.both.relative_standard_error < 0.015);
    CU_ASSERT_DOUBLE_EQUAL(mixed.both.value, BOTH, 4 * mixed.both.relative_standard_error * BOTH);
    CU_ASSERT_DOUBLE_EQUAL(alone.both.value, size_of(plain).value, 1);
    sk_distinct_free(a);
    sk_distinct_free(b);
    sk_distinct_free(plain);
}

/* Every size and share down to one key, for the smallest registers: overlap() checks the bounds. */
static void odd_shapes_stay_within_bounds(void)
{
    static const uint64_t sizes[] = {1, 2, 3, 17, 400, 30000};
    static const unsigned precisions[] = {4, 7, 18};
    for (size_t p = 0; p < 3; p++)
        for (size_t i = 0; i < 6; i++)
            for (size_t j = i; j < 6; j++)
                for (unsigned share = 0; share <= 2; share++)
                    of_shape(precisions[p], 0, i + 10 * j, sizes[i], sizes[j],
                             sizes[i] * share / 2);
}

static const struct test tests[] = {
    TEST(exact_sets_share_what_they_share),
    TEST(an_empty_set_shares_nothing_for_certain),
    TEST(monday_and_tuesday),
    TEST(standard_error_is_what_it_says),
    TEST(disjoint_sets_may_share_nothing),
    TEST(a_tiny_overlap_is_not_reliable),
    TEST(a_subset_is_shared_as_a_whole),
    TEST(a_set_shares_itself),
    TEST(an_exact_side_meets_registers),
    TEST(different_precisions_fold_and_nothing_is_changed),
    TEST(registers_without_history_overlap_too),
    TEST(odd_shapes_stay_within_bounds),
    TESTS_END,
};

int main(void)
{
    return tap_run("overlap", tests);
}
