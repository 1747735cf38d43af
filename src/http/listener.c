#include "http/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"

#define BACKLOG 128
#define UNIX_PREFIX "unix:"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
};

static int bad_form(const char *listen, struct err *e)
{
    return err_set(
        e, -EINVAL,
        "http: listen: \"%s\" is no address; write \"127.0.0.1:8420\", \"[::1]:8420\" or "
        "\"unix:/run/reckond/http.sock\"",
        listen);
}

/* The last colon outside brackets divides host and port. */
static bool cut_port(struct slice text, struct slice *ret_host, struct slice *ret_port)
{
    for (size_t i = text.n; i-- > 0 && text.p[i] != ']';)
        if (text.p[i] == ':') {
            *ret_host = slice_sub(text, 0, i);
            *ret_port = slice_sub(text, i + 1, text.n);
            return true;
        }
    return false;
}

struct slice listener_host(const char *address)
{
    struct slice host, port;
    if (slice_starts(slice_of(address), SLICE_LITERAL(UNIX_PREFIX)) ||
        !cut_port(slice_of(address), &host, &port))
        return (struct slice){NULL, 0};
    return host;
}

static bool read_host(struct slice host, union address *ret, socklen_t *ret_n)
{
    char text[INET6_ADDRSTRLEN + 1];
    bool six = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (six)
        host = slice_sub(host, 1, host.n - 1);
    if (slice_is(host, "localhost"))
        host = SLICE_LITERAL("127.0.0.1");
    if (host.n == 0 || slice_is(host, "*"))
        host = SLICE_LITERAL("::"); /* takes IPv4 too */
    if (host.n >= sizeof(text))
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    *ret = (union address){.v6 = {.sin6_family = AF_INET6}};
    *ret_n = sizeof(ret->v6);
    if (inet_pton(AF_INET6, text, &ret->v6.sin6_addr) == 1)
        return true;
    *ret = (union address){.v4 = {.sin_family = AF_INET}};
    *ret_n = sizeof(ret->v4);
    return !six && inet_pton(AF_INET, text, &ret->v4.sin_addr) == 1;
}

/* Removes what a killed server left: a socket that refuses to be connected to. */
static int clear_path(const union address *a, struct err *e)
{
    struct stat st;
    const char *path = a->un.sun_path;
    if (lstat(path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, -EADDRINUSE,
                       "http: listen: %s is there and is no socket; it is left alone", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_set(e, -errno, "http: listen: socket: %s", err_name(-errno));
    int rc = connect(fd, &a->any, sizeof(a->un)) < 0 ? -errno : 0;
    close(fd);
    if (rc != -ECONNREFUSED)
        return err_set(e, -EADDRINUSE, "http: listen: %s is in use by another server", path);
    if (unlink(path) < 0)
        return err_set(e, -errno, "http: listen: %s: cannot remove the old socket: %s", path,
                       err_name(-errno));
    return 0;
}

static int open_unix(struct listener *l, const char *path, struct err *e)
{
    union address a = {.un = {.sun_family = AF_UNIX}};
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof(a.un.sun_path) || n >= sizeof(l->path))
        return err_set(e, -EINVAL, "http: listen: the path of a UNIX socket has 1 to %zu bytes",
                       sizeof(a.un.sun_path) - 1);
    memcpy(a.un.sun_path, path, n + 1);
    int rc = clear_path(&a, e);
    if (rc < 0)
        return rc;
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return err_set(e, -errno, "http: listen: socket: %s", err_name(-errno));
    /* Before bind the mode is the socket's own, so that the path is never open to others. */
    if (fchmod(l->fd, 0660) < 0 || bind(l->fd, &a.any, sizeof(a.un)) < 0)
        return err_set(e, -errno, "http: listen: %s: %s", path, err_name(-errno));
    memcpy(l->path, path, n + 1);
    if (chmod(path, 0660) < 0) /* what umask took */
        return err_set(e, -errno, "http: listen: %s: %s", path, err_name(-errno));
    l->is_unix = true;
    snprintf(l->address, sizeof(l->address), UNIX_PREFIX "%s", path);
    return 0;
}

static void write_address(struct listener *l)
{
    union address a;
    socklen_t n = sizeof(a);
    char text[INET6_ADDRSTRLEN] = "?";
    if (getsockname(l->fd, &a.any, &n) < 0)
        return;
    if (a.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof(text));
        snprintf(l->address, sizeof(l->address), "[%s]:%u", text, ntohs(a.v6.sin6_port));
    } else {
        inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof(text));
        snprintf(l->address, sizeof(l->address), "%s:%u", text, ntohs(a.v4.sin_port));
    }
}

static int open_tcp(struct listener *l, const char *listen, struct err *e)
{
    struct slice host, port;
    uint64_t number;
    union address a;
    socklen_t n;
    if (!cut_port(slice_of(listen), &host, &port) || !num_u63(port, &number) || number > 65535 ||
        !read_host(host, &a, &n))
        return bad_form(listen, e);
    if (a.any.sa_family == AF_INET6)
        a.v6.sin6_port = htons((uint16_t) number);
    else
        a.v4.sin_port = htons((uint16_t) number);
    l->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return err_set(e, -errno, "http: listen: socket: %s", err_name(-errno));
    int on = 1, off = 0;
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a.any.sa_family == AF_INET6)
        setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(l->fd, &a.any, n) < 0) {
        int rc = -errno;
        const char *remedy = rc == -EADDRINUSE
                                 ? "; another server has it: stop that or set http: {listen: ...}"
                             : rc == -EACCES ? "; ports under 1024 need a privilege"
                                             : "";
        return err_set(e, rc, "http: listen: %s: %s%s", listen, err_name(rc), remedy);
    }
    return 0;
}

int listener_open(struct listener *ret, const char *listen_on, struct err *e)
{
    struct listener l = {.fd = -1};
    struct slice text = slice_of(listen_on);
    int rc = slice_starts(text, SLICE_LITERAL(UNIX_PREFIX))
                 ? open_unix(&l, listen_on + strlen(UNIX_PREFIX), e)
                 : open_tcp(&l, listen_on, e);
    if (rc == 0 && listen(l.fd, BACKLOG) < 0)
        rc = err_set(e, -errno, "http: listen: %s: %s", listen_on, err_name(-errno));
    if (rc < 0) {
        listener_close(&l);
        return rc;
    }
    if (!l.is_unix)
        write_address(&l);
    *ret = l;
    return 0;
}

void listener_refuse(struct listener *l)
{
    if (l->fd >= 0)
        shutdown(l->fd, SHUT_RDWR);
}

void listener_close(struct listener *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    if (l->path[0])
        unlink(l->path);
    l->path[0] = '\0';
}
