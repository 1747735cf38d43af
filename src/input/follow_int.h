/* The follower's inside. One concern a file:
 *     rows.c      the table of files, and the queue of positions to hand out
 *     scan.c      globs and {host} to names, which links to trust
 *     family.c    rotation families by name
 *     found.c     a name that was found: a file that is known, of the last run, or new
 *     identity.c  who is this file, and does it still hold what was counted of it
 *     classify.c  a new file: its own, a copy of one that is counted, or the continuation of one
 * that is gone tail.c      lines of a plain file, from the position on archive.c   packed files:
 * whole or not at all, behind what was counted of them when they were plain position.c  the form in
 * which a position is kept follow.c    turns, and the public functions "Epoch" below: one content
 * of a log file, from its first byte on. Truncation ends it. */
#ifndef INPUT_FOLLOW_INT_H
#define INPUT_FOLLOW_INT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "input/block.h"
#include "input/cutter.h"
#include "input/follow.h"
#include "input/unpack.h"

#define HEAD_MAX 1024
#define TAIL_MAX 256
#define FIRST_MAX 64 /* tells short files apart while only hashes are known */
#define HOST_MAX 255
#define FILES_MAX (4 * FOLLOW_FILES_MAX) /* with copies, archives and what is gone */
#define GONE_OF_A_FAMILY_MAX 16
#define GONE_MAX FOLLOW_FILES_MAX

#define TURN_NS (NS_PER_S / 4)
#define SCAN_EVERY_NS (5 * NS_PER_S)
#define SCAN_SOON_NS NS_PER_S
#define CHECK_EVERY_NS NS_PER_S
#define COPY_IDLE_NS (10 * NS_PER_S)    /* an equal beginning that does not grow is no copy */
#define RETIRE_IDLE_NS (5 * NS_PER_S)   /* a writer that was not told yet may still write */
#define MISSING_NS (10 * NS_PER_S)      /* until a file of the last run that is not found is lost */
#define ARCHIVE_STILL_NS (2 * NS_PER_S) /* an archive that does not change any more */
#define UNSEEN_NS (3600 * NS_PER_S)     /* an archive's name that is not there */
#define OUTSIDE_NS                                                                                 \
    (24 * 3600 * NS_PER_S) /* a followed file whose name matches no more, and is idle */

/* ---- identity.c ---- */

struct identity {
    uint64_t ino;
    int64_t btime_ns;    /* 0: the file system does not tell */
    uint32_t generation; /* 0: the file system does not tell */
};

int identity_of(int fd, struct identity *ret);
/* What a file system does not tell on one side is not held against it. */
bool identity_same(const struct identity *a, const struct identity *b);

/* The first and the last bytes of those that were counted. Only hashes are kept on disk, so the
 * bytes of a restored print are unknown until a file was found that has them. */
struct print {
    uint8_t head[HEAD_MAX], tail[TAIL_MAX];
    uint32_t head_n, tail_n;
    uint64_t first_hash, head_hash,
        tail_hash; /* valid after print_hash, and while the bytes are unknown */
    bool unknown;
};

void print_clear(struct print *p);
void print_add(struct print *p, const void *bytes, uint64_t n);
void print_add_zeros(struct print *p, uint64_t n);
void print_hash(struct print *p);

/* ---- the followed file ---- */

enum file_state {
    FILE_NEW,     /* not classified: nothing was read of it */
    FILE_OWN,     /* counted, from offset on */
    FILE_SHADOW,  /* as far as can be seen it holds bytes that were counted as those of `of` */
    FILE_GONE,    /* an epoch without a file: what comes later may turn out to continue it */
    FILE_IGNORED, /* cannot be read as a log; looked at again when it changes */
};

struct file {
    uint64_t id; /* 0: not in the store's positions yet */
    enum file_state state;
    bool archive;       /* packed; offset, lines and print are of the unpacked bytes */
    bool done;          /* archive: read out */
    bool skipping;      /* inside a line that is too long */
    bool lines_unknown; /* it was not read from its start */
    bool truncated;     /* gone by truncation: a copy is likely */
    bool restored;      /* of the last run and not found yet */
    bool outside;       /* its name matches no glob: it may only continue what is gone */
    bool first;         /* was there at the very first start */
    bool backlog;       /* not read to its end yet; such files go by date */
    bool remote;        /* a network's file system, whose sizes may be stale */
    bool queued;        /* its position waits to be handed out */
    struct identity who;
    struct print print;
    uint64_t offset, lines;
    char *path, *host; /* host may be NULL */
    uint64_t family;   /* hash of the folder and the name without what rotation adds */

