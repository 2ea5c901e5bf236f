/* D001 and D005: this run stood still. Which pair is at fault, who only waits, what stayed
 * unmatched.
 *
 * A cause is a sink of the wait-for graph: a cycle of ranks, or a rank whose partner is over and
 * will never act. One finding per cycle, and one per place that waits for ranks that are over. A
 * cycle through a crashed or aborted rank is not reported: that rank's end is (crash.c). */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/properties/hang.h"
#include "checker/replay/wait_cycles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How nearly an unmatched op of the peer fits the blocked one: 0 not at all; what differs goes into
 * `why`. */
static int nearness(const struct trace_op *blocked, const struct trace_op *other, const char **why)
{
    enum op_class mine = check_class(blocked), theirs = check_class(other);
    bool opposite = mine == CLASS_SEND ? theirs == CLASS_RECEIVE : theirs == CLASS_SEND;
    bool toward = other->peer == TRACE_ANY || other->peer == (int32_t)blocked->rank;
    if (!opposite || !toward || !hang_is_unmatched(other))
        return 0;
    bool tags = blocked->tag == other->tag || blocked->tag == TRACE_ANY || other->tag == TRACE_ANY;
    if (blocked->form->comm != other->form->comm) {
        *why = "on another communicator";
        return tags ? 2 : 1;
    }
    *why = tags ? "which does not match" : "with another tag";
    return 3;
}

/* The unmatched op of the peer that most nearly fits: the usual culprit. */
static uint32_t near_miss(const struct trace *trace, uint32_t op, const char **why)
{
    const struct trace_op *blocked = &trace->ops[op];
    enum op_class class = check_class(blocked);
    if ((class != CLASS_SEND && class != CLASS_RECEIVE && class != CLASS_PROBE) ||
        blocked->peer < 0 || (uint32_t)blocked->peer >= trace->ranks)
        return TRACE_NO;
    uint32_t best = TRACE_NO;
    int best_nearness = 0;
    for (size_t i = trace->rank_begin[blocked->peer]; i < trace->rank_begin[blocked->peer + 1];
         i++) {
        const char *difference = "";
        int near = nearness(blocked, &trace->ops[i], &difference);
        if (near > best_nearness) {
            best_nearness = near;
            best = (uint32_t)i;
            *why = difference;
        }
    }
    return best;
}

static void report_near_miss(struct finding *finding, const struct trace *trace, uint32_t op)
{
    const char *why = "";
    uint32_t culprit = near_miss(trace, op, &why);
    if (culprit == TRACE_NO)
        return;
    char place[PLACE_TEXT];
    finding_detail(finding, "Nearest partner: %s, %s.\n",
                   check_place(trace, culprit, place, sizeof place), why);
    for (size_t i = 0; i < finding->op_count; i++)
        if (finding->ops[i].op == culprit)
            return;
    finding_op_add(finding, culprit, "culprit");
}

/* How many collective calls the rank has made on the communicator. */
static uint32_t calls_of(const struct check_context *context, uint32_t rank, uint32_t comm)
{
    const struct trace *trace = context->trace;
    uint32_t calls = 0;
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++)
        calls +=
            trace->ops[i].form->comm == comm && (check_group_of(context, (uint32_t)i) != TRACE_NO ||
                                                 trace->ops[i].kind == OP_INTERCOMM_CREATE);
    return calls;
}

static bool is_member(const struct trace *trace, uint32_t comm, uint32_t rank)
{
    for (uint32_t i = check_comm_size(trace, comm); i-- > 0;)
        if (check_comm_member(trace, comm, i) == rank)
            return true;
    return false;
}

