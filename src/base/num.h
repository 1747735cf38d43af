/* Checked arithmetic and strict numbers. Every parser takes the whole slice or refuses: no sign,
 * blank or rest is skipped. Pure, any thread. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

static inline bool size_mul(size_t a, size_t b, size_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}

static inline bool size_add(size_t a, size_t b, size_t *ret)
{
    return !__builtin_add_overflow(a, b, ret);
}

/* Decimal digits, at least one; false on anything else or above 2^63-1. */
bool num_u63(struct slice s, uint64_t *ret);
/* The same with an optional '-' in front. */
bool num_i64(struct slice s, int64_t *ret);
/* A finite decimal such as 0.0004 or 1e-3; never nan, inf, hex or locale-dependent. */
bool num_real(struct slice s, double *ret);
/* 250ms 30s 5m 2h 400d -> nanoseconds; the unit is demanded. */
bool num_duration_ns(struct slice s, int64_t *ret_ns);
/* 512B 16KiB 8MiB 4GiB -> bytes; the unit is demanded. */
bool num_size_bytes(struct slice s, uint64_t *ret_bytes);

/* "1,234,567" into a buffer of at least 32 bytes; returns it. For people only. */
char *num_grouped(char buffer[32], uint64_t value);

#endif
