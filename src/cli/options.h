/* Options as getopt_long(3) understands them, without abbreviations, and with texts of our own: an
 * unknown one is answered by one line that names the nearest. One table a command also makes its
 * --help. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct option_row {
    const char *name;  /* without the dashes */
    char letter;       /* 0: none */
    const char *value; /* what its value is called; NULL: it takes none */
    const char *help;
};

struct options {
    int argc;
    char **argv;
    const struct option_row *rows; /* up to one without a name */
    int at;                        /* next argument */
    const char *letters;           /* rest of "-abc" */
    bool only_operands;            /* after "--" */
};

enum option { OPTION_END, OPTION_OPERAND, OPTION_ROW, OPTION_WRONG };

/* argv[0] is passed over. */
void options_begin(struct options *o, int argc, char **argv, const struct option_row *rows);
/* OPTION_OPERAND: *ret_value is the operand. OPTION_ROW: *ret_row is the row's index and *ret_value
 * the value (NULL for a row without one). OPTION_WRONG: the sentence says what. */
enum option options_next(struct options *o, unsigned *ret_row, const char **ret_value,
                         struct err *e);

/* The sentence and where help is, on standard error; returns the exit code. */
int options_refuse(const char *command, const struct err *e);
/* "usage" and a line for each row, on standard output; returns the exit code. */
int options_help(const char *command, const char *usage, const struct option_row *rows,
                 const char *closing);

/* A whole number within bounds, the whole text. */
bool options_number(const char *text, unsigned long low, unsigned long high, unsigned long *ret);

#endif
