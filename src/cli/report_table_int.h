/* Shared by report_table.c, report_lists.c and report_text.c alone. */
#ifndef CLI_REPORT_TABLE_INT_H
#define CLI_REPORT_TABLE_INT_H

#include "cli/report_int.h"

#define COLUMNS 80
#define SCREEN_LINES 25
#define DAYS_SHOWN 14 /* more: the last seven days, then weeks */
#define ROWS_MAX (DAYS_SHOWN + 2)
#define CELLS 7
#define CELL_BYTES 80

enum { LABEL, VISITORS, NEW, HITS, DATA, CLASS_4XX, CLASS_5XX };

enum row_kind { ROW_DAY, ROW_WEEK, ROW_BEFORE, ROW_ALL };

struct table_row {
    enum row_kind kind;
    int32_t from, to;
    char cell[CELLS][CELL_BYTES];
    double weight; /* of its bar */
};

struct table {
    struct report *report;
    struct buf out;
    bool in_colour;
    int visitors; /* the first series of uniques; -1: none */
    bool has_new;
    int32_t *days;
    unsigned n_days;
    struct distinct_answer whole;
    struct table_row rows[ROWS_MAX];
    unsigned n_rows;
};

/* The lists of most frequent keys, side by side. 0 or -errno. */
int table_lists(struct table *t);

/* More different keys than lines there cannot be, whatever the registers say. */
void cap_estimate(struct sk_estimate *e, uint64_t lines);
/* Fills up with blanks to so many columns of a terminal. */
void put_cell(struct buf *to, const char *text, size_t columns, bool to_right);
void put_heading(struct table *t, const char *text, size_t columns);
/* The texts below go into CELL_BYTES. "≈ 25,030 ± 290", rounded to two digits of the margin; "7,599
 * exact". */
void estimate_text(char *to, const struct sk_estimate *e);
void new_text(char *to, const struct new_keys *n);
void data_text(char *to, uint64_t bytes); /* "213 MB" */
/* "Sun 22 Nov 2026", month and year as wanted. */
void day_text(char *to, int32_t day, bool with_month, bool with_year);
/* "5 - 11 Nov", "28 Sep - 4 Oct" */
void span_text(char *to, int32_t from, int32_t last);
/* "not_found" -> "NOT FOUND" */
void upper_text(char *to, const char *name);

#endif
