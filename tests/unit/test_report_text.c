/* What a person reads in report's table: figures never look more exact than they are. */
#include <string.h>

#include "base/civil.h"
#include "cli/report_table_int.h"
#include "tap.h"

static const char *estimate(double value, double half, enum sk_estimator estimator)
{
    static char text[CELL_BYTES];
    struct sk_estimate e = {value, value - half, value + half, half / value, estimator};
    estimate_text(text, &e);
    return text;
}

static void an_estimate_is_rounded_to_its_margin(void)
{
    CU_ASSERT_STRING_EQUAL(estimate(7599, 0, SK_EXACT), "7,599 exact");
    CU_ASSERT_STRING_EQUAL(estimate(25028, 287, SK_MAXIMUM_LIKELIHOOD), "≈ 25,030 ± 290");
    CU_ASSERT_STRING_EQUAL(estimate(12326.4, 53, SK_MARTINGALE), "≈ 12,326 ± 53");
    CU_ASSERT_STRING_EQUAL(estimate(1234567, 12345, SK_MARTINGALE), "≈ 1,235,000 ± 13,000");
    CU_ASSERT_STRING_EQUAL(estimate(0, 0, SK_EXACT), "0 exact");
}

static void there_are_no_more_keys_than_lines(void)
{
    char text[CELL_BYTES];
    struct sk_estimate e = {1010, 980, 1040, 0.01, SK_MARTINGALE};
    cap_estimate(&e, 1000);
    CU_ASSERT_EQUAL(e.value, 1000);
    CU_ASSERT_EQUAL(e.low, 980);
    CU_ASSERT_EQUAL(e.high, 1000);
    estimate_text(text, &e);
    CU_ASSERT_STRING_EQUAL(text, "≈ 1,000 ± 10");
    cap_estimate(&e, 2000);
    CU_ASSERT_EQUAL(e.value, 1000);
}

static void new_keys_say_whether_they_are_certain(void)
{
    char text[CELL_BYTES];
    struct new_keys n = {.known = false};
    new_text(text, &n);
    CU_ASSERT_STRING_EQUAL(text, "");
    n = (struct new_keys){true, 7599, 7599, 7599, 0};
    new_text(text, &n);
    CU_ASSERT_STRING_EQUAL(text, "7,599");
    n = (struct new_keys){true, 9374, 9324, 9424, 0};
    new_text(text, &n);
    CU_ASSERT_STRING_EQUAL(text, "≈ 9,370");
}

static void bytes_have_decimal_units(void)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0 B"},           {999, "999 B"},        {1000, "1.0 kB"},
                {9949, "9.9 kB"},     {9951, "10 kB"},       {999499, "999 kB"},
                {999500, "1.0 MB"},   {212740677, "213 MB"}, {1500000000, "1.5 GB"},
                {UINT64_MAX, "18 EB"}};
    char text[CELL_BYTES];
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        data_text(text, rows[i].bytes);
        CU_ASSERT_STRING_EQUAL(text, rows[i].text);
    }
}

static void days_and_spans_are_read_at_a_glance(void)
{
    char text[CELL_BYTES];
    day_text(text, civil_to_day(2026, 11, 22), true, true);
    CU_ASSERT_STRING_EQUAL(text, "Sun 22 Nov 2026");
    day_text(text, civil_to_day(2026, 11, 22), false, false);
    CU_ASSERT_STRING_EQUAL(text, "Sun 22");
    span_text(text, civil_to_day(2026, 11, 5), civil_to_day(2026, 11, 11));
    CU_ASSERT_STRING_EQUAL(text, "5 - 11 Nov");
    span_text(text, civil_to_day(2026, 9, 28), civil_to_day(2026, 10, 4));
    CU_ASSERT_STRING_EQUAL(text, "28 Sep - 4 Oct");
}

static void cells_are_filled_by_columns_and_not_by_bytes(void)
{
    struct buf b;
    buf_init(&b);
    put_cell(&b, "≈ 7", 6, true);
    put_cell(&b, "漢", 4, false);
    put_cell(&b, "longer", 3, false);
    CU_ASSERT_STRING_EQUAL(buf_cstr(&b), "   ≈ 7漢  longer");
    buf_done(&b);
    char name[CELL_BYTES];
    upper_text(name, "not_found");
    CU_ASSERT_STRING_EQUAL(name, "NOT FOUND");
}

static const struct test tests[] = {
    TEST(an_estimate_is_rounded_to_its_margin),
    TEST(there_are_no_more_keys_than_lines),
    TEST(new_keys_say_whether_they_are_certain),
    TEST(bytes_have_decimal_units),
    TEST(days_and_spans_are_read_at_a_glance),
    TEST(cells_are_filled_by_columns_and_not_by_bytes),
    TESTS_END,
};

int main(void)
{
    return tap_run("report_text", tests);
}
