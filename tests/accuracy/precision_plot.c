#include "precision_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

/* Both axes are logarithmic, so 1.04/sqrt(m) is a straight line. */
#define WIDTH 720
#define HEIGHT 460
#define LEFT 70
#define RIGHT 700
#define TOP 50
#define BOTTOM 400
#define PRECISION_LOW 9.5
#define PRECISION_HIGH 16.5
#define ERROR_LOW 0.1 /* in % */
#define ERROR_HIGH 5.0

#define PUBLISHED "#555555"
#define MANY "#0b6e4f"
#define UNIONS "#1f5fbf"
#define FEW "#c2570c"
#define DASHES " stroke-dasharray=\"8 5\""
#define DOTS " stroke-dasharray=\"2 4\""

static double x_of(double precision)
{
    return LEFT + (RIGHT - LEFT) * (precision - PRECISION_LOW) / (PRECISION_HIGH - PRECISION_LOW);
}

static double y_of(double error)
{
    return BOTTOM - (BOTTOM - TOP) * log(error / ERROR_LOW) / log(ERROR_HIGH / ERROR_LOW);
}

static double published(double precision)
{
    return 104 / sqrt(exp2(precision));
}

static void text(FILE *f, double x, double y, const char *anchor, const char *what)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, what);
}

static void axes(FILE *f, const struct precision_point *points, unsigned n)
{
    static const double errors[] = {0.1, 0.2, 0.5, 1, 2, 5};
    char label[32];
    for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
        double y = y_of(errors[i]);
        fprintf(f, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n", LEFT,
                y, RIGHT, y);
        snprintf(label, sizeof label, "%g %%", errors[i]);
        text(f, LEFT - 8, y + 4, "end", label);
    }
    for (unsigned i = 0; i < n; i++) {
        double x = x_of(points[i].precision);
        fprintf(f, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#000000\"/>\n", x,
                BOTTOM, x, BOTTOM + 5);
        snprintf(label, sizeof label, "p = %u", points[i].precision);
        text(f, x, BOTTOM + 20, "middle", label);
        snprintf(label, sizeof label, "%u B", 1u << points[i].precision);
        text(f, x, BOTTOM + 36, "middle", label);
    }
    fprintf(f, "<path d=\"M%d %d V%d H%d\" fill=\"none\" stroke=\"#000000\"/>\n", LEFT, TOP, BOTTOM,
            RIGHT);
    text(f, (LEFT + RIGHT) / 2.0, BOTTOM + 54, "middle", "precision, and bytes of registers");
}

static void curve(FILE *f, const struct precision_point *points, unsigned n,
                  double (*get)(const struct precision_point *), const char *colour,
                  const char *dash)
{
    fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colour,
            dash);
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "%s%.1f,%.1f", i ? " " : "", x_of(points[i].precision), y_of(get(&points[i])));
    fprintf(f, "\"/>\n");
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
                x_of(points[i].precision), y_of(get(&points[i])), colour);
}

static double get_few(const struct precision_point *p)
{
    return p->few;
}

static double get_many(const struct precision_point *p)
{
    return p->many;
}

static double get_unions(const struct precision_point *p)
{
    return p->unions;
}

static void legend(FILE *f, unsigned at, const char *colour, const char *dash, const char *what)
{
    double x = 385, y = TOP + 18 + 20.0 * at;
    fprintf(f,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
            "stroke-width=\"2\"%s/>\n",
            x, y - 4, x + 24, y - 4, colour, dash);
    text(f, x + 32, y, "start", what);
}

int precision_plot(const char *path, const struct precision_point *points, unsigned n,
                   unsigned few_seeds, unsigned many_seeds)
{
    char line[96];
    FILE *f = fopen(path, "w");
    if (!f)
        return -errno;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
            "<title>Error of a day against the precision</title>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    text(f, LEFT, 30, "start", "Root mean square error of 390,808 distinct keys");
    axes(f, points, n);
    fprintf(f,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"" PUBLISHED
            "\" stroke-width=\"2\"" DASHES "/>\n",
            x_of(PRECISION_LOW), y_of(published(PRECISION_LOW)), x_of(PRECISION_HIGH),
            y_of(published(PRECISION_HIGH)));
    curve(f, points, n, get_unions, UNIONS, "");
    curve(f, points, n, get_few, FEW, DOTS);
    curve(f, points, n, get_many, MANY, "");
    legend(f, 0, PUBLISHED, DASHES, "published: 1.04 / √m");
    snprintf(line, sizeof line, "a union (maximum likelihood), %u seeds", many_seeds);
    legend(f, 1, UNIONS, "", line);
    snprintf(line, sizeof line, "a day (martingale), %u seeds", many_seeds);
    legend(f, 2, MANY, "", line);
    snprintf(line, sizeof line, "a day (martingale), %u seeds", few_seeds);
    legend(f, 3, FEW, DOTS, line);
    fprintf(f, "</svg>\n");
    int r = ferror(f) ? -EIO : 0;
    return fclose(f) && !r ? -errno : r;
}
