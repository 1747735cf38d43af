/* Positions come from a database that anybody may have written. Any bytes are taken as they are,
 * and as the body of a form whose CRC is right, which no mutation would find. What is accepted must
 * be written again as it came, and a follower must take it. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/le.h"
#include "input/follow_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void try_form(const uint8_t *form, uint32_t n)
{
    static const char *const globs[] = {"/nonexistent/{host}.log*"};
    static uint8_t again[POSITION_BYTES_MAX];
    struct follow_options options = {.input = "fuzz", .globs = globs, .n_globs = 1};
    struct follow *f = NULL;
    struct file x;
    struct block b;
    if (position_decode(form, n, &x) < 0)
        return;
    must(x.offset >= x.print.tail_n && x.print.head_n <= HEAD_MAX && x.print.tail_n <= TAIL_MAX);
    must(position_encode(&x, again) == n && memcmp(form, again, n) == 0);
    free(x.path);
    free(x.host);
    must(follow_new(&f, &options, NULL) == 0 && block_init(&b) == 0);
    must(follow_restore(f, 7, form, n) == 0);
    while (follow_next(f, &b))
        must(b.lines.n == 0);
    block_done(&b);
    follow_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint8_t form[POSITION_BYTES_MAX];
    if (n > sizeof(form) - 4)
        return 0;
    try_form(data, (uint32_t) n);
    if (n < 6)
        return 0;
    memcpy(form, data, n);
    memcpy(form, "RKPO\1\0", 6);
    le_put32(form + n, (uint32_t) crc32(0, form, (uInt) n));
    try_form(form, (uint32_t) n + 4);
    return 0;
}
