#include "base/zone.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/file.h"

#define NAME_BYTES 128
#define DAY_S INT64_C(86400)
/* Some 8,200 years on either side of 1970: beyond, instants are taken for the nearest one inside.
 */
#define DAY_MAX 3000000

/* Written by zone_set only. */
static char zone[NAME_BYTES] = "UTC";
static bool is_utc = true;

static const char *database(void)
{
    const char *folder = getenv("TZDIR");
    return folder && *folder ? folder : "/usr/share/zoneinfo";
}

static bool is_safe_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n >= NAME_BYTES || name[0] == '/' || name[n - 1] == '/' || strstr(name, ".."))
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char) *p) && !strchr("_+-/.", *p))
            return false;
    return true;
}

static bool named_utc(const char *name)
{
    return strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0;
}

/* libc takes an unknown name, and a file of the folder that is no zone, for UTC without a word. */
static bool is_known(const char *name)
{
    char path[PATH_MAX];
    struct buf content;
    if (!is_safe_name(name))
        return false;
    if (named_utc(name))
        return true;
    int n = snprintf(path, sizeof(path), "%s/%s", database(), name);
    if (n < 0 || (size_t) n >= sizeof(path))
        return false;
    buf_init(&content);
    bool known = file_read(path, 1 << 20, &content, NULL) == 0 && content.n > 4 &&
                 memcmp(content.p, "TZif", 4) == 0;
    buf_done(&content);
    return known;
}

bool zone_known(const char *name)
{
    return is_known(name);
}

/* Cuts what is before the zone's name off a path into the tz database. */
static const char *name_in_path(const char *path)
{
    const char *at = strstr(path, "zoneinfo/");
    return at ? at + strlen("zoneinfo/") : path;
}

static bool keep_known(const char *name, char ret[NAME_BYTES])
{
    if (!is_known(name))
        return false;
    if (named_utc(name))
        name = "UTC";
    memcpy(ret, name, strlen(name) + 1);
    return true;
}

