#include "keys/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/le.h"
#include "parse/parser.h"
#include "tap.h"

#define FIREFOX "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"

static const struct day_window all_days = {INT32_MIN, INT32_MAX};

/* A plan with all that it borrows. */
struct bench {
    struct metrics metrics;
    struct rule *ignore[BOOKS_RULES_MAX];
    struct plan_options options;
    struct sk_secret secret;
    struct plan *plan;
    struct planner *planner;
    struct batch *batch;
    struct books books;
};

static struct bench *bench_new(void)
{
    struct bench *b = calloc(1, sizeof(*b));
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    for (int i = 0; i < SK_SECRET_BYTES; i++)
        b->secret.bytes[i] = (uint8_t) (i * 151 + 7);
    b->options =
        (struct plan_options){.metrics = &b->metrics, .ignore = b->ignore, .secret = &b->secret};
    return b;
}

static void bench_add(struct bench *b, enum metric_kind kind, struct key_def key, const char *where)
{
    struct metric *m = &b->metrics.list[b->metrics.n++];
    *m = (struct metric){.kind = kind, .key = key};
    if (where)
        CU_ASSERT_EQUAL_FATAL(rule_parse(&m->where, slice_of(where), NULL), 0);
}

static void bench_ignore(struct bench *b, const char *rule)
{
    struct rule **r = &b->ignore[b->options.n_ignore++];
    CU_ASSERT_EQUAL_FATAL(rule_parse(r, slice_of(rule), NULL), 0);
}

static void bench_start(struct bench *b)
{
    CU_ASSERT_EQUAL_FATAL(plan_new(&b->plan, &b->options), 0);
    CU_ASSERT_EQUAL_FATAL(planner_new(&b->planner, b->plan), 0);
    CU_ASSERT_EQUAL_FATAL(batch_new(&b->batch, b->plan), 0);
}

static void bench_done(struct bench *b)
{
    batch_free(b->batch);
    planner_free(b->planner);
    plan_free(b->plan);
    for (unsigned i = 0; i < b->metrics.n; i++)
        rule_free(b->metrics.list[i].where);
    for (unsigned i = 0; i < b->options.n_ignore; i++)
        rule_free(b->ignore[i]);
    free(b);
}

static const struct key_def visitor_key = {{FIELD_CLIENT, FIELD_USER_AGENT}, 2};
static const struct key_def path_key = {{FIELD_PATH}, 1};

enum { VISITORS, HUMANS, PATHS, NOT_FOUND, ERRORS, SLOW, SEEN };

/* The metrics of the default configuration. */
static struct bench *default_bench(void)
{
    struct bench *b = bench_new();
    bench_add(b, METRIC_UNIQUES, visitor_key, NULL);
    bench_add(b, METRIC_UNIQUES, visitor_key, "agent_class=human");
    bench_add(b, METRIC_TOPK, path_key, NULL);
    bench_add(b, METRIC_TOPK, path_key, "status=404");
    bench_add(b, METRIC_TOPK, path_key, "status=5xx");
    bench_add(b, METRIC_TOPK, path_key, "duration=>1s");
    bench_add(b, METRIC_SEEN, visitor_key, NULL);
    return b;
}

static struct record record_of(const char *client, const char *agent, const char *path, int status)
{
    struct record r = {.status = (int16_t) status, .bytes = 10, .duration_us = DURATION_NONE};
    r.day = 20000;
    if (client)
        r.text[FIELD_CLIENT] = slice_of(client);
    if (agent)
        r.text[FIELD_USER_AGENT] = slice_of(agent);
    if (path)
        r.text[FIELD_PATH] = slice_of(path);
    return r;
}

static enum planned add(struct bench *b, const struct record *r)
{
    return plan_record(b->planner, b->batch, r, &all_days, &b->books);
}

static bool series_is(const struct bench *b, unsigned i, const uint32_t *lines, uint32_t n)
{
    const struct batch_series *s = &b->batch->series[i];
    return s->n == n && (n == 0 || memcmp(s->line, lines, n * sizeof(*lines)) == 0);
}

