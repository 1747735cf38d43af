#include "input/follow.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/follow_int.h"

#define IDS_A_FOLLOWER (UINT64_C(1) << 32)
#define BLOCKS_OF_ONE 16

void follow_say(struct follow *f, int level, const char *format, ...)
{
    char text[PATH_MAX + 512];
    va_list args;
    if (!f->say)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    f->say(f->say_arg, level, text);
}

static int64_t monotonic_ns(void *arg)
{
    (void) arg;
    return clock_monotonic_ns();
}

/* ---- turns ---- */

/* The first look at a file that has bytes. */
static void look_at_new(struct follow *f, struct file *x)
{
    switch (archive_packing(x->fd, x->size_bytes)) {
    case PACKING_UNKNOWN:
        return;
    case PACKING_FOREIGN:
        follow_say(f, LOG_LEVEL_WARNING,
                   "%s: packed in a way that is not read (gzip and zstd are); ignored", x->path);
        x->state = FILE_IGNORED;
        break;
    case PACKING_READABLE:
        x->archive = true;
        if (x->first && f->from_end)
            classify_counted(f, x);
        else
            x->backlog = true;
        x->turn = 0;
        break;
    case PACKING_NONE: {
        struct content c = {.fd = x->fd, .size_bytes = x->size_bytes};
        (void) classify(f, x, &c);
        return;
    }
    }
    close(x->fd);
    x->fd = -1;
}

/* By date of birth: an original is older than its copies. Those of one tick of the file system's
 * clock go by name: copies have one that rotation gave. */
static bool born_before(const struct file *a, const struct file *b)
{
    if (a->who.btime_ns != b->who.btime_ns)
        return a->who.btime_ns < b->who.btime_ns;
    return !family_rotated(a->path) && family_rotated(b->path);
}

static void classify_new(struct follow *f)
{
    for (;;) {
        struct file *first = NULL;
        for (unsigned i = 0; i < f->n_files; i++) {
            struct file *x = f->files[i];
            if (x->state == FILE_NEW && x->fd >= 0 && x->turn != f->turn &&
                (!first || born_before(x, first)))
                first = x;
        }
        if (!first)
            return;
        struct stat st;
        first->turn = f->turn;
        if (fstat(first->fd, &st) == 0)
            follow_look(first, &st, f->now);
        if (first->size_bytes == 0 && first->nlink == 0)
            follow_remove(f, first);
        else if (first->size_bytes > 0)
            look_at_new(f, first);
        else if (!first->id && !first->outside)
            follow_queue(f, first); /* may be renamed before its first line, while we are away */
    }
}

static bool wants_scan(const struct follow *f)
{
    int64_t ago = f->now - f->scanned_ns;
    if (!f->began || ago >= SCAN_EVERY_NS || scan_changed(f))
        return true;
    if (ago < SCAN_SOON_NS)
        return false;
    if (f->now - f->changed_ns < 3 * SCAN_SOON_NS)
        return true; /* a change within the tick of the folder's time */
    for (unsigned i = 0; i < f->n_globs; i++)
        if (f->globs[i].n_found == 0)
            return true;
    for (unsigned i = 0; i < f->n_files; i++)
        if (f->files[i]->state == FILE_GONE && f->now - f->files[i]->changed_ns < MISSING_NS &&
            (f->files[i]->restored || f->files[i]->truncated))
            return true;
    return false;
}

/* A file of the last run that was found nowhere. */
static void give_up_missing(struct follow *f, struct file *x)
{
    x->restored = false;
    bool read_out = x->archive ? x->done : family_rotated(x->path);
    if (!read_out) {
        f->lost_files++;
        follow_say(f, LOG_LEVEL_WARNING,
                   "%s: gone since the last run; lines written to it behind byte %llu are lost",
                   x->path, (unsigned long long) x->offset);
    }
    if (x->archive || x->offset == 0) {
        follow_remove(f, x);
        return;
    }
    follow_queue(f, x);
    classify_trim_gone(f, x->family);
}

/* Removed by rotation: its epoch is remembered for a while. */
static void archive_gone(struct follow *f, struct file *x)
{
    archive_drop(f, x);
    x->state = FILE_GONE;
    x->backlog = false;
    x->dev = 0;
    if (x->offset == 0) {
        follow_remove(f, x);
        return;
    }
    follow_queue(f, x);
    classify_trim_gone(f, x->family);
}

static void tidy(struct follow *f)
{
    for (unsigned i = f->n_files; i-- > 0;) {
        if (i >= f->n_files)
            continue;
        struct file *x = f->files[i];
        int64_t unseen = f->now - x->seen_ns;
        if (x->state == FILE_GONE && x->restored && f->now - x->changed_ns >= MISSING_NS)
            give_up_missing(f, x);
        else if (x->archive && x->state == FILE_OWN && unseen >= UNSEEN_NS)
            archive_gone(f, x);
        else if ((x->archive || x->state == FILE_IGNORED) && x->state != FILE_OWN &&
                 x->state != FILE_GONE && unseen >= MISSING_NS)
            follow_remove(f, x);
        else if (x->state == FILE_OWN && x->fd >= 0 && unseen >= OUTSIDE_NS &&
                 f->now - x->changed_ns >= OUTSIDE_NS)
            classify_retire(f, x);
    }
}

