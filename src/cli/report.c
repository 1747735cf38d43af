/* reckond report: reads logs once and prints the answers; no state, no daemon. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/file.h"
#include "base/zone.h"
#include "cli/cli.h"
#include "cli/report_int.h"
#include "hash_key.h"
#include "store/days.h"

#define COMMAND "report"
#define PATH_BYTES 4096
#define CPUS_USED_MAX 4
#define QUERY_CACHE_BYTES ((size_t) 16 << 20)
#define HOSTS_KEPT 20

enum { TOP = LINES_OPTIONS, FROM, TO, JSON, THREADS, HASH_KEY, CLOCK, NO_PROGRESS, HELP };
static const struct option_row rows[] = {
    LINES_ROWS,
    [TOP] = {"top", 0, "N", "rows of the lists of most frequent keys (10)"},
    [FROM] = {"from", 0, "DAY", "first day that counts: 2026-11-22, mon, -7d"},
    [TO] = {"to", 0, "DAY", "last day that counts"},
    [JSON] = {"json", 0, NULL, "print one JSON object"},
    [THREADS] = {"threads", 0, "N", "1 to 64 (number of processors, at most 4)"},
    [HASH_KEY] = {"hash-key", 0, "FILE", "192 random bytes, mode 0600 (one made per user)"},
    [CLOCK] = {"clock", 0, "TIME", "take this for now: 2026-11-24T12:00:00Z"},
    [NO_PROGRESS] = {"no-progress", 0, NULL, "no bar on a terminal"},
    [HELP] = {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

static int refuse(int code, const char *text)
{
    fprintf(stderr, "reckond " COMMAND ": %s\n", text);
    return code;
}

void report_warn(struct report *r, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        return;
    progress_end(&r->progress);
    fprintf(stderr, "reckond " COMMAND ": %s\n", text);
    if (r->n_warnings < REPORT_WARNINGS_MAX)
        r->warnings[r->n_warnings++] = text;
    else
        free(text);
}

/* ---- the hash key ---- */

/* $XDG_STATE_HOME/reckond, or the place that it stands for. false: there is neither variable. */
static bool state_folder(char path[static PATH_BYTES])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;
    if (state && state[0] == '/')
        n = snprintf(path, PATH_BYTES, "%s/reckond", state);
    else if (home && home[0] == '/')
        n = snprintf(path, PATH_BYTES, "%s/.local/state/reckond", home);
    else
        return false;
    return n > 0 && n < PATH_BYTES;
}

static int random_key(struct report *r, struct sk_secret *ret, const char *why)
{
    report_warn(r, "the hash key is a new one (%s): estimates of other runs will differ a little",
                why);
    return hash_key_random(ret) < 0 ? refuse(EX_OSERR, "no random bytes") : 0;
}

static int open_hash_key(struct report *r, struct sk_secret *ret)
{
    char folder[PATH_BYTES], path[PATH_BYTES + 16];
    struct err e = {""};
    if (r->o->hash_key)
        return hash_key_load(ret, r->o->hash_key, false, &e) < 0 ? refuse(EX_CONFIG, e.text) : 0;
    if (!state_folder(folder))
        return random_key(r, ret, "neither HOME nor XDG_STATE_HOME is set");
    if (file_make_dirs(folder, 0700, &e) < 0)
        return random_key(r, ret, e.text);
    snprintf(path, sizeof(path), "%s/hash.key", folder);
    int n = hash_key_load(ret, path, true, &e);
    if (n == -EINVAL)
        return refuse(EX_CONFIG, e.text);
    return n < 0 ? random_key(r, ret, e.text) : 0;
}

/* ---- what is counted ---- */

