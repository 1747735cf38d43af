/* What a person gets for a wrong file: every error, each at its place. And what a right one means.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/zone.h"
#include "tap.h"

static char path[] = "/tmp/test_config.XXXXXX";

static void write_file(const char *text, size_t n)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_FATAL(f != NULL);
    CU_ASSERT_EQUAL(fwrite(text, 1, n, f), n);
    fclose(f);
}

/* The report without the file's name in front of its lines: "3:13: error: ...". */
static char *read_bytes(const char *text, size_t n, struct config **ret)
{
    struct buf report, out;
    buf_init(&report);
    buf_init(&out);
    *ret = NULL;
    write_file(text, n);
    int r = config_read(ret, path, &report);
    CU_ASSERT_TRUE(r == 0 || r == -EINVAL || r == -EFBIG);
    CU_ASSERT_EQUAL(r == 0, *ret != NULL);
    struct slice rest = {report.n ? report.p : "", report.n}, line, name = slice_of(path);
    while (slice_cut(&rest, '\n', &line)) {
        if (slice_starts(line, name))
            line = slice_sub(line, name.n + 1, line.n);
        buf_slice(&out, line);
        buf_byte(&out, '\n');
    }
    buf_done(&report);
    return out.n ? buf_steal(&out) : strdup("");
}

static char *read_text(const char *text, struct config **ret)
{
    return read_bytes(text, strlen(text), ret);
}

static struct config *good(const char *text)
{
    struct config *c;
    char *said = read_text(text, &c);
    if (!c)
        printf("# %s\n# %s\n", text, said);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    free(said);
    return c;
}

static void says(const char *text, const char *wanted)
{
    struct config *c;
    char *said = read_text(text, &c);
    bool found = strstr(said, wanted) != NULL;
    if (!found || c)
        printf("# for: %s\n# wanted: %s\n# got: %s\n", text, wanted, said);
    CU_ASSERT_TRUE(found);
    CU_ASSERT_PTR_NULL(c);
    free(said);
    config_free(c);
}

static char *printed(const struct config *c)
{
    struct buf b;
    buf_init(&b);
    config_print(c, &b);
    return buf_steal(&b);
}

/* ---- defaults ---- */

