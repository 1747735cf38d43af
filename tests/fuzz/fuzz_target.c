/* The parser of request targets takes any bytes. What it accepts lies in its own room, holds no
 * NUL, and comes out the same when every byte is written as an escape. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "http/hosts.h"
#include "http/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct target one, two;

static void must(bool holds)
{
    if (!holds)
        abort();
}

static bool lies_within(const struct target *t, struct slice s)
{
    return s.n == 0 ||
           (s.p >= t->room && s.p + s.n <= t->room + sizeof(t->room) && !memchr(s.p, '\0', s.n));
}

static void check(const struct target *t)
{
    must(lies_within(t, t->path) && t->path.n > 0 && t->path.p[0] == '/');
    must(target_is_text(t->path));
    must(t->n_parameters <= TARGET_PARAMETERS_MAX);
    for (unsigned i = 0; i < t->n_parameters; i++) {
        must(lies_within(t, t->parameters[i].name) && lies_within(t, t->parameters[i].value));
        must(target_is_text(t->parameters[i].name));
    }
}

static void put(struct buf *b, struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        buf_printf(b, "%%%02x", (unsigned char) s.p[i]);
}

static void check_again(void)
{
    struct buf b;
    buf_init(&b);
    buf_byte(&b, '/');
    put(&b, slice_sub(one.path, 1, one.path.n));
    for (unsigned i = 0; i < one.n_parameters; i++) {
        buf_byte(&b, i ? '&' : '?');
        put(&b, one.parameters[i].name);
        if (one.parameters[i].value.p)
            buf_byte(&b, '=');
        put(&b, one.parameters[i].value);
    }
    if (b.n <= TARGET_BYTES_MAX) {
        must(target_parse(&two, (struct slice){b.p, b.n}, NULL) == 0);
        must(slice_equal(one.path, two.path));
        /* One parameter without name, '=' and value is written as an empty query, which has none.
         */
        must(one.n_parameters == two.n_parameters || b.p[b.n - 1] == '?');
        for (unsigned i = 0; i < two.n_parameters; i++) {
            must(slice_equal(one.parameters[i].name, two.parameters[i].name));
            must(slice_equal(one.parameters[i].value, two.parameters[i].value));
        }
    }
    buf_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct slice raw = {(const char *) data, n};
    struct err e = {""};
    struct slice host = hosts_bare(raw);
    must(host.n <= n);
    if (target_parse(&one, raw, &e) < 0) {
        must(e.text[0] != '\0');
        return 0;
    }
    check(&one);
    check_again();
    return 0;
}
