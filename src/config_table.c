/* The keys of the configuration: type, place in the struct, range, fallback, help. reading,
 * printing, the "did you mean" and check-config -v are made from these rows. */
#include "config_int.h"

#include "sketch/distinct.h"
#include "sketch/topk.h"

#define AT(type, member) .offset = offsetof(struct type, member)
#define BY(name) .type = VALUE_OWN, .read = read_##name, .print = print_##name
#define KIB 1024.0
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define MS 1e6
#define HOUR 3.6e12
/* Exactly held by a double. */
#define COUNT_MAX 9007199254740992.0

static const struct row client_rows[] = {
    {.key = "from",
     BY(client_from),
     AT(client_rule, from),
     .fallback = "remote",
     .help = "remote | x_forwarded_for"},
    {.key = "trusted_proxies",
     BY(trusted),
     .fallback = "[]",
     .help = "proxies whose X-Forwarded-For is believed"},
    {.key = "ipv4_prefix",
     .type = VALUE_NUMBER,
     AT(client_rule, ipv4_prefix),
     .low = 0,
     .high = 32,
     .fallback = "32",
     .help = "bits of an address that count"},
    {.key = "ipv6_prefix",
     .type = VALUE_NUMBER,
     AT(client_rule, ipv6_prefix),
     .low = 0,
     .high = 128,
     .fallback = "128",
     .help = "the same for IPv6"},
    ROWS_END,
};

static const struct row input_rows[] = {
    {.key = "name",
     .type = VALUE_NAME,
     AT(config_input, name),
     .required = true,
     .help = "what answers and books call this input"},
    {.key = "files",
     BY(files),
     .help = "globs; {host} gives lines without a host that of the name"},
    {.key = "udp", BY(udp), .help = "ADDRESS:PORT"},
    {.key = "stdin", BY(stdin), .help = "true: read standard input"},
    {.key = "format",
     BY(formats),
     .fallback = "auto",
     .help = "preset | auto | {nginx: \"...\"} | {apache: \"...\"} | a list, tried in order"},
    {.key = "framing", BY(framing), AT(config_input, framing), .fallback = "none", .help = "none"},
    {.key = "names", BY(names), .help = "gives a server's own variable a meaning"},
    {.key = "client", BY(input_client), .rows = client_rows, .help = "wins over the general one"},
    {.key = "first_read",
     BY(first_read),
     AT(config_input, first_read_end),
     .fallback = "begin",
     .help = "begin | end, for files present at the very first start"},
    {.key = "receive_buffer",
     BY(receive_buffer),
     .help = "of a UDP socket",
     .low = 4 * KIB,
     .high = 1 * GIB,
     AT(config_input, receive_buffer_bytes),
     .fallback = "8MiB"},
    {.key = "allow",
     BY(allow),
     .fallback = "[\"127.0.0.0/8\", \"::1/128\"]",
     .help = "senders of datagrams"},
    ROWS_END,
};

#define NAME                                                                                       \
    {                                                                                              \
        .key = "name", .type = VALUE_NAME, AT(metric, name), .required = true,                     \
        .help = "what questions call it"                                                           \
    }
#define KEY                                                                                        \
    {                                                                                              \
        .key = "key", BY(key), AT(metric, key), .required = true,                                  \
        .help = "a field or a list of fields"                                                      \
    }
#define WHERE                                                                                      \
    {                                                                                              \
        .key = "where", BY(where), AT(metric, where), .help = "the lines that count here"          \
    }

static const struct row uniques_rows[] = {
    NAME,
    KEY,
    WHERE,
    {.key = "precision",
     .type = VALUE_NUMBER,
     AT(metric, precision),
     .low = SK_DISTINCT_PRECISION_MIN,
     .high = SK_DISTINCT_PRECISION_MAX,
     .fallback = "14",
     .help = "2^precision bytes a day"},
    {.key = "exact_until",
     .type = VALUE_NUMBER,
     AT(metric, exact_until),
     .low = 0,
     .high = SK_DISTINCT_EXACT_MAX,
     .fallback = "10000",
     .help = "keys a day that are counted exactly"},
    ROWS_END,
};

static const struct row topk_rows[] = {
    NAME,
    KEY,
    WHERE,
    {.key = "by",
     BY(by),
     AT(metric, by),
     .fallback = "hits",
     .help = "hits | bytes | duration (milliseconds)"},
    {.key = "k",
     .type = VALUE_NUMBER,
     AT(metric, k),
     .low = 1,
     .high = SK_TOPK_K_MAX,
     .fallback = "100",
     .help = "rows that are kept"},
    {.key = "error",
     .type = VALUE_SHARE,
     AT(metric, error),
     .low = 0,
     .high = 1,
     .fallback = "0.0004",
     .help = "share of the day's total"},
    {.key = "confidence",
     .type = VALUE_SHARE,
     AT(metric, confidence),
     .low = 0,
     .high = 1,
     .fallback = "0.98",
     .help = "of the error"},
    ROWS_END,
};

static const struct row seen_rows[] = {
    NAME,
    KEY,
    {.key = "capacity",
     .type = VALUE_NUMBER64,
     AT(metric, capacity),
     .low = 1,
     .high = COUNT_MAX,
     .fallback = "1000000",
     .help = "keys of the first generation"},
    {.key = "false_positive",
     .type = VALUE_SHARE,
     AT(metric, false_positive),
     .low = 0,
     .high = 1,
     .fallback = "0.01",
     .help = "rate of wrong \"seen\""},
    {.key = "keep",
     .type = VALUE_DAYS,
     AT(metric, keep_days),
     .fallback = "400d",
     .help = "days without the key after which it is forgotten, or forever"},
    {.key = "memory_limit",
     .type = VALUE_SIZE,
     AT(metric, memory_limit_bytes),
     .low = 1,
     .high = COUNT_MAX,
     .fallback = "256MiB",
     .help = "old and new generation together"},
    {.key = "journal_limit",
     .type = VALUE_SIZE,
     AT(metric, journal_limit_bytes),
     .low = 1,
     .high = COUNT_MAX,
     .fallback = "4GiB",
     .help = "on disk"},
    ROWS_END,
};

