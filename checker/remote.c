/* Invariants of remote calls and distributed autograd, each a query over the steps of a trace.
 *
 * One function per invariant, in the order of the codes. Each looks at an index of the events
 * sorted by what it compares, so that all are linear but for the sorting. */
#include "checker/remote.h"

#include "checker/memory.h"
#include "checker/properties.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct query {
    const struct remote_trace *remote;
    struct findings *findings;
    uint32_t *order; /* event numbers, sorted for the query */
    size_t count;
    uint32_t *steps; /* of passes as a whole: by rank, kind and pass */
    size_t step_count;
};

typedef int compare_events(const struct remote_event *a, const struct remote_event *b);

struct sorting {
    const struct remote_trace *remote;
    compare_events *compare;
};

static int by_query(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = sorting->compare(&sorting->remote->events[left], &sorting->remote->events[right]);
    return order ? order : (left > right) - (left < right);
}

/* Takes the events of these kinds, sorted; equal ones stay in the order of rank and step. */
static void query_take(struct query *query, unsigned kinds, compare_events *compare)
{
    query->count = 0;
    for (size_t i = 0; i < query->remote->count; i++)
        if (kinds >> query->remote->events[i].kind & 1)
            query->order[query->count++] = (uint32_t)i;
    qsort_r(query->order, query->count, sizeof *query->order, by_query,
            &(struct sorting){query->remote, compare});
}

static const struct remote_event *at(const struct query *query, size_t i)
{
    return &query->remote->events[query->order[i]];
}

#define COMPARE(field)                                                                             \
    if (a->field != b->field)                                                                      \
        return a->field < b->field ? -1 : 1;

static int by_message(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(context)
    COMPARE(message)
    return 0;
}

static int by_id(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(message)
    return 0;
}

static int by_pass_message(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(pass)
    COMPARE(message)
    return 0;
}

static int by_rank_pass(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(rank)
    COMPARE(pass)
    return 0;
}

static int by_rank_vertex(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(rank)
    COMPARE(pass)
    COMPARE(number)
    return 0;
}

static int by_rank_function(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(rank)
    COMPARE(before)
    COMPARE(hash)
    return 0;
}

static int by_rank_context(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(rank)
    COMPARE(context)
    return 0;
}

static int by_rank_leaf(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(rank)
    COMPARE(context)
    COMPARE(number)
    return 0;
}

/* The end of the run of equal events that begins at `first`. */
static size_t run_end(const struct query *query, size_t first, compare_events *compare)
{
    size_t end = first + 1;
    while (end < query->count && compare(at(query, first), at(query, end)) == 0)
        end++;
    return end;
}

static bool reported(const struct query *query, const char *code)
{
    for (size_t i = 0; i < query->findings->count; i++)
        if (strcmp(query->findings->items[i].code, code) == 0)
            return true;
    return false;
}

__attribute__((format(printf, 4, 5))) static void breach(struct query *query, const char *code,
                                                         const struct remote_event *event,
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
    finding->site = trace->nodes[event->node].site;
    finding->confirmation = CONFIRM_HAPPENED;
    finding_detail(finding, "Worker %u: %s.\n", event->rank,
                   trace_string(trace, trace->nodes[event->node].name));
    finding_node_add(finding, event->node, "culprit");
    finding_seal(finding, trace);
}

#define KIND(name) (1u << REMOTE_##name)

static int by_step(const struct remote_event *a, const struct remote_event *b)
{
    COMPARE(rank)
    COMPARE(kind)
    COMPARE(pass)
    return 0;
}

/* Steps of passes as a whole are looked up often: sorted once. */
static void steps_sort(struct query *query)
{
    query_take(query, KIND(OVER) | KIND(PASS_BEGIN) | KIND(FAIL) | KIND(ROLLBACK) | KIND(CONTACT),
               by_step);
    query->step_count = query->count;
    query->steps = check_new(query->count, sizeof *query->steps);
    memcpy(query->steps, query->order, query->count * sizeof *query->steps);
}

