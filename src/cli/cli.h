/* The one-shot commands. Each takes its arguments with the command's name as argv[0], writes its
 * answer to standard output and what went wrong to standard error, and returns the exit code
 * (sysexits). */
#ifndef CLI_CLI_H
#define CLI_CLI_H

int cli_report(int argc, char **argv);
int cli_check_format(int argc, char **argv);
int cli_check_config(int argc, char **argv);

int cli_help(void);
int cli_version(void);

#endif
