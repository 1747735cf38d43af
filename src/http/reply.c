#include "http/reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "store/answer.h"

#define QUOTE_BYTES_MAX 200

static const struct {
    unsigned status;
    const char *phrase;
} statuses[REPLY_STATUSES] = {
    {200, "OK"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {421, "Misdirected Request"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
};

void reply_init(struct reply *r)
{
    *r = (struct reply){.status = 200};
    buf_init(&r->body);
}

void reply_done(struct reply *r)
{
    buf_done(&r->body);
}

bool reply_lost(const struct reply *r)
{
    return buf_failed(&r->body) < 0;
}

int reply_status_index(unsigned status)
{
    for (int i = 0; i < REPLY_STATUSES; i++)
        if (statuses[i].status == status)
            return i;
    return -1;
}

unsigned reply_status_at(unsigned index)
{
    return statuses[index].status;
}

const char *reply_phrase(unsigned status)
{
    int i = reply_status_index(status);
    return i < 0 ? "" : statuses[i].phrase;
}

/* An endpoint may change its mind: what was said before is dropped. */
static void begin(struct reply *r, unsigned status, const char *type)
{
    buf_clear(&r->body);
    r->status = status;
    r->type = type;
    r->file_name[0] = '\0';
}

static void put_json(struct reply *r, cJSON *json)
{
    char *text = json ? answer_print(json) : NULL;
    if (text)
        buf_text(&r->body, text);
    else
        r->body.failed = true;
    buf_byte(&r->body, '\n');
    cJSON_free(text);
    cJSON_Delete(json);
}

void reply_json(struct reply *r, unsigned status, cJSON *json)
{
    begin(r, json ? status : 500, "application/json");
    put_json(r, json);
}

void reply_quote(struct buf *to, struct slice s)
{
    size_t n = 0;
    while (n < s.n && n < QUOTE_BYTES_MAX) {
        unsigned code;
        size_t step = utf8_next((struct slice){s.p + n, s.n - n}, &code);
        n += step ? step : 1;
    }
    utf8_escape(to, (struct slice){s.p, n});
    if (n < s.n)
        buf_text(to, "\xe2\x80\xa6");
}

static bool add_text(cJSON *to, const char *name, struct slice s)
{
    if (!s.p)
        return cJSON_AddNullToObject(to, name);
    struct buf b;
    buf_init(&b);
    reply_quote(&b, s);
    const char *text = buf_cstr(&b);
    bool ok = text && cJSON_AddStringToObject(to, name, text);
    buf_done(&b);
    return ok;
}

static bool add_error(cJSON *list, const struct reply_error *error)
{
    cJSON *o = cJSON_CreateObject();
    if (!o || !cJSON_AddItemToArray(list, o)) {
        cJSON_Delete(o);
        return false;
    }
    return add_text(o, "parameter", error->parameter) && add_text(o, "value", error->value) &&
           cJSON_AddStringToObject(o, "expected", error->expected);
}

static bool fill_problem(cJSON *o, unsigned status, const char *detail,
                         const struct reply_error *errors, unsigned n)
{
    struct buf b;
    buf_init(&b);
    utf8_escape(&b, slice_of(detail));
    const char *harmless = buf_cstr(&b);
    bool ok = o && harmless && cJSON_AddStringToObject(o, "type", "about:blank") &&
              cJSON_AddStringToObject(o, "title", reply_phrase(status)) &&
              answer_integer(o, "status", status) && cJSON_AddStringToObject(o, "detail", harmless);
    buf_done(&b);
    cJSON *list = ok ? cJSON_AddArrayToObject(o, "errors") : NULL;
    ok = list != NULL;
    for (unsigned i = 0; ok && i < n; i++)
        ok = add_error(list, &errors[i]);
    return ok;
}

void reply_problem_errors(struct reply *r, unsigned status, const char *detail,
                          const struct reply_error *errors, unsigned n)
{
    begin(r, status, "application/problem+json");
    cJSON *o = cJSON_CreateObject();
    if (!fill_problem(o, status, detail, errors, n)) {
        cJSON_Delete(o);
        o = NULL;
    }
    put_json(r, o);
}

void reply_problem(struct reply *r, unsigned status, const char *format, ...)
{
    char detail[ERR_TEXT_BYTES];
    va_list more;
    va_start(more, format);
    vsnprintf(detail, sizeof(detail), format, more);
    va_end(more);
    reply_problem_errors(r, status, detail, NULL, 0);
}

void reply_bad(struct reply *r, const char *parameter, struct slice value, const char *expected,
               const char *format, ...)
{
    char detail[ERR_TEXT_BYTES];
    va_list more;
    va_start(more, format);
    vsnprintf(detail, sizeof(detail), format, more);
    va_end(more);
    struct reply_error error = {slice_of(parameter), value, expected};
    reply_problem_errors(r, 400, detail, &error, 1);
}

void reply_failed(struct reply *r, int error)
{
    bool passing = error == -EAGAIN || error == -EBUSY || error == -ENOMEM;
    reply_problem(r, passing ? 503 : 500, "the store could not answer: %s", err_name(error));
    r->retry_after_s = passing ? 5 : 0;
}

/* ---- CSV ---- */

static void put_cell_text(struct buf *to, const char *text)
{
    bool runs = *text && strchr("=+-@\t\r", *text); /* CWE-1236 */
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted)
        buf_byte(to, '"');
    if (runs)
        buf_byte(to, '\'');
    for (const char *p = text; *p; p++) {
        if (*p == '"')
            buf_byte(to, '"');
        buf_byte(to, *p);
    }
    if (quoted)
        buf_byte(to, '"');
}

static void put_cell(struct buf *to, const cJSON *cell)
{
    if (!cell || cJSON_IsNull(cell))
        return;
    if (cJSON_IsString(cell)) {
        put_cell_text(to, cell->valuestring);
        return;
    }
    char *text = answer_print(cell);
    if (text)
        buf_text(to, text);
    else
        to->failed = true;
    cJSON_free(text);
}

/* Names come from the configuration, so only what every file system takes is let through. */
static void name_file(struct reply *r, const char *name, const char *range)
{
    snprintf(r->file_name, sizeof(r->file_name), "%.80s_%.60s.csv", name, range);
    for (char *p = r->file_name; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *p))
            *p = '_';
}

void reply_csv(struct reply *r, const cJSON *rows, const char *const *columns, unsigned n,
               const char *name, const char *range)
{
    begin(r, 200, "text/csv; charset=utf-8; header=present");
    name_file(r, name, range);
    for (unsigned i = 0; i < n; i++) {
        if (i)
            buf_byte(&r->body, ',');
        put_cell_text(&r->body, columns[i]);
    }
    buf_text(&r->body, "\r\n");
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        for (unsigned i = 0; i < n; i++) {
            if (i)
                buf_byte(&r->body, ',');
            put_cell(&r->body, cJSON_GetObjectItemCaseSensitive(row, columns[i]));
        }
        buf_text(&r->body, "\r\n");
    }
}