/* What this rank recorded of that kind for the pass, NULL for nothing. */
static const struct remote_event *pass_event(const struct query *query, uint32_t rank,
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

/* ---- the invariants ---- */

/* A001: every message id has one send and one recv, at the right workers. */
static void check_pairs(struct query *query)
{
    char id[32];
    query_take(query, KIND(SEND) | KIND(RECV), by_message);
    for (size_t i = 0, end; i < query->count; i = end) {
        const struct remote_event *send = NULL, *recv = NULL;
        size_t sends = 0, recvs = 0;
        end = run_end(query, i, by_message);
        for (size_t k = i; k < end; k++)
            if (at(query, k)->kind == REMOTE_SEND)
                send = at(query, k), sends++;
            else
                recv = at(query, k), recvs++;
        remote_id(at(query, i)->message, id);
        if (sends != 1 && recvs)
            breach(query, "A001", recv, "message %s was sent %zu times", id, sends);
        else if (recvs > 1)
            breach(query, "A001", recv, "message %s was received %zu times", id, recvs);
        else if (send && recv && (send->peer != (int)recv->rank || recv->peer != (int)send->rank))
            breach(query, "A001", recv, "message %s was received by the wrong worker", id);
    }
}

static bool is_refused(const struct query *query, uint64_t context)
{
    for (size_t i = 0; i < query->remote->count; i++)
        if (query->remote->events[i].kind == REMOTE_REFUSE &&
            query->remote->events[i].context == context)
            return true;
    return false;
}

static void check_pairs_complete(struct query *query, const struct check_context *context)
{
    char id[32];
    if (query->remote->faulty || context->cut_short)
        return;
    query_take(query, KIND(SEND) | KIND(RECV), by_message);
    for (size_t i = 0, end; i < query->count; i = end) {
        end = run_end(query, i, by_message);
        if (end == i + 1 && at(query, i)->kind == REMOTE_SEND &&
            !is_refused(query, at(query, i)->context))
            breach(query, "A001", at(query, i), "message %s was never received",
                   remote_id(at(query, i)->message, id));
    }
}

/* A002: per pass each counted send gets one gradient, and each recv that runs sends one. */
static void check_gradients(struct query *query)
{
    char id[32];
    query_take(query, KIND(COUNT) | KIND(GRAD_IN) | KIND(GRAD_OUT), by_pass_message);
    for (size_t i = 0, end; i < query->count; i = end) {
        size_t counted = 0, in = 0, out = 0;
        end = run_end(query, i, by_pass_message);
        for (size_t k = i; k < end; k++) {
            counted += at(query, k)->kind == REMOTE_COUNT;
            in += at(query, k)->kind == REMOTE_GRAD_IN;
            out += at(query, k)->kind == REMOTE_GRAD_OUT;
        }
        const struct remote_event *event = at(query, i);
        remote_id(event->message, id);
        const struct remote_event *over = pass_event(query, event->rank, REMOTE_OVER, event->pass);
        if (out > 1 || in > 1)
            breach(query, "A002", at(query, end - 1),
                   "%zu gradients were sent for message %s, %zu "
                   "came, in one pass",
                   out, id, in);
        else if (counted && !in && over && over->flag)
            breach(query, "A002", event, "no gradient came for message %s, which was counted", id);
        else if (in && !out)
            breach(query, "A002", event, "a gradient came for message %s that nobody sent", id);
    }
}

/* A003: a vertex runs once, when as many gradients have arrived as it depends on. */
static void check_vertices(struct query *query)
{
    query_take(query, KIND(RUN), by_rank_vertex);
    for (size_t i = 0, end; i < query->count; i = end) {
        end = run_end(query, i, by_rank_vertex);
        for (size_t k = i; k < end; k++)
            if (at(query, k)->dependencies != at(query, k)->arrived)
                breach(query, "A003", at(query, k),
                       "an operation ran backward after %u of %u gradients", at(query, k)->arrived,
                       at(query, k)->dependencies);
        if (end - i > 1)
            breach(query, "A003", at(query, i), "an operation ran backward %zu times in a pass",
                   end - i);
    }
}

/* A004: what is outstanding reaches zero once. */
static void check_idle(struct query *query)
{
    query_take(query, KIND(IDLE) | KIND(OVER), by_rank_pass);
    for (size_t i = 0, end; i < query->count; i = end) {
        size_t idle = 0;
        bool over = false;
        end = run_end(query, i, by_rank_pass);
        for (size_t k = i; k < end; k++) {
            idle += at(query, k)->kind == REMOTE_IDLE;
            over = over || (at(query, k)->kind == REMOTE_OVER && at(query, k)->flag);
        }
        if (idle > 1 || (over && !idle))
            breach(query, "A004", at(query, i),
                   "the gradients outstanding in a pass reached zero %zu times", idle);
    }
}

/* A005: first contacts form a tree, and its answer is the last a worker does in a pass. */
static void check_tree(struct query *query)
{
    char id[32];
    query_take(query,
               KIND(CONTACT) | KIND(ANSWER) | KIND(GRAD_IN) | KIND(GRAD_OUT) | KIND(RUN) |
                   KIND(LEAF) | KIND(ANSWERED),
               by_rank_pass);
    for (size_t i = 0, end; i < query->count; i = end) {
        size_t contacts = 0;
        bool answered = false;
        end = run_end(query, i, by_rank_pass);
        for (size_t k = i; k < end; k++) {
            const struct remote_event *event = at(query, k);
            contacts += event->kind == REMOTE_CONTACT;
            if (answered)
                breach(query, "A005", event,
                       "a worker went on in pass %s after it had answered its first contact",
                       remote_id(event->pass, id));
            answered = answered || event->kind == REMOTE_ANSWER;
        }
        if (contacts > 1)
            breach(query, "A005", at(query, i), "pass %s contacted a worker first %zu times",
                   remote_id(at(query, i)->pass, id), contacts);
    }
    query_take(query, KIND(CONTACT), by_rank_pass);
    for (size_t i = 0; i < query->count; i++) { /* up to the root */
        const struct remote_event *event = at(query, i);
        uint32_t steps = 0, root = (uint32_t)(event->pass >> 48);
        while (event && event->rank != root && event->peer >= 0 &&
               (uint32_t)event->peer < query->remote->trace->ranks &&
               steps++ <= query->remote->trace->ranks)
            event = (uint32_t)event->peer == root
                        ? NULL
                        : pass_event(query, (uint32_t)event->peer, REMOTE_CONTACT, event->pass);
        if (event)
            breach(query, "A005", at(query, i), "the contacts of pass %s do not lead to its root",
                   remote_id(event->pass, id));
    }
}

/* Marks what happened before an event: earlier steps of its rank, and what sent the messages that
 * came in there. */
static void reach_back(const struct query *query, size_t from, bool *before,
                       const uint32_t *partner)
{
    const struct remote_trace *remote = query->remote;
    uint32_t *stack = check_new(remote->count, sizeof *stack);
    size_t depth = 0;
    stack[depth++] = (uint32_t)from;
    while (depth) {
        size_t i = stack[--depth];
        for (size_t first = remote->begin[remote->events[i].rank]; i + 1 > first; i--) {
            if (before[i])
                break;
            before[i] = true;
            if (partner[i] != TRACE_NO && !before[partner[i]])
                stack[depth++] = partner[i];
            if (i == 0)
                break;
        }
    }
    free(stack);
}

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
    COMPARE(number)
    return 0;
}

