/* The probe: see probe.h. */
#include "collectives/experiment/probe.h"
#include "collectives/tape/arena.h"
#include "collectives/tape/state.h"
#include "collectives/tape/tensor.h"
#include "recorder/recorder.h"

#include <float.h>
#include <math.h>
#include <mpix.h>
#include <stdlib.h>
#include <string.h>

bool diff_probe_init(struct diff_probe *probe, int ranks)
{
    *probe = (struct diff_probe){.ranks = ranks, .seed_rank = -1, .order = -1};
    probe->rows = calloc((size_t)ranks, sizeof *probe->rows);
    if (!probe->rows)
        return false;
    for (int i = 0; i < ranks; i++)
        probe->rows[i].kink_distance = DBL_MAX;
    return true;
}

static void values_release(struct probe_value *values, uint32_t count)
{
    for (uint32_t i = 0; values && i < count; i++) {
        free(values[i].cotangent);
        free(values[i].values);
        free(values[i].tangent);
    }
    free(values);
}

static void row_release(struct diff_probe_rank *row)
{
    for (size_t i = 0; i < row->input_count; i++) {
        free(row->inputs[i].name);
        free(row->inputs[i].values);
        free(row->inputs[i].gradient);
    }
    free(row->inputs);
    for (size_t i = 0; i < row->epoch_count; i++)
        free(row->objectives[i].terms);
    free(row->objectives);
    for (size_t i = 0; i < row->node_count; i++) {
        values_release(row->nodes[i].inputs, row->nodes[i].input_count);
        values_release(row->nodes[i].outputs, row->nodes[i].output_count);
    }
    free(row->nodes);
    free(row->residuals);
    free(row->turns);
    free(row->records);
    free(row->calls);
    diff_state_release(row->state);
    arena_pool_release(&row->blocks);
}

void diff_probe_release(struct diff_probe *probe)
{
    for (int i = 0; i < probe->ranks && probe->rows; i++)
        row_release(&probe->rows[i]);
    free(probe->rows);
    *probe = (struct diff_probe){0};
}

bool diff_probe_restart(struct diff_probe *probe)
{
    struct diff_probe fresh;
    if (!diff_probe_init(&fresh, probe->ranks))
        return false;
    struct diff_probe_rank *rows = probe->rows;
    for (int i = 0; i < probe->ranks; i++) {
        fresh.rows[i].blocks = rows[i].blocks;
        rows[i].blocks = NULL;
    }
    probe->rows = fresh.rows;
    fresh.rows = rows;
    diff_probe_release(&fresh);
    return true;
}

size_t probe_input_parts(const struct probe_input *input)
{
    return input->count * diff_type_parts(input->type);
}

bool probe_perturbed(const struct diff_state *state)
{
    return state->probe && state->probe->mode == PROBE_PERTURBED;
}

bool probe_skips_passes(const struct diff_state *state)
{
    return probe_perturbed(state) && !state->probe->watch;
}

bool probe_needs_no_tape(const struct diff_state *state)
{
    if (!probe_skips_passes(state) || state->probe->trace)
        return false;
    const struct diff_probe *base = state->probe->base;
    return !base || !base->rows[MPIX_World_rank()].graphs;
}

/* Makes room for one more of `items`; without memory the rank ends. */
static void *grown(struct diff_state *state, void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    *room = *room ? *room * 2 : 8;
    void *larger = realloc(items, *room * size);
    if (!larger)
        state_fail(state, "X002", "the differentiable library ran out of memory");
    return larger;
}

bool diff_is_repeated(void)
{
    const struct diff_probe *probe = state_get()->probe;
    return probe && probe->again;
}

static double part_get(enum diff_type type, const void *values, size_t i)
{
    return diff_type_is_single(type) ? (double)((const float *)values)[i]
                                     : ((const double *)values)[i];
}

static void part_set(enum diff_type type, void *values, size_t i, double value)
{
    if (diff_type_is_single(type))
        ((float *)values)[i] = (float)value;
    else
        ((double *)values)[i] = value;
}

