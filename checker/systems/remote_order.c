/* A006: the root of a pass is done after everything that was done in the pass, on all workers.
 *
 * What happened before an event is a position on every rank. A root's later events have all the
 * past of its earlier ones, so positions only grow: the ends of all passes of one root cost one
 * walk over the trace together. */
#include "checker/systems/remote_query.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

static int by_channel(const struct remote_event *a, const struct remote_event *b)
{
    int a_from = a->kind == REMOTE_OUT ? (int)a->rank : a->peer;
    int b_from = b->kind == REMOTE_OUT ? (int)b->rank : b->peer;
    int a_to = a->kind == REMOTE_OUT ? a->peer : (int)a->rank;
    int b_to = b->kind == REMOTE_OUT ? b->peer : (int)b->rank;
    if (a_from != b_from)
        return a_from < b_from ? -1 : 1;
    if (a_to != b_to)
        return a_to < b_to ? -1 : 1;
    REMOTE_COMPARE(number)
    return 0;
}

/* False where numbers are not unique: then partners are not known by them. */
static bool partners_find(struct remote_query *query, uint32_t *partner)
{
    for (size_t i = 0; i < query->remote->count; i++)
        partner[i] = TRACE_NO;
    remote_query_take(query, REMOTE_BIT(OUT) | REMOTE_BIT(IN), by_channel);
    for (size_t i = 0, end; i < query->count; i = end) {
        end = remote_run_end(query, i, by_channel);
        if (end - i > 2)
            return false;
        if (end - i == 2) {
            bool first_out = remote_at(query, i)->kind == REMOTE_OUT;
            partner[query->order[first_out ? i + 1 : i]] = query->order[first_out ? i : i + 1];
        }
    }
    return true;
}

static int by_pass(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(pass)
    return 0;
}

/* The past of one root's events up to some event. */
struct past {
    const struct remote_trace *remote;
    const uint32_t *partner; /* of an IN the OUT that sent it */
    size_t *reached;         /* per rank: its events below this number are in the past */
    uint32_t *stack;
};

static void past_of_root(struct past *past)
{
    memcpy(past->reached, past->remote->begin, past->remote->trace->ranks * sizeof *past->reached);
}

/* Takes in the event, earlier events of its rank, and what sent the messages that came in there. */
static void past_reach(struct past *past, size_t event)
{
    size_t depth = 0;
    past->stack[depth++] = (uint32_t)event;
    while (depth) {
        size_t last = past->stack[--depth], *reached;
        reached = &past->reached[past->remote->events[last].rank];
        for (; *reached <= last; ++*reached)
            if (past->partner[*reached] != TRACE_NO)
                past->stack[depth++] = past->partner[*reached];
    }
}

static void check_pass(struct remote_query *query, const struct past *past, uint64_t pass)
{
    size_t low = 0, high = query->count;
    char id[REMOTE_ID_TEXT];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (remote_at(query, middle)->pass < pass)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < query->count && remote_at(query, low)->pass == pass; low++)
        if (query->order[low] >= past->reached[remote_at(query, low)->rank])
            remote_breach(query, "A006", remote_at(query, low),
                          "pass %s returned at its root before all was done", remote_id(pass, id));
}

void remote_check_order(struct remote_query *query)
{
    const struct remote_trace *remote = query->remote;
    uint32_t *partner = check_new(remote->count, sizeof *partner);
    struct past past = {.remote = remote,
                        .partner = partner,
                        .reached = check_new(remote->trace->ranks, sizeof *past.reached),
                        .stack = check_new(remote->count + 1, sizeof *past.stack)};
    if (partners_find(query, partner)) {
        remote_query_take(query, UINT32_MAX, by_pass);
        for (uint32_t rank = 0; rank < remote->trace->ranks; rank++) {
            past_of_root(&past);
            for (size_t i = remote->begin[rank]; i < remote->begin[rank + 1]; i++) {
                if (remote->events[i].kind != REMOTE_PASS_END || !remote->events[i].flag)
                    continue;
                past_reach(&past, i);
                check_pass(query, &past, remote->events[i].pass);
            }
        }
    }
    free(partner);
    free(past.reached);
    free(past.stack);
}
