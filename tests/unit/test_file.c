#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

/* Every test begins in an empty folder of its own and leaves none behind. */
static char folder[] = "test-file-XXXXXX";
static struct err e;

static void enter(void)
{
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    e.text[0] = '\0';
    if (!mkdtemp(folder) || chdir(folder) < 0)
        CU_FAIL_FATAL("no folder to work in");
}

static void leave(void)
{
    char command[64];
    CU_ASSERT_EQUAL_FATAL(chdir(".."), 0);
    snprintf(command, sizeof(command), "rm -rf ./%s", folder);
    CU_ASSERT_EQUAL(system(command), 0);
}

static void check_content(const char *path, const void *p, size_t n)
{
    struct buf b;
    buf_init(&b);
    CU_ASSERT_EQUAL(file_read(path, n, &b, &e), 0);
    CU_ASSERT_TRUE(b.n == n && (n == 0 || memcmp(b.p, p, n) == 0));
    buf_done(&b);
}

static void a_created_file_is_read_back_with_its_mode(void)
{
    enter();
    static char big[300000];
    for (size_t i = 0; i < sizeof(big); i++)
        big[i] = (char) (i * 31 >> 3);
    struct stat st;
    CU_ASSERT_EQUAL(file_create("big", big, sizeof(big), 0600, &e), 0);
    check_content("big", big, sizeof(big));
    CU_ASSERT_EQUAL(stat("big", &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0600);
    CU_ASSERT_EQUAL(file_create("empty", NULL, 0, 0600, &e), 0);
    check_content("empty", NULL, 0);
    char path[256];
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(path, sizeof(path) - 8));
    memcpy(path + strlen(path), "/whole", 7);
    CU_ASSERT_EQUAL(file_create(path, "x", 1, 0600, &e), 0);
    check_content("whole", "x", 1);
    leave();
}

static void what_is_there_is_never_overwritten(void)
{
    enter();
    CU_ASSERT_EQUAL(file_create("a", "old", 3, 0600, &e), 0);
    CU_ASSERT_EQUAL(file_create("a", "new!", 4, 0600, &e), -EEXIST);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "a: cannot be created"));
    check_content("a", "old", 3);
    CU_ASSERT_EQUAL(symlink("elsewhere", "link"), 0);
    CU_ASSERT_EQUAL(file_create("link", "x", 1, 0600, &e), -EEXIST);
    CU_ASSERT_EQUAL(access("elsewhere", F_OK), -1);
    leave();
}

static void a_failed_creation_leaves_nothing(void)
{
    enter();
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){.rlim_cur = 1000, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    char big[4000] = {1};
    int r = file_create("a", big, sizeof(big), 0600, &e);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    CU_ASSERT_EQUAL(r, -EFBIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "a: cannot be created"));
    CU_ASSERT_EQUAL(access("a", F_OK), -1);
    CU_ASSERT_EQUAL(file_create("missing/a", "x", 1, 0600, &e), -ENOENT);
    leave();
}

static void the_limit_of_a_read_is_exact(void)
{
    enter();
    struct buf b;
    buf_init(&b);
    CU_ASSERT_EQUAL(file_create("ten", "0123456789", 10, 0600, &e), 0);
    CU_ASSERT_EQUAL(file_read("ten", 9, &b, &e), -EFBIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "ten: larger than 9 bytes"));
    CU_ASSERT_EQUAL(b.n, 0);
    CU_ASSERT_EQUAL(file_read("ten", 0, &b, &e), -EFBIG);
    CU_ASSERT_EQUAL(file_read("ten", 10, &b, &e), 0);
    CU_ASSERT_EQUAL(file_read("ten", SIZE_MAX, &b, &e), 0);
    CU_ASSERT_EQUAL(b.n, 20);
    CU_ASSERT_EQUAL(file_read("none", 10, &b, &e), -ENOENT);
    CU_ASSERT_EQUAL(b.n, 20);
    buf_done(&b);
    leave();
}

