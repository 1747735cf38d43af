#include <string.h>

#include "parse/parser.h"
#include "parse/unescape_int.h"
#include "tap.h"

/* Each row: a request as logged, and what it says; "" is an absent part. */
static const struct {
    const char *request, *method, *path, *query, *protocol;
} rows[] = {
    {"GET / HTTP/1.1", "GET", "/", "", "HTTP/1.1"},
    {"  GET /a?b=c  HTTP/1.1 ", "GET", "/a", "b=c", "HTTP/1.1"},
    {"Post /x HTTP/2", "Post", "/x", "", "HTTP/2"},
    {"BREW-x.1 /pot HTTP/1.1", "BREW-x.1", "/pot", "", "HTTP/1.1"},
    {"M-SEARCH * HTTP/1.1", "M-SEARCH", "*", "", "HTTP/1.1"},
    {"GET /annual report.pdf HTTP/1.1", "GET", "/annual report.pdf", "", "HTTP/1.1"},
    {"GET /a HTTP/1.1\rf HTTP/1.1", "GET", "/a HTTP/1.1\rf", "", "HTTP/1.1"},
    {"GET /odd HTTP/10.22", "GET", "/odd", "", "HTTP/10.22"},
    {"GET http://shop.example/a?b HTTP/1.1", "GET", "/a", "b", "HTTP/1.1"},
    {"GET HTTPS://Shop.example:8443/Ab HTTP/1.1", "GET", "/Ab", "", "HTTP/1.1"},
    {"GET http://h.example?x=1 HTTP/1.1", "GET", "/", "x=1", "HTTP/1.1"},
    {"GET //evil.example/x HTTP/1.1", "GET", "//evil.example/x", "", "HTTP/1.1"},
    {"GET /a?b#c HTTP/1.1", "GET", "/a", "b", "HTTP/1.1"},
    {"GET /a#b?c HTTP/1.1", "GET", "/a", "", "HTTP/1.1"},
    {"GET ?a=1 HTTP/1.1", "GET", "/", "a=1", "HTTP/1.1"},
    {"GET /%2e%2E/%41?%3f HTTP/1.1", "GET", "/%2e%2E/%41", "%3f", "HTTP/1.1"},
    {"GET :@example.net::80/r HTTP/1.1", "GET", ":@example.net::80/r", "", "HTTP/1.1"},
    {"CONNECT [2001:db8::1]:443 HTTP/1.1", "CONNECT", "-", "", "HTTP/1.1"},
    {"GET /images/", "GET", "/images/", "", ""},
    {"GET http://h.example/old", "GET", "/old", "", ""},
};

static bool is(struct slice s, const char *text)
{
    return s.n == strlen(text) && (s.n == 0 || memcmp(s.p, text, s.n) == 0);
}

static void requests_are_split(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct record r = {0};
        CU_ASSERT_TRUE(request_split(slice_of(rows[i].request), &r));
        CU_ASSERT_TRUE(is(r.text[FIELD_METHOD], rows[i].method));
        CU_ASSERT_TRUE(is(r.text[FIELD_PATH], rows[i].path));
        CU_ASSERT_TRUE(is(r.text[FIELD_QUERY], rows[i].query));
        CU_ASSERT_TRUE(is(r.text[FIELD_PROTOCOL], rows[i].protocol));
    }
}

static void what_is_no_request_has_the_path_dash(void)
{
    static const char *const others[] = {
        "",
        " ",
        "-",
        "- - -",
        "\x16\x03\x01",
        "HELP",
        "GET",
        "GET HTTP/1.1",
        "GET  HTTP/1.1",
        "GET\t/\tHTTP/1.1",
        "  HTTP/1.1",
        "<BADREQ>",
        "GET / FTP/1.0",
        "GET / HTTP/",
        "GET / HTTP/1.",
        "get /old",
        "GET /a b",
        "GET - HTTP/1.1",
        "- http://localhost HTTP/1.0",
        "123 / HTTP/1.1",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct record r = {0};
        CU_ASSERT_FALSE(request_split(slice_of(others[i]), &r));
        CU_ASSERT_TRUE(is(r.text[FIELD_PATH], "-"));
        CU_ASSERT_PTR_NULL(r.text[FIELD_METHOD].p);
        CU_ASSERT_PTR_NULL(r.text[FIELD_TARGET].p);
    }
}

static void an_empty_query_is_there_and_an_absent_one_is_not(void)
{
    struct slice query;
    CU_ASSERT_TRUE(is(target_path(slice_of("/?"), &query), "/"));
    CU_ASSERT_PTR_NOT_NULL(query.p);
    CU_ASSERT_EQUAL(query.n, 0);
    CU_ASSERT_TRUE(is(target_path(slice_of("/"), &query), "/"));
    CU_ASSERT_PTR_NULL(query.p);
    CU_ASSERT_TRUE(is(target_path((struct slice){NULL, 0}, &query), "/"));
}

/* Marks at every place of targets up to 70 bytes: the wide and the byte-wise search agree. */
static void a_mark_is_found_wherever_it_stands(void)
{
    for (size_t n = 1; n <= 70; n++) {
        for (size_t at = 0; at < n; at++) {
            char text[70];
            struct slice query;
            memset(text, 'x', sizeof text);
            text[0] = '/';
            text[at] = '?';
            struct slice path = target_path((struct slice){text, n}, &query);
            CU_ASSERT_EQUAL_FATAL(path.n, at ? at : 1);
            CU_ASSERT_EQUAL_FATAL(query.n, n - at - 1);
            text[at] = '#';
            path = target_path((struct slice){text, n}, &query);
            CU_ASSERT_EQUAL_FATAL(path.n, at ? at : 1);
            CU_ASSERT_PTR_NULL_FATAL(query.p);
        }
    }
}

static bool unescapes_to(const char *from, const char *to, size_t n)
{
    char out[64];
    return unescape_backslash(slice_of(from), out) == n && memcmp(out, to, n) == 0;
}

static void escapes_are_undone_once(void)
{
    CU_ASSERT_TRUE(unescapes_to("plain", "plain", 5));
    CU_ASSERT_TRUE(unescapes_to("\\x5Cx41", "\\x41", 4));
    CU_ASSERT_TRUE(unescapes_to("b\\\\x41", "b\\x41", 5));
    CU_ASSERT_TRUE(unescapes_to("\\xc3\\xBC", "\xc3\xbc", 2));
    CU_ASSERT_TRUE(unescapes_to("a\\x00b", "a\0b", 3));
    CU_ASSERT_TRUE(unescapes_to("\\\"\\n\\t\\r\\b\\v\\f\\a", "\"\n\t\r\b\v\f\a", 8));
}

static void unknown_and_cut_escapes_stay(void)
{
    CU_ASSERT_TRUE(unescapes_to("\\q", "\\q", 2));
    CU_ASSERT_TRUE(unescapes_to("\\xg1", "\\xg1", 4));
    CU_ASSERT_TRUE(unescapes_to("a\\x4", "a\\x4", 4));
    CU_ASSERT_TRUE(unescapes_to("a\\", "a\\", 2));
}

static const struct test tests[] = {
    TEST(requests_are_split),
    TEST(what_is_no_request_has_the_path_dash),
    TEST(an_empty_query_is_there_and_an_absent_one_is_not),
    TEST(a_mark_is_found_wherever_it_stands),
    TEST(escapes_are_undone_once),
    TEST(unknown_and_cut_escapes_stay),
    TESTS_END,
};

int main(void)
{
    return tap_run("request", tests);
}
