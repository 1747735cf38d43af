/* The state of each filter: how full it is, and what its answers are worth. */
#include "http/asked.h"

#include <errno.h>

#include "base/zone.h"
#include "store/answer.h"

static bool fill_one(const struct metric *m, const struct filter_state *s, cJSON *o)
{
    char time[32];
    return cJSON_AddStringToObject(o, "name", m->name) &&
           cJSON_AddBoolToObject(o, "degraded", s->degraded) &&
           cJSON_AddBoolToObject(o, "saturated", s->saturated) &&
           answer_integer(o, "bits", s->bits) && answer_integer(o, "hashes", s->hashes) &&
           answer_integer(o, "capacity", s->capacity) &&
           cJSON_AddNumberToObject(o, "items", s->items) &&
           cJSON_AddNumberToObject(o, "fill_ratio", s->fill_ratio) &&
           cJSON_AddNumberToObject(o, "expected_false_positive_rate", s->rate) &&
           cJSON_AddNumberToObject(o, "target", s->target) &&
           answer_integer(o, "generation", s->generation) &&
           answer_integer(o, "rebuilds", s->rebuilds) &&
           cJSON_AddBoolToObject(o, "rebuilding", s->rebuilding) &&
           (s->last_rebuild_s
                ? cJSON_AddStringToObject(o, "last_rebuild", zone_rfc3339(time, s->last_rebuild_s))
                : cJSON_AddNullToObject(o, "last_rebuild")) &&
           answer_integer(o, "journal_entries", s->journal_entries) &&
           answer_integer(o, "memory_bytes", s->memory_bytes);
}

static int add_filter(const struct request *r, unsigned series, cJSON *list)
{
    struct filter_state s;
    int rc = query_filter(r->query, series, &s);
    if (rc < 0)
        return rc;
    cJSON *o = cJSON_CreateObject();
    if (!o || !cJSON_AddItemToArray(list, o)) {
        cJSON_Delete(o);
        return -ENOMEM;
    }
    return fill_one(&query_metrics(r->query)->list[series], &s, o) ? 0 : -ENOMEM;
}

static void answer(struct request *r)
{
    const struct metrics *m = query_metrics(r->query);
    cJSON *o = cJSON_CreateObject();
    cJSON *list = o ? cJSON_AddArrayToObject(o, "filters") : NULL;
    int rc = list ? 0 : -ENOMEM;
    for (unsigned i = 0; rc == 0 && i < m->n; i++)
        if (m->list[i].kind == METRIC_SEEN)
            rc = add_filter(r, i, list);
    if (rc == 0 && !cJSON_AddArrayToObject(o, "warnings"))
        rc = -ENOMEM;
    if (rc == 0) {
        reply_json(r->reply, 200, o);
        return;
    }
    cJSON_Delete(o);
    reply_failed(r->reply, rc);
}

const struct endpoint endpoint_filters = {
    .path = "/filters",
    .help = "state of the filters behind /seen",
    .methods = METHOD_GET,
    .guarded = true,
    .answer = answer,
};
