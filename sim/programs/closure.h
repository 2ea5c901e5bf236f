/* A program and the libraries it needs, each rank with its own copy of all of them.
 *
 * Libraries are found as the dynamic linker would find them (sim/elf/library_path.h), and each
 * is an image that is cloned as the program is. All modules of a rank lie in its part of one range,
 * at distances that are the same for every rank, so that a reference from one module to another is
 * a constant beside the base. What a process has once (the C library, threads, OpenMP, sanitizers),
 * what the user declares shared, and what cannot be copied is loaded once, by the dynamic linker;
 * of the last a warning tells which variables the ranks then share. */
#ifndef SIM_PROGRAMS_CLOSURE_H
#define SIM_PROGRAMS_CLOSURE_H

#include "sim/elf/library_path.h"
#include "sim/programs/clone.h"

#include <limits.h>

struct closure_module {
    bool shim; /* stands in for another MPI's library */
    const struct image *image;
    struct image own; /* of a library */
    struct clone clone;
    uint64_t offset; /* of its lowest address in a rank's part */
    int *needs;      /* modules it names */
    int needs_count;
    bool ordered;
    int group;     /* who sees its names: 0 all, else what was opened with it */
    int own_group; /* of what came with it, when it was opened by the program */
    bool *made;    /* of a plugin: which ranks opened it; NULL: all ranks have it from the start */
};

struct closure_options {
    int count;          /* of images */
    bool clones;        /* made by the clone loader */
    bool private;       /* libraries, too; else they are shared without a word */
    const char *shared; /* names of libraries that stay one, separated by commas; may be NULL */
    long maps_max;      /* mappings the images may use; 0: what the kernel leaves */
    bool own_threads;   /* each image will be used by one OS thread and those it starts */
};

/* What the program or a library called a library that it needs. */
enum { CLOSURE_SHARED = -1 };
struct closure_name {
    char *text;
    uint32_t hash;
    int module; /* CLOSURE_SHARED: loaded once, for all ranks */
};

struct closure {
    struct closure_module *modules; /* the program first, then breadth first */
    int count;
    int started; /* so many are there from the start; the others were opened (plugin.c) */
    int *order;  /* what is needed before who needs it */
    struct resolver resolver;
    struct range range;
    uint64_t room_at; /* for plugins, in each rank's part; up to range.span */
    struct closure_options options;
    const char *
        mpi; /* whose all modules call: "simrun", or another's as in sim/elf/foreign.h; NULL: nobody's */
    struct closure_name *names; /* that have been found */
    int name_count;
    struct library_cache cache;
    char shim[PATH_MAX]; /* the library that stands in for it; "": none */
    char *warnings[16];  /* sentences about libraries that could not be copied */
    int warning_count;
};

/* Finds what `program` needs, transitively. `program` must outlive it. On failure nothing is held
 * and the sentence names the library. */
int closure_open(struct closure *closure, const struct image *program,
                 const struct closure_options *options, struct failure *failure);
void closure_close(struct closure *closure);

/* Loads all libraries once, for images that the dynamic linker makes, with a warning for each that
 * has variables. */
int closure_link(struct closure *closure, struct failure *failure);

/* Adds the library at `path` and what it needs, if it is not there and `may_add`; its number. -1
 * with a sentence. */
int closure_add(struct closure *closure, const char *path, bool may_add, bool global,
                struct failure *failure);

/* What `image` needs is an MPI library, ours or another's: closure->shim becomes the path of what stands in for it,
 * "" if simrun itself does. All modules must have been built for the same. */
int closure_mpi(struct closure *closure, const struct image *image, const char *needed,
                struct failure *failure);

/* Which library a name was found to be; false if it was not asked for yet. */
bool closure_name_find(const struct closure *closure, const char *name, int *module);
void closure_name_add(struct closure *closure, const char *name, int module);
/* Modules from `first` on are gone; module `gone` is shared now, and those behind it have moved up. */
void closure_names_drop(struct closure *closure, int first);
void closure_names_share(struct closure *closure, int gone);
void closure_names_free(struct closure *closure);

/* What ranks share, and why they do. */
void closure_warn(struct closure *closure, const char *name, const char *why);

/* Runs an image's constructors. */
void image_construct(const struct image *image, uintptr_t base);

/* Plans and reserves the images; a library that turns out not to be copyable is shared from then
 * on. closure_clear undoes it. */
int closure_clone(struct closure *closure, const struct closure_options *options,
                  struct failure *failure);
void closure_clear(struct closure *closure);

/* Makes all modules of image `index` pristine; runs nothing but selector functions. */
int closure_make(struct closure *closure, int index, struct failure *failure);

#endif
