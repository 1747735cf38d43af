#include "base/nearest.h"

#include "tap.h"

static const char *near_to(const char *word)
{
    static const char *const names[] = {"precision", "exact_until", "key", "name", "where", "k"};
    struct nearest n;
    nearest_begin(&n, slice_of(word));
    for (unsigned i = 0; i < 6; i++)
        nearest_try(&n, names[i]);
    const char *best = nearest_end(&n);
    return best ? best : "-";
}

static void a_slip_of_the_finger_is_found(void)
{
    CU_ASSERT_STRING_EQUAL(near_to("precison"), "precision");
    CU_ASSERT_STRING_EQUAL(near_to("percision"), "precision");
    CU_ASSERT_STRING_EQUAL(near_to("Precision"), "precision");
    CU_ASSERT_STRING_EQUAL(near_to("exactuntil"), "exact_until");
    CU_ASSERT_STRING_EQUAL(near_to("kye"), "key");
    CU_ASSERT_STRING_EQUAL(near_to("wehre"), "where");
}

static void another_word_is_near_nothing(void)
{
    CU_ASSERT_STRING_EQUAL(near_to("frobnicate"), "-");
    CU_ASSERT_STRING_EQUAL(near_to("foo"), "-");
    CU_ASSERT_STRING_EQUAL(near_to("x"), "-");
    CU_ASSERT_STRING_EQUAL(near_to(""), "-");
    CU_ASSERT_STRING_EQUAL(near_to("a-very-long-word-that-no-table-would-ever-have-in-it"), "-");
}

static const struct test tests[] = {
    TEST(a_slip_of_the_finger_is_found),
    TEST(another_word_is_near_nothing),
    TESTS_END,
};

int main(void)
{
    return tap_run("nearest", tests);
}
