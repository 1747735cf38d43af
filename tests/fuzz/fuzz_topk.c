/* The loader of a top-K takes any bytes: as a whole form, and as the body of a sound frame, which
 * no mutation would find the CRC of. What it accepts must behave and be saved as it came. */
#include <stdlib.h>
#include <string.h>

#include "sketch/topk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct sk_stamp stamp = {.hash_id = 1};

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct sk_topk *load_framed(const uint8_t *body, size_t n)
{
    void *t = NULL;
    uint8_t *form = malloc(SK_FORM_HEAD_BYTES + n + SK_FORM_TAIL_BYTES);
    if (!form)
        return NULL;
    sk_form_begin(form, "RKTK", sk_kind_topk.version, &stamp);
    memcpy(form + SK_FORM_HEAD_BYTES, body, n);
    size_t bytes = sk_form_end(form, SK_FORM_HEAD_BYTES + n);
    if (sk_kind_topk.load(&t, form, bytes, &stamp) == 0) {
        size_t room = sk_kind_topk.save_room(t);
        uint8_t *again = malloc(room);
        must(again && sk_kind_topk.save(t, &stamp, again, room) == bytes);
        must(memcmp(form, again, bytes) == 0);
        free(again);
    }
    free(form);
    return t;
}

static void check_list(const struct sk_topk *t)
{
    static struct sk_topk_row rows[SK_TOPK_K_MAX];
    uint32_t n = sk_topk_list(t, rows);
    must(n <= sk_topk_k(t));
    for (uint32_t i = 0; i < n; i++) {
        must(rows[i].key_bytes <= SK_TOPK_KEY_BYTES && rows[i].count > 0);
        must(i == 0 || rows[i - 1].count >= rows[i].count);
    }
    must(sk_cms_error_bound(sk_topk_cms(t)) <= sk_cms_total(sk_topk_cms(t)));
}

static void use(struct sk_topk *t)
{
    check_list(t);
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t item = sk_mix(i) % 40;
        sk_topk_add(t, sk_mix(item), &item, sizeof item, i % 3 ? 1 : sk_mix(i));
    }
    check_list(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    void *whole = NULL;
    if (sk_kind_topk.load(&whole, data, n, &stamp) == 0)
        use(whole);
    sk_kind_topk.free(whole);
    struct sk_topk *framed = load_framed(data, n);
    if (framed)
        use(framed);
    sk_topk_free(framed);
    return 0;
}
