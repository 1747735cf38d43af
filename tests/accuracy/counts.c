/* Counts by key and the most frequent keys: ours beside the published figures. Prints its part of
 * doc/accuracy.md. */
#include "sketch/cms.h"
#include "sketch/topk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "classic.h"
#include "measure.h"
#include "sketch/cms_int.h"
#include "streams.h"

#define K 100
#define DEPTH 4
#define BYTES_MAX 108760 /* of the published table, which is PUBLISHED_WIDTH x 5 x 8 */
#define PUBLISHED_WIDTH 2719
#define PUBLISHED_DEPTH 5
#define PUBLISHED_BOUND 2000
#define BATCH 16

static struct sk_cms *cms(uint32_t width)
{
    struct sk_cms *c;
    if (sk_cms_new(&c, width, DEPTH, SK_CMS_CELL_32) < 0)
        abort();
    return c;
}

static struct sk_topk *topk(uint32_t width)
{
    struct sk_topk *t;
    if (sk_topk_new(&t, K, width, DEPTH, SK_CMS_CELL_32) < 0)
        abort();
    return t;
}

/* The widest table of DEPTH rows that takes BYTES_MAX at most, with all that belongs to it. */
static uint32_t widest(void)
{
    struct sk_cms *c = cms(1);
    size_t column = DEPTH * sizeof(uint32_t), around = sk_cms_bytes(c) - column;
    sk_cms_free(c);
    return (uint32_t) ((BYTES_MAX - around) / column);
}

/* ---- how far counts are over the truth ---- */

/* Of one run; `once` are the estimates of keys that came once. */
struct overs {
    double sum, once_sum;
    uint64_t max, keys, once, under, over_bound;
};

static void note_count(struct overs *o, uint64_t count, uint32_t truth, uint64_t bound)
{
    uint64_t over = count > truth ? count - truth : 0;
    o->keys++;
    o->under += count < truth;
    o->sum += (double) over;
    o->max = over > o->max ? over : o->max;
    o->over_bound += over > bound;
    if (truth == 1) {
        o->once_sum += (double) count;
        o->once++;
    }
}

/* Of all runs; averages are sums over the runs. */
struct over_means {
    double average, max, once, over_bound;
    uint64_t worst, under;
    unsigned runs;
};

static void note_overs(struct over_means *m, const struct overs *o)
{
    m->average += o->sum / (double) o->keys;
    m->once += o->once ? o->once_sum / (double) o->once : 0;
    m->max += (double) o->max;
    m->over_bound += (double) o->over_bound / (double) o->keys;
    m->worst = o->max > m->worst ? o->max : m->worst;
    m->under += o->under;
    m->runs++;
}

/* ---- which keys are found ---- */

struct found {
    uint64_t in_10, in_100, ghosts;
    unsigned exact, runs; /* exact: the first ten are the true ones, in order, with their counts */
    double error;         /* of the first ten's counts, relative */
};

static uint32_t key_of(const struct sk_topk_row *row)
{
    uint32_t key;
    memcpy(&key, row->key, sizeof key);
    return key;
}

static void note_rows(struct found *f, const struct stream *s, const struct sk_topk *t)
{
    struct sk_topk_row rows[K];
    uint32_t n = sk_topk_list(t, rows), tenth = s->count[s->rank[9]];
    uint32_t last = s->count[s->rank[K - 1]], exact = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t key = key_of(&rows[i]), truth = s->count[key];
        if (i < 10) {
            exact += key == s->rank[i] && rows[i].count == truth;
            f->in_10 += truth >= tenth; /* a key that ties with the last place is one of them */
            f->error += (double) (rows[i].count - truth) / truth / 10;
        }
        f->in_100 += truth >= last;
        f->ghosts += truth < last / 2;
    }
    f->exact += exact == 10;
    f->runs++;
}

/* ---- one stream ---- */

struct counted {
    struct over_means ours, classic;
    struct found found;
    uint64_t bound;
};

/* The key of a row is its number: what the text would be does not matter once it is hashed. */
static void add_stream(struct sk_topk *t, const struct stream *s, const struct sk_hash *hashes)
{
    struct sk_topk_item items[BATCH];
    for (size_t i = 0; i < s->n;) {
        size_t n = 0;
        for (; n < BATCH && i < s->n; n++, i++)
            items[n] = (struct sk_topk_item){.hash = hashes[s->key[i]].lo,
                                             .weight = 1,
                                             .key = &s->key[i],
                                             .key_bytes = sizeof s->key[i]};
        sk_topk_add_batch(t, items, n);
    }
}

