/* Recognising other MPIs' programs: see foreign.h. */
#include "sim/elf/foreign.h"

#include <string.h>

/* Sonames, the C library's and those of its other languages. Version 12 is MPICH's and its
 * derivatives', and was Open MPI's 1.10. */
static const struct {
    const char *start, *name;
} known[] = {{"libmpi.so.40", "Open MPI 4 or 5"},
             {"libmpi_mpifh.so.40", "Open MPI 4 or 5"},
             {"libmpi_usempif08.so.40", "Open MPI 4 or 5"},
             {"libmpi_usempi_ignore_tkr.so.40", "Open MPI 4 or 5"},
             {"libmpi_cxx.so.40", "Open MPI 4"},
             {"libmpi.so.20", "Open MPI 2 or 3"},
             {"libmpi.so.1", "Open MPI 1"},
             {"libmpi.so.0", "Open MPI 1"},
             {"libmpi.so.12", "MPICH or a derivative of it"},
             {"libmpich", "MPICH"},
             {"libmpifort.so", "MPICH or a derivative of it"},
             {"libmpicxx.so", "MPICH or a derivative of it"},
             {"libopen-rte.so", "Open MPI"},
             {"libmsmpi", "Microsoft MPI"},
             {"libmvapich", "MVAPICH"}};

static bool names_ompi(const struct image *image)
{
    for (size_t i = 0; i < image->symbols.count; i++)
        if (!strncmp(image_string(image, image_symbol(image, i)->st_name), "ompi_", 5))
            return true;
    return false;
}

const char *foreign_mpi(const struct image *image, const char *needed)
{
    const char *found = NULL, *slash = strrchr(needed, '/');
    size_t longest = 0;
    needed = slash ? slash + 1 : needed;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].start);
        if (length > longest && !strncmp(needed, known[i].start, length)) {
            longest = length;
            found = known[i].name;
        }
    }
    return found && !strncmp(found, "MPICH", 5) && names_ompi(image) ? "Open MPI 1" : found;
}

int foreign_refuse(const struct image *image, const struct image *program, const char *needed,
                   struct failure *failure)
{
    if (image == program)
        return failure_set(
            failure, FAILURE_INPUT,
            "%s: built for %s (it needs %s), whose handles and constants are others; "
            "build it with simcc (make CC=simcc, ./configure CC=simcc)",
            image->path, foreign_mpi(image, needed), needed);
    return failure_set(
        failure, FAILURE_INPUT,
        "%s: needs %s, which was built for %s (it needs %s); build that library with "
        "simcc, too, or use one without MPI",
        program->path, image->path, foreign_mpi(image, needed), needed);
}
