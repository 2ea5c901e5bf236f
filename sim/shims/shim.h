/* What the functions of another MPI's library are made of.
 *
 * The library is compiled once for each MPI (-DSHIM_OPENMPI or -DSHIM_MPICH) and loaded in place of that MPI's own: each rank has its
 * copy, as of every library (sim/programs/closure.h). F_Comm and so on are that MPI's types; in_X makes ours of theirs, out_X theirs
 * of ours. Functions of simrun are reached under their name with "simrun." in front, since the library defines theirs itself. */
#ifndef SIM_SHIMS_SHIM_H
#define SIM_SHIMS_SHIM_H

#include <stdint.h>
#include <stdlib.h>

#include <mpi.h>

#ifdef SHIM_OPENMPI
#include "sim/shims/openmpi.h"
#else
#include "sim/shims/mpich.h"
#endif

/* A function of simrun; one of theirs, under both of its names; the older name of one. */
#define OURS(returns, name, parameters)                                                            \
    extern returns ours_##name parameters __asm__("simrun.MPI_" #name);
#define THEIRS(returns, name, parameters)                                                          \
    returns shim_##name parameters __asm__("PMPI_" #name);                                         \
    extern __typeof__(shim_##name) shim_mpi_##name __asm__("MPI_" #name)                           \
        __attribute__((weak, alias("PMPI_" #name)));                                               \
    returns shim_##name parameters
#define OLDER(older, name)                                                                         \
    extern __typeof__(shim_##name) shim_##older __asm__("MPI_" #older)                             \
        __attribute__((weak, alias("PMPI_" #name)));                                               \
    extern __typeof__(shim_##name) shim_p_##older __asm__("PMPI_" #older)                          \
        __attribute__((weak, alias("PMPI_" #name)));
#define BY_HAND(name, parameters) THEIRS(int, name, parameters)

/* What a call is blamed on is the line that called the shim. */
void site_enter(const void *site) __asm__("simrun.record_site_enter");
void site_leave(void) __asm__("simrun.record_site_leave");
#ifdef SHIM_OPENMPI
#define ENTER() site_enter(shim_outer ? shim_outer : __builtin_return_address(0))
/* The line that called a library on top of this one (sim/fortran), while a call of that one is under way. */
extern __thread const void *shim_outer;
#else
#define ENTER()                                                                                    \
    site_enter(mpirinitf_ ? outer_site(__builtin_return_address(0), __builtin_frame_address(0))    \
                          : __builtin_return_address(0))
/* Of MPICH's own library for Fortran, where that is there; and the line that called it. */
extern char mpirinitf_[] __attribute__((weak));
const void *outer_site(const void *site, void *const *frame) __asm__("simrun.sim_libc_outer_site");
#endif
#define LEAVE() site_leave()

/* Calls `call` with `own`, ours of the handle that *theirs becomes. */
#define MADE(kind, theirs, call)                                                                   \
    ENTER();                                                                                       \
    MPI_##kind own = NULL;                                                                         \
    int result = call;                                                                             \
    if (own)                                                                                       \
        *(theirs) = out_##kind(own);                                                               \
    LEAVE();                                                                                       \
    return out_error(result)

/* Ours for an array of theirs: `own` is NULL if theirs is. KEEP: for as long as the program runs, since a nonblocking operation reads it
 * until it is complete. */
enum { ROOM_ENTRIES = 32 };
#define ROOM(type, own, theirs, count)                                                             \
    type own##_room[ROOM_ENTRIES], *own = !(theirs) ? NULL                                         \
                                          : (count) <= ROOM_ENTRIES                                \
                                              ? own##_room                                         \
                                              : shim_room((size_t)(count), sizeof *own);
#define ROOM_FREE(own)                                                                             \
    if (own != own##_room)                                                                         \
        free(own);
#define KEEP(type, own, theirs, count)                                                             \
    type *own = !(theirs) ? NULL : shim_room((size_t)(count) + 1, sizeof *own);

/* Memory for an array; ends the program if there is none. */
void *shim_room(size_t count, size_t size);

/* What our functions are given as the extra state of an attribute; it stays, since a key may be used after it was freed. */
struct shim_attribute {
    void *copy, *remove, *extra;
    int key;
    struct shim_attribute *next;
#ifdef SHIM_MPICH
    /* How MPICH's library for Fortran wants its programs' functions to be called; NULL: they are C's. */
    int (*copy_proxy)(void *function, int handle, int key, void *extra, int kind, void *value,
                      void **copied, int *flag);
    int (*remove_proxy)(void *function, int handle, int key, int kind, void *value, void *extra);
#endif
};
struct shim_attribute *shim_attribute_of(int key);

/* Says that the functions of the generalised request that was started last are Fortran's. */
void shim_grequest_of_fortran(void);

/* How many types the w-forms of all-to-all have. */
int peers_of(F_Comm comm);
int sources_of(F_Comm comm);
int targets_of(F_Comm comm);

/* Statuses: ours for one of theirs (the program may have set its fields), NULL where it is ignored; and back. */
MPI_Status *status_in(const F_Status *theirs, MPI_Status *ours);
void status_out(F_Status *theirs, const MPI_Status *ours);

#define FAMILY(name)                                                                               \
    int in_##name(int value);                                                                      \
    int out_##name(int value);
FAMILY(rank)
FAMILY(tag)
FAMILY(thread)
FAMILY(compare)
FAMILY(topology)
FAMILY(split)
FAMILY(order)
FAMILY(distribution)
FAMILY(argument)
FAMILY(lock)
FAMILY(typeclass)
FAMILY(assertion)
FAMILY(combiner)
FAMILY(keyval)
FAMILY(flavour)
FAMILY(model)
FAMILY(error)

#endif
