#include "store/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "store/db_int.h"
#include "store_fixture.h"

static struct sk_stamp stamp = {.hash_id = 1, .fingerprint = "fingerprint"};

struct place {
    char directory[64];
    struct db *db;
    struct db_open_result opened;
    struct err e;
};

static void open_place(struct place *p)
{
    if (!p->directory[0]) {
        strcpy(p->directory, "/tmp/db-XXXXXX");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(p->directory));
    }
    CU_ASSERT_EQUAL_FATAL(db_open(&p->db, p->directory, &p->opened, &p->e), 0);
}

static void close_place(struct place *p)
{
    p->db = db_free(p->db);
    fixture_remove_directory(p->directory);
}

static int put(struct db *db, enum db_place place, int64_t series, int32_t day, const char *text)
{
    struct db_record r = {.series_id = series,
                          .day = day,
                          .kind = 1,
                          .version = 1,
                          .stamp = &stamp,
                          .bytes = (const uint8_t *) text,
                          .n = strlen(text)};
    return db_record_put(db, place, &r);
}

static bool holds(struct db *db, int64_t series, int32_t day, const char *text)
{
    struct buf b;
    buf_init(&b);
    int r = db_record_get(db, series, day, 1, &b);
    bool same = text ? r == 0 && b.n == strlen(text) && memcmp(b.p, text, b.n) == 0 : r == -ENOENT;
    buf_done(&b);
    return same;
}

static void a_record_is_what_was_last_put(void)
{
    struct place p = {.directory = ""};
    open_place(&p);
    CU_ASSERT(p.opened.is_new);
    CU_ASSERT(holds(p.db, 1, 10, NULL));
    CU_ASSERT_EQUAL(db_begin(p.db), 0);
    CU_ASSERT_EQUAL(put(p.db, DB_MAIN, 1, 10, "one"), 0);
    CU_ASSERT_EQUAL(put(p.db, DB_MAIN, 1, 10, "another length"), 0);
    CU_ASSERT_EQUAL(db_commit(p.db), 0);
    CU_ASSERT(holds(p.db, 1, 10, "another length"));
    CU_ASSERT_EQUAL(db_begin(p.db), 0);
    CU_ASSERT_EQUAL(put(p.db, DB_MAIN, 1, 10, "never"), 0);
    db_rollback(p.db);
    CU_ASSERT(holds(p.db, 1, 10, "another length"));
    p.db = db_free(p.db);
    open_place(&p);
    CU_ASSERT(!p.opened.is_new);
    CU_ASSERT(holds(p.db, 1, 10, "another length"));
    close_place(&p);
}

/* The spill hides what is committed, survives a failed commit, and goes with a successful one. */
static void the_spill_stays_until_it_is_committed(void)
{
    struct place p = {.directory = ""};
    struct buf days;
    open_place(&p);
    buf_init(&days);
    CU_ASSERT_EQUAL(db_begin(p.db), 0);
    CU_ASSERT_EQUAL(put(p.db, DB_MAIN, 1, 10, "old"), 0);
    CU_ASSERT_EQUAL(put(p.db, DB_MAIN, 1, 12, "twelve"), 0);
    CU_ASSERT_EQUAL(db_commit(p.db), 0);
    CU_ASSERT_EQUAL(put(p.db, DB_SPILL, 1, 10, "spilled"), 0);
    CU_ASSERT_EQUAL(put(p.db, DB_SPILL, 1, 11, "eleven"), 0);
    CU_ASSERT(db_spilled(p.db));
    CU_ASSERT(holds(p.db, 1, 10, "spilled"));
    CU_ASSERT_EQUAL(db_record_days(p.db, 1, &days), 0);
    CU_ASSERT_EQUAL(days.n, 3 * sizeof(int32_t));
    CU_ASSERT_EQUAL(((int32_t *) (void *) days.p)[1], 11);

    CU_ASSERT_EQUAL(db_begin(p.db), 0);
    db_rollback(p.db);
    CU_ASSERT(db_spilled(p.db));
    CU_ASSERT(holds(p.db, 1, 10, "spilled"));

    CU_ASSERT_EQUAL(db_begin(p.db), 0);
    CU_ASSERT_EQUAL(put(p.db, DB_MAIN, 1, 11, "newer than the spill"), 0);
    CU_ASSERT_EQUAL(db_commit(p.db), 0);
    CU_ASSERT(!db_spilled(p.db));
    CU_ASSERT(holds(p.db, 1, 10, "spilled"));
    CU_ASSERT(holds(p.db, 1, 11, "newer than the spill"));
    p.db = db_free(p.db);
    open_place(&p);
    CU_ASSERT(holds(p.db, 1, 10, "spilled"));
    CU_ASSERT(holds(p.db, 1, 11, "newer than the spill"));
    buf_done(&days);
    close_place(&p);
}

