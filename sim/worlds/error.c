/* What an error leads to (error.h), error handlers as objects, and the standard's classes. */
#include "sim/worlds/error.h"
#include "sim/worlds/rank_lock.h"

#include "sim/base/handle.h"
#include "sim/worlds/interrupt.h"

#include "recorder/recorder.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

#define CLASSES(X)                                                                                 \
    X(SUCCESS, "no error")                                                                         \
    X(ERR_BUFFER, "invalid buffer")                                                                \
    X(ERR_COUNT, "invalid count")                                                                  \
    X(ERR_TYPE, "invalid datatype")                                                                \
    X(ERR_TAG, "invalid tag")                                                                      \
    X(ERR_COMM, "invalid communicator")                                                            \
    X(ERR_RANK, "invalid rank")                                                                    \
    X(ERR_REQUEST, "invalid request")                                                              \
    X(ERR_ROOT, "invalid root")                                                                    \
    X(ERR_GROUP, "invalid group")                                                                  \
    X(ERR_OP, "invalid reduction operation")                                                       \
    X(ERR_TOPOLOGY, "invalid topology")                                                            \
    X(ERR_DIMS, "invalid dimensions")                                                              \
    X(ERR_ARG, "invalid argument of some other kind")                                              \
    X(ERR_UNKNOWN, "unknown error")                                                                \
    X(ERR_TRUNCATE, "message truncated on receive")                                                \
    X(ERR_OTHER, "known error not in this list")                                                   \
    X(ERR_INTERN, "internal error")                                                                \
    X(ERR_PENDING, "pending request")                                                              \
    X(ERR_IN_STATUS, "error code is in the status")                                                \
    X(ERR_ACCESS, "permission denied")                                                             \
    X(ERR_ASSERT, "invalid assert argument")                                                       \
    X(ERR_BASE, "invalid base of memory")                                                          \
    X(ERR_DISP, "invalid displacement")                                                            \
    X(ERR_INFO, "invalid info")                                                                    \
    X(ERR_INFO_KEY, "info key too long")                                                           \
    X(ERR_INFO_NOKEY, "info key not there")                                                        \
    X(ERR_INFO_VALUE, "info value too long")                                                       \
    X(ERR_KEYVAL, "invalid key value")                                                             \
    X(ERR_LOCKTYPE, "invalid lock type")                                                           \
    X(ERR_NAME, "name not published")                                                              \
    X(ERR_NO_MEM, "out of memory")                                                                 \
    X(ERR_NOT_SAME, "argument differs between ranks")                                              \
    X(ERR_RMA_ATTACH, "memory cannot be attached to the window")                                   \
    X(ERR_RMA_CONFLICT, "conflicting accesses to a window")                                        \
    X(ERR_RMA_FLAVOR, "a window of another flavor")                                                \
    X(ERR_RMA_RANGE, "access outside a window")                                                    \
    X(ERR_RMA_SHARED, "memory cannot be shared")                                                   \
    X(ERR_RMA_SYNC, "wrong synchronisation of window accesses")                                    \
    X(ERR_SIZE, "invalid size")                                                                    \
    X(ERR_UNSUPPORTED_OPERATION, "operation not supported")                                        \
    X(ERR_WIN, "invalid window")                                                                   \
    X(ERR_PROC_ABORTED, "a peer has aborted")                                                      \
    X(ERR_VALUE_TOO_LARGE, "value too large to store")                                             \
    X(ERR_AMODE, "invalid mode of access to a file")                                               \
    X(ERR_BAD_FILE, "invalid name of a file")                                                      \
    X(ERR_CONVERSION, "an error while data were converted")                                        \
    X(ERR_DUP_DATAREP, "a data representation of this name exists")                                \
    X(ERR_FILE_EXISTS, "the file exists")                                                          \
    X(ERR_FILE_IN_USE, "the file is open elsewhere")                                               \
    X(ERR_FILE, "invalid file")                                                                    \
    X(ERR_IO, "an error of input or output")                                                       \
    X(ERR_NO_SPACE, "no space on the device")                                                      \
    X(ERR_NO_SUCH_FILE, "the file does not exist")                                                 \
    X(ERR_PORT, "invalid name of a port")                                                          \
    X(ERR_QUOTA, "quota exceeded")                                                                 \
    X(ERR_READ_ONLY, "the file can only be read")                                                  \
    X(ERR_SERVICE, "invalid name of a service")                                                    \
    X(ERR_SPAWN, "processes cannot be started")                                                    \
    X(ERR_UNSUPPORTED_DATAREP, "data representation not supported")                                \
    X(ERR_ABI, "wrong use of the binary interface")                                                \
    X(ERR_SESSION, "invalid session")                                                              \
    X(ERR_ERRHANDLER, "invalid error handler")                                                     \
    X(ERR_PROC_FAILED, "a process that takes part has failed")                                     \
    X(ERR_PROC_FAILED_PENDING,                                                                     \
      "a process that could have sent the message has failed; the receive still waits")            \
    X(T_ERR_CANNOT_INIT, "the tool interface cannot be initialized")                               \
    X(T_ERR_NOT_ACCESSIBLE, "the tool interface is not accessible")                                \
    X(T_ERR_NOT_INITIALIZED, "the tool interface is not initialized")                              \
    X(T_ERR_NOT_SUPPORTED, "not supported by the tool interface")                                  \
    X(T_ERR_MEMORY, "the tool interface is out of memory")                                         \
    X(T_ERR_INVALID, "invalid use of the tool interface")                                          \
    X(T_ERR_INVALID_INDEX, "invalid index")                                                        \
    X(T_ERR_INVALID_ITEM, "invalid item")                                                          \
    X(T_ERR_INVALID_SESSION, "invalid session of the tool interface")                              \
    X(T_ERR_INVALID_HANDLE, "invalid handle")                                                      \
    X(T_ERR_INVALID_NAME, "invalid name")                                                          \
    X(T_ERR_OUT_OF_HANDLES, "no more handles")                                                     \
    X(T_ERR_OUT_OF_SESSIONS, "no more sessions")                                                   \
    X(T_ERR_CVAR_SET_NOT_NOW, "the variable cannot be set now")                                    \
    X(T_ERR_CVAR_SET_NEVER, "the variable can never be set")                                       \
    X(T_ERR_PVAR_NO_WRITE, "the variable cannot be written")                                       \
    X(T_ERR_PVAR_NO_STARTSTOP, "the variable cannot be started or stopped")                        \
    X(T_ERR_PVAR_NO_ATOMIC, "the variable cannot be read and written at once")                     \
    X(ERR_REVOKED, "the communicator has been revoked")

