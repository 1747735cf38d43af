#include "input/follow_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* An archive is read twice: first to its end, which proves it whole and finds out what it
 * continues, then from where counting goes on. One at a time, a step a call, so that live files are
 * not kept waiting. */
#define STEP_BYTES ((uint64_t) 16 * 1024 * 1024)
#define OLD_S 60 /* since when an archive must be unchanged to be taken at once */

struct archive_job {
    struct file *x;
    int fd;
    struct unpack *unpack;
    bool counting;
    uint64_t total; /* unpacked so far in this reading */
    uint64_t skip;  /* counting: how much of it is before the position */
    struct content content;
    struct piece *pieces;
    struct piece last;
    struct cutter cutter;
    uint8_t bytes[TAIL_MAX + BLOCK_READ_BYTES]; /* the last bytes of before, then new ones */
    uint32_t kept;
};

enum packing archive_packing(int fd, uint64_t size_bytes)
{
    static const struct {
        const char *magic;
        size_t n;
        enum packing packing;
    } known[] = {
        {"\x1f\x8b\x08", 3, PACKING_READABLE},
        {"\x28\xb5\x2f\xfd", 4, PACKING_READABLE},
        {"BZh", 3, PACKING_FOREIGN},
        {"\xfd"
         "7zXZ\0",
         6, PACKING_FOREIGN},
        {"PK\x03\x04", 4, PACKING_FOREIGN},
    };
    char head[6];
    size_t want = size_bytes < sizeof(head) ? (size_t) size_bytes : sizeof(head);
    ssize_t got = pread(fd, head, want, 0);
    if (got <= 0)
        return PACKING_UNKNOWN;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = (size_t) got < known[i].n ? (size_t) got : known[i].n;
        if (memcmp(head, known[i].magic, n) == 0)
            return n == known[i].n ? known[i].packing : PACKING_UNKNOWN;
    }
    return PACKING_NONE;
}

/* ---- the job ---- */

static void job_free(struct archive_job *j)
{
    unpack_free(j->unpack);
    cutter_done(&j->cutter);
    free(j->pieces);
    close(j->fd);
    free(j);
}

void archive_drop(struct follow *f, const struct file *x)
{
    if (!f->job || (x && f->job->x != x))
        return;
    job_free(f->job);
    f->job = NULL;
}

struct file *archive_current(const struct follow *f, uint64_t *ret_raw_bytes)
{
    if (!f->job)
        return NULL;
    *ret_raw_bytes = f->job->counting ? unpack_raw_bytes(f->job->unpack) : 0;
    return f->job->x;
}

/* gzip removes the original when it is done: until then that one is the file. */
bool archive_has_original(const struct follow *f, const struct file *x)
{
    for (unsigned i = 0; i < f->n_files; i++) {
        const struct file *e = f->files[i];
        size_t n = strlen(e->path);
        if (e != x && e->family == x->family && !e->archive && e->fd >= 0 && e->nlink > 0 &&
            strncmp(e->path, x->path, n) == 0 && x->path[n] == '.' && !strchr(x->path + n + 1, '.'))
            return true;
    }
    return false;
}

static bool waits(const struct follow *f, const struct file *x)
{
    if (x->state == FILE_NEW && archive_has_original(f, x))
        return true;
    return f->now - x->changed_ns < ARCHIVE_STILL_NS &&
           (int64_t) time(NULL) - x->mtime_ns / NS_PER_S < OLD_S;
}

/* The pieces that tell whether the archive holds what was counted of others of its family. */
static int want_pieces(const struct follow *f, struct archive_job *j)
{
    unsigned n = 0;
    j->pieces = calloc(f->n_files + 1, sizeof(*j->pieces));
    if (!j->pieces)
        return -ENOMEM;
    for (unsigned i = 0; i < f->n_files; i++) {
        const struct file *e = f->files[i];
        if (e->family != j->x->family || e->offset == 0 ||
            (e->state != FILE_OWN && e->state != FILE_GONE))
            continue;
        j->pieces[n++] = (struct piece){.at = e->offset - e->print.tail_n, .n = e->print.tail_n};
    }
    j->content = (struct content){.fd = -1, .pieces = j->pieces, .n_pieces = n};
    return 0;
}

