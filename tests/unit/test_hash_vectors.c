/* The vectors of doc/hash.md: bytes to hash, and the fields of a key to its hash. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "keys/plan.h"
#include "tap.h"

struct vector {
    struct slice name;
    uint8_t key[4096];
    size_t n;
    struct sk_hash hash;
};

static struct buf content;

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* How many bytes were written to ret ("-" is none); SIZE_MAX: not hex, or over room. */
static size_t unhex(struct slice s, uint8_t *ret, size_t room)
{
    if (slice_is(s, "-"))
        return 0;
    if (s.n % 2 || s.n / 2 > room)
        return SIZE_MAX;
    for (size_t i = 0; i < s.n; i += 2) {
        int high = nibble(s.p[i]), low = nibble(s.p[i + 1]);
        if (high < 0 || low < 0)
            return SIZE_MAX;
        ret[i / 2] = (uint8_t) (high << 4 | low);
    }
    return s.n / 2;
}

static uint64_t big_endian(const uint8_t bytes[8])
{
    uint64_t value = 0;
    for (size_t i = 0; i < 8; i++)
        value = value << 8 | bytes[i];
    return value;
}

static uint64_t number(struct slice s)
{
    uint8_t bytes[8] = {0};
    CU_ASSERT_EQUAL(unhex(s, bytes, sizeof(bytes)), 8);
    return big_endian(bytes);
}

static struct slice load(void)
{
    const char *top = getenv("TOP_SRCDIR");
    char path[4096];
    struct err e = {""};
    snprintf(path, sizeof(path), "%s/tests/data/hash_vectors.tsv", top ? top : ".");
    buf_clear(&content);
    if (file_read(path, 1 << 20, &content, &e) < 0) {
        printf("# %s\n", e.text);
        CU_FAIL_FATAL("no vectors");
    }
    return (struct slice){content.p, content.n};
}

/* The next row; comments are passed over and the secret is taken on the way. false: no more. */
static bool next_vector(struct slice *rest, struct vector *v, struct sk_secret *secret)
{
    struct slice line, key, high;
    while (slice_cut(rest, '\n', &line)) {
        if (line.n == 0 || line.p[0] == '#')
            continue;
        CU_ASSERT_TRUE_FATAL(slice_cut(&line, '\t', &v->name));
        if (slice_is(v->name, "secret")) {
            CU_ASSERT_EQUAL_FATAL(unhex(line, secret->bytes, SK_SECRET_BYTES), SK_SECRET_BYTES);
            continue;
        }
        CU_ASSERT_TRUE_FATAL(slice_cut(&line, '\t', &key));
        CU_ASSERT_TRUE_FATAL(slice_cut(&line, '\t', &high));
        v->n = unhex(key, v->key, sizeof(v->key));
        CU_ASSERT_NOT_EQUAL_FATAL(v->n, SIZE_MAX);
        v->hash = (struct sk_hash){.hi = number(high), .lo = number(line)};
        return true;
    }
    return false;
}

static void find_vector(const char *name, struct vector *v, struct sk_secret *secret)
{
    struct slice rest = load();
    while (next_vector(&rest, v, secret))
        if (slice_is(v->name, name))
            return;
    CU_FAIL_FATAL("no such vector");
}

