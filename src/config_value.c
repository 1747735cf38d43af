#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/num.h"
#include "base/utf8.h"
#include "config_int.h"

#define NAME_BYTES 64
#define NS_PER_DAY INT64_C(86400000000000)

/* ---- showing ---- */

const char *node_shown(const struct node *n, char buffer[SHOWN_BYTES])
{
    if (n->kind != NODE_TEXT)
        return n->kind == NODE_LIST ? "a list" : n->kind == NODE_MAP ? "a map" : "an alias";
    if (node_is_null(n))
        return "nothing";
    struct buf b;
    buf_init(&b);
    size_t cut = n->text.n < 40 ? n->text.n : 40;
    while (cut < n->text.n && ((unsigned char) n->text.p[cut] & 0xc0) == 0x80)
        cut++;
    utf8_escape(&b, slice_sub(n->text, 0, cut));
    int shown = b.n < SHOWN_BYTES - 8 ? (int) b.n : SHOWN_BYTES - 8;
    snprintf(buffer, SHOWN_BYTES, "'%.*s%s'", shown, shown ? b.p : "",
             cut < n->text.n ? "..." : "");
    buf_done(&b);
    return buffer;
}

static void wrong(struct reading *r, const struct row *row, const struct node *n,
                  const char *expected)
{
    char shown[SHOWN_BYTES];
    if (n->kind != NODE_BROKEN)
        issue_error(r->issues, n->at, "%s must be %s, got %s", row->key, expected,
                    node_shown(n, shown));
}

static bool is_plain(struct slice text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    if (text.n == 0 || text.p[0] == '-' || slice_is(text, "null"))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!text.p[i] || !strchr(safe, text.p[i]))
            return false;
    return true;
}

void print_text(struct buf *to, struct slice text)
{
    if (is_plain(text)) {
        buf_slice(to, text);
        return;
    }
    buf_byte(to, '"');
    for (size_t step; text.n > 0; text = slice_sub(text, step, text.n)) {
        unsigned c = 0;
        step = utf8_next(text, &c);
        step = step ? step : 1;
        if (c == '"' || c == '\\')
            buf_printf(to, "\\%c", c);
        else if (c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c >= 0xfeff)
            buf_printf(to, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
        else
            buf_put(to, text.p, step);
    }
    buf_byte(to, '"');
}

/* ---- words ---- */

static struct slice take_word(const char **words)
{
    const char *from = *words + strspn(*words, " ");
    size_t n = strcspn(from, " ");
    *words = from + n;
    return (struct slice){from, n};
}

static void words_listed(const char *words, char *buffer, size_t room)
{
    size_t n = 0;
    for (struct slice w; (w = take_word(&words)).n > 0 && n < room;)
        n += (size_t) snprintf(buffer + n, room - n, "%s%.*s", n ? ", " : "", (int) w.n, w.p);
}

int word_read(struct reading *r, const struct row *row, const struct node *n, const char *words)
{
    char listed[256] = "", expected[288];
    const char *rest = words;
    int index = 0;
    for (struct slice w; n->kind == NODE_TEXT && (w = take_word(&rest)).n > 0; index++)
        if (slice_equal(w, n->text))
            return index;
    words_listed(words, listed, sizeof(listed));
    snprintf(expected, sizeof(expected), "one of %s", listed);
    wrong(r, row, n, expected);
    return -1;
}

void word_print(struct buf *to, const char *words, unsigned index)
{
    struct slice w;
    do
        w = take_word(&words);
    while (index-- > 0);
    buf_slice(to, w);
}

/* ---- texts ---- */

char *text_copy(struct reading *r, const struct row *row, const struct node *n)
{
    if (n->kind != NODE_TEXT || node_is_null(n) || n->text.n == 0) {
        wrong(r, row, n, "a text");
        return NULL;
    }
    if (strlen(n->text.p) != n->text.n) {
        issue_error(r->issues, n->at, "%s holds a NUL byte", row->key);
        return NULL;
    }
    char *copy = strdup(n->text.p);
    r->failed = r->failed || !copy;
    return copy;
}

static void read_text(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    char *copy = row->type == VALUE_NULLABLE && node_is_null(n) ? NULL : text_copy(r, row, n);
    free(*(char **) into);
    *(char **) into = copy;
}

static bool is_name(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_letter && (i == 0 || (c != '_' && c != '-' && c != '.')))
            return false;
    }
    return s.n > 0 && s.n <= NAME_BYTES;
}

static void read_name(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    if (n->kind != NODE_TEXT || node_is_null(n) || !is_name(n->text))
        wrong(r, row, n, "a name of up to 64 letters, digits, '_', '-' and '.'");
    else
        read_text(r, row, n, into);
}

const struct node *node_items(const struct node *n, unsigned *ret_n)
{
    bool is_one = n->kind != NODE_LIST;
    *ret_n = is_one ? 1 : n->n;
    return is_one ? n : n->first;
}

