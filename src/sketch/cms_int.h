/* Inside sketch: sk_cms_add in two steps, so that a caller with many keys can have memory bring the
 * cells of later ones while earlier ones are added. */
#ifndef SKETCH_CMS_INT_H
#define SKETCH_CMS_INT_H

#include "sketch/cms.h"

/* Where a key's cells are, counted through all rows. */
struct cms_cells {
    uint32_t at[SK_CMS_DEPTH_MAX];
};

void cms_fetch(const struct sk_cms *c, uint64_t hash, struct cms_cells *ret);
uint64_t cms_add_at(struct sk_cms *c, const struct cms_cells *cells, uint64_t weight);

#endif
