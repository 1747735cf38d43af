/* Lack of memory while a reply is made. */
#include "http/endpoint.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "http_bench.h"
#include "tap.h"

static struct bench *b;

static int status_of(const char *target)
{
    struct answer a = bench_ask(b, "GET", target);
    int status = a.status;
    answer_done(&a);
    return status;
}

static pthread_t client;
static atomic_int allocations, failing; /* of the server's JSON; 0: none fails */

static void *scarce_malloc(size_t n)
{
    if (!pthread_equal(pthread_self(), client) && atomic_fetch_add(&allocations, 1) + 1 == failing)
        return NULL;
    return malloc(n);
}

/* Every allocation of a reply's JSON fails once: 503 or 500, and the next request is served. */
static void lack_of_memory_is_a_problem_and_not_a_crash(void)
{
    static const char *const targets[] = {"/uniques?range=7d&by=day",
                                          "/topk?name=pairs",
                                          "/days",
                                          "/overlap?a=mon&b=2026-12-01",
                                          "/seen?name=clients&key=x",
                                          "/filters",
                                          "/status",
                                          "/readyz",
                                          "/healthz",
                                          "/version",
                                          "/",
                                          "/uniques?from=2020-01-01&to=2020-01-02",
                                          "/uniques?x=1",
                                          "/topk?format=csv&range=all",
                                          "/uniques?name=x"};
    cJSON_Hooks hooks = {scarce_malloc, free};
    b = bench_new();
    bench_start(b);
    client = pthread_self();
    cJSON_InitHooks(&hooks);
    for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
        int n = 0;
        do {
            atomic_store(&allocations, 0);
            atomic_store(&failing, ++n);
            int status = status_of(targets[i]);
            bool failed = atomic_load(&allocations) >= n;
            CU_ASSERT(status == 500 || status == 503 || !failed);
        } while (atomic_load(&allocations) >= n && n < 2000);
        CU_ASSERT(n > 3 && n < 2000);
        atomic_store(&failing, 0);
        CU_ASSERT(status_of(targets[i]) <= 404);
    }
    cJSON_InitHooks(NULL);
    bench_done(b);
}

static const struct test tests[] = {
    TEST(lack_of_memory_is_a_problem_and_not_a_crash),
    TESTS_END,
};

int main(void)
{
    return tap_run("http_memory", tests);
}
