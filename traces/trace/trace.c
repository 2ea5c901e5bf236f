/* The in-memory trace: its life, its invariants and what can be asked of it. See trace.h.
 *
 * Adding is build.c, matching match.c, texts text.c, hashes hash.c. */
#include "traces/trace/trace.h"

#include "traces/trace/memory.h"
#include "traces/trace/requests.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NDEBUG
#error "assertions are part of this program"
#endif

struct trace *trace_new(uint32_t ranks)
{
    assert(ranks > 0);
    struct trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return NULL;
    trace->ranks = ranks;
    trace->objective = NAN;
    trace->store = calloc(1, sizeof *trace->store);
    trace->rank_begin = calloc((size_t)ranks + 1, sizeof *trace->rank_begin);
    trace->node_begin = calloc((size_t)ranks + 1, sizeof *trace->node_begin);
    trace->rank_info = calloc(ranks, sizeof *trace->rank_info);
    trace->coverage = calloc(1, sizeof *trace->coverage);
    if (!trace->coverage || !trace->store || !trace->rank_begin || !trace->node_begin ||
        !trace->rank_info) {
        trace_free(trace);
        return NULL;
    }
    for (uint32_t rank = 0; rank < ranks; rank++)
        trace->rank_info[rank].site = TRACE_NO;
    return trace;
}

void trace_free(struct trace *trace)
{
    if (!trace)
        return;
    free(trace->ops);
    free(trace->rank_begin);
    free(trace->places);
    free(trace->times);
    free(trace->adjoints);
    free(trace->waits);
    free(trace->counts);
    free(trace->nodes);
    free(trace->node_begin);
    free(trace->edges);
    free(trace->passes);
    free(trace->comms);
    free(trace->sites);
    free(trace->strings);
    free(trace->rank_info);
    free(trace->notes);
    free(trace->accesses);
    free(trace->syncs);
    free(trace->folds);
    free(trace->gradients);
    free(trace->metrics);
    if (trace->coverage)
        coverage_release(trace->coverage);
    free(trace->coverage);
    if (trace->store)
        trace_memory_release(trace->store);
    free(trace);
}

/* Operations that are looked at together: so many stay near the processor. */
enum { WALK_OPS = 16384, WALK_STEP_MIN = 64 };

struct trace_walk trace_walk_begin(const struct trace *trace)
{
    size_t step = WALK_OPS / trace->ranks;
    return (struct trace_walk){.trace = trace, .step = step > WALK_STEP_MIN ? step : WALK_STEP_MIN};
}

/* The next round; the fewer ranks have something left, the more of each. */
static bool walk_on(struct trace_walk *walk)
{
    if (!walk->live)
        return false;
    walk->at += walk->step;
    walk->step = WALK_OPS / walk->live;
    walk->step = walk->step > WALK_STEP_MIN ? walk->step : WALK_STEP_MIN;
    walk->next = walk->live = 0;
    return true;
}

bool trace_walk_next(struct trace_walk *walk)
{
    const struct trace *trace = walk->trace;
    do
        while (walk->next < trace->ranks) {
            uint32_t rank = walk->next++;
            size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
            if (end - begin <= walk->at)
                continue;
            walk->live++;
            walk->rank = rank;
            walk->from = begin + walk->at;
            walk->to = end - walk->from > walk->step ? walk->from + walk->step : end;
            return true;
        }
    while (walk_on(walk));
    return false;
}

static bool in_range(uint32_t index, size_t count)
{
    return index == TRACE_NO || index < count;
}

static bool broken(struct failure *failure, const char *table, size_t row, const char *what)
{
    failure_set(failure, FAILURE_INPUT, "trace: row %zu of %s: %s", row, table, what);
    return false;
}

static bool rank_valid(const struct trace *trace, int32_t rank)
{
    return rank == TRACE_ANY || rank == TRACE_NONE || (rank >= 0 && (uint32_t)rank < trace->ranks);
}

/* Rule 3. */
static bool match_valid(const struct trace *trace, uint32_t index)
{
    const struct trace_op *op = &trace->ops[index];
    if (op->match == TRACE_NO)
        return true;
    const struct trace_op *partner = &trace->ops[op->match];
    enum op_class mine = op_kind_class(op->kind), other = op_kind_class(partner->kind);
    return partner->match == index && ((mine == CLASS_SEND && other == CLASS_RECEIVE) ||
                                       (mine == CLASS_RECEIVE && other == CLASS_SEND));
}

