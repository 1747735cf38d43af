#include "parse/parser_int.h"

#include <errno.h>
#include <string.h>

#include "parse/format_int.h"

/* How well a format explains the lines. */
struct score {
    unsigned whole; /* lines that it explains to their end */
    unsigned fit;   /* these and those with more text behind */
    unsigned fields;
};

static bool next_line(struct slice *rest, struct slice *ret)
{
    if (rest->n == 0)
        return false;
    if (!slice_cut(rest, '\n', ret)) {
        *ret = *rest;
        rest->n = 0;
    }
    return true;
}

/* Without a last line that has no end, unless it is the only one. */
static struct slice whole_lines(struct slice head)
{
    const char *end = head.n ? memrchr(head.p, '\n', head.n) : NULL;
    return end ? slice_sub(head, 0, (size_t) (end - head.p) + 1) : head;
}

/* Reads the first lines with one format. */
static int score_of(const struct preset *preset, struct slice head, struct score *ret,
                    unsigned *ret_seen)
{
    struct format *f = NULL;
    struct parser *p = NULL;
    struct score score = {0};
    struct slice line;
    int r = format_new_preset(&f, preset, NULL);
    if (r == 0)
        r = parser_new(&p, &(struct parser_options){(const struct format *const *) &f, 1, true});
    unsigned seen = 0;
    while (r == 0 && seen < DETECT_LINES && next_line(&head, &line)) {
        struct record record;
        enum skip skip;
        enum reject reject;
        struct reject_at at;
        parser_reset(p);
        enum parsed parsed = parser_line(p, line, &record, &skip, &reject, &at);
        seen += parsed != PARSED_SKIPPED;
        score.fit += parsed == PARSED_RECORD;
        score.whole += parsed == PARSED_RECORD && parser_was_whole(p);
    }
    for (unsigned i = 0; r == 0 && i < FIELD_COUNT; i++)
        score.fields += f->has[i];
    parser_free(p);
    format_free(f);
    if (r == 0) {
        *ret = score;
        *ret_seen = seen;
    }
    return r;
}

/* The one that explains more lines to their end, then more lines at all, then with more fields. */
static bool is_better(const struct score *a, const struct score *b)
{
    if (a->whole != b->whole)
        return a->whole > b->whole;
    if (a->fit != b->fit)
        return a->fit > b->fit;
    return a->fields > b->fields;
}

int parser_detect(struct slice head, const struct preset **ret, unsigned *ret_fit,
                  unsigned *ret_seen)
{
    const struct preset *best = NULL;
    struct score best_score = {0};
    unsigned seen = 0;
    head = whole_lines(head);
    for (size_t i = 0; preset_at(i); i++) {
        struct score score;
        if (!preset_at(i)->detectable)
            continue;
        int r = score_of(preset_at(i), head, &score, &seen);
        if (r < 0)
            return r;
        if (score.fit > 0 && score.fit * 2 >= seen && (!best || is_better(&score, &best_score))) {
            best = preset_at(i);
            best_score = score;
        }
    }
    *ret = best;
    *ret_fit = best_score.fit;
    *ret_seen = seen;
    return 0;
}
