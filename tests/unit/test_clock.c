#include "base/clock.h"

#include <time.h>

#include "tap.h"

static void the_system_clock_is_the_wall_clock(void)
{
    struct clock c;
    clock_system(&c);
    time_t before = time(NULL);
    int64_t now = clock_now_s(&c);
    CU_ASSERT_TRUE(now >= before - 1 && now <= time(NULL) + 1);
}

static void a_given_clock_starts_there_and_runs_on(void)
{
    const int64_t noon = INT64_C(1795521600) * NS_PER_S;
    struct clock c;
    int64_t before = clock_monotonic_ns();
    clock_from(&c, noon);
    int64_t first = clock_now_ns(&c), second = first;
    for (int i = 0; i < 100000000 && second == first; i++)
        second = clock_now_ns(&c);
    int64_t passed = clock_monotonic_ns() - before;
    CU_ASSERT_TRUE(first >= noon && second > first && second - noon <= passed);
}

static void a_copy_is_the_same_clock(void)
{
    struct clock a, b;
    clock_from(&a, 0);
    b = a;
    clock_from(&a, INT64_C(1000000) * NS_PER_S);
    CU_ASSERT_TRUE(clock_now_s(&b) < 1000);
}

static int64_t fixed_ns(void *arg)
{
    return *(int64_t *) arg;
}

static void a_test_can_hold_the_clock(void)
{
    int64_t now = 5 * NS_PER_S;
    struct clock c = {.now_ns = fixed_ns, .arg = &now};
    CU_ASSERT_EQUAL(clock_now_s(&c), 5);
    now += NS_PER_S;
    CU_ASSERT_EQUAL(clock_now_ns(&c), 6 * NS_PER_S);
}

static const struct test tests[] = {
    TEST(the_system_clock_is_the_wall_clock),
    TEST(a_given_clock_starts_there_and_runs_on),
    TEST(a_copy_is_the_same_clock),
    TEST(a_test_can_hold_the_clock),
    TESTS_END,
};

int main(void)
{
    return tap_run("clock", tests);
}
