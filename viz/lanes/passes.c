/* Passes of distributed autograd: see passes.h. */
#include "viz/lanes/passes.h"

#include "checker/systems/remote_events.h"

#include <stdlib.h>
#include <string.h>

enum { PASSES_MAX = 16 };

struct drawing {
    FILE *file;
    const struct remote_trace *remote;
    uint64_t pass;
    size_t number; /* of the cluster */
};

static bool of_pass(const struct drawing *drawing, const struct remote_event *event,
                    enum remote_kind kind)
{
    return event->pass == drawing->pass && event->kind == kind;
}

/* The message whose gradient was a worker's first contact, 0 for the root. */
static uint64_t first_message(const struct drawing *drawing, uint32_t rank)
{
    const struct remote_trace *remote = drawing->remote;
    bool contacted = false;
    for (size_t i = remote->begin[rank]; i < remote->begin[rank + 1]; i++) {
        contacted = contacted || of_pass(drawing, &remote->events[i], REMOTE_CONTACT);
        if (contacted && of_pass(drawing, &remote->events[i], REMOTE_GRAD_IN))
            return remote->events[i].message;
    }
    return 0;
}

/* The event of a kind for a message in this pass, NULL when there is none. */
static const struct remote_event *event_of(const struct drawing *drawing, enum remote_kind kind,
                                           uint64_t message, bool any_pass)
{
    for (size_t i = 0; i < drawing->remote->count; i++) {
        const struct remote_event *event = &drawing->remote->events[i];
        if (event->kind == kind && event->message == message &&
            (any_pass || event->pass == drawing->pass))
            return event;
    }
    return NULL;
}

static void write_worker(const struct drawing *drawing, uint32_t rank)
{
    const struct remote_trace *remote = drawing->remote;
    unsigned runs = 0, leaves = 0;
    bool took_part = false, failed = false;
    for (size_t i = remote->begin[rank]; i < remote->begin[rank + 1]; i++) {
        const struct remote_event *event = &remote->events[i];
        took_part = took_part || of_pass(drawing, event, REMOTE_CONTACT) ||
                    of_pass(drawing, event, REMOTE_PASS_BEGIN);
        failed = failed || of_pass(drawing, event, REMOTE_FAIL);
        runs += of_pass(drawing, event, REMOTE_RUN);
        leaves += of_pass(drawing, event, REMOTE_LEAF);
    }
    if (took_part)
        fprintf(drawing->file, "    p%zu_%u [label=\"worker %u\\n%u run, %u %s\"%s%s];\n",
                drawing->number, rank, rank, runs, leaves, leaves == 1 ? "leaf" : "leaves",
                (uint32_t)(drawing->pass >> 48) == rank ? ", peripheries=2" : "",
                failed ? ", color=\"#c0392b\"" : "");
}

static void write_messages(const struct drawing *drawing)
{
    const struct remote_trace *remote = drawing->remote;
    char id[32];
    for (size_t i = 0; i < remote->count; i++) {
        const struct remote_event *event = &remote->events[i];
        if (of_pass(drawing, event, REMOTE_GRAD_OUT) && event->peer >= 0) {
            bool tree = first_message(drawing, (uint32_t)event->peer) == event->message;
            fprintf(drawing->file, "    p%zu_%u -> p%zu_%d [label=\"%s\"%s];\n", drawing->number,
                    event->rank, drawing->number, event->peer, remote_id(event->message, id),
                    tree ? ", penwidth=2" : ", style=dashed, constraint=false");
        } else if (of_pass(drawing, event, REMOTE_COUNT) &&
                   !event_of(drawing, REMOTE_GRAD_IN, event->message, false)) {
            const struct remote_event *send = event_of(drawing, REMOTE_SEND, event->message, true);
            if (send)
                fprintf(drawing->file,
                        "    m%zu_%d [label=\"worker %d\", style=dotted];\n"
                        "    m%zu_%d -> p%zu_%u [label=\"%s never came\", color=\"#c0392b\", "
                        "style=dotted];\n",
                        drawing->number, send->peer, send->peer, drawing->number, send->peer,
                        drawing->number, event->rank, remote_id(event->message, id));
        }
    }
}

static void write_pass(const struct drawing *drawing, const struct remote_event *begin)
{
    static const char *const ends[] = {"did not end", "failed", "ended well"};
    const struct remote_trace *remote = drawing->remote;
    char pass[32], context[32];
    int end = 0;
    for (size_t i = 0; i < remote->count; i++)
        if (of_pass(drawing, &remote->events[i], REMOTE_PASS_END))
            end = remote->events[i].flag ? 2 : 1;
    fprintf(drawing->file, "  subgraph cluster_%zu {\n    label=\"pass %s in context %s: %s\";\n",
            drawing->number, remote_id(drawing->pass, pass), remote_id(begin->context, context),
            ends[end]);
    for (uint32_t rank = 0; rank < remote->trace->ranks; rank++)
        write_worker(drawing, rank);
    write_messages(drawing);
    fputs("  }\n", drawing->file);
}

bool viz_passes_write(FILE *file, const struct trace *trace, struct failure *failure)
{
    struct remote_trace remote;
    struct drawing drawing = {.file = file, .remote = &remote};
    remote_read(&remote, trace);
    fputs("digraph passes {\n  graph [layout=dot, fontname=\"sans-serif\", fontsize=11];\n"
          "  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];\n"
          "  edge [fontname=\"sans-serif\", fontsize=9];\n",
          file);
    for (size_t i = 0; i < remote.count && drawing.number < PASSES_MAX; i++) {
        if (remote.events[i].kind != REMOTE_PASS_BEGIN)
            continue;
        drawing.pass = remote.events[i].pass;
        write_pass(&drawing, &remote.events[i]);
        drawing.number++;
    }
    fputs("}\n", file);
    remote_release(&remote);
    if (!drawing.number) {
        failure_set(failure, FAILURE_NOTHING, "the run has no passes of distributed autograd");
        return false;
    }
    return true;
}
