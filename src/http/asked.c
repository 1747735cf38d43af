#include "http/asked.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/nearest.h"
#include "base/zone.h"
#include "store/answer.h"

#define MISSING_MAX 100
#define EXPECTED_DAY                                                                               \
    "today, yesterday, mon..sun, -Nd, -Nw, YYYY-MM-DD, YYYY-MM, YYYY-Www, an RFC 3339 time, "      \
    "Unix seconds or milliseconds"
#define EXPECTED_SPAN "a day or FROM..TO, such as mon, 2026-11, mon..wed"
#define EXPECTED_RANGE "today, yesterday, 7d, 28d, 30d, 90d, week, month, year or all"

/* ---- series ---- */

static void refuse_name(const struct request *r, enum metric_kind kind, struct slice name)
{
    const struct metrics *m = query_metrics(r->query);
    struct nearest near;
    struct buf all, detail;
    buf_init(&all);
    buf_init(&detail);
    nearest_begin(&near, name);
    for (unsigned i = 0; i < m->n; i++) {
        if (m->list[i].kind != kind)
            continue;
        nearest_try(&near, m->list[i].name);
        buf_printf(&all, "%s%s", all.n ? ", " : "", m->list[i].name);
    }
    const char *meant = nearest_end(&near);
    buf_text(&detail, "there is no series \"");
    reply_quote(&detail, name);
    buf_printf(&detail, "\" of kind %s", metric_kind_name(kind));
    if (meant)
        buf_printf(&detail, "; did you mean \"%s\"?", meant);
    const char *names = buf_cstr(&all), *text = buf_cstr(&detail);
    struct reply_error error = {SLICE_LITERAL("name"), name, names ? names : ""};
    reply_problem_errors(r->reply, 404, text ? text : "", &error, 1);
    buf_done(&all);
    buf_done(&detail);
}

bool asked_series(const struct request *r, enum metric_kind kind, unsigned *ret)
{
    const struct metrics *m = query_metrics(r->query);
    struct slice name = request_parameter(r, "name");
    int first = -1;
    for (unsigned i = 0; i < m->n; i++) {
        if (m->list[i].kind != kind)
            continue;
        first = first < 0 ? (int) i : first;
        if (!name.p || slice_is(name, m->list[i].name)) {
            *ret = i;
            return true;
        }
    }
    if (first < 0)
        reply_problem(r->reply, 404, "the configuration has no %s: nothing is counted that way",
                      metric_kind_name(kind));
    else
        refuse_name(r, kind, name);
    return false;
}

/* ---- days ---- */

static struct days_context days_context(const struct request *r)
{
    return (struct days_context){
        .today = r->today,
        .oldest_kept = query_oldest_kept(r->query),
        .first_stored = query_first_day(r->query),
    };
}

static bool read_days(const struct request *r, struct asked *a)
{
    struct slice from = request_parameter(r, "from"), to = request_parameter(r, "to");
    struct slice range = request_parameter(r, "range");
    struct days_context context = days_context(r);
    const char *parameter = "from";
    struct err e = {""};
    int rc = days_parse(from, to, range, &context, &a->days, &parameter, &e);
    if (rc < 0) {
        if (rc == -ERANGE)
            parameter = "from";
        bool is_range = strcmp(parameter, "range") == 0;
        const char *expected = rc == -ERANGE ? "a day not after to"
                               : is_range    ? EXPECTED_RANGE
                                             : EXPECTED_DAY;
        reply_bad(r->reply, parameter, request_parameter(r, parameter), expected, "%s", e.text);
        return false;
    }
    a->asked_from = a->days.from;
    if (a->days.clipped) { /* what was asked, before retention cut it */
        struct days whole;
        context.oldest_kept = civil_to_day(0, 1, 1);
        if (days_parse(from, to, range, &context, &whole, &parameter, &e) == 0)
            a->asked_from = whole.from;
    }
    return true;
}

static bool read_span(const struct request *r, const char *parameter, struct days *ret)
{
    struct slice value = request_parameter(r, parameter);
    struct days_context context = days_context(r);
    struct err e = {""};
    if (!value.p)
        reply_bad(r->reply, parameter, value, EXPECTED_SPAN, "%s is missing", parameter);
    else if (days_parse_span(value, &context, ret, &e) < 0)
        reply_bad(r->reply, parameter, value, EXPECTED_SPAN, "%s: %s", parameter, e.text);
    else
        return true;
    return false;
}

