#include "keys/agent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Taken from the names that crawlers and tools publish about themselves. The general words at the
 * head cover most; below are those that declare a browser and hold none of them. Tools that declare
 * no browser need no line here, but a person who prints the list expects the usual ones. */
static const char built_in[] =
    "bot\n"
    "!cubot\n" /* a maker of telephones */
    "crawl\n"
    "spider\n"
    "slurp\n"
    "scrap\n"
    "archiver\n"
    "fetcher\n"
    "monitor\n"
    "checker\n"
    "validator\n"
    "+http\n" /* a crawler's page about itself: "(compatible; ...; +https://...)" */
    /* search, previews, advertisements */
    "adsense\n"
    "apis-google\n"
    "bingpreview\n"
    "embedly\n"
    "facebookcatalog\n"
    "facebookexternalhit\n"
    "google favicon\n"
    "google web preview\n"
    "google-inspectiontool\n"
    "google-read-aloud\n"
    "google-safety\n"
    "googleother\n"
    "linkpreview\n"
    "mediapartners-google\n"
    "meta-externalagent\n"
    "meta-externalfetch\n"
    "skypeuripreview\n"
    "sogou web\n"
    "storebot-google\n"
    "teoma\n"
    /* training and answering of language models */
    "anthropic-ai\n"
    "chatgpt-user\n"
    "claude-user\n"
    "claude-web\n"
    "cohere-ai\n"
    "perplexity-user\n"
    /* indexes of links, research, scans */
    "ahrefs\n"
    "barkrowler\n"
    "censysinspect\n"
    "dataprovider\n"
    "heritrix\n"
    "httrack\n"
    "internet-measurement\n"
    "ltx71\n"
    "masscan\n"
    "netcraft\n"
    "nikto\n"
    "nmap\n"
    "nuclei\n"
    "nutch\n"
    "palo alto networks\n"
    "screaming frog\n"
    "semrush\n"
    "siteimprove\n"
    "sqlmap\n"
    "wpscan\n"
    "zgrab\n"
    /* watching of sites, browsers without a person */
    "catchpoint\n"
    "cypress/\n"
    "datadog\n"
    "gtmetrix\n"
    "headlesschrome\n"
    "lighthouse\n"
    "newrelic\n"
    "pagespeed\n"
    "phantomjs\n"
    "pingdom\n"
    "playwright\n"
    "prerender\n"
    "ptst/\n" /* WebPageTest */
    "puppeteer\n"
    "selenium\n"
    "site24x7\n"
    "statuscake\n"
    "uptime\n"
    /* libraries and tools */
    "apache-httpclient\n"
    "axios\n"
    "curl/\n"
    "go-http-client\n"
    "guzzle\n"
    "http-client\n"
    "httpclient\n"
    "httpie\n"
    "java/\n"
    "libwww\n"
    "node-fetch\n"
    "okhttp\n"
    "php/\n"
    "postman\n"
    "powershell/\n"
    "python\n"
    "undici\n"
    "wget/\n"
    "winhttp\n";

/* How an agent that people use begins. */
static const struct slice browsers[] = {
    SLICE_LITERAL("Mozilla/"),   SLICE_LITERAL("Opera/"),   SLICE_LITERAL("Dillo/"),
    SLICE_LITERAL("ELinks/"),    SLICE_LITERAL("Links ("),  SLICE_LITERAL("Lynx/"),
    SLICE_LITERAL("NetSurf/"),   SLICE_LITERAL("UCWEB/"),   SLICE_LITERAL("w3m/"),
    SLICE_LITERAL("Nokia"),      SLICE_LITERAL("SAMSUNG-"), SLICE_LITERAL("SonyEricsson"),
    SLICE_LITERAL("BlackBerry"),
};

#define WORD_BYTES_MAX 255

struct word {
    const char *text; /* lower-case, in agent_list.text */
    size_t n;
    bool exception;
};

/* Words sorted by their first byte, exceptions first. pair has a bit for each two bytes that a word
 * begins with: nearly every position of an agent is left after one look at it. */
struct agent_list {
    char *text;
    struct word *words;
    size_t n_words;
    size_t first[257]; /* words of first byte c: [first[c], first[c + 1]) */
    uint64_t pair[65536 / 64];
};

