#include "sketch/cms.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/hash.h"
#include "tap.h"

static uint64_t key(uint64_t i)
{
    return sk_mix(i + UINT64_C(0xc0ffee00000000));
}

static struct sk_cms *cms(uint32_t width, uint32_t depth, enum sk_cms_cell cell)
{
    struct sk_cms *c = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_cms_new(&c, width, depth, cell), 0);
    return c;
}

static void shape_follows_error_and_confidence(void)
{
    uint32_t width, depth;
    CU_ASSERT_EQUAL(sk_cms_shape(0.001, 0.99, &width, &depth), 0);
    CU_ASSERT_EQUAL(width, 2719);
    CU_ASSERT_EQUAL(depth, 5);
    CU_ASSERT_EQUAL(sk_cms_shape(0.0004, 0.98, &width, &depth), 0);
    CU_ASSERT_EQUAL(width, 6796);
    CU_ASSERT_EQUAL(depth, 4);
    struct sk_cms *c = cms(width, depth, SK_CMS_CELL_32);
    CU_ASSERT(sk_cms_bytes(c) <= 108760);
    CU_ASSERT(sk_cms_confidence(c) >= 0.98);
    sk_cms_free(c);
}

static void bad_shapes_are_refused_and_change_nothing(void)
{
    static const struct {
        double error, confidence;
        int r;
    } rows[] = {{0, .5, -EINVAL},           {1, .5, -EINVAL},        {-1, .5, -EINVAL},
                {NAN, .5, -EINVAL},         {.1, 0, -EINVAL},        {.1, 1, -EINVAL},
                {.1, NAN, -EINVAL},         {1e-12, .5, -EOVERFLOW}, {1e-300, .5, -EOVERFLOW},
                {.1, .99999999, -EOVERFLOW}};
    uint32_t width = 42, depth = 42;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(sk_cms_shape(rows[i].error, rows[i].confidence, &width, &depth), rows[i].r);
    CU_ASSERT(width == 42 && depth == 42);
    struct sk_cms *c = NULL;
    CU_ASSERT_EQUAL(sk_cms_new(&c, 0, 4, SK_CMS_CELL_32), -EINVAL);
    CU_ASSERT_EQUAL(sk_cms_new(&c, 4, 0, SK_CMS_CELL_32), -EINVAL);
    CU_ASSERT_EQUAL(sk_cms_new(&c, 4, 17, SK_CMS_CELL_32), -EOVERFLOW);
    CU_ASSERT_EQUAL(sk_cms_new(&c, UINT32_MAX, 16, SK_CMS_CELL_64), -EOVERFLOW);
    CU_ASSERT_EQUAL(sk_cms_new(&c, 4, 4, (enum sk_cms_cell) 2), -EINVAL);
    CU_ASSERT_PTR_NULL(c);
}

/* 50,000 draws of weight 1/rank beside an exact array, in tables much too small for them. */
static void estimates_are_never_below_the_truth(enum sk_cms_cell cell, uint64_t weights)
{
    enum { KEYS = 3000, DRAWS = 50000 };
    static uint64_t truth[KEYS];
    memset(truth, 0, sizeof truth);
    struct sk_cms *c = cms(97, 3, cell);
    uint64_t total = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double u = (double) (key(i) >> 11) * 0x1p-53;
        uint64_t item = (uint64_t) exp(u * log(KEYS)) - 1, weight = key(~i) % weights + 1;
        truth[item] += weight;
        total += weight;
        uint64_t said = sk_cms_add(c, key(item << 32), weight);
        CU_ASSERT(said >= truth[item]);
        CU_ASSERT_EQUAL(said, sk_cms_count(c, key(item << 32)));
    }
    CU_ASSERT_EQUAL(sk_cms_total(c), total);
    CU_ASSERT_FALSE(sk_cms_saturated(c));
    unsigned over = 0;
    for (uint64_t item = 0; item < KEYS; item++) {
        uint64_t said = sk_cms_count(c, key(item << 32));
        CU_ASSERT(said >= truth[item]);
        over += said - truth[item] > sk_cms_error_bound(c);
    }
    /* The share over the bound is below 1 - confidence in the mean; keys are fixed. */
    CU_ASSERT(over <= KEYS * (1 - sk_cms_confidence(c)));
    sk_cms_free(c);
}

static void never_below_the_truth_with_32_bits(void)
{
    estimates_are_never_below_the_truth(SK_CMS_CELL_32, 1);
    estimates_are_never_below_the_truth(SK_CMS_CELL_32, 20000);
}

static void never_below_the_truth_with_64_bits(void)
{
    estimates_are_never_below_the_truth(SK_CMS_CELL_64, UINT64_C(1) << 40);
}

