/* MPI errors: one place that decides what an error class leads to.
 *
 * The error handler of the communicator decides: fatal stops the world (never the process), return
 * hands the class back, a user's handler is called. Never call this while holding the world: a
 * handler may call MPI. */
#ifndef SIM_WORLDS_ERROR_H
#define SIM_WORLDS_ERROR_H

#include "sim/worlds/rank.h"

#include <mpi.h>

/* Raises `error_class` for the calling rank on `comm` (MPI_COMM_NULL: none, then the world's
 * handler). `function` is the MPI name without prefix ("Send"); the sentence says what is wrong
 * with which argument. Returns what the MPI function should return; does not return when the
 * handler is fatal. Outside a rank it returns the class. */
int sim_error_raise(MPI_Comm comm, int error_class, const char *function, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for the two buffers of one call that overlap: B002 with MPI_ERR_BUFFER. */
int sim_error_raise_overlap(MPI_Comm comm, const char *function);

/* The same for what a trace shows by itself: calls of a collective that do not fit together. */
int sim_error_raise_mismatch(MPI_Comm comm, int error_class, const char *function,
                             const char *sentence);

/* The same for an error that a function of the program's own has returned, such as an attribute's: that may be meant. */
int sim_error_raise_callback(MPI_Comm comm, int error_class, const char *function,
                             const char *sentence);

/* The same where the program calls the handler: no error but what that does. */
int sim_error_called(MPI_Comm comm, int error_class, const char *function);

/* MPI_SUCCESS where the handle is a communicator of the calling rank, else what `function` must
 * return. For rooms below those of communicators. */
int sim_error_comm_check(MPI_Comm handle, const char *function);

/* The MPI function that the program called, without prefix: MPI_Isend_c where its checks speak of
 * Isend. `function` where the call's place does not tell. */
const char *sim_error_function(const char *function);

/* "MPI_ERR_RANK" for a class; "MPI_ERR_?" for an unknown one. Sentence of the standard's meaning.
 */
const char *sim_error_name(int error_class);
const char *sim_error_meaning(int error_class);

/* Error handlers as objects: MPI_ERRORS_ARE_FATAL, _ABORT, _RETURN, and users' functions, counted
 * by references. */

/* What a function is made for. */
/* A session that raises. */
struct sim_error_session {
    MPI_Session handle;
    const MPI_Errhandler *errhandler;
};
int sim_error_raise_session(const struct sim_error_session *session, int error_class,
                            const char *function, const char *sentence, const char *code);

enum sim_errhandler_kind {
    SIM_ERRHANDLER_ANY,
    SIM_ERRHANDLER_COMM,
    SIM_ERRHANDLER_WIN,
    SIM_ERRHANDLER_SESSION
};

/* With one reference; MPI_ERRHANDLER_NULL: out of memory. */
MPI_Errhandler sim_errhandler_new(enum sim_errhandler_kind kind,
                                  MPI_Comm_errhandler_function *function);
bool sim_errhandler_valid(MPI_Errhandler handler);
bool sim_errhandler_made(MPI_Errhandler handler); /* by the program */
/* NULL, or why it is none for such an object. */
const char *sim_errhandler_unfit(MPI_Errhandler handler, enum sim_errhandler_kind kind);
void sim_errhandler_retain(MPI_Errhandler handler);
void sim_errhandler_release(MPI_Errhandler handler);

/* The caller, if it is a rank between Init and Finalize or in a session; NULL after raising the
 * error. */
struct sim_rank *sim_point_refuse(const char *function);
static inline struct sim_rank *sim_point_caller(const char *function)
{
    struct sim_rank *rank = sim_current_rank;
    if (__builtin_expect(rank && rank->initialized && !rank->finalized, 1))
        return rank;
    return sim_point_refuse(function);
}

/* For calls that need no communicator: MPI_SUCCESS for a rank between Init and Finalize or in a
 * session, and for who is no rank; else what the MPI function must return. */
static inline int sim_point_outside(const char *function)
{
    return !sim_current_rank || sim_point_caller(function) ? MPI_SUCCESS : MPI_ERR_OTHER;
}

#endif
