#include "store/days.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/civil.h"
#include "base/zone.h"
#include "store/store.h"
#include "tap.h"

static const struct slice absent = {NULL, 0};
static const char *const names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
static const char *const long_names[] = {"monday", "tuesday",  "wednesday", "thursday",
                                         "friday", "saturday", "sunday"};

static int32_t day(const char *text)
{
    int32_t d;
    if (!civil_parse(slice_of(text), &d))
        abort();
    return d;
}

/* 2026-11-24 is a Tuesday; 400 days are kept. */
static struct days_context context_of(const char *today)
{
    int32_t d = day(today);
    return (struct days_context){.today = d, .oldest_kept = d - 399, .first_stored = d - 30};
}

static struct days parsed;
static struct err error;
static const char *parameter;

static int parse(const char *today, const char *from, const char *to, const char *range)
{
    struct days_context c = context_of(today);
    parameter = NULL;
    error.text[0] = 0;
    return days_parse(from ? slice_of(from) : absent, to ? slice_of(to) : absent,
                      range ? slice_of(range) : absent, &c, &parsed, &parameter, &error);
}

static bool is(const char *from, const char *to)
{
    return parsed.from == day(from) && parsed.to == day(to) && parsed.count_from == day(from) &&
           parsed.count_to == day(to) && !parsed.clamped && !parsed.clipped && !parsed.outside;
}

static bool refused(int r, const char *which, const char *says)
{
    bool fine = r < 0 && parameter && strcmp(parameter, which) == 0 && strstr(error.text, says);
    if (!fine)
        printf("# %d %s: %s\n", r, parameter ? parameter : "-", error.text);
    return fine;
}

#define TUE "2026-11-24"

static void all_pairs_of_weekdays_on_all_weekdays_are_one_to_seven_days(void)
{
    for (int offset = 0; offset < 7; offset++) {
        int32_t today = day("2026-11-23") + offset;
        struct days_context c = {.today = today, .oldest_kept = today - 399};
        for (int a = 0; a < 7; a++)
            for (int b = 0; b < 7; b++) {
                CU_ASSERT_EQUAL(days_parse(slice_of(names[a]), slice_of(long_names[b]), absent, &c,
                                           &parsed, &parameter, &error),
                                0);
                int32_t span = parsed.to - parsed.from + 1;
                CU_ASSERT(span >= 1 && span <= 7);
                CU_ASSERT_EQUAL(span, (b - a + 7) % 7 + 1);
                CU_ASSERT(parsed.to <= today && parsed.to > today - 7);
                CU_ASSERT_EQUAL(civil_weekday(parsed.from), a);
                CU_ASSERT_EQUAL(civil_weekday(parsed.to), b);
            }
    }
}

static void words_are_days(void)
{
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, NULL), 0);
    CU_ASSERT(is(TUE, TUE));
    CU_ASSERT_EQUAL(parse(TUE, "yesterday", NULL, NULL), 0);
    CU_ASSERT(is("2026-11-23", TUE));
    CU_ASSERT_EQUAL(parse(TUE, NULL, "yesterday", NULL), 0);
    CU_ASSERT(is("2026-11-23", "2026-11-23"));
    CU_ASSERT_EQUAL(parse(TUE, "mon", "tue", NULL), 0);
    CU_ASSERT(is("2026-11-23", TUE));
    CU_ASSERT_EQUAL(parse("2026-11-23", "mon", "tue", NULL), 0); /* on a Monday */
    CU_ASSERT(is("2026-11-16", "2026-11-17"));
    CU_ASSERT_EQUAL(parse(TUE, "-7d", "-1w", NULL), 0);
    CU_ASSERT(is("2026-11-17", "2026-11-17"));
    CU_ASSERT_EQUAL(parse(TUE, "-0d", NULL, NULL), 0);
    CU_ASSERT(is(TUE, TUE));
    CU_ASSERT_EQUAL(parse(TUE, "MoNdAy", "ToDaY", NULL), 0);
    CU_ASSERT(is("2026-11-23", TUE));
    CU_ASSERT_EQUAL(parse(TUE, "-2W", "-3D", NULL), 0);
    CU_ASSERT(is("2026-11-10", "2026-11-21"));
}

