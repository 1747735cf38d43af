#include "store/answer.h"

#include <math.h>
#include <string.h>

#include "base/civil.h"
#include "base/le.h"
#include "store/store.h"
#include "tap.h"

/* Prints and frees; the text is good until the next call. */
static const char *print(cJSON *json)
{
    static char text[8192];
    char *p = answer_print(json);
    snprintf(text, sizeof(text), "%s", p ? p : "(null)");
    cJSON_free(p);
    cJSON_Delete(json);
    return text;
}

static void integers_are_exact_to_the_last_digit(void)
{
    cJSON *json = cJSON_CreateObject();
    CU_ASSERT(answer_integer(json, "a", INT64_MAX));
    CU_ASSERT(answer_integer(json, "b", (UINT64_C(1) << 53) + 1));
    CU_ASSERT(answer_integer(json, "c", 0));
    CU_ASSERT_STRING_EQUAL(print(json),
                           "{\"a\":9223372036854775807,\"b\":9007199254740993,\"c\":0}");
}

static void estimates_are_rounded_outward(void)
{
    cJSON *json = cJSON_CreateObject();
    struct sk_estimate e = {.value = 391358.4,
                            .low = 387369.9,
                            .high = 395346.1,
                            .relative_standard_error = 0.00519999,
                            .estimator = SK_MARTINGALE};
    CU_ASSERT(answer_estimate(json, &e));
    CU_ASSERT_STRING_EQUAL(
        print(json),
        "{\"estimate\":391358,\"low\":387369,\"high\":395347,\"confidence\":0.95,"
        "\"relative_standard_error\":0.0052,\"exact\":false,\"estimator\":\"martingale\"}");
    json = cJSON_CreateObject();
    e = (struct sk_estimate){.value = 7, .low = 7, .high = 7, .estimator = SK_EXACT};
    CU_ASSERT(answer_estimate(json, &e));
    CU_ASSERT_STRING_EQUAL(print(json),
                           "{\"estimate\":7,\"low\":7,\"high\":7,\"confidence\":0.95,"
                           "\"relative_standard_error\":0,\"exact\":true,\"estimator\":\"exact\"}");
}

static void no_number_is_nan_or_below_zero(void)
{
    cJSON *json = cJSON_CreateObject();
    struct sk_estimate e = {.value = NAN,
                            .low = -5,
                            .high = INFINITY,
                            .relative_standard_error = NAN,
                            .estimator = SK_MAXIMUM_LIKELIHOOD};
    CU_ASSERT(answer_estimate(json, &e));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(print(json), "{\"estimate\":0,\"low\":0,\"high\":9223372036854775807,"));
}

static void new_is_null_without_a_filter(void)
{
    cJSON *json = cJSON_CreateObject();
    struct new_keys n = {.known = false};
    CU_ASSERT(answer_new(json, &n));
    CU_ASSERT_STRING_EQUAL(print(json),
                           "{\"new\":null,\"new_low\":null,\"new_high\":null,\"new_since\":null}");
    n = (struct new_keys){true, 10.4, 9.9, 11.01, civil_to_day(2026, 11, 22)};
    json = cJSON_CreateObject();
    CU_ASSERT(answer_new(json, &n));
    CU_ASSERT_STRING_EQUAL(
        print(json), "{\"new\":10,\"new_low\":9,\"new_high\":12,\"new_since\":\"2026-11-22\"}");
    n.since = STORE_DAY_NONE;
    json = cJSON_CreateObject();
    CU_ASSERT(answer_new(json, &n));
    CU_ASSERT_PTR_NOT_NULL(strstr(print(json), "\"new_since\":null"));
}

static uint32_t encode(uint8_t *to, const char *const *texts, unsigned n)
{
    uint8_t *at = to;
    for (unsigned i = 0; i < n; i++) {
        le_put32(at, (uint32_t) strlen(texts[i]));
        memcpy(at + 4, texts[i], strlen(texts[i]));
        at += 4 + strlen(texts[i]);
    }
    return (uint32_t) (at - to);
}

static const char *print_row(const struct key_def *key, const char *const *texts)
{
    uint8_t encoded[256];
    struct metric m = {.kind = METRIC_TOPK, .key = *key};
    struct topk_row row = {encoded, encode(encoded, texts, key->n), 1, 0, 1};
    struct topk_answer a = {.rows = &row, .n_rows = 1, .total = 3, .error_bound = 2};
    cJSON *json = cJSON_CreateObject();
    CU_ASSERT(answer_top(json, &m, &a));
    return print(json);
}

static void rows_have_rank_key_count_and_share(void)
{
    struct key_def path = {.field = {FIELD_PATH}, .n = 1};
    CU_ASSERT_STRING_EQUAL(
        print_row(&path, (const char *[]){"/search"}),
        "{\"total\":3,\"error_bound\":2,\"rows\":[{\"rank\":1,\"key\":\"/search\",\"count\":1,"
        "\"low\":0,\"high\":1,\"share\":0.333333}]}");
}

