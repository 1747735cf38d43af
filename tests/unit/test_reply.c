#include "http/reply.h"

#include <string.h>

#include "tap.h"

static struct reply r;

static cJSON *parse_body(void)
{
    const char *text = buf_cstr(&r.body);
    cJSON *json = text ? cJSON_Parse(text) : NULL;
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    return json;
}

static const char *text_of(const cJSON *o, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));
    return text ? text : "(none)";
}

static void a_problem_has_the_members_of_rfc_9457(void)
{
    reply_init(&r);
    reply_problem(&r, 404, "there is no %s", "/x");
    CU_ASSERT_EQUAL(r.status, 404);
    CU_ASSERT_STRING_EQUAL(r.type, "application/problem+json");
    cJSON *o = parse_body();
    CU_ASSERT_STRING_EQUAL(text_of(o, "type"), "about:blank");
    CU_ASSERT_STRING_EQUAL(text_of(o, "title"), "Not Found");
    CU_ASSERT_STRING_EQUAL(text_of(o, "detail"), "there is no /x");
    CU_ASSERT_EQUAL(cJSON_GetObjectItem(o, "status")->valueint, 404);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(o, "errors")), 0);
    cJSON_Delete(o);
    reply_done(&r);
}

static void a_bad_parameter_is_named_with_value_and_expectation(void)
{
    reply_init(&r);
    reply_bad(&r, "from", SLICE_LITERAL("mno"), "a day", "from: no day");
    CU_ASSERT_EQUAL(r.status, 400);
    cJSON *o = parse_body();
    cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "errors"), 0);
    CU_ASSERT_STRING_EQUAL(text_of(first, "parameter"), "from");
    CU_ASSERT_STRING_EQUAL(text_of(first, "value"), "mno");
    CU_ASSERT_STRING_EQUAL(text_of(first, "expected"), "a day");
    cJSON_Delete(o);
    reply_done(&r);
}

static void a_missing_value_is_null(void)
{
    reply_init(&r);
    reply_bad(&r, "from", (struct slice){NULL, 0}, "a day", "from: empty");
    cJSON *o = parse_body();
    cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "errors"), 0);
    CU_ASSERT(cJSON_IsNull(cJSON_GetObjectItem(first, "value")));
    cJSON_Delete(o);
    reply_done(&r);
}

static void bytes_from_outside_come_back_harmless(void)
{
    reply_init(&r);
    struct slice value = SLICE_LITERAL("a\xff\x01\xe2\x80\xae<b>\"");
    reply_bad(&r, "from", value, "a day", "%.*s is bad", (int) value.n, value.p);
    CU_ASSERT_PTR_NULL(memchr(r.body.p, 0xff, r.body.n));
    CU_ASSERT_PTR_NULL(memmem(r.body.p, r.body.n, "\xe2\x80\xae", 3));
    cJSON *o = parse_body();
    cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "errors"), 0);
    CU_ASSERT_STRING_EQUAL(text_of(first, "value"), "a\\xff\\u0001\\u202e<b>\"");
    CU_ASSERT_STRING_EQUAL(text_of(o, "detail"), "a\\xff\\u0001\\u202e<b>\" is bad");
    cJSON_Delete(o);
    reply_done(&r);
}

static void long_values_are_cut_at_a_character(void)
{
    char value[2000];
    for (size_t i = 0; i < sizeof(value); i += 2)
        memcpy(value + i, "\xc3\xa9", 2);
    reply_init(&r);
    reply_bad(&r, "from", (struct slice){value + 1, sizeof(value) - 2}, "a day", "bad");
    CU_ASSERT(r.body.n < 800);
    cJSON *o = parse_body();
    cJSON_Delete(o);
    reply_done(&r);
}

