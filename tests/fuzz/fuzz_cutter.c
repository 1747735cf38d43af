/* The cutter gives the same lines for any read sizes as a loop over the whole stream does. The
 * first two bytes are the read sizes; in the rest 0xff and k repeat the byte before them 1024 k
 * times, so that short inputs make lines about the limit. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "input/cutter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define STREAM_MAX ((size_t) 1536 * 1024)

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void put_line(struct buf *to, const char *p, size_t n)
{
    buf_put(to, &n, sizeof(n));
    buf_put(to, p, n);
}

static uint64_t cut_naively(struct slice s, struct buf *to)
{
    uint64_t too_long = 0;
    size_t at = s.n >= 3 && memcmp(s.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < s.n) {
        while (at < s.n && s.p[at] == '\0')
            at++;
        const char *feed = at < s.n ? memchr(s.p + at, '\n', s.n - at) : NULL;
        size_t end = feed ? (size_t) (feed - s.p) : s.n;
        if (end - at > BLOCK_LINE_MAX)
            too_long++;
        else if (at < s.n)
            put_line(to, s.p + at, (feed ? end + 1 : end) - at);
        at = feed ? end + 1 : s.n;
    }
    return too_long;
}

static uint64_t cut(struct slice s, size_t step, struct buf *to)
{
    struct block b;
    struct cutter c;
    uint64_t too_long = 0, consumed = 0;
    must(block_init(&b) == 0 && cutter_init(&c) == 0);
    for (size_t at = 0; !b.ended;) {
        size_t room;
        char *p = cutter_room(&c, &b, &room);
        must(room > 0 && p + room <= b.buffer + BLOCK_ROOM);
        size_t take = s.n - at < step ? s.n - at : step;
        take = take < room ? take : room;
        if (take)
            memcpy(p, s.p + at, take);
        at += take;
        cutter_cut(&c, &b, take, take == 0);
        consumed += b.consumed;
        too_long += b.too_long;
        struct slice rest = b.lines, line;
        while (slice_cut(&rest, '\n', &line))
            put_line(to, line.p, line.n + 1);
        must(rest.n == 0 || b.ended);
        if (rest.n)
            put_line(to, rest.p, rest.n);
    }
    must(consumed == s.n);
    cutter_done(&c);
    block_done(&b);
    return too_long;
}

static void expand(struct buf *to, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n && to->n < STREAM_MAX; i++) {
        if (p[i] != 0xff || i + 1 == n || to->n == 0) {
            buf_byte(to, (char) p[i]);
            continue;
        }
        char last = to->p[to->n - 1];
        for (size_t k = (size_t) p[++i] * 1024; k; k--)
            buf_byte(to, last);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf stream, naive, cut_up;
    if (n < 2 || n > 4096)
        return 0;
    buf_init(&stream);
    buf_init(&naive);
    buf_init(&cut_up);
    expand(&stream, data + 2, n - 2);
    struct slice s = {stream.n ? stream.p : "", stream.n};
    size_t step = 1 + data[0] + (size_t) data[1] * 1100;
    if (s.n / step > 5000)
        step = s.n / 5000 + 1;
    must(cut_naively(s, &naive) == cut(s, step, &cut_up));
    must(naive.n == cut_up.n && (naive.n == 0 || memcmp(naive.p, cut_up.p, naive.n) == 0));
    buf_done(&stream);
    buf_done(&naive);
    buf_done(&cut_up);
    return 0;
}
