#include "sketch/estimate.h"

const char *sk_estimator_name(enum sk_estimator e)
{
    switch (e) {
    case SK_EXACT:
        return "exact";
    case SK_MARTINGALE:
        return "martingale";
    case SK_MAXIMUM_LIKELIHOOD:
        return "maximum_likelihood";
    }
    return "unknown";
}
