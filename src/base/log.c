#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

#define LINE_BYTES 4096 /* PIPE_BUF: up to here one write is one piece, even into a pipe */

/* Set by log_init before threads start. */
static enum log_level most_level = LOG_LEVEL_INFO;
static bool to_journal;

/* systemd.exec(5): JOURNAL_STREAM is DEVICE:INODE of the journal's socket; it is inherited, so that
 * only a match with stderr says that stderr is the journal. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    char ours[48];
    if (!stream || fstat(STDERR_FILENO, &st) < 0)
        return false;
    snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t) st.st_dev, (uintmax_t) st.st_ino);
    return strcmp(stream, ours) == 0;
}

void log_init(enum log_level most)
{
    most_level = most;
    to_journal = stderr_is_journal();
}

static size_t put_head(char *to, size_t room, enum log_level level)
{
    static const char *const names[] = {[LOG_LEVEL_ERROR] = "error",
                                        [LOG_LEVEL_WARNING] = "warning",
                                        [LOG_LEVEL_INFO] = "info",
                                        [LOG_LEVEL_DEBUG] = "debug"};
    if (to_journal)
        return (size_t) snprintf(to, room, "<%d>", (int) level);
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc))
        return 0;
    size_t n = strftime(to, room, "%Y-%m-%dT%H:%M:%SZ ", &utc);
    return n + (size_t) snprintf(to + n, room - n, "%s: ", names[level]);
}

/* Cuts rather than overruns; room is for what comes before the newline. */
static size_t put_escaped(char *to, size_t room, struct slice text)
{
    char form[UTF8_FORM_BYTES];
    size_t n = 0, taken;
    for (size_t at = 0; at < text.n; at += taken) {
        size_t form_n = utf8_harmless(slice_sub(text, at, text.n), form, &taken);
        if (form_n > room - n)
            break;
        memcpy(to + n, form, form_n);
        n += form_n;
    }
    return n;
}

__attribute__((format(printf, 2, 0))) static void put_line(enum log_level level, const char *format,
                                                           va_list args)
{
    if (level > most_level)
        return;
    int saved = errno;
    char text[LINE_BYTES], line[LINE_BYTES];
    int text_n = vsnprintf(text, sizeof(text), format, args);
    if (text_n < 0)
        text_n = 0;
    if ((size_t) text_n >= sizeof(text))
        text_n = sizeof(text) - 1;
    size_t n = put_head(line, sizeof(line), level);
    n += put_escaped(line + n, sizeof(line) - 1 - n, (struct slice){text, (size_t) text_n});
    line[n++] = '\n';
    /* Nobody is left to be told when stderr fails. */
    ssize_t done = write(STDERR_FILENO, line, n);
    (void) done;
    errno = saved;
}

void log_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(LOG_LEVEL_ERROR, format, args);
    va_end(args);
}

void log_warning(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(LOG_LEVEL_WARNING, format, args);
    va_end(args);
}

void log_info(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(LOG_LEVEL_INFO, format, args);
    va_end(args);
}

void log_debug(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(LOG_LEVEL_DEBUG, format, args);
    va_end(args);
}
