/* B001 and B002: buffers touched while an operation on them is under way.
 *
 * B001 comes from the recorder, which compares checksums of pending send buffers. B002 is judged
 * from the extents: an operation that writes memory which another one, pending at that moment,
 * reads or writes. Only contiguous buffers are compared: the extents of strided types overlap
 * without sharing an element. Which partitions of a receive have arrived no trace says: the machine
 * looks at those. A send whose request was freed goes on until its message is received, of which any
 * call that waits for others may tell the program: a gap from there on. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/properties/spans.h"

#include <stdlib.h>
#include <string.h>

/* Of one operation with earlier ones: more say no more. */
enum { PARTNERS_MAX = 16 };

/* What is under way on a rank, and what each of its calls completes. */
struct pending {
    const struct trace *trace;
    struct findings *findings;
    size_t first;               /* finding of this check */
    const bool *noted;          /* by operation: the machine itself found an overlap there */
    struct spans read, written; /* apart, since any number may read the same */
    uint32_t *completed,
        *next; /* by operation of the rank: the first start that it completed; the next of those */
    size_t completed_room, next_room;
    uint32_t later; /* compared now, with how many that overlap */
    int partners;
    bool *freed;        /* by operation: the request of this start was freed */
    uint32_t told;      /* the last call so far that may have told its rank of others */
    uint64_t perhaps;   /* uses of buffers of freed sends that may be over */
    uint64_t in_pieces; /* uses of buffers of partitioned receives, in a trace from elsewhere */
};

static bool is_contiguous(const struct trace *trace, const struct trace_op *op)
{
    struct trace_place at = trace_op_place(trace, op);
    return at.buffer && op->count > 0 &&
           at.extent == (uint64_t)op->count * trace_type_extent(op->form->type);
}

enum use { USE_NONE, USE_READS, USE_WRITES };

/* Across groups only the root's group has members that take no part, and the root gives or takes
 * nothing of its own. */
static enum use use_by_collective(const struct trace *trace, const struct trace_op *op)
{
    bool is_root = op->peer == (int32_t)op->rank, in_place = op->flags & OP_IN_PLACE,
         across = op->flags & OP_INTERCOMM, takes_part = !across || op->peer >= 0;
    switch (op->kind) {
    case OP_BCAST:
        return !takes_part ? USE_NONE : is_root ? USE_READS : USE_WRITES;
    case OP_REDUCE:
    case OP_GATHER:
    case OP_GATHERV:
        return !takes_part ? USE_NONE : is_root ? USE_WRITES : USE_READS;
    case OP_SCATTER:
    case OP_SCATTERV: /* only the root can say that it is in place */
        return !takes_part || (across && is_root) ? USE_NONE : in_place ? USE_READS : USE_WRITES;
    case OP_EXSCAN: /* the first receives nothing */
        if (check_comm_member(trace, op->form->comm, 0) == op->rank)
            return in_place ? USE_READS : USE_NONE;
        return USE_WRITES;
    default:
        return USE_WRITES;
    }
}

/* What the operation does with its recorded buffer: a collective's is the one that receives, where
 * this rank receives anything. */
static enum use use_of(const struct trace *trace, const struct trace_op *op)
{
    switch (check_class(op)) {
    case CLASS_SEND:
        return USE_READS;
    case CLASS_RECEIVE:
        return USE_WRITES;
    case CLASS_COLLECTIVE:
        return use_by_collective(trace, op);
    default:
        return USE_NONE;
    }
}

/* Partitioned messages are recorded on a communicator of their own. */
static bool is_in_pieces(const struct trace *trace, const struct trace_op *op)
{
    static const char name[] = "partitioned messages";
    return check_class(op) == CLASS_RECEIVE && op->form->comm != TRACE_NO &&
           strncmp(trace->comms[op->form->comm].name, name, sizeof name - 1) == 0;
}

/* A call that returns only because of what others did: it may tell its rank how far they are. */
static bool may_tell(const struct trace_op *op)
{
    enum op_class class = check_class(op);
    if (check_is_start(op) || op->kind == OP_REQUEST_FREE || op->kind == OP_CANCEL)
        return false;
    return class == CLASS_SEND ? check_is_synchronous(op)
                               : class != CLASS_NONE && class != CLASS_COMPUTE;
}

static void report_overlap(const struct trace *trace, uint32_t earlier, uint32_t later,
                           size_t first, struct findings *findings)
{
    char one[PLACE_TEXT], other[PLACE_TEXT];
    struct finding *finding = check_at_place(findings, first, "B002", trace, later);
    if (!finding) {
        finding = findings_add(findings, "B002", "two pending operations on one buffer: %s, %s",
                               check_short_place(trace, earlier, one, sizeof one),
                               check_short_place(trace, later, other, sizeof other));
        finding->confirmation = CONFIRM_HAPPENED;
    }
    if (finding->op_count < PLACES_LISTED_MAX)
        finding_detail(finding, "%s was still under way when %s began; %s.\n",
                       check_place(trace, earlier, one, sizeof one),
                       check_place(trace, later, other, sizeof other),
                       use_of(trace, &trace->ops[later]) == USE_WRITES ? "the later one writes"
                                                                       : "the earlier one writes");
    finding_op_add(finding, later, "culprit");
    finding_op_add(finding, earlier, "partner");
}

static struct span span_of(const struct trace *trace, uint32_t op)
{
    struct trace_place at = trace_op_place(trace, &trace->ops[op]);
    return (struct span){at.buffer, at.buffer + at.extent, op};
}

