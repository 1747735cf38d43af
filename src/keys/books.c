#include "keys/books.h"

void books_add(struct books *into, const struct books *more)
{
    into->lines += more->lines;
    into->bytes += more->bytes;
    into->counted += more->counted;
    for (int i = 0; i < REJECT_COUNT; i++)
        into->rejected[i] += more->rejected[i];
    for (int i = 0; i < SKIP_COUNT; i++)
        into->skipped[i] += more->skipped[i];
    for (int i = 0; i < BOOKS_RULES_MAX; i++)
        into->ignored[i] += more->ignored[i];
    into->late += more->late;
    into->future += more->future;
}

static uint64_t sum(const uint64_t *list, int n)
{
    uint64_t total = 0;
    for (int i = 0; i < n; i++)
        total += list[i];
    return total;
}

uint64_t books_rejected(const struct books *b)
{
    return sum(b->rejected, REJECT_COUNT);
}

uint64_t books_ignored(const struct books *b)
{
    return sum(b->ignored, BOOKS_RULES_MAX);
}

bool books_balanced(const struct books *b)
{
    return b->lines == b->counted + books_rejected(b) + sum(b->skipped, SKIP_COUNT) +
                           books_ignored(b) + b->late + b->future;
}
