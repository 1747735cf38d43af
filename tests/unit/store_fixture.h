/* For tests of the store: metrics, a directory of its own, and batches made line by line. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/civil.h"
#include "base/le.h"
#include "store/query.h"
#include "store/store.h"
#include "tap.h"

enum { UNIQUES, NOT_FOUND_USERS, PATHS, BYTES, SEEN }; /* in struct metrics */
#define FIXTURE_KEY_BYTES 64

struct fixture {
    struct metrics metrics;
    struct sk_secret secret;
    char directory[64]; /* "": temporary store */
    const char *inputs[2];
    struct store_options options;
    struct store *store;
    struct query *query;
    struct err note, error;
    int32_t today;
    /* the batch */
    struct batch batch;
    struct batch_line lines[BATCH_LINES];
    struct batch_key keys[2];
    struct sk_hash hash[2][BATCH_LINES];
    const uint8_t *encoded[2][BATCH_LINES];
    uint32_t encoded_bytes[2][BATCH_LINES];
    uint8_t arena[2][BATCH_LINES][FIXTURE_KEY_BYTES];
    struct batch_series series[5];
    uint32_t series_line[5][BATCH_LINES];
    struct books books;
    uint64_t position;
};

static inline void fixture_metrics(struct metrics *m)
{
    struct key_def visitor = {.field = {FIELD_CLIENT, FIELD_USER_AGENT}, .n = 2};
    struct key_def path = {.field = {FIELD_PATH}, .n = 1};
    memset(m, 0, sizeof(*m));
    m->list[UNIQUES] = (struct metric){.kind = METRIC_UNIQUES,
                                       .name = (char *) (uintptr_t) "visitors",
                                       .key = visitor,
                                       .precision = 12,
                                       .exact_until = 1000};
    m->list[NOT_FOUND_USERS] = m->list[UNIQUES];
    m->list[NOT_FOUND_USERS].name = (char *) (uintptr_t) "lost_users"; /* lines of status 404 */
    m->list[PATHS] = (struct metric){.kind = METRIC_TOPK,
                                     .name = (char *) (uintptr_t) "paths",
                                     .key = path,
                                     .by = BY_HITS,
                                     .k = 20,
                                     .error = 0.01,
                                     .confidence = 0.98};
    m->list[BYTES] = m->list[PATHS];
    m->list[BYTES].name = (char *) (uintptr_t) "heavy";
    m->list[BYTES].by = BY_BYTES;
    m->list[SEEN] = (struct metric){.kind = METRIC_SEEN,
                                    .name = (char *) (uintptr_t) "visitors",
                                    .key = visitor,
                                    .capacity = 10000,
                                    .false_positive = 0.01,
                                    .keep_days = 400,
                                    .memory_limit_bytes = 64 << 20,
                                    .journal_limit_bytes = 64 << 20};
    m->n = 5;
}

static inline int fixture_remove_one(const char *path, const struct stat *st, int flag,
                                     struct FTW *ftw)
{
    (void) st;
    (void) flag;
    (void) ftw;
    return remove(path);
}

