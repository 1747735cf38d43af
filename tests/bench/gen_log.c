/* gen_log.c - deterministic generator of Apache/nginx "combined" access logs with the exact truth.
 *
 *   cc -O2 -o gen_log gen_log.c -lm
 *   ./gen_log [-n LINES_PER_DAY] [-d DAYS (1..64)] [-p PATHS] [-z ZIPF_S] [-u VISITORS] [-w SHIFT]
 *             [-l PERCENT_LOCAL] [-6 PERCENT_IPV6] [-b PERMILLE_BAD] [-s SEED] [-t START_EPOCH]
 *             [-j TRUTH.json] > access.log
 *
 * Visitor = (address, user agent).  On day k a line's visitor is uniform in [k*SHIFT,
 * k*SHIFT+VISITORS): with the defaults (1,500,000 lines a day, 400,000 visitors, shift 200,000) the
 * expected distinct visitors are 390,593 on one day and 590,482 over two.  -l 70 draws 70 % of the
 * lines from a ring of 8,192 recent visitors instead (sessions).  One visitor keeps one agent; each
 * 8th shares the address of its neighbour with another agent (NAT), so addresses are fewer than
 * visitors. Paths: Zipf(s) over PATHS ranks, alias-sampled; a path's text depends on its rank only
 * and is unique. Bad lines (port scanners) come from 203.0.113.0/24 with agent "-": they never mix
 * with real visitors. Addresses are 10/8 and 2001:db8::/32 only.  Same arguments => same bytes and
 * same truth.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t s[2];
static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}
static uint64_t mix(uint64_t x)
{
    return splitmix(&x);
}
static uint64_t rnd(void) /* xoroshiro128+ */
{
    uint64_t a = s[0], b = s[1], r = a + b;
    b ^= a;
    s[0] = ((a << 24) | (a >> 40)) ^ b ^ (b << 16);
    s[1] = (b << 37) | (b >> 27);
    return r;
}
static uint32_t below(uint32_t n)
{
    return (uint32_t) (((rnd() >> 32) * n) >> 32);
}
static double unit(void)
{
    return (double) (rnd() >> 11) * 0x1p-53;
}

static const char *agents[40] = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 "
    "Safari/537.36",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 "
    "Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/125.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (iPad; CPU OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.4 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/17.5 Safari/605.1.15",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:126.0) Gecko/20100101 Firefox/126.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/125.0.0.0 Safari/537.36 OPR/111.0.0.0",
    "Mozilla/5.0 (Linux; Android 13; SM-A536B) AppleWebKit/537.36 (KHTML, like Gecko) "
    "SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
    "curl/7.88.1",
    "curl/8.5.0",
    "Wget/1.21.3",
    "python-requests/2.31.0",
    "Go-http-client/1.1",
    "Go-http-client/2.0",
    "okhttp/4.12.0",
    "Java/17.0.9",
    "axios/1.6.8",
    "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)",
    "kube-probe/1.28",
    "Prometheus/2.52.0",
    "UptimeRobot/2.0; http://www.uptimerobot.com/",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Twitterbot/1.0",
    "Feedly/1.0 (+http://www.feedly.com/fetcher.html)",
    "Apache-HttpClient/4.5.14 (Java/11.0.22)",
    "Mozilla/5.0",
    "-"};
static const uint16_t agent_w[40] = {240, 110, 40, 150, 90, 120, 15, 60, 70, 25, 12, 14, 60, 12,
                                     30,  30,  22, 12,  10, 8,   8,  5,  3,  12, 9,  6,  10, 4,
                                     3,   2,   4,  3,   3,  1,   2,  1,  2,  2,  6,  14};

static const char *refs[] = {"-",
                             "https://www.bookstore.example/",
                             "https://www.bookstore.example/catalog",
                             "https://www.google.com/",
                             "https://www.bing.com/",
                             "https://duckduckgo.com/",
                             "https://news.example.org/2026/11/reading-list",
                             "https://www.bookstore.example/search?q=algorithms&sort=popular",
                             "https://t.co/a1B2c3D4",
                             "android-app://com.google.android.gm/"};
static const uint16_t ref_w[] = {560, 160, 90, 90, 15, 10, 10, 45, 12, 8};
static const char *words[] = {"algorithms", "history", "garden",  "compiler", "networks", "poetry",
                              "atlas",      "cooking", "physics", "novel",    "travel",   "design",
                              "security",   "music",   "letters", "winter"};
