/* A collective as the program calls it: arguments are checked, displacements and types become dense
 * blocks, and the collective of the channel is issued. */
#include "collectives/operations/collective.h"
#include "collectives/operations/message.h"
#include "collectives/tape/graph.h"
#include "collectives/tape/layout.h"

static const struct {
    const char *name;
    const struct collective_rule *rule;
    bool rooted, reduces;
} kinds[DIFF_COLLECTIVES] = {
    [DIFF_BARRIER] = {"Barrier", &rule_barrier, false, false},
    [DIFF_BCAST] = {"Bcast", &rule_bcast, true, false},
    [DIFF_REDUCE] = {"Reduce", &rule_reduce, true, true},
    [DIFF_ALLREDUCE] = {"Allreduce", &rule_allreduce, false, true},
    [DIFF_GATHER] = {"Gather", &rule_gather, true, false},
    [DIFF_GATHERV] = {"Gatherv", &rule_gatherv, true, false},
    [DIFF_SCATTER] = {"Scatter", &rule_scatter, true, false},
    [DIFF_SCATTERV] = {"Scatterv", &rule_scatterv, true, false},
    [DIFF_ALLGATHER] = {"Allgather", &rule_allgather, false, false},
    [DIFF_ALLGATHERV] = {"Allgatherv", &rule_allgatherv, false, false},
    [DIFF_REDUCE_SCATTER] = {"Reduce_scatter", &rule_reduce_scatter, false, true},
    [DIFF_REDUCE_SCATTER_BLOCK] = {"Reduce_scatter_block", &rule_reduce_scatter_block, false, true},
    [DIFF_ALLTOALL] = {"Alltoall", &rule_alltoall, false, false},
    [DIFF_ALLTOALLV] = {"Alltoallv", &rule_alltoallv, false, false},
    [DIFF_ALLTOALLW] = {"Alltoallw", &rule_alltoallw, false, false},
    [DIFF_SCAN] = {"Scan", &rule_scan, false, true},
    [DIFF_EXSCAN] = {"Exscan", &rule_exscan, false, true},
    [DIFF_NEIGHBOR_ALLGATHER] = {"Neighbor_allgather", &rule_neighbor_allgather, false, false},
    [DIFF_NEIGHBOR_ALLGATHERV] = {"Neighbor_allgatherv", &rule_neighbor_allgatherv, false, false},
    [DIFF_NEIGHBOR_ALLTOALL] = {"Neighbor_alltoall", &rule_neighbor_alltoall, false, false},
    [DIFF_NEIGHBOR_ALLTOALLV] = {"Neighbor_alltoallv", &rule_neighbor_alltoallv, false, false},
    [DIFF_NEIGHBOR_ALLTOALLW] = {"Neighbor_alltoallw", &rule_neighbor_alltoallw, false, false},
};

const char *diff_collective_name(enum diff_collective kind)
{
    return kinds[kind].name;
}

/* The collective under construction. */
struct plan {
    const struct diff_call *call;
    struct diff_tape *tape;
    struct diff_channel *channel;
    struct collective spec;
    struct diff_tensor *x;        /* dense */
    const struct layout *receive; /* NULL: dense */
    struct diff_tensor *into;     /* what the receive buffer held, NULL: zeros */
};

static void misuse(const struct plan *plan, const char *what)
{
    state_fail(plan->tape->state, "M009", "%s: %s", kinds[plan->call->kind].name, what);
}

static int *copied(struct diff_tape *tape, const int *values, int count)
{
    int *copy = arena_take(&tape->arena, ((size_t)count + 1) * sizeof *copy);
    for (int i = 0; i < count; i++)
        copy[i] = values[i];
    return copy;
}

static const int *begins_of(struct diff_tape *tape, const int *counts, int count)
{
    int *begins = arena_take(&tape->arena, ((size_t)count + 1) * sizeof *begins);
    int at = 0;
    for (int i = 0; i < count; i++) {
        begins[i] = at;
        at += counts[i];
    }
    return begins;
}

static const struct layout *kept(struct diff_tape *tape, struct layout layout)
{
    struct layout *copy = arena_take(&tape->arena, sizeof *copy);
    *copy = layout;
    return copy;
}

/* ---- what is sent ---- */

