/* What inputs hand on: whole lines in one buffer, and the positions that hold once these lines are
 * counted. One direction: every block that was handed out is applied, in order; its positions go
 * into the store in the same step as its counts. */
#ifndef INPUT_BLOCK_H
#define INPUT_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define BLOCK_READ_BYTES ((size_t) 256 * 1024) /* one read(2); stays in the L2 cache */
#define BLOCK_LINE_MAX                                                                             \
    ((size_t) 256 * 1024) /* longer lines are dropped whole and counted as too_long */
#define BLOCK_ROOM (BLOCK_READ_BYTES + BLOCK_LINE_MAX + 1)
#define BLOCK_POSITIONS_MAX 8
#define POSITION_BYTES_MAX 8192

struct position {
    uint64_t id;          /* of a followed file, unique within the state directory */
    const uint8_t *bytes; /* opaque to the store; borrowed until the next call of the input */
    uint32_t n;           /* 0: forget this id */
};

struct block {
    char *buffer; /* BLOCK_ROOM bytes, owned by whoever made the block (block_init) */
    struct slice
        lines; /* whole lines, each with its line feed; only the last line of an ended input may
                  lack it (ended). In buffer; the raw bytes stay at buffer[0, consumed) */
    uint64_t consumed;    /* bytes by which the position moves: lines.n and what was dropped (long
                             lines,    NUL holes, a byte order mark) */
    uint32_t too_long;    /* lines dropped for their length, behind `lines` */
    bool ended;           /* the source is read out; an unterminated last line is in lines */
    struct slice host;    /* {host} of the glob, or empty; borrowed until the next call */
    struct slice path;    /* for messages; borrowed until the next call */
    uint64_t line_number; /* of the first line in lines, 1-based; 0: not known */
    struct position positions[BLOCK_POSITIONS_MAX];
    unsigned n_positions;
};

int block_init(struct block *b); /* 0 or -ENOMEM */
void block_done(struct block *b);

#endif
