#include <stdio.h>
#include <string.h>

#include "parse/parser.h"
#include "tap.h"

#define COMMON "203.0.113.7 - - [10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 200 612"
#define COMBINED COMMON " \"-\" \"curl/8.5.0\""
#define VHOST "www.example.com:443 "

static const char *found(const char *head, unsigned *ret_fit, unsigned *ret_seen)
{
    const struct preset *preset;
    CU_ASSERT_EQUAL_FATAL(parser_detect(slice_of(head), &preset, ret_fit, ret_seen), 0);
    return preset ? preset->name : "none";
}

static void each_preset_is_told_from_the_others(void)
{
    unsigned fit, seen;
    CU_ASSERT_STRING_EQUAL(found(COMBINED "\n" COMBINED "\n", &fit, &seen), "combined");
    CU_ASSERT_EQUAL(fit, 2);
    CU_ASSERT_EQUAL(seen, 2);
    CU_ASSERT_STRING_EQUAL(found(COMMON "\n", &fit, &seen), "common");
    CU_ASSERT_STRING_EQUAL(found(VHOST COMBINED "\n", &fit, &seen), "vhost_combined");
    CU_ASSERT_STRING_EQUAL(found(VHOST COMMON "\n", &fit, &seen), "vhost_common");
    CU_ASSERT_STRING_EQUAL(found(COMBINED " \"203.0.113.8\"\n", &fit, &seen), "nginx-xff");
    CU_ASSERT_STRING_EQUAL(
        found(COMBINED " 462 0.050 [svc-9000] [] - - - - 752178adb17130b2\n", &fit, &seen),
        "ingress-nginx");
    CU_ASSERT_STRING_EQUAL(
        found("[10/Oct/2023:13:55:36 +0000] - 200 200 - GET https a.example \"/x\" "
              "[Client 203.0.113.7] [Length 12] [Gzip -] [Sent-to 10.0.0.2] \"ua\" "
              "\"-\"\n",
              &fit, &seen),
        "nginx-proxy-manager");
}

static void unknown_fields_behind_combined_are_no_hindrance(void)
{
    unsigned fit, seen;
    CU_ASSERT_STRING_EQUAL(found(COMBINED " 0.003\n" COMBINED " 1.5\n", &fit, &seen), "combined");
    CU_ASSERT_EQUAL(fit, 2);
}

static void half_of_the_lines_must_fit(void)
{
    unsigned fit, seen;
    CU_ASSERT_STRING_EQUAL(found("x\ny\n" COMBINED "\n" COMBINED "\n", &fit, &seen), "combined");
    CU_ASSERT_EQUAL(fit, 2);
    CU_ASSERT_EQUAL(seen, 4);
    CU_ASSERT_STRING_EQUAL(found("x\ny\nz\n" COMBINED "\n" COMBINED "\n", &fit, &seen), "none");
    CU_ASSERT_EQUAL(fit, 0);
    CU_ASSERT_EQUAL(seen, 5);
    CU_ASSERT_STRING_EQUAL(found("", &fit, &seen), "none");
    CU_ASSERT_EQUAL(seen, 0);
}

static void skipped_lines_are_not_seen(void)
{
    unsigned fit, seen;
    CU_ASSERT_STRING_EQUAL(found("# a\n\n  \n#b\n" COMMON "\n", &fit, &seen), "common");
    CU_ASSERT_EQUAL(seen, 1);
}

static void a_last_line_without_end_is_left_out_unless_alone(void)
{
    unsigned fit, seen;
    CU_ASSERT_STRING_EQUAL(found(COMBINED "\n" COMMON, &fit, &seen), "combined");
    CU_ASSERT_EQUAL(seen, 1);
    CU_ASSERT_STRING_EQUAL(found(COMMON, &fit, &seen), "common");
    CU_ASSERT_EQUAL(seen, 1);
}

static void only_the_first_lines_are_asked(void)
{
    static char head[DETECT_LINES * 200];
    size_t n = 0;
    unsigned fit, seen;
    for (int i = 0; i < DETECT_LINES; i++)
        n += (size_t) snprintf(head + n, sizeof head - n, "%s\n", COMMON);
    snprintf(head + n, sizeof head - n, "%s\n%s\n", COMBINED, COMBINED);
    CU_ASSERT_STRING_EQUAL(found(head, &fit, &seen), "common");
    CU_ASSERT_EQUAL(seen, DETECT_LINES);
    CU_ASSERT_EQUAL(fit, DETECT_LINES);
}

static const struct test tests[] = {
    TEST(each_preset_is_told_from_the_others),
    TEST(unknown_fields_behind_combined_are_no_hindrance),
    TEST(half_of_the_lines_must_fit),
    TEST(skipped_lines_are_not_seen),
    TEST(a_last_line_without_end_is_left_out_unless_alone),
    TEST(only_the_first_lines_are_asked),
    TESTS_END,
};

int main(void)
{
    return tap_run("detect", tests);
}
