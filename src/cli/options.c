#include "cli/options.h"

#include <cjson/cJSON.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

#include "base/nearest.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/output.h"

void options_begin(struct options *o, int argc, char **argv, const struct option_row *rows)
{
    *o = (struct options){.argc = argc, .argv = argv, .rows = rows, .at = 1};
}

static enum option wrong_name(const struct options *o, struct slice given, struct err *e)
{
    struct nearest near;
    nearest_begin(&near, given);
    for (const struct option_row *row = o->rows; row->name; row++)
        nearest_try(&near, row->name);
    const char *best = nearest_end(&near);
    err_set(e, 0, "unknown option '--%.*s'%s%s%s", (int) (given.n < 60 ? given.n : 60), given.p,
            best ? "; did you mean --" : "", best ? best : "", best ? "?" : "");
    return OPTION_WRONG;
}

/* The row's value: what stands behind '=' or the letter, else the next argument. */
static enum option take(struct options *o, unsigned row, const char *attached, unsigned *ret_row,
                        const char **ret_value, struct err *e)
{
    const char *value = attached;
    if (o->rows[row].value && !value) {
        if (o->at == o->argc) {
            err_set(e, 0, "--%s needs a value: --%s %s", o->rows[row].name, o->rows[row].name,
                    o->rows[row].value);
            return OPTION_WRONG;
        }
        value = o->argv[o->at++];
    }
    *ret_row = row;
    *ret_value = value;
    return OPTION_ROW;
}

static enum option long_option(struct options *o, const char *text, unsigned *ret_row,
                               const char **ret_value, struct err *e)
{
    struct slice rest = slice_of(text), name = rest;
    bool has_value = slice_cut(&rest, '=', &name);
    for (unsigned i = 0; o->rows[i].name; i++)
        if (slice_is(name, o->rows[i].name)) {
            if (!has_value || o->rows[i].value)
                return take(o, i, has_value ? rest.p : NULL, ret_row, ret_value, e);
            err_set(e, 0, "--%s takes no value", o->rows[i].name);
            return OPTION_WRONG;
        }
    return wrong_name(o, name, e);
}

static enum option short_option(struct options *o, unsigned *ret_row, const char **ret_value,
                                struct err *e)
{
    char letter = *o->letters++;
    const char *attached = *o->letters ? o->letters : NULL;
    for (unsigned i = 0; o->rows[i].name; i++)
        if (o->rows[i].letter == letter) {
            if (o->rows[i].value || !attached)
                o->letters = NULL;
            return take(o, i, o->rows[i].value ? attached : NULL, ret_row, ret_value, e);
        }
    err_set(e, 0, "unknown option '-%c'", letter >= ' ' && letter <= '~' ? letter : '?');
    return OPTION_WRONG;
}

enum option options_next(struct options *o, unsigned *ret_row, const char **ret_value,
                         struct err *e)
{
    if (o->letters)
        return short_option(o, ret_row, ret_value, e);
    if (o->at >= o->argc)
        return OPTION_END;
    const char *argument = o->argv[o->at++];
    if (!o->only_operands && strcmp(argument, "--") == 0) {
        o->only_operands = true;
        return options_next(o, ret_row, ret_value, e);
    }
    if (o->only_operands || argument[0] != '-' || argument[1] == '\0') {
        *ret_value = argument;
        return OPTION_OPERAND;
    }
    if (argument[1] == '-')
        return long_option(o, argument + 2, ret_row, ret_value, e);
    o->letters = argument + 1;
    return short_option(o, ret_row, ret_value, e);
}

int options_refuse(const char *command, const struct err *e)
{
    output_say(command, "%s (see: reckond %s --help)", e->text, command);
    return EX_USAGE;
}

int options_help(const char *command, const char *usage, const struct option_row *rows,
                 const char *closing)
{
    fputs(usage, stdout);
    for (; rows->name; rows++) {
        char left[48];
        char letter[5] = "    ";
        if (rows->letter)
            snprintf(letter, sizeof(letter), "-%c, ", rows->letter);
        snprintf(left, sizeof(left), "%s--%s%s%s", letter, rows->name, rows->value ? " " : "",
                 rows->value ? rows->value : "");
        printf("  %-27s %s\n", left, rows->help);
    }
    fputs(closing, stdout);
    return output_end(command);
}

bool options_number(const char *text, unsigned long low, unsigned long high, unsigned long *ret)
{
    uint64_t value;
    if (!num_u63(slice_of(text), &value) || value < low || value > high)
        return false;
    *ret = (unsigned long) value;
    return true;
}

/* ---- of the whole program ---- */

static const char help[] =
    "reckond counts distinct visitors, top pages and returning keys in web access logs.\n"
    "\n"
    "  reckond [-c FILE]                      follow the logs and answer over HTTP\n"
    "  reckond report [OPTIONS] [FILE|-]...   read logs once (.gz, .zst too), print answers\n"
    "  reckond check-format [OPTIONS] [FILE]  show how lines are understood\n"
    "  reckond check-config [-c FILE] [-v]    check the configuration, show its cost\n"
    "  reckond --version | --help             COMMAND --help tells more\n"
    "\n"
    "  -c, --config FILE    default: " RK_SYSCONFDIR "/reckond/reckond.yaml\n"
    "      --clock TIME     start the clock there (2026-11-24T12:00:00Z) and run on\n"
    "\n"
    "Examples:\n"
    "  reckond report /var/log/nginx/access.log*\n"
    "  ssh web1 cat /var/log/nginx/access.log | reckond report --json -\n"
    "  curl 'localhost:8420/uniques?from=mon&to=tue'\n"
    "  curl 'localhost:8420/topk?n=10'\n"
    "\n"
    "Exit codes: 0 done, 64 wrong usage, 65 data does not fit, 66 a FILE cannot be read,\n"
    "69 address in use, 70 internal, 71 system, 73 state in use, 74 I/O, 77 permission,\n"
    "78 configuration.\n";

int cli_help(void)
{
    output_begin();
    fputs(help, stdout);
    return output_end(NULL);
}

int cli_version(void)
{
    output_begin();
    printf("reckond %s (MIT licence)\n", PACKAGE_VERSION);
    printf("libmicrohttpd %s, SQLite %s, libyaml %s, cJSON %s, xxHash %u.%u.%u, zlib %s, zstd %s\n",
           MHD_get_version(), sqlite3_libversion(), yaml_get_version_string(), cJSON_Version(),
           XXH_versionNumber() / 10000, XXH_versionNumber() / 100 % 100, XXH_versionNumber() % 100,
           zlibVersion(), ZSTD_versionString());
    return output_end(NULL);
}
