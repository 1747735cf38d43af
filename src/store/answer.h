/* The JSON of ESTIMATE, ROW, books and days, written once for http and cli. cJSON objects that the
 * caller owns; NULL: out of memory. Integers are written as digits (exact to 2^63-1). */
#ifndef STORE_ANSWER_H
#define STORE_ANSWER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "keys/books.h"
#include "keys/metric.h"
#include "keys/plan.h"
#include "store/query.h"

/* Adds a whole number exactly. false: out of memory. */
bool answer_integer(cJSON *to, const char *name, uint64_t value);
bool answer_day(cJSON *to, const char *name, int32_t day);

/* estimate, low, high, confidence, relative_standard_error, exact, estimator. Rounded outward. */
bool answer_estimate(cJSON *to, const struct sk_estimate *e);
/* new, new_low, new_high, new_since (null without a filter of the same key). */
bool answer_new(cJSON *to, const struct new_keys *n);
/* total, error_bound, rows:[ROW] (and nothing else). */
bool answer_top(cJSON *to, const struct metric *m, const struct topk_answer *a);
/* {"lines":..,"counted":..,"rejected":{..},"ignored":{..},"skipped":{..},"late":..,"future":..} */
cJSON *answer_books(const struct books *b, const struct plan *plan);
/* {"200":12,...,"-":3} */
cJSON *answer_status(const struct traffic *t);

/* The printed form without blanks, with cJSON's memory; freed with cJSON_free. */
char *answer_print(const cJSON *json);

#endif
