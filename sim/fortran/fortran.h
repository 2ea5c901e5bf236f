/* What Fortran's functions are made of: see bindings.pl. The library is linked to programs by simfort; each rank has its copy. It is compiled
 * once more (-DSHIM_OPENMPI) to stand in for the library that Open MPI's Fortran programs need, on top of what stands in for its C library
 * (sim/shims): handles, constants and statuses are then that MPI's.
 *
 * Room: sees nothing. Seen by programs. */
#ifndef SIM_FORTRAN_FORTRAN_H
#define SIM_FORTRAN_FORTRAN_H

#include <stdint.h>
#include <stdlib.h>

#include <mpi.h>

#ifdef SHIM_OPENMPI
#include "shims/openmpi_constants.h"
#ifndef __clang__ /* gcc takes conversions by functions of another library for none */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#undef MPI_UNWEIGHTED
#undef MPI_WEIGHTS_EMPTY
#define MPI_UNWEIGHTED     ((int *)2)
#define MPI_WEIGHTS_EMPTY  ((int *)3)
#define COMMON_BLOCK(name) "mpi_fortran_" name "_"
typedef unsigned text_length; /* its module mpi_f08 passes an integer */
#else
#define COMMON_BLOCK(name) "simrun_" name "_"
typedef size_t text_length;
#endif

/* Compilers agree on one underscore behind a name in small letters; some write the name as it is, and gfortran can be asked for two
 * underscores. */
