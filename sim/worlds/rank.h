/* The inside of a world: ranks, the monitor, blocking and waking. For the machine's own files only.
 *
 * Invariants of a world (sim_world_assert checks them):
 *  1. The machine's state is touched only by the rank that has entered the world (the monitor);
 *     with fibers that is always the one that runs.
 *  2. A rank is in exactly one state; only sim_rank_move and sim_wakings_add change it.
 *  3. live = ranks not yet DONE or CRASHED; runnable = ranks READY or RUNNING.
 *  4. A rank in the ready queue is READY and is in it once.
 *  5. A blocked rank is woken only by whoever completed what it waits for. */
#ifndef SIM_WORLDS_RANK_H
#define SIM_WORLDS_RANK_H

#include "sim/base/attributes.h"
#include "sim/base/error_codes.h"
#include "sim/base/integers.h"
#include "sim/libc/hooks.h"
#include "sim/worlds/world.h"

#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>

struct sim_comm;
struct sim_world_comm;
struct sim_context;
struct sim_request;
struct sim_batch;
struct sim_blocked_probe;
struct sim_pending;
struct sim_objects;
struct sim_history;
struct sim_region;

/* Whether a collective has let a member go on that waits in its short way. */
enum sim_release { SIM_WAITS, SIM_RELEASED, SIM_RELEASED_WITH_ERROR };

enum sim_rank_state { SIM_READY, SIM_RUNNING, SIM_BLOCKED, SIM_DONE, SIM_CRASHED };

/* Of the region that a rank's own thread is in, outside of others. */
struct sim_team {
    int size, arrived; /* 0: none; so many wait for the others */
    int entered;       /* of these, in the runtime, where they run tasks */
    int idle;          /* in the runtime where all meet, and in no task */
    uint64_t called;   /* how often some were called there */
    uint64_t round;    /* how often all have met */
    uint64_t looked;   /* the last of them since which one has read an atomic variable, from 1 */
    int met;           /* of those that met last, so many are still there and run tasks */
    int made, begun;   /* tasks that have not begun, and that are under way */
    struct sim_turns_of_loop {
        uint64_t loop; /* 0: none so far */
        long next;     /* whose turn it is: the chunk that begins there */
        int waiting;
        long waits[32];    /* beginnings of the chunks whose threads wait */
    } ordered[4];          /* by the number of the loop */
    struct sim_team_call { /* the last of MPI, where one at a time may be made */
        uintptr_t thread;  /* 0: none */
        uint64_t round;
        bool ordered; /* within a critical section, an ordered one, or under a lock */
        bool told;
    } call;
    struct sim_critical {
        uintptr_t name;
        uint64_t tickets, served;
    } criticals[8];
};

enum sim_start { SIM_START_RECEIVE, SIM_START_SEND, SIM_START_COLLECTIVE, SIM_STARTS };

