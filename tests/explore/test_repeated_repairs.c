/* Repairs of passes that repeat their faults in every layer (checker/orders/repair.h), few layers and so many that the search goes other ways. Layers
 * follow each other; in each, both ranks have two calls, which nothing orders: collectives of one communicator, which then cross, or a send and a
 * receive, of which both ranks may do the same one first. The first hang if both receive first, and without buffers if both send first: of each
 * rank one order is safe against both, the one that was recorded. So each open pair needs its edge, and no other edge is of use; where the
 * pair is chained already, none. */
#include "checker/orders/repair.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include <string.h>

enum layer { CROSS, WAIT, CHAINED, LAYERS };

struct pass {
    struct program p;
    struct repair_edge *wanted;
    size_t count;
};

static uint32_t node(struct pass *pass, uint32_t rank, uint32_t id)
{
    struct trace_node node = {.rank = rank,
                              .id = id,
                              .pass = 1,
                              .kind = OP_SEND,
                              .state = STATE_COMPLETE,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = TRACE_NO};
    return pass->p.node = trace_add_node(pass->p.trace, &node);
}

/* Of one rank: 0 sends before it receives, 1 receives first. */
static void make_rank(struct pass *pass, uint32_t rank, const enum layer *kinds, uint32_t layers)
{
    uint32_t last[2] = {TRACE_NO, TRACE_NO}, seq = 0;
    for (uint32_t i = 0; i < layers; i++) {
        uint32_t nodes[2], ops[2];
        for (uint32_t k = 0; k < 2; k++) {
            int line = 10 * (1 + (int)kinds[i]) + (int)k;
            nodes[k] = node(pass, rank, 2 * i + k + 1);
            if (kinds[i] == CROSS)
                ops[k] =
                    program_collective(&pass->p, rank, OP_ALLREDUCE, pass->p.world, seq++, line);
            else if (k == rank)
                ops[k] =
                    program_p2p(&pass->p, rank, OP_SEND, 1 - (int)rank, (int)(2 * i + rank), line);
            else
                ops[k] = program_p2p(&pass->p, rank, OP_RECV, 1 - (int)rank,
                                     (int)(2 * i + 1 - rank), line);
            for (size_t before = 0; before < 2 && i; before++)
                trace_add_edge(pass->p.trace, last[before], nodes[k], EDGE_ORDER);
        }
        if (kinds[i] == CHAINED)
            trace_add_edge(pass->p.trace, nodes[0], nodes[1], EDGE_ORDER);
        else
            pass->wanted[pass->count++] = (struct repair_edge){ops[0], ops[1]};
        memcpy(last, nodes, sizeof last);
    }
}

static struct pass make(const enum layer *kinds, uint32_t layers)
{
    struct pass pass = {.p = program_new(2),
                        .wanted = calloc(2 * (size_t)layers, sizeof *pass.wanted)};
    pass.p.pass = 1;
    for (uint32_t rank = 0; rank < 2; rank++)
        trace_add_pass(
            pass.p.trace,
            &(struct trace_pass){.rank = rank, .pass = 1, .mode = PASS_DATA, .complete = true});
    for (uint32_t rank = 0; rank < 2; rank++)
        make_rank(&pass, rank, kinds, layers);
    pass.p.trace->outcome = OUTCOME_FINISHED;
    program_finish(&pass.p);
    return pass;
}

static size_t found(const struct pass *pass, const struct check_repair *repair)
{
    size_t count = 0;
    for (size_t i = 0; i < pass->count; i++)
        for (size_t k = 0; k < repair->count; k++)
            count += repair->edges[k].before == pass->wanted[i].before &&
                     repair->edges[k].after == pass->wanted[i].after;
    return count;
}

int main(void)
{
    static const uint32_t sizes[] = {1, 2, 4, 32, 99, 110, 1010};
    uint64_t dice = 5;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int one = 0; one <= LAYERS; one++) { /* of one kind, or mixed */
            enum layer kinds[1100];
            struct check_options options;
            struct check_context context;
            struct check_repair repair;
            if (sizes[i] > 1000 && SANITIZED) /* these are dear */
                continue;
            for (uint32_t k = 0; k < sizes[i]; k++)
                kinds[k] = one < LAYERS ? (enum layer)one : (enum layer)dice_below(&dice, LAYERS);
            struct pass pass = make(kinds, sizes[i]);
            check_options_init(&options);
            check_context_init(&context, pass.p.trace, &options);
            check_repair_find(&repair, &context);
            tap_ok(
                repair.repairs && repair.count == pass.count && found(&pass, &repair) == pass.count,
                "%u layers of kind %d: %zu edges of %zu", sizes[i], one, repair.count, pass.count);
            tap_ok(repair.lower_bound <= pass.count && (repair.lower_bound || !pass.count),
                   "and no fewer than %zu", repair.lower_bound);
            check_repair_release(&repair);
            check_context_release(&context);
            trace_free(pass.p.trace);
            free(pass.wanted);
        }
    return tap_done();
}
