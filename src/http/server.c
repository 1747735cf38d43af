#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "http/front.h"
#include "http/listener.h"
#include "http/reply.h"
#include "http/target.h"

/* libmicrohttpd runs inside a thread of ours (external epoll): connections, the reaper and
 * questions then have one owner and need no lock. Only the order to drain or stop comes from
 * outside. */

#define CONNECTIONS_MAX 128
#define SLOW_NS (30 * NS_PER_S)
#define DRAIN_NS (5 * NS_PER_S)
/* A target of 2 KiB can hold 1,024 arguments of about 65 bytes each in libmicrohttpd's pool; when
 * the pool is full, it falls silent instead of answering. */
#define CONNECTION_BYTES (96 * 1024)

enum order { ORDER_RUN, ORDER_DRAIN, ORDER_STOP };

/* A connection, for the reaper: libmicrohttpd's own timeout counts inactivity only. */
struct client {
    int fd; /* -1: free */
    int64_t since_ns;
    bool answering;
};

struct http {
    struct front *front;
    struct listener listener;
    struct MHD_Daemon *daemon;
    int epoll_fd; /* libmicrohttpd's */
    int wake_fd;
    pthread_t thread;
    atomic_int order;
    int64_t slow_ns;
    bool draining; /* the rest is the HTTP thread's */
    bool freed;    /* a connection has ended: libmicrohttpd listens again in its next turn only */
    unsigned in_flight;
    unsigned n_clients;
    struct client clients[CONNECTIONS_MAX];
};

/* A request from its first line to its end. */
struct exchange {
    bool called, counted;
    size_t target_bytes;
    char target[TARGET_BYTES_MAX + 1];
};

/* ---- callbacks of libmicrohttpd, all on the HTTP thread ---- */

static void on_log(void *cls, const char *format, va_list more)
    __attribute__((format(printf, 2, 0)));
static void on_log(void *cls, const char *format, va_list more)
{
    (void) cls;
    char text[512];
    vsnprintf(text, sizeof(text), format, more);
    text[strcspn(text, "\r\n")] = '\0';
    /* It writes a line for every client that goes away. */
    log_debug("http: %s", text);
}

/* The raw target, before libmicrohttpd decodes it (where %00 would cut it). What is returned
 * becomes the handler's context. */
static void *on_target(void *cls, const char *uri, struct MHD_Connection *connection)
{
    (void) cls;
    (void) connection;
    struct exchange *x = calloc(1, sizeof(*x));
    if (!x || !uri) /* garbage may come without a target */
        return x;
    x->target_bytes = strlen(uri);
    memcpy(x->target, uri,
           x->target_bytes < sizeof(x->target) ? x->target_bytes : sizeof(x->target) - 1);
    return x;
}

static struct client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http *h = cls;
    struct client *c = *context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (c) {
            c->fd =
                -1; /* libmicrohttpd closes it after this call, so that it is never a reused one */
            h->n_clients--;
            h->freed = true;
        }
        *context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    for (c = h->clients; c < h->clients + CONNECTIONS_MAX && c->fd >= 0;)
        c++;
    if (!info || c == h->clients + CONNECTIONS_MAX)
        return;
    *c = (struct client){.fd = info->connect_fd, .since_ns = clock_monotonic_ns()};
    *context = c;
    h->n_clients++;
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    (void) code;
    struct http *h = cls;
    struct exchange *x = *context;
    if (x && x->counted)
        h->in_flight--;
    free(x);
    *context = NULL;
    struct client *c = client_of(connection);
    if (c) {
        c->since_ns = clock_monotonic_ns();
        c->answering = false;
    }
}

struct headers {
    struct incoming *in;
    unsigned n_lengths;
};

static bool is_zero(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != '0')
            return false;
    return true;
}

