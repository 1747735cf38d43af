#include "sketch/topk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/cms_int.h"
#include "sketch/form_int.h"

#define CUT_BYTES 2000 /* of a key that is too long */
#define AHEAD 8        /* keys whose cells are on their way */
#define ELLIPSIS "\xe2\x80\xa6"
#define SHORT_BYTES 256 /* keys up to this lie close together */

#define FORM_MAGIC "RKTK"
#define FORM_VERSION 1
#define ENTRY_HEAD_BYTES 18

/* An entry never moves: heap and index name it by its number. Its count is what the sketch said
 * when the key came last; another key's cells may have raised it since, never lowered. */
struct entry {
    uint64_t hash, count;
    uint16_t key_bytes;
    uint16_t heap_at;
};

struct sk_topk {
    uint32_t k, n;
    struct sk_cms *cms;
    struct entry *entries;
    uint16_t *heap;  /* entry numbers; the first is the worst */
    uint16_t *index; /* linear probing by hash; entry number + 1, 0 is free */
    uint32_t index_mask;
    uint8_t *keys; /* k short slots, then k long ones, which lie untouched until one is needed */
};

static size_t key_room(uint32_t k)
{
    return (size_t) k * (SHORT_BYTES + SK_TOPK_KEY_BYTES);
}

static uint8_t *key_slot(const struct sk_topk *t, uint32_t id, size_t key_bytes)
{
    if (key_bytes <= SHORT_BYTES)
        return t->keys + (size_t) id * SHORT_BYTES;
    return t->keys + (size_t) t->k * SHORT_BYTES + (size_t) id * SK_TOPK_KEY_BYTES;
}

static const uint8_t *key_of(const struct sk_topk *t, uint32_t id)
{
    return key_slot(t, id, t->entries[id].key_bytes);
}

