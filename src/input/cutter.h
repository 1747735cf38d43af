/* Cuts a stream of bytes into blocks of whole lines: the part behind the last line feed is carried
 * into the next block; a line over BLOCK_LINE_MAX is dropped whole, whatever the block size; a byte
 * order mark is dropped at the very start. One thread per object; pure. */
#ifndef INPUT_CUTTER_H
#define INPUT_CUTTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "input/block.h"

struct cutter {
    char *carry; /* BLOCK_LINE_MAX + 1 bytes */
    size_t carried;
    bool skipping;  /* inside a too long line */
    bool started;   /* the first bytes were seen */
    uint64_t lines; /* handed out so far, too long ones included */
};

int cutter_init(struct cutter *c); /* 0 or -ENOMEM */
void cutter_done(struct cutter *c);

/* Where the next read goes: puts the carry into the block's buffer and tells the free room behind
 * it. */
char *cutter_room(struct cutter *c, struct block *b, size_t *ret_room);
/* n bytes were read there (0 and ended: the end). Fills lines, consumed, too_long, line_number. */
void cutter_cut(struct cutter *c, struct block *b, size_t n, bool ended);

#endif
