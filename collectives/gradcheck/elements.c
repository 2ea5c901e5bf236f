/* The gradient check of single elements, and of stretches of them where there are many: along a
 * direction that moves all elements of a stretch. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct element {
    struct gradcheck *check;
    const struct probe_input *input;
    int rank;             /* whose input it is, also where all copies of it are pushed */
    const double *values; /* the whole input's direction; NULL: one part alone */
    size_t first, count;
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

static struct gradcheck_terms terms_of(const struct element *element, double *offset)
{
    struct gradcheck_place place = {&element->push, 1, element->input->epoch, element->worker, 0};
    struct probe_push push = element->push;
    if (*offset == 0)
        return element->check->here[element->input->epoch];
    if (!element->values)
        *offset = gradcheck_offset(element->input, push.part, *offset);
    push.step = *offset;
    place.pushes = &push;
    return gradcheck_terms_at(element->check, &place);
}

static double element_objective(void *context, double *up, double *down)
{
    const struct element *element = context;
    bool moved[2] = {*up != 0, *down != 0};
    struct gradcheck_terms above = terms_of(element, up), below = terms_of(element, down);
    double difference = gradcheck_terms_difference(&above, &below, element->input->first_pass);
    if (moved[0])
        gradcheck_terms_release(&above);
    if (moved[1])
        gradcheck_terms_release(&below);
    return difference;
}

double gradcheck_step(const struct gradcheck *check, const struct probe_input *input, size_t part)
{
    return gradcheck_part_scale(input, part, gradcheck_input_scale(input)) *
           (check->epsilon > 1e-10 ? 0x1p-3 : 0x1p-5);
}

/* Steps that the worlds for elements may take in all: beyond that only elements of some ranks are
 * looked at one by one. */
enum { STEPS_OF_WORLDS = 1 << 22 };

/* Every which rank's inputs are looked at, from rank 0. */
static int ranks_apart(const struct gradcheck *check)
{
    size_t inputs = 0, steps = check->base.steps + (size_t)check->base.ranks;
    if (check->options->elements_max)
        return 1;
    for (int r = 0; r < check->base.ranks; r++)
        inputs += check->base.rows[r].input_count;
    size_t worlds = STEPS_OF_WORLDS / steps + 1;
    return inputs > worlds ? (int)((inputs + worlds - 1) / worlds) : 1;
}

/* How many rows: what was asked for of each input on each rank, or so many that they are about
 * GRADCHECK_ELEMENTS in all, fewer in large worlds and of large inputs. */
static size_t rows_most(const struct gradcheck *check)
{
    size_t inputs = 0, parts = 0, all = GRADCHECK_ELEMENTS;
    if (check->options->elements_max)
        return check->options->elements_max;
    if (check->base.ranks > 16) /* a world costs as much as it has ranks */
        all = all * 16 / (size_t)check->base.ranks + 1;
    for (int r = 0; r < check->base.ranks; r++) {
        const struct diff_probe_rank *row = &check->base.rows[r];
        inputs += row->input_count;
        for (size_t i = 0; i < row->input_count; i++)
            parts += row->inputs[i].count * diff_type_parts(row->inputs[i].type);
    }
    if (parts > GRADCHECK_VALUES / all) /* and as it has values */
        all = GRADCHECK_VALUES / parts;
    if (parts <= all)
        return parts;
    return inputs < all ? all / inputs : 1;
}

bool gradcheck_elements_plan(struct gradcheck *check)
{
    const struct diff_probe *base = &check->base;
    size_t most = rows_most(check);
    int apart = ranks_apart(check);
    for (int r = 0; r < base->ranks; r++) {
        if (r % apart) {
            check->result->ranks_together += base->rows[r].input_count > 0;
            continue;
        }
        for (size_t i = 0; i < base->rows[r].input_count; i++) {
            const struct probe_input *input = &base->rows[r].inputs[i];
            size_t parts = input->count * diff_type_parts(input->type);
            size_t rows = parts < most ? parts : most;
            for (size_t k = 0; k < rows; k++) {
                struct gradcheck_row *row = gradcheck_row_add(check->result);
                if (!row)
                    return false;
                size_t first = parts * k / rows, next = parts * (k + 1) / rows;
                row->check = (struct trace_gradient){.rank = (uint32_t)r,
                                                     .variable = (uint32_t)i,
                                                     .index = (int64_t)first,
                                                     .elements = (uint32_t)(next - first),
                                                     .method = "central"};
                row->epoch = input->epoch;
                snprintf(row->name, sizeof row->name, "%s", input->name ? input->name : "?");
            }
        }
    }
    check->element_rows = check->result->row_count;
    return true;
}

