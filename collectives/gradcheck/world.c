/* The gradient check's worlds: the objective at a place, and its noise. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool gradcheck_world(struct gradcheck *check, struct diff_probe *probe, int worker)
{
    probe->again =
        probe != &check->base || check->shift.pushes || check->adverse || check->stale_memory;
    probe->like = probe->repeat ? NULL : probe == &check->base ? probe : check->base.like;
    probe->adverse = check->adverse;
    probe->stale_memory = check->stale_memory;
    probe->order = check->options->order;
    probe->mutant = check->options->mutant;
    probe->flip = check->options->flip;
    probe->flip_name = check->options->flip_name;
    probe->flip_part = check->options->flip_part;
    probe->flip_factor = check->options->flip_factor;
    probe->flip_rank = check->options->flip_rank;
    probe->flipped = check->options->flipped;
    int status = check->runner->run(check->runner->context, probe, worker);
    if (status == DIFF_RUN_AGAIN && !probe->watch && diff_probe_restart(probe))
        status = check->runner->run(check->runner->context, probe, worker);
#pragma omp atomic
    check->result->worlds++;
    return status == 0;
}

double gradcheck_objective(const struct diff_probe *probe, uint32_t epoch, int rank)
{
    double sum = 0;
    for (int r = 0; r < probe->ranks; r++) {
        const struct diff_probe_rank *row = &probe->rows[r];
        if ((rank >= 0 && r != rank) || epoch >= row->epoch_count ||
            !row->objectives[epoch].present)
            continue;
        double share = row->objectives[epoch].team.size ? row->objectives[epoch].team.size : 1;
        sum += row->objectives[epoch].value / share;
    }
    return sum;
}

bool gradcheck_has_loss(const struct diff_probe *probe, uint32_t epoch)
{
    for (int r = 0; r < probe->ranks; r++)
        if (epoch < probe->rows[r].epoch_count && probe->rows[r].objectives[epoch].present)
            return true;
    return false;
}

bool gradcheck_is_cut(const struct diff_probe *base, uint32_t epoch)
{
    for (int r = 0; r < base->ranks; r++)
        if (epoch < base->rows[r].epoch_count && base->rows[r].objectives[epoch].cut)
            return true;
    return false;
}

double gradcheck_magnitude(const struct diff_probe *probe, uint32_t epoch)
{
    double sum = 0;
    for (int r = 0; r < probe->ranks; r++)
        if (epoch < probe->rows[r].epoch_count)
            sum += probe->rows[r].objectives[epoch].magnitude;
    return sum;
}

/* ---- the losses of a world, one by one ---- */

static void terms_collect(const struct diff_probe *probe, uint32_t epoch,
                          struct gradcheck_terms *terms)
{
    size_t count = 0;
    *terms = (struct gradcheck_terms){0};
    for (int r = 0; r < probe->ranks; r++)
        if (epoch < probe->rows[r].epoch_count)
            count += probe->rows[r].objectives[epoch].term_count;
    terms->values = malloc((count + 1) * sizeof *terms->values);
    terms->weights = malloc((count + 1) * sizeof *terms->weights);
    terms->passes = malloc((count + 1) * sizeof *terms->passes);
    terms->well = terms->values && terms->weights && terms->passes;
    for (int r = 0; terms->well && r < probe->ranks; r++) {
        const struct diff_probe_rank *row = &probe->rows[r];
        for (size_t i = 0; epoch < row->epoch_count && i < row->objectives[epoch].term_count; i++) {
            int copies = row->objectives[epoch].team.size;
            terms->weights[terms->count] = copies ? 1.0 / copies : 1;
            terms->passes[terms->count] = row->objectives[epoch].terms[i].pass;
            terms->values[terms->count++] = row->objectives[epoch].terms[i].value;
        }
    }
}

void gradcheck_terms_release(struct gradcheck_terms *terms)
{
    free(terms->values);
    free(terms->weights);
    free(terms->passes);
    *terms = (struct gradcheck_terms){0};
}

bool gradcheck_probe_moved(const struct gradcheck *check, struct diff_probe *probe)
{
    if (!diff_probe_init(probe, check->base.ranks))
        return false;
    probe->mode = PROBE_PERTURBED;
    probe->base = &check->base;
    probe->shifts = check->shift.pushes;
    probe->shift_count = check->shift.count;
    return true;
}

/* A world with these pushes; whatever is wanted of it may be NULL. */
static double world_measure(struct gradcheck *check, const struct gradcheck_place *place,
                            double *losses, struct gradcheck_terms *terms)
{
    struct diff_probe probe;
    double value = NAN;
    if (!gradcheck_probe_moved(check, &probe))
        return NAN;
    probe.pushes = place->pushes;
    probe.push_count = place->count;
    struct arena_block **blocks = check->blocks + place->worker * probe.ranks;
    for (int r = 0; r < probe.ranks; r++)
        probe.rows[r].blocks = blocks[r];
    if (gradcheck_world(check, &probe, place->worker)) {
        value = gradcheck_objective(&probe, place->epoch, -1);
        for (int r = 0; losses && r < probe.ranks; r++)
            losses[r] = gradcheck_objective(&probe, place->epoch, r);
        if (terms)
            terms_collect(&probe, place->epoch, terms);
    } else {
#pragma omp atomic
        check->result->broken_worlds++;
    }
    for (int r = 0; r < probe.ranks; r++) {
        blocks[r] = probe.rows[r].blocks;
        probe.rows[r].blocks = NULL;
    }
    diff_probe_release(&probe);
    return value;
}

