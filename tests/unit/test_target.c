#include "http/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static struct target t;
static struct err e;

static int parse_n(const char *raw, size_t n)
{
    return target_parse(&t, (struct slice){raw, n}, &e);
}

static int parse(const char *raw)
{
    return parse_n(raw, strlen(raw));
}

static bool parameter_is(unsigned i, const char *name, const char *value)
{
    return i < t.n_parameters && slice_is(t.parameters[i].name, name) &&
           (value ? t.parameters[i].value.p && slice_is(t.parameters[i].value, value)
                  : !t.parameters[i].value.p);
}

static void path_and_parameters_are_taken_apart(void)
{
    CU_ASSERT_EQUAL(parse("/uniques?from=mon&to=tue"), 0);
    CU_ASSERT(slice_is(t.path, "/uniques"));
    CU_ASSERT_EQUAL(t.n_parameters, 2);
    CU_ASSERT(parameter_is(0, "from", "mon"));
    CU_ASSERT(parameter_is(1, "to", "tue"));
    CU_ASSERT_EQUAL(parse("/"), 0);
    CU_ASSERT(slice_is(t.path, "/"));
    CU_ASSERT_EQUAL(t.n_parameters, 0);
    CU_ASSERT_EQUAL(parse("/x?"), 0);
    CU_ASSERT_EQUAL(t.n_parameters, 0);
}

static void only_the_first_equals_sign_and_question_mark_divide(void)
{
    CU_ASSERT_EQUAL(parse("/seen?key=a=b?c"), 0);
    CU_ASSERT(parameter_is(0, "key", "a=b?c"));
}

static void a_name_without_equals_sign_differs_from_an_empty_value(void)
{
    CU_ASSERT_EQUAL(parse("/x?from&to=&=v&&"), 0);
    CU_ASSERT_EQUAL(t.n_parameters, 5);
    CU_ASSERT(parameter_is(0, "from", NULL));
    CU_ASSERT(parameter_is(1, "to", ""));
    CU_ASSERT(parameter_is(2, "", "v"));
    CU_ASSERT(parameter_is(3, "", NULL));
    CU_ASSERT(parameter_is(4, "", NULL));
}

static void escapes_are_undone_once_and_plus_is_a_blank_only_in_the_query(void)
{
    CU_ASSERT_EQUAL(parse("/a+b%2Fc?k%65y=%2541+%2B%c3%a9"), 0);
    CU_ASSERT(slice_is(t.path, "/a+b/c"));
    CU_ASSERT(parameter_is(0, "key", "%41 +\xc3\xa9"));
}

static void nothing_is_normalised(void)
{
    CU_ASSERT_EQUAL(parse("//x/../y/."), 0);
    CU_ASSERT(slice_is(t.path, "//x/../y/."));
}

static void bad_escapes_are_refused(void)
{
    static const char *const bad[] = {"/%",     "/%4",     "/%zz",   "/%4g",
                                      "/x?a=%", "/x?a=%f", "/x?%=1", "/x?a=%-1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        e.text[0] = '\0';
        CU_ASSERT_EQUAL(parse(bad[i]), -EINVAL);
        CU_ASSERT(strstr(e.text, "hexadecimal") != NULL);
    }
}

static void nul_is_refused_everywhere(void)
{
    CU_ASSERT_EQUAL(parse("/%00/../x"), -EINVAL);
    CU_ASSERT_EQUAL(parse("/x?a=b%00c"), -EINVAL);
    CU_ASSERT_EQUAL(parse("/x?a%00=b"), -EINVAL);
    CU_ASSERT_EQUAL(parse_n("/x\0y", 4), -EINVAL);
}

static void raw_controls_blanks_and_fragments_are_refused(void)
{
    CU_ASSERT_EQUAL(parse("/x y"), -EINVAL);
    CU_ASSERT_EQUAL(parse("/x\ty"), -EINVAL);
    CU_ASSERT_EQUAL(parse("/x?a=b\x7f"), -EINVAL);
    CU_ASSERT_EQUAL(parse("/x#y"), -EINVAL);
    CU_ASSERT_EQUAL(parse("/%0a"), -EINVAL);
}

