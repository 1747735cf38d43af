/* Calendar arithmetic without libc: days since 1970-01-01 in the proleptic Gregorian calendar
 * (method: H. Hinnant, chrono-compatible low-level date algorithms). Pure, any thread. */
#ifndef BASE_CIVIL_H
#define BASE_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

struct civil {
    int year;  /* 0..9999 where we accept it */
    int month; /* 1..12 */
    int day;   /* 1..31 */
};

int32_t civil_to_day(int year, int month, int day);
struct civil civil_from_day(int32_t day);
bool civil_valid(int year, int month, int day); /* year 0..9999, leap years checked */
int civil_weekday(int32_t day);                 /* 0 = Monday .. 6 = Sunday */
int civil_days_in_month(int year, int month);

/* ISO 8601 week: its year and number (1..53), and the Monday of a week. */
void civil_iso_week(int32_t day, int *ret_year, int *ret_week);
bool civil_week_monday(int year, int week, int32_t *ret_day); /* false: no such week */

/* "2026-11-24" and back. */
char *civil_text(char buffer[16], int32_t day);
bool civil_parse(struct slice s, int32_t *ret_day);

/* RFC 3339 with an offset or Z ("2026-11-24T12:00:00Z", fraction of 1..9 digits, second 60 is 59).
 */
bool civil_parse_rfc3339(struct slice s, int64_t *ret_ns);

#endif