static void the_defaults_are_those_of_the_contract(void)
{
    struct config *c;
    CU_ASSERT_EQUAL_FATAL(config_defaults(&c), 0);
    CU_ASSERT_STRING_EQUAL(c->timezone, "local");
    CU_ASSERT_EQUAL(c->n_inputs, 1);
    CU_ASSERT_EQUAL(c->inputs[0].formats[0].kind, FORMAT_AUTO);
    CU_ASSERT_FALSE(c->inputs[0].first_read_end);
    CU_ASSERT_EQUAL(c->client.ipv6_prefix, 128);
    CU_ASSERT_EQUAL(c->metrics.n, 7);
    static const char *const names[] = {"visitors", "humans", "paths",   "not_found",
                                        "errors",   "slow",   "visitors"};
    for (unsigned i = 0; i < 7; i++)
        CU_ASSERT_STRING_EQUAL(c->metrics.list[i].name, names[i]);
    CU_ASSERT_EQUAL(c->metrics.list[0].precision, 14);
    CU_ASSERT_EQUAL(c->metrics.list[0].exact_until, 10000);
    CU_ASSERT_DOUBLE_EQUAL(c->metrics.list[2].error, 0.0004, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(c->metrics.list[2].confidence, 0.98, 1e-12);
    CU_ASSERT_EQUAL(c->metrics.list[2].k, 100);
    CU_ASSERT_STRING_EQUAL(rule_text(c->metrics.list[4].where), "status=5xx");
    CU_ASSERT_EQUAL(c->metrics.list[6].capacity, 1000000);
    CU_ASSERT_EQUAL(c->metrics.list[6].keep_days, 400);
    CU_ASSERT_EQUAL(c->metrics.list[6].journal_limit_bytes, UINT64_C(4) << 30);
    CU_ASSERT_EQUAL(c->retention_days, 400);
    CU_ASSERT_EQUAL(c->query_cache_bytes, 16 << 20);
    CU_ASSERT_EQUAL(c->commit_every_ns, 1000000000);
    CU_ASSERT_STRING_EQUAL(c->http_listen, "127.0.0.1:8420");
    CU_ASSERT_TRUE(c->http_dashboard);
    CU_ASSERT_PTR_NULL(c->http_token_file);
    CU_ASSERT_EQUAL(c->log_level, LOG_LEVEL_INFO);
    CU_ASSERT_EQUAL(c->n_warnings, 0);
    config_free(c);
}

static void the_shipped_file_reads_to_the_defaults(void)
{
    const char *top = getenv("TOP_SRCDIR");
    char shipped[4096];
    struct config *a, *b;
    struct buf report;
    buf_init(&report);
    snprintf(shipped, sizeof(shipped), "%s/etc/reckond.yaml", top ? top : ".");
    CU_ASSERT_EQUAL_FATAL(config_read(&a, shipped, &report), 0);
    CU_ASSERT_EQUAL(report.n, 0);
    CU_ASSERT_EQUAL_FATAL(config_defaults(&b), 0);
    char *x = printed(a), *y = printed(b);
    CU_ASSERT_STRING_EQUAL(x, y);
    free(x);
    free(y);
    config_free(a);
    config_free(b);
    buf_done(&report);
}

static void an_empty_file_and_inputs_alone_are_valid(void)
{
    config_free(good(""));
    config_free(good("# nothing\n---\n"));
    struct config *c = good("inputs:\n  - {name: a, files: [/x]}\n");
    CU_ASSERT_EQUAL(c->n_inputs, 1);
    CU_ASSERT_STRING_EQUAL(c->inputs[0].files[0], "/x");
    CU_ASSERT_EQUAL(c->metrics.n, 7);
    config_free(c);
}

/* ---- right files ---- */

static const char everything[] =
    "timezone: Europe/Berlin\n"
    "inputs:\n"
    "  - name: web-1\n"
    "    files: ['/var/log/{host}.log', \"/b \\\"c\\\"*\", /a]\n"
    "    format: [vhost_combined, {nginx: '$remote_addr [$time_local] \"$request\" $status "
    "$http_x_forwarded_for'}]\n"
    "    client: {from: x_forwarded_for, trusted_proxies: [10.0.0.0/8, '::1']}\n"
    "    first_read: end\n"
    "  - {name: b, files: /c, format: {apache: '%h %l %u %t \"%r\" %>s %b "
    "\"%{X-Forwarded-For}i\"'}}\n"
    "client: {ipv4_prefix: 24, ipv6_prefix: 48}\n"
    "ignore: [{path: ['/health*', /ping], status: '!5xx'}, 'client=10.0.0.0/8']\n"
    "uniques:\n"
    "  - {name: v, key: client, precision: 12, exact_until: 0, where: {agent_class: human}}\n"
    "topk:\n"
    "  - {name: t, key: [host, path], by: bytes, k: 7, error: 0.001, confidence: 0.9}\n"
    "seen: []\n"
    "retention: forever\n"
    "query_cache: 512KiB\n"
    "state: {directory: /s, commit_every: 250ms, hash_key: /k}\n"
    "http: {listen: 'unix:/run/x.sock', hosts: [a.example, b.example], token_file: /t,\n"
    "       cors_origins: ['https://g.example'], dashboard: false}\n"
    "log: {level: debug}\n";

static void every_key_arrives(void)
{
    struct config *c = good(everything);
    CU_ASSERT_STRING_EQUAL(c->timezone, "Europe/Berlin");
    CU_ASSERT_EQUAL_FATAL(c->n_inputs, 2);
    CU_ASSERT_EQUAL(c->inputs[0].n_files, 3);
    CU_ASSERT_STRING_EQUAL(c->inputs[0].files[1], "/b \"c\"*");
    CU_ASSERT_EQUAL(c->inputs[0].n_formats, 2);
    CU_ASSERT_EQUAL(c->inputs[0].formats[1].kind, FORMAT_NGINX);
    CU_ASSERT_TRUE(c->inputs[0].has_client);
    CU_ASSERT_EQUAL(c->inputs[0].client.n_trusted, 2);
    CU_ASSERT_EQUAL(c->inputs[0].client.trusted[0].bits, 96 + 8);
    CU_ASSERT_TRUE(c->inputs[0].first_read_end);
    CU_ASSERT_EQUAL(c->inputs[1].formats[0].kind, FORMAT_APACHE);
    CU_ASSERT_EQUAL(c->client.ipv4_prefix, 24);
    CU_ASSERT_EQUAL_FATAL(c->n_ignore, 2);
    CU_ASSERT_STRING_EQUAL(rule_text(c->ignore[0]), "path=/health*|/ping&status=!5xx");
    CU_ASSERT_EQUAL_FATAL(c->metrics.n, 2);
    CU_ASSERT_EQUAL(c->metrics.list[0].exact_until, 0);
    CU_ASSERT_EQUAL(c->metrics.list[1].by, BY_BYTES);
    CU_ASSERT_EQUAL(c->metrics.list[1].key.n, 2);
    CU_ASSERT_EQUAL(c->metrics.list[1].key.field[0], FIELD_HOST);
    CU_ASSERT_EQUAL(c->retention_days, 0);
    CU_ASSERT_EQUAL(c->query_cache_bytes, 524288);
    CU_ASSERT_EQUAL(c->commit_every_ns, 250000000);
    CU_ASSERT_EQUAL(c->n_http_hosts, 2);
    CU_ASSERT_STRING_EQUAL(c->http_token_file, "/t");
    CU_ASSERT_FALSE(c->http_dashboard);
    CU_ASSERT_EQUAL(c->log_level, LOG_LEVEL_DEBUG);
    config_free(c);
}

static void what_is_printed_reads_back_to_the_same(void)
{
    static const char *const files[] = {everything, "",
                                        "topk: [{name: a, key: path, where: {path: [\"a&b|c\\\\\", "
                                        "\"x\\u2028\\x85 \\U0001f600\"]}, "
                                        "error: 0.000123456789}]\n"};
    for (unsigned i = 0; i < 3; i++) {
        struct config *c = good(files[i]);
        char *once = printed(c);
        struct config *d = good(once);
        char *twice = printed(d);
        CU_ASSERT_STRING_EQUAL(once, twice);
        free(once);
        free(twice);
        config_free(c);
        config_free(d);
    }
}

static void metrics_come_in_the_order_of_their_kinds(void)
{
    struct config *c = good("seen: [{name: s, key: client}]\ntopk: [{name: t, key: path}]\n"
                            "uniques: [{name: u, key: client}]\n");
    CU_ASSERT_EQUAL_FATAL(c->metrics.n, 3);
    CU_ASSERT_EQUAL(c->metrics.list[0].kind, METRIC_UNIQUES);
    CU_ASSERT_EQUAL(c->metrics.list[1].kind, METRIC_TOPK);
    CU_ASSERT_EQUAL(c->metrics.list[2].kind, METRIC_SEEN);
    config_free(c);
}

static void the_definition_names_client_rule_prefixes_and_zone(void)
{
    char suffix[256], tiny[32];
    struct config *c = good("client: {ipv4_prefix: 24}\n");
    CU_ASSERT_EQUAL_FATAL(zone_set("UTC", NULL), 0);
    CU_ASSERT_STRING_EQUAL(config_definition_suffix(c, suffix, sizeof(suffix)),
                           "client=remote v4=24 v6=128 zone=UTC");
    config_free(c);
    c = good("timezone: log\ninputs: [{name: a, files: /a, format: nginx-xff, client: {from: "
             "x_forwarded_for, trusted_proxies: [10.0.0.1]}}]\n");
    config_definition_suffix(c, suffix, sizeof(suffix));
    CU_ASSERT_STRING_EQUAL(
        suffix, "client=remote v4=32 v6=128 zone=log a:client=x_forwarded_for v4=32 v6=128");
    config_definition_suffix(c, tiny, sizeof(tiny));
    CU_ASSERT_EQUAL(strlen(tiny), sizeof(tiny) - 20 + 3 + 16);
    config_free(c);
}

/* ---- warnings ---- */

static void doubtful_settings_are_warned_of(void)
{
    static const struct {
        const char *text, *warning;
    } rows[] = {
        {"http: {listen: '0.0.0.0:80'}\n", "1:16: warning: 0.0.0.0:80 is not loopback"},
        {"http: {listen: '[2001:db8::1]:80'}\n", "1:16: warning: "},
        {"inputs: [{name: a, files: /a, format: nginx-xff}]\nclient: {from: x_forwarded_for}\n",
         "2:9: warning: client from x_forwarded_for without trusted_proxies"},
        {"client: {trusted_proxies: [10.0.0.1]}\n", "1:9: warning: trusted_proxies do nothing"},
        {"inputs:\n  - {name: a, files: /x}\n  - {name: b, files: /x}\n",
         "3:22: warning: '/x' is a file of input 'a' already"},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct config *c;
        char *said = read_text(rows[i].text, &c);
        if (!strstr(said, rows[i].warning))
            printf("# wanted: %s\n# got: %s\n", rows[i].warning, said);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, rows[i].warning));
        CU_ASSERT_PTR_NOT_NULL_FATAL(c);
        CU_ASSERT_EQUAL(c->n_warnings, 1);
        free(said);
        config_free(c);
    }
    config_free(good("http: {listen: '127.0.0.1:80'}\n"));
    struct config *c = good("http: {listen: 'localhost:80'}\n");
    CU_ASSERT_EQUAL(c->n_warnings, 0);
    config_free(c);
}

