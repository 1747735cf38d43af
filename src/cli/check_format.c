/* reckond check-format: how lines are understood, each field of the first ones, then counts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/utf8.h"
#include "base/zone.h"
#include "cli/check_format_int.h"
#include "cli/cli.h"
#include "cli/lines.h"
#include "cli/options.h"
#include "cli/output.h"
#include "ingest.h"
#include "input/reader.h"
#include "parse/parser.h"

#define COMMAND "check-format"
#define SHOWN_BYTES 160 /* of a value or a line */
#define BEFORE_COLUMN 60
#define FLUSH_BYTES 65536

enum { LINES = LINES_OPTIONS, JSON, HELP };
static const struct option_row rows[] = {
    LINES_ROWS,
    [LINES] = {"lines", 0, "N", "so many that fit and that do not in detail (10)"},
    [JSON] = {"json", 0, NULL, "one object for every line read"},
    [HELP] = {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

struct check {
    struct lines_options options;
    struct lines lines;
    struct parser *parser;
    const char *path;
    unsigned long detail; /* so many of the lines that fit, and so many of those that do not */
    unsigned long shown, shown_failing;
    bool is_json;
    struct books books;
    struct buf out;
};

/* ---- one line ---- */

static void judge(struct check *k, struct slice line, struct checked *ret)
{
    enum skip skip;
    enum reject reject;
    *ret = (struct checked){.line = line};
    parser_reset(k->parser);
    k->books.lines++;
    switch (parser_line(k->parser, line, &ret->record, &skip, &reject, &ret->at)) {
    case PARSED_SKIPPED:
        k->books.skipped[skip]++;
        ret->is_skipped = true;
        ret->reason = skip_name(skip);
        return;
    case PARSED_REJECTED:
    case PARSED_SCRATCH_FULL: /* not with one line in it */
        k->books.rejected[reject]++;
        ret->reason = reject_name(reject);
        return;
    case PARSED_RECORD:
        break;
    }
    struct record *r = &ret->record;
    ret->is_record = true;
    ret->format = format_name(k->lines.formats[parser_last_format(k->parser)]);
    ret->client =
        key_client(k->lines.client, r->text[FIELD_CLIENT], r->text[FIELD_X_FORWARDED_FOR]);
    r->text[FIELD_INPUT] = slice_of(k->lines.input->name);
    struct rule_view view = {r, ret->client.is_address ? ret->client.address : NULL,
                             ret->client.text,
                             agent_judge(k->lines.agents, r->text[FIELD_USER_AGENT])};
    for (unsigned i = 0; i < k->lines.config->n_ignore; i++)
        if (rule_match(k->lines.config->ignore[i], &view)) {
            k->books.ignored[i]++;
            ret->reason = "ignored";
            ret->rule = rule_text(k->lines.config->ignore[i]);
            return;
        }
    k->books.counted++;
}

static void judge_too_long(struct check *k, struct checked *ret)
{
    *ret = (struct checked){.reason = reject_name(REJECT_TOO_LONG)};
    ret->at = (struct reject_at){"line", "a line of at most 256 KiB", LINE_BYTES_MAX + 1};
    k->books.lines++;
    k->books.rejected[REJECT_TOO_LONG]++;
}

/* ---- as text ---- */

static void put_shown(struct buf *to, struct slice s)
{
    size_t n = s.n < SHOWN_BYTES ? s.n : SHOWN_BYTES;
    while (n < s.n && ((unsigned char) s.p[n] & 0xc0) == 0x80)
        n++;
    utf8_escape(to, slice_sub(s, 0, n));
    if (n < s.n)
        buf_text(to, "...");
}

static void put_field(struct buf *to, const char *name, struct slice value)
{
    buf_printf(to, "  %-15s ", name);
    if (value.n > 0)
        put_shown(to, value);
    else
        buf_byte(to, '-');
    buf_byte(to, '\n');
}

static void put_time(struct buf *to, const struct record *r)
{
    char instant[32], day[16];
    buf_printf(to, "  %-15s ", "time");
    put_shown(to, r->text[FIELD_TIME]);
    buf_printf(to, "  =  %s, day %s\n", zone_rfc3339(instant, r->time_s), civil_text(day, r->day));
}

static void put_record(struct check *k, const struct checked *c)
{
    const struct record *r = &c->record;
    const struct format *f = k->lines.formats[parser_last_format(k->parser)];
    struct buf *to = &k->out;
    char text[46];
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if (i == FIELD_TIME)
            put_time(to, r);
        else if (i == FIELD_CLIENT)
            put_field(to, "client",
                      c->client.is_address ? slice_of(client_text(text, c->client.address))
                                           : c->client.text);
        else if (i == FIELD_AGENT_CLASS)
            put_field(to, "agent_class",
                      slice_of(agent_class_name(
                          agent_judge(k->lines.agents, r->text[FIELD_USER_AGENT]))));
        else if (i != FIELD_INPUT && (r->text[i].n > 0 || format_has(f, (enum field) i)))
            put_field(to, field_name((enum field) i), r->text[i]);
    if (c->rule) {
        buf_text(to, "  ignored by      ");
        put_shown(to, slice_of(c->rule));
        buf_byte(to, '\n');
    }
}

/* The line around the column, and a caret under it. */
static void put_mistake(struct buf *to, const struct checked *c)
{
    size_t column = c->at.column ? c->at.column - 1 : 0;
    size_t from = column > BEFORE_COLUMN + 20 ? column - BEFORE_COLUMN : 0;
    if (c->line.n > 0 && column <= c->line.n) {
        struct slice before = slice_sub(c->line, from, column),
                     after = slice_sub(c->line, column, c->line.n);
        size_t start = to->n;
        buf_text(to, from > 0 ? "  ..." : "  ");
        utf8_escape(to, before);
        size_t indent = to->failed ? 0 : utf8_columns((struct slice){to->p + start, to->n - start});
        put_shown(to, after);
        buf_printf(to, "\n%*s^\n", (int) indent, "");
    }
    buf_printf(to, "  %s, column %u: expected %s\n", c->at.field ? c->at.field : "line",
               (unsigned) c->at.column, c->at.expected ? c->at.expected : "another form");
}

static void put_detail(struct check *k, const struct checked *c)
{
    buf_printf(&k->out, "line %" PRIu64 ": ", k->books.lines);
    if (c->is_record) {
        put_shown(&k->out, slice_of(c->format));
        buf_byte(&k->out, '\n');
        put_record(k, c);
    } else if (c->is_skipped) {
        buf_printf(&k->out, "skipped (%s)\n", c->reason);
    } else {
        buf_printf(&k->out, "not understood: %s\n", c->reason);
        put_mistake(&k->out, c);
    }
}

static void put_format(struct buf *to, const struct format *f)
{
    const char *field;
    struct slice literal;
    buf_text(to, "format ");
    put_shown(to, slice_of(format_name(f)));
    buf_text(to, ": ");
    for (size_t i = 0; format_step(f, i, &field, &literal); i++) {
        if (field)
            buf_printf(to, "<%s>", field);
        put_shown(to, literal);
    }
    buf_byte(to, '\n');
}

static void put_counts(struct check *k)
{
    const struct books *b = &k->books;
    struct buf *to = &k->out;
    buf_printf(to, "\nlines %" PRIu64 "   counted %" PRIu64 "   not understood %" PRIu64, b->lines,
               b->counted, books_rejected(b));
    const char *separator = " (";
    for (unsigned i = 0; i < REJECT_COUNT; i++)
        if (b->rejected[i]) {
            buf_printf(to, "%s%s %" PRIu64, separator, reject_name((enum reject) i),
                       b->rejected[i]);
            separator = ", ";
        }
    buf_printf(to, "%s   ignored %" PRIu64 "   skipped %" PRIu64 "\n",
               separator[0] == ',' ? ")" : "", books_ignored(b),
               b->skipped[SKIP_EMPTY] + b->skipped[SKIP_COMMENT]);
}

/* ---- all lines ---- */

static int refuse(int code, const char *text)
{
    return output_refuse(COMMAND, code, text);
}

static int flush(struct check *k)
{
    if (buf_failed(&k->out) < 0)
        return refuse(EX_OSERR, "out of memory");
    output_write(k->out.p, k->out.n);
    buf_clear(&k->out);
    return output_end(COMMAND);
}

static int show(struct check *k, const struct checked *c)
{
    unsigned long *shown = c->is_record || c->is_skipped ? &k->shown : &k->shown_failing;
    if (k->is_json)
        checked_json(c, &k->out);
    else if ((*shown)++ < k->detail)
        put_detail(k, c);
    return k->out.n > FLUSH_BYTES ? flush(k) : 0;
}

static int check_block(struct check *k, const struct block *b)
{
    struct slice rest = b->lines, line;
    struct checked checked;
    int code = 0;
    while (code == 0 && rest.n > 0) {
        if (!slice_cut(&rest, '\n', &line)) {
            line = rest;
            rest.n = 0;
        }
        judge(k, line, &checked);
        code = show(k, &checked);
    }
    for (uint32_t i = 0; code == 0 && i < b->too_long; i++) {
        judge_too_long(k, &checked);
        code = show(k, &checked);
    }
    return code;
}

static int open_formats(struct check *k, struct reader *reader)
{
    struct err e = {""};
    struct slice head = {NULL, 0};
    if (lines_is_auto(&k->lines) && lines_head(reader, true, &head, &e) < 0)
        return refuse(EX_NOINPUT, e.text);
    int r = lines_formats(&k->lines, head, &e);
    if (r < 0)
        return refuse(lines_exit_code(r), e.text);
    struct parser_options options = {(const struct format *const *) k->lines.formats,
                                     k->lines.n_formats, k->lines.day_of_log};
    if (parser_new(&k->parser, &options) < 0)
        return refuse(EX_OSERR, "out of memory");
    for (unsigned i = 0; !k->is_json && i < k->lines.n_formats; i++)
        put_format(&k->out, k->lines.formats[i]);
    return 0;
}

static int read_lines(struct check *k, struct reader *reader)
{
    struct block block;
    struct err e = {""};
    if (block_init(&block) < 0)
        return refuse(EX_OSERR, "out of memory");
    int code = 0, r;
    while ((r = reader_next(reader, &block, &e)) == 1 && code == 0)
        code = check_block(k, &block);
    block_done(&block);
    if (code == 0 && !k->is_json)
        put_counts(k);
    if (code == 0)
        code = flush(k);
    if (code == 0 && r < 0)
        return refuse(EX_NOINPUT, e.text);
    if (code == 0 && k->books.counted + books_ignored(&k->books) == 0)
        return EX_DATAERR;
    return code;
}

static int run(struct check *k)
{
    struct reader *reader = NULL;
    struct err e = {""};
    if (strcmp(k->path, "-") == 0 && isatty(STDIN_FILENO))
        return refuse(EX_USAGE,
                      "name a FILE, or pipe lines into it (see: reckond " COMMAND " --help)");
    int code = lines_open(&k->lines, &k->options, COMMAND);
    if (code == 0 && reader_open(&reader, k->path, &e) < 0)
        code = refuse(EX_NOINPUT, e.text);
    if (code == 0)
        code = open_formats(k, reader);
    if (code == 0)
        code = read_lines(k, reader);
    reader_free(reader);
    parser_free(k->parser);
    lines_close(&k->lines);
    return code;
}

static int take(struct check *k, unsigned row, const char *value, struct err *e)
{
    if (row < LINES_OPTIONS)
        return lines_take(&k->options, row, value, e);
    if (row == JSON)
        k->is_json = true;
    if (row == LINES && !options_number(value, 0, 1000000000, &k->detail))
        return err_set(e, -EINVAL, "--lines takes a number, got '%.40s'", value);
    return 0;
}

int cli_check_format(int argc, char **argv)
{
    struct check k = {.path = NULL, .detail = 10};
    struct options o;
    struct err e = {""};
    unsigned row;
    const char *value;
    enum option option;
    int code = 0;
    output_begin();
    options_begin(&o, argc, argv, rows);
    while ((option = options_next(&o, &row, &value, &e)) != OPTION_END) {
        if (option == OPTION_ROW && row == HELP) {
            lines_options_done(&k.options);
            return options_help(COMMAND, "reckond check-format [OPTIONS] [FILE|-]\n", rows,
                                "Exit code 0: a line fits; 65: none; 66: FILE cannot be read.\n");
        }
        if (option == OPTION_OPERAND && k.path)
            err_set(&e, 0, "one FILE at a time");
        if (option == OPTION_WRONG || (option == OPTION_OPERAND && k.path) ||
            (option == OPTION_ROW && take(&k, row, value, &e) < 0)) {
            lines_options_done(&k.options);
            return options_refuse(COMMAND, &e);
        }
        if (option == OPTION_OPERAND)
            k.path = value;
    }
    k.path = k.path ? k.path : "-";
    buf_init(&k.out);
    code = run(&k);
    buf_done(&k.out);
    lines_options_done(&k.options);
    return code;
}
