/* One open day: a sketch or sum for each column, with what must be written. A column is a series
 * whose records are of one kind; this file knows kinds only through struct sk_kind, and adds two of
 * its own: exact traffic and the keys first met. One writer; whoever else reads holds the store's
 * lock. */
#ifndef STORE_DAY_H
#define STORE_DAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keys/metric.h"
#include "sketch/sketch.h"
#include "store/db.h"
#include "store/query.h"

#define COLUMNS_MAX (1 + 2 * METRICS_MAX)

/* ---- traffic: exact totals ---- */

#define TRAFFIC_MOST INT64_MAX /* sums stop here */

struct traffic_sum {
    uint64_t hits, bytes;
    uint64_t lost; /* lines or whole records known to be lost */
    uint64_t status[STATUS_SLOTS];
};
extern const struct sk_kind kind_traffic;
void traffic_add(struct traffic_sum *t, int16_t status, uint64_t bytes);

/* ---- keys first met, each with the weight that corrects for the filter's rate then ---- */

#define NEW_UNIT (UINT64_C(1) << 32) /* fixed point, so that sums do not depend on their order */

struct new_weight {
    uint64_t weight;   /* 1 / (1 - rate) */
    uint64_t variance; /* rate / (1 - rate)^2 */
};
struct new_sum {
    uint64_t keys; /* certain: the filter had none of them */
    unsigned __int128 weight, variance;
};
extern const struct sk_kind kind_new;
struct new_weight new_weight(double rate);
void new_add(struct new_sum *n, const struct new_weight *w);

/* ---- columns ---- */

enum column_role { COLUMN_TRAFFIC, COLUMN_UNIQUES, COLUMN_TOPK, COLUMN_NEW };

struct column {
    enum column_role role;
    unsigned metric; /* not of traffic */
    unsigned seen;   /* of new: the metric of the filter */
    const struct sk_kind *kind;
    int64_t series_id;
};
struct columns {
    const struct metrics *metrics;
    struct sk_stamp stamp;
    struct column list[COLUMNS_MAX]; /* 0 is traffic */
    unsigned n;
    int of_metric[METRICS_MAX];     /* -1: none (seen) */
    int new_of_metric[METRICS_MAX]; /* -1: none */
};

void columns_init(struct columns *c, const struct metrics *metrics, const struct sk_stamp *stamp);
/* An empty sketch for a column. 0, -ENOMEM, -EINVAL */
int column_sketch(const struct columns *c, unsigned column, void **ret);

/* ---- days ---- */

struct cell {
    void *sketch;
    bool there; /* there is a record, or something to make one of */
    bool dirty;
    bool saving;      /* its form is being written by the committer */
    uint64_t version; /* of the content; unique in the store's life */
    uint8_t *form;    /* room for kind->save, so that saving under the lock allocates nothing */
    size_t form_room, form_n;
};

struct day {
    int32_t number;
    uint64_t used; /* when it was last written, in batches */
    unsigned n_cells;
    struct cell cells[];
};

/* The day as the database has it; columns without record are empty. A damaged record is replaced by
 * an empty one and the day says that lines are lost. 0, -ENOMEM or as by db_record_get. */
int day_load(struct day **ret, int32_t number, const struct columns *c, struct db *db);
struct day *day_free(struct day *d, const struct columns *c);
/* Writes the dirty cells to the spill; does not change their marks. */
int day_put_aside(struct day *d, const struct columns *c, struct db *db);
/* Serialises a cell into its form. 0 or -EOVERFLOW (never, if save_room holds) */
int cell_save(struct cell *cell, const struct sk_kind *kind, const struct sk_stamp *stamp);
int cell_write(const struct cell *cell, const struct columns *c, unsigned column, int32_t day,
               enum db_place place, struct db *db);
size_t day_bytes(const struct day *d, const struct columns *c);

#endif
