/* Runs on the main thread: opens the parts in the data's order reversed (store, inputs, HTTP),
 * waits for signals, closes them in the opposite order. */
#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/zone.h"
#include "hash_key.h"
#include "http/server.h"
#include "keys/agent.h"
#include "keys/plan.h"
#include "loop.h"
#include "notify.h"
#include "store/store.h"

#define AGENTS_FILE_MAX ((size_t) 1 << 20)
#define OPEN_FILES_WANTED 8192

struct daemon {
    const struct config *config;
    const struct clock *clock;
    char zone_line[1024]; /* client rule, prefixes and zone: part of every series */
    char key_path[4096];
    struct sk_secret secret;
    struct agent_list *agents;
    struct plan_options plan_options;
    struct plan *plan;
    struct store *store;
    struct loop *loop;
    struct http *http;
    int64_t watchdog_ns, watchdog_sent_ns;
};

/* ---- exit codes ---- */

static int fail(int exit_code, const struct err *e)
{
    log_error("%s", e->text);
    return exit_code;
}

static int store_exit_code(int r)
{
    switch (r) {
    case -EKEYREJECTED:
    case -EPROTONOSUPPORT:
        return EX_DATAERR;
    case -ENOMEM:
        return EX_OSERR;
    case -EIO:
        return EX_IOERR;
    default:
        return EX_CANTCREAT;
    }
}

static int listen_exit_code(int r)
{
    switch (r) {
    case -EADDRINUSE:
    case -EADDRNOTAVAIL:
        return EX_UNAVAILABLE;
    case -EACCES:
    case -EPERM:
        return EX_NOPERM;
    case -EINVAL:
    case -ENOENT:
        return EX_CONFIG;
    default:
        return EX_OSERR;
    }
}

/* ---- parts ---- */

static int read_agents(struct daemon *d, struct err *e)
{
    struct buf text;
    buf_init(&text);
    int r = 0;
    if (d->config->agents_file)
        r = file_read(d->config->agents_file, AGENTS_FILE_MAX, &text, e);
    if (r == 0)
        r = agent_list_new(&d->agents, d->config->agents_file ? buf_cstr(&text) : NULL, e);
    buf_done(&text);
    return r < 0 ? EX_CONFIG : 0;
}

static bool exists(const char *folder, const char *name)
{
    char path[4096];
    struct stat st;
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int) sizeof path &&
           stat(path, &st) == 0;
}

/* The key is made on the first start only: beside a database a missing one is an error, never
 * replaced. */
static int read_key(struct daemon *d, struct err *e)
{
    const struct config *c = d->config;
    int n = c->hash_key[0] == '/' ? snprintf(d->key_path, sizeof d->key_path, "%s", c->hash_key)
                                  : snprintf(d->key_path, sizeof d->key_path, "%s/%s",
                                             c->state_directory, c->hash_key);
    if (n >= (int) sizeof d->key_path) {
        err_set(e, -ENAMETOOLONG, "state.hash_key: the path is too long");
        return EX_CONFIG;
    }
    bool first = !exists(c->state_directory, "reckond.db");
    if (first && file_make_dirs(c->state_directory, 0700, e) < 0)
        return EX_CANTCREAT;
    int r = hash_key_load(&d->secret, d->key_path, first, e);
    if (r == -ENOENT) {
        err_set(e, r,
                "%s is missing beside the database in %s: the stored days cannot be read without "
                "the key "
                "they were counted with; restore it from a backup, or move the database away to "
                "start anew",
                d->key_path, c->state_directory);
        return EX_DATAERR;
    }
    return r == 0 ? 0 : r == -EINVAL ? EX_CONFIG : EX_CANTCREAT;
}

static int open_plan(struct daemon *d, struct err *e)
{
    d->plan_options = (struct plan_options){.metrics = &d->config->metrics,
                                            .ignore = d->config->ignore,
                                            .n_ignore = d->config->n_ignore,
                                            .client = &d->config->client,
                                            .agents = d->agents,
                                            .secret = &d->secret};
    int r = plan_new(&d->plan, &d->plan_options);
    if (r < 0)
        err_set(e, r, "the plan of the metrics: %s", err_name(r));
    return r == 0 ? 0 : r == -ENOMEM ? EX_OSERR : EX_SOFTWARE;
}

static int32_t today(const struct daemon *d)
{
    int64_t first, last;
    return zone_day(clock_now_s(d->clock), &first, &last);
}

static int open_store(struct daemon *d, struct err *e)
{
    const struct config *c = d->config;
    const char *inputs[CONFIG_INPUTS_MAX];
    for (unsigned i = 0; i < c->n_inputs; i++)
        inputs[i] = c->inputs[i].name;
    const char *ignore_texts[BOOKS_RULES_MAX];
    for (unsigned i = 0; i < c->n_ignore; i++)
        ignore_texts[i] = plan_ignore_text(d->plan, i);
    struct store_options options = {
        .directory = c->state_directory,
        .metrics = &c->metrics,
        .clock = d->clock,
        .definition_suffix = config_definition_suffix(c, d->zone_line, sizeof d->zone_line),
        .zone = strcmp(c->timezone, "log") == 0 ? "log" : zone_name(),
        .secret = &d->secret,
        .commit_every_ns = c->commit_every_ns,
        .retention_days = c->retention_days,
        .today = today(d),
        .inputs = inputs,
        .n_inputs = c->n_inputs,
        .ignore_texts = ignore_texts,
        .n_ignore = c->n_ignore,
    };
    log_info("memory: at most %.1f MiB for sketches, filters and the query cache",
             (double) (store_memory_bound(&options) + c->query_cache_bytes) / (1024.0 * 1024.0));
    struct err note = {""};
    int r = store_open(&d->store, &options, &note, e);
    if (note.text[0])
        log_warning("%s", note.text);
    return r < 0 ? store_exit_code(r) : 0;
}

