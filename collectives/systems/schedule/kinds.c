/* The named kinds: who computes what, in which order. Messages come later (messages.c).
 *
 * Where a formula is known (GPipe, 1F1B, interleaved) it is used; the two that fill bubbles from
 * both ends are made by running the pipeline one step of every rank at a time, the backward pass
 * first. */
#include "collectives/systems/schedule/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void compute(struct schedule *schedule, int rank, enum schedule_kind kind, int stage,
                    int microbatch)
{
    rows_add(schedule, rank, (struct schedule_action){kind, stage, microbatch});
}

static struct schedule *gpipe(const struct schedule_plan *plan)
{
    struct schedule *schedule = rows_new(plan->ranks, plan->ranks, 1, plan->microbatches);
    for (int r = 0; r < plan->ranks; r++) {
        for (int m = 0; m < plan->microbatches; m++)
            compute(schedule, r, SCHEDULE_F, r, m);
        for (int m = 0; m < plan->microbatches; m++)
            compute(schedule, r, SCHEDULE_B, r, m);
    }
    return schedule;
}

static struct schedule *one_f_one_b(const struct schedule_plan *plan)
{
    struct schedule *schedule = rows_new(plan->ranks, plan->ranks, 1, plan->microbatches);
    for (int r = 0; r < plan->ranks; r++) {
        int warmup = smaller(plan->ranks - 1 - r, plan->microbatches);
        for (int m = 0; m < warmup; m++)
            compute(schedule, r, SCHEDULE_F, r, m);
        for (int m = warmup; m < plan->microbatches; m++) {
            compute(schedule, r, SCHEDULE_F, r, m);
            compute(schedule, r, SCHEDULE_B, r, m - warmup);
        }
        for (int m = plan->microbatches - warmup; m < plan->microbatches; m++)
            compute(schedule, r, SCHEDULE_B, r, m);
    }
    return schedule;
}

/* Rank r may leave r halves for the weights undone: the first rank has bubbles to fill at the end,
 * the last has none. */
static struct schedule *zero_bubble(const struct schedule_plan *plan)
{
    struct schedule *schedule = rows_new(plan->ranks, plan->ranks, 1, plan->microbatches);
    for (int r = 0; r < plan->ranks; r++) {
        int warmup = smaller(plan->ranks - 1 - r, plan->microbatches), forwards = 0, weights = 0;
        for (; forwards < warmup; forwards++)
            compute(schedule, r, SCHEDULE_F, r, forwards);
        for (int m = 0; m < plan->microbatches; m++) {
            if (forwards < plan->microbatches)
                compute(schedule, r, SCHEDULE_F, r, forwards++);
            compute(schedule, r, SCHEDULE_I, r, m);
            if (m + 1 - weights > r)
                compute(schedule, r, SCHEDULE_W, r, weights++);
        }
        while (weights < plan->microbatches)
            compute(schedule, r, SCHEDULE_W, r, weights++);
    }
    return schedule;
}

/* The k-th forward (or backward) step of a rank in the interleaved schedule: microbatches go in
 * groups of as many as there are ranks, and every group through one chunk after the other. */
static void interleaved_step(struct schedule *schedule, const struct schedule_plan *plan, int rank,
                             enum schedule_kind kind, int k)
{
    int ranks = plan->ranks, chunk = k / ranks % plan->chunks;
    if (kind != SCHEDULE_F)
        chunk = plan->chunks - 1 - chunk;
    int microbatch = k / (ranks * plan->chunks) * ranks + k % ranks;
    compute(schedule, rank, kind, chunk * ranks + rank, microbatch);
}

