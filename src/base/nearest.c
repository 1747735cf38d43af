#include "base/nearest.h"

#include <limits.h>
#include <string.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char) (c + 32) : c;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Three rows of the usual table are enough for swaps. */
static unsigned distance(struct slice a, struct slice b)
{
    unsigned rows[3][NEAREST_BYTES + 1];
    for (unsigned j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            char x = lower(a.p[i - 1]), y = lower(b.p[j - 1]);
            now[j] = least(before[j - 1] + (x != y), least(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b.p[j - 2]) && y == lower(a.p[i - 2]))
                now[j] = least(now[j], earlier[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

void nearest_begin(struct nearest *n, struct slice word)
{
    *n = (struct nearest){.word = word, .distance = UINT_MAX};
}

void nearest_try(struct nearest *n, const char *name)
{
    struct slice s = slice_of(name);
    if (s.n > NEAREST_BYTES || n->word.n > NEAREST_BYTES)
        return;
    unsigned d = distance(n->word, s);
    if (d < n->distance) {
        n->distance = d;
        n->best = name;
    }
}

const char *nearest_end(const struct nearest *n)
{
    unsigned most = n->word.n < 4 ? 1 : n->word.n < 6 ? 2 : (unsigned) (n->word.n / 3);
    if (n->word.n < 2)
        return NULL;
    return n->distance <= most ? n->best : NULL;
}