static void months_and_weeks_are_their_first_or_last_day(void)
{
    CU_ASSERT_EQUAL(parse(TUE, "2026-09", "2026-10", NULL), 0);
    CU_ASSERT(is("2026-09-01", "2026-10-31"));
    CU_ASSERT_EQUAL(parse(TUE, NULL, "2026-02", NULL), 0); /* the whole of what `to` names */
    CU_ASSERT(is("2026-02-01", "2026-02-28"));
    CU_ASSERT_EQUAL(parse(TUE, NULL, "2026-W46", NULL), 0);
    CU_ASSERT(is("2026-11-09", "2026-11-15"));
    CU_ASSERT_EQUAL(parse(TUE, "2026-w47", "2026-W47", NULL), 0);
    CU_ASSERT(is("2026-11-16", "2026-11-22"));
    CU_ASSERT_EQUAL(parse(TUE, "2026-W01", NULL, NULL), 0);
    CU_ASSERT(is("2025-12-29", TUE));
    CU_ASSERT_EQUAL(parse("2024-03-01", NULL, "2024-02", NULL), 0);
    CU_ASSERT(is("2024-02-01", "2024-02-29"));
    CU_ASSERT(refused(parse(TUE, "2025-W53", NULL, NULL), "from", "no ISO week"));
    CU_ASSERT(refused(parse(TUE, "2026-13", NULL, NULL), "from", "no month"));
}

static void instants_are_the_day_that_holds_them(void)
{
    CU_ASSERT_EQUAL(parse(TUE, "2026-11-23T23:59:59Z", "2026-11-24T01:00:00+02:00", NULL), 0);
    CU_ASSERT(is("2026-11-23", "2026-11-23"));
    CU_ASSERT_EQUAL(parse(TUE, "2026-11-20T10:00:00.123456789-05:30", NULL, NULL), 0);
    CU_ASSERT(is("2026-11-20", TUE));
    /* a '+' in a query has become a blank */
    CU_ASSERT_EQUAL(parse(TUE, "2026-11-24T01:00:00 02:00", "today", NULL), 0);
    CU_ASSERT(is("2026-11-23", TUE));
    CU_ASSERT_EQUAL(parse(TUE, "1795392000", NULL, NULL), 0);
    CU_ASSERT_EQUAL(parsed.from, 1795392000 / 86400);
    CU_ASSERT_EQUAL(parse(TUE, "1795392000123", NULL, NULL), 0);
    CU_ASSERT_EQUAL(parsed.from, 1795392000 / 86400);
    CU_ASSERT_EQUAL(parse("1974-01-01", "100000000", NULL, NULL), 0);
    CU_ASSERT_EQUAL(parsed.from, 100000000 / 86400);
    CU_ASSERT(refused(parse(TUE, "2026-11-24T12:00:00", NULL, NULL), "from", "offset"));
    CU_ASSERT(refused(parse(TUE, "12345678901", NULL, NULL), "from", "9 or 10 digits"));
    CU_ASSERT(refused(parse(TUE, NULL, "42", NULL), "to", "9 or 10 digits"));
}

static void ranges_end_today_but_for_yesterday(void)
{
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "today"), 0);
    CU_ASSERT(is(TUE, TUE));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "yesterday"), 0);
    CU_ASSERT(is("2026-11-23", "2026-11-23"));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "7d"), 0);
    CU_ASSERT(is("2026-11-18", TUE));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "28D"), 0);
    CU_ASSERT(is("2026-10-28", TUE));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "30d"), 0);
    CU_ASSERT(is("2026-10-26", TUE));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "90d"), 0);
    CU_ASSERT(is("2026-08-27", TUE));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "Week"), 0);
    CU_ASSERT(is("2026-11-23", TUE));
    CU_ASSERT_EQUAL(parse("2026-11-22", NULL, NULL, "week"), 0);
    CU_ASSERT(is("2026-11-16", "2026-11-22"));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "month"), 0);
    CU_ASSERT(is("2026-11-01", TUE));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "year"), 0);
    CU_ASSERT(is("2026-01-01", TUE));
    CU_ASSERT_EQUAL(parse(TUE, NULL, NULL, "all"), 0);
    CU_ASSERT(is("2026-10-25", TUE));
    struct days_context nothing = {.today = day(TUE), .first_stored = STORE_DAY_NONE};
    CU_ASSERT_EQUAL(
        days_parse(absent, absent, slice_of("all"), &nothing, &parsed, &parameter, &error), 0);
    CU_ASSERT(is(TUE, TUE));
    CU_ASSERT(refused(parse(TUE, "mon", NULL, "7d"), "range", "cannot be combined"));
    CU_ASSERT(refused(parse(TUE, NULL, NULL, "14d"), "range", "28d"));
    CU_ASSERT(refused(parse(TUE, NULL, NULL, "mnoth"), "range", "did you mean \"month\""));
}

