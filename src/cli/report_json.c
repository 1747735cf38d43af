/* report --json: the object of the contract, whatever the number of threads. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/zone.h"
#include "cli/output.h"
#include "cli/report_int.h"
#include "store/answer.h"

#define TOP_DEFAULT 10

static unsigned rows_wanted(const struct report *r, const struct metric *m)
{
    unsigned long n = r->o->top ? r->o->top : TOP_DEFAULT;
    return n < m->k ? (unsigned) n : m->k;
}

/* {"visitors":{ESTIMATE},...} over [from, to] */
static int add_uniques(struct report *r, cJSON *to, int32_t from, int32_t last)
{
    const struct metrics *all = query_metrics(r->query);
    cJSON *object = cJSON_AddObjectToObject(to, "uniques");
    for (unsigned i = 0; object && i < all->n; i++) {
        struct distinct_answer answer;
        if (all->list[i].kind != METRIC_UNIQUES)
            continue;
        int n = query_distinct(r->query, i, from, last, &answer);
        if (n < 0)
            return n;
        cJSON *estimate = cJSON_AddObjectToObject(object, all->list[i].name);
        if (!estimate || !answer_estimate(estimate, &answer.estimate))
            return -ENOMEM;
    }
    return object ? 0 : -ENOMEM;
}

/* {"paths":{TOP},...} over [from, to] */
static int add_topk(struct report *r, cJSON *to, int32_t from, int32_t last)
{
    const struct metrics *all = query_metrics(r->query);
    cJSON *object = cJSON_AddObjectToObject(to, "topk");
    for (unsigned i = 0; object && i < all->n; i++) {
        const struct metric *m = &all->list[i];
        struct topk_answer answer;
        if (m->kind != METRIC_TOPK)
            continue;
        int n = query_topk(r->query, i, from, last, rows_wanted(r, m), &answer);
        if (n < 0)
            return n;
        cJSON *top = cJSON_AddObjectToObject(object, m->name);
        bool added = top && answer_top(top, m, &answer);
        topk_answer_done(&answer);
        if (!added)
            return -ENOMEM;
    }
    return object ? 0 : -ENOMEM;
}

static int add_day(struct report *r, cJSON *object, int32_t day)
{
    struct traffic traffic;
    int n = query_traffic(r->query, day, &traffic);
    if (n < 0)
        return n;
    if (!answer_day(object, "day", day) || !answer_integer(object, "hits", traffic.hits) ||
        !answer_integer(object, "bytes", traffic.bytes) ||
        !cJSON_AddItemToObject(object, "status", answer_status(&traffic)))
        return -ENOMEM;
    n = add_uniques(r, object, day, day);
    return n < 0 ? n : add_topk(r, object, day, day);
}

static bool add_text(cJSON *to, const char *name, const char *text)
{
    struct buf b;
    buf_init(&b);
    utf8_escape(&b, slice_of(text));
    bool added = buf_failed(&b) == 0 && cJSON_AddStringToObject(to, name, b.n ? buf_cstr(&b) : "");
    buf_done(&b);
    return added;
}

static bool add_warnings(const struct report *r, cJSON *to)
{
    cJSON *list = cJSON_AddArrayToObject(to, "warnings");
    for (unsigned i = 0; list && i < r->lines.config->n_warnings; i++)
        if (!cJSON_AddItemToArray(list, cJSON_CreateString(r->lines.config->warnings[i])))
            return false;
    for (unsigned i = 0; list && i < r->n_warnings; i++) {
        struct buf b;
        buf_init(&b);
        utf8_escape(&b, slice_of(r->warnings[i]));
        bool added = buf_failed(&b) == 0 &&
                     cJSON_AddItemToArray(list, cJSON_CreateString(b.n ? buf_cstr(&b) : ""));
        buf_done(&b);
        if (!added)
            return false;
    }
    return list != NULL;
}

static int add_head(struct report *r, cJSON *to, const int32_t *days, unsigned n)
{
    const char *zone = r->lines.day_of_log ? "log" : zone_name();
    bool added = cJSON_AddItemToObject(to, "books", answer_books(&r->books, r->plan));
    if (n > 0)
        added = added && answer_day(to, "from", days[0]) && answer_day(to, "to", days[n - 1]);
    else
        added = added && cJSON_AddNullToObject(to, "from") && cJSON_AddNullToObject(to, "to");
    added = added && add_text(to, "timezone", zone) &&
            add_text(to, "format", r->lines.format_name) && add_warnings(r, to);
    return added ? 0 : -ENOMEM;
}

/* ---- printing, day by day: a tree of all of it would take more memory than the store ---- */

/* Frees the object. Its braces are printed as wanted, so that pieces join to one object. */
static int print_piece(cJSON *piece, bool opens, bool closes)
{
    char *text = answer_print(piece);
    cJSON_Delete(piece);
    if (!text)
        return -ENOMEM;
    struct slice s = slice_of(text);
    output_write(text + !opens, s.n - !opens - !closes);
    cJSON_free(text);
    return 0;
}

static int print_head(struct report *r, const int32_t *days, unsigned n)
{
    cJSON *head = cJSON_CreateObject();
    int result = head ? add_head(r, head, days, n) : -ENOMEM;
    if (result < 0) {
        cJSON_Delete(head);
        return result;
    }
    return print_piece(head, true, false);
}

static int print_day(struct report *r, int32_t day)
{
    cJSON *object = cJSON_CreateObject();
    int result = object ? add_day(r, object, day) : -ENOMEM;
    if (result < 0) {
        cJSON_Delete(object);
        return result;
    }
    return print_piece(object, true, true);
}

/* The sums over all days, and the end of the answer. */
static int print_whole(struct report *r, int32_t from, int32_t last)
{
    cJSON *whole = cJSON_CreateObject();
    int result = whole ? add_uniques(r, whole, from, last) : -ENOMEM;
    if (result == 0)
        result = add_topk(r, whole, from, last);
    if (result < 0) {
        cJSON_Delete(whole);
        return result;
    }
    return print_piece(whole, false, true);
}

static int print_all(struct report *r, const int32_t *days, unsigned n)
{
    int result = print_head(r, days, n);
    output_write(",\"days\":[", 9);
    for (unsigned i = 0; result == 0 && i < n; i++) {
        output_write(",", i > 0);
        result = print_day(r, days[i]);
    }
    if (result < 0)
        return result;
    output_write("],", 2);
    result = print_whole(r, n > 0 ? days[0] : 0, n > 0 ? days[n - 1] : 0);
    output_write("\n", 1);
    return result;
}

int report_json(struct report *r)
{
    int32_t *days;
    unsigned n;
    int result = report_days(r, &days, &n);
    if (result < 0)
        return result;
    result = print_all(r, days, n);
    free(days);
    return result;
}
