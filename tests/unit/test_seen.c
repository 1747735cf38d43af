#include "store/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "store/db_int.h"
#include "store/store_int.h"
#include "store_fixture.h"

/* Lines of the visitors [from, to), one each. */
static int meet(struct fixture *x, int32_t day, uint64_t from, uint64_t to, uint32_t batch)
{
    int r = 0;
    for (uint64_t i = from; i < to && r == 0;) {
        for (; i < to && x->batch.n_lines < batch; i++)
            fixture_line(x, day, 200, 1, i, "/");
        r = fixture_apply(x);
    }
    return r;
}

static bool has_seen(struct fixture *x, uint64_t visitor)
{
    struct seen_answer a;
    CU_ASSERT_EQUAL_FATAL(query_seen(x->query, SEEN, fixture_visitor(x, visitor).lo, &a), 0);
    return a.seen;
}

static unsigned missing(struct fixture *x, uint64_t from, uint64_t to)
{
    unsigned n = 0;
    for (uint64_t i = from; i < to; i++)
        n += !has_seen(x, i);
    return n;
}

static struct filter_state filter_of(struct fixture *x)
{
    struct filter_state f;
    CU_ASSERT_EQUAL_FATAL(query_filter(x->query, SEEN, &f), 0);
    return f;
}

/* Until no rebuild is wanted or under way, and there was one. */
static void wait_for_rebuild(struct fixture *x)
{
    int64_t deadline = clock_monotonic_ns() + 30 * NS_PER_S;
    struct filter_state f;
    do {
        f = filter_of(x);
        usleep(1000);
    } while (
        (f.rebuilding || f.rebuilds == 0 || (f.rate > f.target && f.items > (double) f.capacity)) &&
        clock_monotonic_ns() < deadline);
    CU_ASSERT(f.rebuilds > 0 && !f.rebuilding);
}

static void every_hash_is_seen_after_reopening(void)
{
    struct fixture *x = fixture_new(false);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(meet(x, x->today, 0, 9000, 1000), 0);
    struct filter_state before = filter_of(x);
    CU_ASSERT_EQUAL(before.generation, 1);
    CU_ASSERT_EQUAL(before.journal_entries, 9000);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    struct filter_state after = filter_of(x);
    CU_ASSERT_EQUAL(missing(x, 0, 9000), 0);
    CU_ASSERT_EQUAL(after.fill_ratio, before.fill_ratio);
    CU_ASSERT_EQUAL(after.generation, 1);
    CU_ASSERT_EQUAL(after.bits, before.bits);
    unsigned wrong = 10000 - missing(x, 1000000, 1010000);
    CU_ASSERT(wrong < 150); /* 1 % of 10,000 is 100; 5 standard deviations are 50 */
    fixture_free(x);
}

static void an_overfull_filter_grows_and_forgets_nobody(void)
{
    struct fixture *x = fixture_new(false);
    x->options.commit_every_ns = NS_PER_S / 100;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(meet(x, x->today, 0, 12000, 3000), 0);
    wait_for_rebuild(x);
    CU_ASSERT_EQUAL(meet(x, x->today, 12000, 60000, 3000), 0);
    wait_for_rebuild(x);
    struct filter_state f = filter_of(x);
    CU_ASSERT(f.capacity >= 60000 / 2);
    CU_ASSERT(f.rate < 0.02);
    CU_ASSERT_EQUAL(f.generation, f.rebuilds + 1);
    CU_ASSERT(f.last_rebuild_s > 1700000000);
    CU_ASSERT_EQUAL(missing(x, 0, 60000), 0);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(filter_of(x).generation, f.generation);
    CU_ASSERT_EQUAL(filter_of(x).bits, f.bits);
    CU_ASSERT_EQUAL(missing(x, 0, 60000), 0);
    fixture_free(x);
}

/* The filter's own false positives must reach the journal: at four times its capacity about every
 * second new hash is one, and none may be missing when the bits are made anew. */
