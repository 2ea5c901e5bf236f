/* The root cause of a failed run: see first_failure.h. */
#include "cli/running/first_failure.h"

#include <stdio.h>
#include <string.h>

static const char failed_first[] = "failed first", restarts_name[] = "restarts";

void cause_note(struct trace *trace, int rank, int restarts)
{
    if (rank >= 0 && (uint32_t)rank < trace->ranks)
        trace_add_metric(trace, failed_first, rank, 1, "");
    if (restarts > 0)
        trace_add_metric(trace, restarts_name, -1, restarts, "");
}

static const struct trace_metric *find(const struct trace *trace, const char *name)
{
    for (size_t i = 0; i < trace->metric_count; i++)
        if (!strcmp(trace_string(trace, trace->metrics[i].name), name))
            return &trace->metrics[i];
    return NULL;
}

int cause_restarts(const struct trace *trace)
{
    const struct trace_metric *metric = find(trace, restarts_name);
    return metric ? (int)metric->value : 0;
}

/* Where it ended: where it crashed, or its last call. */
static uint32_t site_of(const struct trace *trace, uint32_t rank)
{
    const struct trace_rank *info = &trace->rank_info[rank];
    size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1];
    if (info->site == TRACE_NO && info->state == RANK_ABORTED && end > begin)
        return trace->ops[end - 1].form->site;
    return info->site;
}

bool cause_text(const struct trace *trace, char *text, size_t size)
{
    const struct trace_metric *metric = trace ? find(trace, failed_first) : NULL;
    text[0] = '\0';
    if (!metric || metric->rank < 0 || (uint32_t)metric->rank >= trace->ranks)
        return false;
    uint32_t rank = (uint32_t)metric->rank;
    const struct trace_rank *info = &trace->rank_info[rank];
    char where[TRACE_SITE_TEXT];
    int used = snprintf(text, size, "rank %u failed first: ", rank);
    if (info->state == RANK_CRASHED)
        used += snprintf(text + used, size - (size_t)used, "signal %d (%s)", info->exit_code,
                         strsignal(info->exit_code));
    else if (info->state == RANK_ABORTED)
        used += snprintf(text + used, size - (size_t)used, "aborted with code %d", info->exit_code);
    else if (info->exit_code)
        used += snprintf(text + used, size - (size_t)used, "exit code %d", info->exit_code);
    else
        used += snprintf(text + used, size - (size_t)used, "it ended before the others");
    uint32_t site = site_of(trace, rank);
    if (used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, "%s",
                 trace_at_text(trace, site, where, sizeof where));
    return true;
}
