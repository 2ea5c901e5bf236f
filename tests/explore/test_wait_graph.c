/* Who waits for whom when a run stands still, against a second reading of it: of random hangs, in which ranks send, or receive from one
 * rank or from any of a communicator, wait for one or for all of several such requests, of which some are over or two halves of one, stand
 * in a collective call or in Finalize, have ended or still run. A table of who may release
 * whom, closed by brute force, says who goes, which components wait for nobody else, and how long their shortest cycle is. Of two groups
 * that become one communicator, each waits for its own members, then for the other leader. And the
 * graph of ranks that all receive from any source grows with them, not with their square. */
#include "checker/replay/wait_cycles.h"
#include "checker/replay/wait_reach.h"
#include "tests/checker/check_program.h"
#include "tests/explore/wait_model.h"

enum { PROGRAMS = 4000 };

/* ---- against the graph ---- */

static bool is_path(const struct model *model, const uint32_t *path, size_t length)
{
    uint32_t first = TRACE_NO, last = TRACE_NO;
    for (size_t i = 0; i < length; i++) {
        if (path[i] >= model->ranks)
            continue;
        if (last != TRACE_NO && steps(&model->of[last], path[i]) >= FAR)
            return false;
        first = first == TRACE_NO ? path[i] : first;
        last = path[i];
    }
    return last != TRACE_NO && steps(&model->of[last], first) < FAR;
}

struct tally {
    unsigned standing, cycles, wrong, waiting, apart;
};

/* Who waits for some of those that stand. */
static void compare_waiting(const struct model *model, const struct reading *reading,
                            const struct wait_graph *graph, struct tally *tally)
{
    bool core[RANKS_MOST] = {0}, waiting[RANKS_MOST] = {0};
    uint32_t ranks[RANKS_MOST], found[RANKS_MOST];
    size_t count = 0;
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        core[rank] = !(reading->goes >> rank & 1) && draw(3) == 0;
        if (core[rank])
            ranks[count++] = rank;
    }
    struct wait_reach reach;
    wait_reach_init(&reach, graph);
    size_t found_count = wait_reach_waiting(&reach, ranks, count, found);
    wait_reach_release(&reach);
    for (size_t i = 0; i < found_count; i++) {
        waiting[found[i]] = true;
        tally->wrong += i > 0 && found[i - 1] >= found[i];
    }
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        bool waits = false;
        for (uint32_t to = 0; to < model->ranks && !core[rank]; to++)
            waits = waits || (core[to] && reading->distance[rank][to] < FAR);
        tally->wrong += waiting[rank] != waits;
        tally->waiting += waits;
        tally->apart += !waits && !core[rank] && !(reading->goes >> rank & 1);
    }
}

/* Who is over, and of a communicator from which somebody receives: the members that are over come first, and the others are counted. */
static unsigned compare_over(const struct model *model, const struct wait_graph *graph)
{
    const struct trace *trace = graph->context->trace;
    unsigned wrong = 0;
    for (uint32_t node = 0; node < graph->count; node++)
        wrong += wait_is_over(graph, node) !=
                 (node < model->ranks && trace->rank_info[node].state == RANK_FINISHED);
    for (uint32_t comm = 0; comm <= trace->comm_count; comm++) {
        const struct wait_anybody *anybody = &graph->anybody[comm];
        uint32_t seen = 0, open = 0,
                 size = check_comm_size(trace, comm < trace->comm_count ? comm : TRACE_NO);
        bool opened = false;
        if (anybody->node == TRACE_NO)
            continue;
        for (uint32_t e = graph->nodes[anybody->node].edge; e != TRACE_NO;
             e = graph->edges[e].next) {
            bool over = trace->rank_info[graph->edges[e].to].state == RANK_FINISHED;
            wrong += over && open;
            open += !over;
            opened = opened || (!over && graph->edges[e].to == anybody->opened);
            seen++;
        }
        wrong += seen != size || open != anybody->open || opened != (open > 0);
    }
    for (uint32_t node = 0; node < graph->count; node++) {
        const struct wait_anybody *anybody = wait_anybody_of(graph, node);
        wrong += !anybody != (graph->nodes[node].own == TRACE_NO);
        wrong += anybody && graph->edges[graph->nodes[node].edge].to != anybody->node;
    }
    return wrong;
}

