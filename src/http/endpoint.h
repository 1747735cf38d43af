/* An endpoint is one file ep_NAME.c that ends with its struct endpoint, and one line in
 * endpoint_sources of Makefile.am, from which the table is generated. The table is also the help of
 * /, the check of parameters and the Allow header. Everything here runs on the HTTP thread. */
#ifndef HTTP_ENDPOINT_H
#define HTTP_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "http/reply.h"
#include "http/server.h"
#include "http/target.h"
#include "store/query.h"

enum method { METHOD_OTHER = 0, METHOD_GET = 1, METHOD_DELETE = 2, METHOD_OPTIONS = 4 };

#define ENDPOINT_PARAMETERS_MAX 8

struct parameter {
    const char *name;
    const char *value; /* what it takes, for people: "DAY" */
    const char *help;
    bool bytes; /* need not be text in UTF-8 */
};

struct request;

struct endpoint {
    const char *path;
    const char *help;
    unsigned methods; /* METHOD_GET brings HEAD, all have OPTIONS */
    bool guarded;     /* needs the token, where one is set */
    bool key_fields;  /* takes the fields of a key too, which answer checks */
    struct parameter parameters[ENDPOINT_PARAMETERS_MAX]; /* up to the first without a name */
    void (*answer)(struct request *r);                    /* always leaves a reply */
};

#define RK_ROW(name) +1
enum {
    ENDPOINTS = 0
#include "http/endpoints.inc"
};
#undef RK_ROW

#define RK_ROW(name) extern const struct endpoint endpoint_##name;
#include "http/endpoints.inc"
#undef RK_ROW

/* What has been answered since the start; the last row is for paths that are none of ours. */
struct tally {
    uint64_t replies[ENDPOINTS + 1][REPLY_STATUSES];
    unsigned connections;
    int64_t start_s; /* instant */
};

struct request {
    const struct http_options *options;
    const struct target *target;
    const struct tally *tally;
    struct query *query;
    enum method method;
    bool has_token; /* one is configured (and was given) */
    bool draining;
    int32_t today;
    size_t memory_bound_bytes; /* what sketches and cache cost at most */
    struct reply *reply;
};

/* In the table's order; NULL behind the last. */
const struct endpoint *endpoint_at(unsigned i);
/* The index for a path, or -1. */
int endpoint_find(struct slice path);
/* The path that was probably meant; NULL: none is near. */
const char *endpoint_nearest(struct slice path);

/* Checks names, repeats and values against e's table. false: the reply is a 400. */
bool endpoint_check(const struct endpoint *e, const struct target *t, struct reply *reply);

/* The value of a parameter; {NULL, 0}: not given. */
struct slice request_parameter(const struct request *r, const char *name);

#endif
