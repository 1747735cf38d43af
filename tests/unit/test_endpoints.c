/* The answers of every endpoint over the lines of http_bench.h, fields by name. */
#include "http/endpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "http_bench.h"
#include "tap.h"

static struct bench *b;

static void start(void)
{
    b = bench_new();
    bench_start(b);
}

/* A GET that must be answered with valid UTF-8 and a list of warnings. */
static struct answer get(const char *target)
{
    struct answer a = bench_ask(b, "GET", target);
    CU_ASSERT_EQUAL(a.status, 200);
    CU_ASSERT(utf8_valid((struct slice){a.body ? a.body : "", a.body_bytes}));
    if (a.json)
        CU_ASSERT(cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(a.json, "warnings")));
    return a;
}

static int status_of(const char *target)
{
    struct answer a = bench_ask(b, "GET", target);
    int status = a.status;
    answer_done(&a);
    return status;
}

static bool is_true(const cJSON *row, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, name));
}

static bool is_null(const cJSON *row, const char *name)
{
    return cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(row, name));
}

static int count(const struct answer *a, const char *array)
{
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(a->json, array));
}

static bool exactly(const cJSON *row, double n)
{
    return row_number(row, "estimate") == n && row_number(row, "low") == n &&
           row_number(row, "high") == n && row_number(row, "confidence") == 0.95 &&
           row_number(row, "relative_standard_error") == 0 && is_true(row, "exact") &&
           strcmp(row_text(row, "estimator"), "exact") == 0;
}

static void uniques_are_a_union_and_not_the_sum_of_days(void)
{
    start();
    struct answer a = get("/uniques?from=mon&to=tue");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "name"), "visitors");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "from"), "2026-11-23");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "to"), "2026-11-24");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "timezone"), "UTC");
    CU_ASSERT_EQUAL(answer_number(&a, "days"), 2);
    CU_ASSERT_EQUAL(count(&a, "days_missing"), 0);
    CU_ASSERT(exactly(a.json, 4));
    CU_ASSERT_EQUAL(answer_number(&a, "sum_of_days"), 5);
    CU_ASSERT_EQUAL(answer_number(&a, "new"), 4);
    CU_ASSERT_PTR_NULL(cJSON_GetObjectItemCaseSensitive(a.json, "rows"));
    answer_done(&a);
    a = get("/uniques");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "from"), "2026-11-24");
    CU_ASSERT(exactly(a.json, 2));
    answer_done(&a);
    bench_done(b);
}

static void uniques_by_day_have_a_row_for_each_day_with_a_record(void)
{
    start();
    struct answer a = get("/uniques?range=7d&by=day");
    CU_ASSERT_EQUAL(count(&a, "rows"), 2);
    CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "rows", 0), "day"), "2026-11-23");
    CU_ASSERT(exactly(answer_row(&a, "rows", 0), 3));
    CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "rows", 1), "day"), "2026-11-24");
    CU_ASSERT(exactly(answer_row(&a, "rows", 1), 2));
    CU_ASSERT_EQUAL(answer_number(&a, "days"), 7);
    CU_ASSERT_EQUAL(count(&a, "days_missing"), 1);
    CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(answer_row(&a, "days_missing", 0)),
                           "2026-11-18..2026-11-22");
    answer_done(&a);
    bench_done(b);
}

static void a_single_missing_day_is_written_alone(void)
{
    start();
    struct answer a = get("/uniques?from=2026-11-22&to=2026-11-23");
    CU_ASSERT_EQUAL(count(&a, "days_missing"), 1);
    CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(answer_row(&a, "days_missing", 0)), "2026-11-22");
    answer_done(&a);
    bench_done(b);
}

static void a_series_without_a_filter_of_its_key_has_null_for_new(void)
{
    start();
    struct answer a = get("/uniques?name=paths&from=mon");
    CU_ASSERT(exactly(a.json, 5));
    CU_ASSERT(is_null(a.json, "new"));
    CU_ASSERT(is_null(a.json, "new_low"));
    CU_ASSERT(is_null(a.json, "new_high"));
    CU_ASSERT(is_null(a.json, "new_since"));
    answer_done(&a);
    bench_done(b);
}