/* What the blocked op lacks, seen from the rank it waits for. */
static void report_missing(struct finding *finding, const struct check_context *context,
                           uint32_t op, uint32_t rank)
{
    const struct trace *trace = context->trace;
    const struct trace_op *waiting = &trace->ops[op];
    char text[PLACE_TEXT];
    if (waiting->kind == OP_FINALIZE) {
        finding_detail(finding, "Rank %u has finished without calling it.\n", rank);
        return;
    }
    if (waiting->kind == OP_INTERCOMM_CREATE && !is_member(trace, waiting->form->comm, rank)) {
        finding_detail(
            finding, "Rank %u, the other group's leader, has finished without calling it.\n", rank);
        return;
    }
    if (check_class(waiting) == CLASS_COLLECTIVE) {
        uint32_t calls = calls_of(context, rank, waiting->form->comm);
        finding_detail(finding,
                       "Rank %u has finished and is absent: it made %u collective call%s on %s, "
                       "this is number "
                       "%u.\n",
                       rank, calls, calls == 1 ? "" : "s",
                       check_comm_text(trace, waiting->form->comm, text, sizeof text),
                       waiting->comm_seq + 1);
        return;
    }
    const char *without = check_class(waiting) == CLASS_SEND ? "an operation that receives it"
                          : waiting->kind == OP_WIN_START    ? "a MPI_Win_post that it waits for"
                          : waiting->kind == OP_WIN_WAIT     ? "the MPI_Win_complete"
                          : check_class(waiting) == CLASS_CONTROL ? "giving the lock back"
                                                                  : "an operation that sends it";
    finding_detail(finding, "Rank %u has finished without %s.\n", rank, without);
}

static void finish(struct finding *finding, const struct check_context *context)
{
    finding->confirmation = CONFIRM_HAPPENED;
    snprintf(finding->models, sizeof finding->models, "%s", context->trace->model);
    finding_seal(finding, context->trace);
}

/* The op a rank of a path stands for: its own, or the request or call that the next node stands
 * for. */
static uint32_t reason_op(const struct wait_graph *graph, const uint32_t *path, size_t length,
                          size_t at)
{
    uint32_t next = path[(at + 1) % length];
    if (next >= graph->context->trace->ranks && graph->nodes[next].op != TRACE_NO &&
        graph->context->trace->ops[graph->nodes[next].op].rank == path[at])
        return graph->nodes[next].op;
    return graph->nodes[path[at]].op;
}

static uint32_t next_rank(const struct wait_graph *graph, const uint32_t *path, size_t length,
                          size_t at)
{
    do
        at = (at + 1) % length;
    while (path[at] >= graph->context->trace->ranks);
    return path[at];
}

/* Where it is a batch that stands: the unmatched op, maybe another rank's, without which it does not
 * move; else TRACE_NO. */
static uint32_t op_held(const struct wait_graph *graph, const uint32_t *path, size_t length,
                        size_t at)
{
    const struct trace *trace = graph->context->trace;
    uint32_t reason = reason_op(graph, path, length, at), last = TRACE_NO;
    if (trace->ops[reason].match == TRACE_NO)
        return TRACE_NO;
    for (at = (at + 1) % length; path[at] >= trace->ranks; at = (at + 1) % length)
        last = graph->nodes[path[at]].op;
    return last != TRACE_NO && trace->ops[last].form->batch && hang_is_unmatched(&trace->ops[last])
               ? last
               : TRACE_NO;
}

/* How many besides the next rank the one at `at` may be served by, if it waits for anybody. */
static unsigned others_of_any(const struct wait_graph *graph, const uint32_t *path, size_t length,
                              size_t at)
{
    uint32_t ranks = graph->context->trace->ranks, rank = path[at],
             next = next_rank(graph, path, length, at);
    const struct wait_anybody *anybody = NULL;
    do {
        anybody = wait_anybody_of(graph, path[at]);
        at = (at + 1) % length;
    } while (!anybody && path[at] >= ranks);
    unsigned others = 0;
    for (uint32_t e = anybody ? graph->nodes[anybody->node].edge : TRACE_NO; e != TRACE_NO;
         e = graph->edges[e].next) {
        uint32_t to = graph->edges[e].to;
        others += to < ranks && to != rank && to != next && !wait_is_over(graph, to);
    }
    return others;
}

