#include "input/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/file.h"
#include "tap.h"

static char folder[256];
static char path_room[16][320];

static const char *in_folder(const char *name)
{
    static unsigned turn;
    char *p = path_room[turn++ % 16];
    snprintf(p, sizeof(path_room[0]), "%s/%s", folder, name);
    return p;
}

static const char *make(const char *name, const char *p, size_t n)
{
    const char *path = in_folder(name);
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(file_create(path, p, n, 0600, NULL), 0);
    return path;
}

static const char *make_gzip(const char *name, const char *p, size_t n, size_t missing)
{
    const char *path = in_folder(name);
    gzFile f = gzopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL_FATAL(gzwrite(f, p, (unsigned) n), (int) n);
    CU_ASSERT_EQUAL_FATAL(gzclose(f), Z_OK);
    struct stat st;
    CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(path, st.st_size - (off_t) missing), 0);
    return path;
}

struct all {
    struct buf lines;
    uint64_t consumed, too_long;
    int code;
    bool ended;
    struct err e;
};

static void read_all(struct reader *r, struct all *a)
{
    struct block b;
    *a = (struct all){0};
    buf_init(&a->lines);
    CU_ASSERT_EQUAL_FATAL(block_init(&b), 0);
    while ((a->code = reader_next(r, &b, &a->e)) == 1) {
        CU_ASSERT(!a->ended);
        buf_slice(&a->lines, b.lines);
        a->consumed += b.consumed;
        a->too_long += b.too_long;
        a->ended = b.ended;
    }
    CU_ASSERT_EQUAL(b.lines.n, 0);
    CU_ASSERT_EQUAL(b.consumed, 0);
    block_done(&b);
}

static void read_path(const char *path, struct all *a)
{
    struct reader *r;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(reader_open(&r, path, &e), 0);
    read_all(r, a);
    reader_free(r);
}

static void check_lines(const char *path, struct slice want, uint64_t want_consumed)
{
    struct all a;
    read_path(path, &a);
    CU_ASSERT_EQUAL(a.code, 0);
    CU_ASSERT_EQUAL(a.consumed, want_consumed);
    CU_ASSERT(slice_equal((struct slice){a.lines.p, a.lines.n}, want));
    buf_done(&a.lines);
}

static void an_unterminated_last_line_is_handed_out(void)
{
    check_lines(make("a", "one\ntwo", 7), SLICE_LITERAL("one\ntwo"), 7);
    check_lines(make("a", "\xef\xbb\xbfone\n", 7), SLICE_LITERAL("one\n"), 7);
    check_lines(make("a", "", 0), SLICE_LITERAL(""), 0);
}

static void gzip_is_known_by_content_and_not_by_name(void)
{
    check_lines(make_gzip("b.log", "one\ntwo", 7, 0), SLICE_LITERAL("one\ntwo"), 7);
    check_lines(make("b.gz", "no archive\n", 11), SLICE_LITERAL("no archive\n"), 11);
}

static void a_pipe_on_standard_input_is_read_to_its_end(void)
{
    int fds[2], kept = dup(STDIN_FILENO);
    CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
    CU_ASSERT_EQUAL_FATAL(write(fds[1], "one\ntwo", 7), 7);
    close(fds[1]);
    dup2(fds[0], STDIN_FILENO);
    close(fds[0]);
    check_lines("-", SLICE_LITERAL("one\ntwo"), 7);
    dup2(kept, STDIN_FILENO);
    close(kept);
}

static void the_head_is_told_and_still_handed_out(void)
{
    struct reader *r;
    struct err e;
    struct slice head;
    struct all a;
    CU_ASSERT_EQUAL_FATAL(reader_open(&r, make_gzip("c", "one\ntwo\nthree\n", 14, 0), &e), 0);
    CU_ASSERT_EQUAL(reader_head(r, 5, &head, &e), 0);
    CU_ASSERT(slice_is(head, "one\nt"));
    CU_ASSERT_EQUAL(reader_head(r, 100, &head, &e), 0);
    CU_ASSERT(slice_is(head, "one\ntwo\nthree\n"));
    CU_ASSERT_EQUAL(reader_head(r, 3, &head, &e), 0);
    CU_ASSERT(slice_is(head, "one"));
    read_all(r, &a);
    CU_ASSERT_EQUAL(a.consumed, 14);
    CU_ASSERT(
        slice_equal((struct slice){a.lines.p, a.lines.n}, SLICE_LITERAL("one\ntwo\nthree\n")));
    CU_ASSERT_EQUAL(reader_head(r, 5, &head, &e), -EINVAL);
    buf_done(&a.lines);
    reader_free(r);
}

static void a_cut_archive_gives_its_whole_lines_and_names_itself(void)
{
    struct buf b;
    struct all a;
    buf_init(&b);
    for (unsigned i = 0; i < 50000; i++)
        buf_printf(&b, "line %u of it %u\n", i, i * 2654435761u);
    const char *path = make_gzip("cut.gz", b.p, b.n, 5000);
    read_path(path, &a);
    CU_ASSERT_EQUAL(a.code, -ENODATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(a.e.text, path));
    CU_ASSERT_PTR_NOT_NULL(strstr(a.e.text, "gzip -t"));
    CU_ASSERT_FATAL(a.lines.n > b.n / 2 && a.lines.n < b.n);
    CU_ASSERT_EQUAL(a.lines.p[a.lines.n - 1], '\n');
    CU_ASSERT(memcmp(a.lines.p, b.p, a.lines.n) == 0);
    buf_done(&a.lines);
    buf_done(&b);
}