static void send_side(struct plan *plan, int peers)
{
    const struct diff_call *call = plan->call;
    if (!call->send_counts)
        misuse(plan, "send counts are missing");
    int *counts = copied(plan->tape, call->send_counts, peers);
    struct layout layout =
        call->send_types ? layout_blocks_w(plan->tape, plan->x->type, peers, call->send_counts,
                                           call->send_displacements, call->send_types, counts)
                         : layout_blocks(plan->tape, peers, counts, call->send_displacements);
    plan->spec.send_counts = counts;
    plan->spec.send_begins = begins_of(plan->tape, counts, peers);
    plan->x = layout_take(plan->x, &layout);
}

/* ---- what is received ---- */

static void receive_side(struct plan *plan, int peers)
{
    const struct diff_call *call = plan->call;
    if (!call->receive_counts)
        misuse(plan, "receive counts are missing");
    int *counts = copied(plan->tape, call->receive_counts, peers);
    struct layout layout =
        call->receive_types
            ? layout_blocks_w(plan->tape, call->x->type, peers, call->receive_counts,
                              call->receive_displacements, call->receive_types, counts)
            : layout_blocks(plan->tape, peers, counts, call->receive_displacements);
    plan->spec.receive_counts = counts;
    plan->spec.receive_begins = begins_of(plan->tape, counts, peers);
    plan->spec.result_count = layout.count;
    plan->receive = kept(plan->tape, layout);
}

/* IN_PLACE: what is received replaces the buffer's own values. Blocks with gaps or in another order
 * are taken out of it, exchanged, and put back over it. */
static void buffer_in_place(struct plan *plan)
{
    const struct layout *layout = plan->receive;
    if (!layout)
        return;
    if (!layout->index && layout->count == plan->x->count) {
        plan->receive = NULL;
        return;
    }
    plan->into = plan->x;
    plan->x = layout_take(plan->x, layout);
}

static size_t per_rank(struct plan *plan, int parts)
{
    size_t n = (size_t)parts;
    if (n == 0)
        return 0;
    if (plan->x->count % n != 0)
        misuse(plan, "the number of values is not a multiple of the number of blocks");
    return plan->x->count / n;
}

static bool in_place(const struct plan *plan)
{
    return plan->call->flags & DIFF_IN_PLACE;
}

static bool is_root(const struct plan *plan)
{
    return channel_is_root(plan->channel, plan->call->root);
}

/* Intercommunicators: how much comes from each of the other group. */
static void count_in(struct plan *plan)
{
    size_t given = plan->call->count;
    plan->spec.count_in = given > 0 ? given : plan->spec.count;
}

static void operand_drop(struct plan *plan)
{
    if (plan->x->count > 0) /* only tells tape and type */
        plan->x = diff_slice(plan->x, 0, 0);
}

/* Between two groups: the root gets the blocks of the others, and has none of its own. */
static void plan_gather_across(struct plan *plan, bool all)
{
    int peers = plan->channel->peers;
    bool v = plan->call->kind == DIFF_GATHERV || plan->call->kind == DIFF_ALLGATHERV;
    struct collective *spec = &plan->spec;
    spec->count = plan->x->count;
    count_in(plan);
    if (!all && plan->call->root < 0)
        spec->count = spec->count_in;
    bool gets = all || is_root(plan);
    if (v && gets)
        receive_side(plan, peers);
    else
        spec->result_count = gets ? spec->count_in * (size_t)peers : 0;
    if (!all && plan->call->root < 0)
        operand_drop(plan);
}

static void plan_gather(struct plan *plan, bool all)
{
    int size = plan->channel->size, rank = plan->channel->rank;
    bool v = plan->call->kind == DIFF_GATHERV || plan->call->kind == DIFF_ALLGATHERV;
    bool gets = all || is_root(plan);
    struct collective *spec = &plan->spec;
    spec->in_place = in_place(plan) && gets;
    if (v && (gets || plan->call->receive_counts))
        receive_side(plan, size);
    if (spec->in_place) {
        spec->count = v ? (size_t)spec->receive_counts[rank] : per_rank(plan, size);
        spec->own_begin = v ? (size_t)spec->receive_begins[rank] : spec->count * (size_t)rank;
        spec->own_count = spec->count;
        spec->own_read = true;
        buffer_in_place(plan);
    } else {
        spec->count = plan->x->count;
    }
    if (!v)
        spec->result_count = spec->count * (size_t)size;
    if (!gets) {
        spec->result_count = 0;
        plan->receive = NULL;
    }
}

