/* One access-log line as later stages see it: fields cut from the line (or from the parser's
 * scratch where an escape had to be undone), the instant, the day, status and bytes. Slices live
 * until the parser's next parser_reset (once a batch), as long as the line's block does. */
#ifndef PARSE_RECORD_H
#define PARSE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* The fields that formats fill, keys are made of and rules ask for; names in parse/field.c. */
enum field {
    FIELD_CLIENT,
    FIELD_USER,
    FIELD_TIME,
    FIELD_METHOD,
    FIELD_PATH,
    FIELD_TARGET,
    FIELD_QUERY,
    FIELD_PROTOCOL,
    FIELD_STATUS,
    FIELD_BYTES,
    FIELD_REFERER,
    FIELD_USER_AGENT,
    FIELD_AGENT_CLASS, /* made from the agent by keys, never by a format */
    FIELD_HOST,
    FIELD_DURATION,
    FIELD_INPUT,           /* the input's name, set by ingest */
    FIELD_X_FORWARDED_FOR, /* for client: {from: x_forwarded_for}; no key */
    FIELD_COUNT
};

/* Why a line is refused; the names are metric labels and JSON keys. */
enum reject {
    REJECT_NONE,
    REJECT_TOO_LONG,
    REJECT_BAD_FORMAT,
    REJECT_BAD_DATE,
    REJECT_BAD_STATUS,
    REJECT_BAD_BYTES,
    REJECT_BAD_JSON,
    REJECT_MISSING_FIELD,
    REJECT_COUNT
};

/* Lines that are no record and no mistake. */
enum skip { SKIP_NONE, SKIP_EMPTY, SKIP_COMMENT, SKIP_COUNT };

#define STATUS_NONE (-1) /* the line says '-' or the format has no status */
#define DURATION_NONE INT64_MIN

struct record {
    struct slice
        text[FIELD_COUNT]; /* {NULL,0}: absent; "-" of the log is absent too; FIELD_TIME, STATUS,
                              BYTES and DURATION hold the text as the line has it */
    int64_t time_s;        /* the instant */
    int32_t day;           /* its day, by the zone rule of the parser */
    int16_t status;        /* 0..999 or STATUS_NONE */
    uint64_t bytes;
    int64_t duration_us; /* microseconds or DURATION_NONE */
};

/* Where a refused line went wrong, for people. */
struct reject_at {
    const char *field;    /* static text: a field's name, or "line" */
    const char *expected; /* static text: "a date such as 24/Nov/2026:12:00:00 +0000" */
    uint32_t column;      /* 1-based byte column */
};

const char *reject_name(enum reject r); /* "bad_format" ...; static */
const char *skip_name(enum skip s);     /* "empty", "comment" */
const char *field_name(enum field f);   /* "user_agent" ... */
/* false: no such field */
bool field_find(struct slice name, enum field *ret);

#endif
