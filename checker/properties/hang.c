/* See hang.h. */
#include "checker/properties/hang.h"

#include "checker/memory.h"
#include "checker/places.h"

#include <stdlib.h>

bool hang_is_unmatched(const struct trace_op *op)
{
    enum op_class class = check_class(op);
    return (class == CLASS_SEND || class == CLASS_RECEIVE) && op->match == TRACE_NO &&
           op->peer != TRACE_NONE &&
           (op->state == STATE_POSTED || op->state == STATE_BLOCKED ||
            (class == CLASS_SEND && op->state == STATE_COMPLETE));
}

static bool stands(const struct hang *hang, uint32_t rank)
{
    return hang->graph && !hang->graph->nodes[rank].goes &&
           hang->context->blocked[rank] != TRACE_NO;
}

static void find_unmatched(struct hang *hang)
{
    const struct trace *trace = hang->context->trace;
    hang->begin = check_new(trace->ranks + 1, sizeof *hang->begin);
    for (size_t i = 0; i < trace->op_count; i++)
        hang->unmatched_count += hang_is_unmatched(&trace->ops[i]);
    hang->unmatched = check_new(hang->unmatched_count, sizeof *hang->unmatched);
    hang->loose = check_new(hang->unmatched_count, sizeof *hang->loose);
    size_t count = 0;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        hang->begin[rank] = (uint32_t)count;
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
            if (!hang_is_unmatched(&trace->ops[i]))
                continue;
            hang->unmatched[count++] = (uint32_t)i;
            if (!stands(hang, rank))
                hang->loose[hang->loose_count++] = (uint32_t)i;
        }
    }
    hang->begin[trace->ranks] = (uint32_t)count;
}

static bool has_peer(const struct hang *hang, uint32_t op)
{
    const struct trace *trace = hang->context->trace;
    return trace->ops[op].peer >= 0 && (uint32_t)trace->ops[op].peer < trace->ranks;
}

static void find_peers(struct hang *hang)
{
    const struct trace *trace = hang->context->trace;
    hang->to_begin = check_new(trace->ranks + 2, sizeof *hang->to_begin);
    hang->to = check_new(hang->unmatched_count, sizeof *hang->to);
    for (size_t i = 0; i < hang->unmatched_count; i++)
        if (has_peer(hang, hang->unmatched[i]))
            hang->to_begin[trace->ops[hang->unmatched[i]].peer + 2]++;
    for (uint32_t rank = 2; rank < trace->ranks + 2; rank++)
        hang->to_begin[rank] += hang->to_begin[rank - 1];
    for (size_t i = 0; i < hang->unmatched_count; i++)
        if (has_peer(hang, hang->unmatched[i]))
            hang->to[hang->to_begin[trace->ops[hang->unmatched[i]].peer + 1]++] =
                hang->unmatched[i];
}

static void find_unstarted(struct hang *hang)
{
    const struct trace *trace = hang->context->trace;
    hang->unstarted = check_new(PLACES_LISTED_MAX, sizeof *hang->unstarted);
    for (uint32_t op = 0; trace->outcome != OUTCOME_IMPORTED && op < trace->op_count &&
                          hang->unstarted_count < PLACES_LISTED_MAX;
         op++)
        if (op_kind_class(trace->ops[op].kind) == CLASS_WAIT && trace->ops[op].peer >= 0 &&
            !trace->ops[op].count)
            hang->unstarted[hang->unstarted_count++] = op;
}

void hang_init(struct hang *hang, const struct check_context *context,
               const struct wait_graph *graph)
{
    uint32_t ranks = context->trace->ranks;
    *hang = (struct hang){.context = context, .graph = graph};
    if (graph)
        wait_reach_init(&hang->reach, graph);
    hang->core = check_new(ranks, sizeof *hang->core);
    hang->waiting = check_new(2 * (size_t)ranks, sizeof *hang->waiting);
    hang->astray = check_new(ranks, sizeof *hang->astray);
    for (uint32_t rank = 0; rank < ranks; rank++)
        if (stands(hang, rank) && hang->reach.astray[rank])
            hang->astray[hang->astray_count++] = rank;
    find_unmatched(hang);
    find_peers(hang);
    find_unstarted(hang);
    hang->ops = check_new(2 * hang->unmatched_count, sizeof *hang->ops);
    hang->named = check_new(context->trace->op_count, sizeof *hang->named);
}

void hang_release(struct hang *hang)
{
    wait_reach_release(&hang->reach);
    free(hang->core);
    free(hang->waiting);
    free(hang->astray);
    free(hang->unmatched);
    free(hang->begin);
    free(hang->to);
    free(hang->to_begin);
    free(hang->loose);
    free(hang->ops);
    free(hang->unstarted);
    free(hang->named);
}

/* In order, each once; how many are left. */
static size_t sort_once(uint32_t *numbers, size_t count)
{
    size_t left = 0;
    qsort(numbers, count, sizeof *numbers, check_by_number);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || numbers[i] != numbers[i - 1])
            numbers[left++] = numbers[i];
    return left;
}

static bool is_among(uint32_t op, const uint32_t *ops, size_t count)
{
    return count && bsearch(&op, ops, count, sizeof *ops, check_by_number);
}

/* The components of the core's ranks: whoever is in one waits for the core in the end, and the core for him, so that
 * the core alone may not be why he stands. */
struct knots {
    uint32_t *components;
    size_t count;
};

