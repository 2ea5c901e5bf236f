/* Images made by the system's dynamic linker: a copy of the program file in memory for each, opened
 * with dlopen.
 *
 * Copies are anonymous files; their descriptors stay open so that a debugger can read them as
 * /proc/PID/fd/N. In each copy two things are changed that dlopen would stop at: the mark of an
 * executable, and the need for the MPI library, which the launcher is. */
#ifndef SIM_LINKED_H
#define SIM_LINKED_H

#include "sim/image.h"

struct linked_copy {
    void *handle; /* NULL: not made */
    uintptr_t base;
    int file_descriptor;
};

struct linked {
    const struct image *image;
    struct linked_copy *copies;
    int count;
};

/* Prepares; nothing is opened yet. Fails when the process may not hold so many open files. */
int linked_open(struct linked *linked, const struct image *image, int count,
                struct failure *failure);
void linked_release(struct linked *linked);

/* Makes copy `index`, or closes it and makes it anew. The dynamic linker runs constructors and,
 * when it goes, destructors. */
int linked_make(struct linked *linked, int index, struct failure *failure);
bool linked_made(const struct linked *linked, int index);
uintptr_t linked_base(const struct linked *linked, int index);

#endif
