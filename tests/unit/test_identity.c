#include "input/follow_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

static int new_file(const void *p, size_t n)
{
    FILE *f = tmpfile();
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    int fd = dup(fileno(f));
    fclose(f);
    if (n)
        CU_ASSERT_EQUAL_FATAL(write(fd, p, n), (ssize_t) n);
    return fd;
}

static uint8_t bytes[5000];

static void fill(void)
{
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t) (i * 7 + i / 251);
}

static void a_print_is_the_same_whatever_the_steps(void)
{
    static const size_t steps[] = {1, 3, 255, 256, 257, 1000, 5000};
    fill();
    for (size_t total = 1; total <= sizeof(bytes); total += total < 1100 ? 13 : 777)
        for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
            struct print p = {0};
            for (size_t i = 0; i < total; i += steps[s])
                print_add(&p, bytes + i, steps[s] < total - i ? steps[s] : total - i);
            size_t head_n = total < HEAD_MAX ? total : HEAD_MAX;
            size_t tail_n = total < TAIL_MAX ? total : TAIL_MAX;
            CU_ASSERT_EQUAL_FATAL(p.head_n, head_n);
            CU_ASSERT_EQUAL_FATAL(p.tail_n, tail_n);
            CU_ASSERT(memcmp(p.head, bytes, head_n) == 0);
            CU_ASSERT(memcmp(p.tail, bytes + total - tail_n, tail_n) == 0);
        }
}

static void zeros_count_like_bytes(void)
{
    static const uint8_t zeros[4000];
    static const uint64_t lengths[] = {1, 200, 1000, 1024, 1025, 2048, 4000};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct print a = {0}, b = {0};
        print_add(&a, "abc", 3);
        print_add(&b, "abc", 3);
        print_add(&a, zeros, lengths[i]);
        print_add_zeros(&b, lengths[i]);
        CU_ASSERT_EQUAL(a.head_n, b.head_n);
        CU_ASSERT_EQUAL(a.tail_n, b.tail_n);
        CU_ASSERT(memcmp(a.head, b.head, a.head_n) == 0);
        CU_ASSERT(memcmp(a.tail, b.tail, a.tail_n) == 0);
    }
}

static struct file file_of(size_t offset)
{
    struct file x = {.fd = -1, .state = FILE_GONE, .offset = offset};
    print_add(&x.print, bytes, offset);
    print_hash(&x.print);
    return x;
}

/* As after a restart. */
static void forget_bytes(struct file *x)
{
    memset(x->print.head, 0xaa, HEAD_MAX);
    memset(x->print.tail, 0xaa, TAIL_MAX);
    x->print.unknown = true;
}

static void a_check_sees_every_counted_byte_of_head_and_tail(void)
{
    fill();
    for (unsigned restored = 0; restored < 2; restored++) {
        int fd = new_file(bytes, sizeof(bytes));
        struct file x = file_of(3000);
        if (restored)
            forget_bytes(&x);
        CU_ASSERT_EQUAL(content_check(&x, fd), CHECK_GOOD);
        CU_ASSERT_FALSE(x.print.unknown);
        CU_ASSERT(memcmp(x.print.head, bytes, HEAD_MAX) == 0);
        static const size_t changed[] = {0, 1023, 2744, 2999};
        for (size_t i = 0; i < 4; i++) {
            uint8_t other = (uint8_t) ~bytes[changed[i]];
            CU_ASSERT_EQUAL(pwrite(fd, &other, 1, (off_t) changed[i]), 1);
            if (restored)
                forget_bytes(&x);
            CU_ASSERT_EQUAL(content_check(&x, fd), CHECK_BAD);
            CU_ASSERT_EQUAL(pwrite(fd, bytes + changed[i], 1, (off_t) changed[i]), 1);
        }
        CU_ASSERT_EQUAL(content_check(&x, fd), CHECK_GOOD);
        CU_ASSERT_EQUAL(ftruncate(fd, 2999), 0);
        CU_ASSERT_EQUAL(content_check(&x, fd), CHECK_BAD);
        close(fd);
    }
}

static enum relation relation(const void *p, size_t n, const struct file *e)
{
    int fd = new_file(p, n);
    struct content c = {.fd = fd, .size_bytes = n};
    enum relation r = content_relation(&c, e);
    close(fd);
    return r;
}