static void take_bearer(struct incoming *in, struct slice value)
{
    const struct slice scheme = SLICE_LITERAL("Bearer ");
    if (value.n <= scheme.n || strncasecmp(value.p, scheme.p, scheme.n) != 0)
        return;
    in->token = slice_sub(value, scheme.n, value.n);
    while (in->token.n && in->token.p[0] == ' ')
        in->token = slice_sub(in->token, 1, in->token.n);
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *key,
                                 size_t key_size, const char *value, size_t value_size)
{
    (void) kind;
    struct headers *h = cls;
    struct slice v = {value ? value : "", value ? value_size : 0};
    h->in->headers_bytes += key_size + v.n + strlen(": \r\n");
    if (strcasecmp(key, "Host") == 0) {
        h->in->n_hosts++;
        h->in->host = v;
    } else if (strcasecmp(key, "Content-Length") == 0) {
        h->in->has_body |= !is_zero(v);
        h->in->length_repeated = ++h->n_lengths > 1;
    } else if (strcasecmp(key, "Transfer-Encoding") == 0) {
        h->in->has_body = true;
    } else if (strcasecmp(key, "Origin") == 0) {
        h->in->origin = v;
    } else if (strcasecmp(key, "Authorization") == 0) {
        take_bearer(h->in, v);
    }
    return MHD_YES;
}

/* ---- a reply ---- */

