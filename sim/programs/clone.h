/* Private images of one program, as many as there are ranks, in one reserved range of addresses.
 *
 * Image i lies at base + i * stride: read-only pieces, data, zeroed data, and behind them what is
 * not in the file: the thread-local block and getopt's variables. There are three ways to fill it.
 *
 * - mapped: the read-only pieces are mapped from the file (shared by all images and other
 *   processes), the rest is anonymous memory. Two mappings an image for a usual program.
 * - copied: the read-only pieces are copied too, and all images together are one mapping,
 *   readable, writable and executable. For more images than the kernel allows mappings
 *   (vm.max_map_count). A stray write into code or constants is then not caught.
 * - common: a program without variables has nothing in its image that a rank could change. Every
 *   index means one mapped image, made when the clone is opened and write-protected from then on. Code that runs at
 *   one address stays in the caches; a thousand images of it do not.
 *
 * Pages that an image never touches take no memory either way. Different images may be made at the
 * same time. */
#ifndef SIM_PROGRAMS_CLONE_H
#define SIM_PROGRAMS_CLONE_H

#include "sim/elf/image.h"
#include "sim/libc/images.h"
#include "sim/programs/range.h"
#include "sim/programs/relocate.h"

struct libc_handler;
struct closure;

/* What is remembered of one image. */
struct clone_state {
    struct libc_handler *handlers; /* registered by its constructors, run after those of its rank */
    uint32_t generation;           /* grows each time the image is made; 0: never */
};

struct clone {
    const struct image *image;
    struct relocate_plan plan;
    struct relocate_extra extra;
    uint64_t span, stride; /* of one image; whole pages, and the distance to the next */
    uintptr_t first;       /* address of image 0; its base is this minus image->low */
    size_t reserved;       /* from there to the end of the last */
    int count;
    struct closure *closure; /* that it is part of */
    struct clone *program; /* whose handlers' list is all modules'; itself, if it is the program */
    enum libc_between between;
    bool static_tls; /* thread-locals are the OS thread's: see clone_thread_enter */
    int maps_each;   /* mappings an image takes when mapped */
    bool copied;
    bool common; /* all indexes are the same image */
    struct clone_state *states;
};

/* Works out how much room an image takes, and whether one serves all ranks; holds nothing yet. */
void clone_open(struct clone *clone, const struct image *image, int count, bool own_threads);

/* How much of a range its images take: mappings and bytes, if their code is copied. */
int clone_maps(const struct clone *clone);
uint64_t clone_bytes_copied(const struct clone *clone);

/* Plans relocation and puts the images `offset` behind the beginning of each rank's part; a common
 * image is made at once. `image`, `resolver` and the range must outlive it. Owner: the caller,
 * clone_release, also on failure. */
int clone_place(struct clone *clone, const struct resolver *resolver, const struct range *range,
                uint64_t offset, struct failure *failure);
void clone_release(struct clone *clone);

/* Makes image `index` pristine, whatever it was before; runs nothing but selector functions. The
 * calling thread has the image's thread-locals then, as after clone_thread_enter. */
int clone_make(struct clone *clone, int index, struct failure *failure);

uintptr_t clone_base(const struct clone *clone, int index);

/* Which image holds an address, -1 if none; and the same among all clones of the process (safe in a
 * signal handler), NULL if none. */
int clone_index(const struct clone *clone, uintptr_t address);
struct clone *clone_find(uintptr_t address, int *index);

/* Frees the thread-locals of the calling thread, one that a rank started (sim/libc/images.h). */
void clone_thread_end(void);

/* For images whose thread-locals are the OS thread's (sim/programs/static_tls.h): gives the calling
 * thread those of image `index`, with their initial values if it was another's before. */
void clone_thread_enter(const struct clone *clone, int index);

#endif
