/* Rotation families: access.log, access.log.1, access.log.2.gz and access-20261201.log are one,
 * told by their names alone. */
#include "input/follow_int.h"

#include <ctype.h>
#include <string.h>
#include <xxhash.h>

#include "base/num.h"

static size_t cut_ending(const char *s, size_t n, const char *const *endings)
{
    for (; *endings; endings++) {
        size_t m = strlen(*endings);
        if (n > m && memcmp(s + n - m, *endings, m) == 0)
            return n - m;
    }
    return n;
}

/* What counts up: ".1", "-20261201", ".2026-12-01", "-20261201-1796083200", ".old". */
static size_t cut_turn(const char *s, size_t n)
{
    static const char *const names[] = {".old", ".bak", ".save", ".orig", ".prev", NULL};
    n = cut_ending(s, n, names);
    size_t from = n;
    bool digit = false;
    while (from > 0 && strchr("0123456789-_.:", s[from - 1])) {
        from--;
        digit |= isdigit((unsigned char) s[from]);
    }
    while (from < n && isdigit((unsigned char) s[from]))
        from++; /* log2.1: the 2 is part of the name */
    for (size_t i = from; i < n && digit;) {
        if (isdigit((unsigned char) s[i]))
            return from ? from : n;
        i++;
    }
    return n;
}

/* access.log.2.gz, access.log-20261201, access-20261201.log -> access.log */
size_t family_name(const char *base, char to[NAME_MAX + 1])
{
    static const char *const packers[] = {".gz", ".zst", ".bz2", ".xz", ".Z", ".lz4", NULL};
    size_t n = strlen(base);
    n = cut_turn(base, cut_ending(base, n < NAME_MAX ? n : NAME_MAX, packers));
    size_t dot = n; /* where an ending of letters begins, behind its dot */
    while (dot > 0 && isalpha((unsigned char) base[dot - 1]))
        dot--;
    bool ending = dot > 1 && dot < n && base[dot - 1] == '.';
    size_t stem = ending ? cut_turn(base, dot - 1) : n;
    memcpy(to, base, stem);
    if (ending) {
        memcpy(to + stem, base + dot - 1, n - (dot - 1));
        stem += n - (dot - 1);
    }
    to[stem] = '\0';
    return stem;
}

const char *family_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

uint64_t family_of(const char *path)
{
    char name[NAME_MAX + 1];
    const char *base = family_base(path);
    size_t n = family_name(base, name);
    return XXH3_64bits_withSeed(name, n, XXH3_64bits(path, (size_t) (base - path)));
}

/* The number that logrotate gave: 3 of access.log.3.gz; 0 without one; -1: a date or something
 * else. */
static int64_t turn_number(const char *base)
{
    static const char *const packers[] = {".gz", ".zst", ".bz2", ".xz", ".Z", ".lz4", NULL};
    size_t n = cut_ending(base, strlen(base), packers), from = n;
    uint64_t number;
    if (cut_turn(base, n) == n)
        return 0;
    while (from > 0 && isdigit((unsigned char) base[from - 1]))
        from--;
    if (from == 0 || base[from - 1] != '.' || n - from > 4 ||
        !num_u63((struct slice){base + from, n - from}, &number))
        return -1;
    return (int64_t) number;
}

bool family_earlier(const char *a, const char *b)
{
    int64_t turn_a = turn_number(family_base(a)), turn_b = turn_number(family_base(b));
    return turn_a >= 0 && turn_b >= 0 && turn_a > turn_b;
}

bool family_rotated(const char *path)
{
    char name[NAME_MAX + 1];
    family_name(family_base(path), name);
    return strcmp(name, family_base(path)) != 0;
}
