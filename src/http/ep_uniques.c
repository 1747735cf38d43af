/* How many different keys in a range of days: the union, beside the sum that it is not. */
#include "http/asked.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "store/answer.h"

static bool add_row(cJSON *rows, int32_t day, const struct distinct_answer *d)
{
    cJSON *row = cJSON_CreateObject();
    if (!row || !cJSON_AddItemToArray(rows, row)) {
        cJSON_Delete(row);
        return false;
    }
    return answer_day(row, "day", day) && answer_estimate(row, &d->estimate);
}

static int add_rows(const struct request *r, const struct asked *a, cJSON *to)
{
    int32_t *days = NULL;
    unsigned n;
    int rc = asked_days(r, a, (int) a->series, &days, &n);
    cJSON *rows = rc == 0 ? cJSON_AddArrayToObject(to, "rows") : NULL;
    if (rc == 0 && !rows)
        rc = -ENOMEM;
    for (unsigned i = 0; rc == 0 && i < n; i++) {
        struct distinct_answer d;
        rc = query_distinct(r->query, a->series, days[i], days[i], &d);
        if (rc == 0 && !add_row(rows, days[i], &d))
            rc = -ENOMEM;
    }
    free(days);
    return rc;
}

static int fill(const struct request *r, struct asked *a, bool by_day, cJSON *o)
{
    struct distinct_answer d;
    int rc = query_distinct(r->query, a->series, a->days.count_from, a->days.count_to, &d);
    if (rc < 0)
        return rc;
    if (!answer_integer(o, "days", asked_day_count(a)))
        return -ENOMEM;
    rc = asked_missing(r, a, o);
    if (rc < 0)
        return rc;
    if (!answer_estimate(o, &d.estimate) ||
        !answer_integer(o, "sum_of_days", (uint64_t) llround(d.sum_of_days)) ||
        !answer_new(o, &d.new_keys))
        return -ENOMEM;
    rc = by_day ? add_rows(r, a, o) : 0;
    return rc == 0 && !asked_finish(a, o) ? -ENOMEM : rc;
}

static void send_csv(const struct request *r, const struct asked *a, const cJSON *o)
{
    static const char *const columns[] = {"day",   "estimate",   "low",
                                          "high",  "confidence", "relative_standard_error",
                                          "exact", "estimator"};
    char range[40];
    reply_csv(r->reply, cJSON_GetObjectItemCaseSensitive(o, "rows"), columns,
              sizeof(columns) / sizeof(*columns), a->metric->name, asked_range_text(range, a));
}

static void answer(struct request *r)
{
    struct asked a;
    bool by_day, csv;
    if (!asked_flag(r, "by", "day", &by_day) || !asked_csv(r, &csv))
        return;
    if (csv && !by_day) {
        reply_bad(r->reply, "format", request_parameter(r, "format"), "format=csv with by=day",
                  "format=csv needs by=day here: a table has rows");
        return;
    }
    if (!asked_read(r, METRIC_UNIQUES, &a))
        return;
    cJSON *o = asked_envelope(&a);
    int rc = o ? fill(r, &a, by_day, o) : -ENOMEM;
    if (rc < 0)
        reply_failed(r->reply, rc);
    else if (csv)
        send_csv(r, &a, o);
    else
        reply_json(r->reply, 200, o);
    if (rc < 0 || csv)
        cJSON_Delete(o);
    asked_done(&a);
}

const struct endpoint endpoint_uniques = {
    .path = "/uniques",
    .help = "how many different visitors came in a range of days",
    .methods = METHOD_GET,
    .guarded = true,
    .parameters = {ASKED_FROM,
                   ASKED_TO,
                   ASKED_RANGE,
                   ASKED_NAME,
                   {"by", "day", "adds a row for each day", false},
                   ASKED_FORMAT},
    .answer = answer,
};