static int compare_keys(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes)
{
    int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/* The order of the answer: more first, then the smaller key. It is total, so that which entry is
 * the worst does not depend on how the heap came to be. */
static bool worse(const struct sk_topk *t, uint32_t a, uint32_t b)
{
    const struct entry *x = &t->entries[a], *y = &t->entries[b];
    if (x->count != y->count)
        return x->count < y->count;
    return compare_keys(key_of(t, a), x->key_bytes, key_of(t, b), y->key_bytes) > 0;
}

static void heap_set(struct sk_topk *t, uint32_t at, uint16_t id)
{
    t->heap[at] = id;
    t->entries[id].heap_at = (uint16_t) at;
}

static void sift_up(struct sk_topk *t, uint32_t at)
{
    uint16_t id = t->heap[at];
    while (at > 0 && worse(t, id, t->heap[(at - 1) / 2])) {
        heap_set(t, at, t->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(t, at, id);
}

static void sift_down(struct sk_topk *t, uint32_t at)
{
    uint16_t id = t->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < t->n && worse(t, t->heap[child + 1], t->heap[child]))
            child++;
        if (child >= t->n || !worse(t, t->heap[child], id))
            break;
        heap_set(t, at, t->heap[child]);
        at = child;
    }
    heap_set(t, at, id);
}

static bool is_key(const struct sk_topk *t, uint32_t id, uint64_t hash, const uint8_t *key,
                   size_t key_bytes)
{
    const struct entry *e = &t->entries[id];
    return e->hash == hash && e->key_bytes == key_bytes &&
           memcmp(key_of(t, id), key, key_bytes) == 0;
}

/* The index slot of the key, or the free one where it would go. */
static uint32_t index_find(const struct sk_topk *t, uint64_t hash, const uint8_t *key,
                           size_t key_bytes)
{
    uint32_t at = (uint32_t) hash & t->index_mask;
    while (t->index[at] && !is_key(t, t->index[at] - 1u, hash, key, key_bytes))
        at = (at + 1) & t->index_mask;
    return at;
}

/* Frees a slot and closes the gap: a later one of the run moves in if its home does not lie after
 * it. */
static void index_remove(struct sk_topk *t, uint32_t id)
{
    uint32_t gap = (uint32_t) t->entries[id].hash & t->index_mask;
    while (t->index[gap] != id + 1)
        gap = (gap + 1) & t->index_mask;
    for (uint32_t at = (gap + 1) & t->index_mask; t->index[at]; at = (at + 1) & t->index_mask) {
        uint32_t home = (uint32_t) t->entries[t->index[at] - 1u].hash & t->index_mask;
        if (((at - home) & t->index_mask) >= ((at - gap) & t->index_mask)) {
            t->index[gap] = t->index[at];
            gap = at;
        }
    }
    t->index[gap] = 0;
}

static void entry_fill(struct sk_topk *t, uint32_t id, uint64_t hash, uint64_t count,
                       const uint8_t *key, size_t key_bytes)
{
    struct entry *e = &t->entries[id];
    e->hash = hash;
    e->count = count;
    e->key_bytes = (uint16_t) key_bytes;
    if (key_bytes > 0)
        memcpy(key_slot(t, id, key_bytes), key, key_bytes);
    t->index[index_find(t, hash, key, key_bytes)] = (uint16_t) (id + 1);
}

/* The sketch may say more of the worst by now: then it is looked for again. */
static uint32_t worst(struct sk_topk *t)
{
    for (;;) {
        struct entry *e = &t->entries[t->heap[0]];
        uint64_t count = sk_cms_count(t->cms, e->hash);
        if (count <= e->count)
            return t->heap[0];
        e->count = count;
        sift_down(t, 0);
    }
}

static void replace_worst(struct sk_topk *t, uint64_t hash, uint64_t count, const uint8_t *key,
                          size_t key_bytes)
{
    uint32_t id = worst(t);
    const struct entry *e = &t->entries[id];
    if (count < e->count ||
        (count == e->count && compare_keys(key, key_bytes, key_of(t, id), e->key_bytes) >= 0))
        return;
    index_remove(t, id);
    entry_fill(t, id, hash, count, key, key_bytes);
    sift_down(t, 0);
}

/* The key with its count, which is that of the worst entry at least if there are k. */
static void enter(struct sk_topk *t, uint64_t hash, uint64_t count, const uint8_t *key,
                  size_t key_bytes)
{
    uint32_t found = t->index[index_find(t, hash, key, key_bytes)];
    if (found) {
        t->entries[found - 1].count = count;
        sift_down(t, t->entries[found - 1].heap_at);
    } else if (t->n < t->k) {
        uint32_t id = t->n++;
        entry_fill(t, id, hash, count, key, key_bytes);
        heap_set(t, id, (uint16_t) id);
        sift_up(t, id);
    } else {
        replace_worst(t, hash, count, key, key_bytes);
    }
}

/* A key over the limit: its beginning, an ellipsis and the hash. Not inlined, since its buffer
 * would burden all the others. */
static __attribute__((noinline)) void enter_cut(struct sk_topk *t, uint64_t hash, uint64_t count,
                                                const void *key)
{
    uint8_t cut[SK_TOPK_KEY_BYTES];
    memcpy(cut, key, CUT_BYTES);
    int more = snprintf((char *) cut + CUT_BYTES, sizeof cut - CUT_BYTES, ELLIPSIS "%016llx",
                        (unsigned long long) hash);
    enter(t, hash, count, cut, CUT_BYTES + (size_t) more);
}

static void add_at(struct sk_topk *t, const struct cms_cells *cells,
                   const struct sk_topk_item *item)
{
    uint64_t count = cms_add_at(t->cms, cells, item->weight);
    /* Every entry's count is at most what the sketch says, so one with less than all is not among
     * them. */
    if (t->n == t->k && count < t->entries[t->heap[0]].count)
        return;
    if (item->key_bytes > SK_TOPK_KEY_BYTES)
        enter_cut(t, item->hash, count, item->key);
    else
        enter(t, item->hash, count, item->key_bytes ? item->key : (const void *) "",
              item->key_bytes);
}

void sk_topk_add(struct sk_topk *t, uint64_t hash, const void *key, size_t key_bytes,
                 uint64_t weight)
{
    struct cms_cells cells;
    if (weight == 0)
        return;
    cms_fetch(t->cms, hash, &cells);
    add_at(t, &cells, &(struct sk_topk_item){hash, weight, key, key_bytes});
}

/* Cells are asked for long before they are needed; what is added when is as without. */
void sk_topk_add_batch(struct sk_topk *t, const struct sk_topk_item *items, size_t n)
{
    struct cms_cells cells[AHEAD];
    size_t fetched = 0;
    for (; fetched < n && fetched < AHEAD; fetched++)
        cms_fetch(t->cms, items[fetched].hash, &cells[fetched]);
    for (size_t i = 0; i < n; i++) {
        if (items[i].weight > 0)
            add_at(t, &cells[i % AHEAD], &items[i]);
        if (fetched < n)
            cms_fetch(t->cms, items[fetched++].hash, &cells[i % AHEAD]);
    }
}

/* Takes the sketch over, also when it fails. */
static int topk_new(struct sk_topk **ret, uint32_t k, struct sk_cms *cms)
{
    struct sk_topk *t = calloc(1, sizeof *t);
    if (!t) {
        sk_cms_free(cms);
        return -ENOMEM;
    }
    uint32_t slots = 4;
    while (slots < 2 * k)
        slots *= 2;
    t->k = k;
    t->cms = cms;
    t->index_mask = slots - 1;
    t->entries = calloc(k, sizeof *t->entries);
    t->heap = calloc(k, sizeof *t->heap);
    t->index = calloc(slots, sizeof *t->index);
    t->keys = malloc(key_room(k));
    if (!t->entries || !t->heap || !t->index || !t->keys) {
        sk_topk_free(t);
        return -ENOMEM;
    }
    *ret = t;
    return 0;
}

int sk_topk_new(struct sk_topk **ret, uint32_t k, uint32_t width, uint32_t depth,
                enum sk_cms_cell cell)
{
    struct sk_cms *cms;
    if (k == 0 || k > SK_TOPK_K_MAX)
        return -EINVAL;
    int r = sk_cms_new(&cms, width, depth, cell);
    return r < 0 ? r : topk_new(ret, k, cms);
}

struct sk_topk *sk_topk_free(struct sk_topk *t)
{
    if (t) {
        sk_cms_free(t->cms);
        free(t->entries);
        free(t->heap);
        free(t->index);
        free(t->keys);
        free(t);
    }
    return NULL;
}

uint64_t sk_topk_count(const struct sk_topk *t, uint64_t hash)
{
    return sk_cms_count(t->cms, hash);
}

static int compare_rows(const void *a, const void *b)
{
    const struct sk_topk_row *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return compare_keys(x->key, x->key_bytes, y->key, y->key_bytes);
}

uint32_t sk_topk_list(const struct sk_topk *t, struct sk_topk_row *rows)
{
    for (uint32_t id = 0; id < t->n; id++) {
        const struct entry *e = &t->entries[id];
        rows[id] = (struct sk_topk_row){.key = key_of(t, id),
                                        .key_bytes = e->key_bytes,
                                        .hash = e->hash,
                                        .count = sk_cms_count(t->cms, e->hash)};
    }
    qsort(rows, t->n, sizeof *rows, compare_rows);
    return t->n;
}

uint32_t sk_topk_k(const struct sk_topk *t)
{
    return t->k;
}

const struct sk_cms *sk_topk_cms(const struct sk_topk *t)
{
    return t->cms;
}

size_t sk_topk_bytes(const struct sk_topk *t)
{
    return sizeof *t + sk_cms_bytes(t->cms) + key_room(t->k) +
           t->k * (sizeof *t->entries + sizeof *t->heap) +
           ((size_t) t->index_mask + 1) * sizeof *t->index;
}

static size_t save_room(const void *sketch)
{
    const struct sk_topk *t = sketch;
    return SK_FORM_HEAD_BYTES + 8 + sk_cms_put_room(t->cms) +
           (size_t) t->k * (ENTRY_HEAD_BYTES + SK_TOPK_KEY_BYTES) + SK_FORM_TAIL_BYTES;
}

static size_t save_bytes(const struct sk_topk *t)
{
    size_t n = SK_FORM_HEAD_BYTES + 8 + sk_cms_put_room(t->cms) + SK_FORM_TAIL_BYTES;
    for (uint32_t id = 0; id < t->n; id++)
        n += ENTRY_HEAD_BYTES + t->entries[id].key_bytes;
    return n;
}

static size_t save(const void *sketch, const struct sk_stamp *stamp, uint8_t *to, size_t room)
{
    const struct sk_topk *t = sketch;
    if (room < save_bytes(t))
        return 0;
    sk_form_begin(to, FORM_MAGIC, FORM_VERSION, stamp);
    uint8_t *at = to + SK_FORM_HEAD_BYTES;
    sk_put32(at, t->k);
    sk_put32(at + 4, t->n);
    at += 8;
    at += sk_cms_put(t->cms, at, room - (size_t) (at - to));
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t id = t->heap[i];
        const struct entry *e = &t->entries[id];
        sk_put64(at, e->hash);
        sk_put64(at + 8, e->count);
        sk_put16(at + 16, e->key_bytes);
        memcpy(at + ENTRY_HEAD_BYTES, key_of(t, id), e->key_bytes);
        at += ENTRY_HEAD_BYTES + e->key_bytes;
    }
    return sk_form_end(to, (size_t) (at - to));
}

