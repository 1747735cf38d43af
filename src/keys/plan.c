#include "keys/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keys/key.h"
#include "parse/parser.h"

#define AGENT_CACHE_ENTRIES 4096
#define ARENA_BYTES_PER_LINE 192 /* of a key; what usual keys need */

static const struct client_rule client_as_logged = {.ipv4_prefix = 32, .ipv6_prefix = 128};

/* A rule and the series that it decides on, a bit each. */
struct plan_where {
    const struct rule *rule;
    uint64_t series;
    bool is_range;
    struct rule_range range;
};
_Static_assert(METRICS_MAX <= 64, "a bit a series");

struct plan {
    struct sk_secret secret;
    const struct client_rule *client;
    const struct agent_list *agents;
    struct agent_list *own_agents;
    struct key_def keys[PLAN_KEYS_MAX];
    uint32_t n_keys;
    struct plan_where wheres[METRICS_MAX];
    unsigned n_wheres;
    uint32_t key_of[METRICS_MAX]; /* by series */
    uint32_t n_series;
    uint64_t every_line;  /* series without a rule */
    uint64_t by_duration; /* series that lines without a duration do not count in */
    uint64_t by_client;   /* series that lines without a client do not count in */
    const struct rule *ignore[BOOKS_RULES_MAX];
    unsigned n_ignore;
    bool needs_client, needs_agent_class;
    size_t record_bytes; /* the room that the keys of a record take at most */
    size_t arena_bytes;
};

/* The class of an agent: those of equal length and equal keyed hash of 64 bits are one. */
struct agent_entry {
    uint64_t hash;
    uint32_t agent_bytes; /* 0: free */
    enum agent_class class;
};
_Static_assert(LINE_BYTES_MAX <= UINT32_MAX, "an agent is part of a line");

struct planner {
    const struct plan *plan;
    struct agent_entry agents[AGENT_CACHE_ENTRIES];
};

/* ---- the plan ---- */

static bool key_has_client(const struct key_def *def)
{
    for (unsigned i = 0; i < def->n; i++)
        if (def->field[i] == FIELD_CLIENT)
            return true;
    return false;
}

static uint32_t add_key(struct plan *p, const struct key_def *key)
{
    for (uint32_t i = 0; i < p->n_keys; i++)
        if (key_def_equal(&p->keys[i], key))
            return i;
    p->keys[p->n_keys] = *key;
    return p->n_keys++;
}

static void add_where(struct plan *p, const struct rule *rule, uint64_t series)
{
    unsigned i = 0;
    while (i < p->n_wheres && strcmp(rule_text(p->wheres[i].rule), rule_text(rule)) != 0)
        i++;
    if (i == p->n_wheres)
        p->wheres[p->n_wheres++] = (struct plan_where){.rule = rule};
    p->wheres[i].series |= series;
    p->wheres[i].is_range = rule_is_range(rule, &p->wheres[i].range);
}

static void add_series(struct plan *p, const struct metric *m)
{
    uint64_t bit = UINT64_C(1) << p->n_series;
    uint32_t key = add_key(p, &m->key);
    p->key_of[p->n_series++] = key;
    if (m->where)
        add_where(p, m->where, bit);
    else
        p->every_line |= bit;
    if (m->kind == METRIC_TOPK && m->by == BY_DURATION)
        p->by_duration |= bit;
    if (key_has_client(&m->key))
        p->by_client |= bit;
}

static bool key_valid(const struct key_def *key)
{
    if (key->n == 0 || key->n > KEY_FIELDS_MAX)
        return false;
    for (unsigned i = 0; i < key->n; i++)
        if (key->field[i] >= FIELD_X_FORWARDED_FOR)
            return false;
    return true;
}

static bool options_valid(const struct plan_options *o)
{
    if (!o->metrics || !o->secret || o->metrics->n > METRICS_MAX || o->n_ignore > BOOKS_RULES_MAX)
        return false;
    for (unsigned i = 0; i < o->metrics->n; i++)
        if (!key_valid(&o->metrics->list[i].key))
            return false;
    return !o->client || (o->client->ipv4_prefix <= 32 && o->client->ipv6_prefix <= 128);
}

static void note_rule(struct plan *p, const struct rule *r)
{
    p->needs_client |= rule_needs(r, FIELD_CLIENT);
    p->needs_agent_class |= rule_needs(r, FIELD_AGENT_CLASS);
}

static void note_field(struct plan *p, enum field f)
{
    p->needs_client |= f == FIELD_CLIENT;
    p->needs_agent_class |= f == FIELD_AGENT_CLASS;
    p->record_bytes += KEY_FIELD_EXTRA_BYTES + LINE_BYTES_MAX;
}

/* Room for usual lines and then for any one more, so that a line is never measured before it is
 * known to fit. What is not used is never touched. */
static void size_arena(struct plan *p)
{
    for (uint32_t i = 0; i < p->n_keys; i++)
        for (unsigned j = 0; j < p->keys[i].n; j++)
            note_field(p, p->keys[i].field[j]);
    p->arena_bytes = (size_t) BATCH_LINES * ARENA_BYTES_PER_LINE * p->n_keys + p->record_bytes;
}

