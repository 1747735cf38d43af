#include "keys/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define WINDOWS "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "

static void check_all(const char *list, const char *const *agents, enum agent_class expected)
{
    struct agent_list *l;
    CU_ASSERT_EQUAL_FATAL(agent_list_new(&l, list, NULL), 0);
    for (; *agents; agents++) {
        enum agent_class got = agent_judge(l, slice_of(*agents));
        CU_ASSERT_EQUAL(got, expected);
        if (got != expected)
            printf("# %s: %s\n", agent_class_name(got), *agents);
    }
    agent_list_free(l);
}

static void browsers_are_humans(void)
{
    static const char *const agents[] = {
        WINDOWS "Chrome/142.0.0.0 Safari/537.36",
        WINDOWS "Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0",
        WINDOWS "Chrome/142.0.0.0 YaBrowser/25.10.0 Safari/537.36",
        "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
        "Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
        "Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/400.0;FBBV/1]",
        "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/120.0.0.0 Mobile Safari/537.36",
        "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0)",
        "Mozilla/5.0",
        "Opera/9.80 (Windows NT 6.1) Presto/2.12.388 Version/12.18",
        "Lynx/2.9.0 SSL-MM/1.4.1",
        "w3m/0.5.3+git20230121",
        "Links (2.29; Linux 6.1 x86_64; GNU C 12.2; text)",
        NULL,
    };
    check_all(NULL, agents, AGENT_HUMAN);
}

static void crawlers_tools_and_the_silent_are_bots(void)
{
    static const char *const agents[] = {
        "",
        "-",
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; "
        "+https://openai.com/gptbot)",
        "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)",
        "Mozilla/5.0 (compatible; Baiduspider/2.0)",
        "Mozilla/5.0 (compatible; SomeNew/1.0; +https://crawler.example/about)",
        "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (compatible; Googlebot/2.1)",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "HeadlessChrome/142.0.0.0 Safari/537.36",
        "Mozilla/5.0 zgrab/0.x",
        "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041",
        "Mozilla/4.0 (compatible; Win32; WinHttp.WinHttpRequest.5)",
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "curl/8.5.0",
        "Wget/1.21.3",
        "python-requests/2.31.0",
        "Go-http-client/1.1",
        "Java/17.0.2",
        "libwww-perl/6.67",
        "okhttp/4.9.3",
        "axios/1.6.0",
        "WhatsApp/2.23.20.0",
        "kube-probe/1.29",
        "x",
        NULL,
    };
    check_all(NULL, agents, AGENT_BOT);
}

static void letter_case_does_not_matter_within_the_agent(void)
{
    static const char *const agents[] = {"Mozilla/5.0 XBOT", "Mozilla/5.0 xBoT/1", NULL};
    check_all(NULL, agents, AGENT_BOT);
}

static void an_own_list_replaces_the_built_in_one(void)
{
    static const char list[] = "# ours\r\n\n  Acme Reader \n!notacme reader\nzz\ncu\n!cubot";
    static const char *const bots[] = {"Mozilla/5.0 ACME READER/3", "Mozilla/5.0 pizz",
                                       "Mozilla/5.0 cubo", "curl/8", NULL};
    static const char *const humans[] = {"Mozilla/5.0 Googlebot/2.1",
                                         "Mozilla/5.0 NotAcme Reader",
                                         "Mozilla/5.0 ours",
                                         "Mozilla/5.0 CUBOT",
                                         "Mozilla/5.0 z",
                                         NULL};
    check_all(list, bots, AGENT_BOT);
    check_all(list, humans, AGENT_HUMAN);
    check_all("", humans, AGENT_HUMAN);
}

static void words_are_found_at_every_place(void)
{
    struct agent_list *l;
    CU_ASSERT_EQUAL_FATAL(agent_list_new(&l, "needle\nneedless\n", NULL), 0);
    for (size_t length = 14; length < 60; length++)
        for (size_t at = 8; at + 6 <= length; at++) {
            char *agent = malloc(length); /* exact size: a sanitizer sees one byte too many */
            CU_ASSERT_PTR_NOT_NULL_FATAL(agent);
            memset(agent, 'n', length);
            memcpy(agent, "Mozilla/", 8);
            CU_ASSERT_EQUAL(agent_judge(l, (struct slice){agent, length}), AGENT_HUMAN);
            memcpy(agent + at, "nEEdle", 6);
            CU_ASSERT_EQUAL(agent_judge(l, (struct slice){agent, length}), AGENT_BOT);
            free(agent);
        }
    agent_list_free(l);
}

static void bytes_of_no_alphabet_are_harmless(void)
{
    struct agent_list *l;
    CU_ASSERT_EQUAL_FATAL(agent_list_new(&l, "b\xc3\xb6t\n", NULL), 0);
    CU_ASSERT_EQUAL(agent_judge(l, SLICE_LITERAL("Mozilla/ \0\xff\xfe b\xc3\xb6t")), AGENT_BOT);
    CU_ASSERT_EQUAL(agent_judge(l, SLICE_LITERAL("Mozilla/ \0\xff\xfe b\xc3\xb7t")), AGENT_HUMAN);
    CU_ASSERT_EQUAL(agent_judge(l, (struct slice){NULL, 0}), AGENT_BOT);
    agent_list_free(l);
}

static void a_bad_line_is_named_by_its_number(void)
{
    struct agent_list *l = NULL;
    struct err e;
    CU_ASSERT_EQUAL(agent_list_new(&l, "bot\n# two\nx\n", &e), -EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "line 3"));
    CU_ASSERT_EQUAL(agent_list_new(&l, "!\n", &e), -EINVAL);
    char text[300];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    CU_ASSERT_EQUAL(agent_list_new(&l, text, &e), -EINVAL);
    CU_ASSERT_PTR_NULL(l);
}

static void classes_have_names(void)
{
    CU_ASSERT_STRING_EQUAL(agent_class_name(AGENT_HUMAN), "human");
    CU_ASSERT_STRING_EQUAL(agent_class_name(AGENT_BOT), "bot");
}

static const struct test tests[] = {TEST(browsers_are_humans),
                                    TEST(crawlers_tools_and_the_silent_are_bots),
                                    TEST(letter_case_does_not_matter_within_the_agent),
                                    TEST(an_own_list_replaces_the_built_in_one),
                                    TEST(words_are_found_at_every_place),
                                    TEST(bytes_of_no_alphabet_are_harmless),
                                    TEST(a_bad_line_is_named_by_its_number),
                                    TEST(classes_have_names),
                                    TESTS_END};

int main(void)
{
    return tap_run("agent", tests);
}
