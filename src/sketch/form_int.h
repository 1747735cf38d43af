/* Little-endian integers of the forms. The library includes nothing of the daemon's, so it has its
 * own. Pure, any thread. */
#ifndef SKETCH_FORM_INT_H
#define SKETCH_FORM_INT_H

#include <stdint.h>

static inline void sk_put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t) v;
    p[1] = (uint8_t) (v >> 8);
}

static inline void sk_put32(uint8_t *p, uint32_t v)
{
    sk_put16(p, (uint16_t) v);
    sk_put16(p + 2, (uint16_t) (v >> 16));
}

static inline void sk_put64(uint8_t *p, uint64_t v)
{
    sk_put32(p, (uint32_t) v);
    sk_put32(p + 4, (uint32_t) (v >> 32));
}

static inline uint16_t sk_get16(const uint8_t *p)
{
    return (uint16_t) (p[0] | p[1] << 8);
}

static inline uint32_t sk_get32(const uint8_t *p)
{
    return sk_get16(p) | (uint32_t) sk_get16(p + 2) << 16;
}

static inline uint64_t sk_get64(const uint8_t *p)
{
    return sk_get32(p) | (uint64_t) sk_get32(p + 4) << 32;
}

#endif