static void a_later_reply_replaces_an_earlier_one(void)
{
    reply_init(&r);
    buf_text(&r.body, "half of a table");
    reply_failed(&r, -5);
    CU_ASSERT_EQUAL(r.status, 500);
    cJSON *o = parse_body();
    CU_ASSERT_STRING_EQUAL(text_of(o, "title"), "Internal Server Error");
    cJSON_Delete(o);
    reply_done(&r);
}

static void no_memory_is_told_by_reply_lost(void)
{
    reply_init(&r);
    reply_json(&r, 200, NULL);
    CU_ASSERT(reply_lost(&r));
    CU_ASSERT_EQUAL(r.status, 500);
    reply_done(&r);
}

static void every_status_has_a_phrase_and_an_index(void)
{
    for (unsigned i = 0; i < REPLY_STATUSES; i++) {
        CU_ASSERT_EQUAL(reply_status_index(reply_status_at(i)), (int) i);
        CU_ASSERT(reply_phrase(reply_status_at(i))[0] != '\0');
    }
    CU_ASSERT_EQUAL(reply_status_index(299), -1);
}

static const char *csv_of(const char *rows_json)
{
    static const char *const columns[] = {"key", "count", "share"};
    cJSON *rows = cJSON_Parse(rows_json);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rows);
    reply_init(&r);
    reply_csv(&r, rows, columns, 3, "pa/ths\"", "2026-11-22_2026-11-24");
    cJSON_Delete(rows);
    const char *text = buf_cstr(&r.body);
    return text ? text : "";
}

static void csv_has_a_header_crlf_and_empty_nulls(void)
{
    CU_ASSERT_STRING_EQUAL(
        csv_of("[{\"key\":\"/\",\"count\":12,\"share\":0.25},{\"key\":null,\"share\":true}]"),
        "key,count,share\r\n/,12,0.25\r\n,,true\r\n");
    CU_ASSERT_STRING_EQUAL(r.type, "text/csv; charset=utf-8; header=present");
    CU_ASSERT_STRING_EQUAL(r.file_name, "pa_ths__2026-11-22_2026-11-24.csv");
    reply_done(&r);
    CU_ASSERT_STRING_EQUAL(csv_of("[]"), "key,count,share\r\n");
    reply_done(&r);
}

static void csv_quotes_as_rfc_4180(void)
{
    CU_ASSERT_STRING_EQUAL(csv_of("[{\"key\":\"a,\\\"b\\\"\\n\"}]"),
                           "key,count,share\r\n\"a,\"\"b\"\"\n\",,\r\n");
    reply_done(&r);
}

static void csv_text_that_a_spreadsheet_would_run_is_disarmed(void)
{
    CU_ASSERT_STRING_EQUAL(
        csv_of("[{\"key\":\"=1+1\",\"count\":-3,\"share\":\"+x\"},"
               "{\"key\":\"@a,b\",\"count\":\"-2\",\"share\":\"\\tx\"},"
               "{\"key\":\"\\rx\",\"count\":\"a=b\"}]"),
        "key,count,share\r\n'=1+1,-3,'+x\r\n\"'@a,b\",'-2,'\tx\r\n\"'\rx\",a=b,\r\n");
    reply_done(&r);
}

static const struct test tests[] = {
    TEST(a_problem_has_the_members_of_rfc_9457),
    TEST(a_bad_parameter_is_named_with_value_and_expectation),
    TEST(a_missing_value_is_null),
    TEST(bytes_from_outside_come_back_harmless),
    TEST(long_values_are_cut_at_a_character),
    TEST(a_later_reply_replaces_an_earlier_one),
    TEST(no_memory_is_told_by_reply_lost),
    TEST(every_status_has_a_phrase_and_an_index),
    TEST(csv_has_a_header_crlf_and_empty_nulls),
    TEST(csv_quotes_as_rfc_4180),
    TEST(csv_text_that_a_spreadsheet_would_run_is_disarmed),
    TESTS_END,
};

int main(void)
{
    return tap_run("reply", tests);
}
