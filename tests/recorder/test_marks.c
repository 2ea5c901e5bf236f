/* What a probe keeps of marks in a recorded world: random programs of marks between calls, on every rank its own. Of each
 * mark it is known how many calls of MPI the rank has begun, which input a gradient belongs to (the newest mark of the
 * name; an input of a tape is none), in which order gradients were marked, and with which numbers. */
#include "tests/world_harness.h"

#include "collectives/experiment/probe.h"
#include "recorder/recording.h"

#include <diff.h>
#include <limits.h>

enum { RANKS = 2, ACTIONS = 24, INPUTS = ACTIONS, N = 3, NAMES = 3, PROGRAMS = 60 };
enum action { CALL, INPUT, TAPE_INPUT, GRADIENT, OBJECTIVE, KINDS };
static const char *const names[NAMES] = {"a", "b", "ab"};

static struct program {
    enum action action;
    int name;
} programs[RANKS][ACTIONS];

/* By hand: what should be kept. */
struct kept {
    bool marked;
    int name;
    unsigned position, gradient_position, order;
    double gradient; /* its first value, 0: none was marked */
};
static struct kept kept[RANKS][INPUTS];
static unsigned kept_count[RANKS], objective_position[RANKS];
static double objective[RANKS];

static double value_of(int rank, int at)
{
    return 1 + rank + 2 * at;
}

static bool is_marked(int rank, int before, int name)
{
    for (int i = 0; i < before; i++)
        if (programs[rank][i].action == INPUT && programs[rank][i].name == name)
            return true;
    return false;
}

/* Calls are of all ranks, at the same places. */
static void draw(uint64_t seed)
{
    uint64_t dice = seed * 977 + 5;
    bool calls[ACTIONS];
    for (int i = 0; i < ACTIONS; i++)
        calls[i] = dice_below(&dice, 3) == 0;
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < ACTIONS; i++) {
            struct program *at = &programs[r][i];
            at->action = calls[i] ? CALL : (enum action)(1 + dice_below(&dice, KINDS - 1));
            at->name = (int)dice_below(&dice, NAMES);
            if (at->action == GRADIENT && !is_marked(r, i, at->name))
                at->action = INPUT;
        }
}

static void work_out(int rank)
{
    unsigned calls = 0, orders = 0;
    kept_count[rank] = objective_position[rank] = 0;
    objective[rank] = 0;
    for (int i = 0; i < ACTIONS; i++) {
        const struct program *at = &programs[rank][i];
        if (at->action == CALL)
            calls++;
        if (at->action == INPUT || at->action == TAPE_INPUT)
            kept[rank][kept_count[rank]++] =
                (struct kept){.marked = at->action == INPUT, .name = at->name, .position = calls};
        if (at->action == OBJECTIVE) {
            objective_position[rank] = calls;
            objective[rank] += value_of(rank, i);
        }
        if (at->action != GRADIENT)
            continue;
        struct kept *input = NULL;
        for (unsigned k = 0; k < kept_count[rank]; k++)
            if (kept[rank][k].marked && kept[rank][k].name == at->name)
                input = &kept[rank][k];
        input->gradient_position = calls;
        input->order = ++orders;
        input->gradient = value_of(rank, i);
    }
}

static void program(int rank)
{
    double numbers[N] = {0.5, 0.25, 0.125};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    for (int i = 0; i < ACTIONS; i++) {
        const struct program *at = &programs[rank][i];
        double gradient[N] = {value_of(rank, i), 7, 8};
        switch (at->action) {
        case CALL:
            MPI_Barrier(MPI_COMM_WORLD);
            break;
        case INPUT:
            diff_mark_input(names[at->name], numbers, N);
            break;
        case TAPE_INPUT:
            diff_input(tape, names[at->name], DIFF_DOUBLE, 1, (size_t[]){N}, numbers);
            break;
        case GRADIENT:
            diff_mark_gradient(names[at->name], gradient, N);
            break;
        default:
            diff_mark_objective(value_of(rank, i));
        }
    }
    diff_tape_free(tape);
}

static int enter(void *recording, int rank)
{
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    program(rank);
    MPI_Finalize();
    return 0;
}

/* `before`: how many calls there were before the program's own; the same for all marks. */
static const char *row_difference(const struct diff_probe_rank *row, int rank, unsigned *before)
{
    if (row->input_count != kept_count[rank])
        return "the number of inputs";
    for (unsigned i = 0; i < row->input_count; i++) {
        const struct probe_input *input = &row->inputs[i];
        const struct kept *due = &kept[rank][i];
        if (*before == UINT_MAX)
            *before = input->position - due->position;
        if (input->marked != due->marked || strcmp(input->name, names[due->name]) != 0)
            return "an input";
        if (input->position != *before + due->position)
            return "where an input was met";
        if (input->gradient_order != due->order)
            return "the order of gradients";
        if ((input->gradient != NULL) != (due->order > 0) ||
            (input->gradient && (input->gradient[0] != due->gradient || input->gradient[2] != 8)))
            return "a gradient";
        if (due->order &&
            (input->gradient_position != *before + due->gradient_position || !input->gradient_site))
            return "where a gradient was marked";
    }
    if (row->epoch_count && row->objectives[0].present &&
        (row->objectives[0].value != objective[rank] ||
         row->objective_position != *before + objective_position[rank]))
        return "the objective";
    return (objective[rank] > 0) == (row->epoch_count > 0) ? "" : "an objective that is none";
}

static const char *recorded_difference(void)
{
    struct failure failure = {0};
    struct diff_probe probe;
    struct sim_world_options options = world_options(RANKS);
    diff_probe_init(&probe, RANKS);
    options.slots[MPIX_SLOT_PROBE] = &probe;
    struct recording *recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    bool finished = sim_world_run(world, enter, recording) == OUTCOME_FINISHED;
    const char *difference = finished ? "" : "it does not finish";
    unsigned before = UINT_MAX;
    for (int r = 0; r < RANKS && !difference[0]; r++) {
        work_out(r);
        difference = row_difference(&probe.rows[r], r, &before);
    }
    sim_world_free(world);
    recording_free(recording);
    diff_probe_release(&probe);
    return difference;
}

int main(void)
{
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
        if (!dice_takes(seed))
            continue;
        draw(seed);
        tap_is_str(recorded_difference(), "", "program %d", (int)seed);
    }
    return tap_done();
}
