#include "input/follow_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static int by_dev_ino(const void *a, const void *b)
{
    const struct index_row *x = a, *y = b;
    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return (x->ino > y->ino) - (x->ino < y->ino);
}

static void index_add(struct follow *f, struct file *x)
{
    if (follow_grow((void **) &f->index, &f->room_index, f->n_index, sizeof(*f->index)))
        f->index[f->n_index++] = (struct index_row){x->dev, x->who.ino, x};
}

void found_index(struct follow *f)
{
    f->n_index = 0;
    for (unsigned i = 0; i < f->n_files; i++)
        if (f->files[i]->dev)
            index_add(f, f->files[i]);
    f->n_sorted = f->n_index;
    if (f->n_index)
        qsort(f->index, f->n_index, sizeof(*f->index), by_dev_ino);
}

/* As long as a file is open its inode number is not given to another. */
static struct file *find_known(const struct follow *f, const struct stat *st)
{
    struct index_row key = {st->st_dev, st->st_ino, NULL};
    const struct index_row *row =
        f->n_sorted ? bsearch(&key, f->index, f->n_sorted, sizeof(key), by_dev_ino) : NULL;
    struct file *x = row ? row->file : NULL;
    for (unsigned i = f->n_sorted; !x && i < f->n_index; i++) /* the number was given again */
        if (by_dev_ino(&key, &f->index[i]) == 0)
            x = f->index[i].file;
    return x;
}

static void mark_seen(struct follow *f, struct file *x, const char *path, struct slice host,
                      bool outside)
{
    x->seen_ns = f->now;
    if (x->seen_scan == f->scan)
        return; /* by an earlier glob, or a second name of it */
    x->seen_scan = f->scan;
    if (x->archive && !x->done && (x->state == FILE_NEW || x->state == FILE_OWN))
        x->backlog = true; /* it was renamed when it was to be opened */
    if (!outside)
        x->outside = false;
    if (!x->host && host.n)
        x->host = strndup(host.p, host.n < HOST_MAX ? host.n : HOST_MAX);
    if (strcmp(x->path, path) != 0 && follow_set_path(x, path) && x->id)
        follow_queue(f, x);
}

static bool is_remote(int fd)
{
    static const unsigned long types[] = {NFS_SUPER_MAGIC,
                                          SMB_SUPER_MAGIC,
                                          0xff534d42 /* cifs */,
                                          0xfe534d42 /* smb2 */,
                                          0x65735546 /* fuse */,
                                          CEPH_SUPER_MAGIC,
                                          V9FS_MAGIC,
                                          AFS_SUPER_MAGIC};
    struct statfs fs;
    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if ((unsigned long) fs.f_type == types[i])
            return true;
    return false;
}

/* The row of the last run that this file belongs to; one that holds what was counted is preferred.
 */
static struct file *find_restored(struct follow *f, const struct identity *who, int fd)
{
    struct file *found = NULL;
    for (unsigned i = 0; i < f->n_files; i++) {
        struct file *x = f->files[i];
        if (x->state != FILE_GONE || !x->restored || !identity_same(&x->who, who))
            continue;
        if (!x->archive && content_check(x, fd) == CHECK_GOOD)
            return x;
        found = x;
    }
    return found;
}

static void attach(struct follow *f, struct file *x, int fd, const struct stat *st)
{
    x->restored = x->outside = false;
    /* Of what nothing was counted, nothing is known: it may be a copy. */
    x->state = x->offset || x->done ? FILE_OWN : FILE_NEW;
    x->backlog = x->state == FILE_OWN ? !x->done : x->archive;
    x->order_ns = (int64_t) st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
    if (x->archive) {
        if (x->done && (uint64_t) st->st_size != x->size_bytes) {
            x->done = false;
            x->backlog = true;
        }
        close(fd);
        return;
    }
    x->fd = fd;
    if (x->state == FILE_OWN)
        (void) classify_validate(f, x);
}

static void say_limit(struct follow *f)
{
    if (!f->said_limit)
        follow_say(f, LOG_LEVEL_ERROR, "%s: more than %d files match; the others are not read",
                   f->input, FOLLOW_FILES_MAX);
    f->said_limit = true;
}

