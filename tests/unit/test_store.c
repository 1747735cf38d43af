#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/db_int.h"
#include "store/store_int.h"
#include "store_fixture.h"

#define SPREAD_DAYS 12 /* more than are open at a time */

/* The i-th line of an endless made-up log: runs of 40 lines of one day, four hot paths, many cold.
 */
static void made_up_line(struct fixture *x, uint64_t i)
{
    char path[32];
    uint64_t r = sk_mix(i + 1);
    int32_t day = x->today - (int32_t) (sk_mix(i / 40 + 77) % SPREAD_DAYS);
    if (r % 4 != 0)
        snprintf(path, sizeof(path), "/hot%u", (unsigned) (r >> 8) % 4);
    else
        snprintf(path, sizeof(path), "/cold%u", (unsigned) (r >> 8) % 1000);
    fixture_line(x, day, r % 16 == 0 ? 404 : 200, r >> 40 & 0xfff, (r >> 20) % 3000, path);
}

/* Lines from the store's position to `to`, in batches of `size`. */
static int feed(struct fixture *x, uint64_t to, uint32_t size)
{
    int r = 0;
    while (r == 0 && x->position < to) {
        for (uint64_t i = x->position; i < to && x->batch.n_lines < size; i++)
            made_up_line(x, i);
        r = fixture_apply(x);
    }
    return r;
}

static bool alike(struct fixture *a, struct fixture *b)
{
    return fixture_alike(a, b, a->today - SPREAD_DAYS, a->today);
}

static struct books books_of(struct fixture *x)
{
    struct books b;
    struct input_status status;
    int64_t last;
    CU_ASSERT_EQUAL_FATAL(query_input(x->query, 0, &b, &status, &last), 0);
    return b;
}

static void what_is_committed_is_there_after_reopening(void)
{
    struct fixture *x = fixture_new(false);
    struct distinct_answer d;
    struct topk_answer a;
    struct traffic t;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT(store_is_new(x->store));
    for (unsigned i = 0; i < 500; i++)
        fixture_line(x, x->today, i % 10 == 0 ? 404 : 200, 1000, i % 100, i % 5 ? "/" : "/five");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);

    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT(!store_is_new(x->store));
    CU_ASSERT_EQUAL(fixture_stored_position(x), 500);
    CU_ASSERT_EQUAL(query_traffic(x->query, x->today, &t), 1);
    CU_ASSERT_EQUAL(t.hits, 500);
    CU_ASSERT_EQUAL(t.bytes, 500000);
    CU_ASSERT_EQUAL(t.status[404], 50);
    CU_ASSERT_EQUAL(query_distinct(x->query, UNIQUES, x->today, x->today, &d), 0);
    CU_ASSERT_EQUAL(d.estimate.value, 100);
    CU_ASSERT_EQUAL(d.new_keys.estimate, 100);
    CU_ASSERT_EQUAL(d.new_keys.since, x->today);
    CU_ASSERT_EQUAL(query_distinct(x->query, NOT_FOUND_USERS, x->today, x->today, &d), 0);
    CU_ASSERT_EQUAL(d.estimate.value, 10);
    CU_ASSERT_EQUAL(query_topk(x->query, PATHS, x->today, x->today, 10, &a), 0);
    CU_ASSERT_EQUAL_FATAL(a.n_rows, 2);
    CU_ASSERT_EQUAL(a.rows[0].count, 400);
    CU_ASSERT_EQUAL(a.rows[1].count, 100);
    CU_ASSERT_EQUAL(a.total, 500);
    topk_answer_done(&a);
    fixture_free(x);
}

static void answers_do_not_depend_on_batch_sizes(void)
{
    static const uint32_t sizes[] = {1, 7, 256, 1000};
    struct fixture *whole = fixture_new(true);
    CU_ASSERT_EQUAL_FATAL(fixture_open(whole), 0);
    CU_ASSERT_EQUAL(feed(whole, 20000, BATCH_LINES), 0);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct fixture *x = fixture_new(true);
        CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
        CU_ASSERT_EQUAL(feed(x, 20000, sizes[i]), 0);
        CU_ASSERT(alike(whole, x));
        fixture_free(x);
    }
    fixture_free(whole);
}

