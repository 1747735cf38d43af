/* Bytes from outside made fit for JSON, tables and logs. Pure, any thread. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"

/* The whole slice is well-formed UTF-8 (RFC 3629: no surrogates, nothing above U+10FFFF). */
bool utf8_valid(struct slice s);
/* Length of the well-formed character at s.p, 1..4; 0: the first byte is none. ret_code may be
 * NULL. */
size_t utf8_next(struct slice s, unsigned *ret_code);
/* Appends s so that it is valid UTF-8 and harmless: bad bytes as \xhh, C0, DEL, C1 and bidi marks
 * (U+200E/F, U+202A-E, U+2066-9) as \uhhhh, backslash doubled; reversible. Returns whether anything
 * was escaped; when nothing needs it (a backslash alone does not), the bytes go out unchanged. */
bool utf8_escape(struct buf *to, struct slice s);
/* One step of it, for a caller without a buf: writes the harmless form of the first character (or
 * bad byte) of s, which must not be empty, returns the form's length (no NUL counted) and how many
 * bytes of s it stands for. A backslash stays single. */
#define UTF8_FORM_BYTES 8
size_t utf8_harmless(struct slice s, char form[UTF8_FORM_BYTES], size_t *ret_taken);
/* Columns that a valid text takes in a terminal (wide East Asian characters are 2). */
size_t utf8_columns(struct slice s);

#endif
