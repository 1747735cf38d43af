/* Log formats: a server's format string (or a preset's) compiled once into steps, then matched from
 * left to right without regular expressions, in linear time (bounded retries). notes:
 * doc/formats.md.
 *
 * A preset is a file fmt_<name>.c that ends with its `const struct preset preset_<name>` and one
 * line in Makefile.am. struct format is immutable after format_new and shared by all threads. */
#ifndef PARSE_FORMAT_H
#define PARSE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "parse/record.h"

/* How the server escapes values inside a field. */
enum escape {
    ESCAPE_NONE,
    ESCAPE_BACKSLASH, /* nginx and httpd: \xHH of either case, \" \\ \n \t ... */
};

enum syntax { SYNTAX_NGINX, SYNTAX_APACHE };

/* One row of the table of presets. */
struct preset {
    const char *name;   /* as in the configuration: "vhost_combined" */
    enum syntax syntax; /* of text */
    const char *text;   /* the server's format string */
    enum escape escape;
    bool detectable; /* tried by `auto` */
};

struct format; /* opaque */

/* What the configuration or the command line says: "combined", "nginx:TEXT", "apache:TEXT", or
 * "auto" (which is not compiled: see parser.h). */
struct format_spec {
    enum { FORMAT_PRESET, FORMAT_NGINX, FORMAT_APACHE, FORMAT_AUTO } kind;
    char *text; /* preset name or format string; owned by whoever owns the spec */
};

/* Reads the command line's form F of a spec; the caller frees ret->text. 0, -ENOMEM, or -EINVAL
 * with a sentence. */
int format_spec_parse(struct slice s, struct format_spec *ret, struct err *e);

/* Compiles. 0; -EINVAL with a sentence that names the column, the variable and what was expected;
 * -ENOMEM. */
int format_new(struct format **ret, const struct format_spec *spec, struct err *e);
struct format *format_free(struct format *f);

const char *format_name(const struct format *f);           /* "combined", "nginx:..." */
bool format_has(const struct format *f, enum field field); /* the lines can have this field */

/* Rows of the table, for listing and detection; NULL behind the last. */
const struct preset *preset_at(size_t i);
/* The names of all presets as one text "combined common ...", static. */
const char *preset_names(void);

/* Describes the compiled steps for people: field i's name and the text it ends at; false: no more.
 */
bool format_step(const struct format *f, size_t i, const char **ret_field,
                 struct slice *ret_literal);

#endif
