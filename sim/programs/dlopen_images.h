/* Images made by the system's dynamic linker: a copy of the program file in memory for each, opened
 * with dlopen.
 *
 * Copies are anonymous files; their descriptors stay open so that a debugger can read them as
 * /proc/PID/fd/N. In each copy a few things are changed: the mark of an executable and the need for
 * the MPI library (which the launcher is), at which dlopen would stop, and, for private copies, the
 * destructors, which are to run at the rank's end and not when the copy goes. Private copies have
 * getopt's variables for themselves, too. */
#ifndef SIM_PROGRAMS_DLOPEN_IMAGES_H
#define SIM_PROGRAMS_DLOPEN_IMAGES_H

#include "sim/programs/resolve.h"

struct linked_copy {
    void *handle; /* NULL: not made */
    uintptr_t base;
    int file_descriptor;
    struct resolve_getopt getopt; /* of a private copy */
};

struct linked {
    const struct image *image;
    struct linked_copy *copies;
    int count;
    bool private; /* each copy is of one rank */
};

/* Prepares; nothing is opened yet. Fails when the process may not hold so many open files. */
int linked_open(struct linked *linked, const struct image *image, int count, bool private,
                struct failure *failure);
void linked_release(struct linked *linked);

/* Makes copy `index`, or closes it and makes it anew. The dynamic linker runs constructors and,
 * when it goes, destructors. */
int linked_make(struct linked *linked, int index, struct failure *failure);
bool linked_made(const struct linked *linked, int index);
uintptr_t linked_base(const struct linked *linked, int index);

#endif
