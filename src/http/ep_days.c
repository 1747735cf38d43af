/* A flat row a day, for charts. */
#include "http/asked.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/zone.h"
#include "store/answer.h"

#define CLASSES 5 /* 2xx to 5xx, then all others */

static const char *const columns[] = {"time",         "day",
                                      "hits",         "bytes",
                                      "status_2xx",   "status_3xx",
                                      "status_4xx",   "status_5xx",
                                      "status_other", "estimate",
                                      "low",          "high",
                                      "confidence",   "relative_standard_error",
                                      "exact",        "estimator",
                                      "new",          "new_low",
                                      "new_high",     "new_since",
                                      "returning",    "closed",
                                      "complete"};

static bool add_classes(cJSON *row, const struct traffic *t)
{
    uint64_t sum[CLASSES] = {0};
    for (unsigned i = 0; i < STATUS_SLOTS; i++)
        sum[i >= 200 && i < 600 ? i / 100 - 2 : CLASSES - 1] += t->status[i];
    return answer_integer(row, "status_2xx", sum[0]) && answer_integer(row, "status_3xx", sum[1]) &&
           answer_integer(row, "status_4xx", sum[2]) && answer_integer(row, "status_5xx", sum[3]) &&
           answer_integer(row, "status_other", sum[4]);
}

/* No record and no way to know: nulls, not a 0 that would look exact. */
static bool add_unknown(cJSON *row)
{
    static const char *const fields[] = {
        "estimate",  "low",       "high", "confidence", "relative_standard_error",
        "exact",     "estimator", "new",  "new_low",    "new_high",
        "new_since", "returning"};
    for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (!cJSON_AddNullToObject(row, fields[i]))
            return false;
    return true;
}

static bool add_known(cJSON *row, const struct distinct_answer *d)
{
    if (!answer_estimate(row, &d->estimate) || !answer_new(row, &d->new_keys))
        return false;
    if (!d->new_keys.known)
        return cJSON_AddNullToObject(row, "returning");
    double returning = d->estimate.value - d->new_keys.estimate;
    return answer_integer(row, "returning", returning > 0 ? (uint64_t) llround(returning) : 0);
}

static bool fill_row(const struct request *r, const struct asked *a, int32_t day,
                     const struct traffic *t, const struct distinct_answer *d, cJSON *row)
{
    char time[32];
    bool known = d->days_with_record > 0 || (a->since != STORE_DAY_NONE && day >= a->since);
    return cJSON_AddStringToObject(row, "time", zone_rfc3339(time, zone_day_start(day))) &&
           answer_day(row, "day", day) && answer_integer(row, "hits", t->hits) &&
           answer_integer(row, "bytes", t->bytes) && add_classes(row, t) &&
           (known ? add_known(row, d) : add_unknown(row)) &&
           cJSON_AddBoolToObject(row, "closed", day < r->today) &&
           cJSON_AddBoolToObject(row, "complete", t->complete);
}

static int add_row(const struct request *r, const struct asked *a, int32_t day, cJSON *rows)
{
    struct traffic t;
    struct distinct_answer d;
    int rc = query_traffic(r->query, day, &t);
    if (rc <= 0) /* gone by retention since the days were listed: no row */
        return rc;
    rc = query_distinct(r->query, a->series, day, day, &d);
    if (rc < 0)
        return rc;
    cJSON *row = cJSON_CreateObject();
    if (!row || !cJSON_AddItemToArray(rows, row)) {
        cJSON_Delete(row);
        return -ENOMEM;
    }
    return fill_row(r, a, day, &t, &d, row) ? 0 : -ENOMEM;
}

static int fill(const struct request *r, struct asked *a, cJSON *o)
{
    int32_t *days = NULL;
    unsigned n;
    int rc = asked_days(r, a, QUERY_TRAFFIC, &days, &n);
    if (rc < 0)
        return rc;
    cJSON *rows = cJSON_AddArrayToObject(o, "rows");
    if (!rows)
        rc = -ENOMEM;
    for (unsigned i = 0; rc == 0 && i < n; i++)
        rc = add_row(r, a, days[i], rows);
    free(days);
    return rc == 0 && !asked_finish(a, o) ? -ENOMEM : rc;
}

static void answer(struct request *r)
{
    struct asked a;
    bool csv;
    if (!asked_csv(r, &csv) || !asked_read(r, METRIC_UNIQUES, &a))
        return;
    cJSON *o = asked_envelope(&a);
    int rc = o ? fill(r, &a, o) : -ENOMEM;
    char range[40];
    if (rc < 0)
        reply_failed(r->reply, rc);
    else if (csv)
        reply_csv(r->reply, cJSON_GetObjectItemCaseSensitive(o, "rows"), columns,
                  sizeof(columns) / sizeof(*columns), a.metric->name, asked_range_text(range, &a));
    else
        reply_json(r->reply, 200, o);
    if (rc < 0 || csv)
        cJSON_Delete(o);
    asked_done(&a);
}

const struct endpoint endpoint_days = {
    .path = "/days",
    .help = "hits, bytes, statuses and visitors of each day, as flat rows",
    .methods = METHOD_GET,
    .guarded = true,
    .parameters = {ASKED_FROM, ASKED_TO, ASKED_RANGE, ASKED_NAME, ASKED_FORMAT},
    .answer = answer,
};
