#include "parse/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static struct err why;

static struct format *compiled(const char *text)
{
    struct format_spec spec;
    struct format *f = NULL;
    why.text[0] = 0;
    if (format_spec_parse(slice_of(text), &spec, &why) < 0)
        return NULL;
    int r = format_new(&f, &spec, &why);
    free(spec.text);
    return r == 0 ? f : NULL;
}

/* The steps as one text: "client| |user| [|...". */
static const char *steps(const char *text)
{
    static char out[1024];
    struct format *f = compiled(text);
    const char *field;
    struct slice literal;
    size_t at = 0;
    for (size_t i = 0; f && format_step(f, i, &field, &literal); i++)
        at += (size_t) snprintf(out + at, sizeof out - at, "%s|%.*s|", field, (int) literal.n,
                                literal.p);
    out[at] = 0;
    format_free(f);
    return out;
}

static bool refused(const char *text, const char *part)
{
    struct format *f = compiled(text);
    bool ok = !f && strstr(why.text, part);
    if (!ok)
        printf("# %s: %s\n", text, f ? "compiled" : why.text);
    format_free(f);
    return ok;
}

static void a_preset_is_its_steps(void)
{
    CU_ASSERT_STRING_EQUAL(steps("common"), "client| |skipped| |user| [|time|] \"|request|\" |"
                                            "status| |bytes||");
    CU_ASSERT_STRING_EQUAL(steps("vhost_common"), "host|:|skipped| |client| |skipped| |user| [|"
                                                  "time|] \"|request|\" |status| |bytes||");
}

