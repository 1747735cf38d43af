#include "hash_key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

int hash_key_random(struct sk_secret *ret)
{
    struct sk_secret secret;
    /* Up to 256 bytes come in one piece (getrandom(2)), but a signal may come before them. */
    for (;;) {
        ssize_t n = getrandom(secret.bytes, SK_SECRET_BYTES, 0);
        if (n == SK_SECRET_BYTES)
            break;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
    *ret = secret;
    return 0;
}

static int check(int fd, const char *path, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(e, -errno, "hash key %s: %s", path, err_name(-errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, -EINVAL, "hash key %s: not a regular file", path);
    if (st.st_mode & 077)
        return err_set(
            e, -EINVAL,
            "hash key %s: group or others may use it (mode %04o); chmod 600 it, or remove it "
            "if it may have been read",
            path, (unsigned) st.st_mode & 07777);
    if (st.st_size != SK_SECRET_BYTES)
        return err_set(e, -EINVAL, "hash key %s: %lld bytes; a key is exactly %d random bytes",
                       path, (long long) st.st_size, SK_SECRET_BYTES);
    return 0;
}

static int read_all(int fd, uint8_t *to, size_t n)
{
    while (n > 0) {
        ssize_t got = read(fd, to, n);
        if (got == 0)
            return -EINVAL;
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got > 0) {
            to += got;
            n -= (size_t) got;
        }
    }
    return 0;
}

static int load(struct sk_secret *ret, const char *path, struct err *e)
{
    static const struct sk_secret zero;
    struct sk_secret secret;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_set(e, -errno, "hash key %s: %s", path, err_name(-errno));
    int r = check(fd, path, e);
    if (r == 0 && (r = read_all(fd, secret.bytes, SK_SECRET_BYTES)) < 0)
        err_set(e, r, "hash key %s: %s", path, err_name(r));
    close(fd);
    if (r < 0)
        return r;
    if (memcmp(&secret, &zero, sizeof(zero)) == 0)
        return err_set(e, -EINVAL,
                       "hash key %s: all bytes are zero; remove it and a new one is made", path);
    *ret = secret;
    return 0;
}

/* Who comes second finds the first one's. */
static int make(const char *path, struct err *e)
{
    struct sk_secret secret;
    int r = hash_key_random(&secret);
    if (r < 0)
        return err_set(e, r, "hash key: no random bytes: %s", err_name(r));
    r = file_create(path, secret.bytes, SK_SECRET_BYTES, 0600, e);
    explicit_bzero(&secret, sizeof(secret));
    return r == -EEXIST ? 0 : r;
}

int hash_key_load(struct sk_secret *ret, const char *path, bool create, struct err *e)
{
    int r = load(ret, path, e);
    if (r != -ENOENT || !create)
        return r;
    r = make(path, e);
    return r < 0 ? r : load(ret, path, e);
}