static void ranges_beyond_what_there_is_are_answered_with_a_warning(void)
{
    start();
    struct answer a = get("/uniques?from=2026-11-23&to=2026-12-31");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "to"), "2026-11-24");
    CU_ASSERT_EQUAL(count(&a, "warnings"), 1);
    answer_done(&a);
    a = get("/uniques?from=2026-12-30");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "from"), "2026-12-30");
    CU_ASSERT(exactly(a.json, 0));
    CU_ASSERT_EQUAL(count(&a, "warnings"), 1);
    answer_done(&a);
    a = get("/uniques?from=2020-01-01&to=2020-01-31&by=day");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "from"), "2020-01-01");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "to"), "2020-01-31");
    CU_ASSERT(exactly(a.json, 0));
    CU_ASSERT_EQUAL(count(&a, "warnings"), 1);
    CU_ASSERT_EQUAL(count(&a, "rows"), 0);
    CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(answer_row(&a, "days_missing", 0)),
                           "2020-01-01..2020-01-31");
    answer_done(&a);
    bench_done(b);
}

/* 400 days are kept: 2025-10-21 is the oldest. */
static void a_range_that_begins_before_retention_is_clipped_and_says_so(void)
{
    start();
    struct answer a = get("/uniques?from=2025-10-01");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "from"), "2025-10-21");
    CU_ASSERT_EQUAL(answer_number(&a, "days"), 400);
    CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(answer_row(&a, "days_missing", 0)),
                           "2025-10-01..2026-11-22");
    CU_ASSERT_EQUAL(count(&a, "warnings"), 1);
    CU_ASSERT(exactly(a.json, 4));
    answer_done(&a);
    bench_done(b);
}

static void a_reversed_range_is_400(void)
{
    start();
    CU_ASSERT_EQUAL(status_of("/uniques?from=2026-11-24&to=2026-11-23"), 400);
    CU_ASSERT_EQUAL(status_of("/uniques?from=2027-01-02&to=2027-01-01"), 400);
    CU_ASSERT_EQUAL(status_of("/uniques?range=7d&to=tue"), 400);
    CU_ASSERT_EQUAL(status_of("/uniques?by=week"), 400);
    CU_ASSERT_EQUAL(status_of("/uniques?format=xml"), 400);
    bench_done(b);
}

static const cJSON *part(const struct answer *a, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(a->json, name);
}

/* a, b and c came on Monday, b and d on Tuesday. */
static void an_overlap_says_who_came_on_both_days(void)
{
    start();
    struct answer a = get("/overlap?a=mon&b=tue");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "name"), "visitors");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "from"), "2026-11-23");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "to"), "2026-11-24");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "timezone"), "UTC");
    CU_ASSERT_EQUAL(count(&a, "warnings"), 0);
    CU_ASSERT(exactly(part(&a, "a"), 3));
    CU_ASSERT_STRING_EQUAL(row_text(part(&a, "a"), "from"), "2026-11-23");
    CU_ASSERT_STRING_EQUAL(row_text(part(&a, "a"), "to"), "2026-11-23");
    CU_ASSERT(exactly(part(&a, "b"), 2));
    CU_ASSERT_STRING_EQUAL(row_text(part(&a, "b"), "from"), "2026-11-24");
    CU_ASSERT(exactly(part(&a, "union"), 4));
    CU_ASSERT(exactly(a.json, 1));
    CU_ASSERT(is_true(a.json, "reliable"));
    answer_done(&a);
    a = get("/overlap?a=mon..tue&b=MON&name=paths");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "name"), "paths");
    CU_ASSERT_STRING_EQUAL(row_text(part(&a, "a"), "to"), "2026-11-24");
    CU_ASSERT(exactly(part(&a, "a"), 5));
    CU_ASSERT(exactly(part(&a, "b"), 3));
    CU_ASSERT(exactly(a.json, 3));
    answer_done(&a);
    bench_done(b);
}

