/* The tests of one file: a list that ends with {NULL, NULL}, run by main:
 *     int main(void) { return tap_run("cms", tests); }
 * Names tell what is proven: "rotation_with_late_writes_loses_nothing". */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <CUnit/CUnit.h>

struct test {
    const char *name;
    void (*run)(void);
};

#define TEST(f) {#f, f}
#define TESTS_END {NULL, NULL}

int tap_run(const char *name, const struct test *tests);

#endif
