#include "base/num.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "tap.h"

/* Each reader writes its result on success only: these give a mark that no test expects. */
#define NO_U64 UINT64_C(0xdeadbeefdeadbeef)
#define NO_I64 INT64_C(-7777777777777777777)
#define NO_REAL -12345.678

static uint64_t u63(const char *text)
{
    uint64_t value = NO_U64;
    bool ok = num_u63(slice_of(text), &value);
    CU_ASSERT_EQUAL(ok, value != NO_U64);
    return value;
}

static int64_t i64(const char *text)
{
    int64_t value = NO_I64;
    bool ok = num_i64(slice_of(text), &value);
    CU_ASSERT_EQUAL(ok, value != NO_I64);
    return value;
}

static double real(const char *text)
{
    double value = NO_REAL;
    num_real(slice_of(text), &value);
    return value;
}

static int64_t duration(const char *text)
{
    int64_t value = NO_I64;
    num_duration_ns(slice_of(text), &value);
    return value;
}

static uint64_t size(const char *text)
{
    uint64_t value = NO_U64;
    num_size_bytes(slice_of(text), &value);
    return value;
}

static void whole_numbers_reach_their_limits_and_no_further(void)
{
    CU_ASSERT_EQUAL(u63("0"), 0);
    CU_ASSERT_EQUAL(u63("007"), 7);
    CU_ASSERT_EQUAL(u63("9223372036854775807"), INT64_MAX);
    CU_ASSERT_EQUAL(u63("9223372036854775808"), NO_U64);
    CU_ASSERT_EQUAL(u63("18446744073709551616"), NO_U64);
    CU_ASSERT_EQUAL(u63("99999999999999999999999999999999"), NO_U64);
    CU_ASSERT_EQUAL(i64("9223372036854775807"), INT64_MAX);
    CU_ASSERT_EQUAL(i64("9223372036854775808"), NO_I64);
    CU_ASSERT_EQUAL(i64("-9223372036854775808"), INT64_MIN);
    CU_ASSERT_EQUAL(i64("-9223372036854775809"), NO_I64);
    CU_ASSERT_EQUAL(i64("-1"), -1);
    CU_ASSERT_EQUAL(i64("-0"), 0);
}

static void a_number_is_all_of_its_slice(void)
{
    static const char *const wrong[] = {"",   "-",   "+1",  " 1", "1 ",  "1a", "0x1",
                                        "1.", "1,0", "--1", "1-", "1\n", "٣"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        CU_ASSERT_EQUAL(u63(wrong[i]), NO_U64);
        CU_ASSERT_EQUAL(i64(wrong[i]), NO_I64);
    }
    CU_ASSERT_EQUAL(u63("-1"), NO_U64);
    uint64_t value = NO_U64;
    CU_ASSERT_FALSE(num_u63((struct slice){"1\0002", 3}, &value));
    CU_ASSERT_TRUE(num_u63((struct slice){"1234", 2}, &value));
    CU_ASSERT_EQUAL(value, 12);
}

static void reals_are_rounded_as_the_compiler_does(void)
{
    CU_ASSERT_EQUAL(real("0.0004"), 0.0004);
    CU_ASSERT_EQUAL(real("1e-3"), 1e-3);
    CU_ASSERT_EQUAL(real("-2.50E+2"), -250.0);
    CU_ASSERT_EQUAL(real("17976931348623157e292"), DBL_MAX);
    CU_ASSERT_EQUAL(real("4.9406564584124654e-324"), 4.9406564584124654e-324);
    CU_ASSERT_EQUAL(real("1e-999"), 0);
    CU_ASSERT_EQUAL(real("0.1000000000000000055511151231257827"), 0.1);
    CU_ASSERT_TRUE(signbit(real("-0")));
}

