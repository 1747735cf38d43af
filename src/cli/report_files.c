#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/report_int.h"

#define PROBE_BYTES                                                                                \
    ((uint64_t) 16 << 20) /* of a file without a counted line that are looked at                   \
                           */

/* ---- opening ---- */

static void open_file(struct report *r, const char *path, unsigned given)
{
    struct reader *reader;
    struct err e = {""};
    struct stat st;
    struct report_file *f = &r->files[r->n_files];
    if (reader_open(&reader, path, &e) < 0) {
        report_warn(r, "%s", e.text);
        r->a_file_failed = true;
        return;
    }
    *f = (struct report_file){.path = path, .given = given, .first_s = INT64_MAX};
    f->is_regular = strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (f->is_regular) {
        f->size_bytes = (uint64_t) st.st_size;
        reader_free(reader);
    } else {
        f->reader = reader;
    }
    r->n_files++;
}

int report_files_open(struct report *r)
{
    static char standard_input[] = "-";
    static char *only_input[] = {standard_input};
    char **paths = r->o->n_files > 0 ? r->o->files : only_input;
    unsigned n = r->o->n_files > 0 ? r->o->n_files : 1;
    r->files = calloc(n, sizeof(*r->files));
    if (!r->files)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++)
        open_file(r, paths[i], i);
    return 0;
}

void report_files_close(struct report *r)
{
    for (unsigned i = 0; i < r->n_files; i++)
        reader_free(r->files[i].reader);
    free(r->files);
    r->files = NULL;
    r->n_files = 0;
}

/* ---- what a file begins with ---- */

static int file_head(struct report_file *f, struct buf *ret, struct err *e)
{
    struct slice head;
    struct reader *reader = f->reader;
    int n = reader ? 0 : reader_open(&reader, f->path, e);
    if (n == 0)
        n = lines_head(reader, false, &head, e);
    if (n == 0) {
        buf_clear(ret);
        buf_slice(ret, head);
        n = buf_failed(ret);
    }
    if (!f->reader)
        reader_free(reader);
    return n;
}

static int detect(struct report *r, struct report_file *f, struct buf *head, struct err *e)
{
    int n = file_head(f, head, e);
    if (n == -ENOMEM)
        return err_set(e, n, "out of memory");
    if (n < 0)
        return 0; /* met, and said, when the file is read */
    n = lines_detect(&r->lines, (struct slice){head->n ? head->p : "", head->n}, &f->rule, e);
    f->has_format = n == 1;
    return n < 0 ? n : 0;
}

/* Files without a line to tell by are taken for what the others are, or for combined. */
int report_files_detect(struct report *r, struct err *e)
{
    struct buf head;
    unsigned kept = 0;
    int n = 0;
    buf_init(&head);
    for (unsigned i = 0; n == 0 && i < r->n_files; i++) {
        buf_clear(&head);
        n = detect(r, &r->files[i], &head, e);
        if (n == -ENOENT) {
            report_warn(r, "%s: skipped, %s", r->files[i].path, e->text);
            reader_free(r->files[i].reader);
            r->files[i].reader = NULL;
            r->a_file_unfit = true;
            n = 0;
        } else {
            r->files[kept++] = r->files[i];
            if (kept <= i)
                r->files[i].reader = NULL;
        }
    }
    buf_done(&head);
    if (n < 0)
        return n;
    r->n_files = kept;
    if (r->lines.n_formats > 0)
        return lines_check_client(&r->lines, e);
    return kept > 0 ? lines_formats(&r->lines, (struct slice){"", 0}, e) : 0;
}

/* The names in the order in which the formats are used. */
static void name_formats(struct report *r)
{
    char *name = r->lines.format_name;
    const size_t room = sizeof(r->lines.format_name);
    bool is_named[CONFIG_FORMATS_MAX] = {false};
    size_t n = 0;
    for (unsigned i = 0; i < r->n_files && n < room; i++) {
        const struct report_file *f = &r->files[i];
        if (!f->has_format || is_named[f->rule])
            continue;
        n += (size_t) snprintf(name + n, room - n, "%s%s", n > 0 ? ", " : "",
                               format_name(r->lines.formats[f->rule]));
        is_named[f->rule] = true;
    }
}

/* ---- their order ---- */

struct probe {
    struct ingest_worker *worker;
    struct ingest_sheet sheet;
    struct block block;
};

static const struct day_window every_day = {INT32_MIN, INT32_MAX};

/* Line by line, so that the newest instant of the sheet is that of the first counted line. */
static bool probe_block(struct probe *p)
{
    struct slice rest = p->block.lines, line;
    while (rest.n > 0) {
        if (!slice_cut(&rest, '\n', &line)) {
            line = rest;
            rest.n = 0;
        }
        struct ingest_rest one = {.lines = line};
        memset(&p->sheet, 0, sizeof(p->sheet));
        ingest_fill(p->worker, &one, (struct slice){NULL, 0}, &every_day, &p->sheet);
        if (p->sheet.books.counted > 0)
            return true;
    }
    return false;
}

