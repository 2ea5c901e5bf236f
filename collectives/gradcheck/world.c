/* The gradient check's worlds: the objective at a place, and its noise. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

bool gradcheck_world(struct gradcheck *check, struct diff_probe *probe, int worker)
{
    probe->again = probe != &check->base;
    probe->order = check->options->order;
    probe->mutant = check->options->mutant;
    probe->flip = check->options->flip;
    probe->flip_name = check->options->flip_name;
    probe->flip_part = check->options->flip_part;
    probe->flipped = check->options->flipped;
    int status = check->runner->run(check->runner->context, probe, worker);
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
        double share = row->objectives[epoch].replicated ? probe->ranks : 1;
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

double gradcheck_magnitude(const struct diff_probe *probe, uint32_t epoch)
{
    double sum = 0;
    for (int r = 0; r < probe->ranks; r++)
        if (epoch < probe->rows[r].epoch_count)
            sum += probe->rows[r].objectives[epoch].magnitude;
    return sum;
}

/* J (and, if asked for, every rank's loss) of a world with these pushes; NaN if it did not finish.
 */
double gradcheck_evaluate(struct gradcheck *check, const struct probe_push *pushes, size_t count,
                          uint32_t epoch, int worker, double *losses)
{
    struct diff_probe probe;
    double value = NAN;
    if (!diff_probe_init(&probe, check->base.ranks))
        return NAN;
    probe.mode = PROBE_PERTURBED;
    probe.base = &check->base;
    probe.pushes = pushes;
    probe.push_count = count;
    struct arena_block **blocks = check->blocks + worker * probe.ranks;
    for (int r = 0; r < probe.ranks; r++)
        probe.rows[r].blocks = blocks[r];
    if (gradcheck_world(check, &probe, worker)) {
        value = gradcheck_objective(&probe, epoch, -1);
        for (int r = 0; losses && r < probe.ranks; r++)
            losses[r] = gradcheck_objective(&probe, epoch, r);
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

/* A push of every input along a random direction; the caller frees the directions' memory. */
struct gradcheck_direction gradcheck_direction_new(const struct diff_probe *base, uint32_t epoch,
                                                   uint64_t seed, enum gradcheck_spread spread)
{
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
            if (input->epoch != epoch)
                continue;
            /* Copies of one variable move together. */
            bool same = input->replicated || spread == SPREAD_CONSTANT;
            uint64_t state = seed * 0x2545f4914f6cdd1du + (uint64_t)i * 977 +
                             (same ? 0 : (uint64_t)r + 1) * 0x9e3779b97f4a7c15u;
            for (size_t k = 0; k < n; k++)
                next[k] = gradcheck_gaussian(&state);
            direction.parts += n;
            direction.pushes[direction.count++] =
                (struct probe_push){.rank = r, .input = i, .part = SIZE_MAX, .direction = next};
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

double gradcheck_along_objective(void *context, double *offset)
{
    struct gradcheck_along *place = context;
    struct gradcheck_direction *direction = place->direction;
    for (size_t i = 0; i < direction->count; i++)
        direction->pushes[i].step = *offset;
    return gradcheck_evaluate(place->check, direction->pushes, direction->count, place->epoch,
                              place->worker, NULL);
}

static void values_along(const struct gradcheck_along *place, double spacing, int count,
                         double *values)
{
    struct gradcheck_along along = *place;
    for (int i = 0; i < count; i++) {
        double offset = (i - count / 2) * spacing;
        values[i] = gradcheck_along_objective(&along, &offset);
    }
}

/* Points so close together round alike where sums are long: of those the noise shows only from
 * further away. What grows with the distance is no noise, but a kink. */
static double noise_of_sums(const struct gradcheck_along *place, double epsilon)
{
    enum { POINTS = 12 };
    double values[POINTS], spacing = sqrt(epsilon);
    values_along(place, spacing, POINTS, values);
    double far = difference_noise_third(values, POINTS);
    values_along(place, 16 * spacing, POINTS, values);
    double further = difference_noise_third(values, POINTS);
    return further <= 8 * far ? 2 * fmax(far, further) : 0;
}

double gradcheck_noise(struct gradcheck *check, uint32_t epoch)
{
    enum { LONG_SUM = 1024, POINTS = 7 };
    double values[POINTS];
    double epsilon = gradcheck_epsilon(&check->base);
    double noise = epsilon * gradcheck_magnitude(&check->base, epoch);
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, epoch, check->options->seed + 77, SPREAD_RANDOM);
    if (!direction.pushes)
        return noise;
    struct gradcheck_along place = {check, &direction, epoch, 0};
    values_along(&place, 64 * epsilon, POINTS, values);
    noise = fmax(noise, difference_noise(values, POINTS));
    if (direction.parts > LONG_SUM)
        noise = fmax(noise, noise_of_sums(&place, epsilon));
    gradcheck_direction_release(&direction);
    return noise;
}
