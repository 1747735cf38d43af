#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"

#define FIRST_ROOM_BYTES 256

void buf_init(struct buf *b)
{
    *b = (struct buf){0};
}

void buf_done(struct buf *b)
{
    free(b->p);
    buf_init(b);
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->failed = false;
}

bool buf_reserve(struct buf *b, size_t more)
{
    size_t need;
    if (b->failed || !size_add(b->n, more, &need))
        goto failed;
    if (need <= b->room)
        return true;
    size_t room = b->room ? b->room : FIRST_ROOM_BYTES;
    while (room < need)
        if (!size_mul(room, 2, &room))
            room = need;
    char *p = realloc(b->p, room);
    if (!p)
        goto failed;
    b->p = p;
    b->room = room;
    return true;
failed:
    b->failed = true;
    return false;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
    if (n == 0 || !buf_reserve(b, n))
        return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void buf_slice(struct buf *b, struct slice s)
{
    buf_put(b, s.p, s.n);
}

void buf_text(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void buf_byte(struct buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n < 0)
        b->failed = true;
    else if (buf_reserve(b, (size_t) n + 1)) {
        vsnprintf(b->p + b->n, (size_t) n + 1, format, again);
        b->n += (size_t) n;
    }
    va_end(again);
    va_end(args);
}

int buf_failed(const struct buf *b)
{
    return b->failed ? -ENOMEM : 0;
}

char *buf_cstr(struct buf *b)
{
    if (!buf_reserve(b, 1))
        return NULL;
    b->p[b->n] = '\0';
    return b->p;
}

char *buf_steal(struct buf *b)
{
    char *text = buf_cstr(b);
    if (text)
        buf_init(b);
    return text;
}