static void scan(struct follow *f)
{
    bool changed = scan_changed(f);
    if (!f->began)
        for (unsigned i = 0; i < f->n_files; i++)
            f->files[i]->changed_ns = f->files[i]->seen_ns = f->now;
    found_index(f);
    scan_globs(f);
    scan_families(f);
    f->scanned_ns = f->now;
    if (changed)
        f->changed_ns = f->now;
    f->began = true;
    tidy(f);
}

static void start_turn(struct follow *f)
{
    f->turn++;
    f->turn_ns = f->now;
    f->turn_ended = false;
    if (wants_scan(f))
        scan(f);
    classify_new(f);
}

static int step(struct follow *f, struct file *x, struct block *b)
{
    struct stat st;
    switch (x->state) {
    case FILE_NEW:
        return x->archive ? archive_step(f, x, b) : 0;
    case FILE_SHADOW:
        if (x->fd >= 0 && fstat(x->fd, &st) == 0)
            follow_look(x, &st, f->now);
        (void) classify_shadow(f, x);
        return 0;
    case FILE_OWN:
        if (x->archive)
            return x->done ? 0 : archive_step(f, x, b);
        return x->fd >= 0 ? tail_step(f, x, b) : 0;
    case FILE_GONE:
    case FILE_IGNORED:
        break;
    }
    return 0;
}

/* By rotation number within a family, else by modification time. */
static bool older(const struct file *a, const struct file *b)
{
    if (a->family == b->family && family_earlier(a->path, b->path))
        return true;
    if (a->family == b->family && family_earlier(b->path, a->path))
        return false;
    return a->order_ns < b->order_ns;
}

/* What is behind, the oldest first; an archive that was begun is ended first. */
static struct file *pick_backlog(const struct follow *f)
{
    uint64_t raw;
    struct file *oldest = archive_current(f, &raw);
    if (oldest && oldest->turn != f->turn)
        return oldest;
    for (unsigned i = 0; i < f->n_files; i++) {
        struct file *x = f->files[i];
        if (x->backlog && x->turn != f->turn && (!oldest || older(x, oldest)))
            oldest = x;
    }
    return oldest;
}

static struct file *pick_live(struct follow *f)
{
    for (unsigned i = 0; f->n_files && i <= f->n_files; i++, f->cursor++, f->blocks_of_one = 0) {
        struct file *x = f->files[f->cursor % f->n_files];
        if (!x->backlog && x->turn != f->turn &&
            (x->state == FILE_OWN || x->state == FILE_SHADOW) && f->blocks_of_one < BLOCKS_OF_ONE)
            return x;
    }
    return NULL;
}

static struct file *pick(struct follow *f)
{
    struct file *x = f->live_turn ? pick_live(f) : pick_backlog(f);
    if (!x)
        x = f->live_turn ? pick_backlog(f) : pick_live(f);
    return x;
}

/* ---- the public functions ---- */

int follow_new(struct follow **ret, const struct follow_options *options, struct err *e)
{
    struct follow *f = calloc(1, sizeof(*f));
    if (!f)
        return err_set(e, -ENOMEM, "out of memory");
    f->first_start = options->first_start;
    f->from_end = options->from_end;
    f->earlier = options->earlier;
    f->n_earlier = options->n_earlier;
    f->say = options->say;
    f->say_arg = options->arg;
    f->now_ns = monotonic_ns;
    f->next_id = 1;
    f->turn_ended = true;
    f->input = strdup(options->input);
    f->globs = calloc(options->n_globs ? options->n_globs : 1, sizeof(*f->globs));
    int r = f->input && f->globs ? cutter_init(&f->cutter) : -ENOMEM;
    if (r < 0)
        err_set(e, r, "out of memory");
    for (; r == 0 && f->n_globs < options->n_globs; f->n_globs += r == 0)
        r = glob_parse(options->globs[f->n_globs], &f->globs[f->n_globs], e);
    if (r < 0) {
        follow_free(f);
        return r;
    }
    *ret = f;
    return 0;
}

struct follow *follow_free(struct follow *f)
{
    if (!f)
        return NULL;
    archive_drop(f, NULL);
    for (unsigned i = 0; i < f->n_files; i++)
        follow_free_file(f->files[i]);
    for (unsigned i = 0; i < f->n_globs; i++)
        glob_done(&f->globs[i]);
    scan_done(f);
    cutter_done(&f->cutter);
    free(f->files);
    free(f->index);
    free(f->queue);
    free(f->forgets);
    free(f->globs);
    free(f->input);
    free(f);
    return NULL;
}

static bool shared(const struct follow *f, const char *path)
{
    for (unsigned i = 0; i < f->n_earlier; i++)
        if (scan_covers(f->earlier[i], path))
            return true;
    return false;
}

