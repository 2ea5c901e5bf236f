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

/* A finding about this call, or about one at this place; any of this code where the call is not known. */
static struct finding *reported_already(const struct check_context *context,
                                        struct findings *findings, uint32_t op, const char *code)
{
    uint32_t group = op == TRACE_NO ? TRACE_NO : check_group_of(context, op);
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        if (finding->code[0] != 'M' || !strcmp(finding->code, "M011")) /* of its own side */
            continue;
        if (strcmp(finding->code, code) == 0 &&
            (op == TRACE_NO || finding->site == context->trace->ops[op].form->site))
            return finding;
        for (size_t k = 0; k < finding->op_count && group != TRACE_NO; k++)
            if (finding->ops[k].op != TRACE_NO &&
                check_group_of(context, finding->ops[k].op) == group)
                return finding;
    }
    return NULL;
}

/* Told inside a call that the trace does not have: where records were dropped, or of a test that was not recorded. */
static void report_placeless(const struct trace *trace, const struct trace_note *note,
                             struct findings *findings)
{
    char place[PLACE_TEXT];
    struct finding *finding =
        findings_add(findings, note->code, "%.*s%s", (int)strcspn(note->text, ":"), note->text,
                     trace_at_text(trace, note->site, place, sizeof place));
    finding->site = note->site;
    finding->confirmation = CONFIRM_HAPPENED;
    finding_detail(finding, "Rank %u: %s.\n", note->rank, note->text);
    finding_seal(finding, trace);
}

static void report_mismatch(const struct check_context *context, const struct trace_note *note,
                            uint32_t op, struct findings *findings)
{
    const struct trace *trace = context->trace;
    char place[PLACE_TEXT];
    struct finding *finding =
        findings_add(findings, note->code, "%.*s: %s", (int)strcspn(note->text, ":"), note->text,
                     check_short_place(trace, op, place, sizeof place));
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

/* Those with a call first: one without may be about the same. */
void check_mismatches(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    for (int placeless = 0; placeless < 2; placeless++)
        for (size_t i = 0; i < trace->note_count; i++) {
            const struct trace_note *note = &trace->notes[i];
            if (strcmp(note->code, "M004") != 0 && strcmp(note->code, "M005") != 0)
                continue;
            uint32_t op = collective_of(context, note);
            if ((op == TRACE_NO) != placeless ||
                reported_already(context, findings, op, note->code))
                continue;
            if (placeless)
                report_placeless(trace, note, findings);
            else
                report_mismatch(context, note, op, findings);
        }
}
