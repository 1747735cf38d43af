#include "store/day.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "sketch/cms.h"
#include "sketch/distinct.h"
#include "sketch/topk.h"

/* ---- traffic ---- */

#define TRAFFIC_HEAD_BYTES (3 * 8 + 2)
#define TRAFFIC_PAIR_BYTES (2 + 8)
#define TRAFFIC_ROOM                                                                               \
    (SK_FORM_HEAD_BYTES + TRAFFIC_HEAD_BYTES + STATUS_SLOTS * TRAFFIC_PAIR_BYTES +                 \
     SK_FORM_TAIL_BYTES)

static uint64_t add_most(uint64_t a, uint64_t b)
{
    return b > TRAFFIC_MOST - a ? TRAFFIC_MOST : a + b;
}

void traffic_add(struct traffic_sum *t, int16_t status, uint64_t bytes)
{
    unsigned slot = status < 0 || status > 999 ? STATUS_SLOTS - 1 : (unsigned) status;
    t->hits = add_most(t->hits, 1);
    t->bytes = add_most(t->bytes, bytes > TRAFFIC_MOST ? TRAFFIC_MOST : bytes);
    t->status[slot] = add_most(t->status[slot], 1);
}

static size_t traffic_room(const void *sketch)
{
    (void) sketch;
    return TRAFFIC_ROOM;
}

/* Body: hits, bytes, lost, then the statuses that occurred as (slot, count) with their number. */
static size_t traffic_save(const void *sketch, const struct sk_stamp *stamp, uint8_t *to,
                           size_t room)
{
    const struct traffic_sum *t = sketch;
    if (room < TRAFFIC_ROOM)
        return 0;
    sk_form_begin(to, "RKtr", kind_traffic.version, stamp);
    uint8_t *body = to + SK_FORM_HEAD_BYTES;
    le_put64(body, t->hits);
    le_put64(body + 8, t->bytes);
    le_put64(body + 16, t->lost);
    uint8_t *at = body + TRAFFIC_HEAD_BYTES;
    uint16_t n = 0;
    for (uint16_t i = 0; i < STATUS_SLOTS; i++)
        if (t->status[i]) {
            le_put16(at, i);
            le_put64(at + 2, t->status[i]);
            at += TRAFFIC_PAIR_BYTES;
            n++;
        }
    le_put16(body + 24, n);
    return sk_form_end(to, (size_t) (at - to));
}

static int traffic_load(void **ret, const uint8_t *from, size_t n, const struct sk_stamp *stamp)
{
    const uint8_t *body;
    size_t body_n;
    int r = sk_form_check(from, n, "RKtr", kind_traffic.version, stamp, &body, &body_n);
    if (r < 0)
        return r;
    if (body_n < TRAFFIC_HEAD_BYTES ||
        body_n != TRAFFIC_HEAD_BYTES + (size_t) le_get16(body + 24) * TRAFFIC_PAIR_BYTES)
        return -EBADMSG;
    struct traffic_sum *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->hits = le_get64(body);
    t->bytes = le_get64(body + 8);
    t->lost = le_get64(body + 16);
    bool fine = t->hits <= TRAFFIC_MOST && t->bytes <= TRAFFIC_MOST && t->lost <= TRAFFIC_MOST;
    for (const uint8_t *at = body + TRAFFIC_HEAD_BYTES; fine && at < body + body_n;
         at += TRAFFIC_PAIR_BYTES) {
        fine = le_get16(at) < STATUS_SLOTS && le_get64(at + 2) <= TRAFFIC_MOST;
        if (fine)
            t->status[le_get16(at)] = le_get64(at + 2);
    }
    if (!fine) {
        free(t);
        return -EBADMSG;
    }
    *ret = t;
    return 0;
}

static void *plain_free(void *sketch)
{
    free(sketch);
    return NULL;
}

static size_t traffic_bytes(const void *sketch)
{
    (void) sketch;
    return sizeof(struct traffic_sum);
}

const struct sk_kind kind_traffic = {
    .name = "traffic",
    .id = 100,
    .version = 1,
    .save_room = traffic_room,
    .save = traffic_save,
    .load = traffic_load,
    .free = plain_free,
    .bytes = traffic_bytes,
};

/* ---- keys first met ---- */

#define NEW_BODY_BYTES (8 + 16 + 16)
#define NEW_ROOM (SK_FORM_HEAD_BYTES + NEW_BODY_BYTES + SK_FORM_TAIL_BYTES)
#define NEW_RATE_MOST                                                                              \
    0.999 /* beyond it a filter tells nothing and a weight would be without bound */

