#include "parse/format.h"

/* log-format-upstream of Kubernetes' ingress-nginx. */
const struct preset preset_ingress_nginx = {
    .name = "ingress-nginx",
    .syntax = SYNTAX_NGINX,
    .text = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent "
            "\"$http_referer\" \"$http_user_agent\" $request_length $request_time "
            "[$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr "
            "$upstream_response_length $upstream_response_time $upstream_status $req_id",
    .escape = ESCAPE_BACKSLASH,
    .detectable = true,
};
