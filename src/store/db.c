#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "store/db_int.h"
#include "store/store.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define SPILL_CACHE_KIB "4096"

static const char records_sql[] =
    "CREATE TABLE record(series_id INTEGER NOT NULL, day INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " version INTEGER NOT NULL, hash_id INTEGER NOT NULL, fingerprint BLOB NOT NULL,"
    " bytes BLOB NOT NULL, PRIMARY KEY(series_id, day)) WITHOUT ROWID;"
    "CREATE TABLE journal(sequence INTEGER PRIMARY KEY, series_id INTEGER NOT NULL,"
    " day INTEGER NOT NULL, kind INTEGER NOT NULL, n INTEGER NOT NULL, hashes BLOB NOT NULL);"
    "CREATE INDEX journal_day ON journal(series_id, day, n);";

static const char schema_sql[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL,"
    " definition TEXT NOT NULL, created_day INTEGER NOT NULL, UNIQUE(kind, name, definition));"
    "CREATE TABLE input(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, books BLOB NOT NULL,"
    " last_line INTEGER NOT NULL);"
    "CREATE TABLE position(input_id INTEGER NOT NULL, id INTEGER NOT NULL, bytes BLOB NOT NULL,"
    " PRIMARY KEY(input_id, id)) WITHOUT ROWID;"
    "CREATE TABLE filter(series_id INTEGER PRIMARY KEY, generation INTEGER NOT NULL,"
    " capacity INTEGER NOT NULL, bits INTEGER NOT NULL, hashes INTEGER NOT NULL,"
    " rebuilds INTEGER NOT NULL, last_rebuild INTEGER NOT NULL, since INTEGER NOT NULL,"
    " saturated INTEGER NOT NULL);"
    "INSERT INTO meta VALUES('schema', '" TEXT(STORE_SCHEMA_VERSION) "');"
                                                                     "PRAGMA user_version = " TEXT(
                                                                         STORE_SCHEMA_VERSION) ";";

static const struct {
    int sqlite;
    int code;
} codes[] = {
    {SQLITE_FULL, -ENOSPC},     {SQLITE_IOERR, -EIO},      {SQLITE_BUSY, -EBUSY},
    {SQLITE_LOCKED, -EBUSY},    {SQLITE_NOMEM, -ENOMEM},   {SQLITE_READONLY, -EROFS},
    {SQLITE_CORRUPT, -EBADMSG}, {SQLITE_NOTADB, -EBADMSG}, {SQLITE_CANTOPEN, -EACCES},
    {SQLITE_PERM, -EACCES},     {SQLITE_TOOBIG, -EFBIG},
};

int db_fail(struct db *db, sqlite3 *of, int code)
{
    snprintf(db->error, sizeof(db->error), "%s", of ? sqlite3_errmsg(of) : sqlite3_errstr(code));
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (codes[i].sqlite == (code & 0xff))
            return codes[i].code;
    return -EINVAL;
}

const char *db_error(const struct db *db)
{
    return db->error;
}

int db_exec(struct db *db, sqlite3 *of, const char *sql)
{
    if (!of)
        return -EIO; /* could not be opened again yet */
    int r = sqlite3_exec(of, sql, NULL, NULL, NULL);
    return r == SQLITE_OK ? 0 : db_fail(db, of, r);
}

sqlite3_stmt *db_prepare(struct db *db, sqlite3 *of, const char *sql, int *ret_code)
{
    for (unsigned i = 0; i < db->n_statements; i++)
        if (db->statements[i].sql == sql && db->statements[i].of == of)
            return db->statements[i].statement;
    if (!of || db->n_statements == DB_STATEMENTS_MAX) {
        *ret_code = of ? -ENOBUFS : -EIO;
        return NULL;
    }
    struct db_statement *s = &db->statements[db->n_statements];
    int r = sqlite3_prepare_v3(of, sql, -1, SQLITE_PREPARE_PERSISTENT, &s->statement, NULL);
    if (r != SQLITE_OK) {
        *ret_code = db_fail(db, of, r);
        return NULL;
    }
    s->sql = sql;
    s->of = of;
    db->n_statements++;
    return s->statement;
}

int db_step(struct db *db, sqlite3_stmt *statement)
{
    int r = sqlite3_step(statement);
    if (r == SQLITE_ROW)
        return 1;
    return r == SQLITE_DONE ? 0 : db_fail(db, sqlite3_db_handle(statement), r);
}

void db_done(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

int db_run(struct db *db, sqlite3_stmt *statement)
{
    int r = db_step(db, statement);
    db_done(statement);
    return r < 0 ? r : 0;
}

void db_finalize(struct db *db, sqlite3 *of)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < db->n_statements; i++)
        if (db->statements[i].of == of)
            sqlite3_finalize(db->statements[i].statement);
        else
            db->statements[kept++] = db->statements[i];
    db->n_statements = kept;
}

