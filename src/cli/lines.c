#include "cli/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/file.h"
#include "base/zone.h"
#include "cli/output.h"
#include "ingest.h"
#include "parse/parser.h"

#define AGENTS_FILE_BYTES ((size_t) 1 << 20)
#define HEAD_BYTES ((size_t) 256 * 1024)

/* The field of a condition and where its value begins; FIELD=VALUE up to the next '&' that has no
 * backslash before it. */
static bool cut_condition(struct slice *rest, struct slice *ret_field, struct slice *ret_value)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '&')
        n += rest->p[n] == '\\' && n + 1 < rest->n ? 2 : 1;
    struct slice one = slice_sub(*rest, 0, n);
    *rest = slice_sub(*rest, n < rest->n ? n + 1 : n, rest->n);
    *ret_value = one;
    return slice_cut(ret_value, '=', ret_field);
}

/* The values of one field are joined by '|'; "status=200&status=404" reads as if both had to hold,
 * which no line does. */
static int refuse_repeated(struct slice text, struct err *e)
{
    struct slice rest = text, field, value, other, more;
    while (rest.n > 0) {
        bool is_condition = cut_condition(&rest, &field, &value);
        for (struct slice later = rest; is_condition && later.n > 0;)
            if (cut_condition(&later, &other, &more) && slice_equal(other, field))
                return err_set(e, -EINVAL,
                               "%.*s stands twice in one rule; either value: %.*s=%.*s|%.*s",
                               (int) (field.n < 60 ? field.n : 60), field.p,
                               (int) (field.n < 60 ? field.n : 60), field.p,
                               (int) (value.n < 200 ? value.n : 200), value.p,
                               (int) (more.n < 200 ? more.n : 200), more.p);
    }
    return 0;
}

static int take_rule(struct lines_options *o, const char *value, bool negated, struct err *e)
{
    char *text;
    struct rule *rule;
    if (o->n_rules == BOOKS_RULES_MAX)
        return err_set(e, -EINVAL, "more than %d of --where and --ignore", BOOKS_RULES_MAX);
    /* The opposite of "!status=404" is "status=404". */
    bool has_mark = negated && value[0] == '!';
    if (asprintf(&text, "%s%s", negated && !has_mark ? "!" : "", value + has_mark) < 0)
        return err_set(e, -ENOMEM, "out of memory");
    int r = refuse_repeated(slice_of(text[0] == '!' ? text + 1 : text), e);
    if (r == 0)
        r = rule_parse(&rule, slice_of(text), e);
    if (r < 0) {
        free(text);
        return r;
    }
    rule_free(rule);
    o->rules[o->n_rules++] = text;
    return 0;
}

int lines_take(struct lines_options *o, unsigned row, const char *value, struct err *e)
{
    struct format_spec spec;
    int r;
    switch (row) {
    case LINES_CONFIG:
        o->config = value;
        return 0;
    case LINES_INPUT:
        o->input = value;
        return 0;
    case LINES_FORMAT:
        o->format = value;
        if (strncmp(value, "json:", 5) == 0)
            return err_set(e, -EINVAL, "JSON formats are not in this version");
        r = format_spec_parse(slice_of(value), &spec, e);
        if (r == 0)
            free(spec.text);
        return r;
    case LINES_FRAMING:
        if (strcmp(value, "none") == 0)
            return 0;
        return err_set(e, -EINVAL, "--framing %.40s is not in this version; only none", value);
    case LINES_TIMEZONE:
        o->timezone = value;
        if (strcmp(value, "local") == 0 || strcmp(value, "log") == 0 || zone_known(value))
            return 0;
        return err_set(
            e, -EINVAL,
            "--timezone '%.60s' is not in the tz database; expected local, log, UTC or a "
            "name such as Europe/Berlin",
            value);
    default:
        return take_rule(o, value, row == LINES_WHERE, e);
    }
}

void lines_options_done(struct lines_options *o)
{
    while (o->n_rules > 0)
        free(o->rules[--o->n_rules]);
}

/* ---- what comes of them ---- */

