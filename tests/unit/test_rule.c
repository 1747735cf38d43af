#include "keys/rule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "keys/agent.h"
#include "keys/client.h"
#include "tap.h"

/* A record with everything in it; tests change what they need. */
struct sample {
    struct record record;
    struct rule_view view;
    uint8_t client[16];
};

static void set_client(struct sample *s, const char *text)
{
    s->view.client_text = slice_of(text);
    s->view.client = client_address(s->view.client_text, s->client) ? s->client : NULL;
}

static void set_text(struct sample *s, enum field f, const char *text)
{
    s->record.text[f] = slice_of(text);
}

static void sample_init(struct sample *s)
{
    *s = (struct sample){.record = {.status = 404, .bytes = 2048, .duration_us = 1500000}};
    s->view.record = &s->record;
    s->view.agent_class = AGENT_BOT;
    set_client(s, "203.0.113.7");
    set_text(s, FIELD_CLIENT, "203.0.113.7");
    set_text(s, FIELD_METHOD, "GET");
    set_text(s, FIELD_PATH, "/health/live");
    set_text(s, FIELD_STATUS, "404");
    set_text(s, FIELD_BYTES, "2048");
    set_text(s, FIELD_DURATION, "1.500");
    set_text(s, FIELD_USER_AGENT, "curl/8.5.0");
    set_text(s, FIELD_INPUT, "web");
}

static void expect(const struct sample *s, const char *text, bool expected)
{
    struct rule *r = NULL;
    struct err e = {""};
    int n = rule_parse(&r, slice_of(text), &e);
    CU_ASSERT_EQUAL(n, 0);
    if (n < 0) {
        printf("# %s: %s\n", text, e.text);
        return;
    }
    bool got = rule_match(r, &s->view);
    CU_ASSERT_EQUAL(got, expected);
    if (got != expected)
        printf("# %s: %d\n", text, got);
    rule_free(r);
}

static void yes(const struct sample *s, const char *text)
{
    expect(s, text, true);
}

static void no(const struct sample *s, const char *text)
{
    expect(s, text, false);
}

static void texts_are_exact_or_globs(void)
{
    struct sample s;
    sample_init(&s);
    yes(&s, "path=/health/live");
    no(&s, "path=/health");
    no(&s, "path=/Health/live");
    yes(&s, "path=/health*");
    yes(&s, "path=*live");
    yes(&s, "path=*");
    yes(&s, "path=*h*th*l*e");
    yes(&s, "path=/*/live*");
    no(&s, "path=*/x*");
    no(&s, "path=/health/live*e");
    no(&s, "path=/health/l*live"); /* the tail may not use bytes twice */
    yes(&s, "input=web&method=GET");
    no(&s, "input=web&method=POST");
    set_text(&s, FIELD_PATH, "aXbXb");
    yes(&s, "path=a*Xb");
    yes(&s, "path=a**b");
    no(&s, "path=a*Xb*Xb*b");
}

static void lists_are_or_and_fields_are_and(void)
{
    struct sample s;
    sample_init(&s);
    yes(&s, "path=/ping|/health*");
    yes(&s, "status=200|404&method=GET");
    no(&s, "status=200|304&method=GET");
    yes(&s, "status=200&status=404"); /* the same field again */
    yes(&s, "path=!/ping");
    no(&s, "path=!/health*");
    yes(&s, "path=!/health*|/health/live");
    yes(&s, "path=!/a|!/health/live"); /* not one or not the other */
}

static void an_exclamation_mark_in_front_turns_the_whole_rule(void)
{
    struct sample s;
    sample_init(&s);
    no(&s, "!status=404");
    no(&s, "!status=404&method=GET");
    yes(&s, "!status=404&method=POST");
    yes(&s, "!status=200|304");
    struct rule *r;
    CU_ASSERT_EQUAL_FATAL(rule_parse(&r, slice_of("!status=5xx|404"), NULL), 0);
    CU_ASSERT_STRING_EQUAL(rule_text(r), "!status=5xx|404");
    rule_free(r);
}

