#include "sketch/cms.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/cms_int.h"
#include "sketch/form_int.h"
#include "sketch/hash.h"

#define E 2.71828182845904523536
#define TOTAL_MAX ((uint64_t) INT64_MAX)
#define FORM_HEAD_BYTES 20

struct sk_cms {
    uint32_t width, depth;
    enum sk_cms_cell cell;
    bool saturated;
    uint64_t total;
    uint64_t cells[]; /* row by row; as uint32_t where the cell has 32 bits */
};

static uint32_t *cells32(struct sk_cms *c)
{
    return (uint32_t *) (void *) c->cells;
}

static size_t cell_bytes(enum sk_cms_cell cell)
{
    return cell == SK_CMS_CELL_32 ? sizeof(uint32_t) : sizeof(uint64_t);
}

static size_t cell_count(const struct sk_cms *c)
{
    return (size_t) c->width * c->depth;
}

/* Cells of 64 bits end where JSON's integers and the total do. */
static uint64_t cell_max(enum sk_cms_cell cell)
{
    return cell == SK_CMS_CELL_32 ? UINT32_MAX : TOTAL_MAX;
}

static int check_shape(uint64_t width, uint64_t depth, enum sk_cms_cell cell)
{
    if (width == 0 || depth == 0 || (cell != SK_CMS_CELL_32 && cell != SK_CMS_CELL_64))
        return -EINVAL;
    if (depth > SK_CMS_DEPTH_MAX || width > SK_CMS_BYTES_MAX / depth / cell_bytes(cell))
        return -EOVERFLOW;
    return 0;
}

int sk_cms_shape(double error, double confidence, uint32_t *ret_width, uint32_t *ret_depth)
{
    if (!(error > 0 && error < 1) || !(confidence > 0 && confidence < 1))
        return -EINVAL;
    double width = ceil(E / error), depth = ceil(-log1p(-confidence));
    if (width > (double) SK_CMS_BYTES_MAX || depth > SK_CMS_DEPTH_MAX)
        return -EOVERFLOW;
    int r = check_shape((uint64_t) width, (uint64_t) depth, SK_CMS_CELL_32);
    if (r < 0)
        return r;
    *ret_width = (uint32_t) width;
    *ret_depth = (uint32_t) depth;
    return 0;
}

int sk_cms_new(struct sk_cms **ret, uint32_t width, uint32_t depth, enum sk_cms_cell cell)
{
    int r = check_shape(width, depth, cell);
    if (r < 0)
        return r;
    struct sk_cms *c = calloc(1, sizeof *c + (size_t) width * depth * cell_bytes(cell));
    if (!c)
        return -ENOMEM;
    c->width = width;
    c->depth = depth;
    c->cell = cell;
    *ret = c;
    return 0;
}

struct sk_cms *sk_cms_free(struct sk_cms *c)
{
    free(c);
    return NULL;
}

/* Where the key's cell of a row is, counted through all rows: below 2^28 by SK_CMS_BYTES_MAX. */
static uint32_t cell_at(const struct sk_cms *c, uint64_t hash, uint32_t row)
{
    return row * c->width + (uint32_t) sk_range(sk_mix_row(hash, row), c->width);
}

static void add_total(struct sk_cms *c, uint64_t weight)
{
    c->total = weight < TOTAL_MAX - c->total ? c->total + weight : TOTAL_MAX;
}

/* The new estimate for the least of the key's cells, and the flag if it does not fit. */
static uint64_t raised(struct sk_cms *c, uint64_t least, uint64_t weight)
{
    uint64_t max = cell_max(c->cell);
    bool over = weight > max - least;
    c->saturated |= over;
    return over ? max : least + weight;
}

void cms_fetch(const struct sk_cms *c, uint64_t hash, struct cms_cells *ret)
{
    const char *cells = (const char *) c->cells;
    size_t bytes = cell_bytes(c->cell);
    for (uint32_t row = 0; row < c->depth; row++) {
        ret->at[row] = cell_at(c, hash, row);
        __builtin_prefetch(cells + ret->at[row] * bytes, 1);
    }
}

/* No cell need be above the least one plus the weight: those that are stay. Every cell is written,
 * since a branch on which would be missed more often than not. */
static uint64_t add32(struct sk_cms *c, const uint32_t *at, uint64_t weight)
{
    uint32_t *cells = cells32(c), least = UINT32_MAX;
    for (uint32_t row = 0; row < c->depth; row++) {
        uint32_t cell = cells[at[row]];
        least = cell < least ? cell : least;
    }
    uint32_t to = (uint32_t) raised(c, least, weight);
    for (uint32_t row = 0; row < c->depth; row++) {
        uint32_t cell = cells[at[row]];
        cells[at[row]] = cell > to ? cell : to;
    }
    return to;
}

static uint64_t add64(struct sk_cms *c, const uint32_t *at, uint64_t weight)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t row = 0; row < c->depth; row++) {
        uint64_t cell = c->cells[at[row]];
        least = cell < least ? cell : least;
    }
    uint64_t to = raised(c, least, weight);
    for (uint32_t row = 0; row < c->depth; row++) {
        uint64_t cell = c->cells[at[row]];
        c->cells[at[row]] = cell > to ? cell : to;
    }
    return to;
}

