/* Invariants of contexts: they do not mix, and are forgotten when they are released. */
#include "checker/systems/remote_query.h"

#include "checker/memory.h"

#include <stdlib.h>

static int by_rank_context(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(rank)
    REMOTE_COMPARE(context)
    return 0;
}

static int by_rank_leaf(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(rank)
    REMOTE_COMPARE(context)
    REMOTE_COMPARE(number)
    return 0;
}

/* A009: what a context holds of a leaf grows from nothing by its own passes alone. */
static void check_contexts(struct remote_query *query)
{
    char id[REMOTE_ID_TEXT];
    remote_query_take(query, REMOTE_BIT(LEAF), by_rank_leaf);
    for (size_t i = 0, end; i < query->count; i = end) {
        uint64_t holds = 0;
        end = remote_run_end(query, i, by_rank_leaf);
        for (size_t k = i; k < end; k++) {
            const struct remote_event *event = remote_at(query, k);
            bool back = k > i && remote_pass_event(query, event->rank, REMOTE_ROLLBACK,
                                                   remote_at(query, k - 1)->pass);
            if (event->before != (back ? remote_at(query, k - 1)->before : holds))
                remote_breach(query, "A009", event, "context %s held another context's gradient",
                              remote_id(event->context, id));
            holds = event->hash;
        }
    }
}

static bool has_died(const struct remote_query *query, uint32_t rank)
{
    for (size_t i = query->remote->begin[rank]; i < query->remote->begin[rank + 1]; i++)
        if (query->remote->events[i].kind == REMOTE_DIED)
            return true;
    return false;
}

/* A012: after a release every worker has forgotten the context, and it does not come back. */
static void check_release(struct remote_query *query)
{
    const struct remote_trace *remote = query->remote;
    char id[REMOTE_ID_TEXT];
    bool *open = check_new(remote->count, sizeof *open); /* context events not yet forgotten */
    remote_query_take(query, REMOTE_BIT(CONTEXT) | REMOTE_BIT(FORGET) | REMOTE_BIT(CLOSED),
                      by_rank_context);
    for (size_t i = 0, end; i < query->count; i = end) {
        end = remote_run_end(query, i, by_rank_context);
        uint32_t closed = TRACE_NO; /* shutting down forgets what nobody released */
        for (size_t k = remote->begin[remote_at(query, i)->rank];
             k < remote->begin[remote_at(query, i)->rank + 1]; k++)
            if (remote->events[k].kind == REMOTE_CLOSED)
                closed = (uint32_t)k;
        bool forgotten = false;
        for (size_t k = i; k < end; k++) {
            const struct remote_event *event = remote_at(query, k);
            if (event->kind == REMOTE_CONTEXT && forgotten)
                remote_breach(query, "A012", event, "context %s came back after its release",
                              remote_id(event->context, id));
            forgotten = forgotten || (event->kind == REMOTE_FORGET && query->order[k] < closed);
        }
        open[query->order[i]] = !forgotten && remote_at(query, i)->kind == REMOTE_CONTEXT;
    }
    for (size_t i = 0; i < remote->count; i++) {
        const struct remote_event *done = &remote->events[i];
        if (done->kind != REMOTE_RELEASE_DONE || !done->flag)
            continue;
        for (size_t k = 0; k < remote->count; k++)
            if (open[k] && remote->events[k].context == done->context &&
                !has_died(query, remote->events[k].rank))
                remote_breach(query, "A012", &remote->events[k],
                              "worker %u still knows context %s after its release",
                              remote->events[k].rank, remote_id(done->context, id));
    }
    free(open);
}

void remote_check_contexts(struct remote_query *query)
{
    check_contexts(query);
    check_release(query);
}