struct new_weight new_weight(double rate)
{
    rate = rate < NEW_RATE_MOST ? rate : NEW_RATE_MOST;
    double weight = 1 / (1 - rate);
    return (struct new_weight){
        .weight = (uint64_t) (weight * (double) NEW_UNIT + 0.5),
        .variance = (uint64_t) (rate * weight * weight * (double) NEW_UNIT + 0.5),
    };
}

void new_add(struct new_sum *n, const struct new_weight *w)
{
    n->keys = add_most(n->keys, 1);
    n->weight += w->weight;
    n->variance += w->variance;
}

static size_t new_room(const void *sketch)
{
    (void) sketch;
    return NEW_ROOM;
}

static void put128(uint8_t *to, unsigned __int128 v)
{
    le_put64(to, (uint64_t) v);
    le_put64(to + 8, (uint64_t) (v >> 64));
}

static unsigned __int128 get128(const uint8_t *from)
{
    return (unsigned __int128) le_get64(from + 8) << 64 | le_get64(from);
}

static size_t new_save(const void *sketch, const struct sk_stamp *stamp, uint8_t *to, size_t room)
{
    const struct new_sum *n = sketch;
    if (room < NEW_ROOM)
        return 0;
    sk_form_begin(to, "RKnw", kind_new.version, stamp);
    uint8_t *body = to + SK_FORM_HEAD_BYTES;
    le_put64(body, n->keys);
    put128(body + 8, n->weight);
    put128(body + 24, n->variance);
    return sk_form_end(to, SK_FORM_HEAD_BYTES + NEW_BODY_BYTES);
}

static int new_load(void **ret, const uint8_t *from, size_t n, const struct sk_stamp *stamp)
{
    const uint8_t *body;
    size_t body_n;
    int r = sk_form_check(from, n, "RKnw", kind_new.version, stamp, &body, &body_n);
    if (r < 0)
        return r;
    if (body_n != NEW_BODY_BYTES || le_get64(body) > TRAFFIC_MOST)
        return -EBADMSG;
    struct new_sum *sum = calloc(1, sizeof(*sum));
    if (!sum)
        return -ENOMEM;
    sum->keys = le_get64(body);
    sum->weight = get128(body + 8);
    sum->variance = get128(body + 24);
    *ret = sum;
    return 0;
}

static size_t new_bytes(const void *sketch)
{
    (void) sketch;
    return sizeof(struct new_sum);
}

const struct sk_kind kind_new = {
    .name = "new",
    .id = 101,
    .version = 1,
    .save_room = new_room,
    .save = new_save,
    .load = new_load,
    .free = plain_free,
    .bytes = new_bytes,
};

/* ---- columns ---- */

static int filter_of(const struct metrics *metrics, const struct metric *m)
{
    for (unsigned i = 0; i < metrics->n; i++)
        if (metrics->list[i].kind == METRIC_SEEN && key_def_equal(&metrics->list[i].key, &m->key))
            return (int) i;
    return -1;
}

static int add_column(struct columns *c, enum column_role role, const struct sk_kind *kind,
                      unsigned metric, unsigned seen)
{
    c->list[c->n] = (struct column){.role = role, .metric = metric, .seen = seen, .kind = kind};
    return (int) c->n++;
}

void columns_init(struct columns *c, const struct metrics *metrics, const struct sk_stamp *stamp)
{
    *c = (struct columns){.metrics = metrics, .stamp = *stamp};
    add_column(c, COLUMN_TRAFFIC, &kind_traffic, 0, 0);
    for (unsigned i = 0; i < metrics->n; i++) {
        const struct metric *m = &metrics->list[i];
        c->of_metric[i] = c->new_of_metric[i] = -1;
        if (m->kind == METRIC_TOPK)
            c->of_metric[i] = add_column(c, COLUMN_TOPK, &sk_kind_topk, i, 0);
        if (m->kind != METRIC_UNIQUES)
            continue;
        c->of_metric[i] = add_column(c, COLUMN_UNIQUES, &sk_kind_distinct, i, 0);
        int seen = filter_of(metrics, m);
        if (seen >= 0)
            c->new_of_metric[i] = add_column(c, COLUMN_NEW, &kind_new, i, (unsigned) seen);
    }
}

static int topk_sketch(const struct metric *m, void **ret)
{
    uint32_t width, depth;
    struct sk_topk *t;
    int r = sk_cms_shape(m->error, m->confidence, &width, &depth);
    if (r == 0)
        r = sk_topk_new(&t, m->k, width, depth, m->by == BY_HITS ? SK_CMS_CELL_32 : SK_CMS_CELL_64);
    if (r == 0)
        *ret = t;
    return r;
}

