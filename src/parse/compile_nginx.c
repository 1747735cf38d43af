#include "parse/format_int.h"

#include <errno.h>
#include <string.h>

/* One row a variable that means something to us; all others are skipped. */
static const struct {
    const char *name;
    struct meaning meaning;
} known[] = {
    {"remote_addr", {FIELD_CLIENT, KIND_CLIENT, 0, false, 0}},
    {"http_x_real_ip", {FIELD_CLIENT, KIND_CLIENT, 1, false, 0}},
    {"http_cf_connecting_ip", {FIELD_CLIENT, KIND_CLIENT, 1, false, 0}},
    {"http_true_client_ip", {FIELD_CLIENT, KIND_CLIENT, 1, false, 0}},
    {"proxy_protocol_addr", {FIELD_CLIENT, KIND_CLIENT, 2, false, 0}},
    {"realip_remote_addr", {FIELD_CLIENT, KIND_CLIENT, 3, false, 0}},
    {"http_x_forwarded_for", {FIELD_X_FORWARDED_FOR, KIND_TEXT, 0, false, 0}},
    {"proxy_add_x_forwarded_for", {FIELD_X_FORWARDED_FOR, KIND_TEXT, 1, false, 0}},
    {"time_local", {FIELD_TIME, KIND_TIME, 0, false, 0}},
    {"time_iso8601", {FIELD_TIME, KIND_TIME, 0, false, 0}},
    {"msec", {FIELD_TIME, KIND_TIME, 0, false, 0}},
    {"request", {SLOT_REQUEST, KIND_TEXT, 0, false, 0}},
    {"request_method", {FIELD_METHOD, KIND_BARE, 0, false, 0}},
    {"request_uri", {FIELD_TARGET, KIND_TEXT, 0, false, 0}},
    {"uri", {FIELD_TARGET, KIND_TEXT, 1, false, 0}},
    {"document_uri", {FIELD_TARGET, KIND_TEXT, 1, false, 0}},
    {"args", {FIELD_QUERY, KIND_TEXT, 0, true, 0}},
    {"query_string", {FIELD_QUERY, KIND_TEXT, 0, true, 0}},
    {"is_args", {SLOT_SKIP, KIND_TEXT, 0, true, 0}},
    {"server_protocol", {FIELD_PROTOCOL, KIND_BARE, 0, false, 0}},
    {"status", {FIELD_STATUS, KIND_STATUS, 0, false, 0}},
    {"body_bytes_sent", {FIELD_BYTES, KIND_BYTES, 0, false, 0}},
    {"bytes_sent", {FIELD_BYTES, KIND_BYTES, 1, false, 0}},
    {"http_referer", {FIELD_REFERER, KIND_TEXT, 0, false, 0}},
    {"http_user_agent", {FIELD_USER_AGENT, KIND_TEXT, 0, false, 0}},
    {"remote_user", {FIELD_USER, KIND_USER, 0, false, 0}},
    {"host", {FIELD_HOST, KIND_BARE, 0, false, 0}},
    {"http_host", {FIELD_HOST, KIND_BARE, 1, false, 0}},
    {"server_name", {FIELD_HOST, KIND_BARE, 2, false, 0}},
    {"server_port", {SLOT_SKIP, KIND_DIGITS, 0, false, 0}},
    {"request_time", {FIELD_DURATION, KIND_DURATION, 0, false, 1000000}},
};

/* Variables of the stream module, whose lines are connections without a request. */
static const char *const of_stream[] = {"protocol", "session_time", "bytes_received",
                                        "upstream_session_time"};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_name_byte(char c)
{
    return c == '_' || (unsigned) (c - '0') < 10 || (unsigned) ((c | 0x20) - 'a') < 26;
}

static size_t skip_blanks(struct slice s, size_t at)
{
    while (at < s.n && is_blank(s.p[at]))
        at++;
    return at;
}

/* Between the pieces of a statement stand blanks, line ends and comments. */
static size_t skip_gap(struct slice s, size_t at)
{
    at = skip_blanks(s, at);
    while (at < s.n && s.p[at] == '#') {
        while (at < s.n && s.p[at] != '\n')
            at++;
        at = skip_blanks(s, at);
    }
    return at;
}

static size_t word_end(struct slice s, size_t at)
{
    while (at < s.n && !is_blank(s.p[at]) && s.p[at] != ';')
        at++;
    return at;
}

/* Index of the quote that closes the one at `at`; s.n: none. */
static size_t quote_end(struct slice s, size_t at)
{
    size_t i = at + 1;
    while (i < s.n && s.p[i] != s.p[at])
        i += s.p[i] == '\\' && i + 1 < s.n ? 2 : 1;
    return i;
}

/* Nothing but quoted pieces, as log_format has them behind its name. */
static bool is_pieces(struct slice s, size_t at)
{
    unsigned pieces = 0;
    for (at = skip_gap(s, at); at < s.n; at = skip_gap(s, at)) {
        if (s.p[at] == ';')
            return pieces > 0 && skip_gap(s, at + 1) == s.n;
        if (s.p[at] != '\'' && s.p[at] != '"')
            return false;
        at = quote_end(s, at);
        if (at == s.n || (at + 1 < s.n && !is_blank(s.p[at + 1]) && s.p[at + 1] != ';'))
            return false;
        at++;
        pieces++;
    }
    return pieces > 0;
}

