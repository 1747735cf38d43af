#include "hash_key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

static char folder[] = "/tmp/test_hash_key.XXXXXX";
static char path[64];

static void write_key(size_t n, int byte, mode_t mode)
{
    char bytes[SK_SECRET_BYTES + 1];
    memset(bytes, byte, sizeof(bytes));
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, bytes, n), (ssize_t) n);
    CU_ASSERT_EQUAL(fchmod(fd, mode), 0);
    close(fd);
}

static void a_missing_key_is_made_once_and_only_when_asked(void)
{
    struct sk_secret a, b;
    struct err e = {""};
    struct stat st;
    CU_ASSERT_EQUAL(hash_key_load(&a, path, false, &e), -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, path));
    CU_ASSERT_EQUAL(hash_key_load(&a, path, true, &e), 0);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0600);
    CU_ASSERT_EQUAL(st.st_size, SK_SECRET_BYTES);
    CU_ASSERT_EQUAL(hash_key_load(&b, path, true, &e), 0);
    CU_ASSERT_EQUAL(memcmp(&a, &b, sizeof(a)), 0);
    unlink(path);
    CU_ASSERT_EQUAL(hash_key_load(&b, path, true, &e), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(&a, &b, sizeof(a)), 0);
    unlink(path);
    CU_ASSERT_EQUAL(rmdir(folder), 0); /* no part of it is left behind */
    CU_ASSERT_EQUAL(mkdir(folder, 0700), 0);
}

static void size_mode_and_zeros_are_refused(void)
{
    struct sk_secret a;
    struct err e = {""};
    memset(&a, 7, sizeof(a));
    static const struct {
        size_t bytes;
        int byte;
        mode_t mode;
        const char *word;
    } rows[] = {
        {SK_SECRET_BYTES - 1, 1, 0600, "191 bytes"},
        {SK_SECRET_BYTES + 1, 1, 0600, "193 bytes"},
        {0, 1, 0600, "0 bytes"},
        {SK_SECRET_BYTES, 0, 0600, "zero"},
        {SK_SECRET_BYTES, 1, 0640, "0640"},
        {SK_SECRET_BYTES, 1, 0604, "0604"},
        {SK_SECRET_BYTES, 1, 0610, "0610"},
        {SK_SECRET_BYTES, 1, 0602, "chmod 600"},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        write_key(rows[i].bytes, rows[i].byte, rows[i].mode);
        CU_ASSERT_EQUAL(hash_key_load(&a, path, true, &e), -EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.text, rows[i].word));
    }
    CU_ASSERT_EQUAL(a.bytes[0], 7); /* written only on success */
    write_key(SK_SECRET_BYTES, 1, 0400);
    CU_ASSERT_EQUAL(hash_key_load(&a, path, true, &e), 0);
    CU_ASSERT_EQUAL(a.bytes[SK_SECRET_BYTES - 1], 1);
    unlink(path);
}

static void what_is_no_file_is_refused(void)
{
    struct sk_secret a;
    struct err e = {""};
    CU_ASSERT_EQUAL(hash_key_load(&a, folder, true, &e), -EINVAL);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(hash_key_load(&a, path, true, &e), -EINVAL);
    unlink(path);
    CU_ASSERT_EQUAL(hash_key_load(&a, "/nowhere/at/all/hash.key", true, &e), -ENOENT);
}

static void random_keys_differ(void)
{
    struct sk_secret a, b;
    CU_ASSERT_EQUAL(hash_key_random(&a), 0);
    CU_ASSERT_EQUAL(hash_key_random(&b), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(&a, &b, sizeof(a)), 0);
}

static const struct test tests[] = {
    TEST(a_missing_key_is_made_once_and_only_when_asked),
    TEST(size_mode_and_zeros_are_refused),
    TEST(what_is_no_file_is_refused),
    TEST(random_keys_differ),
    TESTS_END,
};

int main(void)
{
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    snprintf(path, sizeof(path), "%s/hash.key", folder);
    int r = tap_run("hash_key", tests);
    rmdir(folder);
    return r;
}
