#include "input/follow_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A new file is one of three:
 *   - a copy of one that is counted (copytruncate's, cp's): a shadow, nothing is read of it. When
 * the original is truncated or goes, the copy continues it where counting stopped;
 *   - the continuation of an epoch that is gone: renamed or packed while nobody looked, written
 * anew by rsync or an editor. It takes the epoch's row and goes on at its offset;
 *   - its own, from its first byte.
 * Only files of one rotation family are compared: two virtual hosts may begin alike. */

static void reset(struct follow *f, struct file *x);

/* N's file is from now on that of epoch e. Returns e; n is freed. */
static struct file *take_over(struct follow *f, struct file *e, struct file *n)
{
    if (e->fd >= 0)
        close(e->fd);
    e->fd = n->fd;
    n->fd = -1;
    e->who = n->who;
    e->dev = n->dev;
    e->archive = n->archive;
    e->outside = n->outside;
    e->size_bytes = n->size_bytes;
    e->mtime_ns = n->mtime_ns;
    e->ctime_ns = n->ctime_ns;
    e->nlink = n->nlink;
    e->changed_ns = f->now;
    e->seen_ns = n->seen_ns;
    e->seen_scan = n->seen_scan;
    e->remote = n->remote;
    e->unlinked_ns = e->suspect_ns = 0;
    e->done = e->restored = e->truncated = false;
    e->backlog = true;
    e->state = FILE_OWN;
    e->of = NULL;
    char *path = e->path;
    e->path = n->path;
    n->path = path;
    e->family = n->family;
    if (!e->host) {
        e->host = n->host;
        n->host = NULL;
    }
    for (unsigned i = 0; i < f->n_files; i++)
        if (f->files[i]->of == n)
            f->files[i]->of = e;
    for (unsigned i = 0; i < f->n_index; i++)
        if (f->index[i].file == n)
            f->index[i].file = e;
    e->turn = 0;
    follow_remove(f, n);
    follow_queue(f, e);
    return e;
}

static void become_own(struct follow *f, struct file *x)
{
    f->copies -= x->state == FILE_SHADOW; /* it was taken for one */
    x->state = FILE_OWN;
    x->turn = 0;
    x->of = NULL;
    x->backlog = true;
    x->offset = x->lines = 0;
    x->skipping = x->lines_unknown = x->done = false;
    print_clear(&x->print);
}

void classify_counted(struct follow *f, struct file *x)
{
    bool copy = x->state == FILE_SHADOW;
    become_own(f, x);
    f->copies += copy;
    x->backlog = false;
    if (x->archive) {
        x->done = true;
    } else if (content_print(&x->print, x->fd, x->size_bytes) == 0) {
        x->offset = x->size_bytes;
        x->lines_unknown = true;
    }
    follow_queue(f, x);
}

static void become_shadow(struct follow *f, struct file *x, struct file *of, uint64_t size_bytes)
{
    if (x->state != FILE_SHADOW)
        f->copies++;
    x->state = FILE_SHADOW;
    x->of = of;
    x->backlog = false;
    x->compared_bytes = size_bytes;
}

static bool unlinked(const struct file *e)
{
    return e->state == FILE_OWN && !e->archive && e->fd >= 0 && e->nlink == 0;
}

/* The epoch that c belongs to: the one of which most was counted, a live one first. */
static struct file *best_match(struct follow *f, const struct file *x, const struct content *c,
                               enum relation *ret)
{
    struct file *best = NULL;
    bool best_live = false;
    struct stat st;
    for (unsigned i = 0; i < f->n_files; i++) {
        struct file *e = f->files[i];
        if (e == x || e->family != x->family || (e->state != FILE_OWN && e->state != FILE_GONE))
            continue;
        if (e->fd >= 0 && fstat(e->fd, &st) == 0)
            follow_look(e, &st, f->now); /* whether it is unlinked by now */
        enum relation r = content_relation(c, e);
        bool live = e->state == FILE_OWN && !e->archive && !unlinked(e);
        if (r == DIFFERENT || (live && r == LONGER && !x->archive))
            continue;
        if (best && (best_live != live                   ? best_live
                     : (*ret == PREFIX) != (r == PREFIX) ? r == PREFIX
                                                         : best->offset >= e->offset))
            continue;
        best = e;
        best_live = live;
        *ret = r;
    }
    return best;
}

