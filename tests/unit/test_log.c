#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/civil.h"
#include "tap.h"

/* While a test captures, stderr is one end of a datagram pair: one write(2) is one datagram. */
static int kept = -1, ends[2];

static void capture(void)
{
    kept = dup(STDERR_FILENO);
    if (kept < 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) < 0 ||
        dup2(ends[1], STDERR_FILENO) < 0)
        CU_FAIL_FATAL("stderr cannot be captured");
}

static void release(void)
{
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[0]);
    close(ends[1]);
}

/* The next write as a text; "" when there was none. */
static const char *next_write(void)
{
    static char text[8192];
    ssize_t n = read(ends[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void pretend_journal(bool ours)
{
    struct stat st;
    char stream[64];
    CU_ASSERT_EQUAL(fstat(STDERR_FILENO, &st), 0);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t) st.st_dev,
             (uintmax_t) st.st_ino + !ours);
    setenv("JOURNAL_STREAM", stream, 1);
}

static void the_journal_gets_levels_and_one_write_a_line(void)
{
    capture();
    pretend_journal(true);
    log_init(LOG_LEVEL_DEBUG);
    log_error("disk %s", "full");
    log_warning("w");
    log_info("i");
    log_debug("d");
    CU_ASSERT_STRING_EQUAL(next_write(), "<3>disk full\n");
    CU_ASSERT_STRING_EQUAL(next_write(), "<4>w\n");
    CU_ASSERT_STRING_EQUAL(next_write(), "<6>i\n");
    CU_ASSERT_STRING_EQUAL(next_write(), "<7>d\n");
    CU_ASSERT_STRING_EQUAL(next_write(), "");
    release();
}

static void others_get_a_time_and_the_name_of_the_level(void)
{
    capture();
    pretend_journal(false); /* inherited, of another stream */
    log_init(LOG_LEVEL_INFO);
    log_warning("no match");
    const char *line = next_write();
    int64_t ns;
    CU_ASSERT_TRUE(strlen(line) > 20 && civil_parse_rfc3339((struct slice){line, 20}, &ns));
    CU_ASSERT_STRING_EQUAL(line + 20, " warning: no match\n");
    release();
}

static void less_than_the_level_is_not_written(void)
{
    capture();
    unsetenv("JOURNAL_STREAM");
    log_init(LOG_LEVEL_WARNING);
    log_info("quiet");
    log_debug("quiet");
    CU_ASSERT_STRING_EQUAL(next_write(), "");
    log_error("loud");
    CU_ASSERT_PTR_NOT_NULL(strstr(next_write(), " error: loud\n"));
    release();
}

static void text_from_outside_cannot_forge_a_line_or_drive_a_terminal(void)
{
    capture();
    pretend_journal(true);
    log_init(LOG_LEVEL_INFO);
    log_info("path %s", "/a\n<3>forged\x1b[2J\xc2\x9b\xff\xe2\x80\xae\\ä");
    CU_ASSERT_STRING_EQUAL(next_write(),
                           "<6>path /a\\u000a<3>forged\\u001b[2J\\u009b\\xff\\u202e\\ä\n");
    release();
}

static void a_line_has_at_most_4096_bytes(void)
{
    capture();
    pretend_journal(true);
    log_init(LOG_LEVEL_INFO);
    static char longer[10000];
    memset(longer, 'a', sizeof(longer) - 1);
    log_info("%s", longer);
    const char *line = next_write();
    CU_ASSERT_EQUAL(strlen(line), 4096);
    CU_ASSERT_EQUAL(line[strlen(line) - 1], '\n');
    memset(longer, '\n', sizeof(longer) - 1);
    log_info("%s", longer);
    line = next_write();
    CU_ASSERT_TRUE(strlen(line) <= 4096 && strlen(line) > 4080);
    CU_ASSERT_STRING_EQUAL(line + strlen(line) - 7, "\\u000a\n");
    release();
}

static void errno_survives(void)
{
    capture();
    close(ends[0]);
    log_init(LOG_LEVEL_INFO);
    errno = EAGAIN;
    log_info("to nobody");
    CU_ASSERT_EQUAL(errno, EAGAIN);
    release();
}

static const struct test tests[] = {
    TEST(the_journal_gets_levels_and_one_write_a_line),
    TEST(others_get_a_time_and_the_name_of_the_level),
    TEST(less_than_the_level_is_not_written),
    TEST(text_from_outside_cannot_forge_a_line_or_drive_a_terminal),
    TEST(a_line_has_at_most_4096_bytes),
    TEST(errno_survives),
    TESTS_END,
};

int main(void)
{
    return tap_run("log", tests);
}