/* ---- wrong files ---- */

#define IN(text) "inputs:\n  - name: a\n    files: /a\n    " text "\n"

static void wrong_values_are_told_with_line_and_column(void)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"timezon: UTC\n", "1:1: error: unknown key 'timezon'; did you mean 'timezone'?"},
        {"xyzzy: 1\n", "1:1: error: unknown key 'xyzzy'\n"},
        {"timezone: Mars/Base\n", "1:11: error: timezone 'Mars/Base' is not in the tz database"},
        {"timezone:\n", "error: timezone must be a text, got nothing"},
        {"timezone: [UTC]\n", "1:11: error: timezone must be a text, got a list"},
        {"timezone: ../../etc/passwd\n", "1:11: error: timezone '../../etc/passwd'"},
        {"timezone: UTC\ntimezone: UTC\n", "2:1: error: 'timezone' appears twice (first at 1:1)"},
        {"log:\n  level: info\n  level: info\n",
         "3:3: error: 'level' appears twice in log (first at 2:3)"},
        {"topk:\n  - {name: a, key: path, name: b}\n",
         "2:26: error: 'name' appears twice in topk[0] (first at 2:6)"},
        {"inputs: []\n", "1:9: error: inputs must list one input at least"},
        {"inputs:\n", "error: inputs must list one input at least"},
        {"inputs: [a]\n", "1:10: error: an input is a map"},
        {"inputs:\n  - files: /a\n", "2:5: error: inputs[0]: 'name' is missing"},
        {"inputs:\n  - name: a\n", "2:5: error: an input has one of files, udp and stdin"},
        {"inputs:\n  - {name: 'a b', files: /a}\n", "2:12: error: name must be a name of up to 64"},
        {"inputs:\n  - {name: a, files: []}\n", "2:22: error: files must name one file"},
        {"inputs:\n  - {name: a, files: '/{host}/{host}'}\n", "2:22: error: {host} may stand"},
        {"inputs:\n  - {name: a, files: /var/log/}\n", "2:22: error: '/var/log/' is a folder"},
        {"inputs:\n  - {name: a, files: /a}\n  - {name: a, files: /b}\n",
         "3:12: error: two inputs are called 'a'"},
        {IN("fist_read: end"), "4:5: error: unknown key 'fist_read' in inputs[0]; did you mean "
                               "'first_read'?"},
        {IN("first_read: middle"),
         "4:17: error: first_read must be one of begin, end, got 'middle'"},
        {IN("format: combnied"),
         "4:13: error: unknown format 'combnied'; did you mean 'combined'?"},
        {IN("format: squid"), "4:13: error: format 'squid' is not in this version"},
        {IN("format: '$remote_addr'"), "4:13: error: a format string goes under its server's name"},
        {IN("format: {json: {time: ts}}"), "4:14: error: JSON formats are not in this version"},
        {IN("format: {ngnix: x}"), "4:13: error: a format is one of: auto"},
        {IN("format: {nginx: [a]}"), "4:21: error: nginx must be the server's format string"},
        {IN("format: [auto, common]"), "4:14: error: auto stands alone"},
        {IN("format: []"), "4:13: error: a list of formats has 1 to"},
        {IN("format:"), "error: a format is a name"},
        {IN("format: {nginx: '$remote_addr $'}"), "4:21: error: "},
        {IN("framing: syslog"), "4:14: error: framing 'syslog' is not in this version"},
        {IN("framing: sislog"), "4:14: error: framing must be one of none, auto"},
        {IN("names: {a: client}"), "4:12: error: names is not in this version"},
        {IN("udp: '127.0.0.1:5140'"), "4:10: error: udp inputs are not in this version"},
        {IN("stdin: true"), "4:12: error: stdin inputs are not in this version"},
        {IN("client: remote"), "4:13: error: client must be a map"},
        {IN("receive_buffer: 8"), "4:21: error: receive_buffer must be a size with its unit"},
        {IN("allow: [localhost]"), "4:13: error: 'localhost' is not a network"},
        {IN("client: {from: x_forwarded_for}"), "4:13: error: client from x_forwarded_for, but no "
                                                "format of input 'a' has that header"},
        {"client: {from: cookie}\n", "1:16: error: from must be one of remote, x_forwarded_for"},
        {"client: {ipv4_prefix: 33}\n",
         "1:23: error: ipv4_prefix must be a whole number from 0 to 32"},
        {"client: {ipv6_prefix: -1}\n", "1:23: error: ipv6_prefix must be a whole number"},
        {"client: {trusted_proxies: [10.0.0.0/40]}\n",
         "1:28: error: '10.0.0.0/40' is not a network"},
        {"ignore:\n", "error: ignore must be a list of rules"},
        {"ignore: [{}]\n",
         "1:10: error: ignore must be a rule such as {status: 404}, got an empty map"},
        {"ignore: [{path: {a: b}}]\n", "1:17: error: path must be a value or a list of values"},
        {"ignore: [{pth: /a}]\n", "1:11: error: unknown field 'pth'; did you mean 'path'?"},
        {"ignore: [{status: 6xx}]\n", "1:19: error: status: '6xx' is not a status"},
        {"ignore: [{x_forwarded_for: a}]\n", "1:11: error: unknown field 'x_forwarded_for'"},
        {"ignore: [nonsense]\n", "1:10: error: 'nonsense' is no rule"},
        {"uniques:\n", "error: uniques has no value; write [] for none"},
        {"uniques: [{key: client}]\n", "1:11: error: uniques[0]: 'name' is missing"},
        {"uniques: [{name: a}]\n", "1:11: error: uniques[0]: 'key' is missing"},
        {"uniques: [{name: a, key: []}]\n", "1:26: error: key must name 1 to 8 fields"},
        {"uniques: [{name: a, key: clinet}]\n", "1:26: error: unknown field 'clinet'; did you mean "
                                                "'client'?"},
        {"uniques: [{name: a, key: [path, path]}]\n", "1:33: error: 'path' is in the key twice"},
        {"uniques:\n  - {name: a, key: client, precison: 9}\n",
         "2:28: error: unknown key 'precison' in uniques[0]; did you mean 'precision'?"},
        {"uniques: [{name: a, key: client, precision: high}]\n",
         "1:45: error: precision must be a whole number from 4 to 18, got 'high'"},
        {"uniques: [{name: a, key: client, precision: 19}]\n", "1:45: error: precision must be"},
        {"uniques: [{name: a, key: client, precision: 3}]\n", "1:45: error: precision must be"},
        {"uniques: [{name: a, key: client, exact_until: 1000001}]\n",
         "1:47: error: exact_until must"},
        {"uniques: [{name: a, key: client}, {name: a, key: path}]\n",
         "1:42: error: two of uniques are called 'a'"},
        {"topk: [{name: a, key: path, k: 0}]\n",
         "1:32: error: k must be a whole number from 1 to 1000"},
        {"topk: [{name: a, key: path, k: 1001}]\n", "1:32: error: k must be"},
        {"topk: [{name: a, key: path, by: hit}]\n", "1:33: error: by must be one of hits, bytes, "
                                                    "duration, got 'hit'"},
        {"topk: [{name: a, key: path, error: 0}]\n",
         "1:36: error: error must be a number between 0"},
        {"topk: [{name: a, key: path, error: 1}]\n",
         "1:36: error: error must be a number between 0"},
        {"topk: [{name: a, key: path, error: nan}]\n", "1:36: error: error must be a number"},
        {"topk: [{name: a, key: path, error: 1e-12}]\n", "1:36: error: this error and confidence"},
        {"topk: [{name: a, key: path, confidence: 1.5}]\n", "1:41: error: confidence must be"},
        {"seen: [{name: a, key: path, where: {status: 200}}]\n",
         "1:29: error: unknown key 'where'"},
        {"seen: [{name: a, key: path, capacity: 0}]\n",
         "1:39: error: capacity must be a whole number"},
        {"seen: [{name: a, key: path, capacity: 10000000000}]\n",
         "1:39: error: a filter of this capacity and rate takes 11426 MiB, over its memory_limit"},
        {"seen: [{name: a, key: path, false_positive: 0}]\n",
         "1:45: error: false_positive must be"},
        {"seen: [{name: a, key: path, keep: 36h}]\n", "1:35: error: keep must be whole days"},
        {"retention: 30\n", "1:12: error: retention must be whole days such as 400d, or forever"},
        {"retention: 0d\n", "1:12: error: retention must be"},
        {"query_cache: 16\n", "1:14: error: query_cache must be a size with its unit"},
        {"query_cache: 16MB\n", "1:14: error: query_cache must be a size with its unit"},
        {"state: {commit_every: 1}\n",
         "1:23: error: commit_every must be a duration with its unit"},
        {"state: {commit_every: 2h}\n", "1:23: error: commit_every must be"},
        {"state: {directory: ''}\n", "1:20: error: directory must be a text"},
        {"state: {directory: \"a\\0b\"}\n", "1:20: error: directory holds a NUL byte"},
        {"state: [a]\n", "1:8: error: state must be a map of keys, got a list"},
        {"http: {listen: 8420}\n", "1:16: error: '8420' is no address to listen at"},
        {"http: {listen: 'example.org:80'}\n", "1:16: error: 'example.org:80' is no address"},
        {"http: {listen: '127.0.0.1:65536'}\n", "1:16: error: '127.0.0.1:65536' is no address"},
        {"http: {listen: '::1:80'}\n", "1:16: error: '::1:80' is no address"},
        {"http: {listen: 'unix:x'}\n", "1:16: error: a socket needs an absolute path"},
        {"http: {dashboard: yes}\n",
         "1:19: error: dashboard must be one of false, true, got 'yes'"},
        {"http: {cors_origins: [g.example]}\n", "1:23: error: 'g.example' is no origin"},
        {"http: {hosts: {a: b}}\n", "1:15: error: hosts must be a list of texts, got a map"},
        {"log: {level: loud}\n", "1:14: error: level must be one of error, warning, info, debug"},
        {"- a\n", "1:1: error: the configuration is a map of keys"},
        {"just words\n", "1:1: error: the configuration is a map of keys"},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        says(rows[i].text, rows[i].error);
}

