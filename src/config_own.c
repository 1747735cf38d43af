/* Keys with a grammar of their own: rules, keys of metrics, networks, addresses, words that are
 * enums. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/num.h"
#include "base/zone.h"
#include "config_int.h"
#include "sketch/bloom.h"
#include "sketch/cms.h"
#include "sketch/topk.h"

#define RULE_VALUES_MAX 256

/* ---- words ---- */

void read_timezone(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    char *zone = text_copy(r, row, n);
    if (zone && strcmp(zone, "local") != 0 && strcmp(zone, "log") != 0 && !zone_known(zone))
        issue_error(
            r->issues, n->at,
            "timezone '%.60s' is not in the tz database; expected local, log, UTC or a name "
            "such as Europe/Berlin (is the package tzdata installed?)",
            zone);
    *(char **) into = zone;
}

bool print_timezone(const struct row *row, const void *from, struct buf *to)
{
    (void) row;
    print_text(to, slice_of(*(char *const *) from));
    return true;
}

static const char client_words[] = "remote x_forwarded_for";

void read_client_from(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    int index = word_read(r, row, n, client_words);
    if (index >= 0)
        *(enum client_from *) into = (enum client_from) index;
}

bool print_client_from(const struct row *row, const void *from, struct buf *to)
{
    (void) row;
    word_print(to, client_words, *(const enum client_from *) from);
    return true;
}

static const char by_words[] = "hits bytes duration";

void read_by(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    int index = word_read(r, row, n, by_words);
    if (index >= 0)
        *(enum topk_by *) into = (enum topk_by) index;
}

bool print_by(const struct row *row, const void *from, struct buf *to)
{
    (void) row;
    word_print(to, by_words, *(const enum topk_by *) from);
    return true;
}

static const char level_words[] = "error warning info debug";
static const enum log_level levels[] = {LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
                                        LOG_LEVEL_DEBUG};

void read_level(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    int index = word_read(r, row, n, level_words);
    if (index >= 0)
        *(enum log_level *) into = levels[index];
}

bool print_level(const struct row *row, const void *from, struct buf *to)
{
    unsigned i = 0;
    (void) row;
    while (i < 3 && levels[i] != *(const enum log_level *) from)
        i++;
    word_print(to, level_words, i);
    return true;
}

/* ---- networks ---- */

/* false: said, or no memory for the list. */
static bool read_network(struct reading *r, const struct node *item, struct cidr *ret)
{
    struct err e;
    char shown[SHOWN_BYTES];
    if (item->kind != NODE_TEXT)
        issue_error(r->issues, item->at, "expected a network such as 192.0.2.0/24, got %s",
                    node_shown(item, shown));
    else if (cidr_parse(item->text, ret, &e) < 0)
        issue_error(r->issues, item->at, "%s", e.text);
    else
        return true;
    return false;
}

static void print_network(struct buf *to, const struct cidr *c)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char text[46];
    bool ipv4 = c->bits >= 96 && memcmp(c->address, mapped, sizeof(mapped)) == 0;
    buf_printf(to, "\"%s/%u\"", client_text(text, c->address), c->bits - (ipv4 ? 96 : 0));
}

static void print_networks(struct buf *to, const struct cidr *list, unsigned n)
{
    buf_byte(to, '[');
    for (unsigned i = 0; i < n; i++) {
        buf_text(to, i > 0 ? ", " : "");
        print_network(to, &list[i]);
    }
    buf_byte(to, ']');
}

void read_trusted(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct client_rule *rule = into;
    unsigned n_items;
    const struct node *item = node_items(n, &n_items);
    (void) row;
    if (n_items == 0)
        return;
    rule->trusted = calloc(n_items, sizeof(*rule->trusted));
    r->failed = r->failed || !rule->trusted;
    for (; rule->trusted && n_items > 0; n_items--, item = item->next)
        if (read_network(r, item, &rule->trusted[rule->n_trusted]))
            rule->n_trusted++;
}

bool print_trusted(const struct row *row, const void *from, struct buf *to)
{
    const struct client_rule *rule = from;
    (void) row;
    print_networks(to, rule->trusted, rule->n_trusted);
    return true;
}