static const struct {
    int class;
    const char *name, *meaning;
} classes[] = {
#define X(name, meaning) {MPI_##name, "MPI_" #name, "MPI_" #name ": " meaning},
    CLASSES(X)
#undef X
};

enum { CLASS_COUNT = sizeof classes / sizeof classes[0] };

const char *sim_error_name(int error_class)
{
    for (size_t i = 0; i < CLASS_COUNT; i++)
        if (classes[i].class == error_class)
            return classes[i].name;
    return "MPI_ERR_?";
}

const char *sim_error_meaning(int error_class)
{
    for (size_t i = 0; i < CLASS_COUNT; i++)
        if (classes[i].class == error_class)
            return classes[i].meaning;
    return "an error class of the program";
}

/* ---- handlers ---- */

struct sim_errhandler {
    uint32_t magic;
    atomic_int references;
    enum sim_errhandler_kind kind;
    MPI_Comm_errhandler_function *function;
};

static struct sim_errhandler *errhandler_get(MPI_Errhandler handle)
{
    return sim_handle_object((void *)handle, SIM_MAGIC_ERRHANDLER);
}

bool sim_errhandler_valid(MPI_Errhandler handle)
{
    return sim_errhandler_unfit(handle, SIM_ERRHANDLER_ANY) == NULL;
}

bool sim_errhandler_made(MPI_Errhandler handle)
{
    return errhandler_get(handle);
}

const char *sim_errhandler_unfit(MPI_Errhandler handle, enum sim_errhandler_kind kind)
{
    static const char *const others[] = {
        [SIM_ERRHANDLER_COMM] = "an error handler made by MPI_Comm_create_errhandler: one of "
                                "communicators does not fit",
        [SIM_ERRHANDLER_WIN] = "an error handler made by MPI_Win_create_errhandler: one of windows "
                               "does not fit",
        [SIM_ERRHANDLER_SESSION] = "an error handler made by MPI_Session_create_errhandler: one of "
                                   "sessions does not fit"};
    if (handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRORS_ABORT || handle == MPI_ERRORS_RETURN)
        return NULL;
    const struct sim_errhandler *handler = errhandler_get(handle);
    if (!handler)
        return "not a valid error handler";
    return kind == SIM_ERRHANDLER_ANY || kind == handler->kind ? NULL : others[handler->kind];
}

MPI_Errhandler sim_errhandler_new(enum sim_errhandler_kind kind,
                                  MPI_Comm_errhandler_function *function)
{
    struct sim_errhandler *handler = malloc(sizeof *handler);
    if (!handler)
        return MPI_ERRHANDLER_NULL;
    handler->magic = SIM_MAGIC_ERRHANDLER;
    handler->references = 1;
    handler->kind = kind;
    handler->function = function;
    return (MPI_Errhandler)(void *)handler;
}

void sim_errhandler_retain(MPI_Errhandler handle)
{
    struct sim_errhandler *handler = errhandler_get(handle);
    if (handler)
        atomic_fetch_add(&handler->references, 1);
}

