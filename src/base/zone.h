/* The one time zone of the process, through the system's tz database.
 * zone_set must be called once, before threads start (it sets TZ); the rest is safe from any
 * thread. Days of 23 and 25 hours come out right because a day is its first and its last instant.
 */
#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* name: "local", "UTC" or an IANA name. 0; -EINVAL with a sentence: no such zone in the tz
 * database. "local" is resolved; zone_name then tells the real name. */
int zone_set(const char *name, struct err *e);
/* Is there such a zone? Changes nothing. */
bool zone_known(const char *name);
const char *zone_name(void); /* the resolved IANA name, "UTC" before zone_set */

/* The calendar day of an instant, and the instants [first, last] that belong to the same day, which
 * a caller may cache. */
int32_t zone_day(int64_t time_s, int64_t *ret_first_s, int64_t *ret_last_s);
/* The first instant of a day. */
int64_t zone_day_start(int32_t day);
/* Seconds east of UTC at an instant; for RFC 3339 output. */
int32_t zone_offset_s(int64_t time_s);
/* The instant of a local date and time; a time that does not exist is moved forward by the gap. */
int64_t zone_instant(int32_t day, int32_t second_of_day);
/* "2026-11-24T00:00:00+01:00" (Z for UTC) into a buffer of 32 bytes; returns it. */
char *zone_rfc3339(char buffer[32], int64_t time_s);

#endif
