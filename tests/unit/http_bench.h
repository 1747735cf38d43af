/* The real server on 127.0.0.1:0 over a real store in a temporary folder, filled with lines of two
 * days, and a client that sends bytes as they are. "Today" is Tuesday, 2026-11-24, noon.
 *
 *   Mon 23   a /     200   a /about 200   b / 200   c / 200   c /gone 404
 *   Tue 24   b /     200   d /caf\xe9 500   d =1+1 (no status)
 *
 * visitors are (client 192.0.2.1.., agent "agent-x"), each line has 100 bytes. */
#ifndef TESTS_HTTP_BENCH_H
#define TESTS_HTTP_BENCH_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "http/server.h"
#include "keys/plan.h"
#include "store/store.h"

struct bench {
    struct metrics metrics;
    struct sk_secret secret;
    struct clock clock;
    struct plan *plan;
    struct planner *planner;
    struct batch *batch;
    struct books books;
    char folder[64];
    struct store *store;
    struct http_options options; /* may be changed before bench_start */
    struct http *http;
};

struct bench *bench_new(void); /* metrics, plan, store with the lines */
void bench_start(struct bench *b);
void bench_done(struct bench *b);

/* A reply as it came. */
struct answer {
    int status; /* 0: none came */
    char *head; /* status line and headers */
    char *body;
    size_t body_bytes;
    bool closed;      /* the server ended the connection after it */
    unsigned replies; /* how many came on the connection */
    cJSON *json;      /* of the body, when it is JSON */
};

int bench_connect(const struct bench *b);
/* Sends the bytes on a new connection and reads until a whole reply is there, or to the end of the
 * connection when to_end is set. Fails the test when 10 s pass. */
struct answer bench_send(const struct bench *b, const void *bytes, size_t n, bool to_end);
/* "GET /x" and the headers that a decent client sends. */
struct answer bench_ask(const struct bench *b, const char *method, const char *target);
struct answer bench_ask_with(const struct bench *b, const char *method, const char *target,
                             const char *headers); /* "Name: value\r\n"... */
void answer_done(struct answer *a);

/* The value of a header; "" when it is not there. */
const char *answer_header(const struct answer *a, const char *name, char buffer[256]);
const char *answer_text(const struct answer *a, const char *name); /* "(none)" */
double answer_number(const struct answer *a, const char *name);    /* NAN */
/* Row i of an array field. */
const cJSON *answer_row(const struct answer *a, const char *array, int i);
double row_number(const cJSON *row, const char *name);
const char *row_text(const cJSON *row, const char *name);

#endif
