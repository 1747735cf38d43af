/* The bytes that are hashed for a key (doc/hash.md): each field a u32 LE length and its bytes, a
 * client as 16 bytes or as a name in lower case, what is absent as "-". For plan.c. Pure, any
 * thread. */
#ifndef KEYS_KEY_H
#define KEYS_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/le.h"
#include "base/slice.h"
#include "keys/client.h"
#include "parse/parser.h"

#define KEY_HEAD_BYTES 4 /* the length in front of a field */
#define KEY_ADDRESS_BYTES 16
#define KEY_FIELD_EXTRA_BYTES                                                                      \
    (KEY_HEAD_BYTES + KEY_ADDRESS_BYTES) /* a field takes its text and at most this */

struct key_client {
    struct slice text; /* empty: none */
    bool is_address;
    uint8_t address[KEY_ADDRESS_BYTES]; /* whole; cut to the rule's prefixes only when it is put */
};

struct key_client key_client(const struct client_rule *rule, struct slice remote,
                             struct slice forwarded);

/* Most lines: nothing to choose from and nothing to clean. false: ask key_client. */
static inline bool key_client_usual(struct key_client *ret, const struct client_rule *rule,
                                    struct slice remote)
{
    ret->text = remote;
    ret->is_address = true;
    return client_is_remote(rule) && client_ipv4(remote, ret->address);
}

/* No line is longer than LINE_BYTES_MAX; only a name of the configuration could be, and is cut. */
static inline struct slice key_bounded(struct slice s)
{
    return (struct slice){s.p, s.n < LINE_BYTES_MAX ? s.n : LINE_BYTES_MAX};
}

/* These return the end of what they wrote. */
static inline uint8_t *key_put_bytes(uint8_t *to, const void *p, size_t n)
{
    le_put32(to, (uint32_t) n);
    memcpy(to + KEY_HEAD_BYTES, p, n);
    return to + KEY_HEAD_BYTES + n;
}

static inline uint8_t *key_put_text(uint8_t *to, struct slice s)
{
    if (s.n == 0)
        s = SLICE_LITERAL("-");
    return key_put_bytes(to, s.p, s.n);
}

uint8_t *key_put_client(uint8_t *to, const struct key_client *c, const struct client_rule *rule);

#endif
