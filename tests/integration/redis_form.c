/* Distinct counts as Redis strings, for redis.t.
 *   redis_form write FILE FIRST END [FIRST END]...   keys FIRST to END - 1; several ranges are days
 *                                                    counted apart and merged
 *   redis_form read FILE [DENSE]                     what a string says; DENSE: written anew
 * Prints Redis's count, then our own estimate. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/hash.h"
#include "sketch/redis.h"

#define MAX_BYTES 70000

static int fail(const char *what, int r)
{
    fprintf(stderr, "redis_form: %s: %s\n", what, strerror(-r));
    return EXIT_FAILURE;
}

static int print_counts(const struct sk_distinct *d)
{
    struct sk_estimate e;
    uint64_t count;
    int r = sk_redis_estimate(d, &count);
    if (r < 0)
        return fail("estimate", r);
    sk_distinct_estimate(d, &e);
    printf("%llu %.0f\n", (unsigned long long) count, e.value);
    return EXIT_SUCCESS;
}

static int write_string(const char *path, const struct sk_distinct *d)
{
    static uint8_t string[SK_REDIS_BYTES];
    int r = sk_redis_write(d, string);
    FILE *f = r == 0 ? fopen(path, "wb") : NULL;
    if (!f)
        return fail(path, r);
    bool whole = fwrite(string, 1, sizeof string, f) == sizeof string;
    return fclose(f) == 0 && whole ? EXIT_SUCCESS : fail(path, 0);
}

static int write_ranges(const char *path, char **ranges, int n)
{
    struct sk_distinct *all, *day;
    if (sk_distinct_new(&all, SK_REDIS_PRECISION, 10000))
        return EXIT_FAILURE;
    for (int i = 0; i + 1 < n; i += 2) {
        uint64_t end = strtoull(ranges[i + 1], NULL, 10);
        if (sk_distinct_new(&day, SK_REDIS_PRECISION, 10000))
            return EXIT_FAILURE;
        for (uint64_t k = strtoull(ranges[i], NULL, 10); k < end; k++)
            sk_distinct_add(day, sk_mix(k + 1));
        if (sk_distinct_merge(all, day))
            return EXIT_FAILURE;
        sk_distinct_free(day);
    }
    int status = write_string(path, all);
    status = status == EXIT_SUCCESS ? print_counts(all) : status;
    sk_distinct_free(all);
    return status;
}

static int read_string(const char *path, const char *dense)
{
    static uint8_t string[MAX_BYTES];
    struct sk_distinct *d;
    FILE *f = fopen(path, "rb");
    if (!f)
        return fail(path, 0);
    size_t n = fread(string, 1, sizeof string, f);
    fclose(f);
    int r = sk_redis_read(&d, string, n);
    if (r < 0)
        return fail(path, r);
    int status = dense ? write_string(dense, d) : EXIT_SUCCESS;
    status = status == EXIT_SUCCESS ? print_counts(d) : status;
    sk_distinct_free(d);
    return status;
}

int main(int argc, char **argv)
{
    if (argc >= 5 && strcmp(argv[1], "write") == 0)
        return write_ranges(argv[2], argv + 3, argc - 3);
    if (argc >= 3 && strcmp(argv[1], "read") == 0)
        return read_string(argv[2], argc > 3 ? argv[3] : NULL);
    fprintf(stderr, "usage: redis_form write FILE FIRST END... | read FILE [DENSE]\n");
    return EXIT_FAILURE;
}
