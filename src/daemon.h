/* The daemon: starts the parts in order, stops them in reverse; the only place that starts threads
 * of its own (ingest loop, HTTP, committer). */
#ifndef DAEMON_H
#define DAEMON_H

#include "base/clock.h"
#include "config.h"

/* Runs until SIGTERM or SIGINT; returns the exit code (sysexits). Call it from the main thread,
 * first. */
int daemon_run(const struct config *config, const struct clock *clock);

#endif