int follow_restore(struct follow *f, uint64_t id, const uint8_t *bytes, uint32_t n)
{
    struct file decoded;
    int r = id && id <= INT64_MAX ? position_decode(bytes, n, &decoded) : -EBADMSG;
    if (r < 0)
        return r;
    if (!scan_covers(f, decoded.path) || shared(f, decoded.path)) {
        follow_say(f, LOG_LEVEL_WARNING,
                   "%s: was followed, but no glob of this input covers it any more; left alone "
                   "(another input that matches it reads it from its beginning)",
                   decoded.path);
        free(decoded.path);
        free(decoded.host);
        return 0;
    }
    struct slice host = decoded.host ? slice_of(decoded.host) : (struct slice){"", 0};
    struct file *x = follow_add(f, decoded.path, host);
    if (x) {
        char *path = x->path, *own_host = x->host;
        decoded.family = x->family;
        free(decoded.path);
        free(decoded.host);
        *x = decoded;
        x->path = path;
        x->host = own_host;
        x->id = id;
    } else {
        free(decoded.path);
        free(decoded.host);
        return -ENOMEM;
    }
    if (id >= f->next_id)
        f->next_id = id + 1;
    return 0;
}

void follow_ids(struct follow *f, uint64_t *next_id)
{
    if (f->next_id < *next_id)
        f->next_id = *next_id;
    *next_id = f->next_id + IDS_A_FOLLOWER;
}

static void set_empty(struct block *b)
{
    b->lines = (struct slice){b->buffer, 0};
    b->host = b->path = (struct slice){"", 0};
    b->consumed = b->line_number = 0;
    b->too_long = 0;
    b->ended = false;
    b->n_positions = 0;
}

/* Positions without lines: rows first, then what is to be forgotten, so that a stop in between
 * leaves too much and never too little. */
static bool hand_out_queue(struct follow *f, struct block *b)
{
    while (f->n_queue && b->n_positions < BLOCK_POSITIONS_MAX)
        follow_set_position(f, b, f->queue[0]);
    while (!f->n_queue && f->n_forgets && b->n_positions < BLOCK_POSITIONS_MAX)
        b->positions[b->n_positions++] = (struct position){.id = f->forgets[--f->n_forgets]};
    return b->n_positions > 0;
}

int follow_next(struct follow *f, struct block *ret)
{
    f->now = f->now_ns(f->now_arg);
    set_empty(ret);
    if (f->turn_ended || f->now - f->turn_ns >= TURN_NS)
        start_turn(f);
    for (struct file *x;;) {
        if (hand_out_queue(f, ret))
            return 1;
        x = pick(f);
        if (!x)
            break;
        x->turn = f->turn;
        bool live = !x->backlog;
        if (step(f, x, ret) == 0) /* x may be gone now */
            continue;
        f->blocks_of_one += live;
        f->live_turn = !live;
        return 1;
    }
    f->turn_ended = true;
    return 0;
}

static bool followed(const struct file *x)
{
    return x->archive ? !x->done && (x->state == FILE_OWN || x->state == FILE_NEW)
                      : x->fd >= 0 && (x->state == FILE_OWN || x->state == FILE_NEW);
}

static uint64_t lag_of(const struct follow *f, const struct file *x)
{
    if (!x->archive)
        return x->state == FILE_OWN && x->size_bytes > x->offset ? x->size_bytes - x->offset : 0;
    if (!followed(x) || (x->state == FILE_NEW && archive_has_original(f, x)))
        return 0;
    uint64_t raw = 0;
    if (archive_current(f, &raw) != x)
        raw = 0;
    return x->size_bytes > raw ? x->size_bytes - raw : 0;
}

void follow_status(const struct follow *f, struct follow_status *ret)
{
    *ret = (struct follow_status){
        .resets = f->resets,
        .copies = f->copies,
        .retired = f->retired,
        .lost_files = f->lost_files,
        .unreadable = f->unreadable,
    };
    for (unsigned i = 0; i < f->n_files; i++) {
        const struct file *x = f->files[i];
        uint64_t lag = lag_of(f, x);
        ret->lag_bytes += lag;
        ret->n_files += followed(x);
        ret->catching_up |= lag > BLOCK_READ_BYTES || (x->archive && lag > 0);
    }
    for (unsigned i = 0; i < f->n_globs; i++)
        ret->globs_empty += f->globs[i].n_found == 0;
}

unsigned follow_files(const struct follow *f, struct follow_file *rows, unsigned room)
{
    unsigned n = 0;
    for (unsigned i = 0; i < f->n_files; i++) {
        const struct file *x = f->files[i];
        if (!followed(x))
            continue;
        if (n < room) {
            snprintf(rows[n].path, sizeof(rows[n].path), "%s", x->path);
            rows[n].offset = x->offset;
            rows[n].size = x->size_bytes;
            rows[n].lag_bytes = lag_of(f, x);
        }
        n++;
    }
    return n;
}
