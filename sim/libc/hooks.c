/* Telling ranks from everybody else, and the life of a rank's libc state: see hooks.h. */
#include "sim/libc/common.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char __executable_start, _end;

static struct sim_libc_state *nobody(void)
{
    return NULL;
}

static int no_number(void)
{
    return -1;
}

static void no_exit(int status, enum sim_exit how)
{
    (void)status, (void)how;
}

static void nothing(void)
{
}

static void no_state(struct sim_libc_state *state)
{
    (void)state;
}

static void no_change(struct sim_libc_state *parent, int change)
{
    (void)parent, (void)change;
}

static bool no_team(struct sim_libc_state *state, enum sim_team_event event, uintptr_t what)
{
    (void)state, (void)event, (void)what;
    return false;
}

static bool no_handler(struct sim_libc_state *owner, int number,
                       struct sim_libc_interrupted *interrupted)
{
    (void)owner, (void)number, (void)interrupted;
    return true;
}

static void no_interrupted(const struct sim_libc_interrupted *interrupted)
{
    (void)interrupted;
}

static const struct sim_libc_hooks none = {
    nobody,     no_number,      no_exit,  nothing,   nothing,   no_state,
    no_state,   no_state,       no_state, no_change, no_change, no_team,
    no_handler, no_interrupted, nothing,  NULL,      NULL};
const struct sim_libc_hooks *_Atomic libc_hooks = &none;

void sim_libc_use(const struct sim_libc_hooks *hooks)
{
    if (libc_hooks != (hooks ? hooks : &none))
        libc_hooks = hooks ? hooks : &none;
}

struct sim_libc_state *sim_libc_current(void)
{
    return libc_hooks->current();
}

struct sim_libc_state *libc_forked;

/* In the new process, whose only thread is the one that forked. */
void libc_forget_rank(void)
{
    libc_forked = libc_hooks->current();
    if (libc_process_environment(libc_forked))
        environ = libc_process_environment(libc_forked);
    libc_hooks->forget();
    libc_hooks = &none;
}

static pid_t home; /* 0: not told */

bool libc_is_home(void)
{
    return !home || getpid() == home;
}

void sim_libc_guard_forks(void)
{
    home = getpid();
    pthread_atfork(NULL, NULL, libc_forget_rank);
}

static bool in_launcher(const void *address)
{
    return (const char *)address >= &__executable_start && (const char *)address < &_end;
}

static enum libc_between between_of(const void *address)
{
    uintptr_t bias;
    enum libc_between between = LIBC_PROGRAM;
    return libc_images->file_of(address, &bias, &between) ? between : LIBC_PROGRAM;
}

const char *sim_libc_file_of(const void *address, uintptr_t *bias)
{
    enum libc_between between = LIBC_PROGRAM;
    const char *file = libc_images->file_of(address, bias, &between);
    Dl_info info;
    if (file)
        return between == LIBC_PROGRAM ? file : NULL;
    if (in_launcher(address) || !dladdr(address, &info) || !info.dli_fname)
        return NULL;
    *bias = (uintptr_t)info.dli_fbase;
    return info.dli_fname;
}

const void *sim_libc_site_of(const struct sim_libc_state *rank, const void *site)
{
    return libc_images->site_of(rank->image, site);
}

/* Frames of the launcher have their frame pointers; how many there are between a check and the
 * program, and how large they are, is known to be little. (A sanitizer's own have none.) */
static const char *frame_from(char *frame, enum libc_between *between)
{
    enum { FRAME_MAX = 16384 };
    for (int depth = 0; depth < 24; depth++) {
        const void *address = ((void **)(void *)frame)[1];
        if (!in_launcher(address) && (*between = between_of(address)) != LIBC_SHIM)
            return frame;
        char *next = *(void **)(void *)frame;
        if ((uintptr_t)next - (uintptr_t)frame > FRAME_MAX)
            break;
        frame = next;
    }
    return NULL;
}

const char *sim_libc_call_frame(void)
{
    enum libc_between between;
    return frame_from(__builtin_frame_address(0), &between);
}

const void *sim_libc_call_site(void)
{
    enum libc_between between;
    void *const *frame =
        (void *const *)(const void *)frame_from(__builtin_frame_address(0), &between);
    return !frame                       ? NULL
           : between == LIBC_ABOVE_SHIM ? sim_libc_outer_site(frame[1], frame)
                                        : frame[1];
}

const void *sim_libc_call_site_of(const struct sim_libc_state *rank)
{
    return sim_libc_site_of(rank, sim_libc_call_site());
}

