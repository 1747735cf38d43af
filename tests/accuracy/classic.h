/* The published structures in their plain form, fed with the same hashes: the column beside ours.
 * A failed allocation ends the program. */
#ifndef ACCURACY_CLASSIC_H
#define ACCURACY_CLASSIC_H

#include <stddef.h>
#include <stdint.h>

#include "sketch/distinct.h"
#include "sketch/hash.h"

/* HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007) over the ranks in the registers of d, which
 * is no longer exact and has a precision of 7 at least: the raw estimate, or linear counting up to
 * 2.5 m. */
double classic_hyperloglog(const struct sk_distinct *d);

/* Count-Min Sketch (Cormode, Muthukrishnan 2005): 64-bit cells, row i at (hi + i lo) mod width, the
 * count added to every row. */
struct classic_cms {
    uint32_t width, depth;
    uint64_t *cells;
};
struct classic_cms classic_cms_new(uint32_t width, uint32_t depth);
void classic_cms_done(struct classic_cms *c);
void classic_cms_clear(struct classic_cms *c);
void classic_cms_add(struct classic_cms *c, struct sk_hash hash);
uint64_t classic_cms_count(const struct classic_cms *c, struct sk_hash hash);

#endif
