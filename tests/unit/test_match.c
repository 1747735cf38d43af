#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse/match_int.h"
#include "tap.h"

/* One line against one format string, on exactly sized heap memory so that a sanitizer sees a read
 * beyond it. */
struct trial {
    struct format *f;
    struct match *m;
    char *line;
    struct slice text[FIELD_COUNT];
    enum reject reject;
    struct reject_at at;
};

static void trial_init(struct trial *t, const char *format)
{
    struct format_spec spec;
    struct err e;
    memset(t, 0, sizeof *t);
    CU_ASSERT_EQUAL_FATAL(format_spec_parse(slice_of(format), &spec, &e), 0);
    CU_ASSERT_EQUAL_FATAL(format_new(&t->f, &spec, &e), 0);
    free(spec.text);
    t->m = malloc(sizeof *t->m);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t->m);
    match_init(t->m);
}

static enum reject trial_bytes(struct trial *t, struct slice line)
{
    free(t->line);
    memset(t->text, 0, sizeof t->text);
    t->line = malloc(line.n ? line.n : 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t->line);
    memcpy(t->line, line.p, line.n);
    t->reject = match_line(t->m, t->f, (struct slice){t->line, line.n}, t->text, &t->at);
    return t->reject;
}

static enum reject trial_line(struct trial *t, const char *line)
{
    return trial_bytes(t, slice_of(line));
}

static bool has(const struct trial *t, enum field f, const char *text)
{
    return t->text[f].p && slice_is(t->text[f], text);
}

static void trial_done(struct trial *t)
{
    free(t->line);
    free(t->m);
    format_free(t->f);
}

#define TAIL "[10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 200 612 \"-\" \"curl/8.5.0\""

static void user_names_may_hold_blanks_and_brackets(void)
{
    static const char *const users[] = {"John Smith", "bob [ops] x", "\"\"", "a\\\"b", "[", ""};
    struct trial t;
    trial_init(&t, "combined");
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        char line[256];
        snprintf(line, sizeof line, "203.0.113.7 - %s " TAIL, users[i]);
        CU_ASSERT_EQUAL(trial_line(&t, line), REJECT_NONE);
        CU_ASSERT_TRUE(has(&t, FIELD_USER, users[i]));
        CU_ASSERT_TRUE(has(&t, FIELD_CLIENT, "203.0.113.7"));
        CU_ASSERT_TRUE(has(&t, FIELD_USER_AGENT, "curl/8.5.0"));
    }
    trial_done(&t);
}

static void a_user_name_swallows_no_other_record(void)
{
    struct trial t;
    trial_init(&t, "combined");
    CU_ASSERT_EQUAL(trial_line(&t, "203.0.113.7 - - [10/Oct/2023:13:5203.0.113.8 - - " TAIL),
                    REJECT_BAD_DATE);
    CU_ASSERT_EQUAL(trial_line(&t, "203.0.113.7 - a\"b " TAIL), REJECT_BAD_FORMAT);
    char line[600];
    memset(line, 'x', sizeof line);
    memcpy(line, "203.0.113.7 - ", 14);
    strcpy(line + 14 + USER_BYTES_MAX, " " TAIL);
    CU_ASSERT_EQUAL(trial_line(&t, line), REJECT_NONE);
    line[14 + USER_BYTES_MAX] = 'x';
    strcpy(line + 14 + USER_BYTES_MAX + 1, " " TAIL);
    CU_ASSERT_EQUAL(trial_line(&t, line), REJECT_BAD_FORMAT);
    trial_done(&t);
}

