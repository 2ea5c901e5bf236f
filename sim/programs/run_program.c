/* A program as the body of a world: see run_program.h. */
#include "sim/programs/run_program.h"

#include "sim/libc/hooks.h"
#include "sim/worlds/fault.h"
#include "sim/worlds/rank.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIGNAL_STACK = 64 * 1024 };

void sim_run_signal_stack(void)
{
    static _Thread_local void *mine;
    if (mine)
        return;
    void *memory = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return;
    mine = memory;
    sigaltstack(&(stack_t){.ss_sp = memory, .ss_size = SIGNAL_STACK}, NULL);
}

/* Where an OS thread's stack ends, so that running over it can be told from other crashes. */
static void note_stack(struct sim_rank *rank)
{
    uintptr_t low, high;
    sim_thread_stack(&low, &high);
    if (low < high)
        rank->stack_base = (char *)low;
}

/* A copy of argv that the program may change: one block, freed when the rank ends normally. */
static char **copy_arguments(int argc, char **argv)
{
    size_t bytes = (size_t)(argc + 1) * sizeof *argv;
    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]) + 1;
    char **copy = malloc(bytes);
    if (!copy)
        return NULL;
    char *text = (char *)(copy + argc + 1);
    for (int i = 0; i < argc; i++) {
        copy[i] = text;
        text = stpcpy(text, argv[i]) + 1;
    }
    copy[argc] = NULL;
    return copy;
}

typedef int main_function(int, char **, char **);

static SIM_INTO_PROGRAM int main_call(main_function *program_main, int argc, char **argv)
{
    int code = program_main(argc, argv, environ);
    SIM_INTO_PROGRAM_END;
    return code;
}

int sim_run_body(void *context, int rank)
{
    const struct sim_run *run = context;
    struct sim_rank *self = sim_current_rank;
    struct failure failure = {0};
    int image = run->first_image + rank;
    if (self->world->threaded) {
        sim_run_signal_stack();
        if (!self->stack_base) /* not one of those that all cores carry */
            note_stack(self);
    }
    sim_libc_init(&self->libc, run->program, image);
    self->libc.late = self->world->options.late_receives && self->world->options.memory;
    char **argv = copy_arguments(run->argc, run->argv);
    if (!argv || sim_program_image(run->program, image, &failure)) {
        fprintf(stderr, "rank %d: %s\n", rank,
                argv ? failure.text : "out of memory for the arguments");
        sim_rank_abort(self, 1);
    }
    main_function *program_main = sim_program_main(run->program, image);
    uint64_t address;
    self->code = (const void *)(uintptr_t)program_main;
    if (run->placed && sim_program_locate(run->program, image, (uintptr_t)program_main, &address))
        run->placed(run->context, rank, (uintptr_t)program_main, address);
    int code = main_call(program_main, run->argc, argv);
    sim_libc_end_forked(code);
    sim_libc_finish(&self->libc, code);
    sim_rank_stray_check(self);
    free(argv);
    return code;
}
