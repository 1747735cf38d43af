/* Needs the system's tz database (Debian: tzdata). The days are past ones: rules of the future
 * change. */
#include "base/zone.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/civil.h"
#include "tap.h"

static void use(const char *name)
{
    struct err e = {""};
    if (zone_set(name, &e) < 0) {
        CU_FAIL(name);
        printf("# %s\n", e.text);
    }
}

static int32_t day_of(const char *text)
{
    int32_t day = 0;
    CU_ASSERT_TRUE(civil_parse(slice_of(text), &day));
    return day;
}

static int64_t at(const char *text)
{
    int64_t ns = 0;
    CU_ASSERT_TRUE(civil_parse_rfc3339(slice_of(text), &ns));
    return ns / 1000000000;
}

/* The day of the instant, its two ends, and one second to either side of them. */
static void check_day(const char *date, const char *first, const char *last)
{
    int64_t begin = at(first), end = at(last), f, l;
    int32_t day = day_of(date);
    const int64_t inside[] = {begin, begin + 1, begin + (end - begin) / 2, end - 1, end};
    for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++) {
        CU_ASSERT_EQUAL(zone_day(inside[i], &f, &l), day);
        CU_ASSERT_EQUAL(f, begin);
        CU_ASSERT_EQUAL(l, end);
    }
    CU_ASSERT_EQUAL(zone_day_start(day), begin);
    CU_ASSERT_NOT_EQUAL(zone_day(begin - 1, &f, &l), day);
    CU_ASSERT_EQUAL(l, begin - 1);
    CU_ASSERT_NOT_EQUAL(zone_day(end + 1, &f, &l), day);
    CU_ASSERT_EQUAL(f, end + 1);
}

static void the_zone_is_utc_before_any_is_set(void)
{
    int64_t first, last;
    char text[32];
    CU_ASSERT_STRING_EQUAL(zone_name(), "UTC");
    CU_ASSERT_EQUAL(zone_day(-1, &first, &last), -1);
    CU_ASSERT_EQUAL(first, -86400);
    CU_ASSERT_EQUAL(last, -1);
    CU_ASSERT_STRING_EQUAL(zone_rfc3339(text, 0), "1970-01-01T00:00:00Z");
}

static void utc_days_have_24_hours(void)
{
    use("UTC");
    check_day("2026-11-24", "2026-11-24T00:00:00Z", "2026-11-24T23:59:59Z");
    check_day("1969-12-31", "1969-12-31T00:00:00Z", "1969-12-31T23:59:59Z");
    CU_ASSERT_EQUAL(zone_offset_s(at("2026-07-01T00:00:00Z")), 0);
}

static void berlin_has_days_of_23_and_25_hours(void)
{
    use("Europe/Berlin");
    CU_ASSERT_STRING_EQUAL(zone_name(), "Europe/Berlin");
    check_day("2018-03-25", "2018-03-25T00:00:00+01:00", "2018-03-25T23:59:59+02:00");
    check_day("2018-10-28", "2018-10-28T00:00:00+02:00", "2018-10-28T23:59:59+01:00");
    check_day("2026-11-24", "2026-11-24T00:00:00+01:00", "2026-11-24T23:59:59+01:00");
    CU_ASSERT_EQUAL(at("2018-03-25T23:59:59+02:00") + 1 - at("2018-03-25T00:00:00+01:00"),
                    23 * 3600);
}

static void days_without_a_midnight_begin_at_one(void)
{
    use("America/Sao_Paulo");
    check_day("2018-11-04", "2018-11-04T01:00:00-02:00", "2018-11-04T23:59:59-02:00");
    check_day("2018-11-03", "2018-11-03T00:00:00-03:00", "2018-11-03T23:59:59-03:00");
    use("Asia/Beirut");
    check_day("2018-03-25", "2018-03-25T01:00:00+03:00", "2018-03-25T23:59:59+03:00");
    use("America/Havana");
    check_day("2018-03-11", "2018-03-11T01:00:00-04:00", "2018-03-11T23:59:59-04:00");
}

static void days_with_two_midnights_begin_at_the_first(void)
{
    use("America/Havana"); /* 01:00 goes back to 00:00 */
    check_day("2018-11-04", "2018-11-04T00:00:00-04:00", "2018-11-04T23:59:59-05:00");
    use("America/Sao_Paulo"); /* 24:00 goes back to 23:00 */
    check_day("2018-02-17", "2018-02-17T00:00:00-02:00", "2018-02-17T23:59:59-03:00");
    use("Asia/Beirut");
    check_day("2018-10-27", "2018-10-27T00:00:00+03:00", "2018-10-27T23:59:59+02:00");
}

static void half_hours_and_odd_offsets(void)
{
    use("Australia/Lord_Howe"); /* moves by half an hour */
    check_day("2018-04-01", "2018-04-01T00:00:00+11:00", "2018-04-01T23:59:59+10:30");
    use("Asia/Kathmandu");
    check_day("2026-11-24", "2026-11-24T00:00:00+05:45", "2026-11-24T23:59:59+05:45");
    use("Pacific/Kiritimati");
    check_day("2026-11-24", "2026-11-24T00:00:00+14:00", "2026-11-24T23:59:59+14:00");
}