static unsigned char lower(char c)
{
    return (unsigned char) (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static unsigned pair_of(unsigned char a, unsigned char b)
{
    return (unsigned) a << 8 | b;
}

static int by_first_byte(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    int order = (unsigned char) x->text[0] - (unsigned char) y->text[0];
    return order != 0 ? order : y->exception - x->exception;
}

static struct slice trimmed(struct slice s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = slice_sub(s, 1, s.n);
    while (s.n > 0 && strchr(" \t\r", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Cuts the text into words, in place. */
static int read_words(struct agent_list *l, struct err *e)
{
    struct slice rest = slice_of(l->text);
    for (size_t line = 1; rest.n > 0; line++) {
        struct slice s;
        if (!slice_cut(&rest, '\n', &s)) {
            s = rest;
            rest.n = 0;
        }
        s = trimmed(s);
        if (s.n == 0 || s.p[0] == '#')
            continue;
        bool exception = s.p[0] == '!';
        if (exception)
            s = slice_sub(s, 1, s.n);
        if (s.n < 2 || s.n > WORD_BYTES_MAX)
            return err_set(e, -EINVAL, "line %zu: '%.*s' is no substring of 2 to %d bytes", line,
                           (int) (s.n < 64 ? s.n : 64), s.p, WORD_BYTES_MAX);
        l->words[l->n_words++] = (struct word){s.p, s.n, exception};
    }
    return 0;
}

static void index_words(struct agent_list *l)
{
    qsort(l->words, l->n_words, sizeof(*l->words), by_first_byte);
    size_t at = 0;
    for (unsigned c = 0; c < 256; c++) {
        l->first[c] = at;
        while (at < l->n_words && (unsigned char) l->words[at].text[0] == c)
            at++;
    }
    l->first[256] = at;
    for (size_t i = 0; i < l->n_words; i++) {
        const char *text = l->words[i].text;
        unsigned pair = pair_of((unsigned char) text[0], (unsigned char) text[1]);
        l->pair[pair / 64] |= UINT64_C(1) << pair % 64;
    }
}

static size_t count_lines(const char *text)
{
    size_t n = 1;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

int agent_list_new(struct agent_list **ret, const char *text, struct err *e)
{
    if (!text)
        text = built_in;
    struct agent_list *l = calloc(1, sizeof(*l));
    if (!l)
        return err_set(e, -ENOMEM, "no memory for the list of agents");
    l->text = strdup(text);
    l->words = calloc(count_lines(text), sizeof(*l->words));
    int r = -ENOMEM;
    if (!l->text || !l->words) {
        err_set(e, r, "no memory for the list of agents");
        goto fail;
    }
    for (char *c = l->text; *c; c++)
        *c = (char) lower(*c);
    r = read_words(l, e);
    if (r < 0)
        goto fail;
    index_words(l);
    *ret = l;
    return 0;
fail:
    agent_list_free(l);
    return r;
}

struct agent_list *agent_list_free(struct agent_list *l)
{
    if (!l)
        return NULL;
    free(l->words);
    free(l->text);
    free(l);
    return NULL;
}

static bool equal_lowered(const char *word, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char) word[i] != lower(text[i]))
            return false;
    return true;
}

/* The word that stands at a position; NULL: none. */
static const struct word *word_at(const struct agent_list *l, struct slice s)
{
    unsigned char c = lower(s.p[0]);
    for (size_t i = l->first[c]; i < l->first[c + 1]; i++) {
        const struct word *w = &l->words[i];
        if (w->n <= s.n && equal_lowered(w->text, s.p, w->n))
            return w;
    }
    return NULL;
}

static bool has_word(const struct agent_list *l, struct slice agent)
{
    for (size_t i = 0; i + 1 < agent.n; i++) {
        unsigned pair = pair_of(lower(agent.p[i]), lower(agent.p[i + 1]));
        if (!(l->pair[pair / 64] >> pair % 64 & 1))
            continue;
        const struct word *w = word_at(l, slice_sub(agent, i, agent.n));
        if (w && !w->exception)
            return true;
        if (w)
            i += w->n - 1;
    }
    return false;
}

enum agent_class agent_judge(const struct agent_list *l, struct slice agent)
{
    for (size_t i = 0; i < sizeof(browsers) / sizeof(*browsers); i++)
        if (slice_starts(agent, browsers[i]))
            return has_word(l, agent) ? AGENT_BOT : AGENT_HUMAN;
    return AGENT_BOT;
}

const char *agent_class_name(enum agent_class c)
{
    return c == AGENT_HUMAN ? "human" : "bot";
}
