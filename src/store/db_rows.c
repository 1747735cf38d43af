/* The statements of db.h; the file itself is in db.c. */
#include "store/db_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"

static int append_blob(sqlite3_stmt *s, int column, struct buf *ret)
{
    const void *p = sqlite3_column_blob(s, column);
    int n = sqlite3_column_bytes(s, column);
    if (n > 0 && !p)
        return -ENOMEM;
    buf_put(ret, p ? p : "", (size_t) n);
    return buf_failed(ret);
}

/* Empties a spill that is only left over from what has been committed. */
static int freshen_spill(struct db *db, enum db_place place)
{
    if (place == DB_MAIN || !db->spill_stale)
        return 0;
    int r = db_exec(db, db->spill, "DELETE FROM record; DELETE FROM journal");
    if (r == 0)
        db->spill_stale = false;
    return r;
}

static bool spill_readable(const struct db *db)
{
    return db->spill && db->spilled;
}

/* ---- meta and series ---- */

int db_meta_put(struct db *db, const char *name, const char *text)
{
    static const char sql[] = "INSERT OR REPLACE INTO meta VALUES(?1, ?2)";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, text, -1, SQLITE_STATIC);
    return db_run(db, s);
}

int db_meta_get(struct db *db, const char *name, struct buf *ret)
{
    static const char sql[] = "SELECT text FROM meta WHERE name = ?1";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    r = db_step(db, s);
    r = r > 0 ? append_blob(s, 0, ret) : r == 0 ? -ENOENT : r;
    db_done(s);
    return r;
}

static int find_series(struct db *db, const char *kind, const char *name, const char *definition,
                       int64_t *ret_id)
{
    static const char sql[] =
        "SELECT id FROM series WHERE kind = ?1 AND name = ?2 AND definition = ?3";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, definition, -1, SQLITE_STATIC);
    r = db_step(db, s);
    if (r > 0)
        *ret_id = sqlite3_column_int64(s, 0);
    db_done(s);
    return r > 0 ? 0 : r == 0 ? -ENOENT : r;
}

static int count_series(struct db *db, const char *kind, const char *name, int64_t *ret)
{
    static const char sql[] = "SELECT count(*) FROM series WHERE kind = ?1 AND name = ?2";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
    r = db_step(db, s);
    if (r > 0)
        *ret = sqlite3_column_int64(s, 0);
    db_done(s);
    return r > 0 ? 0 : r == 0 ? -ENOENT : r;
}

int db_series(struct db *db, const char *kind, const char *name, const char *definition,
              int32_t today, int64_t *ret_id, bool *ret_changed)
{
    static const char sql[] =
        "INSERT INTO series(kind, name, definition, created_day) VALUES(?1, ?2, ?3, ?4)";
    int64_t others = 0;
    *ret_changed = false;
    int r = find_series(db, kind, name, definition, ret_id);
    if (r != -ENOENT)
        return r;
    r = count_series(db, kind, name, &others);
    if (r < 0)
        return r;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_text(s, 1, kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, definition, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 4, today);
    r = db_run(db, s);
    if (r == 0) {
        *ret_id = sqlite3_last_insert_rowid(db->main);
        *ret_changed = others > 0;
    }
    return r;
}

/* ---- records ---- */

/* An UPDATE of equal length writes only the pages that differ, which a REPLACE would not. */
static const char record_put_sql[] =
    "INSERT INTO record VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(series_id, day) DO UPDATE "
    "SET"
    " kind = excluded.kind, version = excluded.version, hash_id = excluded.hash_id,"
    " fingerprint = excluded.fingerprint, bytes = excluded.bytes";

