/* Filters from their journals: at the start, larger ones in the background, and the tidying of
 * journals.
 *
 * A larger filter is made while the old one serves. The order makes it complete at any moment of a
 * crash:
 *   1. `next` is put in place, empty: from here on adds go to both;
 *   2. a commit: every hash that was added before 1 is now in the journal's blocks;
 *   3. the blocks are read and added to `next`, a little under each hold of the lock;
 *   4. under one hold `next` takes the old one's place; the next commit writes geometry and
 * generation. The committed geometry is only that: bits are made from the journal at every start.
 */
#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADD_HASHES 2048       /* a hold of the lock */
#define GROW 2                /* new capacity in items, and in old capacities */
#define COMPACT_COMMITS 64    /* how often to look */
#define COMPACT_ROWS 256      /* small blocks of a day that are worth it */
#define COMPACT_ROWS_CLOSED 2 /* and for a day that has ended */
#define COMPACT_SMALL (DB_BLOB_HASHES / 2)
#define COMPACT_HASHES ((size_t) 1 << 20) /* sorted at once: 8 MiB */
#define COMPACT_DAYS 16                   /* in one go */

static int64_t now_s(const struct store *s)
{
    return clock_now_s(&s->clock);
}

/* ---- at the start ---- */

int rebuild_restore(struct store *s, struct filter *f)
{
    int64_t sequence = 0;
    uint32_t n;
    int r = db_journal_entries(s->db, f->series_id, &f->journal_entries);
    uint64_t *hashes = r == 0 && f->journal_entries ? malloc(DB_BLOB_MAX) : NULL;
    if (r < 0 || f->journal_entries == 0)
        return r;
    if (!hashes)
        return -ENOMEM;
    int32_t first = filter_first_day(f, s->today);
    while ((r = db_journal_next(s->db, f->series_id, first, &sequence, hashes, &n)) == 0)
        sk_bloom_add_batch(f->bloom, hashes, n, NULL);
    free(hashes);
    f->weight = new_weight(sk_bloom_rate(f->bloom));
    f->rebuild_wanted = filter_over(f);
    return r == -ENOENT ? 0 : r;
}

/* ---- a larger one ---- */

/* The next geometry. -ENOSPC: memory_limit forbids it. */
static int next_shape(const struct filter *f, uint64_t *ret_capacity, struct sk_bloom_shape *ret)
{
    double items = sk_bloom_items(f->bloom) * GROW;
    uint64_t capacity = f->row.capacity * GROW;
    if (items > (double) capacity)
        capacity = items < 1e18 ? (uint64_t) items + 1 : UINT64_C(1) << 60;
    int r = sk_bloom_shape(capacity, f->metric->false_positive, ret);
    if (r == -EOVERFLOW)
        return -ENOSPC;
    if (r < 0)
        return r;
    uint64_t old = sk_bloom_bytes(f->bloom);
    if (old > f->metric->memory_limit_bytes || ret->bits / 8 > f->metric->memory_limit_bytes - old)
        return -ENOSPC;
    *ret_capacity = capacity;
    return 0;
}

struct read_block {
    struct filter *f;
    int64_t sequence;
    uint64_t *hashes;
    uint32_t n;
    int32_t first_day;
};

static int read_block(struct store *s, void *arg)
{
    struct read_block *b = arg;
    return db_journal_next(s->db, b->f->series_id, b->first_day, &b->sequence, b->hashes, &b->n);
}

/* Without a committer the blocks are those of the temporary database, and the ring comes last. */
static int flush_ring(struct store *s, void *arg)
{
    struct filter *f = arg;
    int r = filter_write_ring(f, f->tail, DB_MAIN, s->db);
    if (r == 0)
        f->head = f->tail;
    return r;
}

static int everything_journalled(struct store *s, struct filter *f)
{
    if (!s->has_committer)
        return store_call(s, flush_ring, f);
    int r;
    /* a failed commit is tried again by the committer; here it is waited for */
    while ((r = store_commit(s)) < 0) {
        store_lock(s);
        bool ending = s->ending_rebuilds;
        if (!ending) {
            struct timespec until;
            int64_t at = clock_monotonic_ns() + NS_PER_S / 4;
            until = (struct timespec){at / NS_PER_S, at % NS_PER_S};
            pthread_cond_timedwait(&s->rebuild, &s->lock, &until);
            ending = s->ending_rebuilds;
        }
        store_unlock(s);
        if (ending)
            return -ECANCELED;
    }
    return 0;
}

