/* An estimate and its margin; there is never one without the other. */
#ifndef SKETCH_ESTIMATE_H
#define SKETCH_ESTIMATE_H

#include <stdbool.h>

enum sk_estimator { SK_EXACT, SK_MARTINGALE, SK_MAXIMUM_LIKELIHOOD };

struct sk_estimate {
    double value;
    double low, high;               /* two-sided interval at 95 %; low = high = value when exact */
    double relative_standard_error; /* 0 when exact */
    enum sk_estimator estimator;
};

#define SK_CONFIDENCE 0.95
#define SK_Z95 1.959963984540054 /* quantile of the normal distribution for 95 %, two-sided */

/* "exact", "martingale", "maximum_likelihood" */
const char *sk_estimator_name(enum sk_estimator e);

#endif
