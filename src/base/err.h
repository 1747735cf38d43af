/* One sentence for a person who has to mend something: it names the place, the value and the
 * remedy. Functions return 0 or a negative errno value; the sentence is extra. Any thread. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define ERR_TEXT_BYTES 1024

struct err {
    char text[ERR_TEXT_BYTES];
};

/* Writes the sentence (cut, never overrun) and returns code, so that a caller can
 * `return err_set(e, -EINVAL, ...)`. e may be NULL. */
int err_set(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The text of a negative errno value; thread-safe, never NULL. */
const char *err_name(int code);

#endif
