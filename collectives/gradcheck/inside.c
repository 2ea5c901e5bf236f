/* diff_gradcheck: the gradient check from inside a program, on a real MPI.
 *
 * Every rank runs the same check in lockstep: a "world" is one more call of the objective with a
 * probe of the rank's own, whose rows are then exchanged, so that all ranks see the same numbers
 * and decide alike. */
#include "collectives/gradcheck/gradcheck.h"

#include "collectives/tape/state.h"
#include "collectives/tape/tensor.h"

#include <limits.h>
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

static void put_doubles(struct message *message, const double *values, size_t count)
{
    bool there = values != NULL;
    put(message, &there, sizeof there);
    if (there)
        put(message, values, count * sizeof *values);
}

static void put_text(struct message *message, const char *text)
{
    size_t length = text ? strlen(text) + 1 : 0;
    put(message, &length, sizeof length);
    put(message, text, length);
}

static void put_values(struct message *message, const struct probe_value *values, uint32_t count)
{
    put(message, values, count * sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        put_doubles(message, values[i].cotangent, values[i].parts);
        put_doubles(message, values[i].values, values[i].parts);
        put_doubles(message, values[i].tangent, values[i].parts);
    }
}

/* Structures as they are, then what they point to. All ranks run one program: a place in it is as
 * far from this function on each of them. */
static void row_write(struct message *message, const struct diff_probe_rank *row)
{
    uintptr_t here = (uintptr_t)&diff_gradcheck;
    put(message, &here, sizeof here);
    put(message, row, sizeof *row);
    put(message, row->objectives, row->epoch_count * sizeof *row->objectives);
    for (size_t i = 0; i < row->epoch_count; i++)
        put(message, row->objectives[i].terms,
            row->objectives[i].term_count * sizeof(struct probe_term));
    put(message, row->inputs, row->input_count * sizeof *row->inputs);
    for (size_t i = 0; i < row->input_count; i++) {
        const struct probe_input *input = &row->inputs[i];
        size_t parts = input->count * diff_type_parts(input->type);
        put_text(message, input->name);
        put_doubles(message, input->values, parts);
        put_doubles(message, input->gradient, parts);
    }
    put(message, row->nodes, row->node_count * sizeof *row->nodes);
    for (size_t i = 0; i < row->node_count; i++) {
        const struct probe_node *node = &row->nodes[i];
        put_text(message, node->function);
        put_values(message, node->inputs, node->input_count);
        put_values(message, node->outputs, node->output_count);
    }
    put(message, row->records, row->record_count * sizeof *row->records);
}

/* What is read, and whether there was memory for it. Without memory nothing more is taken. */
struct reader {
    const char *from;
    uintptr_t moved; /* of the reader's program against the writer's */
    bool well;
};

static void *items(struct reader *reader, size_t count, size_t size)
{
    char *made = reader->well ? calloc(count + 1, size) : NULL;
    reader->well = made;
    if (made)
        reader->from = take(reader->from, made, count * size);
    return made;
}

static double *doubles(struct reader *reader, size_t count)
{
    bool there = false;
    if (reader->well)
        reader->from = take(reader->from, &there, sizeof there);
    return there ? items(reader, count, sizeof(double)) : NULL;
}

static char *text(struct reader *reader)
{
    size_t length = 0;
    if (reader->well)
        reader->from = take(reader->from, &length, sizeof length);
    return length ? items(reader, length, 1) : NULL;
}

static const void *moved(const struct reader *reader, const void *site)
{
    return site ? (const char *)site + reader->moved : NULL;
}

/* Names of the library's functions, kept for as long as the program runs. */
static const char *name_of(struct reader *reader)
{
    static struct name {
        struct name *next;
        char *text;
    } * names;
    char *read = text(reader);
    struct name *known = names;
    while (read && known && strcmp(known->text, read) != 0)
        known = known->next;
    if (!known && read && (known = malloc(sizeof *known)) != NULL) {
        *known = (struct name){names, read};
        names = known;
        return read;
    }
    free(read);
    return read && known ? known->text : NULL;
}