static void a_damaged_archive_is_an_error_even_in_the_head(void)
{
    struct reader *r;
    struct err e;
    struct slice head;
    struct all a;
    const char *path =
        make("bad.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x07ubbish here", 22);
    CU_ASSERT_EQUAL_FATAL(reader_open(&r, path, &e), 0);
    CU_ASSERT_EQUAL(reader_head(r, 100, &head, &e), 0);
    CU_ASSERT_EQUAL(head.n, 0);
    read_all(r, &a);
    CU_ASSERT_EQUAL(a.code, -EBADMSG);
    CU_ASSERT_PTR_NOT_NULL(strstr(a.e.text, path));
    buf_done(&a.lines);
    reader_free(r);
}

static void what_cannot_be_opened_names_the_remedy(void)
{
    struct reader *r = NULL;
    struct err e;
    CU_ASSERT_EQUAL(reader_open(&r, in_folder("none.log"), &e), -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "none.log"));
    CU_ASSERT_EQUAL(reader_open(&r, folder, &e), -EISDIR);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "name the files"));
    const char *path = make("secret.log", "x\n", 2);
    chmod(path, 0);
    if (geteuid() != 0) { /* root reads everything */
        CU_ASSERT_EQUAL(reader_open(&r, path, &e), -EACCES);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "sudo"));
    }
    CU_ASSERT_PTR_NULL(r);
}

static void progress_reaches_the_size(void)
{
    struct reader *r;
    struct err e;
    struct all a;
    uint64_t done, all;
    CU_ASSERT_EQUAL_FATAL(reader_open(&r, make("p", "one\ntwo\n", 8), &e), 0);
    reader_progress(r, &done, &all);
    CU_ASSERT_EQUAL(done, 0);
    CU_ASSERT_EQUAL(all, 8);
    read_all(r, &a);
    reader_progress(r, &done, &all);
    CU_ASSERT_EQUAL(done, 8);
    buf_done(&a.lines);
    reader_free(r);
}

static void content_is_compared_unpacked(void)
{
    const char *plain = make("same", "one\ntwo\n", 8);
    CU_ASSERT_EQUAL(reader_same_content(plain, make_gzip("same.gz", "one\ntwo\n", 8, 0)), 1);
    CU_ASSERT_EQUAL(reader_same_content(plain, plain), 1);
    CU_ASSERT_EQUAL(reader_same_content(plain, make("other", "one\ntwO\n", 8)), 0);
    CU_ASSERT_EQUAL(reader_same_content(plain, make("more", "one\ntwo\n\n", 9)), 0);
    CU_ASSERT_EQUAL(reader_same_content(plain, make_gzip("more.gz", "one\ntwo\n\n", 9, 0)), 0);
    CU_ASSERT_EQUAL(reader_same_content(in_folder("none"), plain), -ENOENT);
}

static void long_content_is_compared_to_its_end(void)
{
    struct buf b;
    buf_init(&b);
    for (unsigned i = 0; i < 100000; i++)
        buf_printf(&b, "line %u\n", i);
    const char *plain = make("long", b.p, b.n);
    const char *packed = make_gzip("long.gz", b.p, b.n, 0);
    CU_ASSERT_EQUAL(reader_same_content(plain, packed), 1);
    CU_ASSERT_EQUAL(reader_same_content(packed, plain), 1);
    CU_ASSERT_EQUAL(reader_same_content(plain, make_gzip("cut.gz", b.p, b.n, 9)), -ENODATA);
    b.p[b.n - 2] ^= 1;
    CU_ASSERT_EQUAL(reader_same_content(make("long2", b.p, b.n), packed), 0);
    buf_done(&b);
}

static const struct test tests[] = {
    TEST(an_unterminated_last_line_is_handed_out),
    TEST(gzip_is_known_by_content_and_not_by_name),
    TEST(a_pipe_on_standard_input_is_read_to_its_end),
    TEST(the_head_is_told_and_still_handed_out),
    TEST(a_cut_archive_gives_its_whole_lines_and_names_itself),
    TEST(a_damaged_archive_is_an_error_even_in_the_head),
    TEST(what_cannot_be_opened_names_the_remedy),
    TEST(progress_reaches_the_size),
    TEST(content_is_compared_unpacked),
    TEST(long_content_is_compared_to_its_end),
    TESTS_END,
};

static void remove_folder(void)
{
    static const char *const names[] = {
        "a",    "b.log",   "b.gz",  "c",    "cut.gz",  "bad.gz", "secret.log", "p",
        "same", "same.gz", "other", "more", "more.gz", "long",   "long.gz",    "long2"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(in_folder(names[i]));
    rmdir(folder);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/reckond-reader-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    int code = tap_run("reader", tests);
    remove_folder();
    return code;
}