static void an_overlap_warns_of_the_side_that_was_cut(void)
{
    start();
    struct answer a = get("/overlap?a=2026-11&b=2026-12-24");
    CU_ASSERT_STRING_EQUAL(row_text(part(&a, "a"), "from"), "2026-11-01");
    CU_ASSERT_STRING_EQUAL(row_text(part(&a, "a"), "to"), "2026-11-24");
    CU_ASSERT_STRING_EQUAL(row_text(part(&a, "b"), "from"), "2026-12-24");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "from"), "2026-11-01");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "to"), "2026-12-24");
    CU_ASSERT(exactly(part(&a, "a"), 4));
    CU_ASSERT(exactly(part(&a, "b"), 0));
    CU_ASSERT(exactly(a.json, 0));
    CU_ASSERT_EQUAL_FATAL(count(&a, "warnings"), 2);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(cJSON_GetStringValue(answer_row(&a, "warnings", 0)), "a: to is in the future"));
    CU_ASSERT_PTR_NOT_NULL(strstr(cJSON_GetStringValue(answer_row(&a, "warnings", 1)),
                                  "b: from (2026-12-24) is after today"));
    answer_done(&a);
    bench_done(b);
}

static void a_bad_side_of_an_overlap_is_named(void)
{
    static const struct {
        const char *target, *parameter, *detail;
    } rows[] = {
        {"/overlap?b=tue", "a", "a is missing"},
        {"/overlap?a=mon", "b", "b is missing"},
        {"/overlap?a=mno&b=tue", "a", "a: \"mno\" is not a day; did you mean \"mon\"?"},
        {"/overlap?a=mon&b=2026-11-24..2026-11-23", "b", "is after"},
        {"/overlap?a=mon..&b=tue", "a", "a day is empty"},
        {"/overlap?a=mon&b=..tue", "b", "a day is empty"},
        {"/overlap?a=mon&b=mon..tue..wed", "b", "is not a day"},
        {"/overlap?a=mon&b=tue&from=mon", "from", ""},
    };
    start();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct answer a = bench_ask(b, "GET", rows[i].target);
        CU_ASSERT_EQUAL(a.status, 400);
        CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "errors", 0), "parameter"),
                               rows[i].parameter);
        CU_ASSERT_PTR_NOT_NULL(strstr(answer_text(&a, "detail"), rows[i].detail));
        answer_done(&a);
    }
    CU_ASSERT_EQUAL(status_of("/overlap?a=mon&b=tue&name=nobody"), 404);
    CU_ASSERT_EQUAL(status_of("/overlap?a=mon&b="), 400);
    bench_done(b);
}

static void an_offset_in_a_query_may_be_written_with_a_plus(void)
{
    start();
    struct answer a = get("/uniques?from=2026-11-23T23:30:00+00:00&to=2026-11-24T01:00:00%2B02:00");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "from"), "2026-11-23");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "to"), "2026-11-23");
    answer_done(&a);
    bench_done(b);
}

static void an_unknown_name_is_404_listing_the_names(void)
{
    static const char *const targets[] = {"/uniques?name=visitor", "/topk?name=visitors",
                                          "/seen?name=x&key=y", "/days?name=pairs"};
    start();
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
        CU_ASSERT_EQUAL(status_of(targets[i]), 404);
    struct answer a = bench_ask(b, "GET", "/uniques?name=visitor");
    CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "errors", 0), "expected"), "visitors, paths");
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_text(&a, "detail"), "did you mean \"visitors\""));
    answer_done(&a);
    bench_done(b);
}

