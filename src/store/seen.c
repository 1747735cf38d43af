#include "store/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/hash.h"
#include "store/store.h"

#define SORT_ENTRIES ((size_t) 1 << 15)

static int allocate(struct filter *f)
{
    struct sk_bloom_shape shape;
    uint64_t capacity =
        f->row.capacity > f->metric->capacity ? f->row.capacity : f->metric->capacity;
    int r = sk_bloom_shape(capacity, f->metric->false_positive, &shape);
    if (r == 0)
        r = sk_bloom_new(&f->bloom, shape);
    if (r < 0)
        return r;
    f->ring_hash = malloc(FILTER_RING * sizeof(*f->ring_hash));
    f->ring_day = malloc(FILTER_RING * sizeof(*f->ring_day));
    f->recent = calloc(FILTER_RECENT, sizeof(*f->recent));
    f->met = calloc(BATCH_LINES, 1);
    if (!f->ring_hash || !f->ring_day || !f->recent || !f->met)
        return -ENOMEM;
    /* a configuration that asks for another geometry is another generation */
    if (f->row.bits != shape.bits || f->row.hashes != shape.hashes) {
        f->row.generation++;
        f->dirty = true;
    }
    f->row.capacity = capacity;
    f->row.bits = shape.bits;
    f->row.hashes = shape.hashes;
    return 0;
}

int filter_new(struct filter **ret, const struct metric *metric, unsigned series, int64_t series_id,
               const struct db_filter *row)
{
    struct filter *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->metric = metric;
    f->series = series;
    f->series_id = series_id;
    f->row = *row;
    int r = allocate(f);
    if (r < 0) {
        filter_free(f);
        return r;
    }
    f->weight = new_weight(0);
    *ret = f;
    return 0;
}

struct filter *filter_free(struct filter *f)
{
    if (!f)
        return NULL;
    sk_bloom_free(f->bloom);
    sk_bloom_free(f->next);
    free(f->ring_hash);
    free(f->ring_day);
    free(f->recent);
    free(f->met);
    free(f);
    return NULL;
}

uint32_t filter_ring_room(const struct filter *f)
{
    return FILTER_RING - (uint32_t) (f->tail - f->head);
}

static struct filter_recent *recent_of(const struct filter *f, uint64_t hash)
{
    return &f->recent[sk_mix(hash) % FILTER_RECENT];
}

static void journal(struct filter *f, uint64_t hash, int32_t day)
{
    struct filter_recent *recent = recent_of(f, hash);
    if (recent->used && recent->hash == hash && recent->day == day)
        return;
    if (f->row.saturated)
        return;
    if (f->journal_entries >= f->metric->journal_limit_bytes / 8) {
        f->row.saturated = f->dirty = true;
        return;
    }
    *recent = (struct filter_recent){hash, day, true};
    f->ring_hash[f->tail % FILTER_RING] = hash;
    f->ring_day[f->tail % FILTER_RING] = day;
    f->tail++;
    f->journal_entries++;
}

void filter_begin(struct filter *f, uint32_t n_lines)
{
    memset(f->met, 0, n_lines);
    f->weights[0] = f->weight;
    f->n_weights = 1;
}

/* At most up to the next border of chunks. Returns how many were added. */
static uint32_t add_chunk(struct filter *f, const struct batch *batch, uint32_t from)
{
    const struct batch_series *series = &batch->series[f->series];
    const struct batch_key *key = &batch->keys[series->key];
    uint64_t hashes[FILTER_CHUNK];
    bool is_new[FILTER_CHUNK];
    uint32_t n = series->n - from;
    if (f->adds % FILTER_CHUNK == 0) {
        f->weight = new_weight(sk_bloom_rate(f->bloom));
        f->weights[f->n_weights++] = f->weight;
    }
    if (n > FILTER_CHUNK - f->adds % FILTER_CHUNK)
        n = FILTER_CHUNK - (uint32_t) (f->adds % FILTER_CHUNK);
    for (uint32_t i = 0; i < n; i++) {
        hashes[i] = key->hash[series->line[from + i]].lo;
        __builtin_prefetch(recent_of(f, hashes[i]), 1);
    }
    sk_bloom_add_batch(f->bloom, hashes, n, is_new);
    if (f->next)
        sk_bloom_add_batch(f->next, hashes, n, NULL);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t line = series->line[from + i];
        if (is_new[i] && !f->row.saturated)
            f->met[line] = (uint8_t) f->n_weights;
        journal(f, hashes[i], batch->lines[line].day);
    }
    f->adds += n;
    return n;
}

