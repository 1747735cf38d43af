/* Filters and their journals, of db.h. Hashes lie in blobs as little-endian 64-bit words. */
#include "store/db_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"

/* A query of one number. -ENOENT: no row */
static int number(struct db *db, sqlite3_stmt *s, int64_t *ret)
{
    int r = db_step(db, s);
    if (r > 0)
        *ret = sqlite3_column_int64(s, 0);
    db_done(s);
    return r > 0 ? 0 : r == 0 ? -ENOENT : r;
}

int db_filter_get(struct db *db, int64_t series_id, struct db_filter *ret)
{
    static const char sql[] =
        "SELECT generation, capacity, bits, hashes, rebuilds, last_rebuild, since,"
        " saturated FROM filter WHERE series_id = ?1";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, series_id);
    r = db_step(db, s);
    if (r > 0)
        *ret = (struct db_filter){
            .generation = (uint64_t) sqlite3_column_int64(s, 0),
            .capacity = (uint64_t) sqlite3_column_int64(s, 1),
            .bits = (uint64_t) sqlite3_column_int64(s, 2),
            .hashes = (uint32_t) sqlite3_column_int(s, 3),
            .rebuilds = (uint64_t) sqlite3_column_int64(s, 4),
            .last_rebuild_s = sqlite3_column_int64(s, 5),
            .since = sqlite3_column_int(s, 6),
            .saturated = sqlite3_column_int(s, 7) != 0,
        };
    db_done(s);
    return r > 0 ? 0 : r == 0 ? -ENOENT : r;
}

int db_filter_put(struct db *db, int64_t series_id, const struct db_filter *f)
{
    static const char sql[] =
        "INSERT OR REPLACE INTO filter VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, series_id);
    sqlite3_bind_int64(s, 2, (int64_t) f->generation);
    sqlite3_bind_int64(s, 3, (int64_t) f->capacity);
    sqlite3_bind_int64(s, 4, (int64_t) f->bits);
    sqlite3_bind_int64(s, 5, f->hashes);
    sqlite3_bind_int64(s, 6, (int64_t) f->rebuilds);
    sqlite3_bind_int64(s, 7, f->last_rebuild_s);
    sqlite3_bind_int(s, 8, f->since);
    sqlite3_bind_int(s, 9, f->saturated);
    return db_run(db, s);
}

int db_journal_put(struct db *db, enum db_place place, const struct db_journal *j)
{
    static const char sql[] =
        "INSERT INTO journal(series_id, day, kind, n, hashes) VALUES(?1, ?2, ?3, ?4, ?5)";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db_of(db, place), sql, &r);
    if (!s)
        return r;
    uint8_t *blob = malloc((size_t) j->n * 8 + 1);
    if (!blob)
        return -ENOMEM;
    for (uint32_t i = 0; i < j->n; i++)
        le_put64(blob + (size_t) i * 8, j->hashes[i]);
    sqlite3_bind_int64(s, 1, j->series_id);
    sqlite3_bind_int(s, 2, j->day);
    sqlite3_bind_int(s, 3, DB_JOURNAL_SEEN);
    sqlite3_bind_int64(s, 4, j->n);
    sqlite3_bind_blob64(s, 5, blob, (sqlite3_uint64) j->n * 8, SQLITE_STATIC);
    r = db_run(db, s);
    free(blob);
    if (r == 0 && place == DB_SPILL && db->spill)
        db->spilled = true;
    return r;
}

/* Reads the row that s stands on: sequence and hashes. */
static int next_block(struct db *db, sqlite3_stmt *s, int64_t *sequence, uint64_t *hashes,
                      uint32_t *ret_n)
{
    int r = db_step(db, s);
    if (r > 0) {
        *sequence = sqlite3_column_int64(s, 0);
        const uint8_t *blob = sqlite3_column_blob(s, 1);
        size_t n = (size_t) sqlite3_column_bytes(s, 1) / 8;
        if (n > DB_BLOB_HASHES)
            n = DB_BLOB_HASHES;
        if (n > 0 && !blob) {
            db_done(s);
            return -ENOMEM;
        }
        for (size_t i = 0; i < n; i++)
            hashes[i] = le_get64(blob + i * 8);
        *ret_n = (uint32_t) n;
    }
    db_done(s);
    return r > 0 ? 0 : r == 0 ? -ENOENT : r;
}