static bool add_header(struct MHD_Response *response, const char *name, const char *value)
{
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

static bool add_allow(struct MHD_Response *response, unsigned methods)
{
    char text[64];
    snprintf(text, sizeof(text), "GET, HEAD, OPTIONS%s", methods & METHOD_DELETE ? ", DELETE" : "");
    return add_header(response, "Allow", text);
}

static bool add_cors(struct MHD_Response *response, const char *origin, const struct reply *r)
{
    if (!origin)
        return add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    bool ok = add_header(response, "Access-Control-Allow-Origin", origin);
    if (ok && r->status == 204)
        ok = add_header(response, "Access-Control-Allow-Methods", "GET, HEAD") &&
             add_header(response, "Access-Control-Allow-Headers", "Authorization") &&
             add_header(response, "Access-Control-Max-Age", "600");
    return ok;
}

static bool add_headers(struct MHD_Response *response, const struct front *front,
                        struct slice origin, const struct reply *r)
{
    bool ok = add_header(response, "Cache-Control", "no-store") &&
              add_header(response, "X-Content-Type-Options", "nosniff") &&
              add_header(response, "Referrer-Policy", "no-referrer");
    if (ok && front_has_origins(front))
        ok = add_header(response, "Vary", "Origin");
    if (ok)
        ok = add_cors(response, front_origin(front, origin), r);
    if (ok && r->type)
        ok = add_header(response, "Content-Type", r->type);
    if (ok && r->allow)
        ok = add_allow(response, r->allow);
    if (ok && r->close)
        ok = add_header(response, "Connection", "close");
    if (ok && r->challenge)
        ok = add_header(response, "WWW-Authenticate", "Bearer realm=\"reckond\"") &&
             add_header(response, "WWW-Authenticate", "Basic realm=\"reckond\"");
    if (ok && r->retry_after_s) {
        char text[16];
        snprintf(text, sizeof(text), "%u", r->retry_after_s);
        ok = add_header(response, "Retry-After", text);
    }
    if (ok && r->file_name[0]) {
        char text[sizeof(r->file_name) + 32];
        snprintf(text, sizeof(text), "attachment; filename=\"%s\"", r->file_name);
        ok = add_header(response, "Content-Disposition", text);
    }
    return ok;
}

/* A constant that needs no memory but the response's own. */
static enum MHD_Result send_lost(struct MHD_Connection *connection)
{
    static char text[] =
        "{\"type\":\"about:blank\",\"title\":\"Internal Server Error\",\"status\":500,"
        "\"detail\":\"out of memory\",\"errors\":[]}\n";
    struct MHD_Response *response =
        MHD_create_response_from_buffer(sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    add_header(response, "Content-Type", "application/problem+json");
    enum MHD_Result rc = MHD_queue_response(connection, 500, response);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, const struct front *front,
                                  struct slice origin, struct reply *r)
{
    if (reply_lost(r))
        return send_lost(connection);
    size_t n = r->body.n;
    char *body = buf_steal(&r->body);
    if (!body)
        return send_lost(connection);
    struct MHD_Response *response = MHD_create_response_from_buffer(n, body, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(body);
        return MHD_NO;
    }
    enum MHD_Result rc = add_headers(response, front, origin, r)
                             ? MHD_queue_response(connection, r->status, response)
                             : send_lost(connection);
    MHD_destroy_response(response);
    return rc;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    (void) url;
    (void) upload;
    struct http *h = cls;
    struct exchange *x = *context;
    if (!x)
        return send_lost(connection);
    struct incoming in = {
        .method = slice_of(method),
        .target = {x->target, x->target_bytes},
        .http_1_0 = strcmp(version, "HTTP/1.0") == 0,
        .over_unix = h->listener.is_unix,
    };
    struct headers headers = {.in = &in};
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_header, &headers);
    if (!x->counted) {
        x->counted = true;
        h->in_flight++;
    }
    /* A reply to the first call ends the connection, and is right where a body would follow. */
    if (!x->called && !front_refuses_early(&in)) {
        x->called = true;
        return MHD_YES;
    }
    *upload_size = 0;
    char *password = NULL;
    char *user = in.token.p ? NULL : MHD_basic_auth_get_username_password(connection, &password);
    if (password)
        in.token = slice_of(password);
    struct client *c = client_of(connection);
    if (c) {
        c->since_ns = clock_monotonic_ns();
        c->answering = true;
    }
    struct reply reply;
    reply_init(&reply);
    front_connections(h->front, h->n_clients);
    front_answer(h->front, &in, h->draining, &reply);
    enum MHD_Result rc = send_reply(connection, h->front, in.origin, &reply);
    reply_done(&reply);
    MHD_free(user);
    MHD_free(password);
    return rc;
}

/* ---- the thread ---- */

/* Ends what has taken too long: the request's bytes, the wait for the next one, or (twice the time)
 * the taking of a reply. */
static void reap(struct http *h)
{
    int64_t now_ns = clock_monotonic_ns();
    for (struct client *c = h->clients; c < h->clients + CONNECTIONS_MAX; c++) {
        int64_t limit_ns = c->answering ? 2 * h->slow_ns : h->slow_ns;
        if (c->fd >= 0 && now_ns - c->since_ns > limit_ns)
            shutdown(c->fd, SHUT_RDWR);
    }
}

static void wait_for_work(struct http *h, int64_t most_ns)
{
    struct pollfd fds[2] = {{.fd = h->epoll_fd, .events = POLLIN},
                            {.fd = h->wake_fd, .events = POLLIN}};
    MHD_UNSIGNED_LONG_LONG ms;
    int64_t wait_ms = h->n_clients ? most_ns / 1000000 : -1;
    if (MHD_get_timeout(h->daemon, &ms) == MHD_YES && (wait_ms < 0 || ms < (uint64_t) wait_ms))
        wait_ms = (int64_t) ms;
    if (h->freed)
        wait_ms = 0;
    h->freed = false;
    poll(fds, 2, (int) (wait_ms > 1000 ? 1000 : wait_ms));
    uint64_t count;
    if (fds[1].revents && read(h->wake_fd, &count, sizeof(count)) < 0)
        log_debug("http: eventfd: %s", err_name(-errno));
}

static void begin_drain(struct http *h)
{
    h->draining = true;
    MHD_quiesce_daemon(h->daemon); /* the socket is ours and is closed after MHD_stop_daemon */
    listener_refuse(&h->listener);
}

static void *serve(void *arg)
{
    struct http *h = arg;
    int64_t deadline_ns = INT64_MAX;
    int64_t turn_ns = h->slow_ns / 4 < NS_PER_S ? h->slow_ns / 4 : NS_PER_S;
    for (;;) {
        int order = atomic_load(&h->order);
        if (order != ORDER_RUN && !h->draining)
            begin_drain(h);
        if (order == ORDER_STOP && deadline_ns == INT64_MAX)
            deadline_ns = clock_monotonic_ns() + DRAIN_NS;
        MHD_run(h->daemon);
        if (order == ORDER_STOP && (h->in_flight == 0 || clock_monotonic_ns() >= deadline_ns))
            break;
        reap(h);
        wait_for_work(h, turn_ns);
    }
    return NULL;
}

static void give_order(struct http *h, enum order order)
{
    uint64_t one = 1;
    atomic_store(&h->order, order);
    if (write(h->wake_fd, &one, sizeof(one)) < 0)
        log_error("http: eventfd: %s", err_name(-errno));
}

/* ---- start and stop, by the main thread ---- */

static int start_daemon(struct http *h, struct err *e)
{
    /* The logger must be the first option. The host check is ours: at strictness 1 the daemon's own
     * reply to a missing Host is two header blocks in a row. */
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER,
        on_log, NULL, MHD_OPTION_LISTEN_SOCKET, h->listener.fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned) CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t) CONNECTION_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned) (2 * SLOW_NS / NS_PER_S),
        MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        h, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
    if (!h->daemon)
        return err_set(e, -EIO,
                       "http: libmicrohttpd %s does not start (no epoll, or out of memory)",
                       MHD_get_version());
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    h->epoll_fd = info ? info->epoll_fd : -1;
    return h->epoll_fd < 0 ? err_set(e, -EIO, "http: libmicrohttpd has no epoll") : 0;
}

