#include "store/query.h"

#include <errno.h>

#include "store/query_int.h"
#include "store_fixture.h"

static double uniques(struct fixture *x, int32_t from, int32_t to, struct distinct_answer *ret)
{
    CU_ASSERT_EQUAL_FATAL(query_distinct(x->query, UNIQUES, from, to, ret), 0);
    return ret->estimate.value;
}

static int visit_all(struct fixture *x, int32_t day, uint64_t from, uint64_t to)
{
    int r = 0;
    for (uint64_t i = from; i < to && r == 0;) {
        for (; i < to && x->batch.n_lines < 4000; i++)
            fixture_line(x, day, 200, 10, i, "/");
        r = fixture_apply(x);
    }
    return r;
}

static void a_union_is_no_sum(void)
{
    struct fixture *x = fixture_new(true);
    struct distinct_answer d;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today - 1, 0, 500), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today, 300, 800), 0);
    CU_ASSERT_EQUAL(uniques(x, x->today - 1, x->today, &d), 800);
    CU_ASSERT_EQUAL(d.sum_of_days, 1000);
    CU_ASSERT_EQUAL(d.days_with_record, 2);
    CU_ASSERT_EQUAL(d.estimate.estimator, SK_EXACT);
    CU_ASSERT_EQUAL(d.new_keys.estimate, 800);
    fixture_free(x);
}

static void a_large_union_is_between_its_largest_day_and_the_sum(void)
{
    struct fixture *x = fixture_new(true);
    struct distinct_answer d, day;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today, 0, 20000), 0);
    for (int i = 1; i <= 3; i++)
        CU_ASSERT_EQUAL(visit_all(x, x->today - i, (uint64_t) i, 20000 + (uint64_t) i), 0);
    uniques(x, x->today - 3, x->today, &d);
    uniques(x, x->today, x->today, &day);
    CU_ASSERT(d.estimate.value >= day.estimate.value);
    CU_ASSERT(d.estimate.value <= d.sum_of_days);
    CU_ASSERT(d.estimate.low <= d.estimate.value && d.estimate.value <= d.estimate.high);
    /* p = 12: 0.78/64 = 1.2 %, four of them */
    CU_ASSERT(d.estimate.value > 19000 && d.estimate.value < 21000);
    CU_ASSERT_EQUAL(d.estimate.estimator, SK_MAXIMUM_LIKELIHOOD);
    fixture_free(x);
}

static void one_nonempty_day_answers_as_that_day(void)
{
    struct fixture *x = fixture_new(true);
    struct distinct_answer d, day;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today - 2, 0, 5000), 0);
    uniques(x, x->today - 2, x->today - 2, &day);
    uniques(x, x->today - 30, x->today, &d);
    CU_ASSERT_EQUAL(day.estimate.estimator, SK_MARTINGALE);
    CU_ASSERT_EQUAL(memcmp(&d.estimate.value, &day.estimate.value, sizeof(double)), 0);
    CU_ASSERT_EQUAL(d.estimate.low, day.estimate.low);
    CU_ASSERT_EQUAL(d.estimate.estimator, SK_MARTINGALE);
    uniques(x, x->today - 1, x->today, &d);
    CU_ASSERT_EQUAL(d.estimate.value, 0);
    CU_ASSERT_EQUAL(d.estimate.estimator, SK_EXACT);
    CU_ASSERT_EQUAL(d.days_with_record, 0);
    fixture_free(x);
}

static struct overlap_answer overlap(struct fixture *x, int32_t a, int32_t to_a, int32_t b,
                                     int32_t to_b)
{
    struct overlap_answer o;
    struct day_range range[2] = {{a, to_a}, {b, to_b}};
    CU_ASSERT_EQUAL_FATAL(query_overlap(x->query, UNIQUES, range, &o), 0);
    CU_ASSERT(o.both.low <= o.both.value && o.both.value <= o.both.high);
    CU_ASSERT(o.both.value <= o.side[0].value && o.both.value <= o.side[1].value);
    return o;
}

static bool same_estimate(const struct sk_estimate *a, const struct sk_estimate *b)
{
    return a->value == b->value && a->low == b->low && a->high == b->high &&
           a->relative_standard_error == b->relative_standard_error && a->estimator == b->estimator;
}

