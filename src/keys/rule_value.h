/* One value of a rule: read as its field demands, compared with a record. For rule.c. */
#ifndef KEYS_RULE_VALUE_H
#define KEYS_RULE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "keys/client.h"
#include "keys/rule.h"
#include "parse/record.h"

enum value_kind {
    VALUE_TEXT,
    VALUE_GLOB,
    VALUE_ABSENT,  /* "-" where a field is compared by its meaning */
    VALUE_NUMBER,  /* status, bytes, microseconds, enum agent_class */
    VALUE_NETWORK, /* of the client, also a single address */
    VALUE_NAME     /* of the client, may hold '*' */
};

struct rule_value {
    enum value_kind kind;
    bool negated;
    struct rule_range range; /* of a number */
    struct cidr network;
    char *text; /* owned; without the '!'; a client's name in lower case */
    size_t text_bytes;
};

/* 0; -EINVAL with a sentence that names the value and what was expected; -ENOMEM. */
int rule_value_init(struct rule_value *ret, enum field field, struct slice given, struct err *e);
void rule_value_done(struct rule_value *v);

/* All kinds but numbers. */
bool rule_value_other_holds(const struct rule_value *v, enum field field,
                            const struct rule_view *view);

static inline bool rule_value_holds(const struct rule_value *v, enum field field,
                                    const struct rule_view *view)
{
    if (v->kind != VALUE_NUMBER)
        return rule_value_other_holds(v, field, view);
    return rule_range_holds(&v->range, rule_number(view, field));
}

/* Appends the canonical text, with backslashes before what separates values. */
void rule_value_write(const struct rule_value *v, struct buf *to);

#endif
