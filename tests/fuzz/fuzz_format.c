/* Any bytes as a format string: nginx's if the first byte is even, Apache's if not. What compiles
 * must describe itself and read lines; what does not must say why. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void describe(const struct format *f)
{
    const char *field;
    struct slice literal;
    size_t i = 0;
    for (; format_step(f, i, &field, &literal); i++)
        must(field && field[0] && (literal.n == 0 || literal.p));
    must(i > 0 && format_name(f) && format_has(f, FIELD_TIME));
}

static void read_lines(const struct format *f, struct slice text)
{
    static const char *const lines[] = {
        "203.0.113.7 - - [10/Oct/2023:13:55:36 +0000] \"GET / HTTP/1.1\" 200 612 \"-\" \"a\\\"b\"",
        "1696946136.123 200 - x y z",
        "",
    };
    struct parser *p = NULL;
    struct record r;
    enum skip skip;
    enum reject reject;
    struct reject_at at;
    struct parser_options options = {&f, 1, true};
    if (parser_new(&p, &options) < 0)
        return;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        parser_line(p, slice_of(lines[i]), &r, &skip, &reject, &at);
    parser_line(p, text, &r, &skip, &reject, &at);
    parser_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct format_spec spec = {FORMAT_NGINX, NULL};
    struct format *f = NULL;
    struct err e = {{0}};
    if (n == 0 || !(spec.text = malloc(n)))
        return 0;
    memcpy(spec.text, data + 1, n - 1);
    spec.text[n - 1] = 0;
    if (data[0] % 2)
        spec.kind = FORMAT_APACHE;
    int r = format_new(&f, &spec, &e);
    if (r == 0) {
        describe(f);
        read_lines(f, slice_of(spec.text));
    } else {
        must(e.text[0]);
    }
    format_free(f);
    free(spec.text);
    return 0;
}
