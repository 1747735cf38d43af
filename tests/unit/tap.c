/* CUnit spoken as TAP: one line a test, failures as comments with file, line and condition. */
#include "tap.h"

#include <CUnit/TestRun.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned number;

static void test_done(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failure)
{
    printf("%s %u - %s: %s\n", failure ? "not ok" : "ok", ++number, suite->pName, test->pName);
    for (CU_pFailureRecord f = failure; f; f = f->pNext)
        printf("# %s:%u: %s\n", f->strFileName, f->uiLineNumber, f->strCondition);
    fflush(stdout);
}

int tap_run(const char *name, const struct test *tests)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return EXIT_FAILURE;
    CU_pSuite suite = CU_add_suite(name, NULL, NULL);
    unsigned n = 0;
    for (; tests[n].name; n++)
        if (!suite || !CU_add_test(suite, tests[n].name, tests[n].run))
            return EXIT_FAILURE;
    printf("1..%u\n", n);
    CU_set_test_complete_handler(test_done);
    CU_run_all_tests();
    unsigned failed = CU_get_number_of_tests_failed();
    CU_cleanup_registry();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
