#include "checker/replay/device.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ISSUED = 1, BEGUN = 2, DONE = 4 };

struct lane {
    uint32_t rank;
    uint32_t head, end; /* into lane_ops: the first that is not complete */
};

struct device {
    const struct check_plan *plan;
    const struct trace *trace;
    uint8_t *flags;    /* per op */
    uint32_t *lane_of; /* per op, TRACE_NO: its rank does it itself */
    struct lane *lanes;
    size_t lane_count;
    uint32_t *lane_ops; /* lane by lane, as issued */
    uint32_t *host;     /* per rank: the op it stands before or in */
    uint32_t *begun;    /* per slot: calls */
    uint32_t *stack;    /* lanes, then ranks, that may go on */
    bool *waiting;      /* those on the stack */
    size_t top;
};

/* ---- streams ---- */

static bool runs_on_stream(const struct check_plan *plan, uint32_t op)
{
    const struct trace_op *at = &plan->context->trace->ops[op];
    const struct plan_step *step = &plan->steps[op];
    if (step->action == PLAN_COLLECTIVE)
        return at->kind < OP_COMM_DUP && (at->kind != OP_BARRIER || step->starts);
    return step->action == PLAN_SEND || step->action == PLAN_SYNC_SEND ||
           step->action == PLAN_RECEIVE;
}

/* Numbers the lanes rank by rank, in order of their first operation. */
static void number_lanes(struct device *device, enum device_streams streams)
{
    const struct trace *trace = device->trace;
    uint32_t *of_comm = check_new(trace->comm_count + 1, sizeof *of_comm);
    size_t room = 0;
    for (size_t comm = 0; comm <= trace->comm_count; comm++)
        of_comm[comm] = TRACE_NO;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        uint32_t rank = trace->ops[op].rank, comm = trace->ops[op].form->comm;
        bool each = streams == STREAMS_COMMUNICATOR && comm < trace->comm_count;
        uint32_t *lane = &of_comm[each ? comm : trace->comm_count];
        device->lane_of[op] = TRACE_NO;
        if (!runs_on_stream(device->plan, op))
            continue;
        if (*lane == TRACE_NO || device->lanes[*lane].rank != rank) {
            *lane = (uint32_t)device->lane_count;
            device->lanes =
                check_grow(device->lanes, &room, device->lane_count + 1, sizeof *device->lanes);
            device->lanes[device->lane_count++] = (struct lane){.rank = rank};
        }
        device->lane_of[op] = *lane;
        device->lanes[*lane].end++;
    }
    free(of_comm);
}

static void fill_lanes(struct device *device)
{
    uint32_t total = 0;
    for (size_t lane = 0; lane < device->lane_count; lane++) {
        uint32_t count = device->lanes[lane].end;
        device->lanes[lane].head = device->lanes[lane].end = total;
        total += count;
    }
    for (uint32_t op = 0; op < device->trace->op_count; op++)
        if (device->lane_of[op] != TRACE_NO)
            device->lane_ops[device->lanes[device->lane_of[op]].end++] = op;
}

/* ---- what happens ---- */

static void wake(struct device *device, uint32_t who)
{
    if (device->waiting[who])
        return;
    device->waiting[who] = true;
    device->stack[device->top++] = who;
}

static void wake_rank(struct device *device, uint32_t rank)
{
    wake(device, (uint32_t)device->lane_count + rank);
}

static void finish(struct device *device, uint32_t op)
{
    device->flags[op] |= DONE;
    if (device->lane_of[op] != TRACE_NO)
        wake(device, device->lane_of[op]);
    wake_rank(device, device->trace->ops[op].rank);
}

static void begin(struct device *device, uint32_t op)
{
    const struct check_plan *plan = device->plan;
    const struct plan_step *step = &plan->steps[op];
    device->flags[op] |= BEGUN;
    if (step->target == TRACE_NO)
        return;
    if (step->action != PLAN_COLLECTIVE) {
        if (device->lane_of[step->target] == TRACE_NO || device->flags[step->target] & BEGUN) {
            finish(device, op);
            finish(device, step->target);
        }
        return;
    }
    if (++device->begun[step->target] != plan->slot_need[step->target])
        return;
    const struct check_group *group = &plan->context->groups[step->target];
    for (uint32_t i = 0; i < group->count; i++)
        finish(device, plan->context->group_ops[group->first + i]);
}