struct sim_rank {
    /* What switching and the short way of a collective touch is one line of the cache. */
    _Alignas(64) struct sim_world *world;
    int id;
    enum sim_rank_state state;
    struct sim_rank *next_ready;
    void *stack_pointer; /* of a suspended fiber */
    struct sim_comm *comm_world;
    int saved_errno;
    bool initialized, finalized;
    bool plain;                    /* the short ways are open to it: see sim_rank_plain */
    enum sim_release released : 7; /* see collectives/fastpath.c */
    bool early : 1;                /* what it blocks in may end ahead of its turn: see wide.c */
    uint64_t value;                /* the same: what this rank gets from it */
    struct sim_libc_state libc;    /* its first word is the last of the line */
    void *slots[MPIX_SLOTS];
    /* Of the program's accesses: see memory/pending.h. From safe_low on, so many addresses hold no
     * byte of a pending operation. */
    uintptr_t safe_low, safe_size;
    struct sim_pending *pending; /* NULL: not watched */
    struct sim_history *history; /* of its windows' memory, NULL: none; see windows/history.h */
    struct sim_objects *objects; /* on the heap, NULL: none */
    enum sim_start starting : 8; /* a row of them, and how many; see sim_rank_started */
    uint32_t starts, starts_before[SIM_STARTS];
    atomic_int within_op; /* so many reductions of the program's own are being called */
    const void *code;     /* somewhere in the program's image */
    int thread_level;
    const void *left_at; /* where it called exit or its like; NULL: it did not, or nobody knows */
    int exit_code;
    bool aborted;
    bool failed;                  /* ended between Init and Finalize */
    bool reconsiders;             /* blocked, and looks again when somebody fails */
    bool injected, slow, starved; /* faults that have struck: see fault.h */
    struct sim_comm *comm_self;
    /* Polling without effect: see world.c. */
    uint64_t idle_since, idle_polls;
    /* Exploration: since a poll last saw something, those that were not told what was there, and
     * those for which there was nothing. */
    uint32_t not_yet, vain;
    bool saturated;                    /* has polled for livelock_rounds, and asked no clock */
    bool was_held;                     /* exploration: this poll waited for quiescence already */
    struct sim_batch *batch;           /* open SIM_Batch, NULL */
    uint32_t batches, receives, looks; /* counters that number them; looks: probes, Waitanys */
    struct sim_dependences causes;     /* choices that led here */
    uint32_t window_calls;             /* exploration: accesses and flushes */
    uint32_t message_calls;            /* exploration: sends, receives, collectives */
    uint32_t window_looks;             /* exploration: flushes since somebody else could go on */
    int reported_next;                 /* Waitany and Testany look there first */
    struct sim_bsend *bsend;           /* attached buffer, NULL */
    struct sim_open_handles
        *live; /* handles not freed yet, NULL: none so far; see worlds/open_handles.h */
    struct sim_general *generals; /* generalised requests that are not finished */
    atomic_int error_depth;
    struct sim_keyvals keyvals;
    struct sim_integers integers;           /* of handles, for other languages */
    struct sim_attributes *type_attributes; /* of predefined datatypes; NULL: none yet */
    char **type_names;                      /* the same: what the program calls them */
    struct sim_error_codes error_codes;
    atomic_int sessions; /* open ones */
    bool used_session;
    bool begun_elsewhere; /* another thread than its own initialized MPI */
    struct sim_thread_level_violation {
        atomic_int state;     /* 0: none, 1: being written, 2: to be told */
        const char *function; /* of the call */
        const void *site;
        const char *remedy;
    } stray; /* a call of a thread that may not, where ranks are fibers, or of a signal's handler:
                see worlds/error.c */
    struct sim_comm *comms; /* this rank's handles */
    /* OS threads only */
    struct sim_local {
        _Atomic uintptr_t owner; /* 0: nobody */
        int depth;
    } local;                    /* see worlds/rank_lock.h */
    _Atomic uint64_t own_steps; /* logical time: the world's depends on how threads come along */
    struct sim_answers_place place; /* where answers of another run are followed */
    pthread_cond_t *wakeup;
    pthread_t thread; /* the rank's own; valid while `unwind` is set */
    pid_t thread_id;  /* the kernel's for it, where ranks are OS threads */
    int threads;      /* POSIX threads the rank has started, which may call MPI as well */
    int joining;      /* of these and its own: wait for the end of one */
    int waiting;      /* how many of them and the rank's own have blocked since the last wake-up */
    int asleep;       /* the same with threads of the rank's OpenMP teams */
    struct sim_company {
        _Atomic(const uint32_t *) calls; /* of its threads; NULL: not recorded */
        atomic_uint since, beside;       /* when the first of them came; calls beside others */
        atomic_int threads;              /* POSIX threads that live, on any executor */
    } company;
    struct sim_team *team;  /* of the region that its own thread is in; NULL: it was in none */
    _Atomic uint64_t wakes; /* counts wake-ups */
    bool awaits_turn;       /* asleep until its turn comes */
    uint64_t clock;         /* turns it had when it blocked */
    jmp_buf *unwind;
    /* Wide worlds only: see wide.c. */
    struct sim_rank *next_early;
    bool in_early;             /* it is in the queue of those that may go on ahead of their turn */
    bool may_go_ahead;         /* and that is still so */
    atomic_bool carried;       /* by some thread, now */
    bool fresh;                /* it has not begun */
    bool inside;               /* the machine, in the monitor */
    uint64_t turned;           /* logical time at which it had the turn last */
    char *stack_base;          /* lowest usable address of the rank's stack */
    void *sanitizer;           /* what ASan or TSan keeps of a suspended fiber */
    _Atomic uint64_t unpacked; /* calls that unpacked something */
};
/* A switch in a world of thousands of ranks costs a line of memory less where this holds. */
_Static_assert(offsetof(struct sim_rank, libc.apart) < 64 && offsetof(struct sim_rank, value) < 64,
               "what a switch touches of a rank is one line of the cache");
