/* Beginning again with another environment: see begin_again.h. */
#include "cli/processes/begin_again.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct setting {
    const char *name;
    const char *before; /* holds what the user had set, while this process begins again */
    /* What it shall be; false: as it is. */
    bool (*wanted)(const char *now, char *value, size_t room);
};

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

static bool huge_pages(const char *now, char *value, size_t room)
{
    if (strstr(now, "glibc.malloc.hugetlb") || !given_to_those_that_ask())
        return false;
    int length = snprintf(value, room, "%s%sglibc.malloc.hugetlb=1", now, *now ? ":" : "");
    return length < (int)room;
}

static bool short_waits(const char *now, char *value, size_t room)
{
    return !*now && !getenv("OMP_WAIT_POLICY") && snprintf(value, room, "3000") < (int)room;
}

static const struct setting settings[] = {
    {"GLIBC_TUNABLES", "SIMRUN_TUNABLES_BEFORE", huge_pages},
    {"GOMP_SPINCOUNT", "SIMRUN_SPINCOUNT_BEFORE", short_waits},
};
enum { SETTINGS = sizeof settings / sizeof *settings };

/* A sanitizer's malloc knows no tunables, and beginning takes it long. */
static bool worth_it(void)
{
#if defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    return true;
#else
    return false;
#endif
}

/* Was there anything to restore? */
static bool restore(void)
{
    bool any = false;
    for (int i = 0; i < SETTINGS; i++) {
        const char *before = getenv(settings[i].before);
        if (!before)
            continue;
        any = true;
        if (!*before)
            unsetenv(settings[i].name);
        else if (setenv(settings[i].name, before, 1))
            continue;
        unsetenv(settings[i].before);
    }
    return any;
}

static bool set_all(void)
{
    bool any = false;
    for (int i = 0; i < SETTINGS; i++) {
        char value[1000];
        const char *now = getenv(settings[i].name);
        if (!settings[i].wanted(now ? now : "", value, sizeof value))
            continue;
        if (setenv(settings[i].before, now ? now : "", 1) || setenv(settings[i].name, value, 1))
            return false;
        any = true;
    }
    return any;
}

void begin_again(char **argv)
{
    char own[PATH_MAX];
    if (restore() || !worth_it())
        return;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length > 0 && set_all()) {
        own[length] = '\0';
        execv(own, argv);
    }
    restore();
}
