/* Queries over remote calls: see remote_query.h. */
#include "checker/systems/remote_query.h"

#include "checker/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sorting {
    const struct remote_trace *remote;
    remote_compare *compare;
};

static int by_query(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = sorting->compare(&sorting->remote->events[left], &sorting->remote->events[right]);
    return order ? order : (left > right) - (left < right);
}

void remote_query_take(struct remote_query *query, unsigned kinds, remote_compare *compare)
{
    query->count = 0;
    for (size_t i = 0; i < query->remote->count; i++)
        if (kinds >> query->remote->events[i].kind & 1)
            query->order[query->count++] = (uint32_t)i;
    qsort_r(query->order, query->count, sizeof *query->order, by_query,
            &(struct sorting){query->remote, compare});
}

const struct remote_event *remote_at(const struct remote_query *query, size_t i)
{
    return &query->remote->events[query->order[i]];
}

int remote_by_message(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(context)
    REMOTE_COMPARE(message)
    return 0;
}

int remote_by_pass_message(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(pass)
    REMOTE_COMPARE(message)
    return 0;
}

int remote_by_rank_pass(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(rank)
    REMOTE_COMPARE(pass)
    return 0;
}

size_t remote_run_end(const struct remote_query *query, size_t first, remote_compare *compare)
{
    size_t end = first + 1;
    while (end < query->count && compare(remote_at(query, first), remote_at(query, end)) == 0)
        end++;
    return end;
}

static bool reported(const struct remote_query *query, const char *code)
{
    for (size_t i = 0; i < query->findings->count; i++)
        if (strcmp(query->findings->items[i].code, code) == 0)
            return true;
    return false;
}

void remote_breach(struct remote_query *query, const char *code, const struct remote_event *event,
                   const char *format, ...)
{
    char title[300];
    if (reported(query, code))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(title, sizeof title, format, arguments);
    va_end(arguments);
    struct finding *finding = findings_add(query->findings, code, "%s", title);
    const struct trace *trace = query->remote->trace;
    finding->confirmation = CONFIRM_HAPPENED;
    finding_detail(finding, "Worker %u: %s.\n", event->rank,
                   trace_string(trace, trace->nodes[event->node].name));
    finding_node_add(finding, event->node, "culprit");
    finding_seal(finding, trace);
}

static int by_step(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(rank)
    REMOTE_COMPARE(kind)
    REMOTE_COMPARE(pass)
    return 0;
}

/* Steps of passes as a whole are looked up often: sorted once. */
static void steps_sort(struct remote_query *query)
{
    remote_query_take(query,
                      REMOTE_BIT(OVER) | REMOTE_BIT(PASS_BEGIN) | REMOTE_BIT(FAIL) |
                          REMOTE_BIT(ROLLBACK) | REMOTE_BIT(CONTACT),
                      by_step);
    query->step_count = query->count;
    query->steps = check_new(query->count, sizeof *query->steps);
    memcpy(query->steps, query->order, query->count * sizeof *query->steps);
}

const struct remote_event *remote_pass_event(const struct remote_query *query, uint32_t rank,
                                             enum remote_kind kind, uint64_t pass)
{
    const struct remote_event wanted = {.rank = rank, .kind = kind, .pass = pass};
    size_t low = 0, high = query->step_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_step(&query->remote->events[query->steps[middle]], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == query->step_count)
        return NULL;
    const struct remote_event *event = &query->remote->events[query->steps[low]];
    return by_step(event, &wanted) == 0 ? event : NULL;
}

void remote_query_init(struct remote_query *query, const struct remote_trace *remote,
                       struct findings *findings)
{
    *query = (struct remote_query){.remote = remote, .findings = findings};
    query->order = check_new(remote->count, sizeof *query->order);
    steps_sort(query);
}

void remote_query_release(struct remote_query *query)
{
    free(query->order);
    free(query->steps);
}
