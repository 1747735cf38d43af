#include "input/unpack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "tap.h"

static struct buf text; /* 600 KB that pack, but not to nothing */

static void make_text(void)
{
    uint64_t x = 88172645463325252u;
    while (text.n < 600000) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        buf_printf(&text, "%llu some words of a line\n", (unsigned long long) x);
    }
}

static void add_gzip(struct buf *to, const char *p, size_t n)
{
    z_stream z = {0};
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t bound = deflateBound(&z, n);
    CU_ASSERT_FATAL(buf_reserve(to, bound));
    struct buf in;
    buf_init(&in);
    buf_put(&in, p, n);
    z.next_in = (Bytef *) in.p;
    z.avail_in = (uInt) n;
    z.next_out = (Bytef *) to->p + to->n;
    z.avail_out = (uInt) bound;
    CU_ASSERT_EQUAL_FATAL(deflate(&z, Z_FINISH), Z_STREAM_END);
    to->n += z.total_out;
    deflateEnd(&z);
    buf_done(&in);
}

static void add_zstd(struct buf *to, const char *p, size_t n)
{
    CU_ASSERT_FATAL(buf_reserve(to, ZSTD_compressBound(n)));
    size_t made = ZSTD_compress(to->p + to->n, ZSTD_compressBound(n), p, n, 3);
    CU_ASSERT_FATAL(!ZSTD_isError(made));
    to->n += made;
}

