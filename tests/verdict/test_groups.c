/* Which calls are one collective, of random calls with any numbers: those of one communicator and number, and of these only such as a
 * communicator with so many calls can have. */
#include "checker/context.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { RANKS = 3, COMMS = 4, PROGRAMS = 300 };

/* Collective calls on the communicator. */
static uint32_t calls_on(const struct trace *trace, uint32_t comm)
{
    uint32_t calls = 0;
    for (size_t i = 0; i < trace->op_count; i++)
        calls += trace->ops[i].kind == OP_ALLREDUCE && trace->ops[i].form->comm == comm;
    return calls;
}

static bool is_one_call(const struct trace_op *a, const struct trace_op *b)
{
    return b->kind == OP_ALLREDUCE && a->form->comm == b->form->comm && a->comm_seq == b->comm_seq;
}

static bool is_listed(const struct check_context *context, const struct check_group *group,
                      uint32_t op)
{
    uint32_t times = 0;
    for (uint32_t k = 0; k < group->count; k++)
        times += context->group_ops[group->first + k] == op;
    return times == 1;
}

static bool is_right(const struct check_context *context, uint32_t op)
{
    const struct trace *trace = context->trace;
    const struct trace_op *call = &trace->ops[op];
    uint32_t group = check_group_of(context, op), count = 0;
    bool grouped = call->kind == OP_ALLREDUCE && call->comm_seq < calls_on(trace, call->form->comm);
    if (!grouped || group == TRACE_NO)
        return !grouped && group == TRACE_NO;
    if (group >= context->group_count || context->groups[group].comm != call->form->comm)
        return false;
    for (uint32_t other = 0; other < trace->op_count; other++) {
        bool together = is_one_call(call, &trace->ops[other]);
        count += together;
        if (together != (check_group_of(context, other) == group) ||
            together != is_listed(context, &context->groups[group], other))
            return false;
    }
    return count == context->groups[group].count;
}

int main(void)
{
    unsigned wrong = 0, grouped = 0, lost = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        uint64_t state = seed;
        struct program p = program_new(RANKS);
        struct check_options options;
        struct check_context context;
        uint32_t comms[COMMS] = {p.world};
        for (uint32_t c = 1; c < COMMS; c++)
            comms[c] = program_comm(&p, RANKS, (int32_t[]){0, 1, 2});
        for (uint32_t i = dice_below(&state, 16); i > 0; i--) {
            uint32_t rank = dice_below(&state, RANKS), comm = comms[dice_below(&state, COMMS)];
            uint32_t seq = dice_below(&state, dice_below(&state, 8) ? 4 : 14);
            if (dice_below(&state, 6))
                program_collective(&p, rank, OP_ALLREDUCE, comm, seq, 1);
            else
                program_p2p(&p, rank, OP_ISEND, 0, 0, 2);
        }
        struct failure failure = {0};
        if (trace_finish(p.trace, &failure)) {
            check_options_init(&options);
            check_context_init(&context, p.trace, &options);
            for (uint32_t op = 0; op < p.trace->op_count; op++) {
                wrong += !is_right(&context, op);
                grouped += check_group_of(&context, op) != TRACE_NO;
                lost += p.trace->ops[op].kind == OP_ALLREDUCE &&
                        check_group_of(&context, op) == TRACE_NO;
            }
            check_context_release(&context);
        }
        trace_free(p.trace);
    }
    tap_is_int(wrong, 0, "calls of one communicator and number are one collective");
    tap_ok(grouped > 500 && lost > 50, "some are (%u), some have numbers that cannot be (%u)",
           grouped, lost);
    return tap_done();
}