/* Copies with the configuration file's escapes undone, as nginx reads them. */
static int copy_text(struct builder *b, struct slice s, size_t from, size_t to)
{
    int r = 0;
    for (size_t i = from; i < to && r == 0; i++) {
        char c = s.p[i];
        size_t column = i + 1;
        if (c == '\\' && i + 1 < to) {
            char next = s.p[i + 1];
            char meant = next == 't' ? '\t' : next == 'r' ? '\r' : next == 'n' ? '\n' : next;
            if (memchr("\"'\\trn", next, 6)) {
                c = meant;
                i++;
            }
        }
        r = builder_text(b, c, column);
    }
    return r;
}

static int copy_pieces(struct builder *b, struct slice s, size_t at)
{
    for (at = skip_gap(s, at); at < s.n && s.p[at] != ';'; at = skip_gap(s, at)) {
        bool quoted = s.p[at] == '\'' || s.p[at] == '"';
        size_t end = quoted ? quote_end(s, at) : word_end(s, at);
        if (quoted && end == s.n)
            return err_set(b->e, -EINVAL,
                           "column %zu: the quote is not closed; expected %c before "
                           "the end of the format",
                           at + 1, s.p[at]);
        int r = copy_text(b, s, at + quoted, end);
        if (r < 0)
            return r;
        at = end + quoted;
    }
    return 0;
}

static int read_escape(struct builder *b, struct slice s, size_t *at)
{
    struct slice rest = slice_sub(s, *at, s.n);
    if (!slice_starts(rest, SLICE_LITERAL("escape=")))
        return 0;
    size_t from = *at + 7, end = word_end(s, from);
    struct slice value = slice_sub(s, from, end);
    if (slice_is(value, "json"))
        return err_set(b->e, -EINVAL,
                       "column %zu: escape=json makes lines of JSON; expected a JSON map of their "
                       "keys (json:FIELD=PATH,...) instead of the format string",
                       from + 1);
    if (!slice_is(value, "none") && !slice_is(value, "default"))
        return err_set(b->e, -EINVAL, "column %zu: escape=%.*s; expected default, json or none",
                       from + 1, (int) value.n, value.p);
    if (slice_is(value, "none"))
        b->escape = ESCAPE_NONE;
    *at = skip_blanks(s, end);
    return 0;
}

/* Undoes what surrounds the format in nginx.conf. */
static int read_statement(struct builder *b, struct slice s)
{
    size_t at = skip_blanks(s, 0);
    bool statement = slice_starts(slice_sub(s, at, s.n), SLICE_LITERAL("log_format")) &&
                     at + 10 < s.n && is_blank(s.p[at + 10]);
    if (statement)
        at = skip_blanks(s, word_end(s, skip_blanks(s, at + 10)));
    int r = read_escape(b, s, &at);
    if (r < 0)
        return r;
    if (statement || is_pieces(s, at))
        return copy_pieces(b, s, at);
    return copy_text(b, s, at, s.n);
}

static struct meaning meaning_of(struct slice name)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (slice_is(name, known[i].name))
            return known[i].meaning;
    return (struct meaning){SLOT_SKIP, KIND_TEXT, 0, false, 0};
}

static bool is_of_stream(struct slice name)
{
    for (size_t i = 0; i < sizeof of_stream / sizeof of_stream[0]; i++)
        if (slice_is(name, of_stream[i]))
            return true;
    return false;
}

/* Reads $name or ${name} at *at. */
static int read_variable(struct builder *b, size_t *at, struct variable *ret)
{
    size_t from = *at, i = from + 1;
    bool brace = i < b->n_text && b->text[i] == '{';
    i += brace;
    size_t begin = i;
    while (i < b->n_text && is_name_byte(b->text[i]))
        i++;
    if (i == begin || (brace && (i == b->n_text || b->text[i] != '}')))
        return err_set(b->e, -EINVAL,
                       "column %u: a $ without a variable; expected $name or ${name}",
                       b->column[from]);
    struct slice name = {b->text + begin, i - begin};
    i += brace;
    *ret = (struct variable){
        .meaning = meaning_of(name), .name = {b->text + from, i - from}, .column = b->column[from]};
    *at = i;
    return 0;
}

static int refuse_stream(struct builder *b, const struct variable *stream)
{
    for (unsigned i = 0; stream->name.p && i < b->n_variables; i++) {
        unsigned slot = b->variables[i].meaning.slot;
        if (slot == SLOT_REQUEST || slot == FIELD_TARGET || slot == FIELD_METHOD)
            return 0;
    }
    if (!stream->name.p)
        return 0;
    return err_set(b->e, -EINVAL,
                   "column %u: %.*s is of nginx's stream module, whose lines are connections "
                   "without a request; expected a format of its http module",
                   stream->column, (int) stream->name.n, stream->name.p);
}

int compile_nginx(struct builder *b, struct slice text)
{
    b->escape = ESCAPE_BACKSLASH;
    int r = read_statement(b, text);
    struct variable stream = {0};
    for (size_t i = 0; r == 0 && i < b->n_text;) {
        struct variable v;
        if (b->text[i] != '$') {
            r = builder_literal(b, b->text[i++]);
            continue;
        }
        r = read_variable(b, &i, &v);
        if (r == 0)
            r = builder_variable(b, &v);
        if (r == 0 && is_of_stream(slice_sub(v.name, 1, v.name.n)))
            stream = v;
    }
    return r == 0 ? refuse_stream(b, &stream) : r;
}
