#include "input/cutter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tap.h"

/* What came out: every line behind its length, so that two runs are equal only if all lines are. */
struct outcome {
    struct buf lines;
    uint64_t n_lines, too_long, consumed;
    bool numbers_right;
};

static uint64_t seed = 1;

static uint64_t draw(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static void put_line(struct outcome *o, const char *p, size_t n)
{
    uint64_t length = n;
    buf_put(&o->lines, &length, sizeof(length));
    buf_put(&o->lines, p, n);
    o->n_lines++;
}

/* The rule in its plainest form: one loop over the whole stream. */
static void cut_naively(const char *p, size_t n, struct outcome *o)
{
    buf_init(&o->lines);
    size_t at = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < n) {
        while (at < n && p[at] == '\0')
            at++;
        const char *feed = at < n ? memchr(p + at, '\n', n - at) : NULL;
        size_t end = feed ? (size_t) (feed - p) : n;
        if (end - at > BLOCK_LINE_MAX)
            o->too_long++;
        else if (at < n)
            put_line(o, p + at, (feed ? end + 1 : end) - at);
        at = feed ? end + 1 : n;
    }
    o->consumed = n;
    o->numbers_right = true;
}

static void take_block(const struct block *b, struct outcome *o)
{
    if (b->lines.n && b->line_number != o->n_lines + o->too_long + 1)
        o->numbers_right = false;
    const char *p = b->lines.p, *end = p + b->lines.n;
    while (p < end) {
        const char *feed = memchr(p, '\n', (size_t) (end - p));
        size_t n = feed ? (size_t) (feed + 1 - p) : (size_t) (end - p);
        if (!feed && !b->ended)
            o->numbers_right = false;
        put_line(o, p, n);
        p += n;
    }
    o->too_long += b->too_long;
    o->consumed += b->consumed;
}

/* read_max 0: as much as there is room for. */
static void cut_in_reads(const char *p, size_t n, size_t read_max, struct outcome *o)
{
    struct block b;
    struct cutter c;
    CU_ASSERT_EQUAL_FATAL(block_init(&b), 0);
    CU_ASSERT_EQUAL_FATAL(cutter_init(&c), 0);
    buf_init(&o->lines);
    o->numbers_right = true;
    for (size_t at = 0; !b.ended;) {
        size_t room;
        char *to = cutter_room(&c, &b, &room);
        size_t take = n - at < room ? n - at : room;
        if (read_max && take > read_max)
            take = 1 + draw(read_max);
        memcpy(to, p + at, take);
        at += take;
        cutter_cut(&c, &b, take, take == 0);
        take_block(&b, o);
    }
    cutter_done(&c);
    block_done(&b);
}

static bool same(const struct outcome *a, const struct outcome *b)
{
    return a->n_lines == b->n_lines && a->too_long == b->too_long && a->consumed == b->consumed &&
           a->lines.n == b->lines.n &&
           (a->lines.n == 0 || memcmp(a->lines.p, b->lines.p, a->lines.n) == 0) &&
           a->numbers_right && b->numbers_right;
}

static void check(const char *what, const char *p, size_t n)
{
    static const size_t reads[] = {0, 1, 2, 7, 100, 4096, 65536, 262143, 262144};
    struct outcome naive = {0};
    cut_naively(p, n, &naive);
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        if (reads[i] && reads[i] < 100 && n > 100000)
            continue;
        struct outcome cut = {0};
        cut_in_reads(p, n, reads[i], &cut);
        if (!same(&naive, &cut))
            printf("# %s: reads of %zu: %llu lines, %llu too long, %llu bytes; naive %llu, %llu, "
                   "%llu\n",
                   what, reads[i], (unsigned long long) cut.n_lines,
                   (unsigned long long) cut.too_long, (unsigned long long) cut.consumed,
                   (unsigned long long) naive.n_lines, (unsigned long long) naive.too_long,
                   (unsigned long long) naive.consumed);
        CU_ASSERT(same(&naive, &cut));
        buf_done(&cut.lines);
    }
    buf_done(&naive.lines);
}

