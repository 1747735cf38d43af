#include "http/condition.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

struct judgement {
    cJSON *reasons;
    enum condition condition;
    bool failed;
};

static void say(struct judgement *j, enum condition c, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct judgement *j, enum condition c, const char *format, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof(text), format, more);
    va_end(more);
    cJSON *item = cJSON_CreateString(text);
    if (!item || !cJSON_AddItemToArray(j->reasons, item)) {
        cJSON_Delete(item);
        j->failed = true;
    }
    if (c > j->condition)
        j->condition = c;
}

static void judge_store(const struct request *r, struct judgement *j)
{
    struct store_state s;
    query_state(r->query, &s);
    if (r->draining)
        say(j, CONDITION_NOT_READY, "stopping");
    if (!s.restored)
        say(j, CONDITION_NOT_READY, "the filters are being restored");
    if (s.last_error == -ENOSPC || s.last_error == -EDQUOT)
        say(j, CONDITION_DEGRADED, "the disk is full: counting goes on in memory, nothing is kept");
    else if (s.last_error)
        say(j, CONDITION_DEGRADED, "the last commit failed: %s", err_name(s.last_error));
}

static int judge_inputs(const struct request *r, struct judgement *j)
{
    const char *name;
    for (unsigned i = 0; (name = query_input_name(r->query, i)); i++) {
        struct books books;
        struct input_status s;
        int64_t last_line_s;
        int rc = query_input(r->query, i, &books, &s, &last_line_s);
        if (rc < 0)
            return rc;
        if (s.gone)
            say(j, CONDITION_DEGRADED, "input %s: %s", name,
                s.kind && strcmp(s.kind, "files") == 0 ? "no file matches" : "closed");
        else if (s.globs_empty)
            say(j, CONDITION_DEGRADED, "input %s: %u of its globs without a match", name,
                s.globs_empty);
        if (s.unreadable)
            say(j, CONDITION_DEGRADED,
                "input %s: %u files cannot be read (add the user to the group adm?)", name,
                s.unreadable);
    }
    return 0;
}

static int judge_filters(const struct request *r, struct judgement *j)
{
    const struct metrics *m = query_metrics(r->query);
    for (unsigned i = 0; i < m->n; i++) {
        struct filter_state s;
        if (m->list[i].kind != METRIC_SEEN)
            continue;
        int rc = query_filter(r->query, i, &s);
        if (rc < 0)
            return rc;
        if (s.saturated)
            say(j, CONDITION_DEGRADED, "filter %s: journal_limit reached, it answers seen to all",
                m->list[i].name);
        else if (s.degraded)
            say(j, CONDITION_DEGRADED,
                "filter %s: memory_limit reached, its false-positive rate is %.3g (target %.3g)",
                m->list[i].name, s.rate, s.target);
    }
    return 0;
}

int condition_judge(const struct request *r, cJSON *reasons, enum condition *ret)
{
    struct judgement j = {.reasons = reasons, .condition = CONDITION_OK};
    judge_store(r, &j);
    int rc = judge_inputs(r, &j);
    if (rc == 0)
        rc = judge_filters(r, &j);
    if (rc < 0 || j.failed)
        return rc < 0 ? rc : -ENOMEM;
    *ret = j.condition;
    return 0;
}
