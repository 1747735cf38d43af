/* One named file or standard input, read once from beginning to end, as blocks (report,
 * check-format). Regular files, pipes and terminals; .gz and .zst by content. One thread per
 * object. */
#ifndef INPUT_READER_H
#define INPUT_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "input/block.h"

struct reader;

/* path "-": standard input. 0; -errno with a sentence that names the remedy (missing, unreadable:
 * sudo or group adm, a folder). */
int reader_open(struct reader **ret, const char *path, struct err *e);
struct reader *reader_free(struct reader *r);

/* 1: a block; 0: the end (the block is empty); -errno with a sentence: damaged or cut archive, read
 * error; what came before it was handed out. */
int reader_next(struct reader *r, struct block *ret, struct err *e);
/* The first bytes (unpacked, at most max), without consuming them; before the first reader_next;
 * borrowed until the next call. For pipes this waits for the first block. A damaged head is told by
 * reader_next. */
int reader_head(struct reader *r, size_t max, struct slice *ret, struct err *e);

/* Progress: bytes of the file read so far and in all (0: not known). */
void reader_progress(const struct reader *r, uint64_t *ret_done, uint64_t *ret_all);
/* Both hold the same unpacked bytes (read through once, only when their heads agree). 1, 0 or
 * -errno. */
int reader_same_content(const char *a, const char *b);

#endif
