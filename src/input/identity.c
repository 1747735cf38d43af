#include "input/follow_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* ext4 gives a freed inode number to the next file at once; its generation and birth time differ.
 * On overlayfs only the birth time does. */
int identity_of(int fd, struct identity *ret)
{
    struct statx sx;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &sx) < 0)
        return -errno;
    ret->ino = sx.stx_ino;
    ret->btime_ns = sx.stx_mask & STATX_BTIME
                        ? (int64_t) sx.stx_btime.tv_sec * NS_PER_S + sx.stx_btime.tv_nsec
                        : 0;
    long version = 0; /* declared long, filled as an int by all file systems that have it */
    ret->generation = 0;
    if (ioctl(fd, FS_IOC_GETVERSION, &version) == 0)
        memcpy(&ret->generation, &version, sizeof(ret->generation));
    return 0;
}

bool identity_same(const struct identity *a, const struct identity *b)
{
    return a->ino == b->ino &&
           (a->generation == b->generation || !a->generation || !b->generation) &&
           (a->btime_ns == b->btime_ns || !a->btime_ns || !b->btime_ns);
}

/* ---- print ---- */

void print_clear(struct print *p)
{
    p->head_n = p->tail_n = 0;
    p->unknown = false;
}

static void add_tail(struct print *p, const uint8_t *bytes, size_t n)
{
    if (n >= TAIL_MAX) {
        memcpy(p->tail, bytes + n - TAIL_MAX, TAIL_MAX);
        p->tail_n = TAIL_MAX;
        return;
    }
    size_t keep = p->tail_n < TAIL_MAX - n ? p->tail_n : TAIL_MAX - n;
    memmove(p->tail, p->tail + p->tail_n - keep, keep);
    memcpy(p->tail + keep, bytes, n);
    p->tail_n = (uint32_t) (keep + n);
}

void print_add(struct print *p, const void *bytes, uint64_t n)
{
    size_t room = HEAD_MAX - p->head_n;
    size_t take = n < room ? (size_t) n : room;
    if (take) {
        memcpy(p->head + p->head_n, bytes, take);
        p->head_n += (uint32_t) take;
    }
    if (n)
        add_tail(p, bytes, (size_t) n);
}

void print_add_zeros(struct print *p, uint64_t n)
{
    static const uint8_t zeros[HEAD_MAX];
    for (unsigned i = 0; i < 2 && n; i++) { /* twice fills head and tail */
        size_t take = n < sizeof(zeros) ? (size_t) n : sizeof(zeros);
        print_add(p, zeros, take);
        n -= take;
    }
}

void print_hash(struct print *p)
{
    if (p->unknown)
        return;
    p->first_hash = XXH3_64bits(p->head, p->head_n < FIRST_MAX ? p->head_n : FIRST_MAX);
    p->head_hash = XXH3_64bits(p->head, p->head_n);
    p->tail_hash = XXH3_64bits(p->tail, p->tail_n);
}

/* ---- content ---- */

/* All n bytes at an offset: 1; 0: there are fewer; -errno. */
static int read_at(int fd, uint64_t at, void *to, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t m = pread(fd, (char *) to + got, n - got, (off_t) (at + got));
        if (m < 0 && errno == EINTR)
            continue;
        if (m <= 0)
            return m < 0 ? -errno : 0;
        got += (size_t) m;
    }
    return 1;
}

static bool same_bytes(const struct print *p, bool head, const uint8_t *bytes)
{
    uint32_t n = head ? p->head_n : p->tail_n;
    if (p->unknown)
        return XXH3_64bits(bytes, n) == (head ? p->head_hash : p->tail_hash);
    return memcmp(bytes, head ? p->head : p->tail, n) == 0;
}

int content_check(struct file *x, int fd)
{
    uint8_t head[HEAD_MAX], tail[TAIL_MAX];
    struct print *p = &x->print;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t) st.st_size < x->offset)
        return CHECK_BAD;
    int r = read_at(fd, 0, head, p->head_n);
    if (r == 1)
        r = read_at(fd, x->offset - p->tail_n, tail, p->tail_n);
    if (r != 1)
        return r;
    if (!same_bytes(p, true, head) || !same_bytes(p, false, tail))
        return CHECK_BAD;
    if (p->unknown) {
        memcpy(p->head, head, p->head_n);
        memcpy(p->tail, tail, p->tail_n);
        p->unknown = false;
    }
    return CHECK_GOOD;
}