static void a_directory_changes_no_answer(void)
{
    struct fixture *kept = fixture_new(false), *passing = fixture_new(true);
    kept->options.commit_every_ns = NS_PER_S / 500;
    CU_ASSERT_EQUAL_FATAL(fixture_open(kept), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(passing), 0);
    CU_ASSERT_EQUAL(feed(kept, 30000, 500), 0);
    CU_ASSERT_EQUAL(feed(passing, 30000, BATCH_LINES), 0);
    CU_ASSERT(alike(kept, passing));
    CU_ASSERT_EQUAL(fixture_close(kept), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(kept), 0);
    CU_ASSERT(alike(kept, passing));
    fixture_free(kept);
    fixture_free(passing);
}

static void restarts_change_no_bit(void)
{
    struct fixture *often = fixture_new(false), *never = fixture_new(true);
    CU_ASSERT_EQUAL_FATAL(fixture_open(never), 0);
    CU_ASSERT_EQUAL(feed(never, 10000, 1000), 0);
    for (uint64_t to = 500; to <= 10000; to += 500) {
        CU_ASSERT_EQUAL_FATAL(fixture_open(often), 0);
        CU_ASSERT_EQUAL(fixture_stored_position(often), often->position);
        CU_ASSERT_EQUAL(feed(often, to, 100), 0);
        CU_ASSERT_EQUAL(fixture_close(often), 0);
    }
    CU_ASSERT_EQUAL_FATAL(fixture_open(often), 0);
    CU_ASSERT(alike(often, never));
    fixture_free(often);
    fixture_free(never);
}

static uint64_t all_hits(struct fixture *x)
{
    uint64_t hits = 0;
    for (int32_t day = x->today - SPREAD_DAYS; day <= x->today; day++)
        hits += fixture_hits(x, day);
    return hits;
}