#define FORTRAN_FUNCTION(type, name, symbol, parameters)                                           \
    type fortran_##name parameters __asm__(symbol "_");                                            \
    extern __typeof__(fortran_##name) fortran_##name##_two __asm__(symbol "__")                    \
        __attribute__((weak, alias(symbol "_")));                                                  \
    type fortran_##name parameters
#ifdef SHIM_OPENMPI
#define ALSO(name, symbol, as)                                                                     \
    extern __typeof__(fortran_##name) fortran_##name##_##as __asm__(symbol)                        \
        __attribute__((weak, alias("mpi_" #name "_")));
/* Open MPI's module mpi_f08 calls the last of these names. */
#define FUNCTION(type, name, parameters)                                                           \
    type fortran_##name parameters __asm__("mpi_" #name "_");                                      \
    ALSO(name, "mpi_" #name "__", two)                                                             \
    ALSO(name, "pmpi_" #name "_", profiling)                                                       \
    ALSO(name, "ompi_" #name "_f", internal)                                                       \
    type fortran_##name parameters
#else
#define FUNCTION(type, name, parameters) FORTRAN_FUNCTION(type, name, "mpi_" #name, parameters)
#endif
#define SUBROUTINE(name, parameters) FUNCTION(void, name, parameters)
#define BY_HAND(name, parameters)    SUBROUTINE(name, parameters)

/* What a call is blamed on is the line in Fortran. */
#ifdef SHIM_OPENMPI
extern __thread const void *shim_outer; /* the library below blames that */
static inline void site_enter(const void *site)
{
    shim_outer = site;
}
static inline void site_leave(void)
{
    shim_outer = NULL;
}
#else
/* Weak, for linkers that look into libraries. */
void site_enter(const void *site) __asm__("simrun.record_site_enter") __attribute__((weak));
void site_leave(void) __asm__("simrun.record_site_leave") __attribute__((weak));
#endif
/* Loads and stores of a library's on behalf of the program, likewise. */
void tell_range(const void *address, size_t size, int write,
                const void *site) __asm__("__simrun_range") __attribute__((weak));
#ifdef SHIM_OPENMPI
#define SITE(function, ...) function(__VA_ARGS__)
#else
#define SITE(function, ...)                                                                        \
    if (function)                                                                                  \
    function(__VA_ARGS__)
#endif
/* In mpi_f08 ierror may be left out. */
#define ENTER()                                                                                    \
    int ierror_unasked;                                                                            \
    if (!ierror)                                                                                   \
        ierror = &ierror_unasked;                                                                  \
    SITE(site_enter, __builtin_return_address(0))
#define LEAVE()                                                                                    \
    if (fortran_laters)                                                                            \
        fortran_later_look();                                                                      \
    SITE(site_leave, )

/* Handles as integers. Those of another MPI by its functions, under the names that mpi.h has none of its own for. */
#ifdef SHIM_OPENMPI
#define INTEGER(name, type)                                                                        \
    MPI_##type name##_in(int number) __asm__("PMPI_" #name "_f2c");                                \
    int name##_out(MPI_##type handle) __asm__("PMPI_" #name "_c2f");
#else
#define INTEGER(name, type)                                                                        \
    static inline MPI_##type name##_in(int number)                                                 \
    {                                                                                              \
        return MPI_##name##_fromint(number);                                                       \
    }                                                                                              \
    static inline int name##_out(MPI_##type handle)                                                \
    {                                                                                              \
        return MPI_##name##_toint(handle);                                                         \
    }
#endif
INTEGER(Comm, Comm)
INTEGER(Errhandler, Errhandler)
INTEGER(Group, Group)
INTEGER(Info, Info)
INTEGER(Message, Message)
INTEGER(Op, Op)
INTEGER(Request, Request)
#ifndef SHIM_OPENMPI
INTEGER(Session, Session)
#endif
INTEGER(Type, Datatype)
INTEGER(Win, Win)

/* Arrays of handles; KEEP for as long as the program runs, since a nonblocking operation reads it until it is complete. */
enum { ROOM_ENTRIES = 32, STRING_MAX = MPI_MAX_LIBRARY_VERSION_STRING };
#define ROOM(type, own, count)                                                                     \
    type own##_room[ROOM_ENTRIES],                                                                 \
        *own = (count) <= ROOM_ENTRIES ? own##_room : fortran_room((size_t)(count), sizeof *own);
#define ROOM_FREE(own)                                                                             \
    if (own != own##_room)                                                                         \
        free(own);
#define KEEP(type, own, count) type *own = fortran_room((size_t)(count) + 1, sizeof *own);

/* A communicator that is there when a request completes: where its handle is put, and looking whether one is there. */
struct fortran_later;
extern struct fortran_later *fortran_laters;
MPI_Comm *fortran_later(int *number);
void fortran_later_look(void);

/* Memory for an array; ends the program if there is none. */
void *fortran_room(size_t count, size_t size);

/* The lengths of the arrays of types of all-to-all. */
int peers_of(int comm);
int neighbours_of(int comm);

/* Common blocks of mpif.h: their addresses have a meaning. The program's, where it has them. */
extern int fortran_bottom[] __asm__(COMMON_BLOCK("bottom"));
extern int fortran_in_place[] __asm__(COMMON_BLOCK("in_place"));
extern int fortran_status_ignore[] __asm__(COMMON_BLOCK("status_ignore"));
extern int fortran_statuses_ignore[] __asm__(COMMON_BLOCK("statuses_ignore"));
extern int fortran_unweighted[] __asm__(COMMON_BLOCK("unweighted"));
extern int fortran_weights_empty[] __asm__(COMMON_BLOCK("weights_empty"));

static inline void *address_in(void *address)
{
    return address == fortran_in_place ? MPI_IN_PLACE
           : address == fortran_bottom ? MPI_BOTTOM
                                       : address;
}
#define ADDRESS(address) address_in(address)

/* The eight integers of a status are those of C. */
static inline MPI_Status *status_in(const int *status)
{
    return status == fortran_status_ignore || status == fortran_statuses_ignore
               ? MPI_STATUS_IGNORE
               : (MPI_Status *)(uintptr_t)status;
}
#define STATUS(status) status_in(status)

static inline int *weights_in(const int *weights)
{
    return weights == fortran_unweighted      ? MPI_UNWEIGHTED
           : weights == fortran_weights_empty ? MPI_WEIGHTS_EMPTY
                                              : (int *)(uintptr_t)weights;
}
#define WEIGHTS(weights) weights_in(weights)

/* Fortran counts from 1. */
static inline int position_out(int position)
{
    return position == MPI_UNDEFINED ? position : position + 1;
}
void positions_out(int *positions, int count);

/* Strings: blanks at the end mean nothing. The first is the caller's to free. */
char *string_in(const char *text, text_length length);
void string_out(char *text, text_length length, const char *from);

#endif
