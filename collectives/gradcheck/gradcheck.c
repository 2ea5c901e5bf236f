/* Gradient checks of whole programs: see gradcheck.h. */
#include "collectives/gradcheck/internal.h"
#include "collectives/tape/tape.h"
#include "recorder/recorder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gradcheck_options gradcheck_options_default(void)
{
    return (struct gradcheck_options){
        .directions = 1, .bisect = true, .tolerance_factor = 1, .order = -1, .seed = 1};
}

/* A loss that is another one where no pass has run is made of gradients: a world that is pushed at has
 * none. Cotangents of the program's own are, too. */
static void cuts_note(struct gradcheck *check, uint32_t epoch)
{
    const struct gradcheck_terms *here = &check->here[epoch];
    size_t at = 0;
    double noise = 1e-9 * gradcheck_magnitude(&check->base, epoch);
    bool moved = false;
    for (int r = 0; r < check->base.ranks; r++) {
        const struct diff_probe_rank *row = &check->base.rows[r];
        for (size_t i = 0; epoch < row->epoch_count && i < row->objectives[epoch].term_count; i++) {
            double value = row->objectives[epoch].terms[i].value;
            double other = at < here->count ? here->values[at++] : value;
            moved = moved || fabs(value - other) > 0.1 * (fabs(value) + fabs(other)) + noise;
        }
    }
    for (int r = 0; r < check->base.ranks; r++)
        if (epoch < check->base.rows[r].epoch_count) {
            struct probe_objective *objective = &check->base.rows[r].objectives[epoch];
            objective->cut = objective->given || (here->well && moved);
        }
}

bool gradcheck_epochs_prepare(struct gradcheck *check)
{
    const struct diff_probe *base = &check->base;
    for (int r = 0; r < base->ranks; r++)
        if (base->rows[r].epoch_count > check->epoch_count)
            check->epoch_count = base->rows[r].epoch_count;
    check->noise = calloc(check->epoch_count + 1, sizeof *check->noise);
    check->trusted = calloc(check->epoch_count + 1, sizeof *check->trusted);
    check->here = calloc(check->epoch_count + 1, sizeof *check->here);
    if (!check->noise || !check->trusted || !check->here)
        return false;
    for (uint32_t e = 0; e < check->epoch_count; e++)
        if (gradcheck_has_loss(base, e)) {
            check->here[e] = gradcheck_terms_at(check, &(struct gradcheck_place){.epoch = e});
            cuts_note(check, e);
            check->noise[e] = gradcheck_noise(check, e);
        }
    return true;
}

void gradcheck_epochs_release(struct gradcheck *check)
{
    free(check->noise);
    for (uint32_t e = 0; check->here && e < check->epoch_count; e++)
        gradcheck_terms_release(&check->here[e]);
    free(check->here);
    free(check->trusted);
    gradcheck_nearby_release(check);
}

static void base_summary(struct gradcheck *check)
{
    struct gradcheck_result *result = check->result;
    for (uint32_t e = 0; e < check->epoch_count; e++)
        result->objective += gradcheck_objective(&check->base, e, -1);
    for (int r = 0; r < check->base.ranks; r++)
        result->non_finite |= check->base.rows[r].non_finite;
}

void gradcheck_failures_count(struct gradcheck_result *result)
{
    result->failed = 0;
    for (size_t i = 0; i < result->row_count; i++)
        result->failed += trace_gradient_wrong(&result->rows[i].check);
}

static void stuck_note(struct gradcheck *check)
{
    const struct diff_node *stuck = NULL;
    for (int r = 0; r < check->base.ranks; r++) {
        const struct diff_node *node = check->base.rows[r].adjoint;
        if (node && (!stuck || node->sequence > stuck->sequence))
            stuck = node;
    }
    if (stuck)
        snprintf(check->result->stuck, sizeof check->result->stuck, "%s", stuck->operation->name);
}

static bool some_are_noisy(const struct gradcheck_result *result)
{
    for (size_t i = 0; i < result->row_count; i++) {
        const char *doubt = result->rows[i].check.undecided;
        if (doubt && !strcmp(doubt, "noise"))
            return true;
    }
    return false;
}

int gradcheck_run(const struct diff_runner *runner, const struct gradcheck_options *options,
                  struct gradcheck_result *result)
{
    struct gradcheck check = {.runner = runner, .options = options, .result = result};
    int status = FAILURE_INTERNAL;
    *result = (struct gradcheck_result){.ranks = runner->ranks};
    size_t places = (size_t)runner->ranks * (size_t)(runner->workers > 0 ? runner->workers : 1);
    if (!diff_probe_init(&check.base, runner->ranks))
        return status;
    check.blocks = calloc(places, sizeof *check.blocks);
    if (!check.blocks)
        goto done;
    result->base_failed = !gradcheck_world(&check, &check.base, 0);
    if (result->base_failed) {
        stuck_note(&check);
        status = 0;
        goto done;
    }
    check.epsilon = gradcheck_epsilon(&check.base);
    if (!gradcheck_epochs_prepare(&check) || !gradcheck_elements_plan(&check))
        goto done;
    base_summary(&check);
    for (uint32_t e = 0; e < check.epoch_count; e++)
        if (gradcheck_has_loss(&check.base, e))
            check.trusted[e] = gradcheck_tangent(&check, e);
    gradcheck_elements(&check);
    for (uint32_t e = 0; e < check.epoch_count; e++)
        if (gradcheck_has_loss(&check.base, e)) {
            gradcheck_directions(&check, e);
            if (options->taylor)
                gradcheck_taylor(&check, e);
            if (options->heat_map)
                gradcheck_heat_map(&check, e);
        }
    if (options->bisect)
        gradcheck_kinks(&check);
    gradcheck_failures_count(result);
    if (result->failed || some_are_noisy(result))
        gradcheck_steady(&check);
    if (options->repeat > 0)
        gradcheck_repeat(&check);
    if (options->sweep)
        gradcheck_sweep(&check);
    bool blame = result->failed && options->bisect && !gradcheck_explain_missing(&check);
    if (blame)
        gradcheck_bisect_marks(&check);
    if (blame && result->culprit.marked && !result->culprit.before[0])
        gradcheck_bisect_calls(&check);
    if (blame)
        for (uint32_t e = 0; e < check.epoch_count && !result->culprit.found; e++)
            if (gradcheck_has_loss(&check.base, e))
                gradcheck_bisect(&check, e);
    gradcheck_points(&check);
    gradcheck_delivery(&check);
    status = 0;
done:
    for (size_t i = 0; check.blocks && i < places; i++)
        arena_pool_release(&check.blocks[i]);
    free(check.blocks);
    gradcheck_epochs_release(&check);
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
