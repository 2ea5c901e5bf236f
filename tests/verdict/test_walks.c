/* Walks over what the ranks may do in some order: which operation that is left may come after or before another (checker/orders/frontier.h), and
 * which message a receive of any source finds of each sender (checker/replay/inbox.h). In random passes, against looking at each. */
#include "checker/orders/frontier.h"
#include "checker/replay/inbox.h"
#include "tests/verdict/random_pass.h"

enum { PROGRAMS = 800 };

static unsigned wrong, steps, found_ones, letters, empty;

static void complain(const char *what)
{
    if (!wrong++)
        tap_note("%s", what);
}

/* Whether something that is left may come after `op`, or before it; and whether `other` is such a one. */
static bool may_follow(const struct check_partial_order *reach, uint32_t op, uint32_t other,
                       bool backwards)
{
    if (op == other || trace->ops[op].rank != trace->ops[other].rank)
        return false;
    return backwards ? !check_partial_order_before(reach, op, other)
                     : !check_partial_order_before(reach, other, op);
}

/* What communicates stands in the order of its pass; of the rest a walk knows what is outside of passes. */
static bool is_known(const struct check_partial_order *reach, uint32_t op)
{
    return reach->item_of[op] != TRACE_NO || node_of[op] == TRACE_NO;
}

static void walk(const struct check_partial_order *reach, bool backwards)
{
    struct frontier frontier;
    bool left[OPS];
    for (uint32_t op = 0; op < trace->op_count; op++)
        left[op] = below(5) > 0 && is_known(reach, op);
    frontier_init(&frontier, reach, left, backwards);
    for (uint32_t turn = 0; turn < 2 * trace->op_count; turn++, steps++) {
        uint32_t op = below((uint32_t)trace->op_count), found = frontier_find(&frontier, op);
        bool any = false;
        if (!is_known(reach, op))
            continue;
        for (uint32_t other = 0; other < trace->op_count; other++)
            any = any || (left[other] && may_follow(reach, op, other, backwards));
        if ((found != TRACE_NO) != any)
            complain("one is found where there is one");
        else if (any && (found >= trace->op_count || !left[found] ||
                         !may_follow(reach, op, found, backwards)))
            complain("what is found is left, and may come there");
        found_ones += any;
        uint32_t gone =
            any && below(2) && found < trace->op_count ? found : below((uint32_t)trace->op_count);
        frontier_remove(&frontier, gone);
        left[gone] = false;
    }
    frontier_release(&frontier);
}

/* The first message of this sender, with this tag, that nobody took before the receive; TRACE_NO: there is none. */
static uint32_t first_of(uint32_t receive, uint32_t sender, bool tagged, bool *any)
{
    const struct trace_op *it = &trace->ops[receive];
    *any = false;
    for (uint32_t send = 0; send < trace->op_count; send++) {
        const struct trace_op *op = &trace->ops[send];
        if (op->kind != OP_SEND || op->rank != sender || op->peer != (int32_t)it->rank ||
            op->form->comm != it->form->comm || (tagged && op->tag != it->tag))
            continue;
        *any = true;
        if (op->match == TRACE_NO || op->match >= receive)
            return send;
    }
    return TRACE_NO;
}

static void ask_inbox(bool tagged)
{
    struct inbox inbox;
    uint32_t wanted[RANKS];
    for (uint32_t rank = 0; rank < RANKS; rank++)
        wanted[rank] = below(4) ? rank : TRACE_NO;
    inbox_init(&inbox, trace, wanted, tagged);
    for (uint32_t receive = 0; receive < trace->op_count; receive++) {
        if (trace->ops[receive].kind != OP_RECV || (tagged && trace->ops[receive].tag == TRACE_ANY))
            continue;
        uint32_t heads[RANKS], stacks = 0, expected = 0, met = 0;
        bool looked_at = wanted[trace->ops[receive].rank] != TRACE_NO;
        for (size_t stack = inbox_first(&inbox, receive); stack != SIZE_MAX && stacks < RANKS;
             stack = inbox_next(&inbox, stack))
            heads[stacks++] = inbox_head(&inbox, stack, receive);
        for (uint32_t sender = 0; sender < RANKS && looked_at; sender++) {
            bool any;
            uint32_t head = first_of(receive, sender, tagged, &any);
            expected += any;
            for (uint32_t i = 0; i < stacks && head != TRACE_NO; i++)
                met += heads[i] == head;
            met += any && head == TRACE_NO; /* a stack of which nothing is left */
            empty += any && head == TRACE_NO;
            letters += head != TRACE_NO;
        }
        if (stacks != expected || met != expected)
            complain("each sender's first message is found");
    }
    inbox_release(&inbox);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    for (unsigned long long i = 0; i < seeds.count; i++) {
        struct check_context context;
        struct check_partial_order reach;
        dice = seeds.first + i;
        struct program program = pass_draw();
        trace = program.trace;
        check_context_init(&context, trace, NULL);
        check_partial_order_init(&reach, &context);
        walk(&reach, false);
        walk(&reach, true);
        ask_inbox(false);
        ask_inbox(true);
        check_partial_order_release(&reach);
        check_context_release(&context);
        trace_free(program.trace);
    }
    tap_is_int(wrong, 0, "%u steps of walks, %u messages of senders", steps, letters);
    tap_ok(found_ones > steps / 4 && found_ones < steps && letters > seeds.count &&
               empty > seeds.count / 50,
           "some find something, others nothing");
    return tap_done();
}
