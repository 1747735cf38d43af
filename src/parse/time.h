/* Dates of log lines, read digit by digit, independent of locale and libc. Pure, any thread. */
#ifndef PARSE_TIME_H
#define PARSE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

struct log_time {
    int64_t time_s;    /* the instant, if has_offset; else the seconds as if the date were UTC */
    int32_t local_day; /* the date as written */
    bool has_offset;
};

/* "24/Nov/2026:12:00:00 +0000" (month in any case, day 1 or 2 digits, second 60 is 59, offset up to
 * 18:00 with or without colon or Z). false: not such a date. */
bool time_clf(struct slice s, struct log_time *ret);
/* "2026-11-24T12:00:00.123+00:00" and the forms with blank, without offset, with comma. */
bool time_iso8601(struct slice s, struct log_time *ret);
/* A bare number: below 1e11 seconds, 1e14 ms, 1e17 us, else ns; a fraction is allowed. */
bool time_epoch(struct slice s, struct log_time *ret);

#endif
