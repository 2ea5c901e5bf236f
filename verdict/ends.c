/* Every bad end is a finding: see ends.h. */
#include "verdict/ends.h"

#include <string.h>

static bool has_error(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity == SEVERITY_ERROR)
            return true;
    return false;
}

/* What each rank that did not end did last: all there is to say where the call itself left no
 * event. */
static void tell_last(struct finding *finding, const struct trace *trace)
{
    for (uint32_t rank = 0; trace && rank < trace->ranks; rank++) {
        size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
        char text[160], where[TRACE_SITE_TEXT];
        enum rank_state state = trace->rank_info[rank].state;
        if (state == RANK_FINISHED || finding->op_count >= 8)
            continue;
        if (begin == end) {
            finding_detail(finding, "Rank %u stands in a call before its first operation.\n", rank);
            continue;
        }
        uint32_t last = (uint32_t)(end - 1);
        bool stands = trace->ops[last].state == STATE_BLOCKED;
        finding_detail(finding, "Rank %u stands in %s%s%s.\n", rank,
                       stands ? "" : "a call that is not recorded, after ",
                       trace_op_text(trace, last, text, sizeof text),
                       trace_at_text(trace, trace->ops[last].form->site, where, sizeof where));
        finding_op_add(finding, last, stands ? "core" : "before");
    }
}

void verdict_end(struct findings *findings, const struct trace *trace, enum trace_outcome outcome,
                 const char *crash)
{
    struct finding *finding = NULL;
    if (has_error(findings))
        return;
    if (outcome == OUTCOME_DEADLOCK)
        finding = findings_add(findings, "D001", "ranks stand and none can go on");
    else if (outcome == OUTCOME_LIVELOCK)
        finding = findings_add(findings, "D005", "every live rank polls and nothing changes");
    else if (outcome == OUTCOME_ABORTED)
        finding = findings_add(findings, "X002", "the run was aborted");
    else if (outcome == OUTCOME_CRASHED)
        finding = findings_add(findings, "X001", "%s",
                               crash[0] ? crash : "the process that ran the ranks died");
    if (!finding)
        return;
    finding->confirmation = CONFIRM_HAPPENED;
    tell_last(finding, trace);
    if (trace)
        finding_seal(finding, trace);
}
