/* Inside parse: undoing a server's escaping, once. Pure. */
#ifndef PARSE_UNESCAPE_INT_H
#define PARSE_UNESCAPE_INT_H

#include "base/slice.h"

/* Writes s without its backslash escapes (\xHH of either case, \" \\ \n \t \r \b \v \f \a) to out,
 * which has room for s.n bytes; unknown or cut escapes stay as they are. Returns the bytes written.
 */
size_t unescape_backslash(struct slice s, char *out);

#endif