/* A batch of more days than are open is applied in rounds; commits run all the time. */
static void no_commit_sees_a_half_applied_delta(void)
{
    struct fixture *x = fixture_new(false);
    x->options.commit_every_ns = 1;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    sqlite3 *look;
    char path[128];
    snprintf(path, sizeof(path), "%s/" DB_FILE, x->directory);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open_v2(path, &look, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sqlite3_busy_timeout(look, 2000);
    for (uint64_t to = 3000; to <= 60000; to += 3000) {
        for (uint64_t i = x->position; i < to; i++)
            made_up_line(x, i);
        CU_ASSERT_EQUAL(fixture_apply(x), 0);
        /* what a stranger reads is one state: traffic and position agree */
        sqlite3_stmt *s;
        sqlite3_exec(look, "BEGIN", NULL, NULL, NULL);
        uint64_t hits = 0, position = 0;
        sqlite3_prepare_v2(look,
                           "SELECT bytes FROM record JOIN series ON series.id = series_id"
                           " WHERE series.kind = 'traffic'",
                           -1, &s, NULL);
        while (sqlite3_step(s) == SQLITE_ROW)
            hits += le_get64((const uint8_t *) sqlite3_column_blob(s, 0) + SK_FORM_HEAD_BYTES);
        sqlite3_finalize(s);
        sqlite3_prepare_v2(look, "SELECT bytes FROM position", -1, &s, NULL);
        if (sqlite3_step(s) == SQLITE_ROW)
            position = le_get64(sqlite3_column_blob(s, 0));
        sqlite3_finalize(s);
        sqlite3_exec(look, "COMMIT", NULL, NULL, NULL);
        CU_ASSERT_EQUAL(hits, position);
    }
    sqlite3_close(look);
    CU_ASSERT_EQUAL(all_hits(x), 60000);
    fixture_free(x);
}

/* Counts until it is killed; says when it begins. */
static void count_for_ever(struct fixture *x, unsigned seed, int begun)
{
    x->options.commit_every_ns = NS_PER_S / 1000;
    if (fixture_open(x) < 0)
        _exit(1);
    x->position = fixture_stored_position(x);
    if (write(begun, "!", 1) != 1)
        _exit(3);
    for (uint64_t i = 0;; i++)
        if (feed(x, x->position + 1 + sk_mix(i + seed) % 700, BATCH_LINES) < 0)
            _exit(2);
}

static void a_hundred_kills_lose_and_double_nothing(void)
{
    struct fixture *x = fixture_new(false), *truth = fixture_new(true);
    unsigned moved = 0;
    uint64_t most_us = 10000; /* a life's length follows what this machine gets done in one */
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    for (unsigned i = 0; i < 100; i++) {
        int begun[2], status;
        char mark;
        CU_ASSERT_EQUAL_FATAL(pipe2(begun, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0)
            count_for_ever(x, i, begun[1]);
        close(begun[1]);
        CU_ASSERT_EQUAL(read(begun[0], &mark, 1), 1);
        close(begun[0]);
        usleep((useconds_t) (sk_mix(i) % most_us));
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        CU_ASSERT(WIFSIGNALED(status));
        CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
        if (x->note.text[0])
            printf("# life %u: %s\n", i, x->note.text);
        CU_ASSERT_STRING_EQUAL(x->note.text, ""); /* nothing is damaged by a kill */
        uint64_t position = fixture_stored_position(x);
        CU_ASSERT(position >= truth->position);
        moved += position > truth->position;
        if (position > truth->position)
            most_us = most_us > 10000 ? most_us / 2 : most_us;
        else
            most_us = most_us < 500000 ? most_us * 2 : most_us;
        CU_ASSERT_EQUAL(feed(truth, position, BATCH_LINES), 0);
        CU_ASSERT_EQUAL(all_hits(x), position);
        CU_ASSERT_EQUAL(books_of(x).lines, position);
        CU_ASSERT(alike(x, truth));
        struct seen_answer seen;
        for (uint64_t j = 0; j < 3000; j += 7) {
            struct seen_answer expected;
            query_seen(x->query, SEEN, fixture_visitor(x, j).lo, &seen);
            query_seen(truth->query, SEEN, fixture_visitor(x, j).lo, &expected);
            CU_ASSERT_EQUAL(seen.seen, expected.seen);
        }
        CU_ASSERT_EQUAL(fixture_close(x), 0);
    }
    printf("# %llu lines, the position moved in %u of 100 lives\n",
           (unsigned long long) truth->position, moved);
    CU_ASSERT(moved > 20);
    fixture_free(x);
    fixture_free(truth);
}

/* ---- who may not open ---- */

static void a_second_daemon_is_told_who_is_first(void)
{
    struct fixture *x = fixture_new(false);
    struct store *second;
    struct err note, e;
    char pid[32];
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(store_open(&second, &x->options, &note, &e), -EBUSY);
    snprintf(pid, sizeof(pid), "process %ld", (long) getpid());
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, pid));
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, x->directory));
    fixture_free(x);
}

static void a_foreign_key_is_refused(void)
{
    struct fixture *x = fixture_new(false);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    x->secret.bytes[0] ^= 1;
    CU_ASSERT_EQUAL(fixture_open(x), -EKEYREJECTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(x->error.text, "hash key"));
    x->secret.bytes[0] ^= 1;
    CU_ASSERT_EQUAL(fixture_open(x), 0);
    fixture_free(x);
}

