#include "input/follow_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/le.h"

/* All little-endian:
 *      0 magic "RKPO"   4 version     6 state        7 flags
 *      8 inode         16 birth time 24 generation  28 head length  30 tail length
 *     32 head hash     40 tail hash  48 offset      56 lines
 *     64 file size     72 file mtime 80 path length 82 host length
 *     84 hash of the first bytes, 92 path, host, and CRC-32 of all before it
 * Size and time are those of an archive's file. Hashes of what was counted, never the bytes: the
 * state must not become a second log. */
#define MAGIC UINT32_C(0x4f504b52)
#define POSITION_VERSION 1
#define FIXED_BYTES 92
#define CRC_BYTES 4

enum {
    FLAG_ARCHIVE = 1,
    FLAG_DONE = 2,
    FLAG_SKIPPING = 4,
    FLAG_LINES_UNKNOWN = 8,
    FLAG_TRUNCATED = 16
};
#define FLAGS_ALL 31
enum { STATE_FOLLOWED = 1, STATE_GONE = 2 };

_Static_assert(FIXED_BYTES + PATH_MAX + HOST_MAX + CRC_BYTES <= POSITION_BYTES_MAX, "it fits");

static uint8_t flags_of(const struct file *x)
{
    return (uint8_t) ((x->archive ? FLAG_ARCHIVE : 0) | (x->done ? FLAG_DONE : 0) |
                      (x->skipping ? FLAG_SKIPPING : 0) |
                      (x->lines_unknown ? FLAG_LINES_UNKNOWN : 0) |
                      (x->truncated ? FLAG_TRUNCATED : 0));
}

uint32_t position_encode(struct file *x, uint8_t to[POSITION_BYTES_MAX])
{
    size_t path_n = strlen(x->path), host_n = x->host ? strlen(x->host) : 0;
    path_n = path_n < PATH_MAX ? path_n : PATH_MAX - 1;
    host_n = host_n < HOST_MAX ? host_n : HOST_MAX;
    print_hash(&x->print);
    le_put32(to, MAGIC);
    le_put16(to + 4, POSITION_VERSION);
    to[6] = x->state == FILE_GONE && !x->restored ? STATE_GONE : STATE_FOLLOWED;
    to[7] = flags_of(x);
    le_put64(to + 8, x->who.ino);
    le_put64(to + 16, (uint64_t) x->who.btime_ns);
    le_put32(to + 24, x->who.generation);
    le_put16(to + 28, (uint16_t) x->print.head_n);
    le_put16(to + 30, (uint16_t) x->print.tail_n);
    le_put64(to + 32, x->print.head_hash);
    le_put64(to + 40, x->print.tail_hash);
    le_put64(to + 48, x->offset);
    le_put64(to + 56, x->lines);
    le_put64(to + 64, x->archive ? x->size_bytes : 0);
    le_put64(to + 72, x->archive ? (uint64_t) x->mtime_ns : 0);
    le_put16(to + 80, (uint16_t) path_n);
    le_put16(to + 82, (uint16_t) host_n);
    le_put64(to + 84, x->print.first_hash);
    memcpy(to + FIXED_BYTES, x->path, path_n);
    if (host_n)
        memcpy(to + FIXED_BYTES + path_n, x->host, host_n);
    uint32_t n = (uint32_t) (FIXED_BYTES + path_n + host_n);
    le_put32(to + n, (uint32_t) crc32(0, to, n));
    return n + CRC_BYTES;
}

/* What the encoder never writes is refused, so that nothing behind has to doubt it. */
static bool sound(const uint8_t *p, uint32_t n)
{
    if (n < FIXED_BYTES + CRC_BYTES || n > POSITION_BYTES_MAX || le_get32(p) != MAGIC ||
        le_get16(p + 4) != POSITION_VERSION)
        return false;
    uint32_t path_n = le_get16(p + 80), host_n = le_get16(p + 82);
    if (path_n == 0 || path_n >= PATH_MAX || host_n > HOST_MAX ||
        n != FIXED_BYTES + path_n + host_n + CRC_BYTES ||
        le_get32(p + n - CRC_BYTES) != (uint32_t) crc32(0, p, n - CRC_BYTES))
        return false;
    if (memchr(p + FIXED_BYTES, '\0', path_n + host_n))
        return false;
    if (!(p[7] & FLAG_ARCHIVE) && (le_get64(p + 64) || le_get64(p + 72)))
        return false;
    uint64_t offset = le_get64(p + 48);
    uint32_t head_n = le_get16(p + 28), tail_n = le_get16(p + 30);
    return (p[6] == STATE_FOLLOWED || p[6] == STATE_GONE) && (p[7] & ~FLAGS_ALL) == 0 &&
           offset <= INT64_MAX && head_n == (offset < HEAD_MAX ? offset : HEAD_MAX) &&
           tail_n == (offset < TAIL_MAX ? offset : TAIL_MAX);
}

int position_decode(const uint8_t *p, uint32_t n, struct file *ret)
{
    if (!sound(p, n))
        return -EBADMSG;
    uint32_t path_n = le_get16(p + 80), host_n = le_get16(p + 82);
    char *path = strndup((const char *) p + FIXED_BYTES, path_n);
    char *host = host_n ? strndup((const char *) p + FIXED_BYTES + path_n, host_n) : NULL;
    if (!path || (host_n && !host)) {
        free(path);
        free(host);
        return -ENOMEM;
    }
    *ret = (struct file){
        .state = FILE_GONE,
        .archive = p[7] & FLAG_ARCHIVE,
        .done = p[7] & FLAG_DONE,
        .skipping = p[7] & FLAG_SKIPPING,
        .lines_unknown = p[7] & FLAG_LINES_UNKNOWN,
        .truncated = p[7] & FLAG_TRUNCATED,
        .restored = p[6] == STATE_FOLLOWED,
        .who = {le_get64(p + 8), (int64_t) le_get64(p + 16), le_get32(p + 24)},
        .offset = le_get64(p + 48),
        .lines = le_get64(p + 56),
        .size_bytes = le_get64(p + 64),
        .mtime_ns = (int64_t) le_get64(p + 72),
        .path = path,
        .host = host,
        .fd = -1,
    };
    ret->print.unknown = true;
    ret->print.head_n = le_get16(p + 28);
    ret->print.tail_n = le_get16(p + 30);
    ret->print.first_hash = le_get64(p + 84);
    ret->print.head_hash = le_get64(p + 32);
    ret->print.tail_hash = le_get64(p + 40);
    return 0;
}
