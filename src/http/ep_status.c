/* All the books: every line read has a place in them. */
#include "http/condition.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "base/zone.h"
#include "http/process.h"
#include "store/answer.h"

static cJSON *add_object(cJSON *array)
{
    cJSON *o = cJSON_CreateObject();
    if (o && cJSON_AddItemToArray(array, o))
        return o;
    cJSON_Delete(o);
    return NULL;
}

/* Text from outside, which may be no UTF-8. */
static bool add_escaped(cJSON *o, const char *name, const char *text)
{
    struct buf b;
    buf_init(&b);
    utf8_escape(&b, slice_of(text));
    const char *harmless = buf_cstr(&b);
    bool ok = harmless && cJSON_AddStringToObject(o, name, harmless);
    buf_done(&b);
    return ok;
}

static bool add_time(cJSON *o, const char *name, int64_t time_s)
{
    char text[32];
    if (!time_s)
        return cJSON_AddNullToObject(o, name);
    return cJSON_AddStringToObject(o, name, zone_rfc3339(text, time_s));
}

static bool add_files(cJSON *array, const struct input_file_status *files, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        cJSON *o = add_object(array);
        if (!o || !add_escaped(o, "path", files[i].path) ||
            !answer_integer(o, "offset", files[i].offset) ||
            !answer_integer(o, "size", files[i].size) ||
            !answer_integer(o, "lag_bytes", files[i].lag_bytes))
            return false;
    }
    return true;
}

static bool add_samples(cJSON *array, const struct input_status *s)
{
    for (unsigned i = 0; i < s->n_samples && i < REJECTED_SAMPLES; i++) {
        const struct rejected_sample *sample = &s->samples[i];
        cJSON *o = add_object(array);
        if (!o || !add_escaped(o, "line", sample->line) ||
            !cJSON_AddStringToObject(o, "reason", sample->reason ? sample->reason : "") ||
            !cJSON_AddStringToObject(o, "field", sample->field ? sample->field : "") ||
            !answer_integer(o, "column", sample->column))
            return false;
    }
    return true;
}

static bool add_counts(cJSON *o, const struct input_status *s)
{
    return answer_integer(o, "received", s->received) &&
           answer_integer(o, "kernel_drops", s->kernel_drops) &&
           answer_integer(o, "ring_drops", s->ring_drops) &&
           answer_integer(o, "disallowed", s->disallowed) &&
           answer_integer(o, "truncated", s->truncated) && answer_integer(o, "resets", s->resets) &&
           answer_integer(o, "copies", s->copies) && answer_integer(o, "retired", s->retired) &&
           answer_integer(o, "lost_files", s->lost_files) &&
           answer_integer(o, "globs_empty", s->globs_empty) &&
           answer_integer(o, "unreadable", s->unreadable) &&
           cJSON_AddBoolToObject(o, "catching_up", s->catching_up) &&
           cJSON_AddBoolToObject(o, "gone", s->gone);
}

static bool add_books(cJSON *o, const struct books *b, const struct plan *plan)
{
    cJSON *books = answer_books(b, plan);
    if (books && cJSON_AddItemToObject(o, "books", books))
        return true;
    cJSON_Delete(books);
    return false;
}

static int add_input(const struct request *r, unsigned i, cJSON *array, bool *balanced)
{
    struct books books;
    struct input_status s;
    struct input_file_status *files = NULL;
    unsigned n_files = 0;
    int64_t last_line_s;
    int rc = query_input(r->query, i, &books, &s, &last_line_s);
    if (rc == 0)
        rc = query_input_files(r->query, i, &files, &n_files);
    if (rc < 0)
        return rc;
    *balanced &= books_balanced(&books);
    cJSON *o = add_object(array), *list = NULL, *samples = NULL;
    bool ok = o && cJSON_AddStringToObject(o, "name", query_input_name(r->query, i)) &&
              cJSON_AddStringToObject(o, "kind", s.kind ? s.kind : "files") &&
              add_books(o, &books, r->options->plan) && answer_integer(o, "bytes", books.bytes) &&
              answer_integer(o, "lag_bytes", s.lag_bytes) &&
              add_time(o, "last_line", last_line_s) &&
              (list = cJSON_AddArrayToObject(o, "files")) && add_files(list, files, n_files) &&
              add_counts(o, &s) && (samples = cJSON_AddArrayToObject(o, "rejected_samples")) &&
              add_samples(samples, &s);
    free(files);
    return ok ? 0 : -ENOMEM;
}

