#include "parse/format_int.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "parse/time_int.h"

#define TEXT(slot, kind, rank)                                                                     \
    {                                                                                              \
        slot, kind, rank, false, 0                                                                 \
    }
#define SKIP(kind)                                                                                 \
    {                                                                                              \
        SLOT_SKIP, kind, 0, false, 0                                                               \
    }
#define DURATION(unit_us)                                                                          \
    {                                                                                              \
        FIELD_DURATION, KIND_DURATION, 0, false, unit_us                                           \
    }

/* Directives without an argument, and those whose argument does not matter ("" stands for any). */
static const struct {
    const char *letter;
    const char *argument; /* NULL: none; compared without case */
    struct meaning meaning;
} known[] = {
    {"h", NULL, TEXT(FIELD_CLIENT, KIND_CLIENT, 0)},
    {"a", NULL, TEXT(FIELD_CLIENT, KIND_CLIENT, 0)},
    {"h", "c", TEXT(FIELD_CLIENT, KIND_CLIENT, 1)},
    {"a", "c", TEXT(FIELD_CLIENT, KIND_CLIENT, 1)},
    {"a", "mask", TEXT(FIELD_CLIENT, KIND_CLIENT, 1)},
    {"i", "X-Forwarded-For", TEXT(FIELD_X_FORWARDED_FOR, KIND_TEXT, 0)},
    {"i", "X-Real-IP", TEXT(FIELD_CLIENT, KIND_CLIENT, 2)},
    {"i", "CF-Connecting-IP", TEXT(FIELD_CLIENT, KIND_CLIENT, 2)},
    {"r", NULL, TEXT(SLOT_REQUEST, KIND_TEXT, 0)},
    {"m", NULL, TEXT(FIELD_METHOD, KIND_BARE, 0)},
    {"U", NULL, TEXT(FIELD_TARGET, KIND_TEXT, 0)},
    {"q", NULL, {FIELD_QUERY, KIND_QUERY, 0, true, 0}},
    {"H", NULL, TEXT(FIELD_PROTOCOL, KIND_BARE, 0)},
    {"s", NULL, TEXT(FIELD_STATUS, KIND_STATUS, 1)},
    {"b", NULL, TEXT(FIELD_BYTES, KIND_BYTES, 0)},
    {"B", NULL, TEXT(FIELD_BYTES, KIND_BYTES, 0)},
    {"O", NULL, TEXT(FIELD_BYTES, KIND_BYTES, 1)},
    {"i", "Referer", TEXT(FIELD_REFERER, KIND_TEXT, 0)},
    {"i", "User-Agent", TEXT(FIELD_USER_AGENT, KIND_TEXT, 0)},
    {"u", NULL, TEXT(FIELD_USER, KIND_USER, 0)},
    {"v", NULL, TEXT(FIELD_HOST, KIND_BARE, 0)},
    {"V", NULL, TEXT(FIELD_HOST, KIND_BARE, 1)},
    {"i", "Host", TEXT(FIELD_HOST, KIND_BARE, 2)},
    {"D", NULL, DURATION(1)},
    {"T", NULL, DURATION(1000000)},
    {"T", "s", DURATION(1000000)},
    {"T", "ms", DURATION(1000)},
    {"T", "us", DURATION(1)},
    {"l", NULL, SKIP(KIND_WORD)},
    {"p", NULL, SKIP(KIND_DIGITS)},
    {"p", "", SKIP(KIND_DIGITS)},
};