static void yaml_traps_get_hints_of_our_own(void)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        {"inputs:\n  - name: a\n    files: *.log\n",
         "3:13: error: '*' starts an alias in YAML; put the glob in quotes: \"*.log\"\n"
         "    3 |     files: *.log\n      |             ^\n"},
        {"inputs:\n  - {name: a, files: *log}\n", "2:22: error: '*' starts an alias in YAML"},
        {"inputs:\n  - name: a\n    format: {apache: %h %l}\n",
         "3:22: error: '%' cannot start a value in YAML; put the format string in quotes"},
        {"inputs:\n  - name: @a\n", "2:11: error: '@' and '`' cannot start a value"},
        {"# \xc3\xa4\xc3\xb6\ninputs:\n  - name: \xc3\xa4\xc3\xb6 # \xe2\x82\xac\n    files: %h\n",
         "4:12: error: '%' cannot start a value"},
        {"log:\n\tlevel: info\n", "2:1: error: YAML is indented by blanks; replace the tab"},
        {"inputs: [{name: a, files: [/x/{host}.log]}]\n", "put a file name with {host} in quotes"},
        {"log: [a, b\n", "(while parsing a flow sequence that begins at 1:6)"},
        {"log: \"abc\n", "begins at 1:6"},
        {"a: b: c\n", "1:5: error: mapping values are not allowed"},
        {"log: {level: info}\n---\nlog: {}\n", "2:1: error: a second document begins here"},
        {"log: &l {level: info}\nhttp: *l\n", "1:6: error: anchors ('&l') are not read"},
        {"log: &l {level: info}\nhttp: *l\n", "2:7: error: '*' starts an alias"},
        {"timezone: !!str UTC\n", "1:11: error: tags ("},
        {"? [a, b]\n: c\n", "1:3: error: a key must be a word"},
        {"[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]\n", "1:17: error: more than 16 levels deep"},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        says(rows[i].text, rows[i].error);
}