/* Retention does not apply; the table's own series join behind those of their kind. */
static int insert_metric(struct metrics *all, const struct metric *m, const char *name,
                         const char *where)
{
    unsigned at = 0;
    struct metric added = *m;
    if (all->n == METRICS_MAX)
        return 0;
    added.name = strdup(name);
    if (!added.name || (where && rule_parse(&added.where, slice_of(where), NULL) < 0)) {
        free(added.name);
        return -ENOMEM;
    }
    while (at < all->n && all->list[at].kind <= m->kind)
        at++;
    memmove(&all->list[at + 1], &all->list[at], (all->n - at) * sizeof(*all->list));
    all->list[at] = added;
    all->n++;
    return 0;
}

static int add_table_series(struct metrics *all)
{
    static const struct metric bots = {.kind = METRIC_UNIQUES,
                                       .key = {{FIELD_CLIENT, FIELD_USER_AGENT}, 2},
                                       .precision = 12,
                                       .exact_until = 10000};
    static const struct metric bot_hits = {.kind = METRIC_TOPK,
                                           .key = {{FIELD_AGENT_CLASS}, 1},
                                           .k = 1,
                                           .error = 0.1,
                                           .confidence = 0.5};
    static const struct metric hosts = {.kind = METRIC_TOPK,
                                        .key = {{FIELD_HOST}, 1},
                                        .k = HOSTS_KEPT,
                                        .error = 0.002,
                                        .confidence = 0.98};
    int n = insert_metric(all, &bots, " bots", "agent_class=bot");
    if (n == 0)
        n = insert_metric(all, &bot_hits, " bot hits", "agent_class=bot");
    return n == 0 ? insert_metric(all, &hosts, " hosts", NULL) : n;
}

static int prepare_metrics(struct report *r)
{
    struct metrics *all = &r->lines.config->metrics;
    for (unsigned i = 0; i < all->n; i++)
        all->list[i].keep_days = 0;
    if (!r->o->is_json && add_table_series(all) < 0)
        return EX_OSERR;
    r->bots = metrics_find(all, METRIC_UNIQUES, " bots");
    r->bot_hits = metrics_find(all, METRIC_TOPK, " bot hits");
    r->hosts = metrics_find(all, METRIC_TOPK, " hosts");
    return 0;
}

static int32_t today_of(const struct clock *clock)
{
    int64_t first_s, last_s;
    return zone_day(clock_now_s(clock), &first_s, &last_s);
}

/* One end alone leaves the other open; a weekday for `from` is the one on or before `to`. */
static int prepare_window(struct report *r)
{
    const struct report_options *o = r->o;
    struct days_context context = {today_of(&o->clock), REPORT_DAY_FIRST, STORE_DAY_NONE};
    const struct slice none = {NULL, 0};
    const char *parameter = NULL;
    struct days days;
    struct err e = {""};
    int n = 0;
    r->window = (struct day_window){REPORT_DAY_FIRST, REPORT_DAY_LAST};
    if (o->to)
        n = days_word(slice_of(o->to), &context, true, &r->window.last, &e);
    if (n == 0 && o->from && !o->to)
        n = days_word(slice_of(o->from), &context, false, &r->window.first, &e);
    if (n == 0 && o->from && o->to &&
        (n = days_parse(slice_of(o->from), slice_of(o->to), none, &context, &days, &parameter,
                        &e)) == 0)
        r->window.first = days.from;
    return n < 0 ? refuse(EX_USAGE, e.text) : 0;
}

static int prepare_plan(struct report *r)
{
    struct sk_secret secret;
    int code = open_hash_key(r, &secret);
    if (code == 0)
        code = prepare_metrics(r);
    if (code != 0)
        return code;
    char suffix[1024];
    struct err note = {""}, e = {""};
    const struct config *c = r->lines.config;
    const char *input = r->lines.input->name;
    struct plan_options plan = {.metrics = &c->metrics,
                                .ignore = c->ignore,
                                .n_ignore = c->n_ignore,
                                .client = r->lines.client,
                                .agents = r->lines.agents,
                                .secret = &secret};
    struct store_options store = {.metrics = &c->metrics,
                                  .definition_suffix =
                                      config_definition_suffix(c, suffix, sizeof(suffix)),
                                  .zone = zone_name(),
                                  .secret = &secret,
                                  .commit_every_ns = c->commit_every_ns,
                                  .today = today_of(&r->o->clock),
                                  .inputs = &input,
                                  .n_inputs = 1};
    if (plan_new(&r->plan, &plan) < 0)
        return refuse(EX_OSERR, "out of memory");
    if (store_open(&r->store, &store, &note, &e) < 0)
        return refuse(EX_CANTCREAT, e.text);
    r->rule = (struct ingest_rule){.input = input,
                                   .formats = (const struct format *const *) r->lines.formats,
                                   .n_formats = r->lines.n_formats,
                                   .day_of_log = r->lines.day_of_log,
                                   .plan = r->plan};
    return 0;
}