static const char *mon[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static int path_text(uint32_t rank, char *o)
{
    uint64_t h = mix(rank * 2654435761ULL + 77);
    const char *a = words[h & 15], *b = words[(h >> 4) & 15];
    uint32_t n = rank;
    if (rank == 0)
        return sprintf(o, "/");
    switch ((h >> 8) % 20) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
        return sprintf(o, "/books/97800000%05u", n);
    case 8:
    case 9:
    case 10:
        return sprintf(o, "/books/97800000%05u/%s-and-%s", n, a, b);
    case 11:
    case 12:
        return sprintf(o, "/static/img/covers/%s/%05u_m.webp", a, n);
    case 13:
        return sprintf(o, "/static/js/%s.%06x%x.js", a, (unsigned) (h >> 40), n);
    case 14:
        return sprintf(o, "/api/v1/items/%u", n);
    case 15:
        return sprintf(o, "/api/v1/items/%u/reviews?page=%u&per_page=20", n,
                       (unsigned) (h >> 50) % 9);
    case 16:
        return sprintf(o, "/search?q=%s+%s&page=%u", a, b, n);
    case 17:
        return sprintf(o, "/authors/%s-%u", b, n);
    case 18:
        return sprintf(o, "/blog/2026/%02u/%s-%s-%u", 1 + (unsigned) (h >> 44) % 11, a, b, n);
    default:
        return sprintf(o, "/%s/%s/%u.html", a, b, n);
    }
}
static int ip_text(uint64_t id, int v6pct, char *o)
{
    uint64_t h = mix(id ^ 0x5eedULL);
    if ((int) (h % 100) < v6pct) {
        uint64_t g = mix(h);
        if (g & 1)
            return sprintf(o, "2001:db8:%x:%x::%x", (unsigned) (id >> 8) & 0xffff,
                           (unsigned) (id & 0xff), 1 + (unsigned) (g >> 60));
        return sprintf(o, "2001:db8:%x:%x:%x:%x:%x:%x", (unsigned) (id >> 16) & 0xffff,
                       (unsigned) id & 0xffff, (unsigned) (g >> 8) & 0xffff,
                       (unsigned) (g >> 24) & 0xffff, (unsigned) (g >> 40) & 0xffff,
                       1 + (unsigned) (g >> 60));
    }
    unsigned v =
        (unsigned) ((id + 1) * 1640531527ULL) & 0xffffff; /* odd factor: a bijection of 24 bits */
    return sprintf(o, "10.%u.%u.%u", v >> 16, v >> 8 & 255, v & 255);
}
struct alias {
    uint32_t n;
    double *p;
    uint32_t *a;
};
static void alias_init(struct alias *t, const double *w, uint32_t n)
{
    double sum = 0;
    uint32_t i, nl = 0, ns = 0;
    uint32_t *lo = malloc(n * 4), *hi = malloc(n * 4);
    t->n = n;
    t->p = malloc(n * sizeof *t->p);
    t->a = malloc(n * 4);
    for (i = 0; i < n; i++)
        sum += w[i];
    for (i = 0; i < n; i++) {
        t->p[i] = w[i] * n / sum;
        t->a[i] = i;
        if (t->p[i] < 1)
            lo[ns++] = i;
        else
            hi[nl++] = i;
    }
    while (ns && nl) {
        uint32_t l = lo[--ns], g = hi[nl - 1];
        t->a[l] = g;
        t->p[g] -= 1 - t->p[l];
        if (t->p[g] < 1) {
            nl--;
            lo[ns++] = g;
        }
    }
    while (nl)
        t->p[hi[--nl]] = 1;
    while (ns)
        t->p[lo[--ns]] = 1;
    free(lo);
    free(hi);
}
static uint32_t alias_draw(const struct alias *t)
{
    uint32_t i = below(t->n);
    return unit() < t->p[i] ? i : t->a[i];
}
static void alias_w16(struct alias *t, const uint16_t *w, uint32_t n)
{
    double d[64]; /* n <= 64 */
    for (uint32_t i = 0; i < n; i++)
        d[i] = w[i];
    alias_init(t, d, n);
}

struct top {
    uint32_t n, rank;
};
static int top_cmp(const void *x, const void *y)
{
    const struct top *a = x, *b = y;
    return a->n != b->n ? (a->n < b->n ? 1 : -1) : a->rank < b->rank ? -1 : a->rank > b->rank;
}
static void put_top(FILE *f, const uint32_t *cnt, uint32_t n, char (*txt)[80])
{
    struct top *t = malloc(n * sizeof *t);
    for (uint32_t i = 0; i < n; i++)
        t[i] = (struct top){cnt[i], i};
    qsort(t, n, sizeof *t, top_cmp);
    fprintf(f, "[");
    for (uint32_t i = 0; i < 20 && i < n && t[i].n; i++)
        fprintf(f, "%s{\"url\":\"%s\",\"count\":%u}", i ? "," : "", txt[t[i].rank], t[i].n);
    fprintf(f, "]");
    free(t);
}
static char *ymd(long long t, char *o)
{
    time_t x = (time_t) t;
    struct tm tm;
    gmtime_r(&x, &tm);
    strftime(o, 16, "%Y-%m-%d", &tm);
    return o;
}

