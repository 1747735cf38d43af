#include "parse/unescape_int.h"

#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that \c stands for; 0: no escape of one letter. */
static char short_escape(char c)
{
    switch (c) {
    case '"':
    case '\\':
        return c;
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    case 'b':
        return '\b';
    case 'v':
        return '\v';
    case 'f':
        return '\f';
    case 'a':
        return '\a';
    default:
        return 0;
    }
}

/* Reads one escape at p (a backslash). Returns its bytes, and the byte meant. */
static size_t escape_at(const char *p, const char *end, char *ret)
{
    if (end - p >= 4 && p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0) {
        *ret = (char) (hex_digit(p[2]) << 4 | hex_digit(p[3]));
        return 4;
    }
    char c = end - p >= 2 ? short_escape(p[1]) : 0;
    *ret = c ? c : '\\';
    return c ? 2 : 1;
}

size_t unescape_backslash(struct slice s, char *out)
{
    const char *p = s.p, *end = s.p + s.n;
    char *to = out;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t) (end - p));
        size_t plain = (size_t) ((slash ? slash : end) - p);
        memcpy(to, p, plain);
        to += plain;
        p += plain;
        if (slash)
            p += escape_at(p, end, to++);
    }
    return (size_t) (to - out);
}