static void relations_to_what_is_gone(void)
{
    fill();
    for (unsigned restored = 0; restored < 2; restored++) {
        struct file e = file_of(3000);
        if (restored)
            forget_bytes(&e);
        CU_ASSERT_EQUAL(relation(bytes, 3000, &e), HOLDS);
        CU_ASSERT_EQUAL(relation(bytes, 4000, &e), HOLDS);
        CU_ASSERT_EQUAL(relation(bytes, 2000, &e), PREFIX);
        CU_ASSERT_EQUAL(relation(bytes, 500, &e), PREFIX);
        CU_ASSERT_EQUAL(relation(bytes + 1, 3000, &e), DIFFERENT);
        CU_ASSERT_EQUAL(relation(bytes + 1, 500, &e), DIFFERENT);
        CU_ASSERT_EQUAL(relation(bytes + 1, 20, &e), DIFFERENT);
        bytes[2900] ^= 1;
        CU_ASSERT_EQUAL(relation(bytes, 3000, &e), DIFFERENT);
        bytes[2900] ^= 1;
    }
    struct file nothing = file_of(0);
    CU_ASSERT_EQUAL(relation(bytes, 3000, &nothing), DIFFERENT);
}

static void relations_to_an_open_file_include_what_was_not_counted_yet(void)
{
    fill();
    struct file e = file_of(1500);
    e.state = FILE_OWN;
    e.fd = new_file(bytes, 3000);
    CU_ASSERT_EQUAL(relation(bytes, 3000, &e), HOLDS);
    CU_ASSERT_EQUAL(relation(bytes, 2000, &e), HOLDS);
    CU_ASSERT_EQUAL(relation(bytes, 1000, &e), PREFIX);
    CU_ASSERT_EQUAL(relation(bytes, 3001, &e), LONGER);
    bytes[2950] ^= 1; /* behind the position */
    CU_ASSERT_EQUAL(relation(bytes, 3000, &e), DIFFERENT);
    bytes[2950] ^= 1;
    CU_ASSERT_EQUAL(relation("", 0, &e), DIFFERENT);
    close(e.fd);
}

static void an_archive_is_compared_by_its_pieces(void)
{
    fill();
    struct file e = file_of(3000);
    struct piece pieces[2] = {{.at = 3000 - TAIL_MAX, .n = TAIL_MAX, .got = TAIL_MAX}};
    memcpy(pieces[0].bytes, bytes + 3000 - TAIL_MAX, TAIL_MAX);
    struct content c = {
        .fd = -1, .size_bytes = 4000, .head_n = HEAD_MAX, .pieces = pieces, .n_pieces = 1};
    memcpy(c.head, bytes, HEAD_MAX);
    CU_ASSERT_EQUAL(content_relation(&c, &e), HOLDS);
    forget_bytes(&e);
    CU_ASSERT_EQUAL(content_relation(&c, &e), HOLDS);
    CU_ASSERT(content_fill(&c, &e));
    CU_ASSERT(memcmp(e.print.tail, bytes + 3000 - TAIL_MAX, TAIL_MAX) == 0);
    e.state = FILE_OWN;
    e.fd = new_file(bytes, 4500);
    CU_ASSERT_EQUAL(content_relation(&c, &e), HOLDS);
    pieces[0].bytes[7] ^= 1;
    CU_ASSERT_EQUAL(content_relation(&c, &e), DIFFERENT);
    close(e.fd);
    e.fd = -1;
    e.state = FILE_GONE;
    CU_ASSERT_EQUAL(content_relation(&c, &e), DIFFERENT);
    pieces[0].got = 0;
    CU_ASSERT_EQUAL(content_relation(&c, &e), DIFFERENT);
}

static void what_a_file_system_does_not_tell_is_not_held_against_it(void)
{
    struct identity a = {10, 1000, 5}, b = a;
    CU_ASSERT(identity_same(&a, &b));
    b.generation = 6;
    CU_ASSERT_FALSE(identity_same(&a, &b));
    b.generation = 0;
    CU_ASSERT(identity_same(&a, &b));
    b.btime_ns = 1001;
    CU_ASSERT_FALSE(identity_same(&a, &b));
    b.btime_ns = 0;
    CU_ASSERT(identity_same(&a, &b));
    b.ino = 11;
    CU_ASSERT_FALSE(identity_same(&a, &b));
}

static void a_new_file_with_the_same_inode_number_is_another(void)
{
    char path[] = "/tmp/reckond-identity-XXXXXX";
    struct identity before, after;
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(identity_of(fd, &before), 0);
    CU_ASSERT_EQUAL(identity_of(fd, &after), 0);
    CU_ASSERT(identity_same(&before, &after));
    close(fd);
    unlink(path);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(identity_of(fd, &after), 0);
    if (before.btime_ns || before.generation)
        CU_ASSERT_FALSE(identity_same(&before, &after));
    close(fd);
    unlink(path);
}