static void topk_ranks_keys_with_bounds_and_shares(void)
{
    start();
    struct answer a = get("/topk?n=2&from=mon&to=tue");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "name"), "paths");
    CU_ASSERT_EQUAL(answer_number(&a, "n"), 2);
    CU_ASSERT_EQUAL(answer_number(&a, "k"), 20);
    CU_ASSERT_EQUAL(answer_number(&a, "total"), 8);
    CU_ASSERT_EQUAL(answer_number(&a, "other"), 3);
    CU_ASSERT_EQUAL(answer_number(&a, "error_bound"), 1);
    CU_ASSERT(answer_number(&a, "confidence") >= 0.99);
    CU_ASSERT_EQUAL_FATAL(count(&a, "rows"), 2);
    const cJSON *row = answer_row(&a, "rows", 0);
    CU_ASSERT_STRING_EQUAL(row_text(row, "key"), "/");
    CU_ASSERT_EQUAL(row_number(row, "rank"), 1);
    CU_ASSERT_EQUAL(row_number(row, "count"), 4);
    CU_ASSERT_EQUAL(row_number(row, "high"), 4);
    CU_ASSERT(row_number(row, "low") <= 4);
    CU_ASSERT_DOUBLE_EQUAL(row_number(row, "share"), 0.5, 1e-9);
    CU_ASSERT_EQUAL(row_number(answer_row(&a, "rows", 1), "count"), 1);
    answer_done(&a);
    bench_done(b);
}

static void topk_takes_at_most_k_rows(void)
{
    start();
    CU_ASSERT_EQUAL(status_of("/topk?n=20"), 200);
    CU_ASSERT_EQUAL(status_of("/topk?n=21"), 400);
    CU_ASSERT_EQUAL(status_of("/topk?n=0"), 400);
    CU_ASSERT_EQUAL(status_of("/topk?n=-1"), 400);
    CU_ASSERT_EQUAL(status_of("/topk?n=1e1"), 400);
    CU_ASSERT_EQUAL(status_of("/topk?n=99999999999999999999"), 400);
    bench_done(b);
}

static void keys_of_several_fields_stand_under_their_names_too(void)
{
    start();
    struct answer a = get("/topk?name=pairs&from=mon");
    CU_ASSERT_EQUAL(answer_number(&a, "n"), 5);
    const cJSON *row = answer_row(&a, "rows", 0);
    CU_ASSERT_STRING_EQUAL(row_text(row, "key"), "agent-b /");
    CU_ASSERT_STRING_EQUAL(row_text(row, "user_agent"), "agent-b");
    CU_ASSERT_STRING_EQUAL(row_text(row, "path"), "/");
    CU_ASSERT_EQUAL(row_number(row, "count"), 2);
    answer_done(&a);
    bench_done(b);
}

static void bad_bytes_in_keys_are_escaped_and_marked(void)
{
    start();
    struct answer a = get("/topk");
    bool found = false;
    for (int i = 0; i < count(&a, "rows"); i++) {
        const cJSON *row = answer_row(&a, "rows", i);
        if (strcmp(row_text(row, "key"), "/caf\\xe9") != 0)
            continue;
        found = true;
        CU_ASSERT(is_true(row, "key_escaped"));
    }
    CU_ASSERT(found);
    answer_done(&a);
    bench_done(b);
}

