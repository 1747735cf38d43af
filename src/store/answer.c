#include "store/answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/civil.h"
#include "base/le.h"
#include "base/utf8.h"
#include "store/store.h"

/* cJSON keeps numbers as doubles, which are exact to 2^53 only. */
bool answer_integer(cJSON *to, const char *name, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, value);
    return cJSON_AddRawToObject(to, name, digits) != NULL;
}

bool answer_day(cJSON *to, const char *name, int32_t day)
{
    char text[16];
    if (day == STORE_DAY_NONE)
        return cJSON_AddNullToObject(to, name) != NULL;
    return cJSON_AddStringToObject(to, name, civil_text(text, day)) != NULL;
}

/* A count that came as a real number, already rounded. */
static bool add_count(cJSON *to, const char *name, double value)
{
    if (!(value > 0))
        return answer_integer(to, name, 0);
    return answer_integer(to, name, value < 0x1p63 ? (uint64_t) value : (uint64_t) INT64_MAX);
}

/* So many decimals as say something. */
static double decimals(double value, double unit)
{
    double rounded = round(value * unit) / unit;
    return isfinite(rounded) ? rounded : 0;
}

bool answer_estimate(cJSON *to, const struct sk_estimate *e)
{
    bool exact = e->estimator == SK_EXACT;
    return add_count(to, "estimate", round(e->value)) && add_count(to, "low", floor(e->low)) &&
           add_count(to, "high", ceil(e->high)) &&
           cJSON_AddNumberToObject(to, "confidence", SK_CONFIDENCE) &&
           cJSON_AddNumberToObject(to, "relative_standard_error",
                                   decimals(e->relative_standard_error, 1e6)) &&
           cJSON_AddBoolToObject(to, "exact", exact) &&
           cJSON_AddStringToObject(to, "estimator", sk_estimator_name(e->estimator));
}

bool answer_new(cJSON *to, const struct new_keys *n)
{
    if (!n->known)
        return cJSON_AddNullToObject(to, "new") && cJSON_AddNullToObject(to, "new_low") &&
               cJSON_AddNullToObject(to, "new_high") && cJSON_AddNullToObject(to, "new_since");
    return add_count(to, "new", round(n->estimate)) && add_count(to, "new_low", floor(n->low)) &&
           add_count(to, "new_high", ceil(n->high)) && answer_day(to, "new_since", n->since);
}

/* ---- rows of top-K ---- */

/* A key over SK_TOPK_KEY_BYTES was cut: its last field is shorter than its length says and is shown
 * as far as it goes. */
static void cut_field(const uint8_t *encoded, uint32_t n, unsigned i, struct buf *to)
{
    while (n >= 4) {
        uint32_t field = le_get32(encoded);
        encoded += 4;
        n -= 4;
        bool cut = field > n;
        if (cut)
            field = n;
        if (i-- == 0) {
            buf_put(to, encoded, field);
            return;
        }
        if (cut)
            return;
        encoded += field;
        n -= field;
    }
}

static void field_text(const struct metric *m, const struct topk_row *row, unsigned i,
                       struct buf *to)
{
    size_t before = to->n;
    if (!key_field_text(&m->key, row->key, row->key_bytes, i, to)) {
        to->n = before;
        cut_field(row->key, row->key_bytes, i, to);
    }
}

static bool add_escaped(cJSON *to, const char *name, const struct buf *raw, bool *ret_escaped)
{
    struct buf text;
    buf_init(&text);
    bool escaped = utf8_escape(&text, (struct slice){raw->p, raw->n});
    const char *p = buf_cstr(&text);
    bool fine = p && cJSON_AddStringToObject(to, name, p);
    buf_done(&text);
    *ret_escaped = *ret_escaped || escaped;
    return fine;
}

static bool add_key(cJSON *to, const struct metric *m, const struct topk_row *row,
                    bool *ret_escaped)
{
    struct buf raw;
    buf_init(&raw);
    for (unsigned i = 0; i < m->key.n; i++) {
        if (i)
            buf_byte(&raw, ' ');
        field_text(m, row, i, &raw);
    }
    bool fine = buf_failed(&raw) == 0 && add_escaped(to, "key", &raw, ret_escaped);
    buf_done(&raw);
    return fine;
}

static bool add_fields(cJSON *to, const struct metric *m, const struct topk_row *row,
                       bool *ret_escaped)
{
    for (unsigned i = 0; m->key.n > 1 && i < m->key.n; i++) {
        struct buf raw;
        buf_init(&raw);
        field_text(m, row, i, &raw);
        bool fine = buf_failed(&raw) == 0 &&
                    add_escaped(to, field_name(m->key.field[i]), &raw, ret_escaped);
        buf_done(&raw);
        if (!fine)
            return false;
    }
    return true;
}

