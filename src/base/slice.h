/* Borrowed bytes with a length: what a parser cuts lines into. Never NUL-terminated, never owned.
 * A slice is valid as long as the memory that it was cut from; headers that lend say how long. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
    const char *p;
    size_t n;
};

#define SLICE_LITERAL(text) ((struct slice){(text), sizeof(text) - 1})

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, strlen(text)};
}

static inline struct slice slice_sub(struct slice s, size_t from, size_t to)
{
    return (struct slice){s.p + from, to - from};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool slice_is(struct slice s, const char *text)
{
    return slice_equal(s, slice_of(text));
}

static inline bool slice_starts(struct slice s, struct slice head)
{
    return s.n >= head.n && memcmp(s.p, head.p, head.n) == 0;
}

/* Cuts the bytes before the first sep off rest. false: there is no sep and nothing changed. */
static inline bool slice_cut(struct slice *rest, char sep, struct slice *ret_field)
{
    const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    if (!at)
        return false;
    *ret_field = (struct slice){rest->p, (size_t) (at - rest->p)};
    rest->n -= ret_field->n + 1;
    rest->p = at + 1;
    return true;
}

#endif
