/* What goes back: status, body and the few headers that differ between replies. JSON objects,
 * problems (RFC 9457) and CSV (RFC 4180). One thread per object. A reply that could not be made for
 * lack of memory says so: reply_lost. */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/slice.h"

struct reply {
    unsigned status;
    const char *type; /* Content-Type, static; NULL: no body */
    struct buf body;
    unsigned allow;      /* methods (endpoint.h) for Allow; 0: none */
    char file_name[160]; /* Content-Disposition; "": none */
    bool close;          /* the connection ends with this reply */
    bool challenge;      /* WWW-Authenticate */
    unsigned retry_after_s;
};

void reply_init(struct reply *r);
void reply_done(struct reply *r);
bool reply_lost(const struct reply *r);

/* The phrase of a status that we send, "" else; and its place in the list of them (for counting),
 * -1: not in the list. */
#define REPLY_STATUSES 15
const char *reply_phrase(unsigned status);
int reply_status_index(unsigned status);
unsigned reply_status_at(unsigned index);

/* Prints json and deletes it. NULL (out of memory): 500. */
void reply_json(struct reply *r, unsigned status, cJSON *json);

struct reply_error {
    struct slice parameter, value; /* from outside: escaped and cut here; value.p NULL: null */
    const char *expected;
};

/* A problem; detail may hold bytes from outside, which are escaped here. */
void reply_problem(struct reply *r, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void reply_problem_errors(struct reply *r, unsigned status, const char *detail,
                          const struct reply_error *errors, unsigned n);
/* 400 for one parameter. */
void reply_bad(struct reply *r, const char *parameter, struct slice value, const char *expected,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
/* A question that the store could not answer: 503 or 500 by the negative errno. */
void reply_failed(struct reply *r, int error);

/* Appends bytes from outside as harmless text, cut to a length that fits a sentence. */
void reply_quote(struct buf *to, struct slice s);

/* A table from rows (an array of flat objects, not consumed): one column a name, absent and null
 * empty, text cells that a spreadsheet would run get a leading '. name and range make the file's
 * name. */
void reply_csv(struct reply *r, const cJSON *rows, const char *const *columns, unsigned n,
               const char *name, const char *range);

#endif