static void statuses_have_classes_and_order(void)
{
    struct sample s;
    sample_init(&s);
    yes(&s, "status=404");
    yes(&s, "status=4xx");
    yes(&s, "status=4XX");
    no(&s, "status=5xx");
    yes(&s, "status=>=404");
    no(&s, "status=>404");
    yes(&s, "status=<=404");
    no(&s, "status=<404");
    yes(&s, "status=!200");
    yes(&s, "status=!5xx");
    no(&s, "status=-");
    set_text(&s, FIELD_STATUS, "404.0"); /* as some JSON has it */
    yes(&s, "status=404");
    s.record.status = 9;
    yes(&s, "status=009");
    yes(&s, "status=9");
    s.record.status = STATUS_NONE;
    s.record.text[FIELD_STATUS] = (struct slice){NULL, 0};
    yes(&s, "status=-");
    no(&s, "status=<500");
    no(&s, "status=0");
    yes(&s, "status=!4xx");
}

static void sizes_and_durations_carry_units(void)
{
    struct sample s;
    sample_init(&s);
    yes(&s, "bytes=2048");
    yes(&s, "bytes=2KiB");
    yes(&s, "bytes=<1MiB");
    yes(&s, "bytes=>=2048B");
    no(&s, "bytes=>2KiB");
    no(&s, "bytes=-");
    yes(&s, "duration=>1s");
    yes(&s, "duration=1500ms");
    no(&s, "duration=>1500ms");
    yes(&s, "duration=>=1500ms");
    no(&s, "duration=<1s");
    yes(&s, "duration=<1m");
    no(&s, "duration=-");
    s.record.text[FIELD_BYTES] = (struct slice){NULL, 0};
    s.record.bytes = 0;
    yes(&s, "bytes=-");
    yes(&s, "bytes=0");
    s.record.duration_us = DURATION_NONE;
    yes(&s, "duration=-");
    no(&s, "duration=<1s");
    no(&s, "duration=>1s");
    yes(&s, "duration=!>1s");
}

static void clients_are_addresses_networks_or_names(void)
{
    struct sample s;
    sample_init(&s);
    yes(&s, "client=203.0.113.7");
    yes(&s, "client=::ffff:203.0.113.7");
    yes(&s, "client=203.0.113.0/24");
    no(&s, "client=203.0.112.0/24");
    yes(&s, "client=10.0.0.0/8|203.0.113.7");
    yes(&s, "client=!10.0.0.0/8");
    yes(&s, "client=203.0.*");
    no(&s, "client=-");
    no(&s, "client=*.example.com");
    set_client(&s, "[2001:DB8::5]:80");
    yes(&s, "client=2001:db8::5");
    yes(&s, "client=2001:db8::/32");
    yes(&s, "client=2001:db8:*");
    no(&s, "client=203.0.113.7");
    set_client(&s, "Crawl.Example.COM");
    yes(&s, "client=crawl.example.com");
    yes(&s, "client=CRAWL.example.com");
    yes(&s, "client=*.Example.com");
    yes(&s, "client=c*.example.*");
    no(&s, "client=*.example.org");
    no(&s, "client=0.0.0.0/0|::/0");
    set_client(&s, "");
    yes(&s, "client=-");
    no(&s, "client=!-");
    no(&s, "client=::/0");
}

static void one_number_is_a_range(void)
{
    static const struct {
        const char *text;
        enum field field;
        int64_t least, most;
    } rows[] = {
        {"status=404", FIELD_STATUS, 404, 404},
        {"status=5xx", FIELD_STATUS, 500, 599},
        {"status=>=500", FIELD_STATUS, 500, INT64_MAX},
        {"bytes=<1KiB", FIELD_BYTES, RULE_NUMBER_NONE + 1, 1023},
        {"bytes=<=0", FIELD_BYTES, RULE_NUMBER_NONE + 1, 0},
        {"duration=>1s", FIELD_DURATION, 1000001, INT64_MAX},
        {"agent_class=bot", FIELD_AGENT_CLASS, AGENT_BOT, AGENT_BOT},
    };
    static const char *const others[] = {"status=404|500", "status=!404", "!status=404",
                                         "status=-",       "path=/a",     "status=404&bytes=0"};
    struct rule *r;
    struct rule_range range;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CU_ASSERT_EQUAL_FATAL(rule_parse(&r, slice_of(rows[i].text), NULL), 0);
        CU_ASSERT_TRUE(rule_is_range(r, &range));
        CU_ASSERT(range.field == rows[i].field && range.least == rows[i].least &&
                  range.most == rows[i].most);
        rule_free(r);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_EQUAL_FATAL(rule_parse(&r, slice_of(others[i]), NULL), 0);
        CU_ASSERT_FALSE(rule_is_range(r, &range));
        rule_free(r);
    }
}

