/* Words for days -> days: the grammar of from, to and range (doc/http-api.md). Pure but for the
 * zone (base/zone.h); any thread. */
#ifndef STORE_DAYS_H
#define STORE_DAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct days_context {
    int32_t today;
    int32_t oldest_kept;  /* by retention */
    int32_t first_stored; /* for range=all; STORE_DAY_NONE: nothing */
};

struct days {
    int32_t from, to;             /* what the reply says */
    int32_t count_from, count_to; /* what is really asked: clipped; from > to: nothing */
    bool clamped;                 /* to was in the future */
    bool clipped;                 /* from was before oldest_kept */
    bool outside;                 /* wholly before what is kept, or after today */
};

/* Absent ones are {NULL, 0}. 0; -EINVAL: e->text says what was expected ("\"mno\" is not a day; did
 * you mean \"mon\"?") and *ret_parameter is "from", "to" or "range"; -ERANGE: from is after to. */
int days_parse(struct slice from, struct slice to, struct slice range,
               const struct days_context *context, struct days *ret, const char **ret_parameter,
               struct err *e);
/* One side of /overlap: a day or FROM..TO. */
int days_parse_span(struct slice text, const struct days_context *context, struct days *ret,
                    struct err *e);
/* One word -> the day; as_end: 2026-11 means its last day. */
int days_word(struct slice word, const struct days_context *context, bool as_end, int32_t *ret,
              struct err *e);

#endif
