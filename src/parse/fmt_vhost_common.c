#include "parse/format.h"

const struct preset preset_vhost_common = {
    .name = "vhost_common",
    .syntax = SYNTAX_APACHE,
    .text = "%v:%p %h %l %u %t \"%r\" %>s %b",
    .escape = ESCAPE_BACKSLASH,
    .detectable = true,
};
