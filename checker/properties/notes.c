/* What the running program or the machine noted becomes a finding as it is; notes of one code and
 * place are one finding. */
#include "checker/context.h"
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "traces/trace/requests.h"

#include <stdlib.h>
#include <string.h>

/* The parts of a Sendrecv are one call. */
static int kind_of(const struct trace_note *note, const struct trace *trace)
{
    if (note->op == TRACE_NO)
        return OP_NONE;
    const struct trace_op *op = &trace->ops[note->op];
    return op->flags & OP_COMPOUND ? OP_WAITALL : op->kind;
}

static bool same_finding(const struct trace_note *a, const struct trace_note *b,
                         const struct trace *trace)
{
    int kind_a = kind_of(a, trace), kind_b = kind_of(b, trace);
    /* An operation and one that was under way, an access and what opened its epoch. */
    bool pair = a->code[0] == 'B' && strcmp(a->code, "B001") != 0 && strcmp(a->code, "B006") != 0;
    return strcmp(a->code, b->code) == 0 && a->site == b->site && (pair || kind_a == kind_b);
}

/* What is said about the end of one operation is about its start, too. */
static void add_start(struct finding *finding, const struct trace *trace, uint32_t op)
{
    char place[PLACE_TEXT];
    if (trace_op_requests(trace, op, NULL, 0) != 1)
        return;
    uint32_t start = trace_op_request(trace, op, 0);
    finding_detail(finding, "It was started by %s.\n",
                   check_place(trace, start, place, sizeof place));
    finding_op_add(finding, start, "partner");
}

static void add_note(struct finding *finding, const struct trace *trace,
                     const struct trace_note *note, unsigned listed)
{
    if (listed < PLACES_LISTED_MAX)
        finding_sentence(finding, "Rank %u: %s\n", note->rank, note->text ? note->text : "");
    /* A call that was refused before it became an operation: the note's op is the one before. */
    bool refused = strcmp(note->code, "X005") == 0 && note->op != TRACE_NO &&
                   trace->ops[note->op].form->site != note->site;
    if (note->op != TRACE_NO && !refused && !(note->code[0] == 'G' && note->node != TRACE_NO))
        finding_op_add(finding, note->op, "culprit");
    else if (note->node != TRACE_NO)
        finding_node_add(finding, note->node, "culprit");
    if (strcmp(note->code, "B001") == 0 && note->op != TRACE_NO)
        add_start(finding, trace, note->op);
}

/* Whether no operation names the place: how a rank ended, what it has made and not freed, a call by
 * another of its threads. */
static bool has_own_place(const struct trace *trace, const struct trace_note *note)
{
    if (note->site != TRACE_NO && note->op == TRACE_NO && note->node == TRACE_NO)
        return true;
    if (note->site == TRACE_NO || (!strchr("XLUB", note->code[0]) && strcmp(note->code, "M009")))
        return false;
    return note->code[0] == 'X' || note->op == TRACE_NO ||
           trace->ops[note->op].form->site != note->site;
}

/* Then the title does, up to the advice behind the semicolon. */
static struct finding *begin_finding(struct findings *findings, const struct trace *trace,
                                     const struct trace_note *note)
{
    const char *text = note->text ? note->text : note->code;
    char place[PLACE_TEXT];
    if (!has_own_place(trace, note))
        return findings_add(findings, note->code, "%s", text);
    return findings_add(findings, note->code, "%.*s%s", (int)strcspn(text, ";"), text,
                        trace_at_text(trace, note->site, place, sizeof place));
}

/* A truncated message shows in the trace, by the receive that it met. */
static bool shows_truncation(const struct trace *trace, uint32_t receive)
{
    const struct trace_op *op = &trace->ops[receive];
    if (check_class(op) != CLASS_RECEIVE || op->match == TRACE_NO)
        return false;
    const struct trace_op *send = &trace->ops[op->match];
    return send->count * (int64_t)trace_type_size(send->form->type) >
           op->count * (int64_t)trace_type_size(op->form->type);
}

/* The trace shows it, or another note of the same call says more. */
static bool is_reported_elsewhere(const struct trace *trace, const struct trace_note *note)
{
    /* A test that ends the rank is not recorded: it asked for one of the rank's receives. */
    bool unrecorded = strcmp(note->code, "M007") == 0 && note->op == TRACE_NO;
    for (uint32_t op = 0; unrecorded && op < trace->op_count; op++)
        if (trace->ops[op].rank == note->rank && shows_truncation(trace, op))
            return true;
    if (strcmp(note->code, "M007") == 0 && note->op != TRACE_NO) {
        uint32_t start;
        if (shows_truncation(trace, note->op))
            return true;
        for (size_t i = 0; (start = trace_op_request(trace, note->op, i)) != TRACE_NO; i++)
            if (shows_truncation(trace, start))
                return true;
    }
    for (size_t i = 0; strcmp(note->code, "M009") == 0 && i < trace->note_count; i++)
        if (strcmp(trace->notes[i].code, "L010") == 0 && trace->notes[i].rank == note->rank &&
            trace->notes[i].site == note->site)
            return true;
    return false;
}

/* Told with the collectives: see mismatch.c. */
static bool is_mismatch(const struct trace_note *note)
{
    return strcmp(note->code, "M004") == 0 || strcmp(note->code, "M005") == 0;
}

void check_notes(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    bool *reported = check_new(trace->note_count, sizeof *reported);
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        if (reported[i] || is_mismatch(note) || is_reported_elsewhere(trace, note))
            continue;
        struct finding *finding = begin_finding(findings, trace, note);
        finding->site = note->site;
        finding->confirmation = CONFIRM_HAPPENED;
        unsigned listed = 0;
        for (size_t j = i; j < trace->note_count; j++)
            if (same_finding(note, &trace->notes[j], trace)) {
                reported[j] = true;
                add_note(finding, trace, &trace->notes[j], listed++);
            }
        finding_seal(finding, trace);
    }
    free(reported);
}
