/* Every allocation of the parser and its formats fails once: -ENOMEM comes out and nothing
 * half-made stays; reading lines allocates nothing. Linked with -Wl,--wrap for the allocating
 * functions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/parser.h"
#include "tap.h"

static long allocations_left = -1; /* below 0: no limit */
static long allocations;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
char *__real_strndup(const char *text, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strndup(const char *text, size_t n);

static bool may_allocate(void)
{
    allocations++;
    if (allocations_left < 0)
        return true;
    return allocations_left-- != 0;
}

void *__wrap_malloc(size_t n)
{
    return may_allocate() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return may_allocate() ? __real_calloc(n, size) : NULL;
}

char *__wrap_strndup(const char *text, size_t n)
{
    return may_allocate() ? __real_strndup(text, n) : NULL;
}

#define LINE                                                                                       \
    "203.0.113.7 - - [10/Oct/2023:13:55:36 +0000] \"GET /\\\"a\\xC3?b HTTP/1.1\" 200 612 \"-\" "   \
    "\"curl\\t8\""

/* Spec, format and parser; the first error, with all freed again. */
static int make_parser(const char *text)
{
    struct format_spec spec = {FORMAT_AUTO, NULL};
    struct format *f = NULL;
    struct parser *p = NULL;
    struct err e;
    int r = format_spec_parse(slice_of(text), &spec, &e);
    if (r == 0)
        r = format_new(&f, &spec, &e);
    if (r == 0)
        r = parser_new(&p, &(struct parser_options){(const struct format *const *) &f, 1, true});
    CU_ASSERT_EQUAL(p != NULL, r == 0);
    parser_free(p);
    format_free(f);
    free(spec.text);
    return r;
}

static void each_allocation_of_a_parser_may_fail(void)
{
    static const char *const texts[] = {"combined", "nginx:$msec $status",
                                        "apache:%{%F %T}t %h \"%r\""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int r = -ENOMEM, n = 0;
        for (; r == -ENOMEM && n < 100; n++) {
            allocations_left = n;
            r = make_parser(texts[i]);
            allocations_left = -1;
        }
        CU_ASSERT_EQUAL(r, 0);
        CU_ASSERT(n > 7);
    }
}

static void each_allocation_of_detection_may_fail(void)
{
    const struct preset *preset = NULL;
    unsigned fit, seen;
    int r = -ENOMEM, n = 0;
    for (; r == -ENOMEM && n < 1000; n++) {
        CU_ASSERT_PTR_NULL(preset);
        allocations_left = n;
        r = parser_detect(slice_of(LINE "\n"), &preset, &fit, &seen);
        allocations_left = -1;
    }
    CU_ASSERT_EQUAL_FATAL(r, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(preset);
    CU_ASSERT_STRING_EQUAL(preset->name, "combined");
    CU_ASSERT(n > 20);
}

static void lines_are_read_without_allocating(void)
{
    static const char *const lines[] = {LINE, "# comment", "", "nonsense",
                                        "::1 - - [31/Nov/2023:00:00:00 +0000] \"-\" 1 1 \"\" \"\""};
    struct format_spec spec;
    struct format *f;
    struct parser *p;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(format_spec_parse(slice_of("combined"), &spec, &e), 0);
    CU_ASSERT_EQUAL_FATAL(format_new(&f, &spec, &e), 0);
    struct parser_options options = {(const struct format *const *) &f, 1, true};
    CU_ASSERT_EQUAL_FATAL(parser_new(&p, &options), 0);
    long before = allocations;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct record r;
        enum skip skip;
        enum reject reject;
        struct reject_at at;
        parser_line(p, slice_of(lines[i]), &r, &skip, &reject, &at);
    }
    CU_ASSERT_EQUAL(allocations, before);
    parser_free(p);
    format_free(f);
    free(spec.text);
}

static const struct test tests[] = {
    TEST(each_allocation_of_a_parser_may_fail),
    TEST(each_allocation_of_detection_may_fail),
    TEST(lines_are_read_without_allocating),
    TESTS_END,
};

int main(void)
{
    return tap_run("parse_alloc", tests);
}
