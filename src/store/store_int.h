/* The inside of a store, shared by store.c (lock, calls, committer), apply.c, commit.c, rebuild.c
 * and query.c. Everything below `lock` is read and written under it; a comment says where not.
 *
 * Who does what: the ingest loop alone changes sketches, filters and positions, and under the lock.
 * The committer alone uses the database; it looks at a day without the lock only inside a call for
 * which the ingest loop waits. */
#ifndef STORE_STORE_INT_H
#define STORE_STORE_INT_H

#include <pthread.h>

#include "store/day.h"
#include "store/db.h"
#include "store/query.h"
#include "store/seen.h"
#include "store/store.h"

#define EVICTIONS_KEPT 64
/* With so much in the spill no new delta is begun before a commit has succeeded. */
#define STORE_SPILL_MOST ((uint64_t) 256 << 20)
#define STORE_KEY_HEAD_BYTES 4 /* a key of one field is kept in top-K without its length */

/* Bytes that may be shared with a commit under way. */
struct blob {
    unsigned users; /* under the lock */
    uint32_t n;
    uint8_t bytes[];
};

struct position_entry {
    unsigned input;
    uint64_t id;
    struct blob *blob; /* NULL: forgotten, until that is committed */
    bool dirty;
};

struct store_input {
    char *name;
    int64_t id;
    struct books books, saving_books;
    int64_t last_line_s, saving_last_line_s;
    bool dirty, saving;
    struct input_status status;
    struct input_file_status *files;
    unsigned n_files;
};

/* A position in flight: the committer's. */
struct position_out {
    unsigned input;
    uint64_t id;
    struct blob *blob;
};

struct store_call {
    int (*fn)(struct store *s, void *arg);
    void *arg;
    int result;
    bool done;
    struct store_call *next;
};

/* What is done of the delta that is being applied: the ingest loop's, but for three marks. */
struct applying {
    bool active;    /* under the lock: a part is in memory, no commit until the rest is */
    bool held;      /* under the lock: whole batches are in memory whose positions come later */
    bool stuck;     /* under the lock: one of both, and the last try of the rest failed */
    unsigned round; /* the next one */
    const struct batch *batch;
    uint32_t n_lines;
};

/* The ingest loop's; no lock. */
struct apply_scratch {
    uint64_t *hashes; /* [BATCH_LINES] */
    uint16_t *day_of; /* [line]: index in days */
    uint8_t *slot_of; /* [line]: open day, or SLOT_NONE */
    int32_t *days;    /* different days of the batch, in the order of their first line */
    unsigned n_days;
    uint16_t *table;  /* hash of days */
    uint32_t *starts; /* [filter]: its next line, where filters are rebuilt amid a batch */
};

struct store {
    struct store_options options;
    struct columns columns;
    char *directory;
    char *ignore_texts[BOOKS_RULES_MAX];
    unsigned n_ignore;
    bool is_new;
    unsigned n_filters;
    struct filter *filters[METRICS_MAX];
    int filter_of[METRICS_MAX]; /* by metric; -1 */
    unsigned n_inputs;
    struct store_input *inputs;
    struct clock clock;
    struct apply_scratch scratch;

    struct db *db; /* the committer's */
    unsigned commits_since_compaction;
    struct day *saving_days[STORE_DAYS_OPEN];
    struct position_out *out;
    unsigned n_out, out_room;

    pthread_mutex_t lock;
    pthread_cond_t wake;    /* the committer: a call, something dirty, the end */
    pthread_cond_t done;    /* a call or a commit is done */
    pthread_cond_t rebuild; /* the rebuilder: a filter is over its target, the end */
    bool has_committer, has_rebuilder;
    pthread_t committer, rebuilder;
    bool ending, ending_rebuilds;

    int32_t today;
    struct day *open[STORE_DAYS_OPEN];
    uint64_t applied; /* batches, for the least recently written day */
    uint64_t version; /* of cells */
    struct applying applying;
    uint64_t lost_today; /* not yet in today's record */

    struct position_entry *positions; /* sorted by input and id */
    unsigned n_positions, positions_room;

    struct store_call *calls, **calls_end;
    uint64_t commit_wanted, commit_served;
    int commit_result;
    int64_t dirty_since_ns, commit_at_ns; /* monotonic; 0: clean */
    bool retention_due;
    uint64_t spill_bytes; /* when it was last written or emptied */

    /* Days whose stored records have changed, for caches of closed days. */
    uint64_t evictions; /* counts up */
    int32_t evicted[EVICTIONS_KEPT];

    struct store_state state;
    int64_t locked_at_ns;
};

void store_lock(struct store *s);
void store_unlock(struct store *s);

/* Runs fn on the thread that owns the database and waits; fn's result. */
int store_call(struct store *s, int (*fn)(struct store *s, void *arg), void *arg);
/* Lock held. Something must be written: within commit_every. */
void store_dirty(struct store *s);
/* Lock held. The stored records of a day have changed. */
void store_evicted(struct store *s, int32_t day);
int32_t store_oldest_kept(const struct store *s);         /* lock held */
struct day *store_open_day(struct store *s, int32_t day); /* lock held; NULL: not open */

/* ---- position.c ---- */

/* Lock held. The reference goes; true: the caller frees the blob once the lock is released. */
bool blob_drop(struct blob *b);
/* A copy of each position's bytes, NULL for one to forget. 0 or -ENOMEM */
int position_copy(const struct store_delta *d, struct blob ***ret);
void position_free(struct blob **blobs, unsigned n);
/* Room for n more; no lock. 0 or -ENOMEM */
int position_make_room(struct store *s, unsigned n);
/* Lock held. Puts the blob in place; returns one that has to be freed, or NULL. */
struct blob *position_set(struct store *s, unsigned input, uint64_t id, struct blob *blob);

/* ---- apply.c ---- */
int apply_scratch_init(struct apply_scratch *scratch, unsigned n_filters);
void apply_scratch_done(struct apply_scratch *scratch);

/* ---- commit.c: the committer ---- */

/* Lock held. 1: there is room for the positions; 0: the lock was released to get it, look again;
 * -ENOMEM */
int commit_make_room(struct store *s);
/* Lock held, and again at the end. Moves the disk to what memory holds now. */
int commit_run(struct store *s);
/* Reads books, positions; at opening, no lock. */
int commit_restore(struct store *s);

/* ---- rebuild.c ---- */

/* Fills a filter from its journal; at opening, no lock. */
int rebuild_restore(struct store *s, struct filter *f);
/* Builds a larger filter and puts it in place. 0; -ECANCELED: the store closes, or not needed. */
int rebuild_run(struct store *s, struct filter *f);
void *rebuild_thread(void *store);
/* The committer, between commits: joins the small blocks of a day. */
void rebuild_compact(struct store *s, bool day_changed);

#endif