static const char *op_fault(const struct trace *trace, uint32_t index)
{
    const struct trace_op *op = &trace->ops[index];
    if (op->kind >= OP_KIND_LIMIT || op->state > STATE_CANCELLED)
        return "unknown kind or state";
    /* An invalid peer as the program gave it is kept: its op failed with an error class. */
    if (!rank_valid(trace, trace_op_peer_matched(op)) ||
        (!rank_valid(trace, op->peer) && !op->form->error))
        return "peer is not a rank of the run";
    if (!in_range(op->form->comm, trace->comm_count) ||
        !in_range(op->form->site, trace->site_count))
        return "communicator or site does not exist";
    if (!in_range(op->node, trace->node_count))
        return "node does not exist";
    if (op->node != TRACE_NO && trace->nodes[op->node].rank != op->rank)
        return "its node is on another rank";
    if (!in_range(op->request, trace->op_count) ||
        !in_range(trace_op_adjoint_of(trace, op), trace->op_count) ||
        !in_range(op->match, trace->op_count))
        return "request, adjoint or match does not exist";
    if (op->request != TRACE_NO && trace->ops[op->request].rank != op->rank)
        return "its request is on another rank";
    if (op_kind_class(op->kind) == CLASS_WAIT && op->request != TRACE_NO &&
        op_kind_class(trace->ops[op->request].kind) == CLASS_WAIT)
        return "waits for a wait";
    return match_valid(trace, index) ? NULL : "match is not symmetric";
}

/* Which fault is the first is only asked where there is one. */
static bool ops_faultless(const struct trace *trace)
{
    bool good = true;
    for (struct trace_walk walk = trace_walk_begin(trace); good && trace_walk_next(&walk);)
        for (size_t i = walk.from; i < walk.to && good; i++)
            good = trace->ops[i].rank == walk.rank && !op_fault(trace, (uint32_t)i);
    return good && trace->rank_begin[trace->ranks] == trace->op_count;
}

static bool ops_valid(const struct trace *trace, struct failure *failure)
{
    if (ops_faultless(trace))
        return true;
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
            const struct trace_op *op = &trace->ops[i];
            if (op->rank != rank)
                return broken(failure, "ops", i, "not grouped by rank in issue order");
            const char *fault = op_fault(trace, (uint32_t)i);
            if (fault)
                return broken(failure, "ops", i, fault);
        }
    if (trace->rank_begin[trace->ranks] != trace->op_count)
        return broken(failure, "ops", trace->op_count, "not all belong to a rank");
    return true;
}

static bool folds_valid(const struct trace *trace, struct failure *failure)
{
    for (size_t i = 0; i < trace->fold_count; i++) {
        const struct trace_fold *fold = &trace->folds[i];
        if (fold->op >= trace->op_count || !fold->body || fold->times > UINT32_MAX ||
            fold->before > UINT64_MAX / 4 ||
            fold->body > trace_op_seq(trace, &trace->ops[fold->op]) + 1 ||
            (i && trace->folds[i - 1].op > fold->op))
            return broken(failure, "folds", i, "no such iteration, or not sorted");
    }
    return true;
}

static bool nodes_valid(const struct trace *trace, struct failure *failure)
{
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        for (size_t i = trace->node_begin[rank]; i < trace->node_begin[rank + 1]; i++) {
            const struct trace_node *node = &trace->nodes[i];
            if (node->rank != rank)
                return broken(failure, "nodes", i, "not grouped by rank");
            if (!in_range(node->forward, trace->node_count) ||
                !in_range(node->site, trace->site_count) ||
                !in_range(node->name, trace->string_count))
                return broken(failure, "nodes", i, "forward node, site or name does not exist");
            if (node->forward != TRACE_NO && trace->nodes[node->forward].rank != rank)
                return broken(failure, "nodes", i, "its forward node is on another rank");
        }
    for (size_t i = 0; i < trace->edge_count; i++) {
        const struct trace_edge *edge = &trace->edges[i];
        if (edge->from >= trace->node_count || edge->to >= trace->node_count)
            return broken(failure, "edges", i, "node does not exist");
        if (trace->nodes[edge->from].rank != trace->nodes[edge->to].rank) /* rule 5 */
            return broken(failure, "edges", i, "leads to another rank");
        if (i && trace->edges[i - 1].from > edge->from)
            return broken(failure, "edges", i, "not sorted");
    }
    return trace->node_begin[trace->ranks] == trace->node_count ||
           broken(failure, "nodes", trace->node_count, "not all belong to a rank");
}

static bool waits_valid(const struct trace *trace, struct failure *failure)
{
    for (size_t i = 0; i < trace->wait_count; i++) {
        const struct trace_wait *row = &trace->waits[i];
        if (row->wait >= trace->op_count || row->start >= trace->op_count ||
            trace->ops[row->wait].rank != trace->ops[row->start].rank)
            return broken(failure, "waits", i, "operation does not exist on that rank");
        if (op_kind_class(trace->ops[row->wait].kind) != CLASS_WAIT)
            return broken(failure, "waits", i, "is not of a wait");
        if (op_kind_class(trace->ops[row->start].kind) == CLASS_WAIT)
            return broken(failure, "waits", i, "waits for a wait");
        if (i && trace->waits[i - 1].wait > row->wait)
            return broken(failure, "waits", i, "not sorted");
    }
    for (size_t i = 0; i < trace->counts_count; i++)
        if (trace->counts[i].op >= trace->op_count ||
            (i && trace->counts[i - 1].op > trace->counts[i].op))
            return broken(failure, "counts", i, "operation does not exist, or not sorted");
    return true;
}