/* The closing quote of the agent moves over all places of a vector and its rest. */
static void quoted_values_end_at_the_first_free_quote(void)
{
    struct trial t;
    trial_init(&t, "combined");
    for (int n = 0; n < 70; n++) {
        char line[400], agent[100];
        memset(agent, 'x', sizeof agent);
        agent[n] = 0;
        snprintf(line, sizeof line,
                 "::1 - - [10/Oct/2023:13:55:36 +0000] \"%s\" 200 612 \"\" \"%s\\\"%s\\\\\"", agent,
                 agent, agent);
        CU_ASSERT_EQUAL_FATAL(trial_line(&t, line), REJECT_NONE);
        CU_ASSERT_EQUAL_FATAL(t.text[FIELD_USER_AGENT].n, (size_t) (2 * n + 4));
        CU_ASSERT_EQUAL_FATAL(t.m->spare[SLOT_REQUEST - FIELD_COUNT].n, (size_t) n);
        CU_ASSERT_TRUE_FATAL(t.m->backslash);
    }
    CU_ASSERT_EQUAL(trial_line(&t, "::1 - - [10/Oct/2023:13:55:36 +0000] \"GET \"/ HTTP/1.1\" 200 "
                                   "612 \"-\" \"-\""),
                    REJECT_BAD_FORMAT);
    CU_ASSERT_EQUAL(trial_line(&t,
                               "::1 - - [10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 200 612 "
                               "\"a\"b\" \"-\""),
                    REJECT_BAD_FORMAT);
    trial_done(&t);
}

static void a_line_cut_inside_its_last_quoted_value_counts(void)
{
    static const char *const ends[] = {"", "c", "curl/8.", "curl/8.5.0\\", "curl\\\""};
    struct trial t;
    trial_init(&t, "combined");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char line[256];
        snprintf(line, sizeof line,
                 "::1 - - [10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 200 612 \"-\" \"%s",
                 ends[i]);
        CU_ASSERT_EQUAL(trial_line(&t, line), REJECT_NONE);
        CU_ASSERT_TRUE(has(&t, FIELD_USER_AGENT, ends[i]));
        CU_ASSERT_TRUE(t.m->whole);
    }
    /* Cut anywhere before that, it is refused. */
    static const char whole[] = "::1 - - [10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 200 612 "
                                "\"-\" ";
    for (size_t n = 1; n < sizeof whole; n++)
        CU_ASSERT_EQUAL(trial_bytes(&t, (struct slice){whole, n}), REJECT_BAD_FORMAT);
    trial_done(&t);
}

static void more_text_counts_behind_a_blank_only(void)
{
    struct trial t;
    trial_init(&t, "combined");
    CU_ASSERT_EQUAL(trial_line(&t, "::1 - - " TAIL " 0.003 - \"x\""), REJECT_NONE);
    CU_ASSERT_FALSE(t.m->whole);
    CU_ASSERT_EQUAL(trial_line(&t, "::1 - - " TAIL), REJECT_NONE);
    CU_ASSERT_TRUE(t.m->whole);
    CU_ASSERT_EQUAL(trial_line(&t, "::1 - - " TAIL "x"), REJECT_BAD_FORMAT);
    CU_ASSERT_STRING_EQUAL(t.at.field, "line");
    trial_done(&t);
    trial_init(&t, "common");
    CU_ASSERT_EQUAL(trial_line(&t, "::1 - - " TAIL), REJECT_NONE);
    CU_ASSERT_FALSE(t.m->whole);
    CU_ASSERT_EQUAL(t.m->bytes, 612);
    trial_done(&t);
}

