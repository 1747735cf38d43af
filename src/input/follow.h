/* Follows the files of one input's globs: finds them by polling, knows a file by its content and
 * inode and never by its name, reads up to the last line feed, follows a renamed file to its end,
 * and continues after a restart exactly where the store's committed position says. Specification:
 * doc/exactly-once.md.
 *
 * One thread per object (the ingest loop). Never waits: follow_next returns at once.
 * The caller polls every FOLLOW_POLL_MS while there is work and up to FOLLOW_IDLE_MS when idle. */
#ifndef INPUT_FOLLOW_H
#define INPUT_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "input/block.h"

#define FOLLOW_POLL_MS 250
#define FOLLOW_IDLE_MS 1000
#define FOLLOW_FILES_MAX 4096

struct follow;

struct follow_options {
    const char *input;        /* the input's name */
    const char *const *globs; /* with at most one {host} each */
    unsigned n_globs;
    bool first_start; /* no state yet: files that are there now are subject to from_end */
    bool from_end;    /* first_read: end */
    /* Inputs that stand before this one: a name that their globs match is theirs. Borrowed until
     * follow_free; NULL: none. */
    const struct follow *const *earlier;
    unsigned n_earlier;
    /* Called on the ingest thread: something a person may want to know (level as in base/log.h). */
    void (*say)(void *arg, int level, const char *text);
    void *arg;
};

int follow_new(struct follow **ret, const struct follow_options *options, struct err *e);
struct follow *follow_free(struct follow *f);

/* Gives back a committed position, before the first follow_next. 0; -EBADMSG: not ours. */
int follow_restore(struct follow *f, uint64_t id, const uint8_t *bytes, uint32_t n);
/* *next_id is raised above all ids that f knows; f takes its new ones from there, and *next_id goes
 * on 2^32 further. Called twice around for all inputs of one store (the first round finds the
 * largest), their ids never meet. */
void follow_ids(struct follow *f, uint64_t *next_id);

/* 1: a block (it may have positions and no lines, or neither: more work waits); 0: nothing now.
 * Errors of single files are said and retried for ever. */
int follow_next(struct follow *f, struct block *ret);

/* What is shown in /status. */
struct follow_file {
    char path[512]; /* cut if longer */
    uint64_t offset, size, lag_bytes;
};
struct follow_status {
    uint64_t lag_bytes;
    uint64_t resets, copies, retired, lost_files;
    unsigned n_files;     /* followed now */
    unsigned globs_empty; /* globs that match nothing */
    unsigned unreadable;  /* files that cannot be opened at the moment */
    bool catching_up;     /* more than one block behind */
};
void follow_status(const struct follow *f, struct follow_status *ret);
/* Up to room rows; returns how many there are. */
unsigned follow_files(const struct follow *f, struct follow_file *rows, unsigned room);

#endif
