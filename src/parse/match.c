#include "parse/match_int.h"

#include <string.h>

#include "parse/bytes_int.h"

#define TIME_TEXT_BYTES_MAX 64
#define USUAL_BYTES_MIN TIME_CLF_BYTES

/* NEVER: no later end can make the value one of its kind either. */
enum fit { FIT_YES, FIT_NO, FIT_NEVER };

static const char *const expected_texts[] = {
    [KIND_TEXT] = "a text and what the format has behind it",
    [KIND_QUERY] = "a query",
    [KIND_WORD] = "a word",
    [KIND_BARE] = "a word without quotes",
    [KIND_CLIENT] = "an address or a host name",
    [KIND_USER] = "a user name or -",
    [KIND_TIME] = "a date such as 24/Nov/2026:12:00:00 +0000",
    [KIND_PIECE] = "a date of the format's pattern",
    [KIND_STATUS] = "a status of one to three digits, or -",
    [KIND_BYTES] = "digits up to 9223372036854775807, or -",
    [KIND_DIGITS] = "digits",
    [KIND_DURATION] = "a duration",
};

void match_init(struct match *m)
{
    memset(m, 0, sizeof *m);
    time_cache_init(&m->dates);
}

static inline bool is_digit(char c)
{
    return (unsigned) (c - '0') < 10;
}

static inline bool literal_at(const char *p, const char *end, struct slice literal)
{
    if ((size_t) (end - p) < literal.n)
        return false;
    for (size_t i = 0; i < literal.n; i++)
        if (p[i] != literal.p[i])
            return false;
    return true;
}

/* The literal of a step stands at p. */
static inline bool step_ends_at(const struct step *s, const char *p, const char *end)
{
    if ((size_t) (end - p) < s->literal_room)
        return literal_at(p, end, s->literal);
    return ((bytes_load(p) ^ s->literal_word) & s->literal_mask) == 0;
}

/* The next place of a literal that is not empty. */
static inline const char *literal_find(const char *from, const char *end, const struct step *s)
{
    while (from < end && (from = memchr(from, s->literal.p[0], (size_t) (end - from)))) {
        if (step_ends_at(s, from, end))
            return from;
        from++;
    }
    return NULL;
}

/* The first quote that no backslash protects. */
static inline const char *quote_find(struct match *m, const char *p, const char *end)
{
    for (;;) {
        p = bytes_find_either(m->line, p, end, '"', '\\');
        if (p == end)
            return NULL;
        if (*p == '"')
            return p;
        m->backslash = true;
        p = end - p < 2 ? end : p + 2;
    }
}

static enum fit fit_word(struct slice v)
{
    if (memchr(v.p, ' ', v.n) || memchr(v.p, '\t', v.n))
        return FIT_NEVER;
    return v.n ? FIT_YES : FIT_NO;
}

static enum fit fit_bare(struct slice v)
{
    for (size_t i = 0; i < v.n; i++)
        if (v.p[i] == ' ' || v.p[i] == '\t' || v.p[i] == '"')
            return FIT_NEVER;
    return FIT_YES;
}

/* One address or name, or a list with commas as proxies write it. */
static enum fit fit_client(struct slice v)
{
    char last = 0;
    for (size_t i = 0; i < v.n; i++) {
        char c = v.p[i];
        if (c == '"' || ((c == ' ' || c == '\t') && last != ','))
            return FIT_NEVER;
        if (c != ' ')
            last = c;
    }
    return last == ',' ? FIT_NO : FIT_YES;
}

/* "[24/Nov/2026:": the time of a record, so a user name does not go beyond it. */
static bool holds_date(struct slice v)
{
    for (const char *p = v.p, *end = v.p + v.n; (p = memchr(p, '[', (size_t) (end - p))); p++) {
        const char *q = p + 1;
        while (q < end && q - p <= 2 && is_digit(*q))
            q++;
        if (q > p + 1 && end - q >= 10 && q[0] == '/' && q[4] == '/' && q[9] == ':' &&
            is_digit(q[5]))
            return true;
    }
    return false;
}

