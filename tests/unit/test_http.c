/* What stands before the endpoints: limits, Host, methods, token, origins, slow clients, the end.
 */
#include "http/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http_bench.h"
#include "tap.h"

static struct bench *b;

/* Most tests need nothing special. */
static void start(void)
{
    b = bench_new();
    bench_start(b);
}

static int status_of(const char *bytes)
{
    struct answer a = bench_send(b, bytes, strlen(bytes), false);
    int status = a.status;
    answer_done(&a);
    return status;
}

/* The status of a GET, checked to be a problem that names what was expected. */
static int problem_of(const char *method, const char *target)
{
    char type[256];
    struct answer a = bench_ask(b, method, target);
    int status = a.status;
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Content-Type", type), "application/problem+json");
    CU_ASSERT_EQUAL(answer_number(&a, "status"), status);
    CU_ASSERT(strlen(answer_text(&a, "detail")) > 10);
    CU_ASSERT_STRING_EQUAL(answer_text(&a, "type"), "about:blank");
    answer_done(&a);
    return status;
}

static void get_and_head_give_the_same_headers(void)
{
    char one[256], two[256];
    start();
    struct answer get = bench_ask(b, "GET", "/version"), head = bench_ask(b, "HEAD", "/version");
    CU_ASSERT_EQUAL(get.status, 200);
    CU_ASSERT_EQUAL(head.status, 200);
    CU_ASSERT_EQUAL(head.body_bytes, 0);
    CU_ASSERT_STRING_EQUAL(answer_header(&get, "Content-Length", one),
                           answer_header(&head, "Content-Length", two));
    CU_ASSERT_STRING_EQUAL(answer_header(&get, "Content-Type", one), "application/json");
    CU_ASSERT_STRING_EQUAL(answer_header(&get, "Cache-Control", one), "no-store");
    CU_ASSERT_STRING_EQUAL(answer_header(&get, "X-Content-Type-Options", one), "nosniff");
    CU_ASSERT_STRING_EQUAL(answer_header(&get, "Access-Control-Allow-Origin", one), "");
    CU_ASSERT_FALSE(get.closed);
    answer_done(&get);
    answer_done(&head);
    bench_done(b);
}

static void a_connection_takes_several_requests(void)
{
    static const char two[] =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        "GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    start();
    struct answer a = bench_send(b, two, strlen(two), true);
    CU_ASSERT_EQUAL(a.replies, 2);
    answer_done(&a);
    bench_done(b);
}

static void options_is_204_with_allow(void)
{
    char allow[256];
    start();
    struct answer a = bench_ask(b, "OPTIONS", "/uniques");
    CU_ASSERT_EQUAL(a.status, 204);
    CU_ASSERT_EQUAL(a.body_bytes, 0);
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Allow", allow), "GET, HEAD, OPTIONS");
    answer_done(&a);
    a = bench_ask(b, "OPTIONS", "/seen");
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Allow", allow), "GET, HEAD, OPTIONS, DELETE");
    answer_done(&a);
    a = bench_ask(b, "OPTIONS", "*");
    CU_ASSERT_EQUAL(a.status, 204);
    answer_done(&a);
    CU_ASSERT_EQUAL(problem_of("OPTIONS", "/nothing"), 404);
    bench_done(b);
}

static void other_methods_are_405_with_allow(void)
{
    static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE", "TRACE", "get", "BREW"};
    char allow[256];
    start();
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        struct answer a = bench_ask(b, methods[i], "/uniques");
        CU_ASSERT_EQUAL(a.status, 405);
        CU_ASSERT_STRING_EQUAL(answer_header(&a, "Allow", allow), "GET, HEAD, OPTIONS");
        answer_done(&a);
    }
    struct answer a = bench_ask_with(b, "POST", "/uniques", "Content-Length: 5\r\n");
    CU_ASSERT_EQUAL(a.status, 405);
    CU_ASSERT(a.closed);
    answer_done(&a);
    bench_done(b);
}

