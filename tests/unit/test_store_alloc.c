/* Every allocation of the store fails once, while opening, applying, asking and closing: an error
 * comes out, nothing is applied by halves, and the next try goes on. Linked with -Wl,--wrap for the
 * allocating functions; SQLite's own are its own. */
#include <errno.h>
#include <pthread.h>

#include "store/store_int.h"
#include "store_fixture.h"

static long allocations_left = -1; /* below 0: no limit */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *text);

static bool may_allocate(void)
{
    if (__atomic_load_n(&allocations_left, __ATOMIC_RELAXED) < 0)
        return true;
    return __atomic_fetch_sub(&allocations_left, 1, __ATOMIC_RELAXED) != 0;
}

void *__wrap_malloc(size_t n)
{
    return may_allocate() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return may_allocate() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *p, size_t n)
{
    return may_allocate() ? __real_realloc(p, n) : NULL;
}

char *__wrap_strdup(const char *text)
{
    return may_allocate() ? __real_strdup(text) : NULL;
}

static void limit(long n)
{
    __atomic_store_n(&allocations_left, n, __ATOMIC_RELAXED);
}

static void opening_fails_at_each_allocation_and_leaves_nothing(void)
{
    for (int temporary = 0; temporary < 2; temporary++) {
        struct fixture *x = fixture_new(temporary);
        int r = -ENOMEM;
        long n = 0;
        for (; r < 0 && n < 1000; n++) {
            limit(n);
            r = store_open(&x->store, &x->options, &x->note, &x->error);
            limit(-1);
            if (r < 0) {
                CU_ASSERT_EQUAL(r, -ENOMEM);
                CU_ASSERT_PTR_NULL(x->store);
            }
        }
        CU_ASSERT_EQUAL(r, 0);
        CU_ASSERT(n > 15);
        fixture_free(x);
    }
}

/* Twelve days: more than are open, so that some are written out and read back. */
static void make_lines(struct fixture *x)
{
    for (unsigned i = 0; i < 600; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/p%u", i % 50);
        fixture_line(x, x->today - (int) (i / 20 % 12), i % 9 ? 200 : 404, 10, i % 111, path);
    }
}

static void applying_fails_at_each_allocation_and_goes_on(void)
{
    struct fixture *truth = fixture_new(true);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    for (unsigned i = 0; i < 3; i++) {
        make_lines(truth);
        CU_ASSERT_EQUAL(fixture_apply(truth), 0);
    }
    for (int temporary = 0; temporary < 2; temporary++) {
        struct fixture *x = fixture_new(temporary);
        long failures = 0;
        CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
        for (unsigned i = 0; i < 3; i++) {
            int r = -ENOMEM;
            make_lines(x);
            for (long n = 0; r < 0 && n < 2000; n++) {
                limit(n);
                r = fixture_apply(x);
                limit(-1);
                failures += r < 0;
                CU_ASSERT(r == 0 || r == -ENOMEM || r == -EAGAIN);
            }
            CU_ASSERT_EQUAL(r, 0);
        }
        CU_ASSERT(failures > 50);
        CU_ASSERT(fixture_alike(x, truth, x->today - 12, x->today));
        fixture_free(x);
    }
    fixture_free(truth);
}

static void committing_fails_at_each_allocation_and_is_made_good(void)
{
    struct fixture *truth = fixture_new(true), *x = fixture_new(false);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    make_lines(truth);
    make_lines(x);
    CU_ASSERT_EQUAL(fixture_apply(truth), 0);
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    int r = -ENOMEM;
    long n = 0;
    for (; r < 0 && n < 200; n++) {
        limit(n);
        r = store_commit(x->store);
        limit(-1);
        CU_ASSERT(r == 0 || r == -ENOMEM);
    }
    CU_ASSERT_EQUAL(r, 0);
    CU_ASSERT(n > 2);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 600);
    CU_ASSERT(fixture_alike(x, truth, x->today - 12, x->today));
    fixture_free(x);
    fixture_free(truth);
}

static void asking_fails_at_each_allocation_and_answers_later(void)
{
    struct fixture *x = fixture_new(false);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    make_lines(x);
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    for (int question = 0; question < 4; question++) {
        struct distinct_answer d;
        struct topk_answer a;
        struct overlap_answer o;
        struct day_range sides[2] = {{x->today - 12, x->today - 6}, {x->today - 5, x->today}};
        int32_t days[16];
        int r = -ENOMEM;
        for (long n = 0; r < 0 && n < 1000; n++) {
            struct query *q = NULL;
            limit(n);
            r = query_new(&q, x->store, 1 << 20);
            if (r == 0 && question == 0)
                r = query_distinct(q, UNIQUES, x->today - 12, x->today, &d);
            else if (r == 0 && question == 1)
                r = query_topk(q, PATHS, x->today - 12, x->today, 10, &a);
            else if (r == 0 && question == 2)
                r = query_overlap(q, UNIQUES, sides, &o);
            else if (r == 0)
                r = query_days(q, QUERY_TRAFFIC, x->today - 12, x->today, days, 16);
            limit(-1);
            query_free(q);
            CU_ASSERT(r >= 0 || r == -ENOMEM);
        }
        CU_ASSERT(r >= 0);
        if (question == 0) {
            CU_ASSERT_EQUAL(d.estimate.value, 111);
            CU_ASSERT_EQUAL(d.days_with_record, 12);
        } else if (question == 1) {
            CU_ASSERT_EQUAL(a.n_rows, 10);
            topk_answer_done(&a);
        } else if (question == 2) {
            CU_ASSERT(o.all.value == 111 && o.both.estimator == SK_EXACT);
            CU_ASSERT_EQUAL(o.side[0].value + o.side[1].value - o.both.value, 111);
        } else {
            CU_ASSERT_EQUAL(r, 12);
        }
    }
    fixture_free(x);
}

/* A rebuild in the report that finds no memory is tried again where it stopped. */
static void a_rebuild_without_memory_goes_on_later(void)
{
    struct fixture *x = fixture_new(true);
    struct filter_state f;
    long failures = 0;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (uint64_t i = 0; i < 24000;) {
        for (uint64_t end = i + 6000; i < end; i++)
            fixture_line(x, x->today, 200, 1, i, "/");
        int r = -ENOMEM;
        for (long n = 0; r < 0 && n < 100; n++) {
            limit(n);
            r = fixture_apply(x);
            limit(-1);
            failures += r < 0;
        }
        CU_ASSERT_EQUAL(r, 0);
    }
    CU_ASSERT(failures > 0);
    CU_ASSERT_EQUAL(query_filter(x->query, SEEN, &f), 0);
    CU_ASSERT(f.rebuilds > 0);
    for (uint64_t i = 0; i < 24000; i++) {
        struct seen_answer a;
        query_seen(x->query, SEEN, fixture_visitor(x, i).lo, &a);
        CU_ASSERT(a.seen);
    }
    CU_ASSERT_EQUAL(fixture_hits(x, x->today), 24000);
    fixture_free(x);
}

static const struct test tests[] = {
    TEST(opening_fails_at_each_allocation_and_leaves_nothing),
    TEST(applying_fails_at_each_allocation_and_goes_on),
    TEST(committing_fails_at_each_allocation_and_is_made_good),
    TEST(asking_fails_at_each_allocation_and_answers_later),
    TEST(a_rebuild_without_memory_goes_on_later),
    TESTS_END,
};

int main(void)
{
    return tap_run("store_alloc", tests);
}