static void compare(struct model *model, const struct check_context *context, struct tally *tally)
{
    struct reading reading;
    struct wait_graph graph;
    read_model(model, &reading);
    wait_graph_init(&graph, context);
    struct wait_cycles cycles;
    wait_cycles_init(&cycles, &graph);
    uint32_t *path = calloc(graph.count, sizeof *path);
    for (uint32_t rank = 0; rank < model->ranks; rank++) {
        const struct wait_node *node = &graph.nodes[rank];
        bool goes = reading.goes >> rank & 1;
        tally->wrong += node->goes != goes;
        if (goes || node->goes)
            continue;
        tally->standing++;
        tally->wrong += node->sink != is_sink(model, &reading, rank);
        int best = shortest(model, &reading, rank);
        size_t length = wait_cycles_shortest(&cycles, node->component, path);
        tally->cycles += best > 0;
        tally->wrong += length != (size_t)best || (length && !is_path(model, path, length));
    }
    compare_waiting(model, &reading, &graph, tally);
    tally->wrong += compare_over(model, &graph);
    free(path);
    wait_cycles_release(&cycles);
    wait_graph_release(&graph);
}

static void ask(struct model *model, struct program *p, struct tally *tally)
{
    struct check_options options;
    struct check_context context;
    bool runs = false;
    for (uint32_t rank = 0; rank < model->ranks; rank++)
        runs = runs || model->of[rank].stance == RUNS;
    p->trace->outcome = draw(2) ? OUTCOME_DEADLOCK : OUTCOME_TIMEOUT;
    model->at_work = runs && p->trace->outcome == OUTCOME_TIMEOUT;
    program_finish(p);
    check_options_init(&options);
    check_context_init(&context, p->trace, &options);
    compare(model, &context, tally);
    check_context_release(&context);
    trace_free(p->trace);
}

static void random_hangs(void)
{
    struct tally tally = {0};
    unsigned first_wrong = 0;
    for (unsigned i = 1; i <= PROGRAMS; i++) {
        struct model model;
        struct program p = model_draw(&model, i);
        ask(&model, &p, &tally);
        first_wrong = tally.wrong && !first_wrong ? i : first_wrong;
    }
    tap_is_int(tally.wrong, 0,
               "who goes, who is a cause, which cycle, who waits for whom: as by brute force");
    tap_ok(tally.waiting > 1000 && tally.apart > 1000,
           "many wait for some of them (%d), many not (%d)", (int)tally.waiting, (int)tally.apart);
    tap_is_int(first_wrong, 0, "in the first program that differs");
    tap_ok(tally.standing > PROGRAMS && tally.cycles > PROGRAMS / 2,
           "many stand (%u), many in cycles (%u)", tally.standing, tally.cycles);
}

/* Even ranks are one group, odd ones the other; the lowest of each leads it, and names the other's. */
static void add_in_meeting(struct model *model, struct program *p, const uint32_t sides[2],
                           uint32_t rank, const bool *comes)
{
    struct model_rank *me = &model->of[rank];
    unsigned side = rank % 2;
    *me = (struct model_rank){.stance = WAITS_ALL};
    for (uint32_t other = side; other < model->ranks; other += 2)
        if (!comes[other])
            me->sets[me->count++] = 1u << other;
    if (!me->count)
        me->sets[me->count++] = 1u << (1 - side);
    for (unsigned i = 0; i < me->count; i++)
        me->far[i] = 2;
    struct trace_plain_op op = program_op(p, rank, OP_INTERCOMM_CREATE, 1);
    op.comm = sides[side];
    op.comm_seq = 0;
    op.state = STATE_BLOCKED;
    op.peer = rank == side ? (int32_t)(1 - side) : TRACE_NONE;
    trace_add_op(p->trace, &op);
}

static void add_elsewhere(struct model *model, struct program *p, uint32_t rank)
{
    struct model_rank *me = &model->of[rank];
    unsigned chance = draw(6);
    *me = (struct model_rank){.stance = chance ? RUNS : ENDED};
    if (chance < 2)
        return;
    uint32_t peer = draw(model->ranks), op = program_p2p(p, rank, OP_RECV, (int)peer, 0, 2);
    *me = (struct model_rank){.stance = RECEIVES, .count = 1, .sets = {1u << peer}, .far = {1}};
    p->trace->ops[op].state = STATE_BLOCKED;
}

