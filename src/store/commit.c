/* One commit. Under the lock everything that is dirty is copied: records into the forms that their
 * cells keep for it, positions by reference, books by value; rings and rows of filters up to where
 * they are. Then, without the lock, one transaction writes it, after the spill's rows. A failure
 * marks all of it dirty again: the disk is at (S1,P1) or, where only the confirmation was lost, at
 * (S2,P2), and the next try writes whole values, so nothing can double. */
#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"

/* ---- books as bytes ---- */

#define BOOKS_VERSION 1

/* version, numbers of the lists, then the counts; an ignore rule's count follows its text. */
static void books_put(const struct store *s, const struct books *b, struct buf *to)
{
    const uint64_t single[] = {b->lines, b->bytes, b->counted, b->late, b->future};
    uint8_t head[8], word[8];
    le_put16(head, BOOKS_VERSION);
    le_put16(head + 2, REJECT_COUNT);
    le_put16(head + 4, SKIP_COUNT);
    le_put16(head + 6, BOOKS_RULES_MAX);
    buf_put(to, head, sizeof(head));
    for (size_t i = 0; i < sizeof(single) / sizeof(*single); i++) {
        le_put64(word, single[i]);
        buf_put(to, word, 8);
    }
    for (unsigned i = 0; i < REJECT_COUNT; i++) {
        le_put64(word, b->rejected[i]);
        buf_put(to, word, 8);
    }
    for (unsigned i = 0; i < SKIP_COUNT; i++) {
        le_put64(word, b->skipped[i]);
        buf_put(to, word, 8);
    }
    for (unsigned i = 0; i < BOOKS_RULES_MAX; i++) {
        bool named = i < s->n_ignore;
        size_t n = named ? strlen(s->ignore_texts[i]) : 0;
        le_put64(word, b->ignored[i]);
        buf_put(to, word, 8);
        le_put32(word, (uint32_t) n);
        buf_put(to, word, 4);
        buf_put(to, named ? s->ignore_texts[i] : "", n);
    }
}

struct reader {
    const uint8_t *p;
    size_t n;
    bool failed;
};

static uint64_t take(struct reader *r, unsigned bytes)
{
    uint8_t word[8] = {0};
    if (r->n < bytes) {
        r->failed = true;
        return 0;
    }
    memcpy(word, r->p, bytes);
    r->p += bytes;
    r->n -= bytes;
    return le_get64(word);
}

/* The slot of a rule by its text; what belongs to no rule of today goes to the last one that is
 * free. */
static unsigned rule_slot(const struct store *s, const char *text, size_t n, unsigned was)
{
    if (!s->options.ignore_texts)
        return was;
    for (unsigned i = 0; i < s->n_ignore; i++)
        if (strlen(s->ignore_texts[i]) == n && memcmp(s->ignore_texts[i], text, n) == 0)
            return i;
    return BOOKS_RULES_MAX - 1;
}

static int books_get(const struct store *s, const struct buf *from, struct books *ret)
{
    struct reader r = {(const uint8_t *) from->p, from->n, false};
    struct books b = {.lines = 0};
    if (from->n == 0) {
        *ret = b;
        return 0;
    }
    if (take(&r, 2) != BOOKS_VERSION)
        return -EBADMSG;
    unsigned n_rejects = (unsigned) take(&r, 2), n_skips = (unsigned) take(&r, 2);
    unsigned n_rules = (unsigned) take(&r, 2);
    uint64_t *const single[] = {&b.lines, &b.bytes, &b.counted, &b.late, &b.future};
    for (size_t i = 0; i < sizeof(single) / sizeof(*single); i++)
        *single[i] = take(&r, 8);
    for (unsigned i = 0; i < n_rejects; i++)
        b.rejected[i < REJECT_COUNT ? i : REJECT_BAD_FORMAT] += take(&r, 8);
    for (unsigned i = 0; i < n_skips; i++)
        b.skipped[i < SKIP_COUNT ? i : SKIP_COMMENT] += take(&r, 8);
    for (unsigned i = 0; i < n_rules && !r.failed; i++) {
        uint64_t count = take(&r, 8);
        size_t n = (size_t) take(&r, 4);
        if (r.failed || n > r.n)
            return -EBADMSG;
        if (count)
            b.ignored[rule_slot(s, (const char *) r.p, n, i % BOOKS_RULES_MAX)] += count;
        r.p += n;
        r.n -= n;
    }
    if (r.failed)
        return -EBADMSG;
    *ret = b;
    return 0;
}

/* ---- restoring ---- */

struct restoring {
    struct store *s;
    unsigned input;
};