/* Several rpc_init in one run number their messages anew: then partners are not known by number. */
static bool partners_find(struct query *query, uint32_t *partner)
{
    for (size_t i = 0; i < query->remote->count; i++)
        partner[i] = TRACE_NO;
    query_take(query, KIND(OUT) | KIND(IN), by_channel);
    for (size_t i = 0, end; i < query->count; i = end) {
        end = run_end(query, i, by_channel);
        if (end - i > 2)
            return false;
        if (end - i == 2) {
            bool first_out = at(query, i)->kind == REMOTE_OUT;
            partner[query->order[first_out ? i + 1 : i]] = query->order[first_out ? i : i + 1];
        }
    }
    return true;
}

/* A006: the root is done after everything that was done in the pass, on all workers. */
static void check_completion(struct query *query)
{
    const struct remote_trace *remote = query->remote;
    enum { PASSES_MAX = 64 }; /* each costs a walk over the trace */
    uint32_t *partner = check_new(remote->count, sizeof *partner);
    bool *before = check_new(remote->count, sizeof *before);
    size_t looked = 0;
    char id[32];
    bool known = partners_find(query, partner);
    for (size_t end = 0; end < remote->count && known; end++) {
        const struct remote_event *last = &remote->events[end];
        if (last->kind != REMOTE_PASS_END || !last->flag || looked++ >= PASSES_MAX)
            continue;
        memset(before, 0, remote->count * sizeof *before);
        reach_back(query, end, before, partner);
        for (size_t i = 0; i < remote->count; i++)
            if (remote->events[i].pass == last->pass && !before[i])
                breach(query, "A006", &remote->events[i],
                       "pass %s returned at its root before all was done",
                       remote_id(last->pass, id));
    }
    free(partner);
    free(before);
}