static void count_ours(struct counted *c, const struct stream *s, const struct sk_hash *hashes,
                       uint32_t width)
{
    struct sk_topk *t = topk(width);
    struct overs overs = {0};
    add_stream(t, s, hashes);
    c->bound = sk_cms_error_bound(sk_topk_cms(t));
    for (uint32_t key = 0; key < s->keys; key++)
        if (s->count[key])
            note_count(&overs, sk_topk_count(t, hashes[key].lo), s->count[key], c->bound);
    note_overs(&c->ours, &overs);
    note_rows(&c->found, s, t);
    sk_topk_free(t);
}

static void count_classic(struct counted *c, const struct stream *s, const struct sk_hash *hashes,
                          struct classic_cms *table)
{
    struct overs overs = {0};
    classic_cms_clear(table);
    for (size_t i = 0; i < s->n; i++)
        classic_cms_add(table, hashes[s->key[i]]);
    for (uint32_t key = 0; key < s->keys; key++)
        if (s->count[key])
            note_count(&overs, classic_cms_count(table, hashes[key]), s->count[key],
                       PUBLISHED_BOUND);
    note_overs(&c->classic, &overs);
}

static struct counted count_stream(const struct stream *s, unsigned seeds, uint32_t width)
{
    struct counted c = {0};
    struct classic_cms table = classic_cms_new(PUBLISHED_WIDTH, PUBLISHED_DEPTH);
    struct sk_hash *hashes = must_alloc(s->keys, sizeof *hashes);
    for (unsigned seed = 1; seed <= seeds; seed++) {
        struct sk_secret secret = measure_secret(seed);
        stream_hash(s->text, s->keys, &secret, hashes);
        count_ours(&c, s, hashes, width);
        count_classic(&c, s, hashes, &table);
    }
    free(hashes);
    classic_cms_done(&table);
    return c;
}

/* ---- the tables ---- */

static void print_over(const char *what, const struct over_means *m, uint64_t bound)
{
    printf("| %s | %.1f | %.0f | %" PRIu64 " | %.1f | %" PRIu64 " | %.3f %% | %" PRIu64 " |\n",
           what, m->average / m->runs, m->max / m->runs, m->worst, m->once / m->runs, bound,
           100 * m->over_bound / m->runs, m->under);
}

static void print_views(const struct stream *s, const struct counted *c, uint32_t width)
{
    static const char head[] =
        "\n| table | average over-count | largest, mean | largest of all runs | estimate of a key "
        "that came once | bound | keys over it | keys under the truth |\n"
        "|---|---|---|---|---|---|---|---|\n";
    struct sk_cms *table = cms(width);
    size_t bytes = sk_cms_bytes(table);
    double average = c->ours.average / c->ours.runs, once = c->ours.once / c->ours.runs;
    char what[64];
    bool same = stream_is(s, 1, "398009d4ea3cff27f799f2ed1eca3a29");
    printf("\n### Counts: 2,000,000 views, 1/rank over 100,000\n\n"
           "The stream of the experiment: %" PRIu32 " different keys, %" PRIu32
           " of them once, MD5 sum %s. Published: one run.\n%s"
           "| published, 2719 x 5 of 64 bits, 108,760 bytes | 197.5 | 1153 | | 153 | 2000 | | |\n",
           s->distinct, s->once, measure_always(same), head);
    print_over("the same here", &c->classic, PUBLISHED_BOUND);
    snprintf(what, sizeof what, "ours, %" PRIu32 " x %d of 32 bits, %zu bytes", width, DEPTH,
             bytes);
    print_over(what, &c->ours, c->bound);
    printf("\n| target | reached | |\n|---|---|---|\n"
           "| bytes, all that belongs to it ≤ %d | %zu | %s |\n"
           "| average over-count ≤ 40 | %.1f | %s |\n"
           "| a key that came once ≤ 45 | %.1f | %s |\n"
           "| never under the truth | %" PRIu64 " of %" PRIu64 " | %s |\n",
           BYTES_MAX, bytes, measure_always(bytes <= BYTES_MAX), average,
           measure_always(average <= 40), once, measure_always(once <= 45), c->ours.under,
           (uint64_t) s->distinct * c->ours.runs, measure_always(c->ours.under == 0));
    printf("\nCells of half the size make the rows twice as wide, and conservative update raises "
           "only the cells that have to be raised. The bound is e/width of the total, with a "
           "confidence of %.1f %% a key.\n",
           100 * sk_cms_confidence(table));
    sk_cms_free(table);
}

