#include "input/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/cutter.h"
#include "input/unpack.h"

struct reader {
    char *path;
    int fd;
    uint64_t size_bytes; /* 0: not a regular file */
    struct unpack *unpack;
    struct cutter cutter;
    char *head; /* what reader_head took before its turn, [head_at, head_n) not handed out */
    size_t head_at, head_n;
    bool ended;
};

static int say_unreadable(const char *path, struct err *e)
{
    struct stat st;
    struct group group, *found = NULL;
    char names[4096];
    if (stat(path, &st) == 0 && !(st.st_mode & S_IRGRP))
        return err_set(e, -EACCES, "%s: only its owner may read it; run this with sudo", path);
    if (stat(path, &st) == 0)
        getgrgid_r(st.st_gid, &group, names, sizeof(names), &found);
    const char *name = found && strcmp(found->gr_name, "root") != 0 ? found->gr_name : "adm";
    return err_set(e, -EACCES,
                   "%s: you may not read it; run this with sudo, or join the group %s "
                   "(sudo usermod -aG %s USER, then log in again)",
                   path, name, name);
}

static int say_open(const char *path, int code, struct err *e)
{
    switch (code) {
    case -ENOENT:
        return err_set(e, code, "%s: there is no such file; look with: ls -l %.*s", path,
                       strrchr(path, '/') ? (int) (strrchr(path, '/') - path + 1) : 1,
                       strrchr(path, '/') ? path : ".");
    case -EACCES:
        return say_unreadable(path, e);
    case -EISDIR:
        return err_set(e, code, "%s: a folder; name the files in it, as in %s/access.log*", path,
                       path);
    default:
        return err_set(e, code, "%s: cannot be opened: %s", path, err_name(code));
    }
}

static int say_read(const struct reader *r, int code, struct err *e)
{
    const char *tool = unpack_kind(r->unpack) == UNPACK_ZSTD ? "zstd" : "gzip";
    switch (code) {
    case -ENODATA:
        return err_set(
            e, code,
            "%s: the archive is cut short; its whole lines up to there were read. If it is "
            "still being written, run this again when it is done (%s -t tells)",
            r->path, tool);
    case -EBADMSG:
        return err_set(
            e, code,
            "%s: the archive is damaged; its whole lines up to there were read. %s -t tells "
            "more; take the file from a backup",
            r->path, tool);
    case -EFBIG:
        return err_set(e, code,
                       "%s: packed with a window over 128 MiB; unpack it first: "
                       "zstd -dc --long=31 FILE | ... -",
                       r->path);
    default:
        return err_set(e, code, "%s: cannot be read on: %s", r->path, err_name(code));
    }
}

/* ret_size_bytes: 0 where there is none to tell (a pipe). */
static int open_input(const char *path, int *ret_fd, uint64_t *ret_size_bytes)
{
    int fd;
    if (strcmp(path, "-") == 0)
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    else
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    struct stat st;
    int code = fstat(fd, &st) < 0 ? -errno : S_ISDIR(st.st_mode) ? -EISDIR : 0;
    if (code < 0) {
        close(fd);
        return code;
    }
    *ret_size_bytes = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t) st.st_size : 0;
    *ret_fd = fd;
    if (*ret_size_bytes)
        (void) posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

int reader_open(struct reader **ret, const char *path, struct err *e)
{
    int fd;
    uint64_t size_bytes;
    int code = open_input(path, &fd, &size_bytes);
    if (code < 0)
        return say_open(path, code, e);
    struct reader *r = calloc(1, sizeof(*r));
    if (!r) {
        close(fd);
        return err_set(e, -ENOMEM, "%s: out of memory", path);
    }
    r->fd = fd;
    r->size_bytes = size_bytes;
    r->path = strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    if (!r->path || cutter_init(&r->cutter) < 0 || unpack_new(&r->unpack, fd) < 0) {
        reader_free(r);
        return err_set(e, -ENOMEM, "%s: out of memory", path);
    }
    *ret = r;
    return 0;
}

struct reader *reader_free(struct reader *r)
{
    if (!r)
        return NULL;
    unpack_free(r->unpack);
    cutter_done(&r->cutter);
    close(r->fd);
    free(r->head);
    free(r->path);
    free(r);
    return NULL;
}

static ssize_t read_some(struct reader *r, char *to, size_t room)
{
    size_t n = r->head_n - r->head_at;
    if (n == 0) {
        free(r->head);
        r->head = NULL;
        return unpack_read(r->unpack, to, room);
    }
    n = n < room ? n : room;
    memcpy(to, r->head + r->head_at, n);
    r->head_at += n;
    return (ssize_t) n;
}