/* An odd number of lines apart, ranks fall into all sets of the caches: with 16 lines each, a barrier of
 * 4,096 ranks took a sixth longer than with 13. */
_Static_assert(sizeof(struct sim_rank) / 64 % 2, "a rank is an odd number of lines");

struct sim_wide;
struct sim_wide_watch;
struct asleep_watch;

struct sim_executor {
    /* Runs all ranks; returns when the world is over. */
    bool (*run)(struct sim_world *world, struct failure *failure);
    /* The caller, in the monitor and, if it is a fiber, already SIM_BLOCKED, stops until woken;
     * does not return when the world has ended. */
    void (*block)(struct sim_rank *rank);
    /* Makes a blocked rank ready; the caller is in the monitor. */
    void (*wake)(struct sim_rank *rank);
    /* Lets others run; the caller, in the monitor, stays ready. */
    void (*yield)(struct sim_rank *rank);
    /* Others have their turn first; the caller, in the monitor, has done all that others see of its
     * call. NULL: nobody does. */
    void (*give_way)(struct sim_rank *rank);
    /* The calling rank has ended; in the monitor. Does not return. */
    void (*leave)(struct sim_rank *rank);
};
extern const struct sim_executor sim_fibers, sim_threads;

/* What the rooms above do for a world: sim/machine.c says who does it. */
/* One buffer of a call that is over when it returns. */
struct sim_used {
    const void *buffer;
    const struct sim_datatype *type;
    size_t count;
    bool written;
    const char *side; /* "buffer" */
};

struct sim_rooms {
    /* Makes what every rank has from the beginning. False: out of memory. */
    bool (*begin)(struct sim_world *world);
    /* Frees all that is kept of the world and its ranks, after the run or a failed `begin`. */
    void (*end)(struct sim_world *world);
    /* See sim_world_quiescent. */
    bool (*quiescent)(struct sim_world *world);
    /* A send in a world with faults: see messages/lossy.h. */
    bool (*send_lossy)(struct sim_context *context, int destination, struct sim_request *send,
                       bool may_buffer);
    /* In a world that explores: a receive is to wait until its choice is made; a request is complete;
     * its rank has seen that. In the monitor; see messages/deferred.h. */
    void (*receive_delayed)(struct sim_world *world, struct sim_request *receive);
    void (*request_completed)(struct sim_request *request);
    void (*request_seen)(struct sim_rank *rank, const struct sim_request *request);
    /* What a communicator's shared part holds of other rooms. False: out of memory. */
    bool (*context_begin)(struct sim_context *context);
    void (*context_end)(struct sim_context *context);
    /* The memory of a rank's windows: see windows/history.h. */
    bool (*window_outside)(const struct sim_rank *rank, uintptr_t address, uintptr_t *low,
                           uintptr_t *high);
    void (*window_touch)(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write,
                         const void *site);
    void (*window_atomic)(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write,
                          const void *site);
    void (*window_used)(struct sim_rank *rank, const struct sim_region *region, uint32_t operation,
                        const void *site);
    void (*window_waited)(struct sim_rank *rank, const void *request);
    void (*window_flush)(struct sim_rank *rank);
    /* The buffers of a call that is no operation of the recorder's: see memory/pending.h. */
    void (*buffers_used)(const char *function, const struct sim_used *sides, size_t count,
                         const void *site);
    /* The calling rank starts threads whose calls are its own. */
    void (*threads_begin)(void);
    /* Whether the rank has buffers under way. */
    bool (*is_pending)(const struct sim_rank *rank);
    /* See sim_comm_error_target. */
    MPI_Errhandler (*error_target)(struct sim_rank *rank, MPI_Comm *handle);
    /* The calling rank's program has returned or called exit. */
    void (*rank_over)(struct sim_rank *rank);
    /* The rank has failed: those who wait for it learn of it. In the monitor. */
    void (*rank_failed)(struct sim_rank *rank);
    /* MPI_SUCCESS, or what `function` must return after the error was raised. */
    int (*comm_check)(MPI_Comm handle, const char *function);
};

