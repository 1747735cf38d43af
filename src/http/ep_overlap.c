/* How many different keys came in both of two days or ranges of days. */
#include "http/asked.h"

#include <errno.h>

#include "store/answer.h"

static const char *const sides[2] = {"a", "b"};

static bool add_side(cJSON *to, const char *name, const struct days *d, const struct sk_estimate *e)
{
    cJSON *side = cJSON_AddObjectToObject(to, name);
    return side && answer_day(side, "from", d->from) && answer_day(side, "to", d->to) &&
           answer_estimate(side, e);
}

static int fill(const struct request *r, struct asked *a, const struct days span[2], cJSON *o)
{
    struct overlap_answer d;
    struct day_range range[2] = {{span[0].count_from, span[0].count_to},
                                 {span[1].count_from, span[1].count_to}};
    int rc = query_overlap(r->query, a->series, range, &d);
    if (rc < 0)
        return rc;
    for (int i = 0; i < 2; i++)
        if (!add_side(o, sides[i], &span[i], &d.side[i]))
            return -ENOMEM;
    cJSON *all = cJSON_AddObjectToObject(o, "union");
    if (!all || !answer_estimate(all, &d.all) || !answer_estimate(o, &d.both) ||
        !cJSON_AddBoolToObject(o, "reliable", d.reliable) || !asked_finish(a, o))
        return -ENOMEM;
    return 0;
}

static void answer(struct request *r)
{
    struct asked a;
    struct days span[2];
    if (!asked_spans(r, METRIC_UNIQUES, sides, span, &a))
        return;
    cJSON *o = asked_envelope(&a);
    int rc = o ? fill(r, &a, span, o) : -ENOMEM;
    if (rc < 0) {
        reply_failed(r->reply, rc);
        cJSON_Delete(o);
    } else {
        reply_json(r->reply, 200, o);
    }
    asked_done(&a);
}

const struct endpoint endpoint_overlap = {
    .path = "/overlap",
    .help = "how many different visitors came in both of two ranges of days",
    .methods = METHOD_GET,
    .guarded = true,
    .parameters = {{"a", "DAY|FROM..TO", "one side: mon, 2026-11, mon..wed, ...", false},
                   {"b", "DAY|FROM..TO", "the other side", false},
                   ASKED_NAME},
    .answer = answer,
};
