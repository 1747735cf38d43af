#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

#include "tap.h"

/* By the table of RFC 3629, section 4, and not by bit arithmetic: the other way to say the same. */
static size_t length_by_rfc(const unsigned char *p, size_t n)
{
    static const struct {
        unsigned char first, last, second_first, second_last, length;
    } rows[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t r = 0; n > 0 && r < sizeof(rows) / sizeof(*rows); r++) {
        if (p[0] < rows[r].first || p[0] > rows[r].last)
            continue;
        if (rows[r].length > n)
            return 0;
        if (rows[r].length > 1 && (p[1] < rows[r].second_first || p[1] > rows[r].second_last))
            return 0;
        for (size_t i = 2; i < rows[r].length; i++)
            if (p[i] < 0x80 || p[i] > 0xbf)
                return 0;
        return rows[r].length;
    }
    return 0;
}

static void every_four_bytes_agree_with_the_table_of_the_rfc(void)
{
    /* All first and second bytes; third and fourth at the edges of what may follow. */
    static const unsigned char edges[] = {0x00, 0x7f, 0x80, 0x9f, 0xbf, 0xc0, 0xff};
    long wrong = 0;
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            for (size_t c = 0; c < sizeof(edges); c++)
                for (size_t d = 0; d < sizeof(edges); d++)
                    for (size_t n = 1; n <= 4; n++) {
                        unsigned char p[4] = {(unsigned char) a, (unsigned char) b, edges[c],
                                              edges[d]};
                        unsigned code = 0;
                        wrong +=
                            utf8_next((struct slice){(char *) p, n}, &code) != length_by_rfc(p, n);
                    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static size_t encode(char to[4], unsigned code)
{
    if (code < 0x80) {
        to[0] = (char) code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        to[i] = (char) (0x80 | (code & 0x3f));
    to[0] = (char) ((0xf00 >> n & 0xff) | code);
    return n;
}

static void every_code_is_read_back_but_surrogates(void)
{
    long wrong = 0;
    for (unsigned code = 0; code <= 0x110000; code++) {
        char p[4];
        unsigned back = 0xffffffff;
        bool good = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
        size_t n = encode(p, code), read = utf8_next((struct slice){p, n}, &back);
        wrong += good ? read != n || back != code : read != 0 || back != 0xffffffff;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void a_text_is_valid_as_a_whole_or_not(void)
{
    CU_ASSERT_TRUE(utf8_valid((struct slice){NULL, 0}));
    CU_ASSERT_TRUE(utf8_valid(slice_of("/grüße/日本/😀")));
    CU_ASSERT_TRUE(utf8_valid((struct slice){"a\0b", 3}));
    CU_ASSERT_FALSE(utf8_valid(slice_of("/gr\xfc\xdf")));
    CU_ASSERT_FALSE(utf8_valid((struct slice){"日本", 5}));
    CU_ASSERT_FALSE(utf8_valid(slice_of("\xc0\xaf")));
    CU_ASSERT_FALSE(utf8_valid(slice_of("\xed\xa0\x80")));
    CU_ASSERT_FALSE(utf8_valid(slice_of("\xf4\x90\x80\x80")));
}

static const char *escaped(struct slice s, bool *ret_any)
{
    static struct buf b;
    buf_clear(&b);
    *ret_any = utf8_escape(&b, s);
    return buf_cstr(&b);
}

static void harmless_text_goes_out_unchanged(void)
{
    bool any = true;
    CU_ASSERT_STRING_EQUAL(escaped(slice_of("/a b\\x41/ä/日/😀"), &any), "/a b\\x41/ä/日/😀");
    CU_ASSERT_FALSE(any);
    CU_ASSERT_STRING_EQUAL(escaped(slice_of(""), &any), "");
    CU_ASSERT_FALSE(any);
}

static void what_can_harm_is_written_out(void)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"a\nb", "a\\u000ab"},
        {"\x1b[31m", "\\u001b[31m"},
        {"\x7f", "\\u007f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"},
        {"\xc2\x80\xc2\x9f", "\\u0080\\u009f"},
        {"\xe2\x80\x8e\xe2\x80\x8f", "\\u200e\\u200f"},
        {"\xe2\x80\xaa\xe2\x80\xae", "\\u202a\\u202e"},
        {"\xe2\x81\xa6\xe2\x81\xa9", "\\u2066\\u2069"},
        {"\xff", "\\xff"},
        {"\xe6\x97", "\\xe6\\x97"},
        {"\xe6\x97/", "\\xe6\\x97/"},
        {"\xc0\xaf", "\\xc0\\xaf"},
        {"\\\t", "\\\\\\u0009"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool any = false;
        CU_ASSERT_STRING_EQUAL(escaped(slice_of(rows[i].in), &any), rows[i].out);
        CU_ASSERT_TRUE(any);
    }
    bool any = false;
    CU_ASSERT_STRING_EQUAL(escaped((struct slice){"a\0b", 3}, &any), "a\\u0000b");
    CU_ASSERT_TRUE(any);
    /* The neighbours of what is escaped are not. */
    CU_ASSERT_STRING_EQUAL(
        escaped(slice_of(" ~\xc2\xa0\xe2\x80\x8d\xe2\x80\xa8\xe2\x80\xaf"), &any),
        " ~\xc2\xa0\xe2\x80\x8d\xe2\x80\xa8\xe2\x80\xaf");
    CU_ASSERT_FALSE(any);
}

static unsigned hex(const char *p, size_t n)
{
    char text[8] = {0};
    memcpy(text, p, n);
    return (unsigned) strtoul(text, NULL, 16);
}

static size_t unescape(char *to, const char *text)
{
    size_t n = 0;
    for (const char *p = text; *p;) {
        if (*p != '\\') {
            to[n++] = *p++;
        } else if (p[1] == '\\') {
            to[n++] = '\\';
            p += 2;
        } else if (p[1] == 'x') {
            to[n++] = (char) hex(p + 2, 2);
            p += 4;
        } else {
            n += encode(to + n, hex(p + 2, 4));
            p += 6;
        }
    }
    return n;
}

static void random_bytes_become_valid_harmless_and_come_back(void)
{
    static const char *const pieces[] = {"\\", "\\x41",    "\\u0009",      "ä",
                                         "日", "😀",        "\xe2\x80\xae", "\xc2\x80",
                                         "\n", "\xe6\x97", "\xed\xa0\x80", "a"};
    uint64_t state = 42;
    for (int round = 0; round < 20000; round++) {
        char in[64], back[64];
        size_t n = 0;
        for (int i = 0; i < 8; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            unsigned pick = (unsigned) (state >> 33) % 16;
            if (pick < 12) {
                memcpy(in + n, pieces[pick], strlen(pieces[pick]));
                n += strlen(pieces[pick]);
            } else {
                in[n++] = (char) (state >> 40);
            }
        }
        bool any = false;
        const char *out = escaped((struct slice){in, n}, &any);
        bool good = utf8_valid(slice_of(out));
        for (const char *p = out; *p; p++)
            good = good && (unsigned char) *p >= 0x20 && *p != 0x7f;
        if (any)
            good = good && unescape(back, out) == n && memcmp(back, in, n) == 0;
        else
            good = good && slice_equal(slice_of(out), (struct slice){in, n});
        if (!good) {
            CU_FAIL("not valid, not harmless or not reversible");
            break;
        }
    }
}

static void one_step_says_what_it_took(void)
{
    char form[UTF8_FORM_BYTES];
    size_t taken = 0;
    CU_ASSERT_EQUAL(utf8_harmless(slice_of("日x"), form, &taken), 3);
    CU_ASSERT_EQUAL(taken, 3);
    CU_ASSERT_EQUAL(utf8_harmless(slice_of("\xe2\x80\xaex"), form, &taken), 6);
    CU_ASSERT_EQUAL(taken, 3);
    CU_ASSERT_EQUAL(utf8_harmless(slice_of("\xe2\x80x"), form, &taken), 4);
    CU_ASSERT_EQUAL(taken, 1);
    CU_ASSERT_NSTRING_EQUAL(form, "\\xe2", 4);
    CU_ASSERT_EQUAL(utf8_harmless(slice_of("\\"), form, &taken), 1);
}

static void columns_are_those_of_a_terminal(void)
{
    CU_ASSERT_EQUAL(utf8_columns(slice_of("")), 0);
    CU_ASSERT_EQUAL(utf8_columns(slice_of("/index.html")), 11);
    CU_ASSERT_EQUAL(utf8_columns(slice_of("/grüße ≈ ±█")), 11);
    CU_ASSERT_EQUAL(utf8_columns(slice_of("日本語")), 6);
    CU_ASSERT_EQUAL(utf8_columns(slice_of("한국")), 4);
    CU_ASSERT_EQUAL(utf8_columns(slice_of("ＡＢ")), 4);
    CU_ASSERT_EQUAL(utf8_columns(slice_of("ｱｲ")), 2);
    CU_ASSERT_EQUAL(utf8_columns(slice_of("😀")), 2);
    CU_ASSERT_EQUAL(utf8_columns(slice_of("e\xcc\x81")), 1);                 /* combining acute */
    CU_ASSERT_EQUAL(utf8_columns(slice_of("a\xe2\x80\x8d\xef\xb8\x8f")), 1); /* ZWJ, VS16 */
    CU_ASSERT_EQUAL(utf8_columns(slice_of("\xf0\xa0\x80\x80")), 2);          /* U+20000 */
    CU_ASSERT_EQUAL(utf8_columns(slice_of("a\xff")), 2);
}

static const struct test tests[] = {
    TEST(every_four_bytes_agree_with_the_table_of_the_rfc),
    TEST(every_code_is_read_back_but_surrogates),
    TEST(a_text_is_valid_as_a_whole_or_not),
    TEST(harmless_text_goes_out_unchanged),
    TEST(what_can_harm_is_written_out),
    TEST(random_bytes_become_valid_harmless_and_come_back),
    TEST(one_step_says_what_it_took),
    TEST(columns_are_those_of_a_terminal),
    TESTS_END,
};

int main(void)
{
    return tap_run("utf8", tests);
}
