/* The gradient check in other circumstances, in which a gradient must be the same.
 *
 * With another delivery of messages: nonblocking receives match only when nobody else can move,
 * buffers are filled when their operation is completed, wildcards take the last message there is.
 * MPI allows that. An adjoint that reads a buffer before its wait, or that answers in the order in
 * which receives were posted instead of to who sent, is wrong there.
 *
 * A gradient may differ and be right all the same, where messages decide which rank does what. So
 * only where it does the whole check is done in that delivery.
 *
 * With freed memory overwritten, and what malloc gives: what an adjoint kept and freed too early, or
 * adds to without setting it to zero, is right by chance else. One run asks for both at once.
 *
 * With nothing changed at all: a program that draws random numbers, or looks at the clock, computes
 * something else, and no difference can be measured.
 *
 * Repeated, with what must not matter varied (the association of reductions, every choice).
 * Gradients may differ by rounding only: a few units in the last places for another order of the
 * same sums, while a race shows as a difference of the values' own size. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Whether an input's gradient is another one, by more than sums in another order explain, or there
 * are other inputs: messages decide who has which. */
static bool gradients_move(const struct gradcheck *check, const struct diff_probe *again)
{
    double share = fmax(1e-6, 4096 * check->epsilon * check->base.ranks);
    if (!gradcheck_same_inputs(&check->base, again))
        return true;
    for (int r = 0; r < again->ranks; r++)
        for (size_t i = 0; i < again->rows[r].input_count; i++) {
            const struct probe_input *one = &check->base.rows[r].inputs[i];
            const struct probe_input *two = &again->rows[r].inputs[i];
            size_t parts = one->gradient ? one->count * diff_type_parts(one->type) : 0;
            double largest = 0;
            for (size_t k = 0; k < parts; k++)
                largest = fmax(largest, fabs(one->gradient[k]));
            for (size_t k = 0; k < parts; k++)
                if (!(fabs(one->gradient[k] - two->gradient[k]) <= share * largest))
                    return true;
        }
    return false;
}

/* The first input that is wrong there. */
static void blame(struct gradcheck_culprit *culprit, const struct gradcheck *there,
                  const char *text)
{
    for (size_t i = 0; i < there->result->row_count && !culprit->found; i++) {
        const struct trace_gradient *row = &there->result->rows[i].check;
        const struct probe_input *input = &there->base.rows[row->rank].inputs[row->variable];
        if (!trace_gradient_wrong(row))
            continue;
        culprit->found = true;
        culprit->rank = (int)row->rank;
        culprit->site = input->gradient_site ? input->gradient_site : input->site;
        snprintf(culprit->name, sizeof culprit->name, "%s", input->name);
        snprintf(culprit->text, sizeof culprit->text, "the gradient of %s is right only as %s",
                 input->name, text);
    }
}

static const struct circumstance {
    bool adverse, stale_memory;
    const char *where, *text;
} circumstances[] = {{true, true, NULL, NULL},
                     {false, true, "with memory overwritten",
                      "long as memory keeps what it held: it is wrong where what was freed, "
                      "and what malloc gave and nobody wrote, is overwritten: "
                      "is a buffer freed before the adjoint reads it, "
                      "or added to without being set to zero?"},
                     {true, false, "with late messages",
                      "messages happened to arrive; it is wrong where nonblocking receives "
                      "are filled as late as MPI allows and wildcards take the last message first: "
                      "is a buffer read before its wait, or an answer sent to another rank "
                      "than the one in MPI_SOURCE?"}};

/* Whether gradients are others there, or the run did not finish; judged where `where` says so. */
static bool differs(struct gradcheck *check, const struct circumstance *circumstance, bool *missed)
{
    struct gradcheck_options options = *check->options;
    struct gradcheck_result result = {.ranks = check->base.ranks};
    struct gradcheck there = {.runner = check->runner,
                              .options = &options,
                              .result = &result,
                              .blocks = check->blocks,
                              .adverse = circumstance->adverse,
                              .stale_memory = circumstance->stale_memory};
    options.elements_max = 1; /* a row for every input */
    *missed = !diff_probe_init(&there.base, check->base.ranks) ||
              !gradcheck_world(&there, &there.base, 0);
    bool moved = !*missed && gradients_move(check, &there.base);
    if (moved && circumstance->where) {
        gradcheck_elsewhere(check, &there, circumstance->where);
        gradcheck_failures_count(check->result);
        if (check->result->failed)
            blame(&check->result->culprit, &there, circumstance->text);
    }
    check->result->worlds += result.worlds;
    gradcheck_epochs_release(&there);
    diff_probe_release(&there.base);
    free(result.rows);
    return moved || *missed;
}

