/* The reader of Redis strings takes any bytes: as a whole string, and as the body behind a sound
 * head of either encoding. What it accepts must be written as it was read, count, and merge. */
#include "sketch/redis.h"

#include <stdlib.h>
#include <string.h>

#include "sketch/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define HEAD_BYTES 16

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void use(struct sk_distinct *d)
{
    static uint8_t string[SK_REDIS_BYTES], again[SK_REDIS_BYTES];
    struct sk_distinct *back = NULL, *other = NULL;
    struct sk_estimate e;
    uint64_t count = 0, same = 0;
    must(sk_redis_write(d, string) == 0 && sk_redis_read(&back, string, sizeof string) == 0);
    must(sk_redis_write(back, again) == 0 && memcmp(string, again, sizeof string) == 0);
    must(sk_redis_estimate(d, &count) == 0 && sk_redis_estimate(back, &same) == 0);
    must(count == same && count <= INT64_MAX);
    sk_distinct_estimate(d, &e);
    must(e.value >= 0 && e.low <= e.value && e.value <= e.high && e.high <= 0x1p63);
    must(sk_distinct_new(&other, 15, 5) == 0);
    for (uint64_t i = 0; i < 50; i++)
        sk_distinct_add(other, sk_mix(i));
    must(sk_distinct_merge(other, d) == 0 && sk_distinct_merge(d, back) == 0);
    must(sk_redis_write(d, again) == 0 && memcmp(string, again, sizeof string) == 0);
    sk_distinct_free(back);
    sk_distinct_free(other);
}

static void read_any(const uint8_t *string, size_t n)
{
    struct sk_distinct *d = NULL;
    if (sk_redis_read(&d, string, n) == 0)
        use(d);
    sk_distinct_free(d);
}

/* The last byte that comes is repeated up to the length of a dense body. */
static void read_behind_head(const uint8_t *body, size_t n, uint8_t encoding)
{
    size_t dense = SK_REDIS_BYTES - HEAD_BYTES;
    size_t bytes = encoding == 0 && n < dense ? dense : n;
    uint8_t *string = calloc(1, HEAD_BYTES + bytes + 1);
    if (!string)
        return;
    memcpy(string, "HYLL", 4);
    string[4] = encoding;
    if (n > 0)
        memcpy(string + HEAD_BYTES, body, n);
    if (n > 0 && bytes > n)
        memset(string + HEAD_BYTES + n, body[n - 1], bytes - n);
    read_any(string, HEAD_BYTES + bytes);
    free(string);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    read_any(data, n);
    read_behind_head(data, n, 0);
    read_behind_head(data, n, 1);
    return 0;
}
