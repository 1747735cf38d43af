#include "input/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "base/file.h"
#include "input/follow_int.h"
#include "tap.h"

/* ---- what is to be counted, and what was ---- */

struct tally {
    uint64_t n, sum, xor, too_long, bytes;
};

static void tally_line(struct tally *t, const char *p, size_t n)
{
    uint64_t h = XXH3_64bits(p, n);
    t->n++;
    t->sum += h;
    t->xor ^= h;
}

static void tally_block(struct tally *t, const struct block *b)
{
    struct slice rest = b->lines, line;
    while (slice_cut(&rest, '\n', &line))
        tally_line(t, line.p, line.n);
    if (rest.n)
        tally_line(t, rest.p, rest.n);
    t->too_long += b->too_long;
    t->bytes += b->consumed;
}

/* ---- a daemon with its store, and the time in our hands ---- */

#define POSITIONS_MAX 2048

struct stored {
    uint64_t id;
    uint32_t n;
    uint8_t *bytes;
};

struct state {
    struct tally tally;
    struct stored positions[POSITIONS_MAX];
    unsigned n;
};

static char folder[200];
static struct tally want;
static struct follow *follower;
static struct block block;
static struct state now, committed;
static int64_t time_ns;
static struct follow_options options;
static const char *globs[8];
static char glob_rooms[8][400];
static char said[4096];
static char last_host[256];

static int64_t test_now(void *arg)
{
    (void) arg;
    return time_ns;
}

static void say(void *arg, int level, const char *text)
{
    (void) arg;
    (void) level;
    size_t n = strlen(said);
    snprintf(said + n, sizeof(said) - n, "%s\n", text);
}

static const char *at(const char *name)
{
    static char rooms[16][400];
    static unsigned turn;
    char *p = rooms[turn++ % 16];
    snprintf(p, sizeof(rooms[0]), "%s/%s", folder, name);
    return p;
}

static void state_clear(struct state *s)
{
    for (unsigned i = 0; i < s->n; i++)
        free(s->positions[i].bytes);
    *s = (struct state){0};
}

static void state_copy(struct state *to, const struct state *from)
{
    state_clear(to);
    *to = *from;
    for (unsigned i = 0; i < to->n; i++) {
        to->positions[i].bytes = malloc(to->positions[i].n);
        memcpy(to->positions[i].bytes, from->positions[i].bytes, to->positions[i].n);
    }
}

static void store_position(struct state *s, const struct position *p)
{
    unsigned i = 0;
    while (i < s->n && s->positions[i].id != p->id)
        i++;
    if (i < s->n) {
        free(s->positions[i].bytes);
        if (p->n == 0) {
            s->positions[i] = s->positions[--s->n];
            return;
        }
    } else if (p->n == 0) {
        return;
    } else {
        CU_ASSERT_FATAL(s->n < POSITIONS_MAX);
        s->n++;
    }
    s->positions[i] = (struct stored){p->id, p->n, malloc(p->n)};
    memcpy(s->positions[i].bytes, p->bytes, p->n);
}

/* One call of the follower, applied. */
static bool take(void)
{
    if (follow_next(follower, &block) == 0)
        return false;
    CU_ASSERT(block.n_positions <= BLOCK_POSITIONS_MAX);
    tally_block(&now.tally, &block);
    for (unsigned i = 0; i < block.n_positions; i++)
        store_position(&now, &block.positions[i]);
    if (block.lines.n)
        snprintf(last_host, sizeof(last_host), "%.*s", (int) block.host.n, block.host.p);
    return true;
}

/* Polls for that long. */
static void pass(double seconds)
{
    for (int64_t end = time_ns + (int64_t) (seconds * 1e9); time_ns <= end; time_ns += NS_PER_S / 4)
        while (take())
            ;
}

static void start(void)
{
    struct err e;
    CU_ASSERT_EQUAL_FATAL(follow_new(&follower, &options, &e), 0);
    follower->now_ns = test_now;
    for (unsigned i = 0; i < now.n; i++)
        CU_ASSERT_EQUAL_FATAL(follow_restore(follower, now.positions[i].id, now.positions[i].bytes,
                                             now.positions[i].n),
                              0);
    uint64_t next = 1;
    follow_ids(follower, &next);
    follow_ids(follower, &next);
    options.first_start = false;
}

static void commit(void)
{
    state_copy(&committed, &now);
}

static void stop(void)
{
    follower = follow_free(follower);
}

/* kill -9: what was not committed is gone. */
static void crash(void)
{
    stop();
    state_copy(&now, &committed);
}

static void restart(void)
{
    stop();
    start();
}

static void begin(const char *first_glob, ...)
{
    va_list more;
    char command[300];
    snprintf(command, sizeof(command), "rm -rf %s/*", folder);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    want = (struct tally){0};
    state_clear(&now);
    state_clear(&committed);
    said[0] = last_host[0] = '\0';
    options =
        (struct follow_options){.input = "web", .globs = globs, .first_start = true, .say = say};
    va_start(more, first_glob);
    for (const char *g = first_glob; g; g = va_arg(more, const char *)) {
        snprintf(glob_rooms[options.n_globs], sizeof(glob_rooms[0]), "%s/%s", folder, g);
        globs[options.n_globs] = glob_rooms[options.n_globs];
        options.n_globs++;
    }
    va_end(more);
    time_ns += 1000 * NS_PER_S;
    start();
}

static bool equal(void)
{
    bool same = now.tally.n == want.n && now.tally.sum == want.sum && now.tally.xor == want.xor ;
    if (!same)
        printf("# %llu lines, wanted %llu; %s\n", (unsigned long long) now.tally.n,
               (unsigned long long) want.n, said);
    return same;
}

#define DONE()                                                                                     \
    do {                                                                                           \
        CU_ASSERT(equal());                                                                        \
        stop();                                                                                    \
    } while (0)

/* ---- writers ---- */

static unsigned line_number;

static int append_to(const char *name)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    CU_ASSERT_FATAL(fd >= 0);
    return fd;
}

static void put(int fd, const char *p, size_t n)
{
    CU_ASSERT_EQUAL_FATAL(write(fd, p, n), (ssize_t) n);
}

static void write_lines(int fd, unsigned n)
{
    char line[200];
    while (n-- > 0) {
        int m = snprintf(line, sizeof(line), "L%06u 192.0.2.%u \"GET /%u HTTP/1.1\" 200\n",
                         line_number, line_number % 256, line_number * 7919u);
        line_number++;
        tally_line(&want, line, (size_t) m - 1);
        put(fd, line, (size_t) m);
    }
}

static void append_lines(const char *name, unsigned n)
{
    int fd = append_to(name);
    write_lines(fd, n);
    close(fd);
}

static void put_text(const char *name, const char *text)
{
    int fd = append_to(name);
    put(fd, text, strlen(text));
    close(fd);
}

/* A line that is to be counted once, wherever it stands. */
static void want_line(const char *text)
{
    tally_line(&want, text, strlen(text));
}

