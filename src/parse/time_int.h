/* Inside parse: the faster and the composed forms of time.h.
 *
 * A cache keeps the last date and offset as text with what they mean; 99.8 % of lines have the date
 * of the line before. It changes the time an answer takes, never the answer. One thread per cache.
 */
#ifndef PARSE_TIME_INT_H
#define PARSE_TIME_INT_H

#include <string.h>

#include "parse/bytes_int.h"
#include "parse/time.h"

#define TIME_CLF_BYTES 26 /* "24/Nov/2026:12:00:00 +0000" */

struct time_cache {
    char date[12];  /* "24/Nov/2026:" */
    char offset[6]; /* " +0000" */
    int32_t day;
    int64_t day_s; /* the instant when it begins */
};

void time_cache_init(struct time_cache *c);
/* Whether the TIME_CLF_BYTES at p begin and end as the cached ones. */
static inline bool time_cache_has(const struct time_cache *c, const char *p)
{
    return memcmp(p, c->date, sizeof c->date) == 0 &&
           memcmp(p + 20, c->offset, sizeof c->offset) == 0;
}

/* time_clf for such bytes. */
static inline bool time_cached(const struct time_cache *c, const char *p, struct log_time *ret)
{
    unsigned hour, minute, second;
    if (!bytes_clock(p + sizeof c->date, &hour, &minute, &second) || hour > 23 || minute > 59 ||
        second > 60)
        return false;
    second -= second == 60;
    ret->time_s = c->day_s + (int32_t) (hour * 3600 + minute * 60 + second);
    ret->local_day = c->day;
    ret->has_offset = true;
    return true;
}

/* time_clf for exactly TIME_CLF_BYTES at p. */
bool time_clf_cached(struct time_cache *c, const char *p, struct log_time *ret);

/* Any of the three forms of time.h, told apart by the first bytes. */
bool time_any(struct slice s, struct log_time *ret);

/* What the pieces of an Apache %{...}t have said so far; zeroed before each line. */
struct time_parts {
    int year, month, day;
    int hour, minute, second;
    int32_t offset_s;
    bool has_offset;
    bool is_epoch; /* %s: then only epoch_s counts */
    int64_t epoch_s;
};

enum time_have { TIME_HAVE_YEAR = 1, TIME_HAVE_MONTH = 2, TIME_HAVE_DAY = 4, TIME_HAVE_ALL = 7 };

/* Checks a strftime pattern. true: supported, and *ret_have says which parts of a date it names.
 * false: *ret_bad is the offset of the conversion that is not. */
bool time_pattern_check(struct slice pattern, unsigned *ret_have, size_t *ret_bad);
/* Reads text of the pattern's shape at *p; on success *p is behind it. */
bool time_pattern_read(struct slice pattern, const char **p, const char *end,
                       struct time_parts *parts);
/* The date that the parts make; false: no such date. */
bool time_parts_value(const struct time_parts *parts, struct log_time *ret);

#endif