static void targets_that_do_not_begin_with_a_slash_are_refused(void)
{
    CU_ASSERT_EQUAL(parse(""), -EINVAL);
    CU_ASSERT_EQUAL(parse("http://evil/"), -EINVAL);
    CU_ASSERT_EQUAL(parse("*"), -EINVAL);
    CU_ASSERT_EQUAL(parse("?a=b"), -EINVAL);
    CU_ASSERT_EQUAL(parse("%2f"), -EINVAL);
}

static void paths_and_names_are_utf8_but_values_may_hold_any_byte(void)
{
    CU_ASSERT_EQUAL(parse("/%ff"), -EINVAL);
    CU_ASSERT_EQUAL(parse("/x?%c0%af=1"), -EINVAL);
    CU_ASSERT_EQUAL(parse("/seen?key=%ff%09\xfe"), 0);
    CU_ASSERT(parameter_is(0, "key", "\xff\t\xfe"));
    CU_ASSERT_FALSE(target_is_text(t.parameters[0].value));
    CU_ASSERT(target_is_text(SLICE_LITERAL("M\xc3\xbcller")));
    CU_ASSERT_FALSE(target_is_text(SLICE_LITERAL("a\tb")));
    CU_ASSERT_FALSE(target_is_text(SLICE_LITERAL("\xed\xa0\x80"))); /* a surrogate */
}

static void length_is_limited_to_2048_bytes(void)
{
    char raw[TARGET_BYTES_MAX + 1];
    memset(raw, 'a', sizeof(raw));
    raw[0] = '/';
    CU_ASSERT_EQUAL(parse_n(raw, TARGET_BYTES_MAX), 0);
    CU_ASSERT_EQUAL(t.path.n, TARGET_BYTES_MAX);
    CU_ASSERT_EQUAL(parse_n(raw, TARGET_BYTES_MAX + 1), -E2BIG);
}

static void sixteen_parameters_are_taken_and_seventeen_refused(void)
{
    char raw[128] = "/x?";
    for (int i = 0; i < TARGET_PARAMETERS_MAX; i++)
        strncat(raw, i ? "&a=1" : "a=1", sizeof(raw) - strlen(raw) - 1);
    CU_ASSERT_EQUAL(parse(raw), 0);
    CU_ASSERT_EQUAL(t.n_parameters, TARGET_PARAMETERS_MAX);
    strncat(raw, "&", sizeof(raw) - strlen(raw) - 1);
    CU_ASSERT_EQUAL(parse(raw), -EOVERFLOW);
}

/* A copy of exactly the length, so that the sanitizer sees a read behind the end. */
static void every_cut_of_a_target_is_read_within_its_bytes(void)
{
    static const char whole[] = "/seen?client=2001%3adb8::1&user_agent=a%2Bb+c%";
    for (size_t n = 0; n < sizeof(whole); n++) {
        char *copy = malloc(n + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        char *exact = realloc(copy, n ? n : 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
        memcpy(exact, whole, n);
        int rc = parse_n(exact, n);
        CU_ASSERT(rc == 0 || rc == -EINVAL);
        free(exact);
    }
}

static const struct test tests[] = {
    TEST(path_and_parameters_are_taken_apart),
    TEST(only_the_first_equals_sign_and_question_mark_divide),
    TEST(a_name_without_equals_sign_differs_from_an_empty_value),
    TEST(escapes_are_undone_once_and_plus_is_a_blank_only_in_the_query),
    TEST(nothing_is_normalised),
    TEST(bad_escapes_are_refused),
    TEST(nul_is_refused_everywhere),
    TEST(raw_controls_blanks_and_fragments_are_refused),
    TEST(targets_that_do_not_begin_with_a_slash_are_refused),
    TEST(paths_and_names_are_utf8_but_values_may_hold_any_byte),
    TEST(length_is_limited_to_2048_bytes),
    TEST(sixteen_parameters_are_taken_and_seventeen_refused),
    TEST(every_cut_of_a_target_is_read_within_its_bytes),
    TESTS_END,
};

int main(void)
{
    return tap_run("target", tests);
}