bool sim_libc_in_launcher(const void *address)
{
    return in_launcher(address);
}

#ifdef __x86_64__
static const unsigned char *relative(const unsigned char *field)
{
    int32_t distance;
    memcpy(&distance, field, sizeof distance);
    return field + sizeof distance + distance;
}

/* The name of a function of the launcher's, which stays where it is: the loader's search through all
 * of its symbols is made once. */
static const char *launcher_function(const void *target)
{
    enum { KNOWN = 256 };
    static _Thread_local struct {
        const void *target;
        const char *name;
    } known[KNOWN];
    size_t place = (uintptr_t)target / 16 % KNOWN;
    if (known[place].target != target) {
        Dl_info info;
        known[place].name =
            dladdr(target, &info) && info.dli_saddr == target ? info.dli_sname : NULL;
        known[place].target = target;
    }
    return known[place].name;
}

/* A call through the global offset table, or to a stub that jumps through it. */
const char *sim_libc_called_at(const char *after)
{
    const unsigned char *code = (const unsigned char *)after, *slot = NULL;
    if (code[-6] == 0xff && code[-5] == 0x15) {
        slot = relative(code - 4);
    } else if (code[-5] == 0xe8) {
        const unsigned char *stub = relative(code - 4);
        for (int i = 0; i < 8 && !slot; i++) /* behind a landing pad and a prefix */
            if (stub[i] == 0xff && stub[i + 1] == 0x25)
                slot = relative(stub + i + 2);
    }
    void *target;
    if (!slot)
        return NULL;
    memcpy(&target, slot, sizeof target);
    return in_launcher(target) ? launcher_function(target) : NULL;
}
#else
const char *sim_libc_called_at(const char *after)
{
    (void)after;
    return NULL;
}
#endif

/* Where the linker puts what is SIM_INTO_PROGRAM. */
extern const char __start_into_program[] __attribute__((weak));
extern const char __stop_into_program[] __attribute__((weak));

/* A function of the program's that the launcher called, and that ends with a jump: what it jumps to
 * returns to the launcher. */
static bool for_program(const char *caller)
{
    return caller >= __start_into_program && caller < __stop_into_program;
}

struct sim_libc_state *libc_rank(const void *caller)
{
    return in_launcher(caller) && !for_program(caller) ? NULL : libc_hooks->current();
}

struct sim_libc_state *libc_rank_program(const void *caller)
{
    struct sim_libc_state *state = libc_rank(caller);
    if (!state || !state->program || libc_thread_started)
        return NULL;
    return libc_images->holds(state->program, state->image, (uintptr_t)caller) ? state : NULL;
}

void *libc_next(void *_Atomic *cache, const char *name)
{
    void *found = atomic_load_explicit(cache, memory_order_acquire);
    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        /* OpenMP's library may have come with the program only. */
        static const char *const teams[] = {"libgomp.so.1", "libomp.so.5", "libomp.so"};
        for (size_t i = 0; !found && i < sizeof teams / sizeof *teams; i++) {
            void *team = dlopen(teams[i], RTLD_LAZY | RTLD_NOLOAD);
            found = team ? dlsym(team, name) : NULL;
        }
        if (!found)
            __builtin_trap();
        atomic_store_explicit(cache, found, memory_order_release);
    }
    return found;
}

void libc_thread_enter(const struct sim_libc_state *rank)
{
    if (rank->program)
        libc_images->thread_enter(rank->program, rank->image);
}

void sim_libc_init(struct sim_libc_state *state, struct sim_program *program, int image)
{
    *state = (struct sim_libc_state){.program = program, .image = image};
    libc_thread_enter(state);
}

void sim_libc_finish(struct sim_libc_state *state, int status)
{
    libc_handlers_run(&state->handlers, status);
    if (!state->program || state->finished)
        return;
    state->finished = true;
    struct libc_handler **of_image = libc_images->handlers(state->program, state->image);
    if (of_image)
        libc_handlers_run(of_image, status);
    libc_images->finish(state->program, state->image);
}

void sim_libc_release(struct sim_libc_state *state)
{
    sim_libc_regions_abandon(state);
    libc_handlers_forget(&state->handlers);
    libc_handlers_forget(&state->quick_handlers);
    libc_random_release(state->random);
    libc_signals_release(state->signals);
    libc_process_release(state->process);
    *state = (struct sim_libc_state){.program = state->program, .image = state->image};
}

void libc_thread_end(void)
{
    if (libc_thread_started)
        libc_images->thread_end();
    libc_thread_started = 0;
}

void sim_libc_thread_carries(void)
{
    libc_thread_end();
}
