/* store_apply and store_day: how a batch gets into the open days. In two steps: without the lock
 * the days are opened and everything that memory is needed for is prepared; under the lock the
 * whole delta is applied at once.
 *
 * A batch of more than STORE_DAYS_OPEN days is applied in rounds of as many days each, because days
 * are opened between them. A day's lines stay in their order, and filters meet all lines in the
 * first round, so nothing depends on rounds. No commit runs until the last round has brought
 * positions and books, nor while a delta said that more of it follows. */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/distinct.h"
#include "sketch/topk.h"
#include "store/store_int.h"

#define SLOT_NONE UINT8_MAX
#define TABLE_SLOTS (2 * BATCH_LINES) /* a power of two */

int apply_scratch_init(struct apply_scratch *x, unsigned n_filters)
{
    x->hashes = malloc(BATCH_LINES * sizeof(*x->hashes));
    x->day_of = malloc(BATCH_LINES * sizeof(*x->day_of));
    x->slot_of = malloc(BATCH_LINES * sizeof(*x->slot_of));
    x->days = malloc(BATCH_LINES * sizeof(*x->days));
    x->table = malloc(TABLE_SLOTS * sizeof(*x->table));
    x->starts = calloc(n_filters + 1, sizeof(*x->starts));
    return x->hashes && x->day_of && x->slot_of && x->days && x->table && x->starts ? 0 : -ENOMEM;
}

void apply_scratch_done(struct apply_scratch *x)
{
    free(x->hashes);
    free(x->day_of);
    free(x->slot_of);
    free(x->days);
    free(x->table);
    free(x->starts);
}

/* ---- which days ---- */

static uint16_t day_index(struct apply_scratch *x, int32_t day)
{
    uint32_t at = (uint32_t) sk_mix((uint32_t) day) % TABLE_SLOTS;
    while (x->table[at] != UINT16_MAX && x->days[x->table[at]] != day)
        at = (at + 1) % TABLE_SLOTS;
    if (x->table[at] == UINT16_MAX) {
        x->table[at] = (uint16_t) x->n_days;
        x->days[x->n_days++] = day;
    }
    return x->table[at];
}

static void find_days(struct apply_scratch *x, const struct batch *b)
{
    memset(x->table, 0xff, TABLE_SLOTS * sizeof(*x->table));
    x->n_days = 0;
    for (uint32_t i = 0; i < b->n_lines; i++)
        x->day_of[i] = i > 0 && b->lines[i].day == b->lines[i - 1].day
                           ? x->day_of[i - 1]
                           : day_index(x, b->lines[i].day);
}

static unsigned round_end(const struct apply_scratch *x, unsigned from)
{
    return from + STORE_DAYS_OPEN < x->n_days ? from + STORE_DAYS_OPEN : x->n_days;
}

/* ---- opening days ---- */

struct swap {
    struct day *out; /* NULL: there was a free place */
    int32_t day;
    struct day *in;
};

/* On the committer: what leaves goes to the spill first, so that a reader finds it in either place.
 */
static int swap_days(struct store *s, void *arg)
{
    struct swap *swap = arg;
    int r = swap->out ? day_put_aside(swap->out, &s->columns, s->db) : 0;
    if (r < 0)
        return r;
    if (swap->out) {
        uint64_t spilled = db_spill_bytes(s->db);
        store_lock(s);
        s->spill_bytes = spilled;
        for (unsigned i = 0; i < swap->out->n_cells; i++)
            swap->out->cells[i].dirty = false;
        store_unlock(s);
    }
    return day_load(&swap->in, swap->day, &s->columns, s->db);
}

static bool in_round(const struct apply_scratch *x, unsigned from, int32_t day)
{
    for (unsigned i = from; i < round_end(x, from); i++)
        if (x->days[i] == day)
            return true;
    return false;
}

