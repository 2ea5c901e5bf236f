/* B001 and B002: buffers touched while an operation on them is under way.
 *
 * B001 comes from the recorder, which compares checksums of pending send buffers. B002 is judged
 * from the extents: an operation that writes memory which another one, pending at that moment,
 * reads or writes. Only contiguous buffers are compared: the extents of strided types overlap
 * without sharing an element. */
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
};

static bool is_contiguous(const struct trace *trace, const struct trace_op *op)
{
    struct trace_place at = trace_op_place(trace, op);
    return at.buffer && op->count > 0 && op->form->type &&
           at.extent == (uint64_t)op->count * trace_type_extent(op->form->type);
}

/* Whether the recorded buffer of the op is written: a collective's is the one that receives, where
 * this rank receives anything. */
static bool writes(const struct trace_op *op)
{
    bool is_root = op->peer == (int32_t)op->rank;
    if (check_class(op) != CLASS_COLLECTIVE)
        return check_class(op) == CLASS_RECEIVE;
    switch (op->kind) {
    case OP_BARRIER:
        return false;
    case OP_BCAST:
        return !is_root;
    case OP_REDUCE:
    case OP_GATHER:
    case OP_GATHERV:
        return is_root;
    case OP_SCATTER:
    case OP_SCATTERV:
        return !(op->flags & OP_IN_PLACE); /* only the root can say so */
    default:
        return true;
    }
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
                       writes(&trace->ops[later]) ? "the later one writes"
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
        if (!check_is_start(&rows[op]) || by < begin || by >= end)
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

static bool compare(void *context, uint32_t earlier)
{
    struct pending *pending = context;
    if (is_noted(pending->noted, earlier))
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
        enum op_class class = check_class(at);
        for (uint32_t start = pending->completed[op - begin]; start != TRACE_NO;
             start = pending->next[start - begin]) {
            struct span over = span_of(trace, start);
            spans_remove(writes(&trace->ops[start]) ? &pending->written : &pending->read, &over);
        }
        bool moves = class == CLASS_SEND || class == CLASS_RECEIVE || class == CLASS_COLLECTIVE;
        if (!moves || !is_contiguous(pending->trace, at) || is_noted(pending->noted, op))
            continue;
        struct span span = span_of(trace, op);
        pending->later = op;
        pending->partners = 0;
        spans_overlapping(&pending->written, &span, compare, pending);
        if (writes(at))
            spans_overlapping(&pending->read, &span, compare, pending);
        if (check_is_start(at))
            spans_add(writes(at) ? &pending->written : &pending->read, &span);
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
    struct pending pending = {
        .trace = trace, .findings = findings, .first = findings->count, .noted = overlaps};
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        judge_rank(&pending, (uint32_t)trace->rank_begin[rank],
                   (uint32_t)trace->rank_begin[rank + 1]);
    for (uint32_t op = 0; context->has_changes && op < trace->op_count; op++)
        if (trace->ops[op].flags & OP_BUFFER_CHANGED && !is_noted(accesses, op))
            report_change(trace, op, pending.first, findings);
    for (size_t i = pending.first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
    spans_release(&pending.read);
    spans_release(&pending.written);
    free(pending.completed);
    free(pending.next);
    free(overlaps);
    free(accesses);
}
