#include "notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"
#include "base/slice.h"

static int notify_fd = -1;
static struct sockaddr_un notify_to;
static socklen_t notify_to_bytes;

void notify_init(void)
{
    const char *name = getenv("NOTIFY_SOCKET");
    if (!name || (name[0] != '/' && name[0] != '@'))
        return;
    size_t n = strlen(name);
    if (n < 2 || n >= sizeof notify_to.sun_path)
        return;
    notify_to.sun_family = AF_UNIX;
    memcpy(notify_to.sun_path, name, n);
    if (name[0] == '@')
        notify_to.sun_path[0] = '\0';
    notify_to_bytes = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + n);
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

void notify_send(const char *state)
{
    if (notify_fd >= 0)
        (void) sendto(notify_fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
                      (const struct sockaddr *) &notify_to, notify_to_bytes);
}

int64_t notify_watchdog_ns(void)
{
    uint64_t usec, pid;
    const char *text = getenv("WATCHDOG_USEC"), *whose = getenv("WATCHDOG_PID");
    if (!text || !num_u63(slice_of(text), &usec) || usec > UINT64_C(1) << 40)
        return 0;
    if (whose && (!num_u63(slice_of(whose), &pid) || pid != (uint64_t) getpid()))
        return 0;
    return (int64_t) usec * 1000 / 2;
}