/* ---- the lock file ---- */

static int lock_busy(const char *directory, int fd, struct err *e)
{
    char pid[32] = "";
    ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);
    pid[n > 0 ? strspn(pid, "0123456789") : 0] = 0;
    return err_set(e, -EBUSY, "%s is in use by another reckond%s%s", directory,
                   pid[0] ? ", process " : "", pid);
}

/* flock(2) goes with the process, so a lock file left behind by a crash locks nothing. */
static int take_lock(struct db *db, struct err *e)
{
    char path[4096], pid[32];
    if ((size_t) snprintf(path, sizeof(path), "%s/" DB_LOCK_FILE, db->directory) >= sizeof(path))
        return err_set(e, -ENAMETOOLONG, "%s: the path is too long", db->directory);
    db->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (db->lock_fd < 0)
        return err_set(e, -errno, "%s: cannot be created: %s", path, err_name(-errno));
    if (flock(db->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return lock_busy(db->directory, db->lock_fd, e);
        return err_set(e, -errno, "%s: cannot be locked: %s", path, err_name(-errno));
    }
    int n = snprintf(pid, sizeof(pid), "%ld\n", (long) getpid());
    /* without the number the other's message is poorer, no more */
    if (ftruncate(db->lock_fd, 0) == 0)
        (void) !pwrite(db->lock_fd, pid, (size_t) n, 0);
    return 0;
}

/* ---- opening ---- */

static int open_connection(struct db *db, const char *path, sqlite3 **ret)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int r = sqlite3_open_v2(path, ret, flags, NULL);
    if (r != SQLITE_OK) {
        int code = *ret ? db_fail(db, *ret, r) : -ENOMEM;
        sqlite3_close(*ret);
        *ret = NULL;
        return code;
    }
    sqlite3_extended_result_codes(*ret, 1);
    sqlite3_busy_timeout(*ret, 2000);
    return 0;
}

/* The file belongs to one writer (the lock file), but sqlite3 and backups may read while it runs.
 */
static int main_pragmas(struct db *db)
{
    return db_exec(db, db->main,
                   "PRAGMA page_size = 4096;"
                   "PRAGMA journal_mode = WAL;"
                   "PRAGMA synchronous = FULL;"
                   "PRAGMA journal_size_limit = 67108864;"
                   "PRAGMA trusted_schema = OFF;"
                   "PRAGMA cell_size_check = ON;"
                   "PRAGMA cache_size = -2048;");
}

/* Nothing of a temporary database outlives the process: no sync, roll-back in memory; what is
 * deleted gives its room back. */
static int temporary_pragmas(struct db *db, sqlite3 *of)
{
    return db_exec(db, of,
                   "PRAGMA page_size = 4096;"
                   "PRAGMA auto_vacuum = FULL;"
                   "PRAGMA journal_mode = MEMORY;"
                   "PRAGMA synchronous = OFF;"
                   "PRAGMA cache_size = -" SPILL_CACHE_KIB ";");
}

static int pragma_number(struct db *db, sqlite3 *of, const char *sql, int64_t *ret)
{
    sqlite3_stmt *s;
    int r = sqlite3_prepare_v2(of, sql, -1, &s, NULL);
    if (r != SQLITE_OK)
        return db_fail(db, of, r);
    r = sqlite3_step(s);
    int code = r == SQLITE_ROW ? 0 : r == SQLITE_DONE ? -ENOENT : db_fail(db, of, r);
    if (r == SQLITE_ROW)
        *ret = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return code;
}