/* A Sendrecv is one call, whose send and receive a device begins together. */
static bool is_one_call(const struct trace_op *ops, uint32_t send, uint32_t receive)
{
    return receive == send + 1 && ops[send].flags & ops[receive].flags & OP_COMPOUND &&
           ops[send].kind == OP_ISEND && ops[receive].kind == OP_IRECV;
}

/* The item at `at` of the lane ends here: operations of one batch are one. */
static uint32_t item_end(const struct device *device, const struct lane *lane, uint32_t at)
{
    const struct trace_op *ops = device->trace->ops;
    uint32_t batch = ops[device->lane_ops[at++]].form->batch;
    if (!batch && at < lane->end &&
        is_one_call(ops, device->lane_ops[at - 1], device->lane_ops[at]))
        return at + 1;
    while (batch && at < lane->end && ops[device->lane_ops[at]].form->batch == batch)
        at++;
    return at;
}

static void run_lane(struct device *device, uint32_t number)
{
    struct lane *lane = &device->lanes[number];
    while (lane->head < lane->end) {
        uint32_t end = item_end(device, lane, lane->head);
        bool done = true;
        for (uint32_t i = lane->head; i < end; i++) {
            uint32_t op = device->lane_ops[i];
            if ((device->flags[op] & (ISSUED | BEGUN)) == ISSUED)
                begin(device, op);
        }
        for (uint32_t i = lane->head; i < end; i++)
            done = done && device->flags[device->lane_ops[i]] & DONE;
        if (!done)
            return;
        lane->head = end;
    }
}

static bool is_done(const struct device *device, uint32_t start)
{
    enum plan_action action = device->plan->steps[start].action;
    return device->flags[start] & DONE || action == PLAN_PASS || action == PLAN_BUFFERED;
}

/* A start that the wait still waits for; TRACE_NO: it returns. */
static uint32_t missing_request(const struct device *device, uint32_t wait)
{
    const struct check_plan *plan = device->plan;
    bool any = plan->steps[wait].action == PLAN_WAIT_ANY;
    uint32_t start, missing = TRACE_NO;
    for (size_t i = 0; (start = plan_request(plan, wait, i)) != TRACE_NO; i++) {
        bool done = is_done(device, start);
        if (any && plan_is_pair(plan, wait, i)) {
            uint32_t other = plan_request(plan, wait, ++i);
            start = done ? other : start;
            done = done && is_done(device, other);
        }
        if (any && done)
            return TRACE_NO;
        missing = done || missing != TRACE_NO ? missing : start;
        if (!any && missing != TRACE_NO)
            return missing;
    }
    return missing;
}

/* Whether the rank goes past its next operation. */
static bool goes_on(struct device *device, uint32_t op)
{
    const struct plan_step *step = &device->plan->steps[op];
    if (device->lane_of[op] != TRACE_NO) {
        device->flags[op] |= ISSUED;
        wake(device, device->lane_of[op]);
        return true;
    }
    if (step->action >= PLAN_WAIT_ONE)
        return step->tested || missing_request(device, op) == TRACE_NO;
    if (step->action != PLAN_COLLECTIVE)
        return true;
    if (!(device->flags[op] & BEGUN))
        begin(device, op);
    return step->starts || device->flags[op] & DONE;
}

static void run_host(struct device *device, uint32_t rank)
{
    size_t end = device->trace->rank_begin[rank + 1];
    while (device->host[rank] < end && goes_on(device, device->host[rank]))
        device->host[rank]++;
}

/* ---- where it stands ---- */

/* The first operation of the stream that is not complete. */
static uint32_t head_of(const struct device *device, uint32_t lane)
{
    uint32_t at = device->lanes[lane].head;
    while (device->flags[device->lane_ops[at]] & DONE)
        at++;
    return device->lane_ops[at];
}

/* What a begun operation waits for. */
static uint32_t lacked_by(const struct device *device, uint32_t op)
{
    const struct plan_step *step = &device->plan->steps[op];
    if (step->action != PLAN_COLLECTIVE)
        return step->target;
    const struct check_group *group = &device->plan->context->groups[step->target];
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t call = device->plan->context->group_ops[group->first + i];
        if (!(device->flags[call] & BEGUN))
            return call;
    }
    return TRACE_NO;
}

/* What stands before an operation that has not begun: the head of its stream, or, where it was not
 * issued, what its rank waits in. */
