#include "input/follow_int.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void apply(struct follow *f, struct file *x, struct block *b)
{
    print_add(&x->print, b->buffer, b->consumed);
    x->offset += b->consumed;
    x->skipping = f->cutter.skipping;
    x->lines = f->cutter.lines;
    if (x->lines_unknown)
        b->line_number = 0;
    x->turn = 0; /* there may be more in this turn */
    follow_name(f, b, x);
    follow_set_position(f, b, x);
}

static char *ready_cutter(struct follow *f, const struct file *x, struct block *b, size_t *ret_room)
{
    f->cutter.carried = 0;
    f->cutter.started = x->offset > 0;
    f->cutter.skipping = x->skipping;
    f->cutter.lines = x->lines;
    return cutter_room(&f->cutter, b, ret_room);
}

/* What a truncated file's writer left before its next line, or a preallocated end: holes are
 * skipped without reading; zeros at the end wait for what comes behind them. */
static int skip_hole(struct follow *f, struct file *x, struct block *b)
{
    off_t data = lseek(x->fd, (off_t) x->offset, SEEK_DATA);
    if (data <= (off_t) x->offset)
        return 0;
    uint64_t n = (uint64_t) data - x->offset;
    print_add_zeros(&x->print, n);
    x->offset += n;
    b->lines = (struct slice){b->buffer, 0};
    b->consumed = n;
    b->too_long = 0;
    b->ended = false;
    b->line_number = 0;
    x->turn = 0;
    follow_name(f, b, x);
    follow_set_position(f, b, x);
    return 1;
}

static ssize_t read_bytes(struct follow *f, struct file *x, char *to, size_t room)
{
    ssize_t n;
    do
        n = pread(x->fd, to, room, (off_t) x->offset);
    while (n < 0 && errno == EINTR);
    int code = n < 0 ? errno : 0;
    if (code && code != x->read_error)
        follow_say(f, LOG_LEVEL_ERROR, "%s: cannot be read: %s; tried again", x->path,
                   err_name(-code));
    x->read_error = code;
    return n;
}

/* Check, read, check: what was read counts only if before and after it the file held what was
 * counted. */
static int read_lines(struct follow *f, struct file *x, struct block *b)
{
    size_t room;
    char *to = ready_cutter(f, x, b, &room);
    ssize_t n = read_bytes(f, x, to, room);
    if (n <= 0 || classify_validate(f, x) != 1)
        return 0;
    bool at_end = x->offset + (uint64_t) n >= x->size_bytes;
    size_t used = (size_t) n;
    while (used > 0 && to[used - 1] == '\0')
        used--;
    if (used == 0 && skip_hole(f, x, b))
        return 1;
    cutter_cut(&f->cutter, b, at_end ? used : (size_t) n, false);
    if (b->consumed == 0)
        return 0;
    apply(f, x, b);
    return 1;
}

/* Unlinked, read out and quiet: a last line without its end is one all the same, once. */
static int retire(struct follow *f, struct file *x, struct block *b)
{
    if (f->scan <= x->unlinked_scan || f->now - x->unlinked_ns < RETIRE_IDLE_NS ||
        f->now - x->changed_ns < RETIRE_IDLE_NS)
        return 0;
    int blocks = 0;
    if (x->size_bytes > x->offset) {
        size_t room;
        char *to = ready_cutter(f, x, b, &room);
        ssize_t n = read_bytes(f, x, to, room);
        if (n < 0 || classify_validate(f, x) != 1)
            return 0;
        cutter_cut(&f->cutter, b, (size_t) n, true);
        if (b->consumed) {
            apply(f, x, b);
            blocks = 1;
        }
        b->ended = false;
    }
    classify_retire(f, x);
    return blocks;
}

static bool wants_check(const struct follow *f, const struct file *x)
{
    if (x->size_bytes != x->offset || x->checked_ns == 0)
        return true;
    /* A write within the same tick of the file's time, to the same size. */
    return f->now - x->changed_ns < 3 * CHECK_EVERY_NS && f->now - x->checked_ns >= CHECK_EVERY_NS;
}

int tail_step(struct follow *f, struct file *x, struct block *b)
{
    struct stat st;
    if (fstat(x->fd, &st) < 0)
        return 0;
    follow_look(x, &st, f->now);
    if (x->nlink == 0 && !x->unlinked_ns) {
        x->unlinked_ns = f->now;
        x->unlinked_scan = f->scan;
    }
    if (wants_check(f, x) && classify_validate(f, x) != 1)
        return 0;
    if (x->size_bytes > x->offset && read_lines(f, x, b) == 1)
        return 1;
    x->backlog = false;
    return x->state == FILE_OWN && x->nlink == 0 ? retire(f, x, b) : 0;
}
