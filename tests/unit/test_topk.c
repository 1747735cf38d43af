#include "sketch/topk.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/hash.h"
#include "tap.h"

static const struct sk_stamp stamp = {.hash_id = 1, .fingerprint = {4, 5, 6}};

static uint64_t word(uint64_t i)
{
    return sk_mix_row(i + UINT64_C(0x70c000000000), 5);
}

static struct sk_topk *topk(uint32_t k, uint32_t width, uint32_t depth)
{
    struct sk_topk *t = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_topk_new(&t, k, width, depth, SK_CMS_CELL_32), 0);
    return t;
}

static void add(struct sk_topk *t, const char *key, uint64_t weight)
{
    static const struct sk_secret secret = {{1, 2, 3}};
    sk_topk_add(t, sk_hash(&secret, key, strlen(key)).lo, key, strlen(key), weight);
}

static void add_number(struct sk_topk *t, uint64_t item, uint64_t weight)
{
    char key[32];
    int n = snprintf(key, sizeof key, "/item/%llu", (unsigned long long) item);
    sk_topk_add(t, word(item), key, (size_t) n, weight);
}

static bool is_text(const struct sk_topk_row *row, const char *text)
{
    return row->key_bytes == strlen(text) && memcmp(row->key, text, row->key_bytes) == 0;
}

static int compare(const struct sk_topk_row *a, const struct sk_topk_row *b)
{
    uint32_t n = a->key_bytes < b->key_bytes ? a->key_bytes : b->key_bytes;
    int order = memcmp(a->key, b->key, n);
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return order ? order : (int) a->key_bytes - (int) b->key_bytes;
}

/* Sorted, without a key twice, each as the sketch says. */
static uint32_t list(const struct sk_topk *t, struct sk_topk_row *rows)
{
    uint32_t n = sk_topk_list(t, rows);
    CU_ASSERT(n <= sk_topk_k(t));
    for (uint32_t i = 0; i < n; i++) {
        CU_ASSERT_EQUAL(rows[i].count, sk_topk_count(t, rows[i].hash));
        CU_ASSERT(i == 0 || compare(&rows[i - 1], &rows[i]) < 0);
        for (uint32_t j = 0; j < i; j++)
            CU_ASSERT(rows[i].key_bytes != rows[j].key_bytes ||
                      memcmp(rows[i].key, rows[j].key, rows[i].key_bytes) != 0);
    }
    return n;
}

struct form {
    uint8_t *bytes;
    size_t n;
};