/* -EBADMSG: damaged. */
static int quick_check(struct db *db)
{
    sqlite3_stmt *s;
    int r = sqlite3_prepare_v2(db->main, "PRAGMA quick_check(1)", -1, &s, NULL);
    if (r != SQLITE_OK)
        return db_fail(db, db->main, r);
    r = sqlite3_step(s);
    int code = r == SQLITE_ROW ? 0 : db_fail(db, db->main, r);
    if (r == SQLITE_ROW && strcmp((const char *) sqlite3_column_text(s, 0), "ok") != 0) {
        snprintf(db->error, sizeof(db->error), "%s", (const char *) sqlite3_column_text(s, 0));
        code = -EBADMSG;
    }
    sqlite3_finalize(s);
    return code;
}

static int check_schema(struct db *db, struct err *e)
{
    int64_t pragma = 0, meta = 0;
    int r = pragma_number(db, db->main, "PRAGMA user_version", &pragma);
    if (r == 0 && pragma <= STORE_SCHEMA_VERSION)
        r = pragma_number(db, db->main,
                          "SELECT CAST(text AS INTEGER) FROM meta WHERE name = 'schema'", &meta);
    int64_t version = pragma > meta ? pragma : meta;
    if (version > STORE_SCHEMA_VERSION)
        return err_set(e, -EPROTONOSUPPORT,
                       "%s was written by a newer reckond: its schema is %lld, this one knows %d; "
                       "install the newer version or use another state directory",
                       db->path, (long long) version, STORE_SCHEMA_VERSION);
    return r == -ENOENT || r == -EINVAL ? -EBADMSG : r; /* a database, but none of ours */
}