/* A007: values delivered are the values sent, bit by bit. */
static void check_values(struct query *query)
{
    char id[32];
    query_take(query, KIND(SEND) | KIND(RECV), by_message);
    for (size_t i = 0; i + 1 < query->count; i++)
        if (by_message(at(query, i), at(query, i + 1)) == 0 &&
            at(query, i)->hash != at(query, i + 1)->hash)
            breach(query, "A007", at(query, i + 1), "the tensors of message %s changed on the way",
                   remote_id(at(query, i)->message, id));
    query_take(query, KIND(GRAD_OUT) | KIND(GRAD_IN), by_pass_message);
    for (size_t i = 0; i + 1 < query->count; i++)
        if (by_pass_message(at(query, i), at(query, i + 1)) == 0 &&
            at(query, i)->hash != at(query, i + 1)->hash)
            breach(query, "A007", at(query, i + 1), "the gradient of message %s changed on the way",
                   remote_id(at(query, i)->message, id));
}

/* A009: what a context holds of a leaf grows from nothing by its own passes alone. */
static void check_contexts(struct query *query)
{
    char id[32];
    query_take(query, KIND(LEAF), by_rank_leaf);
    for (size_t i = 0, end; i < query->count; i = end) {
        uint64_t holds = 0;
        end = run_end(query, i, by_rank_leaf);
        for (size_t k = i; k < end; k++) {
            const struct remote_event *event = at(query, k);
            bool back =
                k > i && pass_event(query, event->rank, REMOTE_ROLLBACK, at(query, k - 1)->pass);
            if (event->before != (back ? at(query, k - 1)->before : holds))
                breach(query, "A009", event, "context %s held another context's gradient",
                       remote_id(event->context, id));
            holds = event->hash;
        }
    }
}

static bool retained(const struct query *query, uint64_t pass)
{
    const struct remote_event *begin =
        pass_event(query, (uint32_t)(pass >> 48), REMOTE_PASS_BEGIN, pass);
    return !begin || begin->flag;
}

/* A010: without retain, nothing runs in two passes that both succeed. */
static void check_retain(struct query *query)
{
    query_take(query, KIND(RUN), by_rank_function);
    for (size_t i = 0; i + 1 < query->count; i++) {
        const struct remote_event *first = at(query, i), *second = at(query, i + 1);
        enum { LEAF_KIND = 2 };
        if (by_rank_function(first, second) != 0 || first->before == LEAF_KIND ||
            first->pass == second->pass || retained(query, first->pass))
            continue;
        if (!pass_event(query, first->rank, REMOTE_FAIL, first->pass) &&
            !pass_event(query, first->rank, REMOTE_FAIL, second->pass))
            breach(query, "A010", second,
                   "an operation ran in a second pass although the first did not retain it");
    }
}

/* A011: after an error nothing accumulates, and every worker leaves the pass. */
static void check_errors(struct query *query, const struct check_context *context)
{
    char id[32];
    query_take(query,
               KIND(FAIL) | KIND(LEAF) | KIND(CONTACT) | KIND(PASS_BEGIN) | KIND(PASS_END) |
                   KIND(OVER),
               by_rank_pass);
    for (size_t i = 0, end; i < query->count; i = end) {
        bool failed = false, over = false;
        end = run_end(query, i, by_rank_pass);
        for (size_t k = i; k < end; k++) {
            if (failed && at(query, k)->kind == REMOTE_LEAF)
                breach(query, "A011", at(query, k), "a leaf accumulated after pass %s had failed",
                       remote_id(at(query, k)->pass, id));
            failed = failed || at(query, k)->kind == REMOTE_FAIL;
            over =
                over || at(query, k)->kind == REMOTE_OVER || at(query, k)->kind == REMOTE_PASS_END;
        }
        if (!over && !context->cut_short && at(query, i)->pass)
            breach(query, "A011", at(query, i), "a worker never left pass %s",
                   remote_id(at(query, i)->pass, id));
    }
}

static bool has_died(const struct query *query, uint32_t rank)
{
    for (size_t i = query->remote->begin[rank]; i < query->remote->begin[rank + 1]; i++)
        if (query->remote->events[i].kind == REMOTE_DIED)
            return true;
    return false;
}