static void few_visitors_of_both_days_are_counted_exactly(void)
{
    struct fixture *x = fixture_new(true);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today - 2, 0, 100), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today - 1, 50, 120), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today, 90, 400), 0);
    struct overlap_answer o = overlap(x, x->today - 2, x->today - 1, x->today, x->today);
    CU_ASSERT(o.side[0].value == 120 && o.side[1].value == 310 && o.all.value == 400);
    CU_ASSERT(o.both.value == 30 && o.both.estimator == SK_EXACT && o.reliable);
    o = overlap(x, x->today, x->today, x->today - 40, x->today - 30);
    CU_ASSERT(o.side[1].value == 0 && o.both.value == 0 && o.both.high == 0 && o.reliable);
    o = overlap(x, 0, -1, 0, -1); /* no day at all */
    CU_ASSERT(o.side[0].value == 0 && o.both.value == 0 && o.all.value == 0 && o.reliable);
    struct overlap_answer not_found;
    struct day_range range[2] = {{x->today, x->today}, {x->today, x->today}};
    CU_ASSERT_EQUAL(query_overlap(x->query, PATHS, range, &not_found), -EINVAL);
    CU_ASSERT_EQUAL(query_overlap(x->query, 77, range, &not_found), -EINVAL);
    fixture_free(x);
}

/* p = 12: about 1.9 % of 20,000, four of them. */
static void many_visitors_of_both_ranges_are_estimated(void)
{
    struct fixture *x = fixture_new(true);
    struct distinct_answer d;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today - 3, 0, 40000), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today - 2, 20000, 50000), 0);
    CU_ASSERT_EQUAL(visit_all(x, x->today, 30000, 80000), 0);
    struct overlap_answer o = overlap(x, x->today - 3, x->today - 2, x->today, x->today);
    CU_ASSERT_EQUAL(o.both.estimator, SK_MAXIMUM_LIKELIHOOD);
    CU_ASSERT_DOUBLE_EQUAL(o.both.value, 20000, 4 * 0.019 * 20000);
    CU_ASSERT(o.reliable && o.both.relative_standard_error < 0.03);
    /* sides and union are what is answered for their days alone */
    uniques(x, x->today - 3, x->today - 2, &d);
    CU_ASSERT(same_estimate(&o.side[0], &d.estimate));
    uniques(x, x->today, x->today, &d);
    CU_ASSERT(same_estimate(&o.side[1], &d.estimate));
    CU_ASSERT_EQUAL(d.estimate.estimator, SK_MARTINGALE);
    uniques(x, x->today - 3, x->today, &d);
    CU_ASSERT(same_estimate(&o.all, &d.estimate));
    struct overlap_answer turned = overlap(x, x->today, x->today, x->today - 3, x->today - 2);
    CU_ASSERT_DOUBLE_EQUAL(turned.both.value, o.both.value, 0.01);
    fixture_free(x);
}

/* Who came on a day that lies in both ranges came in both. */
static void shared_days_are_shared_as_a_whole(void)
{
    struct fixture *x = fixture_new(true);
    struct distinct_answer d;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(
            visit_all(x, x->today - i, (uint64_t) i * 10000, (uint64_t) i * 10000 + 9000), 0);
    struct overlap_answer o = overlap(x, x->today - 2, x->today, x->today - 1, x->today - 1);
    uniques(x, x->today - 1, x->today - 1, &d);
    CU_ASSERT(same_estimate(&o.both, &d.estimate) && o.reliable);
    o = overlap(x, x->today - 1, x->today - 1, x->today - 9, x->today + 9);
    CU_ASSERT(same_estimate(&o.both, &d.estimate) && o.reliable);
    o = overlap(x, x->today - 2, x->today - 1, x->today - 1, x->today);
    CU_ASSERT(o.both.value >= d.estimate.value);
    CU_ASSERT_DOUBLE_EQUAL(o.both.value, 9000, 1500);
    fixture_free(x);
}

static void days_are_listed_in_order_wherever_they_are(void)
{
    struct fixture *x = fixture_new(false);
    int32_t days[32];
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (int i = 0; i < 20; i += 2) /* open, in the spill, and after a commit in the database */
        CU_ASSERT_EQUAL(visit_all(x, x->today - i, 0, 2), 0);
    for (unsigned round = 0; round < 2; round++) {
        CU_ASSERT_EQUAL(query_days(x->query, UNIQUES, x->today - 15, x->today - 1, days, 32), 7);
        for (int i = 0; i < 7; i++)
            CU_ASSERT_EQUAL(days[i], x->today - 14 + 2 * i);
        CU_ASSERT_EQUAL(query_days(x->query, QUERY_TRAFFIC, INT32_MIN, INT32_MAX, days, 3), 10);
        CU_ASSERT_EQUAL(days[0], x->today - 18);
        CU_ASSERT_EQUAL(query_first_day(x->query), x->today - 18);
        /* lines, but none of status 404 */
        CU_ASSERT_EQUAL(query_days(x->query, NOT_FOUND_USERS, INT32_MIN, INT32_MAX, days, 32), 0);
        CU_ASSERT_EQUAL(query_days(x->query, SEEN, INT32_MIN, INT32_MAX, days, 32), -EINVAL);
        CU_ASSERT_EQUAL(query_days(x->query, 77, INT32_MIN, INT32_MAX, days, 32), -EINVAL);
        CU_ASSERT_EQUAL(store_commit(x->store), 0);
    }
    fixture_free(x);
}