/* The bytes as a file; the descriptor stands at its start. */
static int as_file(const struct buf *b)
{
    FILE *f = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    if (b->n)
        CU_ASSERT_EQUAL_FATAL(fwrite(b->p, 1, b->n, f), b->n);
    CU_ASSERT_EQUAL_FATAL(fflush(f), 0);
    int fd = dup(fileno(f));
    fclose(f);
    CU_ASSERT_EQUAL_FATAL(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* Reads to the end in steps of room; returns the last result, which must repeat. */
static ssize_t unpack_all(const struct buf *packed, size_t room, struct buf *to,
                          enum unpack_kind *ret)
{
    struct unpack *u;
    int fd = as_file(packed);
    ssize_t n;
    CU_ASSERT_EQUAL_FATAL(unpack_new(&u, fd), 0);
    do {
        CU_ASSERT_FATAL(buf_reserve(to, room));
        n = unpack_read(u, to->p + to->n, room);
        to->n += n > 0 ? (size_t) n : 0;
    } while (n > 0);
    char c;
    CU_ASSERT_EQUAL(unpack_read(u, &c, 1), n);
    CU_ASSERT(unpack_raw_bytes(u) <= packed->n);
    *ret = unpack_kind(u);
    unpack_free(u);
    close(fd);
    return n;
}

static void check(const struct buf *packed, struct slice want, ssize_t want_end,
                  enum unpack_kind kind)
{
    static const size_t rooms[] = {1, 5, 1000, 65536, 262145};
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        if (rooms[i] < 1000 && want.n > 100000)
            continue;
        struct buf out;
        enum unpack_kind got;
        buf_init(&out);
        CU_ASSERT_EQUAL(unpack_all(packed, rooms[i], &out, &got), want_end);
        CU_ASSERT_EQUAL(got, kind);
        CU_ASSERT(slice_equal((struct slice){out.p, out.n}, want));
        buf_done(&out);
    }
}

static void check_packed_by(void (*add)(struct buf *, const char *, size_t), enum unpack_kind kind)
{
    struct buf b;
    buf_init(&b);
    add(&b, text.p, 1000);
    check(&b, (struct slice){text.p, 1000}, 0, kind);
    add(&b, text.p + 1000, 0);
    add(&b, text.p + 1000, text.n - 1000);
    check(&b, (struct slice){text.p, text.n}, 0, kind);
    buf_done(&b);
}

static void plain_files_come_through_as_they_are(void)
{
    struct buf b;
    buf_init(&b);
    check(&b, (struct slice){"", 0}, 0, UNPACK_PLAIN);
    buf_text(&b, "\x1f\x8b");
    check(&b, SLICE_LITERAL("\x1f\x8b"), 0, UNPACK_PLAIN);
    buf_clear(&b);
    buf_text(&b, "(a\nb");
    check(&b, SLICE_LITERAL("(a\nb"), 0, UNPACK_PLAIN);
    check(&text, (struct slice){text.p, text.n}, 0, UNPACK_PLAIN);
    buf_done(&b);
}

static void any_number_of_gzip_members_is_one_stream(void)
{
    check_packed_by(add_gzip, UNPACK_GZIP);
}

static void any_number_of_zstd_frames_is_one_stream(void)
{
    check_packed_by(add_zstd, UNPACK_ZSTD);
}

static void a_skippable_frame_may_come_first(void)
{
    struct buf b;
    buf_init(&b);
    buf_put(&b, "\x5a\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
    add_zstd(&b, text.p, 1000);
    check(&b, (struct slice){text.p, 1000}, 0, UNPACK_ZSTD);
    buf_done(&b);
}

static void zeros_behind_gzip_are_padding_and_other_bytes_are_damage(void)
{
    struct buf b;
    buf_init(&b);
    add_gzip(&b, text.p, 1000);
    buf_put(&b, "\0\0\0\0\0\0\0", 7);
    check(&b, (struct slice){text.p, 1000}, 0, UNPACK_GZIP);
    buf_text(&b, "rubbish");
    check(&b, (struct slice){text.p, 1000}, -EBADMSG, UNPACK_GZIP);
    buf_done(&b);
}

/* However little is missing: never a silent end, and nothing wrong before it. */
static void check_cut(void (*add)(struct buf *, const char *, size_t))
{
    struct buf b;
    buf_init(&b);
    add(&b, text.p, text.n);
    size_t whole = b.n;
    for (size_t missing = 1; missing < whole - 4; missing = missing * 3 + 1) {
        struct buf out;
        enum unpack_kind kind;
        buf_init(&out);
        b.n = whole - missing;
        CU_ASSERT_EQUAL(unpack_all(&b, 50000, &out, &kind), -ENODATA);
        CU_ASSERT(out.n <= text.n && (out.n == 0 || memcmp(out.p, text.p, out.n) == 0));
        if (missing == 1)
            CU_ASSERT(out.n > text.n / 2);
        buf_done(&out);
    }
    buf_done(&b);
}

static void a_cut_archive_gives_what_came_before_and_says_so(void)
{
    check_cut(add_gzip);
    check_cut(add_zstd);
}

static void a_flipped_bit_is_damage(void)
{
    struct buf b, out;
    enum unpack_kind kind;
    buf_init(&b);
    buf_init(&out);
    add_gzip(&b, text.p, text.n);
    b.p[b.n - 6] ^= 1; /* in the checksum */
    CU_ASSERT_EQUAL(unpack_all(&b, 50000, &out, &kind), -EBADMSG);
    CU_ASSERT(slice_equal((struct slice){out.p, out.n}, (struct slice){text.p, text.n}));
    buf_clear(&b);
    buf_clear(&out);
    add_zstd(&b, text.p, text.n);
    b.p[8] ^= 0x55;
    b.p[9] ^= 0x55;
    CU_ASSERT(unpack_all(&b, 50000, &out, &kind) < 0);
    buf_done(&b);
    buf_done(&out);
}

static void a_pipe_gives_its_first_line_before_its_end(void)
{
    int fds[2];
    struct unpack *u;
    char got[100];
    CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
    CU_ASSERT_EQUAL_FATAL(write(fds[1], "a\n", 2), 2);
    CU_ASSERT_EQUAL_FATAL(unpack_new(&u, fds[0]), 0);
    CU_ASSERT_EQUAL(unpack_read(u, got, sizeof(got)), 2);
    CU_ASSERT(memcmp(got, "a\n", 2) == 0);
    close(fds[1]);
    CU_ASSERT_EQUAL(unpack_read(u, got, sizeof(got)), 0);
    unpack_free(u);
    close(fds[0]);
}

static void a_folder_is_an_error_and_not_empty(void)
{
    struct unpack *u;
    char c;
    FILE *f = fopen("/", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL_FATAL(unpack_new(&u, fileno(f)), 0);
    CU_ASSERT_EQUAL(unpack_read(u, &c, 1), -EISDIR);
    CU_ASSERT_EQUAL(unpack_read(u, &c, 1), -EISDIR);
    unpack_free(u);
    fclose(f);
}

static const struct test tests[] = {
    TEST(plain_files_come_through_as_they_are),
    TEST(any_number_of_gzip_members_is_one_stream),
    TEST(any_number_of_zstd_frames_is_one_stream),
    TEST(a_skippable_frame_may_come_first),
    TEST(zeros_behind_gzip_are_padding_and_other_bytes_are_damage),
    TEST(a_cut_archive_gives_what_came_before_and_says_so),
    TEST(a_flipped_bit_is_damage),
    TEST(a_pipe_gives_its_first_line_before_its_end),
    TEST(a_folder_is_an_error_and_not_empty),
    TESTS_END,
};

int main(void)
{
    make_text();
    int code = tap_run("unpack", tests);
    buf_done(&text);
    return code;
}