static bool comms_valid(const struct trace *trace, struct failure *failure)
{
    for (size_t i = 0; i < trace->comm_count; i++) {
        const struct trace_comm *comm = &trace->comms[i];
        if (!in_range(comm->parent, trace->comm_count) ||
            !in_range(comm->adjoint_of, trace->comm_count))
            return broken(failure, "comms", i, "parent or original does not exist");
        if (comm->size > 2 * (uint64_t)trace->ranks) /* local and remote */
            return broken(failure, "comms", i, "has more members than the run has ranks");
        for (uint32_t k = 0; comm->members && k < comm->size; k++)
            if (comm->members[k] < 0 || (uint32_t)comm->members[k] >= trace->ranks)
                return broken(failure, "comms", i, "member is not a rank of the run");
    }
    for (size_t i = 0; i < trace->pass_count; i++) {
        const struct trace_pass *pass = &trace->passes[i];
        if (pass->rank >= trace->ranks || pass->first_op > pass->op_end ||
            pass->op_end > trace->op_count)
            return broken(failure, "passes", i, "rank or operations do not exist");
    }
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        if (note->rank >= trace->ranks || !in_range(note->op, trace->op_count) ||
            !in_range(note->node, trace->node_count) || !in_range(note->site, trace->site_count))
            return broken(failure, "notes", i, "rank, operation, node or site does not exist");
    }
    return true;
}

bool trace_check(const struct trace *trace, struct failure *failure)
{
    return ops_valid(trace, failure) && folds_valid(trace, failure) &&
           nodes_valid(trace, failure) && waits_valid(trace, failure) &&
           comms_valid(trace, failure);
}

const char *trace_string(const struct trace *trace, uint32_t string)
{
    return string < trace->string_count ? trace->strings[string] : "";
}

/* The first row of `wait`, or where it would stand. */
static size_t wait_first(const struct trace *trace, uint32_t wait)
{
    size_t low = 0, high = trace->wait_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->waits[middle].wait < wait)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t trace_op_requests(const struct trace *trace, uint32_t op, uint32_t *starts, size_t limit)
{
    size_t count = 0;
    for (size_t i = wait_first(trace, op); i < trace->wait_count && trace->waits[i].wait == op;
         i++) {
        if (count < limit)
            starts[count] = trace->waits[i].start;
        count++;
    }
    if (count == 0 && op_kind_class(trace->ops[op].kind) == CLASS_WAIT &&
        trace->ops[op].request != TRACE_NO) {
        if (limit > 0)
            starts[0] = trace->ops[op].request;
        count = 1;
    }
    return count;
}

uint32_t trace_op_request(const struct trace *trace, uint32_t op, size_t index)
{
    size_t first = wait_first(trace, op), row = first + index;
    if (row < trace->wait_count && trace->waits[row].wait == op)
        return trace->waits[row].start;
    bool alone = row == first && op_kind_class(trace->ops[op].kind) == CLASS_WAIT;
    return alone ? trace->ops[op].request : TRACE_NO;
}

bool trace_has_lock(const struct trace *trace, uint32_t rank, const struct trace_op *wanted)
{
    size_t taken = 0, given = 0;
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->form->comm != wanted->form->comm || op->state != STATE_COMPLETE)
            continue;
        bool same = op->peer == wanted->peer || wanted->kind == OP_WIN_LOCK_ALL;
        if (op->kind == OP_WIN_LOCK && same)
            taken++;
        else if (op->kind == OP_WIN_UNLOCK && same)
            given++;
        else if (op->kind == OP_WIN_LOCK_ALL)
            taken++;
        else if (op->kind == OP_WIN_UNLOCK_ALL)
            given++;
    }
    return taken > given;
}

const struct trace_counts *trace_op_counts(const struct trace *trace, uint32_t op)
{
    size_t low = 0, high = trace->counts_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->counts[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low < trace->counts_count && trace->counts[low].op == op ? &trace->counts[low] : NULL;
}

bool trace_gap(const struct trace *trace, const char *check, uint64_t count, const char *format,
               ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    bool good = text && coverage_add(trace->coverage, check, count, text);
    trace->coverage->failed |= !good;
    free(text);
    return good;
}

void trace_gaps_clear(const struct trace *trace)
{
    coverage_release(trace->coverage);
}

const struct coverage *trace_coverage(const struct trace *trace)
{
    static const struct coverage none = {0};
    return trace ? trace->coverage : &none;
}