static double seconds(int64_t ns)
{
    return (double) ns / (double) NS_PER_S;
}

static bool add_store(cJSON *o, const struct store_state *s)
{
    int64_t age_ns = clock_monotonic_ns() - s->last_commit_ns;
    return answer_integer(o, "commits", s->commits) &&
           answer_integer(o, "commit_failures", s->commit_failures) &&
           (s->last_commit_ns
                ? cJSON_AddNumberToObject(o, "last_commit_age_seconds", seconds(age_ns))
                : cJSON_AddNullToObject(o, "last_commit_age_seconds")) &&
           cJSON_AddNumberToObject(o, "commit_seconds", seconds(s->commit_duration_ns)) &&
           answer_integer(o, "database_bytes", s->database_bytes) &&
           (s->last_error ? cJSON_AddStringToObject(o, "last_error", err_name(s->last_error))
                          : cJSON_AddNullToObject(o, "last_error")) &&
           answer_integer(o, "days_open", s->days_open) &&
           cJSON_AddNumberToObject(o, "lock_held_max_seconds",
                                   seconds((int64_t) s->lock_held_max_ns));
}

static bool add_memory(const struct request *r, cJSON *o, const struct store_state *s)
{
    struct process p;
    process_read(&p);
    return answer_integer(o, "sketches_bytes", s->memory_bytes) &&
           answer_integer(o, "query_cache_bytes", r->options->query_cache_bytes) &&
           answer_integer(o, "bound_bytes", r->memory_bound_bytes) &&
           answer_integer(o, "rss_bytes", p.resident_bytes);
}

static bool add_warnings(const struct request *r, cJSON *warnings)
{
    for (unsigned i = 0; i < r->options->n_warnings; i++) {
        struct buf b;
        buf_init(&b);
        utf8_escape(&b, slice_of(r->options->warnings[i]));
        const char *text = buf_cstr(&b);
        cJSON *item = text ? cJSON_CreateString(text) : NULL;
        buf_done(&b);
        if (!item || !cJSON_AddItemToArray(warnings, item)) {
            cJSON_Delete(item);
            return false;
        }
    }
    return true;
}

static int fill(const struct request *r, cJSON *o)
{
    struct store_state s;
    enum condition condition;
    bool balanced = true;
    query_state(r->query, &s);
    cJSON *warnings = cJSON_AddArrayToObject(o, "warnings");
    cJSON *inputs = cJSON_AddArrayToObject(o, "inputs");
    if (!warnings || !inputs || !add_warnings(r, warnings))
        return -ENOMEM;
    int rc = condition_judge(r, warnings, &condition);
    for (unsigned i = 0; rc == 0 && query_input_name(r->query, i); i++)
        rc = add_input(r, i, inputs, &balanced);
    if (rc < 0)
        return rc;
    cJSON *store = cJSON_AddObjectToObject(o, "store"), *memory;
    return store && add_store(store, &s) && (memory = cJSON_AddObjectToObject(o, "memory")) &&
                   add_memory(r, memory, &s) && cJSON_AddBoolToObject(o, "balanced", balanced)
               ? 0
               : -ENOMEM;
}

static void answer(struct request *r)
{
    cJSON *o = cJSON_CreateObject();
    int rc = o ? fill(r, o) : -ENOMEM;
    if (rc == 0) {
        reply_json(r->reply, 200, o);
        return;
    }
    cJSON_Delete(o);
    reply_failed(r->reply, rc);
}

const struct endpoint endpoint_status = {
    .path = "/status",
    .help = "inputs with their books, store, memory, warnings",
    .methods = METHOD_GET,
    .guarded = true,
    .answer = answer,
};
