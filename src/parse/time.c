#include "parse/time.h"

#include <string.h>

#include "base/civil.h"
#include "parse/time_int.h"

#define DAY_S 86400
#define OFFSET_MAX_S (18 * 3600)

/* What is left to read. */
struct cursor {
    const char *p, *end;
};

static struct cursor cursor_of(struct slice s)
{
    return (struct cursor){s.p, s.p + s.n};
}

static bool at(const struct cursor *c, char byte)
{
    return c->p < c->end && *c->p == byte;
}

static bool take(struct cursor *c, char byte)
{
    if (!at(c, byte))
        return false;
    c->p++;
    return true;
}

/* Between least and most digits, as many as there are. */
static bool take_digits(struct cursor *c, int least, int most, int *ret)
{
    int n = 0, value = 0;
    while (n < most && c->p < c->end && (unsigned) (*c->p - '0') < 10) {
        value = value * 10 + (*c->p++ - '0');
        n++;
    }
    if (n < least)
        return false;
    *ret = value;
    return true;
}

static bool take_month(struct cursor *c, int *ret)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    if (c->end - c->p < 3)
        return false;
    char low[3];
    for (int i = 0; i < 3; i++)
        low[i] = (char) (c->p[i] | 0x20);
    for (int i = 0; i < 12; i++) {
        if (memcmp(low, names + 3 * i, 3) == 0) {
            c->p += 3;
            *ret = i + 1;
            return true;
        }
    }
    return false;
}

/* "+0530", "-08:00" or "Z". */
static bool take_offset(struct cursor *c, int32_t *ret_s)
{
    if (take(c, 'Z')) {
        *ret_s = 0;
        return true;
    }
    int sign = at(c, '-') ? -1 : 1;
    int hours, minutes;
    if (!take(c, '+') && !take(c, '-'))
        return false;
    if (!take_digits(c, 2, 2, &hours))
        return false;
    take(c, ':');
    if (!take_digits(c, 2, 2, &minutes) || minutes > 59)
        return false;
    int32_t offset_s = hours * 3600 + minutes * 60;
    if (offset_s > OFFSET_MAX_S)
        return false;
    *ret_s = sign * offset_s;
    return true;
}

/* "12:00:00" */
static bool take_clock(struct cursor *c, struct time_parts *parts)
{
    return take_digits(c, 2, 2, &parts->hour) && take(c, ':') &&
           take_digits(c, 2, 2, &parts->minute) && take(c, ':') &&
           take_digits(c, 2, 2, &parts->second);
}

/* An optional fraction, an optional offset, and nothing more. Days begin at whole seconds, so the
 * fraction is read and dropped. */
static bool take_rest(struct cursor *c, struct time_parts *parts)
{
    int fraction;
    if ((take(c, '.') || take(c, ',')) && !take_digits(c, 1, 9, &fraction))
        return false;
    if (c->p == c->end)
        return true;
    take(c, ' ');
    parts->has_offset = take_offset(c, &parts->offset_s);
    return parts->has_offset && c->p == c->end;
}

bool time_parts_value(const struct time_parts *parts, struct log_time *ret)
{
    if (parts->is_epoch) {
        int32_t day = (int32_t) (parts->epoch_s / DAY_S);
        *ret = (struct log_time){parts->epoch_s, day, true};
        return true;
    }
    if (parts->year < 1 || !civil_valid(parts->year, parts->month, parts->day))
        return false;
    if (parts->hour > 23 || parts->minute > 59 || parts->second > 60)
        return false;
    int second = parts->second == 60 ? 59 : parts->second;
    int32_t day = civil_to_day(parts->year, parts->month, parts->day);
    int64_t time_s = (int64_t) day * DAY_S + parts->hour * 3600 + parts->minute * 60 + second;
    *ret = (struct log_time){time_s - parts->offset_s, day, parts->has_offset};
    return true;
}

