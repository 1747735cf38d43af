/* Live: the HTTP thread answers. What would not be mended by a restart is /readyz's matter. */
#include "http/endpoint.h"

static void answer(struct request *r)
{
    cJSON *o = cJSON_CreateObject();
    if (o &&
        (!cJSON_AddStringToObject(o, "status", "ok") || !cJSON_AddArrayToObject(o, "warnings"))) {
        cJSON_Delete(o);
        o = NULL;
    }
    reply_json(r->reply, 200, o);
}

const struct endpoint endpoint_healthz = {
    .path = "/healthz",
    .help = "200 while the process lives",
    .methods = METHOD_GET,
    .answer = answer,
};
