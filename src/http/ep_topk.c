/* The most frequent keys of a range of days. */
#include "http/asked.h"

#include <errno.h>
#include <stdio.h>

#include "base/num.h"
#include "store/answer.h"

#define ROWS_DEFAULT 10

static bool read_n(const struct request *r, uint32_t k, uint32_t *ret)
{
    struct slice text = request_parameter(r, "n");
    uint64_t n = ROWS_DEFAULT < k ? ROWS_DEFAULT : k;
    if (text.p && (!num_u63(text, &n) || n == 0 || n > k)) {
        char expected[64];
        snprintf(expected, sizeof(expected), "a whole number from 1 to %u", k);
        reply_bad(r->reply, "n", text, expected, "n: %s was expected (k of this series is %u)",
                  expected, k);
        return false;
    }
    *ret = (uint32_t) n;
    return true;
}

static uint64_t other(const struct topk_answer *t)
{
    uint64_t left = t->total;
    for (uint32_t i = 0; i < t->n_rows; i++)
        left -= t->rows[i].count < left ? t->rows[i].count : left;
    return left;
}

static bool fill(struct asked *a, uint32_t n, const struct topk_answer *t, cJSON *o)
{
    if (t->saturated && !asked_warn(a, "a counter is full: counts may be too low"))
        return false;
    return answer_integer(o, "n", n) && answer_integer(o, "k", a->metric->k) &&
           answer_integer(o, "other", other(t)) &&
           cJSON_AddNumberToObject(o, "confidence", t->confidence) && answer_top(o, a->metric, t) &&
           asked_finish(a, o);
}

static void send_csv(const struct request *r, const struct asked *a, const cJSON *o)
{
    const char *columns[KEY_FIELDS_MAX + 7];
    unsigned n = 0;
    columns[n++] = "rank";
    columns[n++] = "key";
    for (unsigned i = 0; a->metric->key.n > 1 && i < a->metric->key.n; i++)
        columns[n++] = field_name(a->metric->key.field[i]);
    columns[n++] = "count";
    columns[n++] = "low";
    columns[n++] = "high";
    columns[n++] = "share";
    columns[n++] = "key_escaped";
    char range[40];
    reply_csv(r->reply, cJSON_GetObjectItemCaseSensitive(o, "rows"), columns, n, a->metric->name,
              asked_range_text(range, a));
}

static void answer(struct request *r)
{
    struct asked a;
    uint32_t n;
    bool csv;
    if (!asked_csv(r, &csv) || !asked_read(r, METRIC_TOPK, &a))
        return;
    if (!read_n(r, a.metric->k, &n)) {
        asked_done(&a);
        return;
    }
    struct topk_answer t = {0};
    int rc = query_topk(r->query, a.series, a.days.count_from, a.days.count_to, n, &t);
    cJSON *o = rc == 0 ? asked_envelope(&a) : NULL;
    if (rc == 0) {
        rc = o && fill(&a, n, &t, o) ? 0 : -ENOMEM;
        topk_answer_done(&t);
    }
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

const struct endpoint endpoint_topk = {
    .path = "/topk",
    .help = "the most frequent keys of a range of days, never counted too low",
    .methods = METHOD_GET,
    .guarded = true,
    .parameters = {{"n", "NUMBER", "how many rows, at most the k of the series; 10 by default",
                    false},
                   ASKED_FROM,
                   ASKED_TO,
                   ASKED_RANGE,
                   ASKED_NAME,
                   ASKED_FORMAT},
    .answer = answer,
};