static void bytes_that_are_no_text_have_their_place(void)
{
    struct config *c;
    char *said = read_bytes("log: {}\n# \xc3\xa4 \xff\n", 14, &c);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "2:5: error: this byte (0xff) is no UTF-8"));
    free(said);
    said = read_bytes("log: {}\n# \0\n", 12, &c);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "2:3: error: control characters are not allowed"));
    free(said);
    config_free(good("\xef\xbb\xbftimezone: UTC\n"));
    said = read_text("\xef\xbb\xbftimezon: UTC\n", &c);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "1:1: error: unknown key 'timezon'"));
    free(said);
    /* What a terminal would obey is shown escaped. */
    said = read_text("timezone: \"\\e[31m\"\n", &c);
    CU_ASSERT_PTR_NULL(strchr(said, '\033'));
    free(said);
}

static void all_errors_come_in_one_run_in_the_files_order(void)
{
    struct config *c;
    char *said = read_text("log: {level: loud}\ntimezone: Nowhere\nxyzzy: 1\n", &c);
    char *first = strstr(said, "1:14: error"), *second = strstr(said, "2:11: error"),
         *third = strstr(said, "3:1: error");
    CU_ASSERT_TRUE(first && second && third && first < second && second < third);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "3 errors\n"));
    free(said);
}

