#include "parse/format.h"

const struct preset preset_vhost_combined = {
    .name = "vhost_combined",
    .syntax = SYNTAX_APACHE,
    .text = "%v:%p %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"",
    .escape = ESCAPE_BACKSLASH,
    .detectable = true,
};
