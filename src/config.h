/* The configuration file as one struct: read by the top level and cli only; parts get their own
 * option structs. All keys, types, ranges, defaults and helps are rows of one table in config.c
 * (DESIGN 5). */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "keys/books.h"
#include "keys/client.h"
#include "keys/metric.h"
#include "keys/rule.h"
#include "parse/format.h"

#define CONFIG_INPUTS_MAX 64
#define CONFIG_FORMATS_MAX 16
#define CONFIG_LIST_MAX 64

enum input_kind { INPUT_FILES, INPUT_UDP, INPUT_STDIN };
enum framing { FRAMING_NONE, FRAMING_AUTO, FRAMING_SYSLOG, FRAMING_DOCKER, FRAMING_CRI };

struct config_input {
    char *name;
    enum input_kind kind;
    char *files[CONFIG_LIST_MAX];
    unsigned n_files;
    char *udp;
    struct format_spec formats[CONFIG_FORMATS_MAX];
    unsigned n_formats;
    enum framing framing;
    bool has_client; /* its own client rule; else the general one */
    struct client_rule client;
    bool first_read_end;
    uint64_t receive_buffer_bytes;
    struct cidr allow[CONFIG_LIST_MAX];
    unsigned n_allow;
};

struct config {
    char *timezone; /* as written: "local", "log", "UTC", IANA */
    struct config_input inputs[CONFIG_INPUTS_MAX];
    unsigned n_inputs;
    struct client_rule client;
    char *agents_file;
    struct rule *ignore[BOOKS_RULES_MAX];
    unsigned n_ignore;
    struct metrics metrics;
    uint32_t retention_days; /* 0: forever */
    uint64_t query_cache_bytes;
    char *state_directory;
    int64_t commit_every_ns;
    char *hash_key; /* path, relative to the state directory */
    char *http_listen;
    char *http_hosts[CONFIG_LIST_MAX];
    unsigned n_http_hosts;
    char *http_token_file;
    char *http_cors_origins[CONFIG_LIST_MAX];
    unsigned n_http_cors_origins;
    bool http_dashboard;
    enum log_level log_level;
    char *warnings[CONFIG_LIST_MAX];
    unsigned n_warnings;
};

/* Everything at its default, as by an empty file. 0 or -ENOMEM. */
int config_defaults(struct config **ret);
/* Reads path. 0; -EINVAL: the file is wrong, and every error and warning has been appended to
 * report, one "FILE:LINE:COL: error: ..." each (20 at most, then their number); -ENOENT, -EACCES,
 * ...: not readable, said in report too; -ENOMEM. */
int config_read(struct config **ret, const char *path, struct buf *report);
struct config *config_free(struct config *c);

/* The effective values as YAML that config_read reads back to the same (check-config -v). */
void config_print(const struct config *c, struct buf *to);
/* "client=remote v4=32 v6=128 zone=UTC": what belongs to every series' definition. */
char *config_definition_suffix(const struct config *c, char *buffer, size_t room);

#endif
