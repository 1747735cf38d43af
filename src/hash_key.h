/* The file of the hash key: exactly SK_SECRET_BYTES raw random bytes that nobody but its owner can
 * read. A key that is there is never overwritten; a new one appears whole or not at all. Any
 * thread. */
#ifndef HASH_KEY_H
#define HASH_KEY_H

#include <stdbool.h>

#include "base/err.h"
#include "sketch/hash.h"

/* Fills *ret from the system's random source. 0 or -errno. */
int hash_key_random(struct sk_secret *ret);
/* 0; -ENOENT: there is none (and create is false, or its folder is missing); -EINVAL: wrong size,
 * all zero, or a permission bit for group or others; -EACCES, -EROFS, -ENOSPC, ...: not readable,
 * cannot be made. */
int hash_key_load(struct sk_secret *ret, const char *path, bool create, struct err *e);

#endif