static void cells_of_32_bits_stop_at_their_limit_and_say_so(void)
{
    struct sk_cms *c = cms(10, 2, SK_CMS_CELL_32);
    CU_ASSERT_EQUAL(sk_cms_add(c, 1, UINT32_MAX - 1), UINT32_MAX - 1);
    CU_ASSERT_EQUAL(sk_cms_add(c, 1, 1), UINT32_MAX);
    CU_ASSERT_FALSE(sk_cms_saturated(c));
    CU_ASSERT_EQUAL(sk_cms_add(c, 1, 5), UINT32_MAX);
    CU_ASSERT(sk_cms_saturated(c));
    CU_ASSERT_EQUAL(sk_cms_count(c, 1), UINT32_MAX);
    CU_ASSERT_EQUAL(sk_cms_total(c), (uint64_t) UINT32_MAX + 5);
    sk_cms_free(c);
    c = cms(10, 2, SK_CMS_CELL_32);
    CU_ASSERT_EQUAL(sk_cms_add(c, 1, UINT64_MAX), UINT32_MAX);
    CU_ASSERT(sk_cms_saturated(c));
    CU_ASSERT_EQUAL(sk_cms_total(c), INT64_MAX);
    sk_cms_free(c);
}

static void cells_of_64_bits_and_the_total_stop_at_the_largest_signed_integer(void)
{
    struct sk_cms *c = cms(10, 2, SK_CMS_CELL_64);
    CU_ASSERT_EQUAL(sk_cms_add(c, 1, INT64_MAX - 2), INT64_MAX - 2);
    CU_ASSERT_EQUAL(sk_cms_add(c, 1, 2), INT64_MAX);
    CU_ASSERT_FALSE(sk_cms_saturated(c));
    CU_ASSERT_EQUAL(sk_cms_add(c, 1, UINT64_MAX), INT64_MAX);
    CU_ASSERT(sk_cms_saturated(c));
    CU_ASSERT_EQUAL(sk_cms_total(c), INT64_MAX);
    CU_ASSERT(sk_cms_error_bound(c) <= INT64_MAX);
    sk_cms_free(c);
}

static void weight_of_nothing_changes_nothing(void)
{
    struct sk_cms *c = cms(10, 2, SK_CMS_CELL_32);
    sk_cms_add(c, 1, 3);
    CU_ASSERT_EQUAL(sk_cms_add(c, 1, 0), 3);
    CU_ASSERT_EQUAL(sk_cms_total(c), 3);
    sk_cms_free(c);
}

static void bound_is_error_times_total_and_never_over_the_total(void)
{
    struct sk_cms *c = cms(2719, 5, SK_CMS_CELL_64);
    CU_ASSERT_EQUAL(sk_cms_error_bound(c), 0);
    sk_cms_add(c, 1, 2000000);
    CU_ASSERT_EQUAL(sk_cms_error_bound(c), 2000); /* 2,000,000 e / 2,719 = 1999.5 */
    sk_cms_free(c);
    c = cms(1, 1, SK_CMS_CELL_64);
    sk_cms_add(c, 1, 10);
    CU_ASSERT_EQUAL(sk_cms_error_bound(c), 10);
    sk_cms_free(c);
}

static void merge_adds_and_stays_above_the_truth(void)
{
    struct sk_cms *a = cms(50, 3, SK_CMS_CELL_32), *b = cms(50, 3, SK_CMS_CELL_32);
    for (uint64_t i = 0; i < 200; i++) {
        sk_cms_add(a, key(i), i);
        sk_cms_add(b, key(i), 2 * i);
    }
    CU_ASSERT_EQUAL(sk_cms_merge(a, b), 0);
    for (uint64_t i = 0; i < 200; i++)
        CU_ASSERT(sk_cms_count(a, key(i)) >= 3 * i);
    CU_ASSERT_EQUAL(sk_cms_total(a), 3 * 199 * 200 / 2);
    sk_cms_free(a);
    sk_cms_free(b);
}

static void merge_that_runs_over_saturates_and_says_so(void)
{
    struct sk_cms *a = cms(5, 2, SK_CMS_CELL_32), *b = cms(5, 2, SK_CMS_CELL_32);
    sk_cms_add(a, 1, UINT32_MAX - 2);
    sk_cms_add(b, 1, 5);
    CU_ASSERT_EQUAL(sk_cms_merge(a, b), 0);
    CU_ASSERT_EQUAL(sk_cms_count(a, 1), UINT32_MAX);
    CU_ASSERT(sk_cms_saturated(a));
    CU_ASSERT_EQUAL(sk_cms_merge(b, a), 0);
    CU_ASSERT(sk_cms_saturated(b));
    sk_cms_free(a);
    sk_cms_free(b);
}

static void merge_of_another_shape_changes_nothing(void)
{
    struct sk_cms *a = cms(5, 2, SK_CMS_CELL_32);
    struct sk_cms *others[] = {cms(6, 2, SK_CMS_CELL_32), cms(5, 3, SK_CMS_CELL_32),
                               cms(5, 2, SK_CMS_CELL_64)};
    sk_cms_add(a, 1, 7);
    for (int i = 0; i < 3; i++) {
        sk_cms_add(others[i], 1, 7);
        CU_ASSERT_EQUAL(sk_cms_merge(a, others[i]), -EINVAL);
        CU_ASSERT_EQUAL(sk_cms_total(a), 7);
        CU_ASSERT_EQUAL(sk_cms_count(a, 1), 7);
        sk_cms_free(others[i]);
    }
    sk_cms_free(a);
}