bool asked_warn(struct asked *a, const char *format, ...)
{
    char text[ERR_TEXT_BYTES];
    int n = a->about ? snprintf(text, sizeof(text), "%s: ", a->about) : 0;
    va_list more;
    va_start(more, format);
    vsnprintf(text + n, sizeof(text) - (size_t) n, format, more);
    va_end(more);
    cJSON *item = cJSON_CreateString(text);
    if (item && cJSON_AddItemToArray(a->warnings, item))
        return true;
    cJSON_Delete(item);
    return false;
}

static bool warn_days(const struct request *r, struct asked *a)
{
    char first[16], second[16];
    int32_t oldest = query_oldest_kept(r->query);
    bool ok = true;
    if (a->days.outside && a->days.from > r->today)
        ok = asked_warn(a, "from (%s) is after today (%s): nothing has been counted yet",
                        civil_text(first, a->days.from), civil_text(second, r->today));
    else if (a->days.outside)
        ok = asked_warn(a, "the range ends before %s, the oldest day kept (retention)",
                        civil_text(first, oldest));
    if (ok && a->days.clamped)
        ok =
            asked_warn(a, "to is in the future; today (%s) was taken", civil_text(first, r->today));
    if (ok && a->days.clipped)
        ok = asked_warn(a, "days before %s are no longer kept (retention)",
                        civil_text(first, oldest));
    return ok;
}

/* A series that began after the traffic did has had another definition, or was added later. */
static bool warn_since(const struct request *r, struct asked *a)
{
    char first[16];
    int32_t begun = query_first_day(r->query);
    if (a->since == STORE_DAY_NONE || begun == STORE_DAY_NONE || begun >= a->since ||
        a->days.outside || a->days.from >= a->since || a->days.to < begun)
        return true;
    return asked_warn(a, "%s has been counted in this form since %s; earlier days are missing",
                      a->metric->name, civil_text(first, a->since));
}

static void begin(const struct request *r, struct asked *a)
{
    a->metric = &query_metrics(r->query)->list[a->series];
    a->since = query_series_since(r->query, a->series);
    a->warnings = cJSON_CreateArray();
}

bool asked_read(const struct request *r, enum metric_kind kind, struct asked *ret)
{
    struct asked a = {.warnings = NULL};
    if (!asked_series(r, kind, &a.series) || !read_days(r, &a))
        return false;
    begin(r, &a);
    if (!a.warnings || !warn_days(r, &a) || !warn_since(r, &a)) {
        asked_done(&a);
        reply_failed(r->reply, -ENOMEM);
        return false;
    }
    *ret = a;
    return true;
}

/* From the first day of either to the last. */
static struct days cover(const struct days span[2])
{
    struct days all = span[0];
    all.from = span[1].from < all.from ? span[1].from : all.from;
    all.to = span[1].to > all.to ? span[1].to : all.to;
    all.outside = all.outside && span[1].outside;
    return all;
}

bool asked_spans(const struct request *r, enum metric_kind kind, const char *const parameter[2],
                 struct days ret_span[2], struct asked *ret)
{
    struct asked a = {.warnings = NULL};
    struct days span[2];
    if (!asked_series(r, kind, &a.series) || !read_span(r, parameter[0], &span[0]) ||
        !read_span(r, parameter[1], &span[1]))
        return false;
    begin(r, &a);
    bool ok = a.warnings != NULL;
    for (int i = 0; ok && i < 2; i++) {
        a.days = span[i];
        a.about = parameter[i];
        ok = warn_days(r, &a);
    }
    a.about = NULL;
    a.days = cover(span);
    if (!ok || !warn_since(r, &a)) {
        asked_done(&a);
        reply_failed(r->reply, -ENOMEM);
        return false;
    }
    ret_span[0] = span[0];
    ret_span[1] = span[1];
    *ret = a;
    return true;
}

void asked_done(struct asked *a)
{
    cJSON_Delete(a->warnings);
    a->warnings = NULL;
}

/* ---- other parameters ---- */

bool asked_flag(const struct request *r, const char *name, const char *word, bool *ret)
{
    struct slice value = request_parameter(r, name);
    if (value.p && !slice_is(value, word)) {
        reply_bad(r->reply, name, value, word, "%s: only \"%s\" is known", name, word);
        return false;
    }
    *ret = value.p != NULL;
    return true;
}

bool asked_csv(const struct request *r, bool *ret)
{
    struct slice value = request_parameter(r, "format");
    if (value.p && !slice_is(value, "json") && !slice_is(value, "csv")) {
        reply_bad(r->reply, "format", value, "json or csv", "format: json or csv was expected");
        return false;
    }
    *ret = slice_is(value, "csv");
    return true;
}

