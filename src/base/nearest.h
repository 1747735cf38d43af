/* "did you mean": of some names the one nearest to a mistyped word, by edit distance where a swap
 * of two neighbours is one step (Damerau 1964). Pure, any thread; words over NEAREST_BYTES are near
 * nothing. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#include "base/slice.h"

#define NEAREST_BYTES 48

struct nearest {
    struct slice word;
    const char *best;
    unsigned distance;
};

void nearest_begin(struct nearest *n, struct slice word);
void nearest_try(struct nearest *n, const char *name);
/* NULL: none is near enough (one step for words of two or three letters, two for up to five, else a
 * third of the word). */
const char *nearest_end(const struct nearest *n);

#endif
