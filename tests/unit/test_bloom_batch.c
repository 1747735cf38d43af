#include <stdlib.h>
#include <string.h>

#include "sketch/bloom.h"
#include "sketch/hash.h"
#include "tap.h"

static struct sk_bloom *bloom(uint64_t bits, uint32_t hashes, uint64_t members)
{
    struct sk_bloom *b = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_bloom_new(&b, (struct sk_bloom_shape){bits, hashes}), 0);
    for (uint64_t i = 0; i < members; i++)
        sk_bloom_add(b, sk_mix(i + 1));
    return b;
}

/* Members, others and repeats; every length around a group; empty to overfull filters. */
static void a_batch_of_questions_gets_the_answers_of_each_alone(void)
{
    enum { N = 700 };
    static uint64_t hashes[N];
    static bool has[N + 1];
    static const uint32_t probes[] = {1, 2, 7, 20, 64};
    static const uint64_t members[] = {0, 1, 300, 600, 5000};
    for (uint64_t i = 0; i < N; i++)
        hashes[i] = sk_mix(i % 5 ? i : i / 10 * 10);
    for (size_t p = 0; p < sizeof probes / sizeof probes[0]; p++) {
        for (size_t m = 0; m < sizeof members / sizeof members[0]; m++) {
            struct sk_bloom *b = bloom(4096, probes[p], members[m]);
            uint64_t ones = sk_bloom_ones(b);
            for (size_t n = 0; n <= N; n += n < 200 ? 1 : 50) {
                memset(has, 2, sizeof has);
                sk_bloom_has_batch(b, hashes, n, has);
                for (size_t i = 0; i < n; i++)
                    CU_ASSERT_EQUAL(has[i], sk_bloom_has(b, hashes[i]));
                unsigned char behind;
                memcpy(&behind, &has[n], 1);
                CU_ASSERT_EQUAL(behind, 2);
            }
            CU_ASSERT_EQUAL(sk_bloom_ones(b), ones);
            sk_bloom_free(b);
        }
    }
}

static void no_member_is_denied_in_a_batch(void)
{
    enum { N = 20000 };
    static uint64_t hashes[N];
    static bool has[N];
    for (uint64_t i = 0; i < N; i++)
        hashes[i] = sk_mix(i + 1);
    struct sk_bloom *b = bloom(95872, 7, N);
    sk_bloom_has_batch(b, hashes, N, has);
    CU_ASSERT_PTR_NULL(memchr(has, 0, N));
    sk_bloom_free(b);
}

static const struct test tests[] = {
    TEST(a_batch_of_questions_gets_the_answers_of_each_alone),
    TEST(no_member_is_denied_in_a_batch),
    TESTS_END,
};

int main(void)
{
    return tap_run("bloom_batch", tests);
}