static void random_meetings(void)
{
    struct tally tally = {0};
    for (unsigned i = 1; i <= PROGRAMS / 2; i++) {
        seed = i * 2654435761u;
        struct model model = {.ranks = 2 + draw(RANKS_MOST - 1)};
        struct program p = program_new(model.ranks);
        bool comes[RANKS_MOST];
        uint32_t sides[2];
        for (unsigned side = 0; side < 2; side++) {
            int32_t members[RANKS_MOST];
            uint32_t size = 0;
            for (uint32_t rank = side; rank < model.ranks; rank += 2)
                members[size++] = (int32_t)rank;
            sides[side] = program_comm(&p, size, members);
        }
        for (uint32_t rank = 0; rank < model.ranks; rank++)
            comes[rank] = draw(4) > 0;
        for (uint32_t rank = 0; rank < model.ranks; rank++) {
            if (comes[rank])
                add_in_meeting(&model, &p, sides, rank, comes);
            else
                add_elsewhere(&model, &p, rank);
            enum stance stance = model.of[rank].stance;
            p.trace->rank_info[rank].state = stance == RUNS    ? RANK_RUNNING
                                             : stance == ENDED ? RANK_FINISHED
                                                               : RANK_BLOCKED;
        }
        ask(&model, &p, &tally);
    }
    tap_is_int(tally.wrong, 0, "who waits for whom where two groups meet: as by brute force");
    tap_ok(tally.standing > PROGRAMS && tally.cycles > PROGRAMS / 2,
           "many stand (%u), many in cycles (%u)", tally.standing, tally.cycles);
}

/* Of so many ranks those from `ended` on are over, the others receive from any source. */
static size_t edges_of(uint32_t ranks, uint32_t ended, size_t *cycle)
{
    struct program p = program_new(ranks);
    struct check_options options;
    struct check_context context;
    struct wait_graph graph;
    for (uint32_t rank = 0; rank < ended; rank++) {
        uint32_t op = program_p2p(&p, rank, OP_RECV, TRACE_ANY, 0, 1);
        p.trace->ops[op].state = STATE_BLOCKED;
        p.trace->rank_info[rank].state = RANK_BLOCKED;
    }
    p.trace->outcome = OUTCOME_DEADLOCK;
    program_finish(&p);
    check_options_init(&options);
    check_context_init(&context, p.trace, &options);
    wait_graph_init(&graph, &context);
    struct wait_cycles cycles;
    wait_cycles_init(&cycles, &graph);
    uint32_t *path = calloc(graph.count, sizeof *path);
    size_t edges = graph.edge_count;
    *cycle = wait_cycles_shortest(&cycles, graph.nodes[0].component, path);
    free(path);
    wait_cycles_release(&cycles);
    wait_graph_release(&graph);
    check_context_release(&context);
    trace_free(p.trace);
    return edges;
}

/* Read from a file, an operation need not name a communicator: it is of all ranks. */
static void without_communicator(void)
{
    struct program p = program_new(3);
    struct tally tally = {0};
    struct model model = {.ranks = 3};
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct trace_plain_op op = program_op(&p, rank, OP_RECV, 1);
        op.comm = TRACE_NO;
        op.peer = TRACE_ANY;
        op.state = STATE_BLOCKED;
        trace_add_op(p.trace, &op);
        p.trace->rank_info[rank].state = RANK_BLOCKED;
        model.of[rank] = (struct model_rank){
            .stance = RECEIVES, .count = 1, .sets = {7u & ~(1u << rank)}, .far = {2}};
    }
    ask(&model, &p, &tally);
    tap_is_int(tally.wrong, 0, "receives that name no communicator wait for all ranks");
    tap_is_int(tally.cycles, 3, "and stand in cycles");
}