/* A world with these rooms: sim_world_new, which machine.c defines, calls it. */
struct sim_world *sim_world_compose(const struct sim_world_options *options,
                                    const struct sim_rooms *rooms, struct failure *failure);

/* Free lists of small blocks: messages and requests. */
enum { SIM_POOL_CLASSES = 6 };

/* How long large reductions took lately, in seconds a byte. */
struct sim_fold_pace {
    double team, alone; /* 0: never tried */
    uint32_t turns;
};

struct sim_world {
    struct sim_world_options options;
    const struct sim_executor *executor;
    const struct sim_rooms *rooms;
    bool threaded;  /* who is within the machine has the monitor's mutex */
    bool turns;     /* see turns.c */
    bool multiple;  /* other threads of a rank may call MPI, too */
    bool guarded;   /* who enters has to look: threaded, a user's reduction is under way, faults,
                      threads that come late */
    bool over;      /* nobody may run any more */
    bool gives_way; /* see sim_rank_give_way */
    bool troubled;  /* somebody has failed, or a communicator was revoked */
    atomic_bool watching; /* some rank has `pending` */
    bool out_of_turn; /* over, or choosing: the first in the queue is not simply the next to run */
    enum trace_outcome outcome;
    int size, live, runnable;
    struct sim_rank *ranks;
    int *failed; /* ranks that have, in that order; NULL: none */
    int failed_count;
    struct sim_rank *ready_head, **ready_tail; /* fibers: who runs next; turns: who enters */
    _Atomic(struct sim_rank *) turn;           /* turns and wide worlds only */
    struct sim_wide *wide;                     /* NULL: narrow */
    struct sim_wide_watch *wide_watch;
    struct asleep_watch
        *asleep;            /* over ranks that have threads of their own; NULL: there were none */
    uint32_t widened;       /* so often */
    atomic_bool never_wide; /* any more; any thread of a rank may say so */
    int spins;              /* how long a thread waits awake, in looks: turns.h */
    uint64_t *clocks;       /* turns each rank has had */
    sim_rank_body *body;
    void *context;
    uint64_t steps, switches;
    _Atomic int *running, nobody; /* where the number of the rank that runs stands; fibers only */
    uint64_t changes;             /* counts changes of state: messages, matches, arrivals, ends */
    int saturated; /* ranks that have polled livelock_rounds times since the last change */
    int settled;   /* ranks that have polled for a round since then: see world.c */
    uint64_t saturated_at;
    uint64_t stopped_ns;
    struct sim_chooser chooser;
    struct sim_fold_pace fold_pace;
    struct sim_context *contexts; /* all communicators' shared parts, newest first */
    uint32_t context_ids;
    bool exploring; /* delays wildcards and logs what an explorer needs: base/dependence_sets.h */
    unsigned needless; /* then: ranks that a window has wait, although MPI may let them go on */
    bool (*wait_needlessly)(const struct sim_world *); /* in collectives; NULL: there was none */
    struct sim_request *delayed, **delayed_tail;       /* wildcards waiting for quiescence */
    struct sim_partitioned *partitioned,
        *partitioned_unmet;           /* all partitioned requests; those without another side */
    struct sim_blocked_probe *looks;  /* blocked in a probe or a Waitany until quiescence */
    struct sim_timeout *patient;      /* waits that have a limit */
    uint64_t clock;                   /* passes when nobody can move: timeout.h */
    struct sim_handshake *handshakes; /* Intercomm_create: leaders that wait for each other */
    _Atomic uint64_t faults_struck;   /* bits, by their place in the options */
    uint64_t late_count;              /* operations that could fill their buffers late */
    struct sim_late_message *late_messages; /* that a fault holds back: messages/lossy.h */
    struct sim_gathering *gatherings;       /* Comm_create_group under way */
    struct sim_world_comm *world_comms;
    struct sim_comm *dead_comms;
    void *free_blocks[SIM_POOL_CLASSES];
    void *slabs; /* singly linked, freed with the world */
    size_t slab_used;
    void *host_stack_pointer;
    int *errno_address;    /* of the OS thread that runs the fibers */
    int sleeping_children; /* threads of ranks, not the ranks' own, that wait on a condition */
    pthread_mutex_t monitor;
    char *stacks;
    size_t stacks_size;
    size_t stack_stride, guard;
    const void *host_stack_bottom; /* ASan */
    size_t host_stack_size;
};

