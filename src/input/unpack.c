#include "input/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define PACKED_BYTES ((size_t) 128 * 1024)
#define MAGIC_BYTES 4

struct unpack {
    int fd;
    enum unpack_kind kind;
    bool known; /* kind was read off the first bytes */
    bool raw_ended;
    bool in_member; /* a gzip member or zstd frame is begun and not complete */
    bool held;      /* the decoder stopped for want of room: it may have more without input */
    ssize_t last;   /* 0 or an error that every later call repeats; 1 while there is more */
    uint64_t raw_bytes;
    size_t at, n; /* packed[at, n) waits */
    z_stream gzip;
    ZSTD_DCtx *zstd;
    uint8_t packed[PACKED_BYTES];
};

int unpack_new(struct unpack **ret, int fd)
{
    struct unpack *u = calloc(1, sizeof(*u));
    if (!u)
        return -ENOMEM;
    u->fd = fd;
    u->last = 1;
    *ret = u;
    return 0;
}

struct unpack *unpack_free(struct unpack *u)
{
    if (!u)
        return NULL;
    if (u->kind == UNPACK_GZIP)
        inflateEnd(&u->gzip);
    ZSTD_freeDCtx(u->zstd);
    free(u);
    return NULL;
}

static ssize_t read_raw(struct unpack *u, void *to, size_t room)
{
    ssize_t n;
    do
        n = read(u->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    u->raw_bytes += (uint64_t) n;
    u->raw_ended = n == 0;
    return n;
}

/* RFC 1952 (1f 8b 08); RFC 8878: a frame, or a skippable frame, which some packers put first. */
static enum unpack_kind kind_of(const uint8_t *p, size_t n)
{
    static const uint8_t gzip[] = {0x1f, 0x8b, 0x08}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    static const uint8_t skippable[] = {0x2a, 0x4d, 0x18};
    if (n >= sizeof(gzip) && memcmp(p, gzip, sizeof(gzip)) == 0)
        return UNPACK_GZIP;
    if (n >= sizeof(zstd) && memcmp(p, zstd, sizeof(zstd)) == 0)
        return UNPACK_ZSTD;
    if (n >= 4 && (p[0] & 0xf0) == 0x50 && memcmp(p + 1, skippable, sizeof(skippable)) == 0)
        return UNPACK_ZSTD;
    return UNPACK_PLAIN;
}

static ssize_t find_kind(struct unpack *u)
{
    while (u->n < MAGIC_BYTES && !u->raw_ended) {
        ssize_t n = read_raw(u, u->packed + u->n, MAGIC_BYTES - u->n);
        if (n < 0)
            return n;
        u->n += (size_t) n;
        /* A terminal or pipe may hold back more; text needs no more than its first byte. */
        if (u->n && u->packed[0] != 0x1f && u->packed[0] != 0x28 && (u->packed[0] & 0xf0) != 0x50)
            break;
    }
    u->kind = kind_of(u->packed, u->n);
    if (u->kind == UNPACK_GZIP && inflateInit2(&u->gzip, 15 + 16) != Z_OK) {
        u->kind = UNPACK_PLAIN;
        return -ENOMEM;
    }
    if (u->kind == UNPACK_ZSTD && !(u->zstd = ZSTD_createDCtx()))
        return -ENOMEM;
    u->known = true;
    return 0;
}

static ssize_t read_plain(struct unpack *u, void *to, size_t room)
{
    if (u->at == u->n)
        return u->raw_ended ? 0 : read_raw(u, to, room);
    size_t n = u->n - u->at < room ? u->n - u->at : room;
    memcpy(to, u->packed + u->at, n);
    u->at += n;
    return (ssize_t) n;
}

/* One step of inflate over what waits; *used tells the room that was filled. */
static ssize_t step_gzip(struct unpack *u, uint8_t *to, size_t room, size_t *used)
{
    u->gzip.next_in = u->packed + u->at;
    u->gzip.avail_in = (uInt) (u->n - u->at);
    u->gzip.next_out = to + *used;
    u->gzip.avail_out = (uInt) (room - *used);
    int code = inflate(&u->gzip, Z_NO_FLUSH);
    u->at = u->n - u->gzip.avail_in;
    *used = room - u->gzip.avail_out;
    if (code == Z_STREAM_END) {
        u->in_member = false;
        return inflateReset(&u->gzip) == Z_OK ? 0 : -EBADMSG;
    }
    if (code == Z_MEM_ERROR)
        return -ENOMEM;
    return code == Z_OK || code == Z_BUF_ERROR ? 0 : -EBADMSG;
}

static int zstd_error(size_t result)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return -ENOMEM;
    case ZSTD_error_frameParameter_windowTooLarge: /* zstd --ultra --long=28 and more */
        return -EFBIG;
    default:
        return -EBADMSG;
    }
}

static ssize_t step_zstd(struct unpack *u, uint8_t *to, size_t room, size_t *used)
{
    ZSTD_inBuffer in = {u->packed, u->n, u->at};
    ZSTD_outBuffer out = {to, room, *used};
    size_t left = ZSTD_decompressStream(u->zstd, &out, &in);
    u->at = in.pos;
    *used = out.pos;
    if (ZSTD_isError(left))
        return zstd_error(left);
    u->in_member = left != 0;
    return 0;
}

/* Zero bytes behind the last gzip member are padding (tapes, block devices). */
static void skip_padding(struct unpack *u)
{
    while (u->kind == UNPACK_GZIP && !u->in_member && u->at < u->n && u->packed[u->at] == 0)
        u->at++;
}

static ssize_t read_packed(struct unpack *u, uint8_t *to, size_t room)
{
    size_t used = 0;
    room = room < (size_t) INT32_MAX ? room : INT32_MAX;
    while (used < room) {
        skip_padding(u);
        if (u->at == u->n && !u->held) {
            if (used)
                break;
            ssize_t n = u->raw_ended ? 0 : read_raw(u, u->packed, PACKED_BYTES);
            if (n <= 0)
                return n < 0 ? n : u->in_member ? -ENODATA : 0;
            u->at = 0;
            u->n = (size_t) n;
            continue;
        }
        u->in_member = true;
        ssize_t code =
            u->kind == UNPACK_GZIP ? step_gzip(u, to, room, &used) : step_zstd(u, to, room, &used);
        if (code < 0) {
            u->last = code;
            return used ? (ssize_t) used : code;
        }
        u->held = u->in_member && used == room;
    }
    return (ssize_t) used;
}

ssize_t unpack_read(struct unpack *u, void *to, size_t room)
{
    if (u->last <= 0)
        return u->last;
    if (!u->known) {
        ssize_t code = find_kind(u);
        if (code < 0)
            return u->last = code;
    }
    ssize_t n = u->kind == UNPACK_PLAIN ? read_plain(u, to, room) : read_packed(u, to, room);
    if (n <= 0)
        u->last = n;
    return n;
}

enum unpack_kind unpack_kind(const struct unpack *u)
{
    return u->kind;
}

uint64_t unpack_raw_bytes(const struct unpack *u)
{
    return u->raw_bytes;
}
