/* The error against the number of registers as a drawing (SVG 1.1), written by hand. */
#ifndef ACCURACY_PRECISION_PLOT_H
#define ACCURACY_PRECISION_PLOT_H

struct precision_point {
    unsigned precision;
    double few, many, unions; /* RMSE in % */
};

/* Points by rising precision. 0 or negative errno. */
int precision_plot(const char *path, const struct precision_point *points, unsigned n,
                   unsigned few_seeds, unsigned many_seeds);

#endif
