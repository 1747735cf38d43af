#include "http/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void read_memory(struct process *p)
{
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return;
    unsigned long long pages, resident;
    long page_bytes = sysconf(_SC_PAGESIZE);
    if (page_bytes > 0 && fscanf(f, "%llu %llu", &pages, &resident) == 2) {
        p->virtual_bytes = pages * (unsigned long) page_bytes;
        p->resident_bytes = resident * (unsigned long) page_bytes;
    }
    fclose(f);
}

static double seconds(struct timeval t)
{
    return (double) t.tv_sec + (double) t.tv_usec / 1e6;
}

static void count_fds(struct process *p)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));)
        p->open_fds += entry->d_name[0] != '.';
    p->open_fds -= p->open_fds > 0; /* the folder's own */
    closedir(dir);
}

void process_read(struct process *ret)
{
    struct rusage usage;
    struct rlimit limit;
    *ret = (struct process){0};
    read_memory(ret);
    count_fds(ret);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        ret->cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        ret->max_fds = limit.rlim_cur;
}
