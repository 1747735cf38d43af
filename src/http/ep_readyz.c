/* Ready: are answers right and kept? 503 only where another server should be asked instead. */
#include "http/condition.h"

#include <errno.h>

static void answer(struct request *r)
{
    enum condition condition = CONDITION_OK;
    cJSON *o = cJSON_CreateObject(), *reasons = cJSON_CreateArray();
    int rc = o && reasons ? condition_judge(r, reasons, &condition) : -ENOMEM;
    const char *status = condition == CONDITION_OK         ? "ok"
                         : condition == CONDITION_DEGRADED ? "degraded"
                                                           : "not_ready";
    if (rc == 0 && !cJSON_AddStringToObject(o, "status", status))
        rc = -ENOMEM;
    if (rc == 0 && cJSON_AddItemToObject(o, "reasons", reasons))
        reasons = NULL;
    if (rc == 0 && (reasons || !cJSON_AddArrayToObject(o, "warnings")))
        rc = -ENOMEM;
    if (rc < 0) {
        cJSON_Delete(reasons);
        cJSON_Delete(o);
        reply_failed(r->reply, rc);
        return;
    }
    reply_json(r->reply, condition == CONDITION_NOT_READY ? 503 : 200, o);
    r->reply->retry_after_s = condition == CONDITION_NOT_READY ? 5 : 0;
}

const struct endpoint endpoint_readyz = {
    .path = "/readyz",
    .help = "ok or degraded, with reasons; 503 while restoring or stopping",
    .methods = METHOD_GET,
    .answer = answer,
};