static void with_database(struct fixture *x, const char *sql)
{
    sqlite3 *db;
    char path[128];
    snprintf(path, sizeof(path), "%s/" DB_FILE, x->directory);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path, &db), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_newer_schema_is_refused_and_left_alone(void)
{
    struct fixture *x = fixture_new(false);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(feed(x, 100, 100), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    with_database(x, "PRAGMA user_version = 9");
    CU_ASSERT_EQUAL(fixture_open(x), -EPROTONOSUPPORT);
    CU_ASSERT_PTR_NOT_NULL(strstr(x->error.text, "newer"));
    with_database(x, "PRAGMA user_version = 1; UPDATE meta SET text = '7' WHERE name = 'schema'");
    CU_ASSERT_EQUAL(fixture_open(x), -EPROTONOSUPPORT);
    with_database(x, "UPDATE meta SET text = '1' WHERE name = 'schema'");
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(all_hits(x), 100);
    fixture_free(x);
}

static void a_damaged_database_is_set_aside_and_said(void)
{
    struct fixture *x = fixture_new(false);
    char path[128];
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(feed(x, 5000, 1000), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    snprintf(path, sizeof(path), "%s/" DB_FILE, x->directory);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CU_ASSERT_FATAL(fd >= 0);
    for (off_t at = 4096; at < 40 * 4096; at += 4096)
        CU_ASSERT_EQUAL(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, at), 8);
    close(fd);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(x->note.text, ".damaged-2"));
    CU_ASSERT(store_is_new(x->store));
    /* books, days and positions went together */
    CU_ASSERT_EQUAL(fixture_stored_position(x), 0);
    CU_ASSERT_EQUAL(books_of(x).lines, 0);
    CU_ASSERT_EQUAL(all_hits(x), 0);
    x->position = 0;
    CU_ASSERT_EQUAL(feed(x, 100, 100), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    fixture_free(x);
}

static void files_are_private(void)
{
    struct fixture *x = fixture_new(false);
    static const char *const names[] = {DB_FILE, DB_FILE "-wal", DB_FILE "-shm", "lock"};
    char sub[96], path[256];
    struct stat st;
    mode_t before = umask(0);
    snprintf(sub, sizeof(sub), "%s/made", x->directory);
    x->options.directory = sub;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(feed(x, 10, 10), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(stat(sub, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0700);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", sub, names[i]);
        CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
        CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    }
    umask(before);
    fixture_free(x);
}

/* ---- a full disk ---- */

static int limit_main(struct store *s, void *arg)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", *(int *) arg);
    return db_exec(s->db, s->db->main, sql);
}

static int limit_spill(struct store *s, void *arg)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", *(int *) arg);
    return db_exec(s->db, s->db->spill, sql);
}

