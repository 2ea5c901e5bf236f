/* Which operations of one rank MPI matches by their order alone, and nothing orders: of random backward passes, every pair that checker/orders/
 * streams.h names, and no other. Here a stream is looked for by comparing each operation with each. */
#include "checker/orders/streams.h"
#include "tests/verdict/random_pass.h"

enum { PROGRAMS = 1500 };

static uint32_t place_of[OPS];

/* A legal order of each pass: places of operations, those outside at their own. */
static void draw_places(void)
{
    for (uint32_t op = 0; op < trace->op_count; op++)
        place_of[op] = op;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        uint32_t at = TRACE_NO, done = 0, count = 0;
        for (size_t op = trace->rank_begin[rank]; op < trace->rank_begin[rank + 1]; op++)
            if (node_of[op] != TRACE_NO) {
                at = at == TRACE_NO ? (uint32_t)op : at;
                count = node_of[op] + 1;
            }
        while (done + 1 < 1u << count) {
            uint32_t node = below(count);
            bool ready = !(done >> node & 1);
            for (uint32_t other = 0; other < count; other++)
                ready = ready && (!before[rank][other][node] || done >> other & 1);
            if (!ready)
                continue;
            done |= 1u << node;
            for (size_t op = trace->rank_begin[rank]; op < trace->rank_begin[rank + 1]; op++)
                if (node_of[op] == node)
                    place_of[op] = at++;
        }
    }
}

/* ---- streams ---- */

static int side_of(const struct check_context *context, uint32_t op, int32_t *source,
                   int32_t *target)
{
    const struct trace_op *it = &trace->ops[op];
    *source = *target = 0;
    if (it->kind == OP_ALLREDUCE)
        return check_group_of(context, op) == TRACE_NO ? -1 : 0;
    if (it->kind == OP_SEND) {
        *source = (int32_t)it->rank;
        *target = it->peer;
        return it->peer < 0 ? -1 : 1;
    }
    if (it->kind != OP_RECV)
        return -1;
    *source = it->peer == TRACE_ANY ? it->form->peer_matched : it->peer;
    *target = (int32_t)it->rank;
    return *source < 0 ? -1 : 2;
}

static bool of_one_channel(const struct check_context *context, uint32_t a, uint32_t b)
{
    int32_t source, target, other_source, other_target;
    int side = side_of(context, a, &source, &target),
        other = side_of(context, b, &other_source, &other_target);
    return side > 0 && other > 0 && source == other_source && target == other_target &&
           trace->ops[a].form->comm == trace->ops[b].form->comm;
}

/* Some receive of its channel takes any tag: all of the channel is one stream then. */
static bool is_doubtful(const struct check_context *context, uint32_t op)
{
    for (uint32_t other = 0; other < trace->op_count; other++)
        if (trace->ops[other].tag == TRACE_ANY && of_one_channel(context, op, other))
            return true;
    return false;
}

static bool of_one_stream(const struct check_context *context, uint32_t a, uint32_t b)
{
    int32_t place[4];
    const struct trace_op *x = &trace->ops[a], *y = &trace->ops[b];
    int side = side_of(context, a, &place[0], &place[1]),
        other = side_of(context, b, &place[2], &place[3]);
    if (side < 0 || side != other || x->rank != y->rank || node_of[a] == TRACE_NO ||
        node_of[b] == TRACE_NO)
        return false;
    if (side == 0)
        return x->form->comm == y->form->comm;
    return of_one_channel(context, a, b) && (x->tag == y->tag || is_doubtful(context, a));
}

static bool is_pair(const struct check_context *context, uint32_t a, uint32_t b, bool *doubtful)
{
    uint32_t rank = trace->ops[a].rank, one = node_of[a], other = node_of[b];
    *doubtful = false;
    if (place_of[a] >= place_of[b] || !of_one_stream(context, a, b) || one == other ||
        before[rank][one][other] || before[rank][other][one])
        return false;
    *doubtful = trace->ops[a].kind != OP_ALLREDUCE && is_doubtful(context, a);
    for (uint32_t between = 0; between < trace->op_count && !*doubtful; between++)
        if (of_one_stream(context, a, between) && place_of[between] > place_of[a] &&
            place_of[between] < place_of[b])
            return false;
    return true;
}