static inline void fixture_remove_directory(const char *path)
{
    nftw(path, fixture_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void fixture_clear(struct fixture *x)
{
    x->batch.n_lines = 0;
    for (unsigned i = 0; i < 5; i++)
        x->series[i].n = 0;
    memset(&x->books, 0, sizeof(x->books));
}

static inline struct fixture *fixture_new(bool temporary)
{
    struct fixture *x = calloc(1, sizeof(*x));
    fixture_metrics(&x->metrics);
    for (unsigned i = 0; i < SK_SECRET_BYTES; i++)
        x->secret.bytes[i] = (uint8_t) (i * 37 + 11);
    if (!temporary) {
        const char *base = getenv("TMPDIR");
        snprintf(x->directory, sizeof(x->directory), "%s/store-XXXXXX", base ? base : "/tmp");
        if (!mkdtemp(x->directory))
            abort();
    }
    x->today = civil_to_day(2026, 11, 24);
    x->inputs[0] = "web";
    x->inputs[1] = "edge";
    x->options = (struct store_options){.directory = temporary ? NULL : x->directory,
                                        .metrics = &x->metrics,
                                        .definition_suffix = "client=remote",
                                        .zone = "UTC",
                                        .secret = &x->secret,
                                        .commit_every_ns = 3600 * NS_PER_S,
                                        .retention_days = 400,
                                        .today = x->today,
                                        .inputs = x->inputs,
                                        .n_inputs = 2};
    static const uint8_t key_of[] = {0, 0, 1, 1, 0};
    for (unsigned i = 0; i < 5; i++)
        x->series[i] = (struct batch_series){.line = x->series_line[i], .key = key_of[i]};
    for (unsigned i = 0; i < 2; i++)
        x->keys[i] = (struct batch_key){x->hash[i], x->encoded[i], x->encoded_bytes[i]};
    x->batch = (struct batch){
        .lines = x->lines, .keys = x->keys, .n_keys = 2, .series = x->series, .n_series = 5};
    fixture_clear(x);
    return x;
}

static inline int fixture_open(struct fixture *x)
{
    int r = store_open(&x->store, &x->options, &x->note, &x->error);
    if (r == 0)
        r = query_new(&x->query, x->store, 1 << 20);
    return r;
}

static inline int fixture_close(struct fixture *x)
{
    x->query = query_free(x->query);
    int r = x->store ? store_close(x->store) : 0;
    x->store = NULL;
    return r;
}

static inline void fixture_free(struct fixture *x)
{
    fixture_close(x);
    if (x->directory[0])
        fixture_remove_directory(x->directory);
    free(x);
}

static inline void fixture_key(struct fixture *x, unsigned key, uint32_t line, const char *first,
                               const char *second)
{
    uint8_t *to = x->arena[key][line];
    size_t a = strlen(first), b = second ? strlen(second) : 0;
    le_put32(to, (uint32_t) a);
    memcpy(to + 4, first, a);
    if (second) {
        le_put32(to + 4 + a, (uint32_t) b);
        memcpy(to + 8 + a, second, b);
    }
    x->encoded[key][line] = to;
    x->encoded_bytes[key][line] = (uint32_t) (4 + a + (second ? 4 + b : 0));
    x->hash[key][line] = sk_hash(&x->secret, to, x->encoded_bytes[key][line]);
}

static inline struct sk_hash fixture_visitor(struct fixture *x, uint64_t visitor)
{
    char client[32];
    snprintf(client, sizeof(client), "visitor%llu", (unsigned long long) visitor);
    uint8_t to[64];
    size_t a = strlen(client);
    le_put32(to, (uint32_t) a);
    memcpy(to + 4, client, a);
    le_put32(to + 4 + a, 5);
    memcpy(to + 8 + a, "agent", 5);
    return sk_hash(&x->secret, to, 8 + a + 5);
}

/* One counted line. */
static inline void fixture_line(struct fixture *x, int32_t day, int16_t status, uint64_t bytes,
                                uint64_t visitor, const char *path)
{
    uint32_t line = x->batch.n_lines++;
    char client[32];
    snprintf(client, sizeof(client), "visitor%llu", (unsigned long long) visitor);
    x->lines[line] = (struct batch_line){
        .day = day, .status = status, .bytes = bytes, .duration_us = DURATION_NONE};
    fixture_key(x, 0, line, client, "agent");
    fixture_key(x, 1, line, path, NULL);
    for (unsigned i = 0; i < 5; i++)
        if (i != NOT_FOUND_USERS || status == 404)
            x->series[i].line[x->series[i].n++] = line;
    x->books.lines++;
    x->books.counted++;
    x->books.bytes += 100;
}

/* Applies the batch with a position that says how many lines there were in all, and clears it. */
static inline int fixture_apply(struct fixture *x)
{
    uint8_t bytes[8];
    le_put64(bytes, x->position + x->batch.n_lines);
    struct store_position p = {.id = 7, .bytes = bytes, .n = sizeof(bytes)};
    struct store_delta d = {.input = 0,
                            .batch = &x->batch,
                            .books = &x->books,
                            .positions = &p,
                            .n_positions = 1,
                            .last_line_s = 1};
    int r = store_apply(x->store, &d);
    if (r == 0) {
        x->position += x->batch.n_lines;
        fixture_clear(x);
    }
    return r;
}

static inline int fixture_take_position(void *arg, uint64_t id, const uint8_t *bytes, uint32_t n)
{
    if (id == 7 && n == 8)
        *(uint64_t *) arg = le_get64(bytes);
    return 0;
}

/* The stored position, 0 without one. */
static inline uint64_t fixture_stored_position(struct fixture *x)
{
    uint64_t position = 0;
    store_positions(x->store, 0, fixture_take_position, &position);
    return position;
}

static inline uint64_t fixture_hits(struct fixture *x, int32_t day)
{
    struct traffic t;
    return query_traffic(x->query, day, &t) == 1 ? t.hits : 0;
}

/* Every answer for [from, to] as text, one a line, to compare stores by. */
static inline void fixture_say(struct fixture *x, int32_t from, int32_t to, struct buf *say)
{
    for (unsigned series = UNIQUES; series <= NOT_FOUND_USERS; series++) {
        struct distinct_answer d;
        CU_ASSERT_EQUAL_FATAL(query_distinct(x->query, series, from, to, &d), 0);
        buf_printf(say, "distinct %u: %a %a..%a sum %a days %u new %.0f\n", series,
                   d.estimate.value, d.estimate.low, d.estimate.high, d.sum_of_days,
                   d.days_with_record, d.new_keys.estimate);
    }
    for (unsigned series = PATHS; series <= BYTES; series++) {
        struct topk_answer a;
        CU_ASSERT_EQUAL_FATAL(query_topk(x->query, series, from, to, 20, &a), 0);
        buf_printf(say, "top %u: total %llu bound %llu\n", series, (unsigned long long) a.total,
                   (unsigned long long) a.error_bound);
        for (uint32_t i = 0; i < a.n_rows; i++)
            buf_printf(say, "  %.*s %llu\n", (int) a.rows[i].key_bytes - 4, a.rows[i].key + 4,
                       (unsigned long long) a.rows[i].count);
        topk_answer_done(&a);
    }
    int32_t days[400];
    int n = query_days(x->query, QUERY_TRAFFIC, from, to, days, 400);
    CU_ASSERT_FATAL(n >= 0);
    for (int i = 0; i < n && i < 400; i++) {
        struct traffic t;
        CU_ASSERT_EQUAL_FATAL(query_traffic(x->query, days[i], &t), 1);
        buf_printf(say, "day %d: hits %llu bytes %llu 200 %llu 404 %llu\n", days[i],
                   (unsigned long long) t.hits, (unsigned long long) t.bytes,
                   (unsigned long long) t.status[200], (unsigned long long) t.status[404]);
    }
}

/* Both stores answer alike, for each day and for the whole. */
static inline bool fixture_alike(struct fixture *a, struct fixture *b, int32_t from, int32_t to)
{
    struct buf x, y;
    buf_init(&x);
    buf_init(&y);
    fixture_say(a, from, to, &x);
    fixture_say(b, from, to, &y);
    for (int32_t day = from; day <= to; day++) {
        fixture_say(a, day, day, &x);
        fixture_say(b, day, day, &y);
    }
    bool alike = x.n == y.n && memcmp(x.p, y.p, x.n) == 0;
    for (size_t i = 0; !alike && i < x.n && i < y.n; i++)
        if (x.p[i] != y.p[i]) {
            size_t from_i = i > 60 ? i - 60 : 0;
            printf("# they differ:\n# ...%.120s\n# ...%.120s\n", buf_cstr(&x) + from_i,
                   buf_cstr(&y) + from_i);
            break;
        }
    buf_done(&x);
    buf_done(&y);
    return alike;
}

#endif
