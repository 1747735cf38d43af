/* Rules over a record: `where` and `ignore`. The keys of a rule are ANDed, the values of a key
 * ORed, a value is exact, a glob with '*', a class "4xx", a CIDR (client), a comparison ">1s"
 * "<1MiB" ">=500", or
 * "!VALUE". An absent field compares as "-". Compiled once, constant, any thread; asking allocates
 * nothing. Text form, canonical: "path=/health*|/ping&status=5xx", fields and values in the order
 * given; a backslash stands before each '&', '|' and '\' of a value. A '!' before the whole text
 * says the opposite: "!status=5xx" is every line that "status=5xx" is not. */
#ifndef KEYS_RULE_H
#define KEYS_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "parse/record.h"

struct rule; /* opaque */

/* What a rule may ask for beyond the record. */
struct rule_view {
    const struct record *record;
    const uint8_t *client; /* 16 bytes, NULL: the client is a name or absent */
    struct slice client_text;
    int agent_class; /* enum agent_class */
};

int rule_new(struct rule **ret); /* without a field it matches every line */
/* Adds a value for a field (same field again: OR). 0; -EINVAL with a sentence ("status: '6xx'
 * ..."), -ENOMEM: the rule is as before. */
int rule_add(struct rule *r, struct slice field, struct slice value, struct err *e);
/* "FIELD=VALUE&..." from the command line, also with '!' in front. */
int rule_parse(struct rule **ret, struct slice text, struct err *e);
struct rule *rule_free(struct rule *r);

bool rule_match(const struct rule *r, const struct rule_view *view);

/* Most rules ask whether one number of the line lies in a range: 404, 5xx, ">1s", human. */
struct rule_range {
    enum field field;
    int64_t least, most; /* nothing, if least is over most */
};
/* true: the rule asks no more than *ret says. */
bool rule_is_range(const struct rule *r, struct rule_range *ret);

#define RULE_NUMBER_NONE INT64_MIN /* the line has none; in no range */

static inline int64_t rule_number(const struct rule_view *view, enum field field)
{
    const struct record *r = view->record;
    switch (field) {
    case FIELD_STATUS:
        return r->status == STATUS_NONE ? RULE_NUMBER_NONE : r->status;
    case FIELD_BYTES: /* servers write '-' for none */
        return r->bytes > INT64_MAX ? INT64_MAX : (int64_t) r->bytes;
    case FIELD_AGENT_CLASS:
        return view->agent_class;
    default:
        return r->duration_us;
    }
}
_Static_assert(DURATION_NONE == RULE_NUMBER_NONE, "no duration is no number");

static inline bool rule_range_holds(const struct rule_range *range, int64_t number)
{
    return number >= range->least && number <= range->most;
}

const char *rule_text(const struct rule *r);         /* canonical; borrowed */
bool rule_needs(const struct rule *r, enum field f); /* the rule asks for this field */

#endif
