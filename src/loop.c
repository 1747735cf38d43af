/* Runs on the ingest thread, which owns inputs, parsers and batches; shared with others is only the
 * store (its own lock) and the stop descriptor. */
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/log.h"
#include "base/zone.h"
#include "ingest.h"
#include "input/follow.h"

#define FILE_ROWS_MAX 256 /* shown in /status */
#define PUBLISH_EVERY_NS (NS_PER_S / 2)
#define STORE_BEHIND_WAIT_MS 50
#define BLOCKS_A_TURN 64 /* of one input before the next one has its turn */

struct loop_input {
    const struct config_input *config;
    struct follow *follow;
    struct plan *own_plan; /* NULL: the shared one */
    struct format *formats[CONFIG_FORMATS_MAX];
    struct ingest_rule rule;
    struct ingest_worker *worker; /* NULL until the formats are known (auto) */
    bool said_undetected;
    unsigned n_samples;
    struct rejected_sample samples[REJECTED_SAMPLES]; /* oldest first */
};

struct loop {
    struct loop_options o;
    struct loop_input *inputs;
    unsigned n_inputs;
    const struct follow *follows[CONFIG_INPUTS_MAX]; /* of inputs, in their order */
    struct block block;
    struct day_window window;
    int32_t today;
    int64_t published_ns;
    int stop_fd;
    pthread_t thread;
    bool started;
};

static void say(void *arg, int level, const char *text)
{
    const struct loop_input *in = arg;
    if (level <= LOG_LEVEL_ERROR)
        log_error("%s: %s", in->config->name, text);
    else if (level <= LOG_LEVEL_WARNING)
        log_warning("%s: %s", in->config->name, text);
    else
        log_info("%s: %s", in->config->name, text);
}

/* ---- formats ---- */

static bool wants_detection(const struct config_input *c)
{
    for (unsigned i = 0; i < c->n_formats; i++)
        if (c->formats[i].kind == FORMAT_AUTO)
            return true;
    return false;
}

static int open_worker(struct loop *l, struct loop_input *in, struct slice head, struct err *e)
{
    int r = ingest_formats(in->config->formats, in->config->n_formats, head, in->formats, e);
    if (r < 0)
        return r;
    in->rule = (struct ingest_rule){
        .input = in->config->name,
        .formats = (const struct format *const *) in->formats,
        .n_formats = in->config->n_formats,
        .day_of_log = strcmp(l->o.config->timezone, "log") == 0,
        .plan = in->own_plan ? in->own_plan : l->o.plan,
    };
    r = ingest_worker_new(&in->worker, &in->rule);
    return r < 0 ? err_set(e, r, "input %s: %s", in->config->name, err_name(r)) : 0;
}

/* auto, and no lines were seen yet: the first block decides, once for this run. While nothing fits,
 * the lines are read by `combined` and so refused as bad_format, counted and shown. */
static int detect(struct loop *l, struct loop_input *in, struct slice head)
{
    struct err e;
    int r = open_worker(l, in, head, &e);
    if (r == 0) {
        log_info("%s: format %s", in->config->name, format_name(in->formats[0]));
        return 0;
    }
    if (r == -ENOENT && !in->said_undetected) {
        in->said_undetected = true;
        log_warning("%s: %s", in->config->name, e.text);
    }
    return r;
}

static int fallback_worker(struct loop *l, struct loop_input *in, struct ingest_worker **ret)
{
    static const struct format_spec combined = {FORMAT_PRESET, (char *) (uintptr_t) "combined"};
    struct err e;
    int r = ingest_formats(&combined, 1, (struct slice){0}, in->formats, &e);
    if (r < 0)
        return r;
    in->rule = (struct ingest_rule){.input = in->config->name,
                                    .formats = (const struct format *const *) in->formats,
                                    .n_formats = 1,
                                    .day_of_log = strcmp(l->o.config->timezone, "log") == 0,
                                    .plan = in->own_plan ? in->own_plan : l->o.plan};
    return ingest_worker_new(ret, &in->rule);
}

/* ---- one block ---- */

static bool stopped(const struct loop *l, int wait_ms)
{
    struct pollfd p = {.fd = l->stop_fd, .events = POLLIN};
    return poll(&p, 1, wait_ms) > 0;
}

/* Waits while the store is behind: the kernel's file is the buffer. false: told to stop, not
 * applied. */
static bool apply(struct loop *l, const struct store_delta *delta)
{
    for (;;) {
        int r = store_apply(l->o.store, delta);
        if (r == 0)
            return true;
        if (r != -EAGAIN)
            log_error("counting: %s; trying again", err_name(r));
        if (stopped(l, STORE_BEHIND_WAIT_MS))
            return false;
    }
}

