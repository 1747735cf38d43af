/* Prometheus text format 0.0.4. Labels are names from the configuration and fixed words, never keys
 * or paths of the log. */
#include "http/endpoint.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "http/process.h"

static void family(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP reckond_%s %s\n# TYPE reckond_%s %s\n", name, help, name, type);
}

/* A label's value: valid UTF-8, with \ " and line feed escaped. */
static void put_label(struct buf *b, const char *name, const char *value)
{
    struct buf text;
    buf_init(&text);
    utf8_escape(&text, slice_of(value));
    buf_printf(b, "%s=\"", name);
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\\' || text.p[i] == '"')
            buf_byte(b, '\\');
        buf_byte(b, text.p[i]);
    }
    buf_byte(b, '"');
    b->failed |= text.failed;
    buf_done(&text);
}

static void put_name(struct buf *b, const char *family_name, const char *label, const char *value)
{
    buf_printf(b, "reckond_%s{", family_name);
    put_label(b, label, value);
}

static void put_count(struct buf *b, uint64_t value)
{
    buf_printf(b, "} %llu\n", (unsigned long long) value);
}

static void put_real(struct buf *b, double value)
{
    buf_printf(b, "} %.17g\n", value);
}

/* ---- inputs ---- */

struct input {
    const char *name;
    struct books books;
    struct input_status status;
    int64_t last_line_s;
};

static int read_inputs(const struct request *r, struct input **ret, unsigned *ret_n)
{
    unsigned n = 0;
    while (query_input_name(r->query, n))
        n++;
    struct input *inputs = calloc(n + 1, sizeof(*inputs));
    if (!inputs)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        inputs[i].name = query_input_name(r->query, i);
        int rc =
            query_input(r->query, i, &inputs[i].books, &inputs[i].status, &inputs[i].last_line_s);
        if (rc < 0) {
            free(inputs);
            return rc;
        }
    }
    *ret = inputs;
    *ret_n = n;
    return 0;
}

static void put_lines(struct buf *b, const char *input, const char *result, const char *reason,
                      uint64_t n)
{
    put_name(b, "input_lines_total", "input", input);
    buf_printf(b, ",result=\"%s\",reason=\"%s\"", result, reason);
    put_count(b, n);
}

static void put_books(struct buf *b, const struct input *in)
{
    const struct books *k = &in->books;
    put_lines(b, in->name, "counted", "", k->counted);
    put_lines(b, in->name, "ignored", "", books_ignored(k));
    put_lines(b, in->name, "late", "", k->late);
    put_lines(b, in->name, "future", "", k->future);
    for (int i = REJECT_NONE + 1; i < REJECT_COUNT; i++)
        put_lines(b, in->name, "rejected", reject_name((enum reject) i), k->rejected[i]);
    for (int i = SKIP_NONE + 1; i < SKIP_COUNT; i++)
        put_lines(b, in->name, "skipped", skip_name((enum skip) i), k->skipped[i]);
}

static uint64_t bytes_of(const struct input *in)
{
    return in->books.bytes;
}
static uint64_t lag_of(const struct input *in)
{
    return in->status.lag_bytes;
}
static uint64_t received_of(const struct input *in)
{
    return in->status.received;
}
static uint64_t kernel_drops_of(const struct input *in)
{
    return in->status.kernel_drops;
}
static uint64_t ring_drops_of(const struct input *in)
{
    return in->status.ring_drops;
}
static uint64_t disallowed_of(const struct input *in)
{
    return in->status.disallowed;
}
static uint64_t truncated_of(const struct input *in)
{
    return in->status.truncated;
}
static uint64_t last_line_of(const struct input *in)
{
    return in->last_line_s > 0 ? (uint64_t) in->last_line_s : 0;
}

static const struct {
    const char *name, *type, *help;
    uint64_t (*value)(const struct input *in);
} input_rows[] = {
    {"input_bytes_total", "counter", "Bytes of all lines read.", bytes_of},
    {"input_lag_bytes", "gauge", "Bytes in the files that are still to be read.", lag_of},
    {"input_last_line_timestamp_seconds", "gauge", "Newest instant among the lines; 0: none.",
     last_line_of},
    {"input_received_datagrams_total", "counter", "Datagrams received.", received_of},
    {"input_kernel_drops_total", "counter", "Datagrams that the kernel dropped.", kernel_drops_of},
    {"input_ring_drops_total", "counter", "Datagrams dropped because counting was behind.",
     ring_drops_of},
    {"input_disallowed_datagrams_total", "counter", "Datagrams of senders that are not allowed.",
     disallowed_of},
    {"input_truncated_datagrams_total", "counter", "Datagrams longer than the buffer.",
     truncated_of},
};