extern _Thread_local struct sim_rank *sim_current_rank;

/* The rank that started the calling thread, which is not that rank's own; NULL: none did. */
extern _Thread_local struct sim_rank *sim_thread_parent;
/* If a thread of the calling rank called MPI where only the rank's own may, or a signal's handler
 * of it did: ends the world. */
void sim_rank_stray_check(struct sim_rank *rank);

/* Counts the calls of a rank beside others of its threads, up to now. */
void sim_company_leaves(struct sim_rank *rank);
/* A rank has so many POSIX threads more or less, and so many that wait until one of them ends. Not
 * in the monitor. */
void sim_threads_changed(struct sim_rank *rank, int threads, int joining);
/* A thread of a rank's OpenMP team does this; `what` is the size of the team, or the name of a
 * critical section. False: nothing was done, the runtime does it. Not in the monitor. */
bool sim_threads_team(struct sim_rank *rank, enum sim_team_event event, uintptr_t what);
/* The calling thread begins a collective on a communicator of the rank: whether another thread of its
 * team has made the last one there, which `*last` tells (NULL: none yet), and nothing that a team has
 * orders the two. `perhaps`: mutexes or variables of the program's own may. In the monitor. */
bool sim_threads_collective(struct sim_rank *rank, struct sim_team_call **last, bool *perhaps);
/* Takes the monitor; a rank whose world is over does not come back. */
void sim_threads_enter(struct sim_world *world);
void sim_threads_leave(struct sim_world *world);

/* The same for any executor, where there is something to look at: a guarded function that calls
 * back, or was left. */
void sim_guard_enter(struct sim_world *world);
enum sim_guard_kind { SIM_GUARD_OP, SIM_GUARD_REQUEST };
/* Around the call of a user's reduction function, or of one of a generalised request's. One that
 * does not come back (it ended its rank, or jumped out) leaves its call unfinished and, where ranks
 * are threads, the monitor taken: whoever ends the rank says so first. */
void sim_guard_begin(struct sim_rank *rank, const char *frame, enum sim_guard_kind kind);
void sim_guard_end(struct sim_rank *rank);
void sim_guard_abandon(struct sim_rank *rank);
/* The calling thread is within one. */
bool sim_guard_in_op(void);
/* Where an exception passes through the caller of a guarded function, whose rank this is (NULL:
 * nothing is guarded): ends the world. */
#define SIM_GUARDED __attribute__((cleanup(sim_guard_unwound))) struct sim_rank *
void sim_guard_unwound(struct sim_rank **guarded);

/* Around the call of a function of the program's that an exception may leave: then its rank is as it
 * was before, and the operation in progress has failed with this class. The owner clears `rank` when it is back. */
struct sim_callback {
    struct sim_rank *rank;
    bool within_op; /* it is counted there */
    int error_depth, error_class;
};
#define SIM_CALLBACK __attribute__((cleanup(sim_callback_unwound))) struct sim_callback
static inline struct sim_callback sim_callback_of(struct sim_rank *rank, int error_class)
{
    return rank ? (struct sim_callback){rank, false, rank->error_depth, error_class}
                : (struct sim_callback){0};
}
void sim_callback_unwound(struct sim_callback *callback);

/* Whether who enters has to look in any case, threads apart. */
static inline bool sim_world_always_guarded(const struct sim_world *world)
{
    return world->options.fault_count || (world->options.late_receives && world->options.memory);
}

