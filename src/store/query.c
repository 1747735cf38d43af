#include "store/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/query_int.h"

int query_new(struct query **ret, struct store *s, size_t cache_bytes)
{
    struct query *q = calloc(1, sizeof(*q));
    int r = q ? query_cache_new(&q->cache, &s->columns, cache_bytes) : -ENOMEM;
    if (r < 0) {
        free(q);
        return r;
    }
    q->store = s;
    *ret = q;
    return 0;
}

static void drop_lists(struct query *q)
{
    for (unsigned i = 0; i < COLUMNS_MAX; i++) {
        free(q->lists[i].days);
        q->lists[i] = (struct day_list){.valid = false};
    }
}

struct query *query_free(struct query *q)
{
    if (!q)
        return NULL;
    drop_lists(q);
    query_cache_free(q->cache);
    free(q->form);
    free(q->days);
    free(q);
    return NULL;
}

const struct metrics *query_metrics(const struct query *q)
{
    return q->store->options.metrics;
}

/* ---- days ---- */

/* Lock held. What was written out since the last question is not to be answered from the cache. */
static void sync_evictions(struct query *q)
{
    const struct store *s = q->store;
    q->today = s->today;
    q->oldest_kept = store_oldest_kept(s);
    if (q->synced == s->evictions)
        return;
    if (s->evictions - q->synced > EVICTIONS_KEPT)
        query_cache_clear(q->cache);
    else
        for (uint64_t i = q->synced; i < s->evictions; i++)
            query_cache_drop_day(q->cache, s->evicted[i % EVICTIONS_KEPT]);
    q->synced = s->evictions;
    drop_lists(q);
}

struct list_days {
    int64_t series_id;
    struct buf days;
};

static int list_days(struct store *s, void *arg)
{
    struct list_days *l = arg;
    return db_record_days(s->db, l->series_id, &l->days);
}

static int load_list(struct query *q, unsigned column)
{
    struct day_list *list = &q->lists[column];
    struct list_days l = {.series_id = q->store->columns.list[column].series_id};
    buf_init(&l.days);
    int r = store_call(q->store, list_days, &l);
    unsigned n = (unsigned) (l.days.n / sizeof(*list->days));
    int32_t *days = r == 0 ? malloc((n + 1) * sizeof(*days)) : NULL;
    if (days) {
        if (n)
            memcpy(days, l.days.p, n * sizeof(*days));
        *list = (struct day_list){true, days, n};
    } else if (r == 0) {
        r = -ENOMEM;
    }
    buf_done(&l.days);
    return r;
}

static int append_day(struct query *q, int32_t day)
{
    if (q->n_days == q->days_room) {
        unsigned room = 2 * q->days_room + 64;
        int32_t *grown = realloc(q->days, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        q->days = grown;
        q->days_room = room;
    }
    q->days[q->n_days++] = day;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The days that are open are taken first: one that is written out meanwhile is then found by its
 * call. */
int query_find_days(struct query *q, unsigned column, int32_t from, int32_t to)
{
    struct store *s = q->store;
    int32_t open[STORE_DAYS_OPEN];
    unsigned n_open = 0, kept = 0;
    store_lock(s);
    sync_evictions(q);
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++)
        if (s->open[i] && s->open[i]->cells[column].there)
            open[n_open++] = s->open[i]->number;
    store_unlock(s);
    from = from < q->oldest_kept ? q->oldest_kept : from;
    q->n_days = 0;
    int r = q->lists[column].valid ? 0 : load_list(q, column);
    for (unsigned i = 0; r == 0 && i < n_open; i++)
        if (open[i] >= from && open[i] <= to)
            r = append_day(q, open[i]);
    for (unsigned i = 0; r == 0 && i < q->lists[column].n; i++)
        if (q->lists[column].days[i] >= from && q->lists[column].days[i] <= to)
            r = append_day(q, q->lists[column].days[i]);
    if (r < 0)
        return r;
    if (q->n_days)
        qsort(q->days, q->n_days, sizeof(*q->days), by_number);
    for (unsigned i = 0; i < q->n_days; i++)
        if (kept == 0 || q->days[i] != q->days[kept - 1])
            q->days[kept++] = q->days[i];
    q->n_days = kept;
    return 0;
}

int query_column(const struct query *q, int series)
{
    if (series == QUERY_TRAFFIC)
        return 0;
    return series >= 0 && (unsigned) series < query_metrics(q)->n
               ? q->store->columns.of_metric[series]
               : -1;
}

int query_days(struct query *q, int series, int32_t from, int32_t to, int32_t *ret_days,
               unsigned room)
{
    int column = query_column(q, series);
    if (column < 0)
        return -EINVAL;
    int r = query_find_days(q, (unsigned) column, from, to);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < q->n_days && i < room; i++)
        ret_days[i] = q->days[i];
    return (int) q->n_days;
}

