/* From files to the store. The main thread reads blocks and applies batches, in the order of the
 * input; parse workers fill the batches in between. Slots go round: block n is in slot n % slots
 * and belongs to worker n % workers, so that each semaphore has one poster and one waiter, and the
 * order of the batches does not depend on who is faster. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/report_int.h"

#define STORE_WAIT_MS 20
#define STORE_WAITS_MAX 1500 /* half a minute */

struct slot {
    struct block block;
    const char *path; /* of the file that the block is of */
    struct ingest_worker *worker;
    unsigned rule; /* of the worker */
    struct ingest_rest rest;
    struct ingest_sheet sheet;
    bool is_last; /* the batch holds the rest of the block */
    bool stop;
    sem_t go, ready;
};

struct parser_thread {
    struct pipeline *pipeline;
    unsigned first; /* of its slots; the others follow in steps of n_threads */
    pthread_t thread;
};

struct pipeline {
    struct report *report;
    struct slot *slots;
    unsigned n_slots;
    struct parser_thread *threads;
    unsigned n_threads; /* 0: the main thread parses too */
    unsigned n_started;
    uint64_t filled, applied; /* blocks handed out, blocks in the store */
    uint64_t done_bytes;      /* of the files before the current one */
};

/* ---- parse workers ---- */

static void fill(struct pipeline *p, struct slot *s)
{
    memset(&s->sheet, 0, sizeof(s->sheet));
    s->is_last = ingest_fill(s->worker, &s->rest, s->block.host, &p->report->window, &s->sheet);
}

static void *parse_blocks(void *arg)
{
    struct parser_thread *t = arg;
    struct pipeline *p = t->pipeline;
    for (unsigned i = t->first;; i = (i + p->n_threads) % p->n_slots) {
        struct slot *s = &p->slots[i];
        do {
            while (sem_wait(&s->go) < 0)
                ; /* EINTR */
            if (s->stop)
                return NULL;
            fill(p, s);
            sem_post(&s->ready);
        } while (!s->is_last);
    }
}

static void hand_out(struct pipeline *p, struct slot *s)
{
    if (p->n_threads > 0)
        sem_post(&s->go);
    else
        fill(p, s);
}

static void await(struct pipeline *p, struct slot *s)
{
    while (p->n_threads > 0 && sem_wait(&s->ready) < 0)
        ; /* EINTR */
}

/* ---- the store ---- */

static int apply(struct report *r, const struct slot *s)
{
    struct store_delta delta = {.batch = ingest_batch(s->worker),
                                .books = &s->sheet.books,
                                .last_line_s = s->sheet.last_line_s};
    int n = store_apply(r->store, &delta);
    for (unsigned i = 0; n == -EAGAIN && i < STORE_WAITS_MAX; i++) {
        nanosleep(&(struct timespec){.tv_nsec = STORE_WAIT_MS * 1000000L}, NULL);
        n = store_apply(r->store, &delta);
    }
    if (n < 0)
        return n;
    books_add(&r->books, &s->sheet.books);
    if (r->first_reject == REJECT_NONE && s->sheet.first_reject != REJECT_NONE) {
        r->first_reject = s->sheet.first_reject;
        r->first_reject_line = s->sheet.first_reject_line;
        r->first_reject_file = s->path;
    }
    return 0;
}

/* Puts the oldest block that was handed out into the store, batch by batch. After an error the rest
 * of the block is still parsed, and dropped: its worker is then free for the next one, and no slot
 * is left half awaited. */
static int finish_oldest(struct pipeline *p, int n)
{
    struct slot *s = &p->slots[p->applied % p->n_slots];
    for (;;) {
        await(p, s);
        if (n == 0)
            n = apply(p->report, s);
        if (s->is_last)
            break;
        hand_out(p, s);
    }
    p->applied++;
    return n;
}

static int apply_oldest(struct pipeline *p)
{
    return finish_oldest(p, 0);
}

/* ---- files ---- */

static void show_progress(struct pipeline *p, const struct reader *reader)
{
    uint64_t done = 0, all = 0;
    reader_progress(reader, &done, &all);
    progress_update(&p->report->progress, p->done_bytes + done, p->report->all_bytes,
                    p->report->books.lines);
}

