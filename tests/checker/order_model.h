/* Small random backward passes in data mode, and what all their legal orders do.
 *
 * An instance has 2-4 ranks, a few messages and collectives, blocking or not, each operation a
 * node, and random order edges that the recorded order obeys. For every choice of linear extensions
 * the simulator says whether it hangs or something meets another partner than recorded. It polls
 * every rank in turn and matches by scanning: nothing is shared with the checker. */
#ifndef TESTS_CHECKER_ORDER_MODEL_H
#define TESTS_CHECKER_ORDER_MODEL_H

#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum {
    RANKS_MAX = 4,
    NODES_MAX = 12,
    OPS_MAX = 64,
    COMBINATIONS_MAX = 4000,
    EXTENSIONS_MAX = 2000
};

/* ---- random numbers ---- */

static uint64_t state;

static uint32_t below(uint32_t n)
{
    return dice_below(&state, n);
}

/* ---- instances ---- */

struct instance {
    struct program program;
    uint32_t ranks;
    uint32_t comms[4], comm_seq[RANKS_MAX][4], comm_count;
    uint32_t nodes[RANKS_MAX][NODES_MAX]; /* as given by the builder, in recorded order */
    uint32_t node_count[RANKS_MAX];
    bool edge[RANKS_MAX][NODES_MAX][NODES_MAX]; /* closed under transitivity once finished */
    uint32_t chance;                            /* percent, of an edge */
    uint32_t batches[RANKS_MAX];
    bool too_large;
    unsigned long long seed;
};

/* A node on the rank with random edges from earlier ones; `after` must come before it (or -1). */
static uint32_t add_node(struct instance *instance, uint32_t rank, int after)
{
    uint32_t index = instance->node_count[rank]++;
    struct trace_node node = {.rank = rank,
                              .id = index + 1,
                              .pass = 1,
                              .kind = OP_SEND,
                              .state = STATE_COMPLETE,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = TRACE_NO};
    instance->nodes[rank][index] = trace_add_node(instance->program.trace, &node);
    for (uint32_t before = 0; before < index; before++)
        if ((int)before == after || below(100) < instance->chance) {
            instance->edge[rank][before][index] = true;
            trace_add_edge(instance->program.trace, instance->nodes[rank][before],
                           instance->nodes[rank][index], EDGE_ORDER);
        }
    instance->program.node = instance->nodes[rank][index];
    return index;
}

struct pending {
    uint32_t rank, start, node;
};

static void add_message(struct instance *instance, struct pending *pending, uint32_t *pending_count)
{
    uint32_t from = below(instance->ranks),
             to = (from + 1 + below(instance->ranks - 1)) % instance->ranks;
    int tag = (int)below(3) == 0 ? 1 : 0;
    bool send_starts = below(3) == 0, receive_starts = below(3) == 0, synchronous = below(8) == 0;
    struct program *program = &instance->program;
    program->batch = 0;
    uint32_t node = add_node(instance, from, -1);
    enum op_kind kind = send_starts   ? (synchronous ? OP_ISSEND : OP_ISEND)
                        : synchronous ? OP_SSEND
                                      : OP_SEND;
    uint32_t send = program_p2p(program, from, kind, (int)to, tag, 10 + (int)node);
    if (send_starts)
        pending[(*pending_count)++] = (struct pending){from, send, node};
    node = add_node(instance, to, -1);
    uint32_t receive = program_p2p(program, to, receive_starts ? OP_IRECV : OP_RECV, (int)from,
                                   below(10) == 0 ? TRACE_ANY : tag, 30 + (int)node);
    if (receive_starts)
        pending[(*pending_count)++] = (struct pending){to, receive, node};
}

/* One rank sends and receives in one batch, in one node with its wait; the other does the same, or
 * one after the other. */