/* The next entry, which must keep the heap in order, be new and be no more than the sketch says. */
static int get_entry(struct sk_topk *t, const uint8_t **at, size_t *n)
{
    if (*n < ENTRY_HEAD_BYTES)
        return -EBADMSG;
    uint64_t hash = sk_get64(*at), count = sk_get64(*at + 8);
    size_t key_bytes = sk_get16(*at + 16);
    const uint8_t *key = *at + ENTRY_HEAD_BYTES;
    if (key_bytes > SK_TOPK_KEY_BYTES || *n - ENTRY_HEAD_BYTES < key_bytes || count == 0 ||
        count > sk_cms_count(t->cms, hash) || t->index[index_find(t, hash, key, key_bytes)])
        return -EBADMSG;
    uint32_t id = t->n++;
    entry_fill(t, id, hash, count, key, key_bytes);
    heap_set(t, id, (uint16_t) id);
    if (id > 0 && worse(t, id, (id - 1) / 2))
        return -EBADMSG;
    *at = key + key_bytes;
    *n -= ENTRY_HEAD_BYTES + key_bytes;
    return 0;
}

static int get_body(struct sk_topk **ret, const uint8_t *at, size_t n)
{
    struct sk_topk *t;
    struct sk_cms *cms;
    size_t used;
    if (n < 8)
        return -EBADMSG;
    uint32_t k = sk_get32(at), entries = sk_get32(at + 4);
    if (k == 0 || k > SK_TOPK_K_MAX || entries > k)
        return -EBADMSG;
    int r = sk_cms_get(&cms, at + 8, n - 8, &used);
    if (r < 0)
        return r;
    r = topk_new(&t, k, cms);
    if (r < 0)
        return r;
    at += 8 + used;
    n -= 8 + used;
    while (r == 0 && t->n < entries)
        r = get_entry(t, &at, &n);
    if (r == 0 && n > 0)
        r = -EBADMSG;
    if (r < 0) {
        sk_topk_free(t);
        return r;
    }
    *ret = t;
    return 0;
}

static int load(void **ret, const uint8_t *from, size_t n, const struct sk_stamp *stamp)
{
    struct sk_topk *t;
    int r = sk_form_check(from, n, FORM_MAGIC, FORM_VERSION, stamp, &from, &n);
    if (r < 0)
        return r;
    r = get_body(&t, from, n);
    if (r < 0)
        return r;
    *ret = t;
    return 0;
}

static void *free_any(void *sketch)
{
    return sk_topk_free(sketch);
}

static size_t bytes_any(const void *sketch)
{
    return sk_topk_bytes(sketch);
}

const struct sk_kind sk_kind_topk = {
    .name = "topk",
    .id = 2,
    .version = FORM_VERSION,
    .save_room = save_room,
    .save = save,
    .load = load,
    .free = free_any,
    .bytes = bytes_any,
};
