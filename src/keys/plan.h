/* What to do with a record, compiled from metrics, ignore rules and the client rule: which keys to
 * hash (each different key once per line) and which series get the line. The plan is constant and
 * shared; struct planner holds one thread's caches (agents, addresses).
 *
 * A batch is the unit that crosses to the store: columns by line, hashes by different key, line
 * numbers by series, in the order of the input. Keys lie in the batch's arena as they are hashed:
 * each field a u32 LE length and its bytes, client as 16 bytes (v4 mapped) or the lower-case name
 * (doc/hash.md). */
#ifndef KEYS_PLAN_H
#define KEYS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keys/agent.h"
#include "keys/books.h"
#include "keys/client.h"
#include "keys/metric.h"
#include "sketch/hash.h"

#define BATCH_LINES 8192
#define PLAN_KEYS_MAX METRICS_MAX

struct batch_line {
    int32_t day;
    int16_t status;
    uint64_t bytes;
    int64_t duration_us;
};

struct batch_key {
    struct sk_hash *hash;    /* [line]; meaningless where absent */
    const uint8_t **encoded; /* [line]; in the arena; NULL: the line has no such key */
    uint32_t *encoded_bytes; /* [line] */
};

struct batch_series {
    uint32_t *line; /* the lines of this series, ascending */
    uint32_t n;
    uint32_t key; /* index into keys */
};

struct batch {
    struct batch_line *lines;
    uint32_t n_lines;
    struct batch_key *keys;
    uint32_t n_keys;
    struct batch_series *series; /* one per metric, same index as in struct metrics */
    uint32_t n_series;
    uint8_t *arena;
    size_t arena_used, arena_room;
};

/* All of it is borrowed and must outlive the plan, but for the secret, which is copied. */
struct plan_options {
    const struct metrics *metrics;
    struct rule *const *ignore; /* in order */
    unsigned n_ignore;
    const struct client_rule *client; /* NULL: remote, nothing cut */
    const struct agent_list *agents;  /* NULL: the built-in list */
    const struct sk_secret *secret;
};

struct plan;
struct planner;

int plan_new(struct plan **ret, const struct plan_options *options); /* 0, -EINVAL, -ENOMEM */
struct plan *plan_free(struct plan *p);
const char *plan_ignore_text(const struct plan *p, unsigned i); /* NULL behind the last */

int planner_new(struct planner **ret, const struct plan *p);
struct planner *planner_free(struct planner *p);

int batch_new(struct batch **ret, const struct plan *p);
struct batch *batch_free(struct batch *b);
void batch_clear(struct batch *b);

/* Days that count: [first, last]; earlier ones are late, later ones future. */
struct day_window {
    int32_t first, last;
};

enum planned { PLANNED_COUNTED, PLANNED_IGNORED, PLANNED_LATE, PLANNED_FUTURE, PLANNED_BATCH_FULL };

/* Adds the record to the batch and to the books' counted, ignored, late or future (not lines,
 * bytes). PLANNED_BATCH_FULL: nothing was changed; hand the batch on, clear it, try again (never
 * twice). */
enum planned plan_record(struct planner *p, struct batch *b, const struct record *r,
                         const struct day_window *window, struct books *books);

/* Hashes a key given as texts (for /seen): texts in the key's field order, as a line would have
 * them. 0; -EINVAL: a client that is none; -ENOMEM. */
int plan_hash_key(const struct plan *p, const struct key_def *key, const struct slice *texts,
                  struct sk_hash *ret);

/* Appends the readable form of an encoded key's field i (client as an address): false behind the
 * last. A client of 16 bytes is taken for a name if all of them could stand in one; no assigned
 * IPv6 address begins with such a byte. */
bool key_field_text(const struct key_def *key, const uint8_t *encoded, uint32_t n, unsigned i,
                    struct buf *to);

#endif