static inline void sim_world_enter(struct sim_world *world)
{
    if (world->guarded)
        sim_guard_enter(world);
    world->steps++;
}

static inline void sim_world_leave(struct sim_world *world)
{
    if (world->threaded)
        sim_threads_leave(world);
}

/* The only mutator of a rank's state. */
static inline void sim_rank_move(struct sim_rank *rank, enum sim_rank_state to)
{
    bool was = rank->state <= SIM_RUNNING, is = to <= SIM_RUNNING;
    rank->world->runnable += (int)is - (int)was;
    rank->state = to;
}

/* Puts a fiber at the end of the ready queue. */
static inline void sim_fiber_enqueue(struct sim_world *world, struct sim_rank *rank)
{
    rank->next_ready = NULL;
    *world->ready_tail = rank;
    world->ready_tail = &rank->next_ready;
}

/* Wakes many blocked fibers, in this order: what each changes of the world stays in registers until all
 * are. Nobody else changes the queue meanwhile. */
struct sim_wakings {
    struct sim_rank **tail;
    int count;
};
static inline struct sim_wakings sim_wakings_begin(struct sim_world *world)
{
    return (struct sim_wakings){world->ready_tail, 0};
}
static inline void sim_wakings_add(struct sim_wakings *wakings, struct sim_rank *rank)
{
    wakings->count += rank->state > SIM_RUNNING;
    rank->state = SIM_READY;
    *wakings->tail = rank;
    wakings->tail = &rank->next_ready;
}
static inline void sim_wakings_end(const struct sim_wakings *wakings, struct sim_world *world)
{
    *wakings->tail = NULL;
    world->ready_tail = wakings->tail;
    world->runnable += wakings->count;
}
void sim_fiber_block(struct sim_rank *rank);
/* For who carries fibers (wide.c): the switch itself; who runs next, taken from the queue, NULL: nobody
 * can, or the world is over; what the sanitizers are told before and after a switch between a fiber
 * and a host, which is NULL; whether another thread may resume a fiber. */
void sim_fiber_switch(void **from, void *to);
struct sim_rank *sim_fiber_next(struct sim_world *world);
void sim_fiber_announce_switch(struct sim_rank *from, struct sim_rank *to, bool from_ends);
void sim_fiber_announce_arrival(struct sim_rank *rank, struct sim_world *world);
bool sim_fiber_may_move(void);

/* Whether worlds of these options may be wide (wide.h) on some machine. */
bool sim_wide_thinkable(const struct sim_world_options *options);
/* Of a wide world: takes the monitor, in the calling rank's turn. */
void sim_wide_enter(struct sim_world *world);
/* The calling thread, in a handler of a signal for its rank that it will not come back from: waits
 * for the turn. */
void sim_wide_await_dying(void);
/* What the calling rank prints has to wait. */
bool sim_wide_is_ahead(void);
/* Waits for threads that were left behind, computing, when the world ended. */
void sim_wide_end(struct sim_world *world);

/* Blocks the calling rank, in the monitor, until sim_rank_wake. Does not return once the world is
 * over. An OS-thread rank is SIM_BLOCKED when all its threads are. */
static inline void sim_rank_block(struct sim_rank *rank)
{
    if (rank->world->threaded) {
        rank->world->executor->block(rank);
        return;
    }
    sim_rank_move(rank, SIM_BLOCKED);
    sim_fiber_block(rank);
}

/* The same where nothing that the rank does before it is back in the program depends on when that
 * is: it may come back ahead of its turn. */
static inline void sim_rank_block_early(struct sim_rank *rank)
{
    rank->early = true;
    sim_rank_block(rank);
    rank->early = false;
}

/* At the end of a blocking call that found done what it would have waited for: those that wait for
 * their turn are first, as if it had waited. Otherwise a rank that computes next would keep them all
 * from the calls behind which they compute. */
static inline void sim_rank_give_way(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    if (!world->gives_way || !world->ready_head)
        return;
    rank->early = true;
    world->executor->give_way(rank);
    rank->early = false;
}

