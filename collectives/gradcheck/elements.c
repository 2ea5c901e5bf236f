/* The gradient check of single elements. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>

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
    return scale * (epsilon > 1e-10 ? 0x1p-4 : 0x1p-10);
}

/* How many elements of each input on each rank: what was asked for, or so many that they are about
 * GRADCHECK_ELEMENTS in all, fewer in large worlds and of large inputs. The directions see the
 * others. */
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
    if (parts > GRADCHECK_VALUES / all) /* and as it has values */
        all = GRADCHECK_VALUES / parts;
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

bool gradcheck_elements_plan(struct gradcheck *check)
{
    const struct diff_probe *base = &check->base;
    size_t most = elements_most(check);
    for (int r = 0; r < base->ranks; r++)
        for (size_t i = 0; i < base->rows[r].input_count; i++) {
            const struct probe_input *input = &base->rows[r].inputs[i];
            size_t parts = input->count * diff_type_parts(input->type);
            for (size_t k = 0; k < parts; k++) {
                if (!sampled(check->options, most, parts, k, (uint64_t)r * 131 + i)) {
                    check->result->unlooked++;
                    continue;
                }
                struct gradcheck_row *row = gradcheck_row_add(check->result);
                if (!row)
                    return false;
                row->check = (struct trace_gradient){.rank = (uint32_t)r,
                                                     .variable = (uint32_t)i,
                                                     .index = (int64_t)k,
                                                     .method = "central"};
                row->epoch = input->epoch;
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
    gradcheck_judge(&judged, row);
}

void gradcheck_elements(struct gradcheck *check)
{
    struct gradcheck_result *result = check->result;
    long count = (long)result->row_count;
    int workers = check->runner->workers > 0 ? check->runner->workers : 1;
#pragma omp parallel for schedule(dynamic) num_threads(workers)
    for (long i = 0; i < count; i++)
        row_check(check, &result->rows[i], omp_get_thread_num());
}
