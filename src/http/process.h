/* What the kernel knows of this process, from /proc/self alone (a hardened unit hides the rest of
 * /proc). Any thread. */
#ifndef HTTP_PROCESS_H
#define HTTP_PROCESS_H

#include <stdint.h>

struct process {
    uint64_t resident_bytes, virtual_bytes;
    double cpu_s;
    uint64_t open_fds, max_fds;
};

/* What cannot be read is 0. */
void process_read(struct process *ret);

#endif
