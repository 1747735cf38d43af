/* Reads a file's bytes, unpacked by content (gzip with any number of members, zstd, or plain), as a
 * stream. One thread per object. */
#ifndef INPUT_UNPACK_H
#define INPUT_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct unpack;

enum unpack_kind { UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD };

int unpack_new(struct unpack **ret, int fd); /* the fd stays the caller's; 0, -ENOMEM, -errno */
struct unpack *unpack_free(struct unpack *u);

/* > 0 bytes; 0 the end; -EBADMSG damaged, -ENODATA cut short (what came before was good), -EFBIG a
 * zstd window over 128 MiB (zstd --ultra --long); -errno. The end and errors repeat. */
ssize_t unpack_read(struct unpack *u, void *to, size_t room);
enum unpack_kind unpack_kind(const struct unpack *u);
uint64_t unpack_raw_bytes(const struct unpack *u); /* read from the file so far, for progress */

#endif
