/* What stands in the way of good answers, in words: for /readyz, /status. HTTP thread only. */
#ifndef HTTP_CONDITION_H
#define HTTP_CONDITION_H

#include <cjson/cJSON.h>

#include "http/endpoint.h"

enum condition { CONDITION_OK, CONDITION_DEGRADED, CONDITION_NOT_READY };

/* Appends the reasons to an array of strings. 0, -ENOMEM or another errno of the store. */
int condition_judge(const struct request *r, cJSON *reasons, enum condition *ret);

#endif