static struct form form_of(const struct sk_topk *t)
{
    size_t room = sk_kind_topk.save_room(t);
    struct form f = {malloc(room), 0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(f.bytes);
    f.n = sk_kind_topk.save(t, &stamp, f.bytes, room);
    CU_ASSERT(f.n > 0);
    return f;
}

static struct sk_topk *loaded(struct form f)
{
    void *t = NULL;
    CU_ASSERT_EQUAL_FATAL(sk_kind_topk.load(&t, f.bytes, f.n, &stamp), 0);
    return t;
}

static bool same(const struct sk_topk *a, const struct sk_topk *b)
{
    struct form x = form_of(a), y = form_of(b);
    bool equal = x.n == y.n && memcmp(x.bytes, y.bytes, x.n) == 0;
    free(x.bytes);
    free(y.bytes);
    return equal;
}

static void bad_parameters_are_refused(void)
{
    struct sk_topk *t = NULL;
    CU_ASSERT_EQUAL(sk_topk_new(&t, 0, 10, 4, SK_CMS_CELL_32), -EINVAL);
    CU_ASSERT_EQUAL(sk_topk_new(&t, 1001, 10, 4, SK_CMS_CELL_32), -EINVAL);
    CU_ASSERT_EQUAL(sk_topk_new(&t, 10, 0, 4, SK_CMS_CELL_32), -EINVAL);
    CU_ASSERT_EQUAL(sk_topk_new(&t, 10, UINT32_MAX, 16, SK_CMS_CELL_32), -EOVERFLOW);
    CU_ASSERT_PTR_NULL(t);
}

/* The sequence of RedisBloom #330, where a key came twice. */
static void a_published_sequence_lists_each_key_once(void)
{
    static const char stream[] = "jhdjhhjgegifgfajciad";
    struct sk_topk *t = topk(10, 2000, 7);
    struct sk_topk_row rows[10];
    for (size_t i = 0; i < sizeof stream - 1; i++)
        add(t, (char[]){stream[i], 0}, 1);
    CU_ASSERT_EQUAL(list(t, rows), 9);
    CU_ASSERT(is_text(&rows[0], "j") && rows[0].count == 4);
    CU_ASSERT(is_text(&rows[1], "g") && rows[1].count == 3);
    CU_ASSERT(is_text(&rows[2], "h") && rows[2].count == 3);
    CU_ASSERT(is_text(&rows[3], "a") && rows[3].count == 2);
    CU_ASSERT(is_text(&rows[8], "e") && rows[8].count == 1);
    sk_topk_free(t);
}

/* With room in the sketch counts are exact, and which of equals stay does not depend on their
 * order. */
static void ties_go_to_the_smaller_keys_in_any_order(void)
{
    static const uint64_t steps[] = {1, 3, 7, 9, 51, 99}; /* coprime to 100 */
    for (int order = 0; order < 6; order++) {
        struct sk_topk *t = topk(5, 20000, 4);
        struct sk_topk_row rows[5];
        for (uint64_t i = 0; i < 100; i++)
            add_number(t, 100 + i * steps[order] % 100, 1);
        CU_ASSERT_EQUAL(list(t, rows), 5);
        CU_ASSERT(is_text(&rows[0], "/item/100") && is_text(&rows[4], "/item/104"));
        sk_topk_free(t);
    }
}

static void a_prefix_comes_before_the_longer_key(void)
{
    struct sk_topk *t = topk(2, 2000, 4);
    struct sk_topk_row rows[2];
    add(t, "/ab", 1);
    add(t, "/a", 1);
    add(t, "", 1);
    CU_ASSERT_EQUAL(list(t, rows), 2);
    CU_ASSERT(is_text(&rows[0], "") && is_text(&rows[1], "/a"));
    sk_topk_free(t);
}

/* Weight 1/rank over 20,000 keys, k = 100 beside an exact array, as the sketch is asked all the
 * time. */
static void the_most_frequent_are_found_with_exact_counts(void)
{
    enum { KEYS = 20000, DRAWS = 200000, K = 100 };
    static uint64_t truth[KEYS];
    struct sk_topk *t = topk(K, 6797, 4);
    struct sk_topk_row rows[K];
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint64_t item = (uint64_t) exp((double) (word(~i) >> 11) * 0x1p-53 * log(KEYS)) - 1;
        truth[item]++;
        add_number(t, item, 1);
        if (i % 10000 == 0)
            list(t, rows);
    }
    CU_ASSERT_EQUAL(list(t, rows), K);
    for (uint32_t i = 0; i < K; i++) {
        char key[32] = {0};
        memcpy(key, rows[i].key, rows[i].key_bytes);
        unsigned long long item = strtoull(key + strlen("/item/"), NULL, 10);
        CU_ASSERT(rows[i].count >= truth[item]);
        CU_ASSERT(i >= 10 || rows[i].count == truth[item]);
        unsigned more = 0;
        for (int j = 0; j < KEYS; j++)
            more += truth[j] > truth[item];
        CU_ASSERT(more < K); /* one of the true first hundred, ties counted in */
    }
    sk_topk_free(t);
}

/* A sketch so narrow that other keys raise an entry's cells all the time: the one that leaves must
 * be the least by what the sketch says now, not by what it said when the key came. */
