/* YAML as a small tree that knows its places, through libyaml's events. Refused, with line and
 * column: what is no UTF-8, syntax errors, anchors and aliases, tags, second documents, keys that
 * are no text or appear twice, more than YAML_DEPTH levels, YAML_KEYS keys of one map or YAML_NODES
 * values. One thread per object. */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"
#include "config_issue.h"

#define YAML_BYTES ((size_t) 1 << 20)
#define YAML_DEPTH 16
#define YAML_KEYS 256
#define YAML_NODES 100000

enum node_kind {
    NODE_TEXT,
    NODE_LIST,
    NODE_MAP,
    NODE_BROKEN /* an alias: said, and nothing more to say about it */
};

struct node {
    enum node_kind kind;
    struct place at;
    struct slice text; /* NODE_TEXT: NUL-terminated, may hold more NULs */
    bool quoted;
    const struct node *parent;
    unsigned index;                   /* in the parent */
    const struct node *key;           /* of a map's entry */
    struct node *first, *last, *next; /* children; the next one of the parent's */
    unsigned n;                       /* children */
    struct node *made_before;         /* all of a tree's nodes */
};

struct tree {
    struct node *root; /* NULL: an empty document, or errors */
    struct node *made;
};

/* 0; -EINVAL: errors were added to issues, and root is there if the rest can still be looked at;
 * -ENOMEM. tree_done in every case. */
int tree_load(struct tree *t, struct slice source, struct issues *issues);
void tree_done(struct tree *t);

/* The entry of a map; NULL: no such key. */
const struct node *node_get(const struct node *map, const char *key);
/* A plain null, ~ or nothing. */
bool node_is_null(const struct node *n);
/* "topk[1].where", "" for the root. Appends. */
void node_path(const struct node *n, struct buf *to);

#endif
