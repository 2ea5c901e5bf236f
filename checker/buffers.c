/* B001 and B002: buffers touched while an operation on them is under way.
 *
 * B001 comes from the recorder, which compares checksums of pending send buffers. B002 is judged
 * from the extents: an operation that writes memory which another one, pending at that moment,
 * reads or writes. Only contiguous buffers are compared: the extents of strided types overlap
 * without sharing an element. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"

#include <stdlib.h>

enum { PENDING_MAX = 4096 };

struct pending {
    uint32_t *ops;
    size_t count, room;
};

static bool is_contiguous(const struct trace_op *op)
{
    return op->buffer && op->extent && op->count > 0 && op->type &&
           op->extent == (uint64_t)op->count * trace_type_size(op->type);
}

static bool writes(const struct trace_op *op)
{
    enum op_class class = check_class(op);
    return class == CLASS_RECEIVE || (class == CLASS_COLLECTIVE && op->kind != OP_BARRIER);
}

static bool overlap(const struct trace_op *a, const struct trace_op *b)
{
    return a->buffer < b->buffer + b->extent && b->buffer < a->buffer + a->extent;
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
        finding->site = trace->ops[later].site;
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

/* Forgets what was completed before `now`. */
static void retire(const struct trace *trace, struct pending *pending, uint32_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < pending->count; i++)
        if (trace->ops[pending->ops[i]].request >= now) /* also those that never were: TRACE_NO */
            pending->ops[kept++] = pending->ops[i];
    pending->count = kept;
}

static void judge_rank(const struct trace *trace, uint32_t rank, struct pending *pending,
                       size_t first, struct findings *findings)
{
    pending->count = 0;
    for (uint32_t op = (uint32_t)trace->rank_begin[rank]; op < trace->rank_begin[rank + 1]; op++) {
        const struct trace_op *at = &trace->ops[op];
        enum op_class class = check_class(at);
        if (class == CLASS_WAIT && pending->count)
            retire(trace, pending, op + 1);
        bool moves = class == CLASS_SEND || class == CLASS_RECEIVE || class == CLASS_COLLECTIVE;
        if (!moves || !is_contiguous(at))
            continue;
        for (size_t i = 0; i < pending->count; i++) {
            const struct trace_op *other = &trace->ops[pending->ops[i]];
            if ((writes(at) || writes(other)) && overlap(at, other))
                report_overlap(trace, pending->ops[i], op, first, findings);
        }
        if (!check_is_start(at) || pending->count >= PENDING_MAX)
            continue;
        pending->ops =
            check_grow(pending->ops, &pending->room, pending->count + 1, sizeof *pending->ops);
        pending->ops[pending->count++] = op;
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
        finding->site = trace->ops[op].site;
        finding->confirmation = CONFIRM_HAPPENED;
    }
    if (finding->op_count < PLACES_LISTED_MAX) {
        finding_detail(finding, "%s", check_place(trace, op, place, sizeof place));
        if (trace->ops[op].request != TRACE_NO)
            finding_detail(finding, ", completed by %s",
                           check_short_place(trace, trace->ops[op].request, place, sizeof place));
        finding_detail(finding, ".\n");
    }
    finding_op_add(finding, op, "culprit");
}

void check_buffers(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    struct pending pending = {0};
    size_t first = findings->count;
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        judge_rank(trace, rank, &pending, first, findings);
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (trace->ops[op].flags & OP_BUFFER_CHANGED)
            report_change(trace, op, first, findings);
    for (size_t i = first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
    free(pending.ops);
}