/* J (and, if asked for, every rank's loss) of a world with these pushes; NaN if it did not finish.
 */
double gradcheck_evaluate(struct gradcheck *check, const struct probe_push *pushes, size_t count,
                          uint32_t epoch, int worker, double *losses)
{
    struct gradcheck_place place = {pushes, count, epoch, worker, 0};
    return world_measure(check, &place, losses, NULL);
}

struct gradcheck_terms gradcheck_terms_at(struct gradcheck *check,
                                          const struct gradcheck_place *place)
{
    struct gradcheck_terms terms = {0};
    world_measure(check, place, NULL, &terms);
    return terms;
}

double gradcheck_terms_difference(const struct gradcheck_terms *up,
                                  const struct gradcheck_terms *down, uint64_t first_pass)
{
    long double sum = 0;
    bool pairs = up->count == down->count; /* else another branch: other losses */
    if (!up->well || !down->well)
        return NAN;
    for (size_t i = 0; i < up->count; i++)
        if (up->passes[i] >= first_pass)
            sum += ((long double)up->values[i] - (pairs ? down->values[i] : 0)) * up->weights[i];
    for (size_t i = 0; !pairs && i < down->count; i++)
        if (down->passes[i] >= first_pass)
            sum -= (long double)down->values[i] * down->weights[i];
    return (double)sum;
}

/* ---- noise ---- */

double gradcheck_gaussian(uint64_t *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *state += 0x9e3779b97f4a7c15u;
        uint64_t z = *state;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        sum += (double)((z ^ z >> 31) >> 11) * 0x1p-53;
    }
    return sum - 6;
}

double gradcheck_epsilon(const struct diff_probe *base)
{
    double epsilon = DBL_EPSILON;
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++)
            if (diff_type_is_single(base->rows[r].inputs[i].type))
                epsilon = FLT_EPSILON;
    return epsilon;
}

/* The largest absolute value of an input; of one that is all zeros, or not finite, 1. */
double gradcheck_input_scale(const struct probe_input *input)
{
    size_t parts = input->count * diff_type_parts(input->type);
    double largest = 0;
    for (size_t i = 0; i < parts; i++)
        largest = fmax(largest, fabs(input->values[i]));
    return largest > 0 && isfinite(largest) ? exp2(floor(log2(largest))) : 1;
}

/* How far a part may be moved and stay what it was: its own size, but no less than a small share of
 * its input's. */
double gradcheck_part_scale(const struct probe_input *input, size_t part, double input_scale)
{
    double value = fabs(input->values[part]);
    return value > 0x1p-10 * input_scale && isfinite(value) ? exp2(floor(log2(value)))
           : value > 0                                      ? 0x1p-10 * input_scale
                                                            : input_scale;
}

/* Where gradients were cleared between passes, inputs belong to different objectives: directions
 * move those of the newest one. */
uint64_t gradcheck_first_pass(const struct diff_probe *base, uint32_t epoch)
{
    uint64_t first = 0;
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++)
            if (base->rows[r].inputs[i].epoch == epoch &&
                base->rows[r].inputs[i].first_pass > first)
                first = base->rows[r].inputs[i].first_pass;
    return first;
}

/* Whether all ranks hold the same values of the input with this number: then it is one variable. */
static bool is_copied(const struct diff_probe *base, size_t number)
{
    const struct probe_input *first =
        number < base->rows[0].input_count ? &base->rows[0].inputs[number] : NULL;
    for (int r = 1; first && r < base->ranks; r++) {
        const struct probe_input *copy =
            number < base->rows[r].input_count ? &base->rows[r].inputs[number] : NULL;
        if (!copy || copy->count != first->count || copy->type != first->type ||
            strcmp(copy->name, first->name) != 0 ||
            memcmp(copy->values, first->values,
                   first->count * diff_type_parts(first->type) * sizeof(double)) != 0)
            return false;
    }
    return first != NULL;
}

bool gradcheck_is_copy(const struct diff_probe *base, int rank, const struct probe_input *input,
                       size_t number)
{
    const struct probe_input *copy =
        number < base->rows[rank].input_count ? &base->rows[rank].inputs[number] : NULL;
    return copy && input->team.size && copy->team.size && copy->team.first == input->team.first;
}

/* One scale for the copies on all ranks. */
static double common_scale(const struct diff_probe *base, size_t number)
{
    double scale = 0;
    for (int r = 0; r < base->ranks; r++)
        if (number < base->rows[r].input_count)
            scale = fmax(scale, gradcheck_input_scale(&base->rows[r].inputs[number]));
    return scale;
}

/* A push of every input along a random direction, each relative to its own size; the caller frees
 * the directions' memory. */