void read_allow(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct config_input *input = into;
    unsigned n_items;
    const struct node *item = node_items(n, &n_items);
    for (; n_items > 0; n_items--, item = item->next) {
        if (input->n_allow == CONFIG_LIST_MAX) {
            issue_error(r->issues, item->at, "%s has more than %d values", row->key,
                        CONFIG_LIST_MAX);
            return;
        }
        if (read_network(r, item, &input->allow[input->n_allow]))
            input->n_allow++;
    }
}

bool print_allow(const struct row *row, const void *from, struct buf *to)
{
    const struct config_input *input = from;
    (void) row;
    if (input->kind != INPUT_UDP)
        return false;
    print_networks(to, input->allow, input->n_allow);
    return true;
}

/* ---- rules ---- */

static void unknown_field(struct reading *r, const struct node *n)
{
    struct nearest near;
    char shown[SHOWN_BYTES];
    nearest_begin(&near, n->text);
    for (int f = 0; f < FIELD_X_FORWARDED_FOR; f++)
        nearest_try(&near, field_name((enum field) f));
    const char *best = nearest_end(&near);
    if (best)
        issue_error(r->issues, n->at, "unknown field %s; did you mean '%s'?", node_shown(n, shown),
                    best);
    else
        issue_error(
            r->issues, n->at,
            "unknown field %s; there are client user time method path target query protocol "
            "status bytes referer user_agent agent_class host duration input",
            node_shown(n, shown));
}

static bool read_field(struct reading *r, const struct node *n, enum field *ret)
{
    if (field_find(n->text, ret) && *ret != FIELD_X_FORWARDED_FOR)
        return true;
    unknown_field(r, n);
    return false;
}

static void rule_values(struct reading *r, struct rule *rule, const struct node *n)
{
    unsigned n_items;
    struct err e;
    char shown[SHOWN_BYTES];
    const struct node *item = node_items(n, &n_items);
    if (n_items == 0 || n_items > RULE_VALUES_MAX)
        issue_error(r->issues, n->at, "a field of a rule takes 1 to %d values", RULE_VALUES_MAX);
    else
        for (; n_items > 0; n_items--, item = item->next) {
            if (item->kind != NODE_TEXT)
                issue_error(r->issues, item->at,
                            "%.40s must be a value or a list of values, got %s", n->key->text.p,
                            node_shown(item, shown));
            else if (rule_add(rule, n->key->text, item->text, &e) < 0)
                issue_error(r->issues, item->at, "%s", e.text);
        }
}

/* {field: value, field: [value, value]} or the text "field=value&field=value|value". NULL: said. */
static struct rule *rule_read(struct reading *r, const struct row *row, const struct node *n)
{
    struct rule *rule = NULL;
    struct err e;
    enum field field;
    char shown[SHOWN_BYTES];
    unsigned errors_before = r->issues->errors;
    if (n->kind == NODE_TEXT && n->text.n > 0 && strlen(n->text.p) == n->text.n) {
        if (rule_parse(&rule, n->text, &e) < 0)
            issue_error(r->issues, n->at, "%s", e.text);
    } else if (n->kind != NODE_MAP || n->n == 0) {
        if (n->kind != NODE_BROKEN)
            issue_error(r->issues, n->at, "%s must be a rule such as {status: 404}, got %s",
                        row->key, n->kind == NODE_MAP ? "an empty map" : node_shown(n, shown));
    } else if (rule_new(&rule) < 0) {
        r->failed = true;
    } else {
        for (const struct node *entry = n->first; entry; entry = entry->next)
            if (read_field(r, entry->key, &field) && entry->kind != NODE_BROKEN)
                rule_values(r, rule, entry);
    }
    return r->issues->errors > errors_before ? rule_free(rule) : rule;
}

void read_where(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    *(struct rule **) into = rule_read(r, row, n);
}

bool print_where(const struct row *row, const void *from, struct buf *to)
{
    const struct rule *rule = *(struct rule *const *) from;
    (void) row;
    if (!rule)
        return false;
    print_text(to, slice_of(rule_text(rule)));
    return true;
}

