/* X001 crash, X002 abort or exit code, X003 time limit, N001 unknown end, X006 finalized with
 * operations pending. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/properties/freed_requests.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static uint32_t last_op(const struct trace *trace, uint32_t rank)
{
    size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
    return end > begin ? (uint32_t)(end - 1) : TRACE_NO;
}

static void report_end(const struct trace *trace, const char *code, uint32_t rank,
                       struct findings *findings)
{
    const struct trace_rank *info = &trace->rank_info[rank];
    char where[PLACE_TEXT], place[PLACE_TEXT];
    uint32_t op = last_op(trace, rank), site = info->site;
    if (site == TRACE_NO && info->state == RANK_ABORTED && op != TRACE_NO)
        site = trace->ops[op].form->site; /* of the call that ended it */
    trace_at_text(trace, site, where, sizeof where);
    struct finding *finding;
    if (info->state == RANK_CRASHED)
        finding = findings_add(findings, code, "%s%s", strsignal(info->exit_code), where);
    else if (info->state == RANK_ABORTED)
        finding = findings_add(findings, code, "aborted with code %d%s", info->exit_code, where);
    else
        finding = findings_add(findings, code, "exit code %d%s", info->exit_code, where);
    finding->site = site;
    finding->confirmation = CONFIRM_HAPPENED;
    finding_detail(finding, "Rank %u ended this way", rank);
    if (op != TRACE_NO) {
        finding_detail(finding, "; its last operation: %s",
                       check_place(trace, op, place, sizeof place));
        finding_op_add(finding, op, "culprit");
    }
    finding_detail(finding, ".\n");
    finding_seal(finding, trace);
}

/* Limits send these; the program's own doing is the rest. */
static const char *crash_code(int number)
{
    bool limit = number == SIGXCPU || number == SIGXFSZ;
    return limit || number == SIGKILL || number == SIGSTOP ? "X007" : "X001";
}

static bool same_end(const struct trace_rank *a, const struct trace_rank *b)
{
    return a->state == b->state && a->exit_code == b->exit_code && a->site == b->site;
}

/* The launcher saw better than the trace can tell. */
static bool is_noted(const struct trace *trace, const char *code)
{
    for (size_t i = 0; i < trace->note_count; i++)
        if (strcmp(trace->notes[i].code, code) == 0)
            return true;
    return false;
}

/* By rank: that is said already, it was made to crash, or at which call it aborted. */
static bool *ranks_told(const struct trace *trace)
{
    bool *told = check_new(trace->ranks, sizeof *told);
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        enum rank_state state = trace->rank_info[note->rank].state;
        told[note->rank] |= (state == RANK_CRASHED && !strcmp(note->code, "X010")) ||
                            (state == RANK_ABORTED && !strcmp(note->code, "X002"));
    }
    return told;
}

/* How many of the ranks from `begin` on, before `end`, ended as this one, untold: at most so many. */
static unsigned count_alike(const struct trace *trace, const bool *told, uint32_t rank,
                            uint32_t begin, uint32_t end, unsigned most)
{
    unsigned count = 0;
    for (uint32_t other = begin; other < end && count < most; other++)
        count += !told[other] && same_end(&trace->rank_info[rank], &trace->rank_info[other]);
    return count;
}

/* Ranks that end alike are one finding: the first speaks, the others are counted. */
static void check_ends(const struct trace *trace, struct findings *findings)
{
    bool *told = ranks_told(trace);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        const struct trace_rank *info = &trace->rank_info[rank];
        bool crashed = info->state == RANK_CRASHED, aborted = info->state == RANK_ABORTED;
        if (!crashed && !aborted && (info->state != RANK_FINISHED || info->exit_code == 0))
            continue;
        if (told[rank] || count_alike(trace, told, rank, 0, rank, 1))
            continue;
        if (crashed && is_noted(trace, "X001")) /* a sanitizer's report says what it was */
            continue;
        report_end(trace, crashed ? crash_code(info->exit_code) : "X002", rank, findings);
        unsigned more = count_alike(trace, told, rank, rank + 1, trace->ranks, UINT_MAX);
        if (more)
            finding_detail(&findings->items[findings->count - 1], "So did %u other rank%s.\n", more,
                           more == 1 ? "" : "s");
    }
    free(told);
}

