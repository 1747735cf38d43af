#include "sketch/hash.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

static struct sk_secret secret_of(uint64_t seed)
{
    struct sk_secret s;
    for (size_t i = 0; i < sizeof s.bytes; i++)
        s.bytes[i] = (uint8_t) (sk_mix(seed * 1000 + i) >> 56);
    return s;
}

static void local_hashes_depend_on_key_and_secret(void)
{
    struct sk_secret a = secret_of(1), b = secret_of(2);
    char key[300];
    memset(key, 'x', sizeof key);
    for (size_t n = 1; n < sizeof key; n++) {
        uint64_t hash = sk_hash_local(&a, key, n);
        CU_ASSERT_EQUAL(hash, sk_hash_local(&a, key, n));
        CU_ASSERT_NOT_EQUAL(hash, sk_hash_local(&b, key, n));
        CU_ASSERT_NOT_EQUAL(hash, sk_hash_local(&a, key, n - 1));
        key[n - 1] = 'y';
        CU_ASSERT_NOT_EQUAL(hash, sk_hash_local(&a, key, n));
        key[n - 1] = 'x';
    }
}

/* Made with xxhash 0.8.1, secret byte i = (7 i + 1) mod 256: a changed hash makes every stored
 * sketch worthless, so it must not change unseen. */
static void known_answers(void)
{
    struct sk_secret s;
    uint8_t key[300];
    for (size_t i = 0; i < sizeof s.bytes; i++)
        s.bytes[i] = (uint8_t) (7 * i + 1);
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t) i;
    static const struct {
        size_t n;
        struct sk_hash hash;
    } rows[] = {
        {0, {UINT64_C(0x8b066fcd5d5855b4), UINT64_C(0x435edc0c3f3c458d)}},
        {1, {UINT64_C(0x8865ba200377c80f), UINT64_C(0x6522629486df8fdf)}},
        {8, {UINT64_C(0x318f756375787e1b), UINT64_C(0xc4addce5cfe28782)}},
        {16, {UINT64_C(0x01f70db270a93e7c), UINT64_C(0x9c5a52aa4144f364)}},
        {17, {UINT64_C(0xc6dce5287ac6880d), UINT64_C(0x0b72a39e88172ea8)}},
        {32, {UINT64_C(0x3c0456a6c29cc7eb), UINT64_C(0x36a7ac20c08e0277)}},
        {128, {UINT64_C(0x1b5352bd905b9287), UINT64_C(0x2c7ee80d807dac74)}},
        {129, {UINT64_C(0x4fdb69dd4a9aafd8), UINT64_C(0xe00bf31589bcaa8d)}},
        {240, {UINT64_C(0xfa0db6c066163b5c), UINT64_C(0x4ed8305a8b2ae4c5)}},
        {241, {UINT64_C(0x88d227f349b81b75), UINT64_C(0x66421278dcfc3ec1)}},
        {300, {UINT64_C(0x3d9e32b6e9a79681), UINT64_C(0xb4548094c07fd5e2)}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sk_hash h = sk_hash(&s, key, rows[i].n);
        CU_ASSERT_EQUAL(h.hi, rows[i].hash.hi);
        CU_ASSERT_EQUAL(h.lo, rows[i].hash.lo);
    }
    static const uint8_t fingerprint[SK_FINGERPRINT_BYTES] = {0xdb, 0x2c, 0x3b, 0x07, 0xc1, 0x14,
                                                              0xfb, 0x5a, 0xa4, 0xf7, 0x95, 0xa7,
                                                              0x6c, 0xd8, 0xcf, 0x03};
    struct sk_stamp stamp = sk_stamp(&s);
    CU_ASSERT_EQUAL(stamp.hash_id, SK_HASH_ID_XXH3_128_SECRET);
    CU_ASSERT_EQUAL(memcmp(stamp.fingerprint, fingerprint, sizeof fingerprint), 0);
}