int db_record_put(struct db *db, enum db_place place, const struct db_record *record)
{
    int r = freshen_spill(db, place);
    sqlite3_stmt *s = r < 0 ? NULL : db_prepare(db, db_of(db, place), record_put_sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, record->series_id);
    sqlite3_bind_int(s, 2, record->day);
    sqlite3_bind_int(s, 3, record->kind);
    sqlite3_bind_int(s, 4, record->version);
    sqlite3_bind_int(s, 5, record->stamp->hash_id);
    sqlite3_bind_blob(s, 6, record->stamp->fingerprint, SK_FINGERPRINT_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob64(s, 7, record->bytes, record->n, SQLITE_STATIC);
    r = db_run(db, s);
    if (r == 0 && place == DB_SPILL && db->spill)
        db->spilled = true;
    return r;
}

static int get_record(struct db *db, sqlite3 *of, int64_t series_id, int32_t day, uint16_t kind,
                      struct buf *ret)
{
    static const char sql[] =
        "SELECT bytes FROM record WHERE series_id = ?1 AND day = ?2 AND kind = ?3";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, of, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, series_id);
    sqlite3_bind_int(s, 2, day);
    sqlite3_bind_int(s, 3, kind);
    r = db_step(db, s);
    r = r > 0 ? append_blob(s, 0, ret) : r == 0 ? -ENOENT : r;
    db_done(s);
    return r;
}

/* After a failed reopening there is no connection until the next try. */
static int need_main(struct db *db)
{
    return db->main ? 0 : db_reopen(db);
}

int db_record_get(struct db *db, int64_t series_id, int32_t day, uint16_t kind, struct buf *ret)
{
    int r = -ENOENT;
    if (spill_readable(db))
        r = get_record(db, db->spill, series_id, day, kind, ret);
    if (r != -ENOENT)
        return r;
    r = need_main(db);
    return r < 0 ? r : get_record(db, db->main, series_id, day, kind, ret);
}

static int append_days(struct db *db, sqlite3 *of, int64_t series_id, struct buf *ret)
{
    static const char sql[] = "SELECT day FROM record WHERE series_id = ?1 ORDER BY day";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, of, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, series_id);
    while ((r = db_step(db, s)) > 0) {
        int32_t day = sqlite3_column_int(s, 0);
        buf_put(ret, &day, sizeof(day));
    }
    db_done(s);
    return r < 0 ? r : buf_failed(ret);
}

static int by_day(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

int db_record_days(struct db *db, int64_t series_id, struct buf *ret)
{
    int r = need_main(db);
    size_t start = ret->n;
    if (r == 0)
        r = append_days(db, db->main, series_id, ret);
    if (r < 0 || !spill_readable(db))
        return r;
    r = append_days(db, db->spill, series_id, ret);
    if (r < 0)
        return r;
    size_t n = (ret->n - start) / sizeof(int32_t), kept = 0;
    int32_t *days = malloc((n + 1) * sizeof(*days));
    if (!days)
        return -ENOMEM;
    if (n)
        memcpy(days, ret->p + start, n * sizeof(*days));
    qsort(days, n, sizeof(*days), by_day);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || days[i] != days[kept - 1])
            days[kept++] = days[i];
    ret->n = start;
    buf_put(ret, days, kept * sizeof(*days));
    free(days);
    return buf_failed(ret);
}

static int forget_records(struct db *db, sqlite3 *of, int32_t day)
{
    static const char sql[] = "DELETE FROM record WHERE day < ?1";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, of, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int(s, 1, day);
    return db_run(db, s);
}

/* Series that were replaced by another definition go with their last record. */
static const char forget_series_sql[] =
    "DELETE FROM series WHERE id NOT IN (SELECT series_id FROM record)"
    " AND id NOT IN (SELECT series_id FROM filter) AND EXISTS (SELECT 1 FROM series AS other"
    " WHERE other.kind = series.kind AND other.name = series.name AND other.id > series.id)";

int db_record_forget(struct db *db, int32_t day)
{
    int r = db_exec(db, db->main, "PRAGMA secure_delete = ON");
    if (r == 0)
        r = forget_records(db, db->main, day);
    if (r == 0)
        r = db_exec(db, db->main, forget_series_sql);
    int off = db_exec(db, db->main, "PRAGMA secure_delete = FAST");
    if (r == 0)
        r = off;
    if (r == 0 && spill_readable(db))
        r = forget_records(db, db->spill, day);
    return r;
}

/* ---- inputs and positions ---- */

static int find_input(struct db *db, const char *name, struct db_input *ret)
{
    static const char sql[] = "SELECT id, last_line, books FROM input WHERE name = ?1";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    r = db_step(db, s);
    if (r > 0) {
        ret->id = sqlite3_column_int64(s, 0);
        ret->last_line_s = sqlite3_column_int64(s, 1);
        r = append_blob(s, 2, &ret->books);
    } else if (r == 0) {
        r = -ENOENT;
    }
    db_done(s);
    return r;
}

