#include "config_issue.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define TEXT_BYTES 640
#define SOURCE_COLUMNS 100 /* of a source line that are shown */
#define SOURCE_BEFORE 60   /* of them before the place, in long lines */

void issues_init(struct issues *s)
{
    memset(s, 0, sizeof(*s));
}

void issues_done(struct issues *s)
{
    for (unsigned i = 0; i < s->n; i++)
        free(s->list[i].text);
    issues_init(s);
}

/* Texts quote the file: what a terminal would obey is escaped here, for all of them. */
static void add(struct issues *s, struct place at, bool is_warning, const char *text)
{
    s->errors += !is_warning;
    if (s->n == ISSUES_KEPT)
        return;
    struct buf harmless;
    struct slice rest = slice_of(text);
    buf_init(&harmless);
    for (size_t taken; rest.n > 0; rest = slice_sub(rest, taken, rest.n)) {
        char form[UTF8_FORM_BYTES];
        size_t n = utf8_harmless(rest, form, &taken);
        buf_put(&harmless, form, n);
    }
    char *copy = buf_steal(&harmless);
    buf_done(&harmless);
    if (copy)
        s->list[s->n++] = (struct issue){at, is_warning, copy};
    else
        s->failed = true;
}

void issue_error(struct issues *s, struct place at, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    add(s, at, false, text);
}

void issue_warning(struct issues *s, struct place at, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    add(s, at, true, text);
}

/* Stable, and there are few. */
static void sort(struct issues *s)
{
    for (unsigned i = 1; i < s->n; i++) {
        struct issue moved = s->list[i];
        unsigned j = i;
        for (; j > 0; j--) {
            struct place before = s->list[j - 1].at;
            if (before.line < moved.at.line ||
                (before.line == moved.at.line && before.column <= moved.at.column))
                break;
            s->list[j] = s->list[j - 1];
        }
        s->list[j] = moved;
    }
}

static struct slice source_line(struct slice source, unsigned number)
{
    struct slice line;
    while (slice_cut(&source, '\n', &line))
        if (--number == 0)
            goto found;
    line = number == 1 ? source : (struct slice){NULL, 0};
found:
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return line;
}

static struct slice skip_characters(struct slice s, unsigned n)
{
    for (size_t step; n > 0 && s.n > 0; n--) {
        step = utf8_next(s, NULL);
        step = step ? step : 1;
        s = slice_sub(s, step, s.n);
    }
    return s;
}

/* The line as it stands, tabs as one blank, other controls escaped; wide characters keep the caret
 * right. */
static void show_source(struct slice line, unsigned column, struct buf *to)
{
    struct buf caret;
    unsigned at = 1;
    buf_init(&caret);
    if (column > SOURCE_COLUMNS) {
        at = column - SOURCE_BEFORE;
        line = skip_characters(line, at - 1);
        buf_text(to, "...");
        buf_text(&caret, "   ");
    }
    for (unsigned shown = 0; line.n > 0 && shown < SOURCE_COLUMNS; shown++, at++) {
        char form[UTF8_FORM_BYTES];
        size_t taken, n = 1;
        if (line.p[0] == '\t') {
            form[0] = ' ';
            taken = 1;
        } else {
            n = utf8_harmless(line, form, &taken);
        }
        buf_put(to, form, n);
        for (size_t i = at < column ? utf8_columns((struct slice){form, n}) : 0; i > 0; i--)
            buf_byte(&caret, ' ');
        line = slice_sub(line, taken, line.n);
    }
    buf_text(to, "\n      | ");
    buf_put(to, caret.p, caret.n);
    buf_text(to, "^\n");
    to->failed = to->failed || caret.failed;
    buf_done(&caret);
}

static void print(const struct issue *issue, const char *path, struct slice source, struct buf *to)
{
    const char *kind = issue->is_warning ? "warning" : "error";
    if (issue->at.line == 0) {
        buf_printf(to, "%s: %s: %s\n", path, kind, issue->text);
        return;
    }
    buf_printf(to, "%s:%u:%u: %s: %s\n", path, issue->at.line, issue->at.column, kind, issue->text);
    struct slice line = source_line(source, issue->at.line);
    if (line.n == 0)
        return;
    buf_printf(to, "%5u | ", issue->at.line);
    show_source(line, issue->at.column, to);
}

void issues_print(struct issues *s, const char *path, struct slice source, struct buf *to)
{
    unsigned shown = 0;
    sort(s);
    for (unsigned i = 0; i < s->n; i++)
        if (s->list[i].is_warning || shown++ < ISSUES_SHOWN)
            print(&s->list[i], path, source, to);
    if (s->errors > ISSUES_SHOWN)
        buf_printf(to, "%u errors, the first %d are shown\n", s->errors, ISSUES_SHOWN);
    else if (s->errors > 0)
        buf_printf(to, "%u error%s\n", s->errors, s->errors == 1 ? "" : "s");
}