static void add_exchange(struct instance *instance)
{
    uint32_t ranks[2] = {below(instance->ranks)};
    ranks[1] = (ranks[0] + 1 + below(instance->ranks - 1)) % instance->ranks;
    struct program *program = &instance->program;
    bool both = below(2), receives_first = below(2);
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t rank = ranks[side], starts[2];
        int peer = (int)ranks[1 - side];
        uint32_t node = add_node(instance, rank, -1);
        if (side && !both) {
            program_p2p(program, rank, receives_first ? OP_RECV : OP_SEND, peer, 2, 90 + (int)node);
            node = add_node(instance, rank, (int)node);
            program_p2p(program, rank, receives_first ? OP_SEND : OP_RECV, peer, 2, 90 + (int)node);
            continue;
        }
        program->batch = ++instance->batches[rank];
        starts[0] = program_p2p(program, rank, OP_ISEND, peer, 2, 90 + (int)node);
        starts[1] = program_p2p(program, rank, OP_IRECV, peer, 2, 110 + (int)node);
        program->batch = 0;
        program_waitall(program, rank, starts, 2, 130 + (int)node);
    }
}

/* The same in nodes of their own, which may come in any order; as recorded it may hang. */
static void add_crossing(struct instance *instance)
{
    uint32_t one = below(instance->ranks),
             other = (one + 1 + below(instance->ranks - 1)) % instance->ranks;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t rank = side ? other : one;
        int peer = (int)(side ? one : other);
        bool receives_first = below(3) > 0;
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t node = add_node(instance, rank, -1);
            program_p2p(&instance->program, rank, (i == 0) == receives_first ? OP_RECV : OP_SEND,
                        peer, 3, 150 + (int)node);
        }
    }
}

static void add_collective(struct instance *instance, struct pending *pending,
                           uint32_t *pending_count)
{
    uint32_t which = below(instance->comm_count), comm = instance->comms[which];
    const struct trace_comm *members = &instance->program.trace->comms[comm];
    bool starts = below(3) == 0;
    int64_t count = 1 + (int64_t)below(2);
    for (uint32_t i = 0; i < members->size; i++) {
        uint32_t rank = (uint32_t)members->members[i];
        uint32_t node = add_node(instance, rank, -1);
        struct trace_plain_op op =
            program_op(&instance->program, rank, OP_ALLREDUCE, 50 + (int)node);
        op.comm = comm;
        op.comm_seq = instance->comm_seq[rank][which]++;
        op.count = count;
        op.flags = starts ? OP_NONBLOCKING : 0;
        uint32_t index = trace_add_op(instance->program.trace, &op);
        if (starts)
            pending[(*pending_count)++] = (struct pending){rank, index, node};
    }
}

static void add_wait(struct instance *instance, struct pending *pending, uint32_t *pending_count,
                     uint32_t which)
{
    struct pending one = pending[which];
    pending[which] = pending[--*pending_count];
    uint32_t node = add_node(instance, one.rank, (int)one.node);
    program_wait(&instance->program, one.rank, one.start, 70 + (int)node);
}

static bool has_room(const struct instance *instance)
{
    for (uint32_t rank = 0; rank < instance->ranks; rank++)
        if (instance->node_count[rank] + 4 > NODES_MAX)
            return false;
    return true;
}

static void close_edges(struct instance *instance)
{
    for (uint32_t rank = 0; rank < instance->ranks; rank++)
        for (uint32_t k = 0; k < instance->node_count[rank]; k++)
            for (uint32_t i = 0; i < k; i++)
                for (uint32_t j = k + 1; j < instance->node_count[rank]; j++)
                    instance->edge[rank][i][j] |=
                        instance->edge[rank][i][k] && instance->edge[rank][k][j];
}

/* What a test does to an instance before it is finished; NULL: nothing. */
static void (*instance_spoil)(struct instance *instance);

static uint32_t instance_more; /* things than usual */

