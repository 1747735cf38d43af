/* From line to record: skips what is no record, tries the formats in order, undoes the server's
 * escaping once, splits the request, reads date, status and bytes, finds the day.
 *
 * One parser per thread; formats and options are shared and constant. Nothing is allocated per
 * line: unescaped values are written into a scratch of 4 x LINE_BYTES_MAX that parser_reset
 * empties; when it is full, parser_line says so and the caller finishes its batch first. Same
 * bytes, same record, whatever came before (caches never change an answer). */
#ifndef PARSE_PARSER_H
#define PARSE_PARSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "parse/format.h"
#include "parse/record.h"

#define LINE_BYTES_MAX ((size_t) 256 * 1024)

struct parser_options {
    const struct format *const *formats; /* tried in order */
    unsigned n_formats;
    bool day_of_log; /* timezone: log - the date as the line writes it; else by zone.h */
};

struct parser; /* opaque */

int parser_new(struct parser **ret, const struct parser_options *options); /* 0, -EINVAL, -ENOMEM */
struct parser *parser_free(struct parser *p);

/* Forgets the scratch: slices of earlier records end here. */
void parser_reset(struct parser *p);

enum parsed { PARSED_RECORD, PARSED_SKIPPED, PARSED_REJECTED, PARSED_SCRATCH_FULL };

/* line: without its line feed; at most LINE_BYTES_MAX. One CR at its end and NULs before it are
 * dropped. PARSED_RECORD: *ret is filled (its slices point into line or scratch). PARSED_SKIPPED:
 * *ret_skip. PARSED_REJECTED: *ret_reject and *ret_at (of the first format). *ret is anything
 * unless PARSED_RECORD: fields are put there while the line is matched. */
enum parsed parser_line(struct parser *p, struct slice line, struct record *ret,
                        enum skip *ret_skip, enum reject *ret_reject, struct reject_at *ret_at);
/* Which of the formats the last record had. */
unsigned parser_last_format(const struct parser *p);

/* Detection (`auto`): the preset that fits most of the first lines (at most DETECT_LINES that are
 * not skipped), at least half of them: first counted are lines that it explains to their end, then
 * lines with more text behind, then its fields. A last line without its end is left out unless it
 * is the only one. *ret is the preset's row, NULL if none fits. 0 or -ENOMEM. Pure. */
#define DETECT_LINES 50
int parser_detect(struct slice head, const struct preset **ret, unsigned *ret_fit,
                  unsigned *ret_seen);

/* Parts that are useful on their own and tested on their own. */

/* notes/formats section 4.4: method, target, protocol, path, query of a request as logged (already
 * unescaped). false: no HTTP request (then method..query stay absent and the path is "-"). */
bool request_split(struct slice request, struct record *into);
/* The path of a target: without scheme, authority, query and fragment; empty is "/". */
struct slice target_path(struct slice target, struct slice *ret_query);

#endif
