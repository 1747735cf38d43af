#include "cli/options.h"

#include <string.h>

#include "cli/progress.h"
#include "tap.h"

static const struct option_row rows[] = {
    {"config", 'c', "FILE", ""}, {"json", 'j', NULL, ""}, {"verbose", 'v', NULL, ""},
    {"hash-key", 0, "FILE", ""}, {NULL, 0, NULL, NULL},
};

/* What comes out, as one text: "config=x operand json". */
static const char *parse(const char *a, const char *b, const char *c, const char *d)
{
    static char text[512];
    char *argv[] = {(char *) (uintptr_t) "report", (char *) (uintptr_t) a, (char *) (uintptr_t) b,
                    (char *) (uintptr_t) c,        (char *) (uintptr_t) d, NULL};
    int argc = 1;
    while (argc < 5 && argv[argc])
        argc++;
    struct options o;
    struct err e = {""};
    unsigned row;
    const char *value;
    size_t n = 0;
    options_begin(&o, argc, argv, rows);
    for (;;) {
        const char *blank = n ? " " : "";
        switch (options_next(&o, &row, &value, &e)) {
        case OPTION_END:
            text[n] = '\0';
            return text;
        case OPTION_WRONG:
            snprintf(text + n, sizeof(text) - n, "%s!%s", blank, e.text);
            return text;
        case OPTION_OPERAND:
            n += (size_t) snprintf(text + n, sizeof(text) - n, "%s<%s>", blank, value);
            break;
        case OPTION_ROW:
            n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s%s%s", blank, rows[row].name,
                                   value ? "=" : "", value ? value : "");
        }
    }
}

static void values_come_attached_or_behind(void)
{
    CU_ASSERT_STRING_EQUAL(parse("-c", "x", NULL, NULL), "config=x");
    CU_ASSERT_STRING_EQUAL(parse("-cx", NULL, NULL, NULL), "config=x");
    CU_ASSERT_STRING_EQUAL(parse("--config", "x", NULL, NULL), "config=x");
    CU_ASSERT_STRING_EQUAL(parse("--config=x", NULL, NULL, NULL), "config=x");
    CU_ASSERT_STRING_EQUAL(parse("--config=", NULL, NULL, NULL), "config=");
    CU_ASSERT_STRING_EQUAL(parse("--hash-key=a=b", NULL, NULL, NULL), "hash-key=a=b");
    CU_ASSERT_STRING_EQUAL(parse("-c", "--json", NULL, NULL), "config=--json");
}

static void letters_come_together(void)
{
    CU_ASSERT_STRING_EQUAL(parse("-jv", NULL, NULL, NULL), "json verbose");
    CU_ASSERT_STRING_EQUAL(parse("-jvcx", NULL, NULL, NULL), "json verbose config=x");
    CU_ASSERT_STRING_EQUAL(parse("-jc", "x", "y", NULL), "json config=x <y>");
}

static void operands_stand_anywhere(void)
{
    CU_ASSERT_STRING_EQUAL(parse("a", "--json", "-", "b"), "<a> json <-> <b>");
    CU_ASSERT_STRING_EQUAL(parse("--", "--json", "-v", NULL), "<--json> <-v>");
    CU_ASSERT_STRING_EQUAL(parse("", NULL, NULL, NULL), "<>");
    CU_ASSERT_STRING_EQUAL(parse("--", "--", NULL, NULL), "<-->");
}

static void a_wrong_option_names_the_nearest(void)
{
    CU_ASSERT_STRING_EQUAL(parse("--jsn", NULL, NULL, NULL),
                           "!unknown option '--jsn'; did you mean --json?");
    CU_ASSERT_STRING_EQUAL(parse("--hashkey=x", NULL, NULL, NULL),
                           "!unknown option '--hashkey'; did you mean --hash-key?");
    CU_ASSERT_STRING_EQUAL(parse("--frobnicate", NULL, NULL, NULL),
                           "!unknown option '--frobnicate'");
    CU_ASSERT_STRING_EQUAL(parse("-x", NULL, NULL, NULL), "!unknown option '-x'");
    CU_ASSERT_STRING_EQUAL(parse("-jx", NULL, NULL, NULL), "json !unknown option '-x'");
    CU_ASSERT_STRING_EQUAL(parse("--conf", "x", NULL, NULL), "!unknown option '--conf'; did you "
                                                             "mean --config?");
}

static void a_missing_or_needless_value_is_told(void)
{
    CU_ASSERT_STRING_EQUAL(parse("--config", NULL, NULL, NULL),
                           "!--config needs a value: --config FILE");
    CU_ASSERT_STRING_EQUAL(parse("-c", NULL, NULL, NULL), "!--config needs a value: --config FILE");
    CU_ASSERT_STRING_EQUAL(parse("--json=1", NULL, NULL, NULL), "!--json takes no value");
}

static void numbers_are_whole_and_within_bounds(void)
{
    unsigned long n = 77;
    CU_ASSERT_TRUE(options_number("1", 1, 64, &n));
    CU_ASSERT_EQUAL(n, 1);
    static const char *const wrong[] = {"",   "0",  "65", "+1",  " 1",
                                        "1 ", "1x", "-1", "0x1", "99999999999999999999"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        CU_ASSERT_FALSE(options_number(wrong[i], 1, 64, &n));
    CU_ASSERT_EQUAL(n, 1);
}

static void the_bar_tells_share_rate_and_time_left(void)
{
    char text[160];
    CU_ASSERT_STRING_EQUAL(progress_text(text, sizeof(text), 25, 100, 3000000, 2000000000),
                           "[######------------------]  25 %   1,500,000 lines/s   6 s left");
    CU_ASSERT_STRING_EQUAL(progress_text(text, sizeof(text), 1, 100, 10, INT64_C(10000000000)),
                           "[------------------------]   1 %   1 lines/s   16 min 30 s left");
    CU_ASSERT_STRING_EQUAL(progress_text(text, sizeof(text), 0, 0, 12345, 1000000000),
                           "12,345 lines   12,345 lines/s");
    CU_ASSERT_TRUE(strlen(progress_text(text, sizeof(text), 1, UINT64_MAX, UINT64_MAX, 1)) < 160);
    CU_ASSERT_TRUE(strlen(progress_text(text, sizeof(text), 9, 8, 1, 1)) < 80);
}

static const struct test tests[] = {
    TEST(values_come_attached_or_behind),
    TEST(letters_come_together),
    TEST(operands_stand_anywhere),
    TEST(a_wrong_option_names_the_nearest),
    TEST(a_missing_or_needless_value_is_told),
    TEST(numbers_are_whole_and_within_bounds),
    TEST(the_bar_tells_share_rate_and_time_left),
    TESTS_END,
};

int main(void)
{
    return tap_run("options", tests);
}
