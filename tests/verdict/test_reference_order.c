/* The order a repair goes towards, of small random backward passes with a forward pass: its reverse where that is legal and safe, else
 * the recorded order where that is, else one that is. Legal by the edges, safe by the simulator of order_model.h. */
#include "checker/orders/reference.h"
#include "tests/checker/order_model.h"

enum { FORWARD_ID = 100, UNKNOWN = 0 };
static uint32_t forward_of[RANKS_MAX][NODES_MAX]; /* ids of forward nodes; UNKNOWN */

/* Every node gets a forward node, nearly in the reverse of the recorded order; sometimes one has
 * none, or two have the same. */
static void give_forward(struct instance *instance)
{
    struct trace *trace = instance->program.trace;
    uint32_t changes = below(3);
    for (uint32_t rank = 0; rank < instance->ranks; rank++) {
        uint32_t count = instance->node_count[rank], *forward = forward_of[rank];
        for (uint32_t i = 0; i < count; i++)
            forward[i] = FORWARD_ID + count - i;
        for (uint32_t k = 0; k < changes && count > 1; k++) {
            uint32_t a = below(count), b = below(count), was = forward[a];
            forward[a] = forward[b];
            if (below(4))
                forward[b] = was;
        }
        if (count && below(20) == 0)
            forward[below(count)] = UNKNOWN;
        for (uint32_t i = 0; i < count; i++) {
            struct trace_node node = {.rank = rank,
                                      .id = forward[i],
                                      .kind = OP_RECV,
                                      .state = STATE_COMPLETE,
                                      .forward = TRACE_NO,
                                      .site = TRACE_NO,
                                      .name = TRACE_NO};
            uint32_t index = forward[i] == UNKNOWN ? TRACE_NO : trace_add_node(trace, &node);
            trace->nodes[instance->nodes[rank][i]].forward = index;
        }
    }
}

/* Nodes of a rank by falling forward ids, else as recorded; false where an edge forbids it. */
static bool reverse_order(const struct instance *instance, uint32_t rank, uint8_t *order)
{
    const uint32_t *forward = forward_of[rank];
    uint32_t count = instance->node_count[rank], place[NODES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        place[i] = 0;
        if (forward[i] == UNKNOWN)
            return false;
        for (uint32_t j = 0; j < count; j++)
            place[i] += forward[j] > forward[i] || (forward[j] == forward[i] && j < i);
        order[place[i]] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++)
            if (instance->edge[rank][i][j] && place[i] > place[j])
                return false;
    return true;
}

static bool is_safe_in(struct simulator *sim, unsigned models)
{
    for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH; model <<= 1) {
        sim->model = (enum check_model)model;
        struct verdict verdict = models & model ? simulate(sim) : (struct verdict){0};
        if (verdict.hangs || verdict.crosses)
            return false;
    }
    return true;
}

/* The order of `position`, per rank; false where it breaks an edge. */
static bool take_positions(struct simulator *sim, const struct instance *instance,
                           const uint32_t *position)
{
    const struct trace *trace = sim->trace;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
        sim->length[rank] = (uint32_t)(end - begin);
        for (size_t op = begin; op < end; op++) {
            if (position[op] < begin || position[op] >= end)
                return false;
            sim->sequence[rank][position[op] - begin] = (uint32_t)op;
        }
        for (size_t a = begin; a < end; a++)
            for (size_t b = begin; b < end; b++) {
                uint32_t one = trace->nodes[trace->ops[a].node].id - 1,
                         other = trace->nodes[trace->ops[b].node].id - 1;
                if (position[a] > position[b] &&
                    (instance->edge[rank][one][other] || (one == other && a < b)))
                    return false;
            }
    }
    return true;
}

struct reference_tally {
    unsigned reversed, recorded, agreed, none, wrong;
};

/* The reverse of the forward pass if that is legal and safe, else the recorded order if that is,
 * else one that is. */
static bool reference_is_right(const struct instance *instance, unsigned models,
                               struct reference_tally *tally)
{
    static struct simulator wanted, found;
    const struct trace *trace = instance->program.trace;
    struct check_options options;
    struct check_context context;
    struct check_partial_order reach;
    uint32_t position[RANKS_MAX * OPS_MAX];
    uint8_t order[NODES_MAX];
    bool says_recorded, reverses = true, right;
    wanted.trace = found.trace = trace;
    for (uint32_t rank = 0; rank < instance->ranks; rank++) {
        reverses = reverses && reverse_order(instance, rank, order);
        if (reverses)
            take_order(&wanted, instance, rank, order);
    }
    reverses = reverses && is_safe_in(&wanted, models);
    check_options_init(&options);
    options.models = models;
    check_context_init(&context, trace, &options);
    check_partial_order_init(&reach, &context);
    bool finds = check_reference_find(&reach, position, &says_recorded);
    bool legal = finds && take_positions(&found, instance, position);
    if (!reverses) {
        for (uint32_t i = 0; i < NODES_MAX; i++)
            order[i] = (uint8_t)i;
        for (uint32_t rank = 0; rank < instance->ranks; rank++)
            take_order(&wanted, instance, rank, order);
    }
    if (reverses || is_safe_in(&wanted, models)) {
        right = legal && says_recorded == !reverses;
        for (uint32_t rank = 0; rank < instance->ranks && right; rank++)
            right = memcmp(wanted.sequence[rank], found.sequence[rank],
                           wanted.length[rank] * sizeof wanted.sequence[0][0]) == 0;
        tally->reversed += reverses;
        tally->recorded += !reverses;
    } else {
        right = !finds || (legal && !says_recorded && is_safe_in(&found, models));
        tally->agreed += finds;
        tally->none += !finds;
    }
    check_partial_order_release(&reach);
    check_context_release(&context);
    return right;
}

static void test_reference(unsigned long long seed, unsigned runs)
{
    struct reference_tally tally = {0};
    instance_spoil = give_forward;
    for (unsigned i = 0; i < runs; i++) {
        state = seed + i;
        struct instance instance = instance_new();
        if (!instance.too_large && !reference_is_right(&instance, 1 + i % 7, &tally)) {
            tally.wrong++;
            tap_note("seed %llu: the reference order", seed + i);
        }
        trace_free(instance.program.trace);
    }
    instance_spoil = NULL;
    tap_is_int(tally.wrong, 0,
               "a repair goes towards the reverse of the forward pass, else the recorded order, "
               "else one that is safe");
    tap_note("%u reversed, %u recorded, %u agreed, %u none", tally.reversed, tally.recorded,
             tally.agreed, tally.none);
    tap_ok(tally.reversed > runs / 8 && tally.recorded > runs / 8 && tally.agreed > runs / 100,
           "and all three happen");
}

int main(void)
{
    test_reference(1, 1500);
    return tap_done();
}