static int restore_position(void *arg, uint64_t id, const uint8_t *bytes, uint32_t n)
{
    struct restoring *x = arg;
    struct store *s = x->s;
    if (s->n_positions == s->positions_room) {
        unsigned room = 2 * s->positions_room + 16;
        struct position_entry *grown = realloc(s->positions, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        s->positions = grown;
        s->positions_room = room;
    }
    struct blob *blob = malloc(sizeof(*blob) + n);
    if (!blob)
        return -ENOMEM;
    blob->users = 1;
    blob->n = n;
    memcpy(blob->bytes, bytes, n);
    s->positions[s->n_positions++] =
        (struct position_entry){.input = x->input, .id = id, .blob = blob};
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct position_entry *x = a, *y = b;
    if (x->input != y->input)
        return x->input < y->input ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

int commit_restore(struct store *s)
{
    int r = 0;
    for (unsigned i = 0; i < s->n_inputs && r == 0; i++) {
        struct db_input row = {.id = 0};
        struct restoring x = {s, i};
        buf_init(&row.books);
        r = db_input_get(s->db, s->inputs[i].name, &row);
        if (r == 0)
            r = books_get(s, &row.books, &s->inputs[i].books);
        s->inputs[i].id = row.id;
        s->inputs[i].last_line_s = row.last_line_s;
        buf_done(&row.books);
        if (r == 0)
            r = db_positions(s->db, row.id, restore_position, &x);
    }
    if (s->n_positions)
        qsort(s->positions, s->n_positions, sizeof(*s->positions), by_place);
    return r;
}

/* ---- the snapshot: lock held ---- */

/* 0, or -EOVERFLOW where a kind broke its promise of room. */
static int snapshot_days(struct store *s)
{
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++)
        for (unsigned j = 0; s->open[i] && j < s->open[i]->n_cells; j++) {
            struct cell *cell = &s->open[i]->cells[j];
            if (!cell->dirty)
                continue;
            int r = cell_save(cell, s->columns.list[j].kind, &s->columns.stamp);
            if (r < 0)
                return r;
            cell->saving = true;
            cell->dirty = false;
            s->saving_days[i] = s->open[i];
        }
    return 0;
}

static void snapshot_rest(struct store *s)
{
    s->n_out = 0;
    for (unsigned i = 0; i < s->n_positions; i++) {
        struct position_entry *p = &s->positions[i];
        if (!p->dirty)
            continue;
        if (p->blob)
            p->blob->users++;
        s->out[s->n_out++] = (struct position_out){p->input, p->id, p->blob};
        p->dirty = false;
    }
    for (unsigned i = 0; i < s->n_inputs; i++) {
        struct store_input *input = &s->inputs[i];
        input->saving = input->dirty;
        input->dirty = false;
        input->saving_books = input->books;
        input->saving_last_line_s = input->last_line_s;
    }
    for (unsigned i = 0; i < s->n_filters; i++) {
        struct filter *f = s->filters[i];
        f->saving = f->dirty;
        f->dirty = false;
        f->saving_row = f->row;
        f->saving_tail = f->tail;
    }
}

int commit_make_room(struct store *s)
{
    if (s->n_positions <= s->out_room)
        return 1;
    unsigned room = s->n_positions + 64;
    store_unlock(s);
    struct position_out *grown = malloc(room * sizeof(*grown));
    store_lock(s);
    if (!grown)
        return -ENOMEM;
    free(s->out);
    s->out = grown;
    s->out_room = room;
    return 0;
}

/* ---- writing: no lock ---- */

static int write_days(struct store *s)
{
    /* a day with a form in flight is not evicted: that takes a call, and this thread serves those
     */
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++)
        for (unsigned j = 0; s->saving_days[i] && j < s->columns.n; j++) {
            const struct day *d = s->saving_days[i];
            int r = d->cells[j].saving
                        ? cell_write(&d->cells[j], &s->columns, j, d->number, DB_MAIN, s->db)
                        : 0;
            if (r < 0)
                return r;
        }
    return 0;
}

static int write_positions(struct store *s)
{
    for (unsigned i = 0; i < s->n_out; i++) {
        const struct position_out *p = &s->out[i];
        int64_t input_id = s->inputs[p->input].id;
        int r = p->blob ? db_position_put(s->db, input_id, p->id, p->blob->bytes, p->blob->n)
                        : db_position_delete(s->db, input_id, p->id);
        if (r < 0)
            return r;
    }
    return 0;
}

static int write_books(struct store *s)
{
    int r = 0;
    struct buf form;
    buf_init(&form);
    for (unsigned i = 0; i < s->n_inputs && r == 0; i++) {
        struct store_input *input = &s->inputs[i];
        if (!input->saving)
            continue;
        buf_clear(&form);
        books_put(s, &input->saving_books, &form);
        r = buf_failed(&form);
        if (r == 0)
            r = db_input_put(s->db, input->id, form.p, form.n, input->saving_last_line_s);
    }
    buf_done(&form);
    return r;
}

