/* Every allocation of the library fails once: -ENOMEM comes out, nothing half-made, nothing lost.
 * Linked with -Wl,--wrap for malloc, calloc and realloc. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/bloom.h"
#include "sketch/cms.h"
#include "sketch/counting.h"
#include "sketch/cuckoo.h"
#include "sketch/distinct.h"
#include "sketch/overlap.h"
#include "sketch/redis.h"
#include "sketch/topk.h"
#include "tap.h"

static const struct sk_stamp stamp = {.hash_id = 1};
static long allocations_left = -1; /* below 0: no limit */
static long allocations;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool may_allocate(void)
{
    allocations++;
    if (allocations_left < 0)
        return true;
    return allocations_left-- != 0;
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

static uint8_t forms[3][200000];
static size_t form_bytes[3];
static struct sk_distinct *exact, *dense;

/* make(ret) until it succeeds, with one allocation more each time; at least `least` of them. */
static void fails_at_each(int (*make)(void **ret), void *(*done)(void *), int least)
{
    int r = -ENOMEM, i = 0;
    for (; r == -ENOMEM && i < 100; i++) {
        void *made = NULL;
        allocations_left = i;
        r = make(&made);
        allocations_left = -1;
        CU_ASSERT_EQUAL(made != NULL, r == 0);
        done(made);
    }
    CU_ASSERT_EQUAL(r, 0);
    CU_ASSERT(i > least);
}

static int make_distinct(void **ret)
{
    struct sk_distinct *d;
    int r = sk_distinct_new(&d, 14, 1000);
    if (r == 0)
        *ret = d;
    return r;
}

static int copy_exact(void **ret)
{
    struct sk_distinct *d;
    int r = sk_distinct_copy(&d, exact);
    if (r == 0)
        *ret = d;
    return r;
}

static int load_exact(void **ret)
{
    return sk_kind_distinct.load(ret, forms[0], form_bytes[0], &stamp);
}

static int load_dense(void **ret)
{
    return sk_kind_distinct.load(ret, forms[1], form_bytes[1], &stamp);
}

static int load_topk(void **ret)
{
    return sk_kind_topk.load(ret, forms[2], form_bytes[2], &stamp);
}

static int read_redis(void **ret)
{
    static uint8_t string[SK_REDIS_BYTES];
    struct sk_distinct *d;
    CU_ASSERT_EQUAL(sk_redis_write(dense, string), 0);
    int r = sk_redis_read(&d, string, sizeof string);
    if (r == 0)
        *ret = d;
    return r;
}

static int make_topk(void **ret)
{
    struct sk_topk *t;
    int r = sk_topk_new(&t, 10, 100, 4, SK_CMS_CELL_64);
    if (r == 0)
        *ret = t;
    return r;
}

static int make_bloom(void **ret)
{
    struct sk_bloom *b;
    int r = sk_bloom_new(&b, (struct sk_bloom_shape){6400, 7});
    if (r == 0)
        *ret = b;
    return r;
}

static void *bloom_free(void *b)
{
    return sk_bloom_free(b);
}

static int make_counting(void **ret)
{
    struct sk_counting *c;
    int r = sk_counting_new(&c, (struct sk_counting_shape){6400, 7});
    if (r == 0)
        *ret = c;
    return r;
}

static void *counting_free(void *c)
{
    return sk_counting_free(c);
}

static int make_cuckoo(void **ret)
{
    struct sk_cuckoo *c;
    int r = sk_cuckoo_new(&c, (struct sk_cuckoo_shape){1024, 12});
    if (r == 0)
        *ret = c;
    return r;
}

static void *cuckoo_free(void *c)
{
    return sk_cuckoo_free(c);
}

static void making_copying_and_loading_fail_cleanly(void)
{
    fails_at_each(make_distinct, sk_kind_distinct.free, 3);
    fails_at_each(copy_exact, sk_kind_distinct.free, 3);
    fails_at_each(load_exact, sk_kind_distinct.free, 3);
    fails_at_each(load_dense, sk_kind_distinct.free, 2);
    fails_at_each(read_redis, sk_kind_distinct.free, 2);
    fails_at_each(make_topk, sk_kind_topk.free, 6);
    fails_at_each(load_topk, sk_kind_topk.free, 6);
    fails_at_each(make_bloom, bloom_free, 1);
    fails_at_each(make_counting, counting_free, 1);
    fails_at_each(make_cuckoo, cuckoo_free, 1);
}

/* Into an empty set a merge allocates; if it cannot, that set is as before. */
static void a_failed_merge_changes_nothing(void)
{
    struct sk_distinct *into = NULL;
    int r = -ENOMEM, i = 0;
    CU_ASSERT_EQUAL_FATAL(sk_distinct_new(&into, 12, 50), 0);
    for (; r == -ENOMEM && i < 10; i++) {
        allocations_left = i;
        r = sk_distinct_merge(into, dense);
        allocations_left = -1;
        CU_ASSERT_EQUAL(sk_distinct_empty(into), r != 0);
        CU_ASSERT_EQUAL(sk_distinct_precision(into), r ? 12 : 14);
    }
    CU_ASSERT(r == 0 && i > 2);
    sk_distinct_free(into);
}

/* Folding gives memory back by realloc, which may fail: then it just stays. */
static void merges_of_filled_sets_need_no_memory(void)
{
    struct sk_distinct *into = NULL, *coarse = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_distinct_copy(&into, exact), 0);
    CU_ASSERT_EQUAL_FATAL(sk_distinct_new(&coarse, 8, 5), 0);
    for (uint64_t i = 0; i < 100; i++)
        sk_distinct_add(coarse, sk_mix(i));
    allocations_left = 0;
    CU_ASSERT_EQUAL(sk_distinct_merge(into, dense), 0);
    allocations_left = 0;
    CU_ASSERT_EQUAL(sk_distinct_merge(into, coarse), 0);
    allocations_left = -1;
    CU_ASSERT_EQUAL(sk_distinct_precision(into), 8);
    sk_distinct_free(into);
    sk_distinct_free(coarse);
}