static void twenty_errors_are_shown_and_the_rest_counted(void)
{
    struct config *c;
    struct buf text;
    buf_init(&text);
    for (int i = 0; i < 50; i++)
        buf_printf(&text, "unknown%d: 1\n", i);
    char *said = read_text(buf_cstr(&text), &c);
    unsigned shown = 0;
    for (const char *at = said; (at = strstr(at, ": error: ")); at++)
        shown++;
    CU_ASSERT_EQUAL(shown, 20);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "50 errors, the first 20 are shown\n"));
    free(said);
    buf_done(&text);
}

static void a_long_line_is_shown_around_its_place(void)
{
    struct config *c;
    struct buf text;
    buf_init(&text);
    buf_text(&text, "http: {hosts: [");
    for (int i = 0; i < 60; i++)
        buf_printf(&text, "host%d.example, ", i);
    buf_text(&text, "a], listen: 1}\n");
    char *said = read_text(buf_cstr(&text), &c), *line = strtok(said, "\n");
    for (; line; line = strtok(NULL, "\n"))
        CU_ASSERT_TRUE(strlen(line) < 160);
    free(said);
    buf_done(&text);
}

static void floods_are_refused_and_do_not_cost_much(void)
{
    struct config *c;
    struct buf text;
    buf_init(&text);
    for (int i = 0; i < 300; i++)
        buf_printf(&text, "k%d: 1\n", i);
    char *said = read_text(buf_cstr(&text), &c);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "257:1: error: more than 256 keys"));
    free(said);
    buf_clear(&text);
    buf_byte(&text, '[');
    for (int i = 0; i < 200000; i++)
        buf_text(&text, "a,");
    buf_byte(&text, ']');
    said = read_text(buf_cstr(&text), &c);
    CU_ASSERT_PTR_NOT_NULL(strstr(said, "more than 100000 values"));
    free(said);
    buf_clear(&text);
    while (text.n <= (1 << 20))
        buf_text(&text, "# filling up\n");
    said = read_bytes(text.p, text.n, &c);
    CU_ASSERT_PTR_NULL(c);
    free(said);
    buf_done(&text);
}

