/* Gradient checks of whole programs: see gradcheck.h. */
#include "collectives/gradcheck.h"

#include "collectives/difference.h"
#include "collectives/gradcheck_parts.h"
#include "collectives/tensor.h"
#include "traces/recorder.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gradcheck_options gradcheck_options_default(void)
{
    return (struct gradcheck_options){
        .directions = 1, .bisect = true, .tolerance_factor = 1, .order = -1, .seed = 1};
}

/* ---- running worlds ---- */

bool gradcheck_world(struct gradcheck *check, struct diff_probe *probe, int worker)
{
    probe->order = check->options->order;
    probe->mutant = check->options->mutant;
    probe->flip = check->options->flip;
    probe->flip_part = check->options->flip_part;
    probe->flipped = check->options->flipped;
    probe->split_ties = check->options->split_ties;
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

static double magnitude(const struct diff_probe *probe, uint32_t epoch)
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
    if (gradcheck_world(check, &probe, worker)) {
        value = gradcheck_objective(&probe, epoch, -1);
        for (int r = 0; losses && r < probe.ranks; r++)
            losses[r] = gradcheck_objective(&probe, epoch, r);
    } else {
#pragma omp atomic
        check->result->broken_worlds++;
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

double gradcheck_noise(struct gradcheck *check, uint32_t epoch)
{
    enum { POINTS = 7 };
    double epsilon = gradcheck_epsilon(&check->base), values[POINTS];
    double floor = epsilon * magnitude(&check->base, epoch);
    struct gradcheck_direction direction =
        gradcheck_direction_new(&check->base, epoch, check->options->seed + 77, SPREAD_RANDOM);
    if (!direction.pushes)
        return floor;
    struct gradcheck_along place = {check, &direction, epoch, 0};
    for (int i = 0; i < POINTS; i++) {
        double offset = (i - POINTS / 2) * 64 * epsilon;
        values[i] = gradcheck_along_objective(&place, &offset);
    }
    gradcheck_direction_release(&direction);
    double noise = difference_noise(values, POINTS);
    return noise >= floor ? noise : floor;
}

/* ---- rows ---- */

struct gradcheck_row *gradcheck_row_add(struct gradcheck_result *result)
{
    if (result->row_count == result->row_room) {
        size_t room = result->row_room ? 2 * result->row_room : 64;
        struct gradcheck_row *larger = realloc(result->rows, room * sizeof *larger);
        if (!larger)
            return NULL;
        result->rows = larger;
        result->row_room = room;
    }
    struct gradcheck_row *row = &result->rows[result->row_count++];
    *row = (struct gradcheck_row){0};
    return row;
}

void gradcheck_verdict(struct gradcheck_row *row, double analytic, struct difference numeric,
                       double factor)
{
    struct trace_gradient *check = &row->check;
    double size = fmax(fabs(analytic), fabs(numeric.value));
    check->step = numeric.step;
    check->analytic = analytic;
    check->numeric = numeric.value;
    check->error = fabs(analytic - numeric.value);
    check->tolerance = factor * numeric.tolerance;
    check->relative = size > 0 ? check->error / size : 0;
    check->ok = check->error <= check->tolerance;
    row->order = numeric.order;
    row->evaluations += numeric.evaluations;
}

/* A row under judgement: the function along its element or direction. */
struct judged {
    difference_function *function;
    void *context;
    double analytic, step, noise, slack, factor;
};

static struct difference measured(const struct judged *judged, double step)
{
    struct difference numeric =
        difference_central(judged->function, judged->context, step, judged->noise);
    numeric.tolerance += judged->slack;
    return numeric;
}

/* Near a kink, or near the border of the function's domain, a smaller step decides; it may only
 * overrule the first one when its own tolerance is far below what was in question. */
static bool smaller_step_decides(const struct judged *judged, struct gradcheck_row *row)
{
    double question = row->check.error;
    for (int shift = 6; shift <= 18; shift += 6) {
        struct gradcheck_row closer = *row;
        gradcheck_verdict(&closer, judged->analytic, measured(judged, ldexp(judged->step, -shift)),
                          judged->factor);
        row->evaluations = closer.evaluations;
        if (closer.check.ok && !(closer.check.tolerance > 0.05 * question)) {
            *row = closer;
            return true;
        }
    }
    return false;
}

/* At a kink the slopes to both sides differ and the gradient must lie between them. */
static void kink_decides(const struct judged *judged, struct gradcheck_row *row)
{
    double step = ldexp(judged->step, -8);
    struct difference up =
        difference_one_sided(judged->function, judged->context, step, judged->noise, 1);
    struct difference down =
        difference_one_sided(judged->function, judged->context, step, judged->noise, -1);
    double slack = up.tolerance + down.tolerance + judged->slack;
    row->evaluations += up.evaluations + down.evaluations;
    if (!(fabs(up.value - down.value) > 2 * slack))
        return;
    double low = fmin(up.value, down.value), high = fmax(up.value, down.value);
    struct difference nearest = up;
    nearest.tolerance = slack;
    nearest.value = judged->analytic < low    ? low
                    : judged->analytic > high ? high
                                              : judged->analytic;
    nearest.evaluations = 0;
    gradcheck_verdict(row, judged->analytic, nearest, judged->factor);
    row->check.method = "one-sided";
}

static void judge(const struct judged *judged, struct gradcheck_row *row)
{
    gradcheck_verdict(row, judged->analytic, measured(judged, judged->step), judged->factor);
    if (!row->check.ok && !smaller_step_decides(judged, row))
        kink_decides(judged, row);
}

/* ---- elements ---- */

struct element {
    struct gradcheck *check;
    const struct probe_input *input;
    struct probe_push push;
    int worker;
};

double gradcheck_offset(const struct probe_input *input, size_t part, double offset)
{
    double value = input->values[part];
    if (diff_type_is_single(input->type))
        return (double)(float)(value + offset) - value;
    return (value + offset) - value;
}

static double element_objective(void *context, double *offset)
{
    struct element *element = context;
    element->push.step = *offset = gradcheck_offset(element->input, element->push.part, *offset);
    return gradcheck_evaluate(element->check, &element->push, 1, element->input->epoch,
                              element->worker, NULL);
}

double gradcheck_step(const struct probe_input *input, size_t part, double epsilon)
{
    double value = fabs(input->values[part]);
    double scale = value > 1 ? exp2(floor(log2(value))) : 1;
    return scale * (epsilon > 1e-10 ? 0x1p-4 : 0x1p-9);
}

/* How many elements of each input on each rank: what was asked for, or so many that they are about
 * GRADCHECK_ELEMENTS in all, fewer in large worlds. The directions see the others. */
static size_t elements_most(const struct gradcheck *check)
{
    size_t inputs = 0, parts = 0, all = GRADCHECK_ELEMENTS;
    if (check->options->elements_max)
        return check->options->elements_max;
    if (check->base.ranks > 16) /* a world costs as much as it has ranks */
        all = all * 16 / (size_t)check->base.ranks;
    for (int r = 0; r < check->base.ranks; r++) {
        const struct diff_probe_rank *row = &check->base.rows[r];
        inputs += row->input_count;
        for (size_t i = 0; i < row->input_count; i++)
            parts += row->inputs[i].count * diff_type_parts(row->inputs[i].type);
    }
    if (parts <= all)
        return parts;
    return inputs < all ? all / inputs : 1;
}

static bool sampled(const struct gradcheck_options *options, size_t most, size_t parts, size_t part,
                    uint64_t salt)
{
    if (parts <= most)
        return true;
    /* Equally many of every stretch, at a place within it that the seed chooses. */
    size_t stretch = parts / most;
    uint64_t z = (options->seed + salt + part / stretch) * 0x9e3779b97f4a7c15u;
    return part % stretch == (z >> 33) % stretch && part / stretch < most;
}

static bool rows_plan(struct gradcheck *check)
{
    const struct diff_probe *base = &check->base;
    size_t most = elements_most(check);
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++) {
            const struct probe_input *input = &base->rows[r].inputs[i];
            size_t parts = input->count * diff_type_parts(input->type);
            for (size_t k = 0; k < parts; k++) {
                if (!sampled(check->options, most, parts, k, (uint64_t)r * 131 + i))
                    continue;
                struct gradcheck_row *row = gradcheck_row_add(check->result);
                if (!row)
                    return false;
                row->check = (struct trace_gradient){.rank = (uint32_t)r,
                                                     .variable = (uint32_t)i,
                                                     .index = (int64_t)k,
                                                     .method = "central"};
                snprintf(row->name, sizeof row->name, "%s", input->name ? input->name : "?");
            }
        }
    return true;
}

static void row_check(struct gradcheck *check, struct gradcheck_row *row, int worker)
{
    int rank = (int)row->check.rank;
    const struct probe_input *input = &check->base.rows[rank].inputs[row->check.variable];
    size_t part = (size_t)row->check.index;
    struct element element = {.check = check,
                              .input = input,
                              .worker = worker,
                              .push = {.rank = input->replicated ? -1 : rank,
                                       .input = row->check.variable,
                                       .part = part}};
    double analytic = input->gradient ? input->gradient[part] : NAN;
    double noise = input->epoch < check->epoch_count ? check->noise[input->epoch] : 0;
    struct judged judged = {.function = element_objective,
                            .context = &element,
                            .analytic = analytic,
                            .step = gradcheck_step(input, part, check->epsilon),
                            .noise = noise,
                            .slack = 64 * check->epsilon * fabs(analytic),
                            .factor = check->options->tolerance_factor};
    judge(&judged, row);
}

static void elements_check(struct gradcheck *check)
{
    struct gradcheck_result *result = check->result;
    long count = (long)result->row_count;
    int workers = check->runner->workers > 0 ? check->runner->workers : 1;
#pragma omp parallel for schedule(dynamic) num_threads(workers)
    for (long i = 0; i < count; i++)
        row_check(check, &result->rows[i], omp_get_thread_num());
}

/* ---- directions ---- */

double gradcheck_product(const struct diff_probe *base, const struct gradcheck_direction *direction,
                         double *size)
{
    double sum = 0;
    for (size_t i = 0; i < direction->count; i++) {
        const struct probe_push *push = &direction->pushes[i];
        const struct probe_input *input = &base->rows[push->rank].inputs[push->input];
        size_t parts = input->count * diff_type_parts(input->type);
        /* The gradient of a replicated variable is already that of all copies: it counts once. */
        double share = input->replicated ? base->ranks : 1;
        for (size_t k = 0; k < parts; k++) {
            double g = input->gradient ? input->gradient[k] : NAN;
            sum += push->direction[k] * g / share;
            *size += fabs(push->direction[k] * g) / share;
        }
    }
    return sum;
}

static void direction_check(struct gradcheck *check, uint32_t epoch, int number,
                            enum gradcheck_spread spread)
{
    const struct diff_probe *base = &check->base;
    struct gradcheck_direction direction =
        gradcheck_direction_new(base, epoch, check->options->seed + (uint64_t)number, spread);
    struct gradcheck_row *row =
        direction.pushes && direction.count > 0 ? gradcheck_row_add(check->result) : NULL;
    if (row) {
        struct gradcheck_along place = {check, &direction, epoch, 0};
        double size = 0, analytic = gradcheck_product(base, &direction, &size);
        struct judged judged = {.function = gradcheck_along_objective,
                                .context = &place,
                                .analytic = analytic,
                                .step = check->epsilon > 1e-10 ? 0x1p-4 : 0x1p-9,
                                .noise = check->noise[epoch],
                                .slack = 64 * check->epsilon * size,
                                .factor = check->options->tolerance_factor};
        row->check = (struct trace_gradient){.rank = 0, .index = -1, .method = "dot"};
        snprintf(row->name, sizeof row->name, "direction %d%s", number,
                 spread == SPREAD_CONSTANT ? " (the same on all ranks)" : "");
        judge(&judged, row);
    }
    gradcheck_direction_release(&direction);
}

/* At kinks directions decide what elements cannot: whether ties were counted more than once. */
static bool has_kinks(const struct gradcheck_result *result)
{
    for (size_t i = 0; i < result->row_count; i++)
        if (strcmp(result->rows[i].check.method, "one-sided") == 0)
            return true;
    return false;
}

static void directions_check(struct gradcheck *check, uint32_t epoch)
{
    int number = 0;
    for (; number < check->options->directions; number++)
        direction_check(check, epoch, number, SPREAD_RANDOM);
    if (!has_kinks(check->result))
        return;
    for (int more = 0; more < 3; more++)
        direction_check(check, epoch, number++, SPREAD_RANDOM);
    direction_check(check, epoch, number, SPREAD_CONSTANT);
}

/* ---- the whole ---- */

static bool epochs_prepare(struct gradcheck *check)
{
    const struct diff_probe *base = &check->base;
    for (int r = 0; r < base->ranks; r++)
        if (base->rows[r].epoch_count > check->epoch_count)
            check->epoch_count = base->rows[r].epoch_count;
    check->noise = calloc(check->epoch_count + 1, sizeof *check->noise);
    if (!check->noise)
        return false;
    for (uint32_t e = 0; e < check->epoch_count; e++)
        if (magnitude(base, e) > 0)
            check->noise[e] = gradcheck_noise(check, e);
    return true;
}

static void base_summary(struct gradcheck *check)
{
    struct gradcheck_result *result = check->result;
    for (uint32_t e = 0; e < check->epoch_count; e++)
        result->objective += gradcheck_objective(&check->base, e, -1);
    for (int r = 0; r < check->base.ranks; r++)
        result->non_finite |= check->base.rows[r].non_finite;
}

static void failures_count(struct gradcheck_result *result)
{
    result->failed = 0;
    for (size_t i = 0; i < result->row_count; i++)
        result->failed += !result->rows[i].check.ok;
}

int gradcheck_run(const struct diff_runner *runner, const struct gradcheck_options *options,
                  struct gradcheck_result *result)
{
    struct gradcheck check = {.runner = runner, .options = options, .result = result};
    int status = FAILURE_INTERNAL;
    *result = (struct gradcheck_result){.ranks = runner->ranks};
    if (!diff_probe_init(&check.base, runner->ranks))
        return status;
    result->base_failed = !gradcheck_world(&check, &check.base, 0);
    if (result->base_failed) {
        status = 0;
        goto done;
    }
    check.epsilon = gradcheck_epsilon(&check.base);
    if (!epochs_prepare(&check) || !rows_plan(&check))
        goto done;
    base_summary(&check);
    elements_check(&check);
    for (uint32_t e = 0; e < check.epoch_count; e++)
        if (magnitude(&check.base, e) > 0) {
            directions_check(&check, e);
            gradcheck_tangent(&check, e);
            if (options->taylor)
                gradcheck_taylor(&check, e);
            if (options->heat_map)
                gradcheck_heat_map(&check, e);
        }
    failures_count(result);
    if (options->repeat > 0)
        gradcheck_repeat(&check);
    if (options->sweep)
        gradcheck_sweep(&check);
    if (result->failed && options->bisect)
        gradcheck_bisect_marks(&check);
    if (result->failed && options->bisect)
        for (uint32_t e = 0; e < check.epoch_count && !result->culprit.found; e++)
            if (magnitude(&check.base, e) > 0)
                gradcheck_bisect(&check, e);
    status = 0;
done:
    free(check.noise);
    diff_probe_release(&check.base);
    return status;
}

void gradcheck_release(struct gradcheck_result *result)
{
    free(result->rows);
    free(result->heat_map);
    *result = (struct gradcheck_result){0};
}

void gradcheck_record(const struct gradcheck_result *result)
{
    for (size_t i = 0; i < result->row_count; i++)
        record_gradient_check(&result->rows[i].check, result->rows[i].name);
}