static void move(const char *from, const char *to)
{
    CU_ASSERT_EQUAL_FATAL(rename(at(from), at(to)), 0);
}

static void copy(const char *from, const char *to)
{
    char command[900];
    snprintf(command, sizeof(command), "cp %s %s", at(from), at(to));
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
}

static void gzip_file(const char *name)
{
    char command[900];
    snprintf(command, sizeof(command), "gzip %s", at(name));
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
}

/* As zstd --rm does; its command need not be there. */
static void zstd_file(const char *name)
{
    struct buf plain;
    char packed_name[100];
    buf_init(&plain);
    CU_ASSERT_EQUAL_FATAL(file_read(at(name), 1 << 24, &plain, NULL), 0);
    size_t room = ZSTD_compressBound(plain.n);
    char *packed = malloc(room);
    CU_ASSERT_PTR_NOT_NULL_FATAL(packed);
    size_t n = ZSTD_compress(packed, room, plain.p, plain.n, 3);
    CU_ASSERT_FATAL(!ZSTD_isError(n));
    snprintf(packed_name, sizeof(packed_name), "%s.zst", name);
    CU_ASSERT_EQUAL_FATAL(file_create(at(packed_name), packed, n, 0644, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(unlink(at(name)), 0);
    free(packed);
    buf_done(&plain);
}

static void set_old(const char *name, time_t days_ago)
{
    struct timespec t[2] = {{time(NULL) - days_ago * 86400, 0}, {time(NULL) - days_ago * 86400, 0}};
    CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, at(name), t, 0), 0);
}

static void empty(const char *name)
{
    CU_ASSERT_EQUAL_FATAL(truncate(at(name), 0), 0);
}

/* ---- growth ---- */

static void appended_lines_are_counted_once(void)
{
    begin("access.log", NULL);
    append_lines("access.log", 100);
    pass(1);
    for (unsigned i = 0; i < 20; i++) {
        append_lines("access.log", i * 100);
        pass(0.3);
    }
    struct stat st;
    CU_ASSERT_EQUAL(stat(at("access.log"), &st), 0);
    CU_ASSERT_EQUAL(now.tally.bytes, (uint64_t) st.st_size);
    DONE();
}

static void a_file_that_appears_later_is_counted_from_its_start(void)
{
    begin("access.log*", NULL);
    pass(2);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "matches no file"));
    append_lines("access.log", 10);
    pass(2);
    CU_ASSERT_EQUAL(now.tally.n, 10);
    append_lines("access.log.other", 10);
    pass(2);
    DONE();
}

static void a_torn_line_waits_for_its_end(void)
{
    begin("access.log", NULL);
    put_text("access.log", "one\nabc");
    pass(1);
    CU_ASSERT_EQUAL(now.tally.n, 1);
    commit();
    crash();
    start();
    put_text("access.log", "def\n");
    want_line("one");
    want_line("abcdef");
    pass(1);
    DONE();
}

static void a_long_line_is_dropped_whole_and_its_skipping_survives_a_restart(void)
{
    begin("access.log", NULL);
    append_lines("access.log", 3);
    int fd = append_to("access.log");
    char *part = calloc(1, 300 * 1024);
    memset(part, 'x', 300 * 1024);
    put(fd, part, 300 * 1024);
    pass(1);
    CU_ASSERT_EQUAL(now.tally.too_long, 1);
    commit();
    crash();
    start();
    put(fd, part, 100 * 1024);
    pass(1);
    put(fd, "\n", 1);
    write_lines(fd, 3);
    close(fd);
    free(part);
    pass(1);
    CU_ASSERT_EQUAL(now.tally.too_long, 1);
    DONE();
}

static void a_hole_of_512_MiB_is_skipped_and_4_GiB_are_no_limit(void)
{
    begin("access.log", NULL);
    append_lines("access.log", 10);
    pass(1);
    int fd = open(at("access.log"), O_WRONLY | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0);
    lseek(fd, INT64_C(512) << 20, SEEK_END);
    write_lines(fd, 10);
    pass(1);
    CU_ASSERT_EQUAL(now.tally.n, 20);
    lseek(fd, INT64_C(4) << 30, SEEK_END);
    write_lines(fd, 10);
    pass(1);
    restart();
    write_lines(fd, 10);
    close(fd);
    pass(1);
    DONE();
}

static void zeros_at_the_end_wait_until_something_follows(void)
{
    begin("access.log", NULL);
    append_lines("access.log", 2);
    struct stat st;
    stat(at("access.log"), &st);
    CU_ASSERT_EQUAL_FATAL(truncate(at("access.log"), st.st_size + 5000), 0);
    pass(1);
    CU_ASSERT_EQUAL(now.tally.bytes, (uint64_t) st.st_size);
    int fd = open(at("access.log"), O_WRONLY | O_CLOEXEC); /* a preallocated file is filled */
    lseek(fd, st.st_size, SEEK_SET);
    write_lines(fd, 5);
    close(fd);
    pass(1);
    DONE();
}

/* ---- rotation by renaming ---- */

static void late_writes_to_a_renamed_file_are_not_lost(void)
{
    begin("access.log", NULL);
    int old = append_to("access.log");
    write_lines(old, 500);
    pass(1);
    move("access.log", "access.log.1");
    append_lines("access.log", 200);
    pass(1);
    write_lines(old, 200);
    pass(1);
    close(old);
    DONE();
}

static void a_name_that_is_away_for_a_while_loses_nothing(void)
{
    begin("access.log*", NULL);
    int old = append_to("access.log");
    write_lines(old, 500);
    pass(1);
    move("access.log", "access.log.1");
    pass(1.5);
    write_lines(old, 100);
    pass(1);
    append_lines("access.log", 200);
    close(old);
    pass(2);
    DONE();
}

static void a_file_unlinked_after_renaming_is_read_out_and_retired(void)
{
    struct follow_status status;
    begin("access.log*", NULL);
    int old = append_to("access.log");
    write_lines(old, 200);
    put(old, "last", 4);
    want_line("last");
    pass(1);
    move("access.log", "access.log.1");
    append_lines("access.log", 3);
    pass(1);
    CU_ASSERT_EQUAL_FATAL(unlink(at("access.log.1")), 0);
    pass(1);
    CU_ASSERT_EQUAL(now.tally.n, 203);
    pass(10);
    close(old);
    follow_status(follower, &status);
    CU_ASSERT_EQUAL(status.retired, 1);
    CU_ASSERT_EQUAL(status.n_files, 1);
    restart();
    pass(15);
    follow_status(follower, &status);
    CU_ASSERT_EQUAL(status.lost_files, 0);
    DONE();
}

static void writes_to_an_unlinked_file_count_while_its_writer_goes_on(void)
{
    begin("access.log", NULL);
    int old = append_to("access.log");
    write_lines(old, 10);
    pass(1);
    unlink(at("access.log"));
    append_lines("access.log", 10);
    for (unsigned i = 0; i < 10; i++) {
        write_lines(old, 5);
        pass(2);
    }
    close(old);
    pass(10);
    DONE();
}