int db_journal_next(struct db *db, int64_t series_id, int32_t first_day, int64_t *sequence,
                    uint64_t *hashes, uint32_t *ret_n)
{
    static const char sql[] = "SELECT sequence, hashes FROM journal WHERE sequence > ?1 AND"
                              " +series_id = ?2 AND +day >= ?3 ORDER BY sequence LIMIT 1";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, *sequence);
    sqlite3_bind_int64(s, 2, series_id);
    sqlite3_bind_int(s, 3, first_day);
    return next_block(db, s, sequence, hashes, ret_n);
}

int db_journal_next_of_day(struct db *db, int64_t series_id, int32_t day, uint32_t below_n,
                           int64_t last, int64_t *sequence, uint64_t *hashes, uint32_t *ret_n)
{
    static const char sql[] = "SELECT sequence, hashes FROM journal WHERE sequence > ?1 AND "
                              "sequence <= ?5 AND series_id = ?2"
                              " AND day = ?3 AND n < ?4 ORDER BY sequence LIMIT 1";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, *sequence);
    sqlite3_bind_int64(s, 2, series_id);
    sqlite3_bind_int(s, 3, day);
    sqlite3_bind_int64(s, 4, below_n);
    sqlite3_bind_int64(s, 5, last);
    return next_block(db, s, sequence, hashes, ret_n);
}

int db_journal_delete_of_day(struct db *db, int64_t series_id, int32_t day, uint32_t below_n,
                             int64_t last)
{
    static const char sql[] = "DELETE FROM journal WHERE series_id = ?1 AND day = ?2 AND n < ?3 AND"
                              " sequence <= ?4";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, series_id);
    sqlite3_bind_int(s, 2, day);
    sqlite3_bind_int64(s, 3, below_n);
    sqlite3_bind_int64(s, 4, last);
    return db_run(db, s);
}

int db_journal_last(struct db *db, int64_t *ret_sequence)
{
    static const char sql[] = "SELECT ifnull(max(sequence), 0) FROM journal";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    return s ? number(db, s, ret_sequence) : r;
}

int db_journal_entries(struct db *db, int64_t series_id, uint64_t *ret)
{
    static const char sql[] = "SELECT ifnull(sum(n), 0) FROM journal WHERE series_id = ?1";
    int r = 0;
    int64_t n = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, series_id);
    r = number(db, s, &n);
    if (r == 0)
        *ret = (uint64_t) n;
    return r;
}

int db_journal_forget(struct db *db, int64_t series_id, int32_t first_day)
{
    static const char sql[] = "DELETE FROM journal WHERE series_id = ?1 AND day < ?2";
    int r = db_exec(db, db->main, "PRAGMA secure_delete = ON");
    sqlite3_stmt *s = r < 0 ? NULL : db_prepare(db, db->main, sql, &r);
    if (s) {
        sqlite3_bind_int64(s, 1, series_id);
        sqlite3_bind_int(s, 2, first_day);
        r = db_run(db, s);
    }
    int off = db_exec(db, db->main, "PRAGMA secure_delete = FAST");
    return r < 0 ? r : off;
}

int db_journal_crowded(struct db *db, int64_t series_id, uint32_t rows, uint32_t below_n,
                       int32_t last_day, int32_t *ret_day, uint64_t *ret_entries)
{
    static const char sql[] =
        "SELECT day, sum(n) FROM journal WHERE series_id = ?1 AND day <= ?2 AND n < ?3"
        " GROUP BY day HAVING count(*) >= ?4 ORDER BY day LIMIT 1";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, series_id);
    sqlite3_bind_int(s, 2, last_day);
    sqlite3_bind_int64(s, 3, below_n);
    sqlite3_bind_int64(s, 4, rows);
    r = db_step(db, s);
    if (r > 0) {
        *ret_day = sqlite3_column_int(s, 0);
        *ret_entries = (uint64_t) sqlite3_column_int64(s, 1);
    }
    db_done(s);
    return r > 0 ? 0 : r == 0 ? -ENOENT : r;
}
