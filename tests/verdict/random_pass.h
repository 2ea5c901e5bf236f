/* Random backward passes of several ranks, some operations around them, and what comes before what in them. */
#ifndef TESTS_VERDICT_RANDOM_PASS_H
#define TESTS_VERDICT_RANDOM_PASS_H

#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { RANKS = 3, NODES = 9, OUTSIDE = 4, OPS = RANKS * (2 * NODES + 2 * OUTSIDE) };

static uint64_t dice;
static const struct trace *trace;
static bool before[RANKS][NODES][NODES]; /* closed under transitivity */
static uint32_t node_of[OPS];            /* TRACE_NO: outside */

static inline uint32_t below(uint32_t limit)
{
    return dice_below(&dice, limit);
}

static inline void pass_add_op(struct program *program, uint32_t rank, const uint32_t *comms,
                               uint32_t *numbers, uint32_t node, uint32_t number)
{
    static const uint8_t kinds[] = {OP_SEND, OP_SEND, OP_RECV, OP_RECV, OP_ALLREDUCE, OP_COMPUTE};
    struct trace_plain_op op = program_op(program, rank, kinds[below(sizeof kinds)], 1);
    uint32_t aside = below(3) == 0;
    op.comm = comms[aside];
    op.node = node;
    op.pass = node != TRACE_NO;
    if (op.kind == OP_SEND || op.kind == OP_RECV) {
        bool any = op.kind == OP_RECV && !below(4);
        op.peer = any ? TRACE_ANY : below(9) ? (int32_t)below(RANKS) : TRACE_NONE;
        op.peer_matched = any && below(3) ? (int32_t)below(RANKS) : TRACE_NONE;
        op.tag = op.kind == OP_RECV && !below(6) ? TRACE_ANY : (int32_t)below(2);
    } else if (op.kind == OP_ALLREDUCE) {
        op.comm_seq = numbers[aside]++;
    } else {
        op.comm = TRACE_NO;
    }
    uint32_t index = trace_add_op(program->trace, &op);
    node_of[index] = number;
}

static inline struct program pass_draw(void)
{
    struct program program = program_new(RANKS);
    uint32_t comms[2] = {program.world, program_comm(&program, RANKS, (int32_t[]){2, 0, 1})};
    uint32_t chance = below(60);
    memset(before, 0, sizeof before);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uint32_t nodes[NODES], numbers[2] = {0, 0}, count = 1 + below(NODES);
        for (uint32_t n = 0; n < count; n++) {
            nodes[n] = trace_add_node(program.trace, &(struct trace_node){.rank = rank,
                                                                          .id = n + 1,
                                                                          .pass = 1,
                                                                          .kind = OP_COMPUTE,
                                                                          .state = STATE_COMPLETE,
                                                                          .forward = TRACE_NO,
                                                                          .site = TRACE_NO,
                                                                          .name = TRACE_NO});
            for (uint32_t k = 0; k < n; k++)
                if (below(100) < chance) {
                    trace_add_edge(program.trace, nodes[k], nodes[n],
                                   below(2) ? EDGE_DATA : EDGE_ORDER);
                    before[rank][k][n] = true;
                }
        }
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t a = 0; a < count; a++)
                for (uint32_t b = 0; b < count; b++)
                    before[rank][a][b] |= before[rank][a][k] && before[rank][k][b];
        for (uint32_t i = below(OUTSIDE); i > 0; i--)
            pass_add_op(&program, rank, comms, numbers, TRACE_NO, TRACE_NO);
        for (uint32_t n = 0; n < count; n++)
            for (uint32_t i = 1 + below(2); i > 0; i--)
                pass_add_op(&program, rank, comms, numbers, nodes[n], n);
        for (uint32_t i = below(OUTSIDE); i > 0; i--)
            pass_add_op(&program, rank, comms, numbers, TRACE_NO, TRACE_NO);
        trace_add_pass(
            program.trace,
            &(struct trace_pass){.rank = rank, .pass = 1, .mode = PASS_DATA, .complete = true});
    }
    program_finish(&program);
    return program;
}

#endif
