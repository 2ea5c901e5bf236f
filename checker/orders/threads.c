/* R001, R002 between threads of a rank: two of them use one communicator (or one channel of it), and
 * nothing orders them.
 *
 * An imported plan says which operations belong to which thread; its threads run side by side. What
 * orders the threads of a recorded run, a lock or a join, is not in the trace: there it is said that
 * their order was taken as seen. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    uint32_t rank, comm, class, op;
    int32_t peer, tag;
};

#define COMPARE(field)                                                                             \
    if (x->field != y->field)                                                                      \
    return x->field < y->field ? -1 : 1

static int by_channel(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    COMPARE(rank);
    COMPARE(comm);
    COMPARE(class);
    COMPARE(peer);
    COMPARE(tag);
    COMPARE(op);
    return 0;
}

static bool same_channel(const struct entry *a, const struct entry *b)
{
    return a->rank == b->rank && a->comm == b->comm && a->class == b->class && a->peer == b->peer &&
           a->tag == b->tag;
}

static void report(const struct trace *trace, uint32_t first, uint32_t second,
                   struct findings *findings)
{
    const struct trace_op *a = &trace->ops[first], *b = &trace->ops[second];
    bool collective = op_kind_class(a->kind) == CLASS_COLLECTIVE;
    bool alike = a->count == b->count && a->form->type == b->form->type &&
                 a->form->signature == b->form->signature &&
                 (!collective || (a->kind == b->kind && a->form->reduce_op == b->form->reduce_op));
    char one[PLACE_TEXT], other[PLACE_TEXT];
    struct finding *finding =
        findings_add(findings, alike ? "R002" : "R001",
                     "two threads of rank %u: nothing orders %s and %s, which can cross", a->rank,
                     check_short_place(trace, first, one, sizeof one),
                     check_short_place(trace, second, other, sizeof other));
    finding_detail(finding, "Threads %u and %u both use communicator %u: either may come first.\n",
                   a->form->thread, b->form->thread, trace->comms[a->form->comm].id);
    finding_detail(finding, alike ? "Kinds, counts and types agree, so nothing fails: the values "
                                    "are swapped.\n"
                                  : "They do not fit each other: a mismatch, or a hang.\n");
    finding_op_add(finding, first, "culprit");
    finding_op_add(finding, second, "culprit");
    finding->confirmation = CONFIRM_ABSTRACT;
    finding_seal(finding, trace);
}

void check_threads(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    if (!context->last_thread)
        return;
    struct entry *entries = check_new(trace->op_count, sizeof *entries);
    size_t count = 0, shared = 0, first = findings->count;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        enum op_class class = check_class(op);
        bool collective = class == CLASS_COLLECTIVE && check_group_of(context, i) != TRACE_NO;
        if (op->form->comm < trace->comm_count &&
            (collective || class == CLASS_SEND || class == CLASS_RECEIVE))
            entries[count++] = (struct entry){.rank = op->rank,
                                              .comm = op->form->comm,
                                              .class = (uint32_t) class,
                                              .op = i,
                                              .peer = collective ? 0 : op->peer,
                                              .tag = collective ? 0 : op->tag};
    }
    if (count)
        qsort(entries, count, sizeof *entries, by_channel);
    for (size_t i = 1; i < count; i++) {
        uint32_t a = entries[i - 1].op, b = entries[i].op;
        if (!same_channel(&entries[i - 1], &entries[i]) ||
            trace->ops[a].form->thread == trace->ops[b].form->thread)
            continue;
        shared++;
        if (trace->outcome == OUTCOME_IMPORTED &&
            !check_at_place(findings, first, "R002", trace, a))
            report(trace, a, b, findings);
    }
    if (trace->outcome != OUTCOME_IMPORTED)
        trace_gap(trace, "threads", shared,
                  "pairs of operations of two threads on one channel, taken in the order seen");
    free(entries);
}
