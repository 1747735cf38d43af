#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/zone.h"
#include "store/store_int.h"

#define RETRY_NS NS_PER_S
#define REST_WAIT_NS NS_PER_S

/* ---- the lock ---- */

void store_lock(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->locked_at_ns = clock_monotonic_ns();
}

static void note_held(struct store *s)
{
    int64_t held = clock_monotonic_ns() - s->locked_at_ns;
    if (held > 0 && (uint64_t) held > s->state.lock_held_max_ns)
        s->state.lock_held_max_ns = (uint64_t) held;
}

void store_unlock(struct store *s)
{
    note_held(s);
    pthread_mutex_unlock(&s->lock);
}

/* Lock held before and after. until_ns: monotonic; 0: for ever */
static void wait_on(struct store *s, pthread_cond_t *condition, int64_t until_ns)
{
    note_held(s);
    if (until_ns) {
        struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};
        pthread_cond_timedwait(condition, &s->lock, &until);
    } else {
        pthread_cond_wait(condition, &s->lock);
    }
    s->locked_at_ns = clock_monotonic_ns();
}

void store_dirty(struct store *s)
{
    if (s->dirty_since_ns || !s->has_committer)
        return;
    s->dirty_since_ns = clock_monotonic_ns();
    s->commit_at_ns = s->dirty_since_ns + s->options.commit_every_ns;
    pthread_cond_signal(&s->wake);
}

void store_evicted(struct store *s, int32_t day)
{
    s->evicted[s->evictions % EVICTIONS_KEPT] = day;
    s->evictions++;
}

int32_t store_oldest_kept(const struct store *s)
{
    return s->options.retention_days == 0 ? 0
                                          : s->today - (int32_t) (s->options.retention_days - 1);
}

struct day *store_open_day(struct store *s, int32_t day)
{
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++)
        if (s->open[i] && s->open[i]->number == day)
            return s->open[i];
    return NULL;
}

/* ---- the committer ---- */

int store_call(struct store *s, int (*fn)(struct store *s, void *arg), void *arg)
{
    struct store_call call = {.fn = fn, .arg = arg};
    store_lock(s);
    if (!s->has_committer) {
        store_unlock(s);
        return fn(s, arg);
    }
    *s->calls_end = &call;
    s->calls_end = &call.next;
    pthread_cond_signal(&s->wake);
    while (!call.done)
        wait_on(s, &s->done, 0);
    store_unlock(s);
    return call.result;
}

static void serve_call(struct store *s)
{
    struct store_call *call = s->calls;
    s->calls = call->next;
    if (!s->calls)
        s->calls_end = &s->calls;
    store_unlock(s);
    int r = call->fn(s, call->arg);
    store_lock(s);
    call->result = r;
    call->done = true;
    pthread_cond_broadcast(&s->done);
}

static bool commit_due(const struct store *s)
{
    if (s->applying.active || s->applying.held)
        return false;
    return s->commit_wanted > s->commit_served ||
           (s->dirty_since_ns && clock_monotonic_ns() >= s->commit_at_ns);
}

/* What is not written stays dirty: the time of the next try is all that a failure changes. */
static void serve_commit(struct store *s)
{
    int room = commit_make_room(s);
    if (room == 0)
        return;
    uint64_t wanted = s->commit_wanted;
    int64_t since = s->dirty_since_ns, start = clock_monotonic_ns();
    s->dirty_since_ns = 0;
    int r = room < 0 ? room : commit_run(s);
    int64_t end = clock_monotonic_ns();
    s->state.last_error = r;
    s->state.commit_duration_ns = end - start;
    if (r == 0) {
        s->state.commits++;
        s->state.last_commit_ns = end;
    } else {
        s->state.commit_failures++;
        s->dirty_since_ns = since ? since : start;
        s->commit_at_ns =
            end + (s->options.commit_every_ns > RETRY_NS ? s->options.commit_every_ns : RETRY_NS);
    }
    s->commit_served = wanted;
    s->commit_result = r;
    pthread_cond_broadcast(&s->done);
}

