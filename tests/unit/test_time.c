#include "parse/time.h"

#include <string.h>

#include "parse/time_int.h"
#include "tap.h"

/* Offsets and instants here were computed with date(1). */
static const struct log_time none;

static struct log_time clf(const char *text)
{
    struct log_time t = none;
    return time_clf(slice_of(text), &t) ? t : (struct log_time){-1, -1, false};
}

static void clf_dates_become_instants(void)
{
    CU_ASSERT_EQUAL(clf("24/Nov/2026:12:00:00 +0000").time_s, 1795521600);
    CU_ASSERT_EQUAL(clf("24/Nov/2026:12:00:00 +0530").time_s, 1795521600 - 19800);
    CU_ASSERT_EQUAL(clf("24/Nov/2026:12:00:00 -08:00").time_s, 1795521600 + 28800);
    CU_ASSERT_EQUAL(clf("24/Nov/2026:12:00:00 Z").time_s, 1795521600);
    CU_ASSERT_EQUAL(clf("24/Nov/2026:12:00:00.123456789 +0000").time_s, 1795521600);
    CU_ASSERT_EQUAL(clf("24/nOV/2026:12:00:00 +0000").time_s, 1795521600);
    CU_ASSERT_EQUAL(clf("9/Oct/2023:00:00:01 +0000").time_s, 1696809601);
    CU_ASSERT_EQUAL(clf("31/Dec/1969:23:59:59 +0000").time_s, -1);
    CU_ASSERT_TRUE(clf("24/Nov/2026:12:00:00 Z").has_offset);
    CU_ASSERT_FALSE(clf("24/Nov/2026:12:00:00").has_offset);
}

static void the_written_day_stands_whatever_the_offset(void)
{
    CU_ASSERT_EQUAL(clf("10/Oct/2023:23:59:59 +0000").local_day, 19640);
    CU_ASSERT_EQUAL(clf("10/Oct/2023:23:59:59 +1800").local_day, 19640);
    CU_ASSERT_EQUAL(clf("10/Oct/2023:23:59:59 -1800").local_day, 19640);
}

static void second_60_is_59(void)
{
    CU_ASSERT_EQUAL(clf("30/Jun/2015:23:59:60 +0000").time_s,
                    clf("30/Jun/2015:23:59:59 +0000").time_s);
}

static void what_is_no_date_is_refused(void)
{
    static const char *const bad[] = {
        "29/Feb/2023:12:00:00 +0000",
        "29/Feb/2100:12:00:00 +0000",
        "31/Nov/2023:12:00:00 +0000",
        "00/Oct/2023:12:00:00 +0000",
        "32/Oct/2023:12:00:00 +0000",
        "10/Oct/2023:13:60:00 +0000",
        "10/Oct/2023:24:00:00 +0000",
        "10/Oct/2023:13:00:61 +0000",
        "10/Oct/23:13:55:36 +0000",
        "10/Oct/0000:13:55:36 +0000",
        "10/Okt/2023:13:55:36 +0000",
        "10/Oct/2023 13:55:36 +0000",
        "10/Oct/2023:1:55:36 +0000",
        "10/Oct/2023:13:55:36 +9900",
        "10/Oct/2023:13:55:36 +0075",
        "10/Oct/2023:13:55:36 +1801",
        "10/Oct/2023:13:55:36 +000",
        "10/Oct/2023:13:55:36 +0000 ",
        "10/Oct/2023:13:55:36. +0000",
        "10/Oct/2023:13:55",
        "-",
        "",
    };
    struct log_time t;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_FALSE(time_clf(slice_of(bad[i]), &t));
        CU_ASSERT_FALSE(time_any(slice_of(bad[i]), &t));
    }
}

static void iso_forms_are_read(void)
{
    struct log_time t;
    CU_ASSERT_TRUE(time_iso8601(slice_of("2026-11-24T12:00:00.123+00:00"), &t));
    CU_ASSERT_EQUAL(t.time_s, 1795521600);
    CU_ASSERT_TRUE(time_iso8601(slice_of("2026-11-24 12:00:00,5 -0100"), &t));
    CU_ASSERT_EQUAL(t.time_s, 1795521600 + 3600);
    CU_ASSERT_TRUE(time_iso8601(slice_of("2026-11-24T12:00:00"), &t));
    CU_ASSERT_FALSE(t.has_offset);
    CU_ASSERT_FALSE(time_iso8601(slice_of("2026-13-24T12:00:00Z"), &t));
    CU_ASSERT_FALSE(time_iso8601(slice_of("2026-11-24T25:00:00Z"), &t));
    CU_ASSERT_FALSE(time_iso8601(slice_of("2026-11-24"), &t));
    CU_ASSERT_FALSE(time_iso8601(slice_of("2026-11-24T12:00:00Zx"), &t));
}