void read_ignore(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct config *c = into;
    unsigned n_items;
    if (node_is_null(n)) {
        issue_error(r->issues, n->at, "ignore must be a list of rules; write [] for none");
        return;
    }
    const struct node *item = node_items(n, &n_items);
    for (; n_items > 0; n_items--, item = item->next) {
        if (c->n_ignore == BOOKS_RULES_MAX) {
            issue_error(r->issues, item->at, "more than %d rules", BOOKS_RULES_MAX);
            return;
        }
        struct rule *rule = rule_read(r, row, item);
        if (rule)
            c->ignore[c->n_ignore++] = rule;
    }
}

bool print_ignore(const struct row *row, const void *from, struct buf *to)
{
    const struct config *c = from;
    (void) row;
    buf_byte(to, '[');
    for (unsigned i = 0; i < c->n_ignore; i++) {
        buf_text(to, i > 0 ? ", " : "");
        print_text(to, slice_of(rule_text(c->ignore[i])));
    }
    buf_byte(to, ']');
    return true;
}

/* ---- metrics ---- */

void read_key(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    struct key_def *key = into;
    unsigned n_items;
    char shown[SHOWN_BYTES];
    const struct node *item = node_items(n, &n_items);
    (void) row;
    if (n_items == 0 || n_items > KEY_FIELDS_MAX) {
        issue_error(r->issues, n->at, "key must name 1 to %d fields", KEY_FIELDS_MAX);
        return;
    }
    for (; n_items > 0; n_items--, item = item->next) {
        enum field field;
        if (item->kind != NODE_TEXT || node_is_null(item)) {
            issue_error(r->issues, item->at, "key must be a field or a list of fields, got %s",
                        node_shown(item, shown));
            continue;
        }
        if (!read_field(r, item, &field))
            continue;
        for (unsigned i = 0; i < key->n; i++)
            if (key->field[i] == field)
                issue_error(r->issues, item->at, "'%s' is in the key twice", field_name(field));
        key->field[key->n++] = field;
    }
}

bool print_key(const struct row *row, const void *from, struct buf *to)
{
    const struct key_def *key = from;
    (void) row;
    buf_byte(to, '[');
    for (unsigned i = 0; i < key->n; i++)
        buf_printf(to, "%s%s", i > 0 ? ", " : "", field_name(key->field[i]));
    buf_byte(to, ']');
    return true;
}

static struct place place_in(const struct node *item, const char *key)
{
    const struct node *n = node_get(item, key);
    return n ? n->at : item->at;
}

static void check_topk(struct reading *r, const struct metric *m, const struct node *item)
{
    uint32_t width, depth;
    if (m->error > 0 && m->confidence > 0 &&
        sk_cms_shape(m->error, m->confidence, &width, &depth) < 0)
        issue_error(r->issues, place_in(item, "error"),
                    "this error and confidence need a table of more than %zu MiB a day",
                    SK_CMS_BYTES_MAX >> 20);
}

static void check_seen(struct reading *r, const struct metric *m, const struct node *item)
{
    struct sk_bloom_shape shape;
    if (m->capacity == 0 || !(m->false_positive > 0) || m->memory_limit_bytes == 0)
        return; /* said */
    if (sk_bloom_shape(m->capacity, m->false_positive, &shape) < 0)
        issue_error(r->issues, place_in(item, "capacity"),
                    "a filter of this capacity is too large");
    else if (shape.bits / 8 > m->memory_limit_bytes)
        issue_error(r->issues, place_in(item, "capacity"),
                    "a filter of this capacity and rate takes %.0f MiB, over its memory_limit of "
                    "%.0f MiB",
                    (double) shape.bits / 8 / 1048576, (double) m->memory_limit_bytes / 1048576);
}

static void metric_read(struct reading *r, const struct row *row, const struct node *item,
                        enum metric_kind kind)
{
    struct metrics *all = &r->config->metrics;
    char shown[SHOWN_BYTES];
    if (item->kind != NODE_MAP) {
        if (item->kind != NODE_BROKEN)
            issue_error(r->issues, item->at, "%s must be a list of maps, got %s", row->key,
                        node_shown(item, shown));
        return;
    }
    if (all->n == METRICS_MAX) {
        issue_error(r->issues, item->at, "more than %d of uniques, topk and seen together",
                    METRICS_MAX);
        return;
    }
    struct metric *m = &all->list[all->n];
    *m = (struct metric){.kind = kind};
    map_read(r, item, row->rows, m);
    if (kind == METRIC_TOPK)
        check_topk(r, m, item);
    if (kind == METRIC_SEEN)
        check_seen(r, m, item);
    if (!m->name) {
        metric_done(m);
        return;
    }
    if (metrics_find(all, kind, m->name) >= 0)
        issue_error(r->issues, place_in(item, "name"), "two of %s are called '%s'", row->key,
                    m->name);
    all->n++;
}

