/* What a store needs to know of a kind of sketch: how to keep it and bring it back. Each kind is
 * one file that ends with its table; stores never look inside.
 *
 * Forms: magic (4 bytes), version (u16), hash id (u16), key fingerprint (16), parameters, body,
 * CRC-32 (IEEE) of all before it; integers little-endian. Loaders take hostile bytes. */
#ifndef SKETCH_SKETCH_H
#define SKETCH_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/hash.h"

struct sk_kind {
    const char *name;
    uint16_t id;      /* written in the store; never reused */
    uint16_t version; /* of the form that save writes */
    /* Upper bound of save's result for this object, whatever is added later: allocate once. */
    size_t (*save_room)(const void *sketch);
    /* Writes the form; returns its length, or 0 when room is too small. No allocation. */
    size_t (*save)(const void *sketch, const struct sk_stamp *stamp, uint8_t *to, size_t room);
    /* 0; -EBADMSG damaged; -EPROTO another version; -EKEYREJECTED another stamp; -ENOMEM. */
    int (*load)(void **ret, const uint8_t *from, size_t n, const struct sk_stamp *stamp);
    void *(*free)(void *sketch);         /* NULL is fine; returns NULL */
    size_t (*bytes)(const void *sketch); /* memory in use */
};

/* The frame of every form, shared by the kinds. */
#define SK_FORM_HEAD_BYTES 24 /* magic, version, hash id, fingerprint */
#define SK_FORM_TAIL_BYTES 4  /* CRC */

/* Writes the head; the body starts at to + SK_FORM_HEAD_BYTES. */
void sk_form_begin(uint8_t *to, const char magic[4], uint16_t version,
                   const struct sk_stamp *stamp);
/* Appends the CRC to the n bytes written so far; returns n + 4. */
size_t sk_form_end(uint8_t *to, size_t n);
/* Checks frame, CRC, version and stamp; 0 and the body, or the errors of load. */
int sk_form_check(const uint8_t *from, size_t n, const char magic[4], uint16_t version,
                  const struct sk_stamp *stamp, const uint8_t **ret_body, size_t *ret_n);

#endif
