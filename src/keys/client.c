#include "keys/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define IPV6_TEXT_MAX 45 /* "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255" */
#define MAPPED_BITS 96

static const uint8_t mapped_head[12] = {[10] = 0xff, [11] = 0xff};

static bool is_mapped(const uint8_t address[16])
{
    return memcmp(address, mapped_head, sizeof(mapped_head)) == 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* One to three digits at p, without a zero in front: readers differ on octal. How many; 0: none. */
static inline size_t read_part(const char *p, const char *end, uint8_t *ret)
{
    size_t n = 1;
    if (p == end || !is_digit(p[0]))
        return 0;
    unsigned value = (unsigned) (p[0] - '0');
    for (; n < 3 && p + n < end && is_digit(p[n]); n++) {
        if (value == 0)
            return 0;
        value = value * 10 + (unsigned) (p[n] - '0');
    }
    *ret = (uint8_t) value;
    return value > 255 ? 0 : n;
}

/* Reads a dotted quad at the start of s: how many bytes it takes, 0: there is none. */
static size_t read_ipv4(struct slice s, uint8_t ret[4])
{
    const char *p = s.p, *end = s.p + s.n;
    for (int part = 0; part < 4; part++) {
        if (part > 0 && (p == end || *p++ != '.'))
            return 0;
        size_t n = read_part(p, end, &ret[part]);
        if (n == 0)
            return 0;
        p += n;
    }
    return (size_t) (p - s.p);
}

static void put_mapped(uint8_t ret[16], const uint8_t quad[4])
{
    memcpy(ret, mapped_head, sizeof(mapped_head));
    memcpy(ret + sizeof(mapped_head), quad, 4);
}

bool client_ipv4(struct slice text, uint8_t ret[16])
{
    memcpy(ret, mapped_head, sizeof(mapped_head));
    return text.n > 0 && read_ipv4(text, ret + sizeof(mapped_head)) == text.n;
}

static bool read_ipv6(struct slice s, uint8_t ret[16])
{
    char text[IPV6_TEXT_MAX + 1];
    if (s.n < 2 || s.n > IPV6_TEXT_MAX || memchr(s.p, '\0', s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(AF_INET6, text, ret) == 1;
}

/* ":" and digits to the end */
static bool is_port(struct slice s)
{
    if (s.n < 2 || s.p[0] != ':')
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!is_digit(s.p[i]))
            return false;
    return true;
}

/* An address without brackets; a zone id goes, a port only behind IPv4. */
static bool bare_address(struct slice s, bool port_allowed, uint8_t ret[16])
{
    uint8_t quad[4];
    size_t n = read_ipv4(s, quad);
    struct slice rest = {s.p + n, s.n - n};
    if (n > 0 && (rest.n == 0 || rest.p[0] == '%' || (port_allowed && is_port(rest)))) {
        put_mapped(ret, quad);
        return true;
    }
    struct slice behind = s, address;
    return read_ipv6(slice_cut(&behind, '%', &address) ? address : s, ret);
}

bool client_address(struct slice text, uint8_t ret[16])
{
    if (text.n == 0)
        return false;
    if (text.p[0] != '[')
        return bare_address(text, true, ret);
    const char *end = memrchr(text.p, ']', text.n);
    if (!end)
        return false;
    size_t inside = (size_t) (end - text.p) - 1;
    struct slice behind = {end + 1, text.n - inside - 2};
    if (behind.n > 0 && !is_port(behind))
        return false;
    return bare_address((struct slice){text.p + 1, inside}, false, ret);
}

static void keep_bits(uint8_t address[16], unsigned bits)
{
    for (unsigned i = bits / 8; i < 16; i++) {
        unsigned kept = i == bits / 8 ? bits % 8 : 0;
        address[i] &= (uint8_t) (0xff00u >> kept);
    }
}

void client_truncate(uint8_t address[16], unsigned ipv4_prefix, unsigned ipv6_prefix)
{
    keep_bits(address, is_mapped(address) ? MAPPED_BITS + ipv4_prefix : ipv6_prefix);
}

/* The longest run of two and more zero groups, the first of equals (RFC 5952, 4.2); n = 0: none. */
static void longest_zeros(const unsigned group[8], int *ret_start, int *ret_n)
{
    *ret_start = *ret_n = 0;
    for (int i = 0; i < 8; i++) {
        int n = 0;
        while (i + n < 8 && group[i + n] == 0)
            n++;
        if (n >= 2 && n > *ret_n) {
            *ret_start = i;
            *ret_n = n;
        }
        i += n;
    }
}

char *client_text(char buffer[46], const uint8_t address[16])
{
    const uint8_t *a = address;
    if (is_mapped(address)) {
        snprintf(buffer, 46, "%u.%u.%u.%u", a[12], a[13], a[14], a[15]);
        return buffer;
    }
    unsigned group[8];
    for (int i = 0; i < 8; i++)
        group[i] = (unsigned) a[2 * i] << 8 | a[2 * i + 1];
    int zeros, n;
    longest_zeros(group, &zeros, &n);
    char *to = buffer;
    for (int i = 0; i < 8; i++) {
        if (n > 0 && i == zeros) {
            to += snprintf(to, 3, "::");
            i += n - 1;
            continue;
        }
        bool first = i == 0 || (n > 0 && i == zeros + n);
        to += snprintf(to, 6, first ? "%x" : ":%x", group[i]);
    }
    return buffer;
}

int cidr_parse(struct slice s, struct cidr *ret, struct err *e)
{
    struct cidr c;
    struct slice rest = s, host;
    bool has_bits = slice_cut(&rest, '/', &host);
    if (!has_bits)
        host = s;
    uint8_t quad[4];
    bool ipv4 = host.n > 0 && read_ipv4(host, quad) == host.n;
    uint64_t most = ipv4 ? 32 : 128, bits = most;
    if (ipv4)
        put_mapped(c.address, quad);
    if ((!ipv4 && !read_ipv6(host, c.address)) || (has_bits && !num_u63(rest, &bits)) ||
        bits > most)
        return err_set(
            e, -EINVAL,
            "'%.*s' is not a network; expected 192.0.2.0/24, 2001:db8::/32 or an address",
            (int) (s.n < 64 ? s.n : 64), s.p ? s.p : "");
    c.bits = (unsigned) bits + (ipv4 ? MAPPED_BITS : 0);
    keep_bits(c.address, c.bits);
    *ret = c;
    return 0;
}

bool cidr_has(const struct cidr *c, const uint8_t address[16])
{
    /* ::/0 means every IPv6 address, as in servers' own allow lists, not the mapped ones within it.
     */
    if (c->bits < MAPPED_BITS && is_mapped(address))
        return false;
    unsigned whole = c->bits / 8, rest = c->bits % 8;
    if (memcmp(c->address, address, whole) != 0)
        return false;
    return rest == 0 || ((c->address[whole] ^ address[whole]) & (0xff00u >> rest) & 0xff) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What stands between blanks, then between quotes; empty where it says that there is no address. */
static struct slice clean_item(struct slice s)
{
    while (s.n > 0 && is_blank(s.p[0]))
        s = slice_sub(s, 1, s.n);
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    while (s.n > 0 && s.p[0] == '"')
        s = slice_sub(s, 1, s.n);
    while (s.n > 0 && s.p[s.n - 1] == '"')
        s.n--;
    if (slice_equal(s, SLICE_LITERAL("-")) || slice_equal(s, SLICE_LITERAL("unknown")))
        s.n = 0;
    return s;
}

static struct slice first_of(struct slice list)
{
    struct slice item;
    while (slice_cut(&list, ',', &item)) {
        item = clean_item(item);
        if (item.n > 0)
            return item;
    }
    return clean_item(list);
}

static bool is_trusted(const struct client_rule *rule, const uint8_t address[16])
{
    for (unsigned i = 0; i < rule->n_trusted; i++)
        if (cidr_has(&rule->trusted[i], address))
            return true;
    return false;
}

/* Walks a list from its right end; true: *ret is the first address that is no trusted proxy. Names
 * in the list are junk or forged and passed over. *last is the left-most item seen so far. */
static bool walk(const struct client_rule *rule, struct slice list, struct slice *last,
                 struct slice *ret)
{
    while (list.n > 0) {
        const char *comma = memrchr(list.p, ',', list.n);
        size_t start = comma ? (size_t) (comma - list.p) + 1 : 0;
        struct slice item = clean_item(slice_sub(list, start, list.n));
        list.n = comma ? start - 1 : 0;
        if (item.n == 0)
            continue;
        *last = item;
        uint8_t address[16];
        if (client_address(item, address) && !is_trusted(rule, address)) {
            *ret = item;
            return true;
        }
    }
    return false;
}

struct slice client_choose(const struct client_rule *rule, struct slice remote,
                           struct slice forwarded)
{
    if (client_is_remote(rule))
        return first_of(remote);
    struct slice last = {NULL, 0}, chosen;
    if (walk(rule, remote, &last, &chosen) || walk(rule, forwarded, &last, &chosen))
        return chosen;
    return last;
}