static void the_wrong_value_is_named_with_its_column(void)
{
    static const struct {
        const char *time, *status, *bytes;
        enum reject reject;
        const char *field;
        uint32_t column;
    } rows[] = {
        {"31/Nov/2023:13:55:36 +0000", "200", "1", REJECT_BAD_DATE, "time", 10},
        {"-", "2OO", "-1", REJECT_BAD_DATE, "time", 10},
        {"10/Oct/2023:13:55:36 +0000", "1000", "1", REJECT_BAD_STATUS, "status", 55},
        {"10/Oct/2023:13:55:36 +0000", "+200", "1e3", REJECT_BAD_STATUS, "status", 55},
        {"10/Oct/2023:13:55:36 +0000", "OK", "1", REJECT_BAD_STATUS, "status", 55},
        {"10/Oct/2023:13:55:36 +0000", "200", "-7", REJECT_BAD_BYTES, "bytes", 59},
        {"10/Oct/2023:13:55:36 +0000", "200", "9223372036854775808", REJECT_BAD_BYTES, "bytes", 59},
        {"10/Oct/2023:13:55:36 +0000", "200", "99999999999999999999", REJECT_BAD_BYTES, "bytes",
         59},
        {"10/Oct/2023:13:55:36 +0000", "200", "0x10", REJECT_BAD_BYTES, "bytes", 59},
    };
    struct trial t;
    trial_init(&t, "combined");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[256];
        snprintf(line, sizeof line, "::1 - - [%s] \"GET / HTTP/1.1\" %s %s \"-\" \"-\"",
                 rows[i].time, rows[i].status, rows[i].bytes);
        CU_ASSERT_EQUAL(trial_line(&t, line), rows[i].reject);
        CU_ASSERT_STRING_EQUAL(t.at.field, rows[i].field);
        CU_ASSERT_EQUAL(t.at.column, rows[i].column);
    }
    trial_done(&t);
}

static void status_and_bytes_are_read(void)
{
    static const struct {
        const char *text;
        int status;
        uint64_t bytes;
    } rows[] = {
        {"000 0", 0, 0},
        {"0 1", 0, 1},
        {"99 12345678", 99, 12345678},
        {"999 123456789", 999, 123456789},
        {"- -", STATUS_NONE, 0},
        {"200 9223372036854775807", 200, INT64_MAX},
        {"200 1234567", 200, 1234567},
        {"200 0000000000000000012", 200, 12},
        {"200 000000000000000000000000000612", 200, 612},
    };
    struct trial t;
    trial_init(&t, "common");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const char *const ends[] = {"", " \"more text behind\""};
        for (int k = 0; k < 2; k++) {
            char line[256];
            snprintf(line, sizeof line, "::1 - - [10/Oct/2023:13:55:36 +0000] \"-\" %s%s",
                     rows[i].text, ends[k]);
            CU_ASSERT_EQUAL(trial_line(&t, line), REJECT_NONE);
            CU_ASSERT_EQUAL(t.m->status, rows[i].status);
            CU_ASSERT_EQUAL(t.m->bytes, rows[i].bytes);
        }
    }
    trial_done(&t);
}

static void hosts_and_ports_of_any_kind_are_cut(void)
{
    struct trial t;
    trial_init(&t, "vhost_combined");
    CU_ASSERT_EQUAL(trial_line(&t, "[2001:db8::1]:443 ::1 - - " TAIL), REJECT_NONE);
    CU_ASSERT_TRUE(has(&t, FIELD_HOST, "[2001:db8::1]"));
    CU_ASSERT_EQUAL(trial_line(&t, "www:8080 ::1 - - " TAIL), REJECT_NONE);
    CU_ASSERT_TRUE(has(&t, FIELD_HOST, "www"));
    CU_ASSERT_EQUAL(trial_line(&t, "203.0.113.7 - - " TAIL), REJECT_BAD_FORMAT);
    trial_done(&t);
}

