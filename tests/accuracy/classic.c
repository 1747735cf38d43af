#include "classic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "streams.h"

#define FORM_REGISTERS 60 /* where they begin in the form (distinct.h) */

double classic_hyperloglog(const struct sk_distinct *d)
{
    static const struct sk_stamp stamp = {.hash_id = SK_HASH_ID_XXH3_128_SECRET};
    size_t room = sk_kind_distinct.save_room(d), registers = (size_t) 1 << sk_distinct_precision(d);
    uint8_t *form = must_alloc(room, 1);
    double sum = 0, zeros = 0, m = (double) registers;
    if (sk_kind_distinct.save(d, &stamp, form, room) < FORM_REGISTERS + registers)
        abort(); /* the set is still exact */
    for (size_t i = 0; i < registers; i++) {
        int rank = form[FORM_REGISTERS + i] >> 2;
        sum += ldexp(1, -rank);
        zeros += rank == 0;
    }
    free(form);
    double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    return raw <= 2.5 * m && zeros > 0 ? m * log(m / zeros) : raw;
}

struct classic_cms classic_cms_new(uint32_t width, uint32_t depth)
{
    return (struct classic_cms){width, depth, must_alloc((size_t) width * depth, sizeof(uint64_t))};
}

void classic_cms_done(struct classic_cms *c)
{
    free(c->cells);
    *c = (struct classic_cms){0};
}

void classic_cms_clear(struct classic_cms *c)
{
    memset(c->cells, 0, (size_t) c->width * c->depth * sizeof *c->cells);
}

static uint64_t *cell(const struct classic_cms *c, struct sk_hash hash, uint32_t row)
{
    return &c->cells[(size_t) row * c->width + (hash.hi + row * hash.lo) % c->width];
}

void classic_cms_add(struct classic_cms *c, struct sk_hash hash)
{
    for (uint32_t row = 0; row < c->depth; row++)
        ++*cell(c, hash, row);
}

uint64_t classic_cms_count(const struct classic_cms *c, struct sk_hash hash)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t row = 0; row < c->depth; row++) {
        uint64_t count = *cell(c, hash, row);
        least = count < least ? count : least;
    }
    return least;
}
