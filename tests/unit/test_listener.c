#include "http/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

static struct err e;
static char folder[64], path[80], listen_on[96];

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/test_listener.XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/http.sock", folder);
    snprintf(listen_on, sizeof(listen_on), "unix:%s", path);
}

static void drop_folder(void)
{
    unlink(path);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

static void port_0_becomes_a_real_port_in_the_address(void)
{
    static const char *const forms[] = {"127.0.0.1:0", "localhost:0", "[::1]:0"};
    for (size_t i = 0; i < 3; i++) {
        struct listener l;
        unsigned port = 0;
        int rc = listener_open(&l, forms[i], &e);
        if (i == 2 && (rc == -EADDRNOTAVAIL || rc == -EAFNOSUPPORT))
            continue; /* a machine without IPv6 */
        CU_ASSERT_EQUAL_FATAL(rc, 0);
        CU_ASSERT_EQUAL(sscanf(strrchr(l.address, ':'), ":%u", &port), 1);
        CU_ASSERT(port > 0);
        CU_ASSERT(slice_is(listener_host(l.address), i == 2 ? "[::1]" : "127.0.0.1"));
        CU_ASSERT(fcntl(l.fd, F_GETFL) & O_NONBLOCK);
        CU_ASSERT(fcntl(l.fd, F_GETFD) & FD_CLOEXEC);
        listener_close(&l);
    }
}

static void an_address_in_use_is_said(void)
{
    struct listener first, second;
    CU_ASSERT_EQUAL_FATAL(listener_open(&first, "127.0.0.1:0", &e), 0);
    CU_ASSERT_EQUAL(listener_open(&second, first.address, &e), -EADDRINUSE);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, first.address));
    listener_close(&first);
}

static void what_is_no_address_is_refused(void)
{
    static const char *const bad[] = {"",
                                      "8420",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:x",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "web.example.org:80",
                                      "[127.0.0.1]:80",
                                      "[::1]",
                                      "[::1:80",
                                      "unix:",
                                      "1.2.3:80"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct listener l;
        e.text[0] = '\0';
        CU_ASSERT_EQUAL(listener_open(&l, bad[i], &e), -EINVAL);
        CU_ASSERT(strstr(e.text, "listen") != NULL);
    }
}

static void a_unix_socket_has_mode_0660_and_is_removed_at_the_end(void)
{
    struct listener l;
    struct stat st;
    make_folder();
    mode_t old = umask(077);
    CU_ASSERT_EQUAL_FATAL(listener_open(&l, listen_on, &e), 0);
    umask(old);
    CU_ASSERT_EQUAL(lstat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0660);
    CU_ASSERT_STRING_EQUAL(l.address, listen_on);
    CU_ASSERT_PTR_NULL(listener_host(l.address).p);
    listener_close(&l);
    CU_ASSERT_EQUAL(access(path, F_OK), -1);
    drop_folder();
}

static void a_stale_unix_socket_is_replaced(void)
{
    struct listener l;
    make_folder();
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (const struct sockaddr *) &a, sizeof(a)), 0);
    close(fd); /* its file stays, as after a kill */
    CU_ASSERT_EQUAL_FATAL(listener_open(&l, listen_on, &e), 0);
    listener_close(&l);
    drop_folder();
}

static void a_unix_socket_in_use_and_other_files_are_left_alone(void)
{
    struct listener first, second;
    make_folder();
    CU_ASSERT_EQUAL_FATAL(listener_open(&first, listen_on, &e), 0);
    CU_ASSERT_EQUAL(listener_open(&second, listen_on, &e), -EADDRINUSE);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    listener_close(&first);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    CU_ASSERT(fd >= 0);
    close(fd);
    CU_ASSERT_EQUAL(listener_open(&second, listen_on, &e), -EADDRINUSE);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    drop_folder();
}

static void a_path_that_is_too_long_is_refused(void)
{
    char text[200] = "unix:/";
    struct listener l;
    memset(text + 6, 'a', sizeof(text) - 7);
    text[sizeof(text) - 1] = '\0';
    CU_ASSERT_EQUAL(listener_open(&l, text, &e), -EINVAL);
}

static const struct test tests[] = {
    TEST(port_0_becomes_a_real_port_in_the_address),
    TEST(an_address_in_use_is_said),
    TEST(what_is_no_address_is_refused),
    TEST(a_unix_socket_has_mode_0660_and_is_removed_at_the_end),
    TEST(a_stale_unix_socket_is_replaced),
    TEST(a_unix_socket_in_use_and_other_files_are_left_alone),
    TEST(a_path_that_is_too_long_is_refused),
    TESTS_END,
};

int main(void)
{
    return tap_run("listener", tests);
}