static void delete_of_a_key_needs_a_configured_token(void)
{
    start();
    struct answer a = bench_ask(b, "DELETE", "/seen?name=clients&key=192.0.2.1");
    CU_ASSERT_EQUAL(a.status, 403);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_text(&a, "detail"), "token_file"));
    answer_done(&a);
    bench_done(b);
}

static void unknown_paths_are_404_and_are_not_normalised(void)
{
    static const char *const targets[] = {"//x",           "/uniques/", "/..%2funiques",
                                          "/x/../uniques", "//uniques", "/Uniques",
                                          "/%75niques%2f"};
    start();
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
        CU_ASSERT_EQUAL(problem_of("GET", targets[i]), 404);
    struct answer a = bench_ask(b, "GET", "/unique");
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_text(&a, "detail"), "/uniques"));
    answer_done(&a);
    bench_done(b);
}

static void hostile_targets_are_400(void)
{
    static const char *const targets[] = {
        "/%00/../version", "/version?a=x%00y", "/%zz",        "/version?%FF=1", "/%ff",
        "http://evil/",    "version",          "/version?a=%"};
    start();
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
        CU_ASSERT_EQUAL(problem_of("GET", targets[i]), 400);
    CU_ASSERT_EQUAL(problem_of("GET", "/uniques?from=%ff"), 400);
    CU_ASSERT_EQUAL(problem_of("GET", "/uniques?from=%07"), 400);
    bench_done(b);
}

static void what_comes_back_in_a_problem_is_escaped(void)
{
    start();
    struct answer a = bench_ask(b, "GET", "/uniques?from=%e2%80%ae%3Cscript%3E");
    CU_ASSERT_EQUAL(a.status, 400);
    CU_ASSERT_PTR_NULL(memmem(a.body, a.body_bytes, "\xe2\x80\xae", 3));
    CU_ASSERT_PTR_NOT_NULL(strstr(a.body, "\\u202e"));
    answer_done(&a);
    a = bench_ask(b, "GET", "/seen?name=clients&key=x&bad%e2%80%ae=%ff");
    CU_ASSERT_EQUAL(a.status, 400);
    CU_ASSERT_PTR_NULL(memchr(a.body, 0xff, a.body_bytes));
    CU_ASSERT_PTR_NULL(memmem(a.body, a.body_bytes, "\xe2\x80\xae", 3));
    answer_done(&a);
    bench_done(b);
}

static void parameters_that_are_unknown_repeated_or_empty_are_400(void)
{
    static const char *const targets[] = {"/uniques?form=mon",
                                          "/uniques?from=mon&from=tue",
                                          "/uniques?from=",
                                          "/uniques?from",
                                          "/uniques?from=mon&&to=tue",
                                          "/uniques?=x",
                                          "/uniques?from=mon&",
                                          "/version?x=1",
                                          "/healthz?x=1",
                                          "/uniques?tz=UTC"};
    start();
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
        CU_ASSERT_EQUAL(problem_of("GET", targets[i]), 400);
    struct answer a = bench_ask(b, "GET", "/uniques?form=mon&rnage=7d");
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_text(&a, "detail"), "did you mean \"from\""));
    CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "errors", 0), "parameter"), "form");
    CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "errors", 0), "value"), "mon");
    CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "errors", 1), "parameter"), "rnage");
    answer_done(&a);
    a = bench_ask(b, "GET", "/uniques?from=mno");
    CU_ASSERT_EQUAL(a.status, 400);
    CU_ASSERT_STRING_EQUAL(row_text(answer_row(&a, "errors", 0), "parameter"), "from");
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_text(&a, "detail"), "mon"));
    answer_done(&a);
    bench_done(b);
}