static uint32_t obstacle(const struct device *device, uint32_t op)
{
    uint32_t lane = device->lane_of[op], rank = device->trace->ops[op].rank;
    if (device->flags[op] & ISSUED && lane != TRACE_NO)
        return head_of(device, lane);
    return device->host[rank];
}

/* From what stands there to the begun operation that it waits for in the end. */
static uint32_t begun_behind(const struct device *device, uint32_t op)
{
    size_t steps = 0;
    while (op != TRACE_NO && !(device->flags[op] & BEGUN) && steps++ <= device->trace->op_count) {
        uint32_t start = device->plan->steps[op].action >= PLAN_WAIT_ONE
                             ? missing_request(device, op)
                             : TRACE_NO;
        op = start != TRACE_NO ? start : obstacle(device, op);
    }
    return op;
}

static uint32_t first_standing(const struct device *device)
{
    for (uint32_t op = 0; op < device->trace->op_count; op++)
        if ((device->flags[op] & (BEGUN | DONE)) == BEGUN)
            return op;
    return TRACE_NO;
}

static void explain(const struct device *device, struct device_hang *hang)
{
    size_t ops = device->trace->op_count, length = 0, first = 0;
    uint32_t *visit = check_new(ops, sizeof *visit); /* from 1 */
    struct device_step *path = check_new(ops + 1, sizeof *path);
    for (uint32_t op = first_standing(device); op != TRACE_NO;) {
        if (visit[op]) {
            first = visit[op] - 1;
            break;
        }
        uint32_t lacks = lacked_by(device, op);
        visit[op] = (uint32_t)length + 1;
        path[length++] =
            (struct device_step){op, lacks, lacks == TRACE_NO ? TRACE_NO : obstacle(device, lacks)};
        first = length - 1; /* nobody has it: this op alone is the cause */
        op = lacks == TRACE_NO ? TRACE_NO : begun_behind(device, path[length - 1].before);
    }
    hang->count = length - first;
    hang->steps = check_new(hang->count, sizeof *hang->steps);
    memcpy(hang->steps, path + first, hang->count * sizeof *path);
    free(path);
    free(visit);
}

static void device_init(struct device *device, const struct check_plan *plan,
                        enum device_streams streams)
{
    const struct trace *trace = plan->context->trace;
    *device = (struct device){.plan = plan, .trace = trace};
    device->flags = check_new(trace->op_count, sizeof *device->flags);
    device->lane_of = check_new(trace->op_count, sizeof *device->lane_of);
    number_lanes(device, streams);
    device->lane_ops = check_new(trace->op_count, sizeof *device->lane_ops);
    fill_lanes(device);
    device->host = check_new(trace->ranks, sizeof *device->host);
    device->begun = check_new(plan->slot_count, sizeof *device->begun);
    device->stack = check_new(device->lane_count + trace->ranks, sizeof *device->stack);
    device->waiting = check_new(device->lane_count + trace->ranks, sizeof *device->waiting);
    for (uint32_t rank = trace->ranks; rank-- > 0;) {
        device->host[rank] = (uint32_t)trace->rank_begin[rank];
        wake_rank(device, rank);
    }
}

void check_device_run(const struct check_plan *plan, enum device_streams streams,
                      struct device_hang *hang)
{
    struct device device;
    *hang = (struct device_hang){0};
    device_init(&device, plan, streams);
    while (device.top) {
        uint32_t who = device.stack[--device.top];
        device.waiting[who] = false;
        if (who < device.lane_count)
            run_lane(&device, who);
        else
            run_host(&device, who - (uint32_t)device.lane_count);
    }
    bool stands = false;
    for (uint32_t rank = 0; rank < device.trace->ranks; rank++)
        stands = stands || device.host[rank] < device.trace->rank_begin[rank + 1];
    for (size_t lane = 0; lane < device.lane_count; lane++)
        stands = stands || device.lanes[lane].head < device.lanes[lane].end;
    if (stands)
        explain(&device, hang);
    free(device.flags);
    free(device.lane_of);
    free(device.lanes);
    free(device.lane_ops);
    free(device.host);
    free(device.begun);
    free(device.stack);
    free(device.waiting);
}

void check_device_release(struct device_hang *hang)
{
    free(hang->steps);
    *hang = (struct device_hang){0};
}
