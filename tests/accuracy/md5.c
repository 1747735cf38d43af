#include "md5.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct md5 md5_begin(void)
{
    return (struct md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

/* The constant of step i, as the RFC defines it. */
static uint32_t sine(unsigned i)
{
    static uint32_t table[64];
    if (!table[63])
        for (unsigned j = 0; j < 64; j++)
            table[j] = (uint32_t) floor(fabs(sin(j + 1)) * 0x1p32);
    return table[i];
}

static uint32_t word(const uint8_t *p)
{
    return p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24;
}

static void block(uint32_t state[4], const uint8_t *p)
{
    static const unsigned char turns[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t f[4] = {(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)};
        unsigned at[4] = {i, 5 * i + 1, 3 * i + 5, 7 * i}, turn = turns[i / 16][i % 4];
        uint32_t x = a + f[i / 16] + sine(i) + word(p + 4 * (at[i / 16] % 16));
        a = d;
        d = c;
        c = b;
        b += x << turn | x >> (32 - turn);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_add(struct md5 *m, const void *data, size_t n)
{
    const uint8_t *p = data;
    while (n > 0) {
        size_t at = m->bytes % sizeof m->block, some = sizeof m->block - at;
        some = some < n ? some : n;
        memcpy(m->block + at, p, some);
        m->bytes += some;
        p += some;
        n -= some;
        if (m->bytes % sizeof m->block == 0)
            block(m->state, m->block);
    }
}

void md5_end(struct md5 *m, char ret_hex[MD5_HEX_BYTES])
{
    uint64_t bits = m->bytes * 8;
    uint8_t length[8];
    for (unsigned i = 0; i < sizeof length; i++)
        length[i] = (uint8_t) (bits >> 8 * i);
    md5_add(m, "\x80", 1);
    while (m->bytes % sizeof m->block != sizeof m->block - sizeof length)
        md5_add(m, "", 1);
    md5_add(m, length, sizeof length);
    for (unsigned i = 0; i < 16; i++)
        snprintf(ret_hex + (size_t) 2 * i, 3, "%02x", m->state[i / 4] >> i % 4 * 8 & 0xff);
}