static void a_full_disk_loses_and_doubles_nothing(void)
{
    struct fixture *x = fixture_new(false), *truth = fixture_new(true);
    int small = 1, large = 1 << 20;
    struct store_state state;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    CU_ASSERT_EQUAL(feed(x, 1000, 300), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(store_call(x->store, limit_main, &small), 0);
    CU_ASSERT_EQUAL(feed(x, 20000, 700), 0); /* counting goes on, days are written out */
    CU_ASSERT_EQUAL(store_commit(x->store), -ENOSPC);
    CU_ASSERT_EQUAL(store_commit(x->store), -ENOSPC);
    store_state(x->store, &state);
    CU_ASSERT_EQUAL(state.last_error, -ENOSPC);
    CU_ASSERT(state.commit_failures >= 2);
    CU_ASSERT(state.dirty_since_ns != 0);
    CU_ASSERT_EQUAL(feed(x, 40000, 700), 0);
    CU_ASSERT_EQUAL(feed(truth, 40000, 5000), 0);
    CU_ASSERT(alike(x, truth)); /* also of days that are only in the spill */
    CU_ASSERT_EQUAL(store_call(x->store, limit_main, &large), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT(alike(x, truth));
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 40000);
    CU_ASSERT_EQUAL(books_of(x).lines, 40000);
    CU_ASSERT(alike(x, truth));
    fixture_free(x);
    fixture_free(truth);
}

static void closing_on_a_full_disk_keeps_the_last_commit(void)
{
    struct fixture *x = fixture_new(false), *truth = fixture_new(true);
    int small = 1;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    CU_ASSERT_EQUAL(feed(x, 5000, 300), 0);
    CU_ASSERT_EQUAL(feed(truth, 5000, 300), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(store_call(x->store, limit_main, &small), 0);
    CU_ASSERT_EQUAL(feed(x, 30000, 300), 0);
    CU_ASSERT_EQUAL(fixture_close(x), -ENOSPC);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 5000);
    CU_ASSERT(alike(x, truth));
    fixture_free(x);
    fixture_free(truth);
}

/* No room in the spill either: the reader is told to wait, and the same delta goes on later. */
static void without_any_room_the_reader_waits(void)
{
    struct fixture *x = fixture_new(false), *truth = fixture_new(true);
    int small = 1, large = 1 << 20;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    CU_ASSERT_EQUAL(feed(x, 1000, 300), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(store_call(x->store, limit_main, &small), 0);
    CU_ASSERT_EQUAL(store_call(x->store, limit_spill, &small), 0);
    /* more days than places in one batch: the first round is in memory when the second finds no
     * room */
    for (uint64_t i = 1000; i < 4000; i++)
        made_up_line(x, i);
    CU_ASSERT_EQUAL(fixture_apply(x), -EAGAIN);
    CU_ASSERT_EQUAL(fixture_apply(x), -EAGAIN);
    CU_ASSERT_EQUAL(store_commit(x->store), -EAGAIN); /* not of a half */
    CU_ASSERT_EQUAL(store_call(x->store, limit_spill, &large), 0);
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), -ENOSPC);
    CU_ASSERT_EQUAL(store_call(x->store, limit_main, &large), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(feed(truth, 4000, 100), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 4000);
    CU_ASSERT(alike(x, truth));
    fixture_free(x);
    fixture_free(truth);
}

/* Whole batches whose positions come with a later delta. */
static int feed_part(struct fixture *x, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        made_up_line(x, i);
    struct store_delta d = {.batch = &x->batch, .more = true};
    int r = store_apply(x->store, &d);
    fixture_clear(x);
    return r;
}

static void parts_are_committed_with_the_last_one(void)
{
    struct fixture *x = fixture_new(false), *truth = fixture_new(true);
    x->options.commit_every_ns = 1;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    CU_ASSERT_EQUAL(feed(x, 1000, 300), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(feed_part(x, 1000, 2000), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), -EAGAIN);
    CU_ASSERT_EQUAL(feed_part(x, 2000, 3000), 0);
    CU_ASSERT_EQUAL(all_hits(x), 3000); /* questions see them */
    CU_ASSERT_EQUAL(fixture_close(x), -EAGAIN);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 1000);
    CU_ASSERT_EQUAL(all_hits(x), 1000);
    CU_ASSERT_EQUAL(feed_part(x, 1000, 2000), 0);
    x->position = 2000;
    CU_ASSERT_EQUAL(feed(x, 2500, 1000), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 2500);
    CU_ASSERT_EQUAL(feed(truth, 2500, 1000), 0);
    CU_ASSERT(alike(x, truth));
    fixture_free(x);
    fixture_free(truth);
}

static void a_large_spill_asks_for_a_commit_before_more_is_begun(void)
{
    struct fixture *x = fixture_new(false);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(feed(x, 1000, 300), 0);
    store_lock(x->store);
    x->store->spill_bytes = STORE_SPILL_MOST + 1;
    store_unlock(x->store);
    made_up_line(x, 1000);
    CU_ASSERT_EQUAL(fixture_apply(x), -EAGAIN);
    int64_t deadline = clock_monotonic_ns() + 30 * NS_PER_S;
    int r = -EAGAIN;
    while (r == -EAGAIN && clock_monotonic_ns() < deadline) {
        usleep(1000);
        r = fixture_apply(x);
    }
    CU_ASSERT_EQUAL(r, 0);
    fixture_free(x);
}

static void a_half_applied_delta_is_not_committed_by_closing(void)
{
    struct fixture *x = fixture_new(false), *truth = fixture_new(true);
    int small = 1;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    CU_ASSERT_EQUAL(feed(x, 1000, 300), 0);
    CU_ASSERT_EQUAL(feed(truth, 1000, 300), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(store_call(x->store, limit_spill, &small), 0);
    for (uint64_t i = 1000; i < 4000; i++)
        made_up_line(x, i);
    CU_ASSERT_EQUAL(fixture_apply(x), -EAGAIN);
    CU_ASSERT_EQUAL(fixture_close(x), -EAGAIN);
    fixture_clear(x);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 1000);
    CU_ASSERT(alike(x, truth));
    fixture_free(x);
    fixture_free(truth);
}