static void a_spill_that_was_not_committed_is_forgotten(void)
{
    struct place p = {.directory = ""};
    open_place(&p);
    CU_ASSERT_EQUAL(put(p.db, DB_SPILL, 1, 10, "spilled"), 0);
    p.db = db_free(p.db);
    open_place(&p);
    CU_ASSERT(holds(p.db, 1, 10, NULL));
    close_place(&p);
}

static void a_temporary_database_is_its_own_spill(void)
{
    struct db *db;
    struct db_open_result opened;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(db_open(&db, NULL, &opened, &e), 0);
    CU_ASSERT(db_is_temporary(db));
    CU_ASSERT_EQUAL(put(db, DB_SPILL, 1, 10, "here"), 0);
    CU_ASSERT(holds(db, 1, 10, "here"));
    CU_ASSERT_EQUAL(put(db, DB_MAIN, 1, 10, "there"), 0);
    CU_ASSERT(holds(db, 1, 10, "there"));
    db_free(db);
}

static void a_series_keeps_its_number_and_a_change_is_noticed(void)
{
    struct place p = {.directory = ""};
    int64_t a, b, again;
    bool changed;
    open_place(&p);
    CU_ASSERT_EQUAL(db_series(p.db, "uniques", "visitors", "key=client", 1, &a, &changed), 0);
    CU_ASSERT(!changed);
    CU_ASSERT_EQUAL(db_series(p.db, "uniques", "visitors", "key=host", 2, &b, &changed), 0);
    CU_ASSERT(changed);
    CU_ASSERT_NOT_EQUAL(a, b);
    CU_ASSERT_EQUAL(db_series(p.db, "uniques", "visitors", "key=client", 3, &again, &changed), 0);
    CU_ASSERT_EQUAL(a, again);
    CU_ASSERT(!changed);
    CU_ASSERT_EQUAL(db_series(p.db, "seen", "visitors", "key=client", 3, &again, &changed), 0);
    CU_ASSERT(!changed);
    close_place(&p);
}

static void the_lock_goes_with_the_process_not_with_the_file(void)
{
    struct place p = {.directory = ""};
    char path[96], text[32] = "";
    struct db *second;
    open_place(&p);
    CU_ASSERT_EQUAL(db_open(&second, p.directory, &p.opened, &p.e), -EBUSY);
    p.db = db_free(p.db);
    snprintf(path, sizeof(path), "%s/lock", p.directory);
    FILE *f = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof(text), f));
    fclose(f);
    CU_ASSERT_EQUAL(atol(text), (long) getpid()); /* left behind, and no hindrance */
    open_place(&p);
    close_place(&p);
}

static void a_file_that_is_no_database_is_set_aside(void)
{
    struct place p = {.directory = ""};
    char path[96];
    open_place(&p);
    p.db = db_free(p.db);
    snprintf(path, sizeof(path), "%s/" DB_FILE, p.directory);
    FILE *f = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int i = 0; i < 10000; i++)
        fputs("this is no database\n", f);
    fclose(f);
    open_place(&p);
    CU_ASSERT(p.opened.is_new);
    CU_ASSERT_PTR_NOT_NULL(strstr(p.opened.note.text, "damaged"));
    close_place(&p);
}

static void what_cannot_be_made_is_said(void)
{
    struct db *db;
    struct db_open_result opened;
    struct err e = {.text = ""};
    CU_ASSERT(db_open(&db, "/proc/no-such-place/state", &opened, &e) < 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "/proc"));
    e.text[0] = 0;
    CU_ASSERT(db_open(&db, "/dev/null", &opened, &e) < 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "/dev/null"));
}

/* A database that is taken away while it is open must not come back empty. */
static void reopening_makes_no_new_file(void)
{
    struct place p = {.directory = ""};
    char path[96];
    struct stat st;
    open_place(&p);
    CU_ASSERT_EQUAL(db_reopen(p.db), 0);
    CU_ASSERT_EQUAL(db_begin(p.db), 0);
    CU_ASSERT_EQUAL(db_commit(p.db), 0);
    snprintf(path, sizeof(path), "%s/" DB_FILE, p.directory);
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(db_reopen(p.db), -ENOENT);
    CU_ASSERT_EQUAL(db_begin(p.db), -ENOENT);
    CU_ASSERT(holds(p.db, 1, 1, NULL));
    CU_ASSERT(stat(path, &st) < 0);
    close_place(&p);
}