static int prepare_formats(struct report *r)
{
    struct buf head;
    struct err e = {""};
    int n = 0;
    buf_init(&head);
    if (lines_is_auto(&r->lines))
        n = report_files_head(r, &head);
    if (n == 0)
        n = lines_formats(&r->lines, (struct slice){head.n ? head.p : "", head.n}, &e);
    buf_done(&head);
    return n < 0 ? refuse(lines_exit_code(n), e.text[0] ? e.text : err_name(n)) : 0;
}

/* ---- the run ---- */

int report_days(struct report *r, int32_t **ret, unsigned *ret_n)
{
    int n = query_days(r->query, QUERY_TRAFFIC, REPORT_DAY_FIRST, REPORT_DAY_LAST, NULL, 0);
    if (n < 0)
        return n;
    int32_t *days = calloc((size_t) n + 1, sizeof(*days));
    if (!days)
        return -ENOMEM;
    int again =
        query_days(r->query, QUERY_TRAFFIC, REPORT_DAY_FIRST, REPORT_DAY_LAST, days, (unsigned) n);
    if (again < 0) {
        free(days);
        return again;
    }
    *ret = days;
    *ret_n = (unsigned) n;
    return 0;
}

static int read_all(struct report *r)
{
    int64_t began_ns = clock_monotonic_ns();
    int n = report_files_sort(r);
    progress_begin(&r->progress, !r->o->no_progress);
    if (n == 0)
        n = report_read(r);
    progress_end(&r->progress);
    r->elapsed_ns = clock_monotonic_ns() - began_ns;
    if (n == 0)
        n = query_new(&r->query, r->store, QUERY_CACHE_BYTES);
    return n < 0 ? refuse(n == -ENOMEM ? EX_OSERR : EX_IOERR, err_name(n)) : 0;
}

static bool nothing_fits(const struct report *r)
{
    const struct books *b = &r->books;
    return books_rejected(b) > 0 && b->counted + books_ignored(b) + b->late + b->future == 0;
}

static int print(struct report *r)
{
    int n = r->o->is_json ? report_json(r) : report_table(r);
    if (n == 0 && fflush(stdout) != 0)
        n = -errno;
    if (n < 0)
        return refuse(n == -ENOMEM ? EX_OSERR : EX_IOERR, err_name(n));
    if (r->a_file_failed)
        return EX_NOINPUT;
    if (!nothing_fits(r))
        return 0;
    fprintf(stderr,
            "reckond " COMMAND
            ": no line fits the format %.200s; see why with: reckond check-format "
            "(formats: auto %s, nginx:TEXT, apache:TEXT)\n",
            r->lines.format_name, preset_names());
    return EX_DATAERR;
}

static int run(struct report *r)
{
    int code = lines_open(&r->lines, &r->o->lines, COMMAND);
    if (code == 0)
        code = prepare_window(r);
    if (code == 0 && report_files_open(r) < 0)
        code = refuse(EX_OSERR, "out of memory");
    if (code == 0 && r->n_files == 0)
        code = EX_NOINPUT;
    if (code == 0)
        code = prepare_formats(r);
    if (code == 0)
        code = prepare_plan(r);
    if (code == 0)
        code = read_all(r);
    return code == 0 ? print(r) : code;
}