/* A request that breaks the limits that are asked for. */
static struct answer ask_over(bool target, bool headers, bool body, bool parameters)
{
    struct buf request;
    buf_init(&request);
    buf_text(&request, "GET /version?");
    for (int i = 0; target && i < 3 * 1024; i++)
        buf_byte(&request, 'a');
    for (int i = 0; i < (parameters ? 17 : 0); i++)
        buf_printf(&request, "%sp%d=1", i ? "&" : "", i);
    buf_text(&request, " HTTP/1.1\r\nHost: localhost\r\n");
    for (int i = 0; headers && i < 9; i++) {
        buf_printf(&request, "X-%d: ", i);
        for (int j = 0; j < 1017; j++)
            buf_byte(&request, 'b');
        buf_text(&request, "\r\n");
    }
    buf_printf(&request, "%s\r\n%s", body ? "Content-Length: 5\r\n" : "", body ? "hello" : "");
    struct answer a = bench_send(b, request.p, request.n, false);
    buf_done(&request);
    return a;
}

static void limits_are_tested_in_the_order_target_headers_body_parameters(void)
{
    static const struct {
        bool target, headers, body, parameters;
        int status;
    } cases[] = {{true, true, true, true, 414},    {false, true, true, true, 431},
                 {false, false, true, true, 413},  {false, false, false, true, 400},
                 {true, false, false, false, 414}, {false, true, false, false, 431},
                 {false, false, true, false, 413}};
    start();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char type[256];
        struct answer a =
            ask_over(cases[i].target, cases[i].headers, cases[i].body, cases[i].parameters);
        CU_ASSERT_EQUAL(a.status, cases[i].status);
        CU_ASSERT_STRING_EQUAL(answer_header(&a, "Content-Type", type), "application/problem+json");
        CU_ASSERT_EQUAL(a.closed, cases[i].status != 400);
        answer_done(&a);
    }
    bench_done(b);
}

static void what_is_just_within_the_limits_is_answered(void)
{
    struct buf request;
    start();
    buf_init(&request);
    buf_text(&request, "GET /");
    while (request.n < 4 + 2048)
        buf_byte(&request, 'a');
    buf_text(&request, " HTTP/1.1\r\nHost: localhost\r\nX: ");
    for (int i = 0; i < 8192 - (int) strlen("Host: localhost\r\nX: \r\n"); i++)
        buf_byte(&request, 'b');
    buf_text(&request, "\r\n\r\n");
    struct answer a = bench_send(b, request.p, request.n, false);
    CU_ASSERT_EQUAL(a.status, 404);
    answer_done(&a);
    buf_done(&request);
    bench_done(b);
}

/* libmicrohttpd parses arguments before anybody is asked, and falls silent when its memory is full.
 */
static void a_target_full_of_parameters_is_answered_and_not_left_hanging(void)
{
    struct buf request;
    start();
    buf_init(&request);
    buf_text(&request, "GET /?");
    while (request.n < 4 + 2046)
        buf_text(&request, "a&");
    buf_text(&request, " HTTP/1.1\r\nHost: localhost\r\nX: ");
    for (int i = 0; i < 8000; i++)
        buf_byte(&request, 'b');
    buf_text(&request, "\r\n\r\n");
    struct answer a = bench_send(b, request.p, request.n, false);
    CU_ASSERT_EQUAL(a.status, 400);
    answer_done(&a);
    buf_done(&request);
    bench_done(b);
}

#define SMUGGLED "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void bytes_behind_a_body_never_become_a_request(void)
{
    static const char *const heads[] = {"Content-Length: 44\r\n",
                                        "Content-Length: 0\r\nContent-Length: 44\r\n",
                                        "Content-Length: 44\r\nContent-Length: 0\r\n",
                                        "Content-Length: 0\r\nContent-Length: 0\r\n",
                                        "Transfer-Encoding: chunked\r\n",
                                        "Transfer-Encoding: gzip\r\n",
                                        "Content-Length: 44\r\nTransfer-Encoding: chunked\r\n"};
    start();
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        char request[512];
        int n =
            snprintf(request, sizeof(request),
                     "GET /healthz HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s", heads[i], SMUGGLED);
        struct answer a = bench_send(b, request, (size_t) n, true);
        CU_ASSERT_EQUAL(a.replies, 1);
        CU_ASSERT(a.status == 413 || a.status == 400);
        answer_done(&a);
    }
    bench_done(b);
}

