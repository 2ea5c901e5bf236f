/* M004 and M005 that only who moves the data can see: what one member of a collective gives is not
 * what another takes of it. The machine notes them with the taker's call; those about a call that
 * ranks disagree about in a way the trace shows are reported there. */
#include "checker/places.h"
#include "checker/properties.h"
#include "traces/trace/requests.h"

#include <string.h>

/* The collective that the note is about: its operation, or one that this wait completed. */
static uint32_t collective_of(const struct check_context *context, const struct trace_note *note)
{
    const struct trace *trace = context->trace;
    uint32_t start;
    if (note->op == TRACE_NO || check_group_of(context, note->op) != TRACE_NO)
        return note->op;
    for (size_t i = 0; (start = trace_op_request(trace, note->op, i)) != TRACE_NO; i++)
        if (check_group_of(context, start) != TRACE_NO &&
            strstr(note->text, op_kind_name(trace->ops[start].kind)))
            return start;
    return note->op;
}

/* A finding about this call, or about one at this place. */
static struct finding *reported_already(const struct check_context *context,
                                        struct findings *findings, uint32_t op, const char *code)
{
    uint32_t group = check_group_of(context, op);
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        if (finding->code[0] != 'M' || !strcmp(finding->code, "M011")) /* of its own side */
            continue;
        if (strcmp(finding->code, code) == 0 && finding->site == context->trace->ops[op].form->site)
            return finding;
        for (size_t k = 0; k < finding->op_count && group != TRACE_NO; k++)
            if (finding->ops[k].op != TRACE_NO &&
                check_group_of(context, finding->ops[k].op) == group)
                return finding;
    }
    return NULL;
}

void check_mismatches(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        if (strcmp(note->code, "M004") != 0 && strcmp(note->code, "M005") != 0)
            continue;
        uint32_t op = collective_of(context, note);
        char place[PLACE_TEXT];
        if (op == TRACE_NO)
            continue;
        struct finding *finding = reported_already(context, findings, op, note->code);
        if (finding)
            continue;
        finding = findings_add(findings, note->code, "%.*s: %s", (int)strcspn(note->text, ":"),
                               note->text, check_short_place(trace, op, place, sizeof place));
        finding->confirmation = CONFIRM_HAPPENED;
        finding_detail(finding, "Rank %u: %s.\n", note->rank, note->text);
        finding_op_add(finding, op, "culprit");
        uint32_t group = check_group_of(context, op);
        for (uint32_t k = 0; group != TRACE_NO && k < context->groups[group].count; k++) {
            uint32_t other = context->group_ops[context->groups[group].first + k];
            if (other != op && finding->op_count < PLACES_LISTED_MAX)
                finding_op_add(finding, other, "partner");
        }
        finding_seal(finding, trace);
    }
}
