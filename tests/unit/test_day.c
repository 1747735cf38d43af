#include "store/day.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store_fixture.h"

static struct sk_stamp stamp = {.hash_id = 1, .fingerprint = "fingerprint"};

static void traffic_is_the_same_after_saving(void)
{
    struct traffic_sum *t = calloc(1, sizeof(*t));
    void *loaded;
    t->lost = 3;
    for (int16_t status = -1; status <= 999; status++)
        for (int i = 0; i <= status % 7; i++)
            traffic_add(t, status, 1000);
    size_t room = kind_traffic.save_room(t);
    uint8_t *form = malloc(room);
    size_t n = kind_traffic.save(t, &stamp, form, room);
    CU_ASSERT(n > 0 && n <= room);
    CU_ASSERT_EQUAL(kind_traffic.save(t, &stamp, form, 100), 0);
    CU_ASSERT_EQUAL_FATAL(kind_traffic.load(&loaded, form, n, &stamp), 0);
    CU_ASSERT_EQUAL(memcmp(loaded, t, sizeof(*t)), 0);
    kind_traffic.free(loaded);
    free(t);
    free(form);
}

static void damaged_forms_are_refused(const struct sk_kind *kind, const void *sketch)
{
    void *loaded;
    size_t room = kind->save_room(sketch);
    uint8_t *form = malloc(room);
    size_t n = kind->save(sketch, &stamp, form, room);
    for (size_t i = 0; i < n; i++) {
        form[i] ^= 0x10;
        int r = kind->load(&loaded, form, n, &stamp);
        CU_ASSERT(r == -EBADMSG || r == -EPROTO || r == -EKEYREJECTED);
        form[i] ^= 0x10;
        uint8_t *cut = malloc(i + 1); /* of its own, so that reading past it shows */
        memcpy(cut, form, i);
        CU_ASSERT(kind->load(&loaded, cut, i, &stamp) < 0);
        free(cut);
    }
    /* a wrong body with a right checksum */
    for (size_t i = SK_FORM_HEAD_BYTES; i + SK_FORM_TAIL_BYTES < n; i++) {
        uint8_t before = form[i];
        form[i] = 0xff;
        sk_form_end(form, n - SK_FORM_TAIL_BYTES);
        if (kind->load(&loaded, form, n, &stamp) == 0)
            kind->free(loaded);
        form[i] = before;
    }
    sk_form_end(form, n - SK_FORM_TAIL_BYTES);
    CU_ASSERT_EQUAL_FATAL(kind->load(&loaded, form, n, &stamp), 0);
    kind->free(loaded);
    free(form);
}

static void damaged_traffic_is_refused(void)
{
    struct traffic_sum *t = calloc(1, sizeof(*t));
    traffic_add(t, 200, 5);
    traffic_add(t, 404, 5);
    damaged_forms_are_refused(&kind_traffic, t);
    free(t);
}

static void damaged_sums_of_new_keys_are_refused(void)
{
    struct new_sum sum = {.keys = 1};
    damaged_forms_are_refused(&kind_new, &sum);
}

static void sums_of_new_keys_are_the_same_after_saving(void)
{
    struct new_sum sum = {.keys = 0};
    struct new_weight w = new_weight(0.0103);
    uint8_t form[256];
    void *loaded;
    for (unsigned i = 0; i < 1000; i++)
        new_add(&sum, &w);
    sum.variance |= (unsigned __int128) 1 << 100;
    size_t n = kind_new.save(&sum, &stamp, form, sizeof(form));
    CU_ASSERT_EQUAL_FATAL(kind_new.load(&loaded, form, n, &stamp), 0);
    const struct new_sum *got = loaded;
    CU_ASSERT(got->keys == 1000 && got->weight == sum.weight && got->variance == sum.variance);
    kind_new.free(loaded);
}