static void topk_as_csv_disarms_formulas(void)
{
    char value[256];
    start();
    struct answer a = get("/topk?from=mon&to=tue&format=csv");
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Content-Disposition", value),
                           "attachment; filename=\"paths_2026-11-23_2026-11-24.csv\"");
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Content-Type", value),
                           "text/csv; charset=utf-8; header=present");
    CU_ASSERT_PTR_NOT_NULL_FATAL(a.body);
    CU_ASSERT(strncmp(a.body, "rank,key,count,low,high,share,key_escaped\r\n1,/,4,", 49) == 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(a.body, ",'=1+1,1,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(a.body, ",/caf\\xe9,1,"));
    answer_done(&a);
    a = get("/topk?name=pairs&format=csv");
    CU_ASSERT(a.body && strncmp(a.body, "rank,key,user_agent,path,count,", 31) == 0);
    answer_done(&a);
    bench_done(b);
}

static void uniques_as_csv_needs_rows(void)
{
    start();
    CU_ASSERT_EQUAL(status_of("/uniques?format=csv"), 400);
    struct answer a = get("/uniques?from=mon&by=day&format=csv");
    CU_ASSERT_STRING_EQUAL(
        a.body, "day,estimate,low,high,confidence,relative_standard_error,exact,estimator\r\n"
                "2026-11-23,3,3,3,0.95,0,true,exact\r\n2026-11-24,2,2,2,0.95,0,true,exact\r\n");
    answer_done(&a);
    bench_done(b);
}

static void seen_is_probable_for_keys_met_and_definite_for_others(void)
{
    start();
    struct answer a = get("/seen?client=192.0.2.1&user_agent=agent-a");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "name"), "visitors");
    CU_ASSERT(is_true(a.json, "seen"));
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "certainty"), "probable");
    CU_ASSERT(answer_number(&a, "false_positive_rate") < 0.01);
    CU_ASSERT_EQUAL(strlen(answer_text(&a, "since")), 10);
    CU_ASSERT(answer_number(&a, "generation") >= 0);
    answer_done(&a);
    a = get("/seen?client=192.0.2.1&user_agent=agent-b");
    CU_ASSERT_FALSE(is_true(a.json, "seen"));
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "certainty"), "definite");
    answer_done(&a);
    bench_done(b);
}

static void seen_writes_clients_as_lines_do(void)
{
    start();
    static const char *const same[] = {
        "/seen?name=clients&key=192.0.2.4", "/seen?name=clients&client=192.0.2.4",
        "/seen?name=clients&client=::ffff:192.0.2.4", "/seen?name=clients&client=::FFFF:c000:204",
        "/seen?client=%3A%3Affff:192.0.2.4&user_agent=agent-d"};
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        struct answer a = get(same[i]);
        CU_ASSERT(is_true(a.json, "seen"));
        answer_done(&a);
    }
    bench_done(b);
}

static void seen_wants_every_field_of_the_key(void)
{
    start();
    CU_ASSERT_EQUAL(status_of("/seen"), 400);
    CU_ASSERT_EQUAL(status_of("/seen?client=192.0.2.1"), 400);
    CU_ASSERT_EQUAL(status_of("/seen?key=192.0.2.1"), 400);
    CU_ASSERT_EQUAL(status_of("/seen?client=192.0.2.1&user_agent="), 400);
    CU_ASSERT_EQUAL(status_of("/seen?client=192.0.2.1&user_agent=x&path=/"), 400);
    CU_ASSERT_EQUAL(status_of("/seen?client=192.0.2.1&user_agent=x&user_agent=y"), 400);
    CU_ASSERT_EQUAL(status_of("/seen?client=-&user_agent=x"), 400);
    CU_ASSERT_EQUAL(status_of("/seen?name=clients&key=a&client=a"), 400);
    CU_ASSERT_EQUAL(status_of("/seen?client=192.0.2.1&user_agent=-"), 200);
    CU_ASSERT_EQUAL(status_of("/seen?client=192.0.2.1&user_agent=%ff%fe%09"), 200);
    struct answer a = bench_ask(b, "GET", "/seen?client=192.0.2.1");
    CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "errors", 0), "parameter"), "user_agent");
    answer_done(&a);
    bench_done(b);
}

