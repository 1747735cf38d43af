/* The list of inputs: their sources, formats and what is only understood so far. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "config_int.h"

static unsigned index_of(const struct reading *r, const struct config_input *input)
{
    return (unsigned) (input - r->config->inputs);
}

/* ---- sources ---- */

static void check_glob(struct reading *r, const struct node *n, const char *glob)
{
    const char *first = strstr(glob, "{host}");
    if (first && strstr(first + 1, "{host}"))
        issue_error(r->issues, n->at, "{host} may stand in a file name once");
    size_t length = strlen(glob);
    if (glob[length - 1] == '/')
        issue_error(r->issues, n->at, "'%.80s' is a folder; write %.80s*", glob, glob);
    for (unsigned i = 0; i < r->config->n_inputs; i++)
        for (unsigned j = 0; j < r->config->inputs[i].n_files; j++)
            if (strcmp(r->config->inputs[i].files[j], glob) == 0)
                issue_warning(r->issues, n->at,
                              "'%.80s' is a file of input '%.64s' already and stays there", glob,
                              r->config->inputs[i].name ? r->config->inputs[i].name : "?");
}

void read_files(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct config_input *input = into;
    unsigned n_items;
    const struct node *item = node_items(n, &n_items);
    if (n_items == 0)
        issue_error(r->issues, n->at, "files must name one file or glob at least");
    for (; n_items > 0; n_items--, item = item->next) {
        if (input->n_files == CONFIG_LIST_MAX) {
            issue_error(r->issues, item->at, "more than %d globs", CONFIG_LIST_MAX);
            return;
        }
        char *glob = text_copy(r, row, item);
        if (!glob)
            continue;
        check_glob(r, item, glob);
        input->files[input->n_files++] = glob;
    }
}

static void print_list(struct buf *to, char *const *list, unsigned n)
{
    buf_byte(to, '[');
    for (unsigned i = 0; i < n; i++) {
        buf_text(to, i > 0 ? ", " : "");
        print_text(to, slice_of(list[i]));
    }
    buf_byte(to, ']');
}

bool print_files(const struct row *row, const void *from, struct buf *to)
{
    const struct config_input *input = from;
    (void) row;
    if (input->n_files == 0)
        return false;
    print_list(to, input->files, input->n_files);
    return true;
}

void read_udp(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct config_input *input = into;
    (void) row;
    if (node_is_null(n))
        return;
    input->kind = INPUT_UDP;
    issue_error(
        r->issues, n->at,
        "udp inputs are not in this version; let rsyslog write a file and name it under files");
}

bool print_udp(const struct row *row, const void *from, struct buf *to)
{
    const struct config_input *input = from;
    (void) row;
    if (input->udp)
        print_text(to, slice_of(input->udp));
    return input->udp != NULL;
}

void read_stdin(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct config_input *input = into;
    int index = word_read(r, row, n, "false true");
    if (index != 1)
        return;
    input->kind = INPUT_STDIN;
    issue_error(
        r->issues, n->at,
        "stdin inputs are not in this version; pipe lines into 'reckond report -', or write "
        "them to a file and name it under files");
}

bool print_stdin(const struct row *row, const void *from, struct buf *to)
{
    (void) row;
    if (((const struct config_input *) from)->kind != INPUT_STDIN)
        return false;
    buf_text(to, "true");
    return true;
}

/* ---- formats ---- */

/* Of the whole contract; those that preset_at lacks are not in this version. */
static const char *const later_presets[] = {
    "vhost_common",   "nginx-xff",   "ingress-nginx", "nginx-proxy-manager",
    "caddy",          "traefik-clf", "traefik-json",  "haproxy-http",
    "squid",          "w3c",         "aws-alb",       "aws-elb",
    "aws-cloudfront", "aws-s3",      "envoy",         "gcp",
    "varnish",        "reckond",
};

static bool is_preset(struct slice name)
{
    const struct preset *p;
    for (size_t i = 0; (p = preset_at(i)); i++)
        if (slice_is(name, p->name))
            return true;
    return false;
}

static void unknown_format(struct reading *r, const struct node *n)
{
    struct nearest near;
    char shown[SHOWN_BYTES];
    const struct preset *p;
    for (size_t i = 0; i < sizeof(later_presets) / sizeof(*later_presets); i++)
        if (slice_is(n->text, later_presets[i])) {
            issue_error(
                r->issues, n->at,
                "format %s is not in this version; there are: auto %s, {nginx: \"...\"} and "
                "{apache: \"...\"}",
                node_shown(n, shown), preset_names());
            return;
        }
    if (memchr(n->text.p, '$', n->text.n) || memchr(n->text.p, '%', n->text.n)) {
        issue_error(r->issues, n->at,
                    "a format string goes under its server's name: {nginx: \"...\"} or {apache: "
                    "\"...\"}");
        return;
    }
    nearest_begin(&near, n->text);
    nearest_try(&near, "auto");
    for (size_t i = 0; (p = preset_at(i)); i++)
        nearest_try(&near, p->name);
    const char *best = nearest_end(&near);
    issue_error(r->issues, n->at,
                "unknown format %s%s%s%s auto %s, {nginx: \"...\"} and {apache: \"...\"}",
                node_shown(n, shown), best ? "; did you mean '" : "; there are:", best ? best : "",
                best ? "'? There are:" : "", preset_names());
}

