/* The bar on standard error while a command reads: share, rate, time left. Silent unless standard
 * error is a terminal. One thread per object. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool enabled, shown;
    int64_t began_ns, drawn_ns; /* monotonic */
};

void progress_begin(struct progress *p, bool wanted);
/* done of all bytes (0: not known), and the lines so far. Draws at most ten times a second. */
void progress_update(struct progress *p, uint64_t done, uint64_t all, uint64_t lines);
/* Wipes the bar. */
void progress_end(struct progress *p);

/* The bar's text without its control bytes, for up to 79 columns, into at least 160 bytes: tested
 * apart. */
char *progress_text(char *buffer, unsigned room, uint64_t done, uint64_t all, uint64_t lines,
                    int64_t elapsed_ns);

#endif