static int open_http(struct daemon *d, struct err *e)
{
    const struct config *c = d->config;
    struct http_options options = {
        .listen = c->http_listen,
        .hosts = (const char *const *) c->http_hosts,
        .n_hosts = c->n_http_hosts,
        .token_file = c->http_token_file,
        .cors_origins = (const char *const *) c->http_cors_origins,
        .n_cors_origins = c->n_http_cors_origins,
        .clock = d->clock,
        .store = d->store,
        .plan = d->plan,
        .query_cache_bytes = c->query_cache_bytes,
        .warnings = (const char *const *) c->warnings,
        .n_warnings = c->n_warnings,
    };
    int r = http_start(&d->http, &options, e);
    return r < 0 ? listen_exit_code(r) : 0;
}

/* Told once a turn by the ingest loop, so that a loop that hangs is noticed. */
static void alive(void *arg)
{
    struct daemon *d = arg;
    int64_t now = clock_monotonic_ns();
    if (!d->watchdog_ns || now - d->watchdog_sent_ns < d->watchdog_ns)
        return;
    d->watchdog_sent_ns = now;
    notify_send("WATCHDOG=1");
}

static int open_loop(struct daemon *d, struct err *e)
{
    struct loop_options options = {.config = d->config,
                                   .plan_options = &d->plan_options,
                                   .plan = d->plan,
                                   .store = d->store,
                                   .clock = d->clock,
                                   .alive = alive,
                                   .arg = d};
    int r = loop_new(&d->loop, &options, e);
    if (r < 0)
        return r == -EINVAL ? EX_CONFIG : EX_OSERR;
    r = loop_start(d->loop);
    if (r < 0)
        err_set(e, r, "starting the ingest thread: %s", err_name(r));
    return r < 0 ? EX_OSERR : 0;
}

/* ---- process ---- */

static void prepare_process(sigset_t *ret_signals)
{
    sigemptyset(ret_signals);
    sigaddset(ret_signals, SIGTERM);
    sigaddset(ret_signals, SIGINT);
    sigaddset(ret_signals, SIGHUP);
    sigaddset(ret_signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, ret_signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    umask(0077);
    (void) prctl(PR_SET_DUMPABLE, 0); /* the hash key stays out of core files */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < OPEN_FILES_WANTED) {
        files.rlim_cur = files.rlim_max < OPEN_FILES_WANTED ? files.rlim_max : OPEN_FILES_WANTED;
        (void) setrlimit(RLIMIT_NOFILE, &files);
    }
}

static void wait_for_stop(struct daemon *d, const sigset_t *signals)
{
    for (;;) {
        int signal_number;
        if (sigwait(signals, &signal_number) != 0)
            continue;
        switch (signal_number) {
        case SIGUSR1: {
            int r = store_commit(d->store);
            if (r == 0)
                log_info("state saved");
            else
                log_error("state not saved: %s", err_name(r));
            break;
        }
        case SIGHUP:
            log_info("SIGHUP: the configuration is read at start; restart to change it "
                     "(nothing is lost by a restart)");
            break;
        default:
            log_info("stopping");
            return;
        }
    }
}

static int start(struct daemon *d, struct err *e)
{
    int exit_code = read_agents(d, e);
    if (exit_code == 0)
        exit_code = read_key(d, e);
    if (exit_code == 0)
        exit_code = open_plan(d, e);
    if (exit_code == 0)
        exit_code = open_store(d, e);
    if (exit_code == 0)
        exit_code = open_http(d, e);
    if (exit_code == 0)
        exit_code = open_loop(d, e);
    return exit_code;
}

/* The reverse of start, from whatever was reached. */
static int stop(struct daemon *d)
{
    if (d->http)
        http_drain(d->http);
    d->loop = loop_stop(d->loop);
    int r = 0;
    if (d->store)
        r = store_commit(d->store);
    d->http = http_stop(d->http);
    if (d->store) {
        int closed = store_close(d->store);
        r = closed < 0 ? closed : 0;
    }
    d->plan = plan_free(d->plan);
    d->agents = agent_list_free(d->agents);
    explicit_bzero(&d->secret, sizeof d->secret);
    return r;
}

int daemon_run(const struct config *config, const struct clock *clock)
{
    struct daemon d = {.config = config, .clock = clock};
    struct err e;
    log_init(config->log_level);
    if (zone_set(strcmp(config->timezone, "log") == 0 ? "local" : config->timezone, &e) < 0)
        return fail(EX_CONFIG, &e);
    sigset_t signals;
    prepare_process(&signals);
    notify_init();
    d.watchdog_ns = notify_watchdog_ns();
    for (unsigned i = 0; i < config->n_warnings; i++)
        log_warning("%s", config->warnings[i]);

    int exit_code = start(&d, &e);
    if (exit_code != 0) {
        log_error("%s", e.text);
        (void) stop(&d);
        return exit_code;
    }
    log_info("reckond %s: listening on %s, state in %s", PACKAGE_VERSION, http_address(d.http),
             config->state_directory);
    notify_send("READY=1");
    wait_for_stop(&d, &signals);
    notify_send("STOPPING=1");
    int r = stop(&d);
    if (r < 0)
        log_error(
            "the last seconds are not saved: %s; files are read again from the last saved position",
            err_name(r));
    return r < 0 ? EX_IOERR : 0;
}