static void bare_numbers_show_their_unit_by_size(void)
{
    static const char *const same[] = {"1696946136", "1696946136.999", "1696946136123",
                                       "1696946136123456", "1696946136123456789"};
    struct log_time t;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        CU_ASSERT_TRUE(time_epoch(slice_of(same[i]), &t));
        CU_ASSERT_EQUAL(t.time_s, 1696946136);
        CU_ASSERT_EQUAL(t.local_day, 19640);
    }
    CU_ASSERT_FALSE(time_epoch(slice_of("12345678901234567890"), &t));
    CU_ASSERT_FALSE(time_epoch(slice_of("-1"), &t));
    CU_ASSERT_FALSE(time_epoch(slice_of("1."), &t));
    CU_ASSERT_FALSE(time_epoch(slice_of("1x"), &t));
    CU_ASSERT_FALSE(time_epoch(slice_of(""), &t));
}

/* The cached reader against the plain one, on dates and on each of their single-byte corruptions.
 */
static void the_cache_changes_no_answer(void)
{
    static const char *const texts[] = {
        "24/Nov/2026:12:00:00 +0000", "24/Nov/2026:23:59:60 +0000", "24/Nov/2026:12:00:01 -0930",
        "25/Nov/2026:00:00:00 +0000", "01/Jan/1970:00:00:00 +0000", "9/Oct/2023:00:00:01 +00:00",
    };
    static const char bytes[] = "0159:/+- ZNn\0";
    struct time_cache cache;
    time_cache_init(&cache);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t at = 0; at < TIME_CLF_BYTES; at++) {
            for (size_t b = 0; b < sizeof bytes; b++) {
                char text[TIME_CLF_BYTES];
                struct log_time plain = none, cached = none;
                memcpy(text, texts[i], sizeof text);
                time_clf_cached(&cache, text, &cached); /* fills the cache with the sound date */
                text[at] = bytes[b];
                bool ok = time_clf((struct slice){text, sizeof text}, &plain);
                if (!ok)
                    plain = none;
                cached = none;
                CU_ASSERT_EQUAL_FATAL(time_clf_cached(&cache, text, &cached), ok);
                if (ok)
                    CU_ASSERT_TRUE_FATAL(plain.time_s == cached.time_s &&
                                         plain.local_day == cached.local_day &&
                                         plain.has_offset == cached.has_offset);
            }
        }
    }
}

static void a_fresh_cache_takes_no_nul_bytes_for_a_date(void)
{
    char text[TIME_CLF_BYTES] = {0};
    struct time_cache cache;
    struct log_time t;
    memcpy(text + 12, "12:00:00", 8);
    time_cache_init(&cache);
    CU_ASSERT_FALSE(time_clf_cached(&cache, text, &t));
}

static void strftime_pieces_make_one_date(void)
{
    struct time_parts parts = {0};
    struct log_time t;
    const char *text = "10 oct 2023 23:55:36 -0700", *p = text, *end = text + strlen(text);
    CU_ASSERT_TRUE(time_pattern_read(slice_of("%d %b %Y %T %z"), &p, end, &parts));
    CU_ASSERT_PTR_EQUAL(p, end);
    CU_ASSERT_TRUE(time_parts_value(&parts, &t));
    CU_ASSERT_EQUAL(t.time_s, 1697007336);
    CU_ASSERT_EQUAL(t.local_day, 19640);
    parts.month = 2;
    parts.day = 30;
    CU_ASSERT_FALSE(time_parts_value(&parts, &t));
}

static void patterns_are_checked_before_they_are_used(void)
{
    unsigned have;
    size_t bad;
    CU_ASSERT_TRUE(time_pattern_check(slice_of("%Y-%m-%dT%H:%M:%S%z"), &have, &bad));
    CU_ASSERT_EQUAL(have, TIME_HAVE_ALL);
    CU_ASSERT_TRUE(time_pattern_check(slice_of("%H:%M"), &have, &bad));
    CU_ASSERT_EQUAL(have, 0);
    CU_ASSERT_FALSE(time_pattern_check(slice_of("%Y %Q"), &have, &bad));
    CU_ASSERT_EQUAL(bad, 3);
    CU_ASSERT_FALSE(time_pattern_check(slice_of("%Y%"), &have, &bad));
}

static const struct test tests[] = {
    TEST(clf_dates_become_instants),
    TEST(the_written_day_stands_whatever_the_offset),
    TEST(second_60_is_59),
    TEST(what_is_no_date_is_refused),
    TEST(iso_forms_are_read),
    TEST(bare_numbers_show_their_unit_by_size),
    TEST(the_cache_changes_no_answer),
    TEST(a_fresh_cache_takes_no_nul_bytes_for_a_date),
    TEST(strftime_pieces_make_one_date),
    TEST(patterns_are_checked_before_they_are_used),
    TESTS_END,
};

int main(void)
{
    return tap_run("time", tests);
}