static bool add_row(cJSON *to, const struct metric *m, const struct topk_answer *a, uint32_t i)
{
    const struct topk_row *row = &a->rows[i];
    bool escaped = false;
    double share = a->total ? (double) row->count / (double) a->total : 0;
    return answer_integer(to, "rank", (uint64_t) i + 1) && add_key(to, m, row, &escaped) &&
           add_fields(to, m, row, &escaped) &&
           (!escaped || cJSON_AddTrueToObject(to, "key_escaped")) &&
           answer_integer(to, "count", row->count) && answer_integer(to, "low", row->low) &&
           answer_integer(to, "high", row->high) &&
           cJSON_AddNumberToObject(to, "share", decimals(share, 1e6));
}

bool answer_top(cJSON *to, const struct metric *m, const struct topk_answer *a)
{
    cJSON *rows;
    if (!answer_integer(to, "total", a->total) ||
        !answer_integer(to, "error_bound", a->error_bound) ||
        !(rows = cJSON_AddArrayToObject(to, "rows")))
        return false;
    for (uint32_t i = 0; i < a->n_rows; i++) {
        cJSON *row = cJSON_CreateObject();
        if (!row || !cJSON_AddItemToArray(rows, row)) {
            cJSON_Delete(row);
            return false;
        }
        if (!add_row(row, m, a, i))
            return false;
    }
    return true;
}

/* ---- books and status ---- */

#define EARLIER_RULES "(earlier rules)"

static bool add_rejected(cJSON *to, const struct books *b)
{
    for (int i = REJECT_NONE + 1; i < REJECT_COUNT; i++)
        if (b->rejected[i] && !answer_integer(to, reject_name((enum reject) i), b->rejected[i]))
            return false;
    return true;
}

/* The rules' texts as JSON can have them; the caller frees so many as are returned. */
static unsigned rule_names(const struct plan *plan, struct buf names[static BOOKS_RULES_MAX],
                           bool *ret_failed)
{
    unsigned n = 0;
    const char *text;
    *ret_failed = false;
    while (plan && n < BOOKS_RULES_MAX && (text = plan_ignore_text(plan, n))) {
        buf_init(&names[n]);
        utf8_escape(&names[n], slice_of(text));
        *ret_failed = !buf_cstr(&names[n]) || *ret_failed;
        n++;
    }
    return n;
}

/* A member's name is unique: rules with the same text are one member. */
static bool add_named(cJSON *to, const struct books *b, struct buf *names, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t sum = 0;
        unsigned first = n;
        for (unsigned j = 0; j < n; j++)
            if (strcmp(buf_cstr(&names[i]), buf_cstr(&names[j])) == 0) {
                first = first == n ? j : first;
                sum += b->ignored[j];
            }
        if (first == i && !answer_integer(to, buf_cstr(&names[i]), sum))
            return false;
    }
    return true;
}

/* Counts of rules that the configuration no longer has keep the sum right. */
static bool add_ignored(cJSON *to, const struct books *b, const struct plan *plan)
{
    struct buf names[BOOKS_RULES_MAX];
    bool failed;
    uint64_t earlier = 0;
    unsigned n = rule_names(plan, names, &failed);
    bool added = !failed && add_named(to, b, names, n);
    for (unsigned i = 0; i < n; i++)
        buf_done(&names[i]);
    for (unsigned i = n; i < BOOKS_RULES_MAX; i++)
        earlier += b->ignored[i];
    return added && (earlier == 0 || answer_integer(to, EARLIER_RULES, earlier));
}

static bool add_skipped(cJSON *to, const struct books *b)
{
    for (int i = SKIP_NONE + 1; i < SKIP_COUNT; i++)
        if (!answer_integer(to, skip_name((enum skip) i), b->skipped[i]))
            return false;
    return true;
}

static bool fill_books(cJSON *to, const struct books *b, const struct plan *plan)
{
    cJSON *rejected, *ignored, *skipped;
    return answer_integer(to, "lines", b->lines) && answer_integer(to, "counted", b->counted) &&
           (rejected = cJSON_AddObjectToObject(to, "rejected")) && add_rejected(rejected, b) &&
           (ignored = cJSON_AddObjectToObject(to, "ignored")) && add_ignored(ignored, b, plan) &&
           (skipped = cJSON_AddObjectToObject(to, "skipped")) && add_skipped(skipped, b) &&
           answer_integer(to, "late", b->late) && answer_integer(to, "future", b->future);
}

cJSON *answer_books(const struct books *b, const struct plan *plan)
{
    cJSON *json = cJSON_CreateObject();
    if (json && !fill_books(json, b, plan)) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

cJSON *answer_status(const struct traffic *t)
{
    cJSON *json = cJSON_CreateObject();
    for (int i = 0; json && i < STATUS_SLOTS; i++) {
        char name[12];
        if (t->status[i] == 0)
            continue;
        snprintf(name, sizeof(name), "%03d", i);
        if (!answer_integer(json, i == STATUS_SLOTS - 1 ? "-" : name, t->status[i])) {
            cJSON_Delete(json);
            return NULL;
        }
    }
    return json;
}

char *answer_print(const cJSON *json)
{
    return cJSON_PrintUnformatted(json);
}