static struct instance instance_new(void)
{
    struct instance instance = {.ranks = 2 + below(3)};
    static const uint32_t chances[] = {15, 40, 70, 90};
    struct pending pending[OPS_MAX];
    uint32_t pending_count = 0;
    instance.chance = chances[below(4)];
    instance.program = program_new(instance.ranks);
    instance.program.pass = 1;
    instance.comms[instance.comm_count++] = instance.program.world;
    for (uint32_t i = below(3); i-- > 0;) {
        int32_t first = (int32_t)below(instance.ranks),
                second = (int32_t)((uint32_t)first + 1 + below(instance.ranks - 1)) %
                         (int32_t)instance.ranks;
        int32_t members[2] = {first < second ? first : second, first < second ? second : first};
        instance.comms[instance.comm_count++] = program_comm(&instance.program, 2, members);
    }
    for (uint32_t things = 2 + below(4) + instance_more; things-- > 0 && has_room(&instance);) {
        if (below(6) == 0)
            add_crossing(&instance);
        else if (below(4) == 0)
            add_exchange(&instance);
        else if (below(2))
            add_message(&instance, pending, &pending_count);
        else
            add_collective(&instance, pending, &pending_count);
        while (pending_count && below(3) && has_room(&instance))
            add_wait(&instance, pending, &pending_count, below(pending_count));
    }
    while (pending_count && has_room(&instance))
        add_wait(&instance, pending, &pending_count, below(pending_count));
    instance.too_large = pending_count > 0;
    for (uint32_t rank = 0; rank < instance.ranks; rank++)
        trace_add_pass(
            instance.program.trace,
            &(struct trace_pass){.rank = rank, .pass = 1, .mode = PASS_DATA, .complete = true});
    if (instance_spoil)
        instance_spoil(&instance);
    program_finish(&instance.program);
    close_edges(&instance);
    return instance;
}

/* ---- the simulator: polls every rank in turn, matches by scanning ---- */

struct simulator {
    const struct trace *trace;
    enum check_model model;
    uint32_t sequence[RANKS_MAX][OPS_MAX], length[RANKS_MAX], at[RANKS_MAX];
    bool posted[RANKS_MAX * OPS_MAX];
    uint32_t partner[RANKS_MAX * OPS_MAX]; /* whom a message or receive met */
    uint32_t calls[RANKS_MAX * OPS_MAX];   /* number of the call on its communicator, as executed */
    uint32_t log[RANKS_MAX * OPS_MAX], log_count; /* posts in the order of time */
};

static bool fits(const struct trace_op *send, const struct trace_op *receive)
{
    return send->form->comm == receive->form->comm && send->peer == (int32_t)receive->rank &&
           receive->peer == (int32_t)send->rank &&
           (receive->tag == TRACE_ANY || receive->tag == send->tag);
}

static void post(struct simulator *sim, uint32_t op)
{
    const struct trace_op *ops = sim->trace->ops;
    sim->posted[op] = true;
    sim->partner[op] = TRACE_NO;
    enum op_class class = op_kind_class(ops[op].kind);
    if (class == CLASS_COLLECTIVE)
        for (uint32_t i = 0; i < sim->log_count; i++)
            sim->calls[op] += ops[sim->log[i]].rank == ops[op].rank &&
                              op_kind_class(ops[sim->log[i]].kind) == CLASS_COLLECTIVE &&
                              ops[sim->log[i]].form->comm == ops[op].form->comm;
    for (uint32_t i = 0; i < sim->log_count; i++) {
        uint32_t other = sim->log[i];
        bool match =
            class == CLASS_SEND
                ? op_kind_class(ops[other].kind) == CLASS_RECEIVE && fits(&ops[op], &ops[other])
                : class == CLASS_RECEIVE && op_kind_class(ops[other].kind) == CLASS_SEND &&
                      fits(&ops[other], &ops[op]);
        if (match && sim->partner[other] == TRACE_NO) {
            sim->partner[op] = other;
            sim->partner[other] = op;
            break;
        }
    }
    sim->log[sim->log_count++] = op;
}