    int fd;    /* -1: none */
    dev_t dev; /* with who.ino: the same file for as long as fd is open; 0: not seen in this run */
    uint64_t size_bytes;
    uint64_t nlink;
    int64_t mtime_ns, ctime_ns;
    int64_t order_ns; /* mtime when it was found: what is behind is read in this order */
    int read_error;   /* the last one that was said */

    int64_t changed_ns;  /* monotonic: size or times were seen to change */
    int64_t checked_ns;  /* its content was compared */
    int64_t suspect_ns;  /* remote: the first of two failed checks; 0: none */
    int64_t unlinked_ns; /* link count 0 was seen; 0: not */
    int64_t seen_ns;     /* its name was seen */
    uint64_t seen_scan, unlinked_scan;
    uint64_t turn; /* the turn in which it was looked at to its end */
    struct file *of;
    uint64_t compared_bytes; /* shadow: its size at the last comparison */
};

/* ---- scan.c ---- */

#define GLOB_PARTS_MAX 64

struct glob_part {
    char *before; /* a shell pattern: the whole part, or what stands before {host} */
    char *after;  /* behind {host}; NULL: there is none in this part */
    bool wild;
};

struct glob_pattern {
    char *text;
    bool absolute;
    struct glob_part parts[GLOB_PARTS_MAX];
    unsigned n_parts;
    unsigned n_found; /* in the last scan */
    bool said_empty;
    int64_t empty_ns; /* since when; 0: it is not */
};

struct folder {
    char *path;
    dev_t dev;
    ino_t ino;
    int64_t mtime_ns;
};

/* What was said of a name, so that it is said once per change. */
struct trouble {
    char *path;
    int code;
    uint64_t scan;
};
#define TROUBLES_MAX 256

int glob_parse(const char *text, struct glob_pattern *ret, struct err *e);
void glob_done(struct glob_pattern *g);
/* Does name match part; then *ret_host is what {host} stands for (empty without it). */
bool glob_match(const struct glob_part *part, const char *name, struct slice *ret_host);

uint64_t family_of(const char *path);
/* The name behind the last slash, and its name before rotation and packing. */
const char *family_base(const char *path);
size_t family_name(const char *base, char to[NAME_MAX + 1]);
/* The path, or what it was called before rotation, is one that a glob of f finds. */
bool scan_matches(const struct follow *f, const char *path);
bool scan_covers(const struct follow *f, const char *path);
/* Of two names of one family: a was rotated earlier by its number (access.log.3 before
 * access.log.2.gz before access.log); false where the names have no such numbers. For files whose
 * times are equal or were lost by copying. */
bool family_earlier(const char *a, const char *b);
/* The name is one that rotation gave. */
bool family_rotated(const char *path);

/* Opens path without trusting links that others could have planted: every link on the way must
 * belong to root, to us or to the owner of what it leads to. fd, or -EPERM for such a link, or
 * -errno. */
int scan_open(const char *path, int flags);
/* Names to files. Calls follow_found for each name. */
void scan_globs(struct follow *f);
/* The folders of what is gone, for files whose names match no glob. */
void scan_families(struct follow *f);
bool scan_changed(const struct follow *f);
void scan_done(struct follow *f);
/* Says it if it is new for this path. code 0: it is well again. */
void scan_trouble(struct follow *f, const char *path, int code);

/* ---- the object ---- */

struct archive_job;

struct index_row {
    dev_t dev;
    uint64_t ino;
    struct file *file; /* NULL: removed since */
};

struct follow {
    char *input;
    struct glob_pattern *globs;
    unsigned n_globs;
    bool first_start, from_end;
    const struct follow *const *earlier;
    unsigned n_earlier;
    void (*say)(void *arg, int level, const char *text);
    void *say_arg;
    int64_t (*now_ns)(void *arg); /* monotonic; tests put their own here */
    void *now_arg;
    uint64_t next_id;

    struct file **files; /* n_files of them, all states */
    unsigned n_files, room_files;
    struct index_row *index; /* by (dev, ino): sorted at the start of a scan, then added to */
    unsigned n_index, n_sorted, room_index;

    struct folder *folders;
    unsigned n_folders, room_folders;
    struct trouble troubles[TROUBLES_MAX];
    unsigned n_troubles;
    unsigned unreadable, unreadable_now;
    bool said_limit, said_shared;

    int64_t now, turn_ns, scanned_ns, changed_ns;
    uint64_t turn, scan;
    bool turn_ended, began;
    unsigned cursor, blocks_of_one;
    bool live_turn; /* backlog and live files take turns */

    struct file **queue;
    unsigned n_queue, room_queue;
    uint64_t *forgets;
    unsigned n_forgets, room_forgets;
    struct cutter cutter;
    struct archive_job *job;
    char path_text[PATH_MAX], host_text[HOST_MAX + 1];
    uint8_t positions[BLOCK_POSITIONS_MAX][POSITION_BYTES_MAX];

