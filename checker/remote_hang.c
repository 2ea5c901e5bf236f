/* Why a pass of distributed autograd hangs: details of its deadlock.
 *
 * A counted send without a gradient is the cause only where nothing of the pass is still on its
 * way: a gradient that waits for a thread of the engine, or was lost, explains what waits behind
 * it. */
#include "checker/remote_query.h"

#include <stdio.h>
#include <string.h>

/* What became of one gradient of one pass. */
struct fate {
    const struct remote_event *count, *out, *in, *queue;
};

static struct fate fate_of(const struct remote_query *query, size_t first, size_t end)
{
    struct fate fate = {0};
    for (size_t i = first; i < end; i++) {
        const struct remote_event *event = remote_at(query, i);
        const struct remote_event **place = event->kind == REMOTE_COUNT      ? &fate.count
                                            : event->kind == REMOTE_GRAD_OUT ? &fate.out
                                            : event->kind == REMOTE_GRAD_IN  ? &fate.in
                                                                             : &fate.queue;
        *place = event;
    }
    return fate;
}

/* The passes that a worker is in: "0.1, 0.2". */
static void holders_text(const struct remote_query *query, uint32_t rank, char *text, size_t size)
{
    const struct remote_trace *remote = query->remote;
    size_t used = 0, count = 0;
    char pass[32];
    text[0] = '\0';
    for (size_t i = remote->begin[rank]; i < remote->begin[rank + 1]; i++) {
        const struct remote_event *event = &remote->events[i];
        if (event->kind != REMOTE_CONTACT ||
            remote_pass_event(query, rank, REMOTE_OVER, event->pass))
            continue;
        if (used + 40 < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", count ? ", " : "",
                                     remote_id(event->pass, pass));
        count++;
    }
}

static void tell_queued(const struct remote_query *query, struct finding *finding,
                        const struct remote_event *queue)
{
    char id[32], pass[32], holders[300];
    holders_text(query, queue->rank, holders, sizeof holders);
    finding_detail(finding,
                   "A gradient of pass %s, for message %s, waits on worker %u for a thread of its "
                   "engine: each of its %llu is held until its pass is over (%s). A pass that held "
                   "no thread while it waits would let it in.\n",
                   remote_id(queue->pass, pass), remote_id(queue->message, id), queue->rank,
                   (unsigned long long)queue->number, holders);
    finding_node_add(finding, queue->node, "waits");
}

static void tell_lost(struct finding *finding, const struct remote_event *out)
{
    char id[32], pass[32];
    finding_detail(finding,
                   "The gradient of message %s in pass %s was sent by worker %u and never came to "
                   "worker %d, which does not go on without it.\n",
                   remote_id(out->message, id), remote_id(out->pass, pass), out->rank, out->peer);
    finding_node_add(finding, out->node, "unmatched");
}

/* The send function itself stands with its worker. */
static void tell_unused(const struct remote_query *query, struct finding *finding,
                        const struct remote_event *count)
{
    const struct remote_trace *remote = query->remote;
    const struct remote_event *send = NULL;
    char id[32], pass[32], what[300];
    for (size_t i = remote->begin[count->rank]; i < remote->begin[count->rank + 1]; i++)
        if (remote->events[i].kind == REMOTE_SEND && remote->events[i].message == count->message)
            send = &remote->events[i];
    if (!send)
        return;
    finding_detail(finding,
                   "Pass %s counted send %s of worker %u, %s, and no gradient will come for it: "
                   "nothing that the roots depend on uses it. SMART does not count it.\n",
                   remote_id(count->pass, pass), remote_id(count->message, id), count->rank,
                   remote_send_text(remote, send, what, sizeof what));
    finding_node_add(finding, send->node, "unmatched");
}

static struct finding *deadlock_of(const struct remote_query *query)
{
    for (size_t i = 0; i < query->findings->count; i++)
        if (strcmp(query->findings->items[i].code, "D001") == 0)
            return &query->findings->items[i];
    return NULL;
}

static bool is_over(const struct remote_query *query, const struct remote_event *event)
{
    return remote_pass_event(query, event->rank, REMOTE_OVER, event->pass) != NULL;
}

void remote_hang_explain(struct remote_query *query)
{
    struct finding *finding = deadlock_of(query);
    size_t told = 0;
    if (!finding)
        return;
    remote_query_take(
        query, REMOTE_BIT(COUNT) | REMOTE_BIT(GRAD_OUT) | REMOTE_BIT(GRAD_IN) | REMOTE_BIT(QUEUE),
        remote_by_pass_message);
    for (int round = 0; round < 2 && !told; round++)
        for (size_t i = 0, end; i < query->count; i = end) {
            end = remote_run_end(query, i, remote_by_pass_message);
            struct fate fate = fate_of(query, i, end);
            if (fate.in)
                continue;
            if (round == 0 && fate.queue)
                tell_queued(query, finding, fate.queue);
            else if (round == 0 && fate.out && !is_over(query, fate.out))
                tell_lost(finding, fate.out);
            else if (round == 1 && fate.count && !is_over(query, fate.count))
                tell_unused(query, finding, fate.count);
            else
                continue;
            told++;
        }
}