static void journal_blocks_come_back_in_order(void)
{
    struct place p = {.directory = ""};
    uint64_t *hashes = malloc(DB_BLOB_MAX), entries;
    uint64_t block[3] = {1, UINT64_MAX, 7};
    int64_t sequence = 0;
    int32_t day;
    uint32_t n;
    open_place(&p);
    for (int32_t i = 0; i < 5; i++) {
        struct db_journal j = {.series_id = 1 + i % 2, .day = 100 + i, .hashes = block, .n = 3};
        block[0] = (uint64_t) i;
        CU_ASSERT_EQUAL(db_journal_put(p.db, i < 3 ? DB_MAIN : DB_SPILL, &j), 0);
    }
    /* only committed ones: the spill's come with the next transaction */
    CU_ASSERT_EQUAL(db_journal_next(p.db, 1, 0, &sequence, hashes, &n), 0);
    CU_ASSERT_EQUAL(n, 3);
    CU_ASSERT_EQUAL(hashes[0], 0);
    CU_ASSERT_EQUAL(hashes[1], UINT64_MAX);
    CU_ASSERT_EQUAL(db_journal_next(p.db, 1, 0, &sequence, hashes, &n), 0);
    CU_ASSERT_EQUAL(hashes[0], 2);
    CU_ASSERT_EQUAL(db_journal_next(p.db, 1, 0, &sequence, hashes, &n), -ENOENT);
    CU_ASSERT_EQUAL(db_begin(p.db), 0);
    CU_ASSERT_EQUAL(db_commit(p.db), 0);
    CU_ASSERT_EQUAL(db_journal_next(p.db, 1, 0, &sequence, hashes, &n), 0);
    CU_ASSERT_EQUAL(hashes[0], 4);
    CU_ASSERT_EQUAL(db_journal_entries(p.db, 1, &entries), 0);
    CU_ASSERT_EQUAL(entries, 9);
    sequence = 0;
    CU_ASSERT_EQUAL(db_journal_next(p.db, 1, 103, &sequence, hashes, &n), 0); /* from a day on */
    CU_ASSERT_EQUAL(hashes[0], 4);
    CU_ASSERT_EQUAL(db_journal_crowded(p.db, 1, 2, 100, INT32_MAX, &day, &entries), -ENOENT);
    struct db_journal j = {.series_id = 1, .day = 104, .hashes = block, .n = 3};
    CU_ASSERT_EQUAL(db_journal_put(p.db, DB_MAIN, &j), 0);
    CU_ASSERT_EQUAL(db_journal_crowded(p.db, 1, 2, 100, 103, &day, &entries), -ENOENT);
    CU_ASSERT_EQUAL(db_journal_crowded(p.db, 1, 2, 100, 104, &day, &entries), 0);
    CU_ASSERT_EQUAL(day, 104);
    CU_ASSERT_EQUAL(entries, 6);
    CU_ASSERT_EQUAL(db_journal_forget(p.db, 1, 104), 0);
    CU_ASSERT_EQUAL(db_journal_entries(p.db, 1, &entries), 0);
    CU_ASSERT_EQUAL(entries, 6);
    CU_ASSERT_EQUAL(db_journal_entries(p.db, 2, &entries), 0);
    CU_ASSERT_EQUAL(entries, 6);
    free(hashes);
    close_place(&p);
}

static void a_filters_row_comes_back(void)
{
    struct place p = {.directory = ""};
    struct db_filter f = {.generation = 3,
                          .capacity = 4000000,
                          .bits = UINT64_C(1) << 40,
                          .hashes = 7,
                          .rebuilds = 2,
                          .last_rebuild_s = 1800000000,
                          .since = -5,
                          .saturated = true},
                     got;
    open_place(&p);
    CU_ASSERT_EQUAL(db_filter_get(p.db, 1, &got), -ENOENT);
    CU_ASSERT_EQUAL(db_filter_put(p.db, 1, &f), 0);
    CU_ASSERT_EQUAL(db_filter_get(p.db, 1, &got), 0);
    CU_ASSERT(got.generation == 3 && got.capacity == 4000000 && got.bits == UINT64_C(1) << 40 &&
              got.hashes == 7 && got.rebuilds == 2 && got.last_rebuild_s == 1800000000 &&
              got.since == -5 && got.saturated);
    close_place(&p);
}

static const struct test tests[] = {
    TEST(a_record_is_what_was_last_put),
    TEST(the_spill_stays_until_it_is_committed),
    TEST(a_spill_that_was_not_committed_is_forgotten),
    TEST(a_temporary_database_is_its_own_spill),
    TEST(a_series_keeps_its_number_and_a_change_is_noticed),
    TEST(the_lock_goes_with_the_process_not_with_the_file),
    TEST(a_file_that_is_no_database_is_set_aside),
    TEST(what_cannot_be_made_is_said),
    TEST(reopening_makes_no_new_file),
    TEST(journal_blocks_come_back_in_order),
    TEST(a_filters_row_comes_back),
    TESTS_END,
};

int main(void)
{
    return tap_run("db", tests);
}
