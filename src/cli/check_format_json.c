/* check-format --json: one object a line, written by hand because its texts may be no UTF-8. */
#include <inttypes.h>

#include "base/civil.h"
#include "base/utf8.h"
#include "cli/check_format_int.h"

static void put_base64(struct buf *to, struct slice s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i;
        uint32_t v = (uint32_t) (unsigned char) s.p[i] << 16;
        v |= left > 1 ? (uint32_t) (unsigned char) s.p[i + 1] << 8 : 0;
        v |= left > 2 ? (unsigned char) s.p[i + 2] : 0;
        buf_byte(to, digits[v >> 18]);
        buf_byte(to, digits[v >> 12 & 63]);
        buf_byte(to, left > 1 ? digits[v >> 6 & 63] : '=');
        buf_byte(to, left > 2 ? digits[v & 63] : '=');
    }
}

static void put_escaped(struct buf *to, struct slice s)
{
    size_t plain = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char) s.p[i];
        if (c >= ' ' && c != '"' && c != '\\')
            continue;
        buf_put(to, s.p + plain, i - plain);
        plain = i + 1;
        if (c < ' ')
            buf_printf(to, "\\u%04x", c);
        else
            buf_printf(to, "\\%c", c);
    }
    buf_put(to, s.p + plain, s.n - plain);
}

static void put_text(struct buf *to, const char *name, struct slice s)
{
    bool is_text = utf8_valid(s);
    buf_printf(to, ",\"%s%s\":", name, s.n == 0 || is_text ? "" : "_base64");
    if (s.n == 0) {
        buf_text(to, "null");
        return;
    }
    buf_byte(to, '"');
    if (is_text)
        put_escaped(to, s);
    else
        put_base64(to, s);
    buf_byte(to, '"');
}

static void put_client(struct buf *to, const struct key_client *c)
{
    char text[46], lower[256];
    struct slice s = c->text;
    if (c->is_address) {
        s = slice_of(client_text(text, c->address));
    } else if (s.n > 0 && s.n <= sizeof(lower)) {
        for (size_t i = 0; i < s.n; i++)
            lower[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char) (s.p[i] | 0x20) : s.p[i];
        s.p = lower;
    }
    put_text(to, "client", s);
}

void checked_json(const struct checked *c, struct buf *to)
{
    const struct record *r = &c->record;
    char day[16];
    buf_printf(to, "{\"counted\":%s,\"reason\":", c->reason ? "false" : "true");
    buf_printf(to, c->reason ? "\"%s\"" : "null", c->reason);
    if (!c->is_record) {
        buf_text(to,
                 ",\"day\":null,\"client\":null,\"user_agent\":null,\"path\":null,\"status\":null,"
                 "\"bytes\":null}\n");
        return;
    }
    buf_printf(to, ",\"day\":\"%s\"", civil_text(day, r->day));
    put_client(to, &c->client);
    put_text(to, "user_agent", r->text[FIELD_USER_AGENT]);
    put_text(to, "path", r->text[FIELD_PATH]);
    if (r->status == STATUS_NONE)
        buf_text(to, ",\"status\":null");
    else
        buf_printf(to, ",\"status\":%d", r->status);
    buf_printf(to, ",\"bytes\":%" PRIu64 "}\n", r->bytes);
}