int db_input_get(struct db *db, const char *name, struct db_input *ret)
{
    static const char sql[] = "INSERT INTO input(name, books, last_line) VALUES(?1, x'', 0)";
    int r = find_input(db, name, ret);
    if (r != -ENOENT)
        return r;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    r = db_run(db, s);
    if (r == 0) {
        ret->id = sqlite3_last_insert_rowid(db->main);
        ret->last_line_s = 0;
    }
    return r;
}

int db_input_put(struct db *db, int64_t id, const void *books, size_t n, int64_t last_line_s)
{
    static const char sql[] = "UPDATE input SET books = ?2, last_line = ?3 WHERE id = ?1";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_blob64(s, 2, books, n, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, last_line_s);
    return db_run(db, s);
}

int db_positions(struct db *db, int64_t input_id,
                 int (*visit)(void *arg, uint64_t id, const uint8_t *bytes, uint32_t n), void *arg)
{
    static const char sql[] = "SELECT id, bytes FROM position WHERE input_id = ?1 ORDER BY id";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, input_id);
    while ((r = db_step(db, s)) > 0) {
        const void *p = sqlite3_column_blob(s, 1);
        int n = sqlite3_column_bytes(s, 1);
        r = n > 0 && !p ? -ENOMEM
                        : visit(arg, (uint64_t) sqlite3_column_int64(s, 0), p, (uint32_t) n);
        if (r < 0)
            break;
    }
    db_done(s);
    return r;
}

int db_position_put(struct db *db, int64_t input_id, uint64_t id, const uint8_t *bytes, uint32_t n)
{
    static const char sql[] = "INSERT INTO position VALUES(?1, ?2, ?3)"
                              " ON CONFLICT(input_id, id) DO UPDATE SET bytes = excluded.bytes";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, input_id);
    sqlite3_bind_int64(s, 2, (int64_t) id);
    sqlite3_bind_blob64(s, 3, bytes, n, SQLITE_STATIC);
    return db_run(db, s);
}

int db_position_delete(struct db *db, int64_t input_id, uint64_t id)
{
    static const char sql[] = "DELETE FROM position WHERE input_id = ?1 AND id = ?2";
    int r = 0;
    sqlite3_stmt *s = db_prepare(db, db->main, sql, &r);
    if (!s)
        return r;
    sqlite3_bind_int64(s, 1, input_id);
    sqlite3_bind_int64(s, 2, (int64_t) id);
    return db_run(db, s);
}

/* ---- taking the spill over ---- */

static int take_over_records(struct db *db)
{
    static const char sql[] =
        "SELECT series_id, day, kind, version, hash_id, fingerprint, bytes FROM record";
    int r = 0;
    sqlite3_stmt *from = db_prepare(db, db->spill, sql, &r);
    sqlite3_stmt *to = from ? db_prepare(db, db->main, record_put_sql, &r) : NULL;
    if (!to)
        return r;
    while ((r = db_step(db, from)) > 0) {
        for (int i = 0; i < 7; i++)
            sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
        r = db_run(db, to);
        if (r < 0)
            break;
    }
    db_done(from);
    return r;
}

static int take_over_journal(struct db *db)
{
    static const char select[] = "SELECT series_id, day, kind, n, hashes FROM journal";
    static const char insert[] =
        "INSERT INTO journal(series_id, day, kind, n, hashes) VALUES(?1, ?2, ?3, ?4, ?5)";
    int r = 0;
    sqlite3_stmt *from = db_prepare(db, db->spill, select, &r);
    sqlite3_stmt *to = from ? db_prepare(db, db->main, insert, &r) : NULL;
    if (!to)
        return r;
    while ((r = db_step(db, from)) > 0) {
        for (int i = 0; i < 5; i++)
            sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
        r = db_run(db, to);
        if (r < 0)
            break;
    }
    db_done(from);
    return r;
}

int db_take_over(struct db *db)
{
    int r = take_over_records(db);
    return r == 0 ? take_over_journal(db) : r;
}
