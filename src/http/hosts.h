/* The names this server answers to (against DNS rebinding, where a browser is talked into sending
 * another site's name to our address): localhost, any IP literal, and those that were added. Names
 * are compared without port, case and one last dot. One thread per object. */
#ifndef HTTP_HOSTS_H
#define HTTP_HOSTS_H

#include <stdbool.h>

#include "base/slice.h"

#define HOSTS_MAX 128
#define HOSTS_NAME_BYTES 256

struct hosts {
    char *names[HOSTS_MAX];
    unsigned n;
};

void hosts_init(struct hosts *h);
void hosts_done(struct hosts *h);
/* 0; -ENOMEM; -E2BIG: HOSTS_MAX names, or a name too long */
int hosts_add(struct hosts *h, struct slice name);
/* The machine's name as it is set, its short form, and what /etc/hosts calls it. No DNS is asked: a
 * dead resolver would hold up the start. 0 or -ENOMEM */
int hosts_add_machine(struct hosts *h);
/* value: of a Host header, with or without port. */
bool hosts_have(const struct hosts *h, struct slice value);
/* The value without port and last dot; {NULL, 0}: malformed. Brackets of an IPv6 literal stay. */
struct slice hosts_bare(struct slice value);

#endif