static void part_add(enum diff_type type, void *values, size_t i, double step)
{
    if (diff_type_is_single(type))
        ((float *)values)[i] = (float)((double)((float *)values)[i] + step);
    else
        ((double *)values)[i] += step;
}

static bool is_pushed(const struct diff_state *state, const struct probe_push *push, size_t index)
{
    int rank = MPIX_World_rank();
    if (push->input != index || push->rank >= 0)
        return push->input == index && push->rank == rank;
    const struct diff_probe_rank *row = &state->probe->base->rows[rank];
    return index < row->input_count && row->inputs[index].team.size > 0 &&
           row->inputs[index].team.first == push->team;
}

static void push_apply(const struct diff_state *state, const struct probe_push *pushes,
                       size_t push_count, size_t index, enum diff_type type, size_t count,
                       void *values)
{
    for (size_t i = 0; i < push_count; i++) {
        const struct probe_push *push = &pushes[i];
        if (!is_pushed(state, push, index))
            continue;
        size_t parts = count * diff_type_parts(type);
        if (push->part < parts)
            part_add(type, values, push->part, push->step);
        else if (push->part == SIZE_MAX)
            for (size_t k = 0; k < parts; k++)
                part_add(type, values, k, push->step * push->direction[k]);
    }
}

static double *parts_copy(struct diff_state *state, enum diff_type type, size_t count,
                          const void *values)
{
    size_t parts = count * diff_type_parts(type);
    double *copy = calloc(parts + 1, sizeof *copy);
    if (!copy)
        state_fail(state, "X002", "the differentiable library ran out of memory");
    for (size_t i = 0; values && i < parts; i++)
        copy[i] = part_get(type, values, i);
    return copy;
}

/* The input as the base world met it, if it is one that an earlier filling of a tape had as well.
 */
static const struct probe_input *input_again(const struct diff_state *state, size_t index,
                                             const char *name, size_t count)
{
    const struct diff_probe *base = state->probe->base;
    const struct diff_probe_rank *row = base ? &base->rows[MPIX_World_rank()] : NULL;
    const struct probe_input *input = row && index < row->input_count ? &row->inputs[index] : NULL;
    if (!input || input->marked || input->count != count || strcmp(input->name, name) != 0)
        return NULL;
    for (size_t i = 0; i < index; i++)
        if (row->inputs[i].epoch < input->epoch && strcmp(row->inputs[i].name, name) == 0)
            return input;
    return NULL;
}

/* A variable that is trained gets other values in every step, by gradients that a perturbed world
 * does not have: there it takes those of the base world. */
static bool trained_take(const struct diff_state *state, size_t index, const char *name,
                         enum diff_type type, size_t count, void *values)
{
    const struct probe_input *input = input_again(state, index, name, count);
    size_t parts = input ? count * diff_type_parts(type) : 0;
    if (parts == 0 || input->type != type)
        return false;
    for (size_t i = 0; i < parts; i++)
        part_set(type, values, i, input->values[i]);
    return true;
}

size_t probe_meet_input(struct diff_state *state, const char *name, enum diff_type type,
                        size_t count, uint32_t epoch, struct probe_team team, bool marked,
                        void *values)
{
    record_input(name, (uint32_t)(uintptr_t)diff_type_mpi(type), (int64_t)count);
    struct diff_probe_rank *row = state->row;
    if (!row)
        return SIZE_MAX;
    const struct diff_probe *probe = state->probe;
    size_t index = row->inputs_seen++;
    if (probe->mode == PROBE_PERTURBED) {
        if (marked || !trained_take(state, index, name, type, count, values))
            push_apply(state, probe->shifts, probe->shift_count, index, type, count, values);
        push_apply(state, probe->pushes, probe->push_count, index, type, count, values);
        return index;
    }
    push_apply(state, probe->shifts, probe->shift_count, index, type, count, values);
    row->inputs =
        grown(state, row->inputs, row->input_count, &row->input_room, sizeof *row->inputs);
    struct probe_input *input = &row->inputs[row->input_count++];
    *input = (struct probe_input){.site = state->site,
                                  .type = type,
                                  .count = count,
                                  .epoch = epoch,
                                  .team = team,
                                  .marked = marked};
    input->late = epoch < row->epoch_count &&
                  (row->objectives[epoch].given || row->objectives[epoch].term_count > 0);
    input->name = strdup(name);
    input->position = record_position();
    input->values = parts_copy(state, type, count, values);
    return index;
}

