/* Whose MPI a program and its libraries were built for. Handles, constants and statuses of MPIs differ, so a
 * process can serve one of them only: ours, or another's through a library that translates
 * (sim/shims). */
#include "sim/programs/closure.h"

#include "sim/elf/foreign.h"

#include <string.h>

/* A source that was compiled for simrun names no library. */
static bool program_is_ours(const struct image *program)
{
    const Elf64_Dyn *entry = program->dynamic.start;
    for (size_t i = 0; i < program->dynamic.count && entry[i].d_tag != DT_NULL; i++)
        if (entry[i].d_tag == DT_NEEDED &&
            foreign_mpi(program, image_string(program, entry[i].d_un.d_val)))
            return false;
    return foreign_calls_mpi(program);
}

int closure_mpi(struct closure *closure, const struct image *image, const char *needed,
                struct failure *failure)
{
    const struct image *program = closure->modules[0].image;
    const char *whose = resolve_is_mpi(needed) ? "simrun" : foreign_mpi(image, needed);
    const char *library = resolve_is_mpi(needed) ? NULL : foreign_shim(image, needed);
    if (!closure->mpi && program_is_ours(program))
        closure->mpi = "simrun";
    if (closure->mpi && strcmp(closure->mpi, whose)) {
        if (library || strcmp(whose, "simrun"))
            return foreign_refuse(image, program, needed, failure);
        return failure_set(
            failure, FAILURE_INPUT,
            "%s: needs %s, which was built with simcc, while the program was built for %s; "
            "build both with simcc",
            program->path, image->path, closure->mpi);
    }
    closure->mpi = whose;
    if (!strcmp(whose, "simrun"))
        return 0;
    if (!library || !foreign_shim_find(library, closure->shim))
        return foreign_refuse(image, program, needed, failure);
    if (!closure->options.clones)
        return failure_set(
            failure, FAILURE_INPUT,
            "%s: built for %s, which only the clone loader can serve; run it without "
            "--loader, or build it with simcc",
            image->path, whose);
    return 0;
}
