/* What stands before every endpoint, in this order: the limits (target, headers, body), Host, the
 * target's form and number of parameters, the path, the method, the token, the names of parameters.
 * Knows requests as plain values, nothing of libmicrohttpd. HTTP thread only, after front_new. */
#ifndef HTTP_FRONT_H
#define HTTP_FRONT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"
#include "http/endpoint.h"
#include "http/reply.h"
#include "http/server.h"

#define FRONT_HEADERS_BYTES_MAX 8192

/* A request as it came; slices are borrowed for the call, {NULL, 0}: absent. */
struct incoming {
    struct slice method, target;
    bool http_1_0, over_unix;
    size_t headers_bytes;
    bool has_body;        /* a length that is not 0, or a transfer coding */
    bool length_repeated; /* Content-Length more than once: whose bytes come next is unclear */
    unsigned n_hosts;
    struct slice host;
    struct slice origin;
    struct slice token; /* of Bearer, or the password of Basic */
};

struct front; /* opaque */

/* Reads the token file and learns the machine's names. 0; -EINVAL, -EACCES, ... with a sentence.
 * The options are copied; what they point to stays the caller's and lives as long. */
int front_new(struct front **ret, const struct http_options *options, struct err *e);
struct front *front_free(struct front *f);

/* The host part of the listen address, once known, belongs to the names we answer to. */
int front_add_host(struct front *f, struct slice host);
/* Fills the reply, always. */
void front_answer(struct front *f, const struct incoming *in, bool draining, struct reply *ret);
/* The wrong or impossible request that must not be read further: answered before its body. */
bool front_refuses_early(const struct incoming *in);

/* The listed origin that equals this one, NULL: none. */
const char *front_origin(const struct front *f, struct slice origin);
bool front_has_origins(const struct front *f);
/* A Host value, as it stands in the header, is one of ours. */
bool front_host_is_ours(const struct front *f, struct slice host);
void front_connections(struct front *f, unsigned n); /* for /metrics */

#endif