static void days_are_flat_rows_with_exact_totals(void)
{
    start();
    struct answer a = get("/days?range=7d");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "name"), "visitors");
    CU_ASSERT_EQUAL_FATAL(count(&a, "rows"), 2);
    const cJSON *mon = answer_row(&a, "rows", 0), *tue = answer_row(&a, "rows", 1);
    CU_ASSERT_STRING_EQUAL(row_text(mon, "time"), "2026-11-23T00:00:00Z");
    CU_ASSERT_STRING_EQUAL(row_text(mon, "day"), "2026-11-23");
    CU_ASSERT_EQUAL(row_number(mon, "hits"), 5);
    CU_ASSERT_EQUAL(row_number(mon, "bytes"), 500);
    CU_ASSERT_EQUAL(row_number(mon, "status_2xx"), 4);
    CU_ASSERT_EQUAL(row_number(mon, "status_3xx"), 0);
    CU_ASSERT_EQUAL(row_number(mon, "status_4xx"), 1);
    CU_ASSERT(exactly(mon, 3));
    CU_ASSERT_EQUAL(row_number(mon, "new"), 3);
    CU_ASSERT_EQUAL(row_number(mon, "returning"), 0);
    CU_ASSERT(is_true(mon, "closed"));
    CU_ASSERT_EQUAL(row_number(tue, "hits"), 3);
    CU_ASSERT_EQUAL(row_number(tue, "status_2xx"), 1);
    CU_ASSERT_EQUAL(row_number(tue, "status_5xx"), 1);
    CU_ASSERT_EQUAL(row_number(tue, "status_other"), 1);
    CU_ASSERT_EQUAL(row_number(tue, "new"), 1);
    CU_ASSERT_EQUAL(row_number(tue, "returning"), 1);
    CU_ASSERT_FALSE(is_true(tue, "closed"));
    CU_ASSERT(cJSON_IsBool(cJSON_GetObjectItem(tue, "complete")));
    answer_done(&a);
    bench_done(b);
}

static void days_as_csv_have_one_header_and_empty_nulls(void)
{
    start();
    struct answer a = get("/days?range=7d&name=paths&format=csv");
    CU_ASSERT_PTR_NOT_NULL_FATAL(a.body);
    CU_ASSERT(
        strncmp(a.body,
                "time,day,hits,bytes,status_2xx,status_3xx,status_4xx,status_5xx,"
                "status_other,estimate,low,high,confidence,relative_standard_error,exact,"
                "estimator,new,new_low,new_high,new_since,returning,closed,complete\r\n"
                "2026-11-23T00:00:00Z,2026-11-23,5,500,4,0,1,0,0,3,3,3,0.95,0,true,exact,,,,,,"
                "true,",
                286) == 0);
    answer_done(&a);
    bench_done(b);
}

static void filters_show_their_fill_and_rate(void)
{
    start();
    struct answer a = get("/filters");
    CU_ASSERT_EQUAL_FATAL(count(&a, "filters"), 2);
    const cJSON *f = answer_row(&a, "filters", 0);
    CU_ASSERT_STRING_EQUAL(row_text(f, "name"), "visitors");
    CU_ASSERT_FALSE(is_true(f, "degraded"));
    CU_ASSERT_EQUAL(row_number(f, "hashes"), 7);
    CU_ASSERT_EQUAL(row_number(f, "capacity"), 1000);
    CU_ASSERT_EQUAL(row_number(f, "target"), 0.01);
    CU_ASSERT(fabs(row_number(f, "items") - 4) < 0.5);
    CU_ASSERT(row_number(f, "fill_ratio") > 0 && row_number(f, "fill_ratio") < 0.01);
    static const char *const numbers[] = {
        "bits",        "expected_false_positive_rate", "generation", "rebuilds", "journal_entries",
        "memory_bytes"};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        CU_ASSERT_FALSE(isnan(row_number(f, numbers[i])));
    CU_ASSERT_FALSE(is_true(f, "saturated"));
    CU_ASSERT_FALSE(is_true(f, "rebuilding"));
    answer_done(&a);
    bench_done(b);
}