static void put_inputs(struct buf *b, const struct input *inputs, unsigned n)
{
    family(b, "input_lines_total", "counter", "Lines read, by what became of them.");
    for (unsigned i = 0; i < n; i++)
        put_books(b, &inputs[i]);
    for (size_t row = 0; row < sizeof(input_rows) / sizeof(*input_rows); row++) {
        family(b, input_rows[row].name, input_rows[row].type, input_rows[row].help);
        for (unsigned i = 0; i < n; i++) {
            put_name(b, input_rows[row].name, "input", inputs[i].name);
            put_count(b, input_rows[row].value(&inputs[i]));
        }
    }
}

/* ---- series ---- */

static int put_uniques(const struct request *r, struct buf *b)
{
    const struct metrics *m = query_metrics(r->query);
    struct sk_estimate today[METRICS_MAX];
    for (unsigned i = 0; i < m->n; i++) {
        struct distinct_answer d;
        if (m->list[i].kind != METRIC_UNIQUES)
            continue;
        int rc = query_distinct(r->query, i, r->today, r->today, &d);
        if (rc < 0)
            return rc;
        today[i] = d.estimate;
    }
    family(b, "uniques_estimate", "gauge", "Different keys of today so far.");
    for (unsigned i = 0; i < m->n; i++)
        if (m->list[i].kind == METRIC_UNIQUES) {
            put_name(b, "uniques_estimate", "name", m->list[i].name);
            buf_text(b, ",window=\"today\"");
            put_real(b, round(today[i].value));
        }
    family(b, "uniques_relative_standard_error_ratio", "gauge",
           "Standard error of the estimate, as a share of it; 0: exact.");
    for (unsigned i = 0; i < m->n; i++)
        if (m->list[i].kind == METRIC_UNIQUES) {
            put_name(b, "uniques_relative_standard_error_ratio", "name", m->list[i].name);
            buf_text(b, ",window=\"today\"");
            put_real(b, today[i].relative_standard_error);
        }
    return 0;
}

static double fill_of(const struct filter_state *s)
{
    return s->fill_ratio;
}
static double rate_of(const struct filter_state *s)
{
    return s->rate;
}
static double items_of(const struct filter_state *s)
{
    return s->items;
}
static double degraded_of(const struct filter_state *s)
{
    return s->degraded || s->saturated;
}
static double rebuilds_of(const struct filter_state *s)
{
    return (double) s->rebuilds;
}

static const struct {
    const char *name, *type, *help;
    double (*value)(const struct filter_state *s);
} filter_rows[] = {
    {"seen_fill_ratio", "gauge", "Share of the filter's bits that are set.", fill_of},
    {"seen_false_positive_ratio", "gauge", "Expected false-positive rate now.", rate_of},
    {"seen_items", "gauge", "Keys in the filter, estimated from its fill.", items_of},
    {"seen_degraded", "gauge", "1 when a limit keeps the filter from its target.", degraded_of},
    {"seen_rebuilds_total", "counter", "Times that the filter was built anew.", rebuilds_of},
};

static int put_filters(const struct request *r, struct buf *b)
{
    const struct metrics *m = query_metrics(r->query);
    struct filter_state state[METRICS_MAX];
    unsigned n = 0;
    for (unsigned i = 0; i < m->n; i++) {
        int rc = m->list[i].kind == METRIC_SEEN ? query_filter(r->query, i, &state[i]) : 0;
        if (rc < 0)
            return rc;
        n += m->list[i].kind == METRIC_SEEN;
    }
    for (size_t row = 0; n && row < sizeof(filter_rows) / sizeof(*filter_rows); row++) {
        family(b, filter_rows[row].name, filter_rows[row].type, filter_rows[row].help);
        for (unsigned i = 0; i < m->n; i++)
            if (m->list[i].kind == METRIC_SEEN) {
                put_name(b, filter_rows[row].name, "name", m->list[i].name);
                put_real(b, filter_rows[row].value(&state[i]));
            }
    }
    return 0;
}