static void close_all(struct report *r)
{
    query_free(r->query);
    if (r->store)
        (void) store_close(r->store); /* nothing is kept */
    plan_free(r->plan);
    report_files_close(r);
    lines_close(&r->lines);
    while (r->n_warnings > 0)
        free(r->warnings[--r->n_warnings]);
}

/* ---- options ---- */

static int take(struct report_options *o, unsigned row, const char *value, struct err *e)
{
    int64_t start_ns;
    switch (row) {
    case TOP:
        return options_number(value, 1, 1000, &o->top)
                   ? 0
                   : err_set(e, -EINVAL, "--top takes a number from 1 to 1000, got '%.40s'", value);
    case THREADS:
        return options_number(value, 1, REPORT_THREADS_MAX, &o->threads)
                   ? 0
                   : err_set(e, -EINVAL, "--threads takes a number from 1 to %d, got '%.40s'",
                             REPORT_THREADS_MAX, value);
    case CLOCK:
        if (!civil_parse_rfc3339(slice_of(value), &start_ns))
            return err_set(e, -EINVAL,
                           "--clock takes a time such as 2026-11-24T12:00:00Z, got '%.40s'", value);
        clock_from(&o->clock, start_ns);
        return 0;
    case FROM:
        o->from = value;
        return 0;
    case TO:
        o->to = value;
        return 0;
    case HASH_KEY:
        o->hash_key = value;
        return 0;
    case JSON:
        o->is_json = true;
        return 0;
    case NO_PROGRESS:
        o->no_progress = true;
        return 0;
    default:
        return lines_take(&o->lines, row, value, e);
    }
}

static int check_standard_input(const struct report_options *o)
{
    unsigned n = o->n_files == 0;
    for (unsigned i = 0; i < o->n_files; i++)
        n += strcmp(o->files[i], "-") == 0;
    if (n > 1)
        return refuse(EX_USAGE, "- is named twice; standard input can be read once");
    if (n == 1 && isatty(STDIN_FILENO))
        return refuse(EX_USAGE,
                      "name a FILE such as /var/log/nginx/access.log*, or pipe lines into it "
                      "(see: reckond " COMMAND " --help)");
    return 0;
}

static int with_options(struct report_options *o)
{
    int code = check_standard_input(o);
    if (code != 0)
        return code;
    struct report *r = calloc(1, sizeof(*r));
    if (!r)
        return refuse(EX_OSERR, "out of memory");
    r->o = o;
    code = run(r);
    close_all(r);
    free(r);
    return code;
}

static unsigned long default_threads(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus < 1 ? 1 : cpus > CPUS_USED_MAX ? CPUS_USED_MAX : (unsigned long) cpus;
}

static int refuse_option(struct report_options *o, const struct err *e)
{
    lines_options_done(&o->lines);
    free(o->files);
    return options_refuse(COMMAND, e);
}

int cli_report(int argc, char **argv)
{
    struct report_options o = {.threads = default_threads()};
    struct options options;
    struct err e = {""};
    unsigned row;
    const char *value;
    enum option option;
    clock_system(&o.clock);
    o.files = calloc((size_t) argc, sizeof(*o.files));
    if (!o.files)
        return refuse(EX_OSERR, "out of memory");
    options_begin(&options, argc, argv, rows);
    while ((option = options_next(&options, &row, &value, &e)) != OPTION_END) {
        if (option == OPTION_OPERAND) {
            o.files[o.n_files++] = argv[options.at - 1];
        } else if (option == OPTION_ROW && row == HELP) {
            free(o.files);
            lines_options_done(&o.lines);
            return options_help(
                "reckond report [OPTIONS] [FILE|-]...\n", rows,
                "Exit codes: 0; 64 usage; 65 no line fits; 66 a FILE cannot be read;\n"
                "78 configuration.\n");
        } else if (option == OPTION_WRONG || take(&o, row, value, &e) < 0) {
            return refuse_option(&o, &e);
        }
    }
    int code = with_options(&o);
    lines_options_done(&o.lines);
    free(o.files);
    return code;
}