static void plan_scatter(struct plan *plan)
{
    int size = plan->channel->peers, rank = plan->channel->rank;
    bool v = plan->call->kind == DIFF_SCATTERV, root = is_root(plan);
    struct collective *spec = &plan->spec;
    spec->count = spec->result_count = plan->call->count;
    if (plan->channel->intercomm && plan->call->root < 0) { /* it receives nothing */
        spec->count = root && !v ? per_rank(plan, size) : 0;
        spec->result_count = 0;
    }
    if (v && root)
        send_side(plan, size);
    if (root && plan->x->count != spec->count * (size_t)size && !v)
        misuse(plan, "the root has not as many values as all ranks receive");
    spec->in_place = in_place(plan) && root;
    if (spec->in_place) /* the root's block stays where it is */
        spec->own_begin = v ? (size_t)spec->send_begins[rank] : spec->count * (size_t)rank;
    if (!root)
        operand_drop(plan);
}

static void plan_reduce_scatter(struct plan *plan)
{
    int size = plan->channel->size, rank = plan->channel->rank;
    struct collective *spec = &plan->spec;
    spec->in_place = in_place(plan);
    if (plan->call->kind == DIFF_REDUCE_SCATTER_BLOCK) {
        spec->count = per_rank(plan, size);
    } else {
        receive_side(plan, size);
        plan->receive = NULL;
        spec->count = (size_t)spec->receive_counts[rank];
        if (spec->result_count != plan->x->count)
            misuse(plan, "the counts do not add up to the number of values");
    }
    spec->result_count = spec->count;
}

static void plan_alltoall(struct plan *plan)
{
    int size = plan->channel->peers;
    struct collective *spec = &plan->spec;
    spec->in_place = in_place(plan);
    if (plan->call->kind == DIFF_ALLTOALL) {
        spec->count = per_rank(plan, size);
        if (plan->channel->intercomm) {
            count_in(plan);
            spec->result_count = spec->count_in * (size_t)size;
        }
        return;
    }
    receive_side(plan, size);
    if (!spec->in_place) {
        send_side(plan, size);
        return;
    }
    spec->send_counts = spec->receive_counts;
    spec->send_begins = spec->receive_begins;
    buffer_in_place(plan);
}

static void plan_neighbor(struct plan *plan)
{
    enum diff_collective kind = plan->call->kind;
    const struct diff_graph *graph = plan->channel->graph;
    if (!graph)
        misuse(plan, "the communicator has no topology");
    int in = graph->source_count, out = graph->destination_count;
    bool same = kind == DIFF_NEIGHBOR_ALLGATHER || kind == DIFF_NEIGHBOR_ALLGATHERV;
    struct collective *spec = &plan->spec;
    if (kind == DIFF_NEIGHBOR_ALLGATHERV || kind == DIFF_NEIGHBOR_ALLTOALLV ||
        kind == DIFF_NEIGHBOR_ALLTOALLW)
        receive_side(plan, in);
    if (kind == DIFF_NEIGHBOR_ALLTOALLV || kind == DIFF_NEIGHBOR_ALLTOALLW)
        send_side(plan, out);
    else
        spec->count = same ? plan->x->count : per_rank(plan, out);
    if (kind == DIFF_NEIGHBOR_ALLGATHER || kind == DIFF_NEIGHBOR_ALLTOALL)
        spec->result_count = spec->count * (size_t)in;
}

static void plan_fill(struct plan *plan)
{
    bool root = is_root(plan), across = plan->channel->intercomm;
    plan->spec.count = plan->spec.result_count = plan->x->count;
    switch (plan->call->kind) {
    case DIFF_GATHER:
    case DIFF_GATHERV:
        (across ? plan_gather_across : plan_gather)(plan, false);
        break;
    case DIFF_ALLGATHER:
    case DIFF_ALLGATHERV:
        (across ? plan_gather_across : plan_gather)(plan, true);
        break;
    case DIFF_BCAST:
        plan->spec.in_place = in_place(plan);
        if (across && plan->call->root < 0)
            plan->spec.result_count = 0;
        break;
    case DIFF_SCATTER:
    case DIFF_SCATTERV:
        plan_scatter(plan);
        break;
    case DIFF_REDUCE_SCATTER:
    case DIFF_REDUCE_SCATTER_BLOCK:
        plan_reduce_scatter(plan);
        break;
    case DIFF_ALLTOALL:
    case DIFF_ALLTOALLV:
    case DIFF_ALLTOALLW:
        plan_alltoall(plan);
        break;
    case DIFF_NEIGHBOR_ALLGATHER:
    case DIFF_NEIGHBOR_ALLGATHERV:
    case DIFF_NEIGHBOR_ALLTOALL:
    case DIFF_NEIGHBOR_ALLTOALLV:
    case DIFF_NEIGHBOR_ALLTOALLW:
        plan_neighbor(plan);
        break;
    case DIFF_REDUCE:
        plan->spec.in_place = in_place(plan) && root;
        plan->spec.result_count = root ? plan->x->count : 0;
        break;
    case DIFF_BARRIER:
        plan->spec.count = plan->spec.result_count = 0;
        break;
    default:
        plan->spec.in_place = in_place(plan);
    }
}

