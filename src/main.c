/* Arguments, configuration, run, exit code; nothing else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/civil.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "config.h"
#include "daemon.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"report", cli_report},
    {"check-format", cli_check_format},
    {"check-config", cli_check_config},
};

static int usage(const char *what, const char *value)
{
    fprintf(stderr, "reckond: %s '%s'; see: reckond --help\n", what, value);
    return EX_USAGE;
}

static int run_daemon(const char *path, const struct clock *clock)
{
    struct buf report;
    buf_init(&report);
    struct config *config = NULL;
    int r = config_read(&config, path, &report);
    if (report.n)
        fwrite(report.p, 1, report.n, stderr);
    buf_done(&report);
    if (r < 0)
        return r == -ENOMEM ? EX_OSERR : EX_CONFIG;
    int exit_code = daemon_run(config, clock);
    config_free(config);
    return exit_code;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
            if (strcmp(argv[1], commands[i].name) == 0)
                return commands[i].run(argc - 1, argv + 1);

    const char *path = RK_SYSCONFDIR "/reckond/reckond.yaml";
    struct clock clock;
    clock_system(&clock);
    for (int i = 1; i < argc;) {
        const char *option = argv[i++], *value = i < argc ? argv[i++] : NULL;
        if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0)
            return cli_help();
        if (strcmp(option, "--version") == 0)
            return cli_version();
        bool is_path = strcmp(option, "-c") == 0 || strcmp(option, "--config") == 0;
        if (!is_path && strcmp(option, "--clock") != 0)
            return usage(option[0] == '-' ? "unknown option" : "unknown command", option);
        if (!value)
            return usage("a value is missing after", option);
        int64_t start_ns;
        if (is_path)
            path = value;
        else if (civil_parse_rfc3339(slice_of(value), &start_ns))
            clock_from(&clock, start_ns);
        else
            return usage("--clock: not a time such as 2026-11-24T12:00:00Z:", value);
    }
    return run_daemon(path, &clock);
}
