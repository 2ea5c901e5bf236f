/* simrun mutants: every known wrong adjoint is run against the gradient check, here and now; the
 * table says what noticed it. */
#include "cli/command.h"
#include "cli/telling/present.h"
#include "collectives/gradcheck/mutant_suite.h"
#include "sim/worlds/world.h"

#include <mpi.h>
#include <stdio.h>

struct rank_call {
    void (*body)(void *context);
    void *context;
};

static int rank_main(void *context, int rank)
{
    const struct rank_call *call = context;
    (void)rank;
    MPI_Init(NULL, NULL);
    call->body(call->context);
    MPI_Finalize();
    return 0;
}

/* Sends wait for their receives, so that a wrong order shows as a deadlock. */
static int run_world(void *context, int ranks, uint64_t seed, struct diff_probe *probe,
                     void (*body)(void *), void *body_context, int worker)
{
    struct sim_world_options options;
    struct failure failure = {0};
    (void)context, (void)worker;
    sim_world_options_init(&options);
    options.ranks = ranks;
    options.slots[MPIX_SLOT_PROBE] = probe;
    options.send_model = SIM_SEND_RENDEZVOUS;
    if (seed) {
        options.driver = SIM_CHOOSE_SEED;
        options.seed = seed;
    }
    struct rank_call call = {body, body_context};
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return OUTCOME_ABORTED;
    enum trace_outcome outcome = sim_world_run(world, rank_main, &call);
    sim_world_free(world);
    return (int)outcome;
}

int command_mutants(int argc, char **argv)
{
    struct command_words words = {0};
    int status = command_parse("mutants", NULL, argc, argv, &words);
    if (status >= 0)
        return status;
    struct mutant_world world = {.run = run_world, .workers = 1};
    struct mutant_verdict verdicts[DIFF_MUTANT_COUNT];
    char text[8192];
    struct present present;
    present_init(&present, stdout, NULL);
    for (int i = 1; i < DIFF_MUTANT_COUNT; i++) {
        puts(diff_mutants[i].name);
        present_wrapped(&present, 4, diff_mutants[i].text);
    }
    fflush(stdout);
    mutants_judge(&world, verdicts);
    int survived = mutants_print(verdicts, text, sizeof text);
    printf("\n%s", text);
    puts("Oracles: central and one-sided differences; the identity\n"
         "<y_bar, y_dot> = <x_bar, x_dot> along random directions; forward mode; a world\n"
         "that cannot go on. 'simrun -n 4 --mutant NAME SCENARIO' shows it on a program.");
    return survived ? EXIT_FINDINGS : EXIT_PASSED;
}