static void *commit_thread(void *arg)
{
    struct store *s = arg;
    store_lock(s);
    for (;;) {
        if (commit_due(s))
            serve_commit(s);
        else if (s->calls)
            serve_call(s);
        else if (s->ending)
            break;
        else
            wait_on(s, &s->wake,
                    s->dirty_since_ns && !s->applying.active && !s->applying.held ? s->commit_at_ns
                                                                                  : 0);
    }
    store_unlock(s);
    return NULL;
}

/* The rest of a delta is waited for, but not for ever: its thread may have ended. */
int store_commit(struct store *s)
{
    int r = 0;
    store_lock(s);
    if (s->has_committer) {
        uint64_t wanted = ++s->commit_wanted;
        int64_t until = clock_monotonic_ns() + REST_WAIT_NS;
        pthread_cond_signal(&s->wake);
        while (s->commit_served < wanted && !s->applying.stuck &&
               !(s->applying.held && clock_monotonic_ns() >= until))
            wait_on(s, &s->done, s->applying.held ? until : 0);
        r = s->commit_served < wanted ? -EAGAIN : s->commit_result;
    }
    store_unlock(s);
    return r;
}

/* ---- opening ---- */

static int check_key(struct store *s, struct err *e)
{
    char text[2 * SK_FINGERPRINT_BYTES + 16];
    struct buf stored;
    size_t n = (size_t) snprintf(text, sizeof(text), "%u:", s->columns.stamp.hash_id);
    for (unsigned i = 0; i < SK_FINGERPRINT_BYTES; i++)
        n += (size_t) snprintf(text + n, sizeof(text) - n, "%02x", s->columns.stamp.fingerprint[i]);
    buf_init(&stored);
    int r = db_meta_get(s->db, "hash_key", &stored);
    if (r == 0 && !slice_is((struct slice){stored.p, stored.n}, text))
        r = err_set(e, -EKEYREJECTED,
                    "the hash key is not the one that %s/" DB_FILE
                    " was counted with: put the right "
                    "key file back, or move the database away to start anew",
                    s->directory);
    else if (r == -ENOENT)
        r = db_meta_put(s->db, "hash_key", text);
    buf_done(&stored);
    return r;
}

static void note(struct err *to, const char *sentence)
{
    size_t n = strlen(to->text);
    snprintf(to->text + n, sizeof(to->text) - n, "%s%s", n ? "; " : "", sentence);
}

static int check_zone(struct store *s, struct err *ret_note)
{
    char text[512];
    struct buf stored;
    const char *zone = s->options.zone ? s->options.zone : "UTC";
    buf_init(&stored);
    int r = db_meta_get(s->db, "zone", &stored);
    if (r == 0 && !slice_is((struct slice){stored.p, stored.n}, zone)) {
        snprintf(text, sizeof(text),
                 "the time zone was %.*s and is %s now: stored days keep their boundaries",
                 (int) stored.n, stored.p, zone);
        note(ret_note, text);
        r = -ENOENT;
    }
    if (r == -ENOENT)
        r = db_meta_put(s->db, "zone", zone);
    buf_done(&stored);
    return r;
}

/* The series of a metric; `more` ends its definition. */
static int metric_series(struct store *s, const char *kind, unsigned metric, const char *more,
                         int64_t *ret_id, struct err *ret_note)
{
    const struct metric *m = &s->options.metrics->list[metric];
    const char *suffix = s->options.definition_suffix ? s->options.definition_suffix : "";
    char definition[1024], all[2048], text[512];
    bool changed;
    metric_definition(definition, sizeof(definition), m);
    snprintf(all, sizeof(all), "%s%s%s%s%s", definition, suffix[0] ? " " : "", suffix,
             more[0] ? " " : "", more);
    int r = db_series(s->db, kind, m->name, all, s->today, ret_id, &changed);
    if (r == 0 && changed && strcmp(kind, "new") != 0) {
        snprintf(text, sizeof(text),
                 "%s %s is defined in another way than before: it starts a new series, and older "
                 "days are missing from it",
                 kind, m->name);
        note(ret_note, text);
    }
    return r;
}