static bool from_link(char ret[NAME_BYTES])
{
    char target[PATH_MAX];
    ssize_t n = readlink("/etc/localtime", target, sizeof(target) - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    return keep_known(name_in_path(target), ret);
}

static bool from_file(char ret[NAME_BYTES])
{
    struct buf content;
    buf_init(&content);
    bool known = false;
    if (file_read("/etc/timezone", 4096, &content, NULL) == 0 && buf_cstr(&content)) {
        content.p[strcspn(content.p, " \t\r\n")] = '\0';
        known = keep_known(content.p, ret);
    }
    buf_done(&content);
    return known;
}

/* A rule instead of a name, as libc takes it in TZ: "UTC0", "<+03>-3", "CET-1CEST,M3.5.0,M10.5.0/3" (POSIX
 * 2008, 8.3). Only its beginning is looked at. */
static bool is_rule(const char *tz)
{
    size_t letters = *tz == '<' ? strcspn(tz, ">") + (strchr(tz, '>') != NULL)
                                : strspn(tz, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    const char *offset = tz + letters;
    offset += *offset == '+' || *offset == '-';
    return letters >= 3 && *offset >= '0' && *offset <= '9' && strlen(tz) < NAME_BYTES &&
           strpbrk(tz, " \t\n\r") == NULL;
}

/* As libc does: TZ, then /etc/localtime; the name in /etc/timezone counts where that is no link. */
static int resolve_local(char ret[NAME_BYTES], struct err *e)
{
    const char *tz = getenv("TZ");
    if (tz && *tz == ':')
        tz++;
    if (!tz || strcmp(tz, "/etc/localtime") == 0) {
        if (!from_link(ret) && !from_file(ret))
            memcpy(ret, "UTC", 4);
        return 0;
    }
    if (!*tz)
        tz = "UTC";
    if (keep_known(name_in_path(tz), ret))
        return 0;
    if (is_rule(tz)) {
        memcpy(ret, tz, strlen(tz) + 1);
        return 0;
    }
    return err_set(e, -EINVAL,
                   "timezone local: TZ=%.100s names no zone of the tz database (%s); set TZ or "
                   "timezone to a name such as Europe/Berlin",
                   tz, database());
}

int zone_set(const char *name, struct err *e)
{
    char resolved[NAME_BYTES];
    if (strcmp(name, "local") == 0) {
        int r = resolve_local(resolved, e);
        if (r < 0)
            return r;
    } else if (is_known(name)) {
        snprintf(resolved, sizeof(resolved), "%s", name);
    } else {
        return err_set(e, -EINVAL,
                       "timezone %.100s: no such zone in the tz database (%s); use local, UTC or a "
                       "name such as Europe/Berlin (is the package tzdata installed?)",
                       name, database());
    }
    if (setenv("TZ", resolved, 1) < 0)
        return err_set(e, -errno, "timezone %s: %s", resolved, err_name(-errno));
    tzset();
    memcpy(zone, resolved, sizeof(zone));
    is_utc = named_utc(resolved);
    return 0;
}

const char *zone_name(void)
{
    return zone;
}

static int64_t clamp(int64_t value, int64_t most)
{
    return value < -most ? -most : value > most ? most : value;
}

int32_t zone_offset_s(int64_t time_s)
{
    struct tm local;
    time_t t = (time_t) clamp(time_s, DAY_MAX * DAY_S);
    if (is_utc || !localtime_r(&t, &local))
        return 0;
    return (int32_t) local.tm_gmtoff;
}

static int32_t day_at(int64_t time_s)
{
    int64_t local = time_s + zone_offset_s(time_s);
    return (int32_t) ((local >= 0 ? local : local - (DAY_S - 1)) / DAY_S);
}

/* The end of the unbroken run of instants around t that have t's day: the first with step -1, the
 * last with step +1. Were the offset to stay as it is at t, edge would be it; a change of the
 * offset cuts or prolongs the day. */
static int64_t day_edge(int32_t day, int64_t t, int step)
{
    for (;;) {
        int32_t offset = zone_offset_s(t);
        int64_t edge = day * DAY_S + (step > 0 ? DAY_S - 1 : 0) - offset;
        if (zone_offset_s(edge) != offset) {
            int64_t outside = edge;
            edge = t;
            while (outside - step != edge) {
                int64_t middle = outside + (edge - outside) / 2;
                if (zone_offset_s(middle) == offset)
                    edge = middle;
                else
                    outside = middle;
            }
        }
        if (day_at(edge + step) != day)
            return edge;
        t = edge + step;
    }
}

int32_t zone_day(int64_t time_s, int64_t *ret_first_s, int64_t *ret_last_s)
{
    int64_t t = clamp(time_s, DAY_MAX * DAY_S);
    int32_t day = day_at(t);
    *ret_first_s = day_edge(day, t, -1);
    *ret_last_s = day_edge(day, t, 1);
    return day;
}

int64_t zone_instant(int32_t day, int32_t second_of_day)
{
    int64_t local = clamp(day, DAY_MAX) * DAY_S + second_of_day;
    /* The offsets a day before and after hold on either side of a change; the one before comes
     * first: of a time that is there twice it gives the earlier, and one in a gap it moves forward.
     */
    int64_t by_before = local - zone_offset_s(local - DAY_S);
    int64_t by_after = local - zone_offset_s(local + DAY_S);
    if (by_before + zone_offset_s(by_before) == local)
        return by_before;
    if (by_after + zone_offset_s(by_after) == local)
        return by_after;
    return by_before;
}

int64_t zone_day_start(int32_t day)
{
    int64_t t = zone_instant(day, 0);
    return day_edge(day_at(t), t, -1);
}

char *zone_rfc3339(char buffer[32], int64_t time_s)
{
    int64_t t = clamp(time_s, DAY_MAX * DAY_S);
    /* RFC 3339 has no seconds in offsets; local mean time had. */
    int32_t minutes = zone_offset_s(t) / 60;
    int64_t local = t + minutes * INT64_C(60);
    int32_t day = (int32_t) ((local >= 0 ? local : local - (DAY_S - 1)) / DAY_S);
    int second = (int) (local - day * DAY_S);
    struct civil c = civil_from_day(day);
    int n = snprintf(buffer, 32, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day,
                     second / 3600, second / 60 % 60, second % 60);
    if (is_utc)
        snprintf(buffer + n, 32 - (size_t) n, "Z");
    else
        snprintf(buffer + n, 32 - (size_t) n, "%c%02d:%02d", minutes < 0 ? '-' : '+',
                 abs(minutes) / 60, abs(minutes) % 60);
    return buffer;
}
