/* The books of an input: every line read is skipped, rejected, ignored, late, future or counted,
 * tested in that order. Plain numbers; whoever owns them adds. */
#ifndef KEYS_BOOKS_H
#define KEYS_BOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "parse/record.h"

#define BOOKS_RULES_MAX 64 /* ignore rules, the texts are the plan's */

struct books {
    uint64_t lines;
    uint64_t bytes; /* of all lines with their line feeds: equals the movement of positions */
    uint64_t counted;
    uint64_t rejected[REJECT_COUNT];
    uint64_t skipped[SKIP_COUNT];
    uint64_t ignored[BOOKS_RULES_MAX];
    uint64_t late;
    uint64_t future;
};

void books_add(struct books *into, const struct books *more);
/* lines = counted + rejected + skipped + ignored + late + future */
bool books_balanced(const struct books *b);
uint64_t books_rejected(const struct books *b); /* sum over reasons */
uint64_t books_ignored(const struct books *b);

#endif
