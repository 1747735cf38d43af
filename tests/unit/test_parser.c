#include "parse/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/zone.h"
#include "tap.h"

static struct format *formats[4];
static unsigned n_formats;
static struct record record;
static enum skip skip;
static enum reject reject;
static struct reject_at at;

static struct parser *parser_of(const char *first, const char *second, bool day_of_log)
{
    const char *const texts[] = {first, second};
    struct parser *p = NULL;
    n_formats = 0;
    for (int i = 0; i < 2 && texts[i]; i++) {
        struct format_spec spec;
        struct err e;
        CU_ASSERT_EQUAL_FATAL(format_spec_parse(slice_of(texts[i]), &spec, &e), 0);
        CU_ASSERT_EQUAL_FATAL(format_new(&formats[n_formats++], &spec, &e), 0);
        free(spec.text);
    }
    struct parser_options options = {(const struct format *const *) formats, n_formats, day_of_log};
    CU_ASSERT_EQUAL_FATAL(parser_new(&p, &options), 0);
    return p;
}

static void done(struct parser *p)
{
    parser_free(p);
    for (unsigned i = 0; i < n_formats; i++)
        format_free(formats[i]);
}

static enum parsed line_bytes(struct parser *p, const char *line, size_t n)
{
    memset(&record, 0xa5, sizeof record); /* a field left unset shows */
    return parser_line(p, (struct slice){line, n}, &record, &skip, &reject, &at);
}

static enum parsed line(struct parser *p, const char *text)
{
    return line_bytes(p, text, strlen(text));
}

static bool is(enum field f, const char *text)
{
    return record.text[f].p && slice_is(record.text[f], text);
}

static bool absent(enum field f)
{
    return !record.text[f].p && record.text[f].n == 0;
}

#define GOOD                                                                                       \
    "203.0.113.7 - - [10/Oct/2023:13:55:36 +0000] \"GET /a?b=c HTTP/1.1\" 200 612 \"-\" "          \
    "\"curl/8.5.0\""

static void a_line_becomes_a_record(void)
{
    struct parser *p = parser_of("combined", NULL, true);
    CU_ASSERT_EQUAL_FATAL(line(p, GOOD), PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_CLIENT, "203.0.113.7"));
    CU_ASSERT_TRUE(is(FIELD_TIME, "10/Oct/2023:13:55:36 +0000"));
    CU_ASSERT_TRUE(is(FIELD_METHOD, "GET"));
    CU_ASSERT_TRUE(is(FIELD_PATH, "/a"));
    CU_ASSERT_TRUE(is(FIELD_TARGET, "/a?b=c"));
    CU_ASSERT_TRUE(is(FIELD_QUERY, "b=c"));
    CU_ASSERT_TRUE(is(FIELD_PROTOCOL, "HTTP/1.1"));
    CU_ASSERT_TRUE(is(FIELD_STATUS, "200"));
    CU_ASSERT_TRUE(is(FIELD_BYTES, "612"));
    CU_ASSERT_TRUE(is(FIELD_USER_AGENT, "curl/8.5.0"));
    CU_ASSERT_TRUE(absent(FIELD_USER) && absent(FIELD_REFERER) && absent(FIELD_HOST));
    CU_ASSERT_TRUE(absent(FIELD_AGENT_CLASS) && absent(FIELD_INPUT) && absent(FIELD_DURATION));
    CU_ASSERT_TRUE(absent(FIELD_X_FORWARDED_FOR));
    CU_ASSERT_EQUAL(record.time_s, 1696946136);
    CU_ASSERT_EQUAL(record.day, 19640);
    CU_ASSERT_EQUAL(record.status, 200);
    CU_ASSERT_EQUAL(record.bytes, 612);
    CU_ASSERT_EQUAL(record.duration_us, DURATION_NONE);
    done(p);
}