void sim_errhandler_release(MPI_Errhandler handle)
{
    struct sim_errhandler *handler = errhandler_get(handle);
    if (!handler || atomic_fetch_sub(&handler->references, 1) > 1)
        return;
    handler->magic = SIM_MAGIC_FREED;
    free(handler);
}

/* ---- raising ---- */

static const char *note_code(int error_class)
{
    return error_class == MPI_ERR_TRUNCATE ? "M007" : "M009";
}

const char *sim_error_function(const char *function)
{
    const char *site = sim_libc_call_site();
    const char *called = site ? sim_libc_called_at(site) : NULL;
    return called && strncmp(called, "MPI_", 4) == 0 ? called + 4 : function;
}

int sim_error_comm_check(MPI_Comm handle, const char *function)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank) /* outside a rank there is no communicator to look at */
        return handle == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_SUCCESS;
    return rank->world->rooms->comm_check(handle, function);
}

/* `code` NULL: the trace shows it, so that no note is needed. */
static _Noreturn void die(struct sim_rank *rank, int error_class, const char *function,
                          const char *sentence, const char *code)
{
    function = sim_error_function(function);
    fprintf(stderr, "rank %d: MPI_%s: %s: %s\n", rank->id, function, sim_error_name(error_class),
            sentence);
    record_failure(error_class, sim_libc_call_site());
    if (code)
        record_refusal(code, sim_libc_call_site(), "MPI_%s: %s: %s", function,
                       sim_error_name(error_class), sentence);
    sim_rank_abort(rank, error_class);
}

/* An error that a handler lets come back is one all the same, where no operation of the trace shows it.
 * Not where ranks have failed, which programs live with, nor of what a program asks for by name. */
static void note_returned(int error_class, const char *function, const char *sentence,
                          const char *code)
{
    bool expected = error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_REVOKED ||
                    error_class == MPIX_ERR_PROC_FAILED_PENDING ||
                    error_class == MPI_ERR_INFO_NOKEY || error_class == MPI_ERR_NO_MEM ||
                    error_class == MPI_ERR_IN_STATUS || error_class == MPI_ERR_PENDING ||
                    error_class == MPI_ERR_UNSUPPORTED_OPERATION || error_class == MPI_ERR_NAME;
    if (code && !expected)
        record_refusal(code, sim_libc_call_site(), "MPI_%s: %s: %s", sim_error_function(function),
                       sim_error_name(error_class), sentence);
}

/* Handlers that are running: of all threads of a rank, and each may call what fails again. */
enum { DEPTH_MAX = 64 };

/* `code`: of the finding where the error is fatal; `returned`: of that where a handler lets it come back. NULL: none.
 * `session`: whose error it is; NULL: the communicator's. */
static int raise_on(struct sim_rank *rank, MPI_Comm handle, const struct sim_error_session *session,
                    int error_class, const char *function, const char *sentence, const char *code,
                    const char *returned)
{
    MPI_Comm_errhandler_function *handler_function = NULL;
    bool returns;
    {
        WITH_RANK_LOCK; /* another of its threads may set another one, which frees this one */
        MPI_Errhandler handler =
            session ? *session->errhandler : rank->world->rooms->error_target(rank, &handle);
        returns = handler == MPI_ERRORS_RETURN;
        const struct sim_errhandler *user = errhandler_get(handler);
        if (user)
            handler_function = user->function;
    }
    if (returns) {
        note_returned(error_class, function, sentence, returned);
        return error_class;
    }
    if (!handler_function || rank->error_depth > DEPTH_MAX)
        die(rank, error_class, function, sentence, code);
    int told = error_class;
    SIM_CALLBACK callback = sim_callback_of(rank, error_class);
    rank->error_depth++;
    if (session) {
        MPI_Session it = session->handle;
        ((MPI_Session_errhandler_function *)(void (*)(void))handler_function)(&it, &told, sentence);
    } else {
        handler_function(&handle, &told, sentence);
    }
    rank->error_depth--;
    callback.rank = NULL;
    note_returned(error_class, function, sentence, returned);
    return error_class;
}

static const char thread_remedy[] =
    "called by a thread that is not the rank's own, while ranks are fibers; call MPI from the "
    "rank's own thread, which is the master of its OpenMP teams, or use --os-threads";
static const char handler_remedy[] =
    "called by a handler of a signal, which may come in the middle of another call; MPI need not "
    "allow that; set a variable in the handler, and call MPI where the rank looks at it";

/* The thread cannot wait as a fiber can, and the rank may be anywhere: the thread goes on with the
 * error, the rank ends the world when it is back in its own hands. */
