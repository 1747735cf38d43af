/* report's table for people: 80 columns, about 25 lines. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/num.h"
#include "base/utf8.h"
#include "base/zone.h"
#include "cli/output.h"
#include "cli/report_table_int.h"

#define WEEKS_SHOWN 5
#define BAR_COLUMNS 12

/* ---- the head ---- */

static void put_days(struct table *t)
{
    char from[CELL_BYTES], to[CELL_BYTES];
    int32_t first = t->days[0], last = t->days[t->n_days - 1];
    struct civil a = civil_from_day(first), b = civil_from_day(last);
    day_text(to, last, true, true);
    if (first == last) {
        buf_text(&t->out, to);
        return;
    }
    bool same_year = a.year == b.year, same_month = same_year && a.month == b.month;
    day_text(from, first, !same_month, !same_year);
    buf_printf(&t->out, "%s - %s", from, to);
}

static void put_title(struct table *t)
{
    const struct report *r = t->report;
    char lines[32];
    if (t->n_days > 0)
        put_days(t);
    else
        buf_text(&t->out, "nothing counted");
    buf_printf(&t->out, " (%s)   ", r->lines.day_of_log ? "as the log says" : zone_name());
    if (r->n_files == 1 && !r->files[0].is_regular)
        buf_text(&t->out, "standard input");
    else
        buf_printf(&t->out, "%u file%s", r->n_files, r->n_files == 1 ? "" : "s");
    buf_printf(&t->out, "   %s lines   ", num_grouped(lines, r->books.lines));
    utf8_escape(&t->out, (struct slice){r->lines.format_name, strnlen(r->lines.format_name, 20)});
    buf_printf(&t->out, "%s   %.1f s\n", strlen(r->lines.format_name) > 20 ? "..." : "",
               (double) r->elapsed_ns / 1e9);
}

static void put_refused(struct table *t)
{
    const struct report *r = t->report;
    char count[32];
    buf_printf(&t->out, "   not understood %s", num_grouped(count, books_rejected(&r->books)));
    if (r->first_reject == REJECT_NONE)
        return;
    const char *slash = strrchr(r->first_reject_file, '/');
    const char *name = slash ? slash + 1 : r->first_reject_file;
    buf_printf(&t->out, " (%s, ", reject_name(r->first_reject));
    utf8_escape(&t->out, (struct slice){name, strnlen(name, 40)});
    if (r->first_reject_line > 0)
        buf_printf(&t->out, ":%" PRIu64, r->first_reject_line);
    buf_byte(&t->out, ')');
}

static void put_books(struct table *t)
{
    const struct books *b = &t->report->books;
    uint64_t skipped = 0;
    char count[32];
    for (unsigned i = 0; i < SKIP_COUNT; i++)
        skipped += b->skipped[i];
    buf_printf(&t->out, "counted %s", num_grouped(count, b->counted));
    put_refused(t);
    buf_printf(&t->out, "   ignored %s", num_grouped(count, books_ignored(b)));
    if (skipped > 0)
        buf_printf(&t->out, "   skipped %s", num_grouped(count, skipped));
    if (b->late + b->future > 0)
        buf_printf(&t->out, "   outside the days %s", num_grouped(count, b->late + b->future));
    buf_byte(&t->out, '\n');
}

/* "client + agent" */
static void put_key(struct buf *to, const struct key_def *key)
{
    for (unsigned i = 0; i < key->n; i++)
        buf_printf(to, "%s%s", i > 0 ? " + " : "",
                   key->field[i] == FIELD_USER_AGENT ? "agent" : field_name(key->field[i]));
}

static void put_visitors(struct table *t)
{
    const struct metric *m = &query_metrics(t->report->query)->list[t->visitors];
    const struct sk_estimate *e = &t->whole.estimate;
    char name[CELL_BYTES], text[CELL_BYTES], sum[32];
    upper_text(name, m->name);
    put_heading(t, name, 10);
    if (strlen(name) >= 10)
        buf_byte(&t->out, ' ');
    estimate_text(text, e);
    put_cell(&t->out, text, 22, false);
    put_key(&t->out, &m->key);
    buf_text(&t->out, e->estimator == SK_EXACT ? "\n" : ", 95 %\n");
    if (t->n_days < 2)
        return;
    double more = e->value > 0 ? (t->whole.sum_of_days / e->value - 1) * 100 : 0;
    buf_printf(&t->out, "          adding up the days would say %s (+%.0f %%)\n",
               num_grouped(sum, (uint64_t) llround(t->whole.sum_of_days)), more > 0 ? more : 0);
}

