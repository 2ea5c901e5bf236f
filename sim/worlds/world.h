/* A world: N ranks, their communicators, the clock and the choices, as one value.
 *
 * Nothing of a world lives outside it, so that any number of worlds may run in one process, one
 * after the other or side by side on different OS threads (a world itself is run by the thread that
 * calls sim_world_run, or, with OS-thread ranks, by a team of its own).
 *
 * Life: sim_world_new -> sim_world_run (once) -> look at outcome, ranks, choices -> sim_world_free.
 */
#ifndef SIM_WORLDS_WORLD_H
#define SIM_WORLDS_WORLD_H

#include "sim/base/answers.h"
#include "sim/worlds/choose.h"
#include "traces/base/failure.h"
#include "traces/trace/trace.h"

#include <mpix.h>

/* Fibers of one OS thread; OS threads as they come; OS threads whose calls are made in turns, so that
 * the answer does not depend on them. */
enum sim_executor_kind { SIM_FIBERS, SIM_THREADS, SIM_TURNS };
/* When a standard send completes: at once up to eager_limit bytes; when matched; together with its
 * whole batch. */
enum sim_send_model { SIM_SEND_EAGER, SIM_SEND_RENDEZVOUS, SIM_SEND_BATCH };
/* Whether fibers may be carried by several threads: see wide.h. */
enum sim_wide_when { SIM_WIDE_NEVER, SIM_WIDE_AUTO, SIM_WIDE_AT_ONCE };
enum sim_reduce_order { SIM_REDUCE_LINEAR, SIM_REDUCE_TREE, SIM_REDUCE_RING, SIM_REDUCE_SEED };

struct sim_rank;
struct sim_world;

/* The rank that crashed, aborted or ended with another code than 0 before all others did. */
struct sim_first_failure {
    _Atomic int rank; /* -1 before; set last */
    int exit_code;
    bool crashed, aborted;
    char refused[400];          /* SIM_Usage: what is wrong with the program's words, else "" */
    _Atomic int threads_denied; /* ranks that asked for more threads of MPI than fibers have */
    struct {
        _Atomic int rank; /* plus one; 0: none; set last */
        uint64_t place;   /* 0: not known */
        char text[300];
    } stray; /* a call that was refused to a thread or a handler, and that no finding tells of yet */
};

/* A receive by name that is delayed like a wildcard: it may be cancelled after its message came. */
struct sim_late {
    uint32_t rank, receive;
};

struct sim_fault;

struct sim_world_options {
    int ranks;
    enum sim_executor_kind executor;
    int cores;               /* SIM_TURNS, or wide: the most to use, 0: all there are */
    enum sim_wide_when wide; /* SIM_FIBERS */
    void (*carrier)(void);   /* if not NULL: called on each thread that begins to carry ranks */
    int wide_signal; /* not 0: sent to the thread that runs the ranks, to ask whether it is in the
                        program's code: sim_world_widen; worlds become wide and narrow then */
    enum sim_send_model send_model;
    size_t eager_limit;      /* bytes; SIZE_MAX: no limit */
    bool memory;             /* the program is instrumented: see memory/pending.h */
    bool unwatched;          /* buffers are not judged: another run of the program has done so */
    bool memory_unseen;      /* that was asked for, of a program that was built before */
    bool strict_collectives; /* every collective synchronises all its ranks */
    enum sim_reduce_order reduce_order;
    bool late_receives; /* buffers are filled when the program completes an operation: held.h */
    bool early_windows; /* ... but for those of windows */
    uint64_t late_from, late_to; /* these alone, by when they began; late_to 0: all */
    bool stale_memory; /* what a program frees, and what malloc gives it, is overwritten */
    int late_rank;  /* 1 + the one that comes to its receives when nobody else can go on; 0: none */
    bool late_told; /* each becomes a finding: it is known to be read too early */
    bool delay_wildcards; /* wildcards, probes for any source and Waitany take what they can get
                             only when nobody else can move (exploration) */
    bool delay_receives;  /* and with that nonblocking receives of a named source, too */
    size_t stack_size; /* bytes of each fiber's stack, a multiple of the page size; 0: the default,
                          8 MiB up to 256 ranks, 256 KiB beyond */
    uint32_t not_yet_max; /* exploration: so often in a row a rank's poll is told "not yet" of what
                             is there */
    const struct sim_late *late; /* exploration: receives that may be cancelled; must outlive the
                                    run */
    size_t late_count;
    uint64_t livelock_rounds; /* fruitless polls by every live rank before it is a livelock; 0: the
                                 default */
    enum sim_choose_driver driver;
    uint64_t seed;
    bool choose_run; /* which ready fiber runs next is a choice too: always with a seed, so set it
                        to replay a seeded run's recording */
    const uint32_t *forced; /* picks for SIM_CHOOSE_RECORDED and _ENUMERATE; must outlive the run */
    size_t forced_count;
    sim_guide *guide; /* of SIM_CHOOSE_GUIDED */
    void *guide_context;
    bool log_choices;
    struct sim_answers *answers_noted;          /* if not NULL: per rank, filled in */
    const struct sim_answers *answers_followed; /* if not NULL: per rank, what it gets instead of
                                                   what comes; must outlive the run */
    void *slots[MPIX_SLOTS];                    /* initial values of every rank's slots */
    struct sim_first_failure *first_failure;    /* if not NULL: filled in at the first failure */
    _Atomic int *running; /* if not NULL: the rank that runs, -1 where that is not one alone */
    const struct sim_fault *faults; /* what shall go wrong (fault.h); must outlive the run */
    size_t fault_count;             /* at most SIM_FAULTS_MAX */
    struct failure *unable; /* if not NULL: why no rank could be started (no memory, no threads);
                               else that goes to stderr */
};

