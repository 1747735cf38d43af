#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"

#define EVERY_NS (NS_PER_S / 10)
#define FIRST_NS (NS_PER_S / 4) /* a short run shows nothing */
#define BAR_COLUMNS 24

void progress_begin(struct progress *p, bool wanted)
{
    *p = (struct progress){.enabled = wanted && isatty(STDERR_FILENO),
                           .began_ns = clock_monotonic_ns()};
    p->drawn_ns = p->began_ns + FIRST_NS - EVERY_NS;
}

static void left_text(char buffer[32], double seconds)
{
    if (seconds >= 3600)
        snprintf(buffer, 32, "%ld h %02ld min", (long) seconds / 3600, (long) seconds / 60 % 60);
    else if (seconds >= 60)
        snprintf(buffer, 32, "%ld min %02ld s", (long) seconds / 60, (long) seconds % 60);
    else
        snprintf(buffer, 32, "%.0f s", seconds);
}

char *progress_text(char *buffer, unsigned room, uint64_t done, uint64_t all, uint64_t lines,
                    int64_t elapsed_ns)
{
    char bar[BAR_COLUMNS + 1], count[32], rate[32], left[32] = "";
    double seconds = (double) elapsed_ns / 1e9;
    double a_second = seconds > 0 ? (double) lines / seconds : 0;
    num_grouped(count, lines);
    num_grouped(rate, a_second < 1e15 ? (uint64_t) a_second : (uint64_t) 1e15);
    if (all == 0) {
        snprintf(buffer, room, "%s lines   %s lines/s", count, rate);
        return buffer;
    }
    double share = done < all ? (double) done / (double) all : 1;
    unsigned filled = (unsigned) (share * BAR_COLUMNS);
    memset(bar, '-', BAR_COLUMNS);
    memset(bar, '#', filled);
    bar[BAR_COLUMNS] = '\0';
    if (share > 0.001)
        left_text(left, seconds / share - seconds);
    snprintf(buffer, room, "[%s] %3.0f %%   %s lines/s%s%s%s", bar, share * 100, rate,
             left[0] ? "   " : "", left, left[0] ? " left" : "");
    return buffer;
}

void progress_update(struct progress *p, uint64_t done, uint64_t all, uint64_t lines)
{
    char text[160];
    if (!p->enabled)
        return;
    int64_t now_ns = clock_monotonic_ns();
    if (now_ns - p->drawn_ns < EVERY_NS)
        return;
    p->drawn_ns = now_ns;
    p->shown = true;
    fprintf(stderr, "\r%.79s\033[K",
            progress_text(text, sizeof(text), done, all, lines, now_ns - p->began_ns));
    fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}
