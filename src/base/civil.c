#include "base/civil.h"

#include <stdio.h>

#define DAYS_PER_ERA 146097 /* 400 years */
#define DAYS_TO_1970 719468 /* from 0000-03-01, where the algorithms' years begin */
#define NS_PER_SECOND INT64_C(1000000000)

/* Years run from March, so that the leap day is the last one and months need no table. */

int32_t civil_to_day(int year, int month, int day)
{
    int64_t y = (int64_t) year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (int32_t) (era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970);
}

struct civil civil_from_day(int32_t day)
{
    int64_t z = (int64_t) day + DAYS_TO_1970;
    int64_t era = (z >= 0 ? z : z - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
    int day_of_era = (int) (z - era * DAYS_PER_ERA);
    int year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int from_march = (5 * day_of_year + 2) / 153;
    int month = from_march < 10 ? from_march + 3 : from_march - 9;
    return (struct civil){
        .year = (int) (year_of_era + era * 400) + (month <= 2),
        .month = month,
        .day = day_of_year - (153 * from_march + 2) / 5 + 1,
    };
}

int civil_days_in_month(int year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12)
        return 0;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

bool civil_valid(int year, int month, int day)
{
    return year >= 0 && year <= 9999 && day >= 1 && day <= civil_days_in_month(year, month);
}

int civil_weekday(int32_t day)
{
    return (int) ((((int64_t) day + 3) % 7 + 7) % 7); /* day 0 was a Thursday */
}

/* The Monday of week 1, which is the week that 4 January is in. */
static int32_t first_monday(int year)
{
    int32_t fourth = civil_to_day(year, 1, 4);
    return fourth - civil_weekday(fourth);
}

void civil_iso_week(int32_t day, int *ret_year, int *ret_week)
{
    /* A week belongs to the year of its Thursday. */
    int year = civil_from_day(day - civil_weekday(day) + 3).year;
    *ret_year = year;
    *ret_week = (day - first_monday(year)) / 7 + 1;
}

bool civil_week_monday(int year, int week, int32_t *ret_day)
{
    if (year < 0 || year > 9999 || week < 1 || week > 53)
        return false;
    int32_t day = first_monday(year) + 7 * (week - 1);
    if (day >= first_monday(year + 1))
        return false;
    *ret_day = day;
    return true;
}

char *civil_text(char buffer[16], int32_t day)
{
    struct civil c = civil_from_day(day);
    snprintf(buffer, 16, "%04d-%02u-%02u", c.year, (unsigned) c.month % 100,
             (unsigned) c.day % 100);
    return buffer;
}

/* n digits at s.p + at, or -1. */
static int digits_at(struct slice s, size_t at, size_t n)
{
    int value = 0;
    if (at + n > s.n)
        return -1;
    for (size_t i = at; i < at + n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -1;
        value = value * 10 + (s.p[i] - '0');
    }
    return value;
}

bool civil_parse(struct slice s, int32_t *ret_day)
{
    if (s.n != 10 || s.p[4] != '-' || s.p[7] != '-')
        return false;
    int year = digits_at(s, 0, 4), month = digits_at(s, 5, 2), day = digits_at(s, 8, 2);
    if (year < 0 || month < 0 || day < 0 || !civil_valid(year, month, day))
        return false;
    *ret_day = civil_to_day(year, month, day);
    return true;
}

/* hh:mm:ss */
static bool parse_time(struct slice s, int *ret_second)
{
    int hour = digits_at(s, 0, 2), minute = digits_at(s, 3, 2), second = digits_at(s, 6, 2);
    if (s.n != 8 || s.p[2] != ':' || s.p[5] != ':')
        return false;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    *ret_second = hour * 3600 + minute * 60 + (second == 60 ? 59 : second);
    return true;
}

/* .d to .ddddddddd in front of s; its length, 0: there is none, or -1. */
static int parse_fraction(struct slice s, int *ret_ns)
{
    int digits = 0, ns = 0;
    *ret_ns = 0;
    if (s.n == 0 || s.p[0] != '.')
        return 0;
    while ((size_t) digits + 1 < s.n && s.p[digits + 1] >= '0' && s.p[digits + 1] <= '9') {
        if (digits == 9)
            return -1;
        ns = ns * 10 + (s.p[++digits] - '0');
    }
    for (int i = digits; i < 9; i++)
        ns *= 10;
    *ret_ns = ns;
    return digits ? digits + 1 : -1;
}

/* Z or +hh:mm or -hh:mm */
static bool parse_offset(struct slice s, int *ret_second)
{
    if (slice_is(s, "Z") || slice_is(s, "z")) {
        *ret_second = 0;
        return true;
    }
    int hour = digits_at(s, 1, 2), minute = digits_at(s, 4, 2);
    if (s.n != 6 || (s.p[0] != '+' && s.p[0] != '-') || s.p[3] != ':')
        return false;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return false;
    *ret_second = (hour * 3600 + minute * 60) * (s.p[0] == '-' ? -1 : 1);
    return true;
}

bool civil_parse_rfc3339(struct slice s, int64_t *ret_ns)
{
    int32_t day;
    int second, ns, offset, n;
    if (s.n < 20 || !civil_parse(slice_sub(s, 0, 10), &day) || (s.p[10] != 'T' && s.p[10] != 't'))
        return false;
    if (!parse_time(slice_sub(s, 11, 19), &second))
        return false;
    n = parse_fraction(slice_sub(s, 19, s.n), &ns);
    if (n < 0 || !parse_offset(slice_sub(s, 19 + (size_t) n, s.n), &offset))
        return false;
    int64_t seconds = (int64_t) day * 86400 + second - offset;
    int64_t value;
    if (__builtin_mul_overflow(seconds, NS_PER_SECOND, &value) ||
        __builtin_add_overflow(value, ns, &value))
        return false;
    *ret_ns = value;
    return true;
}
