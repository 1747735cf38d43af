/* MD5 (RFC 1321), to say that a stream of keys is the one it should be; guards nothing. */
#ifndef ACCURACY_MD5_H
#define ACCURACY_MD5_H

#include <stddef.h>
#include <stdint.h>

#define MD5_HEX_BYTES 33 /* with the NUL */

struct md5 {
    uint32_t state[4];
    uint64_t bytes;
    uint8_t block[64];
};

struct md5 md5_begin(void);
void md5_add(struct md5 *m, const void *data, size_t n);
void md5_end(struct md5 *m, char ret_hex[MD5_HEX_BYTES]);

#endif
