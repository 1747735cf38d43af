/* The standard streams of the one-shot commands: answers that did not arrive are an error, and
 * names from outside cannot steer a terminal. Messages are "reckond COMMAND: SENTENCE". */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stddef.h>

#include "base/slice.h"

/* Call it before any file is opened: a closed stream stays one that nothing can be written to,
 * though files take the lowest free descriptor. */
void output_begin(void);
/* To standard output; the first failure is kept for output_end. */
void output_write(const char *p, size_t n);
/* Writes out what is left. 0; EX_IOERR, said, when any of the answer could not be written. command
 * NULL: of the program itself. */
int output_end(const char *command);

/* On standard error, escaped, with a line feed. */
void output_say(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lines as they are, but for what is escaped in them. */
void output_say_lines(struct slice lines);
/* The sentence as it is; returns code. */
int output_refuse(const char *command, int code, const char *text);

#endif