#define SERIES_IS(b, i, ...)                                                                       \
    series_is(b, i, (const uint32_t[]){__VA_ARGS__},                                               \
              sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* ---- encoding and hash ---- */

static bool encoded_is(const struct bench *b, uint32_t key, uint32_t line, const char *bytes,
                       size_t n)
{
    const struct batch_key *k = &b->batch->keys[key];
    if (!k->encoded[line] || k->encoded_bytes[line] != n || memcmp(k->encoded[line], bytes, n) != 0)
        return false;
    XXH128_hash_t h = XXH3_128bits_withSecret(bytes, n, b->secret.bytes, SK_SECRET_BYTES);
    return k->hash[line].hi == h.high64 && k->hash[line].lo == h.low64;
}

#define ENCODED_IS(b, key, line, text) encoded_is(b, key, line, text, sizeof(text) - 1)
#define MAPPED "\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff"

static void keys_are_encoded_as_the_contract_says(void)
{
    struct bench *b = default_bench();
    bench_start(b);
    const struct record records[] = {
        record_of("203.0.113.7", "curl/8", "/a", 200),
        record_of("[2001:db8::7]:443", NULL, "/\xc3\xbc\xff", 200),
        record_of("Host.Example", "-", NULL, 200),
    };
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(add(b, &records[i]), PLANNED_COUNTED);
    CU_ASSERT_EQUAL_FATAL(b->batch->n_keys, 2);
    CU_ASSERT_TRUE(ENCODED_IS(b, 0, 0, MAPPED "\xcb\0\x71\x07\x06\0\0\0curl/8"));
    CU_ASSERT_TRUE(ENCODED_IS(b, 0, 1,
                              "\x10\0\0\0\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"
                              "\x01\0\0\0-"));
    CU_ASSERT_TRUE(ENCODED_IS(b, 0, 2, "\x0c\0\0\0host.example\x01\0\0\0-"));
    CU_ASSERT_TRUE(ENCODED_IS(b, 1, 0, "\x02\0\0\0/a"));
    CU_ASSERT_TRUE(ENCODED_IS(b, 1, 1, "\x04\0\0\0/\xc3\xbc\xff"));
    CU_ASSERT_TRUE(ENCODED_IS(b, 1, 2, "\x01\0\0\0-"));
    bench_done(b);
}

static void every_field_can_be_a_key(void)
{
    struct bench *b = bench_new();
    static const struct key_def one = {{FIELD_STATUS, FIELD_AGENT_CLASS, FIELD_METHOD, FIELD_QUERY,
                                        FIELD_BYTES, FIELD_INPUT, FIELD_USER, FIELD_TIME},
                                       8};
    bench_add(b, METRIC_TOPK, one, NULL);
    bench_start(b);
    struct record r = record_of(NULL, FIREFOX, "/", 404);
    r.text[FIELD_STATUS] = slice_of("404");
    r.text[FIELD_METHOD] = slice_of("GET");
    r.text[FIELD_BYTES] = slice_of("10");
    r.text[FIELD_INPUT] = slice_of("web");
    r.text[FIELD_USER] = slice_of("");
    CU_ASSERT_EQUAL(add(b, &r), PLANNED_COUNTED);
    CU_ASSERT_TRUE(ENCODED_IS(b, 0, 0,
                              "\x03\0\0\0"
                              "404\x05\0\0\0human\x03\0\0\0GET\x01\0\0\0-\x02\0\0\0"
                              "10\x03\0\0\0web\x01\0\0\0-\x01\0\0\0-"));
    bench_done(b);
}

static void empty_dash_and_absent_agents_are_one(void)
{
    struct bench *b = default_bench();
    bench_start(b);
    static const char *const agents[] = {NULL, "", "-"};
    for (int i = 0; i < 3; i++) {
        struct record r = record_of("203.0.113.7", agents[i], "/", 200);
        add(b, &r);
        CU_ASSERT_TRUE(ENCODED_IS(b, 0, (uint32_t) i, MAPPED "\xcb\0\x71\x07\x01\0\0\0-"));
    }
    bench_done(b);
}

static void prefixes_cut_keys_but_not_rules(void)
{
    static const struct client_rule cut = {.ipv4_prefix = 24, .ipv6_prefix = 48};
    struct bench *b = default_bench();
    b->options.client = &cut;
    bench_ignore(b, "client=203.0.113.8");
    bench_start(b);
    struct record r = record_of("203.0.113.7", NULL, "/", 200);
    CU_ASSERT_EQUAL(add(b, &r), PLANNED_COUNTED);
    CU_ASSERT_TRUE(ENCODED_IS(b, 0, 0, MAPPED "\xcb\0\x71\0\x01\0\0\0-"));
    r = record_of("203.0.113.8", NULL, "/", 200);
    CU_ASSERT_EQUAL(add(b, &r), PLANNED_IGNORED);
    const struct slice texts[] = {SLICE_LITERAL("203.0.113.99"), SLICE_LITERAL("-")};
    struct sk_hash h;
    CU_ASSERT_EQUAL(plan_hash_key(b->plan, &visitor_key, texts, &h), 0);
    CU_ASSERT_EQUAL(h.lo, b->batch->keys[0].hash[0].lo);
    bench_done(b);
}

static void the_client_rule_chooses(void)
{
    struct cidr trusted;
    CU_ASSERT_EQUAL_FATAL(cidr_parse(slice_of("10.0.0.0/8"), &trusted, NULL), 0);
    const struct client_rule rule = {CLIENT_X_FORWARDED_FOR, &trusted, 1, 32, 128};
    struct bench *b = default_bench();
    b->options.client = &rule;
    bench_start(b);
    struct record r = record_of("10.0.0.1", NULL, "/", 200);
    r.text[FIELD_X_FORWARDED_FOR] = slice_of("198.51.100.1, 203.0.113.7, 10.0.0.2");
    add(b, &r);
    CU_ASSERT_TRUE(ENCODED_IS(b, 0, 0, MAPPED "\xcb\0\x71\x07\x01\0\0\0-"));
    bench_done(b);
}

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return sk_mix(*state);
}

