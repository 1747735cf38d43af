#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>

#include "tap.h"

static void appends_follow_each_other(void)
{
    struct buf b;
    buf_init(&b);
    buf_text(&b, "one ");
    buf_slice(&b, slice_of("two "));
    buf_byte(&b, '3');
    buf_printf(&b, " %s %d", "four", 5);
    buf_put(&b, "\0x", 2);
    CU_ASSERT_EQUAL(buf_failed(&b), 0);
    CU_ASSERT_EQUAL(b.n, 18);
    CU_ASSERT_EQUAL(memcmp(b.p, "one two 3 four 5\0x", 18), 0);
    buf_done(&b);
    CU_ASSERT_PTR_NULL(b.p);
}

static void nothing_appended_is_an_empty_text(void)
{
    struct buf b;
    buf_init(&b);
    buf_put(&b, NULL, 0);
    buf_slice(&b, (struct slice){NULL, 0});
    buf_text(&b, "");
    CU_ASSERT_EQUAL(b.n, 0);
    CU_ASSERT_PTR_NULL(b.p);
    CU_ASSERT_STRING_EQUAL(buf_cstr(&b), "");
    CU_ASSERT_EQUAL(b.n, 0);
    buf_done(&b);
}

static void a_megabyte_byte_by_byte_is_kept(void)
{
    struct buf b;
    buf_init(&b);
    for (unsigned i = 0; i < 1u << 20; i++)
        buf_byte(&b, (char) (i * 7));
    unsigned wrong = 0;
    for (unsigned i = 0; i < 1u << 20; i++)
        wrong += b.p[i] != (char) (i * 7);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(b.room < 4u << 20);
    buf_done(&b);
}

static void print_of_any_length_fits(void)
{
    size_t wrong = 0;
    for (int width = 1; width < 700; width++) {
        struct buf b;
        buf_init(&b);
        buf_printf(&b, "%*d", width, 7);
        /* The NUL that vsnprintf writes has its place too. */
        wrong += b.n != (size_t) width || b.p[b.n - 1] != '7' || b.room <= b.n;
        buf_printf(&b, "%*d", width, 8);
        wrong += b.n != 2 * (size_t) width || b.p[b.n - 1] != '8' || b.room <= b.n;
        buf_done(&b);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void the_terminating_nul_is_not_counted(void)
{
    struct buf b;
    buf_init(&b);
    buf_text(&b, "ab");
    CU_ASSERT_STRING_EQUAL(buf_cstr(&b), "ab");
    CU_ASSERT_EQUAL(b.n, 2);
    buf_text(&b, "cd");
    CU_ASSERT_STRING_EQUAL(buf_cstr(&b), "abcd");
    buf_done(&b);
}

static void clear_keeps_the_memory_and_steal_hands_it_over(void)
{
    struct buf b;
    buf_init(&b);
    buf_text(&b, "first");
    const char *memory = b.p;
    buf_clear(&b);
    CU_ASSERT_EQUAL(b.n, 0);
    buf_text(&b, "second");
    CU_ASSERT_PTR_EQUAL(b.p, memory);
    char *text = buf_steal(&b);
    CU_ASSERT_PTR_EQUAL(text, memory);
    CU_ASSERT_STRING_EQUAL(text, "second");
    CU_ASSERT_PTR_NULL(b.p);
    CU_ASSERT_EQUAL(b.n + b.room, 0);
    free(text);
    buf_done(&b);
}

static void the_first_failure_sticks(void)
{
    struct buf b;
    buf_init(&b);
    buf_text(&b, "kept");
    CU_ASSERT_FALSE(buf_reserve(&b, SIZE_MAX)); /* the sum overflows */
    buf_text(&b, "lost");
    buf_byte(&b, 'x');
    buf_printf(&b, "%d", 1);
    CU_ASSERT_EQUAL(buf_failed(&b), -ENOMEM);
    CU_ASSERT_EQUAL(b.n, 4);
    CU_ASSERT_PTR_NULL(buf_cstr(&b));
    CU_ASSERT_PTR_NULL(buf_steal(&b));
    CU_ASSERT_FALSE(buf_reserve(&b, 1));
    buf_clear(&b);
    CU_ASSERT_EQUAL(buf_failed(&b), 0);
    buf_text(&b, "again");
    CU_ASSERT_STRING_EQUAL(buf_cstr(&b), "again");
    buf_done(&b);
}

/* AddressSanitizer ends the program on such a request, where malloc says no. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void memory_that_is_not_there_fails_without_harm(void)
{
    struct buf b;
    buf_init(&b);
    buf_text(&b, "kept");
    CU_ASSERT_FALSE(buf_reserve(&b, SIZE_MAX / 2 + 1)); /* doubling would overflow */
    CU_ASSERT_EQUAL(buf_failed(&b), -ENOMEM);
    CU_ASSERT_NSTRING_EQUAL(b.p, "kept", 4);
    buf_done(&b);
}

static const struct test tests[] = {
    TEST(appends_follow_each_other),
    TEST(nothing_appended_is_an_empty_text),
    TEST(a_megabyte_byte_by_byte_is_kept),
    TEST(print_of_any_length_fits),
    TEST(the_terminating_nul_is_not_counted),
    TEST(clear_keeps_the_memory_and_steal_hands_it_over),
    TEST(the_first_failure_sticks),
    TEST(memory_that_is_not_there_fails_without_harm),
    TESTS_END,
};

int main(void)
{
    return tap_run("buf", tests);
}
