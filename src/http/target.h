/* A request target ("/uniques?from=mon&to=tue") taken apart strictly: RFC 3986 escapes, `+` is a
 * blank in the query (form style), nothing is normalised. What a browser or proxy would not send is
 * refused. Pure, any thread, no allocation; takes hostile bytes. */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"

#define TARGET_BYTES_MAX 2048
#define TARGET_PARAMETERS_MAX 16

struct target_parameter {
    struct slice name, value; /* decoded; value {NULL, 0}: there was no '=' */
};

/* The slices lie in room: a struct target is not copied. */
struct target {
    struct slice path; /* decoded, begins with '/' */
    struct target_parameter parameters[TARGET_PARAMETERS_MAX];
    unsigned n_parameters;
    char room[TARGET_BYTES_MAX];
};

/* 0; -E2BIG: over TARGET_BYTES_MAX; -EOVERFLOW: over TARGET_PARAMETERS_MAX parameters; -EINVAL: a
 * bad escape, NUL, a control byte, a path or a parameter's name that is no UTF-8. Values may hold
 * any byte but NUL: whether they must be text is their parameter's matter (target_is_text). After a
 * failure ret holds nothing of use. */
int target_parse(struct target *ret, struct slice raw, struct err *e);

/* Well-formed UTF-8 without C0 controls and DEL. */
bool target_is_text(struct slice s);

#endif
