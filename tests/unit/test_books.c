#include "keys/books.h"

#include "tap.h"

static struct books example(void)
{
    return (struct books){
        .lines = 10 + 3 + 4 + 5 + 2 + 6,
        .bytes = 4000,
        .counted = 10,
        .rejected = {[REJECT_BAD_DATE] = 1, [REJECT_MISSING_FIELD] = 2},
        .skipped = {[SKIP_EMPTY] = 3, [SKIP_COMMENT] = 1},
        .ignored = {[0] = 4, [BOOKS_RULES_MAX - 1] = 1},
        .late = 2,
        .future = 6,
    };
}

static void every_line_stands_in_one_place(void)
{
    struct books b = example();
    CU_ASSERT_TRUE(books_balanced(&b));
    CU_ASSERT_EQUAL(books_rejected(&b), 3);
    CU_ASSERT_EQUAL(books_ignored(&b), 5);
}

static void one_line_too_many_anywhere_is_noticed(void)
{
    struct books empty = {0}, b;
    CU_ASSERT_TRUE(books_balanced(&empty));
    uint64_t *const places[] = {&b.lines,       &b.counted, &b.rejected[REJECT_COUNT - 1],
                                &b.rejected[0], &b.late,    &b.skipped[SKIP_COUNT - 1],
                                &b.ignored[1],  &b.future};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        b = example();
        ++*places[i];
        CU_ASSERT_FALSE(books_balanced(&b));
    }
}

static void sums_add_every_number(void)
{
    struct books b = example(), more = example();
    books_add(&b, &more);
    CU_ASSERT_TRUE(books_balanced(&b));
    const uint64_t *all = (const uint64_t *) &b, *one = (const uint64_t *) &more;
    for (size_t i = 0; i < sizeof(b) / sizeof(uint64_t); i++)
        CU_ASSERT_EQUAL(all[i], 2 * one[i]);
}

static const struct test tests[] = {TEST(every_line_stands_in_one_place),
                                    TEST(one_line_too_many_anywhere_is_noticed),
                                    TEST(sums_add_every_number), TESTS_END};

int main(void)
{
    return tap_run("books", tests);
}
