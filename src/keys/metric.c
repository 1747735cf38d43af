#include "keys/metric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const char *const kind_names[] = {"uniques", "topk", "seen"};
static const char *const by_names[] = {"hits", "bytes", "duration"};

bool key_def_equal(const struct key_def *a, const struct key_def *b)
{
    if (a->n != b->n)
        return false;
    for (unsigned i = 0; i < a->n; i++)
        if (a->field[i] != b->field[i])
            return false;
    return true;
}

int metrics_find(const struct metrics *m, enum metric_kind kind, const char *name)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->list[i].kind == kind && (!name || strcmp(m->list[i].name, name) == 0))
            return (int) i;
    return -1;
}

const char *metric_kind_name(enum metric_kind k)
{
    return kind_names[k];
}

#define TAIL_BYTES_MAX 64 /* "...", 32 hex digits of a hash, " by=duration" */

/* Appends what fits. */
static size_t put(char *buffer, size_t room, size_t at, const char *text, size_t n)
{
    n = n < room - at ? n : room - at;
    memcpy(buffer + at, text, n);
    return at + n;
}

static size_t put_text(char *buffer, size_t room, size_t at, const char *text)
{
    return put(buffer, room, at, text, strlen(text));
}

/* A long rule is cut and told apart by its hash. */
static size_t put_rule(char *buffer, size_t room, size_t at, const char *text)
{
    size_t n = strlen(text), most = room - at - TAIL_BYTES_MAX;
    if (n <= most)
        return put(buffer, room, at, text, n);
    char tail[TAIL_BYTES_MAX];
    XXH128_hash_t h = XXH3_128bits(text, n);
    snprintf(tail, sizeof(tail), "...%016" PRIx64 "%016" PRIx64, (uint64_t) h.high64,
             (uint64_t) h.low64);
    at = put(buffer, room, at, text, most);
    return put_text(buffer, room, at, tail);
}

char *metric_definition(char *buffer, size_t room, const struct metric *m)
{
    size_t at = put_text(buffer, --room, 0, "key=");
    for (unsigned i = 0; i < m->key.n; i++) {
        at = put_text(buffer, room, at, i > 0 ? "," : "");
        at = put_text(buffer, room, at, field_name(m->key.field[i]));
    }
    if (m->where) {
        at = put_text(buffer, room, at, " where=");
        at = put_rule(buffer, room, at, rule_text(m->where));
    }
    if (m->kind == METRIC_TOPK) {
        at = put_text(buffer, room, at, " by=");
        at = put_text(buffer, room, at, by_names[m->by]);
    }
    buffer[at] = '\0';
    return buffer;
}
