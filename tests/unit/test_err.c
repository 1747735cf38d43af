#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "tap.h"

static void the_code_comes_back_with_the_sentence(void)
{
    struct err e = {"old"};
    CU_ASSERT_EQUAL(err_set(&e, -EINVAL, "%s:%d: no such key", "a.yaml", 7), -EINVAL);
    CU_ASSERT_STRING_EQUAL(e.text, "a.yaml:7: no such key");
    CU_ASSERT_EQUAL(err_set(NULL, -ENOENT, "unheard"), -ENOENT);
}

static void a_long_sentence_is_cut(void)
{
    struct err e;
    char longer[3000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    err_set(&e, -EINVAL, "%s", longer);
    CU_ASSERT_EQUAL(strlen(e.text), ERR_TEXT_BYTES - 1);
}

static void a_sentence_can_be_put_into_a_longer_one(void)
{
    struct err e;
    err_set(&e, -ENOENT, "hash.key: missing");
    err_set(&e, -ENOENT, "state: %s", e.text);
    CU_ASSERT_STRING_EQUAL(e.text, "state: hash.key: missing");
}

static void errors_have_names(void)
{
    CU_ASSERT_STRING_EQUAL(err_name(-ENOENT), "No such file or directory");
    CU_ASSERT_STRING_EQUAL(err_name(-ENOSPC), "No space left on device");
    static const int odd[] = {0, 1, -99999, INT_MIN, INT_MAX};
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
        CU_ASSERT_TRUE(strlen(err_name(odd[i])) > 0);
}

static const struct test tests[] = {
    TEST(the_code_comes_back_with_the_sentence),
    TEST(a_long_sentence_is_cut),
    TEST(a_sentence_can_be_put_into_a_longer_one),
    TEST(errors_have_names),
    TESTS_END,
};

int main(void)
{
    return tap_run("err", tests);
}
