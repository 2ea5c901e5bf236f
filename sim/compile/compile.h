/* Programs given as C or C++ source: compiled once by the system's compiler into a cache.
 *
 * The cache is a folder of bounded size (cache.h). An object is reused only if the source,
 * every header it included, the compiler and the flags are what they were: all by content, the
 * compiler by the file it is. Objects appear by renaming, so that any number of jobs may share a
 * cache.
 *
 * The compiler is $CC, else cc ($CXX, else c++; $FC, else gfortran for parts in Fortran that do not
 * call MPI); its messages go to stderr as they are. `-fopenmp` is added for a source that says
 * `#pragma omp` or includes <omp.h>, and whatever follows `simrun: cflags:` in a comment of it (for
 * example -lfftw3).
 *
 * Room: sees sim/base, sim/elf; traces. Seen by cli. */
#ifndef SIM_COMPILE_COMPILE_H
#define SIM_COMPILE_COMPILE_H

#include "traces/base/failure.h"

#include <stdbool.h>
#include <stddef.h>

/* Does the name end as a C, C++ or Fortran source's does? */
bool sim_compile_is_source(const char *path);

/* Puts into `out` the path of what sim_program_open takes: of the cached object if `path` is a
 * source, of the program that a libtool script starts, otherwise `path` itself. 0, or a failure code: no such source, it does not compile (the
 * compiler has said why), no compiler, the cache cannot be written (the sentence names the folder
 * and the remedy). */
int sim_compile(const char *path, char *out, size_t size, struct failure *failure);

/* So many sources one command line takes. */
enum { SIM_COMPILE_SOURCES = 48 };

/* The same for the sources of one program, in any of the languages; a single path may be anything.
 * With `memory` its accesses to memory are to be seen: compiled with the callbacks of
 * sim/memory/accesses.c in it. */
int sim_compile_all(const char *const *paths, int count, bool memory, char *out, size_t size,
                    struct failure *failure);

/* Was any of this object compiled by clang? Its note of that stands in the file. */
bool sim_compiled_by_clang(const char *object);
/* Was any of it instrumented without our plugin, so that moves by gcc's own names are not seen? */
bool sim_compiled_moves_unseen(const char *object);
/* Was any of it compiled so that its accesses to memory are seen, as simcc does with SIMCC_MEMORY? */
bool sim_compiled_instrumented(const char *object);

/* Did the last successful sim_compile of this thread run the compiler? For progress lines and
 * tests. */
bool sim_compile_was_run(void);

/* The folder that holds mpi.h, mpix.h and diff.h as a compiler option ("-I..."): include/simrun
 * beside or above the running executable. NULL if there is none. Valid until the thread's next
 * call. */
const char *sim_compile_include(void);

#endif