static int put_bots(struct table *t)
{
    struct report *r = t->report;
    struct distinct_answer bots;
    struct topk_answer hits;
    char count[CELL_BYTES], total[32];
    int32_t from = t->days[0], to = t->days[t->n_days - 1];
    if (r->bots < 0 || r->bot_hits < 0)
        return 0;
    int n = query_distinct(r->query, (unsigned) r->bots, from, to, &bots);
    if (n == 0)
        n = query_topk(r->query, (unsigned) r->bot_hits, from, to, 1, &hits);
    if (n < 0)
        return n;
    cap_estimate(&bots.estimate, hits.total);
    if (bots.estimate.estimator == SK_EXACT)
        num_grouped(count, (uint64_t) llround(bots.estimate.value));
    else
        estimate_text(count, &bots.estimate);
    put_heading(t, "BOTS", 10);
    buf_printf(&t->out, "%s by their agent, %s hits (%.1f %%)\n", count,
               num_grouped(total, hits.total),
               100.0 * (double) hits.total / (double) (r->books.counted ? r->books.counted : 1));
    topk_answer_done(&hits);
    return 0;
}

/* ---- the days ---- */

static void add_row(struct table *t, enum row_kind kind, int32_t from, int32_t to,
                    const char *label)
{
    for (unsigned i = 0; i < t->n_days; i++)
        if (t->days[i] >= from && t->days[i] <= to) {
            struct table_row *row = &t->rows[t->n_rows++];
            *row = (struct table_row){.kind = kind, .from = from, .to = to};
            snprintf(row->cell[LABEL], CELL_BYTES, "%s", label);
            return;
        }
}

static void add_day_row(struct table *t, int32_t day)
{
    char label[CELL_BYTES];
    day_text(label, day, true, false);
    add_row(t, ROW_DAY, day, day, label);
}

static void add_week_row(struct table *t, int32_t from)
{
    char label[CELL_BYTES];
    span_text(label, from, from + 6);
    add_row(t, ROW_WEEK, from, from + 6, label);
}

/* Up to two weeks: every day. More: the last seven days, then weeks, then all before them; newest
 * first. */
static void choose_rows(struct table *t)
{
    int32_t first = t->days[0], last = t->days[t->n_days - 1];
    if (last - first < DAYS_SHOWN) {
        for (unsigned i = 0; i < t->n_days; i++)
            add_day_row(t, t->days[i]);
    } else {
        int32_t at = last;
        for (; at > last - 7; at--)
            add_day_row(t, at);
        for (unsigned i = 0; i < WEEKS_SHOWN && at >= first; i++, at -= 7)
            add_week_row(t, at - 6);
        if (at >= first)
            add_row(t, ROW_BEFORE, first, at, "before");
    }
    if (t->n_rows > 1)
        add_row(t, ROW_ALL, first, last, "all");
}

static int sum_traffic(struct table *t, const struct table_row *row, struct traffic *ret)
{
    struct traffic one;
    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; i < t->n_days; i++) {
        if (t->days[i] < row->from || t->days[i] > row->to)
            continue;
        int n = query_traffic(t->report->query, t->days[i], &one);
        if (n < 0)
            return n;
        ret->hits += one.hits;
        ret->bytes = one.bytes > UINT64_MAX - ret->bytes ? UINT64_MAX : ret->bytes + one.bytes;
        for (unsigned j = 0; j < STATUS_SLOTS; j++)
            ret->status[j] += one.status[j];
    }
    return 0;
}

static uint64_t status_class(const struct traffic *t, unsigned class)
{
    uint64_t sum = 0;
    for (unsigned i = class * 100; i < class * 100 + 100; i++)
        sum += t->status[i];
    return sum;
}

static int fill_row(struct table *t, struct table_row *row)
{
    struct traffic traffic;
    struct distinct_answer answer;
    int n = sum_traffic(t, row, &traffic);
    if (n == 0 && t->visitors >= 0)
        n = query_distinct(t->report->query, (unsigned) t->visitors, row->from, row->to, &answer);
    if (n < 0)
        return n;
    num_grouped(row->cell[HITS], traffic.hits);
    data_text(row->cell[DATA], traffic.bytes);
    num_grouped(row->cell[CLASS_4XX], status_class(&traffic, 4));
    num_grouped(row->cell[CLASS_5XX], status_class(&traffic, 5));
    row->weight = (double) traffic.hits;
    if (t->visitors < 0)
        return 0;
    cap_estimate(&answer.estimate, traffic.hits);
    estimate_text(row->cell[VISITORS], &answer.estimate);
    row->weight = answer.estimate.value;
    new_text(row->cell[NEW], &answer.new_keys);
    t->has_new = t->has_new || answer.new_keys.known;
    return 0;
}

