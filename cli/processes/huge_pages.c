/* Asking for huge pages: see huge_pages.h. glibc reads its tunables once, before main(): so they are set, and the process begins again. */
#include "cli/processes/huge_pages.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TUNABLES "GLIBC_TUNABLES"
#define BEFORE   "SIMRUN_TUNABLES_BEFORE" /* what the user had set, while this process begins again */

/* A sanitizer's malloc has none. */
static bool has_tunables(void)
{
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    return true;
#else
    return false;
#endif
}

/* Elsewhere nobody has to ask, or asking is in vain. */
static bool given_to_those_that_ask(void)
{
    char modes[100] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    bool asked = file && fgets(modes, sizeof modes, file) && strstr(modes, "[madvise]");
    if (file)
        fclose(file);
    return asked;
}

static void restore(const char *before)
{
    if (*before)
        setenv(TUNABLES, before, 1);
    else
        unsetenv(TUNABLES);
    unsetenv(BEFORE);
}

static void begin_again(char **argv, const char *before)
{
    char own[PATH_MAX], tunables[1000];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    int size = snprintf(tunables, sizeof tunables, "%s%sglibc.malloc.hugetlb=1", before,
                        *before ? ":" : "");
    if (length < 0 || size >= (int)sizeof tunables)
        return;
    own[length] = '\0';
    if (setenv(BEFORE, before, 1) || setenv(TUNABLES, tunables, 1))
        return;
    execv(own, argv);
    restore(before);
}

void huge_pages_ask(char **argv)
{
    const char *done = getenv(BEFORE), *before = getenv(TUNABLES);
    if (done) {
        char *kept = strdup(done);
        restore(kept ? kept : "");
        free(kept);
    } else if (has_tunables() && given_to_those_that_ask() &&
               !(before && strstr(before, "glibc.malloc.hugetlb"))) {
        begin_again(argv, before ? before : "");
    }
}
