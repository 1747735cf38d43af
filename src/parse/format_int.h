/* Inside parse: a compiled format, and the builder that the readers of format strings fill.
 *
 * A format is a head and steps; a step is one variable and the literal text behind it:
 *
 *     %h %l %u %t "%r"      head ""   client " "   ident " "   user " ["   time "] \""   request
 * "\""
 *
 * Immutable once built. */
#ifndef PARSE_FORMAT_INT_H
#define PARSE_FORMAT_INT_H

#include <stdint.h>

#include "parse/format.h"

#define FORMAT_STEPS_MAX 64
#define FORMAT_BYTES_MAX ((size_t) 8192)

/* Where a value goes: a field of the record, or one of these. */
enum slot { SLOT_REQUEST = FIELD_COUNT, SLOT_SKIP, SLOT_COUNT };

/* What a value may look like. */
enum kind {
    KIND_TEXT,     /* anything */
    KIND_QUERY,    /* the same; httpd writes it with its question mark */
    KIND_WORD,     /* no blank, not empty */
    KIND_BARE,     /* no blank, no quote */
    KIND_CLIENT,   /* no blank but after a comma, no quote */
    KIND_USER,     /* at most USER_BYTES_MAX, no raw quote, no date in brackets */
    KIND_TIME,     /* one of the forms of time.h */
    KIND_PIECE,    /* a strftime pattern; beside those of strftime %3 and %6: so many digits */
    KIND_STATUS,   /* '-' or one to three digits */
    KIND_BYTES,    /* '-' or digits up to 2^63-1 */
    KIND_DIGITS,   /* '-' or digits */
    KIND_DURATION, /* seconds with a fraction, or whole units; whatever else is no duration */
};

/* How its end is found. */
enum find {
    FIND_LITERAL, /* the next place of the literal where the value is of its kind */
    FIND_QUOTE,   /* the first quote that no backslash protects: one place only */
    FIND_SHAPE,   /* the value shows its own end */
    FIND_END,     /* the end of the line, or the first blank for kinds that hold none */
};

/* What most values of a step look like. It is tried first, and finds an end only where the general
 * way, by find and kind, finds the same. */
enum usual {
    USUAL_NONE,
    USUAL_DASH,
    USUAL_WORD,   /* up to a literal that begins with a blank or a quote */
    USUAL_QUOTED, /* any text in quotes */
    USUAL_TIME,   /* "24/Nov/2026:12:00:00 +0000" */
    USUAL_STATUS, /* three digits */
    USUAL_BYTES,  /* up to seven digits */
};

struct step {
    uint8_t find;
    uint8_t kind;
    uint8_t slot;
    uint8_t usual;
    bool may_be_cut;                     /* the last quoted value: the line may end inside it */
    uint32_t unit_us;                    /* of a duration */
    uint32_t literal_room;               /* bytes that must be there to compare by the word */
    struct slice literal;                /* text behind the value */
    uint64_t literal_word, literal_mask; /* its first eight bytes, for one compare */
    struct slice pattern;                /* of KIND_PIECE */
};

struct format {
    char *name;
    char *pool; /* names, literals, patterns */
    enum escape escape;
    struct slice head;
    bool has_request;
    bool has_pieces;
    bool has_special; /* a step whose value needs more than undoing the escape: see parser.c */
    bool has[FIELD_COUNT];
    uint8_t filled[FORMAT_STEPS_MAX]; /* steps whose values go into the record */
    unsigned n_filled;
    unsigned n_steps;
    struct step steps[FORMAT_STEPS_MAX];
};

/* What a server's variable means to us. */
struct meaning {
    uint8_t slot;
    uint8_t kind;
    uint8_t rank;        /* of several for one slot the lowest stands, the others are skipped */
    bool part_of_target; /* directly behind a target it belongs to it: $uri$is_args$args */
    uint32_t unit_us;
};

struct variable {
    struct meaning meaning;
    struct slice name; /* as written, for messages */
    struct slice pattern;
    unsigned column;
};

/* A format string being read: its text with the configuration's quoting undone, and of each byte
 * the 1-based column where it stands. */
struct builder {
    char text[FORMAT_BYTES_MAX];
    uint16_t column[FORMAT_BYTES_MAX];
    size_t n_text;
    enum escape escape;
    char literals[FORMAT_BYTES_MAX]; /* one behind another; each step's own by its end */
    size_t n_literals;
    size_t head_end;
    struct variable variables[FORMAT_STEPS_MAX];
    size_t literal_end[FORMAT_STEPS_MAX];
    unsigned n_variables;
    struct err *e;
};

/* Appends a byte of text at a column. -EINVAL: too long. */
int builder_text(struct builder *b, char c, size_t column);
int builder_literal(struct builder *b, char c);
int builder_variable(struct builder *b, const struct variable *v);
/* Checks the whole and makes the format (without its name). 0, -EINVAL, -ENOMEM. */
int builder_format(struct builder *b, struct format **ret);

/* Read a server's format string into the builder. 0 or -EINVAL with a sentence. */
int compile_nginx(struct builder *b, struct slice text);
int compile_apache(struct builder *b, struct slice text);

/* Compiles a preset's row. */
int format_new_preset(struct format **ret, const struct preset *preset, struct err *e);

#endif
