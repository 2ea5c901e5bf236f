#include "checker/orders/repair.h"

#include "checker/memory.h"
#include "checker/orders/cycles.h"
#include "checker/orders/reference.h"
#include "checker/orders/streams.h"
#include "checker/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SWEEPS_MAX = 256,
    DROP_TRIES_MAX = 128,
    EXACT_CANDIDATES_MAX = 14,
    EXACT_OPS_MAX = 400,
    SWEPT_OPS_MAX = 4000000,
    ALIKE_PAIRS_MAX = 20000000,
    SORTED_OPS_MAX = 4000 /* beyond, many edges are better taken in together */
};

/* ---- what is still unsafe ---- */

struct mender {
    const struct check_context *context;
    struct check_partial_order reach;
    struct check_plan plan;
    uint32_t *position;
    struct check_repair *repair;
    bool recorded; /* the reference is the recorded order */
    bool *alone;   /* per rank: it alone must be turned for some fault, so it needs an edge */
};

static void add_edge(struct mender *mender, uint32_t before, uint32_t after)
{
    struct check_repair *repair = mender->repair;
    if (mender->position[before] > mender->position[after]) {
        uint32_t swap = before;
        before = after;
        after = swap;
    }
    if (check_partial_order_before(&mender->reach, before, after))
        return;
    check_partial_order_sort(&mender->reach, before, after);
    repair->edges =
        check_grow(repair->edges, &repair->room, repair->count + 1, sizeof *repair->edges);
    repair->edges[repair->count++] = (struct repair_edge){.before = before, .after = after};
}

/* The order of the plan with these edges, made anew. */
static void rebuild(struct mender *mender, const struct repair_edge *edges, size_t count)
{
    const struct trace_op *ops = mender->context->trace->ops;
    struct trace_edge *more = check_new(count, sizeof *more);
    for (size_t i = 0; i < count; i++)
        more[i] = (struct trace_edge){
            .from = ops[edges[i].before].node, .to = ops[edges[i].after].node, .type = EDGE_ORDER};
    check_partial_order_release(&mender->reach);
    check_partial_order_init_with(&mender->reach, mender->context, more, count);
    free(more);
}

static bool is_unordered(const struct check_partial_order *reach, uint32_t a, uint32_t b)
{
    return !check_partial_order_before(reach, a, b) && !check_partial_order_before(reach, b, a);
}

/* In a large pass the same two places meet over and over: all their unordered pairs of the
 * component are ordered alike. */
static void order_alike(struct mender *mender, const struct cycle_search *search, uint32_t stands,
                        uint32_t held)
{
    const struct check_components *components = search->components;
    const struct trace_op *ops = mender->context->trace->ops;
    uint32_t component = components->standing[stands];
    const uint32_t *posted = components->posted_ops + components->posted_begin[component];
    const uint32_t *end = components->posted_ops + components->posted_begin[component + 1];
    uint64_t budget = ALIKE_PAIRS_MAX;
    for (uint32_t i = components->standing_begin[component];
         i < components->standing_begin[component + 1]; i++) {
        uint32_t one = components->standing_ops[i];
        if (ops[one].form->site != ops[stands].form->site || ops[one].kind != ops[stands].kind)
            continue;
        while (posted < end && ops[*posted].rank < ops[one].rank)
            posted++;
        for (const uint32_t *other = posted;
             other < end && ops[*other].rank == ops[one].rank && budget; other++, budget--)
            if (ops[*other].form->site == ops[held].form->site &&
                ops[*other].kind == ops[held].kind && is_unordered(&mender->reach, one, *other))
                add_edge(mender, *other, one);
    }
}

/* One pair of the cycle is enough; where only one is turned, its rank needs an edge in any repair
 * towards the reference. */
static bool mend_cycle(struct mender *mender, const struct cycle_search *search,
                       const struct check_cycle *cycle)
{
    size_t turned = 0, which = 0;
    for (size_t i = 0; i < cycle->count; i++) {
        const struct cycle_step *step = &cycle->steps[i];
        if (!check_step_is_turned(search, step->stands, step->held) ||
            !is_unordered(&mender->reach, step->stands, step->held))
            continue;
        which = i;
        turned++;
    }
    if (!turned)
        return false;
    const struct cycle_step *step = &cycle->steps[which];
    if (turned == 1)
        mender->alone[mender->context->trace->ops[step->stands].rank] = true;
    add_edge(mender, step->held, step->stands);
    if (mender->context->trace->op_count > EXACT_OPS_MAX)
        order_alike(mender, search, step->stands, step->held);
    return true;
}

