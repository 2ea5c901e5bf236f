/* What libc keeps once per process, kept once per rank.
 *
 * The launcher exports the functions of the `libc_*.c` files under libc's own names. It comes first
 * in the global scope, so calls from programs and from libraries both arrive here. A call counts as
 * a rank's when the thread carries a rank and the caller is not the launcher itself; every other
 * call goes on to the real function.
 *
 * - exit, _exit, _Exit, quick_exit, abort, assert, err(3), error(3), pthread_exit: end a rank
 * - exec, the system calls exit and exit_group, kill(getpid(), SIGKILL): the same
 * - sigprocmask: crash signals cannot be blocked; kill: reaches nobody outside
 * - atexit, on_exit, at_quick_exit: its handlers run at its end
 * - getopt, getopt_long, getopt_long_only: with optind, opterr, optopt, optarg of its image
 * - rand, random, drand48 and their families, strtok: as in a process of its own
 * - chdir, fchdir, umask, setenv and its family, getenv, setlocale, uselocale, gmtime, localtime, asctime,
 *   ctime: as in a process of its own (process.h)
 * - dup2 onto stdout or stderr: of the rank alone
 * - sleep, usleep, nanosleep, clock_nanosleep, sched_yield: let other ranks go on; time is logical
 * - poll, select, epoll_wait and their like: others run meanwhile (poll.c); no wait ends with EINTR
 *   because the launcher asked something (interrupted.h)
 * - pthread_create, pthread_join and OpenMP regions: the child belongs to its parent's rank
 *
 * Left to the machine: errno is a thread-local of the OS thread, which fibers share, so it must be
 * saved and restored at each switch. Not kept per rank: timers, the variable environ itself, the
 * time zone, stdin, and the static buffers of strerror, getpwnam and their like, which hold until
 * the next switch: docs/libc.md. fork is not intercepted; what it makes, and system, popen and
 * posix_spawn, have the rank's environment.
 *
 * Under clang's sanitizers pthread_create is not taken over (their runtime is linked into the
 * launcher and must be the first): threads that a rank starts then share its thread-locals. */
#ifndef SIM_LIBC_HOOKS_H
#define SIM_LIBC_HOOKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct sim_program;
struct libc_handler;
struct libc_random;
struct libc_process;

enum sim_team_event {
    SIM_TEAM_BEGIN, /* begins the region's body, with so many threads in all */
    SIM_TEAM_MEET,  /* waits until all have come so far */
    SIM_TEAM_MET,   /* goes on from there, when all tasks are done */
    SIM_TEAM_END,   /* the rank's own thread has left the region */
    SIM_TEAM_CRITICAL,
    SIM_TEAM_UNCRITICAL,
    SIM_TEAM_ORDERED, /* is within what orders the team's threads, and out of it again */
    SIM_TEAM_UNORDERED,
    SIM_TEAM_TURNS,      /* begins an ordered loop, whose first iteration is `first` of the turn */
    SIM_TEAM_TURN,       /* waits for its turn */
    SIM_TEAM_TURN_DONE,  /* its chunk is done */
    SIM_TEAM_TASK,       /* a task is made */
    SIM_TEAM_TASK_BEGIN, /* and begins on the calling thread: see struct sim_team_task */
    SIM_TEAM_TASK_END
};

struct sim_team_task {
    bool within;         /* another one, which waits for tasks meanwhile */
    uint8_t interrupted; /* which one, for the machine alone */
};

/* A chunk of iterations of an ordered loop: chunks take turns, and one begins where another ends. */
struct sim_team_turn {
    uint64_t loop; /* of those of its region, from 1 */
    long first, end;
};

enum sim_exit {
    SIM_EXIT_NORMAL,    /* exit, after handlers and destructors; also pthread_exit of a rank's first
                           thread */
    SIM_EXIT_IMMEDIATE, /* _exit, _Exit */
    SIM_EXIT_QUICK,     /* quick_exit, after its handlers */
    SIM_EXIT_ABORT,     /* abort; the status is 134, as a shell would say */
    SIM_EXIT_KILLED,    /* a signal that cannot be caught, which is the status */
    SIM_EXIT_ASSERT,    /* a failed assert, whose message is already written */
};