bool time_clf(struct slice s, struct log_time *ret)
{
    struct cursor c = cursor_of(s);
    struct time_parts parts = {0};
    if (!take_digits(&c, 1, 2, &parts.day) || !take(&c, '/') || !take_month(&c, &parts.month) ||
        !take(&c, '/') || !take_digits(&c, 4, 4, &parts.year) || !take(&c, ':'))
        return false;
    return take_clock(&c, &parts) && take_rest(&c, &parts) && time_parts_value(&parts, ret);
}

bool time_iso8601(struct slice s, struct log_time *ret)
{
    struct cursor c = cursor_of(s);
    struct time_parts parts = {0};
    if (!take_digits(&c, 4, 4, &parts.year) || !take(&c, '-') ||
        !take_digits(&c, 2, 2, &parts.month) || !take(&c, '-') ||
        !take_digits(&c, 2, 2, &parts.day) || (!take(&c, 'T') && !take(&c, ' ')))
        return false;
    return take_clock(&c, &parts) && take_rest(&c, &parts) && time_parts_value(&parts, ret);
}

bool time_epoch(struct slice s, struct log_time *ret)
{
    struct cursor c = cursor_of(s);
    uint64_t value = 0;
    size_t n = 0;
    for (; c.p < c.end && (unsigned) (*c.p - '0') < 10; c.p++) {
        if (++n > 19)
            return false;
        value = value * 10 + (uint64_t) (*c.p - '0');
    }
    if (n == 0)
        return false;
    if (take(&c, '.')) {
        if (c.p == c.end)
            return false;
        while (c.p < c.end && (unsigned) (*c.p - '0') < 10)
            c.p++;
    }
    if (c.p != c.end)
        return false;
    uint64_t unit = value < UINT64_C(100000000000)         ? 1
                    : value < UINT64_C(100000000000000)    ? 1000
                    : value < UINT64_C(100000000000000000) ? 1000000
                                                           : 1000000000;
    int64_t time_s = (int64_t) (value / unit);
    *ret = (struct log_time){time_s, (int32_t) (time_s / DAY_S), true};
    return true;
}

bool time_any(struct slice s, struct log_time *ret)
{
    if (s.n >= 3 && (s.p[1] == '/' || s.p[2] == '/'))
        return time_clf(s, ret);
    if (s.n >= 5 && s.p[4] == '-')
        return time_iso8601(s, ret);
    return time_epoch(s, ret);
}

void time_cache_init(struct time_cache *c)
{
    memcpy(c->date, "01/Jan/1970:", sizeof c->date);
    memcpy(c->offset, " +0000", sizeof c->offset);
    c->day = 0;
    c->day_s = 0;
}

/* Reads all 26 bytes and remembers what date and offset mean. */
static bool clf_fill(struct time_cache *c, const char *p, struct log_time *ret)
{
    if (!time_clf((struct slice){p, TIME_CLF_BYTES}, ret))
        return false;
    bool fixed = p[2] == '/' && p[11] == ':' && p[20] == ' ' && ret->has_offset;
    if (fixed) {
        int64_t second = (p[12] - '0') * 36000 + (p[13] - '0') * 3600 + (p[15] - '0') * 600 +
                         (p[16] - '0') * 60 + (p[18] - '0') * 10 + (p[19] - '0');
        if (p[18] == '6')
            second--;
        memcpy(c->date, p, sizeof c->date);
        memcpy(c->offset, p + 20, sizeof c->offset);
        c->day = ret->local_day;
        c->day_s = ret->time_s - second;
    }
    return true;
}

bool time_clf_cached(struct time_cache *c, const char *p, struct log_time *ret)
{
    return time_cache_has(c, p) ? time_cached(c, p, ret) : clf_fill(c, p, ret);
}

/* A conversion that stands for others; NULL: none of them. */
static const char *pattern_long_form(char letter)
{
    switch (letter) {
    case 'T':
        return "%H:%M:%S";
    case 'F':
        return "%Y-%m-%d";
    case 'R':
        return "%H:%M";
    case 'D':
        return "%m/%d/%y";
    default:
        return NULL;
    }
}