static struct schedule *interleaved(const struct schedule_plan *plan, char *why, size_t room)
{
    if (plan->chunks < 1 || plan->microbatches % plan->ranks) {
        snprintf(why, room,
                 "an interleaved schedule needs at least one chunk, and microbatches in multiples "
                 "of the %d ranks: %d chunks and %d microbatches given",
                 plan->ranks, plan->chunks, plan->microbatches);
        return NULL;
    }
    int steps = plan->microbatches * plan->chunks;
    struct schedule *schedule =
        rows_new(plan->ranks, plan->ranks * plan->chunks, 1, plan->microbatches);
    for (int r = 0; r < plan->ranks; r++) {
        int warmup = smaller(2 * (plan->ranks - 1 - r) + (plan->chunks - 1) * plan->ranks, steps);
        for (int k = 0; k < warmup; k++)
            interleaved_step(schedule, plan, r, SCHEDULE_F, k);
        for (int k = warmup; k < steps; k++) {
            interleaved_step(schedule, plan, r, SCHEDULE_F, k);
            interleaved_step(schedule, plan, r, SCHEDULE_B, k - warmup);
        }
        for (int k = steps - warmup; k < steps; k++)
            interleaved_step(schedule, plan, r, SCHEDULE_B, k);
    }
    return schedule;
}

/* ---- the pipeline, run step by step ---- */

enum { NOT_YET = 0 };

struct filling {
    struct schedule *schedule;
    int *forward, *input, *weights; /* [stage][microbatch]: the step after which it is done */
    int *started, *finished;        /* per chain: microbatches that went in and came back */
    int in_flight_max;
};

static int *entry(const struct filling *filling, int *table, int stage, int microbatch)
{
    return &table[stage * filling->schedule->microbatches + microbatch];
}

static bool done(const struct filling *filling, int *table, int stage, int microbatch, int step)
{
    int when = *entry(filling, table, stage, microbatch);
    return when != NOT_YET && when <= step;
}

/* Chains share the microbatches evenly. */
static bool is_of_chain(const struct schedule *schedule, int stage, int microbatch)
{
    int chain = stage / (schedule->stages / schedule->chains);
    return microbatch * schedule->chains / schedule->microbatches == chain;
}

static bool may_run(struct filling *filling, struct schedule_action action, int step)
{
    const struct schedule *schedule = filling->schedule;
    int stage = action.stage, m = action.microbatch;
    int chain = stage / (schedule->stages / schedule->chains);
    if (!is_of_chain(schedule, stage, m))
        return false;
    if (action.kind == SCHEDULE_W)
        return *entry(filling, filling->weights, stage, m) == NOT_YET &&
               done(filling, filling->input, stage, m, step);
    if (action.kind == SCHEDULE_I)
        return *entry(filling, filling->input, stage, m) == NOT_YET &&
               done(filling, filling->forward, stage, m, step) &&
               (stage_is_last(schedule, stage) ||
                done(filling, filling->input, stage + 1, m, step));
    if (*entry(filling, filling->forward, stage, m) != NOT_YET)
        return false;
    if (stage_is_first(schedule, stage))
        return filling->started[chain] - filling->finished[chain] < filling->in_flight_max;
    return done(filling, filling->forward, stage - 1, m, step);
}

static void take(struct filling *filling, int rank, struct schedule_action action, int step)
{
    const struct schedule *schedule = filling->schedule;
    int chain = action.stage / (schedule->stages / schedule->chains);
    int *table = action.kind == SCHEDULE_F   ? filling->forward
                 : action.kind == SCHEDULE_I ? filling->input
                                             : filling->weights;
    *entry(filling, table, action.stage, action.microbatch) = step + 1;
    filling->started[chain] += action.kind == SCHEDULE_F && stage_is_first(schedule, action.stage);
    filling->finished[chain] += action.kind == SCHEDULE_I && stage_is_first(schedule, action.stage);
    compute(filling->schedule, rank, action.kind, action.stage, action.microbatch);
}

/* Backward first, then what is deepest in the pipeline, then what is left for the weights. */
static bool step_of_rank(struct filling *filling, int rank, const int *placed, int step)
{
    static const enum schedule_kind preference[] = {SCHEDULE_I, SCHEDULE_F, SCHEDULE_W};
    const struct schedule *schedule = filling->schedule;
    for (int p = 0; p < 3; p++)
        for (int stage = schedule->stages - 1; stage >= 0; stage--)
            for (int m = 0; m < schedule->microbatches && placed[stage] == rank; m++) {
                struct schedule_action action = {preference[p], stage, m};
                if (may_run(filling, action, step)) {
                    take(filling, rank, action, step);
                    return true;
                }
            }
    return false;
}