static void the_entry_that_leaves_is_the_least_by_now(void)
{
    struct sk_topk *t = topk(8, 40, 2);
    struct sk_topk_row before[8], after[8];
    for (uint64_t i = 0; i < 5000; i++) {
        uint32_t n = list(t, before);
        uint64_t item = word(i) % 60 * (word(i + 7777) % 3);
        uint64_t hash = word(item);
        bool was_in = false, is_in = false;
        for (uint32_t j = 0; j < n; j++)
            was_in |= before[j].hash == hash;
        add_number(t, item, 1);
        uint32_t m = list(t, after);
        for (uint32_t j = 0; j < m; j++)
            is_in |= after[j].hash == hash;
        CU_ASSERT(!was_in || is_in);
        if (m == 8 && !is_in) /* it stayed out: it is no better than the last */
            CU_ASSERT(sk_topk_count(t, hash) <= after[7].count);
        for (uint32_t j = 0; j < n && is_in && !was_in && m == 8; j++) {
            bool stayed = false;
            for (uint32_t l = 0; l < m; l++)
                stayed |= after[l].hash == before[j].hash;
            CU_ASSERT(stayed || sk_topk_count(t, before[j].hash) <= after[7].count);
        }
    }
    sk_topk_free(t);
}

static void keys_with_the_same_hash_are_told_apart(void)
{
    struct sk_topk *t = topk(4, 100, 4);
    struct sk_topk_row rows[4];
    for (int i = 0; i < 3; i++) {
        sk_topk_add(t, 77, "one", 3, 1);
        sk_topk_add(t, 77, "two", 3, 1);
        sk_topk_add(t, 77, "on", 2, 1);
    }
    CU_ASSERT_EQUAL(list(t, rows), 3);
    CU_ASSERT(is_text(&rows[0], "on") && is_text(&rows[1], "one") && is_text(&rows[2], "two"));
    sk_topk_free(t);
}

/* Every cell at its end: all counts are equal, and still no key comes twice. */
static void saturated_counts_repeat_no_key(void)
{
    struct sk_topk *t = topk(3, 1, 1);
    struct sk_topk_row rows[3];
    for (uint64_t i = 0; i < 100; i++)
        add_number(t, i % 7, UINT32_MAX);
    CU_ASSERT(sk_cms_saturated(sk_topk_cms(t)));
    CU_ASSERT_EQUAL(list(t, rows), 3);
    CU_ASSERT(is_text(&rows[0], "/item/0") && is_text(&rows[2], "/item/2"));
    sk_topk_free(t);
}

static void long_keys_are_cut_and_named_by_their_hash(void)
{
    static char key[5000];
    struct sk_topk *t = topk(8, 1000, 4);
    struct sk_topk_row rows[8];
    memset(key, 'x', sizeof key);
    for (int i = 0; i < 3; i++) {
        sk_topk_add(t, UINT64_C(0xabc), key, 5000, 10);
        sk_topk_add(t, UINT64_C(0xabd), key, 4999, 9);
        sk_topk_add(t, 1, key, SK_TOPK_KEY_BYTES + 1, 8);
        sk_topk_add(t, 2, key, SK_TOPK_KEY_BYTES, 7);
        sk_topk_add(t, 3, key, 257, 6);
        sk_topk_add(t, 4, key, 256, 5);
        sk_topk_add(t, 5, key, 0, 3);
        sk_topk_add(t, 5, NULL, 0, 1);
    }
    CU_ASSERT_EQUAL(list(t, rows), 7);
    CU_ASSERT_EQUAL(rows[0].count, 30);
    CU_ASSERT_EQUAL(rows[0].key_bytes, 2000 + 3 + 16);
    CU_ASSERT_EQUAL(memcmp(rows[0].key + 1999,
                           "x\xe2\x80\xa6"
                           "0000000000000abc",
                           20),
                    0);
    CU_ASSERT_EQUAL(memcmp(rows[1].key + 2000,
                           "\xe2\x80\xa6"
                           "0000000000000abd",
                           19),
                    0);
    CU_ASSERT_EQUAL(rows[3].key_bytes, SK_TOPK_KEY_BYTES);
    CU_ASSERT_EQUAL(rows[4].key_bytes, 257);
    CU_ASSERT_EQUAL(rows[5].key_bytes, 256);
    CU_ASSERT_EQUAL(rows[6].key_bytes, 0);
    struct form f = form_of(t);
    struct sk_topk *back = loaded(f);
    CU_ASSERT(same(t, back));
    free(f.bytes);
    sk_topk_free(back);
    sk_topk_free(t);
}

