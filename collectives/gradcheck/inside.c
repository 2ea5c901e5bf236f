/* diff_gradcheck: the gradient check from inside a program, on a real MPI.
 *
 * Every rank runs the same check in lockstep: a "world" is one more call of the objective with a
 * probe of the rank's own, whose rows are then exchanged, so that all ranks see the same numbers
 * and decide alike. */
#include "collectives/gradcheck/gradcheck.h"

#include "collectives/tape/state.h"
#include "collectives/tape/tensor.h"

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inside {
    void (*objective)(void *context);
    void *context;
    int rank, ranks;
};

/* A growing message; `failed` when memory ran out. */
struct message {
    char *bytes;
    size_t count, room;
    bool failed;
};

static void put(struct message *message, const void *bytes, size_t count)
{
    if (message->count + count > message->room) {
        message->room = 2 * (message->count + count) + 64;
        char *larger = realloc(message->bytes, message->room);
        message->failed |= !larger;
        if (!larger)
            return;
        message->bytes = larger;
    }
    if (count)
        memcpy(message->bytes + message->count, bytes, count);
    message->count += count;
}

static const char *take(const char *from, void *to, size_t count)
{
    if (count)
        memcpy(to, from, count);
    return from + count;
}

static void row_write(struct message *message, const struct diff_probe_rank *row)
{
    put(message, &row->epoch_count, sizeof row->epoch_count);
    put(message, row->objectives, row->epoch_count * sizeof *row->objectives);
    for (size_t i = 0; i < row->epoch_count; i++)
        put(message, row->objectives[i].terms,
            row->objectives[i].term_count * sizeof(struct probe_term));
    put(message, &row->input_count, sizeof row->input_count);
    for (size_t i = 0; i < row->input_count; i++) {
        const struct probe_input *input = &row->inputs[i];
        size_t parts = input->count * diff_type_parts(input->type),
               length = strlen(input->name) + 1;
        put(message, input, sizeof *input);
        put(message, &length, sizeof length);
        put(message, input->name, length);
        put(message, input->values, parts * sizeof(double));
        if (input->gradient)
            put(message, input->gradient, parts * sizeof(double));
    }
}

static double *doubles(const char **from, size_t count)
{
    double *values = malloc((count + 1) * sizeof *values);
    if (values)
        *from = take(*from, values, count * sizeof *values);
    return values;
}

static bool terms_read(const char **from, struct diff_probe_rank *row)
{
    bool well = true;
    for (size_t i = 0; i < row->epoch_count; i++) {
        struct probe_objective *objective = &row->objectives[i];
        size_t bytes = objective->term_count * sizeof *objective->terms;
        objective->terms = well ? malloc(bytes + 1) : NULL;
        well = well && objective->terms;
        if (well)
            *from = take(*from, objective->terms, bytes);
    }
    return well;
}

static bool row_read(const char *from, struct diff_probe_rank *row)
{
    from = take(from, &row->epoch_count, sizeof row->epoch_count);
    row->objectives = calloc(row->epoch_count + 1, sizeof *row->objectives);
    if (!row->objectives)
        return false;
    from = take(from, row->objectives, row->epoch_count * sizeof *row->objectives);
    if (!terms_read(&from, row))
        return false;
    size_t inputs = 0;
    from = take(from, &inputs, sizeof inputs);
    row->inputs = calloc(inputs + 1, sizeof *row->inputs);
    if (!row->inputs)
        return false;
    row->input_room = inputs + 1;
    for (; row->input_count < inputs; row->input_count++) {
        struct probe_input *input = &row->inputs[row->input_count];
        size_t length = 0;
        from = take(from, input, sizeof *input);
        from = take(from, &length, sizeof length);
        bool has_gradient = input->gradient != NULL;
        size_t parts = input->count * diff_type_parts(input->type);
        input->gradient = NULL;
        input->name = strdup(from);
        from += length;
        input->values = doubles(&from, parts);
        if (has_gradient)
            input->gradient = doubles(&from, parts);
        if (!input->name || !input->values || (has_gradient && !input->gradient)) {
            row->input_count++;
            return false;
        }
    }
    return true;
}

/* Everybody's row to everybody. */
static bool rows_exchange(const struct inside *inside, struct diff_probe *probe)
{
    struct message mine = {0};
    row_write(&mine, &probe->rows[inside->rank]);
    int ranks = inside->ranks, count = (int)mine.count, total = 0;
    int *counts = calloc(2 * (size_t)ranks, sizeof *counts), *begins = counts + ranks;
    bool well = !mine.failed && counts;
    if (!counts)
        goto done;
    MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        begins[r] = total;
        total += counts[r];
    }
    char *all = malloc((size_t)total + 1);
    if (all) {
        MPI_Allgatherv(mine.bytes, count, MPI_BYTE, all, counts, begins, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < ranks; r++)
            if (r != inside->rank)
                well = row_read(all + begins[r], &probe->rows[r]) && well;
    }
    well = well && all;
    free(all);
done:
    free(counts);
    free(mine.bytes);
    return well;
}

/* Once more, with this probe in the rank's slot and the state as at the program's start. */
static int run_again(void *context, struct diff_probe *probe, int worker)
{
    (void)worker;
    const struct inside *inside = context;
    void **slots = MPIX_Rank_slots();
    struct diff_state *outer = slots[MPIX_SLOT_DIFF];
    void *outer_probe = slots[MPIX_SLOT_PROBE];
    slots[MPIX_SLOT_DIFF] = NULL;
    slots[MPIX_SLOT_PROBE] = probe;
    struct diff_state *state = state_get();
    state->user_ops = outer->user_ops;
    state->mutant = state->mutant ? state->mutant : outer->mutant;
    state->order_override = outer->order_override;
    inside->objective(inside->context);
    state->user_ops = NULL; /* the outer state's */
    slots[MPIX_SLOT_DIFF] = outer;
    slots[MPIX_SLOT_PROBE] = outer_probe;
    return rows_exchange(inside, probe) ? 0 : 1;
}

int diff_gradcheck(void (*objective)(void *context), void *context)
{
    struct diff_state *state = state_get();
    if (state->probe) {
        objective(context);
        return 0;
    }
    struct inside inside = {.objective = objective,
                            .context = context,
                            .rank = MPIX_World_rank(),
                            .ranks = MPIX_World_size()};
    struct diff_runner runner = {run_again, &inside, inside.ranks, 1};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    char text[4096];
    int failed = 1;
    if (gradcheck_run(&runner, &options, &result) == 0 && !result.base_failed)
        failed = (int)result.failed;
    if (inside.rank == 0 && gradcheck_print(&result, text, sizeof text) > 0)
        fputs(text, stdout);
    gradcheck_record(&result);
    gradcheck_release(&result);
    return failed;
}