static void op_check(const struct plan *plan)
{
    const struct diff_call *call = plan->call;
    if (!kinds[call->kind].reduces)
        return;
    collective_op_check(call->x, call->op, kinds[call->kind].name);
    bool scan = call->kind == DIFF_SCAN || call->kind == DIFF_EXSCAN;
    if (scan && call->op == DIFF_AVG)
        misuse(plan, "a scan has no average");
}

static void comm_check(const struct plan *plan)
{
    const struct diff_call *call = plan->call;
    const struct diff_channel *channel = plan->channel;
    bool across = channel->intercomm;
    if (across && (call->kind == DIFF_SCAN || call->kind == DIFF_EXSCAN ||
                   call->kind >= DIFF_NEIGHBOR_ALLGATHER))
        misuse(plan, "MPI has none over an intercommunicator");
    if (across && in_place(plan))
        misuse(plan, "MPI has no IN_PLACE over an intercommunicator");
    if (!kinds[call->kind].rooted)
        return;
    if (across && (call->root == MPI_ROOT || call->root == MPI_PROC_NULL))
        return;
    if (call->root < 0 || call->root >= channel->peers)
        misuse(plan, across ? "the root is not a rank of the other group, MPI_ROOT or MPI_PROC_NULL"
                            : "the root is not a rank of the communicator");
}

static struct diff_tensor *result_arrange(const struct plan *plan, struct diff_tensor *y)
{
    const struct layout *layout = plan->receive;
    if (!layout || (!layout->index && !plan->into))
        return y;
    if (y->type != DIFF_HANDLE)
        return layout_put(y, layout, plan->into);
    y->request->layout = layout; /* once it is there */
    y->request->into = plan->into;
    return y;
}

static struct plan plan_make(const struct diff_call *call, struct diff_channel *channel)
{
    struct diff_tape *tape = call->x->tape;
    struct plan plan = {.call = call, .tape = tape, .x = call->x, .into = call->into};
    if (call->x->type == DIFF_HANDLE)
        misuse(&plan, "its operand is a handle: wait for it first");
    plan.channel = channel ? channel : channel_find(tape, call->comm, true);
    comm_check(&plan);
    op_check(&plan);
    plan.spec = (struct collective){.rule = kinds[call->kind].rule,
                                    .channel = plan.channel,
                                    .root = call->root,
                                    .nonblocking = call->flags & DIFF_NONBLOCKING,
                                    .index_in = call->index_in,
                                    .index_out = call->index_out};
    if (kinds[call->kind].reduces)
        plan.spec.op = call->op;
    plan_fill(&plan);
    return plan;
}

struct diff_tensor *collective_at(const struct diff_call *call, const void *site,
                                  const char *function)
{
    struct diff_state *state = call->x->tape->state;
    state_enter_function(state, site, function);
    struct plan plan = plan_make(call, NULL);
    struct diff_tensor *y = result_arrange(&plan, collective_issue(&plan.spec, plan.x));
    state_leave(state);
    return y;
}

struct diff_persistent *diff_collective_init(const struct diff_call *call)
{
    struct diff_tape *tape = call->x->tape;
    ENTER(tape->state);
    channel_find(tape, call->comm, true); /* that of the others */
    struct plan plan = plan_make(call, channel_register(tape, call->comm));
    if (call->into)
        misuse(&plan, "a persistent one has no buffer with old content: `into` must be NULL");
    struct diff_persistent *made = persistent_collective(call, &plan.spec, plan.x->count);
    state_leave(tape->state);
    return made;
}

/* Each start is planned again, with its own operand, and in the program's function. */
struct diff_tensor *collective_start(struct diff_persistent *persistent, struct diff_tensor *x)
{
    struct diff_call call = persistent_call(persistent, x);
    struct plan plan = plan_make(&call, persistent_channel(persistent));
    plan.spec.persistent = persistent;
    return result_arrange(&plan, collective_issue(&plan.spec, plan.x));
}

struct diff_tensor *diff_collective(const struct diff_call *call)
{
    return collective_at(call, __builtin_return_address(0), __func__);
}