struct gradcheck_direction gradcheck_direction_new(const struct diff_probe *base, uint32_t epoch,
                                                   uint64_t seed, enum gradcheck_spread spread)
{
    uint64_t first_pass = gradcheck_first_pass(base, epoch);
    struct gradcheck_direction direction = {0};
    size_t inputs = 0, parts = 0;
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++) {
            const struct probe_input *input = &base->rows[r].inputs[i];
            inputs++;
            parts += input->count * diff_type_parts(input->type);
        }
    direction.pushes = calloc(inputs + 1, sizeof *direction.pushes);
    direction.values = calloc(parts + 1, sizeof *direction.values);
    if (!direction.pushes || !direction.values)
        return direction;
    double *next = direction.values;
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++) {
            const struct probe_input *input = &base->rows[r].inputs[i];
            size_t n = input->count * diff_type_parts(input->type);
            if (input->late && gradcheck_is_cut(base, input->epoch))
                continue; /* what it is comes from others that move */
            if (spread != SPREAD_POINT &&
                (input->epoch != epoch || input->first_pass != first_pass))
                continue;
            /* Copies of one variable move together. */
            bool same = input->team.size > 0 || spread == SPREAD_CONSTANT ||
                        (spread == SPREAD_POINT && is_copied(base, i));
            uint64_t state = seed * 0x2545f4914f6cdd1du + (uint64_t)i * 977 +
                             (same ? 0 : (uint64_t)r + 1) * 0x9e3779b97f4a7c15u;
            double scale = same ? common_scale(base, i) : gradcheck_input_scale(input);
            for (size_t k = 0; k < n; k++)
                next[k] =
                    gradcheck_gaussian(&state) *
                    (same ? scale : fmax(gradcheck_part_scale(input, k, scale), 0x1p-3 * scale));
            direction.parts += n;
            direction.pushes[direction.count++] = (struct probe_push){
                .rank = r, .input = i, .part = SIZE_MAX, .step = 1, .direction = next};
            next += n;
        }
    return direction;
}

void gradcheck_direction_release(struct gradcheck_direction *direction)
{
    free(direction->pushes);
    free(direction->values);
    *direction = (struct gradcheck_direction){0};
}

double gradcheck_along(void *context, double *up, double *down)
{
    struct gradcheck_along *along = context;
    struct gradcheck_direction *direction = along->direction;
    struct gradcheck_place place = {direction->pushes, direction->count, along->epoch,
                                    along->worker, 0};
    struct gradcheck_terms ends[2];
    const double offsets[2] = {*up, *down};
    for (int end = 0; end < 2; end++) {
        for (size_t i = 0; i < direction->count; i++)
            direction->pushes[i].step = offsets[end];
        ends[end] = offsets[end] != 0 ? gradcheck_terms_at(along->check, &place)
                                      : along->check->here[along->epoch];
    }
    double difference = gradcheck_terms_difference(&ends[0], &ends[1], along->first_pass);
    for (int end = 0; end < 2; end++)
        if (offsets[end] != 0)
            gradcheck_terms_release(&ends[end]);
    return difference;
}

/* Whether all losses are numbers that a float holds, though not all of them whole ones: then they
 * were computed as such. */
static bool terms_are_single(const struct gradcheck_terms *terms, bool *fractions)
{
    for (size_t i = 0; i < terms->count; i++) {
        double value = terms->values[i];
        if ((double)(float)value != value)
            return false;
        *fractions = *fractions || value != nearbyint(value);
    }
    return terms->well;
}

/* The objective's precision, from what the data say: its inputs' types, and its values here and at
 * some places nearby. */
static double objective_epsilon(struct gradcheck *check, uint32_t epoch,
                                struct gradcheck_direction *direction)
{
    struct gradcheck_place place = {direction->pushes, direction->count, epoch, 0, 0};
    bool fractions = false, single = terms_are_single(&check->here[epoch], &fractions);
    for (int k = 1; k < 5 && single; k++) {
        for (size_t i = 0; i < direction->count; i++)
            direction->pushes[i].step = k * 0x1p-9;
        struct gradcheck_terms terms = gradcheck_terms_at(check, &place);
        single = terms_are_single(&terms, &fractions);
        gradcheck_terms_release(&terms);
    }
    return single && fractions ? FLT_EPSILON : check->epsilon;
}

double gradcheck_noise(struct gradcheck *check, uint32_t epoch)
{
    double magnitude = gradcheck_magnitude(&check->base, epoch);
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, epoch, check->options->seed + 77, SPREAD_RANDOM);
    double noise = check->epsilon * magnitude;
    if (direction.pushes && direction.count > 0) {
        struct gradcheck_along along = {check, &direction, epoch, 0, 0};
        double epsilon = objective_epsilon(check, epoch, &direction);
        check->epsilon = fmax(check->epsilon, epsilon);
        noise = epsilon / 2 * magnitude;
        noise = fmax(
            noise, difference_noise(gradcheck_along, &along, epsilon > 1e-10 ? 0x1p-10 : 0x1p-20));
    }
    gradcheck_direction_release(&direction);
    return noise;
}