static void dashes_are_absent_and_requests_that_are_none_are_hits(void)
{
    static const char *const requests[] = {"-", "", " ", "\\x16\\x03\\x01", "GET", "- - -"};
    struct parser *p = parser_of("combined", NULL, true);
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "- - - [10/Oct/2023:13:55:36 +0000] \"%s\" - - \"\" \"-\"",
                 requests[i]);
        CU_ASSERT_EQUAL(line(p, text), PARSED_RECORD);
        CU_ASSERT_TRUE(is(FIELD_PATH, "-"));
        CU_ASSERT_TRUE(absent(FIELD_CLIENT) && absent(FIELD_METHOD) && absent(FIELD_TARGET));
        CU_ASSERT_TRUE(absent(FIELD_USER_AGENT) && absent(FIELD_STATUS) && absent(FIELD_BYTES));
        CU_ASSERT_TRUE(is(FIELD_REFERER, ""));
        CU_ASSERT_EQUAL(record.status, STATUS_NONE);
        CU_ASSERT_EQUAL(record.bytes, 0);
    }
    done(p);
}

static void escapes_are_undone_before_the_request_is_split(void)
{
    struct parser *p = parser_of("combined", NULL, true);
    CU_ASSERT_EQUAL(line(p,
                         "::1 - a\\x22b [10/Oct/2023:13:55:36 +0000] \"GET /\\\"\\x5C%41\\xC3\\xbc "
                         "HTTP/1.1\" 200 1 \"-\" \"\\\"x\\\\\""),
                    PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_PATH, "/\"\\%41\xc3\xbc"));
    CU_ASSERT_TRUE(is(FIELD_USER_AGENT, "\"x\\"));
    CU_ASSERT_TRUE(is(FIELD_USER, "a\"b"));
    CU_ASSERT_EQUAL(line(p, "::1 - - [10/Oct/2023:13:55:36 +0000] \"GET\\x09/\\x09HTTP/1.1\" 400 1 "
                            "\"-\" \"-\""),
                    PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_PATH, "-"));
    done(p);
    p = parser_of("nginx:escape=none '$remote_addr [$time_local] \"$request\" $status'", NULL,
                  true);
    CU_ASSERT_EQUAL(line(p, "::1 [10/Oct/2023:13:55:36 +0000] \"GET /\\x41 HTTP/1.1\" 200"),
                    PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_PATH, "/\\x41"));
    done(p);
}

static void what_is_no_record_is_skipped(void)
{
    struct parser *p = parser_of("combined", NULL, true);
    static const struct {
        const char *text;
        enum skip skip;
    } rows[] = {{"", SKIP_EMPTY},
                {"   \t", SKIP_EMPTY},
                {"\r", SKIP_EMPTY},
                {"# x", SKIP_COMMENT},
                {"#\r", SKIP_COMMENT}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CU_ASSERT_EQUAL(line(p, rows[i].text), PARSED_SKIPPED);
        CU_ASSERT_EQUAL(skip, rows[i].skip);
    }
    CU_ASSERT_EQUAL(line_bytes(p, "\0\0\0", 3), PARSED_SKIPPED);
    CU_ASSERT_EQUAL(skip, SKIP_EMPTY);
    CU_ASSERT_EQUAL(line_bytes(p, "\0#", 2), PARSED_SKIPPED);
    CU_ASSERT_EQUAL(skip, SKIP_COMMENT);
    done(p);
}

static void nul_bytes_before_and_one_cr_behind_are_dropped(void)
{
    struct parser *p = parser_of("combined", NULL, true);
    static const char text[] = "\0\0" GOOD "\r";
    CU_ASSERT_EQUAL(line_bytes(p, text, sizeof text - 1), PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_USER_AGENT, "curl/8.5.0"));
    CU_ASSERT_TRUE(is(FIELD_CLIENT, "203.0.113.7"));
    static const char two[] = GOOD "\r\r";
    CU_ASSERT_EQUAL(line_bytes(p, two, sizeof two - 1), PARSED_REJECTED);
    static const char bad[] = "\0\0::1 - - [nonsense] \"-\" 200 1 \"-\" \"-\"";
    CU_ASSERT_EQUAL(line_bytes(p, bad, sizeof bad - 1), PARSED_REJECTED);
    CU_ASSERT_EQUAL(at.column, 12); /* counted from the line's first byte */
    done(p);
}

static void lines_over_the_limit_are_too_long(void)
{
    struct parser *p = parser_of("combined", NULL, true);
    size_t n = LINE_BYTES_MAX + 1;
    char *text = malloc(n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'z', n);
    memcpy(text, GOOD, sizeof GOOD - 2);
    text[n - 1] = '"';
    CU_ASSERT_EQUAL(line_bytes(p, text, n), PARSED_REJECTED);
    CU_ASSERT_EQUAL(reject, REJECT_TOO_LONG);
    text[n - 2] = '"';
    CU_ASSERT_EQUAL(line_bytes(p, text, n - 1), PARSED_RECORD);
    free(text);
    done(p);
}

