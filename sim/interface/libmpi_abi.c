/* libmpi_abi.c: what programs link against outside of simrun. Not part of simrun itself.
 *
 * A shared library with the soname the MPI ABI prescribes and every symbol of mpi.h, mpix.h and
 * diff.h, but no MPI in it. Under simrun the machine's symbols come first and this library is never
 * called. When such a program is started by itself it becomes one rank, as under every MPI: this
 * library starts `simrun alone` in its place, before anything of the program has run. Where that
 * cannot be (no simrun beside this library), the first MPI call says in one sentence how to run the
 * program, and the process ends with status 3 (input unusable).
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/interface/entry.h"

__attribute__((visibility("hidden"), noreturn)) void stub_called(const char *function);

#define STUB(name, symbol)                                                                         \
    __asm__(ENTRY_IN(                                                                              \
        ENTRY_TEXT,                                                                                \
        ENTRY_FUNCTION(".globl", symbol, ENTRY_LOAD(".Lname_" name) ENTRY_JUMP("stub_called"))))

#define SIM_FUNCTION(name)                                                                         \
    __asm__(ENTRY_STRING(".Lname_MPI_" #name, "MPI_" #name));                                      \
    STUB("MPI_" #name, "MPI_" #name);                                                              \
    STUB("MPI_" #name, "PMPI_" #name);
#include "sim/functions.h"

#define SIM_EXTENSION(name)                                                                        \
    __asm__(ENTRY_STRING(".Lname_" #name, #name));                                                 \
    STUB(#name, #name);
#include "extensions.h"

void stub_called(const char *function)
{
    const char *program = program_invocation_name;
    fprintf(stderr,
            "%s: called %s, but this program's MPI is provided by simrun: run it with "
            "`simrun -n N %s`.\n",
            program, function, program);
    fflush(stdout);
    _exit(3);
}

/* Beside this library: in a build folder ../simrun, installed ../../bin/simrun. */
static int simrun_find(char path[PATH_MAX])
{
    static const char *const places[] = {"../simrun", "../../bin/simrun"};
    Dl_info mine;
    char *real =
        dladdr((const void *)(size_t)stub_called, &mine) ? realpath(mine.dli_fname, NULL) : NULL;
    char *slash = real ? strrchr(real, '/') : NULL;
    int found = 0;
    for (size_t i = 0; slash && !found && i < sizeof places / sizeof *places; i++) {
        int used = snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - real), real, places[i]);
        found = used < PATH_MAX && !access(path, X_OK);
    }
    free(real);
    return found;
}

enum { OBJECTS_MAX = 1024 };

static const struct link_map *loaded(const char *name)
{
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        const char *slash = strrchr(map->l_name, '/');
        if (!strcmp(slash ? slash + 1 : map->l_name, name))
            return map;
    }
    return NULL;
}

/* Does the program name this library, or one that names it? Only then has nothing of it run yet: a
 * library that was opened later finds a program under way. */
static int program_needs_this(void)
{
    const struct link_map *seen[OBJECTS_MAX] = {_r_debug.r_map};
    size_t count = 1;
    for (size_t i = 0; i < count; i++) {
        const char *strings = NULL;
        for (const ElfW(Dyn) *entry = seen[i]->l_ld; entry && entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_STRTAB)
                strings = (const char *)entry->d_un.d_ptr;
        for (const ElfW(Dyn) *entry = seen[i]->l_ld; strings && entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag != DT_NEEDED)
                continue;
            if (!strcmp(strings + entry->d_un.d_val, "libmpi_abi.so.1"))
                return 1;
            const struct link_map *next = loaded(strings + entry->d_un.d_val);
            size_t at = 0;
            while (at < count && seen[at] != next)
                at++;
            if (next && at == count && count < OBJECTS_MAX)
                seen[count++] = next;
        }
    }
    return 0;
}

/* The C library hands these to constructors. A program under a debugger or a tracer is the process
 * it is; simrun itself never loads this library. */
__attribute__((constructor)) static void become_one_rank(int argc, char **argv, char **environment)
{
    char simrun[PATH_MAX], program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    const char *name = length > 0 ? strrchr((program[length] = 0, program), '/') : NULL;
    if (argc < 1 || !name || !strcmp(name, "/simrun") || !program_needs_this() ||
        !simrun_find(simrun))
        return;
    char **words = calloc((size_t)argc + 4, sizeof *words);
    if (!words)
        return;
    char alone[] = "alone";
    words[0] = simrun, words[1] = alone, words[2] = program;
    memcpy(words + 3, argv + 1, (size_t)(argc - 1) * sizeof *words);
    execve(simrun, words, environment);
    free(words);
}