int plan_new(struct plan **ret, const struct plan_options *o)
{
    if (!options_valid(o))
        return -EINVAL;
    struct plan *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    if (!o->agents) {
        int r = agent_list_new(&p->own_agents, NULL, NULL);
        if (r < 0)
            return plan_free(p), r;
    }
    p->agents = o->agents ? o->agents : p->own_agents;
    p->client = o->client ? o->client : &client_as_logged;
    p->secret = *o->secret;
    for (unsigned i = 0; i < o->metrics->n; i++)
        add_series(p, &o->metrics->list[i]);
    for (unsigned i = 0; i < p->n_wheres; i++)
        note_rule(p, p->wheres[i].rule);
    for (p->n_ignore = 0; p->n_ignore < o->n_ignore; p->n_ignore++) {
        p->ignore[p->n_ignore] = o->ignore[p->n_ignore];
        note_rule(p, p->ignore[p->n_ignore]);
    }
    size_arena(p);
    *ret = p;
    return 0;
}

struct plan *plan_free(struct plan *p)
{
    if (!p)
        return NULL;
    agent_list_free(p->own_agents);
    explicit_bzero(&p->secret, sizeof(p->secret));
    free(p);
    return NULL;
}

const char *plan_ignore_text(const struct plan *p, unsigned i)
{
    return i < p->n_ignore ? rule_text(p->ignore[i]) : NULL;
}

int planner_new(struct planner **ret, const struct plan *p)
{
    struct planner *planner = calloc(1, sizeof(*planner));
    if (!planner)
        return -ENOMEM;
    planner->plan = p;
    *ret = planner;
    return 0;
}

struct planner *planner_free(struct planner *p)
{
    free(p);
    return NULL;
}

/* ---- the batch ---- */

static int batch_allocate(struct batch *b, const struct plan *p)
{
    b->lines = malloc(BATCH_LINES * sizeof(*b->lines));
    b->keys = calloc(p->n_keys ? p->n_keys : 1, sizeof(*b->keys));
    b->series = calloc(p->n_series ? p->n_series : 1, sizeof(*b->series));
    b->arena = malloc(p->arena_bytes ? p->arena_bytes : 1);
    if (!b->lines || !b->keys || !b->series || !b->arena)
        return -ENOMEM;
    b->arena_room = p->arena_bytes;
    for (; b->n_keys < p->n_keys; b->n_keys++) {
        struct batch_key *k = &b->keys[b->n_keys];
        k->hash = malloc(BATCH_LINES * sizeof(*k->hash));
        k->encoded = malloc(BATCH_LINES * sizeof(*k->encoded));
        k->encoded_bytes = malloc(BATCH_LINES * sizeof(*k->encoded_bytes));
        if (!k->hash || !k->encoded || !k->encoded_bytes) {
            b->n_keys++;
            return -ENOMEM;
        }
    }
    for (; b->n_series < p->n_series; b->n_series++) {
        struct batch_series *s = &b->series[b->n_series];
        s->key = p->key_of[b->n_series];
        s->line = malloc(BATCH_LINES * sizeof(*s->line));
        if (!s->line)
            return -ENOMEM;
    }
    return 0;
}

int batch_new(struct batch **ret, const struct plan *p)
{
    struct batch *b = calloc(1, sizeof(*b));
    if (!b)
        return -ENOMEM;
    int r = batch_allocate(b, p);
    if (r < 0)
        return batch_free(b), r;
    *ret = b;
    return 0;
}

struct batch *batch_free(struct batch *b)
{
    if (!b)
        return NULL;
    for (uint32_t i = 0; i < b->n_keys; i++) {
        free(b->keys[i].hash);
        free(b->keys[i].encoded);
        free(b->keys[i].encoded_bytes);
    }
    for (uint32_t i = 0; i < b->n_series; i++)
        free(b->series[i].line);
    free(b->keys);
    free(b->series);
    free(b->lines);
    free(b->arena);
    free(b);
    return NULL;
}

void batch_clear(struct batch *b)
{
    b->n_lines = 0;
    b->arena_used = 0;
    for (uint32_t i = 0; i < b->n_series; i++)
        b->series[i].n = 0;
}

/* ---- a record ---- */

static enum agent_class class_of(struct planner *p, struct slice agent)
{
    if (agent.n == 0)
        return AGENT_BOT;
    uint64_t hash = sk_hash_local(&p->plan->secret, agent.p, agent.n);
    struct agent_entry *a = &p->agents[hash % AGENT_CACHE_ENTRIES];
    if (a->hash != hash || a->agent_bytes != agent.n)
        *a = (struct agent_entry){hash, (uint32_t) agent.n, agent_judge(p->plan->agents, agent)};
    return a->class;
}

struct line {
    const struct record *record;
    struct key_client client;
    enum agent_class agent_class;
};

static struct slice line_text(const struct line *l, enum field f)
{
    if (f == FIELD_AGENT_CLASS)
        return slice_of(agent_class_name(l->agent_class));
    return key_bounded(l->record->text[f]);
}

