#include "base/civil.h"

#include <string.h>
#include <time.h>

#include "tap.h"

static int32_t day_of(const char *text)
{
    int32_t day = INT32_MIN;
    CU_ASSERT_TRUE_FATAL(civil_parse(slice_of(text), &day));
    return day;
}

static void known_days_have_their_numbers(void)
{
    CU_ASSERT_EQUAL(civil_to_day(1970, 1, 1), 0);
    CU_ASSERT_EQUAL(civil_to_day(1969, 12, 31), -1);
    CU_ASSERT_EQUAL(civil_to_day(2000, 3, 1), 11017);
    CU_ASSERT_EQUAL(civil_to_day(2026, 11, 24), 20781);
    CU_ASSERT_EQUAL(civil_to_day(0, 3, 1), -719468);
    CU_ASSERT_EQUAL(civil_to_day(9999, 12, 31), 2932896);
}

static void ten_thousand_years_count_up_without_a_gap(void)
{
    int32_t day = civil_to_day(0, 1, 1);
    int weekday = civil_weekday(day);
    long wrong = 0;
    for (int year = 0; year <= 9999; year++)
        for (int month = 1; month <= 12; month++)
            for (int d = 1; d <= civil_days_in_month(year, month); d++, day++) {
                struct civil c = civil_from_day(day);
                wrong += civil_to_day(year, month, d) != day || c.year != year ||
                         c.month != month || c.day != d || civil_weekday(day) != weekday ||
                         !civil_valid(year, month, d);
                weekday = (weekday + 1) % 7;
            }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(day, 2932897);
}

static void the_ends_of_the_type_do_not_overflow(void)
{
    struct civil first = civil_from_day(INT32_MIN), last = civil_from_day(INT32_MAX);
    char text[16];
    CU_ASSERT_EQUAL(civil_to_day(first.year, first.month, first.day), INT32_MIN);
    CU_ASSERT_EQUAL(civil_to_day(last.year, last.month, last.day), INT32_MAX);
    CU_ASSERT_TRUE(strlen(civil_text(text, INT32_MIN)) < sizeof(text));
    CU_ASSERT_STRING_EQUAL(civil_text(text, INT32_MAX), "5881580-07-11");
}

static void days_that_do_not_exist_are_refused(void)
{
    CU_ASSERT_FALSE(civil_valid(2026, 2, 29));
    CU_ASSERT_TRUE(civil_valid(2024, 2, 29));
    CU_ASSERT_FALSE(civil_valid(1900, 2, 29));
    CU_ASSERT_TRUE(civil_valid(2000, 2, 29));
    CU_ASSERT_FALSE(civil_valid(2026, 4, 31));
    CU_ASSERT_FALSE(civil_valid(2026, 0, 1));
    CU_ASSERT_FALSE(civil_valid(2026, 13, 1));
    CU_ASSERT_FALSE(civil_valid(2026, 1, 0));
    CU_ASSERT_FALSE(civil_valid(-1, 1, 1));
    CU_ASSERT_FALSE(civil_valid(10000, 1, 1));
    CU_ASSERT_EQUAL(civil_days_in_month(2026, 13), 0);
    CU_ASSERT_EQUAL(civil_days_in_month(2026, -1), 0);
}

