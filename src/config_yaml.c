#include "config_yaml.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/utf8.h"

struct loading {
    yaml_parser_t parser;
    struct tree *tree;
    struct slice source;
    struct issues *issues;
    unsigned nodes;
};

/* ---- what is wrong ---- */

static struct place place_of(yaml_mark_t mark)
{
    return (struct place){(unsigned) mark.line + 1, (unsigned) mark.column + 1};
}

static struct place place_of_offset(struct slice source, size_t offset)
{
    struct place at = {1, 1};
    for (size_t i = 0; i < offset && i < source.n;) {
        struct slice rest = slice_sub(source, i, source.n);
        size_t step = utf8_next(rest, NULL);
        i += step ? step : 1;
        at.column++;
        if (rest.p[0] == '\n')
            at = (struct place){at.line + 1, 1};
    }
    return at;
}

/* The line of a mark and what of it stands at and behind the mark (whose own index counts
 * characters). */
static struct slice line_at(const struct loading *l, yaml_mark_t mark, struct slice *ret_behind)
{
    struct slice rest = l->source, line = rest;
    for (size_t i = 0; i <= mark.line; i++)
        if (!slice_cut(&rest, '\n', &line)) {
            line = rest;
            break;
        }
    struct slice behind = line;
    for (size_t i = 0; i < mark.column && behind.n > 0; i++) {
        size_t step = utf8_next(behind, NULL);
        behind = slice_sub(behind, step ? step : 1, behind.n);
    }
    *ret_behind = behind;
    return line;
}

/* Errors that every user makes once, and that libyaml words badly: NULL for all others. */
static const char *hint(const struct loading *l)
{
    const char *problem = l->parser.problem, *context = l->parser.context ? l->parser.context : "";
    if (strstr(context, "alias"))
        return "'*' starts an alias in YAML; put the glob in quotes: \"*.log\"";
    if (strstr(context, "anchor"))
        return "'&' starts an anchor in YAML; put the text in quotes";
    if (strstr(problem, "tab"))
        return "YAML is indented by blanks; replace the tab";
    if (!strstr(problem, "cannot start any token"))
        return NULL;
    struct slice behind;
    line_at(l, l->parser.problem_mark, &behind);
    switch (behind.n > 0 ? behind.p[0] : '\0') {
    case '\t':
        return "YAML is indented by blanks; replace the tab";
    case '%':
        return "'%' cannot start a value in YAML; put the format string in quotes: \"%h %l %u\"";
    case '@':
    case '`':
        return "'@' and '`' cannot start a value in YAML; put the text in quotes";
    default:
        return NULL;
    }
}

/* Does {host} stand in the mark's line? Then it stands there without quotes. */
static bool is_unquoted_host(const struct loading *l, yaml_mark_t mark)
{
    struct slice behind, line = line_at(l, mark, &behind);
    return line.n > 0 && memmem(line.p, line.n, "{host}", 6) != NULL;
}

static int syntax_error(struct loading *l)
{
    const yaml_parser_t *p = &l->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    if (p->error == YAML_READER_ERROR) {
        issue_error(l->issues, place_of_offset(l->source, p->problem_offset), "%s (0x%02x)",
                    p->problem, (unsigned) p->problem_value);
        return -EINVAL;
    }
    struct place at = place_of(p->problem_mark);
    const char *own = hint(l);
    if (own)
        issue_error(l->issues, at, "%s", own);
    else if (is_unquoted_host(l, p->problem_mark))
        issue_error(l->issues, at, "%s; put a file name with {host} in quotes", p->problem);
    else if (p->context && (p->context_mark.line != p->problem_mark.line ||
                            p->context_mark.column != p->problem_mark.column))
        issue_error(l->issues, at, "%s (%s that begins at %u:%u)", p->problem, p->context,
                    place_of(p->context_mark).line, place_of(p->context_mark).column);
    else
        issue_error(l->issues, at, "%s", p->problem);
    return -EINVAL;
}

/* ---- nodes ---- */

