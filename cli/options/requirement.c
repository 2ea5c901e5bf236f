/* Requirements of scenarios: see requirement.h. */
#include "cli/options/requirement.h"

#include "cli/options/catalogue.h"
#include "sim/interface/unsupported.h"

#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool has_command(const char *name)
{
    const char *path = getenv("PATH");
    char candidate[600];
    while (path && *path) {
        size_t length = strcspn(path, ":");
        snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, path, name);
        if (!access(candidate, X_OK))
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* Asks the compiler, who knows its own folders. */
static bool has_header(const char *name)
{
    char compiler[] = "cc", check[] = "-fsyntax-only", language[] = "-xc", input[] = "/dev/null",
         include[] = "-include", header[256], quiet[] = "-w";
    snprintf(header, sizeof header, "%s", name);
    char *arguments[] = {compiler, check, quiet, language, include, header, input, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
    if (!posix_spawnp(&child, compiler, &actions, NULL, arguments, environ))
        waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return status == 0;
}

static bool has_library(const char *name)
{
    char file[300];
    snprintf(file, sizeof file, "lib%s.so", name);
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (handle)
        dlclose(handle);
    return handle != NULL;
}

static bool has_variable(const char *name)
{
    return getenv(name) != NULL;
}

static bool is_architecture(const char *name)
{
    struct utsname system;
    return !uname(&system) && !strcmp(system.machine, name);
}

/* "unwatched": simrun was not built with the address sanitizer, which ends a process at its first overrun. */
static bool has_heap(const char *name)
{
#if defined __SANITIZE_ADDRESS__
    return strcmp(name, "unwatched") != 0;
#else
    return !strcmp(name, "unwatched");
#endif
}

static const struct {
    const char *kind;
    bool (*met)(const char *name);
} kinds[] = {
    {"header", has_header},
    {"library", has_library},
    {"command", has_command},
    {"heap", has_heap},
    {"env", has_variable},
    {"arch", is_architecture},
    {"function", sim_function_supported},
};

static bool item_met(const char *item, struct failure *failure)
{
    const char *colon = strchr(item, ':');
    for (size_t i = 0; colon && i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].kind);
        if ((size_t)(colon - item) != length || strncmp(item, kinds[i].kind, length))
            continue;
        if (kinds[i].met(colon + 1))
            return true;
        failure_set(failure, FAILURE_REQUIREMENT, "requires %s %s, which is not here",
                    kinds[i].kind, colon + 1);
        return false;
    }
    failure_set(
        failure, FAILURE_INPUT,
        "requires: '%s' is none of header:, library:, command:, env:, arch:, function:, heap:",
        item);
    return false;
}

bool requirements_met(const char *list, struct failure *failure)
{
    char copy[400], *rest = copy;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *item; (item = strsep(&rest, " ,\t"));)
        if (*item && !item_met(item, failure))
            return false;
    return true;
}

bool requirements_of_file_met(const char *path, struct failure *failure)
{
    size_t length = strlen(path);
    struct catalogue catalogue = {0};
    struct failure unread = {0};
    if (length < 3 || strcmp(path + length - 2, ".c") || access(path, R_OK))
        return true;
    /* A head that cannot be read is no reason not to run a program. */
    bool met = !catalogue_read_file(&catalogue, path, path, &unread) || !catalogue.count ||
               requirements_met(catalogue.entries[0].requirements, failure);
    catalogue_release(&catalogue);
    if (!met)
        failure_prefix(failure, "%s", path);
    return met;
}
