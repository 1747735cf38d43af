/* Inside parse: one line against one format.
 *
 * Steps are placed from left to right. A value ends where its step's `find` says; a step that could
 * also end later is asked again when a later one does not fit, at most MATCH_TRIES_MAX times a
 * line. So a line costs time linear in its length. No allocation. One thread per object. */
#ifndef PARSE_MATCH_INT_H
#define PARSE_MATCH_INT_H

#include "parse/format_int.h"
#include "parse/time_int.h"

#define MATCH_TRIES_MAX 64
#define USER_BYTES_MAX 256

struct match {
    /* The result: valid after REJECT_NONE. */
    const char *begin[FORMAT_STEPS_MAX], *stop[FORMAT_STEPS_MAX]; /* values by step */
    struct log_time time;
    uint64_t bytes;
    int16_t status;
    struct slice spare[SLOT_COUNT - FIELD_COUNT]; /* values of slots that are no fields */
    bool whole;                                   /* nothing follows what the format describes */
    bool backslash; /* a value may hold one, and the format's server escapes with it */

    struct time_cache dates; /* kept from line to line */

    /* The line that is being matched. */
    const char *line, *end;
    struct slice *text;
    bool escapes; /* the format's server puts a backslash before quotes */
    bool loose;   /* time, status and bytes may be anything: does the frame fit? */
    unsigned tries;
    const char *farthest;
    unsigned farthest_step;
};

void match_init(struct match *m);
/* REJECT_NONE: text[] has the fields of the format's steps as they stand in the line, {NULL, 0} for
 * a dash (the others are left alone). Else the reason and *ret_at (columns count from line.p);
 * text[] is then anything. */
enum reject match_line(struct match *m, const struct format *f, struct slice line,
                       struct slice text[FIELD_COUNT], struct reject_at *ret_at);

#endif