/* The real thing, where the test may mount. */
static void a_full_file_system_is_survived(void)
{
    struct fixture *x = fixture_new(false), *truth = fixture_new(true);
    if (mount("tmpfs", x->directory, "tmpfs", 0, "size=1500k") < 0) {
        printf("# skipped: no right to mount\n");
        fixture_free(x);
        fixture_free(truth);
        return;
    }
    char ballast[96];
    snprintf(ballast, sizeof(ballast), "%s/ballast", x->directory);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    CU_ASSERT_EQUAL(feed(x, 500, 500), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    static const char zeros[4096];
    while (write(fd, zeros, sizeof(zeros)) > 0)
        ;
    CU_ASSERT_EQUAL(feed(x, 20000, 700), 0);
    int r = store_commit(x->store);
    CU_ASSERT(r == -ENOSPC || r == -EIO);
    CU_ASSERT(store_commit(x->store) < 0);
    CU_ASSERT_EQUAL(feed(x, 30000, 700), 0);
    CU_ASSERT_EQUAL(ftruncate(fd, 0), 0);
    close(fd);
    CU_ASSERT_EQUAL(mount("tmpfs", x->directory, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(feed(truth, 30000, 5000), 0);
    CU_ASSERT(alike(x, truth));
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 30000);
    CU_ASSERT(alike(x, truth));
    fixture_close(x);
    umount(x->directory);
    fixture_free(x);
    fixture_free(truth);
}

/* ---- days, series, books ---- */

static void a_flood_of_days_grows_neither_memory_nor_commits(void)
{
    struct fixture *x = fixture_new(false);
    struct store_state before, after;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    for (unsigned i = 0; i < 8; i++)
        fixture_line(x, x->today - (int) i, 200, 1, i, "/");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    store_state(x->store, &before);
    CU_ASSERT_EQUAL(before.days_open, STORE_DAYS_OPEN);
    for (unsigned i = 0; i < 2000; i++)
        fixture_line(x, x->today - (int) (sk_mix(i) % 400), 200, 1, i, "/");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    store_state(x->store, &after);
    CU_ASSERT_EQUAL(after.days_open, STORE_DAYS_OPEN);
    CU_ASSERT_EQUAL(after.commits, before.commits);
    CU_ASSERT_EQUAL(after.memory_bytes, before.memory_bytes);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    fixture_free(x);
}

static void retention_drops_old_days_for_real(void)
{
    struct fixture *x = fixture_new(false);
    int32_t days[16];
    x->options.retention_days = 10;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (int i = 0; i < 10; i++)
        fixture_line(x, x->today - i, 200, 1, (uint64_t) i, "/a-path-of-the-past");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    CU_ASSERT_EQUAL(query_days(x->query, QUERY_TRAFFIC, INT32_MIN, INT32_MAX, days, 16), 10);
    CU_ASSERT_EQUAL(query_first_day(x->query), x->today - 9);
    store_day(x->store, x->today + 3);
    CU_ASSERT_EQUAL(query_days(x->query, QUERY_TRAFFIC, INT32_MIN, INT32_MAX, days, 16), 7);
    CU_ASSERT_EQUAL(query_oldest_kept(x->query), x->today - 6);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    x->options.today = x->today + 20;
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(query_days(x->query, QUERY_TRAFFIC, INT32_MIN, INT32_MAX, days, 16), 0);
    CU_ASSERT_EQUAL(query_first_day(x->query), STORE_DAY_NONE);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    /* not only unlinked: the bytes are gone from the file */
    char path[128], *text = NULL;
    struct buf file;
    buf_init(&file);
    snprintf(path, sizeof(path), "%s/" DB_FILE, x->directory);
    FILE *f = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof(block), f)) > 0;)
        buf_put(&file, block, n);
    fclose(f);
    text = memmem(file.p, file.n, "a-path-of-the-past", 18);
    CU_ASSERT_PTR_NULL(text);
    buf_done(&file);
    fixture_free(x);
}