static bool call_is_full(const struct simulator *sim, uint32_t op)
{
    const struct trace_op *ops = sim->trace->ops;
    uint32_t present = 0;
    for (uint32_t i = 0; i < sim->log_count; i++)
        present += op_kind_class(ops[sim->log[i]].kind) == CLASS_COLLECTIVE &&
                   ops[sim->log[i]].form->comm == ops[op].form->comm &&
                   sim->calls[sim->log[i]] == sim->calls[op];
    return present == sim->trace->comms[ops[op].form->comm].size;
}

/* Atomic batches: of what is posted and matched, what stays when everything is taken away whose
 * partner or batch-mate is not there. */
static bool moves_in_batch(const struct simulator *sim, uint32_t op)
{
    const struct trace_op *ops = sim->trace->ops;
    bool moves[RANKS_MAX * OPS_MAX], changed = true;
    for (uint32_t i = 0; i < sim->trace->op_count; i++)
        moves[i] = sim->posted[i] && sim->partner[i] != TRACE_NO;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < sim->trace->op_count; i++) {
            bool stays = moves[i] && moves[sim->partner[i]];
            for (uint32_t mate = 0; mate < sim->trace->op_count && stays && ops[i].form->batch;
                 mate++)
                stays = ops[mate].rank != ops[i].rank ||
                        ops[mate].form->batch != ops[i].form->batch || moves[mate];
            changed = changed || (moves[i] && !stays);
            moves[i] = stays;
        }
    }
    return moves[op];
}

static bool is_complete(const struct simulator *sim, uint32_t op)
{
    const struct trace_op *at = &sim->trace->ops[op];
    bool message = at->kind != OP_ALLREDUCE && at->kind != OP_WAIT && at->kind != OP_WAITALL;
    if (message && sim->model == CHECK_BATCH)
        return moves_in_batch(sim, op);
    switch (at->kind) {
    case OP_SEND:
    case OP_ISEND:
        return sim->model == CHECK_EAGER || sim->partner[op] != TRACE_NO;
    case OP_ALLREDUCE:
        return call_is_full(sim, op);
    case OP_WAIT:
        return is_complete(sim, at->request);
    case OP_WAITALL:
        for (size_t i = 0; i < sim->trace->wait_count; i++)
            if (sim->trace->waits[i].wait == op && !is_complete(sim, sim->trace->waits[i].start))
                return false;
        return true;
    default:
        return sim->partner[op] != TRACE_NO;
    }
}

static bool goes_on(const struct simulator *sim, uint32_t op)
{
    const struct trace_op *at = &sim->trace->ops[op];
    bool starts = at->kind == OP_ISEND || at->kind == OP_ISSEND || at->kind == OP_IRECV ||
                  at->flags & OP_NONBLOCKING;
    return starts || is_complete(sim, op);
}

struct verdict {
    bool hangs, crosses;
    bool safe;    /* of brute force: some order does neither */
    bool bounded; /* of the checker: not everything was searched */
};

/* Another call stands in the same place of the communicator's sequence. */
static bool meets_stranger(const struct simulator *sim, uint32_t op)
{
    const struct trace_op *ops = sim->trace->ops;
    for (uint32_t i = 0; i < sim->log_count; i++) {
        const struct trace_op *other = &ops[sim->log[i]];
        if (other->kind == OP_ALLREDUCE && other->form->comm == ops[op].form->comm &&
            sim->calls[sim->log[i]] == sim->calls[op] && other->comm_seq != ops[op].comm_seq)
            return true;
    }
    return false;
}

