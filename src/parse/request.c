#include "parse/parser.h"

#include <string.h>
#include <strings.h>

#include "parse/bytes_int.h"

#define METHOD_BYTES_MAX 32

/* RFC 9110 token characters: 1; letters: 3. */
static const unsigned char token_class[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1,
    ['-'] = 1, ['.'] = 1, ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1,  ['~'] = 1, ['0'] = 1,
    ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1,  ['7'] = 1, ['8'] = 1,
    ['9'] = 1, ['A'] = 3, ['B'] = 3, ['C'] = 3, ['D'] = 3, ['E'] = 3,  ['F'] = 3, ['G'] = 3,
    ['H'] = 3, ['I'] = 3, ['J'] = 3, ['K'] = 3, ['L'] = 3, ['M'] = 3,  ['N'] = 3, ['O'] = 3,
    ['P'] = 3, ['Q'] = 3, ['R'] = 3, ['S'] = 3, ['T'] = 3, ['U'] = 3,  ['V'] = 3, ['W'] = 3,
    ['X'] = 3, ['Y'] = 3, ['Z'] = 3, ['a'] = 3, ['b'] = 3, ['c'] = 3,  ['d'] = 3, ['e'] = 3,
    ['f'] = 3, ['g'] = 3, ['h'] = 3, ['i'] = 3, ['j'] = 3, ['k'] = 3,  ['l'] = 3, ['m'] = 3,
    ['n'] = 3, ['o'] = 3, ['p'] = 3, ['q'] = 3, ['r'] = 3, ['s'] = 3,  ['t'] = 3, ['u'] = 3,
    ['v'] = 3, ['w'] = 3, ['x'] = 3, ['y'] = 3, ['z'] = 3,
};

static inline struct slice strip_blanks(struct slice s)
{
    if (s.n && s.p[0] != ' ' && s.p[s.n - 1] != ' ')
        return s;
    while (s.n && s.p[0] == ' ') {
        s.p++;
        s.n--;
    }
    while (s.n && s.p[s.n - 1] == ' ')
        s.n--;
    return s;
}

/* The token before the first blank; 0: there is none. */
static size_t method_bytes(struct slice s)
{
    if (s.n > 4 && memcmp(s.p, "GET ", 4) == 0)
        return 3;
    size_t n = 0;
    unsigned all = 0;
    while (n < s.n && token_class[(unsigned char) s.p[n]])
        all |= token_class[(unsigned char) s.p[n++]];
    bool ok = n <= METHOD_BYTES_MAX && (all & 2) && n < s.n && s.p[n] == ' ';
    return ok ? n : 0;
}

/* HTTP/ digits [ . digits ] */
static bool is_protocol(struct slice s)
{
    if (s.n < 6 || memcmp(s.p, "HTTP/", 5) != 0)
        return false;
    size_t i = 5;
    while (i < s.n && (unsigned) (s.p[i] - '0') < 10)
        i++;
    if (i == 5 || i == s.n)
        return i == s.n;
    if (s.p[i] != '.' || i + 1 == s.n)
        return false;
    for (i++; i < s.n; i++)
        if ((unsigned) (s.p[i] - '0') >= 10)
            return false;
    return true;
}

/* The protocol behind the last blank; {NULL, 0}: there is none. */
static struct slice protocol_of(struct slice request)
{
    struct slice usual = slice_sub(request, request.n < 8 ? 0 : request.n - 8, request.n);
    if (request.n > 8 && usual.p[-1] == ' ' && bytes_protocol(usual.p))
        return usual;
    const char *blank = memrchr(request.p, ' ', request.n);
    struct slice last = slice_sub(request, (size_t) (blank - request.p) + 1, request.n);
    return is_protocol(last) ? last : (struct slice){NULL, 0};
}

static bool all_upper(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned) (s.p[i] - 'A') >= 26)
            return false;
    return true;
}

static bool holds_scheme_mark(struct slice s)
{
    return s.n >= 3 && memmem(s.p, s.n, "://", 3) != NULL;
}

/* HTTP/0.9: an upper-case method and one word that looks like a target. */
static bool is_old_form(struct slice method, struct slice target)
{
    if (!all_upper(method) || memchr(target.p, ' ', target.n))
        return false;
    return target.p[0] == '/' || target.p[0] == '*' || holds_scheme_mark(target);
}

static size_t authority_end(struct slice target, size_t from)
{
    while (from < target.n && target.p[from] != '/' && target.p[from] != '?' &&
           target.p[from] != '#')
        from++;
    return from;
}

/* Bytes of "scheme://authority" at the front. */
static size_t origin_bytes(struct slice target)
{
    size_t i = 0;
    unsigned char c = (unsigned char) target.p[0];
    if (token_class[c] != 3)
        return 0;
    while (i < target.n &&
           (token_class[(unsigned char) target.p[i]] == 3 || (unsigned) (target.p[i] - '0') < 10 ||
            target.p[i] == '+' || target.p[i] == '-' || target.p[i] == '.'))
        i++;
    if (target.n - i < 3 || memcmp(target.p + i, "://", 3) != 0)
        return 0;
    return authority_end(target, i + 3);
}

struct slice target_path(struct slice target, struct slice *ret_query)
{
    *ret_query = (struct slice){NULL, 0};
    if (target.n == 0)
        return SLICE_LITERAL("/");
    if (target.p[0] != '/') {
        size_t origin = origin_bytes(target);
        target = slice_sub(target, origin, target.n);
    }
    const char *end = target.p + target.n;
    const char *mark = bytes_find_either(target.p, target.p, end, '?', '#');
    if (mark < end && *mark == '?') {
        const char *fragment = memchr(mark, '#', (size_t) (end - mark));
        *ret_query = (struct slice){mark + 1, (size_t) ((fragment ? fragment : end) - mark) - 1};
    }
    target.n = (size_t) (mark - target.p);
    return target.n ? target : SLICE_LITERAL("/");
}

bool request_split(struct slice request, struct record *into)
{
    into->text[FIELD_PATH] = SLICE_LITERAL("-");
    request = strip_blanks(request);
    size_t n = method_bytes(request);
    if (n == 0)
        return false;
    struct slice method = {request.p, n};
    struct slice protocol = protocol_of(request);
    struct slice target = strip_blanks(slice_sub(request, n, request.n - protocol.n));
    if (target.n == 0 || slice_is(target, "-") || (!protocol.p && !is_old_form(method, target)))
        return false;
    into->text[FIELD_METHOD] = method;
    into->text[FIELD_TARGET] = target;
    into->text[FIELD_PROTOCOL] = protocol;
    if (!(method.n == 7 && strncasecmp(method.p, "CONNECT", 7) == 0))
        into->text[FIELD_PATH] = target_path(target, &into->text[FIELD_QUERY]);
    return true;
}