static unsigned pairs, doubts, wrong;

static void compare(const struct check_context *context, const struct check_partial_order *reach,
                    const uint32_t *position, unsigned long long seed)
{
    struct check_streams streams;
    size_t expected = 0, found = 0;
    check_streams_init(&streams, reach, position);
    for (uint32_t a = 0; a < trace->op_count; a++)
        for (uint32_t b = 0; b < trace->op_count; b++) {
            bool doubtful;
            if (!is_pair(context, a, b, &doubtful))
                continue;
            expected++;
            doubts += doubtful;
            for (size_t i = 0; i < streams.pair_count; i++)
                found += streams.pairs[i].first == a && streams.pairs[i].second == b &&
                         streams.pairs[i].doubtful == doubtful;
        }
    pairs += (unsigned)expected;
    if ((found != expected || streams.pair_count != expected) && !wrong++)
        tap_note("program %llu: %zu pairs, %zu of the %zu that are", seed, streams.pair_count,
                 found, expected);
    check_streams_release(&streams);
}

/* One channel of any tags in which so many sends have no order: those farther apart than a bound are left, and counted. */
static void test_long(uint32_t count)
{
    enum { BOUND = 64 };
    struct program program = program_new(2);
    struct check_context context;
    struct check_partial_order reach;
    struct check_streams streams;
    for (uint32_t i = 0; i < count; i++) {
        program.pass = 1;
        program.node = trace_add_node(program.trace, &(struct trace_node){.rank = 0,
                                                                          .id = i + 1,
                                                                          .pass = 1,
                                                                          .kind = OP_SEND,
                                                                          .state = STATE_COMPLETE,
                                                                          .forward = TRACE_NO,
                                                                          .site = TRACE_NO,
                                                                          .name = TRACE_NO});
        program_p2p(&program, 0, OP_SEND, 1, (int)i, 1);
    }
    trace_add_pass(program.trace,
                   &(struct trace_pass){.rank = 0, .pass = 1, .mode = PASS_DATA, .complete = true});
    program.pass = 0;
    program.node = TRACE_NO;
    for (uint32_t i = 0; i < count; i++)
        program_p2p(&program, 1, OP_RECV, 0, TRACE_ANY, 2);
    program_finish(&program);
    trace = program.trace;
    check_context_init(&context, trace, NULL);
    check_partial_order_init(&reach, &context);
    check_streams_init(&streams, &reach, NULL);
    uint64_t looked_at = streams.pair_count, all = (uint64_t)count * (count - 1) / 2, left = 0;
    const struct coverage *coverage = trace_coverage(trace);
    for (size_t i = 0; i < coverage->count; i++)
        left += !strcmp(coverage->gaps[i].check, "order") ? coverage->gaps[i].count : 0;
    tap_ok(looked_at >= (uint64_t)(count - 1) * (count < BOUND ? count / 2 : BOUND / 2),
           "of %u sends in one stream, %llu pairs are looked at", count,
           (unsigned long long)looked_at);
    tap_is_int(looked_at + left, all, "and the others are counted");
    check_streams_release(&streams);
    check_partial_order_release(&reach);
    check_context_release(&context);
    trace_free(program.trace);
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
        for (uint32_t op = 0; op < trace->op_count; op++)
            place_of[op] = op;
        compare(&context, &reach, NULL, dice);
        draw_places();
        compare(&context, &reach, place_of, seeds.first + i);
        check_partial_order_release(&reach);
        check_context_release(&context);
        trace_free(program.trace);
    }
    tap_is_int(wrong, 0, "%u pairs of operations have no order, %u of them by any tag", pairs,
               doubts);
    tap_ok(pairs > seeds.count && doubts > seeds.count / 8, "there are many");
    if (dice_takes_group(0))
        test_long(20);
    if (dice_takes_group(DICE_DEAR))
        test_long(1200);
    return tap_done();
}
