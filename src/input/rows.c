#include "input/follow_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool follow_grow(void **p, unsigned *room, unsigned n, size_t each)
{
    if (n < *room)
        return true;
    unsigned more = *room ? 2 * *room : 16;
    void *bigger = reallocarray(*p, more, each);
    if (!bigger)
        return false;
    *p = bigger;
    *room = more;
    return true;
}

struct file *follow_add(struct follow *f, const char *path, struct slice host)
{
    if (f->n_files >= FILES_MAX ||
        !follow_grow((void **) &f->files, &f->room_files, f->n_files, sizeof(struct file *)))
        return NULL;
    struct file *x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    x->fd = -1;
    if (host.n)
        x->host = strndup(host.p, host.n < HOST_MAX ? host.n : HOST_MAX);
    if (!follow_set_path(x, path) || (host.n && !x->host)) {
        free(x->host);
        free(x->path);
        free(x);
        return NULL;
    }
    return f->files[f->n_files++] = x;
}

bool follow_set_path(struct file *x, const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return false;
    free(x->path);
    x->path = copy;
    x->family = family_of(path);
    return true;
}

static void unqueue(struct follow *f, struct file *x)
{
    if (!x->queued)
        return;
    x->queued = false;
    unsigned to = 0;
    for (unsigned i = 0; i < f->n_queue; i++)
        if (f->queue[i] != x)
            f->queue[to++] = f->queue[i];
    f->n_queue = to;
}

void follow_free_file(struct file *x)
{
    if (x->fd >= 0)
        close(x->fd);
    free(x->path);
    free(x->host);
    free(x);
}

void follow_remove(struct follow *f, struct file *x)
{
    archive_drop(f, x);
    unqueue(f, x);
    if (x->id &&
        follow_grow((void **) &f->forgets, &f->room_forgets, f->n_forgets, sizeof(uint64_t)))
        f->forgets[f->n_forgets++] = x->id;
    for (unsigned i = 0; i < f->n_index; i++)
        if (f->index[i].file == x)
            f->index[i].file = NULL;
    for (unsigned i = 0; i < f->n_files; i++)
        if (f->files[i]->of == x) {
            f->files[i]->of = NULL;
            if (f->files[i]->state == FILE_SHADOW)
                f->files[i]->state = FILE_NEW;
        }
    for (unsigned i = 0; i < f->n_files; i++)
        if (f->files[i] == x) {
            f->files[i] = f->files[--f->n_files];
            break;
        }
    follow_free_file(x);
}

void follow_queue(struct follow *f, struct file *x)
{
    if (!x->id)
        x->id = f->next_id++;
    if (x->queued ||
        !follow_grow((void **) &f->queue, &f->room_queue, f->n_queue, sizeof(struct file *)))
        return;
    x->queued = true;
    f->queue[f->n_queue++] = x;
}

void follow_look(struct file *x, const struct stat *st, int64_t now)
{
    int64_t mtime = (int64_t) st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
    int64_t ctime = (int64_t) st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec;
    /* A rename moves the ctime alone: nothing was written. */
    if ((uint64_t) st->st_size != x->size_bytes || mtime != x->mtime_ns || !x->changed_ns)
        x->changed_ns = now;
    if (ctime != x->ctime_ns)
        x->checked_ns = 0;
    x->size_bytes = (uint64_t) st->st_size;
    x->mtime_ns = mtime;
    x->ctime_ns = ctime;
    x->nlink = st->st_nlink;
}

/* The block's names are copies: the row may change hands before the block is used. */
void follow_name(struct follow *f, struct block *b, const struct file *x)
{
    b->path = (struct slice){f->path_text, 0};
    b->host = (struct slice){f->host_text, 0};
    b->path.n = (size_t) snprintf(f->path_text, sizeof(f->path_text), "%s", x->path);
    if (b->path.n >= sizeof(f->path_text))
        b->path.n = sizeof(f->path_text) - 1;
    if (x->host)
        b->host.n = (size_t) snprintf(f->host_text, sizeof(f->host_text), "%s", x->host);
}

void follow_set_position(struct follow *f, struct block *b, struct file *x)
{
    if (!x->id)
        x->id = f->next_id++;
    uint8_t *bytes = f->positions[b->n_positions];
    b->positions[b->n_positions++] = (struct position){x->id, bytes, position_encode(x, bytes)};
    unqueue(f, x);
}