/* A row of starts has ended. */
static inline void sim_rank_starts_end(struct sim_rank *rank)
{
    if (rank->starts)
        rank->starts_before[rank->starting] = rank->starts;
    rank->starts = 0;
}

/* At the end of a call that started something, which comes in rows: receives, then sends. Behind the
 * last of a row a rank may compute; it gives way where the row before of that kind ended. */
static inline void sim_rank_started(struct sim_rank *rank, enum sim_start kind)
{
    if (rank->starting != kind) {
        sim_rank_starts_end(rank);
        rank->starting = kind;
    }
    if (++rank->starts == rank->starts_before[kind])
        sim_rank_give_way(rank);
}

/* What it does next may depend on more than on what is noted. */
static inline void sim_rank_unsure(struct sim_rank *rank)
{
    struct sim_answers *noted = rank->world->options.answers_noted;
    if (!noted)
        return;
    noted[rank->id].unsure = true;
    noted[rank->id].missed++;
}

/* Nobody gives way any more once the order of calls has been seen to matter: a receive from anybody, a
 * fruitless poll, a wait for any of several. */
static inline void sim_world_order_matters(struct sim_world *world)
{
    world->gives_way = false;
}

/* Somebody of this rank waits to be woken. */
static inline bool sim_rank_waits(const struct sim_rank *rank)
{
    return rank->world->threaded ? rank->asleep > 0 : rank->state == SIM_BLOCKED;
}

static inline void sim_rank_wake(struct sim_rank *rank)
{
    sim_rank_move(rank, SIM_READY);
    if (rank->world->threaded)
        rank->world->executor->wake(rank);
    else
        sim_fiber_enqueue(rank->world, rank);
}

/* Whether the short ways of sends, receives and collectives are open to the rank: it is a fiber
 * between Init and Finalize, a matched message is delivered at once, and nobody explores. */
static inline bool sim_rank_plain(const struct sim_rank *rank)
{
    const struct sim_world *world = rank->world;
    return rank->initialized && !rank->finalized && !world->threaded && !world->exploring &&
           !world->options.delay_wildcards && !world->options.fault_count && !world->troubled &&
           world->options.send_model != SIM_SEND_BATCH && world->options.late_rank != rank->id + 1;
}

static inline void sim_world_changed(struct sim_world *world)
{
    world->changes++;
}

/* A poll found nothing: yields, and counts towards livelock. In the monitor. */
void sim_rank_poll_failed(struct sim_rank *rank);

/* Nobody is runnable but some are live: tries what only quiescence allows (a delayed wildcard, then
 * a limit that passes).
 * True when somebody became ready. */
bool sim_world_quiescent(struct sim_world *world);
/* A choice of the rank itself. In the monitor. */
uint32_t sim_rank_choose(struct sim_rank *rank, uint32_t kind, uint32_t n,
                         const struct sim_alternative *alternatives);
/* Ends the world: no rank runs again. The caller is in the monitor. */
void sim_world_stop(struct sim_world *world, enum trace_outcome outcome);
/* Ends the world because of the calling rank (MPI_Abort, a fatal error). */
_Noreturn void sim_rank_abort(struct sim_rank *rank, int exit_code);
/* The calling rank has ended: bookkeeping common to both executors, then the executor's leave. */
_Noreturn void sim_rank_leave(struct sim_rank *rank, enum sim_rank_state state, int exit_code);

/* Memory of a world: blocks of up to SIM_POOL_MAX bytes from free lists, larger ones from malloc.
 * In the monitor. */
void *sim_pool_get(struct sim_world *world, size_t size);
void sim_pool_put(struct sim_world *world, void *block, size_t size);
void sim_pool_release(struct sim_world *world);

/* Gives back the stacks of a world of fibers. */
void sim_fibers_release(struct sim_world *world);

/* The calling rank uses these buffers within the call that returns to `site`. */
static inline void sim_rank_uses(const char *function, const struct sim_used *sides, size_t count,
                                 const void *site)
{
    const struct sim_rank *rank = sim_current_rank;
    if (rank && rank->pending)
        rank->world->rooms->buffers_used(function, sides, count, site);
}

#endif