/* One rank waits for so many messages of one that runs, and for one more of one that has ended or runs, too. */
static void many_requests(void)
{
    static const uint32_t counts[] = {1, 2, 63, 64, 65, 200};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int kind = 0; kind < 2; kind++)
            for (int ended = 0; ended < 2; ended++) {
                struct program p = program_new(3);
                struct check_options options;
                struct check_context context;
                struct wait_graph graph;
                uint32_t starts[201];
                for (uint32_t k = 0; k < counts[i]; k++)
                    starts[k] = program_p2p(&p, 0, OP_IRECV, k + 1 < counts[i] ? 1 : 2, 0, 1);
                for (uint32_t k = 0; k < counts[i]; k++)
                    p.trace->ops[starts[k]].state = STATE_POSTED;
                struct trace_plain_op wait = program_op(&p, 0, kind ? OP_WAITANY : OP_WAITALL, 2);
                wait.comm = TRACE_NO;
                wait.state = STATE_BLOCKED;
                uint32_t at = trace_add_op(p.trace, &wait);
                for (uint32_t k = 0; k < counts[i]; k++)
                    trace_add_wait(p.trace, at, starts[k], false);
                p.trace->rank_info[0].state = RANK_BLOCKED;
                p.trace->rank_info[1].state = RANK_RUNNING;
                p.trace->rank_info[2].state = ended ? RANK_FINISHED : RANK_RUNNING;
                p.trace->outcome = OUTCOME_DEADLOCK;
                program_finish(&p);
                check_options_init(&options);
                check_context_init(&context, p.trace, &options);
                wait_graph_init(&graph, &context);
                tap_ok(graph.nodes[0].goes == (!ended || (kind && counts[i] > 1)),
                       "%s %u requests, the last of one who %s", kind ? "any of" : "all of",
                       counts[i], ended ? "has ended" : "runs");
                wait_graph_release(&graph);
                check_context_release(&context);
                trace_free(p.trace);
            }
}

/* Rank 0 stands in a call on a window, of which rank 1 has a lock, or gave it back; rank 2 may be named. */
static void calls_on_windows(void)
{
    static const enum op_kind kinds[] = {OP_WIN_LOCK, OP_WIN_LOCK_ALL, OP_WIN_UNLOCK, OP_WIN_START,
                                         OP_WIN_WAIT, OP_WIN_COMPLETE, OP_WIN_FLUSH};
    unsigned wrong = 0;
    for (unsigned i = 0; i < 7 * 2 * 2 * 2; i++) {
        enum op_kind kind = kinds[i % 7];
        bool all = i / 7 % 2, back = i / 14 % 2;
        bool locks = kind == OP_WIN_LOCK || kind == OP_WIN_LOCK_ALL;
        bool names = kind == OP_WIN_START || kind == OP_WIN_WAIT;
        int peer = locks ? 0 /* the target */ : i / 28 ? 2 : TRACE_NONE;
        struct program p = program_new(3);
        struct check_options options;
        struct check_context context;
        struct wait_graph graph;
        program_p2p(&p, 1, all ? OP_WIN_LOCK_ALL : OP_WIN_LOCK, all ? TRACE_NONE : 0, 0, 1);
        if (back)
            program_p2p(&p, 1, all ? OP_WIN_UNLOCK_ALL : OP_WIN_UNLOCK, all ? TRACE_NONE : 0, 0, 2);
        uint32_t stands =
            program_p2p(&p, 0, kind, kind == OP_WIN_LOCK_ALL ? TRACE_NONE : peer, 0, 3);
        p.trace->ops[stands].state = STATE_BLOCKED;
        p.trace->rank_info[0].state = RANK_BLOCKED;
        p.trace->rank_info[1].state = p.trace->rank_info[2].state = RANK_RUNNING;
        p.trace->outcome = OUTCOME_DEADLOCK;
        program_finish(&p);
        check_options_init(&options);
        check_context_init(&context, p.trace, &options);
        wait_graph_init(&graph, &context);
        uint32_t whom = locks && !back ? 1 : names && peer == 2 ? 2 : TRACE_NO;
        uint32_t edge = graph.nodes[0].edge;
        wrong += (edge == TRACE_NO ? TRACE_NO : graph.edges[edge].to) != whom ||
                 (edge != TRACE_NO && graph.edges[edge].next != TRACE_NO) ||
                 graph.nodes[0].goes != (whom != TRACE_NO);
        wait_graph_release(&graph);
        check_context_release(&context);
        trace_free(p.trace);
    }
    tap_is_int(wrong, 0,
               "who waits for a lock waits for who has it, who starts or waits for whom it names");
}

static void many_ranks(void)
{
    for (uint32_t ended = 1500; ended <= 3000; ended += 1500) {
        size_t cycle, edges = edges_of(3000, ended, &cycle);
        tap_ok(edges <= 3 * 3000, "%u of 3000 that receive from any source: %zu edges", ended,
               edges);
        tap_is_int((long long)cycle, 4, "two of them wait for each other");
    }
}

int main(void)
{
    random_hangs();
    random_meetings();
    without_communicator();
    many_requests();
    calls_on_windows();
    many_ranks();
    return tap_done();
}