static void false_positives_are_journalled(void)
{
    struct fixture *x = fixture_new(false);
    x->metrics.list[SEEN].memory_limit_bytes = 12000; /* just the first geometry */
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(meet(x, x->today, 0, 40000, 3000), 0);
    int64_t deadline = clock_monotonic_ns() + 30 * NS_PER_S;
    while (!filter_of(x).degraded && clock_monotonic_ns() < deadline)
        usleep(1000);
    struct filter_state f = filter_of(x);
    CU_ASSERT(f.degraded);
    CU_ASSERT_EQUAL(f.rebuilds, 0);
    CU_ASSERT(f.rate > 0.4);
    CU_ASSERT_EQUAL(f.journal_entries, 40000);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    x->metrics.list[SEEN].capacity = 100000; /* another configuration, another geometry */
    x->metrics.list[SEEN].memory_limit_bytes = 1 << 20;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(filter_of(x).generation, 2);
    CU_ASSERT(filter_of(x).rate < 0.01);
    CU_ASSERT_EQUAL(missing(x, 0, 40000), 0);
    fixture_free(x);
}

/* 40,000 visitors through a filter for 10,000 that is rebuilt on the way: the count of new ones is
 * corrected for the rate, so it is near the truth, and never depends on batches. */
static void new_visitors_are_counted_right_through_rebuilds(void)
{
    static const uint32_t sizes[] = {BATCH_LINES, 1000, 77};
    struct new_keys first = {.known = false};
    for (unsigned i = 0; i < 3; i++) {
        struct fixture *x = fixture_new(true);
        struct distinct_answer d;
        CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
        CU_ASSERT_EQUAL(meet(x, x->today - 1, 0, 40000, sizes[i]), 0);
        CU_ASSERT_EQUAL(meet(x, x->today, 20000, 60000, sizes[i]), 0);
        CU_ASSERT(filter_of(x).rebuilds >= 2);
        CU_ASSERT_EQUAL(missing(x, 0, 60000), 0);
        CU_ASSERT_EQUAL(query_distinct(x->query, UNIQUES, x->today, x->today, &d), 0);
        CU_ASSERT(d.new_keys.known);
        CU_ASSERT_EQUAL(d.new_keys.since, x->today - 1);
        CU_ASSERT(d.new_keys.low <= d.new_keys.estimate && d.new_keys.estimate <= d.new_keys.high);
        /* rates to 1 %: variance at most 20000 * 0.0102, three of its roots are 43 */
        CU_ASSERT(fabs(d.new_keys.estimate - 20000) < 43);
        CU_ASSERT(d.new_keys.high - d.new_keys.low < 60);
        if (i == 0)
            first = d.new_keys;
        CU_ASSERT_EQUAL(d.new_keys.estimate, first.estimate);
        CU_ASSERT_EQUAL(d.new_keys.low, first.low);
        CU_ASSERT_EQUAL(d.new_keys.high, first.high);
        fixture_free(x);
    }
}

/* A filter that may not grow is soon full: each key that it calls new then stands for very many,
 * and the sum runs away. No more can be new than there were, and never fewer than were certainly
 * new. */
static void more_are_never_new_than_there_were(void)
{
    for (uint64_t i = 0; i < 4; i++) {
        struct fixture *x = fixture_new(true);
        struct distinct_answer d;
        x->metrics.list[SEEN].memory_limit_bytes = 12000; /* just the first geometry */
        CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
        CU_ASSERT_EQUAL(meet(x, x->today, i * 200000, i * 200000 + 120000, 5000), 0);
        CU_ASSERT(filter_of(x).rate > 0.5);
        CU_ASSERT_EQUAL(query_distinct(x->query, UNIQUES, x->today, x->today, &d), 0);
        CU_ASSERT(d.new_keys.known);
        CU_ASSERT(d.new_keys.high <= d.estimate.high);
        CU_ASSERT(d.new_keys.low <= d.new_keys.estimate && d.new_keys.estimate <= d.new_keys.high);
        fixture_free(x);
    }
}