int32_t query_oldest_kept(const struct query *q)
{
    store_lock(q->store);
    int32_t day = store_oldest_kept(q->store);
    store_unlock(q->store);
    return day;
}

int32_t query_first_day(struct query *q)
{
    int r = query_find_days(q, 0, INT32_MIN, INT32_MAX);
    return r == 0 && q->n_days ? q->days[0] : STORE_DAY_NONE;
}

int32_t query_series_since(struct query *q, unsigned series)
{
    int column = query_column(q, (int) series);
    if (column < 0)
        return STORE_DAY_NONE;
    int r = query_find_days(q, (unsigned) column, INT32_MIN, INT32_MAX);
    return r == 0 && q->n_days ? q->days[0] : STORE_DAY_NONE;
}

/* ---- one day's sketch ---- */

enum copied { NOT_OPEN, IN_CACHE, IN_FORM };

struct copy {
    size_t n; /* of the form */
    uint64_t version;
};

/* Copies an open cell into the form, unless the cache has this version. enum copied or -errno */
static int copy_open(struct query *q, unsigned column, int32_t day, struct copy *ret)
{
    struct store *s = q->store;
    const struct sk_kind *kind = s->columns.list[column].kind;
    for (;;) {
        store_lock(s);
        const struct day *d = store_open_day(s, day);
        const struct cell *cell = d && d->cells[column].there ? &d->cells[column] : NULL;
        size_t room = cell ? kind->save_room(cell->sketch) : 0;
        bool cached = cell && query_cache_get(q->cache, column, day, cell->version);
        if (cell)
            ret->version = cell->version;
        if (cell && !cached && room <= q->form_room)
            ret->n = kind->save(cell->sketch, &s->columns.stamp, q->form, q->form_room);
        store_unlock(s);
        if (!cell || cached)
            return cell ? IN_CACHE : NOT_OPEN;
        if (room <= q->form_room)
            return ret->n ? IN_FORM : -EOVERFLOW;
        uint8_t *grown = realloc(q->form, room);
        if (!grown)
            return -ENOMEM;
        q->form = grown;
        q->form_room = room;
    }
}

struct load_record {
    unsigned column;
    int32_t day;
    struct buf form;
};

static int load_record(struct store *s, void *arg)
{
    struct load_record *l = arg;
    const struct column *c = &s->columns.list[l->column];
    return db_record_get(s->db, c->series_id, l->day, c->kind->id, &l->form);
}

static int decode(struct query *q, unsigned column, const void *form, size_t n, void **ret)
{
    const struct columns *c = &q->store->columns;
    return c->list[column].kind->load(ret, form, n, &c->stamp);
}

/* Takes the sketch over: among the frozen ones, or into the cache. 1 or -ENOMEM */
static int keep(struct query *q, const struct frozen *f, bool freeze, const void **ret)
{
    *ret = f->sketch;
    if (freeze && q->n_frozen < STORE_DAYS_OPEN) {
        q->frozen[q->n_frozen++] = *f;
        return 1;
    }
    int r = query_cache_put(q->cache, f->column, f->day, f->version, f->sketch);
    return r < 0 ? r : 1;
}

/* A damaged record counts as none: the day says that lines are lost once it is opened. */
static int load_closed(struct query *q, unsigned column, int32_t day, const void **ret)
{
    struct load_record l = {.column = column, .day = day};
    struct frozen f = {.column = column, .day = day};
    *ret = query_cache_get(q->cache, column, day, 0);
    if (*ret)
        return 1;
    buf_init(&l.form);
    int r = store_call(q->store, load_record, &l);
    if (r == 0)
        r = decode(q, column, l.form.p, l.form.n, &f.sketch);
    buf_done(&l.form);
    if (r == 0)
        return keep(q, &f, false, ret);
    return r == -ENOENT || r == -EBADMSG || r == -EPROTO || r == -EKEYREJECTED ? 0 : r;
}

static int take_open(struct query *q, unsigned column, int32_t day, int copied,
                     const struct copy *copy, const void **ret)
{
    struct frozen f = {.column = column, .day = day, .version = copy->version};
    if (copied == IN_CACHE && !q->freezing) {
        *ret = query_cache_get(q->cache, column, day, copy->version);
        return 1;
    }
    if (copied == IN_CACHE) {
        f.sketch = query_cache_take(q->cache, column, day, copy->version);
    } else {
        int r = decode(q, column, q->form, copy->n, &f.sketch);
        if (r < 0)
            return r;
    }
    return keep(q, &f, q->freezing, ret);
}