static int open_config(struct lines *l, const struct lines_options *o)
{
    struct buf text;
    if (!o->config)
        return config_defaults(&l->config) < 0 ? EX_OSERR : 0;
    buf_init(&text);
    int r = config_read(&l->config, o->config, &text);
    output_say_lines((struct slice){text.p, text.n});
    buf_done(&text);
    return r == 0 ? 0 : r == -ENOMEM ? EX_OSERR : EX_CONFIG;
}

static int choose_input(struct lines *l, const char *name, const char *command)
{
    const struct config *c = l->config;
    l->input = &c->inputs[0];
    for (unsigned i = 0; name && i < c->n_inputs; i++)
        if (strcmp(c->inputs[i].name, name) == 0) {
            l->input = &c->inputs[i];
            return 0;
        }
    if (!name)
        return 0;
    struct buf names;
    buf_init(&names);
    for (unsigned i = 0; i < c->n_inputs; i++)
        buf_printf(&names, " %s", c->inputs[i].name);
    output_say(command, "no input is called '%.64s'; there are:%s", name,
               names.n ? buf_cstr(&names) : "");
    buf_done(&names);
    return EX_USAGE;
}

static bool has_rule(const struct config *c, const struct rule *rule)
{
    for (unsigned i = 0; i < c->n_ignore; i++)
        if (strcmp(rule_text(c->ignore[i]), rule_text(rule)) == 0)
            return true;
    return false;
}

static int add_rules(struct lines *l, const struct lines_options *o, const char *command)
{
    struct config *c = l->config;
    for (unsigned i = 0; i < o->n_rules; i++) {
        struct rule *rule;
        if (rule_parse(&rule, slice_of(o->rules[i]), NULL) < 0)
            return output_refuse(command, EX_OSERR, "out of memory");
        if (has_rule(c, rule)) {
            rule_free(rule);
            continue;
        }
        if (c->n_ignore == BOOKS_RULES_MAX) {
            rule_free(rule);
            output_say(command, "more than %d rules", BOOKS_RULES_MAX);
            return EX_USAGE;
        }
        c->ignore[c->n_ignore++] = rule;
    }
    return 0;
}

static int set_zone(struct lines *l, const char *option, const char *command)
{
    struct err e;
    char *name = strdup(option ? option : l->config->timezone);
    if (!name)
        return EX_OSERR;
    free(l->config->timezone);
    l->config->timezone = name;
    l->day_of_log = strcmp(name, "log") == 0;
    if (zone_set(l->day_of_log ? "local" : name, &e) == 0)
        return 0;
    output_say(command, "%s", e.text);
    return EX_CONFIG;
}

static int open_agents(struct lines *l, const char *command)
{
    struct buf text;
    struct err e = {""};
    int r = 0;
    buf_init(&text);
    if (l->config->agents_file)
        r = file_read(l->config->agents_file, AGENTS_FILE_BYTES, &text, &e);
    if (r == 0)
        r = agent_list_new(&l->agents,
                           !l->config->agents_file ? NULL
                           : text.n                ? buf_cstr(&text)
                                                   : "",
                           &e);
    buf_done(&text);
    if (r == 0)
        return 0;
    output_say(command, "agents_file: %s", e.text);
    return r == -ENOMEM ? EX_OSERR : EX_CONFIG;
}

static void choose_format(struct lines *l, const char *option)
{
    l->specs = l->input->formats;
    l->n_specs = l->input->n_formats;
    if (option && format_spec_parse(slice_of(option), &l->option_spec, NULL) == 0) {
        l->specs = &l->option_spec;
        l->n_specs = 1;
    }
}

int lines_open(struct lines *l, const struct lines_options *o, const char *command)
{
    *l = (struct lines){0};
    int code = open_config(l, o);
    if (code == 0)
        code = choose_input(l, o->input, command);
    if (code == 0)
        code = add_rules(l, o, command);
    if (code == 0)
        code = set_zone(l, o->timezone, command);
    if (code == 0)
        code = open_agents(l, command);
    if (code != 0)
        return code;
    l->client = l->input->has_client ? &l->input->client : &l->config->client;
    choose_format(l, o->format);
    return 0;
}

