#include "keys/rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "keys/rule_value.h"

#define SHOWN_BYTES_MAX 64 /* of a field or rule, in a message */

struct clause {
    enum field field;
    struct rule_value *values;
    size_t n_values;
};

struct rule {
    bool negated;
    struct clause *clauses;
    size_t n_clauses;
    struct buf text; /* ends in a NUL that is not counted */
};

int rule_new(struct rule **ret)
{
    struct rule *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    buf_init(&r->text);
    if (!buf_cstr(&r->text))
        return rule_free(r), -ENOMEM;
    *ret = r;
    return 0;
}

struct rule *rule_free(struct rule *r)
{
    if (!r)
        return NULL;
    for (size_t i = 0; i < r->n_clauses; i++) {
        for (size_t j = 0; j < r->clauses[i].n_values; j++)
            rule_value_done(&r->clauses[i].values[j]);
        free(r->clauses[i].values);
    }
    free(r->clauses);
    buf_done(&r->text);
    free(r);
    return NULL;
}

static struct clause *clause_find(struct rule *r, enum field field)
{
    for (size_t i = 0; i < r->n_clauses; i++)
        if (r->clauses[i].field == field)
            return &r->clauses[i];
    return NULL;
}

/* A larger copy of an array of n items; room doubles at powers of two. NULL: no memory. */
static void *grow(void *array, size_t n, size_t item_bytes)
{
    size_t bytes;
    if (n > 0 && (n & (n - 1)) != 0)
        return array;
    if (!size_mul(n > 0 ? 2 * n : 1, item_bytes, &bytes))
        return NULL;
    return realloc(array, bytes);
}

static struct clause *clause_add(struct rule *r, enum field field)
{
    struct clause *clauses = grow(r->clauses, r->n_clauses, sizeof(*clauses));
    if (!clauses)
        return NULL;
    r->clauses = clauses;
    struct clause *c = &clauses[r->n_clauses];
    *c = (struct clause){.field = field};
    return c;
}

static void write_clause(const struct clause *c, struct buf *to)
{
    buf_text(to, field_name(c->field));
    for (size_t i = 0; i < c->n_values; i++) {
        buf_byte(to, i > 0 ? '|' : '=');
        rule_value_write(&c->values[i], to);
    }
}

static int write_text(struct rule *r)
{
    struct buf text;
    buf_init(&text);
    if (r->negated)
        buf_byte(&text, '!');
    for (size_t i = 0; i < r->n_clauses; i++) {
        if (i > 0)
            buf_byte(&text, '&');
        write_clause(&r->clauses[i], &text);
    }
    if (!buf_cstr(&text)) {
        buf_done(&text);
        return -ENOMEM;
    }
    buf_done(&r->text);
    r->text = text;
    return 0;
}

/* The common case, a long list for one field: only what is new is written. */
static int extend_text(struct rule *r, const struct rule_value *v)
{
    size_t before = r->text.n;
    buf_byte(&r->text, '|');
    rule_value_write(v, &r->text);
    if (buf_cstr(&r->text))
        return 0;
    r->text.failed = false;
    r->text.n = before;
    r->text.p[before] = '\0';
    return -ENOMEM;
}

static int append(struct rule *r, enum field field, const struct rule_value *v)
{
    struct clause *c = clause_find(r, field);
    bool is_new = !c;
    if (is_new)
        c = clause_add(r, field);
    struct rule_value *values = c ? grow(c->values, c->n_values, sizeof(*values)) : NULL;
    if (!values)
        return -ENOMEM;
    c->values = values;
    c->values[c->n_values++] = *v;
    r->n_clauses += is_new;
    bool is_last = c == &r->clauses[r->n_clauses - 1];
    if ((is_last && !is_new ? extend_text(r, v) : write_text(r)) == 0)
        return 0;
    c->n_values--;
    if (is_new) {
        r->n_clauses--;
        free(c->values);
    }
    return -ENOMEM;
}