static void hostile_keys_are_escaped_and_say_so(void)
{
    struct key_def path = {.field = {FIELD_PATH}, .n = 1};
    CU_ASSERT_PTR_NOT_NULL(
        strstr(print_row(&path, (const char *[]){"/a\\b"}), "\"key\":\"/a\\\\b\",\"count\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(print_row(&path, (const char *[]){"/\xff\\<\n"}),
                                  "\"key\":\"/\\\\xff\\\\\\\\<\\\\u000a\",\"key_escaped\":true,"));
    CU_ASSERT_PTR_NULL(strstr(print_row(&path, (const char *[]){"/caf\xc3\xa9"}), "key_escaped"));
}

static void several_fields_are_joined_and_named(void)
{
    struct key_def two = {.field = {FIELD_HOST, FIELD_PATH}, .n = 2};
    CU_ASSERT_PTR_NOT_NULL(strstr(
        print_row(&two, (const char *[]){"a.example", "/x"}),
        "{\"rank\":1,\"key\":\"a.example /x\",\"host\":\"a.example\",\"path\":\"/x\",\"count\":1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(print_row(&two, (const char *[]){"a.example", "/\x01"}),
                                  "\"path\":\"/\\\\u0001\",\"key_escaped\":true"));
}

/* The sketch keeps the first bytes of a key over 2 KiB; its length then says more than there is. */
static void a_cut_key_is_shown_as_far_as_it_goes(void)
{
    uint8_t encoded[16] = {0x88, 0x13, 0, 0, '/', 'l', 'o', 'n', 'g'};
    struct metric m = {.kind = METRIC_TOPK, .key = {.field = {FIELD_PATH}, .n = 1}};
    struct topk_row row = {encoded, 9, 1, 0, 1};
    struct topk_answer a = {.rows = &row, .n_rows = 1, .total = 1};
    cJSON *json = cJSON_CreateObject();
    CU_ASSERT(answer_top(json, &m, &a));
    CU_ASSERT_PTR_NOT_NULL(strstr(print(json), "\"key\":\"/long\""));
}

static void books_show_every_count(void)
{
    struct books b = {.lines = 20, .counted = 10, .late = 1, .future = 2};
    b.rejected[REJECT_BAD_FORMAT] = 3;
    b.skipped[SKIP_EMPTY] = 4;
    CU_ASSERT_STRING_EQUAL(
        print(answer_books(&b, NULL)),
        "{\"lines\":20,\"counted\":10,\"rejected\":{\"bad_format\":3},\"ignored\":{},"
        "\"skipped\":{\"empty\":4,\"comment\":0},\"late\":1,\"future\":2}");
    b.ignored[63] = 5;
    CU_ASSERT_PTR_NOT_NULL(
        strstr(print(answer_books(&b, NULL)), "\"ignored\":{\"(earlier rules)\":5}"));
}

/* JSON with a name twice is read by halves, and one with bad bytes not at all. */
static void a_rule_is_one_member_and_utf8(void)
{
    static const char *const texts[] = {"status=404", "path=/\xff", "status=404", "path=/\\\\xff"};
    struct rule *rules[4];
    struct sk_secret secret = {{0}};
    struct metrics none = {.n = 0};
    struct plan *plan;
    struct books b = {.lines = 150};
    for (unsigned i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL_FATAL(rule_parse(&rules[i], slice_of(texts[i]), NULL), 0);
        b.ignored[i] = i == 0 ? 7 : 10 * i;
    }
    b.ignored[4] = 1;
    struct plan_options options = {
        .metrics = &none, .ignore = rules, .n_ignore = 4, .secret = &secret};
    CU_ASSERT_EQUAL_FATAL(plan_new(&plan, &options), 0);
    const char *text = print(answer_books(&b, plan));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"ignored\":{\"status=404\":27,\"path=/\\\\xff\":10,"
                                        "\"path=/\\\\\\\\xff\":30,\"(earlier rules)\":1}"));
    plan_free(plan);
    for (unsigned i = 0; i < 4; i++)
        rule_free(rules[i]);
}

static void status_codes_have_three_digits_or_a_dash(void)
{
    struct traffic t = {.hits = 6};
    t.status[0] = 1;
    t.status[99] = 2;
    t.status[404] = 3;
    t.status[STATUS_SLOTS - 1] = 4;
    CU_ASSERT_STRING_EQUAL(print(answer_status(&t)), "{\"000\":1,\"099\":2,\"404\":3,\"-\":4}");
}

static const struct test tests[] = {
    TEST(integers_are_exact_to_the_last_digit),
    TEST(estimates_are_rounded_outward),
    TEST(no_number_is_nan_or_below_zero),
    TEST(new_is_null_without_a_filter),
    TEST(rows_have_rank_key_count_and_share),
    TEST(hostile_keys_are_escaped_and_say_so),
    TEST(several_fields_are_joined_and_named),
    TEST(a_cut_key_is_shown_as_far_as_it_goes),
    TEST(books_show_every_count),
    TEST(a_rule_is_one_member_and_utf8),
    TEST(status_codes_have_three_digits_or_a_dash),
    TESTS_END,
};

int main(void)
{
    return tap_run("answer", tests);
}