static void status_shows_books_that_balance(void)
{
    static const char *const warnings[] = {"listen is not loopback"};
    b = bench_new();
    b->options.warnings = warnings;
    b->options.n_warnings = 1;
    bench_start(b);
    struct answer a = get("/status");
    CU_ASSERT(is_true(a.json, "balanced"));
    CU_ASSERT_STRING_EQUAL(cJSON_GetStringValue(answer_row(&a, "warnings", 0)), warnings[0]);
    const cJSON *in = answer_row(&a, "inputs", 0);
    CU_ASSERT_STRING_EQUAL(row_text(in, "name"), "web");
    CU_ASSERT_STRING_EQUAL(row_text(in, "kind"), "files");
    CU_ASSERT_EQUAL(row_number(in, "lag_bytes"), 100);
    CU_ASSERT_STRING_EQUAL(row_text(in, "last_line"), "2026-11-24T11:59:00Z");
    const cJSON *books = cJSON_GetObjectItem(in, "books");
    CU_ASSERT_EQUAL(row_number(books, "lines"), 9);
    CU_ASSERT_EQUAL(row_number(books, "counted"), 8);
    CU_ASSERT_EQUAL(row_number(cJSON_GetObjectItem(books, "rejected"), "bad_date"), 1);
    const cJSON *file = cJSON_GetArrayItem(cJSON_GetObjectItem(in, "files"), 0);
    CU_ASSERT_STRING_EQUAL(row_text(file, "path"), "/var/log/nginx/access.log");
    CU_ASSERT_EQUAL(row_number(file, "offset"), 800);
    CU_ASSERT_EQUAL(row_number(file, "size"), 900);
    const cJSON *sample = cJSON_GetArrayItem(cJSON_GetObjectItem(in, "rejected_samples"), 0);
    CU_ASSERT_STRING_EQUAL(row_text(sample, "line"), "half a line");
    CU_ASSERT_STRING_EQUAL(row_text(sample, "reason"), "bad_date");
    CU_ASSERT_STRING_EQUAL(row_text(sample, "field"), "time");
    CU_ASSERT_EQUAL(row_number(sample, "column"), 7);
    const cJSON *store = cJSON_GetObjectItem(a.json, "store");
    CU_ASSERT(row_number(store, "commits") >= 1);
    CU_ASSERT(is_null(store, "last_error"));
    CU_ASSERT(row_number(cJSON_GetObjectItem(a.json, "memory"), "rss_bytes") > 0);
    answer_done(&a);
    bench_done(b);
}

/* The rules of the text format: every sample's family has HELP and TYPE before it. */
static void check_exposition(const char *text)
{
    char type[80] = "";
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(strchr(line, '\n'));
        if (strncmp(line, "# TYPE ", 7) == 0) {
            snprintf(type, sizeof(type), "%.*s", (int) strcspn(line + 7, " "), line + 7);
            continue;
        }
        if (line[0] == '#')
            continue;
        size_t n = strcspn(line, "{ ");
        CU_ASSERT_EQUAL(n, strlen(type));
        CU_ASSERT_EQUAL(strncmp(line, type, n), 0);
    }
}

static void metrics_are_prometheus_text(void)
{
    char type[256];
    start();
    CU_ASSERT_EQUAL(status_of("/nothing"), 404);
    struct answer a = get("/metrics");
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Content-Type", type),
                           "text/plain; version=0.0.4; charset=utf-8");
    CU_ASSERT_PTR_NOT_NULL_FATAL(a.body);
    check_exposition(a.body);
    static const char *const samples[] = {
        "\nreckond_build_info{version=\"",
        "\nreckond_input_lines_total{input=\"web\",result=\"counted\",reason=\"\"} 8\n",
        "\nreckond_input_lines_total{input=\"web\",result=\"rejected\",reason=\"bad_date\"} 1\n",
        "\nreckond_input_lag_bytes{input=\"web\"} 100\n",
        "\nreckond_uniques_estimate{name=\"visitors\",window=\"today\"} 2\n",
        "\nreckond_uniques_relative_standard_error_ratio{name=\"visitors\",window=\"today\"} 0\n",
        "\nreckond_seen_fill_ratio{name=\"visitors\"} 0.",
        "\nreckond_seen_rebuilds_total{name=\"clients\"} 0\n",
        "\nreckond_store_commits_total ",
        "\nreckond_http_requests_total{path=\"other\",code=\"404\"} 1\n",
        "\nprocess_resident_memory_bytes ",
        "\nprocess_start_time_seconds 1",
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(a.body, samples[i]));
    CU_ASSERT_PTR_NULL(strstr(a.body, "/about")); /* never keys */
    answer_done(&a);
    bench_done(b);
}