static void content_length_0_is_no_body(void)
{
    start();
    struct answer a = bench_ask_with(b, "GET", "/healthz", "Content-Length: 0\r\n");
    CU_ASSERT_EQUAL(a.status, 200);
    answer_done(&a);
    bench_done(b);
}

static void a_request_names_its_host_exactly_once(void)
{
    start();
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\n\r\n"), 400);
    CU_ASSERT_EQUAL(
        status_of("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"), 400);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n"), 400);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.0\r\n\r\n"), 400);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"), 200);
    bench_done(b);
}

static void foreign_hosts_are_421_naming_the_line_to_add(void)
{
    static const char *const listed[] = {"stats.example.org"};
    b = bench_new();
    b->options.hosts = listed;
    b->options.n_hosts = 1;
    bench_start(b);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost: STATS.example.org.:80\r\n\r\n"), 200);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost: 203.0.113.5:8420\r\n\r\n"), 200);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n"), 200);
    static const char foreign[] = "GET /healthz HTTP/1.1\r\nHost: evil.example:80\r\n\r\n";
    struct answer a = bench_send(b, foreign, strlen(foreign), false);
    CU_ASSERT_EQUAL(a.status, 421);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer_text(&a, "detail"), "hosts: [\"evil.example\"]"));
    answer_done(&a);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost: \r\n\r\n"), 421);
    bench_done(b);
}

static void write_token(char path[128], const char *text)
{
    snprintf(path, 128, "%s/token", b->folder);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t) strlen(text));
    close(fd);
}

static int status_with(const char *method, const char *target, const char *headers)
{
    struct answer a = bench_ask_with(b, method, target, headers);
    int status = a.status;
    answer_done(&a);
    return status;
}

static void a_token_guards_everything_but_health(void)
{
    char path[128], challenge[256];
    b = bench_new();
    write_token(path, "s3cret\n");
    b->options.token_file = path;
    bench_start(b);
    CU_ASSERT_EQUAL(status_with("GET", "/healthz", ""), 200);
    CU_ASSERT_EQUAL(status_with("GET", "/readyz", ""), 200);
    CU_ASSERT_EQUAL(status_with("OPTIONS", "/uniques", ""), 204);
    static const char *const guarded[] = {"/",        "/uniques", "/topk",   "/seen",
                                          "/days",    "/filters", "/status", "/metrics",
                                          "/version", "/nothing"};
    for (size_t i = 0; i < sizeof(guarded) / sizeof(*guarded); i++)
        CU_ASSERT_EQUAL(status_with("GET", guarded[i], ""), 401);
    struct answer a = bench_ask(b, "GET", "/version");
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "WWW-Authenticate", challenge),
                           "Bearer realm=\"reckond\"");
    CU_ASSERT_PTR_NOT_NULL(strstr(a.head, "WWW-Authenticate: Basic realm=\"reckond\""));
    answer_done(&a);
    CU_ASSERT_EQUAL(status_with("GET", "/version", "Authorization: Bearer s3cret\r\n"), 200);
    CU_ASSERT_EQUAL(status_with("GET", "/version", "Authorization: bearer s3cret\r\n"), 200);
    /* any:s3cret */
    CU_ASSERT_EQUAL(status_with("GET", "/version", "Authorization: Basic YW55OnMzY3JldA==\r\n"),
                    200);
    static const char *const wrong[] = {
        "Bearer s3cre",        "Bearer s3crets", "Bearer S3cret", "Bearer ",
        "Bearer s3crets3cret", "Basic YW55Ong=", "Basic !!!",     "s3cret"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        char header[128];
        snprintf(header, sizeof(header), "Authorization: %s\r\n", wrong[i]);
        CU_ASSERT_EQUAL(status_with("GET", "/version", header), 401);
    }
    CU_ASSERT_EQUAL(
        status_with("DELETE", "/seen?name=clients&key=x", "Authorization: Bearer s3cret\r\n"), 501);
    CU_ASSERT_EQUAL(status_with("DELETE", "/seen?name=clients&key=x", ""), 401);
    bench_done(b);
}