/* A function of the launcher's that calls one of the program's, and no other. Where that one ends
 * with a jump, into libc or OpenMP's runtime, the caller that this sees is here, and counts as the
 * program. Its last statement is SIM_INTO_PROGRAM_END, so that it does not end with a jump, too. */
#define SIM_INTO_PROGRAM     __attribute__((noinline, section("into_program")))
#define SIM_INTO_PROGRAM_END __asm__ volatile("" ::: "memory")

/* One per rank; its owner embeds it. All zero is valid for a rank without program. */
struct sim_libc_state {
    /* Looked at in each switch: OpenMP regions that the rank itself is in; `process` is set. */
    int regions;
    bool apart;
    struct libc_process *process; /* what it changed of its process, made at first use */
    int image;
    struct sim_program *program;
    bool finished; /* destructors have run */
    struct libc_handler *handlers, *quick_handlers;
    struct libc_random *random;   /* made at first use */
    char *token;                  /* where strtok goes on */
    struct libc_signals *signals; /* own dispositions, made at first use */
    struct libc_region *open;     /* the innermost OpenMP region that the rank's own thread is in */
    bool late;    /* threads of its regions come late to each other: sim_libc_team_pause */
    bool company; /* a region of its own thread's had several threads since somebody cleared this */
    bool reads_clock;         /* since somebody cleared this */
    int team_size;            /* what omp_set_num_threads said, 0: nothing */
    pthread_mutex_t critical; /* its section without a name, where the machine keeps none */
    struct libc_kept *kept;   /* what it has printed ahead of its turn; NULL: nothing */
    struct {
        char *cluster;   /* rest of a word like -abc */
        int first, last; /* the words passed over so far */
        bool started, ordered, in_order;
    } getopt;
};

/* Before the rank's main; program may be NULL. */
void sim_libc_init(struct sim_libc_state *state, struct sim_program *program, int image);

/* What the end of a process does: handlers, last registered first, then the image's destructors.
 * Call it on the rank's own stack when main returns; exit does so itself. Doing it again does
 * nothing. */
void sim_libc_finish(struct sim_libc_state *state, int status);

/* Frees what the rank made; handlers that did not run are forgotten, as after _exit. */
void sim_libc_release(struct sim_libc_state *state);

/* The calling thread of the rank has started something and calls again: where its threads come late
 * to each other (`late`), the others of its region go on first as far as they can, and some wait for
 * this when they begin. */
void sim_libc_team_pause(struct sim_libc_state *state);

/* From now on a process that a rank forks is nobody's rank: it ends as a process does, and the MPI
 * it calls says so. To be called once by the process that runs ranks. */
void sim_libc_guard_forks(void);
/* The program's main has returned: ends a process that a rank forked, which must not go on as the rank. Otherwise returns. */
void sim_libc_end_forked(int status);

/* A thread that begins to carry ranks says so: it may have been started by one (a pooled OpenMP
 * thread). */
void sim_libc_thread_carries(void);

/* Where the calling thread stands: on a rank's own stack (or it is no rank's at all); there, but
 * inside an OpenMP region of the rank; or in a thread that a rank started. */
enum sim_libc_place { SIM_LIBC_RANK, SIM_LIBC_REGION, SIM_LIBC_THREAD };
enum sim_libc_place sim_libc_place(void);
/* A thread that is not the rank's own runs the body of a region that the rank's own began: so does
 * that one, until all have. */
bool sim_libc_in_team(void);

/* The rank's own thread leaves its regions without coming back: threads of its teams that have not
 * begun with them leave them alone. */
void sim_libc_regions_abandon(struct sim_libc_state *state);

/* The calling thread, one of a team, leaves the OpenMP tasks that it is in, and does no more of its
 * region; returns if it is in none. */
void sim_libc_task_leave(void);

/* What the OpenMP runtime keeps for the calling OS thread is put aside, and the thread is one that
 * never had a region; and put back. For whoever carries ranks, and for ranks that wait inside a
 * region. Dropped: the rank that was in the region never comes back. */
struct sim_team_state {
    char bytes[512];
};
void sim_libc_team_aside(struct sim_team_state *state);
void sim_libc_team_back(const struct sim_team_state *state);
void sim_libc_team_drop(void);

