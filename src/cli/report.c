/* reckond report: reads logs once and prints the answers; no state, no daemon. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/file.h"
#include "base/zone.h"
#include "cli/cli.h"
#include "cli/output.h"
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
    return output_refuse(COMMAND, code, text);
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
    output_refuse(COMMAND, 0, text);
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

static int add_table_series(struct metrics *all, unsigned long top)
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
    const struct metric hosts = {.kind = METRIC_TOPK,
                                 .key = {{FIELD_HOST}, 1},
                                 .k = top > HOSTS_KEPT ? (uint32_t) top : HOSTS_KEPT,
                                 .error = 0.002,
                                 .confidence = 0.98};
    int n = insert_metric(all, &bots, " bots", "agent_class=bot");
    if (n == 0)
        n = insert_metric(all, &bot_hits, " bot hits", "agent_class=bot");
    return n == 0 ? insert_metric(all, &hosts, " hosts", NULL) : n;
}

/* More rows than a series keeps would look like all there are. */
static int check_top(const struct report *r)
{
    const struct metrics *all = &r->lines.config->metrics;
    for (unsigned i = 0; i < all->n; i++)
        if (all->list[i].kind == METRIC_TOPK && all->list[i].k < r->o->top) {
            output_say(COMMAND,
                       "--top %lu: '%s' keeps %u keys; take at most %u, or give it a "
                       "larger k in the configuration",
                       r->o->top, all->list[i].name, (unsigned) all->list[i].k,
                       (unsigned) all->list[i].k);
            return EX_USAGE;
        }
    return 0;
}

static int prepare_metrics(struct report *r)
{
    struct metrics *all = &r->lines.config->metrics;
    if (check_top(r) != 0)
        return EX_USAGE;
    for (unsigned i = 0; i < all->n; i++)
        all->list[i].keep_days = 0;
    if (!r->o->is_json && add_table_series(all, r->o->top) < 0)
        return refuse(EX_OSERR, "out of memory");
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
    r->window = (struct day_window){REPORT_DAY_EPOCH, REPORT_DAY_LAST};
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

static void prepare_rules(struct report *r)
{
    bool is_auto = lines_is_auto(&r->lines);
    r->n_rules = is_auto ? r->lines.n_formats : 1;
    for (unsigned i = 0; i < r->n_rules; i++)
        r->rules[i] =
            (struct ingest_rule){.input = r->lines.input->name,
                                 .formats = (const struct format *const *) &r->lines.formats[i],
                                 .n_formats = is_auto ? 1 : r->lines.n_formats,
                                 .day_of_log = r->lines.day_of_log,
                                 .plan = r->plan};
}

/* Where SQLite puts temporary files, https://www.sqlite.org/tempfiles.html#tempdir */
static const char *temporary_folder(void)
{
    const char *const folders[] = {getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp",
                                   "/usr/tmp", "/tmp"};
    struct stat st;
    for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (folders[i] && stat(folders[i], &st) == 0 && S_ISDIR(st.st_mode) &&
            access(folders[i], W_OK | X_OK) == 0)
            return folders[i];
    return ".";
}

/* Days that memory has no room for are in a temporary file. */
static int refuse_store(int n, const char *why)
{
    if (n == -ENOMEM)
        return refuse(EX_OSERR, "out of memory");
    output_say(COMMAND,
               "the temporary file in %s failed: %s; name a folder with more room: "
               "TMPDIR=FOLDER reckond " COMMAND " ...",
               temporary_folder(), why);
    return EX_IOERR;
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
        return refuse_store(-EIO, e.text);
    prepare_rules(r);
    return 0;
}

static int prepare_formats(struct report *r)
{
    struct err e = {""};
    int n = lines_is_auto(&r->lines) ? report_files_detect(r, &e)
                                     : lines_formats(&r->lines, (struct slice){"", 0}, &e);
    if (n < 0)
        return refuse(lines_exit_code(n), e.text[0] ? e.text : err_name(n));
    return r->n_files > 0 ? 0 : r->a_file_failed ? EX_NOINPUT : EX_DATAERR;
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
    return n < 0 ? refuse_store(n, err_name(n)) : 0;
}

static bool nothing_fits(const struct report *r)
{
    const struct books *b = &r->books;
    return books_rejected(b) > 0 && b->counted + books_ignored(b) + b->late + b->future == 0;
}

/* An empty answer is explained by the days that were asked for and those that there are. */
static void warn_of_window(struct report *r)
{
    char from[16], to[16], first_text[16], last_text[16];
    int32_t first, last;
    const struct day_window *w = &r->window;
    const uint64_t outside = r->books.late + r->books.future;
    if (r->books.counted > 0 || outside == 0)
        return;
    civil_text(from, w->first);
    bool is_open = w->last == REPORT_DAY_LAST;
    if (!is_open)
        civil_text(to, w->last);
    if (report_files_days(r, &first, &last))
        report_warn(r, "all lines are outside the days %s %s%s; the log has %s to %s", from,
                    is_open ? "and later" : "to ", is_open ? "" : to, civil_text(first_text, first),
                    civil_text(last_text, last));
    else
        report_warn(r, "all lines are outside the days %s %s%s", from,
                    is_open ? "and later" : "to ", is_open ? "" : to);
}

static int print(struct report *r)
{
    warn_of_window(r);
    int n = r->o->is_json ? report_json(r) : report_table(r);
    if (n < 0)
        return refuse_store(n, err_name(n));
    int code = output_end(COMMAND);
    if (code != 0)
        return code;
    if (r->a_file_failed)
        return EX_NOINPUT;
    if (nothing_fits(r))
        output_say(COMMAND,
                   "no line fits the format %.200s; see why with: reckond check-format "
                   "(formats: auto %s, nginx:TEXT, apache:TEXT)",
                   r->lines.format_name, preset_names());
    return r->a_file_unfit || nothing_fits(r) ? EX_DATAERR : 0;
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
    output_begin();
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
                COMMAND, "reckond report [OPTIONS] [FILE|-]...\n", rows,
                "Exit codes: 0; 64 usage; 65 no line fits; 65 also a FILE of no known format;\n"
                "66 a FILE cannot be read; 74 output or temporary file; 78 configuration.\n");
        } else if (option == OPTION_WRONG || take(&o, row, value, &e) < 0) {
            return refuse_option(&o, &e);
        }
    }
    int code = with_options(&o);
    lines_options_done(&o.lines);
    free(o.files);
    return code;
}