static struct node *node_new(struct loading *l, enum node_kind kind, const yaml_event_t *event,
                             const struct node *parent, const struct node *key)
{
    bool has_text = event->type == YAML_SCALAR_EVENT;
    size_t n = has_text ? event->data.scalar.length : 0;
    struct node *node = calloc(1, sizeof(*node) + n + 1);
    if (!node)
        return NULL;
    char *text = (char *) (node + 1);
    if (n > 0)
        memcpy(text, event->data.scalar.value, n);
    node->kind = kind;
    node->at = place_of(event->start_mark);
    node->text = (struct slice){text, n};
    node->quoted = has_text && event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->parent = parent;
    node->key = key;
    node->index = parent ? parent->n : 0;
    node->made_before = l->tree->made;
    l->tree->made = node;
    return node;
}

static void append(struct node *parent, struct node *child)
{
    parent->n++;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
}

static const struct node *find(const struct node *map, struct slice key)
{
    for (const struct node *n = map->first; n; n = n->next)
        if (slice_equal(n->key->text, key))
            return n;
    return NULL;
}

const struct node *node_get(const struct node *map, const char *key)
{
    return find(map, slice_of(key));
}

bool node_is_null(const struct node *n)
{
    return n->kind == NODE_TEXT && !n->quoted &&
           (n->text.n == 0 || slice_is(n->text, "null") || slice_is(n->text, "~"));
}

void node_path(const struct node *n, struct buf *to)
{
    if (!n->parent)
        return;
    node_path(n->parent, to);
    if (n->key) {
        if (n->parent->parent)
            buf_byte(to, '.');
        utf8_escape(to, n->key->text);
    } else {
        buf_printf(to, "[%u]", n->index);
    }
}

/* ---- events ---- */

static void check_extras(struct loading *l, const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor)
        issue_error(
            l->issues, place_of(event->start_mark),
            "anchors ('&%.40s') are not read; write the value where it is wanted, in quotes if "
            "it begins with '&'",
            (const char *) anchor);
    if (tag)
        issue_error(l->issues, place_of(event->start_mark),
                    "tags ('%.40s') are not read; put a text that begins with '!' in quotes",
                    (const char *) tag);
}

static int parse_value(struct loading *l, const yaml_event_t *event, unsigned depth,
                       const struct node *parent, const struct node *key, struct node **ret);

static int next_event(struct loading *l, yaml_event_t *ret)
{
    return yaml_parser_parse(&l->parser, ret) ? 0 : syntax_error(l);
}

static int parse_list(struct loading *l, struct node *list, unsigned depth)
{
    for (;;) {
        yaml_event_t event;
        struct node *child = NULL;
        int r = next_event(l, &event);
        if (r < 0)
            return r;
        bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!is_end)
            r = parse_value(l, &event, depth, list, NULL, &child);
        yaml_event_delete(&event);
        if (is_end || r < 0)
            return r;
        append(list, child);
    }
}

static int check_key(struct loading *l, const struct node *map, const struct node *key)
{
    if (key->kind == NODE_BROKEN)
        return -EINVAL;
    if (key->kind != NODE_TEXT || strlen(key->text.p) != key->text.n) {
        issue_error(l->issues, key->at, "a key must be a word");
        return -EINVAL;
    }
    if (map->n == YAML_KEYS) {
        issue_error(l->issues, key->at, "more than %d keys", YAML_KEYS);
        return -EINVAL;
    }
    const struct node *first = find(map, key->text);
    if (!first)
        return 0;
    struct buf name, where;
    buf_init(&name);
    buf_init(&where);
    utf8_escape(&name, slice_sub(key->text, 0, key->text.n < 60 ? key->text.n : 60));
    node_path(map, &where);
    issue_error(l->issues, key->at, "'%s' appears twice%s%s (first at %u:%u)",
                name.n ? buf_cstr(&name) : "", where.n ? " in " : "",
                where.n ? buf_cstr(&where) : "", first->key->at.line, first->key->at.column);
    buf_done(&name);
    buf_done(&where);
    return 1;
}

