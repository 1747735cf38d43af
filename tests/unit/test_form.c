#include "sketch/sketch.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

static const struct sk_stamp stamp = {.hash_id = 1, .fingerprint = {1, 2, 3, 255}};

static size_t form_of(uint8_t *to, const void *body, size_t n)
{
    sk_form_begin(to, "TEST", 3, &stamp);
    memcpy(to + SK_FORM_HEAD_BYTES, body, n);
    return sk_form_end(to, SK_FORM_HEAD_BYTES + n);
}

/* Bit by bit, as the standard has it. */
static uint32_t crc32_slow(const uint8_t *p, size_t n)
{
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        sum ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ ((sum & 1) ? 0xedb88320 : 0);
    }
    return ~sum;
}

static uint32_t tail(const uint8_t *p)
{
    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

static void sum_is_crc32_of_ieee(void)
{
    uint8_t check[] = "123456789....";
    CU_ASSERT_EQUAL(sk_form_end(check, 9), 13);
    CU_ASSERT_EQUAL(tail(check + 9), 0xcbf43926); /* the check value of CRC-32/ISO-HDLC */
    for (size_t n = 0; n < 70; n++) {
        uint8_t bytes[80];
        for (size_t i = 0; i < n; i++)
            bytes[i] = (uint8_t) (i * i * 7 + n);
        sk_form_end(bytes, n);
        CU_ASSERT_EQUAL(tail(bytes + n), crc32_slow(bytes, n));
    }
}

static void body_comes_back(void)
{
    uint8_t form[64];
    const uint8_t *body;
    size_t n = form_of(form, "some\0body", 9), body_bytes;
    CU_ASSERT_EQUAL(n, SK_FORM_HEAD_BYTES + 9 + SK_FORM_TAIL_BYTES);
    CU_ASSERT_EQUAL(sk_form_check(form, n, "TEST", 3, &stamp, &body, &body_bytes), 0);
    CU_ASSERT_EQUAL(body_bytes, 9);
    CU_ASSERT_PTR_EQUAL(body, form + SK_FORM_HEAD_BYTES);
    n = form_of(form, "", 0);
    CU_ASSERT_EQUAL(sk_form_check(form, n, "TEST", 3, &stamp, &body, &body_bytes), 0);
    CU_ASSERT_EQUAL(body_bytes, 0);
}

static void each_flipped_bit_and_each_cut_is_damage(void)
{
    uint8_t form[64];
    const uint8_t *body = NULL;
    size_t n = form_of(form, "some body", 9), body_bytes = 77;
    for (size_t bit = 0; bit < n * 8; bit++) {
        form[bit / 8] ^= (uint8_t) (1 << bit % 8);
        CU_ASSERT_EQUAL(sk_form_check(form, n, "TEST", 3, &stamp, &body, &body_bytes), -EBADMSG);
        form[bit / 8] ^= (uint8_t) (1 << bit % 8);
    }
    for (size_t cut = 0; cut < n; cut++)
        CU_ASSERT_EQUAL(sk_form_check(form, cut, "TEST", 3, &stamp, &body, &body_bytes), -EBADMSG);
    CU_ASSERT_PTR_NULL(body);
    CU_ASSERT_EQUAL(body_bytes, 77);
}

static void other_kind_version_and_stamp_are_told_apart(void)
{
    uint8_t form[64];
    const uint8_t *body;
    struct sk_stamp other = stamp;
    size_t n = form_of(form, "some body", 9), body_bytes;
    CU_ASSERT_EQUAL(sk_form_check(form, n, "TESS", 3, &stamp, &body, &body_bytes), -EBADMSG);
    CU_ASSERT_EQUAL(sk_form_check(form, n, "TEST", 4, &stamp, &body, &body_bytes), -EPROTO);
    other.fingerprint[15] ^= 1;
    CU_ASSERT_EQUAL(sk_form_check(form, n, "TEST", 3, &other, &body, &body_bytes), -EKEYREJECTED);
    other = stamp;
    other.hash_id = 2;
    CU_ASSERT_EQUAL(sk_form_check(form, n, "TEST", 3, &other, &body, &body_bytes), -EKEYREJECTED);
}

static const struct test tests[] = {
    TEST(sum_is_crc32_of_ieee),
    TEST(body_comes_back),
    TEST(each_flipped_bit_and_each_cut_is_damage),
    TEST(other_kind_version_and_stamp_are_told_apart),
    TESTS_END,
};

int main(void)
{
    return tap_run("form", tests);
}
