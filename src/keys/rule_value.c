#include "keys/rule_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "keys/agent.h"

#define SHOWN_BYTES_MAX 64 /* of a value, in a message */

/* ">=500" and the like: cuts the sign off. What is above or below a number is a range of its own.
 */
enum compare { EQUAL, LESS, AT_MOST, GREATER, AT_LEAST };

static enum compare read_compare(struct slice *s)
{
    static const struct {
        struct slice sign;
        enum compare compare;
    } signs[] = {{SLICE_LITERAL(">="), AT_LEAST},
                 {SLICE_LITERAL("<="), AT_MOST},
                 {SLICE_LITERAL(">"), GREATER},
                 {SLICE_LITERAL("<"), LESS}};
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
        if (slice_starts(*s, signs[i].sign)) {
            *s = slice_sub(*s, signs[i].sign.n, s->n);
            return signs[i].compare;
        }
    return EQUAL;
}

/* number is not negative. Nothing is greater than the greatest: least is then over most. */
static void set_range(struct rule_value *v, enum compare compare, int64_t number)
{
    v->kind = VALUE_NUMBER;
    v->range.least = RULE_NUMBER_NONE + 1;
    v->range.most = INT64_MAX;
    switch (compare) {
    case EQUAL:
        v->range.least = v->range.most = number;
        break;
    case LESS:
        v->range.most = number - 1;
        break;
    case AT_MOST:
        v->range.most = number;
        break;
    case AT_LEAST:
        v->range.least = number;
        break;
    case GREATER:
        v->range.least = number < INT64_MAX ? number + 1 : number;
        v->range.most = number < INT64_MAX ? INT64_MAX : 0;
        break;
    }
}

static bool read_status(struct rule_value *v, struct slice s)
{
    if (s.n == 3 && s.p[0] >= '1' && s.p[0] <= '5' && (s.p[1] | 0x20) == 'x' &&
        (s.p[2] | 0x20) == 'x') {
        v->kind = VALUE_NUMBER;
        v->range.least = (s.p[0] - '0') * 100;
        v->range.most = v->range.least + 99;
        return true;
    }
    uint64_t number;
    enum compare compare = read_compare(&s);
    if (s.n > 3 || !num_u63(s, &number))
        return false;
    set_range(v, compare, (int64_t) number);
    return true;
}

static bool read_bytes(struct rule_value *v, struct slice s)
{
    uint64_t number;
    enum compare compare = read_compare(&s);
    if (!num_u63(s, &number) && !num_size_bytes(s, &number))
        return false;
    set_range(v, compare, (int64_t) number);
    return true;
}

static bool read_duration(struct rule_value *v, struct slice s)
{
    int64_t ns;
    enum compare compare = read_compare(&s);
    if (!num_duration_ns(s, &ns))
        return false;
    set_range(v, compare, ns / 1000); /* the units are whole milliseconds */
    return true;
}

/* A slip in an address must not become a name that never matches. */
static bool looks_like_address(struct slice s)
{
    bool ipv6 = memchr(s.p, ':', s.n), separated = false;
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr(ipv6 ? "0123456789abcdefABCDEF.:" : "0123456789.", s.p[i]))
            return false;
        separated |= s.p[i] == '.' || s.p[i] == ':';
    }
    return separated;
}

static bool read_client(struct rule_value *v, struct slice s)
{
    struct slice rest = s, host;
    uint8_t address[16];
    bool has_slash = slice_cut(&rest, '/', &host);
    v->kind = VALUE_NETWORK;
    if (has_slash && client_address(host, address))
        return cidr_parse(s, &v->network, NULL) == 0;
    v->network.bits = 128;
    if (client_address(s, v->network.address))
        return true;
    v->kind = VALUE_NAME;
    return !looks_like_address(s);
}

static bool read_agent_class(struct rule_value *v, struct slice s)
{
    for (int c = AGENT_HUMAN; c <= AGENT_BOT; c++)
        if (slice_is(s, agent_class_name((enum agent_class) c))) {
            set_range(v, EQUAL, c);
            return true;
        }
    return false;
}

static bool read_text(struct rule_value *v, struct slice s)
{
    v->kind = memchr(s.p, '*', s.n) ? VALUE_GLOB : VALUE_TEXT;
    return true;
}

struct grammar {
    bool (*read)(struct rule_value *v, struct slice s);
    bool has_dash; /* "-" means absent; else it is left to read */
    const char *expected;
};

static const struct grammar grammars[FIELD_COUNT] = {
    [FIELD_STATUS] = {read_status, true, "a status; expected 404, 4xx, >=500 or !200"},
    [FIELD_BYTES] = {read_bytes, true, "a size; expected 612, >1MiB, <=512B or !0"},
    [FIELD_DURATION] = {read_duration, true, "a duration; expected >1s, <=250ms, <1m or -"},
    [FIELD_CLIENT] = {read_client, true,
                      "a network; expected 192.0.2.7, 192.0.2.0/24, 2001:db8::/32 or a name"},
    [FIELD_AGENT_CLASS] = {read_agent_class, false, "a class of agents; expected human or bot"},
};
static const struct grammar text_grammar = {read_text, false, "a text"};

