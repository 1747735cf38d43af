#include "keys/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"

#define PAIR_END                                                                                   \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }

struct pair {
    const char *given, *expected;
};

/* NULL: no address. */
static const char *address_text(char buffer[46], const char *given)
{
    uint8_t address[16];
    return client_address(slice_of(given), address) ? client_text(buffer, address) : NULL;
}

static void check_addresses(const struct pair *list)
{
    char buffer[46];
    for (; list->given; list++) {
        const char *got = address_text(buffer, list->given);
        CU_ASSERT(list->expected ? got && strcmp(got, list->expected) == 0 : !got);
        if (list->expected ? !got || strcmp(got, list->expected) != 0 : got != NULL)
            printf("# '%s' gave %s\n", list->given, got ? got : "no address");
    }
}

static void a_bare_quad_is_the_address_that_it_is(void)
{
    static const char *const quads[] = {"0.0.0.0", "1.2.3.4", "203.0.113.7", "255.255.255.255"};
    static const char *const others[] = {"",         "1.2.3",      "1.2.3.",    "1.2.3.4.",
                                         "1.2.3.4 ", "1.2.3.256",  "1.2.03.4",  "1.2.3.4:80",
                                         "1.2.3.4%", "1.2.3.1234", "::1.2.3.4", "1..3.4"};
    uint8_t got[16], expected[16];
    for (size_t i = 0; i < sizeof(quads) / sizeof(*quads); i++) {
        CU_ASSERT_TRUE(client_ipv4(slice_of(quads[i]), got));
        CU_ASSERT_TRUE(client_address(slice_of(quads[i]), expected));
        CU_ASSERT_EQUAL(memcmp(got, expected, sizeof(got)), 0);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        CU_ASSERT_FALSE(client_ipv4(slice_of(others[i]), got));
}

static void ipv4_is_kept_mapped(void)
{
    static const uint8_t expected[16] = {[10] = 0xff, [11] = 0xff, 203, 0, 113, 7};
    uint8_t got[16];
    CU_ASSERT_TRUE_FATAL(client_address(slice_of("203.0.113.7"), got));
    CU_ASSERT(memcmp(got, expected, 16) == 0);
    CU_ASSERT_TRUE_FATAL(client_address(slice_of("::ffff:203.0.113.7"), got));
    CU_ASSERT(memcmp(got, expected, 16) == 0);
}

static void ports_brackets_and_zones_are_dropped(void)
{
    check_addresses((const struct pair[]){{"0.0.0.0", "0.0.0.0"},
                                          {"255.255.255.255", "255.255.255.255"},
                                          {"198.51.100.4:1", "198.51.100.4"},
                                          {"198.51.100.4%eth0", "198.51.100.4"},
                                          {"[198.51.100.4]:80", "198.51.100.4"},
                                          {"[2001:db8::5]", "2001:db8::5"},
                                          {"[2001:db8::5]:443", "2001:db8::5"},
                                          {"fe80::1%eth0", "fe80::1"},
                                          {"[fe80::1%eth0]:80", "fe80::1"},
                                          {"fe80::1%", "fe80::1"},
                                          {"::FFFF:203.0.113.9", "203.0.113.9"},
                                          {"[::ffff:cb00:7109]:9", "203.0.113.9"},
                                          PAIR_END});
}

static void ipv6_is_written_as_rfc_5952_says(void)
{
    check_addresses((const struct pair[]){{"2001:DB8::000A", "2001:db8::a"},
                                          {"::", "::"},
                                          {"::1", "::1"},
                                          {"1::", "1::"},
                                          {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
                                          {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
                                          {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
                                          {"::102:304", "::102:304"},
                                          {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
                                          {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
                                           "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
                                          PAIR_END});
}

static void names_and_slips_are_no_addresses(void)
{
    check_addresses((const struct pair[]){{"", NULL},
                                          {"-", NULL},
                                          {"localhost", NULL},
                                          {"unix:", NULL},
                                          {"1.2.3", NULL},
                                          {"1.2.3.4.5", NULL},
                                          {"1.2.3.256", NULL},
                                          {"1.2.3.04", NULL},
                                          {"1.2.3.4:", NULL},
                                          {"1.2.3.4:8x", NULL},
                                          {"1.2.3.1000", NULL},
                                          {"1..2.3", NULL},
                                          {"1.2.3.4 ", NULL},
                                          {"[1.2.3.4:80]", NULL},
                                          {"[::1", NULL},
                                          {"[::1]80", NULL},
                                          {"[::1]:", NULL},
                                          {"[]", NULL},
                                          {"[[::1]]", NULL},
                                          {"::1::", NULL},
                                          {":", NULL},
                                          {"12345::", NULL},
                                          {"1:2:3:4:5:6:7:8:9", NULL},
                                          {"2001:db8::5:443x", NULL},
                                          PAIR_END});
    uint8_t got[16];
    CU_ASSERT_FALSE(client_address((struct slice){"::1\0junk", 8}, got));
    CU_ASSERT_FALSE(client_address((struct slice){NULL, 0}, got));
}

static const char *truncated(char buffer[46], const char *given, unsigned ipv4, unsigned ipv6)
{
    uint8_t address[16];
    if (!client_address(slice_of(given), address))
        return "none";
    client_truncate(address, ipv4, ipv6);
    return client_text(buffer, address);
}

static void prefixes_cut_from_the_start_of_the_address(void)
{
    char b[46];
    CU_ASSERT_STRING_EQUAL(truncated(b, "203.0.113.255", 32, 48), "203.0.113.255");
    CU_ASSERT_STRING_EQUAL(truncated(b, "203.0.113.255", 24, 48), "203.0.113.0");
    CU_ASSERT_STRING_EQUAL(truncated(b, "203.0.113.255", 25, 48), "203.0.113.128");
    CU_ASSERT_STRING_EQUAL(truncated(b, "203.0.113.255", 0, 48), "0.0.0.0");
    CU_ASSERT_STRING_EQUAL(truncated(b, "2001:db8:1:2:ffff::9", 8, 128), "2001:db8:1:2:ffff::9");
    CU_ASSERT_STRING_EQUAL(truncated(b, "2001:db8:1:2:ffff::9", 8, 64), "2001:db8:1:2::");
    CU_ASSERT_STRING_EQUAL(truncated(b, "2001:db8:1:2:ffff::9", 8, 65), "2001:db8:1:2:8000::");
    CU_ASSERT_STRING_EQUAL(truncated(b, "2001:db8:1:2:ffff::9", 8, 0), "::");
}

static bool has(const char *net, const char *address)
{
    struct cidr c;
    uint8_t a[16];
    return cidr_parse(slice_of(net), &c, NULL) == 0 && client_address(slice_of(address), a) &&
           cidr_has(&c, a);
}

static void networks_have_their_addresses(void)
{
    CU_ASSERT_TRUE(has("192.0.2.0/24", "192.0.2.255"));
    CU_ASSERT_FALSE(has("192.0.2.0/24", "192.0.3.0"));
    CU_ASSERT_TRUE(has("192.0.2.9/24", "192.0.2.1")); /* bits behind the prefix do not matter */
    CU_ASSERT_TRUE(has("192.0.2.128/25", "192.0.2.200"));
    CU_ASSERT_FALSE(has("192.0.2.128/25", "192.0.2.100"));
    CU_ASSERT_TRUE(has("192.0.2.7", "::ffff:192.0.2.7"));
    CU_ASSERT_FALSE(has("192.0.2.7", "192.0.2.6"));
    CU_ASSERT_TRUE(has("0.0.0.0/0", "203.0.113.1"));
    CU_ASSERT_FALSE(has("0.0.0.0/0", "2001:db8::1"));
    CU_ASSERT_TRUE(has("::/0", "2001:db8::1"));
    CU_ASSERT_FALSE(has("::/0", "203.0.113.1"));
    CU_ASSERT_TRUE(has("2001:db8::/33", "2001:db8:7fff::1"));
    CU_ASSERT_FALSE(has("2001:db8::/33", "2001:db8:8000::1"));
    CU_ASSERT_TRUE(has("::1/128", "::1"));
}

static void bad_networks_are_named(void)
{
    static const char *const bad[] = {"",           "192.0.2.0/33", "192.0.2.0/", "192.0.2/24",
                                      "2001::/129", "::1/-1",       "name/8",     "1.2.3.4/8/8",
                                      "[::1]/128",  "1.2.3.4:80",   "/8"};
    struct err e;
    struct cidr c = {.bits = 77};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CU_ASSERT_EQUAL(cidr_parse(slice_of(bad[i]), &c, &e), -EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.text, bad[i]));
        CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "192.0.2.0/24"));
    }
    CU_ASSERT_EQUAL(c.bits, 77); /* written only on success */
}

struct choice {
    const char *remote, *forwarded, *expected;
};

static void check_choices(const struct client_rule *rule, const struct choice *list)
{
    for (; list->remote; list++) {
        struct slice forwarded = {NULL, 0};
        if (list->forwarded)
            forwarded = slice_of(list->forwarded);
        struct slice got = client_choose(rule, slice_of(list->remote), forwarded);
        CU_ASSERT(slice_is(got, list->expected));
        if (!slice_is(got, list->expected))
            printf("# %s | %s gave '%.*s'\n", list->remote,
                   list->forwarded ? list->forwarded : "none", (int) got.n, got.n ? got.p : "");
    }
}

static void remote_is_the_first_item_that_says_something(void)
{
    static const struct client_rule rule = {.ipv4_prefix = 32, .ipv6_prefix = 128};
    check_choices(&rule, (const struct choice[]){{"203.0.113.7", "198.51.100.1", "203.0.113.7"},
                                                 {"203.0.113.7, 10.0.0.1", NULL, "203.0.113.7"},
                                                 {"-, unknown, a.example", NULL, "a.example"},
                                                 {" \"203.0.113.7\" ", NULL, "203.0.113.7"},
                                                 {"-", "203.0.113.7", ""},
                                                 {"", NULL, ""},
                                                 {"\"\"", NULL, ""},
                                                 {NULL, NULL, NULL}});
}

static void forwarded_is_walked_from_the_right_past_trusted_proxies(void)
{
    struct cidr trusted[2];
    CU_ASSERT_EQUAL_FATAL(cidr_parse(slice_of("10.0.0.0/8"), &trusted[0], NULL), 0);
    CU_ASSERT_EQUAL_FATAL(cidr_parse(slice_of("192.168.0.0/16"), &trusted[1], NULL), 0);
    const struct client_rule rule = {CLIENT_X_FORWARDED_FOR, trusted, 2, 32, 128};
    check_choices(&rule,
                  (const struct choice[]){
                      {"10.1.1.1", "203.0.113.8, 10.0.0.3", "203.0.113.8"},
                      {"10.1.1.1", "198.51.100.1, 203.0.113.8", "203.0.113.8"},
                      {"10.1.1.1", "10.0.0.9, 192.168.1.9", "10.0.0.9"},
                      {"10.1.1.1", "203.0.113.8,10.0.0.1 , 192.168.0.4", "203.0.113.8"},
                      {"10.1.1.1", "[2001:db8::7]:443, 10.0.0.3", "[2001:db8::7]:443"},
                      {"203.0.113.50", "198.51.100.9", "203.0.113.50"},
                      {"10.1.1.1", "203.0.113.8, unknown, junk, ,", "203.0.113.8"},
                      {"10.1.1.1", NULL, "10.1.1.1"},
                      {"10.1.1.1", "forged.example, 10.0.0.2", "forged.example"}, /* all trusted */
                      {"-", "unknown, -", ""},
                      {"unix:", "203.0.113.8", "203.0.113.8"},
                      {NULL, NULL, NULL}});
}

static void nobody_is_believed_without_trusted_proxies(void)
{
    static const struct client_rule rule = {CLIENT_X_FORWARDED_FOR, NULL, 0, 32, 128};
    check_choices(&rule, (const struct choice[]){{"10.1.1.1", "203.0.113.8", "10.1.1.1"},
                                                 {"-", "203.0.113.8", ""},
                                                 {"a.example", "203.0.113.8", "a.example"},
                                                 {NULL, NULL, NULL}});
}

static const struct test tests[] = {TEST(a_bare_quad_is_the_address_that_it_is),
                                    TEST(ipv4_is_kept_mapped),
                                    TEST(ports_brackets_and_zones_are_dropped),
                                    TEST(ipv6_is_written_as_rfc_5952_says),
                                    TEST(names_and_slips_are_no_addresses),
                                    TEST(prefixes_cut_from_the_start_of_the_address),
                                    TEST(networks_have_their_addresses),
                                    TEST(bad_networks_are_named),
                                    TEST(remote_is_the_first_item_that_says_something),
                                    TEST(forwarded_is_walked_from_the_right_past_trusted_proxies),
                                    TEST(nobody_is_believed_without_trusted_proxies),
                                    TESTS_END};

int main(void)
{
    return tap_run("client", tests);
}