static void weight_of_nothing_enters_nothing(void)
{
    struct sk_topk *t = topk(3, 100, 4);
    struct sk_topk_row rows[3];
    add(t, "/free", 0);
    CU_ASSERT_EQUAL(sk_topk_list(t, rows), 0);
    sk_topk_free(t);
}

/* Continued after each 997 adds from its form, the answers and the form stay the same to the byte;
 * the keys are so many and the sketch so narrow that entries leave and return all the time. */
static void a_loaded_one_goes_on_as_if_never_saved(void)
{
    static const uint32_t ks[] = {1, 10, 100};
    for (int i = 0; i < 3; i++) {
        struct sk_topk *plain = topk(ks[i], 300, 3), *restarted = topk(ks[i], 300, 3);
        for (uint64_t n = 0; n < 20000; n++) {
            uint64_t item = word(n) % 900 * (word(n + 50000) % 2), weight = word(~n) % 3;
            add_number(plain, item, weight);
            add_number(restarted, item, weight);
            if (n % 997 != 0)
                continue;
            struct form f = form_of(restarted);
            sk_topk_free(restarted);
            restarted = loaded(f);
            free(f.bytes);
            CU_ASSERT(same(plain, restarted));
        }
        CU_ASSERT(same(plain, restarted));
        sk_topk_free(plain);
        sk_topk_free(restarted);
    }
}

static void room_lasts_for_whatever_is_added_later(void)
{
    static char key[3000];
    struct sk_topk *t = topk(20, 50, 2);
    size_t room = sk_kind_topk.save_room(t);
    uint8_t *to = malloc(room);
    memset(key, 'k', sizeof key);
    for (uint64_t i = 0; i < 40; i++) {
        key[0] = (char) ('A' + i);
        sk_topk_add(t, word(i), key, SK_TOPK_KEY_BYTES, i + 1);
        CU_ASSERT(sk_kind_topk.save(t, &stamp, to, room) > 0);
    }
    size_t n = sk_kind_topk.save(t, &stamp, to, room);
    CU_ASSERT_EQUAL(sk_kind_topk.save(t, &stamp, to, n - 1), 0);
    CU_ASSERT_EQUAL(sk_kind_topk.save(t, &stamp, to, n), n);
    free(to);
    sk_topk_free(t);
}

static int load_changed(const struct form *f, size_t at, uint8_t byte)
{
    void *t = NULL;
    uint8_t was = f->bytes[at];
    f->bytes[at] = byte;
    sk_form_end(f->bytes, f->n - 4);
    int r = sk_kind_topk.load(&t, f->bytes, f->n, &stamp);
    CU_ASSERT_EQUAL(t != NULL, r == 0);
    sk_kind_topk.free(t);
    f->bytes[at] = was;
    sk_form_end(f->bytes, f->n - 4);
    return r;
}

/* Right sum, wrong content. Entries begin at 32 + 20 + 4 * 50 * 2 = 452: hash 8, count 8, length 2.
 */
static void a_batch_is_the_same_as_one_by_one(void)
{
    enum { N = 3000, KEY_ROOM = 24 };
    static char keys[N][KEY_ROOM];
    static struct sk_topk_item items[N];
    struct sk_topk *alone = topk(10, 50, 4), *together = topk(10, 50, 4);
    for (size_t i = 0; i < N; i++) {
        uint64_t draw = word(i) >> 32, item = draw % (1 + draw % 97);
        int n = snprintf(keys[i], KEY_ROOM, "/item/%llu", (unsigned long long) item);
        items[i] = (struct sk_topk_item){word(item), draw % 4, keys[i], (size_t) n};
        sk_topk_add(alone, items[i].hash, items[i].key, items[i].key_bytes, items[i].weight);
    }
    for (size_t at = 0, size = 1; at < N; at += size, size = 1 + word(at) % 40) {
        size = size < N - at ? size : N - at;
        sk_topk_add_batch(together, items + at, size);
    }
    CU_ASSERT_TRUE(same(alone, together));
    sk_topk_free(alone);
    sk_topk_free(together);
}