static void two_rotations_within_one_poll_are_exact(void)
{
    begin("access.log*", NULL);
    append_lines("access.log", 100);
    pass(1);
    append_lines("access.log", 10);
    move("access.log", "access.log.1");
    append_lines("access.log", 20);
    move("access.log.1", "access.log.2");
    move("access.log", "access.log.1");
    append_lines("access.log", 30);
    pass(2);
    DONE();
}

static void an_inode_number_given_again_is_another_file(void)
{
    begin("access.log", NULL);
    for (unsigned i = 0; i < 30; i++) {
        append_lines("access.log", 20 + i % 3);
        pass(0.6);
        unlink(at("access.log"));
        append_lines("access.log", 10 + i);
        pass(0.3);
        unlink(at("access.log"));
    }
    pass(10);
    DONE();
}

static void an_inode_number_given_again_while_away_is_another_file(void)
{
    struct stat before, after;
    begin("access.log", NULL);
    append_lines("access.log", 100);
    pass(1);
    stat(at("access.log"), &before);
    stop();
    unlink(at("access.log"));
    append_lines("access.log", 400);
    stat(at("access.log"), &after);
    if (before.st_ino != after.st_ino)
        printf("# this file system gave another inode number\n");
    start();
    pass(1);
    CU_ASSERT(equal());
    pass(30);
    DONE();
}

static void rotated_and_appended_while_away_is_read_on(void)
{
    for (unsigned star = 0; star < 2; star++) {
        begin(star ? "access.log*" : "access.log", NULL);
        append_lines("access.log", 500);
        pass(1);
        stop();
        append_lines("access.log", 100);
        move("access.log", "access.log.1");
        append_lines("access.log", 150);
        start();
        pass(20);
        DONE();
    }
}

/* ---- truncation ---- */

static void a_truncated_file_is_counted_from_its_start(void)
{
    struct follow_status status;
    begin("access.log", NULL);
    append_lines("access.log", 500);
    pass(1);
    empty("access.log");
    pass(1);
    append_lines("access.log", 200);
    pass(1);
    follow_status(follower, &status);
    CU_ASSERT_EQUAL(status.resets, 1);
    DONE();
}

static void growing_past_the_position_after_truncation_is_noticed(void)
{
    begin("access.log", NULL);
    append_lines("access.log", 500);
    pass(1);
    empty("access.log");
    append_lines("access.log", 900);
    pass(1);
    DONE();
}

static void the_same_size_with_other_content_is_noticed(void)
{
    begin("access.log", NULL);
    append_lines("access.log", 500);
    pass(0.2);
    empty("access.log");
    append_lines("access.log", 500);
    pass(3);
    DONE();
}

static void truncated_while_away_is_counted_once_over_many_restarts(void)
{
    begin("access.log", NULL);
    append_lines("access.log", 500);
    pass(1);
    stop();
    empty("access.log");
    append_lines("access.log", 5);
    for (unsigned i = 0; i < 3; i++) {
        start();
        pass(15);
        stop();
    }
    start();
    DONE();
}

static void copytruncate_counts_once_and_loses_nothing_that_was_copied(void)
{
    struct follow_status status;
    for (unsigned star = 0; star < 2; star++) {
        begin(star ? "access.log*" : "access.log", NULL);
        for (unsigned i = 0; i < 6; i++) {
            char name[40], next[40];
            append_lines("access.log", 100);
            pass(i % 2 ? 1 : 0.3);
            append_lines("access.log", 50); /* not read yet when it is copied */
            for (unsigned n = i; n > 0; n--) {
                snprintf(name, sizeof(name), "access.log.%u", n);
                snprintf(next, sizeof(next), "access.log.%u", n + 1);
                move(name, next);
            }
            copy("access.log", "access.log.1");
            if (i % 3 == 1)
                pass(1); /* the copy is seen before the truncation */
            empty("access.log");
            if (i % 3 == 2)
                append_lines("access.log", 300);
            pass(2);
        }
        pass(30);
        follow_status(follower, &status);
        CU_ASSERT_EQUAL(status.resets, 6);
        restart();
        pass(30);
        DONE();
    }
}

static void a_plain_copy_of_a_long_log_is_not_counted(void)
{
    begin("access.log*", NULL);
    append_lines("access.log", 200);
    pass(1);
    copy("access.log", "access.log.bak");
    for (unsigned i = 0; i < 5; i++) {
        pass(10);
        append_lines("access.log", 10);
    }
    restart();
    pass(20);
    DONE();
}

/* The bytes [from_byte, to_byte) of a log, as far as it has them, go behind those of its copy. */
static void copy_part(const char *from, const char *to, size_t from_byte, size_t to_byte)
{
    struct buf all;
    buf_init(&all);
    CU_ASSERT_EQUAL_FATAL(file_read(at(from), 1 << 24, &all, NULL), 0);
    int fd = append_to(to);
    to_byte = to_byte < all.n ? to_byte : all.n;
    put(fd, all.p + from_byte, to_byte - from_byte);
    close(fd);
    buf_done(&all);
}

static void a_copy_that_was_finished_since_the_last_look_is_not_counted(void)
{
    char name[40], name_of_copy[60];
    begin("*.log*", NULL);
    for (unsigned turn = 0; turn < 3; turn++) /* who is looked at first changes */
        for (unsigned i = 0; i < 8; i++) {
            snprintf(name, sizeof(name), "h%u.log", i);
            snprintf(name_of_copy, sizeof(name_of_copy), "%s.%u", name, 1 + turn);
            append_lines(name, 300);
            pass(0.6);
            append_lines(name, 100);
            copy_part(name, name_of_copy, 0, 7001);
            pass(0.1);
            copy_part(name, name_of_copy, 7001, SIZE_MAX);
            empty(name);
            append_lines(name, 1 + i);
            pass(0.1);
        }
    pass(20);
    DONE();
}

static void copies_born_in_the_same_tick_are_not_counted(void)
{
    char name[40], name_of_copy[60];
    begin("*.log*", NULL);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "h%u.log", i);
        snprintf(name_of_copy, sizeof(name_of_copy), "%s.1", name);
        append_lines(name, 1);
        copy_part(name, name_of_copy, 0, 30);
    }
    pass(1);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "h%u.log", i);
        snprintf(name_of_copy, sizeof(name_of_copy), "%s.1", name);
        copy_part(name, name_of_copy, 30, SIZE_MAX);
        empty(name);
    }
    pass(20);
    DONE();
}

static void what_was_ignored_for_its_name_is_counted_under_one_that_matches(void)
{
    begin("access.log*", NULL);
    append_lines("access.log", 10);
    pass(1);
    append_lines("access-20261201.log", 10); /* of the same family */
    empty("access.log");
    pass(3);
    CU_ASSERT_EQUAL(now.tally.n, 10);
    move("access-20261201.log", "access.log.1");
    pass(6);
    DONE();
}

