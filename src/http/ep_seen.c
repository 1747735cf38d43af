/* Has this key been met? "No" is certain since the day that the filter has watched from, "yes" up
 * to its false-positive rate. */
#include "http/asked.h"

#include <errno.h>
#include <stdio.h>

#include "base/zone.h"
#include "store/answer.h"

/* What the request may name: name, key, and the fields of the key. */
static bool is_field(const struct key_def *key, struct slice name)
{
    for (unsigned i = 0; i < key->n; i++)
        if (slice_is(name, field_name(key->field[i])))
            return true;
    return false;
}

static void list_fields(const struct key_def *key, char *buffer, size_t room)
{
    int n = 0;
    buffer[0] = '\0';
    for (unsigned i = 0; i < key->n && n >= 0 && (size_t) n < room; i++)
        n += snprintf(buffer + n, room - (size_t) n, "%s%s", i ? ", " : "",
                      field_name(key->field[i]));
}

static bool names_are_right(const struct request *r, const struct metric *m)
{
    char fields[256];
    list_fields(&m->key, fields, sizeof(fields));
    for (unsigned i = 0; i < r->target->n_parameters; i++) {
        struct slice name = r->target->parameters[i].name;
        if (slice_is(name, "name") || slice_is(name, "key") || is_field(&m->key, name))
            continue;
        struct buf detail;
        buf_init(&detail);
        buf_text(&detail, "unknown parameter \"");
        reply_quote(&detail, name);
        buf_printf(&detail, "\"; the key of \"%s\" is %s", m->name, fields);
        const char *text = buf_cstr(&detail);
        struct reply_error error = {name, r->target->parameters[i].value, fields};
        reply_problem_errors(r->reply, 400, text ? text : "", &error, 1);
        buf_done(&detail);
        return false;
    }
    return true;
}

/* The texts of the key's fields in their order. */
static bool read_key(const struct request *r, const struct metric *m, struct slice *texts)
{
    struct slice key = request_parameter(r, "key");
    if (key.p && m->key.n > 1) {
        char fields[256];
        list_fields(&m->key, fields, sizeof(fields));
        reply_bad(r->reply, "key", key, fields,
                  "key: \"%s\" has a key of several fields; give each by its name: %s", m->name,
                  fields);
        return false;
    }
    for (unsigned i = 0; i < m->key.n; i++) {
        const char *name = field_name(m->key.field[i]);
        struct slice own = request_parameter(r, name);
        if (own.p && key.p) {
            reply_bad(r->reply, "key", key, "key or the field's name", "key and %s are the same",
                      name);
            return false;
        }
        texts[i] = own.p ? own : key;
        if (!texts[i].p) {
            reply_bad(r->reply, name, texts[i], "a value; - for none",
                      "%s is missing: \"%s\" needs it", name, m->name);
            return false;
        }
        if (m->key.field[i] == FIELD_CLIENT && slice_is(texts[i], "-")) {
            reply_bad(r->reply, own.p ? name : "key", texts[i], "an address or a name",
                      "a line without a client is in no filter that has it in its key");
            return false;
        }
    }
    return true;
}

static cJSON *make(const struct request *r, const struct metric *m, const struct seen_answer *s)
{
    cJSON *o = cJSON_CreateObject();
    if (o && cJSON_AddStringToObject(o, "name", m->name) && answer_day(o, "from", s->since) &&
        answer_day(o, "to", r->today) && cJSON_AddStringToObject(o, "timezone", zone_name()) &&
        cJSON_AddBoolToObject(o, "seen", s->seen) &&
        cJSON_AddStringToObject(o, "certainty", s->seen ? "probable" : "definite") &&
        cJSON_AddNumberToObject(o, "false_positive_rate", s->false_positive_rate) &&
        answer_day(o, "since", s->since) && answer_integer(o, "generation", s->generation) &&
        cJSON_AddArrayToObject(o, "warnings"))
        return o;
    cJSON_Delete(o);
    return NULL;
}

static void answer(struct request *r)
{
    unsigned series;
    struct slice texts[KEY_FIELDS_MAX];
    if (r->method == METHOD_DELETE) {
        reply_problem(r->reply, 501, "not in this version: keys cannot be forgotten yet");
        return;
    }
    if (!asked_series(r, METRIC_SEEN, &series))
        return;
    const struct metric *m = &query_metrics(r->query)->list[series];
    if (!names_are_right(r, m) || !read_key(r, m, texts))
        return;
    struct sk_hash hash;
    struct seen_answer s;
    int rc = plan_hash_key(r->options->plan, &m->key, texts, &hash);
    if (rc == -EINVAL) {
        reply_problem(r->reply, 400, "these values are no key of \"%s\"", m->name);
        return;
    }
    if (rc == 0)
        rc = query_seen(r->query, series, hash.lo, &s);
    if (rc < 0)
        reply_failed(r->reply, rc);
    else
        reply_json(r->reply, 200, make(r, m, &s));
}

const struct endpoint endpoint_seen = {
    .path = "/seen",
    .help = "whether a visitor has been here before",
    .methods = METHOD_GET | METHOD_DELETE,
    .guarded = true,
    .key_fields = true,
    .parameters = {ASKED_NAME,
                   {"key", "TEXT", "the key, where it has one field; else each field by its name",
                    true}},
    .answer = answer,
};
