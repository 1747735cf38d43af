/* reckond check-config: all errors of the file at once; -v: the effective values and what they
 * cost. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/file.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/output.h"
#include "config.h"
#include "keys/agent.h"
#include "sketch/cms.h"
#include "store/store.h"

#define COMMAND "check-config"
#define AGENTS_FILE_BYTES ((size_t) 1 << 20)
#define MIB 1048576.0

enum { CONFIG, VERBOSE, HELP };
static const struct option_row rows[] = {
    [CONFIG] = {"config", 'c', "FILE", "default: " RK_SYSCONFDIR "/reckond/reckond.yaml"},
    [VERBOSE] = {"verbose", 'v', NULL, "print the effective values, memory and disk"},
    [HELP] = {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

/* Kept a day by its form: the exact set while it is the larger one, registers, or table and keys.
 */
static double day_bytes(const struct metric *m)
{
    uint32_t width, depth;
    if (m->kind == METRIC_UNIQUES) {
        double registers = (double) (1u << m->precision), exact = 8.0 * m->exact_until;
        return exact > registers ? exact : registers;
    }
    if (m->kind == METRIC_TOPK && sk_cms_shape(m->error, m->confidence, &width, &depth) == 0)
        return (double) width * depth * (m->by == BY_HITS ? 4 : 8) + 128.0 * m->k;
    return 0;
}

static void print_cost(const struct config *c)
{
    struct store_options options = {
        .metrics = &c->metrics, .retention_days = c->retention_days, .n_inputs = c->n_inputs};
    double a_day = 0, journals = 0;
    for (unsigned i = 0; i < c->metrics.n; i++) {
        a_day += day_bytes(&c->metrics.list[i]);
        if (c->metrics.list[i].kind == METRIC_SEEN)
            journals += (double) c->metrics.list[i].journal_limit_bytes;
    }
    printf("# memory: at most %.0f MiB, and %.0f MiB for questions\n",
           (double) store_memory_bound(&options) / MIB, (double) c->query_cache_bytes / MIB);
    printf("# disk: at most %.2f MiB a day", a_day / MIB);
    if (c->retention_days > 0)
        printf(", %.0f MiB for %u days", a_day * c->retention_days / MIB, c->retention_days);
    if (journals > 0)
        printf("; journals of seen: 8 bytes a new key and day, at most %.0f MiB", journals / MIB);
    putchar('\n');
}

static int check_agents(const struct config *c)
{
    struct agent_list *agents = NULL;
    struct buf text;
    struct err e = {""};
    if (!c->agents_file)
        return 0;
    buf_init(&text);
    int r = file_read(c->agents_file, AGENTS_FILE_BYTES, &text, &e);
    if (r == 0)
        r = agent_list_new(&agents, text.n ? buf_cstr(&text) : "", &e);
    if (r < 0)
        output_say(COMMAND, "agents_file: %s", e.text);
    agent_list_free(agents);
    buf_done(&text);
    return r;
}

static int check(const char *path, bool is_verbose)
{
    struct config *c = NULL;
    struct buf text;
    buf_init(&text);
    int r = config_read(&c, path, &text);
    output_say_lines((struct slice){text.p, text.n});
    if (r == 0)
        r = check_agents(c);
    if (r == 0 && is_verbose) {
        buf_clear(&text);
        config_print(c, &text);
        output_write(text.p, text.n);
        print_cost(c);
    } else if (r == 0) {
        struct buf shown;
        buf_init(&shown);
        utf8_escape(&shown, slice_of(path));
        printf("%s: valid\n", shown.n ? buf_cstr(&shown) : "");
        buf_done(&shown);
    }
    buf_done(&text);
    config_free(c);
    if (r < 0)
        return r == -ENOMEM ? EX_OSERR : EX_CONFIG;
    return output_end(COMMAND);
}

int cli_check_config(int argc, char **argv)
{
    struct options o;
    struct err e;
    unsigned row;
    const char *value, *path = RK_SYSCONFDIR "/reckond/reckond.yaml";
    bool is_verbose = false;
    output_begin();
    options_begin(&o, argc, argv, rows);
    for (;;)
        switch (options_next(&o, &row, &value, &e)) {
        case OPTION_END:
            return check(path, is_verbose);
        case OPTION_OPERAND:
            err_set(&e, 0, "'%.200s' is one argument too many; a file is named by -c FILE", value);
            return options_refuse(COMMAND, &e);
        case OPTION_WRONG:
            return options_refuse(COMMAND, &e);
        case OPTION_ROW:
            if (row == HELP)
                return options_help(COMMAND, "reckond check-config [-c FILE] [-v]\n", rows,
                                    "Exit code 0: valid; 78: errors, each with its place.\n");
            if (row == CONFIG)
                path = value;
            else
                is_verbose = true;
        }
}
