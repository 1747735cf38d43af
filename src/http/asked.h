/* What a question asks for (series, days, form) and what every answer says about it: name, from,
 * to, timezone, warnings, days_missing. Functions that return false have left a reply that says
 * why. */
#ifndef HTTP_ASKED_H
#define HTTP_ASKED_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/endpoint.h"
#include "keys/metric.h"
#include "store/days.h"
#include "store/query.h"

/* Rows for struct endpoint. */
#define ASKED_NAME                                                                                 \
    {                                                                                              \
        "name", "NAME", "the series; without it the first of its kind", false                      \
    }
#define ASKED_FROM                                                                                 \
    {                                                                                              \
        "from", "DAY",                                                                             \
            "first day: today, yesterday, mon, -7d, 2026-11-24, 2026-11, 2026-W48, ...", false     \
    }
#define ASKED_TO                                                                                   \
    {                                                                                              \
        "to", "DAY", "last day, included; the same words", false                                   \
    }
#define ASKED_RANGE                                                                                \
    {                                                                                              \
        "range", "today|yesterday|7d|28d|30d|90d|week|month|year|all", "instead of from and to",   \
            false                                                                                  \
    }
#define ASKED_FORMAT                                                                               \
    {                                                                                              \
        "format", "json|csv", "json by default", false                                             \
    }

/* The series of this kind by `name`, or the first. */
bool asked_series(const struct request *r, enum metric_kind kind, unsigned *ret);

struct asked {
    unsigned series;
    const struct metric *metric;
    struct days days;
    int32_t asked_from; /* before it was clipped to what is kept */
    int32_t since;      /* the series' first day; STORE_DAY_NONE */
    bool missing_cut;   /* days_missing is full */
    const char *about;  /* the parameter that a warning is about; NULL: all of it */
    cJSON *warnings;    /* an array; moves into the envelope or is deleted by asked_done */
};

/* Series of a kind and days, with the warnings that both bring. asked_done after success. */
bool asked_read(const struct request *r, enum metric_kind kind, struct asked *ret);
/* The same for two parameters that each take a day or FROM..TO; ret->days is what they cover. */
bool asked_spans(const struct request *r, enum metric_kind kind, const char *const parameter[2],
                 struct days ret_span[2], struct asked *ret);
void asked_done(struct asked *a);
bool asked_warn(struct asked *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* true for csv */
bool asked_csv(const struct request *r, bool *ret);
/* A parameter that takes one word: "by" may be "day". */
bool asked_flag(const struct request *r, const char *name, const char *word, bool *ret);

/* {"name","from","to","timezone"}; NULL: out of memory. */
cJSON *asked_envelope(const struct asked *a);
/* Adds the warnings (and takes them) as the last field. */
bool asked_finish(struct asked *a, cJSON *reply);
/* Calendar days from from to to, 0 when there are none. */
uint64_t asked_day_count(const struct asked *a);

/* The days of the range that the series cannot vouch for: a list of DAY or DAY..DAY. A day before
 * the series began or was kept, or without any record, is one; a day with traffic but without a
 * line for this series is not: its count is known to be 0. 0 or -errno */
int asked_missing(const struct request *r, struct asked *a, cJSON *to);
/* Days with records within the range, ascending; freed by the caller. series may be QUERY_TRAFFIC.
 */
int asked_days(const struct request *r, const struct asked *a, int series, int32_t **ret,
               unsigned *ret_n);

/* "2026-11-22_2026-11-24" for a file's name. */
char *asked_range_text(char buffer[40], const struct asked *a);

#endif