static void check_text(const char *text)
{
    check(text, text, strlen(text));
}

static void small_streams_are_cut_as_the_naive_model_does(void)
{
    check_text("");
    check_text("\n");
    check_text("\n\n\n");
    check_text("a");
    check_text("a\n");
    check_text("a\nb");
    check_text("a\r\nb\r\n\r\n");
    check_text("\xef\xbb\xbf");
    check_text("\xef\xbb\xbf\n");
    check_text("\xef\xbb\xbfone\ntwo\n");
    check_text("\xef\xbb");
    check_text("\xef\xbb\n\xef\xbb\xbf later is data\n");
    check_text("\xef"
               "a\n");
    check("nuls", "\0\0\0a\n\0b\0c\n\0\n\0\0", 14);
    check("nul end", "a\n\0\0\0", 5);
    check("bom nul", "\xef\xbb\xbf\0\0a\n", 7);
    check("nul bom",
          "\0\xef\xbb\xbf"
          "a\n",
          6);
}

/* More than a byte can count to in each of its places. */
static void lines_of_nothing_are_numbered_too(void)
{
    struct buf feeds;
    buf_init(&feeds);
    for (size_t i = 0; i < 3 * BLOCK_READ_BYTES; i++)
        buf_byte(&feeds, i % 1000 == 999 ? 'x' : '\n');
    CU_ASSERT_EQUAL_FATAL(buf_failed(&feeds), 0);
    check("feeds", feeds.p, feeds.n);
    buf_done(&feeds);
}

/* A stream of pieces that are each on one side of a limit. */
static void add_piece(struct buf *to)
{
    static const size_t lengths[] = {BLOCK_LINE_MAX - 1, BLOCK_LINE_MAX, BLOCK_LINE_MAX + 1,
                                     300 * 1024, BLOCK_LINE_MAX - 2};
    size_t n = 0;
    unsigned kind = (unsigned) draw(12);
    if (kind == 0)
        n = lengths[draw(sizeof(lengths) / sizeof(lengths[0]))];
    else if (kind < 9)
        n = draw(kind < 8 ? 300 : 5000);
    if (kind == 9)
        for (size_t i = draw(3) ? draw(10) : draw(600000); i; i--)
            buf_byte(to, '\0');
    for (size_t i = 0; i < n; i++)
        buf_byte(to, draw(5000) ? (char) ('a' + draw(26)) : '\0');
    if (kind == 10)
        buf_text(to, "\xef\xbb\xbf");
    if (kind == 11)
        buf_byte(to, '\r');
    buf_byte(to, '\n');
}

static void random_streams_give_the_same_lines_whatever_the_read_sizes(void)
{
    for (unsigned round = 0; round < 10; round++) {
        struct buf b;
        buf_init(&b);
        if (draw(3) == 0)
            buf_text(&b, "\xef\xbb\xbf");
        for (unsigned i = 0; i < 60; i++)
            add_piece(&b);
        if (draw(2))
            buf_text(&b, "the last line has no feed");
        CU_ASSERT_EQUAL_FATAL(buf_failed(&b), 0);
        check("random", b.p, b.n);
        buf_done(&b);
    }
}

static void check_long(size_t length, bool feed, uint64_t want_too_long)
{
    struct buf b;
    struct outcome o = {0};
    buf_init(&b);
    buf_text(&b, "before\n");
    for (size_t i = 0; i < length; i++)
        buf_byte(&b, 'x');
    buf_text(&b, feed ? "\nafter\n" : "");
    CU_ASSERT_EQUAL_FATAL(buf_failed(&b), 0);
    cut_in_reads(b.p, b.n, 0, &o);
    CU_ASSERT_EQUAL(o.too_long, want_too_long);
    CU_ASSERT_EQUAL(o.n_lines, 1 + (feed ? 1 : 0) + (want_too_long ? 0 : 1));
    CU_ASSERT_EQUAL(o.consumed, b.n);
    check("long", b.p, b.n);
    buf_done(&o.lines);
    buf_done(&b);
}