/* A pair of a stream with wildcard tags crosses only in some programs: turned round and replayed,
 * it shows. */
static bool is_harmless(const struct mender *mender, const struct stream_pair *pair)
{
    if (!pair->doubtful || !mender->recorded)
        return false;
    uint32_t *position = check_new(mender->context->trace->op_count, sizeof *position);
    uint32_t *order = check_new(mender->context->trace->op_count, sizeof *order);
    uint32_t first = pair->first < pair->second ? pair->first : pair->second;
    for (uint32_t op = 0; op < mender->context->trace->op_count; op++)
        order[op] = op;
    check_partial_order_linearize(&mender->reach, first ^ pair->first ^ pair->second, first, order);
    for (uint32_t at = 0; at < mender->context->trace->op_count; at++)
        position[order[at]] = at;
    bool harmless = check_order_completes(mender->context, position);
    free(order);
    free(position);
    return harmless;
}

/* Orders all pairs of streams that nothing orders, those of any tag left out. Towards one reference
 * they never contradict each other. */
static void order_pairs(struct mender *mender, const struct check_streams *streams)
{
    struct repair_edge *edges = NULL;
    struct check_repair *repair = mender->repair;
    for (size_t i = 0; i < streams->pair_count; i++) {
        const struct stream_pair *pair = &streams->pairs[i];
        bool forward = mender->position[pair->first] < mender->position[pair->second];
        if (pair->doubtful)
            continue;
        mender->alone[mender->context->trace->ops[pair->first].rank] = true;
        edges = repair->edges =
            check_grow(repair->edges, &repair->room, repair->count + 1, sizeof *repair->edges);
        edges[repair->count++] =
            (struct repair_edge){.before = forward ? pair->first : pair->second,
                                 .after = forward ? pair->second : pair->first};
    }
    if (edges)
        rebuild(mender, edges, repair->count);
}

/* Orders what it finds unsafe, or only looks; false when nothing was. */
static bool sweep_streams(struct mender *mender, bool mend)
{
    struct check_streams streams;
    bool unsafe = false;
    check_streams_init(&streams, &mender->reach, mender->position);
    if (mend && mender->context->trace->op_count > SORTED_OPS_MAX) {
        unsafe = streams.pair_count > 0;
        order_pairs(mender, &streams);
    }
    for (size_t i = 0; i < streams.pair_count; i++) {
        const struct stream_pair *pair = &streams.pairs[i];
        if (!is_unordered(&mender->reach, pair->first, pair->second) || is_harmless(mender, pair))
            continue;
        unsafe = true;
        if (!mend)
            break;
        if (!pair->doubtful)
            mender->alone[mender->context->trace->ops[pair->first].rank] = true;
        add_edge(mender, pair->first, pair->second);
    }
    check_streams_release(&streams);
    return unsafe;
}

static bool sweep_model(struct mender *mender, enum check_model model, bool mend, bool *failed)
{
    struct check_needs needs;
    struct check_components components;
    bool unsafe = false;
    check_needs_init(&needs, &mender->plan, model);
    check_components_init(&components, &needs, &mender->reach);
    struct cycle_search search = {.reach = &mender->reach,
                                  .needs = &needs,
                                  .components = &components,
                                  .reference_is_safe = true,
                                  .position = mender->position};
    for (uint32_t c = 0; c < components.count && !*failed && (mend || !unsafe); c++) {
        search.budget = mender->context->options->search_limit / 16;
        struct check_cycle cycle = check_cycle_find(&search, c);
        mender->repair->bounded = mender->repair->bounded || (!cycle.count && !search.budget);
        if (cycle.count) {
            unsafe = true;
            *failed = mend && !mend_cycle(mender, &search, &cycle);
        }
        free(cycle.steps);
    }
    check_components_release(&components);
    check_needs_release(&needs);
    return unsafe;
}

static bool sweep(struct mender *mender, bool mend, bool *failed)
{
    bool unsafe = sweep_streams(mender, mend);
    for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH && !*failed && (mend || !unsafe);
         model <<= 1)
        if (check_models_asked(mender->context) & model)
            unsafe = sweep_model(mender, (enum check_model)model, mend, failed) || unsafe;
    return unsafe;
}

/* Whether the edges whose bit is set (all where `chosen` is NULL) make everything safe; the reach
 * is left that way. */