int query_sketch(struct query *q, unsigned column, int32_t day, const void **ret)
{
    struct copy copy = {.n = 0};
    for (unsigned i = 0; i < q->n_frozen; i++)
        if (q->frozen[i].column == column && q->frozen[i].day == day) {
            *ret = q->frozen[i].sketch;
            return 1;
        }
    int r = copy_open(q, column, day, &copy);
    if (r == NOT_OPEN)
        return load_closed(q, column, day, ret);
    return r < 0 ? r : take_open(q, column, day, r, &copy, ret);
}

void query_freeze(struct query *q)
{
    q->freezing = true;
}

void query_thaw(struct query *q)
{
    q->freezing = false;
    for (unsigned i = 0; i < q->n_frozen; i++)
        query_cache_put(q->cache, q->frozen[i].column, q->frozen[i].day, q->frozen[i].version,
                        q->frozen[i].sketch);
    q->n_frozen = 0;
}

/* ---- traffic ---- */

int query_traffic(struct query *q, int32_t day, struct traffic *ret)
{
    struct store *s = q->store;
    const void *sketch;
    store_lock(s);
    sync_evictions(q);
    bool complete = day != s->today || s->lost_today == 0;
    for (unsigned i = 0; i < s->n_inputs; i++)
        complete = complete && !s->inputs[i].status.catching_up;
    store_unlock(s);
    if (day < q->oldest_kept)
        return 0;
    int r = query_sketch(q, 0, day, &sketch);
    if (r <= 0)
        return r;
    const struct traffic_sum *t = sketch;
    ret->hits = t->hits;
    ret->bytes = t->bytes;
    ret->complete = complete && t->lost == 0;
    memcpy(ret->status, t->status, sizeof(ret->status));
    return 1;
}

/* ---- filters ---- */

/* The filter of a seen series, or NULL. */
static const struct filter *filter_of(const struct query *q, unsigned series)
{
    const struct store *s = q->store;
    if (series >= query_metrics(q)->n || query_metrics(q)->list[series].kind != METRIC_SEEN)
        return NULL;
    return s->filters[s->filter_of[series]];
}

int query_seen(struct query *q, unsigned series, uint64_t hash_lo, struct seen_answer *ret)
{
    const struct filter *f = filter_of(q, series);
    if (!f)
        return -EINVAL;
    store_lock(q->store);
    ret->seen = filter_seen(f, hash_lo);
    ret->false_positive_rate = ret->seen ? filter_rate(f) : 0;
    ret->since = f->row.since;
    ret->generation = f->row.generation;
    store_unlock(q->store);
    return 0;
}

int query_filter(struct query *q, unsigned series, struct filter_state *ret)
{
    const struct filter *f = filter_of(q, series);
    if (!f)
        return -EINVAL;
    store_lock(q->store);
    *ret = (struct filter_state){
        .degraded = f->degraded,
        .saturated = f->row.saturated,
        .rebuilding = f->next != NULL,
        .bits = f->row.bits,
        .hashes = f->row.hashes,
        .capacity = f->row.capacity,
        .items = sk_bloom_items(f->bloom),
        .fill_ratio = sk_bloom_fill(f->bloom),
        .rate = filter_rate(f),
        .target = f->metric->false_positive,
        .generation = f->row.generation,
        .rebuilds = f->row.rebuilds,
        .last_rebuild_s = f->row.last_rebuild_s,
        .journal_entries = f->journal_entries,
        .memory_bytes = sk_bloom_bytes(f->bloom) + (f->next ? sk_bloom_bytes(f->next) : 0),
    };
    store_unlock(q->store);
    return 0;
}

/* ---- inputs and the store ---- */

const char *query_input_name(const struct query *q, unsigned input)
{
    return input < q->store->n_inputs ? q->store->inputs[input].name : NULL;
}

int query_input(struct query *q, unsigned input, struct books *ret_books,
                struct input_status *ret_status, int64_t *ret_last_line_s)
{
    if (input >= q->store->n_inputs)
        return -EINVAL;
    store_lock(q->store);
    const struct store_input *i = &q->store->inputs[input];
    *ret_books = i->books;
    *ret_status = i->status;
    *ret_last_line_s = i->last_line_s;
    store_unlock(q->store);
    return 0;
}

int query_input_files(struct query *q, unsigned input, struct input_file_status **ret,
                      unsigned *ret_n)
{
    struct input_file_status *rows = NULL;
    unsigned room = 0, n;
    if (input >= q->store->n_inputs)
        return -EINVAL;
    for (;;) {
        store_lock(q->store);
        const struct store_input *i = &q->store->inputs[input];
        n = i->n_files;
        if (n <= room && n)
            memcpy(rows, i->files, n * sizeof(*rows));
        store_unlock(q->store);
        if (n <= room)
            break;
        free(rows);
        rows = malloc(n * sizeof(*rows));
        if (!rows)
            return -ENOMEM;
        room = n;
    }
    *ret = rows;
    *ret_n = n;
    return 0;
}

void query_state(struct query *q, struct store_state *ret)
{
    store_state(q->store, ret);
}
