/* Why a pass of distributed autograd hangs: details of its deadlock.
 *
 * A counted send without a gradient is the cause only where nothing of the pass is still on its
 * way: a gradient that waits for a thread of the engine, or was lost, explains what waits behind
 * it. Nor is a send the cause that lies on a path to the roots: its gradient waits for those of
 * sends that do not. */
#include "checker/systems/remote_query.h"

#include "checker/memory.h"

#include <stdio.h>
#include <stdlib.h>
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
    char pass[REMOTE_ID_TEXT];
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

static void report_queued(const struct remote_query *query, struct finding *finding,
                          const struct remote_event *queue)
{
    char id[REMOTE_ID_TEXT], pass[REMOTE_ID_TEXT], holders[300];
    holders_text(query, queue->rank, holders, sizeof holders);
    finding_detail(finding,
                   "A gradient of pass %s, for message %s, waits on worker %u for a thread of its "
                   "engine: each of its %llu is held until its pass is over (%s). A pass that held "
                   "no thread while it waits would let it in.\n",
                   remote_id(queue->pass, pass), remote_id(queue->message, id), queue->rank,
                   (unsigned long long)queue->number, holders);
    finding_node_add(finding, queue->node, "waits");
}

static void report_lost(struct finding *finding, const struct remote_event *out)
{
    char id[REMOTE_ID_TEXT], pass[REMOTE_ID_TEXT];
    finding_detail(finding,
                   "The gradient of message %s in pass %s was sent by worker %u and never came to "
                   "worker %d, which does not go on without it.\n",
                   remote_id(out->message, id), remote_id(out->pass, pass), out->rank, out->peer);
    finding_node_add(finding, out->node, "unmatched");
}

/* The send function itself stands with its worker. */
static void report_unused(const struct remote_query *query, struct finding *finding,
                          const struct remote_event *count)
{
    const struct remote_trace *remote = query->remote;
    const struct remote_event *send = NULL;
    char id[REMOTE_ID_TEXT], pass[REMOTE_ID_TEXT], what[300];
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

/* ---- what lies on a path to the roots ---- */

struct paths {
    const struct remote_event **steps; /* PATH events, by the message they lead on from */
    size_t count;
    uint64_t pass;    /* whose needed sends these are */
    uint64_t *needed; /* message ids */
    size_t needed_count, needed_room;
};

static int by_message_of(const void *a, const void *b)
{
    const struct remote_event *first = *(const struct remote_event *const *)a,
                              *second = *(const struct remote_event *const *)b;
    return (first->message > second->message) - (first->message < second->message);
}

static void paths_init(struct paths *paths, const struct remote_trace *remote)
{
    *paths = (struct paths){.steps = check_new(remote->count, sizeof(void *))};
    for (size_t i = 0; i < remote->count; i++)
        if (remote->events[i].kind == REMOTE_PATH)
            paths->steps[paths->count++] = &remote->events[i];
    qsort(paths->steps, paths->count, sizeof *paths->steps, by_message_of);
}

static bool paths_need(const struct paths *paths, uint64_t message)
{
    for (size_t i = 0; i < paths->needed_count; i++)
        if (paths->needed[i] == message)
            return true;
    return false;
}

/* What leads on from a message, or from the roots (0). */
static void paths_follow(struct paths *paths, uint64_t message)
{
    size_t low = 0, high = paths->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (paths->steps[middle]->message < message)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < paths->count && paths->steps[low]->message == message; low++) {
        const struct remote_event *step = paths->steps[low];
        if ((!message && step->pass != paths->pass) || paths_need(paths, step->hash))
            continue;
        paths->needed = check_grow(paths->needed, &paths->needed_room, paths->needed_count + 1,
                                   sizeof *paths->needed);
        paths->needed[paths->needed_count++] = step->hash;
    }
}

static bool is_on_path(struct paths *paths, uint64_t pass, uint64_t message)
{
    if (paths->pass != pass) {
        paths->pass = pass;
        paths->needed_count = 0;
        paths_follow(paths, 0);
        for (size_t i = 0; i < paths->needed_count; i++)
            paths_follow(paths, paths->needed[i]);
    }
    return paths_need(paths, message);
}

/* ---- the deadlock ---- */

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
    size_t reported = 0;
    struct paths paths;
    if (!finding)
        return;
    paths_init(&paths, query->remote);
    remote_query_take(
        query, REMOTE_BIT(COUNT) | REMOTE_BIT(GRAD_OUT) | REMOTE_BIT(GRAD_IN) | REMOTE_BIT(QUEUE),
        remote_by_pass_message);
    for (int round = 0; round < 2 && !reported; round++)
        for (size_t i = 0, end; i < query->count; i = end) {
            end = remote_run_end(query, i, remote_by_pass_message);
            struct fate fate = fate_of(query, i, end);
            if (fate.in)
                continue;
            if (round == 0 && fate.queue)
                report_queued(query, finding, fate.queue);
            else if (round == 0 && fate.out && !is_over(query, fate.out))
                report_lost(finding, fate.out);
            else if (round == 1 && fate.count && !is_over(query, fate.count) &&
                     !is_on_path(&paths, fate.count->pass, fate.count->message))
                report_unused(query, finding, fate.count);
            else
                continue;
            reported++;
        }
    free(paths.steps);
    free(paths.needed);
}