/* ---- what has no labels ---- */

static void plain(struct buf *b, const char *name, const char *type, const char *help, double value)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type, name, value);
}

static void put_store(const struct request *r, struct buf *b)
{
    struct store_state s;
    query_state(r->query, &s);
    double age_s = (double) (clock_monotonic_ns() - s.last_commit_ns) / (double) NS_PER_S;
    plain(b, "reckond_store_commits_total", "counter", "Commits.", (double) s.commits);
    plain(b, "reckond_store_commit_failures_total", "counter", "Commits that failed.",
          (double) s.commit_failures);
    if (s.last_commit_ns)
        plain(b, "reckond_store_last_commit_age_seconds", "gauge", "Time since the last commit.",
              age_s);
    plain(b, "reckond_store_commit_seconds", "gauge", "Duration of the last commit.",
          (double) s.commit_duration_ns / (double) NS_PER_S);
    plain(b, "reckond_store_database_bytes", "gauge", "Size of the database.",
          (double) s.database_bytes);
    plain(b, "reckond_store_memory_bytes", "gauge", "Memory of sketches, filters and buffers.",
          (double) s.memory_bytes);
    plain(b, "reckond_store_open_summaries", "gauge", "Days whose summaries are open for writing.", s.days_open);
    plain(b, "reckond_store_lock_held_max_seconds", "gauge", "Longest time the lock was held.",
          (double) s.lock_held_max_ns / (double) NS_PER_S);
}

static void put_http(const struct request *r, struct buf *b)
{
    family(b, "http_requests_total", "counter", "Requests answered, by endpoint and status.");
    for (unsigned e = 0; e <= ENDPOINTS; e++)
        for (unsigned i = 0; i < REPLY_STATUSES; i++)
            if (r->tally->replies[e][i]) {
                put_name(b, "http_requests_total", "path",
                         e < ENDPOINTS ? endpoint_at(e)->path : "other");
                buf_printf(b, ",code=\"%u\"", reply_status_at(i));
                put_count(b, r->tally->replies[e][i]);
            }
    plain(b, "reckond_http_connections", "gauge", "Open connections.", r->tally->connections);
}

static void put_process(const struct request *r, struct buf *b)
{
    struct process p;
    process_read(&p);
    plain(b, "process_cpu_seconds_total", "counter", "User and system CPU time.", p.cpu_s);
    plain(b, "process_resident_memory_bytes", "gauge", "Resident memory.",
          (double) p.resident_bytes);
    plain(b, "process_virtual_memory_bytes", "gauge", "Virtual memory.", (double) p.virtual_bytes);
    plain(b, "process_open_fds", "gauge", "Open file descriptors.", (double) p.open_fds);
    plain(b, "process_max_fds", "gauge", "Limit of open file descriptors.", (double) p.max_fds);
    plain(b, "process_start_time_seconds", "gauge", "Start, in Unix time.",
          (double) r->tally->start_s);
}

static int write_all(const struct request *r, struct buf *b)
{
    struct input *inputs = NULL;
    unsigned n = 0;
    int rc = read_inputs(r, &inputs, &n);
    if (rc < 0)
        return rc;
    family(b, "build_info", "gauge", "Build of the running daemon.");
    buf_text(b, "reckond_build_info{version=\"" PACKAGE_VERSION "\"} 1\n");
    put_inputs(b, inputs, n);
    free(inputs);
    rc = put_uniques(r, b);
    if (rc == 0)
        rc = put_filters(r, b);
    if (rc < 0)
        return rc;
    put_store(r, b);
    put_http(r, b);
    put_process(r, b);
    return 0;
}

static void answer(struct request *r)
{
    int rc = write_all(r, &r->reply->body);
    if (rc < 0)
        reply_failed(r->reply, rc);
    else
        r->reply->type = "text/plain; version=0.0.4; charset=utf-8";
}

const struct endpoint endpoint_metrics = {
    .path = "/metrics",
    .help = "counters for Prometheus, text format 0.0.4",
    .methods = METHOD_GET,
    .guarded = true,
    .answer = answer,
};
