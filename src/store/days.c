#include "store/days.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "base/buf.h"
#include "base/civil.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/num.h"
#include "base/utf8.h"
#include "base/zone.h"
#include "store/store.h"

#define WORD_MAX 40 /* the longest form is an instant with nanoseconds and an offset */
#define BACK_MAX 999999
#define EXPECTED                                                                                   \
    "expected today, yesterday, mon to sun, -7d, -2w, 2026-11-24, 2026-11, 2026-W48, an RFC 3339 " \
    "time or Unix seconds"
#define EXPECTED_RANGE "expected today, yesterday, 7d, 28d, 30d, 90d, week, month, year or all"

/* What a word names: one day, or a month or week as its first and last one. */
struct span {
    int32_t first, last;
};

/* The texts of weekdays are in the order of civil_weekday. */
static const char *const weekdays[] = {"monday", "tuesday",  "wednesday", "thursday",
                                       "friday", "saturday", "sunday"};
static const char *const day_words[] = {
    "today", "yesterday", "mon",     "tue",       "wed",      "thu",    "fri",      "sat",
    "sun",   "monday",    "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
static const char *const ranges[] = {"today", "yesterday", "7d",    "28d",  "30d",
                                     "90d",   "week",      "month", "year", "all"};

static bool word_is(struct slice s, const char *text)
{
    return s.n == strlen(text) && strncasecmp(s.p, text, s.n) == 0;
}

static bool all_digits(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

/* The value between quotes, harmless and cut, for a sentence. */
static const char *quoted(char buffer[96], struct slice s)
{
    struct buf b;
    buf_init(&b);
    bool cut = s.n > 48;
    utf8_escape(&b, slice_sub(s, 0, cut ? 48 : s.n));
    const char *text = buf_cstr(&b);
    snprintf(buffer, 96, "\"%.80s%s\"", text ? text : "", cut ? "..." : "");
    buf_done(&b);
    return buffer;
}

/* The known word that was probably meant, or NULL. */
static const char *nearest_of(struct slice word, const char *const *words, size_t n)
{
    char lower[NEAREST_BYTES];
    struct nearest nearest;
    if (word.n > sizeof(lower))
        return NULL;
    for (size_t i = 0; i < word.n; i++)
        lower[i] = word.p[i] >= 'A' && word.p[i] <= 'Z' ? (char) (word.p[i] + 32) : word.p[i];
    nearest_begin(&nearest, (struct slice){lower, word.n});
    for (size_t i = 0; i < n; i++)
        nearest_try(&nearest, words[i]);
    return nearest_end(&nearest);
}

/* Spellings whose meaning is plain: 20261124, 2026/11/24, 7d (for -7d). */
static bool respelled(struct slice word, char ret[16])
{
    char text[16];
    int32_t day;
    if (word.n == 8 && all_digits(word))
        snprintf(text, sizeof(text), "%.4s-%.2s-%.2s", word.p, word.p + 4, word.p + 6);
    else if (word.n == 10 && (word.p[4] == '/' || word.p[4] == '.') && word.p[7] == word.p[4])
        snprintf(text, sizeof(text), "%.4s-%.2s-%.2s", word.p, word.p + 5, word.p + 8);
    else if (word.n >= 2 && word.n <= 7 && strchr("dDwW", word.p[word.n - 1]) &&
             all_digits(slice_sub(word, 0, word.n - 1))) {
        snprintf(ret, 16, "-%.*s", (int) word.n, word.p);
        return true;
    } else {
        return false;
    }
    memcpy(ret, text, sizeof(text));
    return civil_parse(slice_of(text), &day);
}

static int refuse(struct slice word, struct err *e)
{
    char q[96], text[16];
    const char *near = nearest_of(word, day_words, sizeof(day_words) / sizeof(*day_words));
    if (word.n == 0)
        return err_set(e, -EINVAL, "a day is empty; " EXPECTED);
    if (near)
        return err_set(e, -EINVAL, "%s is not a day; did you mean \"%s\"?", quoted(q, word), near);
    if (respelled(word, text))
        return err_set(e, -EINVAL, "%s is not a day; did you mean \"%s\"?", quoted(q, word), text);
    return err_set(e, -EINVAL, "%s is not a day; " EXPECTED, quoted(q, word));
}

static int one_day(int32_t day, struct span *ret)
{
    *ret = (struct span){day, day};
    return 0;
}

/* "-Nd", "-Nw". */
static int parse_back(struct slice s, int32_t today, struct span *ret, struct err *e)
{
    char q[96];
    uint64_t n;
    if (!all_digits(slice_sub(s, 1, s.n - 1)))
        return refuse(s, e);
    bool weeks = s.p[s.n - 1] == 'w' || s.p[s.n - 1] == 'W';
    if (!num_u63(slice_sub(s, 1, s.n - 1), &n) || n > BACK_MAX ||
        today - (int64_t) n * (weeks ? 7 : 1) < civil_to_day(0, 1, 1))
        return err_set(e, -EINVAL, "%s reaches before the year 0", quoted(q, s));
    return one_day(today - (int32_t) n * (weeks ? 7 : 1), ret);
}

/* "2026-11-24" */
static int parse_date(struct slice s, struct span *ret, struct err *e)
{
    char q[96];
    int32_t day;
    if (civil_parse(s, &day))
        return one_day(day, ret);
    return err_set(e, -EINVAL, "%s is no date of the calendar", quoted(q, s));
}

/* "2026-11" */
static int parse_month(struct slice s, struct span *ret, struct err *e)
{
    char q[96], first[11];
    int32_t day;
    snprintf(first, sizeof(first), "%.7s-01", s.p);
    if (!civil_parse(slice_of(first), &day))
        return err_set(e, -EINVAL, "%s is no month: 01 to 12 were expected", quoted(q, s));
    struct civil c = civil_from_day(day);
    *ret = (struct span){day, day + civil_days_in_month(c.year, c.month) - 1};
    return 0;
}

/* "2026-W48" */
static int parse_week(struct slice s, struct span *ret, struct err *e)
{
    char q[96];
    uint64_t year, week;
    int32_t monday;
    if (!num_u63(slice_sub(s, 0, 4), &year) || !num_u63(slice_sub(s, 6, 8), &week))
        return refuse(s, e);
    if (!civil_week_monday((int) year, (int) week, &monday))
        return err_set(e, -EINVAL, "%s is no ISO week of that year", quoted(q, s));
    *ret = (struct span){monday, monday + 6};
    return 0;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* An instant is the day that holds it. The blank before an offset is a '+' that the query decoded.
 */
static int parse_instant(struct slice s, struct span *ret, struct err *e)
{
    char text[WORD_MAX + 1], q[96];
    int64_t ns, first, last;
    if (s.n > WORD_MAX)
        return refuse(s, e);
    memcpy(text, s.p, s.n);
    if (s.n >= 6 && text[s.n - 6] == ' ')
        text[s.n - 6] = '+';
    if (!civil_parse_rfc3339((struct slice){text, s.n}, &ns))
        return err_set(e, -EINVAL,
                       "%s is no RFC 3339 time with an offset, such as 2026-11-24T12:00:00Z or "
                       "2026-11-24T12:00:00+01:00",
                       quoted(q, s));
    return one_day(zone_day(floor_div(ns, NS_PER_S), &first, &last), ret);
}

static int parse_epoch(struct slice s, struct span *ret, struct err *e)
{
    char q[96], text[16];
    uint64_t n;
    int64_t first, last;
    if (respelled(s, text))
        return refuse(s, e);
    bool seconds = s.n == 9 || s.n == 10;
    if ((!seconds && s.n != 12 && s.n != 13) || !num_u63(s, &n))
        return err_set(e, -EINVAL,
                       "%s is not a day; Unix seconds have 9 or 10 digits, milliseconds 12 or 13",
                       quoted(q, s));
    return one_day(zone_day((int64_t) (seconds ? n : n / 1000), &first, &last), ret);
}

/* Weekdays are the latest one on or before `reference`. */
static int parse_span(struct slice s, int32_t today, int32_t reference, struct span *ret,
                      struct err *e)
{
    if (word_is(s, "today"))
        return one_day(today, ret);
    if (word_is(s, "yesterday"))
        return one_day(today - 1, ret);
    for (int i = 0; i < 7; i++)
        if (word_is(s, weekdays[i]) || (s.n == 3 && strncasecmp(s.p, weekdays[i], 3) == 0))
            return one_day(reference - (civil_weekday(reference) - i + 7) % 7, ret);
    if (all_digits(s))
        return parse_epoch(s, ret, e);
    if (s.n >= 3 && s.p[0] == '-' && strchr("dDwW", s.p[s.n - 1]))
        return parse_back(s, today, ret, e);
    if (s.n < 7 || !all_digits(slice_sub(s, 0, 4)) || s.p[4] != '-')
        return refuse(s, e);
    if (s.n == 7)
        return parse_month(s, ret, e);
    if (s.n == 8 && (s.p[5] == 'W' || s.p[5] == 'w'))
        return parse_week(s, ret, e);
    if (s.n == 10)
        return parse_date(s, ret, e);
    if (s.n > 10 && (s.p[10] == 'T' || s.p[10] == 't'))
        return parse_instant(s, ret, e);
    return refuse(s, e);
}

int days_word(struct slice word, const struct days_context *context, bool as_end, int32_t *ret,
              struct err *e)
{
    struct span span;
    int r = parse_span(word, context->today, context->today, &span, e);
    if (r == 0)
        *ret = as_end ? span.last : span.first;
    return r;
}

static int32_t at_most(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t at_least(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Cuts what was asked for to what there can be; from <= to. */
static void settle(int32_t from, int32_t to, const struct days_context *c, struct days *ret)
{
    *ret = (struct days){.from = from, .to = to, .count_from = 0, .count_to = -1};
    if (from > c->today || to < c->oldest_kept) {
        ret->outside = true;
        return;
    }
    ret->clamped = to > c->today;
    ret->clipped = from < c->oldest_kept;
    ret->from = ret->count_from = at_least(from, c->oldest_kept);
    ret->to = ret->count_to = at_most(to, c->today);
}

static int refuse_range(struct slice range, struct err *e)
{
    char q[96];
    const char *near = nearest_of(range, ranges, sizeof(ranges) / sizeof(*ranges));
    if (near)
        return err_set(e, -EINVAL, "%s is not a range; did you mean \"%s\"?", quoted(q, range),
                       near);
    return err_set(e, -EINVAL, "%s is not a range; " EXPECTED_RANGE, quoted(q, range));
}

static int parse_range(struct slice range, const struct days_context *c, struct days *ret,
                       struct err *e)
{
    static const struct {
        const char *word;
        int32_t days;
    } lengths[] = {{"today", 1}, {"7d", 7}, {"28d", 28}, {"30d", 30}, {"90d", 90}};
    struct civil today = civil_from_day(c->today);
    int32_t from, to = c->today;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
        if (word_is(range, lengths[i].word)) {
            settle(to - lengths[i].days + 1, to, c, ret);
            return 0;
        }
    if (word_is(range, "yesterday"))
        from = --to;
    else if (word_is(range, "week"))
        from = to - civil_weekday(to);
    else if (word_is(range, "month"))
        from = civil_to_day(today.year, today.month, 1);
    else if (word_is(range, "year"))
        from = civil_to_day(today.year, 1, 1);
    else if (word_is(range, "all"))
        from = c->first_stored == STORE_DAY_NONE
                   ? to
                   : at_most(to, at_least(c->first_stored, c->oldest_kept));
    else
        return refuse_range(range, e);
    settle(from, to, c, ret);
    return 0;
}

/* Both sides given, or one of them (the other's p is NULL). */
static int parse_pair(struct slice from, struct slice to, const struct days_context *c,
                      struct days *ret, const char **ret_parameter, struct err *e)
{
    struct span first, last;
    char q1[96], q2[96];
    *ret_parameter = "to";
    int r = to.p ? parse_span(to, c->today, c->today, &last, e) : one_day(c->today, &last);
    if (r < 0)
        return r;
    *ret_parameter = "from";
    int32_t reference = at_most(last.last, c->today);
    r = from.p ? parse_span(from, c->today, reference, &first, e) : 0;
    if (r < 0)
        return r;
    if (!from.p)
        first = last;
    /* from alone may lie in the future: the reply then says just what it names */
    if (!to.p && first.first > c->today)
        last = first;
    if (first.first > last.last && to.p)
        return err_set(e, -ERANGE, "from (%s) is after to (%s)", quoted(q1, from), quoted(q2, to));
    settle(first.first, last.last, c, ret);
    return 0;
}

int days_parse(struct slice from, struct slice to, struct slice range,
               const struct days_context *context, struct days *ret, const char **ret_parameter,
               struct err *e)
{
    const char *parameter;
    struct days days;
    int r;
    if (range.p && (from.p || to.p)) {
        *ret_parameter = "range";
        return err_set(e, -EINVAL, "range cannot be combined with from or to");
    }
    if (range.p) {
        parameter = "range";
        r = parse_range(range, context, &days, e);
    } else {
        if (!from.p && !to.p)
            from = to = SLICE_LITERAL("today");
        r = parse_pair(from, to, context, &days, &parameter, e);
    }
    if (r < 0)
        *ret_parameter = parameter;
    else
        *ret = days;
    return r;
}

int days_parse_span(struct slice text, const struct days_context *context, struct days *ret,
                    struct err *e)
{
    const char *parameter;
    struct days days;
    struct slice from = {NULL, 0}, to = text;
    for (size_t i = 0; i + 1 < text.n; i++)
        if (text.p[i] == '.' && text.p[i + 1] == '.') {
            from = slice_sub(text, 0, i);
            to = slice_sub(text, i + 2, text.n);
            break;
        }
    int r = parse_pair(from, to, context, &days, &parameter, e);
    if (r == 0)
        *ret = days;
    return r;
}