static void a_changed_definition_starts_a_new_series_and_says_so(void)
{
    struct fixture *x = fixture_new(false);
    struct distinct_answer d;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(x->note.text[0], 0);
    fixture_line(x, x->today - 1, 200, 1, 1, "/");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    CU_ASSERT_EQUAL(query_series_since(x->query, UNIQUES), x->today - 1);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    x->options.definition_suffix = "client=x_forwarded_for";
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(x->note.text, "uniques visitors"));
    CU_ASSERT_EQUAL(query_series_since(x->query, UNIQUES), STORE_DAY_NONE);
    CU_ASSERT_EQUAL(query_distinct(x->query, UNIQUES, x->today - 1, x->today, &d), 0);
    CU_ASSERT_EQUAL(d.days_with_record, 0);
    CU_ASSERT_EQUAL(fixture_hits(x, x->today - 1), 1); /* hits are what they were */
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    x->options.definition_suffix = "client=remote"; /* and back */
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(query_series_since(x->query, UNIQUES), x->today - 1);
    x->options.zone = "Europe/Berlin";
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(x->note.text, "UTC"));
    fixture_free(x);
}

static void ignored_counts_follow_their_rules_text(void)
{
    struct fixture *x = fixture_new(false);
    const char *two[] = {"path=/a", "path=/b"}, *other[] = {"path=/b"};
    x->options.ignore_texts = two;
    x->options.n_ignore = 2;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    struct books more = {.lines = 8, .ignored = {5, 3}};
    struct store_delta d = {.input = 0, .books = &more};
    CU_ASSERT_EQUAL(store_apply(x->store, &d), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    x->options.ignore_texts = other;
    x->options.n_ignore = 1;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    struct books b = books_of(x);
    CU_ASSERT_EQUAL(b.ignored[0], 3);
    CU_ASSERT(books_balanced(&b)); /* the other's five are still there, under no rule of today */
    CU_ASSERT_EQUAL(books_ignored(&b), 8);
    fixture_free(x);
}

static void positions_are_kept_replaced_and_forgotten(void)
{
    struct fixture *x = fixture_new(false);
    uint8_t bytes[8] = {1};
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (uint64_t id = 1; id <= 300; id++) {
        struct store_position p = {.id = id, .bytes = bytes, .n = 8};
        struct store_delta d = {.input = (unsigned) id % 2, .positions = &p, .n_positions = 1};
        CU_ASSERT_EQUAL(store_apply(x->store, &d), 0);
    }
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    for (uint64_t id = 1; id <= 299; id++) {
        struct store_position p = {.id = id, .n = 0};
        struct store_delta d = {.input = (unsigned) id % 2, .positions = &p, .n_positions = 1};
        CU_ASSERT_EQUAL(store_apply(x->store, &d), 0);
    }
    le_put64(bytes, 4711);
    struct store_position p[] = {{.id = 300, .bytes = bytes, .n = 8},
                                 {.id = 7, .bytes = bytes, .n = 8}};
    struct store_delta d = {.input = 0, .positions = p, .n_positions = 2};
    CU_ASSERT_EQUAL(store_apply(x->store, &d), 0);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(x->store->n_positions, 2);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(x->store->n_positions, 2);
    CU_ASSERT_EQUAL(fixture_stored_position(x), 4711);
    fixture_free(x);
}

static void dropped_datagrams_make_the_day_incomplete(void)
{
    struct fixture *x = fixture_new(false);
    struct traffic t;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    struct input_status status = {.kind = "udp", .received = 10};
    CU_ASSERT_EQUAL(store_publish_input(x->store, 0, &status, NULL, 0), 0);
    fixture_line(x, x->today, 200, 1, 1, "/");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    CU_ASSERT_EQUAL(query_traffic(x->query, x->today, &t), 1);
    CU_ASSERT(t.complete);
    status.catching_up = true;
    store_publish_input(x->store, 0, &status, NULL, 0);
    query_traffic(x->query, x->today, &t);
    CU_ASSERT(!t.complete);
    status.catching_up = false;
    status.kernel_drops = 3;
    store_publish_input(x->store, 0, &status, NULL, 0);
    query_traffic(x->query, x->today, &t);
    CU_ASSERT(!t.complete);
    fixture_line(x, x->today, 200, 1, 1, "/");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(query_traffic(x->query, x->today, &t), 1);
    CU_ASSERT(!t.complete);
    fixture_free(x);
}

/* ---- at the same time ---- */

struct reading {
    struct fixture *x;
    bool stop;
    unsigned answers;
};

static void *read_on(void *arg)
{
    struct reading *r = arg;
    struct query *q;
    if (query_new(&q, r->x->store, 1 << 18) < 0)
        return NULL;
    while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
        struct distinct_answer d;
        struct topk_answer a;
        struct traffic t;
        struct store_state state;
        struct filter_state filter;
        if (query_distinct(q, UNIQUES, r->x->today - SPREAD_DAYS, r->x->today, &d) == 0)
            r->answers++;
        if (query_topk(q, PATHS, r->x->today - SPREAD_DAYS, r->x->today, 5, &a) == 0)
            topk_answer_done(&a);
        query_traffic(q, r->x->today, &t);
        query_state(q, &state);
        query_filter(q, SEEN, &filter);
    }
    query_free(q);
    return NULL;
}