static int write_filters(struct store *s)
{
    int r = 0;
    for (unsigned i = 0; i < s->n_filters && r == 0; i++) {
        struct filter *f = s->filters[i];
        if (f->saving)
            r = db_filter_put(s->db, f->series_id, &f->saving_row);
        if (r == 0)
            r = filter_write_ring(f, f->saving_tail, DB_MAIN, s->db);
    }
    return r;
}

static int forget_old(struct store *s, int32_t oldest, int32_t today)
{
    int r = db_record_forget(s->db, oldest);
    for (unsigned i = 0; i < s->n_filters && r == 0; i++)
        if (s->filters[i]->metric->keep_days)
            r = db_journal_forget(s->db, s->filters[i]->series_id,
                                  filter_first_day(s->filters[i], today));
    return r;
}

static int write_all(struct store *s, bool forget, int32_t oldest, int32_t today)
{
    int r = db_begin(s->db);
    if (r == 0)
        r = write_days(s);
    if (r == 0)
        r = write_filters(s);
    if (r == 0)
        r = write_positions(s);
    if (r == 0)
        r = write_books(s);
    if (r == 0 && forget)
        r = forget_old(s, oldest, today);
    if (r == 0)
        r = db_commit(s->db);
    if (r < 0)
        db_rollback(s->db);
    /* what a handle says after an I/O error is not to be trusted */
    if (r == -EIO)
        db_reopen(s->db);
    return r;
}

/* ---- the end: lock held ---- */

static void finish_days(struct store *s, bool failed)
{
    for (unsigned i = 0; i < STORE_DAYS_OPEN; i++)
        for (unsigned j = 0; s->saving_days[i] && j < s->columns.n; j++) {
            struct cell *cell = &s->saving_days[i]->cells[j];
            cell->dirty = cell->dirty || (failed && cell->saving);
            cell->saving = false;
        }
    memset(s->saving_days, 0, sizeof(s->saving_days));
}

static void finish_inputs(struct store *s, bool failed)
{
    for (unsigned i = 0; i < s->n_inputs; i++) {
        s->inputs[i].dirty = s->inputs[i].dirty || (failed && s->inputs[i].saving);
        s->inputs[i].saving = false;
    }
}

static void finish_filters(struct store *s, bool failed)
{
    for (unsigned i = 0; i < s->n_filters; i++) {
        struct filter *f = s->filters[i];
        f->dirty = f->dirty || (failed && f->saving);
        f->saving = false;
        if (!failed)
            f->head = f->saving_tail;
    }
}

static struct position_entry *find_position(struct store *s, const struct position_out *out)
{
    struct position_entry key = {.input = out->input, .id = out->id};
    return bsearch(&key, s->positions, s->n_positions, sizeof(key), by_place);
}

/* Blobs that only the commit held stay in `out` to be freed; entries forgotten on disk go. */
static void finish_positions(struct store *s, bool failed)
{
    for (unsigned i = 0; i < s->n_out; i++) {
        struct position_out *out = &s->out[i];
        struct position_entry *entry = find_position(s, out);
        if (entry && failed)
            entry->dirty = true;
        if (entry && !failed && !entry->blob && !entry->dirty) {
            unsigned at = (unsigned) (entry - s->positions);
            memmove(entry, entry + 1, (s->n_positions - at - 1) * sizeof(*entry));
            s->n_positions--;
        }
        if (!blob_drop(out->blob))
            out->blob = NULL;
    }
}

int commit_run(struct store *s)
{
    int r = snapshot_days(s);
    snapshot_rest(s);
    bool forget = s->retention_due;
    int32_t oldest = store_oldest_kept(s), today = s->today;
    s->retention_due = false;
    store_unlock(s);
    if (r == 0)
        r = write_all(s, forget, oldest, today);
    uint64_t bytes = db_bytes(s->db), spilled = db_spill_bytes(s->db);
    store_lock(s);
    s->state.database_bytes = bytes;
    s->spill_bytes = spilled;
    finish_days(s, r < 0);
    finish_inputs(s, r < 0);
    finish_filters(s, r < 0);
    finish_positions(s, r < 0);
    s->retention_due = s->retention_due || (r < 0 && forget);
    if (r == 0 && forget)
        s->evictions += EVICTIONS_KEPT + 1; /* every cached list of days is old */
    store_unlock(s);
    for (unsigned i = 0; i < s->n_out; i++)
        free(s->out[i].blob);
    s->n_out = 0;
    if (r == 0)
        rebuild_compact(s, forget);
    store_lock(s);
    return r;
}