/* One rank of the cycle joins the finding; the first few are also put into words. */
static void name_in_cycle(struct finding *finding, const struct wait_graph *graph,
                          const uint32_t *path, size_t length, size_t at, bool in_words)
{
    const struct trace *trace = graph->context->trace;
    uint32_t op = graph->nodes[path[at]].op, reason = reason_op(graph, path, length, at),
             held = op_held(graph, path, length, at);
    finding_op_add(finding, op, "core");
    if (reason != op)
        finding_op_add(finding, reason, "core");
    if (held != TRACE_NO)
        finding_op_add(finding, held, "core");
    if (!in_words)
        return;
    char place[PLACE_TEXT], what[160], because[PLACE_TEXT] = "";
    if (reason != op)
        snprintf(because, sizeof because, " (for %s)",
                 trace_op_text(trace, reason, what, sizeof what));
    finding_detail(finding, "In the cycle: %s%s, waits for rank %u",
                   check_place(trace, op, place, sizeof place), because,
                   next_rank(graph, path, length, at));
    unsigned others = others_of_any(graph, path, length, at);
    if (others == 1)
        finding_detail(finding, " or another one, which stands, too");
    else if (others)
        finding_detail(finding, " or any of %u others, which stand, too", others);
    if (held != TRACE_NO)
        finding_detail(finding, ", which must match %s: a batch moves as a whole",
                       check_place(trace, held, place, sizeof place));
    finding_detail(finding, ".\n");
}

static void report_cycle(struct hang *hang, const uint32_t *path, size_t length,
                         struct findings *findings)
{
    const struct wait_graph *graph = hang->graph;
    const struct trace *trace = hang->context->trace;
    char places[PLACE_TEXT] = "";
    unsigned ranks = 0;
    hang->core_count = 0;
    for (size_t i = 0; i < length; i++)
        if (path[i] < trace->ranks) {
            hang->core[hang->core_count++] = path[i];
            ranks++;
            check_add_place(trace, graph->nodes[path[i]].op, places, sizeof places);
        }
    struct finding *finding =
        ranks == 1 ? findings_add(findings, "D001", "a rank waits for itself: %s", places)
                   : findings_add(findings, "D001", "cycle of %u blocked ranks: %s", ranks, places);
    unsigned listed = 0;
    for (size_t i = 0; i < length; i++)
        if (path[i] < trace->ranks)
            name_in_cycle(finding, graph, path, length, i, listed++ < PLACES_LISTED_MAX);
    listed = 0;
    for (size_t i = 0; i < length; i++)
        if (path[i] < trace->ranks && listed++ < PLACES_LISTED_MAX) {
            uint32_t held = op_held(graph, path, length, i);
            report_near_miss(finding, trace,
                             held != TRACE_NO ? held : reason_op(graph, path, length, i));
        }
    hang_tell_around(hang, finding);
    hang_tell_unstarted(hang, finding);
    finish(finding, hang->context);
}

static bool is_failed(const struct trace *trace, uint32_t rank)
{
    return trace->rank_info[rank].state == RANK_CRASHED ||
           trace->rank_info[rank].state == RANK_ABORTED;
}

/* A rank that is over, and what waits for it: of a collective call whoever's. */
struct absent {
    uint32_t rank, op;
};

/* Each once for its sends, its receives and its collective calls. */
static void add_absent(const struct trace *trace, struct absent *over, size_t *count, size_t limit,
                       struct absent absent)
{
    for (size_t i = 0; i < *count; i++)
        if (over[i].rank == absent.rank &&
            check_class(&trace->ops[over[i].op]) == check_class(&trace->ops[absent.op]))
            return;
    if (*count < limit)
        over[(*count)++] = absent;
}

