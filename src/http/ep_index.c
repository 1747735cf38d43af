/* The endpoints with their parameters, from the table that also checks requests. */
#include "http/endpoint.h"

#include <errno.h>

static bool add_text(cJSON *array, const char *text)
{
    cJSON *item = cJSON_CreateString(text);
    if (item && cJSON_AddItemToArray(array, item))
        return true;
    cJSON_Delete(item);
    return false;
}

static cJSON *add_object(cJSON *array)
{
    cJSON *o = cJSON_CreateObject();
    if (o && cJSON_AddItemToArray(array, o))
        return o;
    cJSON_Delete(o);
    return NULL;
}

static bool add_parameters(cJSON *array, const struct endpoint *e)
{
    for (const struct parameter *p = e->parameters; p < e->parameters + ENDPOINT_PARAMETERS_MAX;
         p++) {
        cJSON *o = p->name ? add_object(array) : NULL;
        if (p->name && (!o || !cJSON_AddStringToObject(o, "name", p->name) ||
                        !cJSON_AddStringToObject(o, "value", p->value) ||
                        !cJSON_AddStringToObject(o, "help", p->help)))
            return false;
    }
    return true;
}

static bool add_endpoint(cJSON *array, const struct endpoint *e)
{
    cJSON *o = add_object(array), *methods, *parameters;
    return o && cJSON_AddStringToObject(o, "path", e->path) &&
           cJSON_AddStringToObject(o, "help", e->help) &&
           (methods = cJSON_AddArrayToObject(o, "methods")) && add_text(methods, "GET") &&
           (!(e->methods & METHOD_DELETE) || add_text(methods, "DELETE")) &&
           (parameters = cJSON_AddArrayToObject(o, "parameters")) && add_parameters(parameters, e);
}

static bool fill(cJSON *o)
{
    if (!cJSON_AddStringToObject(o, "name", "reckond") ||
        !cJSON_AddStringToObject(o, "version", PACKAGE_VERSION))
        return false;
    cJSON *list = cJSON_AddArrayToObject(o, "endpoints");
    bool ok = list != NULL;
    for (unsigned i = 0; ok && endpoint_at(i); i++)
        ok = add_endpoint(list, endpoint_at(i));
    return ok && cJSON_AddArrayToObject(o, "warnings");
}

static void answer(struct request *r)
{
    cJSON *o = cJSON_CreateObject();
    if (o && fill(o)) {
        reply_json(r->reply, 200, o);
        return;
    }
    cJSON_Delete(o);
    reply_failed(r->reply, -ENOMEM);
}

const struct endpoint endpoint_index = {
    .path = "/",
    .help = "this list",
    .methods = METHOD_GET,
    .guarded = true,
    .answer = answer,
};