static enum fit fit_user(struct slice v)
{
    if (v.n > USER_BYTES_MAX || holds_date(v))
        return FIT_NEVER;
    if (slice_is(v, "\"\"")) /* httpd's way to write an empty name */
        return FIT_YES;
    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] == '\\')
            i++;
        else if (v.p[i] == '"')
            return FIT_NEVER;
    }
    return FIT_YES;
}

static bool status_read(const char **p, const char *end, int16_t *ret)
{
    const char *q = *p;
    int value = 0;
    while (q < end && is_digit(*q) && q - *p < 3)
        value = value * 10 + (*q++ - '0');
    if (q == *p) {
        if (q == end || *q != '-')
            return false;
        q++;
        value = STATUS_NONE;
    }
    *p = q;
    *ret = (int16_t) value;
    return true;
}

static bool bytes_read(const char **p, const char *end, uint64_t *ret)
{
    const char *q = *p;
    uint64_t value = 0;
    unsigned few = end - q >= 8 ? bytes_digits(q, &value) : 0;
    if (few > 0 && few < 8) {
        *p = q + few;
        *ret = value;
        return true;
    }
    value = 0;
    while (end - q > 1 && *q == '0' && is_digit(q[1]))
        q++;
    const char *first = q;
    while (q < end && is_digit(*q) && q - first < 20)
        value = value * 10 + (uint64_t) (*q++ - '0');
    size_t n = (size_t) (q - first);
    if (n == 0 && q < end && *q == '-')
        q++;
    else if (n == 0 || n > 19 || value > INT64_MAX)
        return false;
    *p = q;
    *ret = value;
    return true;
}

static bool piece_read(const struct match *m, const struct step *s, const char **p)
{
    struct time_parts parts = {0};
    return time_pattern_read(s->pattern, p, m->end, &parts);
}

/* Reads a value that shows its own end; *p is then behind it. */
static bool shape_read(struct match *m, const struct step *s, const char **p)
{
    int16_t status;
    uint64_t bytes;
    switch (s->kind) {
    case KIND_STATUS:
        if (!status_read(p, m->end, &status))
            return false;
        if (s->slot == FIELD_STATUS)
            m->status = status;
        return true;
    case KIND_BYTES:
        if (!bytes_read(p, m->end, &bytes))
            return false;
        if (s->slot == FIELD_BYTES)
            m->bytes = bytes;
        return true;
    case KIND_PIECE:
        return piece_read(m, s, p);
    default:
        if (*p < m->end && **p == '-') {
            ++*p;
            return true;
        }
        const char *from = *p;
        while (*p < m->end && is_digit(**p))
            ++*p;
        return *p > from;
    }
}

static enum fit fit_time(struct match *m, const struct step *s, struct slice v)
{
    struct log_time time;
    if (v.n > TIME_TEXT_BYTES_MAX)
        return FIT_NEVER;
    bool ok = v.n == TIME_CLF_BYTES && v.p[2] == '/' ? time_clf_cached(&m->dates, v.p, &time)
                                                     : time_any(v, &time);
    if (ok && s->slot == FIELD_TIME)
        m->time = time;
    return ok ? FIT_YES : FIT_NO;
}

/* In a frame that is only to be recognised: a value without the marks that surround it. */
static enum fit fit_loose(const struct step *s, struct slice v)
{
    char mark = s->literal.n ? s->literal.p[0] : ' ';
    if (s->kind == KIND_TIME && mark != ']')
        return FIT_YES;
    return v.n && memchr(v.p, mark, v.n) ? FIT_NEVER : FIT_YES;
}

static enum fit fit_of(struct match *m, const struct step *s, struct slice v)
{
    if (m->escapes && v.n && s->kind <= KIND_USER && memchr(v.p, '\\', v.n))
        m->backslash = true;
    switch (s->kind) {
    case KIND_WORD:
        return fit_word(v);
    case KIND_BARE:
    case KIND_DURATION:
        return fit_bare(v);
    case KIND_CLIENT:
        return fit_client(v);
    case KIND_USER:
        return fit_user(v);
    case KIND_TIME:
        return m->loose ? fit_loose(s, v) : fit_time(m, s, v);
    case KIND_STATUS:
    case KIND_BYTES:
    case KIND_PIECE:
    case KIND_DIGITS:
        return fit_loose(s, v);
    default:
        return FIT_YES;
    }
}

