/* Shared by the `libc_*.c` files only: who calls, and where the real functions are. */
#ifndef SIM_LIBC_COMMON_H
#define SIM_LIBC_COMMON_H

#include "sim/libc/hooks.h"
#include "sim/libc/images.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/select.h>

extern const struct sim_libc_hooks *_Atomic libc_hooks;

/* The rank on whose behalf code at `caller` runs; NULL for the launcher's own code and for threads
 * without a rank. */
struct sim_libc_state *libc_rank(const void *caller);

/* The same, but only for the program's own code on the rank's own stack: where yielding is allowed.
 * A library that waits (an OpenMP barrier) must not be suspended in the middle. */
struct sim_libc_state *libc_rank_program(const void *caller);

/* The program uses what all ranks have in common, which is said once. Signals that are blocked; files
 * as stdin; the process's limits. */
void libc_shared(_Atomic bool *told, const void *caller, const char *what);
void libc_shared_mask(const void *caller);
void libc_shared_input(const void *caller);
void libc_shared_limits(const void *caller);

/* The next definition of `name` after the launcher's: libc's, or a sanitizer's. Kept in *cache.
 * Aborts if there is none, which cannot be for a function that libc has. */
void *libc_next(void *_Atomic *cache, const char *name);

/* Within a function of the same name: the real one, looked up once. */
#define LIBC_REAL(name)                                                                            \
    static void *_Atomic real_##name;                                                              \
    __typeof__(&name) real = (__typeof__(&name))(uintptr_t)libc_next(&real_##name, #name)

/* Regions of this thread are run by gcc's runtime, whose state can be put aside. */
bool libc_team_is_gomp(void);

/* The region that a rank's own thread began, when the calling one is of its team; and what is told of
 * it, and whether the rank left it without coming back. */
struct libc_region;
struct libc_region *libc_team_direct(const void *caller);
/* A thread begins the body of such a region: it has been in no ordered loop of it. */
void libc_ordered_begin(void);
bool libc_team_tell(struct libc_region *region, enum sim_team_event event, uintptr_t what);
bool libc_team_is_abandoned(const struct libc_region *region);
/* A thread of a team that is nobody's, as the body of its region is over, is the rank's until it is
 * given back; false: it is somebody's. */
bool libc_team_lend(struct libc_region *region);
void libc_team_give_back(const struct libc_region *region);
/* How far the threads of a region are, where they come late to each other. */
struct libc_pace {
    bool late;
    _Atomic int size, tasks, held;
    _Atomic unsigned arrived, paused, begun; /* since the region began; begun: tasks */
};
/* A thread of the region does this. */
void libc_pace_tell(struct libc_pace *pace, enum sim_team_event event, uintptr_t what);
/* The calling one, which is in no meeting, lets the others go on. */
void libc_pace_pause(struct libc_pace *pace);
/* The calling thread begins with a region, and has left no task of it. */
void libc_tasks_begin(void);

/* The calling thread begins to work for this rank: it gets thread-locals of the rank's image. */
void libc_thread_enter(const struct sim_libc_state *rank);
/* It is a rank's no more. */
void libc_thread_end(void);

/* A list of handlers, run and emptied. */
void libc_handlers_run(struct libc_handler **list, int status);
void libc_handlers_forget(struct libc_handler **list);
void libc_random_release(struct libc_random *random);
void libc_process_release(struct libc_process *process);
/* The rank's own environment; NULL: nobody's, or it has the process's. */
char **libc_process_environment(const struct sim_libc_state *rank);
/* A handler of the program is being called on this thread. */
void libc_handler_called(void);
void libc_signals_release(struct libc_signals *signals);

/* In a process that a rank forked: that rank's state, which is no rank's any more; else NULL. */
extern struct sim_libc_state *libc_forked;
/* This process is one that a rank forked, and its only thread the one that did. */
void libc_forget_rank(void);
/* Whether this is the ranks' process. One that shares its memory (clone) takes itself for a rank. */
bool libc_is_home(void);

/* Functions of libc that its fortified headers alone declare. */
struct pollfd;
int __poll_chk(struct pollfd *files, unsigned long count, int most, size_t bytes);
int __ppoll_chk(struct pollfd *files, unsigned long count, const struct timespec *most,
                const sigset_t *mask, size_t bytes);

#define LIBC_CALLER __builtin_return_address(0)

#endif
