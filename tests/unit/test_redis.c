#include "sketch/redis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/hash.h"
#include "tap.h"

#define REGISTERS 16384
#define HEAD 16

static const struct sk_stamp stamp = {.hash_id = 1};

static struct sk_distinct *with_range(unsigned precision, uint32_t exact_until, uint64_t from,
                                      uint64_t to)
{
    struct sk_distinct *d = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_distinct_new(&d, precision, exact_until), 0);
    for (uint64_t i = from; i < to; i++)
        sk_distinct_add(d, sk_mix(i + 1));
    return d;
}

static struct sk_distinct *read_back(const uint8_t *string, size_t n)
{
    struct sk_distinct *d = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_redis_read(&d, string, n), 0);
    return d;
}

/* The set as it comes back from Redis. */
static struct sk_distinct *through_redis(const struct sk_distinct *d)
{
    static uint8_t string[SK_REDIS_BYTES];
    CU_ASSERT_EQUAL_FATAL(sk_redis_write(d, string), 0);
    return read_back(string, sizeof string);
}

static int refused(const uint8_t *string, size_t n)
{
    struct sk_distinct *d = NULL;
    int r = sk_redis_read(&d, string, n);
    CU_ASSERT_PTR_NULL(d);
    sk_distinct_free(d);
    return r;
}

static unsigned register_at(const uint8_t *string, size_t i)
{
    size_t at = HEAD + i * 6 / 8, shift = i * 6 % 8;
    unsigned two = string[at] | (shift > 2 ? string[at + 1] << 8 : 0);
    return two >> shift & 63;
}

static void set_register(uint8_t *string, size_t i, unsigned rank)
{
    for (unsigned bit = 0; bit < 6; bit++) {
        size_t at = i * 6 + bit;
        string[HEAD + at / 8] &= (uint8_t) ~(1u << at % 8);
        string[HEAD + at / 8] |= (uint8_t) ((rank >> bit & 1) << at % 8);
    }
}

static bool same_strings(const struct sk_distinct *a, const struct sk_distinct *b)
{
    static uint8_t x[SK_REDIS_BYTES], y[SK_REDIS_BYTES];
    return sk_redis_write(a, x) == 0 && sk_redis_write(b, y) == 0 && !memcmp(x, y, sizeof x);
}

/* All that is kept is the same, byte for byte. */
static bool same(const struct sk_distinct *a, const struct sk_distinct *b)
{
    size_t room[2] = {sk_kind_distinct.save_room(a), sk_kind_distinct.save_room(b)};
    uint8_t *x = malloc(room[0]), *y = malloc(room[1]);
    CU_ASSERT_FATAL(x && y);
    size_t n = sk_kind_distinct.save(a, &stamp, x, room[0]);
    bool equal = n && n == sk_kind_distinct.save(b, &stamp, y, room[1]) && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return equal;
}

static struct sk_distinct *copy_of(const struct sk_distinct *d)
{
    struct sk_distinct *copy = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_distinct_copy(&copy, d), 0);
    return copy;
}

static void the_head_says_dense_and_that_the_count_is_stale(void)
{
    static const uint8_t head[HEAD] = {'H', 'Y', 'L', 'L', [15] = 0x80};
    static uint8_t string[SK_REDIS_BYTES];
    struct sk_distinct *d = with_range(14, 10, 0, 0);
    memset(string, 0xff, sizeof string);
    CU_ASSERT_EQUAL(sk_redis_write(d, string), 0);
    CU_ASSERT_EQUAL(memcmp(string, head, HEAD), 0);
    for (size_t i = HEAD; i < sizeof string; i++)
        CU_ASSERT_EQUAL_FATAL(string[i], 0);
    sk_distinct_free(d);
}

/* Index: the hash's first 14 bits; rank: leading zeros of the other 50, and 1. */
static void registers_lie_lowest_bits_first(void)
{
    static const struct {
        size_t i;
        unsigned rank;
    } rows[] = {{0, 1}, {1, 2}, {2, 33}, {3, 50}, {4097, 17}, {16382, 5}, {16383, 31}};
    static uint8_t string[SK_REDIS_BYTES];
    struct sk_distinct *d = with_range(14, 0, 0, 0);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        sk_distinct_add(d, (uint64_t) rows[r].i << 50 | UINT64_C(1) << (50 - rows[r].rank));
    CU_ASSERT_EQUAL(sk_redis_write(d, string), 0);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        CU_ASSERT_EQUAL(register_at(string, rows[r].i), rows[r].rank);
    /* 1, 2, 33 and 50 as 000001, 000010, 100001 and 110010, from the right */
    CU_ASSERT(string[16] == 0x81 && string[17] == 0x10 && string[18] == 0xca);
    sk_distinct_free(d);
}

