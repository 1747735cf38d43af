#include "streams.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "md5.h"

#define CROWD 400000
#define SHARED 200000
#define VISITS 1500000
#define BOOKS 100000
#define URLS 1000000
#define HITS 2000000
#define FIRST_BOOK UINT64_C(9780000000000)

void *must_alloc(size_t n, size_t each)
{
    void *p = calloc(n, each);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(71);
    }
    return p;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next(uint64_t *state)
{
    return sk_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t below(uint64_t *state, uint64_t n)
{
    return sk_range(next(state), n);
}

static struct stream stream_new(enum stream_text text, size_t n, uint32_t keys)
{
    return (struct stream){.text = text,
                           .n = n,
                           .keys = keys,
                           .key = must_alloc(n, sizeof(uint32_t)),
                           .count = must_alloc(keys, sizeof(uint32_t)),
                           .rank = must_alloc(keys, sizeof(uint32_t))};
}

void stream_done(struct stream *s)
{
    free(s->key);
    free(s->count);
    free(s->rank);
    *s = (struct stream){0};
}

static const uint32_t *ranked; /* qsort hands nothing on */

static int compare_rank(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    if (ranked[x] != ranked[y])
        return ranked[x] < ranked[y] ? 1 : -1;
    return (x > y) - (x < y);
}

static void count_truth(struct stream *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->count[s->key[i]]++;
    for (uint32_t k = 0; k < s->keys; k++) {
        s->distinct += s->count[k] > 0;
        s->once += s->count[k] == 1;
        s->rank[k] = k;
    }
    ranked = s->count;
    qsort(s->rank, s->keys, sizeof *s->rank, compare_rank);
}

struct stream stream_visits(int day)
{
    struct stream s = stream_new(STREAM_VISITOR, VISITS, CROWD + SHARED);
    uint64_t state = 2007 + (uint64_t) day;
    for (size_t i = 0; i < s.n; i++)
        s.key[i] = (uint32_t) (below(&state, CROWD) + (uint64_t) day * SHARED);
    count_truth(&s);
    return s;
}

/* Running sums of the weights 2^40 / rank^power. With power 1 they are integers throughout. */
static uint64_t *weights(uint32_t ranks, double power)
{
    uint64_t *up_to = must_alloc(ranks, sizeof *up_to), total = 0;
    for (uint32_t r = 0; r < ranks; r++)
        up_to[r] = total +=
            power == 1 ? (UINT64_C(1) << 40) / (r + 1) : (uint64_t) (0x1p40 / pow(r + 1.0, power));
    return up_to;
}

/* The first rank whose sum is above the number drawn. */
static uint32_t draw(uint64_t *state, const uint64_t *up_to, uint32_t ranks)
{
    uint64_t x = below(state, up_to[ranks - 1]);
    uint32_t low = 0, high = ranks - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (up_to[middle] > x)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct stream drawn(enum stream_text text, uint32_t keys, double power, uint64_t seed)
{
    struct stream s = stream_new(text, HITS, keys);
    uint64_t *up_to = weights(keys, power);
    for (size_t i = 0; i < s.n; i++)
        s.key[i] = draw(&seed, up_to, keys);
    free(up_to);
    count_truth(&s);
    return s;
}

struct stream stream_views(void)
{
    return drawn(STREAM_BOOK, BOOKS, 1, 2005);
}

struct stream stream_flat(void)
{
    return drawn(STREAM_URL, URLS, 0.8, 2009);
}

struct stream stream_scanned(void)
{
    struct stream s = stream_new(STREAM_URL, HITS, BOOKS + HITS);
    uint64_t *up_to = weights(BOOKS, 1), state = 2010;
    uint32_t fresh = BOOKS;
    for (size_t i = 0; i < s.n; i++)
        s.key[i] = below(&state, 2) ? fresh++ : draw(&state, up_to, BOOKS);
    free(up_to);
    s.keys = fresh;
    count_truth(&s);
    return s;
}

size_t stream_key(enum stream_text text, uint32_t key, char ret[STREAM_KEY_BYTES])
{
    int n = 0;
    switch (text) {
    case STREAM_VISITOR:
        n = snprintf(ret, STREAM_KEY_BYTES, "visitor-%06" PRIu32, key);
        break;
    case STREAM_BOOK:
        n = snprintf(ret, STREAM_KEY_BYTES, "%" PRIu64, FIRST_BOOK + key);
        break;
    case STREAM_URL:
        n = snprintf(ret, STREAM_KEY_BYTES, "/articles/%" PRIu32, key);
        break;
    }
    return (size_t) n;
}

void stream_hash(enum stream_text text, uint32_t n, const struct sk_secret *secret,
                 struct sk_hash *ret)
{
    char key[STREAM_KEY_BYTES];
    for (uint32_t i = 0; i < n; i++)
        ret[i] = sk_hash(secret, key, stream_key(text, i, key));
}

bool stream_is(const struct stream *s, unsigned streams, const char *md5_hex)
{
    struct md5 md5 = md5_begin();
    char key[STREAM_KEY_BYTES], hex[MD5_HEX_BYTES];
    for (; streams > 0; s++, streams--)
        for (size_t i = 0; i < s->n; i++) {
            size_t n = stream_key(s->text, s->key[i], key);
            key[n++] = '\n';
            md5_add(&md5, key, n);
        }
    md5_end(&md5, hex);
    return strcmp(hex, md5_hex) == 0;
}
