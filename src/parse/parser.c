#include "parse/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/zone.h"
#include "parse/match_int.h"
#include "parse/parser_int.h"
#include "parse/unescape_int.h"

#define SCRATCH_BYTES (4 * LINE_BYTES_MAX)
#define DAY_S 86400
#define HOUR_S 3600

struct parser {
    const struct format **formats;
    unsigned n_formats;
    unsigned last_format;
    bool day_of_log;

    /* The zone's day that the last instant belonged to. */
    int64_t day_first_s, day_last_s;
    int32_t day;

    /* The hour of local time that was last asked for, if its seconds follow one another. */
    int64_t local_hour;
    int64_t local_hour_start_s;

    char *scratch;
    size_t scratch_used;
    struct match match;
};

int parser_new(struct parser **ret, const struct parser_options *options)
{
    if (options->n_formats == 0)
        return -EINVAL;
    struct parser *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->formats = calloc(options->n_formats, sizeof *p->formats);
    p->scratch = malloc(SCRATCH_BYTES);
    if (!p->formats || !p->scratch) {
        parser_free(p);
        return -ENOMEM;
    }
    memcpy(p->formats, options->formats, options->n_formats * sizeof *p->formats);
    p->n_formats = options->n_formats;
    p->day_of_log = options->day_of_log;
    p->day_first_s = 1; /* no instant lies in [1, 0] */
    p->local_hour = INT64_MIN;
    match_init(&p->match);
    *ret = p;
    return 0;
}

struct parser *parser_free(struct parser *p)
{
    if (p) {
        free(p->formats);
        free(p->scratch);
        free(p);
    }
    return NULL;
}

void parser_reset(struct parser *p)
{
    p->scratch_used = 0;
}

unsigned parser_last_format(const struct parser *p)
{
    return p->last_format;
}

bool parser_was_whole(const struct parser *p)
{
    return p->match.whole;
}

/* The instant of a local time as written. Two questions an hour, not one a line: if the hour's
 * first and last second lie 3,599 seconds apart, no clock change falls inside. */
static int64_t local_instant(struct parser *p, int64_t written_s)
{
    int64_t hour = written_s >= 0 ? written_s / HOUR_S : (written_s - HOUR_S + 1) / HOUR_S;
    int64_t second = written_s - hour * HOUR_S;
    if (hour != p->local_hour) {
        int64_t day = hour >= 0 ? hour / 24 : (hour - 23) / 24;
        int32_t of_day = (int32_t) (hour - day * 24) * HOUR_S;
        int64_t start_s = zone_instant((int32_t) day, of_day);
        if (zone_instant((int32_t) day, of_day + HOUR_S - 1) - start_s != HOUR_S - 1)
            return zone_instant((int32_t) day, of_day + (int32_t) second);
        p->local_hour = hour;
        p->local_hour_start_s = start_s;
    }
    return p->local_hour_start_s + second;
}

static int32_t day_of(struct parser *p, int64_t time_s)
{
    if (time_s < p->day_first_s || time_s > p->day_last_s)
        p->day = zone_day(time_s, &p->day_first_s, &p->day_last_s);
    return p->day;
}

static void set_time(struct parser *p, const struct log_time *time, struct record *r)
{
    r->time_s = time->has_offset ? time->time_s : local_instant(p, time->time_s);
    r->day = p->day_of_log ? time->local_day : day_of(p, r->time_s);
}

static struct slice unescaped(struct parser *p, struct slice s)
{
    if (!memchr(s.p, '\\', s.n))
        return s;
    char *out = p->scratch + p->scratch_used;
    size_t n = unescape_backslash(s, out);
    p->scratch_used += n;
    return (struct slice){out, n};
}

/* "0.016" x unit; DURATION_NONE: no such number. */
static int64_t duration_us(struct slice s, uint32_t unit_us)
{
    int64_t whole = 0, part = 0, scale = unit_us;
    size_t i = 0;
    for (; i < s.n && (unsigned) (s.p[i] - '0') < 10; i++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, s.p[i] - '0', &whole))
            return DURATION_NONE;
    if (i == 0 || __builtin_mul_overflow(whole, (int64_t) unit_us, &whole))
        return DURATION_NONE;
    if (i < s.n && s.p[i++] != '.')
        return DURATION_NONE;
    for (; i < s.n; i++) {
        if ((unsigned) (s.p[i] - '0') >= 10)
            return DURATION_NONE;
        scale /= 10;
        part += (s.p[i] - '0') * scale;
    }
    return __builtin_add_overflow(whole, part, &whole) ? DURATION_NONE : whole;
}

/* "www.example.com:8080" and "[2001:db8::1]:443" without the port. */
static struct slice without_port(struct slice host)
{
    size_t n = host.n;
    while (n > 0 && (unsigned) (host.p[n - 1] - '0') < 10)
        n--;
    if (n < 2 || n == host.n || host.p[n - 1] != ':')
        return host;
    bool one_colon = memchr(host.p, ':', n) == host.p + n - 1;
    return one_colon || host.p[n - 2] == ']' ? slice_sub(host, 0, n - 1) : host;
}

/* httpd's %q: nothing, or ? and the query. */
static struct slice without_mark(struct slice query)
{
    if (query.n && query.p[0] == '?')
        return slice_sub(query, 1, query.n);
    return (struct slice){NULL, 0};
}

