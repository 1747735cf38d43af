/* sd_notify(3) without libsystemd: one datagram to $NOTIFY_SOCKET (a path or, with '@', an abstract
 * name). Without that variable everything does nothing. Any thread after notify_init. */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdint.h>

void notify_init(void);
void notify_send(const char *state); /* "READY=1", "STOPPING=1", "STATUS=...", "WATCHDOG=1" */
/* Half of $WATCHDOG_USEC in nanoseconds if it is meant for us, else 0. */
int64_t notify_watchdog_ns(void);

#endif