static void a_line_of_256_KiB_counts_and_one_byte_more_is_too_long(void)
{
    for (unsigned feed = 0; feed < 2; feed++) {
        check_long(BLOCK_LINE_MAX - 1, feed, 0);
        check_long(BLOCK_LINE_MAX, feed, 0);
        check_long(BLOCK_LINE_MAX + 1, feed, 1);
        check_long(300 * 1024, feed, 1);
        check_long(5 * BLOCK_LINE_MAX, feed, 1);
    }
}

static void a_carriage_return_counts_for_the_length(void)
{
    struct buf b;
    struct outcome o = {0};
    buf_init(&b);
    for (size_t i = 0; i < BLOCK_LINE_MAX; i++)
        buf_byte(&b, 'x');
    buf_text(&b, "\r\n");
    cut_in_reads(b.p, b.n, 0, &o);
    CU_ASSERT_EQUAL(o.too_long, 1);
    CU_ASSERT_EQUAL(o.n_lines, 0);
    buf_done(&o.lines);
    buf_done(&b);
}

static void raw_bytes_stay_in_the_buffer_when_nuls_are_taken_out(void)
{
    static const char raw[] = "a\n\0\0b\n\0c";
    struct block b;
    struct cutter c;
    size_t room;
    CU_ASSERT_EQUAL_FATAL(block_init(&b), 0);
    CU_ASSERT_EQUAL_FATAL(cutter_init(&c), 0);
    memcpy(cutter_room(&c, &b, &room), raw, sizeof(raw) - 1);
    cutter_cut(&c, &b, sizeof(raw) - 1, false);
    CU_ASSERT_EQUAL(b.consumed, 7);
    CU_ASSERT(memcmp(b.buffer, raw, 7) == 0);
    CU_ASSERT(slice_is(b.lines, "a\nb\n"));
    CU_ASSERT_EQUAL(c.carried, 1);
    cutter_done(&c);
    block_done(&b);
}

/* A follower cuts afresh at every read from the position that consumed made. */
static void cutting_afresh_from_consumed_gives_the_same_lines(void)
{
    struct buf b;
    struct block block;
    struct cutter c;
    struct outcome naive = {0}, o = {.numbers_right = true};
    buf_init(&b);
    buf_init(&o.lines);
    for (unsigned i = 0; i < 200; i++)
        add_piece(&b);
    CU_ASSERT_EQUAL_FATAL(block_init(&block), 0);
    CU_ASSERT_EQUAL_FATAL(cutter_init(&c), 0);
    size_t room;
    for (size_t at = 0; at < b.n; at += block.consumed) {
        c.carried = 0;
        char *to = cutter_room(&c, &block, &room);
        room = room < b.n - at ? room : b.n - at;
        memcpy(to, b.p + at, room);
        cutter_cut(&c, &block, room, false);
        CU_ASSERT_FATAL(block.consumed > 0);
        take_block(&block, &o);
    }
    cut_naively(b.p, b.n, &naive);
    CU_ASSERT(same(&naive, &o));
    buf_done(&naive.lines);
    buf_done(&o.lines);
    cutter_done(&c);
    block_done(&block);
    buf_done(&b);
}

static const struct test tests[] = {
    TEST(small_streams_are_cut_as_the_naive_model_does),
    TEST(lines_of_nothing_are_numbered_too),
    TEST(random_streams_give_the_same_lines_whatever_the_read_sizes),
    TEST(a_line_of_256_KiB_counts_and_one_byte_more_is_too_long),
    TEST(a_carriage_return_counts_for_the_length),
    TEST(raw_bytes_stay_in_the_buffer_when_nuls_are_taken_out),
    TEST(cutting_afresh_from_consumed_gives_the_same_lines),
    TESTS_END,
};

int main(void)
{
    return tap_run("cutter", tests);
}
