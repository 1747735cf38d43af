#include "http/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "tap.h"

static bool have(const struct hosts *h, const char *value)
{
    return hosts_have(h, slice_of(value));
}

static void localhost_and_ip_literals_are_always_ours(void)
{
    static const char *const ours[] = {"localhost", "LocalHost:8420", "localhost.",
                                       "127.0.0.1", "127.0.0.1:1",    "203.0.113.9:80",
                                       "[::1]",     "[::1]:8420",     "[2001:db8::7]:1"};
    struct hosts h;
    hosts_init(&h);
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        CU_ASSERT(have(&h, ours[i]));
}

static void other_names_and_malformed_values_are_not(void)
{
    static const char *const strange[] = {"",
                                          "evil.example",
                                          "localhost.evil.example",
                                          "127.0.0.1.evil.example",
                                          "[::1",
                                          "[::1]x",
                                          "::1",
                                          "localhost:80:90",
                                          "127.0.0.1:123456",
                                          "localhost:x",
                                          "localhost..",
                                          "127.1",
                                          "[127.0.0.1]",
                                          "[]",
                                          ":80",
                                          "."};
    struct hosts h;
    hosts_init(&h);
    for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++)
        CU_ASSERT_FALSE(have(&h, strange[i]));
}

static void added_names_are_compared_without_case_port_and_last_dot(void)
{
    struct hosts h;
    hosts_init(&h);
    CU_ASSERT_EQUAL(hosts_add(&h, slice_of("stats.Example.org:80")), 0);
    CU_ASSERT_EQUAL(hosts_add(&h, slice_of("STATS.example.org.")), 0);
    CU_ASSERT_EQUAL(h.n, 1);
    CU_ASSERT(have(&h, "stats.example.org"));
    CU_ASSERT(have(&h, "Stats.Example.Org.:8420"));
    CU_ASSERT_FALSE(have(&h, "xstats.example.org"));
    CU_ASSERT_FALSE(have(&h, "stats.example.or"));
    hosts_done(&h);
}

static void the_machine_is_known_by_its_name_and_short_name(void)
{
    char name[256] = "", shortened[256];
    struct hosts h;
    hosts_init(&h);
    CU_ASSERT_EQUAL(gethostname(name, sizeof(name) - 1), 0);
    CU_ASSERT_EQUAL(hosts_add_machine(&h), 0);
    snprintf(shortened, sizeof(shortened), "%.*s", (int) strcspn(name, "."), name);
    CU_ASSERT(have(&h, name));
    CU_ASSERT(have(&h, shortened));
    hosts_done(&h);
}

static void names_are_limited_in_number_and_length(void)
{
    struct hosts h;
    char name[300];
    hosts_init(&h);
    memset(name, 'a', sizeof(name));
    CU_ASSERT_EQUAL(hosts_add(&h, (struct slice){name, sizeof(name)}), -E2BIG);
    for (unsigned i = 0; i < HOSTS_MAX; i++) {
        snprintf(name, sizeof(name), "h%u", i);
        CU_ASSERT_EQUAL(hosts_add(&h, slice_of(name)), 0);
    }
    CU_ASSERT_EQUAL(hosts_add(&h, slice_of("one-more")), -E2BIG);
    hosts_done(&h);
}

static const struct test tests[] = {
    TEST(localhost_and_ip_literals_are_always_ours),
    TEST(other_names_and_malformed_values_are_not),
    TEST(added_names_are_compared_without_case_port_and_last_dot),
    TEST(the_machine_is_known_by_its_name_and_short_name),
    TEST(names_are_limited_in_number_and_length),
    TESTS_END,
};

int main(void)
{
    return tap_run("hosts", tests);
}