static void the_cache_never_answers_with_a_day_that_has_changed(void)
{
    struct fixture *x = fixture_new(false);
    struct distinct_answer d;
    int32_t old = x->today - 30;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (uint64_t n = 10; n <= 100; n += 10) {
        CU_ASSERT_EQUAL(visit_all(x, old, 0, n), 0);
        CU_ASSERT_EQUAL(uniques(x, old, old, &d), (double) n);
        for (int i = 0; i < 8; i++) /* pushes the old day out */
            CU_ASSERT_EQUAL(visit_all(x, x->today - i, 0, 1), 0);
        if (n == 50)
            CU_ASSERT_EQUAL(store_commit(x->store), 0);
        CU_ASSERT_EQUAL(uniques(x, old, old, &d), (double) n);
        CU_ASSERT_EQUAL(uniques(x, old, old, &d), (double) n);
    }
    CU_ASSERT(query_cache_bytes(x->query->cache) > 0);
    fixture_free(x);
}

static void a_cache_of_one_byte_answers_too(void)
{
    struct fixture *x = fixture_new(false);
    struct query *small;
    struct distinct_answer a, b;
    struct topk_answer top;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (int i = 0; i < 20; i++)
        CU_ASSERT_EQUAL(visit_all(x, x->today - i, 0, 100 + (uint64_t) i), 0);
    CU_ASSERT_EQUAL_FATAL(query_new(&small, x->store, 1), 0);
    CU_ASSERT_EQUAL(query_distinct(small, UNIQUES, x->today - 19, x->today, &a), 0);
    CU_ASSERT_EQUAL(query_distinct(x->query, UNIQUES, x->today - 19, x->today, &b), 0);
    CU_ASSERT_EQUAL(a.estimate.value, b.estimate.value);
    CU_ASSERT_EQUAL(a.estimate.value, 119);
    CU_ASSERT_EQUAL(query_topk(small, PATHS, x->today - 19, x->today, 5, &top), 0);
    CU_ASSERT_EQUAL_FATAL(top.n_rows, 1);
    CU_ASSERT_EQUAL(top.rows[0].count, 20 * 100 + 190);
    topk_answer_done(&top);
    query_free(small);
    fixture_free(x);
}

static void top_paths_of_a_range_are_the_sums_of_their_days(void)
{
    struct fixture *x = fixture_new(false);
    struct topk_answer a;
    char path[32];
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (int day = 0; day < 12; day++) {
        /* /p<n> comes n times a day; /only<day> is a candidate of one day */
        for (unsigned n = 1; n <= 10; n++)
            for (unsigned i = 0; i < n; i++) {
                snprintf(path, sizeof(path), "/p%u", n);
                fixture_line(x, x->today - day, 200, n, i, path);
            }
        for (int i = 0; i < 25; i++) {
            snprintf(path, sizeof(path), "/only%d", day);
            fixture_line(x, x->today - day, 200, 1000, 1, path);
        }
        CU_ASSERT_EQUAL(fixture_apply(x), 0);
    }
    CU_ASSERT_EQUAL(query_topk(x->query, PATHS, x->today - 11, x->today, 12, &a), 0);
    CU_ASSERT_EQUAL_FATAL(a.n_rows, 12);
    CU_ASSERT_EQUAL(a.total, 12 * (55 + 25));
    CU_ASSERT_EQUAL(a.k, 20);
    CU_ASSERT_FALSE(a.saturated);
    /* e/272 * 960, rounded up */
    CU_ASSERT_EQUAL(a.error_bound, 10);
    for (unsigned i = 0; i < 7; i++) { /* /p10 to /p4 have 120 to 48 */
        CU_ASSERT(a.rows[i].count >= 12 * (10 - i) &&
                  a.rows[i].count <= 12 * (10 - i) + a.error_bound);
        CU_ASSERT_EQUAL(a.rows[i].high, a.rows[i].count);
        CU_ASSERT(a.rows[i].low <= 12 * (10 - i));
    }
    topk_answer_done(&a);
    CU_ASSERT_EQUAL(query_topk(x->query, BYTES, x->today, x->today, 1, &a), 0);
    CU_ASSERT_EQUAL_FATAL(a.n_rows, 1);
    CU_ASSERT_EQUAL(a.rows[0].count, 25000);
    CU_ASSERT_EQUAL(memcmp(a.rows[0].key + 4, "/only0", 6), 0);
    topk_answer_done(&a);
    CU_ASSERT_EQUAL(query_topk(x->query, BYTES, x->today - 300, x->today - 200, 5, &a), 0);
    CU_ASSERT_EQUAL(a.n_rows, 0);
    CU_ASSERT_EQUAL(a.total, 0);
    topk_answer_done(&a);
    CU_ASSERT_EQUAL(query_topk(x->query, UNIQUES, x->today, x->today, 5, &a), -EINVAL);
    fixture_free(x);
}

