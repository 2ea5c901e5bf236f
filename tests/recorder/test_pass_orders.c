/* A tape whose passes go in other orders than the one before, or than the one in which it was filled: what is recorded of each
 * pass is of that pass alone, and the gradients are those of any order.
 *
 *   y = sum over ranks of c, a constant; w = sum over ranks of x y; the loss is <w, w>
 *
 * A tape filled in data order leaves y out: only a pass in program order runs the adjoint of its sum. */
#include "tests/world_harness.h"

#include "recorder/recording.h"

#include <diff.h>

enum { N = 2, RANKS = 2, PASSES = 3 };
enum node { SEED, DOT, SUM_OF_PRODUCTS, PRODUCT, SUM_OF_CONSTANTS, NODES };

static enum diff_order filled, orders[PASSES];
static bool right[RANKS];

static double x_of(int rank, int k)
{
    return 0.5 + rank - 0.25 * k;
}

static double c_of(int rank, int k)
{
    return 1.25 - 0.5 * rank + k;
}

static void program(int rank)
{
    double x[N], c[N];
    size_t shape = N;
    for (int k = 0; k < N; k++) {
        x[k] = x_of(rank, k);
        c[k] = c_of(rank, k);
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    diff_tape_order(tape, filled);
    struct diff_tensor *in = diff_leaf(tape, DIFF_DOUBLE, 1, &shape, x);
    struct diff_tensor *y =
        diff_allreduce(diff_constant(tape, DIFF_DOUBLE, 1, &shape, c), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *w = diff_allreduce(diff_mul(in, y), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *loss = diff_dot(w, w);
    for (int p = 0; p < PASSES; p++) {
        diff_tape_order(tape, orders[p]);
        diff_backward_from(tape, 1, &loss, NULL, p < PASSES - 1 ? DIFF_RETAIN : 0);
    }
    right[rank] = true;
    const double *gradient = diff_gradient(in);
    for (int k = 0; k < N; k++) { /* every rank's loss has every x: quarters are exact */
        double sum = c_of(0, k) + c_of(1, k), all = sum * (x_of(0, k) + x_of(1, k));
        right[rank] = right[rank] && gradient[k] == PASSES * RANKS * 2 * all * sum;
    }
    diff_tape_free(tape);
}

static int enter(void *recording, int rank)
{
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    program(rank);
    MPI_Finalize();
    return 0;
}

/* Which node of the program it is, or its adjoint: the one sum was made before the other. */
static enum node node_of(const struct trace *trace, size_t at)
{
    const struct trace_node *node = &trace->nodes[at];
    const char *name = trace_string(trace, node->name);
    if (strcmp(name, "seed") == 0)
        return SEED;
    if (node->pass && node->forward == TRACE_NO)
        return NODES;
    if (node->pass)
        return node_of(trace, node->forward);
    if (strcmp(name, "Allreduce") != 0)
        return strcmp(name, "mul") ? DOT : PRODUCT;
    for (size_t n = trace->node_begin[node->rank]; n < at; n++)
        if (strcmp(trace_string(trace, trace->nodes[n].name), "Allreduce") == 0)
            return SUM_OF_PRODUCTS;
    return SUM_OF_CONSTANTS;
}

static const char *pass_difference(const struct trace *trace, uint32_t rank, uint32_t pass)
{
    bool all = filled == DIFF_ORDER_PROGRAM || orders[pass] == DIFF_ORDER_PROGRAM;
    unsigned nodes = 0, edges = 0, due = all ? NODES : NODES - 1;
    for (size_t n = trace->node_begin[rank]; n < trace->node_begin[rank + 1]; n++)
        if (trace->nodes[n].pass == pass + 1)
            nodes |= nodes & 1u << node_of(trace, n) ? 1u << (NODES + 1) : 1u << node_of(trace, n);
    if (nodes != (1u << due) - 1)
        return "other nodes than the pass reaches, or one twice";
    for (size_t e = 0; e < trace->edge_count; e++) {
        const struct trace_node *from = &trace->nodes[trace->edges[e].from],
                                *to = &trace->nodes[trace->edges[e].to];
        if (from->rank != rank || to->rank != rank)
            continue;
        if (from->pass != to->pass)
            return "an edge between passes";
        if (to->pass != pass + 1)
            continue;
        if (node_of(trace, trace->edges[e].to) != node_of(trace, trace->edges[e].from) + 1)
            return "an edge that the program has not";
        edges |= 1u << node_of(trace, trace->edges[e].to);
    }
    return edges == ((1u << due) - 1) - 1 ? NULL : "an edge is missing";
}

static const char *difference_of(const struct trace *trace)
{
    if (trace->pass_count != RANKS * PASSES)
        return "the number of passes";
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t pass = 0; pass < PASSES; pass++) {
            enum pass_mode mode = orders[pass] == DIFF_ORDER_DATA ? PASS_DATA : PASS_PROGRAM;
            if (trace->passes[rank * PASSES + pass].mode != mode)
                return "the order of a pass";
            const char *difference = pass_difference(trace, rank, pass);
            if (difference)
                return difference;
        }
    return right[0] && right[1] ? NULL : "a gradient";
}

static const char *recorded_difference(void)
{
    struct failure failure = {0};
    struct sim_world_options options = world_options(RANKS);
    struct recording_result result = {.program = "passes", .model = "eager"};
    struct recording *recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    memset(right, 0, sizeof right);
    result.outcome = sim_world_run(world, enter, recording);
    for (int i = 0; i < RANKS; i++) {
        recording_rank_end(recording, (uint32_t)i, sim_world_rank_state(world, i),
                           sim_world_exit_code(world, i), NULL);
        diff_state_release(sim_world_slots(world, i)[MPIX_SLOT_DIFF]);
    }
    sim_world_free(world);
    struct trace *trace = recording_load(recording, &result, &failure);
    static char text[sizeof failure.text];
    snprintf(text, sizeof text, "%s", trace ? "" : failure.text);
    const char *difference = trace ? difference_of(trace) : NULL;
    if (difference)
        snprintf(text, sizeof text, "%s", difference);
    trace_free(trace);
    recording_free(recording);
    return text;
}

int main(void)
{
    static const char letters[] = {[DIFF_ORDER_PROGRAM] = 'P', [DIFF_ORDER_DATA] = 'D'};
    for (unsigned bits = 0; bits < 1u << (PASSES + 1); bits++) {
        filled = bits & 1 ? DIFF_ORDER_DATA : DIFF_ORDER_PROGRAM;
        char text[PASSES + 1] = "";
        for (int p = 0; p < PASSES; p++) {
            orders[p] = bits >> (p + 1) & 1 ? DIFF_ORDER_DATA : DIFF_ORDER_PROGRAM;
            text[p] = letters[orders[p]];
        }
        tap_is_str(recorded_difference(), "", "filled in order %c, passes in %s", letters[filled],
                   text);
    }
    return tap_done();
}
