#include "http/front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/zone.h"
#include "http/hosts.h"
#include "http/target.h"

#define TOKEN_BYTES_MAX 4096

struct front {
    struct http_options options; /* what it points to is the daemon's and lives as long */
    struct hosts hosts;
    struct buf token; /* without its last newline; n = 0: open */
    struct query *query;
    struct tally tally;
    size_t memory_bound_bytes;
    struct target target; /* of the request at hand */
};

/* ---- start ---- */

static int read_token(struct front *f, struct err *e)
{
    const char *path = f->options.token_file;
    if (!path)
        return 0;
    int rc = file_read(path, TOKEN_BYTES_MAX, &f->token, e);
    if (rc < 0)
        return rc;
    if (f->token.n && f->token.p[f->token.n - 1] == '\n')
        f->token.n--;
    if (f->token.n == 0)
        return err_set(
            e, -EINVAL,
            "http: token_file: %s is empty; write a token of 32 characters or more into it", path);
    return 0;
}

static int learn_hosts(struct front *f, struct err *e)
{
    int rc = hosts_add_machine(&f->hosts);
    for (unsigned i = 0; rc == 0 && i < f->options.n_hosts; i++)
        rc = hosts_add(&f->hosts, slice_of(f->options.hosts[i]));
    if (rc == -E2BIG)
        return err_set(e, -EINVAL, "http: hosts: over %d names, or a name of over %d bytes",
                       HOSTS_MAX, HOSTS_NAME_BYTES - 1);
    return rc;
}

int front_new(struct front **ret, const struct http_options *options, struct err *e)
{
    struct front *f = calloc(1, sizeof(*f));
    if (!f)
        return err_set(e, -ENOMEM, "not enough memory for the HTTP server");
    f->options = *options;
    struct clock real; /* of the process, which --clock does not move */
    clock_system(&real);
    f->tally.start_s = clock_now_s(&real);
    buf_init(&f->token);
    hosts_init(&f->hosts);
    int rc = read_token(f, e);
    if (rc == 0)
        rc = learn_hosts(f, e);
    if (rc == 0 && (rc = query_new(&f->query, options->store, options->query_cache_bytes)) < 0)
        err_set(e, rc, "not enough memory for the questions of the HTTP server");
    if (rc < 0) {
        front_free(f);
        return rc;
    }
    const struct store_options counted = {.metrics = query_metrics(f->query)};
    f->memory_bound_bytes = store_memory_bound(&counted) + options->query_cache_bytes;
    *ret = f;
    return 0;
}

struct front *front_free(struct front *f)
{
    if (!f)
        return NULL;
    query_free(f->query);
    hosts_done(&f->hosts);
    if (f->token.p)
        explicit_bzero(f->token.p, f->token.room);
    buf_done(&f->token);
    free(f);
    return NULL;
}

int front_add_host(struct front *f, struct slice host)
{
    return hosts_add(&f->hosts, host);
}

void front_connections(struct front *f, unsigned n)
{
    f->tally.connections = n;
}

bool front_host_is_ours(const struct front *f, struct slice host)
{
    return hosts_have(&f->hosts, host);
}

const char *front_origin(const struct front *f, struct slice origin)
{
    for (unsigned i = 0; origin.p && i < f->options.n_cors_origins; i++)
        if (slice_is(origin, f->options.cors_origins[i]))
            return f->options.cors_origins[i];
    return NULL;
}

bool front_has_origins(const struct front *f)
{
    return f->options.n_cors_origins > 0;
}

/* ---- a request ---- */

static enum method read_method(struct slice method)
{
    if (slice_is(method, "GET") || slice_is(method, "HEAD"))
        return METHOD_GET;
    if (slice_is(method, "DELETE"))
        return METHOD_DELETE;
    return slice_is(method, "OPTIONS") ? METHOD_OPTIONS : METHOD_OTHER;
}

bool front_refuses_early(const struct incoming *in)
{
    return in->target.n > TARGET_BYTES_MAX || in->headers_bytes > FRONT_HEADERS_BYTES_MAX ||
           in->has_body || in->length_repeated;
}

/* A body under a method that we do not have is that method's mistake: 405 says more than 413. */
static bool within_limits(const struct incoming *in, enum method method, struct reply *r)
{
    if (in->target.n > TARGET_BYTES_MAX)
        reply_problem(r, 414, "a request target has at most %d bytes, this one has %zu",
                      TARGET_BYTES_MAX, in->target.n);
    else if (in->headers_bytes > FRONT_HEADERS_BYTES_MAX)
        reply_problem(r, 431, "the headers of a request have at most %d bytes, these have %zu",
                      FRONT_HEADERS_BYTES_MAX, in->headers_bytes);
    else if (in->has_body && method != METHOD_OTHER)
        reply_problem(r, 413, "requests have no body here; parameters go into the target");
    else if (in->length_repeated)
        reply_problem(r, 400, "Content-Length is given more than once");
    else
        return true;
    r->close = true;
    return false;
}