static void equal_counts_are_listed_by_key(void)
{
    static const char *const paths[] = {"/c", "/a", "/bb", "/b", "/d"};
    static const char *const order[] = {"/a", "/b", "/bb", "/c"};
    struct fixture *x = fixture_new(true);
    struct topk_answer a;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (int day = 0; day < 2; day++)
        for (unsigned i = 0; i < 5; i++)
            fixture_line(x, x->today - day, 200, 1, 1, paths[(i + (unsigned) day) % 5]);
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    for (int days = 0; days < 2; days++) {
        CU_ASSERT_EQUAL(query_topk(x->query, PATHS, x->today - days, x->today, 4, &a), 0);
        CU_ASSERT_EQUAL_FATAL(a.n_rows, 4);
        for (unsigned i = 0; i < 4; i++)
            CU_ASSERT(a.rows[i].key_bytes == 4 + strlen(order[i]) &&
                      memcmp(a.rows[i].key + 4, order[i], strlen(order[i])) == 0);
        topk_answer_done(&a);
    }
    fixture_free(x);
}

static void bytes_stop_at_the_largest_whole_number(void)
{
    struct fixture *x = fixture_new(true);
    struct traffic t;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    fixture_line(x, x->today, 200, UINT64_MAX, 1, "/");
    fixture_line(x, x->today, STATUS_NONE, INT64_MAX, 1, "/");
    fixture_line(x, x->today, 0, 1, 1, "/");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    CU_ASSERT_EQUAL(query_traffic(x->query, x->today, &t), 1);
    CU_ASSERT_EQUAL(t.bytes, INT64_MAX);
    CU_ASSERT_EQUAL(t.hits, 3);
    CU_ASSERT_EQUAL(t.status[STATUS_SLOTS - 1], 1);
    CU_ASSERT_EQUAL(t.status[0], 1);
    CU_ASSERT_EQUAL(query_traffic(x->query, x->today - 1, &t), 0);
    fixture_free(x);
}

static void inputs_show_what_was_published(void)
{
    struct fixture *x = fixture_new(false);
    struct input_status status = {.kind = "files", .lag_bytes = 7, .resets = 2}, got;
    struct input_file_status files[3] = {{.path = "/a", .offset = 1},
                                         {.path = "/b"},
                                         {.path = "/c"}},
                             *rows;
    struct books books;
    int64_t last;
    unsigned n;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_STRING_EQUAL(query_input_name(x->query, 1), "edge");
    CU_ASSERT_PTR_NULL(query_input_name(x->query, 2));
    CU_ASSERT_EQUAL(store_publish_input(x->store, 1, &status, files, 3), 0);
    CU_ASSERT_EQUAL(store_publish_input(x->store, 2, &status, files, 3), -EINVAL);
    CU_ASSERT_EQUAL(query_input(x->query, 1, &books, &got, &last), 0);
    CU_ASSERT_EQUAL(got.resets, 2);
    CU_ASSERT_EQUAL(query_input_files(x->query, 1, &rows, &n), 0);
    CU_ASSERT_EQUAL_FATAL(n, 3);
    CU_ASSERT_STRING_EQUAL(rows[2].path, "/c");
    free(rows);
    CU_ASSERT_EQUAL(query_input_files(x->query, 0, &rows, &n), 0);
    CU_ASSERT_EQUAL(n, 0);
    free(rows);
    fixture_free(x);
}

static const struct test tests[] = {
    TEST(a_union_is_no_sum),
    TEST(a_large_union_is_between_its_largest_day_and_the_sum),
    TEST(one_nonempty_day_answers_as_that_day),
    TEST(few_visitors_of_both_days_are_counted_exactly),
    TEST(many_visitors_of_both_ranges_are_estimated),
    TEST(shared_days_are_shared_as_a_whole),
    TEST(days_are_listed_in_order_wherever_they_are),
    TEST(the_cache_never_answers_with_a_day_that_has_changed),
    TEST(a_cache_of_one_byte_answers_too),
    TEST(top_paths_of_a_range_are_the_sums_of_their_days),
    TEST(equal_counts_are_listed_by_key),
    TEST(bytes_stop_at_the_largest_whole_number),
    TEST(inputs_show_what_was_published),
    TESTS_END,
};

int main(void)
{
    return tap_run("query", tests);
}
