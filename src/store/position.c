/* Positions in memory: sorted by input and id, each an immutable blob that a commit under way may
 * share. */
#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool blob_drop(struct blob *b)
{
    return b && --b->users == 0;
}

static bool position_before(const struct position_entry *p, unsigned input, uint64_t id)
{
    return p->input != input ? p->input < input : p->id < id;
}

/* The place where (input, id) is or belongs. */
static unsigned position_place(const struct store *s, unsigned input, uint64_t id)
{
    unsigned from = 0, to = s->n_positions;
    while (from < to) {
        unsigned middle = from + (to - from) / 2;
        if (position_before(&s->positions[middle], input, id))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

int position_make_room(struct store *s, unsigned n)
{
    store_lock(s);
    unsigned need = s->n_positions + n, room = s->positions_room;
    store_unlock(s);
    if (need <= room)
        return 0;
    struct position_entry *grown = calloc(2 * (size_t) need, sizeof(*grown)), *old;
    if (!grown)
        return -ENOMEM;
    store_lock(s);
    old = s->positions;
    if (s->n_positions)
        memcpy(grown, old, s->n_positions * sizeof(*old));
    s->positions = grown;
    s->positions_room = 2 * need;
    store_unlock(s);
    free(old);
    return 0;
}

struct blob *position_set(struct store *s, unsigned input, uint64_t id, struct blob *blob)
{
    unsigned at = position_place(s, input, id);
    bool there =
        at < s->n_positions && s->positions[at].input == input && s->positions[at].id == id;
    if (!there) {
        memmove(s->positions + at + 1, s->positions + at,
                (s->n_positions - at) * sizeof(*s->positions));
        s->n_positions++;
        s->positions[at] = (struct position_entry){.input = input, .id = id};
    }
    struct blob *old = s->positions[at].blob;
    s->positions[at].blob = blob;
    s->positions[at].dirty = true;
    return blob_drop(old) ? old : NULL;
}

void position_free(struct blob **blobs, unsigned n)
{
    for (unsigned i = 0; blobs && i < n; i++)
        free(blobs[i]);
    free(blobs);
}

int position_copy(const struct store_delta *d, struct blob ***ret)
{
    struct blob **blobs = calloc(d->n_positions + 1, sizeof(*blobs));
    for (unsigned i = 0; blobs && i < d->n_positions; i++) {
        const struct store_position *p = &d->positions[i];
        if (p->n == 0)
            continue;
        blobs[i] = malloc(sizeof(*blobs[i]) + p->n);
        if (!blobs[i]) {
            position_free(blobs, i);
            return -ENOMEM;
        }
        blobs[i]->users = 1;
        blobs[i]->n = p->n;
        memcpy(blobs[i]->bytes, p->bytes, p->n);
    }
    if (!blobs)
        return -ENOMEM;
    *ret = blobs;
    return 0;
}