static struct probe_value *values_read(struct reader *reader, uint32_t count)
{
    struct probe_value *values = items(reader, count, sizeof *values);
    for (uint32_t i = 0; values && i < count; i++) {
        values[i].cotangent = doubles(reader, values[i].parts);
        values[i].values = doubles(reader, values[i].parts);
        values[i].tangent = doubles(reader, values[i].parts);
    }
    return values;
}

static void inputs_read(struct reader *reader, struct diff_probe_rank *row)
{
    row->inputs = items(reader, row->input_count, sizeof *row->inputs);
    row->input_room = row->input_count + 1;
    for (size_t i = 0; row->inputs && i < row->input_count; i++) {
        struct probe_input *input = &row->inputs[i];
        size_t parts = input->count * diff_type_parts(input->type);
        input->site = moved(reader, input->site);
        input->gradient_site = moved(reader, input->gradient_site);
        input->name = text(reader);
        input->values = doubles(reader, parts);
        input->gradient = doubles(reader, parts);
    }
}

static void nodes_read(struct reader *reader, struct diff_probe_rank *row)
{
    row->nodes = items(reader, row->node_count, sizeof *row->nodes);
    row->node_room = row->node_count + 1;
    for (size_t i = 0; row->nodes && i < row->node_count; i++) {
        struct probe_node *node = &row->nodes[i];
        node->site = moved(reader, node->site);
        node->function = name_of(reader);
        node->inputs = values_read(reader, node->input_count);
        node->outputs = values_read(reader, node->output_count);
    }
}

/* False without memory; then the row holds nothing. */
static bool row_read(const char *from, struct diff_probe_rank *row)
{
    struct reader reader = {from, 0, true};
    uintptr_t there = 0;
    reader.from = take(reader.from, &there, sizeof there);
    reader.moved = (uintptr_t)&diff_gradcheck - there;
    reader.from = take(reader.from, row, sizeof *row);
    row->adjoint = NULL; /* what only its own rank can have */
    row->state = NULL;
    row->blocks = NULL;
    row->residuals = NULL;
    row->residual_count = row->residual_room = 0;
    row->turns = NULL;
    row->turn_count = row->turn_room = 0;
    row->objectives = items(&reader, row->epoch_count, sizeof *row->objectives);
    for (size_t i = 0; row->objectives && i < row->epoch_count; i++) {
        struct probe_objective *objective = &row->objectives[i];
        objective->terms = items(&reader, objective->term_count, sizeof *objective->terms);
        objective->term_room = objective->term_count + 1;
    }
    inputs_read(&reader, row);
    nodes_read(&reader, row);
    row->records = items(&reader, row->record_count, sizeof *row->records);
    row->record_room = row->record_count + 1;
    if (!reader.well)
        *row = (struct diff_probe_rank){0};
    return reader.well;
}

/* Without memory the rank ends, and all with it: the others would wait for it. */
static void *needed(void *memory)
{
    if (!memory)
        state_fail(state_get(), "X002", "the differentiable library ran out of memory");
    return memory;
}

/* Everybody's row to everybody; what could not be is so for all, since all go on alike. */
static bool rows_exchange(const struct inside *inside, struct diff_probe *probe)
{
    struct message mine = {0};
    row_write(&mine, &probe->rows[inside->rank]);
    int ranks = inside->ranks, total = 0;
    int count = mine.failed || mine.count > (size_t)(INT_MAX / ranks) ? -1 : (int)mine.count;
    int *counts = needed(calloc(2 * (size_t)ranks, sizeof *counts)), *begins = counts + ranks;
    int well = true;
    MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++) {
        well = well && counts[r] >= 0;
        begins[r] = total;
        total += counts[r] >= 0 ? counts[r] : 0;
    }
    if (well) { /* for all or for nobody */
        char *all = needed(malloc((size_t)total + 1));
        MPI_Allgatherv(mine.bytes, count, MPI_BYTE, all, counts, begins, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < ranks; r++)
            if (r != inside->rank)
                well = row_read(all + begins[r], &probe->rows[r]) && well;
        MPI_Allreduce(MPI_IN_PLACE, &well, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        free(all);
    }
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