/* One of 64 clients in one of several spellings, one of 8 agents. Seed 1. */
static void random_pair(uint64_t *state, char client[128], const char **ret_agent)
{
    static const char *const agents[] = {NULL,         "",      "-",       "curl/8.5.0",
                                         "Curl/8.5.0", FIREFOX, "a\xff b", "x"};
    static const char *const shapes[] = {"203.0.113.%u",           "::ffff:203.0.113.%u",
                                         "203.0.113.%u:8080",      "[::FFFF:203.0.113.%u]:1",
                                         "2001:DB8::%x",           "[2001:db8:0::%x]:443",
                                         "2001:db8::%x%%eth0",     "Host-%u.Example.COM",
                                         "host-%u.example.com",    "\"host-%u.EXAMPLE.com\"",
                                         " 203.0.113.%u, 10.0.0.1"};
    uint64_t x = next_random(state);
    *ret_agent = agents[x % 8];
    const char *shape = shapes[(x >> 8) % (sizeof(shapes) / sizeof(*shapes))];
    const char *hole = strchr(shape, '%');
    char number[16];
    snprintf(number, sizeof(number), hole[1] == 'x' ? "%x" : "%u", (unsigned) (x >> 40) % 64);
    snprintf(client, 128, "%.*s%s%s", (int) (hole - shape), shape, number, hole + 2);
}

static void keys_given_as_texts_hash_like_those_of_lines(void)
{
    struct bench *b = default_bench();
    bench_start(b);
    uint64_t state = 1;
    unsigned differing = 0;
    for (int i = 0; i < 5000; i++) {
        char client[128];
        const char *agent;
        random_pair(&state, client, &agent);
        struct record r = record_of(client, agent, "/Some/Path", 200);
        CU_ASSERT_EQUAL_FATAL(add(b, &r), PLANNED_COUNTED);
        const struct slice visitor[] = {slice_of(client), slice_of(agent ? agent : "-")};
        const struct slice path[] = {SLICE_LITERAL("/Some/Path")};
        struct sk_hash h = {0, 0}, p = {0, 0};
        CU_ASSERT_EQUAL(plan_hash_key(b->plan, &visitor_key, visitor, &h), 0);
        CU_ASSERT_EQUAL(plan_hash_key(b->plan, &path_key, path, &p), 0);
        uint32_t line = b->batch->n_lines - 1;
        differing +=
            h.lo != b->batch->keys[0].hash[line].lo || h.hi != b->batch->keys[0].hash[line].hi ||
            p.lo != b->batch->keys[1].hash[line].lo || p.hi != b->batch->keys[1].hash[line].hi;
    }
    CU_ASSERT_EQUAL(differing, 0);
    bench_done(b);
}