static void read_texts(struct reading *r, const struct row *row, const struct node *n, void *base)
{
    char **list = (char **) (void *) ((char *) base + row->offset);
    unsigned *count = (unsigned *) (void *) ((char *) base + row->count), n_items;
    if (n->kind == NODE_MAP || node_is_null(n)) {
        wrong(r, row, n, "a list of texts");
        return;
    }
    const struct node *item = node_items(n, &n_items);
    for (; n_items > 0; n_items--, item = item->next) {
        if (*count == CONFIG_LIST_MAX) {
            issue_error(r->issues, item->at, "%s has more than %d values", row->key,
                        CONFIG_LIST_MAX);
            return;
        }
        char *copy = text_copy(r, row, item);
        if (copy)
            list[(*count)++] = copy;
    }
}

static bool print_texts(const struct row *row, const void *base, struct buf *to)
{
    char *const *list = (char *const *) (const void *) ((const char *) base + row->offset);
    unsigned n = *(const unsigned *) (const void *) ((const char *) base + row->count);
    if (n == 0 && !row->fallback)
        return false;
    buf_byte(to, '[');
    for (unsigned i = 0; i < n; i++) {
        buf_text(to, i > 0 ? ", " : "");
        print_text(to, slice_of(list[i]));
    }
    buf_byte(to, ']');
    return true;
}

/* ---- numbers ---- */

static void read_bool(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    int index = word_read(r, row, n, "false true");
    if (index >= 0)
        *(bool *) into = index;
}

static void read_number(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    uint64_t value;
    char expected[96];
    if (n->kind == NODE_TEXT && num_u63(n->text, &value) && (double) value >= row->low &&
        (double) value <= row->high) {
        if (row->type == VALUE_NUMBER)
            *(uint32_t *) into = (uint32_t) value;
        else
            *(uint64_t *) into = value;
        return;
    }
    snprintf(expected, sizeof(expected), "a whole number from %.0f to %.0f", row->low, row->high);
    wrong(r, row, n, expected);
}

static void read_share(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    double value;
    char expected[96];
    if (n->kind == NODE_TEXT && num_real(n->text, &value) && value > row->low &&
        value < row->high) {
        *(double *) into = value;
        return;
    }
    snprintf(expected, sizeof(expected), "a number between %g and %g, such as %s", row->low,
             row->high, row->fallback);
    wrong(r, row, n, expected);
}

static void read_duration(struct reading *r, const struct row *row, const struct node *n,
                          void *into)
{
    int64_t value;
    if (n->kind == NODE_TEXT && num_duration_ns(n->text, &value) && (double) value >= row->low &&
        (double) value <= row->high)
        *(int64_t *) into = value;
    else
        wrong(r, row, n, "a duration with its unit from 10ms to 1h, such as 250ms, 1s or 5m");
}

static void read_size(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    uint64_t value;
    if (n->kind == NODE_TEXT && num_size_bytes(n->text, &value) && (double) value >= row->low &&
        (double) value <= row->high)
        *(uint64_t *) into = value;
    else
        wrong(r, row, n, "a size with its unit (B, KiB, MiB, GiB), such as 16MiB");
}

static void read_days(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    int64_t ns;
    if (n->kind == NODE_TEXT && slice_is(n->text, "forever"))
        *(uint32_t *) into = 0;
    else if (n->kind == NODE_TEXT && num_duration_ns(n->text, &ns) && ns > 0 &&
             ns % NS_PER_DAY == 0 && ns / NS_PER_DAY <= 100000)
        *(uint32_t *) into = (uint32_t) (ns / NS_PER_DAY);
    else
        wrong(r, row, n, "whole days such as 400d, or forever");
}

static void print_duration(struct buf *to, int64_t ns)
{
    static const struct {
        int64_t ns;
        const char *unit;
    } units[] = {{NS_PER_DAY, "d"},
                 {INT64_C(3600000000000), "h"},
                 {INT64_C(60000000000), "m"},
                 {INT64_C(1000000000), "s"},
                 {INT64_C(1000000), "ms"}};
    size_t i = 0;
    while (i < 4 && ns % units[i].ns != 0)
        i++;
    buf_printf(to, "%" PRId64 "%s", ns / units[i].ns, units[i].unit);
}

static void print_size(struct buf *to, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t i = 0;
    for (; i < 3 && bytes > 0 && bytes % 1024 == 0; i++)
        bytes /= 1024;
    buf_printf(to, "%" PRIu64 "%s", bytes, units[i]);
}

/* The shortest digits that read back to the same number. */
static void print_real(struct buf *to, double value)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        double back;
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (num_real(slice_of(text), &back) && !(back < value) && !(back > value))
            break;
    }
    buf_text(to, text);
}

/* ---- maps ---- */

static void section_read(struct reading *r, const struct row *row, const struct node *n, void *into)
{
    static const struct node nothing = {.kind = NODE_MAP};
    if (node_is_null(n))
        map_read(r, &nothing, row->rows, into);
    else if (n->kind == NODE_MAP)
        map_read(r, n, row->rows, into);
    else
        wrong(r, row, n, "a map of keys");
}

