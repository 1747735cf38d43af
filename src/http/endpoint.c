#include "http/endpoint.h"

#include <stdio.h>

#include "base/nearest.h"

#define RK_ROW(name) &endpoint_##name,
static const struct endpoint *const table[] = {
#include "http/endpoints.inc"
};
#undef RK_ROW

const struct endpoint *endpoint_at(unsigned i)
{
    return i < ENDPOINTS ? table[i] : NULL;
}

int endpoint_find(struct slice path)
{
    for (int i = 0; i < ENDPOINTS; i++)
        if (slice_is(path, table[i]->path))
            return i;
    return -1;
}

const char *endpoint_nearest(struct slice path)
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    struct nearest n;
    nearest_begin(&n, path);
    for (int i = 0; i < ENDPOINTS; i++)
        nearest_try(&n, table[i]->path);
    return nearest_end(&n);
}

struct slice request_parameter(const struct request *r, const char *name)
{
    const struct target *t = r->target;
    for (unsigned i = 0; i < t->n_parameters; i++)
        if (slice_is(t->parameters[i].name, name))
            return t->parameters[i].value;
    return (struct slice){NULL, 0};
}

static const struct parameter *find_parameter(const struct endpoint *e, struct slice name)
{
    for (const struct parameter *p = e->parameters; p < e->parameters + ENDPOINT_PARAMETERS_MAX;
         p++)
        if (p->name && slice_is(name, p->name))
            return p;
    return NULL;
}

static bool is_repeated(const struct target *t, unsigned i)
{
    for (unsigned j = 0; j < i; j++)
        if (slice_equal(t->parameters[j].name, t->parameters[i].name))
            return true;
    return false;
}

/* "from, to, name" of an endpoint. */
static const char *list_parameters(const struct endpoint *e, char *buffer, size_t room)
{
    int n = 0;
    buffer[0] = '\0';
    for (const struct parameter *p = e->parameters; p < e->parameters + ENDPOINT_PARAMETERS_MAX;
         p++)
        if (p->name && n >= 0 && (size_t) n < room)
            n += snprintf(buffer + n, room - (size_t) n, "%s%s", n ? ", " : "", p->name);
    return n ? buffer : "no parameters";
}

static void say_unknown(const struct endpoint *e, struct slice name, const char *all,
                        struct err *err)
{
    struct nearest n;
    nearest_begin(&n, name);
    for (const struct parameter *p = e->parameters; p < e->parameters + ENDPOINT_PARAMETERS_MAX;
         p++)
        if (p->name)
            nearest_try(&n, p->name);
    const char *meant = nearest_end(&n);
    int shown = name.n > 100 ? 100 : (int) name.n;
    if (meant)
        err_set(err, 0, "unknown parameter \"%.*s\"; did you mean \"%s\"?", shown, name.p, meant);
    else
        err_set(err, 0, "unknown parameter \"%.*s\"; %s takes %s", shown, name.p, e->path, all);
}

/* What is wrong with parameter i: NULL, or what was expected, and the sentence. */
static const char *judge(const struct endpoint *e, const struct target *t, unsigned i,
                         const char *all, struct err *err)
{
    const struct target_parameter *given = &t->parameters[i];
    int shown = given->name.n > 100 ? 100 : (int) given->name.n;
    if (given->name.n == 0) {
        err_set(err, 0, "a parameter without a name");
        return all;
    }
    const struct parameter *known = find_parameter(e, given->name);
    if (!known && !e->key_fields) {
        say_unknown(e, given->name, all, err);
        return all;
    }
    const char *expected = known ? known->value : "a value";
    if (is_repeated(t, i)) {
        err_set(err, 0, "%.*s: given more than once", shown, given->name.p);
        return "one value";
    }
    if (given->value.n == 0) {
        err_set(err, 0, "%.*s: empty", shown, given->name.p);
        return expected;
    }
    if (known && !known->bytes && !target_is_text(given->value)) {
        err_set(err, 0, "%.*s: no text in UTF-8", shown, given->name.p);
        return expected;
    }
    return NULL;
}

bool endpoint_check(const struct endpoint *e, const struct target *t, struct reply *reply)
{
    struct reply_error errors[TARGET_PARAMETERS_MAX];
    struct err first = {""}, err;
    unsigned n = 0;
    char buffer[256];
    const char *all = list_parameters(e, buffer, sizeof(buffer));
    for (unsigned i = 0; i < t->n_parameters; i++) {
        const char *expected = judge(e, t, i, all, &err);
        if (!expected)
            continue;
        if (n == 0)
            first = err;
        errors[n++] = (struct reply_error){t->parameters[i].name, t->parameters[i].value, expected};
    }
    if (n)
        reply_problem_errors(reply, 400, first.text, errors, n);
    return n == 0;
}
