/* The wall clock as a value, so that midnight is a test and not a wait.
 * clock_from starts at a given instant and runs on with the monotonic clock (--clock). Any thread.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_S INT64_C(1000000000)

struct clock {
    int64_t (*now_ns)(void *arg); /* nanoseconds since 1970 */
    void *arg;
    int64_t offset_ns; /* what clock_from adds to the monotonic clock */
};

void clock_system(struct clock *c);
void clock_from(struct clock *c, int64_t start_ns);

int64_t clock_now_ns(const struct clock *c);
static inline int64_t clock_now_s(const struct clock *c)
{
    return clock_now_ns(c) / NS_PER_S;
}
int64_t clock_monotonic_ns(void); /* for intervals; never shown */

#endif