static void values_without_quotes_end_where_the_rest_fits(void)
{
    struct trial t;
    trial_init(&t, "nginx:$remote_addr|$time_local|$request|$status|$body_bytes_sent|"
                   "$http_referer|$http_user_agent");
    CU_ASSERT_EQUAL(trial_line(&t, "::1|10/Oct/2023:13:55:36 +0000|GET /a|b HTTP/1.1|200|5|-|x|y"),
                    REJECT_NONE);
    CU_ASSERT_TRUE(slice_is(t.m->spare[SLOT_REQUEST - FIELD_COUNT], "GET /a|b HTTP/1.1"));
    CU_ASSERT_TRUE(has(&t, FIELD_USER_AGENT, "x|y"));
    trial_done(&t);
    trial_init(&t, "nginx:escape=none '$remote_addr [$time_local] \"$request\" $status "
                   "\"$http_user_agent\"'");
    CU_ASSERT_EQUAL(
        trial_line(&t, "::1 [10/Oct/2023:13:55:36 +0000] \"GET /\" x \\\" 200 \"q\"a\""),
        REJECT_NONE);
    CU_ASSERT_TRUE(slice_is(t.m->spare[SLOT_REQUEST - FIELD_COUNT], "GET /\" x \\"));
    CU_ASSERT_TRUE(has(&t, FIELD_USER_AGENT, "q\"a"));
    trial_done(&t);
    trial_init(&t, "nginx:$remote_addr [$time_local] $status $request_time $upstream_response_time "
                   "\"$http_user_agent\"");
    CU_ASSERT_EQUAL(trial_line(&t, "::1 [10/Oct/2023:13:55:36 +0000] 200 0.01 -, 0.003 : - \"x\""),
                    REJECT_NONE);
    CU_ASSERT_TRUE(has(&t, FIELD_DURATION, "0.01"));
    CU_ASSERT_TRUE(has(&t, FIELD_USER_AGENT, "x"));
    trial_done(&t);
}

static void the_last_value_ends_at_a_blank_if_it_holds_none(void)
{
    struct trial t;
    trial_init(&t, "nginx:$status $time_local");
    CU_ASSERT_EQUAL(trial_line(&t, "200 10/Oct/2023:13:55:36 +0000"), REJECT_NONE);
    CU_ASSERT_EQUAL(trial_line(&t, "200 10/Oct/2023:13:55:36 +0000 more of it"), REJECT_NONE);
    CU_ASSERT_TRUE(has(&t, FIELD_TIME, "10/Oct/2023:13:55:36 +0000"));
    CU_ASSERT_EQUAL(trial_line(&t, "200 1696946136.123 more of it"), REJECT_NONE);
    CU_ASSERT_TRUE(has(&t, FIELD_TIME, "1696946136.123"));
    CU_ASSERT_EQUAL(trial_line(&t, "200 yesterday"), REJECT_BAD_DATE);
    trial_done(&t);
    trial_init(&t, "apache:%t %h");
    CU_ASSERT_EQUAL(trial_line(&t, "[10/Oct/2023:13:55:36 +0000] ::1 more"), REJECT_NONE);
    CU_ASSERT_TRUE(has(&t, FIELD_CLIENT, "::1"));
    trial_done(&t);
}

static void a_date_in_pieces_is_judged_as_a_whole(void)
{
    struct trial t;
    trial_init(&t, "apache:%h [%{%d %b %Y %T}t.%{msec_frac}t %{%z}t] \"%r\" %>s");
    CU_ASSERT_EQUAL(trial_line(&t, "::1 [10 oct 2023 23:55:36.123 -0700] \"-\" 200"), REJECT_NONE);
    CU_ASSERT_EQUAL(t.m->time.time_s, 1697007336);
    CU_ASSERT_EQUAL(trial_line(&t, "::1 [31 Jun 2023 23:55:36.123 -0700] \"-\" 200"),
                    REJECT_BAD_DATE);
    CU_ASSERT_EQUAL(t.at.column, 6);
    CU_ASSERT_EQUAL(trial_line(&t, "::1 [10 oct 2023 23:55.123 -0700] \"-\" 200"), REJECT_BAD_DATE);
    CU_ASSERT_EQUAL(trial_line(&t, "::1 [10 oct 2023 23:55:36.12 -0700] \"-\" 200"),
                    REJECT_BAD_FORMAT);
    trial_done(&t);
}

/* A value that could end at each of a quarter million places: the tries run out, the answer stays.
 */
/* The same format without its short cuts. */
static void forget_usual(struct format *f)
{
    for (unsigned i = 0; i < f->n_steps; i++)
        f->steps[i].usual = USUAL_NONE;
}

static bool same_slice(struct slice a, struct slice b)
{
    return (a.p == NULL) == (b.p == NULL) && slice_equal(a, b);
}