static int probe_file(struct probe *p, struct report *r, struct report_file *f)
{
    struct reader *reader;
    struct slice head;
    uint64_t seen = 0;
    int n = ingest_worker_new(&p->worker, &r->rules[f->rule]);
    if (n < 0)
        return n;
    if (reader_open(&reader, f->path, NULL) < 0)
        goto done;
    if (reader_head(reader, sizeof(f->head), &head, NULL) == 0) {
        f->head_bytes = head.n;
        if (head.n > 0)
            memcpy(f->head, head.p, head.n);
    }
    while (seen < PROBE_BYTES && reader_next(reader, &p->block, NULL) == 1) {
        seen += p->block.consumed;
        if (probe_block(p)) {
            f->first_s = p->sheet.last_line_s;
            break;
        }
    }
    reader_free(reader);
done:
    p->worker = ingest_worker_free(p->worker);
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct report_file *x = a, *y = b;
    if (x->is_regular != y->is_regular)
        return x->is_regular ? -1 : 1;
    if (x->is_regular && x->first_s != y->first_s)
        return x->first_s < y->first_s ? -1 : 1;
    return x->given < y->given ? -1 : x->given > y->given;
}

static bool has_same_head(const struct report_file *a, const struct report_file *b)
{
    return a->is_regular && b->is_regular && a->head_bytes > 0 && a->head_bytes == b->head_bytes &&
           memcmp(a->head, b->head, a->head_bytes) == 0;
}

/* Drops files whose content an earlier argument has. */
static void drop_copies(struct report *r)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < r->n_files; i++) {
        unsigned j = 0;
        while (j < kept && !(has_same_head(&r->files[j], &r->files[i]) &&
                             reader_same_content(r->files[j].path, r->files[i].path) == 1))
            j++;
        if (j < kept)
            report_warn(r, "%s: skipped, it holds the same lines as %s", r->files[i].path,
                        r->files[j].path);
        else
            r->files[kept++] = r->files[i];
    }
    r->n_files = kept;
}

static uint64_t total_bytes(const struct report *r)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < r->n_files; i++) {
        if (!r->files[i].is_regular)
            return 0;
        sum += r->files[i].size_bytes;
    }
    return sum;
}

int report_files_sort(struct report *r)
{
    if (r->n_files > 1) {
        struct probe p = {.worker = NULL};
        if (block_init(&p.block) < 0)
            return -ENOMEM;
        int n = 0;
        for (unsigned i = 0; n == 0 && i < r->n_files; i++)
            if (r->files[i].is_regular)
                n = probe_file(&p, r, &r->files[i]);
        block_done(&p.block);
        if (n < 0)
            return n;
        drop_copies(r);
        qsort(r->files, r->n_files, sizeof(*r->files), by_time);
    }
    if (lines_is_auto(&r->lines))
        name_formats(r);
    r->all_bytes = total_bytes(r);
    return 0;
}

/* ---- the days of the log ---- */

static void widen(const struct batch *b, int32_t *first, int32_t *last)
{
    for (uint32_t i = 0; i < b->n_lines; i++) {
        *first = b->lines[i].day < *first ? b->lines[i].day : *first;
        *last = b->lines[i].day > *last ? b->lines[i].day : *last;
    }
}

static int file_days(struct probe *p, const struct report_file *f, const struct ingest_rule *rule,
                     int32_t *first, int32_t *last)
{
    struct reader *reader = NULL;
    int n = ingest_worker_new(&p->worker, rule);
    if (n == 0)
        n = reader_open(&reader, f->path, NULL);
    while (n == 0 && reader_next(reader, &p->block, NULL) == 1) {
        struct ingest_rest rest;
        bool is_last = false;
        ingest_begin(&rest, &p->block);
        while (!is_last) {
            is_last = ingest_fill(p->worker, &rest, p->block.host, &every_day, &p->sheet);
            widen(ingest_batch(p->worker), first, last);
        }
    }
    reader_free(reader);
    p->worker = ingest_worker_free(p->worker);
    return n;
}

bool report_files_days(struct report *r, int32_t *ret_first, int32_t *ret_last)
{
    struct probe p = {.worker = NULL};
    int32_t first = INT32_MAX, last = INT32_MIN;
    int n = block_init(&p.block);
    for (unsigned i = 0; n == 0 && i < r->n_files; i++)
        n = r->files[i].is_regular
                ? file_days(&p, &r->files[i], &r->rules[r->files[i].rule], &first, &last)
                : -ESPIPE;
    block_done(&p.block);
    *ret_first = first;
    *ret_last = last;
    return n == 0 && first <= last;
}