static void copytruncate_while_away_is_exact(void)
{
    for (unsigned star = 0; star < 2; star++) {
        begin(star ? "access.log*" : "access.log", NULL);
        append_lines("access.log", 500);
        pass(1);
        stop();
        append_lines("access.log", 50);
        copy("access.log", "access.log.1");
        empty("access.log");
        append_lines("access.log", 700);
        start();
        pass(30);
        DONE();
    }
}

/* ---- equal beginnings, families ---- */

static void equal_first_lines_of_two_hosts_are_both_counted(void)
{
    begin("*.log", NULL);
    for (unsigned i = 0; i < 2; i++) {
        put_text(i ? "a.log" : "b.log", "the same first line\n");
        want_line("the same first line");
    }
    pass(1);
    CU_ASSERT(equal());
    append_lines("a.log", 10);
    append_lines("b.log", 10);
    pass(1);
    DONE();
}

static void a_banner_at_the_top_of_each_days_file_is_counted_each_day(void)
{
    char banner[1001];
    memset(banner, '#', sizeof(banner));
    banner[999] = '\n';
    banner[1000] = '\0';
    begin("access.log*", NULL);
    for (unsigned day = 0; day < 4; day++) {
        char name[40];
        put_text("access.log", banner);
        banner[999] = '\0';
        want_line(banner);
        banner[999] = '\n';
        pass(day == 3 ? 15 : 1); /* the last day has nothing else */
        if (day < 3)
            append_lines("access.log", 10);
        pass(1);
        CU_ASSERT(equal());
        snprintf(name, sizeof(name), "access.log.2026120%u", day);
        if (day < 3)
            move("access.log", name);
    }
    DONE();
}

static void a_new_file_that_begins_like_a_deleted_one_is_counted_whole(void)
{
    begin("access.log", NULL);
    put_text("access.log", "a first line that both files have, of some sixty-four bytes....\n");
    want_line("a first line that both files have, of some sixty-four bytes....");
    append_lines("access.log", 500);
    pass(1);
    unlink(at("access.log"));
    pass(10);
    put_text("access.log", "a first line that both files have, of some sixty-four bytes....\n");
    want_line("a first line that both files have, of some sixty-four bytes....");
    pass(0.3);
    append_lines("access.log", 20);
    pass(1);
    DONE();
}

static void a_file_written_anew_by_rsync_is_continued(void)
{
    begin("access.log", NULL);
    append_lines("access.log", 300);
    pass(1);
    for (unsigned i = 0; i < 4; i++) {
        copy("access.log", ".access.log.Xy12");
        append_lines(".access.log.Xy12", 50);
        move(".access.log.Xy12", "access.log");
        pass(i == 2 ? 30 : 1);
        if (i == 1)
            restart();
    }
    DONE();
}

static void logs_moved_to_another_disk_while_away_are_continued(void)
{
    begin("access.log*", NULL);
    append_lines("access.log", 300);
    append_lines("access.log.1", 300);
    pass(1);
    stop();
    copy("access.log", "new");
    unlink(at("access.log"));
    move("new", "access.log");
    append_lines("access.log", 20);
    start();
    pass(20);
    DONE();
}

/* ---- archives ---- */

static void a_rotated_file_that_is_packed_is_not_counted_again(void)
{
    for (unsigned star = 0; star < 2; star++) {
        begin(star ? "access.log*" : "access.log", NULL);
        append_lines("access.log", 500);
        pass(1);
        move("access.log", "access.log.1");
        append_lines("access.log", 100);
        pass(1);
        gzip_file("access.log.1");
        pass(20);
        move("access.log.1.gz", "access.log.2.gz");
        pass(20);
        restart();
        pass(20);
        DONE();
    }
}

static void an_archive_of_a_file_rotated_while_away_continues_it(void)
{
    for (unsigned star = 0; star < 2; star++) {
        begin(star ? "access.log*" : "access.log", NULL);
        append_lines("access.log", 500);
        pass(1);
        stop();
        append_lines("access.log", 77);
        put_text("access.log", "no end");
        want_line("no end");
        move("access.log", "access.log.1");
        gzip_file("access.log.1");
        append_lines("access.log", 100);
        start();
        pass(30);
        CU_ASSERT(equal());
        restart();
        pass(30);
        DONE();
    }
}

static void history_is_read_once_and_the_oldest_first(void)
{
    begin("access.log*", NULL);
    append_lines("access.log.3", 5000);
    append_lines("access.log.2", 5000);
    append_lines("access.log.1", 300);
    append_lines("access.log", 300);
    gzip_file("access.log.3");
    zstd_file("access.log.2");
    set_old("access.log.3.gz", 3);
    set_old("access.log.2.zst", 2);
    set_old("access.log.1", 1);
    while (now.tally.n < 5000 && take())
        ;
    CU_ASSERT_EQUAL(now.tally.n, 5000);
    pass(5);
    CU_ASSERT(equal());
    for (unsigned i = 0; i < 3; i++) {
        restart();
        pass(20);
    }
    move("access.log.3.gz", "access.log.4.gz");
    pass(20);
    DONE();
}

/* Copied logs have lost their times: the numbers of the rotation tell. */
static void history_with_lost_times_is_read_by_rotation_number(void)
{
    begin("access.log*", NULL);
    for (int i = 3; i >= 1; i--) {
        char name[32];
        snprintf(name, sizeof(name), "access.log.%d", i);
        append_lines(name, 50);
        gzip_file(name);
        strcat(name, ".gz");
        set_old(name, 4 - i); /* the wrong way round */
    }
    append_lines("access.log", 50);
    set_old("access.log", 9);
    char order[64] = "";
    for (unsigned turns = 0; turns < 1000; turns++) {
        if (!take()) {
            pass(0.3);
            continue;
        }
        if (block.lines.n) {
            char last[8] = {block.path.p[block.path.n - 4], ' ', '\0'};
            strncat(order, last, sizeof(order) - strlen(order) - 1);
        }
        if (now.tally.n == 200)
            break;
    }
    CU_ASSERT_STRING_EQUAL(order, "3 2 1 . ");
    DONE();
}

static void an_archive_renamed_when_it_is_to_be_opened_is_read_later(void)
{
    begin("access.log*", NULL);
    append_lines("access.log.1", 100);
    set_old("access.log.1", 3);
    gzip_file("access.log.1");
    append_lines("access.log", 0);
    CU_ASSERT(take()); /* the names were looked up: the empty file's position comes first */
    move("access.log.1.gz", "access.log.2.gz");
    pass(10);
    DONE();
}

static void a_stop_in_the_middle_of_an_archive_goes_on_there(void)
{
    begin("access.log*", NULL);
    append_lines("access.log.1", 30000);
    gzip_file("access.log.1");
    set_old("access.log.1.gz", 1);
    unsigned stops = 0;
    for (;;) {
        while (take())
            if (block.lines.n)
                break;
        if (now.tally.n >= 30000)
            break;
        commit();
        crash();
        start();
        CU_ASSERT_FATAL(++stops < 100);
    }
    CU_ASSERT(stops > 3);
    pass(10);
    DONE();
}