static void a_key_without_client_is_none(void)
{
    struct bench *b = default_bench();
    bench_start(b);
    struct sk_hash h;
    static const char *const none[] = {"", "-", "unknown", " \"-\" "};
    for (int i = 0; i < 4; i++) {
        const struct slice texts[] = {slice_of(none[i]), SLICE_LITERAL("curl")};
        CU_ASSERT_EQUAL(plan_hash_key(b->plan, &visitor_key, texts, &h), -EINVAL);
    }
    bench_done(b);
}

static void check_text(const struct key_def *key, const char *encoded, uint32_t n, unsigned i,
                       const char *expected)
{
    struct buf text;
    buf_init(&text);
    bool there = key_field_text(key, (const uint8_t *) encoded, n, i, &text);
    CU_ASSERT_EQUAL(there, expected != NULL);
    if (expected) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(buf_cstr(&text));
        CU_ASSERT_STRING_EQUAL(text.p, expected);
    }
    buf_done(&text);
}

static void encoded_keys_are_read_back(void)
{
    static const char v4[] = MAPPED "\xcb\0\x71\x07\x06\0\0\0curl/8";
    static const char v6[] = "\x10\0\0\0\x2a\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07\x01\0\0\0-";
    static const char name[] = "\x10\0\0\0host.example.com\x01\0\0\0-"; /* also 16 bytes */
    check_text(&visitor_key, v4, sizeof(v4) - 1, 0, "203.0.113.7");
    check_text(&visitor_key, v4, sizeof(v4) - 1, 1, "curl/8");
    check_text(&visitor_key, v4, sizeof(v4) - 1, 2, NULL);
    check_text(&visitor_key, v6, sizeof(v6) - 1, 0, "2a01:db8::7");
    check_text(&visitor_key, name, sizeof(name) - 1, 0, "host.example.com");
    check_text(&path_key, v4, sizeof(v4) - 1, 1, NULL);
    for (uint32_t n = 0; n < sizeof(v4) - 1; n++) /* cut short: never read past the end */
        check_text(&visitor_key, v4, n, 1, NULL);
}

/* ---- which lines, which series ---- */

static void lines_go_to_the_series_that_want_them(void)
{
    struct bench *b = default_bench();
    bench_start(b);
    struct record r = record_of("203.0.113.7", FIREFOX, "/", 200);
    add(b, &r);
    r = record_of("203.0.113.7", "curl/8", "/x", 404);
    add(b, &r);
    r = record_of(NULL, FIREFOX, "/y", 502);
    r.duration_us = 1000001;
    add(b, &r);
    r = record_of("203.0.113.8", FIREFOX, "/z", STATUS_NONE);
    r.duration_us = 1000000;
    add(b, &r);
    CU_ASSERT_TRUE(SERIES_IS(b, VISITORS, 0, 1, 3));
    CU_ASSERT_TRUE(SERIES_IS(b, HUMANS, 0, 3));
    CU_ASSERT_TRUE(SERIES_IS(b, PATHS, 0, 1, 2, 3));
    CU_ASSERT_TRUE(SERIES_IS(b, NOT_FOUND, 1));
    CU_ASSERT_TRUE(SERIES_IS(b, ERRORS, 2));
    CU_ASSERT_TRUE(SERIES_IS(b, SLOW, 2));
    CU_ASSERT_TRUE(SERIES_IS(b, SEEN, 0, 1, 3));
    CU_ASSERT_EQUAL(b->batch->series[HUMANS].key, b->batch->series[SEEN].key);
    CU_ASSERT_PTR_NULL(b->batch->keys[0].encoded[2]);
    CU_ASSERT_EQUAL(b->batch->lines[2].duration_us, 1000001);
    CU_ASSERT_EQUAL(b->batch->lines[2].status, 502);
    CU_ASSERT_EQUAL(b->batch->lines[2].bytes, 10);
    CU_ASSERT_EQUAL(b->batch->lines[2].day, 20000);
    CU_ASSERT_EQUAL(b->books.counted, 4);
    batch_clear(b->batch);
    CU_ASSERT_EQUAL(b->batch->n_lines, 0);
    CU_ASSERT_EQUAL(b->batch->series[PATHS].n, 0);
    bench_done(b);
}