static void limits_of_lists_are_errors_and_not_overruns(void)
{
    static const struct {
        const char *head, *item, *tail, *error;
        int n;
    } rows[] = {
        {"inputs:\n", "  - {name: n%d, files: /a%d}\n", "", "more than 64 inputs", 66},
        {"inputs:\n  - name: a\n    files: [", "/f%d_%d, ", "/z]\n", "more than 64 globs", 66},
        {"uniques: [", "{name: n%d, key: client, exact_until: %d}, ", "]\n",
         "more than 64 of uniques", 66},
        {"ignore: [", "{path: /%d, query: q%d}, ", "]\n", "more than 64 rules", 66},
        {"http: {hosts: [", "h%d-%d, ", "]}\n", "hosts has more than 64 values", 66},
        {"http: {cors_origins: [", "'http://h%d-%d', ", "]}\n", "cors_origins has more than 64",
         66},
        {"topk: [{name: a, key: path, where: {path: [", "/%d-%d, ", "]}}]\n",
         "takes 1 to 256 values", 260},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct buf text;
        buf_init(&text);
        buf_text(&text, rows[i].head);
        for (int j = 0; j < rows[i].n; j++) {
            char item[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(item, sizeof(item), rows[i].item, j, j);
#pragma GCC diagnostic pop
            buf_text(&text, item);
        }
        buf_text(&text, rows[i].tail);
        says(buf_cstr(&text), rows[i].error);
        buf_done(&text);
    }
}

static void an_unreadable_file_is_named_with_a_remedy(void)
{
    struct config *c = NULL;
    struct buf report;
    buf_init(&report);
    CU_ASSERT_EQUAL(config_read(&c, "/nowhere/reckond.yaml", &report), -ENOENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(buf_cstr(&report), "/nowhere/reckond.yaml"));
    CU_ASSERT_PTR_NOT_NULL(strstr(buf_cstr(&report), "-c FILE"));
    CU_ASSERT_PTR_NULL(c);
    buf_clear(&report);
    CU_ASSERT_TRUE(config_read(&c, "/", &report) < 0);
    CU_ASSERT_TRUE(report.n > 0);
    buf_done(&report);
}

static const struct test tests[] = {
    TEST(the_defaults_are_those_of_the_contract),
    TEST(the_shipped_file_reads_to_the_defaults),
    TEST(an_empty_file_and_inputs_alone_are_valid),
    TEST(every_key_arrives),
    TEST(what_is_printed_reads_back_to_the_same),
    TEST(metrics_come_in_the_order_of_their_kinds),
    TEST(the_definition_names_client_rule_prefixes_and_zone),
    TEST(doubtful_settings_are_warned_of),
    TEST(wrong_values_are_told_with_line_and_column),
    TEST(yaml_traps_get_hints_of_our_own),
    TEST(bytes_that_are_no_text_have_their_place),
    TEST(all_errors_come_in_one_run_in_the_files_order),
    TEST(twenty_errors_are_shown_and_the_rest_counted),
    TEST(a_long_line_is_shown_around_its_place),
    TEST(floods_are_refused_and_do_not_cost_much),
    TEST(limits_of_lists_are_errors_and_not_overruns),
    TEST(an_unreadable_file_is_named_with_a_remedy),
    TESTS_END,
};

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return EXIT_FAILURE;
    close(fd);
    int r = tap_run("config", tests);
    unlink(path);
    return r;
}
