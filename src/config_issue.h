/* What is wrong with a configuration file: errors and warnings with their places, gathered while it
 * is read so that one run shows them all, in the order of the file. One thread per object. */
#ifndef CONFIG_ISSUE_H
#define CONFIG_ISSUE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/slice.h"

#define ISSUES_SHOWN 20
#define ISSUES_KEPT 200 /* more are only counted */

struct place {
    unsigned line, column; /* 1-based, in characters; line 0: the file as a whole */
};

struct issue {
    struct place at;
    bool is_warning;
    char *text;
};

struct issues {
    struct issue list[ISSUES_KEPT];
    unsigned n;
    unsigned errors; /* all of them */
    bool failed;     /* out of memory: a text was lost */
};

void issues_init(struct issues *s);
void issues_done(struct issues *s);
void issue_error(struct issues *s, struct place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void issue_warning(struct issues *s, struct place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends "PATH:LINE:COL: error: TEXT", the line of the source and a caret for each; then the
 * number of errors. source may be empty. */
void issues_print(struct issues *s, const char *path, struct slice source, struct buf *to);

#endif
