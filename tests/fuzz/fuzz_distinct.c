/* The loader of a distinct count takes any bytes: as a whole form, and as the body of a sound
 * frame, which no mutation would find the CRC of. What it accepts must behave and be saved as it
 * came. */
#include <stdlib.h>
#include <string.h>

#include "sketch/distinct.h"
#include "sketch/overlap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct sk_stamp stamp = {.hash_id = 1};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct sk_distinct *load_framed(const uint8_t *body, size_t n)
{
    void *d = NULL;
    uint8_t *form = malloc(SK_FORM_HEAD_BYTES + n + SK_FORM_TAIL_BYTES);
    if (!form)
        return NULL;
    sk_form_begin(form, "RKUL", sk_kind_distinct.version, &stamp);
    memcpy(form + SK_FORM_HEAD_BYTES, body, n);
    size_t bytes = sk_form_end(form, SK_FORM_HEAD_BYTES + n);
    if (sk_kind_distinct.load(&d, form, bytes, &stamp) == 0) {
        size_t room = sk_kind_distinct.save_room(d);
        uint8_t *again = malloc(room);
        must(again && sk_kind_distinct.save(d, &stamp, again, room) == bytes);
        must(memcmp(form, again, bytes) == 0);
        free(again);
    }
    free(form);
    return d;
}

static void check_estimate(const struct sk_distinct *d)
{
    struct sk_estimate e;
    sk_distinct_estimate(d, &e);
    must(e.value >= 0 && e.low >= 0 && e.low <= e.value && e.value <= e.high && e.high <= 0x1p63);
    must(e.relative_standard_error >= 0 && e.relative_standard_error < 0x1p63);
}

static void check_overlap(const struct sk_distinct *a, const struct sk_distinct *b)
{
    struct sk_overlap o;
    struct sk_estimate x, y;
    must(sk_overlap(a, b, &o) == 0);
    sk_distinct_estimate(a, &x);
    sk_distinct_estimate(b, &y);
    must(o.both.value >= 0 && o.both.value <= x.value && o.both.value <= y.value);
    must(o.both.low >= 0 && o.both.low <= o.both.value && o.both.value <= o.both.high);
    must(o.both.high <= 0x1p63 && o.both.relative_standard_error >= 0);
    must(o.both.relative_standard_error <= 0x1p63);
}

static void use(struct sk_distinct *d)
{
    struct sk_distinct *other = NULL, *copy = NULL;
    check_estimate(d);
    must(sk_distinct_copy(&copy, d) == 0 && sk_distinct_new(&other, 6, 3) == 0);
    for (uint64_t i = 0; i < 200; i++) {
        sk_distinct_add(d, sk_mix(i));
        sk_distinct_add(other, sk_mix(i + 100));
    }
    check_estimate(d);
    check_overlap(d, other);
    check_overlap(copy, d);
    must(sk_distinct_merge(other, d) == 0);
    must(sk_distinct_merge(d, copy) == 0);
    check_estimate(d);
    check_estimate(other);
    sk_distinct_free(copy);
    sk_distinct_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    void *whole = NULL;
    if (sk_kind_distinct.load(&whole, data, n, &stamp) == 0)
        use(whole);
    sk_kind_distinct.free(whole);
    struct sk_distinct *framed = load_framed(data, n);
    if (framed)
        use(framed);
    sk_distinct_free(framed);
    return 0;
}