static void the_highest_rank_is_51(void)
{
    static uint8_t string[SK_REDIS_BYTES];
    for (unsigned exact = 0; exact < 2; exact++)
        for (unsigned precision = 14; precision <= 18; precision += 4) {
            struct sk_distinct *d = with_range(precision, 10 * exact, 0, 0);
            sk_distinct_add(d, 0);
            CU_ASSERT_EQUAL(sk_redis_write(d, string), 0);
            CU_ASSERT_EQUAL(register_at(string, 0), 51);
            CU_ASSERT_EQUAL(register_at(string, 1), 0);
            sk_distinct_free(d);
        }
}

/* Exact or registers, of precision 14 or folded to it: the keys alone make the string. */
static void the_same_keys_make_the_same_string(void)
{
    struct sk_distinct *plain = with_range(14, 0, 0, 3000);
    for (unsigned precision = 14; precision <= 18; precision++)
        for (uint32_t until = 0; until <= 5000; until += 5000) {
            struct sk_distinct *d = with_range(precision, until, 0, 3000);
            CU_ASSERT_EQUAL(sk_distinct_exact(d), until != 0);
            CU_ASSERT(same_strings(d, plain));
            sk_distinct_free(d);
        }
    sk_distinct_free(plain);
}

static void coarser_sets_cannot_be_written(void)
{
    static uint8_t string[SK_REDIS_BYTES];
    for (uint32_t until = 0; until < 2; until++) {
        struct sk_distinct *d = with_range(13, until * 100, 0, 50);
        uint64_t count = 7;
        CU_ASSERT_EQUAL(sk_redis_write(d, string), -EINVAL);
        CU_ASSERT_EQUAL(sk_redis_estimate(d, &count), -EINVAL);
        CU_ASSERT_EQUAL(count, 7);
        sk_distinct_free(d);
    }
}

/* What PFCOUNT of redis-server 7.0.15 gave for these strings; redis.t asks a real one. */
static void counts_are_those_of_redis(void)
{
    static const uint64_t rows[][2] = {{0, 0},       {1, 1},         {10, 10},
                                       {1000, 1009}, {40000, 39850}, {390808, 384510}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sk_distinct *d = with_range(14, 500, 0, rows[i][0]);
        uint64_t count = 7;
        CU_ASSERT_EQUAL(sk_redis_estimate(d, &count), 0);
        CU_ASSERT_EQUAL(count, rows[i][1]);
        sk_distinct_free(d);
    }
}

static void full_registers_count_without_overflow(void)
{
    static uint8_t string[SK_REDIS_BYTES];
    struct sk_distinct *d = with_range(14, 0, 0, 0);
    struct sk_estimate e;
    uint64_t count;
    CU_ASSERT_EQUAL(sk_redis_write(d, string), 0);
    sk_distinct_free(d);
    for (size_t i = 0; i < REGISTERS; i++)
        set_register(string, i, 51);
    d = read_back(string, sizeof string);
    CU_ASSERT_EQUAL(sk_redis_estimate(d, &count), 0);
    CU_ASSERT_EQUAL(count, INT64_MAX);
    sk_distinct_estimate(d, &e);
    CU_ASSERT(isfinite(e.value) && e.low <= e.value && e.value <= e.high);
    sk_distinct_free(d);
}

static void a_string_is_read_as_it_was_written(void)
{
    static const uint64_t sizes[] = {0, 1, 200, 3000, 400000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sk_distinct *d = with_range(14, 1000, 0, sizes[i]), *back = through_redis(d);
        CU_ASSERT(same_strings(d, back));
        CU_ASSERT_EQUAL(sk_distinct_empty(back), sizes[i] == 0);
        CU_ASSERT_EQUAL(sk_distinct_precision(back), 14);
        sk_distinct_free(d);
        sk_distinct_free(back);
    }
}