static void health_is_ok_and_a_lost_input_is_degraded_but_ready(void)
{
    start();
    struct answer a = get("/healthz");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "status"), "ok");
    answer_done(&a);
    a = get("/readyz");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "status"), "ok");
    CU_ASSERT_EQUAL(count(&a, "reasons"), 0);
    answer_done(&a);
    const struct input_status gone = {.kind = "files", .gone = true, .globs_empty = 1};
    CU_ASSERT_EQUAL(store_publish_input(b->store, 0, &gone, NULL, 0), 0);
    a = get("/readyz");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "status"), "degraded");
    CU_ASSERT_EQUAL(count(&a, "reasons"), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(cJSON_GetStringValue(answer_row(&a, "reasons", 0)), "web"));
    answer_done(&a);
    bench_done(b);
}

static void version_names_the_libraries(void)
{
    static const char *const libraries[] = {"libmicrohttpd", "cjson", "xxhash", "libyaml",
                                            "sqlite",        "zlib",  "zstd"};
    start();
    struct answer a = get("/version");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "name"), "reckond");
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "version"), PACKAGE_VERSION);
    const cJSON *l = cJSON_GetObjectItem(a.json, "libraries");
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        CU_ASSERT(strchr(row_text(l, libraries[i]), '.') != NULL);
    answer_done(&a);
    bench_done(b);
}

static void the_index_lists_every_endpoint_with_its_parameters(void)
{
    start();
    struct answer a = get("/");
    CU_ASSERT_EQUAL(count(&a, "endpoints"), ENDPOINTS);
    for (int i = 0; i < ENDPOINTS; i++) {
        const cJSON *e = answer_row(&a, "endpoints", i);
        CU_ASSERT_STRING_EQUAL(row_text(e, "path"), endpoint_at((unsigned) i)->path);
        CU_ASSERT(strlen(row_text(e, "help")) > 5);
        CU_ASSERT(cJSON_IsArray(cJSON_GetObjectItem(e, "parameters")));
    }
    answer_done(&a);
    bench_done(b);
}

static const struct test tests[] = {
    TEST(uniques_are_a_union_and_not_the_sum_of_days),
    TEST(uniques_by_day_have_a_row_for_each_day_with_a_record),
    TEST(a_single_missing_day_is_written_alone),
    TEST(a_series_without_a_filter_of_its_key_has_null_for_new),
    TEST(ranges_beyond_what_there_is_are_answered_with_a_warning),
    TEST(a_range_that_begins_before_retention_is_clipped_and_says_so),
    TEST(a_reversed_range_is_400),
    TEST(an_overlap_says_who_came_on_both_days),
    TEST(an_overlap_warns_of_the_side_that_was_cut),
    TEST(a_bad_side_of_an_overlap_is_named),
    TEST(an_offset_in_a_query_may_be_written_with_a_plus),
    TEST(an_unknown_name_is_404_listing_the_names),
    TEST(topk_ranks_keys_with_bounds_and_shares),
    TEST(topk_takes_at_most_k_rows),
    TEST(keys_of_several_fields_stand_under_their_names_too),
    TEST(bad_bytes_in_keys_are_escaped_and_marked),
    TEST(topk_as_csv_disarms_formulas),
    TEST(uniques_as_csv_needs_rows),
    TEST(seen_is_probable_for_keys_met_and_definite_for_others),
    TEST(seen_writes_clients_as_lines_do),
    TEST(seen_wants_every_field_of_the_key),
    TEST(days_are_flat_rows_with_exact_totals),
    TEST(days_as_csv_have_one_header_and_empty_nulls),
    TEST(filters_show_their_fill_and_rate),
    TEST(status_shows_books_that_balance),
    TEST(metrics_are_prometheus_text),
    TEST(health_is_ok_and_a_lost_input_is_degraded_but_ready),
    TEST(version_names_the_libraries),
    TEST(the_index_lists_every_endpoint_with_its_parameters),
    TESTS_END,
};

int main(void)
{
    return tap_run("endpoints", tests);
}