static void what_is_reversed_is_refused_before_clamping(void)
{
    CU_ASSERT_EQUAL(parse(TUE, "2026-11-24", "2026-11-23", NULL), -ERANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "after"));
    CU_ASSERT_EQUAL(parse(TUE, "2027-02-01", "2027-01-01", NULL), -ERANGE);
    CU_ASSERT_EQUAL(parse(TUE, "2020-02-01", "2019-01-01", NULL), -ERANGE);
    CU_ASSERT_EQUAL(parse(TUE, "yesterday", "-3d", NULL), -ERANGE);
}

static void the_future_is_clamped_or_outside(void)
{
    CU_ASSERT_EQUAL(parse(TUE, "mon", "2026-12-31", NULL), 0);
    CU_ASSERT_EQUAL(parsed.from, day("2026-11-23"));
    CU_ASSERT_EQUAL(parsed.to, day(TUE));
    CU_ASSERT(parsed.clamped && !parsed.clipped && !parsed.outside);
    CU_ASSERT_EQUAL(parse(TUE, NULL, "2026-11", NULL), 0);
    CU_ASSERT_EQUAL(parsed.from, day("2026-11-01"));
    CU_ASSERT_EQUAL(parsed.to, day(TUE));
    CU_ASSERT(parsed.clamped);
    CU_ASSERT_EQUAL(parse(TUE, "2026-12-01", "2026-12-05", NULL), 0);
    CU_ASSERT(parsed.outside && !parsed.clamped);
    CU_ASSERT_EQUAL(parsed.from, day("2026-12-01"));
    CU_ASSERT_EQUAL(parsed.to, day("2026-12-05"));
    CU_ASSERT(parsed.count_from > parsed.count_to);
    CU_ASSERT_EQUAL(parse(TUE, "2026-12-01", NULL, NULL), 0);
    CU_ASSERT(parsed.outside);
    CU_ASSERT_EQUAL(parsed.from, day("2026-12-01"));
    CU_ASSERT(parsed.to >= parsed.from);
}

static void what_is_before_retention_is_clipped_or_outside(void)
{
    CU_ASSERT_EQUAL(parse(TUE, "2020-01-01", "yesterday", NULL), 0);
    CU_ASSERT_EQUAL(parsed.from, day(TUE) - 399);
    CU_ASSERT_EQUAL(parsed.count_from, day(TUE) - 399);
    CU_ASSERT_EQUAL(parsed.to, day("2026-11-23"));
    CU_ASSERT(parsed.clipped && !parsed.outside);
    CU_ASSERT_EQUAL(parse(TUE, "2020-01-01", "2020-02-01", NULL), 0);
    CU_ASSERT(parsed.outside && !parsed.clipped);
    CU_ASSERT_EQUAL(parsed.from, day("2020-01-01"));
    CU_ASSERT_EQUAL(parsed.to, day("2020-02-01"));
    CU_ASSERT(parsed.count_from > parsed.count_to);
}

