/* Inside parse: several bytes of a line at a time. Eight in plain C (SWAR: H. S. Warren, Hacker's
 * Delight 2nd ed., 6-1 and 10-1; callers see to it that eight bytes are there), sixteen where SSE2
 * is. Pure. */
#ifndef PARSE_BYTES_INT_H
#define PARSE_BYTES_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/slice.h"

#define BYTES_ONES UINT64_C(0x0101010101010101)
#define BYTES_HIGHS UINT64_C(0x8080808080808080)

static inline uint64_t bytes_load(const char *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* Whether some byte is a blank, a control byte, a quote or a backslash. */
static inline bool bytes_hold_mark(uint64_t w)
{
    uint64_t quote = w ^ BYTES_ONES * '"', slash = w ^ BYTES_ONES * '\\';
    uint64_t below = (w - BYTES_ONES * 0x21) & ~w;
    quote = (quote - BYTES_ONES) & ~quote;
    slash = (slash - BYTES_ONES) & ~slash;
    return ((below | quote | slash) & BYTES_HIGHS) != 0;
}

/* The first a or b in [p, end), or end. Bytes from floor on may be read. */
static inline const char *bytes_find_either(const char *floor, const char *p, const char *end,
                                            char a, char b)
{
#ifdef __SSE2__
    const __m128i as = _mm_set1_epi8(a), bs = _mm_set1_epi8(b);
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *) (const void *) p);
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(v, as), _mm_cmpeq_epi8(v, bs));
        unsigned mask = (unsigned) _mm_movemask_epi8(found);
        if (mask)
            return p + __builtin_ctz(mask);
    }
    if (p < end && end - floor >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *) (const void *) (end - 16));
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(v, as), _mm_cmpeq_epi8(v, bs));
        unsigned mask = (unsigned) _mm_movemask_epi8(found) >> (16 - (end - p));
        return mask ? p + __builtin_ctz(mask) : end;
    }
#else
    (void) floor;
#endif
    while (p < end && *p != a && *p != b)
        p++;
    return p;
}

/* Digits at the front, 0..8, and their value. */
static inline unsigned bytes_digits(const char *p, uint64_t *ret)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t w = bytes_load(p) ^ BYTES_ONES * '0';
    uint64_t others = ((w + BYTES_ONES * 0x76) | w) & BYTES_HIGHS;
    unsigned n = others ? (unsigned) __builtin_ctzll(others) / 8 : 8;
    if (n == 0)
        return 0;
    w <<= (8 - n) * 8;
    w = w * 10 + (w >> 8);
    *ret = ((w & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
            ((w >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001))) >>
           32;
    return n;
#else
    unsigned n = 0;
    uint64_t value = 0;
    for (; n < 8 && (unsigned) (p[n] - '0') < 10; n++)
        value = value * 10 + (uint64_t) (p[n] - '0');
    *ret = value;
    return n;
#endif
}

#endif