/* Where reading begins that is to begin at the end: behind the last line feed. */
static int start_at_end(struct file *x)
{
    uint8_t bytes[4096];
    uint64_t to = x->size_bytes;
    while (to > 0 && x->size_bytes - to <= 2 * BLOCK_LINE_MAX) {
        size_t n = to < sizeof(bytes) ? (size_t) to : sizeof(bytes);
        ssize_t got = pread(x->fd, bytes, n, (off_t) (to - n));
        if (got < (ssize_t) n)
            return -EIO;
        to -= n;
        const uint8_t *feed = memrchr(bytes, '\n', n);
        if (feed) {
            to += (uint64_t) (feed + 1 - bytes);
            break;
        }
    }
    if (to > 0 && x->size_bytes - to > 2 * BLOCK_LINE_MAX) {
        to = x->size_bytes;
        x->skipping = true;
    }
    if (content_print(&x->print, x->fd, to) < 0)
        return -EIO;
    x->offset = to;
    x->lines_unknown = to > 0;
    return 0;
}

int classify_validate(struct follow *f, struct file *x)
{
    int r = content_check(x, x->fd);
    if (r < 0)
        return -EAGAIN;
    x->checked_ns = f->now;
    if (r == CHECK_GOOD) {
        x->suspect_ns = 0;
        return 1;
    }
    if (x->remote && (!x->suspect_ns || f->now - x->suspect_ns < CHECK_EVERY_NS)) {
        if (!x->suspect_ns) /* a server may tell an old size for a moment */
            x->suspect_ns = f->now;
        return -EAGAIN;
    }
    reset(f, x);
    return 0;
}

/* Whether a file that looks different does so because it was truncated since: only a check behind
 * the comparison can tell. 1: all are as they were; 0: look again; -EAGAIN: later. */
static int family_sound(struct follow *f, const struct file *x)
{
    for (unsigned i = 0; i < f->n_files; i++) {
        struct file *e = f->files[i];
        if (e == x || e->family != x->family || e->state != FILE_OWN || e->archive || e->fd < 0)
            continue;
        int r = classify_validate(f, e);
        if (r <= 0)
            return r;
    }
    return 1;
}

static struct file *follow_on(struct follow *f, struct file *x, const struct content *c,
                              struct file *e, enum relation r)
{
    bool live = e->state == FILE_OWN && !e->archive;
    bool whole = r == LONGER || (r == HOLDS && c->size_bytes >= e->size_bytes);
    if (live ? unlinked(e) && whole && !x->archive : r != PREFIX)
        return take_over(f, e, x);
    if (live || !x->archive) {
        become_shadow(f, x, e, c->size_bytes);
        return x;
    }
    /* An archive does not grow: it is a part of what was counted, or begins alike. */
    if (c->size_bytes > HEAD_MAX || e->truncated)
        classify_counted(f, x);
    else
        become_own(f, x);
    return x;
}

struct file *classify(struct follow *f, struct file *x, const struct content *c)
{
    struct file *e;
    enum relation r = DIFFERENT;
    int sound;
    do {
        e = best_match(f, x, c, &r);
        sound = family_sound(f, x);
    } while (sound == 0);
    if (sound < 0)
        return x;
    if (e)
        return follow_on(f, x, c, e, r);
    if (x->outside) {
        x->state = FILE_IGNORED;
        if (x->fd >= 0)
            close(x->fd);
        x->fd = -1;
        return x;
    }
    become_own(f, x);
    if (x->first && f->from_end && !x->archive && start_at_end(x) < 0)
        become_own(f, x);
    if (x->offset)
        follow_queue(f, x);
    return x;
}

/* As it is now: a copy may have been finished since it was last looked at. */
static struct content content_of(const struct follow *f, struct file *x)
{
    struct stat st;
    if (fstat(x->fd, &st) == 0)
        follow_look(x, &st, f->now);
    return (struct content){.fd = x->fd, .size_bytes = x->size_bytes};
}

/* The original e is gone: what is known of its copy x decides. */
static struct file *decide_again(struct follow *f, struct file *x, struct file *e)
{
    if (x->archive) { /* to be unpacked again, now against what is gone */
        x->state = FILE_NEW;
        x->of = NULL;
        x->backlog = true;
        return x;
    }
    struct content c = content_of(f, x);
    switch (content_relation(&c, e)) {
    case HOLDS:
    case LONGER:
        if (e->state == FILE_GONE)
            return take_over(f, e, x);
        become_shadow(f, x, e, x->size_bytes);
        break;
    case PREFIX:
        classify_counted(f, x);
        break;
    case DIFFERENT:
        become_own(f, x);
        break;
    }
    return x;
}

/* Two logs may have the same first lines: what stays short is one of its own. What is long is a
 * copy for as long as it does not differ. */
static struct file *decide_idle(struct follow *f, struct file *x, struct file *e)
{
    bool gone = e->state == FILE_GONE;
    if (x->size_bytes <= HEAD_MAX && !(gone && e->truncated))
        become_own(f, x);
    else if (gone)
        classify_counted(f, x);
    return x;
}