static void check_timeout(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    if (trace->outcome != OUTCOME_TIMEOUT || is_noted(trace, "X003"))
        return;
    struct finding *finding =
        findings_add(findings, "X003", "the time limit passed without a verdict");
    finding->confirmation = CONFIRM_HAPPENED;
    for (uint32_t rank = 0; rank < trace->ranks && finding->op_count < PLACES_LISTED_MAX; rank++) {
        uint32_t op =
            context->blocked[rank] != TRACE_NO ? context->blocked[rank] : last_op(trace, rank);
        char place[PLACE_TEXT];
        if (op == TRACE_NO || trace->rank_info[rank].state == RANK_FINISHED)
            continue;
        finding_detail(finding, "Last: %s.\n", check_place(trace, op, place, sizeof place));
        finding_op_add(finding, op, "waits");
    }
    finding_seal(finding, trace);
}

/* What a request names is the wait that completed it; of an Imrecv that stands, its probe. */
static bool is_pending(const struct trace_op *op)
{
    return check_is_start(op) && op->state == STATE_POSTED &&
           (op->request == TRACE_NO || op->kind == OP_IMRECV) && check_class(op) != CLASS_NONE &&
           !check_is_second(op);
}

static void report_pending(const struct trace *trace, uint32_t op, uint32_t finalize, size_t first,
                           struct findings *findings)
{
    char place[PLACE_TEXT], what[PLACE_TEXT];
    struct finding *finding = check_at_place(findings, first, "X006", trace, op);
    if (!finding) {
        finding = findings_add(findings, "X006", "finalized with an operation pending: %s",
                               check_short_place(trace, op, place, sizeof place));
        finding->confirmation = CONFIRM_HAPPENED;
    }
    if (finding->op_count < PLACES_LISTED_MAX)
        finding_detail(finding, "Still pending at %s: %s.\n",
                       check_short_place(trace, finalize, what, sizeof what),
                       check_place(trace, op, place, sizeof place));
    finding_op_add(finding, op, "culprit");
}

/* Pending when its rank called Finalize: started before it and never completed. */
static void check_finalize(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    size_t first = findings->count;
    uint8_t *requests = freed_active_requests(context);
    for (size_t at = 0; at < context->odd_count; at++) {
        uint32_t i = context->odd[at], finalize = context->finalize[trace->ops[i].rank];
        if (finalize != TRACE_NO && i < finalize && is_pending(&trace->ops[i]) &&
            !freed_active_in_order(requests, trace, i))
            report_pending(trace, i, finalize, first, findings);
    }
    free(requests);
    for (size_t i = first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
}

/* A rank of a real MPI that never said how it ended and stood in no call: what it would have done
 * is unknown, and nothing is said of those that wait for it. */
static void check_unknown_ends(const struct trace *trace, struct findings *findings)
{
    char place[PLACE_TEXT];
    struct finding *finding = NULL;
    for (uint32_t rank = 0; trace->outcome == OUTCOME_IMPORTED && rank < trace->ranks; rank++) {
        uint32_t op = last_op(trace, rank);
        if (trace->rank_info[rank].state != RANK_RUNNING || op == TRACE_NO)
            continue;
        if (!finding)
            finding = findings_add(findings, "N001", "a rank's record stops outside of every call");
        if (finding->op_count < PLACES_LISTED_MAX)
            finding_detail(
                finding, "Rank %u: killed, ended by _exit, or still running, some time after %s.\n",
                rank, check_place(trace, op, place, sizeof place));
        finding_op_add(finding, op, "unsearched");
        trace_gap(trace, "run", 1, "what a rank did after its record stops");
    }
    if (finding)
        finding_seal(finding, trace);
}

void check_crash(const struct check_context *context, struct findings *findings)
{
    check_ends(context->trace, findings);
    check_timeout(context, findings);
    check_unknown_ends(context->trace, findings);
    if (!context->cut_short)
        check_finalize(context, findings);
}