static void one_line_feed_behind_it_is_dropped(void)
{
    static uint8_t string[SK_REDIS_BYTES + 2];
    struct sk_distinct *d = with_range(14, 0, 0, 3000), *back;
    CU_ASSERT_EQUAL(sk_redis_write(d, string), 0);
    string[SK_REDIS_BYTES] = string[SK_REDIS_BYTES + 1] = '\n';
    back = read_back(string, SK_REDIS_BYTES + 1);
    CU_ASSERT(same_strings(d, back));
    CU_ASSERT_EQUAL(refused(string, SK_REDIS_BYTES + 2), -EBADMSG);
    string[SK_REDIS_BYTES] = '\r';
    CU_ASSERT_EQUAL(refused(string, SK_REDIS_BYTES + 1), -EBADMSG);
    sk_distinct_free(d);
    sk_distinct_free(back);
}

static void the_cached_count_is_not_believed(void)
{
    static uint8_t string[SK_REDIS_BYTES];
    struct sk_distinct *d = with_range(14, 0, 0, 3000), *back;
    CU_ASSERT_EQUAL(sk_redis_write(d, string), 0);
    memset(string + 8, 0, 8); /* "the count is 0, and valid" */
    back = read_back(string, sizeof string);
    CU_ASSERT(same_strings(d, back));
    sk_distinct_free(d);
    sk_distinct_free(back);
}

static void damaged_dense_strings_are_refused(void)
{
    static uint8_t good[SK_REDIS_BYTES], bad[SK_REDIS_BYTES];
    struct sk_distinct *d = with_range(14, 0, 0, 3000);
    CU_ASSERT_EQUAL(sk_redis_write(d, good), 0);
    sk_distinct_free(d);
    for (size_t n = 0; n < SK_REDIS_BYTES; n += n < 20 ? 1 : 1024)
        CU_ASSERT_EQUAL(refused(good, n), -EBADMSG);
    CU_ASSERT_EQUAL(refused(good, SK_REDIS_BYTES - 1), -EBADMSG);
    for (unsigned rank = 52; rank < 64; rank++) {
        memcpy(bad, good, sizeof bad);
        set_register(bad, (rank * 1361) % REGISTERS, rank);
        CU_ASSERT_EQUAL(refused(bad, sizeof bad), -EBADMSG);
    }
    static const struct {
        size_t at;
        uint8_t value;
        int error;
    } rows[] = {{0, 'h', -EBADMSG}, {3, 0, -EBADMSG}, {4, 2, -EPROTO}, {4, 255, -EPROTO},
                {4, 1, -EBADMSG},   {5, 1, -EPROTO},  {7, 1, -EPROTO}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memcpy(bad, good, sizeof bad);
        bad[rows[i].at] = rows[i].value;
        CU_ASSERT_EQUAL(refused(bad, sizeof bad), rows[i].error);
    }
}

#define SPARSE_HEAD 'H', 'Y', 'L', 'L', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80
#define XZERO(n) (uint8_t)(0x40 | ((n) -1) >> 8), (uint8_t) (((n) -1) & 255)
#define VAL(rank, n) (uint8_t)(0x80 | ((rank) -1) << 2 | ((n) -1))
#define ZERO(n) (uint8_t)((n) -1)

static void sparse_runs_are_registers_in_order(void)
{
    static const uint8_t empty[] = {SPARSE_HEAD, XZERO(16384)};
    static const uint8_t some[] = {SPARSE_HEAD, VAL(32, 4),   ZERO(64),  XZERO(300), VAL(1, 1),
                                   VAL(7, 2),   XZERO(16012), VAL(3, 1), '\n'};
    static uint8_t string[SK_REDIS_BYTES];
    struct sk_distinct *d = read_back(empty, sizeof empty);
    CU_ASSERT(sk_distinct_empty(d));
    sk_distinct_free(d);
    for (size_t lf = 0; lf < 2; lf++) {
        d = read_back(some, sizeof some - 1 + lf);
        CU_ASSERT_EQUAL(sk_redis_write(d, string), 0);
        for (size_t i = 0; i < REGISTERS; i++) {
            unsigned rank = i < 4 ? 32 : i == 368 ? 1 : i == 369 || i == 370 ? 7 : 0;
            CU_ASSERT_EQUAL_FATAL(register_at(string, i), i == 16383 ? 3 : rank);
        }
        sk_distinct_free(d);
    }
}

