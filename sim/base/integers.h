/* integers.h: handles as the integers other languages hold them by (MPI_*_toint, MPI_*_fromint).
 *
 * A predefined handle is its own number. Any other gets the next number of its rank's table when it
 * is first asked for, and keeps it. Numbers are never used again, so the number of a freed object
 * yields a handle that every function recognises as freed, or that of an object made since at the
 * same place.
 */
#ifndef SIM_BASE_INTEGERS_H
#define SIM_BASE_INTEGERS_H

struct sim_integers {
    void **handles; /* number of the first: SIM_HANDLE_PREDEFINED */
    int count;
    int capacity;
};

/* The number of a handle; -1 when memory is short or `integers` is NULL and one is needed. */
int sim_integers_number(struct sim_integers *integers, void *handle);
/* The handle of a number; `null` for a number nobody was given. */
void *sim_integers_handle(const struct sim_integers *integers, int number, void *null);
void sim_integers_release(struct sim_integers *integers);

#endif
