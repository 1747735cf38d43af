#include "parse/format.h"

/* The proxy hosts' format of Nginx Proxy Manager. */
const struct preset preset_nginx_proxy_manager = {
    .name = "nginx-proxy-manager",
    .syntax = SYNTAX_NGINX,
    .text = "[$time_local] $upstream_cache_status $upstream_status $status - $request_method "
            "$scheme $host \"$request_uri\" [Client $remote_addr] [Length $body_bytes_sent] "
            "[Gzip $gzip_ratio] [Sent-to $server] \"$http_user_agent\" \"$http_referer\"",
    .escape = ESCAPE_BACKSLASH,
    .detectable = true,
};
