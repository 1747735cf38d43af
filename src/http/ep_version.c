/* The versions of the program and of the libraries that it runs with (not those it was built with).
 */
#include "http/endpoint.h"

#include <errno.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

static bool fill(cJSON *o)
{
    char xxhash[32];
    unsigned x = XXH_versionNumber();
    snprintf(xxhash, sizeof(xxhash), "%u.%u.%u", x / 10000, x / 100 % 100, x % 100);
    if (!cJSON_AddStringToObject(o, "name", "reckond") ||
        !cJSON_AddStringToObject(o, "version", PACKAGE_VERSION))
        return false;
    cJSON *l = cJSON_AddObjectToObject(o, "libraries");
    return l && cJSON_AddStringToObject(l, "libmicrohttpd", MHD_get_version()) &&
           cJSON_AddStringToObject(l, "cjson", cJSON_Version()) &&
           cJSON_AddStringToObject(l, "xxhash", xxhash) &&
           cJSON_AddStringToObject(l, "libyaml", yaml_get_version_string()) &&
           cJSON_AddStringToObject(l, "sqlite", sqlite3_libversion()) &&
           cJSON_AddStringToObject(l, "zlib", zlibVersion()) &&
           cJSON_AddStringToObject(l, "zstd", ZSTD_versionString()) &&
           cJSON_AddArrayToObject(o, "warnings");
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

const struct endpoint endpoint_version = {
    .path = "/version",
    .help = "versions of reckond and of its libraries",
    .methods = METHOD_GET,
    .guarded = true,
    .answer = answer,
};