static bool same_outcome(const struct trial *a, const struct trial *b)
{
    if (a->reject != b->reject)
        return false;
    if (a->reject != REJECT_NONE)
        return a->at.column == b->at.column && strcmp(a->at.field, b->at.field) == 0;
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if (!same_slice(a->text[i], b->text[i]))
            return false;
    return same_slice(a->m->spare[0], b->m->spare[0]) && a->m->status == b->m->status &&
           a->m->bytes == b->m->bytes && a->m->time.time_s == b->m->time.time_s &&
           a->m->whole == b->m->whole && a->m->backslash == b->m->backslash;
}

static void usual_values_are_read_as_all_others_are(void)
{
    static const char *const formats[] = {
        "combined", "vhost_common", "apache:%a %u %t \"%r\" %>s %b %D",
        "nginx:$remote_addr, $time_local|$status|$body_bytes_sent|$http_user_agent"};
    static const char *const lines[] = {
        "203.0.113.9 - - " TAIL, "example.org:443 2001:db8::7 - ann " TAIL,
        "203.0.113.9 ann [10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 200 612 15",
        "203.0.113.9, 10/Oct/2023:13:55:36 +0000|200|1234567|curl/8.5.0"};
    static const char bytes[] = " \"\\[]-,:/|019+\t\x80"
                                "Z";
    uint32_t draw = 1, accepted = 0, refused = 0;
    for (unsigned k = 0; k < sizeof formats / sizeof *formats; k++) {
        struct trial usual, other;
        trial_init(&usual, formats[k]);
        trial_init(&other, formats[k]);
        forget_usual(other.f);
        for (unsigned i = 0; i < 20000; i++) {
            char line[160];
            size_t n = strlen(lines[k]);
            memcpy(line, lines[k], n);
            for (unsigned j = 0; j < i % 4; j++) {
                draw = draw * 1664525 + 1013904223;
                line[(draw >> 8) % n] = bytes[(draw >> 20) % (sizeof bytes - 1)];
            }
            n -= i % 7 == 6 ? (draw >> 4) % n : 0;
            trial_bytes(&usual, (struct slice){line, n});
            trial_bytes(&other, (struct slice){line, n});
            bool same = same_outcome(&usual, &other);
            CU_ASSERT_TRUE(same);
            if (!same)
                printf("# %s: %.*s\n", formats[k], (int) n, line);
            accepted += usual.reject == REJECT_NONE;
            refused += usual.reject != REJECT_NONE;
        }
        trial_done(&usual);
        trial_done(&other);
    }
    CU_ASSERT(accepted > 20000);
    CU_ASSERT(refused > 5000);
}

static void hostile_lines_cost_bounded_tries(void)
{
    struct trial t;
    size_t n = 256 * 1024;
    char *line = malloc(n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    trial_init(&t, "nginx:$a $b $c $d $e $f [$msec] $status");
    for (size_t i = 0; i < n; i++)
        line[i] = " ["[i % 2];
    line[0] = 'x';
    CU_ASSERT_EQUAL(trial_bytes(&t, (struct slice){line, n}), REJECT_BAD_FORMAT);
    CU_ASSERT_EQUAL(t.m->tries, 0);
    trial_done(&t);
    free(line);
}

static const struct test tests[] = {
    TEST(user_names_may_hold_blanks_and_brackets),
    TEST(a_user_name_swallows_no_other_record),
    TEST(quoted_values_end_at_the_first_free_quote),
    TEST(a_line_cut_inside_its_last_quoted_value_counts),
    TEST(more_text_counts_behind_a_blank_only),
    TEST(the_wrong_value_is_named_with_its_column),
    TEST(status_and_bytes_are_read),
    TEST(hosts_and_ports_of_any_kind_are_cut),
    TEST(values_without_quotes_end_where_the_rest_fits),
    TEST(the_last_value_ends_at_a_blank_if_it_holds_none),
    TEST(a_date_in_pieces_is_judged_as_a_whole),
    TEST(usual_values_are_read_as_all_others_are),
    TEST(hostile_lines_cost_bounded_tries),
    TESTS_END,
};

int main(void)
{
    return tap_run("match", tests);
}