    uint64_t resets, copies, retired, lost_files;
};

void follow_say(struct follow *f, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- found.c ---- */

void found_index(struct follow *f); /* at the start of a scan */
/* A name that a glob (or a family: outside) matches. false: it is nothing to follow (a folder, a
 * FIFO, gone again); true also for a file that cannot be read at the moment. */
bool follow_found(struct follow *f, int folder_fd, const char *name, const char *path,
                  struct slice host, bool outside);

/* ---- rows.c ---- */

/* Room for one more element of `each` bytes in *p. */
bool follow_grow(void **p, unsigned *room, unsigned n, size_t each);
/* A new row; NULL: out of memory or over the limit. */
struct file *follow_add(struct follow *f, const char *path, struct slice host);
void follow_remove(struct follow *f, struct file *x); /* forgets its position */
void follow_queue(struct follow *f, struct file *x);  /* its position is to be handed out */
bool follow_set_path(struct file *x, const char *path);
void follow_look(struct file *x, const struct stat *st, int64_t now); /* size, times, links */
void follow_set_position(struct follow *f, struct block *b, struct file *x);
void follow_name(struct follow *f, struct block *b, const struct file *x);
void follow_free_file(struct file *x);

/* ---- tail.c ---- */

int tail_step(struct follow *f, struct file *x, struct block *b); /* 1: a block; 0: nothing now */

/* ---- content ---- */

enum check { CHECK_BAD = 0, CHECK_GOOD = 1 };
/* fd still holds what was counted of x. 1, 0 or -errno. Fills in unknown bytes of the print. */
int content_check(struct file *x, int fd);
/* The print of the first n bytes of fd, which are known to have been counted. 0 or -errno. */
int content_print(struct print *p, int fd, uint64_t n);

/* A file's content as far as it is needed for comparing: of an archive only the pieces that were
 * kept while it was unpacked. */
struct piece {
    uint64_t at;
    uint32_t n, got; /* complete when equal */
    uint8_t bytes[TAIL_MAX];
};
struct content {
    int fd; /* -1: an archive */
    uint64_t size_bytes;
    uint8_t head[HEAD_MAX];
    uint32_t head_n;
    const struct piece *pieces;
    unsigned n_pieces;
};

enum relation {
    DIFFERENT,
    PREFIX, /* equal, but shorter than what was counted */
    HOLDS,  /* all that was counted, and not more than the other file has */
    LONGER, /* all that was counted, and more than the other file has */
};
int content_read(const struct content *c, uint64_t at, void *to,
                 size_t n); /* 1, 0: no such bytes */
/* c holds what was counted of x: the unknown bytes of its print are those of c. false: c has them
 * not. */
bool content_fill(const struct content *c, struct file *x);
enum relation content_relation(const struct content *c, const struct file *e);

/* ---- classify.c ---- */

/* x has bytes: what is it? Leaves its state NEW if that cannot be told yet; x may be merged into
 * another row: returns the row that holds the file now, NULL if there is none any more. */
struct file *classify(struct follow *f, struct file *x, const struct content *c);
/* A copy that may turn out to be none. Returns the row as above. */
struct file *classify_shadow(struct follow *f, struct file *x);
/* Compares x (open, own) with what was counted of it. 1: it is that; 0: it was not, and is now
 * counted from its start; -EAGAIN: cannot be told at the moment. */
int classify_validate(struct follow *f, struct file *x);
/* All of x is taken as counted. */
void classify_counted(struct follow *f, struct file *x);
/* x is read out and unlinked: it is now gone. */
void classify_retire(struct follow *f, struct file *x);
/* Keeps the number of gone epochs bounded, those of a family's too. */
void classify_trim_gone(struct follow *f, uint64_t family);

/* ---- archive.c ---- */

enum packing { PACKING_UNKNOWN, PACKING_NONE, PACKING_READABLE, PACKING_FOREIGN };
enum packing archive_packing(int fd, uint64_t size_bytes);
/* Works on x a little. 1: a block (it may be empty: there is more to do); 0: nothing to do now. */
int archive_step(struct follow *f, struct file *x, struct block *b);
/* What it was packed from is still there, and is what counts. */
bool archive_has_original(const struct follow *f, const struct file *x);
void archive_drop(struct follow *f, const struct file *x); /* ends a job for x; NULL: any */
/* The row that is worked on, NULL: none; and how much of its file was read. */
struct file *archive_current(const struct follow *f, uint64_t *ret_raw_bytes);

/* ---- position.c ---- */

uint32_t position_encode(struct file *x, uint8_t to[POSITION_BYTES_MAX]);
int position_decode(const uint8_t *bytes, uint32_t n, struct file *ret); /* path, host: allocated */

#endif