void value_read(struct reading *r, const struct row *row, const struct node *n, void *base)
{
    static void (*const readers[])(struct reading *, const struct row *, const struct node *,
                                   void *) = {
        [VALUE_TEXT] = read_text,       [VALUE_NULLABLE] = read_text,
        [VALUE_NAME] = read_name,       [VALUE_BOOL] = read_bool,
        [VALUE_NUMBER] = read_number,   [VALUE_NUMBER64] = read_number,
        [VALUE_SHARE] = read_share,     [VALUE_DURATION] = read_duration,
        [VALUE_SIZE] = read_size,       [VALUE_DAYS] = read_days,
        [VALUE_SECTION] = section_read,
    };
    void *into = (char *) base + row->offset;
    if (row->type == VALUE_OWN)
        row->read(r, row, n, into);
    else if (row->type == VALUE_TEXTS)
        read_texts(r, row, n, base);
    else
        readers[row->type](r, row, n, into);
}

static void fallback_read(struct reading *r, const struct row *row, void *base)
{
    struct tree tree;
    struct issues none;
    issues_init(&none);
    int n = tree_load(&tree, slice_of(row->fallback), &none);
    if (n == 0 && tree.root)
        value_read(r, row, tree.root, base);
    r->failed = r->failed || n < 0;
    tree_done(&tree);
    issues_done(&none);
}

static const struct row *row_find(const struct row *rows, struct slice key)
{
    for (; rows->key; rows++)
        if (slice_is(key, rows->key))
            return rows;
    return NULL;
}

static void unknown_key(struct reading *r, const struct node *n, const struct row *rows)
{
    struct nearest near;
    struct buf where;
    char shown[SHOWN_BYTES];
    nearest_begin(&near, n->key->text);
    for (; rows->key; rows++)
        nearest_try(&near, rows->key);
    const char *best = nearest_end(&near);
    buf_init(&where);
    node_path(n->parent, &where);
    issue_error(r->issues, n->key->at, "unknown key %s%s%s%s%s%s", node_shown(n->key, shown),
                where.n ? " in " : "", where.n ? buf_cstr(&where) : "",
                best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "");
    buf_done(&where);
}

static void missing_key(struct reading *r, const struct node *map, const struct row *row)
{
    struct buf where;
    buf_init(&where);
    node_path(map, &where);
    issue_error(r->issues, map->at, "%s%s'%s' is missing (%s)", where.n ? buf_cstr(&where) : "",
                where.n ? ": " : "", row->key, row->help);
    buf_done(&where);
}

void map_read(struct reading *r, const struct node *map, const struct row *rows, void *into)
{
    for (const struct node *n = map->first; n; n = n->next)
        if (!row_find(rows, n->key->text))
            unknown_key(r, n, rows);
    for (const struct row *row = rows; row->key; row++) {
        const struct node *n = node_get(map, row->key);
        if (n && n->kind != NODE_BROKEN)
            value_read(r, row, n, into);
        else if (!n && row->fallback)
            fallback_read(r, row, into);
        else if (!n && row->required)
            missing_key(r, map, row);
    }
}

/* ---- printing ---- */

bool value_print(const struct row *row, const void *base, struct buf *to)
{
    const void *from = (const char *) base + row->offset;
    switch (row->type) {
    case VALUE_TEXT:
    case VALUE_NAME:
    case VALUE_NULLABLE:
        if (*(char *const *) from)
            print_text(to, slice_of(*(char *const *) from));
        else
            buf_text(to, "null");
        return true;
    case VALUE_TEXTS:
        return print_texts(row, base, to);
    case VALUE_BOOL:
        buf_text(to, *(const bool *) from ? "true" : "false");
        return true;
    case VALUE_NUMBER:
        buf_printf(to, "%" PRIu32, *(const uint32_t *) from);
        return true;
    case VALUE_NUMBER64:
        buf_printf(to, "%" PRIu64, *(const uint64_t *) from);
        return true;
    case VALUE_SHARE:
        print_real(to, *(const double *) from);
        return true;
    case VALUE_DURATION:
        print_duration(to, *(const int64_t *) from);
        return true;
    case VALUE_SIZE:
        print_size(to, *(const uint64_t *) from);
        return true;
    case VALUE_DAYS:
        if (*(const uint32_t *) from)
            buf_printf(to, "%" PRIu32 "d", *(const uint32_t *) from);
        else
            buf_text(to, "forever");
        return true;
    case VALUE_SECTION:
        map_print(row->rows, from, to);
        return true;
    case VALUE_OWN:
        return row->print(row, from, to);
    }
    return false;
}

void map_print(const struct row *rows, const void *from, struct buf *to)
{
    bool is_first = true;
    buf_byte(to, '{');
    for (; rows->key; rows++) {
        size_t before = to->n;
        buf_printf(to, "%s%s: ", is_first ? "" : ", ", rows->key);
        if (value_print(rows, from, to))
            is_first = false;
        else if (!to->failed)
            to->n = before;
    }
    buf_byte(to, '}');
}
