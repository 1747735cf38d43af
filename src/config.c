#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "base/zone.h"
#include "config_int.h"

/* ---- what needs several keys ---- */

static void check_client(struct reading *r, const struct client_rule *rule, struct place at)
{
    if (rule->from == CLIENT_X_FORWARDED_FOR && rule->n_trusted == 0)
        issue_warning(r->issues, at,
                      "client from x_forwarded_for without trusted_proxies: anyone can write that "
                      "header; list your proxies");
    if (rule->from == CLIENT_REMOTE && rule->n_trusted > 0)
        issue_warning(r->issues, at,
                      "trusted_proxies do nothing with from: remote; did you mean from: "
                      "x_forwarded_for?");
}

static void check_forwarded(struct reading *r, unsigned i)
{
    const struct config_input *input = &r->config->inputs[i];
    const struct client_rule *rule = input->has_client ? &input->client : &r->config->client;
    if (rule->from != CLIENT_X_FORWARDED_FOR || r->has_forwarded[i] || input->n_formats == 0)
        return;
    struct place at = input->has_client ? r->client_at[i] : r->general_client_at;
    issue_error(
        r->issues, r->format_at[i].line > 1 || at.line == 0 ? r->format_at[i] : at,
        "client from x_forwarded_for, but no format of input '%s' has that header%s; log it, "
        "as in {nginx: \"... $http_x_forwarded_for\"}",
        input->name ? input->name : "?",
        input->formats[0].kind == FORMAT_AUTO ? " (auto knows none with it)" : "");
}

static void check_whole(struct reading *r, const struct node *root)
{
    const struct node *client = root ? node_get(root, "client") : NULL;
    if (client)
        r->general_client_at = client->at;
    check_client(r, &r->config->client, r->general_client_at);
    for (unsigned i = 0; i < r->config->n_inputs; i++) {
        if (r->config->inputs[i].has_client)
            check_client(r, &r->config->inputs[i].client, r->client_at[i]);
        check_forwarded(r, i);
    }
    if (r->listen_at.line > 0 && !r->config->http_token_file)
        issue_warning(r->issues, r->listen_at,
                      "%s is not loopback and there is no token_file: whoever reaches the port can "
                      "read all answers",
                      r->config->http_listen);
}

/* ---- reading ---- */

static void keep_warnings(struct reading *r)
{
    struct config *c = r->config;
    for (unsigned i = 0; i < r->issues->n; i++) {
        if (!r->issues->list[i].is_warning || c->n_warnings == CONFIG_LIST_MAX)
            continue;
        char *text = strdup(r->issues->list[i].text);
        r->failed = r->failed || !text;
        if (text)
            c->warnings[c->n_warnings++] = text;
    }
}

/* 0, -EINVAL, -ENOMEM; *ret in every case but -ENOMEM. */
static int read_tree(struct config **ret, const struct node *root, struct issues *issues)
{
    static const struct node nothing = {.kind = NODE_MAP};
    struct config *c = calloc(1, sizeof(*c));
    struct reading *r = calloc(1, sizeof(*r));
    int result = -ENOMEM;
    if (c && r) {
        r->config = c;
        r->issues = issues;
        if (!root || node_is_null(root))
            root = &nothing;
        if (root->kind == NODE_MAP)
            map_read(r, root, config_rows, c);
        else if (root->kind != NODE_BROKEN)
            issue_error(issues, root->at, "the configuration is a map of keys, such as inputs:");
        check_whole(r, root->kind == NODE_MAP ? root : NULL);
        keep_warnings(r);
        if (!r->failed && !issues->failed)
            result = issues->errors > 0 ? -EINVAL : 0;
    }
    free(r);
    if (result == -ENOMEM)
        c = config_free(c);
    *ret = c;
    return result;
}

int config_defaults(struct config **ret)
{
    struct config *c;
    struct issues issues;
    issues_init(&issues);
    int r = read_tree(&c, NULL, &issues);
    issues_done(&issues);
    if (r < 0) {
        config_free(c);
        return -ENOMEM;
    }
    *ret = c;
    return 0;
}

static int parse(struct config **ret, struct slice source, struct issues *issues)
{
    struct tree tree;
    struct config *c = NULL;
    int r = tree_load(&tree, source, issues);
    if (r == 0 || (r == -EINVAL && tree.root))
        r = read_tree(&c, tree.root, issues);
    tree_done(&tree);
    if (r < 0)
        config_free(c);
    else
        *ret = c;
    return r;
}

