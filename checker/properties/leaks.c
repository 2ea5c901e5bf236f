/* L002 messages never received, L001 starts nobody waits for, L009 waits for nothing. The other
 * leaks are noted by the machine, which knows the handles; they come through notes.c. */
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/properties/freed_requests.h"

#include <stdlib.h>
#include <string.h>

/* The finding of this code, title and place, NULL for none: what is in order at a place does not hide
 * what is not. */
static struct finding *found_already(struct findings *findings, size_t first, const char *code,
                                     const char *title, const struct trace *trace, uint32_t op)
{
    struct finding *finding;
    while ((finding = check_at_place(findings, first, code, trace, op)) &&
           strncmp(finding->title, title, strlen(title)) != 0)
        first = (size_t)(finding - findings->items) + 1;
    return finding;
}

static struct finding *report(const struct trace *trace, const char *code, const char *title,
                              uint32_t op, size_t first, struct findings *findings)
{
    char place[PLACE_TEXT];
    struct finding *finding = found_already(findings, first, code, title, trace, op);
    if (!finding) {
        finding = findings_add(findings, code, "%s: %s", title,
                               check_short_place(trace, op, place, sizeof place));
        finding->confirmation = CONFIRM_HAPPENED;
    }
    if (finding->op_count < PLACES_LISTED_MAX)
        finding_detail(finding, "%s.\n", check_place(trace, op, place, sizeof place));
    finding_op_add(finding, op, "culprit");
    return finding;
}

/* Legal, and worth a note: nobody learns when the buffer may be used again. */
static void note_freed(const struct trace *trace, uint32_t op, size_t first,
                       struct findings *findings)
{
    report(trace, "L001", "its request was freed while it was under way", op, first, findings)
        ->severity = SEVERITY_NOTE;
}

static bool never_received(const struct trace_op *op)
{
    return check_class(op) == CLASS_SEND && op->match == TRACE_NO &&
           (op->state == STATE_COMPLETE || op->state == STATE_POSTED);
}

/* That the run ended does not make it harmless. NULL: the model of sends says it already. */
static const char *what_waits(const struct trace *trace, uint8_t kind)
{
    if (kind == OP_BSEND || kind == OP_IBSEND)
        return "It is still in the buffer that the program attached, and MPI_Buffer_detach waits "
               "for it for ever.\n";
    if (kind == OP_SSEND || kind == OP_ISSEND)
        return "A synchronous send completes only when it is received: this one never does.\n";
    return strcmp(trace->model, "eager") ? NULL
                                         : "It was buffered; where sends wait for their receives "
                                           "(--send rendezvous) a blocking one stands for ever.\n";
}

static void report_what_waits(const struct trace *trace, struct findings *findings, size_t first)
{
    for (size_t i = first; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        const char *text = strcmp(finding->code, "L002")
                               ? NULL
                               : what_waits(trace, trace->ops[finding->ops[0].op].kind);
        if (text)
            finding_detail(finding, "%s", text);
    }
}

static bool never_waited(const struct trace_op *op)
{
    return check_is_start(op) && op->request == TRACE_NO && op_kind_class(op->kind) != CLASS_NONE &&
           !(op->flags & OP_CUT) && !check_is_second(op) &&
           (op->state == STATE_COMPLETE || op->state == STATE_POSTED);
}

void check_leaks(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    size_t first = findings->count;
    if (context->cut_short)
        return;
    uint8_t *requests = freed_active_requests(context);
    for (size_t at = 0; at < context->odd_count; at++) {
        uint32_t index = context->odd[at];
        const struct trace_op *op = &trace->ops[index];
        if (never_received(op) && !freed_active_in_order(requests, trace, index))
            report(trace, "L002", "a message is never received", index, first, findings);
        if (never_waited(op) && !freed_active(requests, index))
            report(trace, "L001", "nobody waits for the operation", index, first, findings);
        else if (never_waited(op) && !(requests[index] & GIVEN_UP_CANCELLED))
            note_freed(trace, index, first, findings);
        if (op->kind == OP_WAIT && op->flags & OP_INACTIVE)
            report(trace, "L009", "a wait on an inactive request", index, first, findings);
    }
    free(requests);
    report_what_waits(trace, findings, first);
    for (size_t i = first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
}