static struct knots knots_of_core(const struct hang *hang)
{
    struct knots knots = {check_new(hang->core_count + 1, sizeof *knots.components), 0};
    for (size_t i = 0; i < hang->core_count; i++)
        if (stands(hang, hang->core[i]))
            knots.components[knots.count++] = hang->graph->nodes[hang->core[i]].component;
    knots.count = sort_once(knots.components, knots.count);
    return knots;
}

static bool is_of_a_knot(const struct hang *hang, const struct knots *knots, uint32_t rank)
{
    return stands(hang, rank) &&
           is_among(hang->graph->nodes[rank].component, knots->components, knots->count);
}

static void tell_waiting(const struct hang *hang, struct finding *finding)
{
    const struct trace *trace = hang->context->trace;
    struct knots knots = knots_of_core(hang);
    unsigned listed = 0, more = 0;
    bool knot = false;
    for (size_t i = 0; i < hang->waiting_count; i++) {
        uint32_t op = hang->context->blocked[hang->waiting[i]];
        if (op == TRACE_NO)
            continue;
        char place[PLACE_TEXT];
        if (listed++ < PLACES_LISTED_MAX) {
            finding_detail(finding, "%s: %s.\n",
                           is_of_a_knot(hang, &knots, hang->waiting[i]) ? "Stands, too"
                                                                        : "Only waits",
                           check_place(trace, op, place, sizeof place));
            finding_op_add(finding, op, "waits");
        } else {
            knot |= is_of_a_knot(hang, &knots, hang->waiting[i]);
            more++;
        }
    }
    if (more)
        finding_detail(finding, "%s: %u more ranks.\n", knot ? "Stand, too" : "Only wait", more);
    free(knots.components);
}

/* Those of two lists, each in order, that the finding does not name yet: the first are told, the others counted. */
static void tell_unmatched(struct hang *hang, struct finding *finding, const uint32_t *ops,
                           size_t count, const uint32_t *loose, size_t loose_count)
{
    size_t before = finding->op_count, left = count + loose_count, at = 0, at_loose = 0, listed = 0;
    for (size_t i = 0; i < before; i++) {
        uint32_t op = finding->ops[i].op;
        if (op == TRACE_NO || hang->named[op])
            continue;
        hang->named[op] = true;
        left -= is_among(op, ops, count) || is_among(op, loose, loose_count);
    }
    while (listed < PLACES_LISTED_MAX && (at < count || at_loose < loose_count)) {
        bool own = at < count && (at_loose == loose_count || ops[at] < loose[at_loose]);
        uint32_t op = own ? ops[at++] : loose[at_loose++];
        char place[PLACE_TEXT];
        if (hang->named[op])
            continue;
        finding_detail(finding, "Unmatched: %s.\n",
                       check_place(hang->context->trace, op, place, sizeof place));
        finding_op_add(finding, op, "unmatched");
        listed++;
    }
    if (left > listed)
        finding_detail(finding, "Unmatched: %zu more operations.\n", left - listed);
    for (size_t i = 0; i < before; i++)
        if (finding->ops[i].op != TRACE_NO)
            hang->named[finding->ops[i].op] = false;
}

/* To the operations that a hang tells of, those that are not loose. */
static size_t add_range(const struct hang *hang, const uint32_t *from, uint32_t begin, uint32_t end,
                        size_t count)
{
    for (uint32_t i = begin; i < end; i++)
        if (stands(hang, hang->context->trace->ops[from[i]].rank))
            hang->ops[count++] = from[i];
    return count;
}

void hang_tell_around(struct hang *hang, struct finding *finding)
{
    size_t count = 0;
    hang->core_count = sort_once(hang->core, hang->core_count);
    hang->waiting_count =
        wait_reach_waiting(&hang->reach, hang->core, hang->core_count, hang->waiting);
    for (size_t i = 0; i < hang->astray_count; i++)
        if (!is_among(hang->astray[i], hang->core, hang->core_count))
            hang->waiting[hang->waiting_count++] = hang->astray[i];
    hang->waiting_count = sort_once(hang->waiting, hang->waiting_count);
    tell_waiting(hang, finding);
    for (size_t i = 0; i < hang->core_count; i++) {
        uint32_t rank = hang->core[i];
        count = add_range(hang, hang->unmatched, hang->begin[rank], hang->begin[rank + 1], count);
        count = add_range(hang, hang->to, hang->to_begin[rank], hang->to_begin[rank + 1], count);
    }
    for (size_t i = 0; i < hang->waiting_count; i++) {
        uint32_t rank = hang->waiting[i];
        count = add_range(hang, hang->unmatched, hang->begin[rank], hang->begin[rank + 1], count);
    }
    tell_unmatched(hang, finding, hang->ops, sort_once(hang->ops, count), hang->loose,
                   hang->loose_count);
}

void hang_tell_all(struct hang *hang, struct finding *finding, uint32_t rank)
{
    hang->waiting_count = 0;
    for (uint32_t other = 0; other < hang->context->trace->ranks; other++)
        if (other != rank && stands(hang, other))
            hang->waiting[hang->waiting_count++] = other;
    tell_waiting(hang, finding);
    hang_tell_unmatched(hang, finding);
}

void hang_tell_unmatched(struct hang *hang, struct finding *finding)
{
    tell_unmatched(hang, finding, hang->unmatched, hang->unmatched_count, NULL, 0);
}

void hang_tell_unstarted(const struct hang *hang, struct finding *finding)
{
    char place[PLACE_TEXT];
    for (size_t i = 0; i < hang->unstarted_count; i++) {
        finding_detail(finding, "MPI_Start is missing: the request of %s was never started.\n",
                       check_place(hang->context->trace, hang->unstarted[i], place, sizeof place));
        finding_op_add(finding, hang->unstarted[i], "unstarted");
    }
}