/* What is asked of whoever runs ranks. A rank's thread is one that it started itself. */
/* Who a thread was before a handler of a signal was called on it. */
struct sim_libc_interrupted {
    void *rank, *parent;
    bool within, outer; /* a handler, and that in another one */
};

struct sim_libc_hooks {
    /* The rank that the calling thread carries, also in threads that a rank started; NULL: none; and
     * its number in its world, -1: none. */
    struct sim_libc_state *(*current)(void);
    int (*number)(void);
    /* Ends the calling rank; does not return for one. May be called on a thread of the rank. */
    void (*exit)(int status, enum sim_exit how);
    /* The calling thread is nobody's rank any more, in a process that a rank forked. */
    void (*forget)(void);
    /* Lets the other ranks go on. Called only on a rank's own stack. */
    void (*yield)(void);
    /* Brackets what a thread does for the rank of `parent`: a POSIX thread's life, a team's thread's
     * region. */
    void (*thread_begin)(struct sim_libc_state *parent);
    void (*thread_end)(struct sim_libc_state *parent);
    /* The rank itself has left an outermost region. */
    void (*region_end)(struct sim_libc_state *state);
    /* Its own thread is about to run one: from now on there may be others of the rank. */
    void (*region_begin)(struct sim_libc_state *state);
    /* The rank of `parent` has one POSIX thread more (change 1, told before it begins) or less (-1). */
    void (*threads_changed)(struct sim_libc_state *parent, int change);
    /* Its thread that calls is about to wait until another of its POSIX threads has ended (1), or that
     * one ends (-1, told before threads_changed). */
    void (*joining_changed)(struct sim_libc_state *parent, int change);
    /* What a thread of the team of a rank's outermost region does; false: left to the runtime. */
    bool (*team)(struct sim_libc_state *state, enum sim_team_event event, uintptr_t what);
    /* A handler of the rank of `owner` is called where the signal came; false: the signal went on to
     * the rank's own thread. After a jump out of it, handler_left instead of handler_end. */
    bool (*handler_begin)(struct sim_libc_state *owner, int number,
                          struct sim_libc_interrupted *interrupted);
    void (*handler_end)(const struct sim_libc_interrupted *interrupted);
    void (*handler_left)(void);
    /* What the calling rank prints is to be kept until sim_libc_output_kept. NULL: never. */
    bool (*ahead)(void);
    /* From now on the calling rank has what belongs to a thread or a process: the ranks run on one
     * thread. NULL: they do. */
    void (*apart)(void);
};
/* From now on those; they must live as long as the process. NULL: nobody is a rank, as before anybody
 * called. */
void sim_libc_use(const struct sim_libc_hooks *hooks);
/* What they say now. */
struct sim_libc_state *sim_libc_current(void);

/* The return address in the program of the call that led to the caller's frame; NULL: not found. */
const void *sim_libc_call_site(void);
/* The same as another rank has it, for whom the caller's makes something; and of any address in the image of some rank. */
const void *sim_libc_call_site_of(const struct sim_libc_state *rank);
const void *sim_libc_site_of(const struct sim_libc_state *rank, const void *site);
/* The frame of the launcher's that the program called: what the program has on the stack lies above
 * it. NULL: not found. */
const char *sim_libc_call_frame(void);
/* The file whose image holds an address of a program or of a library of its own, and where that
 * image's linker put 0; NULL: none does. Valid as long as the program is open. */
const char *sim_libc_file_of(const void *address, uintptr_t *bias);
/* Whether the address lies in the launcher. */
bool sim_libc_in_launcher(const void *address);
/* The name of the function of the launcher that was called by the instruction before this return
 * address; NULL when that cannot be told. */
const char *sim_libc_called_at(const char *after);
/* What pthread_create and pthread_join do when a rank's program calls them, for the launcher's own
 * code that runs as a rank (tests), also under sanitizers. */
int sim_libc_thread_start(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument);
int sim_libc_thread_join(pthread_t thread, void **result);
/* The calling thread is one of those. */
bool sim_libc_thread_is_counted(void);

/* Where `site`, to which the function of `frame` returns, is in another MPI's library above a shim: the line that called that library. */
const void *sim_libc_outer_site(const void *site, void *const *frame);

#endif