static void a_damaged_archive_is_said_and_not_counted(void)
{
    begin("access.log*", NULL);
    struct tally before = want;
    append_lines("access.log.1", 20000);
    gzip_file("access.log.1");
    struct stat st;
    stat(at("access.log.1.gz"), &st);
    CU_ASSERT_EQUAL_FATAL(truncate(at("access.log.1.gz"), st.st_size - 5000), 0);
    want = before;
    append_lines("access.log", 10);
    pass(10);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "cut short"));
    CU_ASSERT(equal());
    DONE();
}

static void an_archive_waits_while_its_original_is_there(void)
{
    begin("access.log*", NULL);
    append_lines("access.log.1", 500);
    char command[900];
    snprintf(command, sizeof(command), "gzip -k %s", at("access.log.1"));
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    pass(20);
    CU_ASSERT(equal());
    struct follow_status status;
    follow_status(follower, &status);
    CU_ASSERT_FALSE(status.catching_up);
    CU_ASSERT_EQUAL(status.lag_bytes, 0);
    unlink(at("access.log.1"));
    pass(30);
    DONE();
}

static void copytruncate_with_packing_by_hand_is_exact(void)
{
    char command[900];
    begin("access.log*", NULL);
    append_lines("access.log", 500);
    pass(1);
    append_lines("access.log", 100);
    snprintf(command, sizeof(command), "gzip -c %s > %s", at("access.log"), at("access.log.1.gz"));
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    empty("access.log");
    append_lines("access.log", 40);
    pass(30);
    DONE();
}

/* ---- names ---- */

static void a_file_of_two_globs_is_counted_once_with_the_first_ones_host(void)
{
    begin("{host}.access.log*", "*.log*", NULL);
    append_lines("shop.example.access.log", 10);
    pass(1);
    CU_ASSERT_STRING_EQUAL(last_host, "shop.example");
    append_lines("other.log", 10);
    pass(1);
    CU_ASSERT_STRING_EQUAL(last_host, "");
    move("shop.example.access.log", "shop.example.access.log.1");
    append_lines("shop.example.access.log.1", 10);
    pass(1);
    CU_ASSERT_STRING_EQUAL(last_host, "shop.example");
    restart();
    append_lines("shop.example.access.log.1", 10);
    pass(1);
    CU_ASSERT_STRING_EQUAL(last_host, "shop.example");
    DONE();
}

static void a_number_of_a_removed_archive_given_to_a_file_of_two_globs_is_one_file(void)
{
    char name[40];
    struct follow_status status;
    begin("*.log*", "[a-c]*.log", NULL);
    for (unsigned i = 0; i < 4; i++) {
        append_lines("old.log", 20);
        set_old("old.log", 3);
        gzip_file("old.log");
        pass(3);
        CU_ASSERT_EQUAL_FATAL(unlink(at("old.log.gz")), 0);
        for (unsigned j = 0; j < 3; j++) { /* one of them gets its inode number */
            snprintf(name, sizeof(name), "%c%u.log", 'a' + (int) j, i);
            append_lines(name, 10);
        }
        pass(3);
    }
    follow_status(follower, &status);
    CU_ASSERT_EQUAL(status.copies, 0); /* a second row of a file looks like a copy of the first */
    CU_ASSERT_EQUAL(status.n_files, 12);
    DONE();
}

static void host_may_be_a_folder(void)
{
    begin("{host}/access.log", NULL);
    mkdir(at("a.example"), 0755);
    append_lines("a.example/access.log", 10);
    pass(1);
    CU_ASSERT_STRING_EQUAL(last_host, "a.example");
    DONE();
}

static void hard_links_and_symbolic_links_of_one_file_are_one(void)
{
    begin("*.log", NULL);
    append_lines("a.log", 10);
    CU_ASSERT_EQUAL(link(at("a.log"), at("b.log")), 0);
    CU_ASSERT_EQUAL(symlink("a.log", at("c.log")), 0);
    pass(6);
    append_lines("b.log", 10);
    pass(6);
    DONE();
}

static void a_symbolic_link_that_is_turned_loses_nothing(void)
{
    begin("current.log", NULL);
    append_lines("day1", 500);
    CU_ASSERT_EQUAL(symlink("day1", at("current.log")), 0);
    pass(1);
    append_lines("day1", 50);
    unlink(at("current.log"));
    append_lines("day2", 100);
    CU_ASSERT_EQUAL(symlink("day2", at("current.log")), 0);
    pass(1);
    append_lines("day1", 100);
    append_lines("day2", 1);
    pass(2);
    DONE();
}

static void a_strangers_link_is_not_followed(void)
{
    if (geteuid() != 0)
        return; /* only root can make one */
    begin("*.log", NULL);
    append_lines("target", 10);
    struct tally with = want;
    want = (struct tally){0};
    CU_ASSERT_EQUAL(symlink("target", at("planted.log")), 0);
    CU_ASSERT_EQUAL(lchown(at("planted.log"), 12345, 12345), 0);
    pass(3);
    CU_ASSERT(equal());
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "symbolic link"));
    CU_ASSERT_EQUAL(chown(at("target"), 12345, 12345), 0); /* it leads to its owner's file */
    pass(6);
    want = with;
    DONE();
}

static void fifos_and_devices_are_never_opened(void)
{
    begin("*.log", NULL);
    CU_ASSERT_EQUAL(mkfifo(at("pipe.log"), 0600), 0);
    CU_ASSERT_EQUAL(symlink("/dev/zero", at("zero.log")), 0);
    append_lines("a.log", 10);
    pass(6);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "pipe.log: no regular file"));
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "zero.log: no regular file"));
    DONE();
}

static void what_cannot_be_opened_is_said_once_and_tried_for_ever(void)
{
    struct follow_status status;
    if (geteuid() == 0 && (setegid(65534) || seteuid(65534)))
        return;
    begin("*.log", NULL);
    append_lines("a.log", 10);
    chmod(at("a.log"), 0);
    pass(20);
    follow_status(follower, &status);
    CU_ASSERT_EQUAL(status.unreadable, 1);
    char *first = strstr(said, "may not be read");
    CU_ASSERT_PTR_NOT_NULL(first);
    CU_ASSERT(first && !strstr(first + 1, "may not be read"));
    chmod(at("a.log"), 0644);
    pass(6);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "can be read now"));
    follow_status(follower, &status);
    CU_ASSERT_EQUAL(status.unreadable, 0);
    DONE();
    if (getuid() == 0) {
        CU_ASSERT_EQUAL(seteuid(0), 0);
        CU_ASSERT_EQUAL(setegid(0), 0);
    }
}

