#include "base/err.h"

#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int code, const char *format, ...)
{
    if (!e)
        return code;
    /* Not straight into e: its old text may be among the arguments. */
    char text[ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n < 0)
        text[0] = '\0';
    memcpy(e->text, text, sizeof(text));
    return code;
}

const char *err_name(int code)
{
    /* strerror_l is the variant that is safe from any thread in every libc; it takes no "current".
     */
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t) 0);
    if (!c)
        return "out of memory";
    const char *text = strerror_l(code > -INT_MAX && code < 0 ? -code : code, c);
    freelocale(c);
    return text ? text : "unknown error";
}
