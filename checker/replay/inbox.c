/* The messages that a wildcard receive could take: see inbox.h. */
#include "checker/replay/inbox.h"

#include "checker/context.h"
#include "checker/memory.h"

#include <stdlib.h>

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Without the operations: 0 for two of one stack. */
static int compare_stacks(const struct candidate_message *a, const struct candidate_message *b)
{
    int order = compare(a->to, b->to);
    order = order ? order : compare(a->comm, b->comm);
    order = order ? order : compare(a->tag, b->tag);
    return order ? order : compare(a->from, b->from);
}

static int compare_letters(const void *left, const void *right)
{
    const struct candidate_message *a = left, *b = right;
    int order = compare_stacks(a, b);
    return order ? order : compare(a->op, b->op);
}

static bool is_wanted(const struct trace *trace, const struct trace_op *op, const uint32_t *wanted)
{
    return check_class(op) == CLASS_SEND && op->peer >= 0 && (uint32_t)op->peer < trace->ranks &&
           wanted[op->peer] != TRACE_NO;
}

void inbox_init(struct inbox *inbox, const struct trace *trace, const uint32_t *wanted, bool tagged)
{
    size_t count = 0;
    for (uint32_t op = 0; op < trace->op_count; op++)
        count += is_wanted(trace, &trace->ops[op], wanted);
    *inbox = (struct inbox){.trace = trace, .tagged = tagged, .letter_count = count};
    inbox->letters = check_new(count, sizeof *inbox->letters);
    inbox->stacks = check_new(count, sizeof *inbox->stacks);
    count = 0;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const struct trace_op *at = &trace->ops[op];
        if (is_wanted(trace, at, wanted))
            inbox->letters[count++] = (struct candidate_message){at->peer, tagged ? at->tag : 0,
                                                                 at->form->comm, at->rank, op};
    }
    qsort(inbox->letters, count, sizeof *inbox->letters, compare_letters);
    for (size_t i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && compare_stacks(&inbox->letters[i], &inbox->letters[end]) == 0)
            end++;
        inbox->stacks[inbox->stack_count++] = (struct inbox_stack){i, end};
    }
}

void inbox_release(struct inbox *inbox)
{
    free(inbox->letters);
    free(inbox->stacks);
}

/* A letter of the stack; there is one even when all were taken. */
static const struct candidate_message *sample(const struct inbox *inbox, size_t stack)
{
    return &inbox->letters[inbox->stacks[stack].end - 1];
}

size_t inbox_first(const struct inbox *inbox, uint32_t receive)
{
    const struct trace_op *at = &inbox->trace->ops[receive];
    const struct candidate_message least = {(int32_t)at->rank, inbox->tagged ? at->tag : 0,
                                            at->form->comm, 0, 0};
    size_t low = 0, high = inbox->stack_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_stacks(sample(inbox, middle), &least) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == inbox->stack_count)
        return SIZE_MAX;
    const struct candidate_message *found = sample(inbox, low);
    bool fits = found->to == least.to && found->comm == least.comm && found->tag == least.tag;
    return fits ? low : SIZE_MAX;
}

size_t inbox_next(const struct inbox *inbox, size_t stack)
{
    if (stack + 1 == inbox->stack_count)
        return SIZE_MAX;
    const struct candidate_message *a = sample(inbox, stack), *b = sample(inbox, stack + 1);
    return a->to == b->to && a->comm == b->comm && a->tag == b->tag ? stack + 1 : SIZE_MAX;
}

uint32_t inbox_head(struct inbox *inbox, size_t stack, uint32_t receive)
{
    struct inbox_stack *at = &inbox->stacks[stack];
    for (; at->next < at->end; at->next++) {
        uint32_t send = inbox->letters[at->next].op, taker = inbox->trace->ops[send].match;
        if (taker == TRACE_NO || taker >= receive)
            return send;
    }
    return TRACE_NO;
}