/* What the reader of the file needs to know beyond the system's words. */
static void say_unreadable(int r, const char *path, const struct err *e, struct buf *report)
{
    const char *remedy = "";
    if (r == -ENOENT)
        remedy =
            "; name another one with -c FILE, or start from the commented reckond.yaml that is "
            "installed with the program";
    else if (r == -EACCES)
        remedy = "; run as its owner or as root, or chmod it";
    if (r == -EFBIG)
        buf_printf(report, "%s: error: over 1 MiB; a configuration is smaller\n", path);
    else
        buf_printf(report, "error: %s%s\n", e->text, remedy);
}

int config_read(struct config **ret, const char *path, struct buf *report)
{
    struct buf source;
    struct err e = {""};
    struct issues *issues = calloc(1, sizeof(*issues));
    if (!issues)
        return -ENOMEM;
    buf_init(&source);
    int r = file_read(path, YAML_BYTES, &source, &e);
    if (r < 0) {
        say_unreadable(r, path, &e, report);
    } else {
        struct slice text = {source.n ? source.p : "", source.n};
        r = parse(ret, text, issues);
        if (slice_starts(text, SLICE_LITERAL("\xef\xbb\xbf")))
            text = slice_sub(text, 3, text.n);
        issues_print(issues, path, text, report);
    }
    buf_done(&source);
    issues_done(issues);
    free(issues);
    return r;
}

/* ---- the end ---- */

static void free_texts(char *const *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(list[i]);
}

void metric_done(struct metric *m)
{
    free(m->name);
    rule_free(m->where);
}

static void input_done(struct config_input *input)
{
    free(input->name);
    free_texts(input->files, input->n_files);
    free(input->udp);
    for (unsigned i = 0; i < input->n_formats; i++)
        free(input->formats[i].text);
    free(input->client.trusted);
}

struct config *config_free(struct config *c)
{
    if (!c)
        return NULL;
    for (unsigned i = 0; i < c->n_inputs; i++)
        input_done(&c->inputs[i]);
    for (unsigned i = 0; i < c->n_ignore; i++)
        rule_free(c->ignore[i]);
    for (unsigned i = 0; i < c->metrics.n; i++)
        metric_done(&c->metrics.list[i]);
    free(c->timezone);
    free(c->client.trusted);
    free(c->agents_file);
    free(c->state_directory);
    free(c->hash_key);
    free(c->http_listen);
    free_texts(c->http_hosts, c->n_http_hosts);
    free(c->http_token_file);
    free_texts(c->http_cors_origins, c->n_http_cors_origins);
    free_texts(c->warnings, c->n_warnings);
    free(c);
    return NULL;
}

/* ---- printing ---- */

void config_print(const struct config *c, struct buf *to)
{
    for (const struct row *row = config_rows; row->key; row++) {
        buf_printf(to, "# %s\n%s: ", row->help, row->key);
        value_print(row, c, to);
        buf_byte(to, '\n');
    }
}

static void put_client(struct buf *to, const struct client_rule *rule)
{
    buf_printf(to, "client=%s v4=%u v6=%u",
               rule->from == CLIENT_REMOTE ? "remote" : "x_forwarded_for", rule->ipv4_prefix,
               rule->ipv6_prefix);
}

/* FNV-1a, 64 bits: two texts that are too long to be kept whole are still told apart. */
static uint64_t fingerprint(struct slice s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char) s.p[i]) * UINT64_C(0x100000001b3);
    return h;
}

char *config_definition_suffix(const struct config *c, char *buffer, size_t room)
{
    struct buf b;
    buf_init(&b);
    put_client(&b, &c->client);
    buf_printf(&b, " zone=%s", strcmp(c->timezone, "log") == 0 ? "log" : zone_name());
    for (unsigned i = 0; i < c->n_inputs; i++)
        if (c->inputs[i].has_client) {
            buf_printf(&b, " %s:", c->inputs[i].name);
            put_client(&b, &c->inputs[i].client);
        }
    struct slice text = {b.n ? b.p : "", b.n};
    if (text.n < room)
        snprintf(buffer, room, "%.*s", (int) text.n, text.p);
    else
        snprintf(buffer, room, "%.*s...%016" PRIx64, (int) (room > 20 ? room - 20 : 0), text.p,
                 fingerprint(text));
    buf_done(&b);
    return buffer;
}
