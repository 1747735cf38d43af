/* Shared by the config_*.c alone: a row of the table of keys, and what reads and prints a map by
 * its rows. */
#ifndef CONFIG_INT_H
#define CONFIG_INT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "config.h"
#include "config_issue.h"
#include "config_yaml.h"

#define SHOWN_BYTES 96

/* One run over one file. */
struct reading {
    struct config *config;
    struct issues *issues;
    bool failed; /* out of memory */
    /* What is known of inputs for the checks that need several keys. */
    struct place format_at[CONFIG_INPUTS_MAX], client_at[CONFIG_INPUTS_MAX];
    bool has_forwarded[CONFIG_INPUTS_MAX]; /* a format of it has X-Forwarded-For */
    struct place general_client_at, listen_at;
};

enum value_type {
    VALUE_TEXT,     /* char *, not empty */
    VALUE_NULLABLE, /* the same, or NULL for null */
    VALUE_NAME,     /* char *: letters, digits, '_', '-', '.' */
    VALUE_TEXTS,    /* char *[CONFIG_LIST_MAX] and, at `count`, how many */
    VALUE_BOOL,     /* bool */
    VALUE_NUMBER,   /* unsigned or uint32_t from low to high */
    VALUE_NUMBER64, /* uint64_t from low to high */
    VALUE_SHARE,    /* double between low and high, both excluded */
    VALUE_DURATION, /* int64_t nanoseconds from low to high */
    VALUE_SIZE,     /* uint64_t bytes from low to high */
    VALUE_DAYS,     /* uint32_t days, 0 for "forever" */
    VALUE_SECTION,  /* a map of its own rows */
    VALUE_OWN       /* by the row's own functions */
};

struct row {
    const char *key;
    enum value_type type;
    size_t offset; /* in the struct that the row's map fills */
    size_t count;
    double low, high;
    bool required;
    const char *fallback;   /* what a missing key means, as YAML; NULL: nothing */
    const struct row *rows; /* of a section, or of a list's items */
    void (*read)(struct reading *r, const struct row *row, const struct node *n, void *into);
    bool (*print)(const struct row *row, const void *from,
                  struct buf *to); /* false: nothing to say */
    const char *help;
};

/* Ends every list of rows. */
#define ROWS_END                                                                                   \
    {                                                                                              \
        .key = NULL                                                                                \
    }

extern const struct row config_rows[];

void metric_done(struct metric *m);

/* Reads a map's keys by its rows into `into`, fallbacks for those that are missing. */
void map_read(struct reading *r, const struct node *map, const struct row *rows, void *into);
/* One value into base + row->offset. */
void value_read(struct reading *r, const struct row *row, const struct node *n, void *base);
/* {key: value, ...} */
void map_print(const struct row *rows, const void *from, struct buf *to);
bool value_print(const struct row *row, const void *from, struct buf *to);

/* A copy of a text, NULL (said) if it is none, or empty. */
char *text_copy(struct reading *r, const struct row *row, const struct node *n);
/* "'value'", "a list", ... into a buffer of SHOWN_BYTES. */
const char *node_shown(const struct node *n, char buffer[SHOWN_BYTES]);
/* A list's items, or the one value that stands for a list of one: the first of them. */
const struct node *node_items(const struct node *n, unsigned *ret_n);
/* In quotes where YAML needs them. */
void print_text(struct buf *to, struct slice text);
/* Index of a word among words separated by blanks; -1: said. */
int word_read(struct reading *r, const struct row *row, const struct node *n, const char *words);
void word_print(struct buf *to, const char *words, unsigned index);

/* Rows' own readers and printers, config_own.c. */
#define OWN(name)                                                                                  \
    void read_##name(struct reading *r, const struct row *row, const struct node *n, void *into);  \
    bool print_##name(const struct row *row, const void *from, struct buf *to)
OWN(timezone);
OWN(inputs);
OWN(files);
OWN(udp);
OWN(stdin);
OWN(formats);
OWN(framing);
OWN(names);
OWN(input_client);
OWN(first_read);
OWN(receive_buffer);
OWN(allow);
OWN(client_from);
OWN(trusted);
OWN(ignore);
OWN(metrics);
OWN(key);
OWN(where);
OWN(by);
OWN(listen);
OWN(cors_origins);
OWN(level);
#undef OWN

#endif
