/* The HTTP side: libmicrohttpd with one epoll thread; its own, lower limits; raw targets parsed by
 * our own strict decoder; answers from store/query.h. Started and stopped by the daemon's main
 * thread. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "keys/plan.h"
#include "store/store.h"

struct http_options {
    const char *listen;       /* "127.0.0.1:8420", "[::1]:0", "unix:/path"; port 0: any free one */
    const char *const *hosts; /* further names that we answer to */
    unsigned n_hosts;
    const char *token_file; /* NULL: open */
    const char *const *cors_origins;
    unsigned n_cors_origins;
    const struct clock *clock;
    struct store *store;
    const struct plan *plan; /* to hash the keys of /seen, and for the texts of ignore rules */
    size_t query_cache_bytes;
    const char *const *warnings; /* of the configuration, shown in /status */
    unsigned n_warnings;
    int64_t slow_client_ns; /* 0: 30 s; a connection is cut when a request takes longer */
};

struct http; /* opaque */

/* 0; -EADDRINUSE, -EACCES, -EINVAL, ... with a sentence. Signals must be blocked by the caller. */
int http_start(struct http **ret, const struct http_options *options, struct err *e);
/* "127.0.0.1:43521": where it really listens. */
const char *http_address(const struct http *h);
/* /readyz says 503 from here on; new connections are refused. */
void http_drain(struct http *h);
/* Waits for replies under way (at most 5 s) and stops. */
struct http *http_stop(struct http *h);

#endif