static void every_preset_compiles_and_is_named(void)
{
    size_t n = 0;
    for (; preset_at(n); n++) {
        struct format *f = compiled(preset_at(n)->name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        CU_ASSERT_STRING_EQUAL(format_name(f), preset_at(n)->name);
        CU_ASSERT_PTR_NOT_NULL(strstr(preset_names(), preset_at(n)->name));
        CU_ASSERT_TRUE(format_has(f, FIELD_TIME));
        CU_ASSERT_TRUE(format_has(f, FIELD_PATH));
        format_free(f);
    }
    CU_ASSERT_PTR_NULL(preset_at(n));
    CU_ASSERT_PTR_NULL(preset_at(n + 1));
    CU_ASSERT_TRUE(n >= 4);
}

static void a_format_knows_its_fields(void)
{
    struct format *f = compiled("common");
    CU_ASSERT_TRUE(format_has(f, FIELD_CLIENT));
    CU_ASSERT_TRUE(format_has(f, FIELD_QUERY));
    CU_ASSERT_FALSE(format_has(f, FIELD_USER_AGENT));
    CU_ASSERT_FALSE(format_has(f, FIELD_DURATION));
    CU_ASSERT_FALSE(format_has(f, FIELD_X_FORWARDED_FOR));
    format_free(f);
    f = compiled("nginx:$remote_addr [$time_local] $request_time \"$http_x_forwarded_for\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_TRUE(format_has(f, FIELD_DURATION));
    CU_ASSERT_TRUE(format_has(f, FIELD_X_FORWARDED_FOR));
    CU_ASSERT_FALSE(format_has(f, FIELD_PATH));
    format_free(f);
}

#define NGINX_STEPS "client| - |user| [|time|] \"|request|\" |status||"

static void all_ways_to_write_a_log_format_mean_the_same(void)
{
    static const char *const ways[] = {
        "nginx:$remote_addr - $remote_user [$time_local] \"$request\" $status",
        "nginx:'$remote_addr - $remote_user [$time_local] ' '\"$request\" $status'",
        "nginx:log_format main '$remote_addr - $remote_user '\n   # comment\n"
        "   '[$time_local] \"$request\" $status';",
        "nginx:log_format x escape=default \"${remote_addr} - $remote_user [$time_local] "
        "\\\"$request\\\" $status\";",
        "nginx:escape=default '$remote_addr - $remote_user [$time_local] \"$request\" $status'",
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        CU_ASSERT_STRING_EQUAL(steps(ways[i]), NGINX_STEPS);
}

#define APACHE_STEPS "client| [|time|] \"|request|\" |status| |bytes||"

static void all_ways_to_write_a_LogFormat_mean_the_same(void)
{
    static const char *const ways[] = {
        "apache:%h %t \"%r\" %>s %b",
        "apache:%h %t \\\"%r\\\" %>s %b",
        "apache:\"%h %t \\\"%r\\\" %>s %b\"",
        "apache:LogFormat \"%h %t \\\"%r\\\" %>s %b\" nick",
        "apache:CustomLog \"logs/a b.log\" \"%h %t \\\"%r\\\" %>s %b\\n\" env=!x",
        "apache:%h %t \"%!400,501<r\" %200>s %b",
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        CU_ASSERT_STRING_EQUAL(steps(ways[i]), APACHE_STEPS);
}

static void of_several_variables_for_a_field_the_best_stands(void)
{
    CU_ASSERT_STRING_EQUAL(steps("nginx:$bytes_sent $body_bytes_sent $msec $status"),
                           "skipped| |bytes| |time| |status||");
    CU_ASSERT_STRING_EQUAL(steps("apache:%s %>s %t %h"), "skipped| |status| [|time|] |client||");
    CU_ASSERT_STRING_EQUAL(steps("nginx:$http_x_real_ip $remote_addr $msec $time_local"),
                           "skipped| |client| |time| |skipped||");
}

static void the_parts_of_a_target_are_one(void)
{
    CU_ASSERT_STRING_EQUAL(steps("nginx:$msec \"$uri$is_args$args\" $status"),
                           "time| \"|target|\" |status||");
    CU_ASSERT_STRING_EQUAL(steps("apache:%t \"%U%q\" %>s"), "time|] \"|target|\" |status||");
}

static void a_time_may_be_in_pieces(void)
{
    CU_ASSERT_STRING_EQUAL(steps("apache:%h [%{%Y-%m-%dT%H:%M:%S}t.%{msec_frac}t%{%z}t] \"%r\""),
                           "client| [|time|.|skipped||time|] \"|request|\"|");
    CU_ASSERT_STRING_EQUAL(steps("apache:%{sec}t.%{msec_frac}t %h"), "time|.|skipped| |client||");
}

static void errors_name_column_variable_and_expectation(void)
{
    CU_ASSERT_TRUE(refused("nginx:$remote_addr$status $time_local", "column 13: $status follows "
                                                                    "$remote_addr directly"));
    CU_ASSERT_TRUE(refused("nginx:a $ b", "column 3: a $ without a variable"));
    CU_ASSERT_TRUE(refused("nginx:${msec", "expected $name or ${name}"));
    CU_ASSERT_TRUE(refused("nginx:log_format x '$msec", "column 14: the quote is not closed"));
    CU_ASSERT_TRUE(refused("nginx:escape=odd '$msec'", "column 8: escape=odd"));
    CU_ASSERT_TRUE(refused("nginx:$remote_addr $status", "the format has no time"));
    CU_ASSERT_TRUE(refused("nginx:$msec $foo", "neither a client nor a request nor a status"));
    CU_ASSERT_TRUE(refused("apache:%h %t %y", "column 7: %y is no directive"));
    CU_ASSERT_TRUE(refused("apache:%h %t %{x", "a } that closes"));
    CU_ASSERT_TRUE(refused("apache:%h %t %", "a letter behind it"));
    CU_ASSERT_TRUE(refused("apache:%h %{%Q}t", "of strftime's"));
    CU_ASSERT_TRUE(refused("apache:%h %{%H:%M}t", "no whole date"));
    CU_ASSERT_TRUE(refused("apache:%h\\n%t", "line feed in its middle"));
    CU_ASSERT_TRUE(refused("apache:LogFormat combined", "between two quotes"));
    CU_ASSERT_TRUE(refused("combind", "no such preset"));
}

static void json_and_stream_formats_are_refused_with_a_reason(void)
{
    CU_ASSERT_TRUE(refused("nginx:log_format j escape=json '{\"t\":\"$msec\"}';", "JSON map"));
    CU_ASSERT_TRUE(refused("nginx:$remote_addr [$time_local] $protocol $status $session_time",
                           "stream module"));
    struct format *f = compiled("nginx:$remote_addr [$time_local] \"$request\" $protocol $status");
    CU_ASSERT_PTR_NOT_NULL(f); /* the name may come from a map in the http module */
    format_free(f);
}

static void too_many_and_too_long_are_refused(void)
{
    static char text[20000];
    size_t at = (size_t) snprintf(text, sizeof text, "nginx:$msec $status");
    for (int i = 0; i < 70; i++)
        at += (size_t) snprintf(text + at, sizeof text - at, " $x%d", i);
    CU_ASSERT_TRUE(refused(text, "one variable too many"));
    memset(text + at, 'x', 9000);
    text[at + 9000] = 0;
    CU_ASSERT_TRUE(refused(text, "longer than 8192 bytes"));
}

static void specs_are_told_apart(void)
{
    struct format_spec spec;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(format_spec_parse(slice_of("auto"), &spec, &e), 0);
    CU_ASSERT_EQUAL(spec.kind, FORMAT_AUTO);
    struct format *f;
    CU_ASSERT_TRUE(format_new(&f, &spec, &e) < 0);
    free(spec.text);
    CU_ASSERT_EQUAL_FATAL(format_spec_parse(slice_of("apache:%h"), &spec, &e), 0);
    CU_ASSERT_EQUAL(spec.kind, FORMAT_APACHE);
    CU_ASSERT_STRING_EQUAL(spec.text, "%h");
    free(spec.text);
    CU_ASSERT_TRUE(format_spec_parse(slice_of(""), &spec, &e) < 0);
}

static void fields_have_names_and_are_found_by_them(void)
{
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        enum field f = FIELD_COUNT;
        CU_ASSERT_TRUE(field_find(slice_of(field_name((enum field) i)), &f));
        CU_ASSERT_EQUAL(f, i);
    }
    enum field f;
    CU_ASSERT_FALSE(field_find(slice_of("user_agen"), &f));
    for (unsigned i = 0; i < REJECT_COUNT; i++)
        CU_ASSERT_PTR_NOT_NULL(reject_name((enum reject) i));
    CU_ASSERT_STRING_EQUAL(reject_name(REJECT_BAD_DATE), "bad_date");
    CU_ASSERT_STRING_EQUAL(skip_name(SKIP_COMMENT), "comment");
}

static const struct test tests[] = {
    TEST(a_preset_is_its_steps),
    TEST(every_preset_compiles_and_is_named),
    TEST(a_format_knows_its_fields),
    TEST(all_ways_to_write_a_log_format_mean_the_same),
    TEST(all_ways_to_write_a_LogFormat_mean_the_same),
    TEST(of_several_variables_for_a_field_the_best_stands),
    TEST(the_parts_of_a_target_are_one),
    TEST(a_time_may_be_in_pieces),
    TEST(errors_name_column_variable_and_expectation),
    TEST(json_and_stream_formats_are_refused_with_a_reason),
    TEST(too_many_and_too_long_are_refused),
    TEST(specs_are_told_apart),
    TEST(fields_have_names_and_are_found_by_them),
    TESTS_END,
};

int main(void)
{
    return tap_run("format", tests);
}