/* A worker's parser is for one rule: at a file of another format the slot gets another worker. */
static int choose_worker(struct report *r, struct slot *s, unsigned rule)
{
    if (s->worker && s->rule == rule)
        return 0;
    s->worker = ingest_worker_free(s->worker);
    s->rule = rule;
    return ingest_worker_new(&s->worker, &r->rules[rule]);
}

static int read_file(struct pipeline *p, const struct report_file *f, struct reader *reader)
{
    struct err e = {""};
    for (;;) {
        struct slot *s = &p->slots[p->filled % p->n_slots];
        int n;
        if (p->filled - p->applied == p->n_slots && (n = apply_oldest(p)) < 0)
            return n;
        n = reader_next(reader, &s->block, &e);
        if (n < 0) {
            report_warn(p->report, "%s", e.text);
            p->report->a_file_failed = true;
        }
        if (n <= 0)
            return 0;
        if ((n = choose_worker(p->report, s, f->rule)) < 0)
            return n;
        s->path = f->path;
        ingest_begin(&s->rest, &s->block);
        p->filled++;
        hand_out(p, s);
        if (p->n_threads == 0 && (n = apply_oldest(p)) < 0)
            return n;
        show_progress(p, reader);
    }
}

static int read_files(struct pipeline *p)
{
    struct report *r = p->report;
    int n = 0;
    for (unsigned i = 0; n == 0 && i < r->n_files; i++) {
        struct report_file *f = &r->files[i];
        struct reader *reader = f->reader;
        struct err e = {""};
        f->reader = NULL;
        if (!reader && reader_open(&reader, f->path, &e) < 0) {
            report_warn(r, "%s", e.text);
            r->a_file_failed = true;
            continue;
        }
        n = read_file(p, f, reader);
        reader_free(reader);
        p->done_bytes += f->size_bytes;
    }
    while (n == 0 && p->applied < p->filled)
        n = apply_oldest(p);
    return n;
}

/* ---- setting up ---- */

static int slot_init(struct slot *s)
{
    sem_init(&s->go, 0, 0);
    sem_init(&s->ready, 0, 0);
    return block_init(&s->block);
}

static void slot_done(struct slot *s)
{
    ingest_worker_free(s->worker);
    block_done(&s->block);
    sem_destroy(&s->go);
    sem_destroy(&s->ready);
}

static int start_threads(struct pipeline *p)
{
    for (; p->n_started < p->n_threads; p->n_started++) {
        struct parser_thread *t = &p->threads[p->n_started];
        *t = (struct parser_thread){.pipeline = p, .first = p->n_started};
        int n = pthread_create(&t->thread, NULL, parse_blocks, t);
        if (n != 0)
            return -n;
    }
    return 0;
}

/* A worker may wait at any of its slots, or be busy with one; a post to each is seen at the next.
 */
static void stop_threads(struct pipeline *p)
{
    /* After an error blocks may be under way: each is finished, and its batches are dropped. */
    while (p->applied < p->filled)
        (void) finish_oldest(p, -ECANCELED);
    for (unsigned i = 0; i < p->n_slots; i++) {
        p->slots[i].stop = true;
        sem_post(&p->slots[i].go);
    }
    for (unsigned i = 0; i < p->n_started; i++)
        pthread_join(p->threads[i].thread, NULL);
}

int report_read(struct report *r)
{
    struct pipeline p = {.report = r, .n_threads = (unsigned) r->o->threads - 1};
    unsigned wanted = p.n_threads > 0 ? 2 * p.n_threads : 1;
    int n = 0;
    p.slots = calloc(wanted, sizeof(*p.slots));
    p.threads = calloc(p.n_threads + 1, sizeof(*p.threads));
    if (!p.slots || !p.threads)
        n = -ENOMEM;
    while (n == 0 && p.n_slots < wanted)
        n = slot_init(&p.slots[p.n_slots++]);
    if (n == 0)
        n = start_threads(&p);
    if (n == 0)
        n = read_files(&p);
    if (p.n_threads > 0)
        stop_threads(&p);
    for (unsigned i = 0; i < p.n_slots; i++)
        slot_done(&p.slots[i]);
    free(p.threads);
    free(p.slots);
    return n;
}