/* The next end of a value at or behind `from` that its kind allows. */
static const char *literal_place(struct match *m, const struct step *s, const char *p,
                                 const char *from)
{
    const char *stop = from;
    while ((stop = literal_find(stop, m->end, s))) {
        enum fit fit = fit_of(m, s, (struct slice){p, (size_t) (stop - p)});
        if (fit == FIT_YES)
            return stop;
        if (fit == FIT_NEVER || m->tries == 0)
            return NULL;
        m->tries--;
        stop++;
    }
    return NULL;
}

static const char *blank_or_end(const char *p, const char *end)
{
    const char *blank = p < end ? memchr(p, ' ', (size_t) (end - p)) : NULL;
    return blank ? blank : end;
}

/* The last value of a format that ends with one. A date may hold one blank. */
static const char *end_place(struct match *m, const struct step *s, const char *p)
{
    if (s->kind <= KIND_QUERY || s->kind == KIND_USER)
        return fit_of(m, s, (struct slice){p, (size_t) (m->end - p)}) == FIT_YES ? m->end : NULL;
    const char *stop = blank_or_end(p, m->end);
    if (s->kind == KIND_TIME && stop < m->end) {
        const char *second = blank_or_end(stop + 1, m->end);
        if (fit_of(m, s, (struct slice){p, (size_t) (second - p)}) == FIT_YES)
            return second;
    }
    return fit_of(m, s, (struct slice){p, (size_t) (stop - p)}) == FIT_YES ? stop : NULL;
}

static const char *quote_place(struct match *m, const struct step *s, const char *p)
{
    const char *stop = quote_find(m, p, m->end);
    if (!stop)
        return s->may_be_cut ? m->end : NULL;
    if (!step_ends_at(s, stop, m->end))
        return NULL;
    if (s->kind <= KIND_QUERY)
        return stop;
    return fit_of(m, s, (struct slice){p, (size_t) (stop - p)}) == FIT_YES ? stop : NULL;
}

static const char *loose_place(struct match *m, const struct step *s, const char *p)
{
    if (s->literal.n == 0)
        return s->kind == KIND_PIECE ? NULL : blank_or_end(p, m->end);
    return literal_place(m, s, p, p);
}

/* Where the value that begins at p ends; NULL: no place fits. */
static const char *place(struct match *m, const struct step *s, const char *p)
{
    const char *stop = p;
    switch (s->find) {
    case FIND_QUOTE:
        return quote_place(m, s, p);
    case FIND_SHAPE:
        if (m->loose && s->slot != SLOT_SKIP)
            return loose_place(m, s, p);
        return shape_read(m, s, &stop) && step_ends_at(s, stop, m->end) ? stop : NULL;
    case FIND_END:
        return end_place(m, s, p);
    default:
        /* A lone dash and the usual form of a date need no search. */
        if (s->kind == KIND_TIME && !m->loose && m->end - p > TIME_CLF_BYTES &&
            step_ends_at(s, p + TIME_CLF_BYTES, m->end) &&
            fit_time(m, s, (struct slice){p, TIME_CLF_BYTES}) == FIT_YES)
            return p + TIME_CLF_BYTES;
        if (p < m->end && *p == '-' && s->kind <= KIND_USER && s->literal.p[0] != '-' &&
            step_ends_at(s, p + 1, m->end))
            return p + 1;
        return literal_place(m, s, p, p);
    }
}

static bool may_end_later(const struct match *m, const struct step *s)
{
    return s->find == FIND_LITERAL || (m->loose && s->find == FIND_SHAPE && s->slot != SLOT_SKIP);
}

static inline struct slice *text_of(struct match *m, unsigned slot)
{
    return slot < FIELD_COUNT ? &m->text[slot] : &m->spare[slot - FIELD_COUNT];
}

/* A value goes where its step says; a dash is none. */
static void put(struct match *m, const struct step *s, const char *p, const char *stop)
{
    size_t n = (size_t) (stop - p);
    bool dash = n == 1 && *p == '-';
    *text_of(m, s->slot) = dash ? (struct slice){NULL, 0} : (struct slice){p, n};
}