static bool is_safe_with(struct mender *mender, const struct repair_edge *edges, size_t count,
                         const bool *chosen)
{
    bool failed = false;
    if (!chosen && mender->context->trace->op_count > SORTED_OPS_MAX) {
        rebuild(mender, edges, count);
        return !sweep(mender, false, &failed);
    }
    check_partial_order_release(&mender->reach);
    check_partial_order_init(&mender->reach, mender->context);
    for (size_t i = 0; i < count; i++) {
        if (chosen && !chosen[i])
            continue;
        if (is_unordered(&mender->reach, edges[i].before, edges[i].after))
            check_partial_order_sort(&mender->reach, edges[i].before, edges[i].after);
    }
    return !sweep(mender, false, &failed);
}

static void drop_needless(struct mender *mender)
{
    struct check_repair *repair = mender->repair;
    if (repair->count > DROP_TRIES_MAX)
        return;
    for (size_t i = repair->count; i-- > 0;) {
        struct repair_edge edge = repair->edges[i];
        repair->edges[i] = repair->edges[--repair->count];
        if (is_safe_with(mender, repair->edges, repair->count, NULL))
            continue;
        repair->edges[repair->count++] = repair->edges[i];
        repair->edges[i] = edge;
    }
}

/* ---- the exact minimum, where there is little to choose from ---- */

static size_t gather_candidates(const struct mender *mender, struct repair_edge *candidates)
{
    const struct check_partial_order *reach = &mender->reach;
    size_t count = 0;
    for (size_t s = 0; s < reach->segment_count; s++) {
        const struct reach_segment *segment = &reach->segments[s];
        for (uint32_t i = 0; i < segment->item_count; i++)
            for (uint32_t j = i + 1; j < segment->item_count; j++) {
                uint32_t a = segment->item_ops[segment->item_begin[i]],
                         b = segment->item_ops[segment->item_begin[j]];
                if (!is_unordered(reach, a, b))
                    continue;
                if (count == EXACT_CANDIDATES_MAX)
                    return count + 1;
                bool forward = mender->position[a] < mender->position[b];
                candidates[count++] =
                    (struct repair_edge){.before = forward ? a : b, .after = forward ? b : a};
            }
    }
    return count;
}

/* Tries every set of `size` candidates from `from` on. */
static bool choose(struct mender *mender, const struct repair_edge *candidates, size_t count,
                   size_t from, size_t size, bool *chosen)
{
    if (size == 0)
        return is_safe_with(mender, candidates, count, chosen);
    for (size_t i = from; i + size <= count; i++) {
        chosen[i] = true;
        if (choose(mender, candidates, count, i + 1, size - 1, chosen))
            return true;
        chosen[i] = false;
    }
    return false;
}

static void minimise(struct mender *mender)
{
    struct repair_edge candidates[EXACT_CANDIDATES_MAX + 1];
    struct check_repair *repair = mender->repair;
    if (mender->context->trace->op_count > EXACT_OPS_MAX || repair->count <= repair->lower_bound)
        return;
    check_partial_order_release(&mender->reach);
    check_partial_order_init(&mender->reach, mender->context);
    size_t count = gather_candidates(mender, candidates);
    if (count > EXACT_CANDIDATES_MAX)
        return;
    for (size_t size = repair->lower_bound; size < repair->count; size++) {
        bool chosen[EXACT_CANDIDATES_MAX] = {false};
        if (!choose(mender, candidates, count, 0, size, chosen))
            continue;
        repair->count = 0;
        for (size_t i = 0; i < count; i++)
            if (chosen[i])
                repair->edges[repair->count++] = candidates[i];
    }
    repair->lower_bound = repair->count;
}

/* ---- all together ---- */

static bool mender_init(struct mender *mender, const struct check_context *context,
                        struct check_repair *repair)
{
    size_t ops = context->trace->op_count;
    *mender = (struct mender){.context = context, .repair = repair};
    check_partial_order_init(&mender->reach, context);
    check_plan_init(&mender->plan, context, &(struct plan_options){0});
    mender->alone = check_new(context->trace->ranks, sizeof *mender->alone);
    mender->position = check_new(ops, sizeof *mender->position);
    return check_reference_find(&mender->reach, mender->position, &mender->recorded);
}

static void mender_release(struct mender *mender)
{
    check_partial_order_release(&mender->reach);
    check_plan_release(&mender->plan);
    free(mender->alone);
    free(mender->position);
}

void check_repair_find(struct check_repair *repair, const struct check_context *context)
{
    struct mender mender;
    bool failed = false, unsafe = true;
    *repair = (struct check_repair){0};
    if (mender_init(&mender, context, repair)) {
        size_t sweeps = SWEPT_OPS_MAX / (context->trace->op_count + 1) + 4;
        for (size_t i = 0; i < SWEEPS_MAX && i < sweeps && unsafe && !failed; i++)
            unsafe = sweep(&mender, true, &failed);
        repair->repairs = !unsafe && !failed;
        for (uint32_t rank = 0; rank < context->trace->ranks; rank++)
            repair->lower_bound += mender.alone[rank];
        if (repair->repairs) {
            drop_needless(&mender);
            minimise(&mender);
            repair->repairs = is_safe_with(&mender, repair->edges, repair->count, NULL);
        }
    }
    mender_release(&mender);
}

