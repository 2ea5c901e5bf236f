/* Worlds, explorations and gradient checks give all their memory back, also where ranks hang with messages and requests open, and
 * touch no other (fence.h). What they do is for other tests. */
#include "checker/explore/explore.h"
#include "tests/checker/hunt_run.h"
#include "tests/diff_world.h"
#include "tests/fences/fence.h"

enum { PROGRAMS = 40, FIRST = 6, EXPLORED_MAX = 12, LEAKS_TOLD = 5 };

static struct scene scene;
static unsigned ended[16], leaking;
static bool warm; /* what a process makes once and keeps is there */

static void options_of(unsigned kind, unsigned seed, struct sim_world_options *options)
{
    static const enum sim_send_model models[] = {SIM_SEND_EAGER, SIM_SEND_RENDEZVOUS,
                                                 SIM_SEND_BATCH};
    sim_world_options_init(options);
    options->send_model = models[kind % 3];
    options->strict_collectives = kind == 1;
    options->driver = kind > 1 ? SIM_CHOOSE_SEED : SIM_CHOOSE_DEFAULT;
    options->seed = seed;
    options->livelock_rounds = 50;
    options->delay_wildcards = options->delay_receives = kind == 4;
}

static void must_be_back(long before, const char *what, unsigned seed)
{
    leaking += fence_live() != before;
    if (fence_live() != before && warm && leaking <= LEAKS_TOLD)
        tap_note("%s %u: %ld blocks are not given back", what, seed, fence_live() - before);
}

static void run_recorded(unsigned kind, unsigned seed)
{
    struct sim_world_options options;
    enum trace_outcome outcome = OUTCOME_ABORTED;
    options_of(kind, seed, &options);
    trace_free(scene_trace(&scene, &options, &outcome));
    ended[outcome % 16]++;
}

static bool run_explored(void *context, unsigned worker, struct explore_steer *steer,
                         struct explore_run *run)
{
    struct sim_world_options options;
    (void)worker;
    options_of(*(unsigned *)context, 0, &options);
    explore_steer_world(steer, &options);
    struct sim_world *world = scene_run(&scene, &options, &run->outcome);
    if (!world)
        return false;
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    return true;
}

static void explore_all(unsigned kind)
{
    struct explore_report report;
    struct explore_options options;
    explore_options_init(&options);
    options.workers = 1;
    options.runs_max = EXPLORED_MAX;
    explore(&options, run_explored, &kind, &report);
    explore_report_release(&report);
}

/* Most are wrong: a step is left out, or waits for somebody else. */
static void spoil(struct program *program)
{
    uint32_t rank = below(program->ranks), at = below(program->length[rank]);
    struct step *step = &program->steps[rank][at];
    if (below(2))
        step->peer = (int8_t)below(program->ranks);
    else
        memmove(step, step + 1, (--program->length[rank] - at) * sizeof *step);
}

static void run_program(unsigned seed)
{
    struct program program = program_new(seed);
    if (seed % 3 == 0)
        spoil(&program);
    scene.program = &program;
    fence_low = seed % 4 == 0;
    for (unsigned kind = 0; kind < 5; kind++) {
        long before = fence_live();
        run_recorded(kind, seed);
        must_be_back(before, "program", seed);
    }
    long before = fence_live();
    explore_all(seed % 3);
    must_be_back(before, "exploration of program", seed);
}

static void gradients(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double values[] = {0.5 + rank, -1.25, 2, 0.75}, weights[] = {1, -2, 0.5, rank + 1.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){4}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){4}, weights);
    struct diff_tensor *y = diff_allreduce(diff_tanh(x), MPI_SUM, MPI_COMM_WORLD);
    diff_backward(diff_dot(y, w));
    diff_tape_free(tape);
}

static void check_gradients(const char *mutant)
{
    struct gradcheck_options options = gradcheck_options_default();
    options.mutant = mutant;
    struct gradcheck_result result = diff_world_check(gradients, 2, &options);
    gradcheck_release(&result);
}

int main(void)
{
    if (!fence_stands) {
        tap_plan(1);
        tap_skip(1, "a sanitizer has its own allocator");
        return tap_done();
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    for (unsigned seed = 1; seed <= FIRST; seed++)
        run_program(seed);
    leaking = 0;
    warm = true;
    for (unsigned seed = 1; seed <= PROGRAMS; seed++)
        run_program(seed);
    check_gradients(NULL);
    check_gradients("identity");
    long before = fence_live();
    check_gradients(NULL);
    must_be_back(before, "gradients", 1);
    check_gradients("identity");
    must_be_back(before, "wrong gradients", 1);
    tap_note("%u worlds finished, %u hung", ended[OUTCOME_FINISHED], ended[OUTCOME_DEADLOCK]);
    tap_ok(ended[OUTCOME_FINISHED] > 50 && ended[OUTCOME_DEADLOCK] > 20, "worlds finish and hang");
    tap_is_int(leaking, 0, "all memory is given back");
    tap_is_int(fence_wrong(), 0, "nothing is given back twice");
    return tap_done();
}