int content_print(struct print *p, int fd, uint64_t n)
{
    print_clear(p);
    uint32_t head_n = n < HEAD_MAX ? (uint32_t) n : HEAD_MAX;
    uint32_t tail_n = n < TAIL_MAX ? (uint32_t) n : TAIL_MAX;
    int r = read_at(fd, 0, p->head, head_n);
    if (r == 1)
        r = read_at(fd, n - tail_n, p->tail, tail_n);
    if (r != 1)
        return r < 0 ? r : -ENODATA;
    p->head_n = head_n;
    p->tail_n = tail_n;
    return 0;
}

int content_read(const struct content *c, uint64_t at, void *to, size_t n)
{
    if (n == 0)
        return 1;
    if (c->fd >= 0)
        return read_at(c->fd, at, to, n) == 1;
    if (at < c->head_n && n <= c->head_n - at) {
        memcpy(to, c->head + at, n);
        return 1;
    }
    for (unsigned i = 0; i < c->n_pieces; i++)
        if (c->pieces[i].at == at && c->pieces[i].n == n && c->pieces[i].got == n) {
            memcpy(to, c->pieces[i].bytes, n);
            return 1;
        }
    return 0;
}

bool content_fill(const struct content *c, struct file *x)
{
    struct print *p = &x->print;
    if (p->unknown && content_read(c, 0, p->head, p->head_n) &&
        content_read(c, x->offset - p->tail_n, p->tail, p->tail_n))
        p->unknown = false;
    return !p->unknown;
}

static bool equal_at(const struct content *c, int fd, uint64_t at, size_t n)
{
    uint8_t ours[HEAD_MAX], theirs[HEAD_MAX];
    return content_read(c, at, ours, n) && read_at(fd, at, theirs, n) == 1 &&
           memcmp(ours, theirs, n) == 0;
}

/* Of an archive only some pieces are known: the last of them that the open file has must be equal.
 */
static bool piece_equal(const struct content *c, int fd, uint64_t size)
{
    const struct piece *last = NULL;
    for (unsigned i = 0; i < c->n_pieces; i++) {
        const struct piece *p = &c->pieces[i];
        if (p->got == p->n && p->at + p->n <= size && (!last || p->at > last->at))
            last = p;
    }
    return last && equal_at(c, fd, last->at, last->n);
}

/* Against a file that is open: its bytes are there to compare with, also those not counted yet. The
 * beginning, the last bytes that both have, and those before the position: copies have all three.
 */
static enum relation relation_to_open(const struct content *c, const struct file *e)
{
    struct stat st;
    if (fstat(e->fd, &st) < 0 || st.st_size <= 0)
        return DIFFERENT;
    uint64_t size = (uint64_t) st.st_size;
    uint64_t common = c->size_bytes < size ? c->size_bytes : size;
    size_t head_n = common < HEAD_MAX ? (size_t) common : HEAD_MAX;
    size_t end_n = common < TAIL_MAX ? (size_t) common : TAIL_MAX;
    if (common == 0 || !equal_at(c, e->fd, 0, head_n))
        return DIFFERENT;
    if (c->fd < 0 ? !piece_equal(c, e->fd, size) : !equal_at(c, e->fd, common - end_n, end_n))
        return DIFFERENT;
    if (e->offset > common)
        return PREFIX;
    uint8_t tail[TAIL_MAX];
    bool told = content_read(c, e->offset - e->print.tail_n, tail, e->print.tail_n);
    if (told ? !same_bytes(&e->print, false, tail) : c->fd >= 0)
        return DIFFERENT;
    return c->size_bytes > size ? LONGER : HOLDS;
}

enum relation content_relation(const struct content *c, const struct file *e)
{
    uint8_t bytes[HEAD_MAX];
    const struct print *p = &e->print;
    if (e->fd >= 0 && !e->archive)
        return relation_to_open(c, e);
    if (e->offset == 0 || p->head_n == 0)
        return DIFFERENT;
    if (c->size_bytes < p->head_n) {
        size_t n = (size_t) c->size_bytes;
        /* Shorter than what its hash was made of: taken as another. Copies grow by pages. */
        if (p->unknown)
            return n >= FIRST_MAX && content_read(c, 0, bytes, FIRST_MAX) &&
                           XXH3_64bits(bytes, FIRST_MAX) == p->first_hash
                       ? PREFIX
                       : DIFFERENT;
        return content_read(c, 0, bytes, n) && memcmp(bytes, p->head, n) == 0 ? PREFIX : DIFFERENT;
    }
    if (!content_read(c, 0, bytes, p->head_n) || !same_bytes(p, true, bytes))
        return DIFFERENT;
    if (c->size_bytes < e->offset)
        return PREFIX;
    if (!content_read(c, e->offset - p->tail_n, bytes, p->tail_n) || !same_bytes(p, false, bytes))
        return DIFFERENT;
    return HOLDS;
}