static void a_day_that_was_left_out_is_empty(void)
{
    int64_t first, last;
    use("Pacific/Apia"); /* went from the 29th to the 31st */
    CU_ASSERT_EQUAL(zone_day_start(day_of("2011-12-30")), zone_day_start(day_of("2011-12-31")));
    CU_ASSERT_EQUAL(zone_day(at("2011-12-29T23:59:59-10:00"), &first, &last), day_of("2011-12-29"));
    CU_ASSERT_EQUAL(zone_day(at("2011-12-29T23:59:59-10:00") + 1, &first, &last),
                    day_of("2011-12-31"));
    CU_ASSERT_EQUAL(first, zone_day_start(day_of("2011-12-31")));
}

/* 00:01 went back to 23:01 of the day before: neither day is one piece, and a cached piece must not
 * claim the other's instants. */
static void a_day_in_two_pieces_is_cached_by_the_piece(void)
{
    use("America/St_Johns");
    const int64_t from = at("2010-11-06T12:00:00-02:30"), to = at("2010-11-07T12:00:00-03:30");
    int64_t first = 0, last = from - 1;
    int pieces = 0;
    for (int64_t t = from; t <= to; t += 60) {
        int64_t local = t + zone_offset_s(t);
        int64_t f, l;
        int32_t day = zone_day(t, &f, &l);
        CU_ASSERT_EQUAL(day, (int32_t) (local / 86400));
        CU_ASSERT_TRUE(f <= t && t <= l);
        if (t > last) {
            pieces++;
            first = f;
            last = l;
        }
        CU_ASSERT_TRUE(f == first && l == last);
    }
    CU_ASSERT_EQUAL(pieces, 4);
    CU_ASSERT_EQUAL(zone_day_start(day_of("2010-11-07")), at("2010-11-07T00:00:00-02:30"));
}

static void a_time_in_a_gap_moves_forward_and_a_double_one_is_the_first(void)
{
    use("Europe/Berlin");
    int32_t spring = day_of("2018-03-25"), autumn = day_of("2018-10-28");
    CU_ASSERT_EQUAL(zone_instant(spring, 9000), at("2018-03-25T03:30:00+02:00"));
    CU_ASSERT_EQUAL(zone_instant(spring, 7200), at("2018-03-25T03:00:00+02:00"));
    CU_ASSERT_EQUAL(zone_instant(spring, 7199), at("2018-03-25T01:59:59+01:00"));
    CU_ASSERT_EQUAL(zone_instant(spring, 10800), at("2018-03-25T03:00:00+02:00"));
    CU_ASSERT_EQUAL(zone_instant(autumn, 9000), at("2018-10-28T02:30:00+02:00"));
    CU_ASSERT_EQUAL(zone_instant(autumn, 10800), at("2018-10-28T03:00:00+01:00"));
    CU_ASSERT_EQUAL(zone_instant(spring, 86400), zone_day_start(spring + 1));
}

static void rfc3339_carries_the_offset(void)
{
    char text[32];
    use("Europe/Berlin");
    CU_ASSERT_STRING_EQUAL(zone_rfc3339(text, at("2026-11-24T00:00:00+01:00")),
                           "2026-11-24T00:00:00+01:00");
    CU_ASSERT_STRING_EQUAL(zone_rfc3339(text, at("2026-07-01T12:34:56Z")),
                           "2026-07-01T14:34:56+02:00");
    use("America/St_Johns");
    CU_ASSERT_STRING_EQUAL(zone_rfc3339(text, at("2026-11-24T00:00:00Z")),
                           "2026-11-23T20:30:00-03:30");
    use("Europe/London"); /* an offset of nothing is not UTC */
    CU_ASSERT_STRING_EQUAL(zone_rfc3339(text, at("2026-11-24T00:00:00Z")),
                           "2026-11-24T00:00:00+00:00");
    use("UTC");
    CU_ASSERT_STRING_EQUAL(zone_rfc3339(text, at("2026-11-24T00:00:00Z")), "2026-11-24T00:00:00Z");
}

static void local_mean_time_is_written_as_the_same_instant(void)
{
    char text[32];
    use("Europe/Amsterdam");
    int64_t t = at("1880-01-01T00:00:00Z");
    CU_ASSERT_EQUAL(at(zone_rfc3339(text, t)), t);
}

static void absurd_instants_do_no_harm(void)
{
    static const int64_t times[] = {INT64_MIN, INT64_MAX, INT64_C(259200000001),
                                    INT64_C(-259200000001), 0};
    static const char *const zones[] = {"UTC", "Europe/Berlin"};
    char text[32];
    for (size_t z = 0; z < 2; z++) {
        use(zones[z]);
        for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
            int64_t first, last;
            zone_day(times[i], &first, &last);
            CU_ASSERT_TRUE(first < last);
            zone_offset_s(times[i]);
            CU_ASSERT_TRUE(strlen(zone_rfc3339(text, times[i])) < sizeof(text));
        }
        CU_ASSERT_TRUE(zone_day_start(INT32_MIN) < 0);
        CU_ASSERT_TRUE(zone_day_start(INT32_MAX) > 0);
        zone_instant(INT32_MAX, INT32_MAX);
        zone_instant(INT32_MIN, INT32_MIN);
    }
}

