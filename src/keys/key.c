#include "keys/key.h"

#include <string.h>

#include "base/buf.h"
#include "keys/plan.h"

struct key_client key_client(const struct client_rule *rule, struct slice remote,
                             struct slice forwarded)
{
    struct key_client c;
    c.text = client_choose(rule, remote, forwarded);
    c.is_address = client_address(c.text, c.address);
    return c;
}

uint8_t *key_put_client(uint8_t *to, const struct key_client *c, const struct client_rule *rule)
{
    uint8_t *end;
    if (c->is_address) {
        end = key_put_bytes(to, c->address, KEY_ADDRESS_BYTES);
        if (rule->ipv4_prefix < 32 || rule->ipv6_prefix < 128)
            client_truncate(to + KEY_HEAD_BYTES, rule->ipv4_prefix, rule->ipv6_prefix);
        return end;
    }
    end = key_put_text(to, key_bounded(c->text));
    for (uint8_t *b = to + KEY_HEAD_BYTES; b < end; b++)
        if (*b >= 'A' && *b <= 'Z')
            *b |= 0x20;
    return end;
}

static bool could_stand_in_name(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("-._:/", c));
}

static void put_client_text(struct slice s, struct buf *to)
{
    bool is_name = s.n != KEY_ADDRESS_BYTES;
    size_t i = 0;
    while (!is_name && i < KEY_ADDRESS_BYTES && could_stand_in_name((uint8_t) s.p[i]))
        i++;
    char text[46];
    if (is_name || i == KEY_ADDRESS_BYTES)
        buf_slice(to, s);
    else
        buf_text(to, client_text(text, (const uint8_t *) s.p));
}

bool key_field_text(const struct key_def *key, const uint8_t *encoded, uint32_t n, unsigned i,
                    struct buf *to)
{
    if (i >= key->n)
        return false;
    for (unsigned at = 0;; at++) {
        if (n < KEY_HEAD_BYTES || le_get32(encoded) > n - KEY_HEAD_BYTES)
            return false;
        struct slice s = {(const char *) encoded + KEY_HEAD_BYTES, le_get32(encoded)};
        if (at == i) {
            if (key->field[i] == FIELD_CLIENT)
                put_client_text(s, to);
            else
                buf_slice(to, s);
            return true;
        }
        encoded += KEY_HEAD_BYTES + s.n;
        n -= KEY_HEAD_BYTES + (uint32_t) s.n;
    }
}
