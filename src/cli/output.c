#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

void output_begin(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            /* Open the wrong way round: every use of it fails, as with the closed one. */
            (void) !open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int first_error; /* of standard output, 0 or -errno */

void output_write(const char *p, size_t n)
{
    errno = 0;
    if (n > 0 && fwrite(p, 1, n, stdout) != n && first_error == 0)
        first_error = errno ? -errno : -EIO;
}

int output_end(const char *command)
{
    errno = 0;
    bool failed = fflush(stdout) != 0;
    int n = first_error ? first_error : errno ? -errno : -EIO;
    failed = ferror(stdout) || failed;
    /* Some file systems report a full disk or quota when the file is closed. */
    if (!failed) {
        int copy = dup(STDOUT_FILENO);
        if (copy >= 0 && close(copy) < 0) {
            n = -errno;
            failed = true;
        }
    }
    if (!failed)
        return 0;
    output_say(command,
               "the answer could not be written to standard output: %s; it is not complete",
               err_name(n));
    return EX_IOERR;
}

int output_refuse(const char *command, int code, const char *text)
{
    struct buf b;
    buf_init(&b);
    utf8_escape(&b, slice_of(text));
    const char *escaped = buf_cstr(&b);
    fprintf(stderr, "reckond%s%s: %s\n", command ? " " : "", command ? command : "",
            escaped ? escaped : "out of memory");
    buf_done(&b);
    return code;
}

void output_say_lines(struct slice lines)
{
    struct buf b;
    struct slice line;
    buf_init(&b);
    while (lines.n > 0) {
        if (!slice_cut(&lines, '\n', &line)) {
            line = lines;
            lines.n = 0;
        }
        utf8_escape(&b, line);
        buf_byte(&b, '\n');
    }
    if (b.n > 0)
        fwrite(b.p, 1, b.n, stderr);
    buf_done(&b);
}

void output_say(const char *command, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        return;
    output_refuse(command, 0, text);
    free(text);
}
