/* Every known wrong adjoint is noticed by the gradient checks, and the right ones pass. */
#include "collectives/gradcheck/mutant_suite.h"

#include "tests/world_harness.h"

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
    world_calls_left();
    MPI_Finalize();
    return 0;
}

static int run(void *context, int ranks, uint64_t seed, struct diff_probe *probe,
               void (*body)(void *), void *body_context, int worker)
{
    (void)context, (void)worker;
    struct sim_world_options options = world_options(ranks);
    struct failure failure = {0};
    options.slots[MPIX_SLOT_PROBE] = probe;
    options.send_model = SIM_SEND_RENDEZVOUS;
    if (seed) {
        options.driver = SIM_CHOOSE_SEED;
        options.seed = seed;
    }
    struct rank_call call = {body, body_context};
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return -1;
    enum trace_outcome outcome = sim_world_run(world, rank_main, &call);
    sim_world_free(world);
    return (int)outcome;
}

/* Of a part some of the mutants. */
static int some_judged(const struct mutant_world *world)
{
    struct mutant_verdict verdict;
    for (int m = 0; m < DIFF_MUTANT_COUNT; m++)
        if (dice_takes_of((unsigned long long)m, DIFF_MUTANT_COUNT)) {
            mutant_judge(world, m, &verdict);
            tap_ok(verdict.killed == (m != MUTANT_NONE) && (!verdict.killed || verdict.blamed[0]),
                   "the mutant %s", diff_mutants[m].name);
        }
    return tap_done();
}

int main(void)
{
    struct mutant_world world = {.run = run, .workers = 1};
    if (dice_part().of > 1)
        return some_judged(&world);
    struct mutant_verdict verdicts[DIFF_MUTANT_COUNT];
    char text[8192] = "";
    mutants_judge(&world, verdicts);
    int survived = mutants_print(verdicts, text, sizeof text);
    char wanted[80];
    snprintf(wanted, sizeof wanted, "killed %d of %d; the right adjoints pass every program\n",
             DIFF_MUTANT_COUNT - 1, DIFF_MUTANT_COUNT - 1);
    tap_plan(DIFF_MUTANT_COUNT + 4);
    tap_ok(!verdicts[MUTANT_NONE].killed, "the right adjoints pass all programs");
    for (int m = MUTANT_NONE + 1; m < DIFF_MUTANT_COUNT; m++)
        tap_ok(verdicts[m].killed && verdicts[m].blamed[0],
               "the mutant %s is killed, and the first wrong operation named: %s",
               diff_mutants[m].name, verdicts[m].blamed);
    tap_is_int(survived, 0, "none survives");
    tap_ok(strstr(text, wanted) != NULL, "the table says so");
    struct mutant_verdict escaped[DIFF_MUTANT_COUNT];
    char table[8192];
    memcpy(escaped, verdicts, sizeof escaped);
    escaped[MUTANT_MEAN].killed = false;
    escaped[MUTANT_NONE].killed = true;
    tap_is_int(mutants_print(escaped, table, sizeof table), 2,
               "a survivor counts, and so do right adjoints that fail");
    tap_ok(strstr(table, "SURVIVED") && strstr(table, "right adjoints FAIL"), "and both are told");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        tap_note("%s", line);
    return tap_done();
}