static struct file *take_new(struct follow *f, int fd, const struct stat *st, const char *path,
                             struct slice host, bool outside)
{
    struct identity who;
    int r = identity_of(fd, &who);
    if (r < 0) {
        close(fd);
        scan_trouble(f, path, r);
        return NULL;
    }
    struct file *x = find_restored(f, &who, fd);
    bool known = x;
    if (!x)
        x = follow_add(f, path, host);
    if (!x) {
        close(fd);
        say_limit(f);
        return NULL;
    }
    x->who = who;
    x->dev = st->st_dev;
    x->outside = outside;
    x->remote = is_remote(fd);
    if (known) {
        attach(f, x, fd, st);
        follow_look(x, st, f->now);
        mark_seen(f, x, path, host, outside);
    } else {
        follow_look(x, st, f->now);
        x->fd = fd;
        x->order_ns = x->mtime_ns;
        x->first = f->first_start && !f->began && st->st_size > 0;
        x->seen_ns = f->now;
        x->seen_scan = f->scan;
    }
    index_add(f, x);
    return x;
}

static unsigned count_open(const struct follow *f)
{
    unsigned n = 0;
    for (unsigned i = 0; i < f->n_files; i++)
        n += f->files[i]->fd >= 0;
    return n;
}

static void open_name(struct follow *f, int folder_fd, const char *name, const char *path,
                      struct slice host, bool link, bool outside)
{
    if (count_open(f) >= FOLLOW_FILES_MAX) {
        say_limit(f);
        return;
    }
    int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    int fd = link ? scan_open(path, flags) : openat(folder_fd, name, flags | O_NOFOLLOW);
    int code = link && fd < 0 ? fd : fd < 0 ? -errno : 0;
    struct stat st;
    if (code == 0 && fstat(fd, &st) < 0)
        code = -errno;
    else if (code == 0 && !S_ISREG(st.st_mode))
        code = -EINVAL;
    if (code < 0) {
        if (fd >= 0)
            close(fd);
        if (code != -ENOENT)
            scan_trouble(f, path, code);
        return;
    }
    scan_trouble(f, path, 0);
    struct file *x = find_known(f, &st);
    if (x && x->fd >= 0) {
        close(fd);
        mark_seen(f, x, path, host, outside);
        return;
    }
    take_new(f, fd, &st, path, host, outside);
}

/* A row without a descriptor (an archive, an ignored file): its inode number may have been given
 * away. */
static bool still_same(struct follow *f, struct file *x, int folder_fd, const char *name,
                       const struct stat *st)
{
    int64_t mtime = (int64_t) st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
    if ((uint64_t) st->st_size == x->size_bytes && mtime == x->mtime_ns)
        return true;
    struct identity who;
    int fd = openat(folder_fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
    bool same = fd >= 0 && identity_of(fd, &who) == 0 && identity_same(&who, &x->who);
    if (same)
        follow_look(x, st, f->now);
    if (same && x->archive && x->state == FILE_OWN && x->done) {
        x->done = false;
        x->backlog = true;
    } else if (same && x->state == FILE_IGNORED) {
        same = false; /* a chance for a mended archive, as a new file */
    }
    if (fd >= 0)
        close(fd);
    return same;
}

bool follow_found(struct follow *f, int folder_fd, const char *name, const char *path,
                  struct slice host, bool outside)
{
    struct stat st;
    int r = fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW);
    bool link = r == 0 && S_ISLNK(st.st_mode);
    if (link)
        r = fstatat(folder_fd, name, &st, 0);
    if (r < 0 || S_ISDIR(st.st_mode)) {
        int code = r < 0 ? -errno : 0;
        if (code && code != -ENOENT)
            scan_trouble(f, path, code);
        return code && code != -ENOENT;
    }
    if (!S_ISREG(st.st_mode)) {
        if (!outside)
            scan_trouble(f, path, -EINVAL);
        return false;
    }
    struct file *x = find_known(f, &st);
    /* What was ignored for its name may have slipped through the globs in a rename. */
    bool named = x && x->state == FILE_IGNORED && x->outside && !outside;
    if (x && x->fd < 0 && (named || !still_same(f, x, folder_fd, name, &st))) {
        if (x->state == FILE_OWN || x->state == FILE_GONE)
            x->dev = 0; /* its archive is gone, and the number has a new file */
        for (unsigned i = 0; i < f->n_index; i++)
            if (f->index[i].file == x)
                f->index[i].file = NULL;
        if (x->state != FILE_OWN && x->state != FILE_GONE)
            follow_remove(f, x);
        x = NULL;
    }
    if (x)
        mark_seen(f, x, path, host, outside);
    else
        open_name(f, folder_fd, name, path, host, link, outside);
    return true;
}
