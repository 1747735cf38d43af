/* Any bytes as a configuration: refused with a report, or accepted, and then what is printed reads
 * back to the same. Through a file in memory, because that is how it is read. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static int read_bytes(const void *p, size_t n, struct config **ret, struct buf *report)
{
    char path[64];
    int fd = memfd_create("config", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, p, n) == (ssize_t) n);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int r = config_read(ret, path, report);
    close(fd);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct config *c = NULL, *again = NULL;
    struct buf report, once, twice;
    char suffix[256];
    buf_init(&report);
    buf_init(&once);
    buf_init(&twice);
    int r = read_bytes(data, n, &c, &report);
    must(r == 0 || r == -EINVAL || r == -EFBIG);
    must((r == 0) == (c != NULL));
    must(r == 0 || (report.n > 0 && memmem(report.p, report.n, "error: ", 7)));
    must(!report.n || !memchr(report.p, '\033', report.n));
    if (c) {
        config_print(c, &once);
        config_definition_suffix(c, suffix, sizeof(suffix));
        must(read_bytes(once.p, once.n, &again, &report) == 0);
        config_print(again, &twice);
        must(once.n == twice.n && memcmp(once.p, twice.p, once.n) == 0);
    }
    config_free(c);
    config_free(again);
    buf_done(&report);
    buf_done(&once);
    buf_done(&twice);
    return 0;
}