static void note_stray(struct sim_rank *rank, const char *function)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&rank->stray.state, &none, 1))
        return;
    rank->stray.function = function;
    rank->stray.site = sim_libc_call_site();
    rank->stray.remedy = sim_interrupt_running() ? handler_remedy : thread_remedy;
    fprintf(stderr, "rank %d: MPI_%s: %s\n", rank->id, function, rank->stray.remedy);
    struct sim_first_failure *first = rank->world->options.first_failure;
    if (first && !atomic_load(&first->stray.rank)) { /* it may end the process */
        snprintf(first->stray.text, sizeof first->stray.text, "MPI_%s: %s", function,
                 rank->stray.remedy);
        first->stray.place =
            rank->stray.site ? (uint64_t)(uintptr_t)rank->stray.site - 1 : 0; /* of the call */
        atomic_store(&first->stray.rank, rank->id + 1);
    }
    atomic_store(&rank->stray.state, 2);
    if (sim_interrupt_running()) { /* a fiber has no other occasion to look */
        rank->plain = false;
        rank->world->guarded = true;
    }
}

static bool stray_note(struct sim_rank *rank)
{
    if (atomic_load(&rank->stray.state) != 2)
        return false;
    atomic_store(&rank->stray.state, 1);
    record_site_enter(rank->stray.site);
    record_note("M009", "MPI_%s: %s", rank->stray.function, rank->stray.remedy);
    record_site_leave();
    struct sim_first_failure *first = rank->world->options.first_failure;
    int own = rank->id + 1;
    if (first)
        atomic_compare_exchange_strong(&first->stray.rank, &own, 0);
    return true;
}

void sim_world_strays(struct sim_world *world)
{
    for (int r = 0; r < world->size; r++) {
        sim_world_impersonate(world, r);
        stray_note(&world->ranks[r]);
    }
    sim_world_impersonate(world, -1);
}

void sim_rank_stray_check(struct sim_rank *rank)
{
    if (stray_note(rank))
        sim_rank_abort(rank, MPI_ERR_OTHER);
}

static int raise_sentence(MPI_Comm handle, int error_class, const char *function,
                          const char *sentence, const char *code, const char *returned)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank) {
        if (sim_thread_parent)
            note_stray(sim_thread_parent, function);
        return error_class;
    }
    return raise_on(rank, handle, NULL, error_class, function, sentence, code, returned);
}

int sim_error_raise_session(const struct sim_error_session *session, int error_class,
                            const char *function, const char *sentence, const char *code)
{
    return sim_current_rank ? raise_on(sim_current_rank, MPI_COMM_NULL, session, error_class,
                                       function, sentence, code, NULL)
                            : error_class;
}

int sim_error_raise(MPI_Comm handle, int error_class, const char *function, const char *format, ...)
{
    char sentence[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    const char *code = note_code(error_class);
    return raise_sentence(handle, error_class, function, sentence, code, code);
}

int sim_error_raise_mismatch(MPI_Comm handle, int error_class, const char *function,
                             const char *sentence)
{
    return raise_sentence(handle, error_class, function, sentence, NULL, NULL);
}

int sim_error_raise_overlap(MPI_Comm handle, const char *function)
{
    return raise_sentence(handle, MPI_ERR_BUFFER, function,
                          "send and receive buffer overlap: use MPI_IN_PLACE or another buffer",
                          "B002", "B002");
}

int sim_error_raise_callback(MPI_Comm handle, int error_class, const char *function,
                             const char *sentence)
{
    return raise_sentence(handle, error_class, function, sentence, "M009", NULL);
}

int sim_error_called(MPI_Comm handle, int error_class, const char *function)
{
    return raise_sentence(handle, error_class, function, "the program called the error handler",
                          "X002", NULL);
}

struct sim_rank *sim_point_refuse(const char *function)
{
    struct sim_rank *rank = sim_current_rank;
    if (rank && rank->sessions)
        return rank;
    sim_error_raise(MPI_COMM_NULL, MPI_ERR_OTHER, function,
                    rank && rank->finalized ? "called after MPI_Finalize"
                                            : "called before MPI_Init");
    return NULL;
}

void MPIX_Fail(const char *code, const char *text)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank) {
        fprintf(stderr, "simrun: %s: %s\n", code, text);
        exit(1);
    }
    fprintf(stderr, "rank %d: %s: %s\n", rank->id, code, text);
    record_note(code, "%s", text);
    sim_rank_abort(rank, 1);
}

void SIM_Usage(const char *text)
{
    struct sim_rank *rank = sim_current_rank;
    struct sim_first_failure *first = rank ? rank->world->options.first_failure : NULL;
    if (!rank) {
        fprintf(stderr, "simrun: %s\n", text);
        exit(2);
    }
    if (!first)
        MPIX_Fail("X002", text);
    sim_world_enter(rank->world);
    if (first->rank < 0)
        snprintf(first->refused, sizeof first->refused, "%s", text);
    sim_world_leave(rank->world);
    sim_rank_abort(rank, 2);
}