static void nothing_is_over_the_greatest_number(void)
{
    struct sample s;
    sample_init(&s);
    s.record.bytes = INT64_MAX;
    expect(&s, "bytes=>9223372036854775807", false);
    expect(&s, "bytes=>=9223372036854775807", true);
    expect(&s, "bytes=>9223372036854775806", true);
    s.record.bytes = 0;
    expect(&s, "bytes=>9223372036854775807", false);
    expect(&s, "bytes=<0", false);
}

static void absent_fields_compare_as_a_dash(void)
{
    struct sample s;
    sample_init(&s);
    yes(&s, "user=-");
    no(&s, "user=!-");
    yes(&s, "referer=*");
    no(&s, "referer=?*");
    set_text(&s, FIELD_USER, "");
    yes(&s, "user=-");
    set_text(&s, FIELD_USER, "-");
    yes(&s, "user=-");
    yes(&s, "agent_class=bot");
    no(&s, "agent_class=human");
    yes(&s, "agent_class=!human");
}

static void the_text_is_canonical_and_reads_back(void)
{
    static const char *const pairs[][2] = {
        {"path=/health*|/ping&status=5xx", "path=/health*|/ping&status=5xx"},
        {"path=/a&status=404&path=/b", "path=/a|/b&status=404"},
        {"path=/a=b?c", "path=/a=b?c"},
        {"path=/a\\&b\\|c\\\\d", "path=/a\\&b\\|c\\\\d"},
        {"path=/a\\b", "path=/a\\\\b"},
        {"path=/a\\", "path=/a\\\\"},
        {"client=!Host.Example|10.0.0.0/8", "client=!host.example|10.0.0.0/8"},
        {"duration=>1s|!<5ms|-", "duration=>1s|!<5ms|-"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct rule *r, *again;
        CU_ASSERT_EQUAL_FATAL(rule_parse(&r, slice_of(pairs[i][0]), NULL), 0);
        CU_ASSERT_STRING_EQUAL(rule_text(r), pairs[i][1]);
        CU_ASSERT_EQUAL_FATAL(rule_parse(&again, slice_of(rule_text(r)), NULL), 0);
        CU_ASSERT_STRING_EQUAL(rule_text(again), pairs[i][1]);
        rule_free(r);
        rule_free(again);
    }
}

static void different_values_never_share_a_text(void)
{
    struct rule *a, *b;
    CU_ASSERT_EQUAL_FATAL(rule_new(&a), 0);
    CU_ASSERT_EQUAL_FATAL(rule_new(&b), 0);
    CU_ASSERT_STRING_EQUAL(rule_text(a), "");
    CU_ASSERT_EQUAL(rule_add(a, slice_of("path"), slice_of("/a|/b&status=404"), NULL), 0);
    CU_ASSERT_EQUAL(rule_add(b, slice_of("path"), slice_of("/a"), NULL), 0);
    CU_ASSERT_EQUAL(rule_add(b, slice_of("path"), slice_of("/b"), NULL), 0);
    CU_ASSERT_EQUAL(rule_add(b, slice_of("status"), slice_of("404"), NULL), 0);
    CU_ASSERT_STRING_EQUAL(rule_text(a), "path=/a\\|/b\\&status=404");
    CU_ASSERT_STRING_EQUAL(rule_text(b), "path=/a|/b&status=404");
    rule_free(a);
    rule_free(b);
}

static void check_refused(const char *text, const char *sentence)
{
    struct rule *r = NULL;
    struct err e = {""};
    CU_ASSERT_EQUAL(rule_parse(&r, slice_of(text), &e), -EINVAL);
    CU_ASSERT_PTR_NULL(r);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, sentence));
    if (!strstr(e.text, sentence))
        printf("# %s: %s\n", text, e.text);
}

