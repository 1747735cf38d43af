/* Owned bytes that grow: for replies, forms on disk and messages, never on the per-line path.
 * The first failure sticks: later calls do nothing and buf_failed tells, so that a sequence of
 * appends needs one check at its end. One thread per object. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

struct buf {
    char *p;
    size_t n, room;
    bool failed;
};

void buf_init(struct buf *b);
void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */

bool buf_reserve(struct buf *b, size_t more); /* false: out of memory */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_slice(struct buf *b, struct slice s);
void buf_text(struct buf *b, const char *text);
void buf_byte(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* 0 or -ENOMEM */
int buf_failed(const struct buf *b);
/* Adds a NUL that is not counted in n and returns the text; NULL when an append failed. */
char *buf_cstr(struct buf *b);
/* The same, handing the memory over to the caller, who frees it. */
char *buf_steal(struct buf *b);

#endif
