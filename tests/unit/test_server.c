/* Connections from their first byte to the end of the server: sockets, slow clients, the limit,
 * drain. */
#include "http/server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_bench.h"
#include "tap.h"

static struct bench *b;

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

static void a_unix_socket_answers_and_needs_no_host_in_http_1_0(void)
{
    char listen[128];
    b = bench_new();
    snprintf(listen, sizeof(listen), "unix:%s/http.sock", b->folder);
    b->options.listen = listen;
    bench_start(b);
    CU_ASSERT_STRING_EQUAL(http_address(b->http), listen);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.0\r\n\r\n"), 200);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\n\r\n"), 400);
    bench_done(b);
}

static void an_address_in_use_is_an_error(void)
{
    struct http *second = NULL;
    struct err e = {""};
    start();
    struct http_options options = b->options;
    options.listen = http_address(b->http);
    CU_ASSERT_EQUAL(http_start(&second, &options, &e), -EADDRINUSE);
    CU_ASSERT_PTR_NULL(second);
    bench_done(b);
}

static bool ended_within(int fd, int64_t limit_ns)
{
    char byte;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, (int) (limit_ns / 1000000)) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

#define SLOW_CLIENTS 64

/* libmicrohttpd's own limit counts inactivity, so one byte now and then would hold a place for
 * ever. */
static void slow_clients_are_cut_while_others_are_served(void)
{
    int fd[SLOW_CLIENTS];
    b = bench_new();
    b->options.slow_client_ns = NS_PER_S / 2;
    bench_start(b);
    for (int i = 0; i < SLOW_CLIENTS; i++) {
        fd[i] = bench_connect(b);
        CU_ASSERT_FATAL(fd[i] >= 0);
        CU_ASSERT_EQUAL(send(fd[i], "GET /", 5, MSG_NOSIGNAL), 5);
    }
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    int64_t until = clock_monotonic_ns() + 5 * NS_PER_S;
    int ended = 0;
    while (ended < SLOW_CLIENTS && clock_monotonic_ns() < until) {
        ended = 0;
        for (int i = 0; i < SLOW_CLIENTS; i++) {
            send(fd[i], "a", 1, MSG_NOSIGNAL);
            ended += ended_within(fd[i], 2000000);
        }
    }
    CU_ASSERT_EQUAL(ended, SLOW_CLIENTS);
    for (int i = 0; i < SLOW_CLIENTS; i++)
        close(fd[i]);
    bench_done(b);
}

/* At the limit nobody more is accepted; when a place is free, who waited is served. */
static void at_most_128_connections_are_open(void)
{
    int fd[128];
    b = bench_new();
    b->options.slow_client_ns = NS_PER_S;
    bench_start(b);
    for (int i = 0; i < 128; i++) {
        fd[i] = bench_connect(b);
        CU_ASSERT_FATAL(fd[i] >= 0);
    }
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    for (int i = 0; i < 128; i++)
        close(fd[i]);
    bench_done(b);
}

/* Reads a reply on a connection that stays open. */
static int ask_on(int fd)
{
    static const char request[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char got[4096];
    int status = 0;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) <= 0 || poll(&p, 1, 5000) != 1)
        return 0;
    ssize_t n = recv(fd, got, sizeof(got) - 1, 0);
    got[n > 0 ? n : 0] = '\0';
    sscanf(got, "HTTP/1.1 %d", &status);
    return status;
}

static void while_draining_readyz_is_503_and_nobody_new_can_connect(void)
{
    start();
    int fd = bench_connect(b);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(ask_on(fd), 200);
    http_drain(b->http);
    int64_t until = clock_monotonic_ns() + 5 * NS_PER_S;
    int other;
    /* In the moment of closing a connection may still be made, or be reset. */
    while ((other = bench_connect(b)) != -ECONNREFUSED && clock_monotonic_ns() < until)
        if (other >= 0)
            close(other);
    CU_ASSERT_EQUAL(other, -ECONNREFUSED);
    CU_ASSERT_EQUAL(ask_on(fd), 503);
    CU_ASSERT(ended_within(fd, NS_PER_S)); /* Connection: close */
    close(fd);
    bench_done(b);
}

static void stopping_does_not_wait_for_idle_or_half_sent_requests(void)
{
    start();
    int idle = bench_connect(b), half = bench_connect(b);
    CU_ASSERT_FATAL(idle >= 0 && half >= 0);
    CU_ASSERT_EQUAL(ask_on(idle), 200);
    CU_ASSERT_EQUAL(send(half, "GET /", 5, MSG_NOSIGNAL), 5);
    int64_t begun = clock_monotonic_ns();
    b->http = http_stop(b->http);
    CU_ASSERT_PTR_NULL(b->http);
    CU_ASSERT(clock_monotonic_ns() - begun < 2 * NS_PER_S);
    CU_ASSERT(ended_within(idle, NS_PER_S));
    CU_ASSERT(ended_within(half, NS_PER_S));
    close(idle);
    close(half);
    bench_done(b);
}

static void garbage_does_not_stop_the_server(void)
{
    static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    static const char *const garbage[] = {
        "\r\n\r\n", "GET\r\n\r\n", "GET  HTTP/1.1\r\n\r\n", "\xff\xff\xff\r\n\r\n", "GET /", ""};
    start();
    for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
        int fd = bench_connect(b);
        CU_ASSERT_FATAL(fd >= 0);
        send(fd, garbage[i], strlen(garbage[i]), MSG_NOSIGNAL);
        send(fd, hello, sizeof(hello), MSG_NOSIGNAL);
        close(fd);
    }
    CU_ASSERT_EQUAL(status_of("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
    bench_done(b);
}

static const struct test tests[] = {
    TEST(a_unix_socket_answers_and_needs_no_host_in_http_1_0),
    TEST(an_address_in_use_is_an_error),
    TEST(slow_clients_are_cut_while_others_are_served),
    TEST(at_most_128_connections_are_open),
    TEST(while_draining_readyz_is_503_and_nobody_new_can_connect),
    TEST(stopping_does_not_wait_for_idle_or_half_sent_requests),
    TEST(garbage_does_not_stop_the_server),
    TESTS_END,
};

int main(void)
{
    return tap_run("server", tests);
}