/* The op with which `rank` waits for ranks that are over, TRACE_NO where it does not; those ranks
 * into `over`. What others serve waits for none. */
static uint32_t waits_for_ended(const struct check_context *context, const struct wait_graph *graph,
                                uint32_t node, struct absent *over, size_t *count, size_t limit)
{
    const struct trace *trace = context->trace;
    uint32_t reason = TRACE_NO;
    const struct wait_anybody *anybody = wait_anybody_of(graph, node);
    uint32_t first = graph->nodes[anybody ? anybody->node : node].edge;
    for (uint32_t e = first; e != TRACE_NO; e = graph->edges[e].next) {
        uint32_t to = graph->edges[e].to;
        if (anybody && (!wait_is_over(graph, to) || (reason != TRACE_NO && *count == limit)))
            break;
        if (graph->nodes[to].goes)
            continue;
        if (to >= trace->ranks) {
            uint32_t deeper = waits_for_ended(context, graph, to, over, count, limit);
            reason = deeper != TRACE_NO ? deeper : reason;
        } else if (wait_is_over(graph, to)) {
            reason = graph->nodes[node].op;
            add_absent(trace, over, count, limit, (struct absent){to, reason});
        }
    }
    return reason;
}

/* Whether ranks that are over suffice to hold the node up. Else it waits for any of several, others
 * among them that stand: it may be that those never come because they are held up. */
static bool is_held_up(const struct trace *trace, const struct wait_graph *graph, uint32_t node)
{
    const struct wait_anybody *anybody = wait_anybody_of(graph, node);
    if (anybody)
        return anybody->open == 0 ||
               (anybody->open == 1 && anybody->opened == graph->nodes[node].own);
    bool all = graph->nodes[node].kind == WAIT_ANY, found = false;
    for (uint32_t e = graph->nodes[node].edge; e != TRACE_NO; e = graph->edges[e].next) {
        uint32_t to = graph->edges[e].to;
        bool held = to >= trace->ranks ? is_held_up(trace, graph, to) : wait_is_over(graph, to);
        if (held != all)
            return held;
        found = true;
    }
    return all && found;
}

/* Causes: components that are told, ranks that failed among them (crash.c tells those). Ranks that
 * wait for any of several may be one, if nothing that they wait for is; else they only wait. */
struct causes {
    bool *has;   /* components: something in it is a cause by itself */
    bool *maybe; /* or waits for any of several, ranks that are over among them */
    bool *below; /* or for a component of these */
};

static void causes_init(struct causes *causes, const struct check_context *context,
                        const struct wait_graph *graph)
{
    const struct trace *trace = context->trace;
    size_t count = graph->component_count;
    causes->has = check_new(count + 1, sizeof *causes->has);
    causes->maybe = check_new(count + 1, sizeof *causes->maybe);
    causes->below = check_new(count + 1, sizeof *causes->below);
    uint32_t *next = check_new(graph->count + 1, sizeof *next);
    uint32_t *first = check_new(count + 1, sizeof *first);
    for (size_t c = 0; c < count; c++)
        first[c] = TRACE_NO;
    for (uint32_t n = 0; n < graph->count; n++) {
        const struct wait_node *node = &graph->nodes[n];
        size_t over = 0;
        if (node->goes)
            continue;
        next[n] = first[node->component];
        first[node->component] = n;
        if (n >= trace->ranks)
            continue;
        causes->has[node->component] |=
            !wait_is_over(graph, n) && (node->sink || is_held_up(trace, graph, n));
        causes->maybe[node->component] |=
            waits_for_ended(context, graph, n, NULL, &over, 0) != TRACE_NO;
    }
    for (size_t c = 0; c < count; c++) /* those that a component waits for come before it */
        for (uint32_t n = first[c]; n != TRACE_NO; n = next[n])
            for (uint32_t e = graph->nodes[n].edge; e != TRACE_NO; e = graph->edges[e].next) {
                const struct wait_node *to = &graph->nodes[graph->edges[e].to];
                if (!to->goes && to->component != c)
                    causes->below[c] |= causes->has[to->component] ||
                                        causes->maybe[to->component] ||
                                        causes->below[to->component];
            }
    free(next);
    free(first);
}

