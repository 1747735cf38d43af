#include "base/clock.h"

#include <stddef.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t) t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t wall_ns(void *arg)
{
    (void) arg;
    return read_clock(CLOCK_REALTIME);
}

static int64_t steady_ns(void *arg)
{
    (void) arg;
    return read_clock(CLOCK_MONOTONIC);
}

void clock_system(struct clock *c)
{
    *c = (struct clock){.now_ns = wall_ns};
}

void clock_from(struct clock *c, int64_t start_ns)
{
    *c = (struct clock){.now_ns = steady_ns, .offset_ns = start_ns - steady_ns(NULL)};
}

int64_t clock_now_ns(const struct clock *c)
{
    return c->now_ns(c->arg) + c->offset_ns;
}

int64_t clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}
