/* One line's whole way. A block of whole lines comes from an input (input/), each line becomes a
 * record (parse/), the record's keys are hashed and noted by series (keys/), and the batch goes to
 * the store (store/), together with the books and the positions that hold after it. */
#include "ingest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

struct ingest_worker {
    const struct ingest_rule *rule;
    struct parser *parser;
    struct planner *planner;
    struct batch *batch;
    struct slice input;   /* the rule's, with its length */
    struct record record; /* of the current line; here, since zeroing a local one takes time */
    struct buf escaped;   /* scratch for samples of refused lines */
};

int ingest_worker_new(struct ingest_worker **ret, const struct ingest_rule *rule)
{
    struct ingest_worker *w = calloc(1, sizeof *w);
    if (!w)
        return -ENOMEM;
    w->rule = rule;
    w->input = slice_of(rule->input);
    buf_init(&w->escaped);
    int r = parser_new(&w->parser, &(struct parser_options){.formats = rule->formats,
                                                            .n_formats = rule->n_formats,
                                                            .day_of_log = rule->day_of_log});
    if (r == 0)
        r = planner_new(&w->planner, rule->plan);
    if (r == 0)
        r = batch_new(&w->batch, rule->plan);
    if (r < 0) {
        ingest_worker_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

struct ingest_worker *ingest_worker_free(struct ingest_worker *w)
{
    if (!w)
        return NULL;
    buf_done(&w->escaped);
    batch_free(w->batch);
    planner_free(w->planner);
    parser_free(w->parser);
    free(w);
    return NULL;
}

const struct batch *ingest_batch(const struct ingest_worker *w)
{
    return w->batch;
}

void ingest_begin(struct ingest_rest *rest, const struct block *b)
{
    *rest = (struct ingest_rest){.lines = b->lines,
                                 .line_number = b->line_number,
                                 .dropped_bytes = b->consumed - b->lines.n,
                                 .too_long = b->too_long};
}

/* Keeps a refused line for people: the newest REJECTED_SAMPLES of a sheet, oldest first. */
static void keep_sample(struct ingest_worker *w, struct ingest_sheet *sheet, struct slice line,
                        enum reject why, const struct reject_at *at)
{
    if (sheet->n_samples == REJECTED_SAMPLES) {
        memmove(&sheet->samples[0], &sheet->samples[1],
                (REJECTED_SAMPLES - 1) * sizeof sheet->samples[0]);
        sheet->n_samples--;
    }
    struct rejected_sample *s = &sheet->samples[sheet->n_samples++];
    buf_clear(&w->escaped);
    utf8_escape(&w->escaped, slice_sub(line, 0, line.n < sizeof s->line ? line.n : sizeof s->line));
    size_t n = 0;
    struct slice left = {w->escaped.p, w->escaped.n};
    for (size_t step; left.n && (step = utf8_next(left, NULL)) > 0 && n + step < sizeof s->line;) {
        n += step;
        left = slice_sub(left, step, left.n);
    }
    if (n)
        memcpy(s->line, w->escaped.p, n);
    s->line[n] = '\0';
    s->reason = reject_name(why);
    s->field = at->field;
    s->column = at->column;
}

static void refuse(struct ingest_worker *w, struct ingest_sheet *sheet, struct slice line,
                   uint64_t line_number, enum reject why, const struct reject_at *at)
{
    sheet->books.rejected[why]++;
    if (sheet->first_reject == REJECT_NONE) {
        sheet->first_reject = why;
        sheet->first_reject_line = line_number;
    }
    keep_sample(w, sheet, line, why, at);
}

/* false: no room for this line in the batch or the parser's scratch; nothing was changed. */
static bool one_line(struct ingest_worker *w, struct slice line, uint64_t line_number,
                     struct slice host, const struct day_window *window, struct ingest_sheet *sheet)
{
    struct record *record = &w->record;
    struct reject_at at = {0};
    enum skip skip;
    enum reject reject;
    switch (parser_line(w->parser, line, record, &skip, &reject, &at)) {
    case PARSED_SCRATCH_FULL:
        return false;
    case PARSED_SKIPPED:
        sheet->books.skipped[skip]++;
        return true;
    case PARSED_REJECTED:
        refuse(w, sheet, line, line_number, reject, &at);
        return true;
    case PARSED_RECORD:
        break;
    }
    record->text[FIELD_INPUT] = w->input;
    if (record->text[FIELD_HOST].n == 0)
        record->text[FIELD_HOST] = host;
    enum planned planned = plan_record(w->planner, w->batch, record, window, &sheet->books);
    if (planned == PLANNED_BATCH_FULL)
        return false;
    if (planned == PLANNED_COUNTED && record->time_s > sheet->last_line_s)
        sheet->last_line_s = record->time_s;
    return true;
}

/* Lines that the input has dropped for their length: they stand behind the block's other lines. */
static void account_dropped(struct ingest_worker *w, struct ingest_rest *rest,
                            struct ingest_sheet *sheet)
{
    static const struct reject_at at = {"line", "a line of at most 256 KiB", LINE_BYTES_MAX + 1};
    for (; rest->too_long; rest->too_long--) {
        sheet->books.lines++;
        refuse(w, sheet, SLICE_LITERAL("(not kept)"), rest->line_number, REJECT_TOO_LONG, &at);
        rest->line_number += rest->line_number != 0;
    }
    sheet->books.bytes += rest->dropped_bytes;
    rest->dropped_bytes = 0;
}

bool ingest_fill(struct ingest_worker *w, struct ingest_rest *rest, struct slice host,
                 const struct day_window *window, struct ingest_sheet *sheet)
{
    batch_clear(w->batch);
    parser_reset(w->parser);
    while (rest->lines.n) {
        const char *end = memchr(rest->lines.p, '\n', rest->lines.n);
        size_t n = end ? (size_t) (end - rest->lines.p) : rest->lines.n;
        size_t with_feed = n + (end != NULL);
        if (!one_line(w, slice_sub(rest->lines, 0, n), rest->line_number, host, window, sheet))
            return false;
        sheet->books.lines++;
        sheet->books.bytes += with_feed;
        rest->line_number += rest->line_number != 0;
        rest->lines = slice_sub(rest->lines, with_feed, rest->lines.n);
    }
    account_dropped(w, rest, sheet);
    return true;
}

/* `auto`: the preset that the first lines speak for. */
static int detected(struct slice head, struct format_spec *ret, struct err *e)
{
    const struct preset *preset = NULL;
    unsigned fit, seen;
    int r = parser_detect(head, &preset, &fit, &seen);
    if (r < 0)
        return err_set(e, r, "out of memory");
    if (!preset)
        return err_set(e, -ENOENT,
                       seen
                           ? "no known format fits at least half of the first %u lines (best: %u); "
                             "give the server's format string as nginx:TEXT or apache:TEXT, or one "
                             "of: %s; try: reckond check-format"
                           : "%u lines to tell the format by (%u fit); name it, one of: %s",
                       seen, fit, preset_names());
    *ret = (struct format_spec){FORMAT_PRESET, (char *) (uintptr_t) preset->name};
    return 0;
}

int ingest_formats(const struct format_spec *specs, unsigned n_specs, struct slice head,
                   struct format **ret_formats, struct err *e)
{
    unsigned done = 0;
    int r = 0;
    for (; done < n_specs; done++) {
        struct format_spec spec = specs[done];
        if (spec.kind == FORMAT_AUTO && (r = detected(head, &spec, e)) < 0)
            break;
        if ((r = format_new(&ret_formats[done], &spec, e)) < 0)
            break;
    }
    if (r < 0)
        for (unsigned i = 0; i < done; i++)
            ret_formats[i] = format_free(ret_formats[i]);
    return r;
}
