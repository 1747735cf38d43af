#include "sketch/overlap.h"

#include <errno.h>
#include <math.h>

#include "sketch/distinct_int.h"

/* As in distinct_estimate.c a rank k of probability r comes as a Poisson process, here as three:
 * keys of A alone, of B alone and of both, of rates a, b and x keys a register. Each register tells
 * of a rank that it was seen, was not, or nothing. With the sizes A = a + x and B = b + x held, and
 * g = e^(-(a+b+x) r), what is told of both has the probabilities
 *
 *     neither             g
 *     in A and not in B   e^(-B r) - g
 *     in B and not in A   e^(-A r) - g
 *     in both             1 - e^(-A r) - e^(-B r) + g
 *
 * and what only one register knows says nothing of x. */
struct pairs {
    unsigned precision, rank_max;
    double neither; /* sum of r over the ranks that neither has seen */
    uint32_t only_a[64 + 1], only_b[64 + 1], both[64 + 1];
};

struct side {
    const struct sk_distinct *set; /* registers, of the common precision */
    struct sk_distinct *made;      /* the same, if it had to be made */
    struct sk_estimate size;
    double variance; /* of the size, in keys squared */
};

#define BISECTIONS 100
#define LEAST_RATE 1e-12 /* keys a register: stands for 0, where logarithms would have none */

enum told { NOT_SEEN, SEEN, NOTHING };

static enum told told(uint8_t state, unsigned rank, unsigned history)
{
    unsigned u = state_rank(state);
    if (rank >= u)
        return rank == u && u ? SEEN : NOT_SEEN;
    unsigned below = u - rank;
    if (below > history)
        return NOTHING;
    return state >> (2 - below) & 1 ? SEEN : NOT_SEEN;
}

static void note_pair(struct pairs *p, unsigned rank, enum told a, enum told b)
{
    if (a == NOTHING || b == NOTHING)
        return;
    if (a == SEEN && b == SEEN)
        p->both[rank]++;
    else if (a == SEEN)
        p->only_a[rank]++;
    else if (b == SEEN)
        p->only_b[rank]++;
    else
        p->neither += rank_probability(rank, p->rank_max);
}

static struct pairs pairs(const struct sk_distinct *a, const struct sk_distinct *b)
{
    struct pairs p = {.precision = a->precision, .rank_max = rank_max(a->precision)};
    for (size_t i = 0; i < (size_t) 1 << p.precision; i++) {
        uint8_t x = a->registers[i], y = b->registers[i];
        unsigned high = state_rank(x > y ? x : y), low = high > 2 ? high - 2 : 1;
        p.neither += rank_tail(high, p.rank_max);
        for (unsigned rank = low; rank <= high; rank++)
            note_pair(&p, rank, told(x, rank, history_ranks(a)), told(y, rank, history_ranks(b)));
    }
    return p;
}

/* What the four outcomes of a rank cost at given rates. */
struct outcome {
    double neither;        /* g */
    double both;           /* probability of */
    double odds_a, odds_b; /* e^(a r) - 1, e^(b r) - 1 */
};

static struct outcome outcome(double a, double b, double x, double r)
{
    struct outcome o = {.odds_a = expm1(a * r), .odds_b = expm1(b * r)};
    o.neither = exp(-(a + b + x) * r);
    /* = (1 - e^(-A r)) (1 - e^(-B r)) + e^(-(A+B) r) (e^(x r) - 1), without loss for small r */
    o.both = expm1(-(a + x) * r) * expm1(-(b + x) * r) - o.neither * expm1(-x * r);
    return o;
}

static double rate(double keys, double m)
{
    return fmax(keys / m, LEAST_RATE);
}