/* false: the store closes. */
static bool add_block(struct store *s, struct filter *f, const uint64_t *hashes, uint32_t n)
{
    bool going = true;
    for (uint32_t i = 0; i < n && going; i += ADD_HASHES) {
        store_lock(s);
        going = !s->ending_rebuilds;
        sk_bloom_add_batch(f->next, hashes + i, n - i < ADD_HASHES ? n - i : ADD_HASHES, NULL);
        store_unlock(s);
    }
    return going;
}

static int fill_next(struct store *s, struct filter *f)
{
    struct read_block b = {.f = f, .hashes = malloc(DB_BLOB_MAX)};
    if (!b.hashes)
        return -ENOMEM;
    store_lock(s);
    b.first_day = filter_first_day(f, s->today);
    store_unlock(s);
    int r;
    while ((r = store_call(s, read_block, &b)) == 0)
        if (!add_block(s, f, b.hashes, b.n)) {
            r = -ECANCELED;
            break;
        }
    free(b.hashes);
    return r == -ENOENT ? 0 : r;
}

/* Lock held. Returns the old bits. */
static struct sk_bloom *swap_in(struct store *s, struct filter *f, uint64_t capacity)
{
    struct sk_bloom *old = f->bloom;
    struct sk_bloom_shape shape = sk_bloom_shape_of(f->next);
    f->bloom = f->next;
    f->next = NULL;
    f->row.capacity = capacity;
    f->row.bits = shape.bits;
    f->row.hashes = shape.hashes;
    f->row.generation++;
    f->row.rebuilds++;
    f->row.last_rebuild_s = now_s(s);
    f->dirty = true;
    f->rebuild_wanted = filter_over(f);
    store_dirty(s);
    return old;
}

/* Lock held. What `keep` has dropped is not in the new bits: "definite" holds from there. */
static struct sk_bloom *finish(struct store *s, struct filter *f, int r, uint64_t capacity)
{
    if (r == 0)
        return swap_in(s, f, capacity);
    struct sk_bloom *given_up = f->next;
    f->next = NULL;
    return given_up;
}

int rebuild_run(struct store *s, struct filter *f)
{
    uint64_t capacity = 0;
    struct sk_bloom_shape shape = {.bits = 0};
    struct sk_bloom *next = NULL;
    store_lock(s);
    f->rebuild_wanted = false;
    int r = filter_over(f) && !f->row.saturated ? next_shape(f, &capacity, &shape) : -ECANCELED;
    f->degraded = r == -ENOSPC;
    store_unlock(s);
    if (r == -ENOSPC)
        return -ECANCELED;
    if (r == 0)
        r = sk_bloom_new(&next, shape);
    if (r < 0)
        return r;
    store_lock(s);
    f->next = next;
    store_unlock(s);
    r = everything_journalled(s, f);
    if (r == 0)
        r = fill_next(s, f);
    store_lock(s);
    struct sk_bloom *old = finish(s, f, r, capacity);
    store_unlock(s);
    sk_bloom_free(old);
    return r;
}

void *rebuild_thread(void *store)
{
    struct store *s = store;
    store_lock(s);
    while (!s->ending_rebuilds) {
        struct filter *f = NULL;
        for (unsigned i = 0; i < s->n_filters && !f; i++)
            if (s->filters[i]->rebuild_wanted && !s->filters[i]->degraded)
                f = s->filters[i];
        if (!f) {
            pthread_cond_wait(&s->rebuild, &s->lock);
            s->locked_at_ns = clock_monotonic_ns();
            continue;
        }
        store_unlock(s);
        rebuild_run(s, f);
        store_lock(s);
    }
    store_unlock(s);
    return NULL;
}

/* ---- tidying ---- */

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

struct compaction {
    struct store *s;
    struct filter *f;
    int32_t day;
    uint32_t below_n;
    int64_t last; /* only blocks up to this one: what is written comes behind it */
    uint64_t *block, *sorted;
};