static void weights_correct_for_the_rate(void)
{
    struct new_weight w = new_weight(0);
    CU_ASSERT_EQUAL(w.weight, NEW_UNIT);
    CU_ASSERT_EQUAL(w.variance, 0);
    w = new_weight(0.5);
    CU_ASSERT_EQUAL(w.weight, 2 * NEW_UNIT);
    CU_ASSERT_EQUAL(w.variance, 2 * NEW_UNIT);
    w = new_weight(1); /* a filter that is full tells nothing; the weight stays finite */
    CU_ASSERT(w.weight < 1001 * NEW_UNIT);
    w = new_weight(NAN);
    CU_ASSERT(w.weight < 1001 * NEW_UNIT);
}

static void a_uniques_series_has_new_keys_where_a_filter_has_its_key(void)
{
    struct metrics m;
    struct columns c;
    fixture_metrics(&m);
    columns_init(&c, &m, &stamp);
    CU_ASSERT_EQUAL(c.n, 1 + 2 + 2 + 2); /* traffic, two uniques with new each, two top-K */
    CU_ASSERT_EQUAL(c.list[0].role, COLUMN_TRAFFIC);
    CU_ASSERT_EQUAL(c.of_metric[SEEN], -1);
    CU_ASSERT(c.new_of_metric[UNIQUES] > 0);
    CU_ASSERT_EQUAL(c.list[c.new_of_metric[UNIQUES]].seen, SEEN);
    m.list[SEEN].key.n = 1; /* another key */
    columns_init(&c, &m, &stamp);
    CU_ASSERT_EQUAL(c.new_of_metric[UNIQUES], -1);
    CU_ASSERT_EQUAL(c.n, 5);
}

/* A record that cannot be read is replaced, and the day says that it is not complete. */
static void a_damaged_record_is_lost_and_said(void)
{
    struct metrics m;
    struct columns c;
    struct db *db;
    struct db_open_result opened;
    struct err e;
    struct day *d;
    fixture_metrics(&m);
    columns_init(&c, &m, &stamp);
    CU_ASSERT_EQUAL_FATAL(db_open(&db, NULL, &opened, &e), 0);
    for (unsigned i = 0; i < c.n; i++)
        c.list[i].series_id = i + 1;
    CU_ASSERT_EQUAL_FATAL(day_load(&d, 20000, &c, db), 0);
    for (unsigned i = 0; i < c.n; i++)
        CU_ASSERT(!d->cells[i].there && !d->cells[i].dirty);
    traffic_add(d->cells[0].sketch, 200, 1);
    d->cells[0].dirty = d->cells[2].dirty = true;
    CU_ASSERT_EQUAL(day_put_aside(d, &c, db), 0);
    day_free(d, &c);
    CU_ASSERT_EQUAL_FATAL(day_load(&d, 20000, &c, db), 0);
    CU_ASSERT(d->cells[0].there && !d->cells[1].there && d->cells[2].there);
    struct traffic_sum *t = d->cells[0].sketch;
    CU_ASSERT_EQUAL(t->hits, 1);
    CU_ASSERT_EQUAL(t->lost, 0);
    day_free(d, &c);
    struct db_record r = {.series_id = 2,
                          .day = 20000,
                          .kind = c.list[1].kind->id,
                          .version = 1,
                          .stamp = &stamp,
                          .bytes = (const uint8_t *) "garbage",
                          .n = 7};
    CU_ASSERT_EQUAL(db_record_put(db, DB_MAIN, &r), 0);
    CU_ASSERT_EQUAL_FATAL(day_load(&d, 20000, &c, db), 0);
    t = d->cells[0].sketch;
    CU_ASSERT_EQUAL(t->hits, 1);
    CU_ASSERT_EQUAL(t->lost, 1);
    CU_ASSERT(d->cells[0].dirty);
    CU_ASSERT(day_bytes(d, &c) > 100000);
    day_free(d, &c);
    db_free(db);
}

static const struct test tests[] = {
    TEST(traffic_is_the_same_after_saving),
    TEST(damaged_traffic_is_refused),
    TEST(damaged_sums_of_new_keys_are_refused),
    TEST(sums_of_new_keys_are_the_same_after_saving),
    TEST(weights_correct_for_the_rate),
    TEST(a_uniques_series_has_new_keys_where_a_filter_has_its_key),
    TEST(a_damaged_record_is_lost_and_said),
    TESTS_END,
};

int main(void)
{
    return tap_run("day", tests);
}