static int open_column(struct store *s, struct column *c, struct err *ret_note)
{
    bool changed;
    char more[1200] = "seen=", definition[1024];
    switch (c->role) {
    case COLUMN_TRAFFIC:
        return db_series(s->db, "traffic", "", "", s->today, &c->series_id, &changed);
    case COLUMN_NEW:
        metric_definition(definition, sizeof(definition), &s->options.metrics->list[c->seen]);
        snprintf(more, sizeof(more), "seen=%s %s", s->options.metrics->list[c->seen].name,
                 definition);
        return metric_series(s, "new", c->metric, more, &c->series_id, ret_note);
    default:
        return metric_series(s, metric_kind_name(s->options.metrics->list[c->metric].kind),
                             c->metric, "", &c->series_id, ret_note);
    }
}

static int open_filter(struct store *s, unsigned metric, struct err *ret_note)
{
    int64_t id;
    struct db_filter row = {.generation = 0, .since = STORE_DAY_NONE};
    int r = metric_series(s, "seen", metric, "", &id, ret_note);
    if (r == 0)
        r = db_filter_get(s->db, id, &row);
    if (r == 0 || r == -ENOENT)
        r = filter_new(&s->filters[s->n_filters], &s->options.metrics->list[metric], metric, id,
                       &row);
    if (r < 0)
        return r;
    s->filter_of[metric] = (int) s->n_filters++;
    struct filter *f = s->filters[s->n_filters - 1];
    filter_day(f, s->today);
    return db_is_temporary(s->db) ? 0 : rebuild_restore(s, f);
}

static int open_inputs(struct store *s)
{
    unsigned n_ignore =
        s->options.n_ignore < BOOKS_RULES_MAX ? s->options.n_ignore : BOOKS_RULES_MAX;
    for (; s->options.ignore_texts && s->n_ignore < n_ignore; s->n_ignore++) {
        s->ignore_texts[s->n_ignore] = strdup(s->options.ignore_texts[s->n_ignore]);
        if (!s->ignore_texts[s->n_ignore])
            return -ENOMEM;
    }
    s->inputs = calloc(s->options.n_inputs + 1, sizeof(*s->inputs));
    if (!s->inputs)
        return -ENOMEM;
    for (; s->n_inputs < s->options.n_inputs; s->n_inputs++) {
        s->inputs[s->n_inputs].status.kind = "files";
        s->inputs[s->n_inputs].name = strdup(s->options.inputs[s->n_inputs]);
        if (!s->inputs[s->n_inputs].name)
            return -ENOMEM;
    }
    return commit_restore(s);
}

/* Everything that opening writes, in one transaction. */
static int open_rows(struct store *s, struct err *ret_note, struct err *e)
{
    int r = db_begin(s->db);
    if (r == 0)
        r = check_key(s, e);
    if (r == 0)
        r = check_zone(s, ret_note);
    for (unsigned i = 0; i < s->columns.n && r == 0; i++)
        r = open_column(s, &s->columns.list[i], ret_note);
    for (unsigned i = 0; i < s->options.metrics->n && r == 0; i++) {
        s->filter_of[i] = -1;
        if (s->options.metrics->list[i].kind == METRIC_SEEN)
            r = open_filter(s, i, ret_note);
    }
    if (r == 0)
        r = open_inputs(s);
    if (r == 0)
        r = db_commit(s->db);
    if (r < 0)
        db_rollback(s->db);
    return r;
}

static int init_locks(struct store *s)
{
    pthread_condattr_t attributes;
    int r = pthread_condattr_init(&attributes);
    if (r == 0)
        r = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (r == 0)
        r = pthread_mutex_init(&s->lock, NULL);
    if (r == 0)
        r = pthread_cond_init(&s->wake, &attributes);
    if (r == 0)
        r = pthread_cond_init(&s->done, &attributes);
    if (r == 0)
        r = pthread_cond_init(&s->rebuild, &attributes);
    pthread_condattr_destroy(&attributes);
    return -r;
}