static struct probe_objective *objective_of(struct diff_state *state, uint32_t epoch)
{
    struct diff_probe_rank *row = state->row;
    if (epoch >= row->epoch_count) {
        size_t count = epoch + 1u;
        struct probe_objective *larger = realloc(row->objectives, count * sizeof *larger);
        if (!larger)
            state_fail(state, "X002", "the differentiable library ran out of memory");
        memset(larger + row->epoch_count, 0, (count - row->epoch_count) * sizeof *larger);
        row->objectives = larger;
        row->epoch_count = count;
    }
    return &row->objectives[epoch];
}

static struct probe_objective *term_add(struct diff_state *state, uint32_t epoch,
                                        struct probe_term term)
{
    struct probe_objective *objective = objective_of(state, epoch);
    objective->terms = grown(state, objective->terms, objective->term_count, &objective->term_room,
                             sizeof *objective->terms);
    objective->terms[objective->term_count++] = term;
    return objective;
}

void probe_add_objective(struct diff_state *state, uint32_t epoch, uint64_t pass, double value,
                         struct probe_team team)
{
    record_objective(team.size ? value / team.size : value);
    if (!state->row)
        return;
    struct probe_objective *objective =
        term_add(state, epoch,
                 (struct probe_term){.value = value, .pass = pass, .position = record_position()});
    objective->value += value;
    objective->magnitude += fabs(value);
    objective->team = team;
    objective->present = true;
}

void probe_note_given(struct diff_state *state, uint32_t epoch)
{
    if (state->row)
        objective_of(state, epoch)->given = true;
}

void probe_add_tangent(struct diff_state *state, uint32_t epoch, uint64_t pass, double tangent)
{
    if (state->row)
        term_add(state, epoch, (struct probe_term){.tangent = tangent, .pass = pass});
}

double probe_factor(const struct diff_state *state)
{
    return state->probe && state->probe->factor != 0 ? state->probe->factor : 1;
}

const double *probe_tangent(const struct diff_state *state, size_t index)
{
    const struct diff_probe *probe = state->probe;
    if (!probe || !probe->tangent)
        return NULL;
    for (size_t i = 0; i < probe->push_count; i++)
        if (probe->pushes[i].rank == MPIX_World_rank() && probe->pushes[i].input == index)
            return probe->pushes[i].direction;
    return NULL;
}

void probe_keep_gradient(struct diff_state *state, size_t index, enum diff_type type, size_t count,
                         const void *values, uint64_t first_pass)
{
    if (!state->row || state->probe->mode == PROBE_PERTURBED || index >= state->row->input_count)
        return;
    struct probe_input *input = &state->row->inputs[index];
    if (count != input->count)
        state_fail(state, "M009", "the gradient of %s has %zu values, the input %zu", input->name,
                   count, input->count);
    free(input->gradient);
    input->gradient = parts_copy(state, type, count, values);
    input->first_pass = first_pass;
}

const double *probe_base_gradient(const struct diff_state *state, size_t index, size_t parts,
                                  uint64_t first_pass)
{
    const struct diff_probe *base = probe_skips_passes(state) ? state->probe->base : NULL;
    const struct diff_probe_rank *row = base ? &base->rows[MPIX_World_rank()] : NULL;
    if (!row || index >= row->input_count)
        return NULL;
    const struct probe_input *input = &row->inputs[index];
    uint32_t last = input->epoch + 1;
    if (row->epoch_count != last || state->row->epoch_count != last)
        return NULL;
    const struct probe_objective *then = &row->objectives[last - 1];
    const struct probe_objective *now = &state->row->objectives[last - 1];
    bool ends = then->present && !then->given && then->term_count == now->term_count;
    bool same =
        input->first_pass == first_pass && input->count * diff_type_parts(input->type) == parts;
    return ends && same ? input->gradient : NULL;
}

