/* Programs under test: one file, as many private images of it as there are ranks.
 *
 * Life of an image: sim_program_image (pristine, constructors run) -> sim_program_main called on a
 * rank's stack -> sim_libc_finish (handlers and destructors) -> sim_program_reset for the next
 * world -> ... -> sim_program_close. A program is a shared object or an unmodified dynamic
 * position-independent executable with a `main`, linked against any libmpi_abi.so.1; the launcher
 * itself stands in for that library.
 *
 * Three loaders:
 * - clone: our own (default). Two or three pages an image; 16,384 images within the kernel's
 *   default limits, and any number beyond; one for all if the program has no variables
 *   (sim/programs/clone.h).
 * - dlopen: the system's dynamic linker, one file in memory per image: for debuggers and whatever
 *   clone refuses. About ten times slower, some thousands of images at most.
 * - shared: one image for all, no private globals. For programs known to be clean and very large
 *   runs.
 *
 * With clone each rank has its own copy of the libraries the program names, too
 * (sim/programs/closure.h); with the others, libraries are shared by all ranks.
 *
 * Not done: libc's locale, working directory, umask, environment and signal dispositions are
 * shared; dlsym and dladdr do not know clone images. */
#ifndef SIM_PROGRAMS_LOADER_H
#define SIM_PROGRAMS_LOADER_H

#include "traces/base/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_loader {
    SIM_LOADER_CLONE,
    SIM_LOADER_DLOPEN,
    SIM_LOADER_SHARED,
};

struct sim_program;

/* Opens `path` and prepares for images 0 .. images - 1; no image exists yet. NULL with a sentence
 * when the file is not an ELF, of another architecture, static, without `main`, needs a missing
 * library or symbol, or the system has not room for so many images. Owner: the caller,
 * sim_program_close. */
struct sim_program *sim_program_open(const char *path, enum sim_loader kind, int images,
                                     struct failure *failure);

struct sim_program_options {
    enum sim_loader kind;
    int images;
    /* Memory mappings the clone loader may use, beyond which images are copied instead of mapped;
     * 0: what the kernel leaves. */
    long maps_max;
    /* Ranks are OS threads, each image being made by the one that will use it. Executables with
     * thread-local variables need this; without it they are refused. */
    bool own_threads;
    /* Libraries of the program that all ranks share, names or patterns separated by commas; the
     * others are private to each rank, with the clone loader. NULL: none. */
    const char *shared_libraries;
};

/* The same, with everything that can be asked for. */
struct sim_program *sim_program_open_as(const char *path, const struct sim_program_options *options,
                                        struct failure *failure);

/* Releases all images. No code of theirs may run afterwards, so no rank may be alive. NULL is
 * allowed. */
void sim_program_close(struct sim_program *program);

/* Makes image `index`, or puts it back if it exists: globals, statics and thread-locals as in the
 * file, then its constructors run, in the caller's context. 0, or a failure code. Different images
 * may be made by different threads at once. With the shared loader every index means the one image,
 * made once: putting it back is for sim_program_reset. */
int sim_program_image(struct sim_program *program, int index, struct failure *failure);

/* The same for an image that exists; for the shared loader puts the one image back. */
int sim_program_reset(struct sim_program *program, int index, struct failure *failure);

/* `main` of an image that was made. */
int (*sim_program_main(const struct sim_program *program, int index))(int, char **, char **);

/* Whether a rank's code may go on on another thread than before: thread-locals are its own, and
 * nothing in the program or its private libraries asks which thread calls. */
bool sim_program_may_move(const struct sim_program *program);

/* Whether the program or a private library calls functions whose names begin so, or may do so by what it
 * opens later. */
bool sim_program_calls(const struct sim_program *program, const char *prefix);

/* A sentence about what ranks share although they should not (libraries that could not be copied);
 * NULL behind the last. */
const char *sim_program_warning(const struct sim_program *program, int number);

/* Module `number` of a program with private libraries: its file, and where it lies from the base of
 * its rank's image (its linker's address x is at base + shift + x, for x in [low, high)). Number 0
 * is the program. False behind the last. */
struct sim_program_module {
    const char *path;
    uint64_t shift, low, high;
};
bool sim_program_module(const struct sim_program *program, int number,
                        struct sim_program_module *module);

/* Translates an address in image `index` to the one the linker gave it: the same for every rank and
 * run, and what debug information is indexed by. False if `pc` is not in that image. */
bool sim_program_locate(const struct sim_program *program, int index, uintptr_t pc,
                        uint64_t *offset);

/* For `simrun doctor` and bench: how images are made ("mapped", "copied", "common",
 * "dlopen", "shared") and the size of one. */
const char *sim_program_strategy(const struct sim_program *program);
size_t sim_program_image_size(const struct sim_program *program);

#endif
