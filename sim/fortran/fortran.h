/* What Fortran's functions are made of: see bindings.pl. The library is linked to programs by simfort; each rank has its copy.
 *
 * Room: sees nothing. Seen by programs. */
#ifndef SIM_FORTRAN_FORTRAN_H
#define SIM_FORTRAN_FORTRAN_H

#include <stdint.h>
#include <stdlib.h>

#include <mpi.h>

/* Compilers agree on one underscore behind a name in small letters; some write the name as it is, and gfortran can be asked for two
 * underscores. */
#define FORTRAN_FUNCTION(type, name, symbol, parameters)                                           \
    type fortran_##name parameters __asm__(symbol "_");                                            \
    extern __typeof__(fortran_##name) fortran_##name##_two __asm__(symbol "__")                    \
        __attribute__((weak, alias(symbol "_")));                                                  \
    type fortran_##name parameters
#define FUNCTION(type, name, parameters) FORTRAN_FUNCTION(type, name, "mpi_" #name, parameters)
#define SUBROUTINE(name, parameters)     FUNCTION(void, name, parameters)
#define BY_HAND(name, parameters)        SUBROUTINE(name, parameters)

/* What a call is blamed on is the line in Fortran; weak, for linkers that look into libraries. */
void site_enter(const void *site) __asm__("simrun.record_site_enter") __attribute__((weak));
void site_leave(void) __asm__("simrun.record_site_leave") __attribute__((weak));
/* Loads and stores of a library's on behalf of the program, likewise. */
void tell_range(const void *address, size_t size, int write,
                const void *site) __asm__("__simrun_range") __attribute__((weak));
/* In mpi_f08 ierror may be left out. */
#define ENTER()                                                                                    \
    int ierror_unasked;                                                                            \
    if (!ierror)                                                                                   \
        ierror = &ierror_unasked;                                                                  \
    if (site_enter)                                                                                \
    site_enter(__builtin_return_address(0))
#define LEAVE()                                                                                    \
    if (site_leave)                                                                                \
    site_leave()

/* Handles as integers. */
#define INTEGER(name, type)                                                                        \
    static inline MPI_##type name##_in(int number)                                                 \
    {                                                                                              \
        return MPI_##name##_fromint(number);                                                       \
    }                                                                                              \
    static inline int name##_out(MPI_##type handle)                                                \
    {                                                                                              \
        return MPI_##name##_toint(handle);                                                         \
    }
INTEGER(Comm, Comm)
INTEGER(Errhandler, Errhandler)
INTEGER(Group, Group)
INTEGER(Info, Info)
INTEGER(Message, Message)
INTEGER(Op, Op)
INTEGER(Request, Request)
INTEGER(Session, Session)
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

/* Memory for an array; ends the program if there is none. */
void *fortran_room(size_t count, size_t size);

/* The lengths of the arrays of types of all-to-all. */
int peers_of(int comm);
int neighbours_of(int comm);

/* Common blocks of mpif.h: their addresses have a meaning. The program's, where it has them. */
extern int fortran_bottom[] __asm__("simrun_bottom_");
extern int fortran_in_place[] __asm__("simrun_in_place_");
extern int fortran_status_ignore[] __asm__("simrun_status_ignore_");
extern int fortran_statuses_ignore[] __asm__("simrun_statuses_ignore_");
extern int fortran_unweighted[] __asm__("simrun_unweighted_");
extern int fortran_weights_empty[] __asm__("simrun_weights_empty_");

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
char *string_in(const char *text, size_t length);
void string_out(char *text, size_t length, const char *from);

#endif