static void too_few_descriptors_are_said_once_and_made_up_for_later(void)
{
    struct rlimit before, few;
    char name[40];
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    begin("*.log", NULL);
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "h%u.log", i);
        append_lines(name, 3);
    }
    few = before;
    few.rlim_cur = 25;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &few), 0);
    pass(10);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    CU_ASSERT(now.tally.n > 0 && now.tally.n < want.n);
    char *first = strstr(said, "too many open files");
    CU_ASSERT_PTR_NOT_NULL(first);
    CU_ASSERT(first && !strstr(first + 1, "too many open files"));
    pass(10);
    DONE();
}

static void a_replaced_folder_is_noticed(void)
{
    begin("logs/*.log", NULL);
    mkdir(at("logs"), 0755);
    append_lines("logs/a.log", 10);
    pass(6);
    move("logs", "old");
    mkdir(at("logs"), 0755);
    append_lines("logs/a.log", 10);
    append_lines("old/a.log", 10);
    pass(2);
    DONE();
}

/* ---- first start ---- */

static void from_end_begins_behind_the_last_line_feed(void)
{
    begin("access.log*", NULL);
    follower = follow_free(follower);
    append_lines("access.log", 1000);
    append_lines("access.log.1", 10);
    gzip_file("access.log.1");
    put_text("access.log", "begun");
    want = (struct tally){0};
    options.from_end = options.first_start = true;
    start();
    pass(5);
    CU_ASSERT(equal());
    put_text("access.log", " and ended\n");
    want_line("begun and ended");
    append_lines("access.log.new", 10); /* appeared later */
    pass(5);
    CU_ASSERT(equal());
    restart();
    pass(20);
    DONE();
}

/* ---- stops at any step ---- */

static unsigned crashes_at(unsigned step, unsigned *calls)
{
    while (follower && take())
        if (++*calls == step) {
            crash();
            start();
            return 1;
        } else if (*calls % 3 == 0) {
            commit();
        }
    return 0;
}

static void poll_once(unsigned step, unsigned *calls)
{
    time_ns += NS_PER_S / 4;
    while (crashes_at(step, calls))
        ;
}

/* All kinds of rotation, with a kill -9 behind call number `step`. Returns the number of calls. */
static unsigned life_with_a_crash_at(unsigned step)
{
    unsigned calls = 0;
    begin("access.log*", NULL);
    append_lines("access.log", 12000);
    poll_once(step, &calls);
    int old = append_to("access.log");
    move("access.log", "access.log.1");
    append_lines("access.log", 1500);
    poll_once(step, &calls);
    write_lines(old, 100);
    poll_once(step, &calls);
    close(old);
    gzip_file("access.log.1");
    poll_once(step, &calls);
    append_lines("access.log", 300);
    copy("access.log", "access.log.2");
    poll_once(step, &calls);
    empty("access.log");
    append_lines("access.log", 100);
    for (unsigned i = 0; i < 120; i++)
        poll_once(step, &calls);
    append_lines("access.log", 9000);
    poll_once(step, &calls);
    unlink(at("access.log.2"));
    for (unsigned i = 0; i < 40; i++)
        poll_once(step, &calls);
    CU_ASSERT(equal());
    stop();
    return calls;
}

static void a_kill_at_any_call_loses_and_doubles_nothing(void)
{
    unsigned calls = life_with_a_crash_at(0);
    printf("# %u calls\n", calls);
    CU_ASSERT(calls > 10);
    for (unsigned step = 1; step <= calls + 2; step++)
        life_with_a_crash_at(step);
}

/* ---- everything at random, seeded ---- */

static uint64_t seed;

static unsigned draw(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned) (seed % below);
}

#define KEPT 5

/* access.log.4* goes, .3 -> .4 and so on; what is removed was read, as logrotate's was weeks ago.
 */
static void shift_names(void)
{
    char from[40], to[40];
    pass(4);
    commit();
    for (unsigned i = KEPT; i > 0; i--)
        for (unsigned packed = 0; packed < 2; packed++) {
            snprintf(from, sizeof(from), "access.log.%u%s", i, packed ? ".gz" : "");
            snprintf(to, sizeof(to), "access.log.%u%s", i + 1, packed ? ".gz" : "");
            if (access(at(from), F_OK) == 0)
                i == KEPT ? unlink(at(from)) : rename(at(from), at(to));
        }
}

static void maybe_stop(void)
{
    switch (draw(12)) {
    case 0:
        crash();
        start();
        break;
    case 1:
        commit();
        crash();
        start();
        break;
    case 2:
        commit();
        break;
    default:
        break;
    }
}

static void rotate_at_random(int *fd, int *old, bool by_copy)
{
    write_lines(*fd, 1); /* of an empty file nobody could know the archive again */
    shift_names();
    if (by_copy) {
        copy("access.log", "access.log.1");
        if (draw(2))
            pass(0.3);
        empty("access.log");
        pass(0.6); /* exact if rotations are further apart than two polls */
        return;
    }
    if (*old >= 0)
        close(*old);
    *old = *fd;
    move("access.log", "access.log.1");
    if (draw(2))
        pass(0.3);
    *fd = append_to("access.log");
}

static void pack_at_random(int *old)
{
    char name[40];
    snprintf(name, sizeof(name), "access.log.%u", 1 + draw(3));
    if (access(at(name), F_OK) < 0)
        return;
    if (*old >= 0)
        close(*old);
    *old = -1;
    gzip_file(name);
}

static void write_torn_now(int fd)
{
    char line[100];
    int n = snprintf(line, sizeof(line), "L%06u in two, of %u\n", line_number, line_number * 31u);
    line_number++;
    tally_line(&want, line, (size_t) n - 1);
    size_t half = 1 + draw((unsigned) n - 1);
    put(fd, line, half);
    put(fd, line + half, (size_t) n - half);
}

static void write_torn(int fd)
{
    char line[100];
    int n = snprintf(line, sizeof(line), "L%06u torn, of %u\n", line_number, line_number * 31u);
    line_number++;
    tally_line(&want, line, (size_t) n - 1);
    size_t half = 1 + draw((unsigned) n - 1);
    put(fd, line, half);
    pass(draw(2) ? 0.1 : 1);
    put(fd, line + half, (size_t) n - half);
}

static void live_at_random(uint64_t with_seed, bool by_copy, const char *glob)
{
    seed = with_seed * 2654435761u + 88172645463325252u;
    begin(glob, NULL);
    int fd = append_to("access.log"), old = -1;
    for (unsigned i = 0; i < 150; i++) {
        unsigned what = draw(20);
        if (what == 0)
            write_torn(fd);
        else if (what < 8)
            write_lines(fd, draw(60));
        else if (what < 10 && old >= 0)
            write_lines(old, draw(20));
        else if (what < 14)
            pass(draw(3) ? 0.1 : 3);
        else if (what < 16)
            maybe_stop();
        else if (what < 18)
            rotate_at_random(&fd, &old, by_copy);
        else if (what == 18)
            pack_at_random(&old);
        else
            while (draw(3) && take())
                ;
    }
    pass(40);
    close(fd);
    if (old >= 0)
        close(old);
    if (!equal())
        printf("# seed %llu, by copy %d, %s\n", (unsigned long long) with_seed, by_copy, glob);
    DONE();
}