static struct verdict simulate(struct simulator *sim)
{
    bool moved = true, ended = true;
    memset(sim->posted, 0, sizeof sim->posted);
    memset(sim->calls, 0, sizeof sim->calls);
    memset(sim->at, 0, sizeof sim->at);
    sim->log_count = 0;
    while (moved) {
        moved = false;
        for (uint32_t rank = 0; rank < sim->trace->ranks; rank++)
            while (sim->at[rank] < sim->length[rank]) {
                uint32_t op = sim->sequence[rank][sim->at[rank]];
                if (!sim->posted[op]) {
                    post(sim, op);
                    moved = true;
                }
                if (!goes_on(sim, op))
                    break;
                sim->at[rank]++;
                moved = true;
            }
    }
    struct verdict verdict = {0};
    for (uint32_t rank = 0; rank < sim->trace->ranks; rank++)
        ended = ended && sim->at[rank] == sim->length[rank];
    verdict.hangs = !ended;
    for (uint32_t i = 0; i < sim->log_count; i++) {
        uint32_t op = sim->log[i];
        const struct trace_op *at = &sim->trace->ops[op];
        if (at->kind == OP_ALLREDUCE)
            verdict.crosses = verdict.crosses || meets_stranger(sim, op);
        else if (op_kind_class(at->kind) != CLASS_WAIT && sim->partner[op] != TRACE_NO)
            verdict.crosses = verdict.crosses || sim->partner[op] != at->match;
    }
    return verdict;
}

/* ---- all linear extensions ---- */

struct extensions {
    uint8_t order[EXTENSIONS_MAX][NODES_MAX];
    uint32_t count;
};

static void extend(const struct instance *instance, uint32_t rank, uint8_t *prefix, uint32_t length,
                   uint32_t taken, struct extensions *all)
{
    uint32_t nodes = instance->node_count[rank];
    if (all->count >= EXTENSIONS_MAX)
        return;
    if (length == nodes) {
        memcpy(all->order[all->count++], prefix, nodes);
        return;
    }
    for (uint32_t node = 0; node < nodes; node++) {
        bool free_to_go = !(taken >> node & 1);
        for (uint32_t before = 0; before < nodes && free_to_go; before++)
            free_to_go = !instance->edge[rank][before][node] || taken >> before & 1;
        if (!free_to_go)
            continue;
        prefix[length] = (uint8_t)node;
        extend(instance, rank, prefix, length + 1, taken | 1u << node, all);
    }
}

static void take_order(struct simulator *sim, const struct instance *instance, uint32_t rank,
                       const uint8_t *order)
{
    const struct trace *trace = sim->trace;
    sim->length[rank] = 0;
    for (uint32_t i = 0; i < instance->node_count[rank]; i++)
        for (size_t op = trace->rank_begin[rank]; op < trace->rank_begin[rank + 1]; op++)
            if (trace->nodes[trace->ops[op].node].id == (uint32_t)order[i] + 1)
                sim->sequence[rank][sim->length[rank]++] = (uint32_t)op;
}

/* Every combination; false when there are too many. */
static inline bool brute_force(const struct instance *instance, enum check_model model,
                               struct verdict *verdict)
{
    static struct extensions all[RANKS_MAX];
    uint8_t prefix[NODES_MAX];
    uint64_t combinations = 1;
    for (uint32_t rank = 0; rank < instance->ranks; rank++) {
        all[rank].count = 0;
        extend(instance, rank, prefix, 0, 0, &all[rank]);
        combinations *= all[rank].count;
        if (all[rank].count >= EXTENSIONS_MAX || combinations > COMBINATIONS_MAX)
            return false;
    }
    static struct simulator sim;
    sim.trace = instance->program.trace;
    sim.model = model;
    *verdict = (struct verdict){0};
    for (uint64_t combination = 0;
         combination < combinations && !(verdict->hangs && verdict->crosses && verdict->safe);
         combination++) {
        uint64_t rest = combination;
        for (uint32_t rank = 0; rank < instance->ranks; rank++) {
            take_order(&sim, instance, rank, all[rank].order[rest % all[rank].count]);
            rest /= all[rank].count;
        }
        struct verdict one = simulate(&sim);
        verdict->hangs |= one.hangs;
        verdict->crosses |= one.crosses;
        verdict->safe |= !one.hangs && !one.crosses;
    }
    return true;
}

#endif