/* Days are measured by the largest day, weeks by the largest week; sums of more have no bar. */
static void put_bar(struct table *t, const struct table_row *row, size_t columns)
{
    double most = 0;
    for (unsigned i = 0; i < t->n_rows; i++) {
        const struct table_row *other = &t->rows[i];
        if (other->kind == row->kind && other->weight > most)
            most = other->weight;
    }
    if (row->kind == ROW_BEFORE || row->kind == ROW_ALL || !(most > 0) || columns == 0)
        return;
    buf_text(&t->out, "  ");
    size_t n = (size_t) (row->weight / most * (double) columns);
    for (size_t i = 0; i < (n > 0 ? n : 1); i++)
        buf_text(&t->out, "█");
}

static int put_rows(struct table *t)
{
    static const char *const names[CELLS] = {"day",  "visitors", "new", "hits",
                                             "data", "4xx",      "5xx"};
    size_t width[CELLS], used = 0;
    for (unsigned i = 0; i < t->n_rows; i++) {
        int n = fill_row(t, &t->rows[i]);
        if (n < 0)
            return n;
    }
    for (unsigned c = 0; c < CELLS; c++) {
        bool is_hidden = (c == VISITORS && t->visitors < 0) || (c == NEW && !t->has_new);
        width[c] = is_hidden ? 0 : strlen(names[c]);
        for (unsigned i = 0; i < t->n_rows && !is_hidden; i++) {
            size_t columns = utf8_columns(slice_of(t->rows[i].cell[c]));
            width[c] = columns > width[c] ? columns : width[c];
        }
        used += width[c] ? width[c] + 2 : 0;
    }
    size_t bar = used + BAR_COLUMNS <= COLUMNS ? BAR_COLUMNS
                 : used < COLUMNS - 3          ? COLUMNS - used
                                               : 0;
    for (unsigned i = 0; i <= t->n_rows; i++) {
        for (unsigned c = 0; c < CELLS; c++)
            if (width[c] > 0) {
                buf_text(&t->out, c > 0 ? "  " : "");
                put_cell(&t->out, i == 0 ? names[c] : t->rows[i - 1].cell[c], width[c], c > 0);
            }
        if (i > 0 && t->n_rows > 1)
            put_bar(t, &t->rows[i - 1], bar);
        buf_byte(&t->out, '\n');
    }
    return 0;
}

/* ---- all of it ---- */

static int fill(struct table *t)
{
    struct report *r = t->report;
    put_title(t);
    put_books(t);
    if (t->n_days == 0)
        return 0;
    int n = 0;
    if (t->visitors >= 0)
        n = query_distinct(r->query, (unsigned) t->visitors, t->days[0], t->days[t->n_days - 1],
                           &t->whole);
    if (n < 0)
        return n;
    cap_estimate(&t->whole.estimate, r->books.counted);
    buf_byte(&t->out, '\n');
    if (t->visitors >= 0)
        put_visitors(t);
    if ((n = put_bots(t)) < 0)
        return n;
    buf_byte(&t->out, '\n');
    choose_rows(t);
    n = put_rows(t);
    if (n == 0)
        n = table_lists(t);
    char day[16];
    buf_printf(&t->out, "next: --json  --top 50  --where status=5xx  --from %s  reckond -c FILE\n",
               civil_text(day, t->days[t->n_days - 1]));
    return n;
}

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && no[0]) && terminal && strcmp(terminal, "dumb") != 0;
}

int report_table(struct report *r)
{
    struct table *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->report = r;
    t->in_colour = wants_colour();
    t->visitors = metrics_find(query_metrics(r->query), METRIC_UNIQUES, NULL);
    if (t->visitors >= 0 && t->visitors == r->bots)
        t->visitors = -1; /* the configuration has no uniques */
    buf_init(&t->out);
    int n = report_days(r, &t->days, &t->n_days);
    if (n == 0)
        n = fill(t);
    if (n == 0)
        n = buf_failed(&t->out);
    if (n == 0)
        output_write(t->out.p, t->out.n);
    buf_done(&t->out);
    free(t->days);
    free(t);
    return n;
}
