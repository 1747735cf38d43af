/* Numbers, dates and cells as the table shows them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/civil.h"
#include "base/num.h"
#include "base/utf8.h"
#include "cli/report_table_int.h"

static const char *const weekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void put_cell(struct buf *to, const char *text, size_t columns, bool to_right)
{
    size_t used = utf8_columns(slice_of(text)), blanks = used < columns ? columns - used : 0;
    if (!to_right)
        buf_text(to, text);
    for (size_t i = 0; i < blanks; i++)
        buf_byte(to, ' ');
    if (to_right)
        buf_text(to, text);
}

void put_heading(struct table *t, const char *text, size_t columns)
{
    buf_text(&t->out, t->in_colour ? "\033[1m" : "");
    put_cell(&t->out, text, columns, false);
    buf_text(&t->out, t->in_colour ? "\033[0m" : "");
}

void cap_estimate(struct sk_estimate *e, uint64_t lines)
{
    double most = (double) lines;
    e->value = e->value > most ? most : e->value;
    e->low = e->low > most ? most : e->low;
    e->high = e->high > most ? most : e->high;
}

/* "≈ 25,030 ± 290", rounded to two digits of the margin, or "7,599 exact". */
void estimate_text(char *to, const struct sk_estimate *e)
{
    char value[32], margin[32];
    if (e->estimator == SK_EXACT) {
        snprintf(to, CELL_BYTES, "%s exact", num_grouped(value, (uint64_t) llround(e->value)));
        return;
    }
    double half = (e->high - e->low) / 2;
    double unit = half >= 100 ? pow(10, floor(log10(half)) - 1) : 1;
    num_grouped(value, (uint64_t) (round(e->value / unit) * unit));
    num_grouped(margin, (uint64_t) (ceil(half / unit) * unit));
    snprintf(to, CELL_BYTES, "≈ %s ± %s", value, margin);
}

void new_text(char *to, const struct new_keys *n)
{
    char value[32];
    double half = (n->high - n->low) / 2;
    double unit = half >= 100 ? pow(10, floor(log10(half)) - 1) : half >= 10 ? 10 : 1;
    to[0] = '\0';
    if (n->known)
        snprintf(to, CELL_BYTES, "%s%s", half >= 0.5 ? "≈ " : "",
                 num_grouped(value, (uint64_t) (round(n->estimate / unit) * unit)));
}

void data_text(char *to, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double) bytes;
    unsigned i = 0;
    for (; value >= 999.5 && i < 6; i++)
        value /= 1000;
    snprintf(to, CELL_BYTES, i > 0 && value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[i]);
}

/* "Sun 22 Nov", and what of month and year the other end of a range does not say. */
void day_text(char *to, int32_t day, bool with_month, bool with_year)
{
    struct civil c = civil_from_day(day);
    int n = snprintf(to, CELL_BYTES, "%s %d", weekdays[civil_weekday(day)], c.day);
    if (with_month && n > 0)
        n += snprintf(to + n, CELL_BYTES - (size_t) n, " %s", months[c.month - 1]);
    if (with_year && n > 0)
        snprintf(to + n, CELL_BYTES - (size_t) n, " %d", c.year);
}

void span_text(char *to, int32_t from, int32_t last)
{
    struct civil a = civil_from_day(from), b = civil_from_day(last);
    if (a.month == b.month)
        snprintf(to, CELL_BYTES, "%d - %d %s", a.day, b.day, months[b.month - 1]);
    else
        snprintf(to, CELL_BYTES, "%d %s - %d %s", a.day, months[a.month - 1], b.day,
                 months[b.month - 1]);
}

void upper_text(char *to, const char *name)
{
    size_t n = 0;
    for (; name[n] && n + 1 < CELL_BYTES; n++)
        to[n] = name[n] >= 'a' && name[n] <= 'z' ? (char) (name[n] - 32)
                : name[n] == '_'                 ? ' '
                                                 : name[n];
    to[n] = '\0';
}
