/* Any bytes as a line of a format that the first byte chooses. Whatever it is, the reader touches
 * no byte outside it, says the same when asked again, and a record is complete. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parse/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const texts[] = {
    "combined",
    "common",
    "vhost_combined",
    "ingress-nginx",
    "nginx-proxy-manager",
    "nginx:escape=none '$remote_addr - $remote_user [$time_local] \"$request\" $status "
    "$body_bytes_sent \"$http_referer\" \"$http_user_agent\"'",
    "nginx:$remote_addr|$time_iso8601|$request|$status|$body_bytes_sent|$request_time|"
    "$http_user_agent",
    "nginx:time=$msec client=$remote_addr host=\"$http_host\" request=\"$request_method $uri$args "
    "$server_protocol\" xff=$http_x_forwarded_for status=$status",
    "apache:%{%d %b %Y %T}t.%{msec_frac}t %{%z}t %h %u \"%m %U%q %H\" %>s %B %D \"%q\"",
    "apache:%t %{sec}t %v:%p \"%r\" %s",
};

#define FORMATS (sizeof texts / sizeof texts[0])

struct answer {
    enum parsed parsed;
    struct record record;
    enum skip skip;
    enum reject reject;
    struct reject_at at;
};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct parser *parser_at(unsigned i)
{
    static struct parser *parsers[FORMATS];
    static struct format *formats[FORMATS];
    if (!parsers[i]) {
        struct format_spec spec;
        struct err e;
        must(format_spec_parse(slice_of(texts[i]), &spec, &e) == 0);
        must(format_new(&formats[i], &spec, &e) == 0);
        free(spec.text);
        struct parser_options options = {(const struct format *const *) &formats[i], 1, i % 2 == 0};
        must(parser_new(&parsers[i], &options) == 0);
    }
    return parsers[i];
}

static void ask(struct parser *p, struct slice line, struct answer *a)
{
    memset(a, 0, sizeof *a);
    parser_reset(p);
    a->parsed = parser_line(p, line, &a->record, &a->skip, &a->reject, &a->at);
}

static void check(const struct answer *a, struct slice line)
{
    unsigned long sum = 0;
    must(a->parsed != PARSED_SCRATCH_FULL);
    if (a->parsed == PARSED_REJECTED) {
        must(a->reject > REJECT_NONE && a->reject < REJECT_COUNT);
        must(a->at.field && a->at.expected && a->at.column >= 1 && a->at.column <= line.n + 1);
    }
    if (a->parsed != PARSED_RECORD)
        return;
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        struct slice s = a->record.text[i];
        must(s.p || s.n == 0);
        for (size_t k = 0; k < s.n; k++)
            sum += (unsigned char) s.p[k];
    }
    must(sum < (unsigned long) -1);
    must(a->record.text[FIELD_PATH].n > 0);
    must(a->record.status >= STATUS_NONE && a->record.status <= 999);
    must(a->record.bytes <= INT64_MAX);
}

static void same(const struct answer *a, const struct answer *b)
{
    must(a->parsed == b->parsed && a->skip == b->skip && a->reject == b->reject);
    must(a->at.column == b->at.column && a->at.field == b->at.field);
    if (a->parsed != PARSED_RECORD)
        return;
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        must(slice_equal(a->record.text[i], b->record.text[i]) &&
             !a->record.text[i].p == !b->record.text[i].p);
    must(a->record.time_s == b->record.time_s && a->record.day == b->record.day);
    must(a->record.status == b->record.status && a->record.bytes == b->record.bytes);
    must(a->record.duration_us == b->record.duration_us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct slice other = SLICE_LITERAL(
        "::1 - - [01/Jan/2001:01:01:01 +0101] \"GET / HTTP/1.1\" 200 1 \"-\" \"\\t\"");
    struct answer first, second, third;
    if (n == 0)
        return 0;
    struct parser *p = parser_at(data[0] % FORMATS);
    char *line = malloc(n); /* exactly sized, so that a read beyond it is seen */
    if (!line)
        return 0;
    memcpy(line, data + 1, n - 1);
    struct slice s = {line, n - 1};
    ask(p, s, &first);
    check(&first, s);
    ask(p, s, &second);
    same(&first, &second);
    ask(p, other, &third);
    ask(p, s, &second);
    same(&first, &second);
    free(line);
    return 0;
}
