/* What an injected fault came to: see injected.h. */
#include "verdict/injected.h"

#include "checker/places.h"

#include <string.h>

/* Who stands where, since the fault struck. */
static void tell_unhandled(struct finding *fault, const struct trace *trace)
{
    char place[PLACE_TEXT];
    for (uint32_t rank = 0; rank < trace->ranks && fault->op_count < PLACES_LISTED_MAX; rank++) {
        size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
        if (begin == end || trace->rank_info[rank].state != RANK_BLOCKED ||
            trace->ops[end - 1].state == STATE_COMPLETE)
            continue;
        bool struck = false;
        for (size_t i = 0; i < fault->op_count; i++)
            struck = struck ||
                     (fault->ops[i].op != TRACE_NO && trace->ops[fault->ops[i].op].rank == rank);
        if (struck)
            continue;
        finding_detail(fault, "Not handled: %s waits for ever.\n",
                       check_place(trace, (uint32_t)(end - 1), place, sizeof place));
        finding_op_add(fault, (uint32_t)(end - 1), "waits");
    }
}

void verdict_injected(const struct findings *findings, const struct trace *trace)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *fault = &findings->items[i];
        if (strcmp(fault->code, "X010") != 0 || fault->confirmation != CONFIRM_HAPPENED)
            continue;
        if (trace->outcome != OUTCOME_FINISHED) {
            tell_unhandled(fault, trace);
            continue;
        }
        fault->severity = SEVERITY_NOTE;
        for (size_t k = findings->count; k < findings->count + findings->folded; k++)
            if (findings->items[k].severity == SEVERITY_ERROR &&
                strcmp(findings->items[k].because, "X010") == 0)
                fault->severity = SEVERITY_ERROR;
    }
}