static struct schedule *filled(const struct schedule_plan *plan, const int *placed, int chains)
{
    size_t entries = (size_t)(2 * plan->ranks) * (size_t)plan->microbatches;
    int *tables = calloc(3 * entries + 4, sizeof *tables);
    if (!tables)
        abort();
    struct filling filling = {rows_new(plan->ranks, 2 * plan->ranks, chains, plan->microbatches),
                              tables,
                              tables + entries,
                              tables + 2 * entries,
                              tables + 3 * entries,
                              tables + 3 * entries + 2,
                              2 * plan->ranks / chains};
    size_t left = 3 * entries / (size_t)chains;
    for (int step = 0; left > 0; step++)
        for (int rank = 0; rank < plan->ranks; rank++)
            left -= step_of_rank(&filling, rank, placed, step);
    free(tables);
    return filling.schedule;
}

/* Stage r and stage 2P - 1 - r on rank r. */
static struct schedule *there_and_back(const struct schedule_plan *plan)
{
    int *placed = calloc((size_t)(2 * plan->ranks), sizeof *placed);
    if (!placed)
        abort();
    for (int r = 0; r < plan->ranks; r++)
        placed[r] = placed[2 * plan->ranks - 1 - r] = r;
    struct schedule *schedule = filled(plan, placed, 1);
    free(placed);
    return schedule;
}

/* Stages 0 to P - 1 go down, P to 2P - 1 up; stage s and stage P + s are copies. Both ranks of a
 * pair of copies must reduce their layers in one order, the lower first; own_first is how not to.
 */
static struct schedule *bidirectional(const struct schedule_plan *plan, bool own_first, char *why,
                                      size_t room)
{
    if (plan->microbatches % 2) {
        snprintf(why, room, "a bidirectional schedule needs an even number of microbatches, not %d",
                 plan->microbatches);
        return NULL;
    }
    int ranks = plan->ranks, *placed = calloc((size_t)(2 * ranks), sizeof *placed);
    if (!placed)
        abort();
    for (int r = 0; r < ranks; r++)
        placed[r] = placed[2 * ranks - 1 - r] = r;
    struct schedule *schedule = filled(plan, placed, 2);
    free(placed);
    for (int r = 0; r < ranks; r++) {
        int own = r, copy = 2 * ranks - 1 - r;
        bool first = own_first || own < copy - ranks;
        compute(schedule, r, SCHEDULE_REDUCE_GRAD, first ? own : copy, 0);
        compute(schedule, r, SCHEDULE_REDUCE_GRAD, first ? copy : own, 0);
    }
    return schedule;
}

struct schedule *kinds_make(const struct schedule_plan *plan, char *why, size_t room)
{
    if (plan->ranks < 1 || plan->microbatches < 1) {
        snprintf(why, room, "a schedule needs ranks and microbatches: %d and %d given", plan->ranks,
                 plan->microbatches);
        return NULL;
    }
    if (!strcmp(plan->kind, "gpipe"))
        return gpipe(plan);
    if (!strcmp(plan->kind, "1f1b"))
        return one_f_one_b(plan);
    if (!strcmp(plan->kind, "zero-bubble"))
        return zero_bubble(plan);
    if (!strcmp(plan->kind, "interleaved"))
        return interleaved(plan, why, room);
    if (!strcmp(plan->kind, "v"))
        return there_and_back(plan);
    if (!strcmp(plan->kind, "bidirectional") || !strcmp(plan->kind, "bidirectional-own-first"))
        return bidirectional(plan, strlen(plan->kind) > strlen("bidirectional"), why, room);
    snprintf(why, room,
             "no kind of schedule is called \"%s\": gpipe, 1f1b, interleaved, zero-bubble, v, "
             "bidirectional",
             plan->kind);
    return NULL;
}
