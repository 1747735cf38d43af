#include "parse/record.h"

static const char *const field_names[FIELD_COUNT] = {
    [FIELD_CLIENT] = "client",
    [FIELD_USER] = "user",
    [FIELD_TIME] = "time",
    [FIELD_METHOD] = "method",
    [FIELD_PATH] = "path",
    [FIELD_TARGET] = "target",
    [FIELD_QUERY] = "query",
    [FIELD_PROTOCOL] = "protocol",
    [FIELD_STATUS] = "status",
    [FIELD_BYTES] = "bytes",
    [FIELD_REFERER] = "referer",
    [FIELD_USER_AGENT] = "user_agent",
    [FIELD_AGENT_CLASS] = "agent_class",
    [FIELD_HOST] = "host",
    [FIELD_DURATION] = "duration",
    [FIELD_INPUT] = "input",
    [FIELD_X_FORWARDED_FOR] = "x_forwarded_for",
};

static const char *const reject_names[REJECT_COUNT] = {
    [REJECT_NONE] = "none",
    [REJECT_TOO_LONG] = "too_long",
    [REJECT_BAD_FORMAT] = "bad_format",
    [REJECT_BAD_DATE] = "bad_date",
    [REJECT_BAD_STATUS] = "bad_status",
    [REJECT_BAD_BYTES] = "bad_bytes",
    [REJECT_BAD_JSON] = "bad_json",
    [REJECT_MISSING_FIELD] = "missing_field",
};

static const char *const skip_names[SKIP_COUNT] = {
    [SKIP_NONE] = "none",
    [SKIP_EMPTY] = "empty",
    [SKIP_COMMENT] = "comment",
};

const char *reject_name(enum reject r)
{
    return reject_names[r];
}

const char *skip_name(enum skip s)
{
    return skip_names[s];
}

const char *field_name(enum field f)
{
    return field_names[f];
}

bool field_find(struct slice name, enum field *ret)
{
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        if (slice_is(name, field_names[i])) {
            *ret = (enum field) i;
            return true;
        }
    }
    return false;
}