static void a_key_is_encoded_only_for_series_that_take_the_line(void)
{
    struct bench *b = bench_new();
    bench_add(b, METRIC_TOPK, path_key, "status=404");
    bench_start(b);
    struct record r = record_of(NULL, NULL, "/", 200);
    add(b, &r);
    CU_ASSERT_PTR_NULL(b->batch->keys[0].encoded[0]);
    CU_ASSERT_EQUAL(b->batch->arena_used, 0);
    CU_ASSERT_EQUAL(b->batch->n_lines, 1);
    bench_done(b);
}

static void lines_without_duration_have_no_place_in_sums_of_it(void)
{
    struct bench *b = bench_new();
    bench_add(b, METRIC_TOPK, path_key, NULL);
    b->metrics.list[0].by = BY_DURATION;
    bench_add(b, METRIC_TOPK, path_key, NULL);
    b->metrics.list[1].by = BY_BYTES;
    bench_start(b);
    struct record r = record_of(NULL, NULL, "/", 200);
    add(b, &r);
    r.duration_us = 0;
    add(b, &r);
    CU_ASSERT_TRUE(SERIES_IS(b, 0, 1));
    CU_ASSERT_TRUE(SERIES_IS(b, 1, 0, 1));
    bench_done(b);
}

static void ignored_comes_before_late_and_future(void)
{
    static const struct day_window window = {100, 200};
    struct bench *b = default_bench();
    bench_ignore(b, "path=/none");
    bench_ignore(b, "path=/health*|/ping");
    bench_ignore(b, "path=/ping");
    bench_start(b);
    const struct {
        const char *path;
        int32_t day;
        enum planned expected;
    } cases[] = {
        {"/ping", 99, PLANNED_IGNORED},  {"/healthz", 150, PLANNED_IGNORED},
        {"/", 99, PLANNED_LATE},         {"/", 100, PLANNED_COUNTED},
        {"/", 200, PLANNED_COUNTED},     {"/", 201, PLANNED_FUTURE},
        {"/none", 201, PLANNED_IGNORED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct record r = record_of("203.0.113.7", FIREFOX, cases[i].path, 200);
        r.day = cases[i].day;
        CU_ASSERT_EQUAL(plan_record(b->planner, b->batch, &r, &window, &b->books),
                        cases[i].expected);
        b->books.lines++;
    }
    CU_ASSERT_EQUAL(b->books.ignored[0], 1);
    CU_ASSERT_EQUAL(b->books.ignored[1], 2);
    CU_ASSERT_EQUAL(b->books.ignored[2], 0);
    CU_ASSERT_EQUAL(b->books.late, 1);
    CU_ASSERT_EQUAL(b->books.future, 1);
    CU_ASSERT_EQUAL(b->books.counted, 2);
    CU_ASSERT_TRUE(books_balanced(&b->books));
    CU_ASSERT_EQUAL(b->batch->n_lines, 2);
    CU_ASSERT_STRING_EQUAL(plan_ignore_text(b->plan, 1), "path=/health*|/ping");
    CU_ASSERT_PTR_NULL(plan_ignore_text(b->plan, 3));
    bench_done(b);
}

/* The class that the plan's cache gives is the judge's, for more agents than it has room for and in
 * an order that comes back to old ones. Seed 2. */
static void cached_classes_are_the_judges(void)
{
    struct bench *b = bench_new();
    static const struct key_def class_key = {{FIELD_AGENT_CLASS}, 1};
    bench_add(b, METRIC_TOPK, class_key, NULL);
    bench_start(b);
    struct agent_list *list;
    CU_ASSERT_EQUAL_FATAL(agent_list_new(&list, NULL, NULL), 0);
    uint64_t state = 2;
    unsigned differing = 0;
    for (int i = 0; i < 60000; i++) {
        char agent[64];
        uint64_t x = next_random(&state) % 20000;
        snprintf(agent, sizeof(agent), "Mozilla/5.0 %s/%u", x % 3 ? "Gecko" : "Somebot",
                 (unsigned) x);
        struct record r = record_of(NULL, agent, "/", 200);
        if (b->batch->n_lines == BATCH_LINES)
            batch_clear(b->batch);
        CU_ASSERT_EQUAL_FATAL(add(b, &r), PLANNED_COUNTED);
        const char *name = agent_class_name(agent_judge(list, slice_of(agent)));
        uint32_t line = b->batch->n_lines - 1;
        differing +=
            strncmp((const char *) b->batch->keys[0].encoded[line] + 4, name, strlen(name)) != 0;
    }
    CU_ASSERT_EQUAL(differing, 0);
    agent_list_free(list);
    bench_done(b);
}

/* ---- room ---- */

static void a_full_batch_is_left_as_it_is(void)
{
    struct bench *b = default_bench();
    bench_start(b);
    struct record r = record_of("203.0.113.7", FIREFOX, "/", 404);
    for (uint32_t i = 0; i < BATCH_LINES; i++)
        CU_ASSERT_EQUAL_FATAL(add(b, &r), PLANNED_COUNTED);
    struct books books = b->books;
    size_t used = b->batch->arena_used;
    CU_ASSERT_EQUAL(add(b, &r), PLANNED_BATCH_FULL);
    CU_ASSERT(memcmp(&books, &b->books, sizeof(books)) == 0);
    CU_ASSERT_EQUAL(b->batch->n_lines, BATCH_LINES);
    CU_ASSERT_EQUAL(b->batch->arena_used, used);
    for (uint32_t i = 0; i < b->batch->n_series; i++)
        CU_ASSERT(b->batch->series[i].n == BATCH_LINES || b->batch->series[i].n == 0);
    batch_clear(b->batch);
    CU_ASSERT_EQUAL(add(b, &r), PLANNED_COUNTED);
    bench_done(b);
}

static void an_ignored_or_late_line_needs_no_room(void)
{
    static const struct day_window window = {20000, 20000};
    struct bench *b = default_bench();
    bench_ignore(b, "path=/ping");
    bench_start(b);
    struct record r = record_of("203.0.113.7", FIREFOX, "/", 404);
    for (uint32_t i = 0; i < BATCH_LINES; i++)
        add(b, &r);
    r.day = 19999;
    CU_ASSERT_EQUAL(plan_record(b->planner, b->batch, &r, &window, &b->books), PLANNED_LATE);
    r.text[FIELD_PATH] = slice_of("/ping");
    CU_ASSERT_EQUAL(plan_record(b->planner, b->batch, &r, &window, &b->books), PLANNED_IGNORED);
    bench_done(b);
}

static void an_empty_batch_takes_the_longest_line(void)
{
    struct bench *b = bench_new();
    struct key_def wide = {.n = KEY_FIELDS_MAX};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < KEY_FIELDS_MAX; j++)
            wide.field[j] = j == i ? FIELD_CLIENT : FIELD_REFERER;
        bench_add(b, METRIC_UNIQUES, wide, NULL);
    }
    bench_start(b);
    char *line = malloc(LINE_BYTES_MAX);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    memset(line, 'A', LINE_BYTES_MAX);
    struct record r = record_of(NULL, NULL, "/", 200);
    r.text[FIELD_CLIENT] = r.text[FIELD_REFERER] = (struct slice){line, LINE_BYTES_MAX};
    unsigned taken = 0;
    for (int i = 0; i < 6; i++) {
        enum planned got = add(b, &r);
        if (got == PLANNED_BATCH_FULL) {
            batch_clear(b->batch);
            got = add(b, &r);
        }
        CU_ASSERT_EQUAL(got, PLANNED_COUNTED);
        CU_ASSERT_FATAL(b->batch->arena_used <= b->batch->arena_room);
        taken++;
    }
    CU_ASSERT_EQUAL(b->books.counted, taken);
    CU_ASSERT_EQUAL(b->batch->keys[2].encoded_bytes[b->batch->n_lines - 1],
                    KEY_FIELDS_MAX * (4 + LINE_BYTES_MAX));
    free(line);
    bench_done(b);
}

