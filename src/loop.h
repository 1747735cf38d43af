/* The ingest loop: one thread that takes blocks from all inputs in turn, counts them and hands
 * batch, books and positions to the store in one step; publishes what /status shows; tells the
 * store when the day moves. The thread is started and stopped by daemon.c. */
#ifndef LOOP_H
#define LOOP_H

#include "base/clock.h"
#include "base/err.h"
#include "config.h"
#include "keys/plan.h"
#include "store/store.h"

struct loop;

struct loop_options {
    const struct config *config; /* borrowed for the loop's life, as everything here */
    const struct plan_options
        *plan_options;       /* an input with a client rule of its own has its own plan */
    const struct plan *plan; /* of all other inputs */
    struct store *store;
    const struct clock *clock;
    void (*alive)(void *arg); /* called once a turn (watchdog); may be NULL */
    void *arg;
};

/* Opens the inputs and gives them their committed positions. 0 or -errno with a sentence. */
int loop_new(struct loop **ret, const struct loop_options *options, struct err *e);
int loop_start(struct loop *l); /* 0 or -errno */
/* Stops after the block under way, waits for the thread and frees. NULL is fine; returns NULL. */
struct loop *loop_stop(struct loop *l);

#endif
