/* main() of a fuzz target where libFuzzer is not: each input of the corpus and each found crash
 * once. fuzz_NAME [FOLDER|FILE]... Without arguments: corpus/NAME and crashes/NAME beside this
 * file's source ($TOP_SRCDIR). */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static unsigned inputs;

static int replay_file(const char *path, size_t bytes)
{
    int r = -1;
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(bytes + 1);
    if (f && data && fread(data, 1, bytes, f) == bytes) {
        /* An own block of just that size, so that a sanitizer sees a read past its end. */
        uint8_t *exact = malloc(bytes ? bytes : 1);
        if (exact) {
            memcpy(exact, data, bytes);
            LLVMFuzzerTestOneInput(exact, bytes);
            inputs++;
            r = 0;
        }
        free(exact);
    }
    if (r < 0)
        printf("# cannot read %s: %s\n", path, strerror(errno));
    free(data);
    if (f)
        fclose(f);
    return r;
}

static int replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISDIR(st.st_mode))
        return replay_file(path, (size_t) st.st_size);
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort), r = n < 0 ? -1 : 0;
    for (int i = 0; i < n; i++) {
        char below[4096];
        if (names[i]->d_name[0] != '.' &&
            (snprintf(below, sizeof below, "%s/%s", path, names[i]->d_name) >= (int) sizeof below ||
             replay(below) < 0))
            r = -1;
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return r;
}

/* corpus/NAME and crashes/NAME for a program .../fuzz_NAME */
static int replay_own(const char *program)
{
    static const char *const folders[] = {"corpus", "crashes"};
    const char *top = getenv("TOP_SRCDIR"), *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    int r = 0;
    if (strncmp(name, "fuzz_", 5) == 0)
        name += 5;
    for (int i = 0; i < 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/tests/fuzz/%s/%s", top ? top : ".", folders[i], name);
        if (replay(path) < 0)
            r = -1;
    }
    return r;
}

int main(int argc, char **argv)
{
    int r = argc > 1 ? 0 : replay_own(argv[0]);
    printf("1..1\n");
    fflush(stdout);
    for (int i = 1; i < argc; i++)
        if (replay(argv[i]) < 0)
            r = -1;
    if (inputs == 0)
        r = -1; /* a corpus that is not found must not pass */
    printf("%sok 1 - %u inputs\n", r < 0 ? "not " : "", inputs);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