static void hostile_forms_are_refused(void)
{
    enum { ENTRY = 452 };
    struct sk_topk *t = topk(3, 50, 2);
    add(t, "aaa", 1);
    add(t, "bbb", 2);
    add(t, "ccc", 3);
    struct form f = form_of(t);
    static const struct {
        size_t at;
        uint8_t byte;
    } rows[] = {
        {24, 0},             /* k = 0 */
        {24, 2},             /* more entries than k */
        {26, 1},             /* k over the limit */
        {28, 2},             /* bytes left over */
        {28, 4},             /* an entry is missing */
        {32, 51},            /* another width: the cells do not fit */
        {36, 0},             /* no rows */
        {40, 2},             /* no such cell */
        {ENTRY + 8, 0},      /* a count of 0 */
        {ENTRY + 8, 7},      /* more than the sketch says */
        {ENTRY + 16, 4},     /* length */
        {ENTRY + 17, 9},     /* length over the limit */
        {ENTRY, 0},          /* another hash: the sketch knows nothing of it */
        {ENTRY + 21 + 8, 1}, /* a child as bad as the root, with a greater key */
    };
    CU_ASSERT_EQUAL(load_changed(&f, 24, 3), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(load_changed(&f, rows[i].at, rows[i].byte), -EBADMSG);
    memcpy(f.bytes + ENTRY + 21, f.bytes + ENTRY, 21); /* the same entry twice */
    CU_ASSERT_EQUAL(load_changed(&f, 24, 3), -EBADMSG);
    free(f.bytes);
    sk_topk_free(t);
}

static void foreign_and_cut_forms_are_told_apart(void)
{
    struct sk_topk *t = topk(3, 5, 2);
    add(t, "aaa", 1);
    struct form f = form_of(t);
    struct sk_stamp other = stamp;
    void *back = NULL;
    other.fingerprint[15]++;
    CU_ASSERT_EQUAL(sk_kind_topk.load(&back, f.bytes, f.n, &other), -EKEYREJECTED);
    for (size_t n = 0; n < f.n; n++)
        CU_ASSERT_EQUAL(sk_kind_topk.load(&back, f.bytes, n, &stamp), -EBADMSG);
    CU_ASSERT_EQUAL(load_changed(&f, 4, 2), -EPROTO);
    CU_ASSERT_PTR_NULL(back);
    free(f.bytes);
    sk_topk_free(t);
}

static const struct test tests[] = {
    TEST(bad_parameters_are_refused),
    TEST(a_published_sequence_lists_each_key_once),
    TEST(ties_go_to_the_smaller_keys_in_any_order),
    TEST(a_prefix_comes_before_the_longer_key),
    TEST(the_most_frequent_are_found_with_exact_counts),
    TEST(the_entry_that_leaves_is_the_least_by_now),
    TEST(keys_with_the_same_hash_are_told_apart),
    TEST(saturated_counts_repeat_no_key),
    TEST(long_keys_are_cut_and_named_by_their_hash),
    TEST(weight_of_nothing_enters_nothing),
    TEST(a_loaded_one_goes_on_as_if_never_saved),
    TEST(room_lasts_for_whatever_is_added_later),
    TEST(a_batch_is_the_same_as_one_by_one),
    TEST(hostile_forms_are_refused),
    TEST(foreign_and_cut_forms_are_told_apart),
    TESTS_END,
};

int main(void)
{
    return tap_run("topk", tests);
}