static void names_outside_the_database_are_refused(void)
{
    use("Europe/Berlin");
    static const char *const wrong[] = {"",
                                        "Europe/Berlim",
                                        "europe/berlin ",
                                        "Europe",
                                        "Europe/",
                                        "/usr/share/zoneinfo/Europe/Berlin",
                                        "../zoneinfo/Europe/Berlin",
                                        "Europe/../UTC",
                                        ":Europe/Berlin",
                                        "zone.tab",
                                        "tzdata.zi",
                                        "CET-1CEST,M3.5.0,M10.5.0/3",
                                        "UTC\n",
                                        "log"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct err e = {""};
        CU_ASSERT_EQUAL(zone_set(wrong[i], &e), -EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "no such zone"));
    }
    char longer[400];
    memset(longer, 'A', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    CU_ASSERT_EQUAL(zone_set(longer, NULL), -EINVAL);
    CU_ASSERT_STRING_EQUAL(zone_name(), "Europe/Berlin");
    CU_ASSERT_EQUAL(zone_offset_s(at("2026-11-24T00:00:00Z")), 3600);
}

static void local_follows_the_environment(void)
{
    static const struct {
        const char *tz, *name;
    } rows[] = {{"Asia/Tokyo", "Asia/Tokyo"},
                {":Asia/Tokyo", "Asia/Tokyo"},
                {"/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"},
                {"Etc/UTC", "UTC"},
                {"", "UTC"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        setenv("TZ", rows[i].tz, 1);
        use("local");
        CU_ASSERT_STRING_EQUAL(zone_name(), rows[i].name);
    }
    static const char *const wrong[] = {"Mars/Olympus", "UT0", "CET CEST", "CET-1 x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct err e = {""};
        setenv("TZ", wrong[i], 1);
        CU_ASSERT_EQUAL(zone_set("local", &e), -EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.text, wrong[i]));
    }
}

/* What a container's environment often holds: a rule of POSIX and no name. */
static void local_takes_a_rule_as_libc_does(void)
{
    static const struct {
        const char *tz;
        int32_t winter_s, summer_s;
    } rows[] = {{"UTC0", 0, 0},
                {"<+0330>-3:30", 12600, 12600},
                {"CET-1CEST,M3.5.0,M10.5.0/3", 3600, 7200}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        setenv("TZ", rows[i].tz, 1);
        use("local");
        CU_ASSERT_STRING_EQUAL(zone_name(), rows[i].tz);
        CU_ASSERT_EQUAL(zone_offset_s(at("2026-01-15T12:00:00Z")), rows[i].winter_s);
        CU_ASSERT_EQUAL(zone_offset_s(at("2026-07-15T12:00:00Z")), rows[i].summer_s);
    }
}

static void local_is_the_zone_of_the_machine(void)
{
    char target[256];
    if (readlink("/etc/localtime", target, sizeof(target)) < 0)
        return; /* a copy without a name */
    struct tm by_libc[24];
    const int64_t start = at("2026-01-15T12:00:00Z");
    unsetenv("TZ");
    tzset();
    for (int i = 0; i < 24; i++) {
        time_t t = start + i * INT64_C(1296000);
        localtime_r(&t, &by_libc[i]);
    }
    use("local");
    for (int i = 0; i < 24; i++)
        CU_ASSERT_EQUAL(zone_offset_s(start + i * INT64_C(1296000)), by_libc[i].tm_gmtoff);
    CU_ASSERT_STRING_NOT_EQUAL(zone_name(), "local");
    CU_ASSERT_STRING_EQUAL(getenv("TZ"), zone_name());
}

static const struct test tests[] = {
    TEST(the_zone_is_utc_before_any_is_set),
    TEST(utc_days_have_24_hours),
    TEST(berlin_has_days_of_23_and_25_hours),
    TEST(days_without_a_midnight_begin_at_one),
    TEST(days_with_two_midnights_begin_at_the_first),
    TEST(half_hours_and_odd_offsets),
    TEST(a_day_that_was_left_out_is_empty),
    TEST(a_day_in_two_pieces_is_cached_by_the_piece),
    TEST(a_time_in_a_gap_moves_forward_and_a_double_one_is_the_first),
    TEST(rfc3339_carries_the_offset),
    TEST(local_mean_time_is_written_as_the_same_instant),
    TEST(absurd_instants_do_no_harm),
    TEST(names_outside_the_database_are_refused),
    TEST(local_follows_the_environment),
    TEST(local_takes_a_rule_as_libc_does),
    TEST(local_is_the_zone_of_the_machine),
    TESTS_END,
};

int main(void)
{
    return tap_run("zone", tests);
}