/* Both sides are to be made: one is exact, the other folds. */
static void an_overlap_without_memory_says_so(void)
{
    struct sk_distinct *coarse = NULL;
    struct sk_overlap o = {.reliable = false};
    CU_ASSERT_EQUAL_FATAL(sk_distinct_new(&coarse, 8, 5), 0);
    for (uint64_t i = 0; i < 900; i++)
        sk_distinct_add(coarse, sk_mix(i));
    const struct sk_distinct *others[] = {exact, dense};
    for (int i = 0; i < 2; i++) {
        int r = -ENOMEM, n = 0;
        for (; r == -ENOMEM && n < 10; n++) {
            allocations_left = n;
            r = sk_overlap(others[i], coarse, &o);
            allocations_left = -1;
            CU_ASSERT_EQUAL(o.both.value > 0, r == 0);
        }
        CU_ASSERT(r == 0 && n > 2);
        o.both.value = 0;
    }
    allocations = 0;
    CU_ASSERT_EQUAL(sk_overlap(dense, dense, &o), 0);
    CU_ASSERT_EQUAL(allocations, 0);
    sk_distinct_free(coarse);
}

static void adding_and_saving_never_allocate(void)
{
    static uint64_t hashes[5000];
    static uint8_t key[3000];
    void *distinct = NULL, *topk = NULL, *bloom = NULL, *counting = NULL, *cuckoo = NULL;
    struct sk_estimate e;
    CU_ASSERT_EQUAL_FATAL(make_distinct(&distinct), 0);
    CU_ASSERT_EQUAL_FATAL(make_topk(&topk), 0);
    CU_ASSERT_EQUAL_FATAL(make_bloom(&bloom), 0);
    CU_ASSERT_EQUAL_FATAL(make_counting(&counting), 0);
    CU_ASSERT_EQUAL_FATAL(make_cuckoo(&cuckoo), 0);
    for (uint64_t i = 0; i < 5000; i++)
        hashes[i] = sk_mix(i + 1);
    allocations = 0;
    sk_distinct_add_batch(distinct, hashes, 5000);
    sk_bloom_add_batch(bloom, hashes, 5000, NULL);
    sk_counting_add_batch(counting, hashes, 5000, NULL);
    CU_ASSERT(sk_cuckoo_add_batch(cuckoo, hashes, 5000) > 3900); /* till it is full */
    CU_ASSERT(sk_counting_remove(counting, hashes[0]) && sk_cuckoo_remove(cuckoo, hashes[0]));
    for (uint64_t i = 0; i < 3000; i++) {
        key[0] = (uint8_t) i;
        sk_topk_add(topk, sk_mix(i % 256), key, i, 1 + i % 5);
    }
    sk_distinct_estimate(distinct, &e);
    CU_ASSERT(sk_kind_distinct.save(distinct, &stamp, forms[0], sizeof forms[0]) > 0);
    CU_ASSERT(sk_kind_topk.save(topk, &stamp, forms[0], sizeof forms[0]) > 0);
    CU_ASSERT_EQUAL(allocations, 0);
    sk_kind_distinct.free(distinct);
    sk_kind_topk.free(topk);
    sk_bloom_free(bloom);
    sk_counting_free(counting);
    sk_cuckoo_free(cuckoo);
}

static const struct test tests[] = {
    TEST(making_copying_and_loading_fail_cleanly), TEST(a_failed_merge_changes_nothing),
    TEST(merges_of_filled_sets_need_no_memory),    TEST(an_overlap_without_memory_says_so),
    TEST(adding_and_saving_never_allocate),        TESTS_END,
};

int main(void)
{
    struct sk_topk *topk;
    if (sk_distinct_new(&exact, 14, 1000) || sk_distinct_new(&dense, 14, 1000) ||
        sk_topk_new(&topk, 10, 100, 4, SK_CMS_CELL_32))
        return EXIT_FAILURE;
    for (uint64_t i = 0; i < 2000; i++) {
        if (i < 700)
            sk_distinct_add(exact, sk_mix(i));
        sk_distinct_add(dense, sk_mix(i));
        sk_topk_add(topk, sk_mix(i), &i, sizeof i, 1);
    }
    form_bytes[0] = sk_kind_distinct.save(exact, &stamp, forms[0], sizeof forms[0]);
    form_bytes[1] = sk_kind_distinct.save(dense, &stamp, forms[1], sizeof forms[1]);
    form_bytes[2] = sk_kind_topk.save(topk, &stamp, forms[2], sizeof forms[2]);
    int r = tap_run("sketch_alloc", tests);
    sk_topk_free(topk);
    sk_distinct_free(exact);
    sk_distinct_free(dense);
    return r;
}
