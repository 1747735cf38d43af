/* The SQLite database of a store: schema, one transaction, rows. Knows bytes and days, nothing of
 * sketches. One thread at a time (the committer; without a directory whoever calls).
 *
 *     reckond.db   committed state. One transaction moves it from (S1,P1) to (S2,P2).
 *     the spill    an unlinked temporary database with records and journal rows that memory had to
 * give up since the last commit: days written out to make room for others. The next transaction
 * takes its rows over; it is emptied once that has been committed, so a failed commit loses
 * nothing, and a crash forgets it together with everything since.
 *
 * Without a directory there is only a temporary database, which is its own spill.
 * Results: 0 or -ENOSPC (full), -EIO, -EBUSY, -ENOMEM, -EROFS, -EBADMSG (damaged). */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sketch/hash.h"

#define DB_FILE "reckond.db"
#define DB_LOCK_FILE "lock"
#define DB_BLOB_MAX ((size_t) 1 << 20) /* of the journal */
#define DB_BLOB_HASHES (DB_BLOB_MAX / 8)

struct db; /* opaque */

struct db_open_result {
    bool is_new;     /* the database was made by this call */
    struct err note; /* a damaged one was set aside; may be empty */
};

/* directory NULL: temporary. 0; -EBUSY with a sentence that names the other process;
 * -EPROTONOSUPPORT: newer schema; -EACCES, -ENOSPC, -EROFS, -ENOTDIR, ...: cannot create. */
int db_open(struct db **ret, const char *directory, struct db_open_result *ret_result,
            struct err *e);
struct db *db_free(struct db *db); /* closes, gives up the lock; returns NULL */
/* Closes the connection and opens it again: after an I/O error no handle is to be trusted. */
int db_reopen(struct db *db);
bool db_is_temporary(const struct db *db);
const char *db_error(const struct db *db); /* SQLite's words for the last failure */
uint64_t db_bytes(const struct db *db);    /* file and write-ahead log */

int db_begin(struct db *db); /* takes the spill's rows over; what is put afterwards is newer */
int db_commit(struct db *db);
void db_rollback(struct db *db); /* the spill stays */
bool db_spilled(const struct db *db);
uint64_t db_spill_bytes(struct db *db); /* 0 without one of its own */

/* ---- meta: small texts by name ---- */

int db_meta_put(struct db *db, const char *name, const char *text);
int db_meta_get(struct db *db, const char *name, struct buf *ret); /* -ENOENT */

/* ---- series ---- */

/* The id of a series, made if it is not there; *ret_changed: others of its kind and name are. */
int db_series(struct db *db, const char *kind, const char *name, const char *definition,
              int32_t today, int64_t *ret_id, bool *ret_changed);

/* ---- records ---- */

enum db_place { DB_MAIN, DB_SPILL };

struct db_record {
    int64_t series_id;
    int32_t day;
    uint16_t kind, version;
    const struct sk_stamp *stamp;
    const uint8_t *bytes;
    size_t n;
};

int db_record_put(struct db *db, enum db_place place, const struct db_record *r);
/* The spill's record, else the committed one. -ENOENT */
int db_record_get(struct db *db, int64_t series_id, int32_t day, uint16_t kind, struct buf *ret);
/* Days of a series in both, ascending, as int32_t in ret. */
int db_record_days(struct db *db, int64_t series_id, struct buf *ret);
/* Deletes for real (pages are overwritten) what is older than `day`, in both. */
int db_record_forget(struct db *db, int32_t day);

/* ---- inputs and positions ---- */

struct db_input {
    int64_t id;
    int64_t last_line_s;
    struct buf books;
};

int db_input_get(struct db *db, const char *name,
                 struct db_input *ret); /* made if it is not there */
int db_input_put(struct db *db, int64_t id, const void *books, size_t n, int64_t last_line_s);
int db_positions(struct db *db, int64_t input_id,
                 int (*visit)(void *arg, uint64_t id, const uint8_t *bytes, uint32_t n), void *arg);
int db_position_put(struct db *db, int64_t input_id, uint64_t id, const uint8_t *bytes, uint32_t n);
int db_position_delete(struct db *db, int64_t input_id, uint64_t id);

/* ---- filters and their journals ---- */

struct db_filter {
    uint64_t generation, capacity, bits, rebuilds;
    uint32_t hashes;
    int64_t last_rebuild_s;
    int32_t since;
    bool saturated;
};

int db_filter_get(struct db *db, int64_t series_id, struct db_filter *ret); /* -ENOENT */
int db_filter_put(struct db *db, int64_t series_id, const struct db_filter *f);

/* What a block of hashes says. */
enum db_journal_kind { DB_JOURNAL_SEEN, DB_JOURNAL_FORGOTTEN };

struct db_journal {
    int64_t series_id;
    int32_t day;
    const uint64_t *hashes;
    uint32_t n; /* at most DB_BLOB_HASHES */
};

int db_journal_put(struct db *db, enum db_place place, const struct db_journal *j);
/* The block after *sequence of days >= first_day, committed ones only (temporary: all); moves
 * *sequence. hashes has room for DB_BLOB_HASHES. -ENOENT: no more */
int db_journal_next(struct db *db, int64_t series_id, int32_t first_day, int64_t *sequence,
                    uint64_t *hashes, uint32_t *ret_n);
/* The same for the blocks of one day with n < below_n and sequence <= last. */
int db_journal_next_of_day(struct db *db, int64_t series_id, int32_t day, uint32_t below_n,
                           int64_t last, int64_t *sequence, uint64_t *hashes, uint32_t *ret_n);
int db_journal_delete_of_day(struct db *db, int64_t series_id, int32_t day, uint32_t below_n,
                             int64_t last);
int db_journal_last(struct db *db, int64_t *ret_sequence);
int db_journal_entries(struct db *db, int64_t series_id, uint64_t *ret);
int db_journal_forget(struct db *db, int64_t series_id, int32_t first_day);
/* A day with at least `rows` blocks of n < below_n and day <= last_day. -ENOENT: none */
int db_journal_crowded(struct db *db, int64_t series_id, uint32_t rows, uint32_t below_n,
                       int32_t last_day, int32_t *ret_day, uint64_t *ret_entries);

#endif