/* 16 ranks, fibers, eager up to 64 KiB, minimal collectives, linear reductions, default choices. */
void sim_world_options_init(struct sim_world_options *options);

/* The least convenient delivery that MPI allows: nonblocking receives get their message when nobody
 * else can move, buffers are filled late, and wildcards get the last message. The world is interrupted where that takes too long; `cost`
 * counts that and must outlive the run. */
void sim_world_options_adverse(struct sim_world_options *options, uint64_t *cost);

/* What a rank does. Returns its exit code. Runs on the rank's own stack, with the rank as the
 * caller of MPI functions. */
typedef int sim_rank_body(void *context, int rank);

struct sim_world *sim_world_new(const struct sim_world_options *options, struct failure *failure);
/* Runs all ranks until each has ended or nobody can move. Returns the outcome (finished, deadlock,
 * livelock, aborted, crashed). */
enum trace_outcome sim_world_run(struct sim_world *world, sim_rank_body *body, void *context);
void sim_world_free(struct sim_world *world);

/* After the run. */
enum rank_state sim_world_rank_state(const struct sim_world *world, int rank);
/* It ended by itself after MPI_Init, but before MPI_Finalize: by return from main, exit or exec. */
bool sim_world_rank_left(const struct sim_world *world, int rank);
/* The place at which it called exit or its like, NULL: it returned from main. */
const void *sim_world_rank_left_at(const struct sim_world *world, int rank);
bool sim_world_rank_finalized(const struct sim_world *world, int rank);
/* Whether it ever called MPI_Init, or opened a session. */
bool sim_world_rank_initialized(const struct sim_world *world, int rank);
int sim_world_exit_code(const struct sim_world *world, int rank);
uint64_t sim_world_steps(const struct sim_world *world);
uint64_t sim_world_switches(const struct sim_world *world);
const struct sim_choice_log *sim_world_choices(const struct sim_world *world);
bool sim_world_diverged(const struct sim_world *world); /* a forced pick did not fit */
/* The slots of a rank, during or after the run. */
void **sim_world_slots(struct sim_world *world, int rank);
/* Wall-clock nanoseconds (monotonic) at which nobody could move any more; 0 when the world simply
 * finished. */
uint64_t sim_world_stopped_ns(const struct sim_world *world);

/* After the run: makes the calling thread pass for that rank (to record something in its name), -1:
 * for nobody again. */
void sim_world_impersonate(struct sim_world *world, int rank);

/* Of ranks that will not run again: which of them called MPI where it may not (sim_rank_stray_check)
 * without an occasion to say so. */
void sim_world_strays(struct sim_world *world);
/* The same of ranks that wait for ever in MPI_Buffer_detach or MPI_Buffer_flush: that call is
 * recorded. */
void sim_world_detaching(struct sim_world *world);
/* Source and tag of the message that a nonblocking receive of the current rank has, completed or
 * not; false when it has none, or the handle is no receive's. */
bool sim_request_peek(const void *handle, int *source, int *tag);

/* In a handler of `wide_signal` that interrupted a rank in the program's own code, neither in a library
 * nor in the machine: whether the ranks have computed for long enough. */
bool sim_world_computes(struct sim_world *world);
/* Whether such a signal may come of that now. */
bool sim_world_looked_at(const struct sim_world *world);
/* And then, where the machine has not called the program either: they use all cores from now on. */
void sim_world_widen(struct sim_world *world);
/* In a signal's handler that ends the calling rank: what it does happens in its turn. */
void sim_rank_await_dying(void);
/* In a handler of `wide_signal`: a rank that is OS threads, whose own one sleeps in OpenMP's runtime while
 * its world is over, leaves it for good (and the handler does not return). False: it is none. */
bool sim_world_called_out(void);
/* How often the world became wide. */
uint32_t sim_world_widened(const struct sim_world *world);

/* From now on libc's functions ask the worlds who calls. May be said again. */
void sim_world_serves_libc(void);

/* For the launcher's signal handlers: the calling OS thread's current rank, -1 for none; ends that
 * rank as crashed and lets the world go on (does not return) - call only from a rank's own stack or
 * its signal stack. */
int sim_world_current_rank(void);
_Noreturn void sim_rank_crash(int signal_number);
/* The same for a call that cannot go on: the rank ends its world with this error class. */
_Noreturn void sim_rank_refuse(int error_class);
/* In a signal handler: sends the signal on to the thread of a rank of this world that is not
 * blocked, unless the calling thread is that of one. False: it is, or there is none. */
bool sim_world_pass_on(const struct sim_world *world, int signal_number);
/* A rank whose thread has ended behind the machine's back, -1: none has. */
int sim_world_vanished(const struct sim_world *world);
/* Ends the calling rank with this exit code, as return from main would. */
_Noreturn void sim_rank_end(int exit_code);
/* True when address lies in the guard below the calling rank's stack (a stack overflow). */
bool sim_rank_stack_overflow(const void *address);
/* Where the calling OS thread's own stack lies; empty where that is not known. */
void sim_thread_stack(uintptr_t *low, uintptr_t *high);
/* True when address lies on the stack that the caller runs on. */
bool sim_rank_stack_holds(uintptr_t address);

#endif