/* The derivative of the log-likelihood by x. */
static double slope(const struct pairs *p, double size_a, double size_b, double both)
{
    double m = ldexp(1, (int) p->precision), x = rate(both, m);
    double a = rate(size_a - both, m), b = rate(size_b - both, m), sum = p->neither;
    for (unsigned rank = 1; rank <= p->rank_max; rank++) {
        if (!p->both[rank] && !p->only_a[rank] && !p->only_b[rank])
            continue;
        double r = rank_probability(rank, p->rank_max);
        struct outcome o = outcome(a, b, x, r);
        sum += r * (p->both[rank] * o.neither / o.both - p->only_a[rank] / o.odds_a -
                    p->only_b[rank] / o.odds_b);
    }
    return sum;
}

/* The likelihood rises up to one x and falls from there. */
static double likeliest(const struct pairs *p, double size_a, double size_b)
{
    double low = 0, high = fmin(size_a, size_b);
    if (slope(p, size_a, size_b, low) <= 0)
        return low;
    if (slope(p, size_a, size_b, high) >= 0)
        return high;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (slope(p, size_a, size_b, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Fisher information, expected for sizes and overlap: of x, of x with each size, of the sizes
 * alone. A rank is known to a register if no key of rank above rank + history came. */
struct information {
    double x, xa, xb, a, b, ab;
};

static struct information information(const struct side *sides, double a, double b, double x)
{
    struct information sum = {.x = 0};
    unsigned max = rank_max(sides[0].set->precision);
    for (unsigned rank = 1; rank <= max; rank++) {
        double r = rank_probability(rank, max);
        double tail_a = rank_tail(rank + history_ranks(sides[0].set), max);
        double tail_b = rank_tail(rank + history_ranks(sides[1].set), max);
        double known_a = exp(-(a + x) * tail_a), known_b = exp(-(b + x) * tail_b);
        double known = exp(-a * tail_a - b * tail_b - x * fmax(tail_a, tail_b));
        double odds_sum_a = expm1((a + x) * r), odds_sum_b = expm1((b + x) * r);
        struct outcome o = outcome(a, b, x, r);
        double weight = known * r * r * o.neither;
        if (weight > 0 && o.both > 0) {
            sum.x += weight * (1 + 1 / o.odds_a + 1 / o.odds_b + o.neither / o.both);
            sum.xa += weight * ((exp(-(a + x) * r) - o.neither) / o.both - 1 / o.odds_a);
            sum.xb += weight * ((exp(-(b + x) * r) - o.neither) / o.both - 1 / o.odds_b);
        }
        sum.a += known_a * r * r / odds_sum_a;
        sum.b += known_b * r * r / odds_sum_b;
        sum.ab += known * r * r * expm1(x * r) / (odds_sum_a * odds_sum_b);
    }
    return sum;
}

/* Variance of the estimate less the true number, in keys squared, if that is `both`. An error of a
 * size moves the estimate by its share -(information of x and size)/(information of x); what is
 * asked for is the number of keys and not the rate behind them, whose chance is taken off. */
static double variance_at(const struct side *sides, double both)
{
    double m = ldexp(1, (int) sides[0].set->precision), x = rate(both, m);
    double a = rate(sides[0].size.value - both, m), b = rate(sides[1].size.value - both, m);
    struct information of = information(sides, a, b, x);
    if (!(of.x > 0)) /* sizes that no registers can have counted */
        return pow(fmin(sides[0].size.value, sides[1].size.value), 2);
    double share_a = -of.xa / of.x, share_b = -of.xb / of.x;
    double chance = share_a * share_a * (a + x) + share_b * share_b * (b + x) +
                    2 * share_a * share_b * x - 2 * (share_a + share_b) * x + x;
    /* How the sizes' errors go together: as those of the two likelihoods. */
    double alone_a = 1 / of.a - (a + x), alone_b = 1 / of.b - (b + x);
    double together = of.ab / (of.a * of.b) - x;
    double correlation =
        alone_a > 0 && alone_b > 0 ? fmin(fmax(together / sqrt(alone_a * alone_b), 0), 1) : 0;
    double variance_a = share_a * share_a * sides[0].variance;
    double variance_b = share_b * share_b * sides[1].variance;
    double variance = m * fmax(1 / of.x - chance, 0) + variance_a + variance_b;
    double mixed = share_a * share_b * sqrt(sides[0].variance * sides[1].variance) * correlation;
    return fmax(variance + 2 * mixed, 0);
}

/* Where nothing is shared, information is promised by ranks so rare that none of them comes: a
 * shared one would be unmistakable. No variance is told for fewer keys than `least`, the overlap
 * that can be told from none. */
static double error_at(const struct side *sides, double both, double least)
{
    return sqrt(variance_at(sides, fmax(both, least)));
}

/* The end of the interval between the estimate and `end`: the number for which the estimate would
 * lie at the 2.5 % end of what is expected. */
static double interval_end(const struct side *sides, double value, double end, double least)
{
    double inside = value, outside = end;
    if (fabs(value - end) <= SK_Z95 * error_at(sides, end, least))
        return end;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = inside + (outside - inside) / 2;
        if (fabs(middle - inside) < 0.01)
            break;
        if (fabs(value - middle) <= SK_Z95 * error_at(sides, middle, least))
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

/* Registers at this precision: the set's own, or made for the time of the question. */
static int side_init(struct side *s, const struct sk_distinct *set, unsigned precision)
{
    sk_distinct_estimate(set, &s->size);
    s->variance = pow(s->size.value * s->size.relative_standard_error, 2);
    s->set = set;
    if (set->dense && set->precision == precision)
        return 0;
    int r = distinct_new(&s->made, precision, 0, true);
    if (r < 0)
        return r;
    r = sk_distinct_merge(s->made, set); /* not empty as it is no set of one piece: no allocation */
    s->set = s->made;
    return r;
}

static void estimate_overlap(const struct side *sides, struct sk_overlap *ret)
{
    struct pairs p = pairs(sides[0].set, sides[1].set);
    double most = fmin(sides[0].size.high, sides[1].size.high);
    double least = sqrt(variance_at(sides, 0));
    struct sk_estimate *e = &ret->both;
    e->estimator = SK_MAXIMUM_LIKELIHOOD;
    e->value = likeliest(&p, sides[0].size.value, sides[1].size.value);
    e->low = interval_end(sides, e->value, 0, least);
    e->high = interval_end(sides, e->value, most, least);
    /* At the ends of what is possible the variance alone says too little. */
    double error = fmax(error_at(sides, e->value, least), (e->high - e->low) / (2 * SK_Z95));
    e->relative_standard_error = error / fmax(e->value, 1);
    ret->reliable = e->relative_standard_error <= SK_OVERLAP_RELIABLE;
}

static double shared_exactly(const struct sk_distinct *a, const struct sk_distinct *b)
{
    double shared = a->zero && b->zero;
    for (size_t i = 0; i < a->slots; i++)
        shared += a->table[i] && distinct_has(b, a->table[i]);
    return shared;
}

/* An exact set can be had in any precision. */
static unsigned common_precision(const struct sk_distinct *a, const struct sk_distinct *b)
{
    if (a->dense && b->dense)
        return a->precision < b->precision ? a->precision : b->precision;
    return a->dense ? a->precision : b->precision;
}

int sk_overlap(const struct sk_distinct *a, const struct sk_distinct *b, struct sk_overlap *ret)
{
    bool empty = sk_distinct_empty(a) || sk_distinct_empty(b);
    if (empty || (!a->dense && !b->dense)) {
        double shared = empty ? 0 : shared_exactly(a, b);
        *ret = (struct sk_overlap){{.value = shared, .low = shared, .high = shared}, true};
        return 0;
    }
    unsigned precision = common_precision(a, b);
    struct side sides[2] = {{.made = NULL}, {.made = NULL}};
    int r = side_init(&sides[0], a, precision);
    if (r == 0)
        r = side_init(&sides[1], b, precision);
    if (r == 0)
        estimate_overlap(sides, ret);
    sk_distinct_free(sides[0].made);
    sk_distinct_free(sides[1].made);
    return r;
}
