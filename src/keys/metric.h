/* What is counted, as the configuration says it: read by plan (which keys, for which lines) and by
 * the store (which sketches). Filled once, constant afterwards. */
#ifndef KEYS_METRIC_H
#define KEYS_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "keys/rule.h"
#include "parse/record.h"

#define METRICS_MAX 64
#define KEY_FIELDS_MAX 8

enum metric_kind { METRIC_UNIQUES, METRIC_TOPK, METRIC_SEEN };

struct key_def {
    enum field field[KEY_FIELDS_MAX];
    unsigned n;
};

enum topk_by { BY_HITS, BY_BYTES, BY_DURATION };

struct metric {
    enum metric_kind kind;
    char *name;
    struct key_def key;
    struct rule *where; /* NULL: every line; never for seen */
    /* uniques */
    unsigned precision;
    uint32_t exact_until;
    /* topk */
    enum topk_by by;
    uint32_t k;
    double error, confidence;
    /* seen */
    uint64_t capacity;
    double false_positive;
    uint32_t keep_days;
    uint64_t memory_limit_bytes, journal_limit_bytes;
};

struct metrics {
    struct metric list[METRICS_MAX]; /* all uniques, then all topk, then all seen, each in order */
    unsigned n;
};

bool key_def_equal(const struct key_def *a, const struct key_def *b);
/* First of a kind, or by name; -1: none. */
int metrics_find(const struct metrics *m, enum metric_kind kind, const char *name);
const char *metric_kind_name(enum metric_kind k); /* "uniques", "topk", "seen" */
/* Canonical text of the definition, without the name: "key=client,user_agent where=status=404 ...";
 * what makes a series another one when it changes. Into at least 1,024 bytes; a longer rule is cut
 * and its hash stands behind it. What may change (precision, k, error, limits) is not in it. */
char *metric_definition(char *buffer, size_t room, const struct metric *m);

#endif
