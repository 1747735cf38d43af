#include "keys/metric.h"

#include <string.h>

#include "tap.h"

static struct rule *rule_of(const char *text)
{
    struct rule *r = NULL;
    CU_ASSERT_EQUAL_FATAL(rule_parse(&r, slice_of(text), NULL), 0);
    return r;
}

static void a_definition_holds_key_rule_and_weight(void)
{
    char text[1024];
    struct rule *humans = rule_of("agent_class=human"), *errors = rule_of("status=404|5xx");
    const struct metric m[] = {
        {.kind = METRIC_UNIQUES, .key = {{FIELD_CLIENT, FIELD_USER_AGENT}, 2}},
        {.kind = METRIC_UNIQUES, .key = {{FIELD_CLIENT, FIELD_USER_AGENT}, 2}, .where = humans},
        {.kind = METRIC_TOPK, .key = {{FIELD_PATH}, 1}},
        {.kind = METRIC_TOPK, .key = {{FIELD_PATH}, 1}, .where = errors, .by = BY_DURATION},
        {.kind = METRIC_TOPK, .key = {{FIELD_HOST}, 1}, .by = BY_BYTES},
        {.kind = METRIC_SEEN, .key = {{FIELD_CLIENT}, 1}},
    };
    static const char *const expected[] = {
        "key=client,user_agent", "key=client,user_agent where=agent_class=human",
        "key=path by=hits",      "key=path where=status=404|5xx by=duration",
        "key=host by=bytes",     "key=client",
    };
    for (size_t i = 0; i < sizeof(m) / sizeof(*m); i++) {
        CU_ASSERT_STRING_EQUAL(metric_definition(text, sizeof(text), &m[i]), expected[i]);
        struct metric tuned = m[i];
        tuned.precision = 16;
        tuned.exact_until = 7;
        tuned.k = 9;
        tuned.error = tuned.confidence = tuned.false_positive = 0.5;
        tuned.capacity = tuned.memory_limit_bytes = tuned.journal_limit_bytes = 99;
        tuned.keep_days = 3;
        CU_ASSERT_STRING_EQUAL(metric_definition(text, sizeof(text), &tuned), expected[i]);
    }
    rule_free(humans);
    rule_free(errors);
}

static void long_rules_stay_different_in_a_bounded_text(void)
{
    char list[3000], a[1024], b[1024];
    strcpy(list, "path=");
    memset(list + 5, 'x', sizeof(list) - 6);
    list[sizeof(list) - 1] = '\0';
    struct rule *one = rule_of(list);
    list[sizeof(list) - 2] = 'y';
    struct rule *other = rule_of(list);
    struct metric m = {.kind = METRIC_TOPK, .key = {{FIELD_PATH}, 1}, .where = one};
    memset(a, 'z', sizeof(a));
    metric_definition(a, sizeof(a), &m);
    m.where = other;
    metric_definition(b, sizeof(b), &m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memchr(a, '\0', sizeof(a)));
    CU_ASSERT_STRING_NOT_EQUAL(a, b);
    CU_ASSERT(strncmp(a, b, 900) == 0);
    CU_ASSERT_STRING_EQUAL(a + strlen(a) - 8, " by=hits");
    m.where = one;
    CU_ASSERT_STRING_EQUAL(metric_definition(b, sizeof(b), &m), a);
    rule_free(one);
    rule_free(other);
}

static void the_longest_key_fits(void)
{
    char text[1024];
    struct metric m = {.kind = METRIC_TOPK, .key = {.n = KEY_FIELDS_MAX}};
    for (int i = 0; i < KEY_FIELDS_MAX; i++)
        m.key.field[i] = FIELD_AGENT_CLASS;
    m.where = rule_of("path=/a*|/b*&status=404");
    metric_definition(text, sizeof(text), &m);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "agent_class where=path=/a*|/b*&status=404 by=hits"));
    rule_free(m.where);
}

static void keys_are_equal_field_by_field(void)
{
    struct key_def a = {{FIELD_CLIENT, FIELD_USER_AGENT}, 2}, b = a;
    CU_ASSERT_TRUE(key_def_equal(&a, &b));
    b.field[5] = FIELD_PATH; /* behind the end */
    CU_ASSERT_TRUE(key_def_equal(&a, &b));
    b.field[1] = FIELD_PATH;
    CU_ASSERT_FALSE(key_def_equal(&a, &b));
    b = a;
    b.n = 1;
    CU_ASSERT_FALSE(key_def_equal(&a, &b));
}

static void metrics_are_found_by_kind_and_name(void)
{
    char visitors[] = "visitors", humans[] = "humans";
    static struct metrics m = {.n = 3};
    m.list[0] = (struct metric){.kind = METRIC_UNIQUES, .name = visitors};
    m.list[1] = (struct metric){.kind = METRIC_UNIQUES, .name = humans};
    m.list[2] = (struct metric){.kind = METRIC_SEEN, .name = visitors};
    CU_ASSERT_EQUAL(metrics_find(&m, METRIC_UNIQUES, NULL), 0);
    CU_ASSERT_EQUAL(metrics_find(&m, METRIC_UNIQUES, "humans"), 1);
    CU_ASSERT_EQUAL(metrics_find(&m, METRIC_SEEN, "visitors"), 2);
    CU_ASSERT_EQUAL(metrics_find(&m, METRIC_SEEN, "humans"), -1);
    CU_ASSERT_EQUAL(metrics_find(&m, METRIC_TOPK, NULL), -1);
    CU_ASSERT_STRING_EQUAL(metric_kind_name(METRIC_UNIQUES), "uniques");
    CU_ASSERT_STRING_EQUAL(metric_kind_name(METRIC_TOPK), "topk");
    CU_ASSERT_STRING_EQUAL(metric_kind_name(METRIC_SEEN), "seen");
}

static const struct test tests[] = {TEST(a_definition_holds_key_rule_and_weight),
                                    TEST(long_rules_stay_different_in_a_bounded_text),
                                    TEST(the_longest_key_fits),
                                    TEST(keys_are_equal_field_by_field),
                                    TEST(metrics_are_found_by_kind_and_name),
                                    TESTS_END};

int main(void)
{
    return tap_run("metric", tests);
}