void read_metrics(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    unsigned n_items;
    (void) into;
    if (node_is_null(n)) {
        issue_error(r->issues, n->at,
                    "%s has no value; write [] for none, or leave the key out for the default",
                    row->key);
        return;
    }
    const struct node *item = node_items(n, &n_items);
    for (; n_items > 0; n_items--, item = item->next)
        metric_read(r, row, item, (enum metric_kind) row->count);
}

bool print_metrics(const struct row *row, const void *from, struct buf *to)
{
    const struct metrics *all = &((const struct config *) from)->metrics;
    bool any = false;
    for (unsigned i = 0; i < all->n; i++)
        if (all->list[i].kind == (enum metric_kind) row->count) {
            buf_text(to, "\n  - ");
            map_print(row->rows, &all->list[i], to);
            any = true;
        }
    if (!any)
        buf_text(to, "[]");
    return true;
}

/* ---- http ---- */

static bool is_port(struct slice s)
{
    uint64_t port;
    return s.n <= 5 && num_u63(s, &port) && port <= 65535;
}

/* ADDRESS:PORT, [ADDRESS]:PORT or localhost:PORT; tells whether it is loopback. */
static bool is_listen(struct slice s, bool *ret_loopback)
{
    static const uint8_t v6_loopback[16] = {[15] = 1};
    uint8_t address[16];
    size_t colon = s.n;
    while (colon > 0 && s.p[colon - 1] != ':')
        colon--;
    if (colon < 2 || !is_port(slice_sub(s, colon, s.n)))
        return false;
    struct slice host = slice_sub(s, 0, colon - 1);
    bool in_brackets = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    *ret_loopback = slice_is(host, "localhost");
    if (*ret_loopback)
        return true;
    if (in_brackets)
        host = slice_sub(host, 1, host.n - 1);
    if (!client_address(host, address) || (memchr(host.p, ':', host.n) != NULL) != in_brackets)
        return false;
    *ret_loopback = memcmp(address, v6_loopback, 16) == 0 ||
                    (address[10] == 0xff && address[11] == 0xff && address[12] == 127);
    return true;
}

void read_listen(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    char *text = text_copy(r, row, n);
    bool is_loopback = true;
    if (!text)
        return;
    bool is_unix = strncmp(text, "unix:", 5) == 0;
    if (is_unix && text[5] != '/')
        issue_error(r->issues, n->at,
                    "a socket needs an absolute path: unix:/run/reckond/http.sock");
    else if (!is_unix && !is_listen(slice_of(text), &is_loopback))
        issue_error(
            r->issues, n->at,
            "'%.60s' is no address to listen at; expected 127.0.0.1:8420, \"[::1]:8420\" or "
            "unix:/path",
            text);
    if (!is_loopback)
        r->listen_at = n->at;
    *(char **) into = text;
}

bool print_listen(const struct row *row, const void *from, struct buf *to)
{
    (void) row;
    print_text(to, slice_of(*(char *const *) from));
    return true;
}

void read_cors_origins(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    char **list = into;
    unsigned *count = &r->config->n_http_cors_origins, n_items;
    const struct node *item = node_items(n, &n_items);
    for (; n_items > 0; n_items--, item = item->next) {
        char *text = text_copy(r, row, item);
        if (!text)
            continue;
        if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
            issue_error(r->issues, item->at,
                        "'%.60s' is no origin; expected https://NAME or http://NAME:PORT", text);
        if (*count == CONFIG_LIST_MAX) {
            issue_error(r->issues, item->at, "%s has more than %d values", row->key,
                        CONFIG_LIST_MAX);
            free(text);
            return;
        }
        list[(*count)++] = text;
    }
}

bool print_cors_origins(const struct row *row, const void *from, struct buf *to)
{
    struct row texts = *row;
    texts.type = VALUE_TEXTS;
    return value_print(&texts, (const char *) from - row->offset, to);
}