static void weeks_agree_with_libc_for_two_centuries(void)
{
    long wrong = 0;
    for (int32_t day = civil_to_day(1900, 1, 1); day < civil_to_day(2101, 1, 1); day++) {
        time_t t = (time_t) day * 86400;
        struct tm tm;
        char by_libc[16], ours[32];
        int year, week;
        int32_t monday = INT32_MIN;
        gmtime_r(&t, &tm);
        strftime(by_libc, sizeof(by_libc), "%G-%V-%u", &tm);
        civil_iso_week(day, &year, &week);
        snprintf(ours, sizeof(ours), "%04d-%02d-%d", year, week, civil_weekday(day) + 1);
        wrong += strcmp(by_libc, ours) != 0 || !civil_week_monday(year, week, &monday) ||
                 monday != day - civil_weekday(day);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void a_week_53_exists_only_in_long_years(void)
{
    int32_t monday = 7;
    CU_ASSERT_TRUE(civil_week_monday(2026, 53, &monday));
    CU_ASSERT_EQUAL(monday, day_of("2026-12-28"));
    CU_ASSERT_FALSE(civil_week_monday(2025, 53, &monday));
    CU_ASSERT_FALSE(civil_week_monday(2026, 0, &monday));
    CU_ASSERT_FALSE(civil_week_monday(2026, 54, &monday));
    CU_ASSERT_FALSE(civil_week_monday(10000, 1, &monday));
    CU_ASSERT_EQUAL(monday, day_of("2026-12-28"));
}

static void dates_are_read_back_as_written(void)
{
    char text[16];
    CU_ASSERT_STRING_EQUAL(civil_text(text, day_of("2026-11-24")), "2026-11-24");
    CU_ASSERT_STRING_EQUAL(civil_text(text, day_of("0001-01-01")), "0001-01-01");
    static const char *const wrong[] = {
        "",           "2026-11-2",  "2026-11-244", "2026/11/24", "2026-13-01", "2026-02-29",
        "+026-11-24", "202a-11-24", " 2026-11-2",  "2026-1-024", "2026-11- 4", "2026--1-24",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        int32_t day = 77;
        CU_ASSERT_FALSE(civil_parse(slice_of(wrong[i]), &day));
        CU_ASSERT_EQUAL(day, 77);
    }
}

static void a_date_ends_where_its_slice_ends(void)
{
    int32_t day;
    CU_ASSERT_FALSE(civil_parse(slice_sub(slice_of("2026-11-24"), 0, 9), &day));
    CU_ASSERT_TRUE(civil_parse(slice_sub(slice_of("2026-11-24T"), 0, 10), &day));
}

static int64_t ns_of(const char *text)
{
    int64_t ns = INT64_MIN;
    return civil_parse_rfc3339(slice_of(text), &ns) ? ns : INT64_MIN;
}

static void rfc3339_instants_are_exact(void)
{
    const int64_t noon = INT64_C(1795521600) * 1000000000;
    CU_ASSERT_EQUAL(ns_of("1970-01-01T00:00:00Z"), 0);
    CU_ASSERT_EQUAL(ns_of("2026-11-24T12:00:00Z"), noon);
    CU_ASSERT_EQUAL(ns_of("2026-11-24t12:00:00z"), noon);
    CU_ASSERT_EQUAL(ns_of("2026-11-24T13:00:00+01:00"), noon);
    CU_ASSERT_EQUAL(ns_of("2026-11-24T06:30:00-05:30"), noon);
    CU_ASSERT_EQUAL(ns_of("2026-11-25T00:00:00+12:00"), noon);
    CU_ASSERT_EQUAL(ns_of("2026-11-24T12:00:00.5Z"), noon + 500000000);
    CU_ASSERT_EQUAL(ns_of("2026-11-24T12:00:00.000000001Z"), noon + 1);
    CU_ASSERT_EQUAL(ns_of("2026-11-24T12:00:00.123456789+00:00"), noon + 123456789);
    CU_ASSERT_EQUAL(ns_of("1969-12-31T23:59:59.999999999Z"), -1);
    CU_ASSERT_EQUAL(ns_of("2016-12-31T23:59:60Z"), ns_of("2016-12-31T23:59:59Z"));
}

static void what_is_no_rfc3339_is_refused(void)
{
    static const char *const wrong[] = {
        "",
        "2026-11-24",
        "2026-11-24T12:00:00",
        "2026-11-24T12:00:00+0100",
        "2026-11-24T12:00:00+01",
        "2026-11-24T12:00:00+24:00",
        "2026-11-24T12:00:00+01:60",
        "2026-11-24T12:00:00 Z",
        "2026-11-24T12:00:00ZZ",
        "2026-11-24T12:00:00.Z",
        "2026-11-24T12:00:00.1234567890Z",
        "2026-11-24T12:00:00.5",
        "2026-11-24T24:00:00Z",
        "2026-11-24T12:60:00Z",
        "2026-11-24T12:00:61Z",
        "2026-11-24_12:00:00Z",
        "2026-11-31T12:00:00Z",
        "2026-11-24T-1:00:00Z",
        "9999-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (ns_of(wrong[i]) != INT64_MIN)
            CU_FAIL(wrong[i]);
    CU_ASSERT_EQUAL(ns_of("2262-04-11T23:47:16.854775807Z"), INT64_MAX);
    CU_ASSERT_EQUAL(ns_of("2262-04-11T23:47:16.854775808Z"), INT64_MIN);
}

static const struct test tests[] = {
    TEST(known_days_have_their_numbers),
    TEST(ten_thousand_years_count_up_without_a_gap),
    TEST(the_ends_of_the_type_do_not_overflow),
    TEST(days_that_do_not_exist_are_refused),
    TEST(weeks_agree_with_libc_for_two_centuries),
    TEST(a_week_53_exists_only_in_long_years),
    TEST(dates_are_read_back_as_written),
    TEST(a_date_ends_where_its_slice_ends),
    TEST(rfc3339_instants_are_exact),
    TEST(what_is_no_rfc3339_is_refused),
    TESTS_END,
};

int main(void)
{
    return tap_run("civil", tests);
}