static void print_found(const char *what, const struct found *f)
{
    double recall_10 = (double) f->in_10 / (10.0 * f->runs);
    double recall_100 = (double) f->in_100 / ((double) K * f->runs);
    printf("| %s | %u of %u | %.4f %% | %.5f | %.5f | %" PRIu64 " | %s |\n", what, f->exact,
           f->runs, 100 * f->error / f->runs, recall_10, recall_100, f->ghosts,
           measure_always(f->exact == f->runs && f->in_10 == 10 * (uint64_t) f->runs &&
                          f->in_100 == K * (uint64_t) f->runs));
}

static void print_shape(const char *what, const struct stream *s, const struct over_means *m)
{
    printf("| %s | %" PRIu32 " | %.1f | %.0f | %.1f | %" PRIu64 " |\n", what, s->distinct,
           m->average / m->runs, m->max / m->runs, m->once / m->runs, m->under);
}

static void run_streams(const struct measure_options *o)
{
    enum { VIEWS, FLAT, SCANNED, STREAMS };
    static const char *const names[STREAMS] = {
        "1/rank over 100,000", "1/rank^0.8 over 1,000,000",
        "1/rank over 100,000, and half the hits one-off URLs"};
    struct stream s[STREAMS] = {stream_views(), stream_flat(), stream_scanned()};
    struct counted c[STREAMS];
    uint32_t width = widest();
    for (int i = 0; i < STREAMS; i++)
        c[i] = count_stream(&s[i], o->seeds, width);
    print_views(&s[VIEWS], &c[VIEWS], width);
    printf("\n### The most frequent keys\n\n"
           "2,000,000 hits each, the same table with k = %d. Exact: in how many runs the first ten "
           "are the true ones, in their order, each with its true count. A key that ties with the "
           "last place counts as found. Target: all exact, recall 1 at 10 and at %d, in every "
           "run.\n\n"
           "| hits | first ten exact | error of their counts | recall at 10 | recall at %d "
           "| ghosts, all runs | |\n|---|---|---|---|---|---|---|\n",
           K, K, K);
    for (int i = 0; i < STREAMS; i++)
        print_found(names[i], &c[i].found);
    printf(
        "\n| hits | different keys | average over-count | largest, mean | estimate of a key that "
        "came once | keys under the truth |\n|---|---|---|---|---|---|\n");
    for (int i = 0; i < STREAMS; i++) {
        print_shape(names[i], &s[i], &c[i].ours);
        stream_done(&s[i]);
    }
    printf(
        "\nA ghost is a listed key with less than half the true count of place %d: a rare key "
        "whose %d cells are all shared with frequent ones. The more different keys there are, the "
        "likelier one of them is such a key; it takes a place of the list from a true one. Of "
        "rare keys in general a full table says little, as the last columns show; the first ten "
        "are far above that noise.\n",
        K, DEPTH);
}

/* ---- bytes ---- */

static void run_bytes(void)
{
    static const struct sk_stamp stamp = {.hash_id = SK_HASH_ID_XXH3_128_SECRET};
    uint32_t width = widest();
    struct sk_cms *table = cms(width);
    struct sk_topk *t = topk(width);
    size_t room = sk_kind_topk.save_room(t);
    uint8_t *form = must_alloc(room, 1);
    for (uint32_t key = 0; key < K; key++) {
        char text[STREAM_KEY_BYTES];
        size_t n = stream_key(STREAM_BOOK, key, text);
        sk_topk_add(t, sk_mix(key), text, n, K - key);
    }
    size_t saved = sk_kind_topk.save(t, &stamp, form, room), bytes = sk_cms_bytes(table);
    printf("\n### Bytes: counts\n\n"
           "| what | bytes | target | |\n|---|---|---|---|\n"
           "| Count-Min table, %" PRIu32 " x %d, in memory | %zu | ≤ %d | %s |\n"
           "| top-%d with that table, in memory | %zu | | |\n"
           "| the same saved, with %d keys of 13 bytes | %zu | | |\n",
           width, DEPTH, bytes, BYTES_MAX, measure_always(bytes <= BYTES_MAX), K, sk_topk_bytes(t),
           K, saved);
    printf("\nA list of keys has a slot of 256 bytes for each, and 2,048 more that are untouched "
           "(no memory behind them) unless a key is longer than that. The published 106 KB are the "
           "table alone.\n");
    free(form);
    sk_topk_free(t);
    sk_cms_free(table);
}