/* The seed workload's shape, a twentieth of its size: conservative update in independent rows
 * leaves the frequent exact. With 1/20 of the draws and of the width the over-count is about the
 * same share. */
static void most_frequent_are_exact(void)
{
    enum { KEYS = 5000, DRAWS = 100000 };
    static uint64_t truth[KEYS];
    struct sk_cms *c = cms(6797 / 20, 4, SK_CMS_CELL_32);
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint64_t item = (uint64_t) exp((double) (key(i) >> 11) * 0x1p-53 * log(KEYS)) - 1;
        truth[item]++;
        sk_cms_add(c, key(item << 32), 1);
    }
    for (uint64_t item = 0; item < 10; item++)
        CU_ASSERT_EQUAL(sk_cms_count(c, key(item << 32)), truth[item]);
    sk_cms_free(c);
}

static void a_key_has_one_cell_in_each_row(void)
{
    enum { WIDTH = 50, ROWS = 3 };
    struct sk_cms *c = cms(WIDTH, ROWS, SK_CMS_CELL_32);
    uint8_t form[1000];
    sk_cms_add(c, key(1), 9);
    CU_ASSERT_EQUAL(sk_cms_put(c, form, sizeof form), 20 + 4 * WIDTH * ROWS);
    for (int row = 0; row < ROWS; row++) {
        int cells = 0;
        for (int i = 0; i < WIDTH; i++)
            cells += form[20 + 4 * (row * WIDTH + i)] == 9;
        CU_ASSERT_EQUAL(cells, 1);
    }
    sk_cms_free(c);
}

static void form_comes_back_the_same(void)
{
    static const enum sk_cms_cell kinds[] = {SK_CMS_CELL_32, SK_CMS_CELL_64};
    for (int i = 0; i < 2; i++) {
        struct sk_cms *c = cms(33, 3, kinds[i]), *back = NULL;
        uint8_t form[2000], again[2000];
        size_t used = 0;
        for (uint64_t n = 0; n < 100; n++)
            sk_cms_add(c, key(n), UINT64_C(77777777) * n);
        size_t n = sk_cms_put(c, form, sizeof form);
        CU_ASSERT_EQUAL(n, sk_cms_put_room(c));
        CU_ASSERT_EQUAL(sk_cms_put(c, again, n - 1), 0);
        CU_ASSERT_EQUAL(sk_cms_get(&back, form, sizeof form, &used), 0);
        CU_ASSERT_EQUAL(used, n);
        CU_ASSERT_EQUAL(sk_cms_put(back, again, sizeof again), n);
        CU_ASSERT_EQUAL(memcmp(form, again, n), 0);
        CU_ASSERT_EQUAL(sk_cms_add(c, key(3), 9), sk_cms_add(back, key(3), 9));
        for (size_t cut = 0; cut < n; cut++)
            CU_ASSERT_EQUAL(sk_cms_get(&back, form, cut, &used), -EBADMSG);
        sk_cms_free(c);
        sk_cms_free(back);
    }
}

static void hostile_forms_are_refused_before_memory_is_taken(void)
{
    struct sk_cms *c = cms(4, 2, SK_CMS_CELL_32), *back = NULL;
    uint8_t good[64], bad[64];
    size_t used;
    sk_cms_add(c, 1, 7);
    size_t n = sk_cms_put(c, good, sizeof good);
    static const struct {
        size_t at;
        uint8_t byte;
    } rows[] = {{0, 0}, {3, 0xff}, {4, 0},  {4, 17},    {7, 0xff}, {8, 2},
                {9, 2}, {10, 1},   {12, 6}, {19, 0x80}, {4, 3},    {8, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memcpy(bad, good, n);
        bad[rows[i].at] = rows[i].byte;
        CU_ASSERT_EQUAL(sk_cms_get(&back, bad, n, &used), -EBADMSG);
    }
    CU_ASSERT_PTR_NULL(back);
    sk_cms_free(c);
}

static const struct test tests[] = {
    TEST(shape_follows_error_and_confidence),
    TEST(bad_shapes_are_refused_and_change_nothing),
    TEST(never_below_the_truth_with_32_bits),
    TEST(never_below_the_truth_with_64_bits),
    TEST(cells_of_32_bits_stop_at_their_limit_and_say_so),
    TEST(cells_of_64_bits_and_the_total_stop_at_the_largest_signed_integer),
    TEST(weight_of_nothing_changes_nothing),
    TEST(bound_is_error_times_total_and_never_over_the_total),
    TEST(merge_adds_and_stays_above_the_truth),
    TEST(merge_that_runs_over_saturates_and_says_so),
    TEST(merge_of_another_shape_changes_nothing),
    TEST(most_frequent_are_exact),
    TEST(a_key_has_one_cell_in_each_row),
    TEST(form_comes_back_the_same),
    TEST(hostile_forms_are_refused_before_memory_is_taken),
    TESTS_END,
};

int main(void)
{
    return tap_run("cms", tests);
}
