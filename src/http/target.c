#include "http/target.h"

#include <errno.h>

#include "base/utf8.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool is_control(char c)
{
    return (unsigned char) c < 0x20 || c == 0x7f;
}

bool target_is_text(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (is_control(s.p[i]))
            return false;
    return utf8_valid(s);
}

/* Bytes that no URI may hold as they are (RFC 3986, 2.2); those over 0x7f are let through because
 * people type them and curl sends them. */
static int check_raw(struct slice raw, struct err *e)
{
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (is_control(c) || c == ' ' || c == '#')
            return err_set(
                e, -EINVAL,
                "byte 0x%02x at position %zu of the request target must be written as %%%02X",
                (unsigned char) c, i + 1, (unsigned char) c);
    }
    return 0;
}

/* Undoes %hh (and + in a query) into *room, which is moved on. */
static int decode(struct slice s, bool query, char **room, struct slice *ret, struct err *e)
{
    char *to = *room;
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '+' && query) {
            to[n++] = ' ';
            continue;
        }
        if (s.p[i] != '%') {
            to[n++] = s.p[i];
            continue;
        }
        int high = i + 2 < s.n ? hex_digit(s.p[i + 1]) : -1;
        int low = i + 2 < s.n ? hex_digit(s.p[i + 2]) : -1;
        if (high < 0 || low < 0)
            return err_set(e, -EINVAL,
                           "a %% in the request target must be followed by two hexadecimal digits; "
                           "a percent sign itself is %%25");
        if (high == 0 && low == 0)
            return err_set(e, -EINVAL, "%%00 (NUL) is in no key and no name");
        to[n++] = (char) (high << 4 | low);
        i += 2;
    }
    *room = to + n;
    *ret = (struct slice){to, n};
    return 0;
}

static int take_path(struct target *t, struct slice path, char **room, struct err *e)
{
    if (path.n == 0 || path.p[0] != '/')
        return err_set(e, -EINVAL, "the request target must begin with /");
    int rc = decode(path, false, room, &t->path, e);
    if (rc < 0)
        return rc;
    return target_is_text(t->path) ? 0 : err_set(e, -EINVAL, "the path is no text in UTF-8");
}

static int take_parameter(struct target_parameter *p, struct slice piece, char **room,
                          struct err *e)
{
    struct slice name, value = piece;
    bool has_value = slice_cut(&value, '=', &name);
    if (!has_value)
        name = piece;
    int rc = decode(name, true, room, &p->name, e);
    if (rc < 0)
        return rc;
    if (!target_is_text(p->name))
        return err_set(e, -EINVAL, "the name of a parameter is no text in UTF-8");
    p->value = (struct slice){NULL, 0};
    return has_value ? decode(value, true, room, &p->value, e) : 0;
}

static int take_query(struct target *t, struct slice query, char **room, struct err *e)
{
    struct slice rest = query, piece;
    for (bool more = query.n > 0; more;) {
        more = slice_cut(&rest, '&', &piece);
        if (!more)
            piece = rest;
        if (t->n_parameters == TARGET_PARAMETERS_MAX)
            return err_set(e, -EOVERFLOW, "a request has at most %d parameters",
                           TARGET_PARAMETERS_MAX);
        int rc = take_parameter(&t->parameters[t->n_parameters], piece, room, e);
        if (rc < 0)
            return rc;
        t->n_parameters++;
    }
    return 0;
}

int target_parse(struct target *ret, struct slice raw, struct err *e)
{
    ret->n_parameters = 0;
    if (raw.n > TARGET_BYTES_MAX)
        return err_set(e, -E2BIG, "a request target has at most %d bytes", TARGET_BYTES_MAX);
    int rc = check_raw(raw, e);
    if (rc < 0)
        return rc;
    char *room = ret->room; /* decoding never makes it longer */
    struct slice path, query = raw;
    bool has_query = slice_cut(&query, '?', &path);
    rc = take_path(ret, has_query ? path : raw, &room, e);
    return rc < 0 || !has_query ? rc : take_query(ret, query, &room, e);
}
