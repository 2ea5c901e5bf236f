/* A trace in words: operations, sites, types and reductions for messages and labels. See trace.h.
 */
#include "traces/base/identity.h"
#include "traces/trace/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool trace_site_known(const struct trace *trace, uint32_t site)
{
    return site < trace->site_count && strcmp(trace->sites[site].file, "?") != 0;
}

char *trace_site_text(const struct trace *trace, uint32_t site, char *text, size_t size)
{
    char line[32] = "";
    unsigned column;
    if (!trace_site_known(trace, site)) {
        snprintf(text, size, "?");
        return text;
    }
    const struct trace_site *at = &trace->sites[site];
    if (sscanf(at->function, "column %u:", &column) == 1) /* a cell of a schedule */
        snprintf(line, sizeof line, ":%d:%u", at->line, column);
    else if (at->line > 0)
        snprintf(line, sizeof line, ":%d", at->line);
    size_t length = strlen(at->file), room = size - strlen(line);
    if (length < room)
        snprintf(text, size, "%s%s", at->file, line);
    else /* the end of a long path says more than its begin */
        snprintf(text, size, "...%s%s", room > 4 ? at->file + length - (room - 4) : "", line);
    return text;
}

char *trace_at_text(const struct trace *trace, uint32_t site, char *text, size_t size)
{
    static const char at[] = " at ";
    text[0] = '\0';
    if (trace_site_known(trace, site) && size > sizeof at) {
        memcpy(text, at, sizeof at);
        trace_site_text(trace, site, text + sizeof at - 1, size - (sizeof at - 1));
    }
    return text;
}

/* A text that is cut, never overrun. */
struct text {
    char *start;
    size_t size, used;
};

static void __attribute__((format(printf, 2, 3))) say(struct text *text, const char *format, ...)
{
    if (text->used + 1 >= text->size)
        return;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text->start + text->used, text->size - text->used, format, arguments);
    va_end(arguments);
    if (written > 0)
        text->used += (size_t)written;
    if (text->used >= text->size)
        text->used = text->size - 1;
}

static void say_tag(struct text *text, int32_t tag)
{
    if (tag == TRACE_ANY)
        say(text, " any tag");
    else if (tag != TRACE_NONE)
        say(text, " tag %d", tag);
}

static void say_peer(struct text *text, const char *way, int32_t peer)
{
    if (peer == TRACE_ANY)
        say(text, " %s any", way);
    else if (peer == TRACE_NONE)
        say(text, " %s nobody", way);
    else
        say(text, " %s %d", way, peer);
}

static void say_point_to_point(struct text *text, const struct trace_op *op)
{
    say_peer(text, op_kind_class(op->kind) == CLASS_SEND ? "to" : "from", op->peer);
    say_tag(text, op->tag);
}

static bool counts_anything(const struct trace_op *op)
{
    return op->kind != OP_BARRIER && op->kind != OP_FINALIZE && op->kind < OP_COMM_DUP;
}

static void say_collective(struct text *text, const struct trace *trace, const struct trace_op *op)
{
    if (op->form->reduce_op)
        say(text, " %s", trace_reduce_name(op->form->reduce_op));
    if (counts_anything(op) && op->form->type)
        say(text, " of %lld %s", (long long)op->count, trace_type_name(op->form->type));
    else if (counts_anything(op) && op->count)
        say(text, " of %lld bytes", (long long)op->count);
    if (op->peer >= 0)
        say(text, op->kind == OP_INTERCOMM_CREATE ? " with rank %d" : " root %d", op->peer);
    if (op->peer >= 0 && op->kind == OP_INTERCOMM_CREATE)
        say_tag(text, op->tag);
    if (op->form->comm < trace->comm_count && trace->comms[op->form->comm].id != 1) {
        const struct trace_comm *comm = &trace->comms[op->form->comm];
        if (comm->name[0])
            say(text, " on %s", comm->name);
        else
            say(text, " on communicator %u", comm->id);
    }
}

const char *trace_call_name(int kind, int flags)
{
    static const char *const pairs[2][2] = {{"Sendrecv", "Sendrecv_replace"},
                                            {"Isendrecv", "Isendrecv_replace"}};
    if (flags & OP_COMPOUND)
        return pairs[(flags & OP_NONBLOCKING) != 0][(flags & OP_IN_PLACE) != 0];
    return op_kind_name(kind);
}

const char *trace_op_name(const struct trace_op *op)
{
    return trace_call_name(op->kind, op->flags);
}

static void say_kind(struct text *text, const struct trace_op *op)
{
    const char *name = trace_op_name(op);
    if (op->flags & OP_NONBLOCKING && op_kind_class(op->kind) == CLASS_COLLECTIVE)
        say(text, "I%c%s", name[0] | 0x20, name + 1);
    else if (op->flags & OP_NONBLOCKING && op_kind_class(op->kind) == CLASS_CONTROL)
        say(text, "R%c%s", name[0] | 0x20, name + 1); /* one-sided, with a request */
    else
        say(text, "%s", name);
}

const char *trace_tensor_name(const struct trace *trace, const struct trace_op *op)
{
    for (size_t i = 0; op->form->identity && i < trace->string_count; i++)
        if (trace_identity(trace->strings[i], strlen(trace->strings[i])) == op->form->identity)
            return trace->strings[i];
    return "";
}

static void say_identity(struct text *text, const struct trace *trace, const struct trace_op *op)
{
    const char *name = trace_tensor_name(trace, op);
    if (*name)
        say(text, " (\"%.60s\")", name);
}

static void say_wait(struct text *text, const struct trace *trace, uint32_t index)
{
    uint32_t starts[2], start;
    size_t count = trace_op_requests(trace, index, starts, 2);
    start = starts[0];
    if (count == 0)
        return;
    if (count == 2 && trace->ops[index].flags & OP_COMPOUND) {
        say_point_to_point(text, &trace->ops[starts[0]]);
        say_point_to_point(text, &trace->ops[starts[1]]);
        return;
    }
    if (count > 1) {
        say(text, " for %zu requests", count);
        return;
    }
    const struct trace_op *op = &trace->ops[start];
    say(text, " for ");
    say_kind(text, op);
    enum op_class class = op_kind_class(op->kind);
    if (class == CLASS_SEND || class == CLASS_RECEIVE)
        say_point_to_point(text, op);
    say_identity(text, trace, op);
}

char *trace_op_text(const struct trace *trace, uint32_t index, char *buffer, size_t size)
{
    struct text text = {.start = buffer, .size = size};
    if (size > 0)
        buffer[0] = 0;
    if (index >= trace->op_count) {
        say(&text, "?");
        return buffer;
    }
    const struct trace_op *op = &trace->ops[index];
    say_kind(&text, op);
    switch (op_kind_class(op->kind)) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        say_point_to_point(&text, op);
        break;
    case CLASS_COLLECTIVE:
        say_collective(&text, trace, op);
        break;
    case CLASS_WAIT:
        say_wait(&text, trace, index);
        break;
    case CLASS_NONE:
    case CLASS_COMPUTE:
    case CLASS_CONTROL:
        break;
    }
    say_identity(&text, trace, op);
    return buffer;
}