void probe_keep_record(struct diff_state *state, uint32_t epoch, uint32_t sequence, uint32_t record)
{
    struct diff_probe_rank *row = state->row;
    if (!row || record == 0)
        return;
    row->records =
        grown(state, row->records, row->record_count, &row->record_room, sizeof *row->records);
    row->records[row->record_count++] = (struct probe_record){epoch, sequence, record, 0};
}

void probe_keep_position(struct diff_state *state)
{
    struct diff_probe_rank *row = state->row;
    if (row && row->record_count > 0)
        row->records[row->record_count - 1].position = record_position();
}

uint32_t probe_call_after(const struct diff_probe_rank *row, uint32_t position)
{
    for (size_t i = 0; i < row->calls_count; i++)
        if (row->calls[i].from <= position && position < row->calls[i].to)
            position = row->calls[i].to;
    return position + 1;
}

/* ---- marks ---- */

void diff_mark_input(const char *name, double *values, size_t count)
{
    struct diff_state *state = state_get();
    ENTER(state);
    probe_meet_input(state, name, DIFF_DOUBLE, count, 0, (struct probe_team){0}, true, values);
    state_leave(state);
}

/* Its square is nothing beside any number that a program computes with. */
static const double complex_step = 0x1p-200;

void diff_mark_complex(const char *name, void *values, size_t count)
{
    struct diff_state *state = state_get();
    ENTER(state);
    double(*parts)[2] = values, *reals = calloc(count + 1, sizeof *reals);
    if (!reals)
        state_fail(state, "X002", "the differentiable library ran out of memory");
    for (size_t i = 0; i < count; i++)
        reals[i] = parts[i][0];
    size_t index =
        probe_meet_input(state, name, DIFF_DOUBLE, count, 0, (struct probe_team){0}, true, reals);
    const double *tangent = probe_tangent(state, index);
    for (size_t i = 0; i < count; i++) {
        parts[i][0] = reals[i];
        parts[i][1] = tangent ? complex_step * tangent[i] : 0;
    }
    if (state->row && index < state->row->input_count)
        state->row->inputs[index].steps = true;
    free(reals);
    state_leave(state);
}

static void objective_mark(double value, const double *imaginary)
{
    struct diff_state *state = state_get();
    ENTER(state);
    if (state->row)
        state->row->objective_position = record_position();
    probe_add_objective(state, 0, 0, value, (struct probe_team){0});
    if (state->row && state->probe->tangent && imaginary)
        probe_add_tangent(state, 0, 0, *imaginary / complex_step);
    else if (state->row && state->probe->tangent)
        state->row->tangent_missing = true;
    state_leave(state);
}

void diff_mark_objective(double value)
{
    objective_mark(value, NULL);
}

void diff_mark_complex_objective(double real, double imaginary)
{
    objective_mark(real, &imaginary);
}

void diff_mark_gradient(const char *name, const double *gradient, size_t count)
{
    struct diff_state *state = state_get();
    ENTER(state);
    struct diff_probe_rank *row = state->row;
    if (row && state->probe->mode == PROBE_BASE) {
        size_t index = row->input_count;
        while (index > 0 &&
               !(row->inputs[index - 1].marked && strcmp(row->inputs[index - 1].name, name) == 0))
            index--;
        if (index == 0)
            state_fail(state, "M009", "diff_mark_gradient of %s, which no diff_mark_input named",
                       name);
        probe_keep_gradient(state, index - 1, DIFF_DOUBLE, count, gradient, 0);
        row->inputs[index - 1].gradient_site = state->site;
        row->inputs[index - 1].gradient_order = ++row->gradients_marked;
        row->inputs[index - 1].gradient_position = record_position();
    }
    state_leave(state);
}
