#include "parse/format.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "parse/format_int.h"

#define RK_ROW(name) extern const struct preset preset_##name;
#include "parse/presets.inc"
#undef RK_ROW

static const struct preset *const presets[] = {
#define RK_ROW(name) &preset_##name,
#include "parse/presets.inc"
#undef RK_ROW
    NULL,
};

#define PRESETS (sizeof presets / sizeof presets[0])

static char names[PRESETS * 32];
static pthread_once_t names_made = PTHREAD_ONCE_INIT;

const struct preset *preset_at(size_t i)
{
    return i < PRESETS ? presets[i] : NULL;
}

static void make_names(void)
{
    size_t at = 0;
    for (size_t i = 0; presets[i]; i++) {
        size_t n = strlen(presets[i]->name);
        if (at + n + 2 > sizeof names)
            return;
        if (i > 0)
            names[at++] = ' ';
        memcpy(names + at, presets[i]->name, n);
        at += n;
    }
}

const char *preset_names(void)
{
    pthread_once(&names_made, make_names);
    return names;
}

static const struct preset *preset_find(struct slice name)
{
    for (size_t i = 0; presets[i]; i++)
        if (slice_is(name, presets[i]->name))
            return presets[i];
    return NULL;
}

static int no_such_preset(struct slice name, struct err *e)
{
    return err_set(
        e, -EINVAL,
        "format '%.*s': no such preset; expected auto, nginx:TEXT, apache:TEXT or one of: "
        "%s",
        name.n < 64 ? (int) name.n : 64, name.p, preset_names());
}

int format_spec_parse(struct slice s, struct format_spec *ret, struct err *e)
{
    struct format_spec spec = {FORMAT_PRESET, NULL};
    if (slice_starts(s, SLICE_LITERAL("nginx:"))) {
        spec.kind = FORMAT_NGINX;
        s = slice_sub(s, 6, s.n);
    } else if (slice_starts(s, SLICE_LITERAL("apache:"))) {
        spec.kind = FORMAT_APACHE;
        s = slice_sub(s, 7, s.n);
    } else if (slice_is(s, "auto")) {
        spec.kind = FORMAT_AUTO;
    } else if (!preset_find(s)) {
        return no_such_preset(s, e);
    }
    spec.text = strndup(s.p, s.n);
    if (!spec.text)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = spec;
    return 0;
}

/* escape: of a preset's server; NULL: the format string says it. */
static int compile(struct format **ret, enum syntax syntax, struct slice text,
                   const enum escape *escape, struct err *e)
{
    struct format *f = NULL;
    struct builder *b = calloc(1, sizeof *b);
    if (!b)
        return err_set(e, -ENOMEM, "out of memory");
    b->e = e;
    int r = syntax == SYNTAX_NGINX ? compile_nginx(b, text) : compile_apache(b, text);
    if (escape)
        b->escape = *escape;
    if (r == 0)
        r = builder_format(b, &f);
    free(b);
    if (r == 0)
        *ret = f;
    return r;
}

static int name_it(struct format *f, const char *head, const char *text)
{
    size_t n = strlen(head), m = strlen(text);
    f->name = malloc(n + m + 1);
    if (!f->name)
        return -ENOMEM;
    memcpy(f->name, head, n);
    memcpy(f->name + n, text, m + 1);
    return 0;
}

static int give_name(struct format **ret, struct format *f, const char *head, const char *text,
                     struct err *e)
{
    if (name_it(f, head, text) < 0) {
        format_free(f);
        return err_set(e, -ENOMEM, "out of memory");
    }
    *ret = f;
    return 0;
}

int format_new_preset(struct format **ret, const struct preset *preset, struct err *e)
{
    struct format *f;
    int r = compile(&f, preset->syntax, slice_of(preset->text), &preset->escape, e);
    return r == 0 ? give_name(ret, f, "", preset->name, e) : r;
}

static int new_from_text(struct format **ret, const struct format_spec *spec, struct err *e)
{
    struct format *f;
    bool nginx = spec->kind == FORMAT_NGINX;
    int r = compile(&f, nginx ? SYNTAX_NGINX : SYNTAX_APACHE, slice_of(spec->text), NULL, e);
    return r == 0 ? give_name(ret, f, nginx ? "nginx:" : "apache:", spec->text, e) : r;
}

int format_new(struct format **ret, const struct format_spec *spec, struct err *e)
{
    const struct preset *preset;
    switch (spec->kind) {
    case FORMAT_NGINX:
    case FORMAT_APACHE:
        return new_from_text(ret, spec, e);
    case FORMAT_PRESET:
        preset = preset_find(slice_of(spec->text));
        return preset ? format_new_preset(ret, preset, e) : no_such_preset(slice_of(spec->text), e);
    default:
        return err_set(e, -EINVAL,
                       "format 'auto' is found from the first lines; expected a preset");
    }
}

struct format *format_free(struct format *f)
{
    if (f) {
        free(f->name);
        free(f->pool);
        free(f);
    }
    return NULL;
}

const char *format_name(const struct format *f)
{
    return f->name;
}

bool format_has(const struct format *f, enum field field)
{
    return f->has[field];
}

bool format_step(const struct format *f, size_t i, const char **ret_field,
                 struct slice *ret_literal)
{
    if (i >= f->n_steps)
        return false;
    unsigned slot = f->steps[i].slot;
    *ret_field = slot < FIELD_COUNT     ? field_name((enum field) slot)
                 : slot == SLOT_REQUEST ? "request"
                                        : "skipped";
    *ret_literal = f->steps[i].literal;
    return true;
}