static int distinct_sketch(const struct metric *m, void **ret)
{
    struct sk_distinct *d;
    int r = sk_distinct_new(&d, m->precision, m->exact_until);
    if (r == 0)
        *ret = d;
    return r;
}

static int zeroed(size_t bytes, void **ret)
{
    void *p = calloc(1, bytes);
    if (!p)
        return -ENOMEM;
    *ret = p;
    return 0;
}

int column_sketch(const struct columns *c, unsigned column, void **ret)
{
    const struct column *x = &c->list[column];
    switch (x->role) {
    case COLUMN_TRAFFIC:
        return zeroed(sizeof(struct traffic_sum), ret);
    case COLUMN_UNIQUES:
        return distinct_sketch(&c->metrics->list[x->metric], ret);
    case COLUMN_TOPK:
        return topk_sketch(&c->metrics->list[x->metric], ret);
    case COLUMN_NEW:
        return zeroed(sizeof(struct new_sum), ret);
    }
    return -EINVAL;
}

/* ---- days ---- */

/* 0; *ret_damaged: there was a record, but it cannot be read. */
static int load_cell(struct cell *cell, const struct columns *c, unsigned column, int32_t day,
                     struct db *db, bool *ret_damaged)
{
    const struct column *x = &c->list[column];
    struct buf form;
    buf_init(&form);
    int r = db_record_get(db, x->series_id, day, x->kind->id, &form);
    if (r == 0)
        r = x->kind->load(&cell->sketch, (const uint8_t *) form.p, form.n, &c->stamp);
    buf_done(&form);
    cell->there = r == 0;
    if (r == -EBADMSG || r == -EPROTO || r == -EKEYREJECTED)
        *ret_damaged = true;
    else if (r != -ENOENT)
        return r;
    return column_sketch(c, column, &cell->sketch);
}

int day_load(struct day **ret, int32_t number, const struct columns *c, struct db *db)
{
    bool damaged = false;
    struct day *d = calloc(1, sizeof(*d) + c->n * sizeof(d->cells[0]));
    if (!d)
        return -ENOMEM;
    d->number = number;
    d->n_cells = c->n;
    int r = 0;
    for (unsigned i = 0; i < c->n && r == 0; i++) {
        struct cell *cell = &d->cells[i];
        r = load_cell(cell, c, i, number, db, &damaged);
        if (r < 0)
            break;
        cell->form_room = c->list[i].kind->save_room(cell->sketch);
        cell->form = malloc(cell->form_room);
        r = cell->form ? 0 : -ENOMEM;
    }
    if (r < 0) {
        day_free(d, c);
        return r;
    }
    if (damaged) {
        struct traffic_sum *t = d->cells[0].sketch;
        t->lost = add_most(t->lost, 1);
        d->cells[0].dirty = d->cells[0].there = true;
    }
    *ret = d;
    return 0;
}

struct day *day_free(struct day *d, const struct columns *c)
{
    if (!d)
        return NULL;
    for (unsigned i = 0; i < d->n_cells; i++) {
        c->list[i].kind->free(d->cells[i].sketch);
        free(d->cells[i].form);
    }
    free(d);
    return NULL;
}

int cell_save(struct cell *cell, const struct sk_kind *kind, const struct sk_stamp *stamp)
{
    cell->form_n = kind->save(cell->sketch, stamp, cell->form, cell->form_room);
    return cell->form_n ? 0 : -EOVERFLOW;
}

int cell_write(const struct cell *cell, const struct columns *c, unsigned column, int32_t day,
               enum db_place place, struct db *db)
{
    const struct column *x = &c->list[column];
    return db_record_put(db, place,
                         &(struct db_record){.series_id = x->series_id,
                                             .day = day,
                                             .kind = x->kind->id,
                                             .version = x->kind->version,
                                             .stamp = &c->stamp,
                                             .bytes = cell->form,
                                             .n = cell->form_n});
}

int day_put_aside(struct day *d, const struct columns *c, struct db *db)
{
    for (unsigned i = 0; i < d->n_cells; i++) {
        struct cell *cell = &d->cells[i];
        if (!cell->dirty)
            continue;
        int r = cell_save(cell, c->list[i].kind, &c->stamp);
        if (r == 0)
            r = cell_write(cell, c, i, d->number, DB_SPILL, db);
        if (r < 0)
            return r;
    }
    return 0;
}

size_t day_bytes(const struct day *d, const struct columns *c)
{
    size_t bytes = sizeof(*d) + d->n_cells * sizeof(d->cells[0]);
    for (unsigned i = 0; i < d->n_cells; i++)
        bytes += c->list[i].kind->bytes(d->cells[i].sketch) + d->cells[i].form_room;
    return bytes;
}