static void causes_release(struct causes *causes)
{
    free(causes->has);
    free(causes->maybe);
    free(causes->below);
}

static bool same_place(const struct trace *trace, uint32_t a, uint32_t b)
{
    return trace->ops[a].form->site == trace->ops[b].form->site &&
           trace->ops[a].kind == trace->ops[b].kind;
}

static int by_rank(const void *a, const void *b)
{
    const struct absent *one = a, *other = b;
    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    return (one->op > other->op) - (one->op < other->op);
}

/* The ranks that never come, in order; those that are absent from a call in the same way together.
 */
static void report_all_missing(struct finding *finding, const struct check_context *context,
                               struct absent *over, size_t count)
{
    const struct trace *trace = context->trace;
    if (!count)
        return;
    qsort(over, count, sizeof *over, by_rank);
    const struct trace_op *waiting = &trace->ops[over[0].op];
    bool alike =
        count > 1 && check_class(waiting) == CLASS_COLLECTIVE && waiting->kind != OP_FINALIZE;
    uint32_t calls = alike ? calls_of(context, over[0].rank, waiting->form->comm) : 0;
    for (size_t i = 1; i < count && alike; i++)
        alike = over[i].op == over[0].op &&
                calls_of(context, over[i].rank, waiting->form->comm) == calls;
    for (size_t i = 0; i < count && !alike; i++)
        report_missing(finding, context, over[i].op, over[i].rank);
    if (!alike)
        return;
    char text[PLACE_TEXT];
    finding_detail(finding, "Ranks ");
    for (size_t i = 0; i < count; i++)
        finding_detail(finding, "%s%u",
                       i == 0           ? ""
                       : i + 1 == count ? " and "
                                        : ", ",
                       over[i].rank);
    finding_detail(
        finding,
        "%s have ended and are absent: each made %u collective call%s on %s, this is "
        "number %u.\n",
        count == PLACES_LISTED_MAX ? " (and perhaps more)" : "", calls, calls == 1 ? "" : "s",
        check_comm_text(trace, waiting->form->comm, text, sizeof text), waiting->comm_seq + 1);
}

/* Told with `first`: it stands at the same place, or each may be what the other one waits for: where the first is
 * told without being held up, nobody in its component is. */
static bool is_told_with(const struct trace *trace, const struct wait_graph *graph, uint32_t first,
                         uint32_t rank)
{
    const struct wait_node *one = &graph->nodes[first], *other = &graph->nodes[rank];
    if (other->goes || other->kind == WAIT_NEVER)
        return false;
    return same_place(trace, one->op, other->op) ||
           (one->component == other->component && !is_held_up(trace, graph, first));
}

/* Of one collective call, whoever stands in it. */
static bool same_call(const struct trace *trace, uint32_t a, uint32_t b)
{
    const struct trace_op *one = &trace->ops[a], *other = &trace->ops[b];
    return check_class(one) == CLASS_COLLECTIVE && one->kind == other->kind &&
           one->form->comm == other->form->comm && one->comm_seq == other->comm_seq;
}

/* Who is absent from a call and is told so. */
struct told_absent {
    struct absent items[PLACES_LISTED_MAX * PLACES_LISTED_MAX];
    size_t count;
};

/* Leaves out those that are told to be absent from the same call; the others are told from now on. */
static size_t leave_told(const struct trace *trace, struct told_absent *told, struct absent *over,
                         size_t count)
{
    size_t before = told->count, left = 0;
    for (size_t i = 0; i < count; i++) {
        bool again = false;
        for (size_t k = 0; k < before; k++)
            again |= told->items[k].rank == over[i].rank &&
                     same_call(trace, told->items[k].op, over[i].op);
        if (!again)
            told->items[told->count++] = over[left++] = over[i];
    }
    return left;
}

