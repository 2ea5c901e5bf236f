/* Sources of tests that gcc compiles into libraries, which the machine takes for programs: kept beside the test's own program, and made
 * again where that, the source or its header is newer. */
#ifndef TESTS_MACHINE_COMPILED_H
#define TESTS_MACHINE_COMPILED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline bool compiled_is_newer(const char *path, const char *than)
{
    struct stat one, other;
    if (stat(path, &one) || stat(than, &other))
        return false;
    return one.st_mtim.tv_sec > other.st_mtim.tv_sec ||
           (one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
            one.st_mtim.tv_nsec > other.st_mtim.tv_nsec);
}

/* tests/machine/SOURCE.c, opened as `how` says. NULL: it could not be compiled. */
static inline void *compiled(const char *source, const char *name, const char *options, int how)
{
    char program[200] = "", path[300], made[350], text[2][100], command[2000];
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return NULL;
    snprintf(path, sizeof path, "%s.%s.so", program, name);
    snprintf(made, sizeof made, "%s.%d", path, (int)getpid());
    for (int i = 0; i < 2; i++)
        snprintf(text[i], sizeof text[i], "tests/machine/%s.%c", source, "ch"[i]);
    snprintf(command, sizeof command,
             "gcc %s -fno-omit-frame-pointer -fPIC -shared -I sim -I tests/machine -o '%s' %s && "
             "mv '%s' '%s'",
             options, made, text[0], made, path);
    if (!(compiled_is_newer(path, program) && compiled_is_newer(path, text[0]) &&
          compiled_is_newer(path, text[1])) &&
        system(command))
        return NULL;
    return dlopen(path, RTLD_NOW | how);
}

#endif