static void keep_samples(struct loop_input *in, const struct ingest_sheet *sheet)
{
    for (unsigned i = 0; i < sheet->n_samples; i++) {
        if (in->n_samples == REJECTED_SAMPLES)
            memmove(&in->samples[0], &in->samples[1], (--in->n_samples) * sizeof in->samples[0]);
        in->samples[in->n_samples++] = sheet->samples[i];
    }
}

/* Counts a block with a worker. Several batches of one block are one step: nothing is committed
 * before the last, which brings books and positions. After a stop in between, the next start reads
 * the block again. */
static bool count_block(struct loop *l, unsigned index, struct ingest_worker *worker)
{
    struct loop_input *in = &l->inputs[index];
    const struct block *b = &l->block;
    struct ingest_rest rest;
    ingest_begin(&rest, b);
    struct ingest_sheet sheet = {0};
    struct store_position positions[BLOCK_POSITIONS_MAX];
    for (unsigned i = 0; i < b->n_positions; i++)
        positions[i] =
            (struct store_position){b->positions[i].id, b->positions[i].bytes, b->positions[i].n};
    for (bool done = false; !done;) {
        done = ingest_fill(worker, &rest, b->host, &l->window, &sheet);
        struct store_delta delta = {.input = index, .batch = ingest_batch(worker), .more = !done};
        if (done) {
            delta.books = &sheet.books;
            delta.positions = positions;
            delta.n_positions = b->n_positions;
            delta.last_line_s = sheet.last_line_s;
        }
        if (!apply(l, &delta))
            return false;
    }
    keep_samples(in, &sheet);
    return true;
}

/* false: told to stop. */
static bool take_block(struct loop *l, unsigned index)
{
    struct loop_input *in = &l->inputs[index];
    if (!in->worker && l->block.lines.n)
        detect(l, in, l->block.lines);
    if (in->worker)
        return count_block(l, index, in->worker);
    struct ingest_worker *once = NULL;
    int r = fallback_worker(l, in, &once);
    while (r < 0) { /* out of memory: nothing of the block is lost, it waits */
        if (stopped(l, STORE_BEHIND_WAIT_MS))
            return false;
        r = fallback_worker(l, in, &once);
    }
    bool ok = count_block(l, index, once);
    ingest_worker_free(once);
    in->formats[0] = format_free(in->formats[0]);
    return ok;
}

/* ---- turns ---- */

static void publish(struct loop *l, unsigned index)
{
    struct loop_input *in = &l->inputs[index];
    struct follow_status f;
    follow_status(in->follow, &f);
    struct input_status status = {
        .kind = "files",
        .lag_bytes = f.lag_bytes,
        .resets = f.resets,
        .copies = f.copies,
        .retired = f.retired,
        .lost_files = f.lost_files,
        .globs_empty = f.globs_empty,
        .unreadable = f.unreadable,
        .catching_up = f.catching_up,
        .gone = f.globs_empty == in->config->n_files,
        .n_samples = in->n_samples,
    };
    for (unsigned i = 0; i < in->n_samples; i++)
        status.samples[i] = in->samples[in->n_samples - 1 - i];
    static struct follow_file rows[FILE_ROWS_MAX];
    static struct input_file_status files[FILE_ROWS_MAX];
    unsigned n = follow_files(in->follow, rows, FILE_ROWS_MAX);
    if (n > FILE_ROWS_MAX)
        n = FILE_ROWS_MAX;
    for (unsigned i = 0; i < n; i++) {
        memcpy(files[i].path, rows[i].path, sizeof files[i].path);
        files[i].offset = rows[i].offset;
        files[i].size = rows[i].size;
        files[i].lag_bytes = rows[i].lag_bytes;
    }
    (void) store_publish_input(l->o.store, index, &status, files,
                               n); /* shown next time otherwise */
}

static void publish_all(struct loop *l)
{
    int64_t now = clock_monotonic_ns();
    if (l->published_ns && now - l->published_ns < PUBLISH_EVERY_NS)
        return;
    l->published_ns = now;
    for (unsigned i = 0; i < l->n_inputs; i++)
        publish(l, i);
}

/* Which days count now: [oldest kept, tomorrow]. */
static void look_at_clock(struct loop *l)
{
    int64_t first, last;
    int32_t today = zone_day(clock_now_s(l->o.clock), &first, &last);
    if (today == l->today)
        return;
    if (l->today != STORE_DAY_NONE)
        store_day(l->o.store, today);
    l->today = today;
    uint32_t kept = l->o.config->retention_days;
    l->window = (struct day_window){
        kept && today + 1 > (int32_t) kept ? today + 1 - (int32_t) kept : 0, today + 1};
}