/* Lines of random lengths: whatever was full in between, each is there once and its bytes are
 * right. Seed 3. */
static void keys_stay_whole_however_batches_fill(void)
{
    struct bench *b = default_bench();
    bench_start(b);
    char *text = malloc(LINE_BYTES_MAX);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'x', LINE_BYTES_MAX);
    uint64_t state = 3;
    unsigned full = 0, wrong = 0;
    for (int i = 0; i < 3000; i++) {
        uint64_t x = next_random(&state);
        size_t n = 1 + x % ((x >> 32) % 8 ? 2000 : LINE_BYTES_MAX / 2);
        struct record r = record_of("203.0.113.7", NULL, NULL, 200);
        r.text[FIELD_USER_AGENT] = r.text[FIELD_PATH] = (struct slice){text, n};
        if (add(b, &r) == PLANNED_BATCH_FULL) {
            full++;
            batch_clear(b->batch);
            CU_ASSERT_EQUAL_FATAL(add(b, &r), PLANNED_COUNTED);
        }
        uint32_t line = b->batch->n_lines - 1;
        const uint8_t *path = b->batch->keys[1].encoded[line];
        wrong += b->batch->keys[0].encoded_bytes[line] != 4 + 16 + 4 + n || le_get32(path) != n ||
                 path[4 + n - 1] != 'x' || b->batch->arena_used > b->batch->arena_room;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT(full > 10);
    CU_ASSERT_EQUAL(b->books.counted, 3000);
    free(text);
    bench_done(b);
}