static int unknown_field(struct err *e, struct slice name)
{
    struct buf known;
    buf_init(&known);
    for (int f = 0; f < FIELD_X_FORWARDED_FOR; f++)
        buf_printf(&known, "%s%s", f > 0 ? ", " : "", field_name((enum field) f));
    const char *list = buf_cstr(&known);
    size_t n = name.n < SHOWN_BYTES_MAX ? name.n : SHOWN_BYTES_MAX;
    int r = err_set(e, -EINVAL, "no field '%.*s' for a rule; there are %s", (int) n,
                    name.n ? name.p : "", list ? list : "others");
    buf_done(&known);
    return r;
}

int rule_add(struct rule *r, struct slice field, struct slice value, struct err *e)
{
    enum field f;
    struct rule_value v;
    if (!field_find(field, &f) || f == FIELD_X_FORWARDED_FOR)
        return unknown_field(e, field);
    int n = rule_value_init(&v, f, value, e);
    if (n < 0)
        return n;
    n = append(r, f, &v);
    if (n < 0) {
        rule_value_done(&v);
        return err_set(e, n, "no memory for a rule");
    }
    return 0;
}

/* Cuts one value off *rest, up to a '|' or '&' that no backslash protects, and undoes the
 * backslashes. Returns the byte that ended it, 0 at the end of the text. */
static char take_value(struct slice *rest, struct buf *to)
{
    size_t i = 0;
    char end = 0;
    buf_clear(to);
    for (; i < rest->n; i++) {
        char c = rest->p[i];
        if (c == '&' || c == '|') {
            end = c;
            break;
        }
        if (c == '\\' && i + 1 < rest->n && strchr("&|\\", rest->p[i + 1]) && rest->p[i + 1])
            c = rest->p[++i];
        buf_byte(to, c);
    }
    *rest = slice_sub(*rest, i + (end != 0), rest->n);
    return end;
}

static int parse_clauses(struct rule *r, struct slice text, struct buf *value, struct err *e)
{
    char end = '&';
    while (end == '&') {
        struct slice rest = text, field;
        if (!slice_cut(&rest, '=', &field))
            return err_set(
                e, -EINVAL, "'%.*s' is no rule; expected FIELD=VALUE, such as status=404",
                (int) (text.n < SHOWN_BYTES_MAX ? text.n : SHOWN_BYTES_MAX), text.n ? text.p : "");
        do {
            end = take_value(&rest, value);
            if (buf_failed(value) < 0)
                return err_set(e, -ENOMEM, "no memory for a rule");
            int n = rule_add(r, field, (struct slice){value->p, value->n}, e);
            if (n < 0)
                return n;
        } while (end == '|');
        text = rest;
    }
    return 0;
}

int rule_parse(struct rule **ret, struct slice text, struct err *e)
{
    struct rule *r;
    struct buf value;
    int n = rule_new(&r);
    if (n < 0)
        return err_set(e, n, "no memory for a rule");
    buf_init(&value);
    r->negated = text.n > 0 && text.p[0] == '!';
    n = parse_clauses(r, r->negated ? slice_sub(text, 1, text.n) : text, &value, e);
    buf_done(&value);
    if (n < 0) {
        rule_free(r);
        return n;
    }
    *ret = r;
    return 0;
}

static bool clause_holds(const struct clause *c, const struct rule_view *view)
{
    for (size_t i = 0; i < c->n_values; i++)
        if (rule_value_holds(&c->values[i], c->field, view) != c->values[i].negated)
            return true;
    return false;
}

bool rule_match(const struct rule *r, const struct rule_view *view)
{
    for (size_t i = 0; i < r->n_clauses; i++)
        if (!clause_holds(&r->clauses[i], view))
            return r->negated;
    return !r->negated;
}

bool rule_is_range(const struct rule *r, struct rule_range *ret)
{
    if (r->negated || r->n_clauses != 1 || r->clauses[0].n_values != 1)
        return false;
    const struct rule_value *v = &r->clauses[0].values[0];
    if (v->kind != VALUE_NUMBER || v->negated)
        return false;
    *ret = v->range;
    return true;
}

const char *rule_text(const struct rule *r)
{
    return r->text.p;
}

bool rule_needs(const struct rule *r, enum field f)
{
    for (size_t i = 0; i < r->n_clauses; i++)
        if (r->clauses[i].field == f)
            return true;
    return false;
}
