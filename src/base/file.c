#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP_BYTES 65536

static int check_regular(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

/* The size is not asked for: the file may grow meanwhile, and those of /proc have none. */
static int read_rest(int fd, size_t max, struct buf *to)
{
    for (size_t got = 0;;) {
        if (!buf_reserve(to, READ_STEP_BYTES))
            return -ENOMEM;
        ssize_t n = read(fd, to->p + to->n, READ_STEP_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        if ((size_t) n > max - got)
            return -EFBIG;
        got += (size_t) n;
        to->n += (size_t) n;
    }
}

int file_read(const char *path, size_t max, struct buf *ret, struct err *e)
{
    size_t before = ret->n;
    /* O_NONBLOCK: opening a FIFO must not wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(e, -errno, "%s: %s", path, err_name(-errno));
    int r = check_regular(fd);
    if (r == 0)
        r = read_rest(fd, max, ret);
    close(fd);
    if (r == 0)
        return 0;
    ret->n = before;
    if (r == -EFBIG)
        return err_set(e, r, "%s: larger than %zu bytes", path, max);
    if (r == -EINVAL)
        return err_set(e, r, "%s: not a regular file", path);
    return err_set(e, r, "%s: %s", path, err_name(r));
}

int file_write_all(int fd, const void *p, size_t n)
{
    for (const char *at = p; n > 0;) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        at += done;
        n -= (size_t) done;
    }
    return 0;
}

/* A new name is on the disk when its folder is. */
static int sync_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t) (slash - path) + 1 : 1;
    if (n >= sizeof(folder))
        return -ENAMETOOLONG;
    memcpy(folder, slash ? path : ".", n);
    folder[n] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static int write_new(const char *path, const void *p, size_t n, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    int r = file_write_all(fd, p, n);
    if (r == 0 && fsync(fd) < 0)
        r = -errno;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    return r;
}

/* Written under a name of this process, then linked: the file appears whole or not at all. */
int file_create(const char *path, const void *p, size_t n, mode_t mode, struct err *e)
{
    char making[PATH_MAX];
    int length = snprintf(making, sizeof(making), "%s.%ld.new", path, (long) getpid());
    if (length < 0 || (size_t) length >= sizeof(making))
        return err_set(e, -ENAMETOOLONG, "%s: the path is too long", path);
    (void) unlink(making); /* of an earlier process with our number, that was killed */
    int r = write_new(making, p, n, mode);
    if (r == 0 && link(making, path) < 0)
        r = -errno;
    (void) unlink(making);
    if (r == 0)
        r = sync_folder(path);
    return r < 0 ? err_set(e, r, "%s: cannot be created: %s", path, err_name(r)) : 0;
}

int file_make_dirs(const char *path, mode_t mode, struct err *e)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    struct stat st;
    if (n == 0 || n >= sizeof(part))
        return err_set(e, n ? -ENAMETOOLONG : -ENOENT, "the path of a folder has %zu bytes", n);
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return err_set(e, -errno, "%s: folder cannot be created: %s", part, err_name(-errno));
        part[i] = path[i];
    }
    if (stat(path, &st) < 0)
        return err_set(e, -errno, "%s: %s", path, err_name(-errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(e, -ENOTDIR, "%s: is there and no folder", path);
    return 0;
}