void check_repair_release(struct check_repair *repair)
{
    free(repair->edges);
    *repair = (struct check_repair){0};
}

/* ---- text ---- */

static uint32_t forward_site(const struct trace *trace, uint32_t op)
{
    uint32_t node = trace->ops[op].node;
    uint32_t forward = node == TRACE_NO ? TRACE_NO : trace->nodes[node].forward;
    return forward == TRACE_NO ? trace->ops[op].form->site : trace->nodes[forward].site;
}

static const char *forward_name(const struct trace *trace, uint32_t op)
{
    uint32_t node = trace->ops[op].node;
    uint32_t forward = node == TRACE_NO ? TRACE_NO : trace->nodes[node].forward;
    return op_kind_name(forward == TRACE_NO ? trace->ops[op].kind : trace->nodes[forward].kind);
}

/* A join as the programmer sees it: two places; all ranks and layers that need it are one. */
struct join {
    uint32_t at, on;
    const struct repair_edge *edge;
};

static int by_place(const void *a, const void *b)
{
    const struct join *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->on != y->on)
        return x->on < y->on ? -1 : 1;
    return x->edge < y->edge ? -1 : x->edge > y->edge;
}

static void write_join(FILE *out, const struct trace *trace, const struct join *join, size_t same)
{
    char at[PLACE_TEXT], on[PLACE_TEXT];
    const struct repair_edge *edge = join->edge;
    fprintf(out, "at %s: diff_join the input of %s with the result of %s at %s (rank %u",
            trace_site_text(trace, join->at, at, sizeof at), forward_name(trace, edge->before),
            forward_name(trace, edge->after), trace_site_text(trace, join->on, on, sizeof on),
            trace->ops[edge->before].rank);
    if (same > 1)
        fprintf(out, " and %zu more", same - 1);
    fputs(")\n", out);
}

/* The backward pass runs `before` first if its forward operation depends on that of `after`. */
/* In the terms of an imported plan: what its operations are to list besides. */
static void write_deps(FILE *out, const struct trace *trace, const struct check_repair *repair)
{
    char place[PLACE_TEXT];
    for (size_t i = 0; i < repair->count; i++) {
        const struct trace_op *before = &trace->ops[repair->edges[i].before],
                              *after = &trace->ops[repair->edges[i].after];
        fprintf(out, "  add %u to the order_deps of id %u: %s\n",
                before->node == TRACE_NO ? trace_op_seq(trace, before)
                                         : trace->nodes[before->node].id,
                after->node == TRACE_NO ? trace_op_seq(trace, after) : trace->nodes[after->node].id,
                check_place(trace, repair->edges[i].after, place, sizeof place));
    }
    if (repair->bounded)
        fputs("not all orders with these edges could be searched\n", out);
}

char *check_repair_text(const struct check_repair *repair, const struct trace *trace)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return check_text("%zu order edges\n", repair->count);
    bool fewest = repair->count == repair->lower_bound;
    fprintf(out, "%zu order edge%s%s:\n", repair->count, repair->count == 1 ? "" : "s",
            fewest ? " (the fewest towards this order)" : "");
    if (trace->outcome == OUTCOME_IMPORTED) {
        write_deps(out, trace, repair);
        fclose(out);
        return text;
    }
    struct join *joins = check_new(repair->count, sizeof *joins);
    for (size_t i = 0; i < repair->count; i++)
        joins[i] = (struct join){.at = forward_site(trace, repair->edges[i].before),
                                 .on = forward_site(trace, repair->edges[i].after),
                                 .edge = &repair->edges[i]};
    if (repair->count)
        qsort(joins, repair->count, sizeof *joins, by_place);
    for (size_t i = 0, end; i < repair->count; i = end) {
        for (end = i;
             end < repair->count && joins[end].at == joins[i].at && joins[end].on == joins[i].on;)
            end++;
        write_join(out, trace, &joins[i], end - i);
    }
    if (!fewest && repair->lower_bound)
        fprintf(out, "at least %zu are needed towards this order\n", repair->lower_bound);
    if (repair->bounded)
        fputs("not all orders with these edges could be searched\n", out);
    free(joins);
    fclose(out);
    return text;
}