static void rotations_and_kills_at_random_are_exact(void)
{
    unsigned rounds = getenv("FOLLOW_ROUNDS") ? (unsigned) atoi(getenv("FOLLOW_ROUNDS")) : 6;
    for (unsigned i = 1; i <= rounds; i++) {
        live_at_random(i, false, "access.log*");
        live_at_random(i, true, "access.log*");
        live_at_random(i, false, "access.log");
        live_at_random(i, true, "access.log");
    }
}

/* ---- a writer that goes on while the follower looks ---- */

enum rotation { BY_NAME, BY_COPY, PACKED, BY_DATE, MIXED };

#define ROTATIONS_APART_NS (NS_PER_S * 3 / 4) /* by copy: exact if two polls lie between them */
#define NAMES_MAX 60

static struct writer {
    enum rotation mode, how; /* how: the rotation that runs */
    unsigned stage;          /* 0: none runs */
    int fd, old;
    unsigned date;
    int64_t rotated_ns;
    char packed[40];
    struct buf bytes; /* what is written in two parts, to part_fd */
    int part_fd;
    size_t part;
    bool busy;
    bool alone; /* the glob names only the live file: each generation must have been seen */
} writer;

static unsigned step_every; /* of that many readings one has a step before it; 0: none */

static void number_names(void)
{
    char from[40], to[40];
    for (unsigned i = NAMES_MAX; i > 0; i--)
        for (unsigned packed = 0; packed < 2; packed++) {
            snprintf(from, sizeof(from), "access.log.%u%s", i, packed ? ".gz" : "");
            snprintf(to, sizeof(to), "access.log.%u%s", i + 1, packed ? ".gz" : "");
            (void) rename(at(from), at(to));
        }
}

static void begin_part(const char *name)
{
    writer.part_fd = append_to(name);
    writer.part = draw((unsigned) writer.bytes.n + 1);
    put(writer.part_fd, writer.bytes.p, writer.part);
}

static void end_part(void)
{
    put(writer.part_fd, writer.bytes.p + writer.part, writer.bytes.n - writer.part);
    close(writer.part_fd);
    writer.part_fd = -1;
}

static void begin_rotation(void)
{
    struct writer *w = &writer;
    char name[60];
    w->how = w->mode == MIXED ? (enum rotation) draw(3) : w->mode;
    if (w->how != BY_DATE)
        number_names();
    w->stage = 1;
    if (w->how == BY_COPY) {
        buf_clear(&w->bytes);
        CU_ASSERT_EQUAL_FATAL(file_read(at("access.log"), 1 << 24, &w->bytes, NULL), 0);
        begin_part("access.log.1");
        return;
    }
    snprintf(name, sizeof(name), w->how == BY_DATE ? "access.log-202611%04u" : "access.log.1",
             ++w->date);
    move("access.log", name);
    w->old = w->fd;
}

static void step_of_copy(void)
{
    struct writer *w = &writer;
    if (w->stage++ == 1) {
        end_part();
        return;
    }
    empty("access.log");
    w->stage = 0;
    w->rotated_ns = time_ns;
}

/* gzip's: the archive grows beside the original, which goes when it is whole. */
static void begin_packing(void)
{
    struct writer *w = &writer;
    struct buf plain;
    char name[40];
    snprintf(w->packed, sizeof(w->packed), "access.log.%u", 1 + draw(2));
    if (access(at(w->packed), F_OK) < 0) {
        w->stage = 0;
        return;
    }
    buf_init(&plain);
    CU_ASSERT_EQUAL_FATAL(file_read(at(w->packed), 1 << 24, &plain, NULL), 0);
    z_stream z = {0};
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    uLong room = deflateBound(&z, plain.n);
    buf_clear(&w->bytes);
    CU_ASSERT_FATAL(buf_reserve(&w->bytes, room));
    z.next_in = (unsigned char *) plain.p;
    z.avail_in = (uInt) plain.n;
    z.next_out = (unsigned char *) w->bytes.p;
    z.avail_out = (uInt) room;
    CU_ASSERT_EQUAL_FATAL(deflate(&z, Z_FINISH), Z_STREAM_END);
    w->bytes.n = z.total_out;
    deflateEnd(&z);
    buf_done(&plain);
    snprintf(name, sizeof(name), "%.30s.gz", w->packed);
    begin_part(name);
}

static void step_of_renaming(void)
{
    struct writer *w = &writer;
    switch (w->stage++) {
    case 1: /* late, and before the new file is there */
        write_lines(w->old, draw(80));
        w->stage -= draw(2);
        break;
    case 2:
        w->fd = append_to("access.log");
        break;
    case 3: /* late, and beside it */
        write_lines(draw(2) ? w->old : w->fd, draw(80));
        w->stage -= draw(2);
        break;
    case 4:
        close(w->old);
        w->old = -1;
        w->rotated_ns = time_ns;
        if (w->how != PACKED)
            w->stage = 0;
        break;
    case 5:
        begin_packing();
        break;
    case 6:
        end_part();
        break;
    default:
        CU_ASSERT_EQUAL_FATAL(unlink(at(w->packed)), 0);
        w->stage = 0;
        break;
    }
}

static bool may_rotate(void)
{
    if (time_ns - writer.rotated_ns < ROTATIONS_APART_NS || (writer.alone && step_every))
        return false;
    write_lines(writer.fd, 1); /* of an empty file nobody could know the archive again */
    if (writer.alone) {
        pass(4);
        commit();
    }
    return true;
}

/* One step of the log's writer, or of the program that rotates it. */
static void writer_step(void)
{
    struct writer *w = &writer;
    w->busy = true;
    if (w->stage && w->how == BY_COPY)
        step_of_copy();
    else if (w->stage)
        step_of_renaming();
    else if (draw(10) == 0 && may_rotate())
        begin_rotation();
    else if (draw(10) == 0)
        write_torn_now(w->fd);
    else
        write_lines(w->fd, draw(60));
    w->busy = false;
}

/* In place of the library's: the follower reads with it, and between any two of its readings the
 * world may change. */
ssize_t pread(int fd, void *to, size_t n, off_t at_offset)
{
    if (step_every && !writer.busy && draw(step_every) == 0)
        writer_step();
    return syscall(SYS_pread64, fd, to, n, at_offset);
}

static void live_with_a_writer(uint64_t with_seed, enum rotation mode, const char *glob,
                               unsigned every, unsigned steps)
{
    seed = with_seed * 2654435761u + 88172645463325252u;
    begin(glob, NULL);
    line_number = 0; /* the seed alone decides */
    writer = (struct writer){
        .mode = mode, .old = -1, .part_fd = -1, .alone = strcmp(glob, "access.log") == 0};
    buf_init(&writer.bytes);
    writer.fd = append_to("access.log");
    for (unsigned i = 0; i < steps; i++) {
        unsigned what = draw(20);
        step_every = every;
        if (what < 10)
            pass(draw(8) ? 0.1 : 1.2);
        else if (what < 12)
            while (draw(3) && take())
                ;
        step_every = 0;
        if (what >= 12 && what < 18)
            writer_step();
        else if (what == 18)
            maybe_stop();
        else if (what == 19 && draw(2))
            time_ns += NS_PER_S * draw(16) / 10; /* away or stopped */
    }
    while (writer.stage)
        writer_step();
    pass(40);
    close(writer.fd);
    buf_done(&writer.bytes);
    if (!equal())
        printf("# seed %llu, rotation %d, %s, a step every %u readings\n",
               (unsigned long long) with_seed, mode, glob, every);
    DONE();
}