/* Signals are the main thread's. */
static int start_threads(struct store *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(&s->committer, NULL, commit_thread, s);
    s->has_committer = r == 0;
    if (r == 0 && s->n_filters) {
        r = pthread_create(&s->rebuilder, NULL, rebuild_thread, s);
        s->has_rebuilder = r == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

static void end_threads(struct store *s)
{
    store_lock(s);
    s->ending_rebuilds = true;
    pthread_cond_broadcast(&s->rebuild);
    store_unlock(s);
    if (s->has_rebuilder)
        pthread_join(s->rebuilder, NULL);
    store_lock(s);
    s->ending = true;
    pthread_cond_broadcast(&s->wake);
    store_unlock(s);
    if (s->has_committer)
        pthread_join(s->committer, NULL);
    s->has_committer = s->has_rebuilder = false;
}

static void free_store(struct store *s)
{
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++)
        day_free(s->open[i], &s->columns);
    for (unsigned i = 0; i < s->n_filters; i++)
        filter_free(s->filters[i]);
    for (unsigned i = 0; i < s->n_inputs; i++) {
        free(s->inputs[i].name);
        free(s->inputs[i].files);
    }
    for (unsigned i = 0; i < s->n_positions; i++)
        free(s->positions[i].blob);
    free(s->inputs);
    free(s->positions);
    free(s->out);
    apply_scratch_done(&s->scratch);
    db_free(s->db);
    for (unsigned i = 0; i < s->n_ignore; i++)
        free(s->ignore_texts[i]);
    free(s->directory);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    pthread_cond_destroy(&s->done);
    pthread_cond_destroy(&s->rebuild);
    free(s);
}

static int open_all(struct store *s, struct err *ret_note, struct err *e)
{
    struct db_open_result opened;
    int r = db_open(&s->db, s->directory, &opened, e);
    if (r < 0)
        return r;
    *ret_note = opened.note;
    s->is_new = opened.is_new;
    r = open_rows(s, ret_note, e);
    if (r == 0)
        r = apply_scratch_init(&s->scratch, s->n_filters);
    if (r == 0)
        r = s->directory ? start_threads(s) : 0;
    if (r < 0 && e->text[0] == 0)
        err_set(e, r, "the store in %s cannot be opened: %s (%s)",
                s->directory ? s->directory : "memory", err_name(r), db_error(s->db));
    return r;
}

int store_open(struct store **ret, const struct store_options *options, struct err *ret_note,
               struct err *e)
{
    struct err no_note, no_error;
    struct store *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->options = *options;
    s->today = options->today;
    s->calls_end = &s->calls;
    s->retention_due = options->directory != NULL;
    clock_system(&s->clock);
    if (options->clock)
        s->clock = *options->clock;
    struct sk_stamp stamp = sk_stamp(options->secret);
    columns_init(&s->columns, options->metrics, &stamp);
    e = e ? e : &no_error;
    ret_note = ret_note ? ret_note : &no_note;
    e->text[0] = ret_note->text[0] = 0;
    int r = init_locks(s);
    if (r == 0 && options->directory && !(s->directory = strdup(options->directory)))
        r = -ENOMEM;
    if (r == 0)
        r = open_all(s, ret_note, e);
    if (r < 0) {
        end_threads(s);
        free_store(s);
        return r;
    }
    store_lock(s);
    s->state.restored = true;
    if (s->retention_due)
        store_dirty(s);
    store_unlock(s);
    *ret = s;
    return 0;
}

int store_close(struct store *s)
{
    if (!s)
        return 0;
    /* a half-applied delta is never committed: the disk stays at the position before it */
    store_lock(s);
    s->applying.stuck = s->applying.active || s->applying.held;
    store_unlock(s);
    int r = store_commit(s);
    end_threads(s);
    free_store(s);
    return r;
}

bool store_is_new(const struct store *s)
{
    return s->is_new;
}
