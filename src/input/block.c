#include "input/block.h"

#include <errno.h>
#include <stdlib.h>

int block_init(struct block *b)
{
    *b = (struct block){0};
    b->buffer = malloc(BLOCK_ROOM);
    return b->buffer ? 0 : -ENOMEM;
}

void block_done(struct block *b)
{
    free(b->buffer);
    *b = (struct block){0};
}