static const struct row state_rows[] = {
    {.key = "directory",
     .type = VALUE_TEXT,
     AT(config, state_directory),
     .fallback = "/var/lib/reckond",
     .help = "where the database and the hash key are"},
    {.key = "commit_every",
     .type = VALUE_DURATION,
     AT(config, commit_every_ns),
     .low = 10 * MS,
     .high = HOUR,
     .fallback = "1s",
     .help = "what a crash may make us read again"},
    {.key = "hash_key",
     .type = VALUE_TEXT,
     AT(config, hash_key),
     .fallback = "hash.key",
     .help = "192 random bytes, relative to the directory"},
    ROWS_END,
};

static const struct row http_rows[] = {
    {.key = "listen",
     BY(listen),
     AT(config, http_listen),
     .fallback = "\"127.0.0.1:8420\"",
     .help = "ADDRESS:PORT or unix:/path"},
    {.key = "hosts",
     .type = VALUE_TEXTS,
     AT(config, http_hosts),
     .count = offsetof(struct config, n_http_hosts),
     .fallback = "[]",
     .help = "further names that we answer to"},
    {.key = "token_file",
     .type = VALUE_NULLABLE,
     AT(config, http_token_file),
     .fallback = "null",
     .help = "who reads needs this token"},
    {.key = "cors_origins",
     BY(cors_origins),
     AT(config, http_cors_origins),
     .count = offsetof(struct config, n_http_cors_origins),
     .fallback = "[]",
     .help = "web pages that may read"},
    {.key = "dashboard",
     .type = VALUE_BOOL,
     AT(config, http_dashboard),
     .fallback = "true",
     .help = "serve it at /"},
    ROWS_END,
};

static const struct row log_rows[] = {
    {.key = "level",
     BY(level),
     AT(config, log_level),
     .fallback = "info",
     .help = "error | warning | info | debug"},
    ROWS_END,
};

static const char default_inputs[] =
    "- name: web\n"
    "  files: [\"/var/log/nginx/{host}.access.log*\", \"/var/log/nginx/access.log*\",\n"
    "          \"/var/log/apache2/{host}-access.log*\", \"/var/log/apache2/access.log*\",\n"
    "          \"/var/log/httpd/access_log*\"]\n";

static const char default_uniques[] =
    "- {name: visitors, key: [client, user_agent]}\n"
    "- {name: humans, key: [client, user_agent], where: {agent_class: human}}\n";

static const char default_topk[] =
    "- {name: paths, key: path}\n"
    "- {name: not_found, key: path, where: {status: 404}, error: 0.002}\n"
    "- {name: errors, key: path, where: {status: 5xx}, error: 0.002}\n"
    "- {name: slow, key: path, where: {duration: \">1s\"}, error: 0.002}\n";

static const char default_seen[] = "- {name: visitors, key: [client, user_agent]}\n";

const struct row config_rows[] = {
    {.key = "timezone",
     BY(timezone),
     AT(config, timezone),
     .fallback = "local",
     .help = "day boundaries: local | log | UTC | an IANA name"},
    {.key = "inputs",
     BY(inputs),
     .rows = input_rows,
     .fallback = default_inputs,
     .help = "where lines come from"},
    {.key = "client",
     .type = VALUE_SECTION,
     .rows = client_rows,
     AT(config, client),
     .fallback = "{}",
     .help = "who made a request"},
    {.key = "agents_file",
     .type = VALUE_NULLABLE,
     AT(config, agents_file),
     .fallback = "null",
     .help = "replaces the built-in list of bots"},
    {.key = "ignore",
     BY(ignore),
     .fallback = "[]",
     .help = "rules; matching lines are not counted"},
    {.key = "uniques",
     BY(metrics),
     .rows = uniques_rows,
     .count = METRIC_UNIQUES,
     .fallback = default_uniques,
     .help = "distinct keys by day"},
    {.key = "topk",
     BY(metrics),
     .rows = topk_rows,
     .count = METRIC_TOPK,
     .fallback = default_topk,
     .help = "most frequent keys by day"},
    {.key = "seen",
     BY(metrics),
     .rows = seen_rows,
     .count = METRIC_SEEN,
     .fallback = default_seen,
     .help = "has this key been here before"},
    {.key = "retention",
     .type = VALUE_DAYS,
     AT(config, retention_days),
     .fallback = "400d",
     .help = "days that are kept, or forever"},
    {.key = "query_cache",
     .type = VALUE_SIZE,
     AT(config, query_cache_bytes),
     .low = 0,
     .high = COUNT_MAX,
     .fallback = "16MiB",
     .help = "for closed days that questions load"},
    {.key = "state",
     .type = VALUE_SECTION,
     .rows = state_rows,
     .fallback = "{}",
     .help = "what survives a restart"},
    {.key = "http",
     .type = VALUE_SECTION,
     .rows = http_rows,
     .fallback = "{}",
     .help = "who may ask, and where"},
    {.key = "log",
     .type = VALUE_SECTION,
     .rows = log_rows,
     .fallback = "{}",
     .help = "what the daemon says"},
    ROWS_END,
};