static int open_again(const struct file *x)
{
    struct identity who;
    struct stat st;
    int fd = scan_open(x->path, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    int r = fstat(fd, &st) < 0 ? -errno : identity_of(fd, &who);
    if (r == 0 && (!identity_same(&who, &x->who) || (uint64_t) st.st_size != x->size_bytes))
        r = -ESTALE;
    if (r < 0)
        close(fd);
    return r < 0 ? r : fd;
}

/* Reading from the start: total is 0 again. */
static int rewind_job(struct archive_job *j)
{
    unpack_free(j->unpack);
    j->unpack = NULL;
    j->total = 0;
    j->kept = 0;
    if (lseek(j->fd, 0, SEEK_SET) < 0)
        return -errno;
    return unpack_new(&j->unpack, j->fd);
}

static int start(struct follow *f, struct file *x)
{
    int fd = open_again(x);
    if (fd < 0)
        return fd;
    struct archive_job *j = calloc(1, sizeof(*j));
    if (!j) {
        close(fd);
        return -ENOMEM;
    }
    j->x = x;
    j->fd = fd;
    int r = cutter_init(&j->cutter);
    if (r == 0)
        r = want_pieces(f, j);
    if (r == 0)
        r = rewind_job(j);
    if (r < 0)
        job_free(j);
    else
        f->job = j;
    return r;
}

/* ---- first reading ---- */

static void keep_pieces(struct archive_job *j, uint32_t n)
{
    uint64_t from = j->total - j->kept, to = j->total + n;
    for (unsigned i = 0; i < j->content.n_pieces; i++) {
        struct piece *p = &j->pieces[i];
        if (p->got == p->n || p->at < from || p->at + p->n > to)
            continue;
        memcpy(p->bytes, j->bytes + (p->at - from), p->n);
        p->got = p->n;
    }
    if (j->content.head_n < HEAD_MAX) {
        uint32_t room = HEAD_MAX - j->content.head_n, take = n < room ? n : room;
        memcpy(j->content.head + j->content.head_n, j->bytes + j->kept, take);
        j->content.head_n += take;
    }
}

/* The end of all bytes so far moves to the front, where the next reading goes on behind it. */
static void shift(struct archive_job *j, uint32_t n)
{
    uint32_t have = j->kept + n, keep = have < TAIL_MAX ? have : TAIL_MAX;
    memmove(j->bytes, j->bytes + have - keep, keep);
    j->kept = keep;
    j->total += n;
}

/* A file of no glob is of interest only if it begins like an epoch that is gone. */
static bool begins_like_gone(const struct follow *f, const struct archive_job *j)
{
    for (unsigned i = 0; i < f->n_files; i++) {
        const struct file *e = f->files[i];
        struct content head = j->content;
        head.size_bytes = head.head_n;
        if (e->state == FILE_GONE && e->family == j->x->family &&
            content_relation(&head, e) != DIFFERENT)
            return true;
    }
    return false;
}

/* 1: there is more; 0: all was read, and it is whole; -errno. */
static int verify_some(const struct follow *f, struct archive_job *j)
{
    for (uint64_t step = 0; step < STEP_BYTES;) {
        ssize_t n = unpack_read(j->unpack, j->bytes + j->kept, BLOCK_READ_BYTES);
        if (n <= 0)
            return (int) n;
        bool had_head = j->content.head_n == HEAD_MAX;
        keep_pieces(j, (uint32_t) n);
        if (!had_head && j->content.head_n == HEAD_MAX && j->x->outside && !begins_like_gone(f, j))
            return -ENOMSG;
        shift(j, (uint32_t) n);
        step += (uint64_t) n;
    }
    return 1;
}

static void keep_last(struct archive_job *j)
{
    struct piece *p = &j->pieces[j->content.n_pieces++];
    *p = (struct piece){.at = j->total - j->kept, .n = j->kept, .got = j->kept};
    memcpy(p->bytes, j->bytes, j->kept);
    j->content.size_bytes = j->total;
}

static void give_up(struct follow *f, struct file *x, int code)
{
    archive_drop(f, x);
    x->backlog = false;
    if (code == -ESTALE || code == -ENOENT)
        return; /* renamed or rewritten meanwhile: the next scan tells */
    if (code == -EAGAIN || code == -ENOMEM || code == -EMFILE || code == -ENFILE) {
        x->backlog = true;
        return;
    }
    if (code == -ENOMSG) {
        x->state = FILE_IGNORED;
        return;
    }
    const char *why = code == -ENODATA   ? "the archive is cut short"
                      : code == -EBADMSG ? "the archive is damaged"
                                         : err_name(code);
    follow_say(f, LOG_LEVEL_WARNING, "%s: %s; nothing%s of it is counted. Mend or remove it",
               x->path, why, x->offset ? " more" : "");
    x->state = FILE_IGNORED;
}

/* An archive of which something was counted (in the last run, or before it grew): does it still
 * hold it? */
static void check_own(struct follow *f, struct file *x, const struct content *c)
{
    if (content_relation(c, x) == HOLDS)
        return;
    follow_say(f, LOG_LEVEL_WARNING, "%s: the archive is another than the one that was read before",
               x->path);
    x->state = FILE_NEW;
    x->offset = x->lines = 0;
    x->skipping = false;
    print_clear(&x->print);
}

static int verified(struct follow *f, struct file *x)
{
    struct archive_job *j = f->job;
    keep_last(j);
    if (x->state == FILE_OWN && x->offset)
        check_own(f, x, &j->content);
    struct file *row = x;
    if (x->state == FILE_NEW) {
        j->x = NULL; /* the row may be merged into another: the job lives on */
        row = classify(f, x, &j->content);
    }
    j->x = row;
    if (!row || row->state != FILE_OWN || row->done) {
        archive_drop(f, NULL);
        return 0;
    }
    row->backlog = true;
    if (row->offset >= j->total) {
        row->done = true;
        row->backlog = false;
        follow_queue(f, row);
        archive_drop(f, NULL);
        return 0;
    }
    int r = content_fill(&j->content, row) ? rewind_job(j) : -EAGAIN;
    if (r < 0) {
        give_up(f, row, r);
        return 0;
    }
    j->counting = true;
    j->skip = row->offset;
    j->cutter.started = row->offset > 0;
    j->cutter.skipping = row->skipping;
    j->cutter.lines = row->lines;
    return 1;
}

/* ---- second reading ---- */

static int skip_some(struct archive_job *j)
{
    for (uint64_t step = 0; j->total < j->skip && step < STEP_BYTES;) {
        uint64_t left = j->skip - j->total;
        size_t room = left < BLOCK_READ_BYTES ? (size_t) left : BLOCK_READ_BYTES;
        ssize_t n = unpack_read(j->unpack, j->bytes, room);
        if (n <= 0)
            return n < 0 ? (int) n : -ENODATA;
        j->total += (uint64_t) n;
        step += (uint64_t) n;
    }
    return 0;
}

static int count_some(struct follow *f, struct file *x, struct block *b)
{
    struct archive_job *j = f->job;
    int r = skip_some(j);
    if (r < 0 || j->total < j->skip)
        return r < 0 ? r : 1;
    do {
        size_t room;
        char *to = cutter_room(&j->cutter, b, &room);
        ssize_t n = unpack_read(j->unpack, to, room);
        if (n < 0)
            return (int) n;
        j->total += (uint64_t) n;
        cutter_cut(&j->cutter, b, (size_t) n, n == 0);
    } while (b->consumed == 0 && !b->ended);
    print_add(&x->print, b->buffer, b->consumed);
    x->offset += b->consumed;
    x->skipping = j->cutter.skipping;
    x->lines = j->cutter.lines;
    x->done = b->ended;
    if (x->lines_unknown)
        b->line_number = 0;
    follow_name(f, b, x);
    follow_set_position(f, b, x);
    if (x->done) {
        x->backlog = false;
        archive_drop(f, x);
    }
    return 1;
}

int archive_step(struct follow *f, struct file *x, struct block *b)
{
    if (f->job && f->job->x != x)
        return 0;
    int r = 0;
    if (!f->job) {
        if (waits(f, x))
            return 0;
        r = start(f, x);
    }
    if (r == 0 && f->job->counting) {
        r = count_some(f, x, b);
    } else if (r == 0) {
        r = verify_some(f, f->job);
        if (r == 0 && !verified(f, x))
            return 0;
    }
    if (r < 0) {
        give_up(f, x, r);
        return 0;
    }
    if (f->job)
        f->job->x->turn = 0; /* there is more in this turn */
    return 1;
}