static bool same_hash(struct sk_hash a, struct sk_hash b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

static void every_vector_holds(void)
{
    struct slice rest = load();
    struct sk_secret secret = {{0}};
    struct vector v;
    unsigned rows = 0, wrong = 0;
    while (next_vector(&rest, &v, &secret)) {
        rows++;
        if (!same_hash(sk_hash(&secret, v.key, v.n), v.hash)) {
            wrong++;
            printf("# %.*s\n", (int) v.name.n, v.name.p);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(rows, 50);
    CU_ASSERT_EQUAL(rest.n, 0);
}

static void the_vectors_reach_every_way_of_the_function(void)
{
    static const struct {
        size_t least, most;
    } ways[] = {{0, 0}, {1, 3}, {4, 8}, {9, 16}, {17, 128}, {129, 240}, {241, 1024}, {1025, 4096}};
    unsigned met[sizeof(ways) / sizeof(*ways)] = {0};
    struct slice rest = load();
    struct sk_secret secret;
    struct vector v;
    while (next_vector(&rest, &v, &secret))
        for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
            met[i] += v.n >= ways[i].least && v.n <= ways[i].most;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        CU_ASSERT_TRUE(met[i] > 0);
}

static void the_stamp_has_the_id_and_the_fingerprint_of_the_page(void)
{
    struct sk_secret secret;
    struct vector v;
    find_vector("fingerprint", &v, &secret);
    struct sk_stamp stamp = sk_stamp(&secret);
    CU_ASSERT_EQUAL(stamp.hash_id, 1);
    CU_ASSERT_EQUAL(big_endian(stamp.fingerprint), v.hash.hi);
    CU_ASSERT_EQUAL(big_endian(stamp.fingerprint + 8), v.hash.lo);
}

static void fields_are_joined_as_the_page_says(void)
{
    static const char firefox[] =
        "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0";
    static const struct {
        const char *name;
        struct key_def key;
        const char *texts[2];
    } rows[] = {
        {"client_ipv4", {{FIELD_CLIENT}, 1}, {"203.0.113.7"}},
        {"client_ipv4", {{FIELD_CLIENT}, 1}, {"::ffff:203.0.113.7"}},
        {"client_ipv6", {{FIELD_CLIENT}, 1}, {"[2001:DB8:0::7]"}},
        {"client_name", {{FIELD_CLIENT}, 1}, {"Crawler.Example.NET"}},
        {"path", {{FIELD_PATH}, 1}, {"/index.html"}},
        {"client_ipv4+user_agent", {{FIELD_CLIENT, FIELD_USER_AGENT}, 2}, {"203.0.113.7", firefox}},
        {"client_ipv4+no_user_agent", {{FIELD_CLIENT, FIELD_USER_AGENT}, 2}, {"203.0.113.7", ""}},
        {"client_ipv4+no_user_agent", {{FIELD_CLIENT, FIELD_USER_AGENT}, 2}, {"203.0.113.7", "-"}},
        {"client_ipv6+user_agent", {{FIELD_CLIENT, FIELD_USER_AGENT}, 2}, {"2001:db8::7", firefox}},
        {"client_name+user_agent",
         {{FIELD_CLIENT, FIELD_USER_AGENT}, 2},
         {"crawler.example.net", "curl/8.5.0"}},
        {"host+path_ab_c", {{FIELD_HOST, FIELD_PATH}, 2}, {"ab", "c"}},
        {"host+path_a_bc", {{FIELD_HOST, FIELD_PATH}, 2}, {"a", "bc"}},
    };
    static const struct metrics none = {.n = 0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct sk_secret secret;
        struct vector v;
        find_vector(rows[i].name, &v, &secret);
        struct plan *plan;
        const struct plan_options options = {.metrics = &none, .secret = &secret};
        CU_ASSERT_EQUAL_FATAL(plan_new(&plan, &options), 0);
        struct slice texts[2];
        struct sk_hash hash = {0, 0};
        for (unsigned f = 0; f < rows[i].key.n; f++)
            texts[f] = slice_of(rows[i].texts[f]);
        CU_ASSERT_EQUAL(plan_hash_key(plan, &rows[i].key, texts, &hash), 0);
        if (!same_hash(hash, v.hash))
            CU_FAIL(rows[i].name);
        plan_free(plan);
    }
}

static const struct test tests[] = {
    TEST(every_vector_holds),
    TEST(the_vectors_reach_every_way_of_the_function),
    TEST(the_stamp_has_the_id_and_the_fingerprint_of_the_page),
    TEST(fields_are_joined_as_the_page_says),
    TESTS_END,
};

int main(void)
{
    int r = tap_run("hash_vectors", tests);
    buf_done(&content);
    return r;
}
