/* What report and check-format have in common: the options that say how lines are understood, and
 * what comes of them: configuration, zone, formats, client rule, ignore rules. */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"
#include "cli/options.h"
#include "config.h"
#include "input/reader.h"
#include "keys/agent.h"
#include "keys/books.h"
#include "parse/format.h"

/* Rows 0..LINES_OPTIONS-1 of either command's table. */
enum {
    LINES_CONFIG,
    LINES_INPUT,
    LINES_FORMAT,
    LINES_FRAMING,
    LINES_TIMEZONE,
    LINES_WHERE,
    LINES_IGNORE,
    LINES_OPTIONS
};
#define LINES_ROWS                                                                                 \
    [LINES_CONFIG] = {"config", 'c', "FILE", "client, zone, rules, metrics, format of it"},        \
    [LINES_INPUT] = {"input", 0, "NAME", "of its inputs (default: the first)"},                    \
    [LINES_FORMAT] = {"format", 0, "F", "preset | auto | nginx:TEXT | apache:TEXT"},               \
    [LINES_FRAMING] = {"framing", 0, "F", "none"},                                                 \
    [LINES_TIMEZONE] = {"timezone", 0, "Z", "local | log | UTC | an IANA name"},                   \
    [LINES_WHERE] = {"where", 0, "FIELD=VALUE", "count these lines only (repeatable)"},            \
    [LINES_IGNORE] = {"ignore", 0, "FIELD=VALUE", "do not count these lines (repeatable)"}

struct lines_options {
    const char *config, *input, *format, *timezone;
    char *rules[BOOKS_RULES_MAX]; /* as rule_parse takes them; what --where leaves out has a '!' */
    unsigned n_rules;
};

/* Takes the option's value. 0; -EINVAL with a sentence; -ENOMEM. */
int lines_take(struct lines_options *o, unsigned row, const char *value, struct err *e);
void lines_options_done(struct lines_options *o);

struct lines {
    struct config *config; /* with the timezone and ignore rules of the options */
    const struct config_input *input;
    const struct client_rule *client;
    struct agent_list *agents;
    bool day_of_log;
    struct format_spec option_spec;
    const struct format_spec *specs;
    unsigned n_specs;
    struct format *formats[CONFIG_FORMATS_MAX];
    unsigned n_formats; /* 0 until lines_formats */
    char format_name[256];
};

/* Reads the configuration, sets the zone. Says what is wrong on standard error; 0 or the exit code.
 */
int lines_open(struct lines *l, const struct lines_options *o, const char *command);
bool lines_is_auto(const struct lines *l);
/* What formats are told by: of a file and of a pipe the same bytes, whatever comes in one read; not
 * all of them are waited for when more than DETECT_LINES lines do (`enough`). Borrowed until the
 * reader's next call. 0 or -errno with a sentence. */
int lines_head(struct reader *reader, bool enough, struct slice *ret, struct err *e);
/* Compiles the formats; auto is detected on the head (whole lines; without lines: combined). 0;
 * -ENOENT: no preset fits; -EINVAL; -ENOMEM; with a sentence. */
int lines_formats(struct lines *l, struct slice head, struct err *e);
/* For files of different formats, instead of lines_formats: 1: the index of the format that this
 * head has; 0: it has no line to tell by; errors as above (-ENOENT: this head alone). */
int lines_detect(struct lines *l, struct slice head, unsigned *ret, struct err *e);
/* A client from a field that no format has: -EINVAL with a sentence. */
int lines_check_client(const struct lines *l, struct err *e);
/* The exit code for an error of lines_formats. */
int lines_exit_code(int r);
void lines_close(struct lines *l);

#endif