static void set_empty(struct block *b, bool ended)
{
    b->lines = (struct slice){b->buffer, 0};
    b->consumed = 0;
    b->too_long = 0;
    b->line_number = 0;
    b->ended = ended;
}

int reader_next(struct reader *r, struct block *ret, struct err *e)
{
    ret->host = (struct slice){"", 0};
    ret->path = slice_of(r->path);
    ret->n_positions = 0;
    while (!r->ended) {
        size_t room;
        char *to = cutter_room(&r->cutter, ret, &room);
        ssize_t n = read_some(r, to, room);
        if (n < 0) {
            set_empty(ret, false);
            return say_read(r, (int) n, e);
        }
        r->ended = n == 0;
        cutter_cut(&r->cutter, ret, (size_t) n, r->ended);
        if (ret->consumed)
            return 1;
    }
    set_empty(ret, true);
    return 0;
}

/* Pipes and terminals give what they have; only of regular files is the whole head waited for. */
int reader_head(struct reader *r, size_t max, struct slice *ret, struct err *e)
{
    if (r->head_at || r->cutter.started)
        return err_set(e, -EINVAL, "%s: its head was handed out before", r->path);
    if (r->head_n < max) {
        char *head = realloc(r->head, max);
        if (!head)
            return err_set(e, -ENOMEM, "%s: out of memory", r->path);
        r->head = head;
    }
    while (r->head_n < max) {
        ssize_t n = unpack_read(r->unpack, r->head + r->head_n, max - r->head_n);
        if (n <= 0) /* an error comes again, and is told behind what came before it */
            break;
        r->head_n += (size_t) n;
        if (!r->size_bytes)
            break;
    }
    *ret = (struct slice){r->head ? r->head : "", r->head_n < max ? r->head_n : max};
    return 0;
}

void reader_progress(const struct reader *r, uint64_t *ret_done, uint64_t *ret_all)
{
    *ret_done = unpack_raw_bytes(r->unpack);
    *ret_all = r->size_bytes;
}

struct stream {
    int fd;
    uint64_t size_bytes;
    struct unpack *unpack;
    char *bytes;
    size_t n, at;
};

static int stream_open(struct stream *s, const char *path)
{
    *s = (struct stream){.fd = -1};
    int code = open_input(path, &s->fd, &s->size_bytes);
    if (code < 0)
        return code;
    s->bytes = malloc(BLOCK_READ_BYTES);
    return s->bytes ? unpack_new(&s->unpack, s->fd) : -ENOMEM;
}

static void stream_close(struct stream *s)
{
    unpack_free(s->unpack);
    free(s->bytes);
    if (s->fd >= 0)
        close(s->fd);
}

static int stream_fill(struct stream *s)
{
    if (s->at < s->n)
        return 0;
    ssize_t n = unpack_read(s->unpack, s->bytes, BLOCK_READ_BYTES);
    s->at = 0;
    s->n = n > 0 ? (size_t) n : 0;
    return n < 0 ? (int) n : 0;
}

static int compare_streams(struct stream *a, struct stream *b)
{
    for (;;) {
        int code = stream_fill(a);
        if (code == 0)
            code = stream_fill(b);
        if (code < 0)
            return code;
        size_t n = a->n - a->at < b->n - b->at ? a->n - a->at : b->n - b->at;
        if (n == 0)
            return a->n == a->at && b->n == b->at;
        if (memcmp(a->bytes + a->at, b->bytes + b->at, n) != 0)
            return 0;
        if (unpack_kind(a->unpack) == UNPACK_PLAIN && unpack_kind(b->unpack) == UNPACK_PLAIN &&
            a->size_bytes != b->size_bytes)
            return 0;
        a->at += n;
        b->at += n;
    }
}

int reader_same_content(const char *a, const char *b)
{
    struct stat st_a, st_b;
    if (stat(a, &st_a) < 0 || stat(b, &st_b) < 0)
        return -errno;
    if (!S_ISREG(st_a.st_mode) || !S_ISREG(st_b.st_mode)) /* reading it would take it away */
        return 0;
    if (st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino)
        return 1;
    struct stream s, t = {.fd = -1};
    int code = stream_open(&s, a);
    if (code == 0)
        code = stream_open(&t, b);
    if (code == 0)
        code = compare_streams(&s, &t);
    stream_close(&s);
    stream_close(&t);
    return code;
}