static void mistakes_are_named_with_what_was_probably_meant(void)
{
    CU_ASSERT(refused(parse(TUE, "mno", NULL, NULL), "from",
                      "\"mno\" is not a day; did you mean \"mon\"?"));
    CU_ASSERT(refused(parse(TUE, NULL, "tusday", NULL), "to", "did you mean \"tuesday\"?"));
    CU_ASSERT(refused(parse(TUE, "Yesterdy", NULL, NULL), "from", "did you mean \"yesterday\"?"));
    CU_ASSERT(refused(parse(TUE, "7d", NULL, NULL), "from", "did you mean \"-7d\"?"));
    CU_ASSERT(refused(parse(TUE, "20261124", NULL, NULL), "from", "did you mean \"2026-11-24\"?"));
    CU_ASSERT(
        refused(parse(TUE, "2026/11/24", NULL, NULL), "from", "did you mean \"2026-11-24\"?"));
    CU_ASSERT(refused(parse(TUE, "2026-02-30", NULL, NULL), "from", "no date of the calendar"));
    CU_ASSERT(refused(parse(TUE, "mon ", NULL, NULL), "from", "mon"));
    CU_ASSERT(refused(parse(TUE, "", NULL, NULL), "from", "empty"));
    CU_ASSERT(refused(parse(TUE, NULL, "", NULL), "to", "empty"));
    CU_ASSERT(refused(parse(TUE, "-99999999999d", NULL, NULL), "from", "before the year 0"));
    CU_ASSERT(refused(parse(TUE, "-d", NULL, NULL), "from", "not a day"));
    CU_ASSERT(refused(parse(TUE, "--7d", NULL, NULL), "from", "not a day"));
    CU_ASSERT(refused(parse(TUE, "next tuesday", NULL, NULL), "from", "expected today"));
    CU_ASSERT(refused(parse(TUE, "\x1b[31m\xff", NULL, NULL), "from", "\\u001b"));
    struct days_context c = context_of(TUE);
    struct slice nul = {"mon\0", 4};
    CU_ASSERT_EQUAL(days_parse(nul, absent, absent, &c, &parsed, &parameter, &error), -EINVAL);
    char longest[4000];
    memset(longest, 'x', sizeof(longest));
    CU_ASSERT_EQUAL(days_parse((struct slice){longest, sizeof(longest)}, absent, absent, &c,
                               &parsed, &parameter, &error),
                    -EINVAL);
    CU_ASSERT(strlen(error.text) < 400);
}

static void a_side_of_overlap_is_a_day_or_two(void)
{
    struct days_context c = context_of(TUE);
    CU_ASSERT_EQUAL(days_parse_span(slice_of("mon"), &c, &parsed, &error), 0);
    CU_ASSERT(is("2026-11-23", "2026-11-23"));
    CU_ASSERT_EQUAL(days_parse_span(slice_of("2026-10"), &c, &parsed, &error), 0);
    CU_ASSERT(is("2026-10-01", "2026-10-31"));
    CU_ASSERT_EQUAL(days_parse_span(slice_of("fri..sun"), &c, &parsed, &error), 0);
    CU_ASSERT(is("2026-11-20", "2026-11-22"));
    CU_ASSERT_EQUAL(days_parse_span(slice_of("-14d..-8d"), &c, &parsed, &error), 0);
    CU_ASSERT(is("2026-11-10", "2026-11-16"));
    CU_ASSERT_EQUAL(days_parse_span(slice_of("sun.."), &c, &parsed, &error), -EINVAL);
    CU_ASSERT_EQUAL(days_parse_span(slice_of("..sun"), &c, &parsed, &error), -EINVAL);
    CU_ASSERT_EQUAL(days_parse_span(slice_of("today..-3d"), &c, &parsed, &error), -ERANGE);
}

static void a_word_is_its_first_or_its_last_day(void)
{
    struct days_context c = context_of(TUE);
    int32_t d;
    CU_ASSERT_EQUAL(days_word(slice_of("2026-02"), &c, false, &d, &error), 0);
    CU_ASSERT_EQUAL(d, day("2026-02-01"));
    CU_ASSERT_EQUAL(days_word(slice_of("2026-02"), &c, true, &d, &error), 0);
    CU_ASSERT_EQUAL(d, day("2026-02-28"));
    CU_ASSERT_EQUAL(days_word(slice_of("sun"), &c, true, &d, &error), 0);
    CU_ASSERT_EQUAL(d, day("2026-11-22"));
}

static const struct test tests[] = {
    TEST(all_pairs_of_weekdays_on_all_weekdays_are_one_to_seven_days),
    TEST(words_are_days),
    TEST(months_and_weeks_are_their_first_or_last_day),
    TEST(instants_are_the_day_that_holds_them),
    TEST(ranges_end_today_but_for_yesterday),
    TEST(what_is_reversed_is_refused_before_clamping),
    TEST(the_future_is_clamped_or_outside),
    TEST(what_is_before_retention_is_clipped_or_outside),
    TEST(mistakes_are_named_with_what_was_probably_meant),
    TEST(a_side_of_overlap_is_a_day_or_two),
    TEST(a_word_is_its_first_or_its_last_day),
    TESTS_END,
};

int main(void)
{
    return tap_run("days", tests);
}