static bool host_is_right(const struct front *f, const struct incoming *in, struct reply *r)
{
    if (in->n_hosts == 0 && in->http_1_0 && in->over_unix)
        return true;
    if (in->n_hosts != 1) {
        reply_problem(r, 400, "a request names its Host once, this one %s",
                      in->n_hosts ? "more often" : "not at all");
        r->close = true;
        return false;
    }
    if (front_host_is_ours(f, in->host))
        return true;
    struct slice bare = hosts_bare(in->host);
    int shown = bare.n > 255 ? 255 : (int) bare.n;
    reply_problem(r, 421,
                  "Host \"%.*s\" is none of this server's names; to answer to it, add it to the "
                  "configuration: http: {hosts: [\"%.*s\"]}",
                  shown, bare.n ? bare.p : "", shown, bare.n ? bare.p : "");
    return false;
}

/* The time does not depend on where the first difference is. */
static bool token_is_right(const struct front *f, struct slice given)
{
    if (f->token.n == 0)
        return true;
    unsigned char differ = given.n != f->token.n;
    for (size_t i = 0; i < given.n; i++)
        differ |= (unsigned char) (given.p[i] ^ f->token.p[i % f->token.n]);
    return differ == 0;
}

static void say_token(struct reply *r)
{
    reply_problem(
        r, 401,
        "a token is needed: Authorization: Bearer TOKEN, or TOKEN as the password of Basic");
    r->challenge = true;
}

static unsigned allowed(const struct endpoint *e)
{
    return e->methods | METHOD_OPTIONS;
}

static void say_method(const struct endpoint *e, struct slice method, struct reply *r)
{
    int shown = method.n > 40 ? 40 : (int) method.n;
    reply_problem(r, 405, "%s does not take the method %.*s", e->path, shown, method.p);
    r->allow = allowed(e);
}

static void say_path(struct slice path, struct reply *r)
{
    const char *meant = endpoint_nearest(path);
    int shown = path.n > 200 ? 200 : (int) path.n;
    if (meant)
        reply_problem(r, 404, "there is no %.*s; did you mean %s?", shown, path.p, meant);
    else
        reply_problem(r, 404, "there is no %.*s; / lists what there is", shown, path.p);
}

static void answer_options(unsigned methods, struct reply *r)
{
    r->status = 204;
    r->allow = methods | METHOD_OPTIONS;
}

/* DELETE /seen acts, so it must not be open to whoever reaches the port. */
static bool may_delete(const struct front *f, enum method method, struct reply *r)
{
    if (method != METHOD_DELETE || f->token.n)
        return true;
    reply_problem(r, 403,
                  "DELETE needs a token, and none is configured; name a file with one: "
                  "http: {token_file: PATH}");
    return false;
}

static void ask(struct front *f, const struct endpoint *e, enum method method, bool draining,
                struct reply *r)
{
    int64_t first, last;
    struct request request = {
        .options = &f->options,
        .target = &f->target,
        .tally = &f->tally,
        .query = f->query,
        .method = method,
        .has_token = f->token.n > 0,
        .draining = draining,
        .today = zone_day(clock_now_s(f->options.clock), &first, &last),
        .memory_bound_bytes = f->memory_bound_bytes,
        .reply = r,
    };
    e->answer(&request);
}

/* Returns the endpoint's index for the tally, -1: none. */
static int dispatch(struct front *f, const struct incoming *in, bool draining, struct reply *r)
{
    enum method method = read_method(in->method);
    if (!within_limits(in, method, r) || !host_is_right(f, in, r))
        return -1;
    if (method == METHOD_OPTIONS && slice_is(in->target, "*")) {
        answer_options(METHOD_GET, r);
        return -1;
    }
    struct err e;
    if (target_parse(&f->target, in->target, &e) < 0) {
        reply_problem(r, 400, "%s", e.text);
        return -1;
    }
    int i = endpoint_find(f->target.path);
    const struct endpoint *endpoint = i < 0 ? NULL : endpoint_at((unsigned) i);
    bool open = endpoint && !endpoint->guarded;
    if (endpoint && method == METHOD_OPTIONS) /* a browser's preflight carries no token */
        answer_options(endpoint->methods, r);
    else if (!open && !token_is_right(f, in->token))
        say_token(r);
    else if (!endpoint)
        say_path(f->target.path, r);
    else if (!(endpoint->methods & method))
        say_method(endpoint, in->method, r);
    else if (may_delete(f, method, r) && endpoint_check(endpoint, &f->target, r))
        ask(f, endpoint, method, draining, r);
    return i;
}

void front_answer(struct front *f, const struct incoming *in, bool draining, struct reply *ret)
{
    int i = dispatch(f, in, draining, ret);
    int status = reply_status_index(ret->status);
    if (status >= 0)
        f->tally.replies[i < 0 ? ENDPOINTS : i][status]++;
    ret->close |= draining || in->has_body;
}