int main(int argc, char **argv)
{
    uint64_t per_day = 1500000, seed = 42, visitors = 400000, shift = 200000;
    uint32_t days = 2, paths = 100000;
    int v6 = 8, bad = 1, local = 0, c;
    const char *json = NULL;
    double zs = 1.0;
    long long t0 = 1794787200LL; /* Mon 16 Nov 2026 00:00:00 UTC */
    while ((c = getopt(argc, argv, "n:d:p:z:u:w:l:6:b:s:t:j:")) != -1)
        switch (c) {
        case 'n':
            per_day = strtoull(optarg, 0, 10);
            break;
        case 'd':
            days = atoi(optarg);
            break;
        case 'p':
            paths = atoi(optarg);
            break;
        case 'z':
            zs = atof(optarg);
            break;
        case 'u':
            visitors = strtoull(optarg, 0, 10);
            break;
        case 'w':
            shift = strtoull(optarg, 0, 10);
            break;
        case 'l':
            local = atoi(optarg);
            break;
        case '6':
            v6 = atoi(optarg);
            break;
        case 'b':
            bad = atoi(optarg);
            break;
        case 's':
            seed = strtoull(optarg, 0, 10);
            break;
        case 't':
            t0 = atoll(optarg);
            break;
        case 'j':
            json = optarg;
            break;
        default:
            return 2;
        }
    uint64_t span = (days - 1) * shift + visitors, total = 0, nbad = 0;
    if (!days || days > 64 || !per_day || !visitors || !paths || span >= 1 << 24 || t0 % 86400) {
        fprintf(stderr, "gen_log: bad arguments (1..64 days, visitor span below 2^24, start at "
                        "midnight UTC)\n");
        return 2;
    }
    s[0] = splitmix(&seed);
    s[1] = splitmix(&seed);
    double *w = malloc(paths * sizeof *w);
    for (uint32_t i = 0; i < paths; i++)
        w[i] = pow(i + 1, -zs);
    struct alias zipf, rf;
    alias_init(&zipf, w, paths);
    alias_w16(&rf, ref_w, sizeof ref_w / sizeof *ref_w);
    uint8_t agent_of[1024];
    uint32_t na = 0, sum = 0; /* agent shares as a table of 1024 slots */
    for (int i = 0; i < 40; i++)
        sum += agent_w[i];
    for (uint32_t i = 0, acc = 0; i < 40; i++)
        for (acc += agent_w[i]; na < 1024 && na * sum < acc * 1024;)
            agent_of[na++] = i;
    char(*ptab)[80] = malloc((size_t) paths * 80);
    uint8_t *plen = malloc(paths);
    for (uint32_t i = 0; i < paths; i++)
        plen[i] = path_text(i, ptab[i]);
    uint32_t *cnt = calloc((size_t) paths * (days + 1), 4); /* row `days` is the sum */
    uint64_t *seen = calloc(span, 8), scan[256] = {0};      /* bit d: seen on day d */
    uint64_t dbad[64] = {0};
    static uint32_t ring[8192];
    /* diurnal curve: cumulative share of a day's lines per minute, quietest near 04:00 */
    static double cum[1441];
    for (int m = 0; m < 1440; m++)
        cum[m + 1] = cum[m] + 1 - 0.75 * cos(2 * M_PI * (m - 240) / 1440.0);
    for (int m = 1; m <= 1440; m++)
        cum[m] /= cum[1440];

    static char buf[1 << 20];
    size_t o = 0;
    for (uint32_t d = 0; d < days; d++) {
        time_t midnight = (time_t) (t0 + 86400LL * d);
        struct tm tm;
        gmtime_r(&midnight, &tm);
        int minute = 0;
        for (uint32_t i = 0; i < 8192; i++)
            ring[i] = d * shift + (rnd() >> 11) % visitors;
        for (uint64_t i = 0; i < per_day; i++) {
            double f = (double) i / per_day;
            while (minute < 1439 && f >= cum[minute + 1])
                minute++;
            int sec = (int) (60 * (f - cum[minute]) / (cum[minute + 1] - cum[minute]));
            if (sec > 59)
                sec = 59;
            char *q = buf + o;
            int isbad = below(1000) < (uint32_t) bad;
            uint64_t id = 0;
            if (isbad) {
                uint32_t k = below(256);
                scan[k] |= 1ULL << d;
                dbad[d]++;
                nbad++;
                q += sprintf(q, "203.0.113.%u", k);
            } else {
                if (local && below(100) < (uint32_t) local)
                    id = ring[below(8192)];
                else {
                    id = d * shift + (rnd() >> 11) % visitors;
                    ring[below(8192)] = id;
                }
                seen[id] |= 1ULL << d;
                q += ip_text((id & 7) == 7 ? id - 1 : id, v6, q);
            }
            q += sprintf(q, " - %s [%02d/%s/%d:%02d:%02d:%02d +0000] \"",
                         isbad || below(100) ? "-" : "alice", tm.tm_mday, mon[tm.tm_mon],
                         tm.tm_year + 1900, minute / 60, minute % 60, sec);
            if (isbad) {
                q = stpcpy(q, below(2) ? "\\x16\\x03\\x01\" 400 226 \"-\" \"-\"\n"
                                       : "-\" 408 - \"-\" \"-\"\n");
            } else {
                uint32_t r = alias_draw(&zipf), m = below(100), st = below(1000), status;
                double u = unit() + unit() + unit() + unit();
                unsigned bytes = (unsigned) (exp(u * 2.6 + 3.5));
                unsigned ag = agent_of[mix((id & 7) == 7 ? id - 1 : id) >> 54];
                if ((id & 7) == 7)
                    ag = (ag + 1) % 40;
                cnt[(size_t) d * paths + r]++;
                cnt[(size_t) days * paths + r]++;
                q = stpcpy(q, m < 92 ? "GET " : m < 97 ? "POST " : m < 99 ? "HEAD " : "PUT ");
                memcpy(q, ptab[r], plen[r]);
                q += plen[r];
                q = stpcpy(q, below(3) ? " HTTP/1.1\" " : " HTTP/2.0\" ");
                status = st < 840   ? 200
                         : st < 900 ? 304
                         : st < 920 ? 301
                         : st < 940 ? 302
                         : st < 980 ? 404
                         : st < 985 ? 403
                         : st < 993 ? 500
                                    : 206;
                if (status == 304)
                    q += sprintf(q, "304 -");
                else
                    q += sprintf(q, "%u %u", status, bytes);
                q += sprintf(q, " \"%s\" \"%s\"\n", refs[alias_draw(&rf)], agents[ag]);
            }
            o = q - buf;
            if (o > sizeof buf - 2048) {
                if (fwrite(buf, 1, o, stdout) != o)
                    return 1;
                total += o;
                o = 0;
            }
        }
    }
    if (fwrite(buf, 1, o, stdout) != o || fflush(stdout))
        return 1;
    total += o;
    if (!json)
        return 0;

    FILE *f = fopen(json, "w");
    char d0[16], d1[16];
    if (!f) {
        perror(json);
        return 1;
    }
    fprintf(f,
            "{\"lines\":%llu,\"bytes\":%llu,\"mean_line\":%.1f,\"bad\":%llu,\n "
            "\"visitor\":\"address + user agent; *_all includes the bad lines\",\n \"days\":[",
            (unsigned long long) per_day * days, (unsigned long long) total,
            (double) total / ((double) per_day * days), (unsigned long long) nbad);
    for (uint32_t a = 0; a < days; a++) {
        uint64_t ips = 0;
        for (uint64_t i = 0; i < span; i++)
            if ((i & 7) != 7) {
                uint64_t m = seen[i] | ((i & 7) == 6 && i + 1 < span ? seen[i + 1] : 0);
                ips += m >> a & 1;
            } else if (i == 0)
                ips += seen[i] >> a & 1;
        fprintf(f, "%s\n  {\"date\":\"%s\",\"lines\":%llu,\"bad\":%llu,\"addresses\":%llu,\"top\":",
                a ? "," : "", ymd(t0 + 86400LL * a, d0), (unsigned long long) per_day,
                (unsigned long long) dbad[a], (unsigned long long) ips);
        put_top(f, cnt + (size_t) a * paths, paths, ptab);
        fprintf(f, "}");
    }
    fprintf(f, "],\n \"ranges\":[");
    for (uint32_t a = 0; a < days; a++)
        for (uint32_t b = a; b < days; b++) {
            uint64_t mask = (b - a == 63 ? ~0ULL : (1ULL << (b - a + 1)) - 1) << a, n = 0, x = 0;
            for (uint64_t i = 0; i < span; i++)
                n += (seen[i] & mask) != 0;
            for (int i = 0; i < 256; i++)
                x += (scan[i] & mask) != 0;
            fprintf(f,
                    "%s\n  {\"from\":\"%s\",\"to\":\"%s\",\"visitors\":%llu,\"visitors_all\":%llu}",
                    a || b ? "," : "", ymd(t0 + 86400LL * a, d0), ymd(t0 + 86400LL * b, d1),
                    (unsigned long long) n, (unsigned long long) (n + x));
        }
    uint32_t dp = 0;
    for (uint32_t i = 0; i < paths; i++)
        dp += cnt[(size_t) days * paths + i] != 0;
    fprintf(f, "],\n \"distinct_urls\":%u,\n \"top\":", dp);
    put_top(f, cnt + (size_t) days * paths, paths, ptab);
    fprintf(f, "}\n");
    return fclose(f) ? 1 : 0;
}