/* Encodes and hashes a key of the batch's new line, once. */
static void add_to_key(const struct plan *p, struct batch *b, uint32_t key, const struct line *l)
{
    const struct key_def *def = &p->keys[key];
    struct batch_key *k = &b->keys[key];
    uint8_t *start = b->arena + b->arena_used, *end = start;
    for (unsigned i = 0; i < def->n; i++)
        end = def->field[i] == FIELD_CLIENT ? key_put_client(end, &l->client, p->client)
                                            : key_put_text(end, line_text(l, def->field[i]));
    uint32_t n = (uint32_t) (end - start);
    k->hash[b->n_lines] = sk_hash(&p->secret, start, n);
    k->encoded[b->n_lines] = start;
    k->encoded_bytes[b->n_lines] = n;
    b->arena_used += n;
}

static bool where_holds(const struct plan_where *w, const struct rule_view *view)
{
    if (!w->is_range)
        return rule_match(w->rule, view);
    return rule_range_holds(&w->range, rule_number(view, w->range.field));
}

/* The series that get the line. */
static uint64_t series_of(const struct plan *p, const struct rule_view *view)
{
    uint64_t series = p->every_line, barred = 0;
    if (view->record->duration_us == DURATION_NONE)
        barred |= p->by_duration;
    if (view->client_text.n == 0)
        barred |= p->by_client;
    for (unsigned i = 0; i < p->n_wheres; i++)
        if (where_holds(&p->wheres[i], view))
            series |= p->wheres[i].series;
    return series & ~barred;
}

static void add_to_series(const struct plan *p, struct batch *b, const struct line *l,
                          uint64_t series)
{
    for (uint32_t k = 0; k < p->n_keys; k++)
        b->keys[k].encoded[b->n_lines] = NULL;
    for (; series; series &= series - 1) {
        uint32_t i = (uint32_t) __builtin_ctzll(series);
        if (!b->keys[p->key_of[i]].encoded[b->n_lines])
            add_to_key(p, b, p->key_of[i], l);
        b->series[i].line[b->series[i].n++] = b->n_lines;
    }
}

static bool is_ignored(const struct plan *p, const struct rule_view *view, unsigned *ret_rule)
{
    for (unsigned i = 0; i < p->n_ignore; i++)
        if (rule_match(p->ignore[i], view)) {
            *ret_rule = i;
            return true;
        }
    return false;
}

static bool is_full(const struct plan *p, const struct batch *b)
{
    return b->n_lines == BATCH_LINES || b->arena_used + p->record_bytes > b->arena_room;
}

enum planned plan_record(struct planner *planner, struct batch *b, const struct record *r,
                         const struct day_window *window, struct books *books)
{
    const struct plan *p = planner->plan;
    struct line l = {.record = r, .client = {.text = {NULL, 0}}};
    if (p->needs_client && !key_client_usual(&l.client, p->client, r->text[FIELD_CLIENT]))
        l.client = key_client(p->client, r->text[FIELD_CLIENT], r->text[FIELD_X_FORWARDED_FOR]);
    if (p->needs_agent_class)
        l.agent_class = class_of(planner, r->text[FIELD_USER_AGENT]);
    struct rule_view view = {r, l.client.is_address ? l.client.address : NULL, l.client.text,
                             l.agent_class};
    unsigned rule;
    if (is_ignored(p, &view, &rule)) {
        books->ignored[rule]++;
        return PLANNED_IGNORED;
    }
    if (r->day < window->first) {
        books->late++;
        return PLANNED_LATE;
    }
    if (r->day > window->last) {
        books->future++;
        return PLANNED_FUTURE;
    }
    if (is_full(p, b))
        return PLANNED_BATCH_FULL;
    add_to_series(p, b, &l, series_of(p, &view));
    b->lines[b->n_lines++] = (struct batch_line){r->day, r->status, r->bytes, r->duration_us};
    books->counted++;
    return PLANNED_COUNTED;
}

/* ---- keys outside a line ---- */

int plan_hash_key(const struct plan *p, const struct key_def *key, const struct slice *texts,
                  struct sk_hash *ret)
{
    if (!key_valid(key))
        return -EINVAL;
    size_t room = 0;
    for (unsigned i = 0; i < key->n; i++)
        room += KEY_FIELD_EXTRA_BYTES + key_bounded(texts[i]).n;
    uint8_t *encoded = malloc(room), *end = encoded;
    if (!encoded)
        return -ENOMEM;
    int r = 0;
    for (unsigned i = 0; i < key->n; i++) {
        if (key->field[i] != FIELD_CLIENT) {
            end = key_put_text(end, key_bounded(texts[i]));
            continue;
        }
        struct key_client c = key_client(&client_as_logged, texts[i], (struct slice){NULL, 0});
        if (c.text.n == 0)
            r = -EINVAL;
        end = key_put_client(end, &c, p->client);
    }
    if (r == 0)
        *ret = sk_hash(&p->secret, encoded, (size_t) (end - encoded));
    free(encoded);
    return r;
}