/* The size of a zero's neighbours: the largest of its own input's gradient on all ranks; where all
 * of these are zero, of all inputs, weighed with what the inputs are in size. */
static double scale_of(const struct gradcheck *check, const struct probe_input *input)
{
    const struct diff_probe *base = &check->base;
    double own = 0, others = 0;
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++) {
            const struct probe_input *other = &base->rows[r].inputs[i];
            bool same = strcmp(other->name, input->name) == 0;
            if (other->epoch == input->epoch && isfinite(other->gradient_largest) && same)
                own = fmax(own, other->gradient_largest);
            if (other->epoch == input->epoch && isfinite(other->gradient_largest))
                others = fmax(others, other->gradient_largest * gradcheck_input_scale(other));
        }
    return own > 0 ? own : others / gradcheck_input_scale(input);
}

static double element_product(const struct element *element, const struct probe_input *input,
                              double *size)
{
    double sum = 0;
    for (size_t k = element->first; k < element->first + element->count; k++) {
        double term = input->gradient ? input->gradient[k] : NAN;
        term *= element->values ? element->values[k] : 1;
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

static double element_spread(void *context)
{
    const struct element *element = context;
    const struct gradcheck_neighbour *near =
        gradcheck_nearby(element->check, GRADCHECK_NEXT, element->worker);
    double size = 0, spread = 0, here = element_product(element, element->input, &size);
    for (int i = 0; i < GRADCHECK_NEIGHBOURS; i++)
        if (near[i].well) {
            const struct probe_input *there =
                &near[i].probe.rows[element->rank].inputs[element->push.input];
            spread = fmax(spread, fabs(element_product(element, there, &size) - here));
        }
    return spread;
}

/* Of either sign, not small, and of its own for each element. */
static double weight_of(const struct gradcheck *check, size_t k)
{
    uint64_t state = check->options->seed * 0x2545f4914f6cdd1du + k * 977;
    double weight = gradcheck_gaussian(&state);
    return weight < 0 ? weight - 1 : weight + 1;
}

/* The direction of a stretch: each element by its own size, with a weight of its own, so that no
 * two errors cancel. */
static double *stretch_values(const struct gradcheck *check, const struct element *element,
                              bool exact)
{
    const struct probe_input *input = element->input;
    double *values = calloc(input->count * diff_type_parts(input->type) + 1, sizeof *values);
    double scale = gradcheck_input_scale(input);
    for (size_t k = element->first; values && k < element->first + element->count; k++) {
        values[k] = weight_of(check, k) * (exact ? scale : gradcheck_part_scale(input, k, scale));
    }
    return values;
}

/* `step` other than zero: the one that decided about a larger stretch. */
static void stretch_judge(struct gradcheck *check, struct element *element, double step,
                          struct gradcheck_row *row)
{
    const struct probe_input *input = element->input;
    double size = 0, noise = check->noise[input->epoch];
    bool exact = check->trusted[input->epoch], done = false;
    double *values = element->count > 1 || exact ? stretch_values(check, element, exact) : NULL;
    if (values && element->count == 1)
        values[element->first] = 1;
    element->values = values;
    element->push.part = values ? SIZE_MAX : element->first;
    element->push.direction = values;
    double scale = scale_of(check, input);
    if (exact && values) {
        struct probe_push *pushes = calloc((size_t)check->base.ranks, sizeof *pushes);
        struct gradcheck_direction direction = {.pushes = pushes, .values = values};
        for (int r = 0; pushes && r < check->base.ranks; r++)
            if (element->push.rank < 0
                    ? gradcheck_is_copy(&check->base, r, input, element->push.input)
                    : element->push.rank == r) {
                pushes[direction.count] = element->push;
                pushes[direction.count++].rank = r;
            }
        struct gradcheck_place place = {pushes, direction.count, input->epoch, element->worker,
                                        input->first_pass};
        done = pushes && gradcheck_tangent_judge(check, &place, &direction, scale, row);
        free(pushes);
    }
    if (!done) {
        double first = values ? check->epsilon > 1e-10 ? 0x1p-3 : 0x1p-5
                              : gradcheck_step(check, input, element->first);
        struct judged judged = {.function = element_objective,
                                .context = element,
                                .analytic = element_product(element, input, &size),
                                .step = step != 0 ? step : first,
                                .quick = step != 0,
                                .noise = noise,
                                .scale = values ? scale * gradcheck_input_scale(input) : scale,
                                .spread = element_spread,
                                .factor = check->options->tolerance_factor,
                                .centers_max = check->centers_max,
                                .stairs_asked = check->stairs_asked,
                                .ties_max = gradcheck_ties_most(check)};
        judged.slack = 64 * check->epsilon * size;
        row->check.method = "central";
        gradcheck_judge(&judged, row);
    }
    element->values = NULL;
    free(values);
}

/* A wrong stretch is halved until one element is wrong by itself; of the others the row tells no
 * more. */
static void row_check(struct gradcheck *check, struct gradcheck_row *row, int worker)
{
    int rank = (int)row->check.rank;
    const struct probe_input *input = &check->base.rows[rank].inputs[row->check.variable];
    struct element element = {.check = check,
                              .input = input,
                              .rank = rank,
                              .worker = worker,
                              .first = (size_t)row->check.index,
                              .count = row->check.elements,
                              .push = {.rank = input->team.size ? -1 : rank,
                                       .team = input->team.first,
                                       .input = row->check.variable}};
    if (!gradcheck_has_loss(&check->base, input->epoch)) { /* J is zero, whatever the input */
        double size = 0;
        struct judged judged = {.analytic = element_product(&element, input, &size)};
        bool given = !input->marked && size > 0; /* a pass from cotangents of the program's own */
        gradcheck_verdict(row, &judged, (struct difference){0}, given ? "objective" : NULL);
        return;
    }
    stretch_judge(check, &element, 0, row);
    if (trace_gradient_wrong(&row->check) && input->late &&
        gradcheck_is_cut(&check->base, input->epoch) &&
        fabs(row->check.numeric) <= 1e-12 * fabs(row->check.analytic))
        row->check.undecided = trace_doubt("later"); /* J was there before the input was */
    double step = 4 * row->check.step;
    while (element.count > 1 && trace_gradient_wrong(&row->check)) {
        struct gradcheck_row half = *row;
        size_t all = element.count;
        element.count = all / 2;
        stretch_judge(check, &element, step, &half);
        if (!trace_gradient_wrong(&half.check)) {
            element.first += element.count;
            element.count = all - element.count;
            stretch_judge(check, &element, step, &half);
        }
        if (!trace_gradient_wrong(&half.check))
            break; /* only together they show it */
        *row = half;
        row->check.index = (int64_t)element.first;
        row->check.elements = (uint32_t)element.count;
    }
}

/* So many step sizes that the rows which need more than one do not take for ever. */
static size_t centers_most(const struct gradcheck *check)
{
    size_t worlds = (size_t)200000 / (size_t)check->base.ranks;
    size_t each = worlds / (12 * (check->element_rows + 1));
    return each < 2 ? 2 : each;
}

static void gradients_measure(struct gradcheck *check)
{
    for (int r = 0; r < check->base.ranks; r++)
        for (size_t i = 0; i < check->base.rows[r].input_count; i++) {
            struct probe_input *input = &check->base.rows[r].inputs[i];
            size_t parts = input->gradient ? input->count * diff_type_parts(input->type) : 0;
            for (size_t k = 0; k < parts; k++)
                input->gradient_largest = fmax(input->gradient_largest, fabs(input->gradient[k]));
        }
}

/* Those that are called wrong once more, in order, until some in a row are no stairs. */
static void stairs_ask(struct gradcheck *check)
{
    enum { ASKED = 3 };
    check->stairs_asked = true;
    for (size_t i = 0, no = 0; i < check->element_rows && no < ASKED; i++) {
        struct gradcheck_row *row = &check->result->rows[i];
        if (!trace_gradient_wrong(&row->check) || strcmp(row->check.method, "central") != 0)
            continue;
        row_check(check, row, 0);
        no = trace_gradient_wrong(&row->check) ? no + 1 : 0;
    }
    check->stairs_asked = false;
}

void gradcheck_elements(struct gradcheck *check)
{
    struct gradcheck_result *result = check->result;
    long count = (long)check->element_rows;
    int workers = check->runner->workers > 0 ? check->runner->workers : 1;
    gradients_measure(check);
    check->centers_max = centers_most(check);
#pragma omp parallel for schedule(dynamic) num_threads(workers) if (count > 1)
    for (long i = 0; i < count; i++)
        row_check(check, &result->rows[i], omp_get_thread_num());
    stairs_ask(check);
}