static void what_is_wrong_is_named_with_what_was_expected(void)
{
    check_refused("status=6xx", "status: '6xx' is not a status; expected 404, 4xx, >=500 or !200");
    check_refused("status=0xx", "'0xx'");
    check_refused("status=1000", "'1000'");
    check_refused("status=>", "'>'");
    check_refused("status=40*", "'40*'");
    check_refused("status=404|", "status: '' is empty");
    check_refused("status=!", "status: '!' is empty");
    check_refused("bytes=>1MB", "bytes: '>1MB' is not a size; expected 612, >1MiB");
    check_refused("bytes=-1", "'-1'");
    check_refused("duration=>1", "duration: '>1' is not a duration; expected >1s");
    check_refused("duration=>1.5s", "'>1.5s'");
    check_refused("client=192.0.2.0/33", "client: '192.0.2.0/33' is not a network; expected");
    check_refused("client=192.0.2.300", "'192.0.2.300'");
    check_refused("client=2001:db8::12345", "'2001:db8::12345'");
    check_refused("agent_class=robot", "agent_class: 'robot' is not a class of agents; expected "
                                       "human or bot");
    check_refused("agent_class=-", "'-'");
    check_refused("patch=/", "no field 'patch' for a rule; there are client, ");
    check_refused("x_forwarded_for=1.2.3.4", "no field 'x_forwarded_for'");
    check_refused("status", "'status' is no rule; expected FIELD=VALUE");
    check_refused("status=404&", "'' is no rule");
    check_refused("", "'' is no rule");
    check_refused("!", "'' is no rule");
    struct rule *r = NULL;
    CU_ASSERT_EQUAL(rule_parse(&r, SLICE_LITERAL("path=/a\0b"), NULL), -EINVAL);
}

static void a_refused_value_leaves_the_rule_as_it_was(void)
{
    struct rule *r;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(rule_new(&r), 0);
    CU_ASSERT_EQUAL(rule_add(r, slice_of("status"), slice_of("6xx"), &e), -EINVAL);
    CU_ASSERT_STRING_EQUAL(rule_text(r), "");
    CU_ASSERT_EQUAL(rule_add(r, slice_of("status"), slice_of("404"), &e), 0);
    CU_ASSERT_EQUAL(rule_add(r, slice_of("status"), slice_of("9xx"), &e), -EINVAL);
    CU_ASSERT_STRING_EQUAL(rule_text(r), "status=404");
    CU_ASSERT_TRUE(rule_needs(r, FIELD_STATUS));
    CU_ASSERT_FALSE(rule_needs(r, FIELD_CLIENT));
    rule_free(r);
}

static void long_lists_are_kept_whole(void)
{
    struct rule *r;
    struct sample s;
    char value[32];
    sample_init(&s);
    CU_ASSERT_EQUAL_FATAL(rule_new(&r), 0);
    CU_ASSERT_EQUAL(rule_add(r, slice_of("method"), slice_of("GET"), NULL), 0);
    for (int i = 0; i < 3000; i++) {
        snprintf(value, sizeof(value), "10.%d.%d.0/24", i / 250, i % 250);
        CU_ASSERT_EQUAL(rule_add(r, slice_of("client"), slice_of(value), NULL), 0);
    }
    CU_ASSERT_FALSE(rule_match(r, &s.view));
    set_client(&s, "10.11.249.9");
    CU_ASSERT_TRUE(rule_match(r, &s.view));
    CU_ASSERT_EQUAL(rule_add(r, slice_of("method"), slice_of("PUT"), NULL), 0);
    CU_ASSERT(strncmp(rule_text(r), "method=GET|PUT&client=10.0.0.0/24|10.0.1.0/24|", 46) == 0);
    rule_free(r);
}

static const struct test tests[] = {TEST(texts_are_exact_or_globs),
                                    TEST(lists_are_or_and_fields_are_and),
                                    TEST(an_exclamation_mark_in_front_turns_the_whole_rule),
                                    TEST(statuses_have_classes_and_order),
                                    TEST(sizes_and_durations_carry_units),
                                    TEST(clients_are_addresses_networks_or_names),
                                    TEST(one_number_is_a_range),
                                    TEST(nothing_is_over_the_greatest_number),
                                    TEST(absent_fields_compare_as_a_dash),
                                    TEST(the_text_is_canonical_and_reads_back),
                                    TEST(different_values_never_share_a_text),
                                    TEST(what_is_wrong_is_named_with_what_was_expected),
                                    TEST(a_refused_value_leaves_the_rule_as_it_was),
                                    TEST(long_lists_are_kept_whole),
                                    TESTS_END};

int main(void)
{
    return tap_run("rule", tests);
}