static void a_position_comes_back_as_it_was(void)
{
    uint8_t form[POSITION_BYTES_MAX];
    char path[] = "/var/log/nginx/access.log", host[] = "shop.example";
    struct file back, x = file_of(3000);
    x.path = path;
    x.host = host;
    x.who = (struct identity){123456789012, 1796083200123456789, 4000000000};
    x.lines = 77;
    x.skipping = x.lines_unknown = x.truncated = true;
    uint32_t n = position_encode(&x, form);
    CU_ASSERT_EQUAL_FATAL(position_decode(form, n, &back), 0);
    CU_ASSERT_EQUAL(back.offset, 3000);
    CU_ASSERT_EQUAL(back.lines, 77);
    CU_ASSERT(back.skipping && back.lines_unknown && back.truncated && !back.archive && !back.done);
    CU_ASSERT_FALSE(back.restored); /* it was gone */
    CU_ASSERT(identity_same(&back.who, &x.who));
    CU_ASSERT_EQUAL(back.who.btime_ns, x.who.btime_ns);
    CU_ASSERT_STRING_EQUAL(back.path, path);
    CU_ASSERT_STRING_EQUAL(back.host, host);
    CU_ASSERT(back.print.unknown);
    CU_ASSERT_EQUAL(relation(bytes, 3000, &back), HOLDS);
    uint8_t again[POSITION_BYTES_MAX];
    CU_ASSERT_EQUAL(position_encode(&back, again), n);
    CU_ASSERT(memcmp(again, form, n) == 0);
    free(back.path);
    free(back.host);
}

static bool matches(const char *glob, const char *name, const char *want_host)
{
    struct glob_pattern g;
    struct slice host;
    CU_ASSERT_EQUAL_FATAL(glob_parse(glob, &g, NULL), 0);
    bool yes = glob_match(&g.parts[g.n_parts - 1], name, &host) && slice_is(host, want_host);
    glob_done(&g);
    return yes;
}

static void host_is_what_the_glob_leaves(void)
{
    CU_ASSERT(matches("/l/{host}.access.log*", "a.example.access.log", "a.example"));
    CU_ASSERT(matches("/l/{host}.access.log*", "a.example.access.log.2.gz", "a.example"));
    CU_ASSERT(matches("/l/access-{host}.log", "access-b.log", "b"));
    CU_ASSERT(matches("/l/*-{host}.log", "x-b.log", "b"));
    CU_ASSERT(matches("/l/{host}", "b", "b"));
    CU_ASSERT(matches("/l/access.log*", "access.log.1", ""));
    CU_ASSERT_FALSE(matches("/l/{host}.access.log*", ".access.log", ""));
    CU_ASSERT_FALSE(matches("/l/{host}.access.log*", "access.log", ""));
    CU_ASSERT_FALSE(matches("/l/*", ".hidden", ""));
    struct glob_pattern g;
    struct err e;
    CU_ASSERT_EQUAL(glob_parse("/{host}/{host}.log", &g, &e), -EINVAL);
    CU_ASSERT_EQUAL(glob_parse("", &g, &e), -EINVAL);
    CU_ASSERT_EQUAL(glob_parse("/var/log/", &g, &e), -EINVAL);
}

static void rotated_names_are_one_family_and_hosts_are_not(void)
{
    static const char *const one[] = {"/l/access.log",
                                      "/l/access.log.1",
                                      "/l/access.log.12.gz",
                                      "/l/access.log-20261201",
                                      "/l/access.log-20261201.zst",
                                      "/l/access-20261201.log",
                                      "/l/access.2026-12-01.log",
                                      "/l/access.log.2026-12-01-13.gz",
                                      "/l/access.log.old",
                                      "/l/access.log.bak"};
    static const char *const other[] = {"/m/access.log",         "/l/error.log",
                                        "/l/a.access.log",       "/l/access2.log",
                                        "/l/access.log.example", "/l/other_access.log"};
    for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
        CU_ASSERT_EQUAL(family_of(one[i]), family_of(one[0]));
        CU_ASSERT_EQUAL(family_rotated(one[i]), i > 0);
    }
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        CU_ASSERT_NOT_EQUAL(family_of(other[i]), family_of(one[0]));
        CU_ASSERT_FALSE(family_rotated(other[i]));
    }
    family_of("20261201");
    family_of("/");
    family_of("");
    family_of("/l/.1");
}

static const struct test tests[] = {
    TEST(a_print_is_the_same_whatever_the_steps),
    TEST(zeros_count_like_bytes),
    TEST(a_check_sees_every_counted_byte_of_head_and_tail),
    TEST(relations_to_what_is_gone),
    TEST(relations_to_an_open_file_include_what_was_not_counted_yet),
    TEST(an_archive_is_compared_by_its_pieces),
    TEST(what_a_file_system_does_not_tell_is_not_held_against_it),
    TEST(a_new_file_with_the_same_inode_number_is_another),
    TEST(a_position_comes_back_as_it_was),
    TEST(host_is_what_the_glob_leaves),
    TEST(rotated_names_are_one_family_and_hosts_are_not),
    TESTS_END,
};

int main(void)
{
    return tap_run("identity", tests);
}