struct file *classify_shadow(struct follow *f, struct file *x)
{
    struct file *e = x->of;
    if (!e || (e->state != FILE_OWN && e->state != FILE_GONE)) {
        x->state = FILE_NEW;
        return x;
    }
    if (x->archive)
        return e->state == FILE_GONE ? decide_again(f, x, e) : x;
    bool idle = f->now - x->changed_ns >= COPY_IDLE_NS;
    if (x->nlink == 0 && idle) {
        follow_remove(f, x);
        return NULL;
    }
    struct content c = content_of(f, x);
    if (x->size_bytes != x->compared_bytes || e->state == FILE_GONE) {
        enum relation r = content_relation(&c, e);
        x->compared_bytes = x->size_bytes;
        bool live = e->state == FILE_OWN && !e->archive;
        if (r == DIFFERENT || r == LONGER || (r == HOLDS && !live)) {
            f->copies--; /* decided anew, against all others too */
            x->state = FILE_NEW;
            x->of = NULL;
            return classify(f, x, &c);
        }
    }
    return idle && x->size_bytes < e->offset ? decide_idle(f, x, e) : x;
}

/* What is left of e are the copies of original: the longest that holds all continues it. */
static void hand_to_shadows(struct follow *f, struct file *e, const struct file *original)
{
    struct file *heir = NULL;
    for (unsigned i = 0; i < f->n_files; i++) {
        struct file *x = f->files[i];
        if (x->state != FILE_SHADOW || x->of != original || x->archive)
            continue;
        struct content c = content_of(f, x);
        if (content_relation(&c, e) == HOLDS && (!heir || x->size_bytes > heir->size_bytes))
            heir = x;
    }
    if (heir)
        take_over(f, e, heir);
    for (unsigned i = f->n_files;
         i-- > 0;) { /* from the end: a removed row is replaced by the last */
        struct file *x = f->files[i];
        if (x->state == FILE_SHADOW && x->of == original) {
            x->of = e;
            decide_again(f, x, e);
        }
    }
}

void classify_trim_gone(struct follow *f, uint64_t family)
{
    unsigned of_family = 0, all = 0;
    struct file *oldest_of_family = NULL, *oldest = NULL;
    for (unsigned i = 0; i < f->n_files; i++) {
        struct file *x = f->files[i];
        if (x->state != FILE_GONE || x->restored)
            continue;
        all++;
        if (!oldest || x->id < oldest->id)
            oldest = x;
        if (x->family != family)
            continue;
        of_family++;
        if (!oldest_of_family || x->id < oldest_of_family->id)
            oldest_of_family = x;
    }
    if (of_family > GONE_OF_A_FAMILY_MAX)
        follow_remove(f, oldest_of_family);
    else if (all > GONE_MAX)
        follow_remove(f, oldest);
}

static struct file *add_gone(struct follow *f, const struct file *x)
{
    struct slice host = x->host ? slice_of(x->host) : (struct slice){"", 0};
    struct file *g = follow_add(f, x->path, host);
    if (!g)
        return NULL;
    g->state = FILE_GONE;
    g->truncated = true;
    g->who = x->who;
    g->print = x->print;
    g->offset = x->offset;
    g->lines = x->lines;
    g->lines_unknown = x->lines_unknown;
    g->skipping = x->skipping;
    g->changed_ns = f->now;
    return g;
}

/* The row of what was counted goes out before the row that begins anew: after a stop in between
 * there are two of the old epoch, and never none. */
static void reset(struct follow *f, struct file *x)
{
    f->resets++;
    follow_say(f, LOG_LEVEL_INFO,
               "%s: truncated or written anew behind %llu counted bytes; counted from its start",
               x->path, (unsigned long long) x->offset);
    struct file *g = x->offset ? add_gone(f, x) : NULL;
    if (g)
        follow_queue(f, g);
    x->offset = x->lines = 0;
    x->skipping = x->lines_unknown = false;
    x->suspect_ns = 0;
    x->backlog = true;
    x->turn = 0;
    print_clear(&x->print);
    if (g) {
        hand_to_shadows(f, g, x);
        classify_trim_gone(f, g->family);
    } else {
        for (unsigned i = 0; i < f->n_files; i++)
            if (f->files[i]->of == x && f->files[i]->state == FILE_SHADOW)
                f->files[i]->state = FILE_NEW;
    }
    follow_queue(f, x);
}

void classify_retire(struct follow *f, struct file *x)
{
    f->retired++;
    if (x->fd >= 0)
        close(x->fd);
    x->fd = -1;
    x->dev = 0;
    x->state = FILE_GONE;
    x->skipping = false;
    x->backlog = false;
    x->changed_ns = f->now;
    if (x->offset == 0) {
        follow_remove(f, x);
        return;
    }
    follow_queue(f, x);
    hand_to_shadows(f, x, x);
    if (x->state == FILE_GONE)
        classify_trim_gone(f, x->family);
}