/* ---- speed ---- */

struct speed {
    const struct stream *stream;
    uint64_t *hashes; /* of the stream's keys, in order */
    struct sk_cms *cms;
    struct sk_topk *topk;
    uint64_t sum;
};

static void fresh(void *of)
{
    struct speed *s = of;
    uint32_t width = widest();
    sk_cms_free(s->cms);
    sk_topk_free(s->topk);
    s->cms = cms(width);
    s->topk = topk(width);
}

static void add_each(void *of)
{
    struct speed *s = of;
    for (size_t i = 0; i < s->stream->n; i++)
        sk_cms_add(s->cms, s->hashes[i], 1);
}

static void add_batch(void *of)
{
    struct speed *s = of;
    struct cms_cells cells[BATCH];
    for (size_t i = 0; i + BATCH <= s->stream->n; i += BATCH) {
        for (size_t j = 0; j < BATCH; j++)
            cms_fetch(s->cms, s->hashes[i + j], &cells[j]);
        for (size_t j = 0; j < BATCH; j++)
            cms_add_at(s->cms, &cells[j], 1);
    }
}

static void count_each(void *of)
{
    struct speed *s = of;
    for (size_t i = 0; i < s->stream->n; i++)
        s->sum += sk_cms_count(s->cms, s->hashes[i]);
}

static void topk_each(void *of)
{
    struct speed *s = of;
    for (size_t i = 0; i < s->stream->n; i++)
        sk_topk_add(s->topk, s->hashes[i], &s->stream->key[i], sizeof s->stream->key[i], 1);
}

static void topk_batch(void *of)
{
    struct speed *s = of;
    struct sk_topk_item items[BATCH];
    for (size_t i = 0; i + BATCH <= s->stream->n; i += BATCH) {
        for (size_t j = 0; j < BATCH; j++)
            items[j] = (struct sk_topk_item){.hash = s->hashes[i + j],
                                             .weight = 1,
                                             .key = &s->stream->key[i + j],
                                             .key_bytes = sizeof s->stream->key[i + j]};
        sk_topk_add_batch(s->topk, items, BATCH);
    }
}

static void run_speed(void)
{
    struct stream views = stream_views();
    struct sk_hash *hashes = must_alloc(views.keys, sizeof *hashes);
    struct speed s = {.stream = &views, .hashes = must_alloc(views.n, sizeof *s.hashes)};
    struct sk_secret secret = measure_secret(1);
    stream_hash(views.text, views.keys, &secret, hashes);
    for (size_t i = 0; i < views.n; i++)
        s.hashes[i] = hashes[views.key[i]].lo;
    free(hashes);
    fresh(&s);
    const struct measure_work work[] = {
        {"Count-Min of 4 rows, add", fresh, add_each, &s, views.n, 0},
        {"the same in batches of 16", fresh, add_batch, &s, views.n, 4},
        {"Count-Min, count of a key", NULL, count_each, &s, views.n, 0},
        {"top-100 with that table, add", fresh, topk_each, &s, views.n, 0},
        {"the same in batches of 16", fresh, topk_batch, &s, views.n, 0},
    };
    printf("\n### Speed: counts\n\n"
           "One thread, the 2,000,000 views above, keys already hashed; least of several rounds, "
           "each beside a round of hashing.\n");
    measure_speed_head();
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        measure_speed(&work[i]);
    sk_cms_free(s.cms);
    sk_topk_free(s.topk);
    free(s.hashes);
    stream_done(&views);
}

int main(int argc, char **argv)
{
    struct measure_options o = measure_begin(argc, argv, "Counts and the most frequent keys");
    run_streams(&o);
    run_bytes();
    run_speed();
    return measure_end();
}