static int parse_map(struct loading *l, struct node *map, unsigned depth)
{
    for (;;) {
        yaml_event_t event;
        struct node *key = NULL, *child = NULL;
        int r = next_event(l, &event);
        if (r < 0)
            return r;
        bool is_end = event.type == YAML_MAPPING_END_EVENT;
        if (!is_end)
            r = parse_value(l, &event, depth, map, NULL, &key);
        yaml_event_delete(&event);
        if (is_end || r < 0)
            return r;
        int twice = check_key(l, map, key);
        if (twice < 0)
            return twice;
        if ((r = next_event(l, &event)) < 0)
            return r;
        r = parse_value(l, &event, depth, map, key, &child);
        yaml_event_delete(&event);
        if (r < 0)
            return r;
        if (!twice)
            append(map, child);
    }
}

static int parse_value(struct loading *l, const yaml_event_t *event, unsigned depth,
                       const struct node *parent, const struct node *key, struct node **ret)
{
    static const enum node_kind kinds[] = {[YAML_SCALAR_EVENT] = NODE_TEXT,
                                           [YAML_SEQUENCE_START_EVENT] = NODE_LIST,
                                           [YAML_MAPPING_START_EVENT] = NODE_MAP,
                                           [YAML_ALIAS_EVENT] = NODE_BROKEN};
    check_extras(l, event);
    if (++l->nodes > YAML_NODES) {
        issue_error(l->issues, place_of(event->start_mark), "more than %d values", YAML_NODES);
        return -EINVAL;
    }
    struct node *node = node_new(l, kinds[event->type], event, parent, key);
    if (!node)
        return -ENOMEM;
    *ret = node;
    if (node->kind == NODE_BROKEN)
        issue_error(l->issues, node->at,
                    "'*' starts an alias in YAML; put the glob in quotes: \"*%.40s\"",
                    (const char *) event->data.alias.anchor);
    if (node->kind == NODE_TEXT || node->kind == NODE_BROKEN)
        return 0;
    if (depth == YAML_DEPTH) {
        issue_error(l->issues, node->at, "more than %d levels deep", YAML_DEPTH);
        return -EINVAL;
    }
    return node->kind == NODE_LIST ? parse_list(l, node, depth + 1) : parse_map(l, node, depth + 1);
}

/* Stream and document events around the one value. */
static int parse_stream(struct loading *l)
{
    unsigned documents = 0;
    for (;;) {
        yaml_event_t event;
        struct node *value = NULL;
        int r = next_event(l, &event);
        if (r < 0)
            return r;
        yaml_event_type_t type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && documents++ > 0) {
            issue_error(l->issues, place_of(event.start_mark),
                        "a second document begins here; the configuration is one");
            r = -EINVAL;
        } else if (type >= YAML_ALIAS_EVENT && type <= YAML_MAPPING_END_EVENT) {
            r = parse_value(l, &event, 0, NULL, NULL, &value);
            if (r == 0)
                l->tree->root = value;
        }
        yaml_event_delete(&event);
        if (r < 0 || type == YAML_STREAM_END_EVENT)
            return r;
    }
}

static int check_bytes(struct slice source, struct issues *issues)
{
    for (size_t i = 0; i < source.n;) {
        size_t step = utf8_next(slice_sub(source, i, source.n), NULL);
        if (step == 0) {
            issue_error(issues, place_of_offset(source, i), "this byte (0x%02x) is no UTF-8",
                        (unsigned char) source.p[i]);
            return -EINVAL;
        }
        i += step;
    }
    return 0;
}

int tree_load(struct tree *t, struct slice source, struct issues *issues)
{
    struct loading l = {.tree = t, .issues = issues};
    unsigned errors_before = issues->errors;
    *t = (struct tree){NULL, NULL};
    if (slice_starts(source, SLICE_LITERAL("\xef\xbb\xbf")))
        source = slice_sub(source, 3, source.n);
    l.source = source;
    int r = check_bytes(source, issues);
    if (r < 0)
        return r;
    if (!yaml_parser_initialize(&l.parser))
        return -ENOMEM;
    yaml_parser_set_encoding(&l.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l.parser, (const unsigned char *) source.p, source.n);
    r = parse_stream(&l);
    yaml_parser_delete(&l.parser);
    if (r == 0 && issues->errors > errors_before)
        r = -EINVAL;
    return r;
}

void tree_done(struct tree *t)
{
    while (t->made) {
        struct node *before = t->made->made_before;
        free(t->made);
        t->made = before;
    }
    t->root = NULL;
}
