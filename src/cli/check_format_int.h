/* Shared by check_format*.c alone: one line and what became of it. */
#ifndef CLI_CHECK_FORMAT_INT_H
#define CLI_CHECK_FORMAT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"
#include "keys/key.h"
#include "parse/record.h"

struct checked {
    struct slice line;
    const char *format; /* that fitted, NULL: none */
    const char *reason; /* NULL: counted; of a reject or skip, or "ignored" */
    bool is_record, is_skipped;
    const char *rule; /* that ignores it */
    struct record record;
    struct key_client client;
    struct reject_at at;
};

/* {"counted":...} and a line feed. */
void checked_json(const struct checked *c, struct buf *to);

#endif