/* A free place, or that of the least recently written day that this round does not need. */
static unsigned place_for_day(const struct store *s, unsigned from)
{
    unsigned best = STORE_DAYS_OPEN;
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++) {
        if (!s->open[i])
            return i;
        if (!in_round(&s->scratch, from, s->open[i]->number) &&
            (best == STORE_DAYS_OPEN || s->open[i]->used < s->open[best]->used))
            best = i;
    }
    return best;
}

/* The places change only here and in store_day, on this thread: reading them needs no lock. */
static int open_day(struct store *s, unsigned from, int32_t day)
{
    unsigned place = place_for_day(s, from);
    struct swap swap = {.out = s->open[place], .day = day};
    int r = store_call(s, swap_days, &swap);
    if (r < 0)
        return r;
    store_lock(s);
    for (unsigned i = 0; i < swap.in->n_cells; i++)
        swap.in->cells[i].version = ++s->version;
    if (swap.out)
        store_evicted(s, swap.out->number);
    s->open[place] = swap.in;
    store_unlock(s);
    day_free(swap.out, &s->columns);
    return 0;
}

static int open_days(struct store *s, unsigned from)
{
    for (unsigned i = from; i < round_end(&s->scratch, from); i++) {
        int r = store_open_day(s, s->scratch.days[i]) ? 0 : open_day(s, from, s->scratch.days[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static void find_slots(struct store *s, const struct batch *b, unsigned from)
{
    struct apply_scratch *x = &s->scratch;
    uint8_t slot_of_day[STORE_DAYS_OPEN];
    unsigned end = round_end(x, from);
    for (unsigned i = from; i < end; i++)
        for (unsigned j = 0; j < STORE_DAYS_OPEN; j++)
            if (s->open[j] && s->open[j]->number == x->days[i])
                slot_of_day[i - from] = (uint8_t) j;
    for (uint32_t i = 0; i < b->n_lines; i++)
        x->slot_of[i] = x->day_of[i] >= from && x->day_of[i] < end
                            ? slot_of_day[x->day_of[i] - from]
                            : SLOT_NONE;
}

/* ---- under the lock: one column each ---- */

static void touch(struct store *s, unsigned slot, unsigned column)
{
    struct cell *cell = &s->open[slot]->cells[column];
    cell->dirty = cell->there = true;
    cell->version = ++s->version;
}

static void apply_uniques(struct store *s, const struct batch *b, unsigned column)
{
    const struct batch_series *series = &b->series[s->columns.list[column].metric];
    const struct batch_key *key = &b->keys[series->key];
    const uint8_t *slot_of = s->scratch.slot_of;
    uint64_t *hashes = s->scratch.hashes;
    for (uint32_t i = 0; i < series->n;) {
        uint8_t slot = slot_of[series->line[i]];
        uint32_t n = 0;
        for (; i < series->n && slot_of[series->line[i]] == slot; i++)
            hashes[n++] = key->hash[series->line[i]].hi;
        if (slot == SLOT_NONE)
            continue;
        sk_distinct_add_batch(s->open[slot]->cells[column].sketch, hashes, n);
        touch(s, slot, column);
    }
}

static uint64_t topk_weight(const struct batch_line *line, enum topk_by by)
{
    switch (by) {
    case BY_HITS:
        return 1;
    case BY_BYTES:
        return line->bytes;
    case BY_DURATION:
        return line->duration_us > 0 ? (uint64_t) line->duration_us / 1000 : 0;
    }
    return 0;
}

#define TOPK_ITEMS 64

/* The sketch gets a key of one field without its length, so that ties go by its text and a long one
 * is cut where its text has 2,000 bytes; query_topk.c puts the length back. */
static void apply_topk(struct store *s, const struct batch *b, unsigned column)
{
    unsigned metric = s->columns.list[column].metric;
    const struct metric *m = &s->columns.metrics->list[metric];
    const struct batch_series *series = &b->series[metric];
    const struct batch_key *key = &b->keys[series->key];
    uint32_t head = m->key.n == 1 ? STORE_KEY_HEAD_BYTES : 0;
    struct sk_topk_item items[TOPK_ITEMS];
    for (uint32_t i = 0; i < series->n;) {
        uint8_t slot = s->scratch.slot_of[series->line[i]];
        unsigned n = 0;
        for (; i < series->n && n < TOPK_ITEMS; i++) {
            uint32_t line = series->line[i];
            uint64_t weight = topk_weight(&b->lines[line], m->by);
            if (s->scratch.slot_of[line] != slot)
                break;
            if (weight > 0 && key->encoded[line] && key->encoded_bytes[line] >= head)
                items[n++] =
                    (struct sk_topk_item){key->hash[line].lo, weight, key->encoded[line] + head,
                                          key->encoded_bytes[line] - head};
        }
        if (slot == SLOT_NONE || n == 0)
            continue;
        sk_topk_add_batch(s->open[slot]->cells[column].sketch, items, n);
        touch(s, slot, column);
    }
}

/* Into today's record, if it is open. */
static void note_lost(struct store *s, unsigned column)
{
    for (unsigned i = 0; s->lost_today && i < STORE_DAYS_OPEN; i++)
        if (s->open[i] && s->open[i]->number == s->today) {
            struct traffic_sum *t = s->open[i]->cells[column].sketch;
            t->lost += s->lost_today;
            s->lost_today = 0;
            touch(s, i, column);
        }
}

static void apply_traffic(struct store *s, const struct batch *b, unsigned column)
{
    uint8_t touched = SLOT_NONE;
    for (uint32_t i = 0; i < b->n_lines; i++) {
        uint8_t slot = s->scratch.slot_of[i];
        if (slot == SLOT_NONE)
            continue;
        traffic_add(s->open[slot]->cells[column].sketch, b->lines[i].status, b->lines[i].bytes);
        if (slot != touched)
            touch(s, slot, column);
        touched = slot;
    }
    note_lost(s, column);
}

static void apply_new(struct store *s, const struct batch *b, unsigned column)
{
    const struct column *c = &s->columns.list[column];
    const struct filter *f = s->filters[s->filter_of[c->seen]];
    const struct batch_series *series = &b->series[c->metric];
    for (uint32_t i = 0; i < series->n; i++) {
        uint32_t line = series->line[i];
        uint8_t slot = s->scratch.slot_of[line];
        const struct new_weight *w = filter_met(f, line);
        if (slot == SLOT_NONE || !w)
            continue;
        new_add(s->open[slot]->cells[column].sketch, w);
        touch(s, slot, column);
    }
}

static void apply_columns(struct store *s, const struct batch *b)
{
    static void (*const apply[])(struct store * s, const struct batch *b, unsigned column) = {
        [COLUMN_TRAFFIC] = apply_traffic,
        [COLUMN_UNIQUES] = apply_uniques,
        [COLUMN_TOPK] = apply_topk,
        [COLUMN_NEW] = apply_new,
    };
    s->applied++;
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++)
        if (s->open[i] &&
            in_round(&s->scratch, s->applying.round * STORE_DAYS_OPEN, s->open[i]->number))
            s->open[i]->used = s->applied;
    for (unsigned i = 0; i < s->columns.n; i++)
        apply[s->columns.list[i].role](s, b, i);
}

/* ---- filters ---- */

/* With the committer: all lines of all filters, in the same hold as everything else. */
static void meet(struct store *s, const struct batch *b)
{
    for (unsigned i = 0; i < s->n_filters; i++) {
        struct filter *f = s->filters[i];
        filter_begin(f, b->n_lines);
        filter_add(f, b, 0, false);
        if (f->rebuild_wanted)
            pthread_cond_signal(&s->rebuild);
    }
}

/* Without one (report): a filter that is over its target is rebuilt there and then, at a border of
 * chunks, so that the answers are the same whatever the batches. */
static int meet_and_rebuild(struct store *s, const struct batch *b)
{
    for (unsigned i = 0; i < s->n_filters; i++) {
        struct filter *f = s->filters[i];
        uint32_t n = b->series[f->series].n, *at = &s->scratch.starts[i];
        if (*at == 0)
            filter_begin(f, b->n_lines);
        while (*at < n) {
            store_lock(s);
            *at = filter_add(f, b, *at, true);
            bool rebuild = f->rebuild_wanted && !f->degraded;
            store_unlock(s);
            int r = rebuild ? rebuild_run(s, f) : 0;
            if (r < 0 && r != -ECANCELED)
                return r;
        }
    }
    return 0;
}

/* On the committer: empties the rings into the spill, if no commit did meanwhile. */
static int empty_rings(struct store *s, void *arg)
{
    (void) arg;
    for (unsigned i = 0; i < s->n_filters; i++) {
        struct filter *f = s->filters[i];
        store_lock(s);
        uint64_t tail = f->tail;
        bool room = filter_ring_room(f) >= BATCH_LINES;
        store_unlock(s);
        int r = room ? 0 : filter_write_ring(f, tail, DB_SPILL, s->db);
        if (r < 0)
            return r;
        uint64_t spilled = db_spill_bytes(s->db);
        store_lock(s);
        s->spill_bytes = spilled;
        if (!room)
            f->head = tail;
        store_unlock(s);
    }
    return 0;
}

static int make_ring_room(struct store *s)
{
    bool room = true;
    store_lock(s);
    for (unsigned i = 0; i < s->n_filters; i++)
        room = room && filter_ring_room(s->filters[i]) >= BATCH_LINES;
    store_unlock(s);
    return room ? 0 : store_call(s, empty_rings, NULL);
}

/* ---- positions and books ---- */

/* Lock held. The blobs are replaced by those that have to be freed. */
static void apply_rest(struct store *s, const struct store_delta *d, struct blob **blobs)
{
    struct store_input *input = &s->inputs[d->input];
    for (unsigned i = 0; i < d->n_positions; i++)
        blobs[i] = position_set(s, d->input, d->positions[i].id, blobs[i]);
    if (d->books)
        books_add(&input->books, d->books);
    if (d->last_line_s > input->last_line_s)
        input->last_line_s = d->last_line_s;
    input->dirty = input->dirty || d->books || d->last_line_s;
    store_dirty(s);
}

/* ---- the whole ---- */

/* All rounds but the last: days only. */
static int apply_early_rounds(struct store *s, const struct batch *b)
{
    struct applying *a = &s->applying;
    for (; (a->round + 1) * STORE_DAYS_OPEN < s->scratch.n_days; a->round++) {
        unsigned from = a->round * STORE_DAYS_OPEN;
        int r = open_days(s, from);
        if (r < 0)
            return r;
        find_slots(s, b, from);
        store_lock(s);
        if (a->round == 0 && s->has_committer)
            meet(s, b);
        apply_columns(s, b);
        a->active = true;
        store_unlock(s);
    }
    return 0;
}

static int apply_last_round(struct store *s, const struct store_delta *d, struct blob **blobs)
{
    const struct batch *b = d->batch;
    struct applying *a = &s->applying;
    int r = b ? open_days(s, a->round * STORE_DAYS_OPEN) : 0;
    if (r < 0)
        return r;
    if (b)
        find_slots(s, b, a->round * STORE_DAYS_OPEN);
    store_lock(s);
    if (b && a->round == 0 && s->has_committer)
        meet(s, b);
    if (b)
        apply_columns(s, b);
    apply_rest(s, d, blobs);
    a->active = a->stuck = false;
    a->held = d->more && s->has_committer;
    memset(s->scratch.starts, 0, s->n_filters * sizeof(*s->scratch.starts));
    pthread_cond_signal(&s->wake);
    store_unlock(s);
    return 0;
}

static int apply_delta(struct store *s, const struct store_delta *d, struct blob **blobs)
{
    int r = position_make_room(s, d->n_positions);
    if (d->batch && r == 0)
        r = make_ring_room(s);
    if (d->batch && r == 0 && !s->has_committer && s->applying.round == 0)
        r = meet_and_rebuild(s, d->batch);
    if (d->batch && r == 0)
        r = apply_early_rounds(s, d->batch);
    return r == 0 ? apply_last_round(s, d, blobs) : r;
}

static bool has_begun(const struct store *s)
{
    bool begun = s->applying.active;
    for (unsigned i = 0; i < s->n_filters; i++)
        begun = begun || s->scratch.starts[i] > 0;
    return begun;
}

/* Within a delta there is no bound but the disk's: it cannot be committed before it is whole. */
static bool spill_is_full(struct store *s)
{
    store_lock(s);
    bool full = s->spill_bytes > STORE_SPILL_MOST && !s->applying.held;
    if (full && s->commit_result == 0 && s->commit_wanted == s->commit_served) {
        s->commit_wanted++;
        pthread_cond_signal(&s->wake);
    }
    store_unlock(s);
    return full;
}

/* A failure of a delta that has begun keeps what it has done: the same delta goes on from there. */
static int begin_delta(struct store *s, const struct store_delta *d)
{
    struct applying *a = &s->applying;
    uint32_t n_lines = d->batch ? d->batch->n_lines : 0;
    if (n_lines > BATCH_LINES || d->input >= s->n_inputs)
        return -EINVAL;
    if (has_begun(s))
        return a->batch == d->batch && a->n_lines == n_lines ? 0 : -EINVAL;
    if (spill_is_full(s))
        return -EAGAIN;
    a->batch = d->batch;
    a->n_lines = n_lines;
    a->round = 0;
    s->scratch.n_days = 0;
    if (d->batch)
        find_days(&s->scratch, d->batch);
    return 0;
}

/* Tells those who wait for a commit that there will be none before the rest. */
static int failed(struct store *s, int r)
{
    store_lock(s);
    s->applying.stuck = s->applying.active || s->applying.held;
    if (r != -ENOMEM && s->has_committer) {
        s->state.last_error = r;
        r = -EAGAIN;
    }
    pthread_cond_broadcast(&s->done);
    store_unlock(s);
    return r;
}

int store_apply(struct store *s, const struct store_delta *delta)
{
    struct blob **blobs;
    int r = begin_delta(s, delta);
    if (r < 0)
        return r;
    r = position_copy(delta, &blobs);
    if (r < 0)
        return failed(s, r);
    r = apply_delta(s, delta, blobs);
    position_free(blobs, delta->n_positions);
    return r < 0 ? failed(s, r) : 0;
}

/* ---- the day's change ---- */

/* On the committer, so that no form of the day is being written. */
static int drop_old_days(struct store *s, void *arg)
{
    (void) arg;
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++) {
        struct day *old = NULL;
        store_lock(s);
        if (s->open[i] && s->open[i]->number < store_oldest_kept(s)) {
            old = s->open[i];
            s->open[i] = NULL;
        }
        store_unlock(s);
        day_free(old, &s->columns);
    }
    return 0;
}

void store_day(struct store *s, int32_t today)
{
    store_lock(s);
    bool changed = today != s->today;
    if (changed) {
        note_lost(s, 0);
        s->today = today;
        for (unsigned i = 0; i < s->n_filters; i++)
            filter_day(s->filters[i], today);
        s->lost_today = 0;
        s->retention_due = s->has_committer;
        store_dirty(s);
        s->commit_wanted++;
        pthread_cond_signal(&s->wake);
    }
    store_unlock(s);
    if (changed)
        store_call(s, drop_old_days, NULL);
}
