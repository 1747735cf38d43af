#include "parse/format.h"

const struct preset preset_common = {
    .name = "common",
    .syntax = SYNTAX_APACHE,
    .text = "%h %l %u %t \"%r\" %>s %b",
    .escape = ESCAPE_BACKSLASH,
    .detectable = true,
};
