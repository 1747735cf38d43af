#include "input/cutter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The buffer is used so, NULs apart (capital letters: lines):
 *
 *     | carry, bytes read ... at most BLOCK_LINE_MAX + 1 | spare, BLOCK_READ_BYTES |
 *     |   A \n B \n C \n  rest -> the next carry         |                         |
 *
 * As no more than BLOCK_LINE_MAX + 1 bytes are looked at, only the rest can be too long, and it is
 * as soon as it fills them. Where NULs have to be taken out, lines are put together in the spare
 * part, so that the bytes that were read stay as they are for whoever hashes them. */
_Static_assert(BLOCK_ROOM == BLOCK_LINE_MAX + 1 + BLOCK_READ_BYTES, "room for both parts");
_Static_assert(BLOCK_READ_BYTES >= BLOCK_LINE_MAX, "lines without their NULs fit");

static const char byte_order_mark[] = {'\xef', '\xbb', '\xbf'};

int cutter_init(struct cutter *c)
{
    *c = (struct cutter){0};
    c->carry = malloc(BLOCK_LINE_MAX + 1);
    return c->carry ? 0 : -ENOMEM;
}

void cutter_done(struct cutter *c)
{
    free(c->carry);
    *c = (struct cutter){0};
}

char *cutter_room(struct cutter *c, struct block *b, size_t *ret_room)
{
    memcpy(b->buffer, c->carry, c->carried);
    *ret_room = BLOCK_LINE_MAX + 1 - c->carried;
    return b->buffer + c->carried;
}

/* Sixteen bytes at a time. A comparison is -1 where it holds, and 255 rounds cannot overflow a
 * byte. */
typedef uint8_t vector __attribute__((vector_size(16)));

static uint64_t count_line_feeds(const char *p, size_t n)
{
    uint64_t count = 0;
    while (n >= sizeof(vector)) {
        size_t rounds = n / sizeof(vector) < 255 ? n / sizeof(vector) : 255;
        vector sums = {0}, bytes;
        for (const char *end = p + rounds * sizeof(vector); p < end; p += sizeof(vector)) {
            memcpy(&bytes, p, sizeof(bytes));
            sums -= (vector) (bytes == '\n');
        }
        n -= rounds * sizeof(vector);
        for (unsigned i = 0; i < sizeof(vector); i++)
            count += sums[i];
    }
    for (; n; p++, n--)
        count += *p == '\n';
    return count;
}

static size_t skip_nuls(const char *p, size_t from, size_t to)
{
    while (from < to && p[from] == '\0')
        from++;
    return from;
}

/* What stands before the first line: a byte order mark at the start of all, the end of a line that
 * was too long. Returns false when everything is to be kept until more bytes tell. */
static bool drop_head(struct cutter *c, const char *p, size_t total, bool ended, size_t *ret_from)
{
    size_t from = 0;
    if (!c->started) {
        size_t n = total < sizeof(byte_order_mark) ? total : sizeof(byte_order_mark);
        bool like = memcmp(p, byte_order_mark, n) == 0;
        if (like && n < sizeof(byte_order_mark) && !ended)
            return false;
        c->started = true;
        from = like && n == sizeof(byte_order_mark) ? n : 0;
    }
    if (c->skipping) {
        const char *feed = memchr(p + from, '\n', total - from);
        from = feed ? (size_t) (feed + 1 - p) : total;
        c->skipping = !feed;
    }
    *ret_from = from;
    return true;
}

/* NULs before a line are the hole that a truncated file's writer leaves: they are no part of it. */
static struct slice without_nuls(struct block *b, size_t from, size_t to)
{
    char *to_p = b->buffer + BLOCK_LINE_MAX + 1, *out = to_p;
    const char *p = b->buffer;
    while (from < to) {
        from = skip_nuls(p, from, to);
        const char *feed = memchr(p + from, '\n', to - from);
        size_t n = feed ? (size_t) (feed + 1 - p) - from : to - from;
        memcpy(out, p + from, n);
        out += n;
        from += n;
    }
    return (struct slice){to_p, (size_t) (out - to_p)};
}

static bool any_line_starts_with_nul(const char *p, size_t n)
{
    const char *end = p + n, *at = p;
    while (at < end && (at = memchr(at, '\0', (size_t) (end - at)))) {
        if (at == p || at[-1] == '\n')
            return true;
        at++;
    }
    return false;
}

void cutter_cut(struct cutter *c, struct block *b, size_t n, bool ended)
{
    const char *p = b->buffer;
    size_t total = c->carried + n, from = 0;
    b->lines = (struct slice){p, 0};
    b->consumed = 0;
    b->too_long = 0;
    b->ended = ended;
    b->line_number = c->lines + 1;
    if (!drop_head(c, p, total, ended, &from)) {
        memcpy(c->carry, p, total);
        c->carried = total;
        return;
    }
    const char *feed = from < total ? memrchr(p + from, '\n', total - from) : NULL;
    size_t to = feed ? (size_t) (feed + 1 - p) : from;
    size_t rest = skip_nuls(p, to, total);
    if (total - rest > BLOCK_LINE_MAX) {
        b->too_long = 1;
        c->skipping = !ended;
        rest = total;
    } else if (ended && rest < total) {
        to = rest = total;
    }
    b->lines = (struct slice){p + from, to - from};
    if (any_line_starts_with_nul(p + from, to - from))
        b->lines = without_nuls(b, from, to);
    b->consumed = rest;
    c->lines += count_line_feeds(b->lines.p, b->lines.n) + b->too_long;
    if (b->lines.n && b->lines.p[b->lines.n - 1] != '\n')
        c->lines++;
    c->carried = total - rest;
    memcpy(c->carry, p + rest, c->carried);
}
