#include "parse/format_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse/time_int.h"

int builder_text(struct builder *b, char c, size_t column)
{
    if (b->n_text == sizeof b->text)
        return err_set(b->e, -EINVAL, "the format is longer than %zu bytes", sizeof b->text);
    b->text[b->n_text] = c;
    b->column[b->n_text++] = (uint16_t) (column < UINT16_MAX ? column : UINT16_MAX);
    return 0;
}

static size_t literal_begin(const struct builder *b, unsigned i)
{
    return i == 0 ? b->head_end : b->literal_end[i - 1];
}

int builder_literal(struct builder *b, char c)
{
    if (b->n_literals == sizeof b->literals)
        return err_set(b->e, -EINVAL, "the format is longer than %zu bytes", sizeof b->literals);
    b->literals[b->n_literals++] = c;
    if (b->n_variables)
        b->literal_end[b->n_variables - 1] = b->n_literals;
    else
        b->head_end = b->n_literals;
    return 0;
}

/* Kinds whose text shows where it ends, so that another variable may follow directly. */
static bool shows_its_end(const struct variable *v)
{
    return v->meaning.kind == KIND_PIECE;
}

int builder_variable(struct builder *b, const struct variable *v)
{
    unsigned n = b->n_variables;
    if (n > 0 && literal_begin(b, n - 1) == b->n_literals) {
        struct variable *last = &b->variables[n - 1];
        if (last->meaning.slot == FIELD_TARGET && v->meaning.part_of_target)
            return 0;
        if (last->meaning.slot == SLOT_SKIP && last->meaning.kind == KIND_TEXT &&
            v->meaning.slot == SLOT_SKIP && v->meaning.kind == KIND_TEXT)
            return 0;
        if (!shows_its_end(last))
            return err_set(
                b->e, -EINVAL,
                "column %u: %.*s follows %.*s directly, so no line tells where one ends; "
                "expected a text between them, such as a blank",
                v->column, (int) v->name.n, v->name.p, (int) last->name.n, last->name.p);
    }
    if (n == FORMAT_STEPS_MAX)
        return err_set(b->e, -EINVAL,
                       "column %u: %.*s is one variable too many; expected at most %d", v->column,
                       (int) v->name.n, v->name.p, FORMAT_STEPS_MAX);
    b->variables[n] = *v;
    b->literal_end[n] = b->n_literals;
    b->n_variables++;
    return 0;
}

/* A line has no line end any more. */
static int trim_line_end(struct builder *b)
{
    while (b->n_variables && b->n_literals > literal_begin(b, b->n_variables - 1) &&
           strchr("\r\n", b->literals[b->n_literals - 1]))
        b->literal_end[b->n_variables - 1] = --b->n_literals;
    if (memchr(b->literals, '\n', b->n_literals))
        return err_set(b->e, -EINVAL,
                       "the format has a line feed in its middle; expected records of one line");
    return 0;
}

/* Of several variables for one field the best stands; what the others hold is skipped. */
static void settle_ranks(struct builder *b)
{
    for (unsigned i = 0; i < b->n_variables; i++) {
        struct meaning *a = &b->variables[i].meaning;
        for (unsigned k = i + 1; k < b->n_variables && a->slot != SLOT_SKIP; k++) {
            struct meaning *c = &b->variables[k].meaning;
            if (c->slot != a->slot || (a->kind == KIND_PIECE && c->kind == KIND_PIECE))
                continue;
            if (c->rank < a->rank)
                a->slot = SLOT_SKIP;
            else
                c->slot = SLOT_SKIP;
        }
    }
}

static bool has_slot(const struct builder *b, unsigned slot)
{
    for (unsigned i = 0; i < b->n_variables; i++)
        if (b->variables[i].meaning.slot == slot)
            return true;
    return false;
}

static int check_time(const struct builder *b)
{
    if (!has_slot(b, FIELD_TIME))
        return err_set(b->e, -EINVAL,
                       "the format has no time, so no line would have a day; expected $time_local, "
                       "$time_iso8601 or $msec (nginx), or %%t (Apache)");
    unsigned have = 0;
    const struct variable *first = NULL;
    for (unsigned i = 0; i < b->n_variables; i++) {
        const struct variable *v = &b->variables[i];
        unsigned here = TIME_HAVE_ALL;
        size_t bad;
        if (v->meaning.slot != FIELD_TIME)
            continue;
        if (v->meaning.kind == KIND_PIECE && !time_pattern_check(v->pattern, &here, &bad))
            return -EINVAL;
        first = first ? first : v;
        have |= here;
    }
    if (have != TIME_HAVE_ALL)
        return err_set(b->e, -EINVAL,
                       "column %u: %.*s gives no whole date; expected year, month and day (%%Y, "
                       "%%m or %%b, %%d)",
                       first->column, (int) first->name.n, first->name.p);
    return 0;
}