uint64_t cms_add_at(struct sk_cms *c, const struct cms_cells *cells, uint64_t weight)
{
    add_total(c, weight);
    return c->cell == SK_CMS_CELL_32 ? add32(c, cells->at, weight) : add64(c, cells->at, weight);
}

uint64_t sk_cms_add(struct sk_cms *c, uint64_t hash, uint64_t weight)
{
    struct cms_cells cells;
    cms_fetch(c, hash, &cells);
    return cms_add_at(c, &cells, weight);
}

static uint64_t cell_get(const struct sk_cms *c, size_t at)
{
    return c->cell == SK_CMS_CELL_32 ? ((const uint32_t *) (const void *) c->cells)[at]
                                     : c->cells[at];
}

static void cell_set(struct sk_cms *c, size_t at, uint64_t value)
{
    if (c->cell == SK_CMS_CELL_32)
        cells32(c)[at] = (uint32_t) value;
    else
        c->cells[at] = value;
}

uint64_t sk_cms_count(const struct sk_cms *c, uint64_t hash)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t row = 0; row < c->depth; row++) {
        uint64_t cell = cell_get(c, cell_at(c, hash, row));
        least = cell < least ? cell : least;
    }
    return least;
}

uint64_t sk_cms_total(const struct sk_cms *c)
{
    return c->total;
}

bool sk_cms_saturated(const struct sk_cms *c)
{
    return c->saturated;
}

uint32_t sk_cms_width(const struct sk_cms *c)
{
    return c->width;
}

uint32_t sk_cms_depth(const struct sk_cms *c)
{
    return c->depth;
}

uint64_t sk_cms_error_bound(const struct sk_cms *c)
{
    double bound = ceil(E / c->width * (double) c->total);
    /* No key can be over by more than all that was added. */
    return bound < (double) c->total ? (uint64_t) bound : c->total;
}

double sk_cms_confidence(const struct sk_cms *c)
{
    return -expm1(-(double) c->depth);
}

int sk_cms_merge(struct sk_cms *into, const struct sk_cms *from)
{
    if (into->width != from->width || into->depth != from->depth || into->cell != from->cell)
        return -EINVAL;
    uint64_t max = cell_max(into->cell);
    bool over = false;
    for (size_t i = 0; i < cell_count(into); i++) {
        uint64_t sum = cell_get(into, i) + cell_get(from, i);
        over |= sum > max;
        cell_set(into, i, sum < max ? sum : max);
    }
    into->saturated |= from->saturated | over;
    add_total(into, from->total);
    return 0;
}

size_t sk_cms_bytes(const struct sk_cms *c)
{
    return sizeof *c + cell_count(c) * cell_bytes(c->cell);
}

size_t sk_cms_put_room(const struct sk_cms *c)
{
    return FORM_HEAD_BYTES + cell_count(c) * cell_bytes(c->cell);
}

size_t sk_cms_put(const struct sk_cms *c, uint8_t *to, size_t room)
{
    if (room < sk_cms_put_room(c))
        return 0;
    sk_put32(to, c->width);
    sk_put32(to + 4, c->depth);
    to[8] = (uint8_t) c->cell;
    to[9] = c->saturated;
    sk_put16(to + 10, 0);
    sk_put64(to + 12, c->total);
    uint8_t *at = to + FORM_HEAD_BYTES;
    const uint32_t *cells = (const uint32_t *) (const void *) c->cells;
    size_t n = cell_count(c);
    if (c->cell == SK_CMS_CELL_32)
        for (size_t i = 0; i < n; i++)
            sk_put32(at + 4 * i, cells[i]);
    else
        for (size_t i = 0; i < n; i++)
            sk_put64(at + 8 * i, c->cells[i]);
    return sk_cms_put_room(c);
}

/* No cell is above the total, as long as that has not come to its end, where no cell is either. */
static int get_cells(struct sk_cms *c, const uint8_t *at)
{
    for (size_t i = 0; i < cell_count(c); i++, at += cell_bytes(c->cell)) {
        uint64_t value = c->cell == SK_CMS_CELL_32 ? sk_get32(at) : sk_get64(at);
        if (value > c->total)
            return -EBADMSG;
        cell_set(c, i, value);
    }
    return 0;
}

int sk_cms_get(struct sk_cms **ret, const uint8_t *from, size_t n, size_t *ret_used)
{
    if (n < FORM_HEAD_BYTES)
        return -EBADMSG;
    uint32_t width = sk_get32(from), depth = sk_get32(from + 4);
    uint64_t total = sk_get64(from + 12);
    if (from[8] > 1 || from[9] > 1 || sk_get16(from + 10) != 0 || total > TOTAL_MAX)
        return -EBADMSG;
    enum sk_cms_cell cell = from[8] ? SK_CMS_CELL_64 : SK_CMS_CELL_32;
    if (check_shape(width, depth, cell) < 0 ||
        (n - FORM_HEAD_BYTES) / cell_bytes(cell) / width < depth)
        return -EBADMSG;
    struct sk_cms *c;
    int r = sk_cms_new(&c, width, depth, cell);
    if (r < 0)
        return r;
    c->saturated = from[9];
    c->total = total;
    r = get_cells(c, from + FORM_HEAD_BYTES);
    if (r < 0) {
        sk_cms_free(c);
        return r;
    }
    *ret = c;
    *ret_used = sk_cms_put_room(c);
    return 0;
}
