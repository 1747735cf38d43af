/* The client of a line as the 16 bytes that are hashed. Pure, any thread. */
#ifndef KEYS_CLIENT_H
#define KEYS_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* IPv4 is kept mapped (::ffff:a.b.c.d). Port, brackets and zone id are dropped. false: no address.
 */
bool client_address(struct slice text, uint8_t ret[16]);
/* The same for text that is a dotted quad and nothing else. */
bool client_ipv4(struct slice text, uint8_t ret[16]);
/* Zeroes what is behind the prefix; lengths count from the address's own start (v4: 0..32). */
void client_truncate(uint8_t address[16], unsigned ipv4_prefix, unsigned ipv6_prefix);
/* The address as text: dotted for mapped ones, RFC 5952 else; to at least 46 bytes. Returns the
 * text. */
char *client_text(char buffer[46], const uint8_t address[16]);

struct cidr {
    uint8_t address[16];
    unsigned bits; /* 0..128, mapped */
};
int cidr_parse(struct slice s, struct cidr *ret,
               struct err *e); /* "192.0.2.0/24", a bare address is one */
/* ::/0 has every IPv6 address and no IPv4 one. */
bool cidr_has(const struct cidr *c, const uint8_t address[16]);

enum client_from { CLIENT_REMOTE, CLIENT_X_FORWARDED_FOR };

struct client_rule {
    enum client_from from;
    struct cidr *trusted; /* proxies */
    unsigned n_trusted;
    unsigned ipv4_prefix, ipv6_prefix; /* 32 and 128: nothing is cut */
};

/* Without a trusted proxy nobody's header is believed. */
static inline bool client_is_remote(const struct client_rule *rule)
{
    return rule->from == CLIENT_REMOTE || rule->n_trusted == 0;
}

/* The client of a line: remote, or for x_forwarded_for the walk over header plus connection from
 * the right past trusted proxies (all trusted: the left-most). Returns the text of the one that
 * counts. */
struct slice client_choose(const struct client_rule *rule, struct slice remote,
                           struct slice forwarded);

#endif
