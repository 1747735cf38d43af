/* Shared by db.c (file, schema, transaction) and db_rows.c (statements). */
#ifndef STORE_DB_INT_H
#define STORE_DB_INT_H

#include <sqlite3.h>

#include "store/db.h"

#define DB_STATEMENTS_MAX 40

struct db {
    char *directory, *path; /* NULL: temporary */
    int lock_fd;
    sqlite3 *main;
    sqlite3 *spill;   /* NULL without a directory: main is its own */
    bool spilled;     /* the spill has rows that are not committed */
    bool spill_stale; /* it has rows that are, and could not be emptied: not to be read */
    bool in_transaction;
    struct db_statement {
        const char *sql; /* the literal's address is the key */
        sqlite3 *of;
        sqlite3_stmt *statement;
    } statements[DB_STATEMENTS_MAX];
    unsigned n_statements;
    char error[256];
};

/* A prepared statement, kept. NULL: db->error says why and *ret_code is the errno. */
sqlite3_stmt *db_prepare(struct db *db, sqlite3 *of, const char *sql, int *ret_code);
/* Steps a statement that returns no rows, resets and unbinds it. */
int db_run(struct db *db, sqlite3_stmt *statement);
/* The errno of an SQLite code; keeps the message. */
int db_fail(struct db *db, sqlite3 *of, int code);
int db_exec(struct db *db, sqlite3 *of, const char *sql);
/* One step of a query. 1: a row; 0: no more; -errno. */
int db_step(struct db *db, sqlite3_stmt *statement);
/* Resets and unbinds. */
void db_done(sqlite3_stmt *statement);
/* Frees the statements of a connection. */
void db_finalize(struct db *db, sqlite3 *of);
/* Copies the spill's rows into main, within its transaction. */
int db_take_over(struct db *db);

static inline sqlite3 *db_of(struct db *db, enum db_place place)
{
    return place == DB_SPILL && db->spill ? db->spill : db->main;
}

#endif
