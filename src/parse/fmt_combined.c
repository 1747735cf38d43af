#include "parse/format.h"

const struct preset preset_combined = {
    .name = "combined",
    .syntax = SYNTAX_APACHE,
    .text = "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"",
    .escape = ESCAPE_BACKSLASH,
    .detectable = true,
};