static int start_all(struct http *h, const struct http_options *options, struct err *e)
{
    int rc = front_new(&h->front, options, e);
    if (rc == 0)
        rc = listener_open(&h->listener, options->listen, e);
    if (rc == 0)
        rc = front_add_host(h->front, listener_host(options->listen));
    if (rc == 0)
        rc = front_add_host(h->front, listener_host(h->listener.address));
    if (rc == 0 && (h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        rc = err_set(e, -errno, "http: eventfd: %s", err_name(-errno));
    if (rc == 0)
        rc = start_daemon(h, e);
    if (rc == 0 && (rc = -pthread_create(&h->thread, NULL, serve, h)) < 0)
        err_set(e, rc, "http: no thread: %s", err_name(rc));
    return rc;
}

static void free_all(struct http *h)
{
    if (h->daemon) {
        if (!h->draining)
            MHD_quiesce_daemon(h->daemon); /* or it would close our socket */
        MHD_stop_daemon(h->daemon);
    }
    listener_close(&h->listener);
    if (h->wake_fd >= 0)
        close(h->wake_fd);
    front_free(h->front);
    free(h);
}

int http_start(struct http **ret, const struct http_options *options, struct err *e)
{
    struct http *h = calloc(1, sizeof(*h));
    if (!h)
        return err_set(e, -ENOMEM, "not enough memory for the HTTP server");
    h->listener.fd = h->wake_fd = -1;
    h->slow_ns = options->slow_client_ns ? options->slow_client_ns : SLOW_NS;
    atomic_init(&h->order, ORDER_RUN);
    for (struct client *c = h->clients; c < h->clients + CONNECTIONS_MAX; c++)
        c->fd = -1;
    int rc = start_all(h, options, e);
    if (rc < 0) {
        free_all(h);
        return rc;
    }
    *ret = h;
    return 0;
}

const char *http_address(const struct http *h)
{
    return h->listener.address;
}

void http_drain(struct http *h)
{
    give_order(h, ORDER_DRAIN);
}

struct http *http_stop(struct http *h)
{
    if (!h)
        return NULL;
    give_order(h, ORDER_STOP);
    pthread_join(h->thread, NULL);
    free_all(h);
    return NULL;
}
