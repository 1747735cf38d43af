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

/* The first byte lowest, on every machine. */
static inline uint64_t bytes_load_le(const char *p)
{
    uint64_t w = bytes_load(p);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? w : __builtin_bswap64(w);
}

/* The first blank, control byte, quote or backslash in [p, end), or end. */
static inline const char *bytes_find_mark(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i blanks = _mm_set1_epi8(' '), quotes = _mm_set1_epi8('"');
    const __m128i slashes = _mm_set1_epi8('\\');
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *) (const void *) p);
        __m128i found = _mm_or_si128(_mm_cmpeq_epi8(v, quotes), _mm_cmpeq_epi8(v, slashes));
        found = _mm_or_si128(found, _mm_cmpeq_epi8(_mm_min_epu8(v, blanks), v));
        unsigned mask = (unsigned) _mm_movemask_epi8(found);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#endif
    while (p < end && (unsigned char) *p > ' ' && *p != '"' && *p != '\\')
        p++;
    return p;
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
    uint64_t w = bytes_load_le(p) ^ BYTES_ONES * '0';
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
}

/* Whether eight bytes look like a pattern, "00:00:00" say, from which they differ by w: at the
 * places that digits has (0xff each) by 0 to 9, at the others by nothing. */
static inline bool bytes_differ_by_digits(uint64_t w, uint64_t digits)
{
    uint64_t most = BYTES_ONES * 0x7f - (digits & BYTES_ONES * 9);
    return !(((w + most) | w) & BYTES_HIGHS);
}

/* "12:34:56": its parts, each 0..99. false: not of that shape. */
static inline bool bytes_clock(const char *p, unsigned *ret_hour, unsigned *ret_minute,
                               unsigned *ret_second)
{
    uint64_t w = bytes_load_le(p) ^ bytes_load_le("00:00:00");
    if (!bytes_differ_by_digits(w, UINT64_C(0xffff00ffff00ffff)))
        return false;
    w = w * 10 + (w >> 8);
    *ret_hour = w & 0xff;
    *ret_minute = w >> 24 & 0xff;
    *ret_second = w >> 48 & 0xff;
    return true;
}

/* "HTTP/1.1" with any two digits. */
static inline bool bytes_protocol(const char *p)
{
    uint64_t w = bytes_load_le(p) ^ bytes_load_le("HTTP/0.0");
    return bytes_differ_by_digits(w, UINT64_C(0xff00ff0000000000));
}

#endif