/* Path and query where method and target are logged apart, and taken as they stand. */
static void set_path(const struct format *f, struct record *r)
{
    struct slice method = r->text[FIELD_METHOD], target = r->text[FIELD_TARGET], query;
    r->text[FIELD_PATH] = SLICE_LITERAL("-");
    if (target.n == 0 || (f->has[FIELD_METHOD] && method.n == 0))
        return;
    if (method.n == 7 && strncasecmp(method.p, "CONNECT", 7) == 0)
        return;
    r->text[FIELD_PATH] = target_path(target, &query);
    if (query.p)
        r->text[FIELD_QUERY] = query;
}

static void undo_escapes(struct parser *p, const struct format *f, struct record *r)
{
    for (unsigned k = 0; k < f->n_filled; k++) {
        unsigned slot = f->steps[f->filled[k]].slot;
        struct slice *v = slot < FIELD_COUNT ? &r->text[slot] : &p->match.spare[slot - FIELD_COUNT];
        if (v->n && slot != FIELD_TIME)
            *v = unescaped(p, *v);
    }
}

/* What single kinds of fields need. */
static void set_special(struct parser *p, const struct format *f, struct record *r)
{
    const char *time = NULL;
    for (unsigned k = 0; k < f->n_filled; k++) {
        unsigned i = f->filled[k];
        const struct step *s = &f->steps[i];
        struct slice *v = &r->text[s->slot < FIELD_COUNT ? s->slot : FIELD_QUERY];
        if (s->slot == FIELD_DURATION)
            r->duration_us = duration_us(*v, s->unit_us);
        if (s->slot == FIELD_HOST && v->n)
            *v = without_port(*v);
        if (s->kind == KIND_QUERY)
            *v = without_mark(*v);
        /* Of a date in pieces the text is all from the first to the last. */
        if (s->slot == FIELD_TIME && s->kind == KIND_PIECE) {
            time = time ? time : p->match.begin[i];
            *v = (struct slice){time, (size_t) (p->match.stop[i] - time)};
        }
    }
}

/* Completes a record whose texts match_line has put where they belong. */
static void set_record(struct parser *p, const struct format *f, struct record *r)
{
    struct slice *request = &p->match.spare[SLOT_REQUEST - FIELD_COUNT];
    r->status = p->match.status;
    r->bytes = p->match.bytes;
    r->duration_us = DURATION_NONE;
    set_time(p, &p->match.time, r);
    if (p->match.backslash)
        undo_escapes(p, f, r);
    if (f->has_special)
        set_special(p, f, r);
    if (f->has_request && request->p)
        request_split(*request, r);
    else
        set_path(f, r);
    if (r->text[FIELD_CLIENT].n == 0)
        r->text[FIELD_CLIENT].p = NULL;
    if (r->text[FIELD_USER].n == 2 && memcmp(r->text[FIELD_USER].p, "\"\"", 2) == 0)
        r->text[FIELD_USER].n = 0;
}

static bool is_blank_line(struct slice line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != ' ' && (line.p[i] < '\t' || line.p[i] > '\r'))
            return false;
    return true;
}

static struct slice trim(struct slice line)
{
    while (line.n && line.p[0] == 0) {
        line.p++;
        line.n--;
    }
    return line;
}

/* In pieces that compilers turn into plain stores: the string instruction that they take for the
 * whole needs as long as a quarter of the match. */
static void clear_texts(struct slice text[FIELD_COUNT])
{
    enum { PIECE = 4 };
    unsigned i = 0;
    for (; i + PIECE <= FIELD_COUNT; i += PIECE)
        memset(&text[i], 0, PIECE * sizeof *text);
    for (; i < FIELD_COUNT; i++)
        text[i] = (struct slice){NULL, 0};
}

/* Tries the formats in order; refused by all, the first one's reason stands. */
static enum parsed match_any(struct parser *p, struct slice line, struct record *ret,
                             enum reject *ret_reject, struct reject_at *ret_at)
{
    struct reject_at at;
    for (unsigned i = 0; i < p->n_formats; i++) {
        const struct format *f = p->formats[i];
        clear_texts(ret->text);
        enum reject reject = match_line(&p->match, f, line, ret->text, &at);
        if (reject == REJECT_NONE) {
            if (p->match.backslash && SCRATCH_BYTES - p->scratch_used < line.n)
                return PARSED_SCRATCH_FULL;
            set_record(p, f, ret);
            p->last_format = i;
            return PARSED_RECORD;
        }
        if (i == 0) {
            *ret_reject = reject;
            *ret_at = at;
        }
    }
    return PARSED_REJECTED;
}

enum parsed parser_line(struct parser *p, struct slice line, struct record *ret,
                        enum skip *ret_skip, enum reject *ret_reject, struct reject_at *ret_at)
{
    struct slice rest = trim(line);
    if (rest.n > LINE_BYTES_MAX) {
        *ret_reject = REJECT_TOO_LONG;
        *ret_at = (struct reject_at){"line", "at most 262144 bytes", 1};
        return PARSED_REJECTED;
    }
    if (rest.n && rest.p[rest.n - 1] == '\r')
        rest.n--;
    if (rest.n == 0 || (rest.p[0] <= ' ' && is_blank_line(rest))) {
        *ret_skip = SKIP_EMPTY;
        return PARSED_SKIPPED;
    }
    if (rest.p[0] == '#') {
        *ret_skip = SKIP_COMMENT;
        return PARSED_SKIPPED;
    }
    enum parsed parsed = match_any(p, rest, ret, ret_reject, ret_at);
    if (parsed == PARSED_REJECTED)
        ret_at->column += (uint32_t) (rest.p - line.p);
    return parsed;
}
