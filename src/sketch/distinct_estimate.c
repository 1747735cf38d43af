#include "sketch/distinct.h"

#include <math.h>

#include "sketch/distinct_int.h"

/* Maximum likelihood, O. Ertl 2023 (arXiv:2308.16862), section 3. With x = n/m keys a register, as
 * a Poisson process, a rank k of probability r(k) is known to be seen (1 - e^(-x r)) or known not
 * to be (e^(-x r)); the window tells it of the ranks u-2, u-1, u and all above: ln L(x) = -x unseen
 * + sum over k of seen[k] ln(1 - e^(-x r(k))) and the derivative sum seen[k] r(k) / expm1(x r(k)) -
 * unseen falls, convex, to its one root. Without history (a plain HyperLogLog) only u and all above
 * it are known. */
struct likelihood {
    unsigned precision, rank_max, history;
    double unseen;
    uint32_t seen[64 + 1];
    uint32_t certain; /* all seen ranks: so many different keys at least */
};

#define ML_STEPS 64
/* First order bias of the estimate: 1 + 0.4815/m (ibid.), and by the same expansion for ranks
 * alone.
 */
#define ML_BIAS 0.4815
#define ML_BIAS_PLAIN 1.0101
#define EXPONENT_MAX 700 /* beyond, expm1 is near its end and the term is nothing */
#define ESTIMATE_MAX 0x1p63

static void note(struct likelihood *l, unsigned rank, bool seen, uint32_t registers)
{
    if (seen) {
        l->seen[rank] += registers;
        l->certain += registers;
    } else {
        l->unseen += registers * rank_probability(rank, l->rank_max);
    }
}

static struct likelihood likelihood(const struct sk_distinct *d)
{
    struct likelihood l = {
        .precision = d->precision, .rank_max = rank_max(d->precision), .history = history_ranks(d)};
    uint32_t histogram[2][256] = {{0}}; /* two, since equal neighbours wait for each other */
    for (size_t i = 0; i < (size_t) 1 << d->precision; i += 2) {
        histogram[0][d->registers[i]]++;
        histogram[1][d->registers[i + 1]]++;
    }
    for (unsigned state = 0; state < 256; state++) {
        uint32_t registers = histogram[0][state] + histogram[1][state];
        unsigned u = state_rank((uint8_t) state);
        if (!registers)
            continue;
        l.unseen += registers * rank_tail(u, l.rank_max);
        if (u >= 1)
            note(&l, u, true, registers);
        if (u >= 2 && l.history)
            note(&l, u - 1, state & 2, registers);
        if (u >= 3 && l.history)
            note(&l, u - 2, state & 1, registers);
    }
    return l;
}

/* Newton from the left, where a convex falling function never overshoots; halving if rounding does.
 */
static double likelihood_root(const struct likelihood *l)
{
    double seen = 0, weight = 0;
    for (unsigned k = 1; k <= l->rank_max; k++) {
        seen += l->seen[k];
        weight += l->seen[k] * rank_probability(k, l->rank_max);
    }
    /* 1 - t/2 <= t / expm1(t) <= 1 encloses the root. */
    double low = seen / (l->unseen + weight / 2), high = seen / l->unseen, x = low;
    for (int step = 0; step < ML_STEPS && low < high; step++) {
        double f = -l->unseen, slope = 0;
        for (unsigned k = 1; k <= l->rank_max; k++) {
            double r = rank_probability(k, l->rank_max);
            if (!l->seen[k] || x * r > EXPONENT_MAX)
                continue;
            double grown = expm1(x * r);
            f += l->seen[k] * r / grown;
            slope -= l->seen[k] * (r / grown) * (r / grown) * (grown + 1);
        }
        if (f > 0)
            low = x;
        else
            high = x;
        double next = x - f / slope;
        if (!(next > low && next < high))
            next = low + (high - low) / 2;
        if (fabs(next - x) <= x * 1e-15)
            break;
        x = next;
    }
    return x;
}

/* Relative variance for n keys: that of the Poisson model by its Fisher information at x = n/m,
 *     m x^2 sum r(k)^2 e^(-x tail(k+history)) / expm1(x r(k)),
 * less 1/n, since n itself is asked for and not the rate behind it. */
static double likelihood_variance(double n, unsigned precision, unsigned history)
{
    double m = ldexp(1, (int) precision), x = n / m, information = 0;
    unsigned max = rank_max(precision);
    for (unsigned k = 1; k <= max; k++) {
        double t = x * rank_probability(k, max);
        if (t < EXPONENT_MAX)
            information += t * t * exp(-x * rank_tail(k + history, max)) / expm1(t);
    }
    double variance = 1 / (m * information) - 1 / n;
    return variance > 0 ? variance : 0;
}

/* The n for which the value would lie at the end of its own interval, but never below what is
 * certain. */
static void set_interval(struct sk_estimate *e, double variance, double certain)
{
    double error = sqrt(variance);
    double low = fmax(e->value / (1 + SK_Z95 * error), certain);
    double high = SK_Z95 * error < 1 ? e->value / (1 - SK_Z95 * error) : ESTIMATE_MAX;
    e->relative_standard_error = error;
    e->low = fmin(low, e->value); /* a forged form may claim fewer keys than its registers show */
    e->high = fmax(fmin(high, ESTIMATE_MAX), e->value);
}

static void estimate_martingale(const struct sk_distinct *d, double certain,
                                struct sk_estimate *ret)
{
    const struct martingale *m = &d->martingale;
    double variance = ldexp((double) m->variance.hi, 64 - 2 * MARTINGALE_BITS) +
                      ldexp((double) m->variance.lo, -2 * MARTINGALE_BITS);
    if (certain < (double) d->exact_until + 1)
        certain = (double) d->exact_until + 1;
    ret->estimator = SK_MARTINGALE;
    ret->value = ldexp((double) m->estimate, -MARTINGALE_BITS);
    set_interval(ret, variance / (ret->value * ret->value), certain);
}

static void estimate_likelihood(const struct likelihood *l, struct sk_estimate *ret)
{
    double m = ldexp(1, (int) l->precision);
    double bias = 1 + (l->history ? ML_BIAS : ML_BIAS_PLAIN) / m;
    double n = l->unseen > 0 ? m * likelihood_root(l) / bias : ESTIMATE_MAX;
    n = fmin(fmax(n, l->certain), ESTIMATE_MAX);
    ret->estimator = SK_MAXIMUM_LIKELIHOOD;
    ret->value = n;
    set_interval(ret, likelihood_variance(n, l->precision, l->history), l->certain);
}

void sk_distinct_estimate(const struct sk_distinct *d, struct sk_estimate *ret)
{
    *ret = (struct sk_estimate){.estimator = SK_EXACT};
    if (sk_distinct_exact(d)) {
        ret->value = ret->low = ret->high = d->dense ? 0 : d->count;
        return;
    }
    struct likelihood l = likelihood(d);
    if (d->one_piece)
        estimate_martingale(d, l.certain, ret);
    else
        estimate_likelihood(&l, ret);
}