static void a_key_is_new_once_also_within_a_batch(void)
{
    struct fixture *x = fixture_new(true);
    struct distinct_answer d;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (unsigned i = 0; i < 600; i++)
        fixture_line(x, x->today, i < 3 ? 404 : 200, 1, i % 3, "/");
    fixture_line(x, x->today, 404, 1, 50, "/"); /* first met by a line that `where` takes */
    fixture_line(x, x->today, 200, 1, 51, "/"); /* and by one that it leaves out */
    fixture_line(x, x->today, 404, 1, 51, "/");
    CU_ASSERT_EQUAL(fixture_apply(x), 0);
    query_distinct(x->query, UNIQUES, x->today, x->today, &d);
    CU_ASSERT_EQUAL(d.new_keys.estimate, 5);
    CU_ASSERT_EQUAL(d.new_keys.low, 5);
    CU_ASSERT_EQUAL(d.new_keys.high, 5);
    query_distinct(x->query, NOT_FOUND_USERS, x->today, x->today, &d);
    CU_ASSERT_EQUAL(d.estimate.value, 5);
    CU_ASSERT_EQUAL(d.new_keys.estimate, 4);
    fixture_free(x);
}

static void a_full_journal_saturates_the_filter_for_good(void)
{
    struct fixture *x = fixture_new(false);
    struct seen_answer a;
    struct distinct_answer d;
    x->metrics.list[SEEN].journal_limit_bytes = 1000 * 8;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(meet(x, x->today, 0, 1500, 500), 0);
    for (unsigned i = 0; i < 2; i++) {
        CU_ASSERT(filter_of(x).saturated);
        CU_ASSERT_EQUAL(filter_of(x).journal_entries, 1000);
        CU_ASSERT_EQUAL(query_seen(x->query, SEEN, 12345, &a), 0);
        CU_ASSERT(a.seen);
        CU_ASSERT_EQUAL(a.false_positive_rate, 1);
        query_distinct(x->query, UNIQUES, x->today, x->today, &d);
        CU_ASSERT(!d.new_keys.known);
        CU_ASSERT_EQUAL(fixture_close(x), 0);
        CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    }
    fixture_free(x);
}

static int count_blocks(struct store *s, void *arg)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(s->db->main, "SELECT count(*) FROM journal", -1, &statement, NULL) !=
        SQLITE_OK)
        return -EINVAL;
    if (sqlite3_step(statement) == SQLITE_ROW)
        *(int *) arg = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return 0;
}

static void small_blocks_are_joined_and_lose_nothing(void)
{
    struct fixture *x = fixture_new(false);
    int blocks = 0;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    for (uint64_t i = 0; i < 700; i++) {
        CU_ASSERT_EQUAL(meet(x, x->today, i * 5, i * 5 + 8, 100), 0); /* three are met again */
        CU_ASSERT_EQUAL(store_commit(x->store), 0);
    }
    CU_ASSERT_EQUAL(store_call(x->store, count_blocks, &blocks), 0);
    CU_ASSERT(blocks < 320);
    store_day(x->store, x->today + 1);
    CU_ASSERT_EQUAL(store_commit(x->store), 0);
    CU_ASSERT_EQUAL(store_call(x->store, count_blocks, &blocks), 0);
    CU_ASSERT_EQUAL(blocks, 1);
    CU_ASSERT_EQUAL(filter_of(x).journal_entries, 3503);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    x->options.today++;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(missing(x, 0, 3503), 0);
    CU_ASSERT_EQUAL(filter_of(x).journal_entries, 3503);
    fixture_free(x);
}

