#include "checker/replay/replay.h"

#include "checker/memory.h"
#include "checker/replay/machine.h"
#include "checker/replay/standstill.h"

#include <stdlib.h>
#include <string.h>

/* ---- explaining where it got stuck ---- */

/* Follows who lacks what until a rank comes again: everything from its first visit on is the cycle.
 */
static void find_cycle(struct replay_machine *machine, struct check_replay *replay)
{
    uint32_t ranks = machine->lanes, rank = 0;
    while (replay->at[rank] == TRACE_NO)
        rank++;
    uint32_t *visit = check_new(ranks, sizeof *visit); /* step of the first visit, from 1 */
    uint32_t *path = check_new(ranks, sizeof *path), *lacks = check_new(ranks, sizeof *lacks);
    size_t length = 0, first = 0;
    for (;;) {
        visit[rank] = (uint32_t)length + 1;
        path[length] = replay->at[rank];
        lacks[length] = replay_lacking_op(machine, rank, replay->at[rank]);
        uint32_t lacked = lacks[length++];
        if (lacked == TRACE_NO || replay->at[replay_lane_of(machine, lacked)] == TRACE_NO) {
            first = length - 1; /* nobody has it: this op alone is the cause */
            break;
        }
        rank = replay_lane_of(machine, lacked);
        if (visit[rank]) {
            first = visit[rank] - 1;
            break;
        }
    }
    replay->cycle_count = length - first;
    replay->cycle = check_new(replay->cycle_count, sizeof *replay->cycle);
    replay->lacks = check_new(replay->cycle_count, sizeof *replay->lacks);
    memcpy(replay->cycle, path + first, replay->cycle_count * sizeof *path);
    memcpy(replay->lacks, lacks + first, replay->cycle_count * sizeof *lacks);
    free(visit);
    free(path);
    free(lacks);
}

/* ---- what met whom ---- */

/* It was posted, if at all, when its rank was off the record. */
static bool is_unreal(struct replay_machine *machine, uint32_t op)
{
    uint32_t lane = replay_lane_of(machine, op);
    return machine->astray[lane] &&
           (machine->sequence || replay_position_of(machine, op) > machine->strayed[lane]);
}

static void note_crossing(struct check_replay *replay, uint32_t op, uint32_t met)
{
    replay->crossed = true;
    replay->crossing = op;
    replay->met = met;
}

static void find_crossing(struct replay_machine *machine, struct check_replay *replay)
{
    const struct check_plan *plan = machine->plan;
    uint32_t *holder = check_new(plan->slot_count, sizeof *holder);
    memset(holder, 0xff, plan->slot_count * sizeof *holder);
    for (uint32_t op = 0; op < machine->trace->op_count && !replay->crossed; op++) {
        const struct plan_step *step = &plan->steps[op];
        if (step->action == PLAN_PASS || step->target == TRACE_NO ||
            !replay_is_posted(machine, op) || is_unreal(machine, op))
            continue;
        if (step->action == PLAN_RECEIVE && step->target != machine->trace->ops[op].match &&
            replay_is_posted(machine, step->target) && !is_unreal(machine, step->target))
            note_crossing(replay, op, step->target);
        if (step->action != PLAN_COLLECTIVE)
            continue;
        if (holder[step->target] == TRACE_NO)
            holder[step->target] = op;
        else if (check_group_of(plan->context, holder[step->target]) !=
                 check_group_of(plan->context, op))
            note_crossing(replay, op, holder[step->target]);
    }
    free(holder);
}

void check_replay_watch(const struct check_plan *plan, enum check_model model,
                        const struct replay_watch *watch, struct check_replay *replay)
{
    struct replay_machine machine;
    replay_machine_init(&machine, plan, model, watch);
    for (uint32_t rank = machine.lanes; rank-- > 0;)
        replay_wake(&machine, rank);
    do
        replay_run_ready(&machine);
    while (check_standstill_ends(&machine));
    *replay = (struct check_replay){.at = check_new(machine.lanes, sizeof *replay->at),
                                    .loose = machine.first_loose};
    for (uint32_t rank = 0; rank < machine.lanes; rank++) {
        replay->strayed = replay->strayed || machine.astray[rank];
        bool ended = machine.next[rank] == machine.lane_begin[rank + 1];
        replay->at[rank] = ended ? TRACE_NO : replay_op_at(&machine, machine.next[rank]);
        replay->stuck = replay->stuck || !ended;
    }
    if (replay->stuck)
        find_cycle(&machine, replay);
    if (plan->rearranged)
        find_crossing(&machine, replay);
    replay_machine_release(&machine);
}

void check_replay_run(const struct check_plan *plan, enum check_model model,
                      struct check_replay *replay)
{
    check_replay_watch(plan, model, NULL, replay);
}

void check_replay_release(struct check_replay *replay)
{
    free(replay->at);
    free(replay->cycle);
    free(replay->lacks);
    *replay = (struct check_replay){0};
}