static void damaged_sparse_strings_are_refused(void)
{
    static const struct {
        uint8_t bytes[HEAD + 8];
        size_t n;
    } rows[] = {
        {{SPARSE_HEAD}, HEAD},                                                   /* no runs */
        {{SPARSE_HEAD, XZERO(16383)}, HEAD + 2},                                 /* one short */
        {{SPARSE_HEAD, XZERO(16383), ZERO(2)}, HEAD + 3},                        /* one over */
        {{SPARSE_HEAD, XZERO(16384), ZERO(1)}, HEAD + 3},                        /* goes on */
        {{SPARSE_HEAD, XZERO(16384), '\n', '\n'}, HEAD + 4},                     /* too long */
        {{SPARSE_HEAD, XZERO(16383), VAL(5, 4)}, HEAD + 3},                      /* past the end */
        {{SPARSE_HEAD, XZERO(16384), XZERO(16384)}, HEAD + 4},                   /* twice */
        {{SPARSE_HEAD, 0x7f}, HEAD + 1},                                         /* half a code */
        {{SPARSE_HEAD, XZERO(16380), VAL(5, 2), 0x40}, HEAD + 4},                /* half, later */
        {{SPARSE_HEAD, VAL(1, 1)}, HEAD + 1},                                    /* hardly begun */
        {{SPARSE_HEAD, XZERO(16384), VAL(1, 1), VAL(1, 1), VAL(1, 1)}, HEAD + 5} /* goes on */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(refused(rows[i].bytes, rows[i].n), -EBADMSG);
}

/* The index of registers must not wrap (CVE-2025-32023): 131,073 runs of 16,384. */
static void runs_beyond_all_bounds_are_refused(void)
{
    enum { RUNS = 131073 };
    static const uint8_t head[] = {SPARSE_HEAD};
    size_t n = sizeof head + 2 * (size_t) RUNS + 1;
    uint8_t *string = malloc(n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(string);
    memcpy(string, head, sizeof head);
    memset(string + sizeof head, 0x7f, n - sizeof head);
    for (size_t i = 0; i < RUNS; i++)
        string[sizeof head + 2 * i + 1] = 0xff;
    string[n - 1] = VAL(9, 1);
    CU_ASSERT_EQUAL(refused(string, n), -EBADMSG);
    free(string);
}

/* 30 sets of 390,808 keys: standard error 0.81 % (1.04/sqrt(m)); a sample's spread is within 40 %
 * of it but for 1 in 500. */
static void what_is_read_is_estimated_from_ranks_without_bias(void)
{
    enum { SETS = 30, N = 390808 };
    double sum = 0, square = 0;
    for (uint64_t i = 0; i < SETS; i++) {
        struct sk_distinct *d = with_range(14, 0, i * N, (i + 1) * N), *back = through_redis(d);
        struct sk_estimate e;
        sk_distinct_estimate(back, &e);
        CU_ASSERT_EQUAL(e.estimator, SK_MAXIMUM_LIKELIHOOD);
        CU_ASSERT_DOUBLE_EQUAL(e.relative_standard_error, 0.0081, 0.0003);
        sum += e.value / N - 1;
        square += pow(e.value / N - 1, 2);
        sk_distinct_free(d);
        sk_distinct_free(back);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum / SETS, 0, 0.005); /* 3.4 standard errors */
    CU_ASSERT_DOUBLE_EQUAL(sqrt(square / SETS), 0.0081, 0.0033);
}

/* Small ones too, down to a key: within 5 standard errors as they say them. */
static void what_is_read_has_no_hole_at_any_size(void)
{
    for (uint64_t n = 1; n < 200000; n = n * 5 / 4 + 1) {
        struct sk_distinct *d = with_range(14, 0, n, 2 * n), *back = through_redis(d);
        struct sk_estimate e;
        sk_distinct_estimate(back, &e);
        double truth = (double) n;
        CU_ASSERT_DOUBLE_EQUAL(e.value, truth, 5 * e.relative_standard_error * truth + 0.5);
        sk_distinct_free(d);
        sk_distinct_free(back);
    }
}

/* Strings, days counted here, exact sets and other precisions, in every order: the same bytes; and
 * the ranks are those of one set of all keys. */
static void unions_with_strings_are_the_same_in_every_order(void)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int round = 0; round < 3; round++) {
        struct sk_distinct *day = with_range(14, 1000, 0, 5000), *first = NULL;
        struct sk_distinct *piece[3] = {through_redis(day), NULL, NULL};
        piece[1] = round == 0 ? with_range(14, 1000, 4000, 4800)
                              : with_range(round == 1 ? 14 : 12, 1000, 4000, 30000);
        piece[2] = with_range(16, 0, 20000, 60000);
        for (int o = 0; o < 6; o++) {
            struct sk_distinct *left = copy_of(piece[orders[o][0]]);
            struct sk_distinct *right = copy_of(piece[orders[o][1]]);
            CU_ASSERT_EQUAL(sk_distinct_merge(left, piece[orders[o][1]]), 0);
            CU_ASSERT_EQUAL(sk_distinct_merge(left, piece[orders[o][2]]), 0);
            CU_ASSERT_EQUAL(sk_distinct_merge(right, piece[orders[o][2]]), 0);
            CU_ASSERT_EQUAL(sk_distinct_merge(right, piece[orders[o][0]]), 0);
            first = first ? first : copy_of(left);
            CU_ASSERT(same(left, first) && same(right, first));
            CU_ASSERT_EQUAL(sk_distinct_merge(left, first), 0);
            CU_ASSERT(same(left, first));
            sk_distinct_free(left);
            sk_distinct_free(right);
        }
        struct sk_distinct *all = copy_of(piece[2]);
        CU_ASSERT_EQUAL(sk_distinct_merge(all, piece[1]), 0);
        CU_ASSERT_EQUAL(sk_distinct_merge(all, day), 0);
        CU_ASSERT(!same(all, first)); /* it has history */
        if (round < 2)
            CU_ASSERT(same_strings(all, first));
        for (int i = 0; i < 3; i++)
            sk_distinct_free(piece[i]);
        sk_distinct_free(all);
        sk_distinct_free(first);
        sk_distinct_free(day);
    }
}