static bool computes_the_same(const struct gradcheck *check, const struct diff_probe *again)
{
    for (uint32_t e = 0; e < check->epoch_count; e++) {
        double one = gradcheck_objective(&check->base, e, -1),
               two = gradcheck_objective(again, e, -1);
        if (fabs(one - two) > 1e-6 * fmax(fabs(one), fabs(two)))
            return false;
    }
    return true;
}

/* Differences of what is another function every time say nothing of the adjoint. What is no number is
 * wrong all the same. */
void gradcheck_steady(struct gradcheck *check)
{
    enum { RUNS = 8 };
    struct gradcheck_result *result = check->result;
    for (int k = 0; k < RUNS && !result->unsteady; k++) {
        struct diff_probe again;
        if (!diff_probe_init(&again, check->base.ranks))
            return;
        result->unsteady = gradcheck_world(check, &again, 0) && !computes_the_same(check, &again);
        diff_probe_release(&again);
    }
    for (size_t i = 0; result->unsteady && i < result->row_count; i++) {
        struct trace_gradient *row = &result->rows[i].check;
        if (trace_gradient_wrong(row) && isfinite(row->analytic))
            row->undecided = "noise";
    }
    gradcheck_failures_count(result);
}

void gradcheck_delivery(struct gradcheck *check)
{
    struct gradcheck_result *result = check->result;
    bool missed;
    if (!result->row_count || result->failed || result->non_finite || result->unsteady)
        return; /* without a gradient there is nothing to compare, and a program runs once */
    if (!differs(check, &circumstances[0], &missed))
        return;
    if (!missed)
        gradcheck_steady(check);
    if (result->unsteady)
        return; /* which coverage says */
    differs(check, &circumstances[1], &result->memory_missed);
    if (!result->failed)
        differs(check, &circumstances[2], &result->delivery_missed);
}

/* ---- repetitions ---- */

/* How far apart the two are, in so many units. What is no number in one of them only is infinitely far. */
static double spread_of(double one, double two, double unit)
{
    if (one == two || (isnan(one) && isnan(two)))
        return 0;
    double spread = fabs(one - two) / unit;
    return isnan(spread) ? INFINITY : spread;
}

static void input_compare(struct gradcheck *check, int rank, const struct probe_input *base,
                          const struct probe_input *again)
{
    struct gradcheck_repeat *repeat = &check->result->repeat;
    size_t parts = base->count * diff_type_parts(base->type);
    double largest = 0;
    for (size_t k = 0; base->gradient && k < parts; k++)
        largest = fmax(largest, fabs(base->gradient[k]));
    for (size_t k = 0; base->gradient && k < parts; k++) {
        double spread = again->gradient ? spread_of(base->gradient[k], again->gradient[k],
                                                    largest * check->epsilon)
                                        : INFINITY;
        if (spread <= repeat->spread)
            continue;
        repeat->spread = spread;
        repeat->rank = rank;
        repeat->index = (int64_t)k;
        snprintf(repeat->name, sizeof repeat->name, "%s", base->name ? base->name : "?");
    }
}

static bool world_compare(struct gradcheck *check, const struct diff_probe *again)
{
    for (int r = 0; r < check->base.ranks; r++) {
        const struct diff_probe_rank *one = &check->base.rows[r], *two = &again->rows[r];
        if (one->input_count != two->input_count)
            return false;
        for (size_t i = 0; i < one->input_count; i++) {
            if (one->inputs[i].count != two->inputs[i].count)
                return false;
            input_compare(check, r, &one->inputs[i], &two->inputs[i]);
        }
    }
    return true;
}

void gradcheck_repeat(struct gradcheck *check)
{
    struct gradcheck_repeat *repeat = &check->result->repeat;
    /* Every sum over ranks may be off by as many units as it has terms; passes add them up. */
    repeat->bound = 4096.0 * check->base.ranks;
    for (int k = 1; k <= check->options->repeat; k++) {
        struct diff_probe again;
        if (!diff_probe_init(&again, check->base.ranks))
            return;
        again.repeat = k;
        if (!gradcheck_world(check, &again, 0) || !world_compare(check, &again))
            repeat->spread = INFINITY;
        repeat->worlds++;
        diff_probe_release(&again);
    }
}