static void what_is_no_regular_file_is_refused_at_once(void)
{
    enter();
    struct buf b;
    buf_init(&b);
    CU_ASSERT_EQUAL(mkdir("folder", 0700), 0);
    CU_ASSERT_EQUAL(mkfifo("fifo", 0600), 0);
    CU_ASSERT_EQUAL(file_read("folder", 10, &b, &e), -EISDIR);
    CU_ASSERT_EQUAL(file_read("fifo", 10, &b, &e), -EINVAL); /* and does not wait for a writer */
    CU_ASSERT_EQUAL(file_read("/dev/zero", 10, &b, &e), -EINVAL);
    CU_ASSERT_EQUAL(file_read("fifo", 10, &b, NULL), -EINVAL);
    CU_ASSERT_EQUAL(b.n, 0);
    buf_done(&b);
    leave();
}

static void files_of_no_stated_size_are_read_whole(void)
{
    struct buf b;
    buf_init(&b);
    CU_ASSERT_EQUAL(file_read("/proc/self/status", 1 << 20, &b, NULL), 0);
    CU_ASSERT_TRUE(b.n > 100);
    buf_done(&b);
}

static void a_write_tells_its_error(void)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(file_write_all(fd, "x", 1), -ENOSPC);
    CU_ASSERT_EQUAL(file_write_all(fd, NULL, 0), 0);
    close(fd);
    CU_ASSERT_EQUAL(file_write_all(-1, "x", 1), -EBADF);
}

static void short_writes_are_continued(void)
{
    /* A pipe takes less than a megabyte at once; the reader is a child that counts. */
    static char big[1 << 20];
    memset(big, 'x', sizeof(big));
    int fds[2];
    CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char part[5000];
        size_t got = 0;
        close(fds[1]);
        for (ssize_t n; (n = read(fds[0], part, sizeof(part))) > 0;)
            got += (size_t) n;
        _exit(got == sizeof(big) ? 0 : 1);
    }
    close(fds[0]);
    CU_ASSERT_EQUAL(file_write_all(fds[1], big, sizeof(big)), 0);
    close(fds[1]);
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
}

static void missing_folders_are_made_and_others_left(void)
{
    enter();
    struct stat st;
    mode_t mask = umask(022);
    CU_ASSERT_EQUAL(file_make_dirs("a/b/c", 0700, &e), 0);
    CU_ASSERT_EQUAL(stat("a/b/c", &st), 0);
    CU_ASSERT_TRUE(S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    CU_ASSERT_EQUAL(file_make_dirs("a/b/c", 0755, &e), 0);
    CU_ASSERT_EQUAL(stat("a", &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0700);
    CU_ASSERT_EQUAL(file_make_dirs("a//d/", 0755, &e), 0);
    CU_ASSERT_EQUAL(stat("a/d", &st), 0);
    CU_ASSERT_EQUAL(file_make_dirs("/", 0755, &e), 0);
    CU_ASSERT_EQUAL(file_make_dirs(".", 0755, &e), 0);
    umask(mask);
    leave();
}

static void a_folder_that_cannot_be_is_named(void)
{
    enter();
    CU_ASSERT_EQUAL(file_create("plain", "x", 1, 0600, &e), 0);
    CU_ASSERT_EQUAL(file_make_dirs("plain", 0755, &e), -ENOTDIR);
    CU_ASSERT_EQUAL(file_make_dirs("plain/sub", 0755, &e), -ENOTDIR);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "plain/sub: folder cannot be created"));
    CU_ASSERT_EQUAL(file_make_dirs("", 0755, &e), -ENOENT);
    char longer[5000];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    CU_ASSERT_EQUAL(file_make_dirs(longer, 0755, &e), -ENAMETOOLONG);
    leave();
}

static const struct test tests[] = {
    TEST(a_created_file_is_read_back_with_its_mode),
    TEST(what_is_there_is_never_overwritten),
    TEST(a_failed_creation_leaves_nothing),
    TEST(the_limit_of_a_read_is_exact),
    TEST(what_is_no_regular_file_is_refused_at_once),
    TEST(files_of_no_stated_size_are_read_whole),
    TEST(a_write_tells_its_error),
    TEST(short_writes_are_continued),
    TEST(missing_folders_are_made_and_others_left),
    TEST(a_folder_that_cannot_be_is_named),
    TESTS_END,
};

int main(void)
{
    return tap_run("file", tests);
}
