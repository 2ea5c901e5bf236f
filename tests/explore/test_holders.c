/* Who has a lock of a window, looked up for all locks together, against looking through the calls of each rank (trace_has_lock): random
 * calls that take and give back locks of one target and of all, on several windows, more often and less often than was taken. */
#include "checker/replay/holders.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { RANKS = 6, WINDOWS = 2, CASES = 3000, CALLS = 40 };

int main(void)
{
    static const uint8_t kinds[] = {OP_WIN_LOCK, OP_WIN_UNLOCK, OP_WIN_LOCK_ALL, OP_WIN_UNLOCK_ALL,
                                    OP_WIN_FLUSH};
    uint64_t dice = 11;
    int wrong = 0, having = 0, unordered = 0;
    for (int i = 0; i < CASES; i++) {
        struct program p = program_new(RANKS);
        uint32_t calls = dice_below(&dice, CALLS);
        struct holders holders;
        uint32_t windows[WINDOWS];
        int32_t members[RANKS] = {0, 1, 2, 3, 4, 5};
        for (int k = 0; k < WINDOWS; k++)
            windows[k] = program_comm(&p, RANKS, members);
        for (uint32_t call = 0; call < calls; call++) {
            struct trace_plain_op op =
                program_op(&p, call * RANKS / CALLS, kinds[dice_below(&dice, 5)], 7);
            op.comm = windows[dice_below(&dice, WINDOWS)];
            op.peer = op.kind == OP_WIN_LOCK || op.kind == OP_WIN_UNLOCK
                          ? (int)dice_below(&dice, RANKS)
                          : TRACE_NONE;
            op.state = dice_below(&dice, 5) ? STATE_COMPLETE : STATE_BLOCKED;
            trace_add_op(p.trace, &op);
        }
        program_finish(&p);
        holders_init(&holders, p.trace);
        for (uint32_t wanted = 0; wanted < p.trace->op_count; wanted++) {
            const struct trace_op *op = &p.trace->ops[wanted];
            bool has[RANKS] = {0};
            if (op->kind != OP_WIN_LOCK && op->kind != OP_WIN_LOCK_ALL)
                continue;
            size_t count = holders_find(&holders, op);
            for (size_t k = 0; k < count; k++) {
                has[holders.found[k]] = true;
                unordered += k > 0 && holders.found[k - 1] >= holders.found[k];
            }
            for (uint32_t rank = 0; rank < RANKS; rank++) {
                wrong += has[rank] != trace_has_lock(p.trace, rank, op);
                having += has[rank];
            }
        }
        holders_release(&holders);
        trace_free(p.trace);
    }
    tap_is_int(wrong, 0, "those have a lock that took it more often than they gave it back");
    tap_is_int(unordered, 0, "each is named once, in order");
    tap_ok(having > CASES, "many have one (%d)", having);
    return tap_done();
}