/* A012: after a release every worker has forgotten the context, and it does not come back. */
static void check_release(struct query *query)
{
    const struct remote_trace *remote = query->remote;
    char id[32];
    bool *open = check_new(remote->count, sizeof *open); /* context events not yet forgotten */
    query_take(query, KIND(CONTEXT) | KIND(FORGET) | KIND(CLOSED), by_rank_context);
    for (size_t i = 0, end; i < query->count; i = end) {
        end = run_end(query, i, by_rank_context);
        uint32_t closed = TRACE_NO; /* shutting down forgets what nobody released */
        for (size_t k = remote->begin[at(query, i)->rank];
             k < remote->begin[at(query, i)->rank + 1]; k++)
            if (remote->events[k].kind == REMOTE_CLOSED)
                closed = (uint32_t)k;
        bool forgotten = false;
        for (size_t k = i; k < end; k++) {
            const struct remote_event *event = at(query, k);
            if (event->kind == REMOTE_CONTEXT && forgotten)
                breach(query, "A012", event, "context %s came back after its release",
                       remote_id(event->context, id));
            forgotten = forgotten || (event->kind == REMOTE_FORGET && query->order[k] < closed);
        }
        open[query->order[i]] = !forgotten && at(query, i)->kind == REMOTE_CONTEXT;
    }
    for (size_t i = 0; i < remote->count; i++) {
        const struct remote_event *done = &remote->events[i];
        if (done->kind != REMOTE_RELEASE_DONE || !done->flag)
            continue;
        for (size_t k = 0; k < remote->count; k++)
            if (open[k] && remote->events[k].context == done->context &&
                !has_died(query, remote->events[k].rank))
                breach(query, "A012", &remote->events[k],
                       "worker %u still knows context %s after its release", remote->events[k].rank,
                       remote_id(done->context, id));
    }
    free(open);
}

/* A013: ids never repeat. */
static void check_ids(struct query *query)
{
    char id[32];
    query_take(query, KIND(SEND), by_id);
    for (size_t i = 0; i + 1 < query->count; i++)
        if (by_id(at(query, i), at(query, i + 1)) == 0)
            breach(query, "A013", at(query, i + 1), "message id %s was given twice",
                   remote_id(at(query, i)->message, id));
    query_take(query, KIND(CONTEXT), by_rank_context);
    for (size_t i = 0; i + 1 < query->count; i++)
        if (by_rank_context(at(query, i), at(query, i + 1)) == 0 &&
            at(query, i)->context >> 48 == at(query, i)->rank)
            breach(query, "A013", at(query, i + 1), "context id %s was given twice",
                   remote_id(at(query, i)->context, id));
}

/* ---- a pass that hangs ---- */

static void hang_explain(const struct query *query)
{
    const struct remote_trace *remote = query->remote;
    struct findings *findings = query->findings;
    struct finding *finding = NULL;
    for (size_t i = 0; i < findings->count && !finding; i++)
        if (strcmp(findings->items[i].code, "D001") == 0)
            finding = &findings->items[i];
    char id[32], pass[32], what[300];
    for (size_t i = 0; i < remote->count && finding; i++) {
        const struct remote_event *count = &remote->events[i], *send = NULL;
        bool came = false;
        if (count->kind != REMOTE_COUNT || pass_event(query, count->rank, REMOTE_OVER, count->pass))
            continue;
        for (size_t k = remote->begin[count->rank]; k < remote->begin[count->rank + 1]; k++) {
            const struct remote_event *event = &remote->events[k];
            if (event->message != count->message)
                continue;
            came = came || (event->kind == REMOTE_GRAD_IN && event->pass == count->pass);
            send = event->kind == REMOTE_SEND ? event : send;
        }
        if (came || !send)
            continue;
        finding_detail(finding,
                       "Pass %s counted send %s of worker %u, %s, and no gradient will come for "
                       "it: nothing that the roots depend on uses it. SMART does not count it.\n",
                       remote_id(count->pass, pass), remote_id(count->message, id), count->rank,
                       remote_send_text(remote, send, what, sizeof what));
        finding_node_add(finding, send->node, "unmatched");
    }
}

void check_remote(const struct check_context *context, struct findings *findings)
{
    struct remote_trace remote;
    if (remote_read(&remote, context->trace)) {
        struct query query = {.remote = &remote, .findings = findings};
        query.order = check_new(remote.count, sizeof *query.order);
        steps_sort(&query);
        check_pairs(&query);
        check_pairs_complete(&query, context);
        check_gradients(&query);
        check_vertices(&query);
        check_idle(&query);
        check_tree(&query);
        check_completion(&query);
        check_values(&query);
        check_contexts(&query);
        check_retain(&query);
        check_errors(&query, context);
        check_release(&query);
        check_ids(&query);
        hang_explain(&query);
        free(query.order);
        free(query.steps);
    }
    remote_release(&remote);
}