uint32_t filter_add(struct filter *f, const struct batch *batch, uint32_t from,
                    bool stop_for_rebuild)
{
    const struct batch_series *series = &batch->series[f->series];
    if (from < series->n && f->row.since == STORE_DAY_NONE) {
        f->row.since = batch->lines[series->line[from]].day;
        f->dirty = true;
    }
    while (from < series->n) {
        from += add_chunk(f, batch, from);
        if (f->adds % FILTER_CHUNK == 0 && !f->next && filter_over(f)) {
            f->rebuild_wanted = true;
            if (stop_for_rebuild && !f->degraded)
                break;
        }
    }
    return from;
}

const struct new_weight *filter_met(const struct filter *f, uint32_t line)
{
    return f->met[line] ? &f->weights[f->met[line] - 1] : NULL;
}

bool filter_seen(const struct filter *f, uint64_t hash)
{
    return f->row.saturated || sk_bloom_has(f->bloom, hash);
}

double filter_rate(const struct filter *f)
{
    return f->row.saturated ? 1 : sk_bloom_rate(f->bloom);
}

bool filter_over(const struct filter *f)
{
    return sk_bloom_rate(f->bloom) > f->metric->false_positive &&
           sk_bloom_items(f->bloom) > (double) f->row.capacity;
}

int32_t filter_first_day(const struct filter *f, int32_t today)
{
    if (f->metric->keep_days == 0)
        return STORE_DAY_NONE;
    int64_t first = (int64_t) today - f->metric->keep_days + 1;
    return first < INT32_MIN ? STORE_DAY_NONE : (int32_t) first;
}

void filter_day(struct filter *f, int32_t today)
{
    memset(f->recent, 0, FILTER_RECENT * sizeof(*f->recent));
    if (f->row.since != STORE_DAY_NONE && f->row.since < filter_first_day(f, today)) {
        f->row.since = filter_first_day(f, today);
        f->dirty = true;
    }
}

size_t filter_bytes(const struct filter *f)
{
    return sizeof(*f) + sk_bloom_bytes(f->bloom) + (f->next ? sk_bloom_bytes(f->next) : 0) +
           FILTER_RING * (sizeof(*f->ring_hash) + sizeof(*f->ring_day)) +
           FILTER_RECENT * sizeof(*f->recent) + BATCH_LINES;
}

/* ---- writing ---- */

struct entry {
    uint64_t hash;
    int32_t day;
};

static int by_day(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->day > y->day) - (x->day < y->day);
}

/* Blocks by day. Equal hashes are rare behind the recent cache; compaction removes them. */
static int write_entries(struct filter *f, struct entry *entries, size_t n, uint64_t *hashes,
                         enum db_place place, struct db *db)
{
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = entries[i - 1].day <= entries[i].day;
    if (!sorted)
        qsort(entries, n, sizeof(*entries), by_day);
    for (size_t i = 0; i < n;) {
        struct db_journal block = {f->series_id, entries[i].day, hashes, 0};
        for (; i < n && entries[i].day == block.day; i++)
            hashes[block.n++] = entries[i].hash;
        int r = db_journal_put(db, place, &block);
        if (r < 0)
            return r;
    }
    return 0;
}

int filter_write_ring(struct filter *f, uint64_t tail, enum db_place place, struct db *db)
{
    if (f->head == tail)
        return 0;
    size_t most = tail - f->head < SORT_ENTRIES ? (size_t) (tail - f->head) : SORT_ENTRIES;
    struct entry *entries = malloc(most * sizeof(*entries));
    uint64_t *hashes = malloc(most * sizeof(*hashes));
    int r = entries && hashes ? 0 : -ENOMEM;
    for (uint64_t at = f->head; r == 0 && at < tail;) {
        size_t n = 0;
        for (; n < most && at < tail; n++, at++)
            entries[n] =
                (struct entry){f->ring_hash[at % FILTER_RING], f->ring_day[at % FILTER_RING]};
        r = write_entries(f, entries, n, hashes, place, db);
    }
    free(entries);
    free(hashes);
    return r;
}