static void whatever_happens_while_the_follower_looks_is_exact(void)
{
    unsigned rounds = getenv("FOLLOW_ROUNDS") ? (unsigned) atoi(getenv("FOLLOW_ROUNDS")) : 6;
    for (unsigned i = 1; i <= rounds; i++)
        for (enum rotation mode = BY_NAME; mode <= MIXED; mode++) {
            live_with_a_writer(i, mode, "access.log*", 0, 600);
            live_with_a_writer(i, mode, "access.log*", 12, 600);
            live_with_a_writer(i, mode, "access.log", 0, 600);
            live_with_a_writer(i, mode, "access.log", 12, 600);
        }
}

static void two_hundred_files_rotated_at_once_are_exact(void)
{
    char name[40], next[40];
    begin("*.access.log*", NULL);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < 200; i++) {
            snprintf(name, sizeof(name), "h%u.access.log", i);
            append_lines(name, 20);
        }
        pass(turn == 1 ? 0.3 : 1);
        for (unsigned i = 0; i < 200; i++) {
            snprintf(name, sizeof(name), "h%u.access.log", i);
            snprintf(next, sizeof(next), "h%u.access.log.2026120%u", i, turn);
            move(name, next);
            append_lines(next, 3);
        }
        pass(1);
    }
    restart();
    pass(5);
    DONE();
}

static void hostile_positions_are_refused(void)
{
    uint8_t bytes[POSITION_BYTES_MAX];
    begin("access.log", NULL);
    append_lines("access.log", 10);
    pass(1);
    CU_ASSERT_FATAL(now.n == 1);
    const struct stored *p = &now.positions[0];
    for (uint32_t i = 0; i < p->n; i++) {
        memcpy(bytes, p->bytes, p->n);
        bytes[i] ^= 0x10;
        CU_ASSERT_EQUAL(follow_restore(follower, 99, bytes, p->n), -EBADMSG);
        CU_ASSERT_EQUAL(follow_restore(follower, 99, p->bytes, i), -EBADMSG);
    }
    CU_ASSERT_EQUAL(follow_restore(follower, 0, p->bytes, p->n), -EBADMSG);
    DONE();
}

static const struct test tests[] = {
    TEST(appended_lines_are_counted_once),
    TEST(a_file_that_appears_later_is_counted_from_its_start),
    TEST(a_torn_line_waits_for_its_end),
    TEST(a_long_line_is_dropped_whole_and_its_skipping_survives_a_restart),
    TEST(a_hole_of_512_MiB_is_skipped_and_4_GiB_are_no_limit),
    TEST(zeros_at_the_end_wait_until_something_follows),
    TEST(late_writes_to_a_renamed_file_are_not_lost),
    TEST(a_name_that_is_away_for_a_while_loses_nothing),
    TEST(a_file_unlinked_after_renaming_is_read_out_and_retired),
    TEST(writes_to_an_unlinked_file_count_while_its_writer_goes_on),
    TEST(two_rotations_within_one_poll_are_exact),
    TEST(an_inode_number_given_again_is_another_file),
    TEST(an_inode_number_given_again_while_away_is_another_file),
    TEST(rotated_and_appended_while_away_is_read_on),
    TEST(a_truncated_file_is_counted_from_its_start),
    TEST(growing_past_the_position_after_truncation_is_noticed),
    TEST(the_same_size_with_other_content_is_noticed),
    TEST(truncated_while_away_is_counted_once_over_many_restarts),
    TEST(copytruncate_counts_once_and_loses_nothing_that_was_copied),
    TEST(a_plain_copy_of_a_long_log_is_not_counted),
    TEST(a_copy_that_was_finished_since_the_last_look_is_not_counted),
    TEST(copies_born_in_the_same_tick_are_not_counted),
    TEST(what_was_ignored_for_its_name_is_counted_under_one_that_matches),
    TEST(copytruncate_while_away_is_exact),
    TEST(equal_first_lines_of_two_hosts_are_both_counted),
    TEST(a_banner_at_the_top_of_each_days_file_is_counted_each_day),
    TEST(a_new_file_that_begins_like_a_deleted_one_is_counted_whole),
    TEST(a_file_written_anew_by_rsync_is_continued),
    TEST(logs_moved_to_another_disk_while_away_are_continued),
    TEST(a_rotated_file_that_is_packed_is_not_counted_again),
    TEST(an_archive_of_a_file_rotated_while_away_continues_it),
    TEST(history_is_read_once_and_the_oldest_first),
    TEST(history_with_lost_times_is_read_by_rotation_number),
    TEST(an_archive_renamed_when_it_is_to_be_opened_is_read_later),
    TEST(a_stop_in_the_middle_of_an_archive_goes_on_there),
    TEST(a_damaged_archive_is_said_and_not_counted),
    TEST(an_archive_waits_while_its_original_is_there),
    TEST(copytruncate_with_packing_by_hand_is_exact),
    TEST(a_file_of_two_globs_is_counted_once_with_the_first_ones_host),
    TEST(a_number_of_a_removed_archive_given_to_a_file_of_two_globs_is_one_file),
    TEST(host_may_be_a_folder),
    TEST(hard_links_and_symbolic_links_of_one_file_are_one),
    TEST(a_symbolic_link_that_is_turned_loses_nothing),
    TEST(a_strangers_link_is_not_followed),
    TEST(fifos_and_devices_are_never_opened),
    TEST(what_cannot_be_opened_is_said_once_and_tried_for_ever),
    TEST(too_few_descriptors_are_said_once_and_made_up_for_later),
    TEST(a_replaced_folder_is_noticed),
    TEST(from_end_begins_behind_the_last_line_feed),
    TEST(a_kill_at_any_call_loses_and_doubles_nothing),
    TEST(rotations_and_kills_at_random_are_exact),
    TEST(whatever_happens_while_the_follower_looks_is_exact),
    TEST(two_hundred_files_rotated_at_once_are_exact),
    TEST(hostile_positions_are_refused),
    TESTS_END,
};

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char command[300];
    snprintf(folder, sizeof(folder), "%s/reckond-follow-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder) || chmod(folder, 0777) < 0 || block_init(&block) < 0)
        return EXIT_FAILURE;
    int code = tap_run("follow", tests);
    block_done(&block);
    state_clear(&now);
    state_clear(&committed);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? code : EXIT_FAILURE;
}