static void bad_options_are_refused(void)
{
    struct bench *b = default_bench();
    struct plan *p = NULL;
    b->options.n_ignore = BOOKS_RULES_MAX + 1;
    CU_ASSERT_EQUAL(plan_new(&p, &b->options), -EINVAL);
    b->options.n_ignore = 0;
    b->metrics.list[0].key.n = 0;
    CU_ASSERT_EQUAL(plan_new(&p, &b->options), -EINVAL);
    b->metrics.list[0].key.n = KEY_FIELDS_MAX + 1;
    CU_ASSERT_EQUAL(plan_new(&p, &b->options), -EINVAL);
    b->metrics.list[0].key = (struct key_def){{FIELD_X_FORWARDED_FOR}, 1};
    CU_ASSERT_EQUAL(plan_new(&p, &b->options), -EINVAL);
    b->metrics.list[0].key = path_key;
    static const struct client_rule wrong = {.ipv4_prefix = 33, .ipv6_prefix = 128};
    b->options.client = &wrong;
    CU_ASSERT_EQUAL(plan_new(&p, &b->options), -EINVAL);
    CU_ASSERT_PTR_NULL(p);
    b->options.client = NULL;
    bench_done(b);
}

static void no_metrics_at_all_still_count_lines(void)
{
    struct bench *b = bench_new();
    bench_start(b);
    struct record r = record_of("203.0.113.7", FIREFOX, "/", 200);
    CU_ASSERT_EQUAL(add(b, &r), PLANNED_COUNTED);
    CU_ASSERT_EQUAL(add(b, &r), PLANNED_COUNTED);
    CU_ASSERT_EQUAL(b->batch->n_lines, 2);
    bench_done(b);
}

static const struct test tests[] = {
    TEST(keys_are_encoded_as_the_contract_says),
    TEST(every_field_can_be_a_key),
    TEST(empty_dash_and_absent_agents_are_one),
    TEST(prefixes_cut_keys_but_not_rules),
    TEST(the_client_rule_chooses),
    TEST(keys_given_as_texts_hash_like_those_of_lines),
    TEST(a_key_without_client_is_none),
    TEST(encoded_keys_are_read_back),
    TEST(lines_go_to_the_series_that_want_them),
    TEST(a_key_is_encoded_only_for_series_that_take_the_line),
    TEST(lines_without_duration_have_no_place_in_sums_of_it),
    TEST(ignored_comes_before_late_and_future),
    TEST(cached_classes_are_the_judges),
    TEST(a_full_batch_is_left_as_it_is),
    TEST(an_ignored_or_late_line_needs_no_room),
    TEST(an_empty_batch_takes_the_longest_line),
    TEST(keys_stay_whole_however_batches_fill),
    TEST(bad_options_are_refused),
    TEST(no_metrics_at_all_still_count_lines),
    TESTS_END,
};

int main(void)
{
    return tap_run("plan", tests);
}