/* Goes back to the last value that can end later and moves its end. The step behind it, or -1. */
static int move_back(struct match *m, const struct format *f, int step)
{
    while (--step >= 0) {
        const struct step *s = &f->steps[step];
        if (!may_end_later(m, s) || s->literal.n == 0)
            continue;
        if (m->tries == 0)
            return -1;
        m->tries--;
        const char *stop = literal_place(m, s, m->begin[step], m->stop[step] + 1);
        if (stop) {
            m->stop[step] = stop;
            put(m, s, m->begin[step], stop);
            return step + 1;
        }
    }
    return -1;
}

/* Behind a value and its literal, which the last quoted value may lack. */
static inline const char *behind(const struct match *m, const struct step *s, const char *stop)
{
    return stop == m->end ? stop : stop + s->literal.n;
}

/* The same for values as most are; NULL: not such a value. There are USUAL_BYTES_MIN behind p. */
static inline const char *usual_place(struct match *m, const struct step *s, const char *p,
                                      const char *end)
{
    const char *stop;
    uint64_t bytes;
    unsigned n;
    switch (s->usual) {
    case USUAL_DASH:
        return *p == '-' && step_ends_at(s, p + 1, end) ? p + 1 : NULL;
    case USUAL_WORD:
        /* The literal begins with a mark, so it stands nowhere before the first one. */
        stop = bytes_find_mark(p, end);
        return stop > p && stop[-1] != ',' && step_ends_at(s, stop, end) ? stop : NULL;
    case USUAL_QUOTED:
        stop = quote_find(m, p, end);
        return stop && step_ends_at(s, stop, end) ? stop : NULL;
    case USUAL_TIME:
        stop = p + TIME_CLF_BYTES;
        return time_cache_has(&m->dates, p) && step_ends_at(s, stop, end) &&
                       time_cached(&m->dates, p, &m->time)
                   ? stop
                   : NULL;
    case USUAL_STATUS:
        if (!is_digit(p[0]) || !is_digit(p[1]) || !is_digit(p[2]) || !step_ends_at(s, p + 3, end))
            return NULL;
        m->status = (int16_t) ((p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0'));
        return p + 3;
    case USUAL_BYTES:
        n = bytes_digits(p, &bytes);
        if (n == 0 || n == 8 || !step_ends_at(s, p + n, end))
            return NULL;
        m->bytes = bytes;
        return p + n;
    default:
        return NULL;
    }
}

/* Goes on from step i at *p as long as values are the usual ones. Returns the step that is not, and
 * in *p where it begins. */
static unsigned match_usual(struct match *m, const struct format *f, unsigned i, const char **p)
{
    const char *at = *p, *const end = m->end;
    for (; i < f->n_steps && end - at >= USUAL_BYTES_MIN; i++) {
        const struct step *s = &f->steps[i];
        const char *stop = usual_place(m, s, at, end);
        if (!stop)
            break;
        m->begin[i] = at;
        m->stop[i] = stop;
        if (s->slot != SLOT_SKIP) {
            /* Without a branch, since one line has a referrer and the next has not. */
            bool dash = (stop - at == 1) & (*at == '-');
            struct slice *to = text_of(m, s->slot);
            to->p = dash ? NULL : at;
            to->n = dash ? 0 : (size_t) (stop - at);
        }
        at = stop + s->literal.n;
    }
    *p = at;
    return i;
}

static void note_failure(struct match *m, unsigned step, const char *p)
{
    if (p >= m->farthest) {
        m->farthest = p;
        m->farthest_step = step;
    }
}

static bool match_steps(struct match *m, const struct format *f, struct slice line)
{
    m->line = line.p;
    m->end = line.p + line.n;
    m->tries = MATCH_TRIES_MAX;
    m->farthest = line.p;
    m->farthest_step = 0;
    if (!literal_at(line.p, m->end, f->head))
        return false;
    const char *p = line.p + f->head.n;
    unsigned i = 0;
    for (;;) {
        if (!m->loose)
            i = match_usual(m, f, i, &p);
        if (i == f->n_steps && (p == m->end || *p == ' ')) {
            m->whole = p == m->end;
            return true;
        }
        const struct step *s = &f->steps[i];
        const char *stop = i < f->n_steps ? place(m, s, p) : NULL;
        if (stop) {
            m->begin[i] = p;
            m->stop[i++] = stop;
            put(m, s, p, stop);
            p = behind(m, s, stop);
            continue;
        }
        note_failure(m, i, p);
        int next = move_back(m, f, (int) i);
        if (next < 0)
            return false;
        i = (unsigned) next;
        p = behind(m, &f->steps[i - 1], m->stop[i - 1]);
    }
}

/* Puts together what the pieces of a date say; NULL, or where the wrong one is. */
static const char *pieces_wrong(struct match *m, const struct format *f)
{
    struct time_parts parts = {0};
    const char *first = NULL;
    for (unsigned i = 0; i < f->n_steps; i++) {
        const struct step *s = &f->steps[i];
        const char *p = m->begin[i];
        if (s->kind != KIND_PIECE || s->slot != FIELD_TIME)
            continue;
        first = first ? first : p;
        if (!time_pattern_read(s->pattern, &p, m->stop[i], &parts) || p != m->stop[i])
            return m->begin[i];
    }
    return time_parts_value(&parts, &m->time) ? NULL : first;
}

static void tell(struct reject_at *at, struct slice line, const char *p, const char *field,
                 const char *expected)
{
    at->field = field;
    at->expected = expected;
    at->column = (uint32_t) (p - line.p) + 1;
}

static void tell_step(struct reject_at *at, struct slice line, const char *p, const struct step *s)
{
    const char *field = s->slot < FIELD_COUNT     ? field_name((enum field) s->slot)
                        : s->slot == SLOT_REQUEST ? "request"
                                                  : "line";
    tell(at, line, p, field, expected_texts[s->kind]);
}

/* The value in a frame that fits is not one of its kind. */
static bool value_wrong(struct match *m, const struct step *s, struct slice v)
{
    const char *p = v.p, *end = v.p + v.n;
    int16_t status;
    uint64_t bytes;
    if (s->slot == FIELD_TIME)
        return fit_time(m, s, v) != FIT_YES;
    if (s->slot == FIELD_STATUS)
        return !status_read(&p, end, &status) || p != end;
    return !bytes_read(&p, end, &bytes) || p != end;
}

/* Which value of a line whose frame fits is wrong: the date before the status before the bytes. */
static enum reject blame(struct match *m, const struct format *f, struct slice line,
                         struct reject_at *ret_at)
{
    static const struct {
        enum field field;
        enum reject reject;
    } order[] = {{FIELD_TIME, REJECT_BAD_DATE},
                 {FIELD_STATUS, REJECT_BAD_STATUS},
                 {FIELD_BYTES, REJECT_BAD_BYTES}};
    const char *piece = f->has_pieces ? pieces_wrong(m, f) : NULL;
    for (unsigned k = 0; k < 3; k++) {
        for (unsigned i = 0; i < f->n_steps; i++) {
            const struct step *s = &f->steps[i];
            struct slice v = {m->begin[i], (size_t) (m->stop[i] - m->begin[i])};
            if (s->slot != order[k].field)
                continue;
            if (s->kind == KIND_PIECE ? piece != v.p : !value_wrong(m, s, v))
                continue;
            tell_step(ret_at, line, v.p, s);
            return order[k].reject;
        }
    }
    return REJECT_NONE;
}

enum reject match_line(struct match *m, const struct format *f, struct slice line,
                       struct slice text[FIELD_COUNT], struct reject_at *ret_at)
{
    m->text = text;
    m->status = STATUS_NONE;
    m->bytes = 0;
    m->loose = false;
    m->backslash = false;
    m->escapes = f->escape == ESCAPE_BACKSLASH;
    if (match_steps(m, f, line)) {
        if (!f->has_pieces || !pieces_wrong(m, f))
            return REJECT_NONE;
        return blame(m, f, line, ret_at);
    }
    const char *farthest = m->farthest;
    unsigned step = m->farthest_step;
    m->loose = true;
    enum reject reject = match_steps(m, f, line) ? blame(m, f, line, ret_at) : REJECT_NONE;
    if (reject != REJECT_NONE)
        return reject;
    if (step == f->n_steps)
        tell(ret_at, line, farthest, "line", "the line's end, or a blank before more text");
    else
        tell_step(ret_at, line, farthest, &f->steps[step]);
    return REJECT_BAD_FORMAT;
}
