/* The listening socket: "127.0.0.1:8420", "[::1]:0", "localhost:8420", ":8420" (all addresses) or
 * "unix:/path". Non-blocking, close-on-exec. Owner: who opened it. */
#ifndef HTTP_LISTENER_H
#define HTTP_LISTENER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"

struct listener {
    int fd;
    bool is_unix;
    char address[128]; /* where it really listens, in the form above */
    char path[108];    /* of a UNIX socket, to be removed at the end */
};

/* 0; -EINVAL: no such form; -EADDRINUSE, -EACCES, -EADDRNOTAVAIL, ...; the sentence names the
 * remedy. A UNIX socket that nobody listens on is removed first; anything else at its path is left
 * alone. */
int listener_open(struct listener *ret, const char *listen, struct err *e);
/* From here on nobody can connect; what is connected stays. */
void listener_refuse(struct listener *l);
void listener_close(struct listener *l);
/* The host in an address, with its brackets; {NULL, 0} for a UNIX socket. */
struct slice listener_host(const char *address);

#endif