static void formats_are_tried_in_order_and_the_first_reason_stands(void)
{
    struct parser *p = parser_of("combined", "common", true);
    CU_ASSERT_EQUAL(line(p, GOOD), PARSED_RECORD);
    CU_ASSERT_EQUAL(parser_last_format(p), 0);
    CU_ASSERT_EQUAL(line(p, "::1 - - [10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 200 612"),
                    PARSED_RECORD);
    CU_ASSERT_EQUAL(parser_last_format(p), 1);
    CU_ASSERT_TRUE(absent(FIELD_USER_AGENT));
    CU_ASSERT_EQUAL(line(p, "::1 - - [10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 2000 612"),
                    PARSED_REJECTED);
    CU_ASSERT_EQUAL(reject, REJECT_BAD_FORMAT);
    done(p);
}

static void days_follow_the_zone_or_the_line(void)
{
    static const char text[] = "::1 - - [31/Dec/2023:20:00:00 -0800] \"-\" 200 1 \"-\" \"-\"";
    struct err e;
    CU_ASSERT_EQUAL_FATAL(zone_set("UTC", &e), 0);
    struct parser *p = parser_of("combined", NULL, false);
    CU_ASSERT_EQUAL(line(p, text), PARSED_RECORD);
    CU_ASSERT_EQUAL(record.day, civil_to_day(2024, 1, 1));
    done(p);
    p = parser_of("combined", NULL, true);
    CU_ASSERT_EQUAL(line(p, text), PARSED_RECORD);
    CU_ASSERT_EQUAL(record.day, civil_to_day(2023, 12, 31));
    CU_ASSERT_EQUAL(record.time_s, 1704081600);
    done(p);
}

static void a_date_without_offset_is_of_the_zone(void)
{
    struct err e;
    CU_ASSERT_EQUAL_FATAL(zone_set("America/New_York", &e), 0);
    struct parser *p = parser_of("apache:%h %t \"%r\"", NULL, false);
    for (int second = 0; second < 60; second++) {
        char text[100];
        snprintf(text, sizeof text, "::1 [10/Oct/2023:23:59:%02d] \"-\"", second);
        CU_ASSERT_EQUAL(line(p, text), PARSED_RECORD);
        CU_ASSERT_EQUAL(record.time_s, 1696996740 + second);
        CU_ASSERT_EQUAL(record.day, 19640);
    }
    /* The hour that clocks skip, and the one behind it. */
    CU_ASSERT_EQUAL(line(p, "::1 [10/Mar/2024:01:59:59] \"-\""), PARSED_RECORD);
    CU_ASSERT_EQUAL(record.time_s, 1710053999);
    CU_ASSERT_EQUAL(line(p, "::1 [10/Mar/2024:03:00:00] \"-\""), PARSED_RECORD);
    CU_ASSERT_EQUAL(record.time_s, 1710054000);
    CU_ASSERT_EQUAL_FATAL(zone_set("UTC", &e), 0);
    done(p);
}