static void what_is_no_plain_real_is_refused(void)
{
    static const char *const wrong[] = {"",     "nan",   "inf",   "-inf", "0x1p3", ".5",   "5.",
                                        "1e",   "1e+",   "1.e3",  "+1",   "1,5",   " 1.5", "1.5 ",
                                        "1..5", "1e5.0", "1e999", "-",    "1.5f",  "1_0",  "1e--1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (real(wrong[i]) != NO_REAL)
            CU_FAIL(wrong[i]);
    char digits[129];
    memset(digits, '1', sizeof(digits));
    double value = NO_REAL;
    CU_ASSERT_TRUE(num_real((struct slice){digits, 127}, &value));
    CU_ASSERT_FALSE(num_real((struct slice){digits, 128}, &value));
}

static void the_locale_does_not_change_a_real(void)
{
    /* Where neither locale is installed, this tests nothing that the tests above do not. */
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        setlocale(LC_ALL, "fr_FR.UTF-8");
    CU_ASSERT_EQUAL(real("1.5"), 1.5);
    CU_ASSERT_EQUAL(real("1,5"), NO_REAL);
    setlocale(LC_ALL, "C");
}

static void durations_need_their_unit(void)
{
    CU_ASSERT_EQUAL(duration("250ms"), INT64_C(250000000));
    CU_ASSERT_EQUAL(duration("30s"), INT64_C(30000000000));
    CU_ASSERT_EQUAL(duration("5m"), INT64_C(300000000000));
    CU_ASSERT_EQUAL(duration("2h"), INT64_C(7200000000000));
    CU_ASSERT_EQUAL(duration("400d"), INT64_C(400) * 86400 * 1000000000);
    CU_ASSERT_EQUAL(duration("0s"), 0);
    CU_ASSERT_EQUAL(duration("106751d"), INT64_C(106751) * 86400 * 1000000000);
    CU_ASSERT_EQUAL(duration("106752d"), NO_I64);
    CU_ASSERT_EQUAL(duration("9223372036854775808ms"), NO_I64);
    static const char *const wrong[] = {"",   "5",   "s",    "-5s", "5 s",
                                        "5S", "5s ", "1.5s", "5sm", "5w"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (duration(wrong[i]) != NO_I64)
            CU_FAIL(wrong[i]);
}

static void sizes_need_their_unit(void)
{
    CU_ASSERT_EQUAL(size("512B"), 512);
    CU_ASSERT_EQUAL(size("16KiB"), 16384);
    CU_ASSERT_EQUAL(size("8MiB"), 8388608);
    CU_ASSERT_EQUAL(size("4GiB"), UINT64_C(4294967296));
    CU_ASSERT_EQUAL(size("8589934591GiB"), UINT64_C(8589934591) << 30);
    CU_ASSERT_EQUAL(size("8589934592GiB"), NO_U64);
    static const char *const wrong[] = {"",   "512", "KiB",    "1KB",  "1kib",
                                        "1K", "-1B", "1.5MiB", "1MiBB"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (size(wrong[i]) != NO_U64)
            CU_FAIL(wrong[i]);
}

static void sizes_that_overflow_are_told(void)
{
    size_t value = 7;
    CU_ASSERT_TRUE(size_mul(SIZE_MAX / 2, 2, &value));
    CU_ASSERT_EQUAL(value, SIZE_MAX - 1);
    CU_ASSERT_FALSE(size_mul(SIZE_MAX / 2 + 1, 2, &value));
    CU_ASSERT_TRUE(size_add(SIZE_MAX - 1, 1, &value));
    CU_ASSERT_EQUAL(value, SIZE_MAX);
    CU_ASSERT_FALSE(size_add(SIZE_MAX, 1, &value));
}

static void groups_of_three_for_people(void)
{
    char text[32];
    CU_ASSERT_STRING_EQUAL(num_grouped(text, 0), "0");
    CU_ASSERT_STRING_EQUAL(num_grouped(text, 999), "999");
    CU_ASSERT_STRING_EQUAL(num_grouped(text, 1000), "1,000");
    CU_ASSERT_STRING_EQUAL(num_grouped(text, 1234567), "1,234,567");
    CU_ASSERT_STRING_EQUAL(num_grouped(text, UINT64_MAX), "18,446,744,073,709,551,615");
}

static const struct test tests[] = {
    TEST(whole_numbers_reach_their_limits_and_no_further),
    TEST(a_number_is_all_of_its_slice),
    TEST(reals_are_rounded_as_the_compiler_does),
    TEST(what_is_no_plain_real_is_refused),
    TEST(the_locale_does_not_change_a_real),
    TEST(durations_need_their_unit),
    TEST(sizes_need_their_unit),
    TEST(sizes_that_overflow_are_told),
    TEST(groups_of_three_for_people),
    TESTS_END,
};

int main(void)
{
    return tap_run("num", tests);
}