static void each_byte_of_the_secret_names_another_key(void)
{
    struct sk_secret s = secret_of(1);
    struct sk_stamp first = sk_stamp(&s), again = sk_stamp(&s);
    CU_ASSERT_EQUAL(memcmp(&first, &again, sizeof first), 0);
    struct sk_secret other = secret_of(2);
    struct sk_stamp second = sk_stamp(&other);
    CU_ASSERT_NOT_EQUAL(memcmp(first.fingerprint, second.fingerprint, SK_FINGERPRINT_BYTES), 0);
}

static void halves_differ_and_follow_the_key(void)
{
    struct sk_secret s = secret_of(3);
    struct sk_hash a = sk_hash(&s, "a", 1), b = sk_hash(&s, "b", 1), empty = sk_hash(&s, "", 0);
    CU_ASSERT_NOT_EQUAL(a.hi, a.lo);
    CU_ASSERT_NOT_EQUAL(a.hi, b.hi);
    CU_ASSERT_NOT_EQUAL(a.lo, b.lo);
    CU_ASSERT_NOT_EQUAL(empty.lo, a.lo);
}

static void mix_has_no_fixed_small_words(void)
{
    CU_ASSERT_EQUAL(sk_mix(0),
                    0); /* the finaliser's one known fixed point; rows never start from it */
    CU_ASSERT_EQUAL(sk_mix_row(0, 0),
                    UINT64_C(0xe220a8397b1dcdaf)); /* first word of SplitMix64(0) */
    CU_ASSERT_EQUAL(sk_mix_row(0, 1), UINT64_C(0x6e789e6aa1b965f4));
}

static void range_stays_below_and_reaches_both_ends(void)
{
    static const uint64_t sizes[] = {1, 2, 3, 2719, 6797, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CU_ASSERT_EQUAL(sk_range(0, sizes[i]), 0);
        CU_ASSERT_EQUAL(sk_range(UINT64_MAX, sizes[i]), sizes[i] - 1);
    }
}

/* Over 4 billion positions (a filter of 2^33 bits) each sixteenth gets its share: a 32-bit hash
 * would leave the upper half empty. Chi-square with 15 degrees of freedom, 0.999 quantile 37.7;
 * fixed keys. */
static void positions_cover_large_tables(void)
{
    unsigned slices[16] = {0};
    double chi = 0;
    for (uint64_t i = 0; i < 160000; i++)
        slices[sk_range(sk_mix_row(i, 3), UINT64_C(1) << 33) >> 29]++;
    for (int i = 0; i < 16; i++)
        chi += (slices[i] - 10000.0) * (slices[i] - 10000.0) / 10000.0;
    CU_ASSERT(chi < 37.7);
}

/* Two keys share a cell of a row with probability 1/w, and of two rows with 1/w^2: independent
 * rows. 2,000 keys make 1,999,000 pairs; w = 2048: 976 pairs expected in one row (sd 31), 0.48 in
 * both. */
static void rows_collide_independently(void)
{
    enum { W = 2048, KEYS = 2000 };
    static uint32_t first[KEYS], second[KEYS];
    unsigned one = 0, both = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        first[i] = (uint32_t) sk_range(sk_mix_row(i, 0), W);
        second[i] = (uint32_t) sk_range(sk_mix_row(i, 1), W);
        for (uint64_t j = 0; j < i; j++) {
            one += first[i] == first[j];
            both += first[i] == first[j] && second[i] == second[j];
        }
    }
    CU_ASSERT(fabs(one - 976.0) < 5 * 31);
    CU_ASSERT(both <= 5);
}

static const struct test tests[] = {
    TEST(local_hashes_depend_on_key_and_secret),
    TEST(known_answers),
    TEST(each_byte_of_the_secret_names_another_key),
    TEST(halves_differ_and_follow_the_key),
    TEST(mix_has_no_fixed_small_words),
    TEST(range_stays_below_and_reaches_both_ends),
    TEST(positions_cover_large_tables),
    TEST(rows_collide_independently),
    TESTS_END,
};

int main(void)
{
    return tap_run("hash", tests);
}