/* Adding later on, saving and loading keep to ranks alone. */
static void sets_without_history_can_be_added_to_and_saved(void)
{
    struct sk_distinct *d = with_range(14, 0, 0, 5000), *plain = through_redis(d);
    size_t room = sk_kind_distinct.save_room(plain);
    uint8_t *form = malloc(room);
    void *loaded = NULL;
    for (uint64_t i = 5000; i < 9000; i++) {
        sk_distinct_add(d, sk_mix(i + 1));
        sk_distinct_add(plain, sk_mix(i + 1));
    }
    struct sk_distinct *again = through_redis(d);
    CU_ASSERT(same(plain, again));
    size_t n = sk_kind_distinct.save(plain, &stamp, form, room);
    CU_ASSERT_EQUAL_FATAL(sk_kind_distinct.load(&loaded, form, n, &stamp), 0);
    CU_ASSERT(same(plain, loaded));
    struct sk_estimate e, f;
    sk_distinct_estimate(plain, &e);
    sk_distinct_estimate(loaded, &f);
    CU_ASSERT(e.value == f.value && e.high == f.high && e.estimator == SK_MAXIMUM_LIKELIHOOD);
    sk_kind_distinct.free(loaded);
    free(form);
    sk_distinct_free(d);
    sk_distinct_free(plain);
    sk_distinct_free(again);
}

static const struct test tests[] = {
    TEST(the_head_says_dense_and_that_the_count_is_stale),
    TEST(registers_lie_lowest_bits_first),
    TEST(the_highest_rank_is_51),
    TEST(the_same_keys_make_the_same_string),
    TEST(coarser_sets_cannot_be_written),
    TEST(counts_are_those_of_redis),
    TEST(full_registers_count_without_overflow),
    TEST(a_string_is_read_as_it_was_written),
    TEST(one_line_feed_behind_it_is_dropped),
    TEST(the_cached_count_is_not_believed),
    TEST(damaged_dense_strings_are_refused),
    TEST(sparse_runs_are_registers_in_order),
    TEST(damaged_sparse_strings_are_refused),
    TEST(runs_beyond_all_bounds_are_refused),
    TEST(what_is_read_is_estimated_from_ranks_without_bias),
    TEST(what_is_read_has_no_hole_at_any_size),
    TEST(unions_with_strings_are_the_same_in_every_order),
    TEST(sets_without_history_can_be_added_to_and_saved),
    TESTS_END,
};

int main(void)
{
    return tap_run("redis", tests);
}