static unsigned pattern_have(char letter)
{
    switch (letter) {
    case 's':
        return TIME_HAVE_ALL;
    case 'Y':
    case 'y':
        return TIME_HAVE_YEAR;
    case 'm':
    case 'b':
    case 'h':
        return TIME_HAVE_MONTH;
    case 'd':
    case 'e':
        return TIME_HAVE_DAY;
    case 'F':
    case 'D':
        return TIME_HAVE_ALL;
    default:
        return 0;
    }
}

bool time_pattern_check(struct slice pattern, unsigned *ret_have, size_t *ret_bad)
{
    static const char known[] = "YymbhdeHMSTFRDzZs%";
    unsigned have = 0;
    for (size_t i = 0; i < pattern.n; i++) {
        if (pattern.p[i] != '%')
            continue;
        if (i + 1 == pattern.n || !memchr(known, pattern.p[i + 1], sizeof known - 1)) {
            *ret_bad = i;
            return false;
        }
        have |= pattern_have(pattern.p[++i]);
    }
    *ret_have = have;
    return true;
}

static bool take_zone_name(struct cursor *c, struct time_parts *parts)
{
    struct slice name = {c->p, 0};
    while (c->p < c->end && (unsigned) ((*c->p | 0x20) - 'a') < 26)
        c->p++;
    name.n = (size_t) (c->p - name.p);
    if (slice_is(name, "UTC") || slice_is(name, "GMT"))
        parts->has_offset = true;
    return name.n > 0;
}

static bool take_epoch(struct cursor *c, struct time_parts *parts)
{
    int64_t value = 0;
    int n = 0;
    for (; n < 11 && c->p < c->end && (unsigned) (*c->p - '0') < 10; n++)
        value = value * 10 + (*c->p++ - '0');
    parts->is_epoch = n > 0;
    parts->epoch_s = value;
    return n > 0;
}

static bool take_conversion(struct cursor *c, char letter, struct time_parts *parts)
{
    int fraction;
    switch (letter) {
    case 'Y':
        return take_digits(c, 4, 4, &parts->year);
    case 'y':
        if (!take_digits(c, 2, 2, &parts->year))
            return false;
        parts->year += parts->year < 69 ? 2000 : 1900; /* as POSIX strptime */
        return true;
    case 'm':
        return take_digits(c, 2, 2, &parts->month);
    case 'b':
    case 'h':
        return take_month(c, &parts->month);
    case 'e':
        take(c, ' ');
        return take_digits(c, 1, 2, &parts->day);
    case 'd':
        return take_digits(c, 2, 2, &parts->day);
    case 'H':
        return take_digits(c, 2, 2, &parts->hour);
    case 'M':
        return take_digits(c, 2, 2, &parts->minute);
    case 'S':
        return take_digits(c, 2, 2, &parts->second);
    case 'z':
        parts->has_offset = take_offset(c, &parts->offset_s);
        return parts->has_offset;
    case 'Z':
        return take_zone_name(c, parts);
    case 's':
        return take_epoch(c, parts);
    case '3':
        return take_digits(c, 3, 3, &fraction);
    case '6':
        return take_digits(c, 6, 6, &fraction);
    default:
        return take(c, letter);
    }
}

bool time_pattern_read(struct slice pattern, const char **p, const char *end,
                       struct time_parts *parts)
{
    struct cursor c = {*p, end};
    for (size_t i = 0; i < pattern.n; i++) {
        if (pattern.p[i] != '%') {
            if (!take(&c, pattern.p[i]))
                return false;
            continue;
        }
        const char *others = pattern_long_form(pattern.p[++i]);
        if (others) {
            if (!time_pattern_read(slice_of(others), &c.p, end, parts))
                return false;
        } else if (!take_conversion(&c, pattern.p[i], parts)) {
            return false;
        }
    }
    *p = c.p;
    return true;
}