/* One finding for all ranks that wait, at one place or for one another, for ranks that are over. */
static void report_absent(struct hang *hang, uint32_t first, bool *reported,
                          struct findings *findings)
{
    const struct check_context *context = hang->context;
    const struct wait_graph *graph = hang->graph;
    const struct trace *trace = context->trace;
    hang->core_count = 0;
    char place[PLACE_TEXT], places[PLACE_TEXT] = "";
    for (uint32_t rank = first; rank < trace->ranks; rank++) {
        size_t count = 0;
        if (!reported[rank] && is_told_with(trace, graph, first, rank) &&
            waits_for_ended(context, graph, rank, NULL, &count, 0) != TRACE_NO)
            check_add_place(trace, graph->nodes[rank].op, places, sizeof places);
    }
    struct finding *finding = findings_add(findings, "D001", "a partner never comes: %s", places);
    unsigned listed = 0;
    struct told_absent told = {.count = 0};
    for (uint32_t rank = first; rank < trace->ranks; rank++) {
        struct absent over[PLACES_LISTED_MAX];
        size_t count = 0;
        if (reported[rank] || !is_told_with(trace, graph, first, rank))
            continue;
        uint32_t reason = waits_for_ended(context, graph, rank, over, &count, PLACES_LISTED_MAX);
        if (reason == TRACE_NO)
            continue;
        hang->core[hang->core_count++] = rank;
        reported[rank] = true;
        if (trace->ops[reason].rank != rank)
            reason = graph->nodes[rank].op;
        if (listed++ >= PLACES_LISTED_MAX)
            continue;
        finding_detail(finding, "Stands: %s.\n",
                       check_place(trace, graph->nodes[rank].op, place, sizeof place));
        finding_op_add(finding, graph->nodes[rank].op, "core");
        if (reason != graph->nodes[rank].op)
            finding_op_add(finding, reason, "core");
        report_all_missing(finding, context, over, leave_told(trace, &told, over, count));
        report_near_miss(finding, trace, reason);
    }
    if (listed > PLACES_LISTED_MAX)
        finding_detail(finding, "Stand: %u more ranks.\n", listed - PLACES_LISTED_MAX);
    hang_tell_around(hang, finding);
    hang_tell_unstarted(hang, finding);
    finish(finding, context);
}

/* A wait or a poll whose partitioned send is not ready. */
static bool is_unready(const struct trace_op *stands)
{
    return op_kind_class(stands->kind) == CLASS_WAIT && stands->count > 0;
}

static void tell_unready(const struct trace_op *stands, struct finding *finding)
{
    if (is_unready(stands))
        finding_detail(finding,
                       "MPI_Pready is missing: partition %lld of the send to rank %d (tag %d) is "
                       "not marked ready.\n",
                       (long long)stands->count - 1, stands->peer, stands->tag);
}

/* A rank that stands in something the trace does not explain. `alone`: nobody explains any of the
 * others that stand, either. */
static void report_unexplained(struct hang *hang, uint32_t rank, bool alone,
                               struct findings *findings)
{
    const struct trace *trace = hang->context->trace;
    char place[PLACE_TEXT];
    uint32_t op = hang->graph->nodes[rank].op;
    hang->core[0] = rank;
    hang->core_count = 1;
    struct finding *finding = findings_add(findings, "D001", "a rank stands for ever: %s",
                                           check_short_place(trace, op, place, sizeof place));
    const struct trace_op *stands = &trace->ops[op];
    finding_detail(finding, "Stands: %s%s.\n", check_place(trace, op, place, sizeof place),
                   is_unready(stands) ? "" : "; the trace does not show what it waits for");
    tell_unready(stands, finding);
    finding_op_add(finding, op, "core");
    if (alone)
        hang_tell_all(hang, finding, rank);
    else
        hang_tell_around(hang, finding);
    finish(finding, hang->context);
}

