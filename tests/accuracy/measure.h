/* What the accuracy programs share: their options, secrets by seed, errors over many runs, targets,
 * and time against the hash of one key. One thread. */
#ifndef ACCURACY_MEASURE_H
#define ACCURACY_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sketch/hash.h"

struct measure_options {
    unsigned seeds; /* 1 .. seeds */
    bool quick;     /* fewer seeds, and too few to judge a target by */
    const char *plot;
};

/* -s SEEDS, -q, -p FILE; ends the program on anything else. Prints the title, the command and the
 * seeds. */
struct measure_options measure_begin(int argc, char **argv, const char *title);
/* Prints how many targets were missed; the exit status. */
int measure_end(void);

/* 192 bytes of SplitMix64 started at the seed: a new hash function for every seed. */
struct sk_secret measure_secret(uint64_t seed);

/* Relative errors of a number of runs. */
struct measure_errors {
    double sum, square;
    unsigned n;
};
void measure_add(struct measure_errors *e, double estimate, double truth);
double measure_bias(const struct measure_errors *e); /* in % */
double measure_rmse(const struct measure_errors *e); /* in % */

/* For the last column of a table: "met" or "**missed**", or "-" where the seeds are too few for a
 * statistical target. */
const char *measure_target(bool met);
/* The same for what holds in every run. */
const char *measure_always(bool met);

/* One row of a table of speed: the least time of an operation in several rounds, each beside one
 * round of hashing (sk_hash) 32-byte keys; at_most 0 is no target. `run` does `operations` of them
 * and `before`, which may be NULL, is not timed. */
struct measure_work {
    const char *what;
    void (*before)(void *of);
    void (*run)(void *of);
    void *of;
    size_t operations;
    double at_most;
};
void measure_speed_head(void);
double measure_speed(const struct measure_work *work); /* ns of one */

#endif
