#include "base/num.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define REAL_BYTES_MAX 127

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(struct slice s, size_t from)
{
    size_t at = from;
    while (at < s.n && is_digit(s.p[at]))
        at++;
    return at - from;
}

static bool digits_up_to(struct slice s, uint64_t most, uint64_t *ret)
{
    uint64_t value = 0;
    if (s.n == 0 || count_digits(s, 0) != s.n)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        uint64_t digit = (uint64_t) (s.p[i] - '0');
        if (value > (most - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

bool num_u63(struct slice s, uint64_t *ret)
{
    return digits_up_to(s, INT64_MAX, ret);
}

bool num_i64(struct slice s, int64_t *ret)
{
    bool minus = s.n > 0 && s.p[0] == '-';
    uint64_t size;
    if (minus)
        s = slice_sub(s, 1, s.n);
    if (!digits_up_to(s, (uint64_t) INT64_MAX + minus, &size))
        return false;
    *ret = minus ? (int64_t) -size : (int64_t) size;
    return true;
}

/* -?D+(.D+)?([eE][+-]?D+)? */
static bool is_real(struct slice s)
{
    size_t at = s.n > 0 && s.p[0] == '-', n = count_digits(s, at);
    if (n == 0)
        return false;
    at += n;
    if (at < s.n && s.p[at] == '.') {
        n = count_digits(s, ++at);
        if (n == 0)
            return false;
        at += n;
    }
    if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
        at++;
        at += at < s.n && (s.p[at] == '+' || s.p[at] == '-');
        n = count_digits(s, at);
        if (n == 0)
            return false;
        at += n;
    }
    return at == s.n;
}

bool num_real(struct slice s, double *ret)
{
    char text[REAL_BYTES_MAX + 1];
    if (s.n > REAL_BYTES_MAX || !is_real(s))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t) 0);
    if (!c)
        return false;
    double value = strtod_l(text, NULL, c);
    freelocale(c);
    if (!isfinite(value))
        return false;
    *ret = value;
    return true;
}

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit duration_units[] = {
    {"ms", INT64_C(1000000)},      {"s", INT64_C(1000000000)},     {"m", INT64_C(60000000000)},
    {"h", INT64_C(3600000000000)}, {"d", INT64_C(86400000000000)}, {NULL, 0},
};

static const struct unit size_units[] = {
    {"B", 1},  {"KiB", INT64_C(1) << 10}, {"MiB", INT64_C(1) << 20}, {"GiB", INT64_C(1) << 30},
    {NULL, 0},
};

static bool with_unit(struct slice s, const struct unit *units, int64_t *ret)
{
    size_t n = count_digits(s, 0);
    uint64_t count;
    if (!num_u63(slice_sub(s, 0, n), &count))
        return false;
    for (const struct unit *u = units; u->name; u++)
        if (slice_is(slice_sub(s, n, s.n), u->name)) {
            int64_t value;
            if (__builtin_mul_overflow(count, u->factor, &value))
                return false;
            *ret = value;
            return true;
        }
    return false;
}

bool num_duration_ns(struct slice s, int64_t *ret_ns)
{
    return with_unit(s, duration_units, ret_ns);
}

bool num_size_bytes(struct slice s, uint64_t *ret_bytes)
{
    int64_t bytes;
    if (!with_unit(s, size_units, &bytes))
        return false;
    *ret_bytes = (uint64_t) bytes;
    return true;
}

char *num_grouped(char buffer[32], uint64_t value)
{
    char digits[24];
    size_t n = (size_t) snprintf(digits, sizeof(digits), "%llu", (unsigned long long) value);
    char *to = buffer;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return buffer;
}
