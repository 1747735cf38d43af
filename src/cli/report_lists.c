/* The lists of most frequent keys of report's table. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "cli/report_table_int.h"

#define TOP_LEFT 24 /* columns of a key */
#define TOP_ROWS 10
#define TOP_ROWS_LEAST 5

struct list {
    int series; /* -1: none */
    struct topk_answer answer;
    const struct metric *metric;
};

static int ask_list(struct table *t, int series, unsigned rows, struct list *ret)
{
    *ret = (struct list){.series = series};
    if (series < 0)
        return 0;
    ret->metric = &query_metrics(t->report->query)->list[series];
    return query_topk(t->report->query, (unsigned) series, t->days[0], t->days[t->n_days - 1],
                      rows < ret->metric->k ? rows : ret->metric->k, &ret->answer);
}

static void key_text(const struct list *l, const struct topk_row *row, struct buf *to)
{
    struct buf raw;
    buf_init(&raw);
    for (unsigned i = 0; i < l->metric->key.n; i++) {
        if (i > 0)
            buf_byte(&raw, ' ');
        key_field_text(&l->metric->key, row->key, row->key_bytes, i, &raw);
    }
    utf8_escape(to, (struct slice){raw.n ? raw.p : "", raw.n});
    buf_done(&raw);
}

/* Cuts to columns, the last one then an ellipsis. */
static void put_cut(struct buf *to, struct slice text, size_t columns)
{
    size_t used = 0;
    bool is_whole = utf8_columns(text) <= columns;
    while (text.n > 0) {
        unsigned code;
        size_t n = utf8_next(text, &code);
        struct slice one = {text.p, n ? n : 1};
        size_t wide = utf8_columns(one);
        if (used + wide + !is_whole > columns)
            break;
        buf_slice(to, one);
        used += wide;
        text = slice_sub(text, one.n, text.n);
    }
    if (!is_whole) {
        buf_text(to, "…");
        used++;
    }
    for (; used < columns; used++)
        buf_byte(to, ' ');
}

static void put_list_row(struct table *t, const struct list *l, unsigned i, bool with_share)
{
    struct buf key;
    char count[CELL_BYTES], share[16];
    if (i >= l->answer.n_rows) {
        put_cell(&t->out, "", TOP_LEFT + 10 + (with_share ? 7 : 0), false);
        return;
    }
    const struct topk_row *row = &l->answer.rows[i];
    buf_init(&key);
    key_text(l, row, &key);
    put_cut(&t->out, (struct slice){key.n ? key.p : "", key.n}, TOP_LEFT);
    buf_done(&key);
    if (l->metric->by == BY_BYTES)
        data_text(count, row->count);
    else
        num_grouped(count, row->count);
    put_cell(&t->out, count, 10, true);
    if (!with_share)
        return;
    snprintf(share, sizeof(share), "%.1f",
             100.0 * (double) row->count / (double) (l->answer.total ? l->answer.total : 1));
    put_cell(&t->out, share, 7, true);
}

static void put_list_titles(struct table *t, const struct list *left, const struct list *right)
{
    static const char *const units[] = {"hits", "data", "ms"};
    char name[CELL_BYTES], title[2 * CELL_BYTES], bound[CELL_BYTES];
    upper_text(name, left->metric->name);
    if (left->metric->by == BY_BYTES)
        data_text(bound, left->answer.error_bound);
    else
        num_grouped(bound, left->answer.error_bound);
    snprintf(title, sizeof(title), "TOP %.20s (over by ≤ %s)", name, bound);
    size_t columns = utf8_columns(slice_of(title));
    columns = columns > TOP_LEFT ? columns : TOP_LEFT;
    put_heading(t, title, columns);
    put_cell(&t->out, units[left->metric->by],
             columns < TOP_LEFT + 10 ? TOP_LEFT + 10 - columns : 1, true);
    put_cell(&t->out, "%", 7, true);
    if (right->series >= 0) {
        upper_text(name, right->metric->name);
        bool is_hosts = right->series == t->report->hosts;
        bool is_404 = strcmp(right->metric->name, "not_found") == 0;
        snprintf(title, sizeof(title), "%.22s%s", is_hosts ? "HOSTS" : name,
                 is_404 ? " (404)" : "");
        buf_text(&t->out, "   ");
        put_heading(t, title, TOP_LEFT);
        put_cell(&t->out, units[right->metric->by], 10, true);
    }
    buf_byte(&t->out, '\n');
}

static unsigned lines_so_far(const struct buf *b)
{
    unsigned n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->p[i] == '\n';
    return n;
}

static unsigned list_rows(const struct table *t)
{
    unsigned used = lines_so_far(&t->out) + 2;
    if (t->report->o->top)
        return (unsigned) t->report->o->top;
    unsigned left = used < SCREEN_LINES ? SCREEN_LINES - used : 0;
    return left < TOP_ROWS_LEAST ? TOP_ROWS_LEAST : left > TOP_ROWS ? TOP_ROWS : left;
}

/* HOSTS where there are several, else the second list of the configuration, NOT FOUND by default.
 */
static int choose_right(struct table *t, unsigned rows, int left, struct list *ret)
{
    const struct metrics *all = query_metrics(t->report->query);
    int n = ask_list(t, t->report->hosts, rows, ret);
    if (n < 0 || (ret->series >= 0 && ret->answer.n_rows > 1))
        return n;
    if (ret->series >= 0)
        topk_answer_done(&ret->answer);
    int series = metrics_find(all, METRIC_TOPK, "not_found");
    for (unsigned i = 0; series < 0 && i < all->n; i++)
        if (all->list[i].kind == METRIC_TOPK && (int) i != left && all->list[i].name[0] != ' ')
            series = (int) i;
    return ask_list(t, series == left ? -1 : series, rows, ret);
}

int table_lists(struct table *t)
{
    const struct metrics *all = query_metrics(t->report->query);
    struct list left = {.series = -1}, right = {.series = -1};
    unsigned rows = list_rows(t);
    int first = metrics_find(all, METRIC_TOPK, NULL);
    if (first < 0 || all->list[first].name[0] == ' ')
        return 0;
    int n = ask_list(t, first, rows, &left);
    if (n == 0)
        n = choose_right(t, rows, first, &right);
    if (n == 0) {
        buf_byte(&t->out, '\n');
        put_list_titles(t, &left, &right);
        for (unsigned i = 0; i < rows && (i < left.answer.n_rows || i < right.answer.n_rows); i++) {
            put_list_row(t, &left, i, true);
            if (i < right.answer.n_rows) {
                buf_text(&t->out, "   ");
                put_list_row(t, &right, i, false);
            }
            buf_byte(&t->out, '\n');
        }
    }
    topk_answer_done(&left.answer);
    topk_answer_done(&right.answer);
    return n;
}
