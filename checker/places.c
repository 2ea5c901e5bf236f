#include "checker/places.h"

#include <stdio.h>
#include <string.h>

char *check_comm_text(const struct trace *trace, uint32_t comm, char *text, size_t size)
{
    if (comm >= trace->comm_count)
        snprintf(text, size, "unknown communicator");
    else if (trace->comms[comm].name[0])
        snprintf(text, size, "%s", trace->comms[comm].name);
    else
        snprintf(text, size, "communicator %u", trace->comms[comm].id);
    return text;
}

char *check_place(const struct trace *trace, uint32_t op, char *text, size_t size)
{
    char what[160], where[TRACE_SITE_TEXT];
    trace_op_text(trace, op, what, sizeof what);
    trace_at_text(trace, trace->ops[op].form->site, where, sizeof where);
    snprintf(text, size, "rank %u, %s%s", trace->ops[op].rank, what, where);
    return text;
}

char *check_short_place(const struct trace *trace, uint32_t op, char *text, size_t size)
{
    char where[TRACE_SITE_TEXT];
    trace_at_text(trace, trace->ops[op].form->site, where, sizeof where);
    const char *prefix = (trace->ops[op].flags & (OP_NONBLOCKING | OP_COMPOUND)) == OP_NONBLOCKING
                             ? "nonblocking "
                             : "";
    snprintf(text, size, "%s%s%s", prefix, trace_op_name(&trace->ops[op]), where);
    return text;
}

void check_add_place(const struct trace *trace, uint32_t op, char *list, size_t size)
{
    char place[PLACE_TEXT];
    size_t length = strlen(list), added = strlen(check_short_place(trace, op, place, sizeof place));
    if (strstr(list, place) || length + added + 3 > size)
        return;
    memcpy(list + length, ", ", length ? 2 : 0);
    memcpy(list + length + (length ? 2 : 0), place, added + 1);
}

struct finding *check_at_place(struct findings *findings, size_t first, const char *code,
                               const struct trace *trace, uint32_t op)
{
    for (size_t i = first; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        uint32_t named = finding->op_count ? finding->ops[0].op : TRACE_NO;
        if (named != TRACE_NO && strcmp(finding->code, code) == 0 &&
            trace->ops[named].kind == trace->ops[op].kind &&
            trace->ops[named].form->site == trace->ops[op].form->site)
            return finding;
    }
    return NULL;
}

/* Two threads of a rank take from one channel. */
static bool share_channel(const struct trace_op *a, const struct trace_op *b)
{
    return a->rank == b->rank && a->form->thread != b->form->thread &&
           a->form->comm == b->form->comm && a->peer == b->peer && a->tag == b->tag;
}

uint32_t check_first_choice(const struct trace *trace)
{
    uint32_t asked = TRACE_NO, shared = TRACE_NO, last = TRACE_NO, lock = TRACE_NO;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        enum op_class class = check_class(op);
        if (class == CLASS_RECEIVE) {
            if (shared == TRACE_NO && last != TRACE_NO && share_channel(&trace->ops[last], op))
                shared = last;
            last = i;
        }
        if ((class == CLASS_RECEIVE || class == CLASS_PROBE) && op->peer == TRACE_ANY)
            return i;
        if (asked == TRACE_NO &&
            (op->kind == OP_TEST || op->kind == OP_IPROBE || op->kind == OP_TESTANY ||
             op->kind == OP_TESTSOME || op->kind == OP_TESTALL || op->kind == OP_WAITANY ||
             op->kind == OP_WAITSOME || op->kind == OP_IMPROBE))
            asked = i;
        if (lock == TRACE_NO && (op->kind == OP_WIN_LOCK || op->kind == OP_WIN_LOCK_ALL))
            lock = i;
    }
    return shared != TRACE_NO ? shared : asked != TRACE_NO ? asked : lock;
}