static int check_whole(struct builder *b)
{
    int r = trim_line_end(b);
    if (r < 0)
        return r;
    settle_ranks(b);
    r = check_time(b);
    if (r < 0)
        return r;
    if (!has_slot(b, FIELD_CLIENT) && !has_slot(b, SLOT_REQUEST) && !has_slot(b, FIELD_TARGET) &&
        !has_slot(b, FIELD_STATUS))
        return err_set(b->e, -EINVAL,
                       "the format has neither a client nor a request nor a status; expected at "
                       "least one of them");
    return 0;
}

static enum find how_to_find(const struct format *f, const struct step *s, bool last)
{
    if (s->kind == KIND_STATUS || s->kind == KIND_BYTES || s->kind == KIND_DIGITS ||
        s->kind == KIND_PIECE)
        return FIND_SHAPE;
    if (last && s->literal.n == 0)
        return FIND_END;
    /* Such a server never writes a raw quote inside a value. */
    if (f->escape == ESCAPE_BACKSLASH && s->literal.p[0] == '"')
        return FIND_QUOTE;
    return FIND_LITERAL;
}

static enum usual usual_value(const struct step *s)
{
    bool to_mark = s->literal.n && (s->literal.p[0] == ' ' || s->literal.p[0] == '"');
    if (s->find == FIND_QUOTE)
        return s->kind <= KIND_QUERY ? USUAL_QUOTED : USUAL_NONE;
    if (s->find == FIND_SHAPE)
        return s->slot == FIELD_STATUS  ? USUAL_STATUS
               : s->slot == FIELD_BYTES ? USUAL_BYTES
                                        : USUAL_NONE;
    if (s->find != FIND_LITERAL)
        return USUAL_NONE;
    if (s->kind == KIND_TIME)
        return s->slot == FIELD_TIME ? USUAL_TIME : USUAL_NONE;
    if (to_mark && (s->kind == KIND_WORD || s->kind == KIND_BARE || s->kind == KIND_CLIENT))
        return USUAL_WORD;
    return s->kind <= KIND_USER && s->literal.p[0] != '-' ? USUAL_DASH : USUAL_NONE;
}

static void settle_literal(struct step *s)
{
    size_t n = s->literal.n < sizeof s->literal_word ? s->literal.n : sizeof s->literal_word;
    memcpy(&s->literal_word, s->literal.p, n);
    memset(&s->literal_mask, 0xff, n);
    s->literal_room = n == s->literal.n ? sizeof s->literal_word : UINT32_MAX;
}

/* What lines of this format can have, the parts of a request among them. */
static void settle_fields(struct format *f)
{
    for (unsigned i = 0; i < f->n_steps; i++) {
        unsigned slot = f->steps[i].slot;
        settle_literal(&f->steps[i]);
        if (slot != SLOT_SKIP)
            f->filled[f->n_filled++] = (uint8_t) i;
        if (slot == SLOT_REQUEST)
            f->has_request = f->has[FIELD_METHOD] = f->has[FIELD_TARGET] = f->has[FIELD_PROTOCOL] =
                true;
        else if (slot < FIELD_COUNT)
            f->has[slot] = true;
        f->has_special = f->has_special || slot == FIELD_DURATION || slot == FIELD_QUERY ||
                         slot == FIELD_HOST ||
                         (slot == FIELD_TIME && f->steps[i].kind == KIND_PIECE);
        f->has_pieces = f->has_pieces || (slot == FIELD_TIME && f->steps[i].kind == KIND_PIECE);
    }
    if (f->has[FIELD_TARGET])
        f->has[FIELD_PATH] = f->has[FIELD_QUERY] = true;
}

static char *pool_put(char **at, const char *p, size_t n)
{
    char *to = *at;
    memcpy(to, p, n);
    *at += n;
    return to;
}

int builder_format(struct builder *b, struct format **ret)
{
    int r = check_whole(b);
    if (r < 0)
        return r;
    size_t pool_bytes = b->n_literals + 1;
    for (unsigned i = 0; i < b->n_variables; i++)
        pool_bytes += b->variables[i].pattern.n;
    struct format *f = calloc(1, sizeof *f);
    char *at = malloc(pool_bytes);
    if (!f || !at) {
        free(f);
        free(at);
        return -ENOMEM;
    }
    f->pool = at;
    f->escape = b->escape;
    f->n_steps = b->n_variables;
    const char *literals = pool_put(&at, b->literals, b->n_literals);
    f->head = (struct slice){literals, b->head_end};
    for (unsigned i = 0; i < f->n_steps; i++) {
        const struct variable *v = &b->variables[i];
        struct step *s = &f->steps[i];
        bool last = i + 1 == f->n_steps;
        size_t from = literal_begin(b, i);
        s->kind = v->meaning.kind;
        s->slot = v->meaning.slot;
        s->unit_us = v->meaning.unit_us;
        s->literal = (struct slice){literals + from, b->literal_end[i] - from};
        if (v->pattern.n)
            s->pattern = (struct slice){pool_put(&at, v->pattern.p, v->pattern.n), v->pattern.n};
        s->find = (uint8_t) how_to_find(f, s, last);
        s->usual = (uint8_t) usual_value(s);
        s->may_be_cut = last && s->find == FIND_QUOTE && s->literal.n == 1;
    }
    settle_fields(f);
    *ret = f;
    return 0;
}