/* {nginx: text} or {apache: text}: the entry, NULL: said. */
static const struct node *format_text(struct reading *r, const struct node *n, int *ret_kind)
{
    const struct node *entry = n->n == 1 ? n->first : NULL;
    if (entry && slice_is(entry->key->text, "nginx"))
        *ret_kind = FORMAT_NGINX;
    else if (entry && slice_is(entry->key->text, "apache"))
        *ret_kind = FORMAT_APACHE;
    else if (entry && slice_is(entry->key->text, "json"))
        issue_error(r->issues, entry->key->at,
                    "JSON formats are not in this version; log a text format, such as combined");
    else
        issue_error(r->issues, n->at,
                    "a format is one of: auto %s, {nginx: \"...\"}, {apache: \"...\"}",
                    preset_names());
    if (!entry || slice_is(entry->key->text, "json") || entry->kind == NODE_BROKEN ||
        (*ret_kind != FORMAT_NGINX && *ret_kind != FORMAT_APACHE))
        return NULL;
    if (entry->kind == NODE_TEXT && entry->text.n > 0 && strlen(entry->text.p) == entry->text.n)
        return entry;
    issue_error(r->issues, entry->at, "%s must be the server's format string, in quotes",
                entry->key->text.p);
    return NULL;
}

/* Compiles the format only to see whether it is right and what it has. */
static bool compiles(struct reading *r, const struct node *n, const struct format_spec *spec,
                     bool *ret_has_forwarded)
{
    struct format *f;
    struct err e = {""};
    int result = format_new(&f, spec, &e);
    if (result == -ENOMEM) {
        r->failed = true;
        return false;
    }
    if (result < 0) {
        issue_error(r->issues, n->at, "%s", e.text);
        return false;
    }
    *ret_has_forwarded = *ret_has_forwarded || format_has(f, FIELD_X_FORWARDED_FOR);
    format_free(f);
    return true;
}

static void format_read(struct reading *r, const struct node *n, struct config_input *input,
                        bool is_only)
{
    int kind = FORMAT_PRESET;
    char shown[SHOWN_BYTES];
    if (n->kind == NODE_BROKEN)
        return;
    if (n->kind == NODE_LIST || node_is_null(n) || (n->kind == NODE_TEXT && n->text.n == 0)) {
        issue_error(r->issues, n->at,
                    "a format is a name, {nginx: \"...\"} or {apache: \"...\"}, got %s",
                    node_shown(n, shown));
        return;
    }
    const struct node *text = n->kind == NODE_MAP ? format_text(r, n, &kind) : n;
    if (!text)
        return;
    if (n->kind == NODE_TEXT && slice_is(n->text, "auto")) {
        kind = FORMAT_AUTO;
        if (!is_only)
            issue_error(r->issues, n->at, "auto stands alone, not in a list of formats");
    } else if (n->kind == NODE_TEXT && !is_preset(n->text)) {
        unknown_format(r, n);
        return;
    }
    struct format_spec spec = {.kind = kind, .text = strdup(text->text.p)};
    r->failed = r->failed || !spec.text;
    if (spec.text &&
        (kind == FORMAT_AUTO || compiles(r, text, &spec, &r->has_forwarded[index_of(r, input)])))
        input->formats[input->n_formats++] = spec;
    else
        free(spec.text);
}

void read_formats(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct config_input *input = into;
    unsigned n_items, i = 0;
    const struct node *item = node_items(n, &n_items);
    (void) row;
    r->format_at[index_of(r, input)] = n->at;
    if (n_items == 0 || n_items > CONFIG_FORMATS_MAX) {
        issue_error(r->issues, n->at, "a list of formats has 1 to %d of them", CONFIG_FORMATS_MAX);
        return;
    }
    for (; i < n_items; i++, item = item->next)
        format_read(r, item, input, n_items == 1);
}

static void print_format(struct buf *to, const struct format_spec *spec)
{
    if (spec->kind == FORMAT_PRESET || spec->kind == FORMAT_AUTO) {
        buf_text(to, spec->kind == FORMAT_AUTO ? "auto" : spec->text);
        return;
    }
    buf_text(to, spec->kind == FORMAT_NGINX ? "{nginx: " : "{apache: ");
    print_text(to, slice_of(spec->text));
    buf_byte(to, '}');
}