static void what_keep_drops_is_gone_after_a_restart(void)
{
    struct fixture *x = fixture_new(false);
    struct seen_answer a;
    x->metrics.list[SEEN].keep_days = 3;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(meet(x, x->today - 2, 0, 1000, 500), 0);
    CU_ASSERT_EQUAL(meet(x, x->today, 900, 1200, 500), 0);
    CU_ASSERT_EQUAL(query_seen(x->query, SEEN, fixture_visitor(x, 5).lo, &a), 0);
    CU_ASSERT(a.seen);
    CU_ASSERT_EQUAL(a.since, x->today - 2);
    store_day(x->store, x->today + 1);
    CU_ASSERT_EQUAL(query_seen(x->query, SEEN, fixture_visitor(x, 5).lo, &a), 0);
    CU_ASSERT_EQUAL(a.since, x->today - 1);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    x->options.today++;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(missing(x, 900, 1200), 0);
    CU_ASSERT(missing(x, 0, 900) > 880);
    CU_ASSERT_EQUAL(filter_of(x).journal_entries, 300);
    fixture_free(x);
}

/* More hashes between two commits than the ring takes. */
static void the_ring_flows_over_into_the_spill(void)
{
    struct fixture *x = fixture_new(false);
    x->metrics.list[SEEN].capacity = 1000000;
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(meet(x, x->today, 0, 200000, BATCH_LINES), 0);
    CU_ASSERT_EQUAL(filter_of(x).journal_entries, 200000);
    CU_ASSERT_EQUAL(fixture_close(x), 0);
    CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
    CU_ASSERT_EQUAL(filter_of(x).journal_entries, 200000);
    CU_ASSERT_EQUAL(missing(x, 0, 200000), 0);
    fixture_free(x);
}

/* Meets ever more visitors until it is killed. */
static void meet_for_ever(struct fixture *x, int begun)
{
    x->options.commit_every_ns = NS_PER_S / 1000;
    if (fixture_open(x) < 0)
        _exit(1);
    x->position = fixture_stored_position(x);
    if (write(begun, "!", 1) != 1)
        _exit(3);
    for (;;)
        if (meet(x, x->today, x->position, x->position + 1500, 1500) < 0)
            _exit(2);
}

static void kills_amid_rebuilds_lose_no_hash(void)
{
    struct fixture *x = fixture_new(false);
    uint64_t rebuilds = 0, position = 0;
    x->metrics.list[SEEN].capacity = 500; /* so that it grows again and again */
    for (unsigned i = 0; i < 40 && position < 150000; i++) {
        int begun[2], status;
        char mark;
        CU_ASSERT_EQUAL_FATAL(pipe2(begun, O_CLOEXEC), 0);
        pid_t child = fork();
        if (child == 0)
            meet_for_ever(x, begun[1]);
        close(begun[1]);
        CU_ASSERT_EQUAL(read(begun[0], &mark, 1), 1);
        close(begun[0]);
        usleep((useconds_t) (sk_mix(i) % 30000));
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        CU_ASSERT(WIFSIGNALED(status));
        CU_ASSERT_EQUAL_FATAL(fixture_open(x), 0);
        position = fixture_stored_position(x);
        rebuilds = filter_of(x).rebuilds;
        CU_ASSERT_EQUAL(missing(x, 0, position), 0);
        CU_ASSERT_EQUAL(fixture_close(x), 0);
    }
    printf("# %llu visitors, %llu rebuilds\n", (unsigned long long) position,
           (unsigned long long) rebuilds);
    CU_ASSERT(rebuilds > 0);
    fixture_free(x);
}

static const struct test tests[] = {
    TEST(every_hash_is_seen_after_reopening),
    TEST(an_overfull_filter_grows_and_forgets_nobody),
    TEST(false_positives_are_journalled),
    TEST(new_visitors_are_counted_right_through_rebuilds),
    TEST(more_are_never_new_than_there_were),
    TEST(a_key_is_new_once_also_within_a_batch),
    TEST(a_full_journal_saturates_the_filter_for_good),
    TEST(small_blocks_are_joined_and_lose_nothing),
    TEST(what_keep_drops_is_gone_after_a_restart),
    TEST(the_ring_flows_over_into_the_spill),
    TEST(kills_amid_rebuilds_lose_no_hash),
    TESTS_END,
};

int main(void)
{
    return tap_run("seen", tests);
}
