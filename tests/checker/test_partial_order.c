/* The partial order of large passes: right against a plain search along the edges, also after pairs
 * were sorted, and not quadratic in memory where rows repeat each other. */
#include "checker/context.h"
#include "checker/orders/partial_order.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum shape { CHAIN, LEAVES, RANDOM, SHAPES };
static const char *const names[SHAPES] = {"chain", "chain with leaves", "random graph"};

struct pass {
    struct program program;
    struct check_options options;
    struct check_context context;
    struct check_partial_order reach;
    uint32_t *nodes;
    uint32_t (*from)[2]; /* per node: whom it waits for, itself for nobody */
};

static void pass_init(struct pass *pass, enum shape shape, uint32_t count, uint64_t *state)
{
    pass->program = program_new(1);
    pass->program.pass = 1;
    pass->nodes = calloc(count, sizeof *pass->nodes);
    pass->from = calloc(count, sizeof *pass->from);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t last = i ? i - 1 : 0, trunk = i % 2 || i < 2 ? last : i - 2;
        uint32_t one = shape == CHAIN ? last : shape == LEAVES ? trunk : dice_below(state, i + 1);
        pass->from[i][0] = one;
        pass->from[i][1] = shape == RANDOM ? dice_below(state, i + 1) : i;
        pass->nodes[i] =
            trace_add_node(pass->program.trace, &(struct trace_node){.id = i + 1,
                                                                     .pass = 1,
                                                                     .kind = OP_ALLREDUCE,
                                                                     .state = STATE_COMPLETE,
                                                                     .forward = TRACE_NO,
                                                                     .site = TRACE_NO,
                                                                     .name = TRACE_NO});
        for (int k = 0; k < 2; k++)
            if (pass->from[i][k] != i)
                trace_add_edge(pass->program.trace, pass->nodes[pass->from[i][k]], pass->nodes[i],
                               EDGE_DATA);
        pass->program.node = pass->nodes[i];
        program_collective(&pass->program, 0, OP_ALLREDUCE, pass->program.world, i, 1);
    }
    trace_add_pass(pass->program.trace,
                   &(struct trace_pass){.pass = 1, .mode = PASS_DATA, .complete = true});
    program_finish(&pass->program);
    check_options_init(&pass->options);
    check_context_init(&pass->context, pass->program.trace, &pass->options);
    check_partial_order_init(&pass->reach, &pass->context);
}

static void pass_release(struct pass *pass)
{
    check_partial_order_release(&pass->reach);
    check_context_release(&pass->context);
    trace_free(pass->program.trace);
    free(pass->nodes);
    free(pass->from);
}

/* before[a * count + b]: a comes before b, closed along the edges. */
static bool *plain(const struct pass *pass, uint32_t count)
{
    bool *before = calloc((size_t)count * count, 1);
    for (uint32_t b = 0; b < count; b++)
        for (int k = 0; k < 2; k++) {
            uint32_t from = pass->from[b][k];
            if (from == b)
                continue;
            before[(size_t)from * count + b] = true;
            for (uint32_t a = 0; a < from; a++)
                before[(size_t)a * count + b] |= before[(size_t)a * count + from];
        }
    return before;
}

static uint32_t differences(const struct pass *pass, const bool *before, uint32_t count)
{
    uint32_t wrong = 0;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < count; b++)
            wrong +=
                check_partial_order_before(&pass->reach, a, b) != before[(size_t)a * count + b];
    return wrong;
}

/* Sorts random pairs that nothing orders, here and in the plain table. */
static void sort_some(struct pass *pass, bool *before, uint32_t count, uint64_t *state, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        uint32_t a = dice_below(state, count), b = dice_below(state, count);
        if (a == b || before[(size_t)a * count + b] || before[(size_t)b * count + a])
            continue;
        check_partial_order_sort(&pass->reach, a, b);
        for (uint32_t x = 0; x < count; x++)
            for (uint32_t y = 0; y < count; y++)
                before[(size_t)x * count + y] |= (x == a || before[(size_t)x * count + a]) &&
                                                 (y == b || before[(size_t)b * count + y]);
    }
}

static void test_right(enum shape shape, uint32_t count, int pairs)
{
    uint64_t state = 7 + (uint64_t)shape;
    struct pass pass;
    pass_init(&pass, shape, count, &state);
    bool *before = plain(&pass, count);
    tap_is_int(differences(&pass, before, count), 0, "the order of a %s of %u is that of its edges",
               names[shape], count);
    sort_some(&pass, before, count, &state, pairs);
    tap_is_int(differences(&pass, before, count), 0, "and of a %s with sorted pairs", names[shape]);
    free(before);
    pass_release(&pass);
}

static size_t bytes_of(enum shape shape, uint32_t count)
{
    uint64_t state = 1;
    struct pass pass;
    pass_init(&pass, shape, count, &state);
    const struct reach_segment *segment = &pass.reach.segments[0];
    size_t bytes = pass.reach.pool.count * BIT_PIECE_WORDS * sizeof(uint64_t) +
                   2 * segment->item_count * segment->pieces * sizeof(uint32_t);
    pass_release(&pass);
    return bytes;
}

/* Rows of bits take two squares. */
static void test_growth(enum shape shape)
{
    size_t half = bytes_of(shape, 5000), whole = bytes_of(shape, 10000);
    size_t square = 2 * (size_t)10000 * 10000 / 8;
    tap_note("%s: %zu and %zu bytes, squares %zu", names[shape], half, whole, square);
    tap_ok(whole * 2 < half * 5 && whole * 3 < square,
           "twice the items of a %s take at most two and a half times the memory", names[shape]);
}

int main(void)
{
    for (enum shape shape = CHAIN; shape < SHAPES; shape++)
        if (dice_takes_group(shape % DICE_DEAR))
            test_right(shape, 600, 20);
    if (!dice_takes_group(DICE_DEAR))
        return tap_done();
    test_right(LEAVES, BIT_PIECE_WORDS * 64 + 300, 3); /* rows of several pieces */
    test_growth(CHAIN);
    test_growth(LEAVES);
    return tap_done();
}
