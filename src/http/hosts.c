#include "http/hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

void hosts_init(struct hosts *h)
{
    *h = (struct hosts){.n = 0};
}

void hosts_done(struct hosts *h)
{
    for (unsigned i = 0; i < h->n; i++)
        free(h->names[i]);
    h->n = 0;
}

static bool same_name(struct slice a, const char *name)
{
    return a.n == strlen(name) && strncasecmp(a.p, name, a.n) == 0;
}

static bool is_added(const struct hosts *h, struct slice name)
{
    for (unsigned i = 0; i < h->n; i++)
        if (same_name(name, h->names[i]))
            return true;
    return false;
}

int hosts_add(struct hosts *h, struct slice name)
{
    name = hosts_bare(name);
    if (name.n == 0 || is_added(h, name))
        return 0;
    if (h->n == HOSTS_MAX || name.n >= HOSTS_NAME_BYTES)
        return -E2BIG;
    char *copy = strndup(name.p, name.n);
    if (!copy)
        return -ENOMEM;
    h->names[h->n++] = copy;
    return 0;
}

static bool entry_names(const struct hostent *entry, struct slice machine)
{
    if (same_name(machine, entry->h_name))
        return true;
    for (char **alias = entry->h_aliases; *alias; alias++)
        if (same_name(machine, *alias))
            return true;
    return false;
}

/* The full name of a machine is not in the kernel: what Debian and others write is
 * "127.0.1.1 web1.example.org web1". gethostent reads this file alone. */
static int add_from_file(struct hosts *h, struct slice machine)
{
    int rc = 0;
    const struct hostent *entry;
    sethostent(0);
    while (rc != -ENOMEM && (entry = gethostent())) {
        if (!entry_names(entry, machine))
            continue;
        rc = hosts_add(h, slice_of(entry->h_name));
        for (char **alias = entry->h_aliases; rc != -ENOMEM && *alias; alias++)
            rc = hosts_add(h, slice_of(*alias));
    }
    endhostent();
    return rc == -ENOMEM ? rc : 0;
}

int hosts_add_machine(struct hosts *h)
{
    char name[HOSTS_NAME_BYTES] = "";
    if (gethostname(name, sizeof(name) - 1) < 0 || !name[0])
        return 0;
    struct slice whole = slice_of(name), rest = whole, head = whole;
    slice_cut(&rest, '.', &head);
    int rc = hosts_add(h, whole);
    if (rc == 0)
        rc = hosts_add(h, head);
    return rc == 0 ? add_from_file(h, whole) : rc;
}

static bool is_port(struct slice s)
{
    if (s.n > 5)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

struct slice hosts_bare(struct slice value)
{
    const struct slice malformed = {NULL, 0};
    struct slice host = value, port = {NULL, 0};
    if (value.n && value.p[0] == '[') {
        const char *end = memchr(value.p, ']', value.n);
        if (!end)
            return malformed;
        host.n = (size_t) (end - value.p) + 1;
        struct slice rest = slice_sub(value, host.n, value.n);
        if (rest.n && rest.p[0] != ':')
            return malformed;
        if (rest.n)
            port = slice_sub(rest, 1, rest.n);
    } else if (slice_cut(&value, ':', &host)) {
        port = value;
    }
    if (!is_port(port) || host.n == 0)
        return malformed;
    if (host.p[host.n - 1] == '.')
        host.n--;
    return host;
}

static bool is_literal(struct slice host)
{
    char text[INET6_ADDRSTRLEN + 1];
    unsigned char address[16];
    bool six = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    struct slice inner = six ? slice_sub(host, 1, host.n - 1) : host;
    if (inner.n >= sizeof(text))
        return false;
    memcpy(text, inner.p, inner.n);
    text[inner.n] = '\0';
    return strlen(text) == inner.n && inet_pton(six ? AF_INET6 : AF_INET, text, address) == 1;
}

bool hosts_have(const struct hosts *h, struct slice value)
{
    struct slice host = hosts_bare(value);
    if (host.n == 0)
        return false;
    return same_name(host, "localhost") || is_literal(host) || is_added(h, host);
}