/* ---- the answer ---- */

cJSON *asked_envelope(const struct asked *a)
{
    cJSON *o = cJSON_CreateObject();
    if (o && cJSON_AddStringToObject(o, "name", a->metric->name) &&
        answer_day(o, "from", a->days.from) && answer_day(o, "to", a->days.to) &&
        cJSON_AddStringToObject(o, "timezone", zone_name()))
        return o;
    cJSON_Delete(o);
    return NULL;
}

bool asked_finish(struct asked *a, cJSON *reply)
{
    if (!cJSON_AddItemToObject(reply, "warnings", a->warnings))
        return false;
    a->warnings = NULL;
    return true;
}

uint64_t asked_day_count(const struct asked *a)
{
    int64_t n = (int64_t) a->days.to - a->days.from + 1;
    return n > 0 ? (uint64_t) n : 0;
}

char *asked_range_text(char buffer[40], const struct asked *a)
{
    char from[16], to[16];
    snprintf(buffer, 40, "%s_%s", civil_text(from, a->days.from), civil_text(to, a->days.to));
    return buffer;
}

int asked_days(const struct request *r, const struct asked *a, int series, int32_t **ret,
               unsigned *ret_n)
{
    int32_t from = a->days.from, to = a->days.to;
    int n = from > to ? 0 : query_days(r->query, series, from, to, NULL, 0);
    if (n < 0)
        return n;
    unsigned room = (unsigned) n + 1; /* a day may begin between the two questions */
    int32_t *days = calloc(room, sizeof(*days));
    if (!days)
        return -ENOMEM;
    n = from > to ? 0 : query_days(r->query, series, from, to, days, room);
    if (n < 0) {
        free(days);
        return n;
    }
    *ret = days;
    *ret_n = (unsigned) n < room ? (unsigned) n : room;
    return 0;
}

static bool add_gap(struct asked *a, cJSON *list, int32_t first, int32_t last)
{
    char one[16], two[16], text[40];
    if (cJSON_GetArraySize(list) == MISSING_MAX) {
        bool said = a->missing_cut;
        a->missing_cut = true;
        return said || asked_warn(a, "days_missing is cut after %d entries", MISSING_MAX);
    }
    if (first == last)
        civil_text(text, first);
    else
        snprintf(text, sizeof(text), "%s..%s", civil_text(one, first), civil_text(two, last));
    cJSON *item = cJSON_CreateString(text);
    if (item && cJSON_AddItemToArray(list, item))
        return true;
    cJSON_Delete(item);
    return false;
}

/* known: ascending days that are not missing. */
static bool add_gaps(struct asked *a, const int32_t *known, unsigned n, cJSON *list)
{
    int32_t next = a->asked_from;
    bool ok = true;
    for (unsigned i = 0; ok && i < n; i++) {
        if (known[i] > next)
            ok = add_gap(a, list, next, known[i] - 1);
        if (known[i] >= next)
            next = known[i] + 1;
    }
    if (ok && next <= a->days.to)
        ok = add_gap(a, list, next, a->days.to);
    return ok;
}

static int by_day(const void *a, const void *b)
{
    int32_t x = *(const int32_t *) a, y = *(const int32_t *) b;
    return (x > y) - (x < y);
}

int asked_missing(const struct request *r, struct asked *a, cJSON *to)
{
    int32_t *own = NULL, *traffic = NULL;
    unsigned n_own, n_traffic, n = 0;
    int rc = asked_days(r, a, (int) a->series, &own, &n_own);
    if (rc == 0)
        rc = asked_days(r, a, QUERY_TRAFFIC, &traffic, &n_traffic);
    int32_t *known = rc == 0 ? calloc((size_t) n_own + n_traffic + 1, sizeof(*known)) : NULL;
    if (known) {
        for (unsigned i = 0; i < n_traffic; i++)
            if (a->since != STORE_DAY_NONE && traffic[i] >= a->since)
                known[n++] = traffic[i];
        for (unsigned i = 0; i < n_own; i++)
            known[n++] = own[i];
        qsort(known, n, sizeof(*known), by_day);
        cJSON *list = cJSON_AddArrayToObject(to, "days_missing");
        rc = list && add_gaps(a, known, n, list) ? 0 : -ENOMEM;
    } else if (rc == 0) {
        rc = -ENOMEM;
    }
    free(known);
    free(own);
    free(traffic);
    return rc;
}