static void report_causes(struct hang *hang, struct findings *findings)
{
    const struct check_context *context = hang->context;
    const struct wait_graph *graph = hang->graph;
    const struct trace *trace = context->trace;
    uint32_t *path = check_new(graph->count, sizeof *path);
    bool *component_told = check_new(graph->component_count, sizeof *component_told);
    bool *reported = check_new(trace->ranks, sizeof *reported);
    struct causes causes;
    struct wait_cycles cycles;
    wait_cycles_init(&cycles, graph);
    causes_init(&causes, context, graph);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        const struct wait_node *node = &graph->nodes[rank];
        size_t count = 0;
        if (node->goes)
            continue;
        if (node->kind == WAIT_NEVER) {
            if (node->op != TRACE_NO && !is_failed(trace, rank))
                report_unexplained(hang, rank, false, findings);
            continue;
        }
        bool only_waits = !is_held_up(trace, graph, rank) &&
                          (causes.has[node->component] || causes.below[node->component]);
        if (!reported[rank] && !only_waits &&
            waits_for_ended(context, graph, rank, NULL, &count, 0) != TRACE_NO)
            report_absent(hang, rank, reported, findings);
        if (!node->sink || component_told[node->component])
            continue;
        component_told[node->component] = true;
        size_t length = wait_cycles_shortest(&cycles, node->component, path);
        if (length)
            report_cycle(hang, path, length, findings);
    }
    free(path);
    causes_release(&causes);
    wait_cycles_release(&cycles);
    free(component_told);
    free(reported);
}

/* A run that stands has a finding, whatever the trace leaves out: all ranks that stand are
 * reported. Not where a rank failed, which is the cause itself (crash.c), or may still go on. */
static void report_all_blocked(struct hang *hang, struct findings *findings)
{
    const struct check_context *context = hang->context;
    const struct trace *trace = context->trace;
    uint32_t first = TRACE_NO;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        if (is_failed(trace, rank) ||
            (context->blocked[rank] == TRACE_NO && trace->rank_info[rank].state != RANK_FINISHED))
            return;
        if (first == TRACE_NO && context->blocked[rank] != TRACE_NO)
            first = rank;
    }
    if (first != TRACE_NO)
        report_unexplained(hang, first, true, findings);
}

static void report_livelock(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    struct hang hang;
    struct finding *finding =
        findings_add(findings, "D005", "every live rank polls and nothing changes");
    unsigned listed = 0;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
        if (trace->rank_info[rank].state == RANK_FINISHED || begin == end ||
            listed++ >= PLACES_LISTED_MAX)
            continue;
        char place[PLACE_TEXT];
        uint32_t op =
            context->blocked[rank] != TRACE_NO ? context->blocked[rank] : (uint32_t)(end - 1);
        finding_detail(finding, "Last: %s.\n", check_place(trace, op, place, sizeof place));
        tell_unready(&trace->ops[op], finding);
        finding_op_add(finding, op, "core");
    }
    hang_init(&hang, context, NULL);
    hang_tell_unmatched(&hang, finding);
    hang_release(&hang);
    finish(finding, context);
}

void check_deadlock(const struct check_context *context, struct findings *findings)
{
    if (context->trace->outcome == OUTCOME_LIVELOCK) {
        report_livelock(context, findings);
        return;
    }
    if (!context->hung || context->trace->outcome == OUTCOME_ABORTED)
        return;
    struct wait_graph graph;
    struct hang hang;
    size_t before = findings->count;
    wait_graph_init(&graph, context);
    hang_init(&hang, context, &graph);
    report_causes(&hang, findings);
    if (findings->count == before)
        report_all_blocked(&hang, findings);
    hang_release(&hang);
    wait_graph_release(&graph);
}