/* Links the starts of a rank to the call that completed them. */
static void link_completed(struct pending *pending, uint32_t begin, uint32_t end)
{
    size_t ops = end - begin;
    const struct trace_op *rows = pending->trace->ops;
    pending->completed = check_grow(pending->completed, &pending->completed_room, ops + 1,
                                    sizeof *pending->completed);
    pending->next = check_grow(pending->next, &pending->next_room, ops + 1, sizeof *pending->next);
    for (size_t i = 0; i < ops; i++)
        pending->completed[i] = TRACE_NO;
    for (uint32_t op = begin; op < end; op++) {
        uint32_t by = rows[op].request;
        if (by == TRACE_NO)
            continue;
        pending->next[op - begin] = pending->completed[by - begin];
        pending->completed[by - begin] = op;
    }
}

/* The operations that notes with this code are about, NULL for none; free it. */
static bool *noted_ops(const struct trace *trace, const char *code)
{
    bool *noted = NULL;
    for (size_t i = 0; i < trace->note_count; i++) {
        if (trace->notes[i].op == TRACE_NO || strcmp(trace->notes[i].code, code) != 0)
            continue;
        if (!noted)
            noted = check_new(trace->op_count, sizeof *noted);
        noted[trace->notes[i].op] = true;
    }
    return noted;
}

static bool is_noted(const bool *noted, uint32_t op)
{
    return noted && noted[op];
}

/* It is under way, as far as the trace tells. */
static bool is_pending(struct pending *pending, uint32_t earlier)
{
    const struct trace *trace = pending->trace;
    const struct trace_op *at = &trace->ops[earlier];
    bool freed = pending->freed[earlier] && check_class(at) == CLASS_SEND && at->match != TRACE_NO,
         in_pieces = is_in_pieces(trace, at);
    bool perhaps = freed && pending->told > earlier;
    pending->perhaps += perhaps;
    pending->in_pieces += in_pieces && trace->outcome == OUTCOME_IMPORTED;
    return !perhaps && !in_pieces;
}

static bool compare(void *context, uint32_t earlier)
{
    struct pending *pending = context;
    if (!is_pending(pending, earlier))
        return true;
    report_overlap(pending->trace, earlier, pending->later, pending->first, pending->findings);
    return ++pending->partners < PARTNERS_MAX;
}

static void judge_rank(struct pending *pending, uint32_t begin, uint32_t end)
{
    const struct trace *trace = pending->trace;
    spans_clear(&pending->read);
    spans_clear(&pending->written);
    link_completed(pending, begin, end);
    for (uint32_t op = begin; op < end; op++) {
        const struct trace_op *at = &trace->ops[op];
        enum use use = use_of(trace, at);
        for (uint32_t start = pending->completed[op - begin]; start != TRACE_NO;
             start = pending->next[start - begin]) {
            struct span over = span_of(trace, start);
            spans_remove(use_of(trace, &trace->ops[start]) == USE_WRITES ? &pending->written
                                                                         : &pending->read,
                         &over);
        }
        if (at->kind == OP_REQUEST_FREE && at->request != TRACE_NO)
            pending->freed[at->request] = true;
        if (use != USE_NONE && is_contiguous(trace, at) && !is_noted(pending->noted, op)) {
            struct span span = span_of(trace, op);
            pending->later = op;
            pending->partners = 0;
            spans_overlapping(&pending->written, &span, compare, pending);
            if (use == USE_WRITES && pending->partners < PARTNERS_MAX)
                spans_overlapping(&pending->read, &span, compare, pending);
            if (check_is_start(at))
                spans_add(use == USE_WRITES ? &pending->written : &pending->read, &span);
        }
        pending->told = may_tell(at) ? op : pending->told;
    }
}

static void report_change(const struct trace *trace, uint32_t op, size_t first,
                          struct findings *findings)
{
    char place[PLACE_TEXT];
    struct finding *finding = check_at_place(findings, first, "B001", trace, op);
    if (!finding) {
        finding = findings_add(findings, "B001",
                               "the buffer was changed before the operation completed: %s",
                               check_short_place(trace, op, place, sizeof place));
        finding->confirmation = CONFIRM_HAPPENED;
    }
    if (finding->op_count < PLACES_LISTED_MAX) {
        uint32_t end = trace->ops[op].request;
        char completed[PLACE_TEXT] = "";
        if (end != TRACE_NO)
            check_short_place(trace, end, completed, sizeof completed);
        finding_sentence(finding, "%s%s%s.\n", check_place(trace, op, place, sizeof place),
                         *completed ? ", completed by " : "", completed);
    }
    finding_op_add(finding, op, "culprit");
}

void check_buffers(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    bool *overlaps = noted_ops(trace, "B002"), *accesses = noted_ops(trace, "B001");
    struct pending pending = {.trace = trace,
                              .findings = findings,
                              .first = findings->count,
                              .noted = overlaps,
                              .freed = check_new(trace->op_count, sizeof *pending.freed)};
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        judge_rank(&pending, (uint32_t)trace->rank_begin[rank],
                   (uint32_t)trace->rank_begin[rank + 1]);
    for (uint32_t op = 0; context->has_changes && op < trace->op_count; op++)
        if (trace->ops[op].flags & OP_BUFFER_CHANGED && !is_noted(accesses, op))
            report_change(trace, op, pending.first, findings);
    for (size_t i = pending.first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
    trace_gap(trace, "buffers", pending.perhaps,
              "uses of the buffers of sends whose request was freed, behind calls by which the "
              "program may know that they were received (B002)");
    trace_gap(
        trace, "buffers", pending.in_pieces,
        "uses of the buffers of partitioned receives, of which parts may have arrived (B002)");
    spans_release(&pending.read);
    spans_release(&pending.written);
    free(pending.completed);
    free(pending.next);
    free(pending.freed);
    free(overlaps);
    free(accesses);
}
