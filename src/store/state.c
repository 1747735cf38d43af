/* What a store shows and gives back: inputs, positions at the start, its own state, its price. */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_int.h"

int store_positions(struct store *s, unsigned input,
                    int (*visit)(void *arg, uint64_t id, const uint8_t *bytes, uint32_t n),
                    void *arg)
{
    /* before the first apply nothing moves, and visitors may be slow */
    for (unsigned i = 0; i < s->n_positions; i++) {
        const struct position_entry *p = &s->positions[i];
        int r = p->input == input && p->blob ? visit(arg, p->id, p->blob->bytes, p->blob->n) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static uint64_t lost(const struct input_status *status)
{
    return status->kernel_drops + status->ring_drops + status->lost_files;
}

int store_publish_input(struct store *s, unsigned input, const struct input_status *status,
                        const struct input_file_status *files, unsigned n_files)
{
    if (input >= s->n_inputs)
        return -EINVAL;
    struct input_file_status *copy = calloc(n_files + 1, sizeof(*copy));
    if (!copy)
        return -ENOMEM;
    if (n_files)
        memcpy(copy, files, n_files * sizeof(*copy));
    struct store_input *to = &s->inputs[input];
    store_lock(s);
    if (lost(status) > lost(&to->status))
        s->lost_today += lost(status) - lost(&to->status);
    struct input_file_status *old = to->files;
    to->status = *status;
    to->files = copy;
    to->n_files = n_files;
    store_unlock(s);
    free(old);
    return 0;
}

void store_state(struct store *s, struct store_state *ret)
{
    store_lock(s);
    struct store_state state = s->state;
    state.dirty_since_ns = s->dirty_since_ns;
    state.memory_bytes = sizeof(*s) + s->positions_room * sizeof(*s->positions);
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++)
        if (s->open[i]) {
            state.days_open++;
            state.memory_bytes += day_bytes(s->open[i], &s->columns);
        }
    for (unsigned i = 0; i < s->n_filters; i++)
        state.memory_bytes += filter_bytes(s->filters[i]);
    store_unlock(s);
    *ret = state;
}

#define DATABASE_BYTES ((size_t) 8 << 20) /* page caches, statements, blocks being sorted */

size_t store_memory_bound(const struct store_options *options)
{
    struct columns columns;
    struct sk_stamp stamp = {.hash_id = 0};
    size_t bytes = DATABASE_BYTES;
    columns_init(&columns, options->metrics, &stamp);
    for (unsigned i = 0; i < columns.n; i++) {
        void *sketch;
        if (column_sketch(&columns, i, &sketch) < 0)
            continue;
        const struct sk_kind *kind = columns.list[i].kind;
        bytes += STORE_DAYS_OPEN * (kind->bytes(sketch) + kind->save_room(sketch));
        kind->free(sketch);
    }
    for (unsigned i = 0; i < options->metrics->n; i++)
        if (options->metrics->list[i].kind == METRIC_SEEN)
            bytes += options->metrics->list[i].memory_limit_bytes + FILTER_RING * 12 +
                     FILTER_RECENT * sizeof(struct filter_recent);
    return bytes;
}