bool print_formats(const struct row *row, const void *from, struct buf *to)
{
    const struct config_input *input = from;
    (void) row;
    buf_text(to, input->n_formats > 1 ? "[" : "");
    for (unsigned i = 0; i < input->n_formats; i++) {
        buf_text(to, i > 0 ? ", " : "");
        print_format(to, &input->formats[i]);
    }
    buf_text(to, input->n_formats > 1 ? "]" : "");
    return true;
}

static const char framing_words[] = "none auto syslog docker cri";

void read_framing(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    int index = word_read(r, row, n, framing_words);
    if (index > 0)
        issue_error(r->issues, n->at,
                    "framing '%s' is not in this version; only none (lines as the server writes "
                    "them)",
                    n->text.p);
    else if (index == 0)
        *(enum framing *) into = FRAMING_NONE;
}

bool print_framing(const struct row *row, const void *from, struct buf *to)
{
    (void) row;
    word_print(to, framing_words, *(const enum framing *) from);
    return true;
}

void read_names(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    (void) row;
    (void) into;
    if (!node_is_null(n) && !(n->kind == NODE_MAP && n->n == 0))
        issue_error(r->issues, n->at,
                    "names is not in this version; write the variable that reckond knows (such as "
                    "$remote_addr) into the format string");
}

bool print_names(const struct row *row, const void *from, struct buf *to)
{
    (void) row;
    (void) from;
    (void) to;
    return false;
}

/* ---- the rest ---- */

void read_input_client(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct config_input *input = into;
    char shown[SHOWN_BYTES];
    if (n->kind != NODE_MAP) {
        issue_error(r->issues, n->at, "client must be a map such as {from: remote}, got %s",
                    node_shown(n, shown));
        return;
    }
    input->has_client = true;
    r->client_at[index_of(r, input)] = n->at;
    map_read(r, n, row->rows, &input->client);
}

bool print_input_client(const struct row *row, const void *from, struct buf *to)
{
    const struct config_input *input = from;
    if (input->has_client)
        map_print(row->rows, &input->client, to);
    return input->has_client;
}

void read_first_read(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    int index = word_read(r, row, n, "begin end");
    if (index >= 0)
        *(bool *) into = index;
}

bool print_first_read(const struct row *row, const void *from, struct buf *to)
{
    (void) row;
    buf_text(to, *(const bool *) from ? "end" : "begin");
    return true;
}

void read_receive_buffer(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct row size = *row;
    size.type = VALUE_SIZE;
    size.offset = 0;
    value_read(r, &size, n, into);
}

bool print_receive_buffer(const struct row *row, const void *from, struct buf *to)
{
    struct row size = *row;
    const struct config_input *input =
        (const void *) ((const char *) from - offsetof(struct config_input, receive_buffer_bytes));
    size.type = VALUE_SIZE;
    size.offset = 0;
    return input->kind == INPUT_UDP && value_print(&size, from, to);
}

static void input_read(struct reading *r, const struct row *row, const struct node *item)
{
    struct config *c = r->config;
    struct config_input *input = &c->inputs[c->n_inputs];
    map_read(r, item, row->rows, input);
    unsigned sources = (node_get(item, "files") != NULL) + (node_get(item, "udp") != NULL) +
                       (node_get(item, "stdin") != NULL);
    if (sources != 1)
        issue_error(r->issues, item->at, "an input has one of files, udp and stdin");
    for (unsigned i = 0; input->name && i < c->n_inputs; i++)
        if (c->inputs[i].name && strcmp(c->inputs[i].name, input->name) == 0)
            issue_error(r->issues, node_get(item, "name")->at, "two inputs are called '%s'",
                        input->name);
    c->n_inputs++;
}

void read_inputs(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    unsigned n_items;
    char shown[SHOWN_BYTES];
    (void) into;
    const struct node *item = node_items(n, &n_items);
    if (node_is_null(n) || n_items == 0) {
        issue_error(r->issues, n->at, "inputs must list one input at least");
        return;
    }
    for (; n_items > 0; n_items--, item = item->next)
        if (item->kind != NODE_MAP) {
            if (item->kind != NODE_BROKEN)
                issue_error(
                    r->issues, item->at,
                    "an input is a map such as {name: web, files: [\"/var/log/...\"]}, got %s",
                    node_shown(item, shown));
        } else if (r->config->n_inputs == CONFIG_INPUTS_MAX) {
            issue_error(r->issues, item->at, "more than %d inputs", CONFIG_INPUTS_MAX);
            return;
        } else {
            input_read(r, row, item);
        }
}

bool print_inputs(const struct row *row, const void *from, struct buf *to)
{
    const struct config *c = from;
    for (unsigned i = 0; i < c->n_inputs; i++) {
        buf_text(to, "\n  - ");
        map_print(row->rows, &c->inputs[i], to);
    }
    return true;
}