static void readers_and_commits_do_not_disturb_counting(void)
{
    struct fixture *x = fixture_new(false), *truth = fixture_new(true);
    pthread_t reader;
    struct reading reading = {.x = x};
    x->options.commit_every_ns = NS_PER_S / 200;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(truth), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, read_on, &reading), 0);
    CU_ASSERT_EQUAL(feed(x, 60000, 400), 0);
    CU_ASSERT_EQUAL(feed(truth, 60000, 5000), 0);
    __atomic_store_n(&reading.stop, true, __ATOMIC_RELEASE);
    pthread_join(reader, NULL);
    CU_ASSERT(reading.answers > 0);
    CU_ASSERT(alike(x, truth));
    fixture_free(x);
    fixture_free(truth);
}

static void the_bound_of_memory_is_over_what_is_used(void)
{
    struct fixture *x = fixture_new(false);
    struct store_state state;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(feed(x, 20000, 5000), 0);
    store_state(x->store, &state);
    CU_ASSERT(state.memory_bytes <= store_memory_bound(&x->options));
    CU_ASSERT(state.memory_bytes > 1000000);
    fixture_free(x);
}

static const struct test tests[] = {
    TEST(what_is_committed_is_there_after_reopening),
    TEST(answers_do_not_depend_on_batch_sizes),
    TEST(a_directory_changes_no_answer),
    TEST(restarts_change_no_bit),
    TEST(no_commit_sees_a_half_applied_delta),
    TEST(a_hundred_kills_lose_and_double_nothing),
    TEST(a_second_daemon_is_told_who_is_first),
    TEST(a_foreign_key_is_refused),
    TEST(a_newer_schema_is_refused_and_left_alone),
    TEST(a_damaged_database_is_set_aside_and_said),
    TEST(files_are_private),
    TEST(a_full_disk_loses_and_doubles_nothing),
    TEST(closing_on_a_full_disk_keeps_the_last_commit),
    TEST(without_any_room_the_reader_waits),
    TEST(parts_are_committed_with_the_last_one),
    TEST(a_large_spill_asks_for_a_commit_before_more_is_begun),
    TEST(a_half_applied_delta_is_not_committed_by_closing),
    TEST(a_full_file_system_is_survived),
    TEST(a_flood_of_days_grows_neither_memory_nor_commits),
    TEST(retention_drops_old_days_for_real),
    TEST(a_changed_definition_starts_a_new_series_and_says_so),
    TEST(ignored_counts_follow_their_rules_text),
    TEST(positions_are_kept_replaced_and_forgotten),
    TEST(dropped_datagrams_make_the_day_incomplete),
    TEST(readers_and_commits_do_not_disturb_counting),
    TEST(the_bound_of_memory_is_over_what_is_used),
    TESTS_END,
};

int main(void)
{
    return tap_run("store", tests);
}