static void only_the_last_newline_of_the_token_file_is_dropped(void)
{
    char path[128];
    b = bench_new();
    write_token(path, " s3cret \n");
    b->options.token_file = path;
    bench_start(b);
    /* The blanks around a header's value are not part of it, so this token needs Basic. " s3cret "
     */
    CU_ASSERT_EQUAL(status_with("GET", "/version", "Authorization: Bearer s3cret\r\n"), 401);
    CU_ASSERT_EQUAL(status_with("GET", "/version", "Authorization: Basic eDogczNjcmV0IA==\r\n"),
                    200);
    bench_done(b);
}

static void a_token_file_that_is_missing_or_empty_is_an_error(void)
{
    char path[128];
    struct err e = {""};
    b = bench_new();
    b->options.token_file = "/nonexistent/token";
    CU_ASSERT_EQUAL(http_start(&b->http, &b->options, &e), -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "/nonexistent/token"));
    write_token(path, "\n");
    b->options.token_file = path;
    CU_ASSERT_EQUAL(http_start(&b->http, &b->options, &e), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, path));
    bench_done(b);
}

static void only_listed_origins_are_told_that_they_may_read(void)
{
    static const char *const listed[] = {"https://grafana.example.org"};
    char value[256];
    b = bench_new();
    b->options.cors_origins = listed;
    b->options.n_cors_origins = 1;
    bench_start(b);
    struct answer a =
        bench_ask_with(b, "GET", "/version", "Origin: https://grafana.example.org\r\n");
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Access-Control-Allow-Origin", value), listed[0]);
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Vary", value), "Origin");
    answer_done(&a);
    a = bench_ask_with(b, "OPTIONS", "/uniques", "Origin: https://grafana.example.org\r\n");
    CU_ASSERT_EQUAL(a.status, 204);
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Access-Control-Allow-Methods", value), "GET, HEAD");
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Access-Control-Allow-Headers", value),
                           "Authorization");
    answer_done(&a);
    a = bench_ask_with(b, "GET", "/version", "Origin: https://evil.example\r\n");
    CU_ASSERT_EQUAL(a.status, 200);
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Access-Control-Allow-Origin", value), "");
    CU_ASSERT_STRING_EQUAL(answer_header(&a, "Vary", value), "Origin");
    answer_done(&a);
    bench_done(b);
}

static const struct test tests[] = {
    TEST(get_and_head_give_the_same_headers),
    TEST(a_connection_takes_several_requests),
    TEST(options_is_204_with_allow),
    TEST(other_methods_are_405_with_allow),
    TEST(delete_of_a_key_needs_a_configured_token),
    TEST(unknown_paths_are_404_and_are_not_normalised),
    TEST(hostile_targets_are_400),
    TEST(what_comes_back_in_a_problem_is_escaped),
    TEST(parameters_that_are_unknown_repeated_or_empty_are_400),
    TEST(limits_are_tested_in_the_order_target_headers_body_parameters),
    TEST(what_is_just_within_the_limits_is_answered),
    TEST(a_target_full_of_parameters_is_answered_and_not_left_hanging),
    TEST(bytes_behind_a_body_never_become_a_request),
    TEST(content_length_0_is_no_body),
    TEST(a_request_names_its_host_exactly_once),
    TEST(foreign_hosts_are_421_naming_the_line_to_add),
    TEST(a_token_guards_everything_but_health),
    TEST(only_the_last_newline_of_the_token_file_is_dropped),
    TEST(a_token_file_that_is_missing_or_empty_is_an_error),
    TEST(only_listed_origins_are_told_that_they_may_read),
    TESTS_END,
};

int main(void)
{
    return tap_run("http", tests);
}