static int bad_value(struct err *e, enum field field, struct slice value, const char *why,
                     const char *expected)
{
    size_t n = value.n < SHOWN_BYTES_MAX ? value.n : SHOWN_BYTES_MAX;
    return err_set(e, -EINVAL, "%s: '%.*s' %s%s", field_name(field), (int) n,
                   value.n ? value.p : "", why, expected);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c | 0x20) : c;
}

static int keep_text(struct rule_value *v, struct slice s)
{
    v->text = malloc(s.n);
    if (!v->text)
        return -ENOMEM;
    for (size_t i = 0; i < s.n; i++)
        v->text[i] = v->kind == VALUE_NAME ? lower(s.p[i]) : s.p[i];
    v->text_bytes = s.n;
    return 0;
}

int rule_value_init(struct rule_value *ret, enum field field, struct slice given, struct err *e)
{
    struct slice s = given;
    if (s.n > 0 && memchr(s.p, '\0', s.n))
        return bad_value(e, field, given, "holds a NUL byte", "");
    struct rule_value v = {.range.field = field, .negated = s.n > 0 && s.p[0] == '!'};
    if (v.negated)
        s = slice_sub(s, 1, s.n);
    if (s.n == 0)
        return bad_value(e, field, given, "is empty; expected ", "a value, or - for none");
    const struct grammar *g = grammars[field].read ? &grammars[field] : &text_grammar;
    if (g->has_dash && slice_equal(s, SLICE_LITERAL("-")))
        v.kind = VALUE_ABSENT;
    else if (!g->read(&v, s))
        return bad_value(e, field, given, "is not ", g->expected);
    if (keep_text(&v, s) < 0)
        return err_set(e, -ENOMEM, "no memory for a rule");
    *ret = v;
    return 0;
}

void rule_value_done(struct rule_value *v)
{
    free(v->text);
    v->text = NULL;
}

static bool equal_folded(const char *lowered, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (lowered[i] != lower(text[i]))
            return false;
    return true;
}

static bool equal_at(struct slice part, const char *text, bool fold)
{
    return fold ? equal_folded(part.p, text, part.n) : memcmp(part.p, text, part.n) == 0;
}

/* Where part begins in text; NULL: nowhere. */
static const char *find(struct slice part, struct slice text, bool fold)
{
    if (!fold)
        return memmem(text.p, text.n, part.p, part.n);
    for (size_t i = 0; i + part.n <= text.n; i++)
        if (equal_folded(part.p, text.p + i, part.n))
            return text.p + i;
    return NULL;
}

/* '*' is any bytes, also none. The left-most place of each middle part is good enough, so the cost
 * is linear in the text for each part, whatever an attacker writes. */
static bool glob_match(struct slice pattern, struct slice text, bool fold)
{
    struct slice part;
    if (!slice_cut(&pattern, '*', &part))
        return pattern.n == text.n && equal_at(pattern, text.p, fold);
    if (text.n < part.n || !equal_at(part, text.p, fold))
        return false;
    text = slice_sub(text, part.n, text.n);
    while (slice_cut(&pattern, '*', &part)) {
        const char *at = find(part, text, fold);
        if (!at)
            return false;
        text = slice_sub(text, (size_t) (at - text.p) + part.n, text.n);
    }
    return text.n >= pattern.n && equal_at(pattern, text.p + text.n - pattern.n, fold);
}

static bool is_absent(enum field field, const struct rule_view *view)
{
    if (field == FIELD_CLIENT)
        return view->client_text.n == 0;
    if (field == FIELD_BYTES)
        return view->record->text[field].n == 0;
    return rule_number(view, field) == RULE_NUMBER_NONE;
}

/* A name by itself; an address, however the line spells it, by its canonical text. */
static bool name_matches(struct slice pattern, const struct rule_view *view)
{
    char text[46];
    if (view->client)
        return glob_match(pattern, slice_of(client_text(text, view->client)), true);
    return glob_match(pattern, view->client_text.n ? view->client_text : SLICE_LITERAL("-"), true);
}

static bool text_holds(const struct rule_value *v, enum field field, const struct rule_view *view)
{
    struct slice text = view->record->text[field], own = {v->text, v->text_bytes};
    if (text.n == 0)
        text = SLICE_LITERAL("-");
    return v->kind == VALUE_TEXT ? slice_equal(own, text) : glob_match(own, text, false);
}

bool rule_value_other_holds(const struct rule_value *v, enum field field,
                            const struct rule_view *view)
{
    switch (v->kind) {
    case VALUE_TEXT:
    case VALUE_GLOB:
        return text_holds(v, field, view);
    case VALUE_ABSENT:
        return is_absent(field, view);
    case VALUE_NETWORK:
        return view->client && cidr_has(&v->network, view->client);
    case VALUE_NAME:
        return name_matches((struct slice){v->text, v->text_bytes}, view);
    case VALUE_NUMBER: /* asked for by rule_value_holds */
        break;
    }
    return false;
}

void rule_value_write(const struct rule_value *v, struct buf *to)
{
    if (v->negated)
        buf_byte(to, '!');
    for (size_t i = 0; i < v->text_bytes; i++) {
        if (strchr("&|\\", v->text[i]))
            buf_byte(to, '\\');
        buf_byte(to, v->text[i]);
    }
}