static int create_schema(struct db *db)
{
    int r = db_exec(db, db->main, "BEGIN IMMEDIATE");
    if (r == 0)
        r = db_exec(db, db->main, records_sql);
    if (r == 0)
        r = db_exec(db, db->main, schema_sql);
    if (r == 0)
        r = db_exec(db, db->main, "COMMIT");
    if (r < 0)
        sqlite3_exec(db->main, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

/* *is_new: there is no file, or an empty one (a crash before its first commit). */
static int open_main(struct db *db, bool *is_new, struct err *e)
{
    struct stat st;
    int64_t pages = 0;
    int fd = open(db->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int r = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
    close(fd);
    if (r == 0)
        r = open_connection(db, db->path, &db->main);
    if (r == 0)
        r = main_pragmas(db);
    if (r == 0)
        r = pragma_number(db, db->main, "SELECT count(*) FROM sqlite_master", &pages);
    if (r < 0)
        return r;
    *is_new = pages == 0;
    if (*is_new)
        return create_schema(db);
    r = check_schema(db, e);
    return r == 0 ? quick_check(db) : r;
}

static void close_main(struct db *db)
{
    db_finalize(db, db->main);
    sqlite3_close(db->main);
    db->main = NULL;
    db->in_transaction = false;
}

/* Renames the file and its write-ahead log: books, days and files go together or not at all. */
static int set_aside(struct db *db, struct err *note)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char stamp[32], from[4200], to[4300];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
    char why[sizeof(db->error)];
    memcpy(why, db->error, sizeof(why));
    close_main(db);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        snprintf(from, sizeof(from), "%s%s", db->path, suffixes[i]);
        snprintf(to, sizeof(to), "%s.damaged-%s%s", db->path, stamp, suffixes[i]);
        if (rename(from, to) < 0 && errno != ENOENT)
            return -errno;
    }
    err_set(note, 0,
            "%s was damaged (%s): it was set aside as %s.damaged-%s and a new one was started; "
            "logs that are still there are read again from their beginning",
            db->path, why, db->path, stamp);
    return 0;
}

static int cannot_open(const struct db *db, int code, struct err *e)
{
    if (code == -EPROTONOSUPPORT)
        return code; /* has its sentence */
    if (code == -EACCES || code == -EROFS || code == -ELOOP)
        return err_set(e, code,
                       "%s: cannot be opened for writing (%s): check owner and permissions",
                       db->path, err_name(code));
    return err_set(e, code, "%s: cannot be opened: %s%s%s", db->path, err_name(code),
                   db->error[0] ? ": " : "", db->error);
}

static int open_spill(struct db *db)
{
    int r = open_connection(db, "", &db->spill);
    if (r == 0)
        r = temporary_pragmas(db, db->spill);
    return r == 0 ? db_exec(db, db->spill, records_sql) : r;
}

static int open_directory(struct db *db, struct db_open_result *result, struct err *e)
{
    int r = file_make_dirs(db->directory, 0700, e);
    if (r < 0)
        return r;
    r = take_lock(db, e);
    if (r < 0)
        return r;
    r = open_main(db, &result->is_new, e);
    if (r == -EBADMSG) {
        r = set_aside(db, &result->note);
        if (r == 0)
            r = open_main(db, &result->is_new, e);
    }
    if (r < 0)
        return cannot_open(db, r, e);
    r = open_spill(db);
    return r < 0 ? err_set(e, r, "a temporary database cannot be made: %s", db->error) : 0;
}

static int open_temporary(struct db *db, struct err *e)
{
    int r = open_connection(db, "", &db->main);
    if (r == 0)
        r = temporary_pragmas(db, db->main);
    if (r == 0)
        r = create_schema(db);
    return r < 0 ? err_set(e, r, "a temporary database cannot be made: %s", db->error) : 0;
}

int db_open(struct db **ret, const char *directory, struct db_open_result *ret_result,
            struct err *e)
{
    struct db_open_result result = {.is_new = true};
    struct db *db = calloc(1, sizeof(*db));
    int r = db ? 0 : -ENOMEM;
    if (r == 0) {
        db->lock_fd = -1;
        if (directory && (!(db->directory = strdup(directory)) ||
                          asprintf(&db->path, "%s/" DB_FILE, directory) < 0)) {
            db->path = NULL;
            r = -ENOMEM;
        }
    }
    if (r == 0)
        r = directory ? open_directory(db, &result, e) : open_temporary(db, e);
    if (r < 0) {
        db_free(db);
        return r;
    }
    *ret_result = result;
    *ret = db;
    return 0;
}

struct db *db_free(struct db *db)
{
    if (!db)
        return NULL;
    close_main(db);
    db_finalize(db, db->spill);
    sqlite3_close(db->spill);
    if (db->lock_fd >= 0)
        close(db->lock_fd);
    free(db->directory);
    free(db->path);
    free(db);
    return NULL;
}

int db_reopen(struct db *db)
{
    struct stat st;
    if (db_is_temporary(db))
        return 0;
    close_main(db);
    /* a file that was taken away must not come back empty: its positions would be lost */
    if (stat(db->path, &st) < 0)
        return -errno;
    int r = open_connection(db, db->path, &db->main);
    if (r == 0)
        r = main_pragmas(db);
    return r == 0 ? check_schema(db, NULL) : r;
}

bool db_is_temporary(const struct db *db)
{
    return !db->path;
}

bool db_spilled(const struct db *db)
{
    return db->spilled;
}

uint64_t db_spill_bytes(struct db *db)
{
    int64_t pages = 0;
    if (!db->spill || pragma_number(db, db->spill, "PRAGMA page_count", &pages) < 0)
        return 0;
    return (uint64_t) pages * 4096;
}

uint64_t db_bytes(const struct db *db)
{
    char wal[4200];
    struct stat st;
    uint64_t bytes = 0;
    if (!db->path)
        return 0;
    if (stat(db->path, &st) == 0)
        bytes += (uint64_t) st.st_size;
    snprintf(wal, sizeof(wal), "%s-wal", db->path);
    if (stat(wal, &st) == 0)
        bytes += (uint64_t) st.st_size;
    return bytes;
}

/* ---- the transaction ---- */

int db_begin(struct db *db)
{
    if (!db->main) {
        int r = db_reopen(db);
        if (r < 0)
            return r;
    }
    int r = db_exec(db, db->main, "BEGIN IMMEDIATE");
    db->in_transaction = r == 0;
    if (r == 0 && db->spilled)
        r = db_take_over(db);
    return r;
}

int db_commit(struct db *db)
{
    int r = db_exec(db, db->main, "COMMIT");
    if (r < 0)
        return r;
    db->in_transaction = false;
    if (db->spill && (db->spilled || db->spill_stale)) {
        db->spilled = false;
        db->spill_stale = db_exec(db, db->spill, "DELETE FROM record; DELETE FROM journal") < 0;
    }
    return 0;
}

void db_rollback(struct db *db)
{
    if (db->main && !sqlite3_get_autocommit(db->main))
        sqlite3_exec(db->main, "ROLLBACK", NULL, NULL, NULL);
    db->in_transaction = false;
}
