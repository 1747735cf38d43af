/* The key streams of the accuracy programs, the same on every machine: the visits and views of the
 * published experiments, and two harder shapes for the most frequent keys. A stream is a list of
 * key numbers; its text, one key a line, has the MD5 sum that is checked where one is known.
 * A failed allocation ends the program. One thread. */
#ifndef ACCURACY_STREAMS_H
#define ACCURACY_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/hash.h"

#define STREAM_KEY_BYTES 32

enum stream_text { STREAM_VISITOR, STREAM_BOOK, STREAM_URL };

struct stream {
    enum stream_text text;
    size_t n;
    uint32_t keys; /* numbers lie below it */
    uint32_t *key; /* n of them */
    /* The truth. */
    uint32_t *count; /* of each of `keys` */
    uint32_t distinct, once;
    uint32_t *rank; /* key numbers, most frequent first; ties by number */
};

/* 1,500,000 visits by 400,000 people; 200,000 of Tuesday's (day 1) are Monday's (day 0). */
struct stream stream_visits(int day);
/* 2,000,000 views of 100,000 books, popularity 1/rank. */
struct stream stream_views(void);
/* 2,000,000 hits on 1,000,000 URLs, popularity 1/rank^0.8. */
struct stream stream_flat(void);
/* 2,000,000 hits; every second one, by chance, asks for a URL that nobody asked for before or will
 * again, the others for 100,000 by 1/rank. */
struct stream stream_scanned(void);
void stream_done(struct stream *s);

/* The length of the key's text, which is NUL-terminated. */
size_t stream_key(enum stream_text text, uint32_t key, char ret[STREAM_KEY_BYTES]);
/* The hashes of keys 0 .. n-1 under a secret. */
void stream_hash(enum stream_text text, uint32_t n, const struct sk_secret *secret,
                 struct sk_hash *ret);
/* MD5 of the texts of the streams one after another, a line feed behind each key. */
bool stream_is(const struct stream *s, unsigned streams, const char *md5_hex);

void *must_alloc(size_t n, size_t each);

#endif
