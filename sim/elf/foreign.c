/* Recognising other MPIs' programs: see foreign.h. */
#include "sim/elf/foreign.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Sonames, the C library's and those of its other languages. Version 12 is MPICH's and its
 * derivatives', and was Open MPI's 1.10. What has a shim of ours runs with it (sim/shims). */
static const struct {
    const char *start, *name, *shim;
} known[] = {{"libmpi.so.40", "Open MPI 4 or 5", "libmpi.so.40"},
             {"libopen-rte.so.40", "Open MPI 4 or 5", "libmpi.so.40"},
             {"libopen-pal.so.40", "Open MPI 4 or 5", "libmpi.so.40"},
             {"libmpi_mpifh.so.40", "Open MPI 4 or 5", "libmpi_mpifh.so.40"},
             {"libmpi.so.20", "Open MPI 2 or 3", NULL},
             {"libmpi.so.1", "Open MPI 1", NULL},
             {"libmpi.so.0", "Open MPI 1", NULL},
             {"libmpi.so.12", "MPICH 3 or 4", "libmpich.so.12"},
             {"libmpich.so.12", "MPICH 3 or 4", "libmpich.so.12"},
             {"libmpichfort.so.12", "MPICH 3 or 4", "libmpich.so.12"},
             {"libmpifort.so.12", "MPICH 3 or 4", "libmpich.so.12"},
             {"libmpich", "MPICH", NULL},
             {"libmpifort.so", "MPICH or a derivative of it", NULL},
             {"libmpicxx.so", "MPICH or a derivative of it", NULL},
             {"libopen-rte.so", "Open MPI", NULL},
             {"libmsmpi", "Microsoft MPI", NULL},
             {"libmvapich", "MVAPICH", NULL}};

static bool names_ompi(const struct image *image)
{
    for (size_t i = 0; i < image->symbols.count; i++)
        if (!strncmp(image_string(image, image_symbol(image, i)->st_name), "ompi_", 5))
            return true;
    return false;
}

/* Its row, -1 if it has none. */
static int row_of(const char *needed)
{
    const char *slash = strrchr(needed, '/');
    size_t longest = 0;
    int found = -1;
    needed = slash ? slash + 1 : needed;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].start);
        if (length > longest && !strncmp(needed, known[i].start, length)) {
            longest = length;
            found = (int)i;
        }
    }
    return found;
}

/* Version 12 of Open MPI, not of MPICH. */
static bool is_old(const struct image *image, int row)
{
    return !strncmp(known[row].name, "MPICH", 5) && names_ompi(image);
}

const char *foreign_mpi(const struct image *image, const char *needed)
{
    int row = row_of(needed);
    return row < 0 ? NULL : is_old(image, row) ? "Open MPI 1" : known[row].name;
}

const char *foreign_shim(const struct image *image, const char *needed)
{
    int row = row_of(needed);
    return row < 0 || is_old(image, row) ? NULL : known[row].shim;
}

const char *foreign_before(const char *needed)
{
    return strncmp(needed, "libmpi_usempif08.so.40", 22) ? NULL : "libmpi_mpifh.so.40";
}

bool foreign_above(const char *needed)
{
    const char *slash = strrchr(needed, '/');
    needed = slash ? slash + 1 : needed;
    return !strncmp(needed, "libmpichfort.so.12", 18) || !strncmp(needed, "libmpifort.so.12", 16);
}

/* From the executable's folder towards the root: a build folder, or an installed tree. */
bool foreign_shim_find(const char *shim, char out[PATH_MAX])
{
    static const char *const places[] = {"lib/shims", "lib/simrun/shims"};
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    for (folder[length > 0 ? length : 0] = 0; strrchr(folder, '/');) {
        *strrchr(folder, '/') = 0;
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            int used = snprintf(out, PATH_MAX, "%s/%s/%s", folder, places[i], shim);
            if (used < PATH_MAX && !access(out, R_OK))
                return true;
        }
    }
    return false;
}

bool foreign_calls_mpi(const struct image *image)
{
    for (size_t i = 0; i < image->symbols.count; i++) {
        const Elf64_Sym *symbol = image_symbol(image, i);
        const char *name = image_string(image, symbol->st_name);
        if (symbol->st_shndx == SHN_UNDEF &&
            (!strncmp(name, "MPI_", 4) || !strncmp(name, "PMPI_", 5)))
            return true;
    }
    return false;
}

/* The wrapper for the language whose interface the library is. */
static const char *remedy(const char *needed)
{
    if (strstr(needed, "mpifh") || strstr(needed, "usempi") || strstr(needed, "fort"))
        return "simfort (make FC=simfort, ./configure FC=simfort)";
    if (strstr(needed, "cxx"))
        return "simc++ (make CXX=simc++, ./configure CXX=simc++)";
    return "simcc (make CC=simcc, ./configure CC=simcc)";
}

int foreign_refuse(const struct image *image, const struct image *program, const char *needed,
                   struct failure *failure)
{
    if (image == program)
        return failure_set(
            failure, FAILURE_INPUT,
            "%s: built for %s (it needs %s), whose handles and constants are others; "
            "build it with %s",
            image->path, foreign_mpi(image, needed), needed, remedy(needed));
    return failure_set(
        failure, FAILURE_INPUT,
        "%s: needs %s, which was built for %s (it needs %s); build that library with "
        "simcc, too, or use one without MPI",
        program->path, image->path, foreign_mpi(image, needed), needed);
}
