#include "parse/format.h"

/* The format named `main` in the nginx.conf that nginx ships. */
const struct preset preset_nginx_xff = {
    .name = "nginx-xff",
    .syntax = SYNTAX_NGINX,
    .text = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent "
            "\"$http_referer\" \"$http_user_agent\" \"$http_x_forwarded_for\"",
    .escape = ESCAPE_BACKSLASH,
    .detectable = true,
};