bool lines_is_auto(const struct lines *l)
{
    return l->n_specs == 1 && l->specs[0].kind == FORMAT_AUTO;
}

static bool has_lines(struct slice s, unsigned wanted)
{
    struct slice line;
    while (wanted > 0 && slice_cut(&s, '\n', &line))
        wanted--;
    return wanted == 0;
}

int lines_head(struct reader *reader, bool enough, struct slice *ret, struct err *e)
{
    struct slice head = {NULL, 0};
    for (size_t before = SIZE_MAX; head.n < HEAD_BYTES && head.n != before;) {
        before = head.n ? head.n : SIZE_MAX;
        int r = reader_head(reader, HEAD_BYTES, &head, e);
        if (r < 0)
            return r;
        if (head.n == 0 || (enough && has_lines(head, 2 * DETECT_LINES)))
            break;
    }
    *ret = head;
    return 0;
}

static bool has_records(struct slice head)
{
    const struct preset *preset;
    unsigned fit, seen;
    return parser_detect(head, &preset, &fit, &seen) < 0 || seen > 0;
}

static void name_formats(struct lines *l)
{
    size_t n = 0;
    for (unsigned i = 0; i < l->n_formats && n < sizeof(l->format_name); i++)
        n += (size_t) snprintf(l->format_name + n, sizeof(l->format_name) - n, "%s%s",
                               i > 0 ? ", " : "", format_name(l->formats[i]));
}

static bool any_has_forwarded(const struct lines *l)
{
    for (unsigned i = 0; i < l->n_formats; i++)
        if (format_has(l->formats[i], FIELD_X_FORWARDED_FOR))
            return true;
    return false;
}

int lines_formats(struct lines *l, struct slice head, struct err *e)
{
    static char combined[] = "combined";
    struct format_spec fallback = {FORMAT_PRESET, combined};
    bool is_empty = lines_is_auto(l) && !has_records(head);
    int r = is_empty ? ingest_formats(&fallback, 1, head, l->formats, e)
                     : ingest_formats(l->specs, l->n_specs, head, l->formats, e);
    if (r < 0)
        return r;
    l->n_formats = is_empty ? 1 : l->n_specs;
    if (is_empty)
        snprintf(l->format_name, sizeof(l->format_name), "auto");
    else
        name_formats(l);
    return lines_check_client(l, e);
}

int lines_check_client(const struct lines *l, struct err *e)
{
    if (l->client->from == CLIENT_X_FORWARDED_FOR && !any_has_forwarded(l))
        return err_set(e, -EINVAL,
                       "client from x_forwarded_for, but the format %.100s has no such field",
                       l->format_name);
    return 0;
}

/* The format that the head speaks for, among those that were met before or as a new one. */
int lines_detect(struct lines *l, struct slice head, unsigned *ret, struct err *e)
{
    const struct preset *preset = NULL;
    unsigned fit, seen;
    if (!has_records(head))
        return 0;
    if (parser_detect(head, &preset, &fit, &seen) == 0 && preset)
        for (unsigned i = 0; i < l->n_formats; i++)
            if (strcmp(format_name(l->formats[i]), preset->name) == 0) {
                *ret = i;
                return 1;
            }
    if (l->n_formats == CONFIG_FORMATS_MAX)
        return err_set(e, -EINVAL, "more than %d formats", CONFIG_FORMATS_MAX);
    int r = ingest_formats(l->specs, 1, head, &l->formats[l->n_formats], e);
    if (r < 0)
        return r;
    *ret = l->n_formats++;
    name_formats(l);
    return 1;
}

int lines_exit_code(int r)
{
    return r == -ENOENT ? EX_DATAERR : r == -EINVAL ? EX_CONFIG : EX_OSERR;
}

void lines_close(struct lines *l)
{
    for (unsigned i = 0; i < l->n_formats; i++)
        format_free(l->formats[i]);
    free(l->option_spec.text);
    agent_list_free(l->agents);
    config_free(l->config);
    *l = (struct lines){0};
}