static void durations_become_microseconds(void)
{
    static const struct {
        const char *format, *text;
        int64_t us;
    } rows[] = {
        {"nginx:$msec $status $request_time", "0.016", 16000},
        {"nginx:$msec $status $request_time", "12.5", 12500000},
        {"nginx:$msec $status $request_time", "-", DURATION_NONE},
        {"nginx:$msec $status $request_time", "99999999999999999999", DURATION_NONE},
        {"nginx:$msec $status $request_time", "soon", DURATION_NONE},
        {"apache:%{sec}t %>s %D", "1234", 1234},
        {"apache:%{sec}t %>s %T", "3", 3000000},
        {"apache:%{sec}t %>s %{ms}T", "7", 7000},
        {"apache:%{sec}t %>s %{us}T", "7", 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[100];
        struct parser *p = parser_of(rows[i].format, NULL, true);
        snprintf(text, sizeof text, "1696946136 200 %s", rows[i].text);
        CU_ASSERT_EQUAL(line(p, text), PARSED_RECORD);
        CU_ASSERT_EQUAL(record.duration_us, rows[i].us);
        done(p);
    }
}

static void hosts_lose_their_port_and_parts_make_the_path(void)
{
    struct parser *p = parser_of("nginx:$msec $http_host \"$request_method $request_uri "
                                 "$server_protocol\" $status \"$http_x_forwarded_for\"",
                                 NULL, true);
    CU_ASSERT_EQUAL(line(p, "1696946136.1 a.example:8080 \"GET /a?b HTTP/1.1\" 200 \"::1, ::2\""),
                    PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_HOST, "a.example"));
    CU_ASSERT_TRUE(is(FIELD_PATH, "/a") && is(FIELD_QUERY, "b") && is(FIELD_METHOD, "GET"));
    CU_ASSERT_TRUE(is(FIELD_X_FORWARDED_FOR, "::1, ::2"));
    CU_ASSERT_EQUAL(line(p, "1696946136.1 ::1 \"- - -\" 400 \"-\""), PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_HOST, "::1") && is(FIELD_PATH, "-") && absent(FIELD_METHOD));
    CU_ASSERT_EQUAL(line(p, "1696946136.1 [::1]:80 \"CONNECT x:443 HTTP/1.1\" 400 \"-\""),
                    PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_HOST, "[::1]") && is(FIELD_PATH, "-"));
    done(p);
    p = parser_of("apache:%t %u \"%U\" \"%q\"", NULL, true);
    CU_ASSERT_EQUAL(line(p, "[10/Oct/2023:13:55:36] \"\" \"/a\" \"?b=c\""), PARSED_RECORD);
    CU_ASSERT_TRUE(is(FIELD_PATH, "/a") && is(FIELD_QUERY, "b=c") && is(FIELD_USER, ""));
    CU_ASSERT_EQUAL(line(p, "[10/Oct/2023:13:55:36] - \"/a\" \"\""), PARSED_RECORD);
    CU_ASSERT_TRUE(absent(FIELD_QUERY) && absent(FIELD_USER));
    done(p);
}

/* Lines full of escapes until the scratch is full; after a reset the same line is read. */
static void a_full_scratch_is_told_before_anything_is_lost(void)
{
    struct parser *p = parser_of("combined", NULL, true);
    size_t n = 100000, escaped = 0;
    char *text = malloc(n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'z', n);
    memcpy(text, GOOD, sizeof GOOD - 2);
    memcpy(text + n - 3, "\\t\"", 3);
    unsigned lines = 0;
    while (line_bytes(p, text, n) == PARSED_RECORD && lines < 1000) {
        escaped += record.text[FIELD_USER_AGENT].n;
        lines++;
        CU_ASSERT_EQUAL(record.text[FIELD_USER_AGENT].p[0], 'c');
    }
    CU_ASSERT_TRUE(lines > 2 && lines < 1000 && escaped <= 4 * LINE_BYTES_MAX);
    CU_ASSERT_EQUAL(line_bytes(p, text, n), PARSED_SCRATCH_FULL);
    parser_reset(p);
    CU_ASSERT_EQUAL(line_bytes(p, text, n), PARSED_RECORD);
    free(text);
    done(p);
}

static void a_parser_needs_a_format(void)
{
    struct parser *p;
    struct parser_options options = {NULL, 0, true};
    CU_ASSERT_TRUE(parser_new(&p, &options) < 0);
    CU_ASSERT_PTR_NULL(parser_free(NULL));
}

static const struct test tests[] = {
    TEST(a_line_becomes_a_record),
    TEST(dashes_are_absent_and_requests_that_are_none_are_hits),
    TEST(escapes_are_undone_before_the_request_is_split),
    TEST(what_is_no_record_is_skipped),
    TEST(nul_bytes_before_and_one_cr_behind_are_dropped),
    TEST(lines_over_the_limit_are_too_long),
    TEST(formats_are_tried_in_order_and_the_first_reason_stands),
    TEST(days_follow_the_zone_or_the_line),
    TEST(a_date_without_offset_is_of_the_zone),
    TEST(durations_become_microseconds),
    TEST(hosts_lose_their_port_and_parts_make_the_path),
    TEST(a_full_scratch_is_told_before_anything_is_lost),
    TEST(a_parser_needs_a_format),
    TESTS_END,
};

int main(void)
{
    return tap_run("parser", tests);
}