static int write_sorted(struct compaction *c, size_t n)
{
    size_t kept = 0;
    qsort(c->sorted, n, sizeof(*c->sorted), by_value);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || c->sorted[i] != c->sorted[kept - 1])
            c->sorted[kept++] = c->sorted[i];
    for (size_t i = 0; i < kept; i += DB_BLOB_HASHES) {
        struct db_journal j = {
            .series_id = c->f->series_id,
            .day = c->day,
            .hashes = c->sorted + i,
            .n = (uint32_t) (kept - i < DB_BLOB_HASHES ? kept - i : DB_BLOB_HASHES)};
        int r = db_journal_put(c->s->db, DB_MAIN, &j);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The hashes of part `part` of `parts` by value, so that equal ones meet. */
static int compact_part(struct compaction *c, uint32_t part, uint32_t parts)
{
    int64_t sequence = 0;
    uint32_t n;
    size_t used = 0;
    int r;
    while ((r = db_journal_next_of_day(c->s->db, c->f->series_id, c->day, c->below_n, c->last,
                                       &sequence, c->block, &n)) == 0)
        for (uint32_t i = 0; i < n; i++)
            if (sk_range(c->block[i], parts) == part) {
                if (used == COMPACT_HASHES)
                    return -EOVERFLOW; /* uneven beyond all odds: the blocks stay as they are */
                c->sorted[used++] = c->block[i];
            }
    return r == -ENOENT ? write_sorted(c, used) : r;
}

static int compact_day(struct compaction *c, uint64_t entries)
{
    uint32_t parts = (uint32_t) (entries * 5 / 4 / COMPACT_HASHES) + 1;
    int r = db_begin(c->s->db);
    if (r == 0)
        r = db_journal_last(c->s->db, &c->last);
    for (uint32_t i = 0; i < parts && r == 0; i++)
        r = compact_part(c, i, parts);
    if (r == 0)
        r = db_journal_delete_of_day(c->s->db, c->f->series_id, c->day, c->below_n, c->last);
    if (r == 0)
        r = db_commit(c->s->db);
    if (r < 0)
        db_rollback(c->s->db);
    return r;
}

static int compact_filter(struct compaction *c, bool day_changed, int32_t today)
{
    int r = 0;
    for (unsigned i = 0; i < COMPACT_DAYS && r == 0; i++) {
        uint64_t entries;
        c->below_n = COMPACT_SMALL;
        r = db_journal_crowded(c->s->db, c->f->series_id, COMPACT_ROWS, c->below_n, INT32_MAX,
                               &c->day, &entries);
        if (r == -ENOENT && day_changed) {
            c->below_n = DB_BLOB_HASHES;
            r = db_journal_crowded(c->s->db, c->f->series_id, COMPACT_ROWS_CLOSED, c->below_n,
                                   today - 1, &c->day, &entries);
        }
        if (r == 0)
            r = compact_day(c, entries);
    }
    return r;
}

void rebuild_compact(struct store *s, bool day_changed)
{
    bool building = false;
    if (++s->commits_since_compaction < COMPACT_COMMITS && !day_changed)
        return;
    s->commits_since_compaction = 0;
    store_lock(s);
    int32_t today = s->today;
    for (unsigned i = 0; i < s->n_filters; i++)
        building = building || s->filters[i]->next;
    store_unlock(s);
    /* a rebuild reads blocks by their number and would miss those that move */
    struct compaction c = {.s = s};
    c.block = building ? NULL : malloc(DB_BLOB_MAX);
    c.sorted = c.block ? malloc(COMPACT_HASHES * sizeof(*c.sorted)) : NULL;
    for (unsigned i = 0; c.sorted && i < s->n_filters; i++) {
        uint64_t entries;
        c.f = s->filters[i];
        compact_filter(&c, day_changed, today);
        if (db_journal_entries(s->db, c.f->series_id, &entries) < 0)
            continue;
        store_lock(s);
        c.f->journal_entries = entries + (c.f->tail - c.f->head);
        store_unlock(s);
    }
    free(c.block);
    free(c.sorted);
}
