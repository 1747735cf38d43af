#include "sketch/sketch.h"

#include <errno.h>
#include <string.h>

#include "sketch/form_int.h"

#define CRC32_IEEE UINT32_C(0xedb88320) /* the polynomial, lowest power in the highest bit */

/* tables[i][v]: what byte v, the i-th of eight, does to the sum after all eight. */
static void crc32_tables(uint32_t tables[8][256])
{
    uint32_t sum = 1;
    for (int bit = 63; bit >= 0; bit--) {
        sum = sum >> 1 ^ ((sum & 1) ? CRC32_IEEE : 0);
        tables[bit / 8][1 << bit % 8] = sum;
    }
    for (int i = 0; i < 8; i++) {
        tables[i][0] = 0;
        for (unsigned v = 3; v < 256; v++)
            tables[i][v] = tables[i][v & (v - 1)] ^ tables[i][v & -v];
    }
}

/* Eight bytes a step. The tables are made anew for each form, in about the time of 4 KiB of it: no
 * state that threads would share. */
static uint32_t crc32_ieee(const uint8_t *p, size_t n)
{
    uint32_t tables[8][256];
    uint32_t sum = UINT32_MAX;
    crc32_tables(tables);
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t first = sk_get32(p) ^ sum, second = sk_get32(p + 4);
        sum = tables[0][first & 255] ^ tables[1][first >> 8 & 255] ^ tables[2][first >> 16 & 255] ^
              tables[3][first >> 24] ^ tables[4][second & 255] ^ tables[5][second >> 8 & 255] ^
              tables[6][second >> 16 & 255] ^ tables[7][second >> 24];
    }
    for (; n > 0; p++, n--)
        sum = sum >> 8 ^ tables[7][(sum ^ *p) & 255];
    return ~sum;
}

void sk_form_begin(uint8_t *to, const char magic[4], uint16_t version, const struct sk_stamp *stamp)
{
    memcpy(to, magic, 4);
    sk_put16(to + 4, version);
    sk_put16(to + 6, stamp->hash_id);
    memcpy(to + 8, stamp->fingerprint, SK_FINGERPRINT_BYTES);
}

size_t sk_form_end(uint8_t *to, size_t n)
{
    sk_put32(to + n, crc32_ieee(to, n));
    return n + SK_FORM_TAIL_BYTES;
}

int sk_form_check(const uint8_t *from, size_t n, const char magic[4], uint16_t version,
                  const struct sk_stamp *stamp, const uint8_t **ret_body, size_t *ret_n)
{
    if (n < SK_FORM_HEAD_BYTES + SK_FORM_TAIL_BYTES || memcmp(from, magic, 4) != 0)
        return -EBADMSG;
    if (crc32_ieee(from, n - SK_FORM_TAIL_BYTES) != sk_get32(from + n - SK_FORM_TAIL_BYTES))
        return -EBADMSG;
    if (sk_get16(from + 4) != version)
        return -EPROTO;
    if (sk_get16(from + 6) != stamp->hash_id ||
        memcmp(from + 8, stamp->fingerprint, SK_FINGERPRINT_BYTES) != 0)
        return -EKEYREJECTED;
    *ret_body = from + SK_FORM_HEAD_BYTES;
    *ret_n = n - SK_FORM_HEAD_BYTES - SK_FORM_TAIL_BYTES;
    return 0;
}
