/* Whole small files. One thread per path. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Reads a regular file of at most max bytes. 0, -ENOENT, -EACCES, -EFBIG, -EISDIR, -ENOMEM, ...;
 * the sentence names the path. */
int file_read(const char *path, size_t max, struct buf *ret, struct err *e);
/* Creates path with mode, whole or not at all (also when killed), on disk when it returns. -EEXIST
 * if it is there; a file that stands there is never touched. */
int file_create(const char *path, const void *p, size_t n, mode_t mode, struct err *e);
/* write(2) until all is written or an error: 0 or -errno. */
int file_write_all(int fd, const void *p, size_t n);
/* mkdir -p with mode for what is missing. */
int file_make_dirs(const char *path, mode_t mode, struct err *e);

#endif