/* Letters that httpd, lighttpd and varnishncsa know and we skip. */
static const char skipped[] = "AfkLPRXISFhaimoenCxcbBDTstHqrUvVu";

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_blanks(struct slice s, size_t at)
{
    while (at < s.n && is_blank(s.p[at]))
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

static bool starts_word(struct slice s, size_t at, const char *word)
{
    size_t n = strlen(word);
    return s.n - at > n && strncasecmp(s.p + at, word, n) == 0 && is_blank(s.p[at + n]);
}

static size_t argument_end(struct slice s, size_t at)
{
    if (at < s.n && (s.p[at] == '"' || s.p[at] == '\'')) {
        at = quote_end(s, at);
        return at < s.n ? at + 1 : at;
    }
    while (at < s.n && !is_blank(s.p[at]))
        at++;
    return at;
}

/* Where the format itself stands in LogFormat "..." nick, CustomLog FILE "...", "..." or plain. */
static int find_text(struct builder *b, struct slice s, size_t *ret_from, size_t *ret_to)
{
    size_t from = skip_blanks(s, 0), to = s.n;
    bool statement = true;
    if (starts_word(s, from, "LogFormat"))
        from = skip_blanks(s, from + 9);
    else if (starts_word(s, from, "CustomLog"))
        from = skip_blanks(s, argument_end(s, skip_blanks(s, from + 9)));
    else
        statement = false;
    bool quoted = from < s.n && (s.p[from] == '"' || (statement && s.p[from] == '\''));
    size_t close = quoted ? quote_end(s, from) : s.n;
    if (statement && (!quoted || close == s.n))
        return err_set(b->e, -EINVAL, "column %zu: no format here; expected it between two quotes",
                       from + 1);
    if (statement || (quoted && close < s.n && skip_blanks(s, close + 1) == s.n)) {
        to = close;
        from++;
    }
    *ret_from = statement || quoted ? from : 0;
    *ret_to = to;
    return 0;
}

/* Copies with the escapes of httpd.conf and of LogFormat undone. */
static int copy_text(struct builder *b, struct slice s, size_t from, size_t to)
{
    int r = 0;
    for (size_t i = from; i < to && r == 0; i++) {
        char c = s.p[i];
        size_t column = i + 1;
        if (c == '\\' && i + 1 < to && memchr("\"\\ntr", s.p[i + 1], 5)) {
            char next = s.p[++i];
            c = next == 't' ? '\t' : next == 'r' ? '\r' : next == 'n' ? '\n' : next;
        }
        r = builder_text(b, c, column);
    }
    return r;
}

struct directive {
    struct slice whole;
    struct slice argument; /* p NULL: none */
    char letter;
    bool final; /* has a > */
    unsigned column;
};

static int bad_directive(struct builder *b, const struct directive *d, const char *expected)
{
    return err_set(b->e, -EINVAL, "column %u: %.*s is no directive; expected %s", d->column,
                   (int) d->whole.n, d->whole.p, expected);
}

/* Reads a directive at *at (its %): modifiers in any order, then a letter or ^ti, ^to. */
static int read_directive(struct builder *b, size_t *at, struct directive *ret)
{
    size_t i = *at + 1;
    *ret = (struct directive){.whole = {b->text + *at, 1}, .column = b->column[*at]};
    for (; i < b->n_text && strchr("!,<>0123456789{", b->text[i]) && b->text[i]; i++) {
        ret->final = ret->final || b->text[i] == '>';
        if (b->text[i] != '{')
            continue;
        const char *close = memchr(b->text + i, '}', b->n_text - i);
        if (!close)
            return bad_directive(b, ret, "a } that closes its {");
        ret->argument =
            slice_sub((struct slice){b->text, b->n_text}, i + 1, (size_t) (close - b->text));
        i = (size_t) (close - b->text);
    }
    ret->whole.n = i - *at;
    if (i == b->n_text)
        return bad_directive(b, ret, "a letter behind it, or %% for a percent sign");
    bool trailer = b->text[i] == '^' && b->n_text - i >= 3;
    ret->letter = trailer ? '^' : b->text[i];
    i += trailer ? 3 : 1;
    ret->whole.n = i - *at;
    *at = i;
    return 0;
}

static bool argument_is(struct slice argument, const char *text)
{
    return argument.n == strlen(text) && strncasecmp(argument.p, text, argument.n) == 0;
}

static bool meaning_find(const struct directive *d, struct meaning *ret)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *argument = known[i].argument;
        if (known[i].letter[0] != d->letter || !argument != !d->argument.p)
            continue;
        if (argument && argument[0] && !argument_is(d->argument, argument))
            continue;
        *ret = known[i].meaning;
        if (d->letter == 's' && d->final)
            ret->rank = 0;
        return true;
    }
    *ret = (struct meaning) SKIP(KIND_TEXT);
    return d->letter == '^' || (d->letter && strchr(skipped, d->letter));
}

/* %{...}t: a bare number, a fraction, or a strftime pattern. */
static int read_time(struct builder *b, const struct directive *d, struct variable *v)
{
    struct slice form = d->argument;
    if (slice_starts(form, SLICE_LITERAL("begin:")))
        form = slice_sub(form, 6, form.n);
    else if (slice_starts(form, SLICE_LITERAL("end:")))
        form = slice_sub(form, 4, form.n);
    if (slice_is(form, "sec") || slice_is(form, "msec") || slice_is(form, "usec")) {
        v->meaning = (struct meaning) TEXT(FIELD_TIME, KIND_TIME, 0);
        return 0;
    }
    if (slice_is(form, "msec_frac") || slice_is(form, "usec_frac")) {
        v->meaning = (struct meaning) SKIP(KIND_PIECE);
        v->pattern = slice_is(form, "msec_frac") ? SLICE_LITERAL("%3") : SLICE_LITERAL("%6");
        return 0;
    }
    unsigned have;
    size_t bad;
    if (form.n == 0 || !time_pattern_check(form, &have, &bad))
        return bad_directive(b, d,
                             "sec, msec, usec, msec_frac, usec_frac, or of strftime's "
                             "%Y %y %m %b %d %e %H %M %S %T %F %R %D %z %Z %s");
    v->meaning = (struct meaning) TEXT(FIELD_TIME, KIND_PIECE, 1);
    v->pattern = form;
    return 0;
}

static int add_directive(struct builder *b, const struct directive *d)
{
    struct variable v = {.name = d->whole, .column = d->column};
    int r;
    if (d->letter == '%')
        return builder_literal(b, '%');
    if (d->letter == 't' && !d->argument.p) {
        v.meaning = (struct meaning) TEXT(FIELD_TIME, KIND_TIME, 0);
        r = builder_literal(b, '[');
        if (r == 0)
            r = builder_variable(b, &v);
        return r == 0 ? builder_literal(b, ']') : r;
    }
    if (d->letter == 't')
        r = read_time(b, d, &v);
    else
        r = meaning_find(d, &v.meaning) ? 0
                                        : bad_directive(b, d, "one of mod_log_config's letters");
    return r == 0 ? builder_variable(b, &v) : r;
}

int compile_apache(struct builder *b, struct slice text)
{
    size_t from = 0, to = 0;
    b->escape = ESCAPE_BACKSLASH;
    int r = find_text(b, text, &from, &to);
    if (r == 0)
        r = copy_text(b, text, from, to);
    for (size_t i = 0; r == 0 && i < b->n_text;) {
        struct directive d;
        if (b->text[i] != '%') {
            r = builder_literal(b, b->text[i++]);
            continue;
        }
        r = read_directive(b, &i, &d);
        if (r == 0)
            r = add_directive(b, &d);
    }
    return r;
}