/* One turn over all inputs. Returns whether there was anything to do; *ret_stop: told to stop. */
static bool turn(struct loop *l, bool *ret_stop)
{
    bool busy = false;
    for (unsigned i = 0; i < l->n_inputs && !*ret_stop; i++)
        for (unsigned n = 0; n < BLOCKS_A_TURN && !*ret_stop; n++) {
            look_at_clock(l);
            if (follow_next(l->inputs[i].follow, &l->block) <= 0)
                break;
            busy = true;
            if (!take_block(l, i) || stopped(l, 0))
                *ret_stop = true;
        }
    return busy;
}

static void *run(void *arg)
{
    struct loop *l = arg;
    int wait_ms = FOLLOW_POLL_MS;
    for (bool stop = false; !stop;) {
        look_at_clock(l);
        bool busy = turn(l, &stop);
        publish_all(l);
        if (l->o.alive)
            l->o.alive(l->o.arg);
        if (stop)
            break;
        wait_ms = busy                           ? FOLLOW_POLL_MS
                  : wait_ms * 2 > FOLLOW_IDLE_MS ? FOLLOW_IDLE_MS
                                                 : wait_ms * 2;
        stop = stopped(l, busy ? 0 : wait_ms);
    }
    return NULL;
}

/* ---- life ---- */

static int restore_position(void *arg, uint64_t id, const uint8_t *bytes, uint32_t n)
{
    struct loop_input *in = arg;
    int r = follow_restore(in->follow, id, bytes, n);
    if (r == -EBADMSG) {
        log_error("%s: stored position %llu is damaged; its file is read as a new one",
                  in->config->name, (unsigned long long) id);
        return 0;
    }
    return r;
}

static int open_input(struct loop *l, unsigned index, struct err *e)
{
    struct loop_input *in = &l->inputs[index];
    in->config = &l->o.config->inputs[index];
    if (in->config->has_client) {
        struct plan_options own = *l->o.plan_options;
        own.client = &in->config->client;
        int made = plan_new(&in->own_plan, &own);
        if (made < 0)
            return err_set(e, made, "input %s: %s", in->config->name, err_name(made));
    }
    int r = wants_detection(in->config) ? 0 : open_worker(l, in, (struct slice){0}, e);
    if (r < 0)
        return r;
    struct follow_options options = {
        .input = in->config->name,
        .globs = (const char *const *) in->config->files,
        .n_globs = in->config->n_files,
        .first_start = store_is_new(l->o.store),
        .from_end = in->config->first_read_end,
        .earlier = l->follows,
        .n_earlier = index,
        .say = say,
        .arg = in,
    };
    r = follow_new(&in->follow, &options, e);
    if (r < 0)
        return r;
    l->follows[index] = in->follow;
    r = store_positions(l->o.store, index, restore_position, in);
    return r < 0 ? err_set(e, r, "input %s: its positions: %s", in->config->name, err_name(r)) : 0;
}

int loop_new(struct loop **ret, const struct loop_options *options, struct err *e)
{
    struct loop *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(e, -ENOMEM, "out of memory");
    l->o = *options;
    l->today = STORE_DAY_NONE;
    l->stop_fd = eventfd(0, EFD_CLOEXEC);
    int r = l->stop_fd < 0 ? err_set(e, -errno, "eventfd: %s", err_name(-errno)) : 0;
    if (r == 0 && (r = block_init(&l->block)) < 0)
        err_set(e, r, "out of memory");
    if (r == 0) {
        l->inputs = calloc(options->config->n_inputs, sizeof *l->inputs);
        if (!l->inputs)
            r = err_set(e, -ENOMEM, "out of memory");
    }
    for (; r == 0 && l->n_inputs < options->config->n_inputs; l->n_inputs++)
        r = open_input(l, l->n_inputs, e);
    if (r < 0) {
        loop_stop(l);
        return r;
    }
    uint64_t next_id = 1;
    for (int pass = 0; pass < 2; pass++) /* the largest id in use, then handed to all */
        for (unsigned i = 0; i < l->n_inputs; i++)
            follow_ids(l->inputs[i].follow, &next_id);
    *ret = l;
    return 0;
}

int loop_start(struct loop *l)
{
    int r = -pthread_create(&l->thread, NULL, run, l);
    l->started = r == 0;
    return r;
}

struct loop *loop_stop(struct loop *l)
{
    if (!l)
        return NULL;
    if (l->started) {
        (void) eventfd_write(l->stop_fd, 1);
        pthread_join(l->thread, NULL);
    }
    for (unsigned i = 0; l->inputs && i < l->o.config->n_inputs; i++) {
        struct loop_input *in = &l->inputs[i];
        ingest_worker_free(in->worker);
        follow_free(in->follow);
        for (unsigned f = 0; f < CONFIG_FORMATS_MAX; f++)
            format_free(in->formats[f]);
        plan_free(in->own_plan);
    }
    free(l->inputs);
    block_done(&l->block);
    if (l->stop_fd >= 0)
        close(l->stop_fd);
    free(l);
    return NULL;
}
