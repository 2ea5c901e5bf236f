/* Invariants of messages: each has one send and one receive, one gradient a pass, its values and an
 * id of its own. */
#include "checker/systems/remote_query.h"

static int by_id(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(message)
    return 0;
}

static int by_rank_context(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(rank)
    REMOTE_COMPARE(context)
    return 0;
}

/* A001: every message id has one send and one recv, at the right workers. */
static void check_pairs(struct remote_query *query)
{
    char id[REMOTE_ID_TEXT];
    remote_query_take(query, REMOTE_BIT(SEND) | REMOTE_BIT(RECV), remote_by_message);
    for (size_t i = 0, end; i < query->count; i = end) {
        const struct remote_event *send = NULL, *recv = NULL;
        size_t sends = 0, recvs = 0;
        end = remote_run_end(query, i, remote_by_message);
        for (size_t k = i; k < end; k++)
            if (remote_at(query, k)->kind == REMOTE_SEND)
                send = remote_at(query, k), sends++;
            else
                recv = remote_at(query, k), recvs++;
        remote_id(remote_at(query, i)->message, id);
        if (sends != 1 && recvs)
            remote_breach(query, "A001", recv, "message %s was sent %zu times", id, sends);
        else if (recvs > 1)
            remote_breach(query, "A001", recv, "message %s was received %zu times", id, recvs);
        else if (send && recv && (send->peer != (int)recv->rank || recv->peer != (int)send->rank))
            remote_breach(query, "A001", recv, "message %s was received by the wrong worker", id);
    }
}

static bool is_refused(const struct remote_query *query, uint64_t context)
{
    for (size_t i = 0; i < query->remote->count; i++)
        if (query->remote->events[i].kind == REMOTE_REFUSE &&
            query->remote->events[i].context == context)
            return true;
    return false;
}

static void check_pairs_complete(struct remote_query *query, const struct check_context *context)
{
    char id[REMOTE_ID_TEXT];
    if (query->remote->faulty || context->cut_short)
        return;
    remote_query_take(query, REMOTE_BIT(SEND) | REMOTE_BIT(RECV), remote_by_message);
    for (size_t i = 0, end; i < query->count; i = end) {
        end = remote_run_end(query, i, remote_by_message);
        if (end == i + 1 && remote_at(query, i)->kind == REMOTE_SEND &&
            !is_refused(query, remote_at(query, i)->context))
            remote_breach(query, "A001", remote_at(query, i), "message %s was never received",
                          remote_id(remote_at(query, i)->message, id));
    }
}

/* A002: per pass each counted send gets one gradient, and each recv that runs sends one. */
static void check_gradients(struct remote_query *query)
{
    char id[REMOTE_ID_TEXT];
    remote_query_take(query, REMOTE_BIT(COUNT) | REMOTE_BIT(GRAD_IN) | REMOTE_BIT(GRAD_OUT),
                      remote_by_pass_message);
    for (size_t i = 0, end; i < query->count; i = end) {
        const struct remote_event *counted = NULL;
        size_t in = 0, out = 0;
        end = remote_run_end(query, i, remote_by_pass_message);
        for (size_t k = i; k < end; k++) {
            if (remote_at(query, k)->kind == REMOTE_COUNT)
                counted = remote_at(query, k);
            in += remote_at(query, k)->kind == REMOTE_GRAD_IN;
            out += remote_at(query, k)->kind == REMOTE_GRAD_OUT;
        }
        const struct remote_event *over =
            counted ? remote_pass_event(query, counted->rank, REMOTE_OVER, counted->pass) : NULL;
        remote_id(remote_at(query, i)->message, id);
        if (out > 1 || in > 1)
            remote_breach(query, "A002", remote_at(query, end - 1),
                          "%zu gradients were sent for message %s, %zu "
                          "came, in one pass",
                          out, id, in);
        else if (!in && over && over->flag)
            remote_breach(query, "A002", counted,
                          "no gradient came for message %s, which was counted", id);
        else if (in && !out)
            remote_breach(query, "A002", remote_at(query, i),
                          "a gradient came for message %s that nobody sent", id);
    }
}

/* Neighbours that `compare` calls the two ends of one transfer carry the same bits. */
static void check_ends(struct remote_query *query, unsigned kinds, remote_compare *compare,
                       const char *what)
{
    char id[REMOTE_ID_TEXT];
    remote_query_take(query, kinds, compare);
    for (size_t i = 0; i + 1 < query->count; i++)
        if (compare(remote_at(query, i), remote_at(query, i + 1)) == 0 &&
            remote_at(query, i)->hash != remote_at(query, i + 1)->hash)
            remote_breach(query, "A007", remote_at(query, i + 1),
                          "the %s of message %s changed on the way", what,
                          remote_id(remote_at(query, i)->message, id));
}

/* A007: values delivered are the values sent, bit by bit. */
static void check_values(struct remote_query *query)
{
    check_ends(query, REMOTE_BIT(SEND) | REMOTE_BIT(RECV), remote_by_message, "tensors");
    check_ends(query, REMOTE_BIT(GRAD_OUT) | REMOTE_BIT(GRAD_IN), remote_by_pass_message,
               "gradient");
}

/* A013: ids never repeat. */
static void check_ids(struct remote_query *query)
{
    char id[REMOTE_ID_TEXT];
    remote_query_take(query, REMOTE_BIT(SEND), by_id);
    for (size_t i = 0; i + 1 < query->count; i++)
        if (by_id(remote_at(query, i), remote_at(query, i + 1)) == 0)
            remote_breach(query, "A013", remote_at(query, i + 1), "message id %s was given twice",
                          remote_id(remote_at(query, i)->message, id));
    remote_query_take(query, REMOTE_BIT(CONTEXT), by_rank_context);
    for (size_t i = 0; i + 1 < query->count; i++)
        if (by_rank_context(remote_at(query, i), remote_at(query, i + 1)) == 0 &&
            remote_at(query, i)->context >> 48 == remote_at(query, i)->rank)
            remote_breach(query, "A013", remote_at(query, i + 1), "context id %s was given twice",
                          remote_id(remote_at(query, i)->context, id));
}

void remote_check_messages(struct remote_query *query, const struct check_context *context)
{
    check_pairs(query);
    check_pairs_complete(query, context);
    check_gradients(query);
    check_values(query);
    check_ids(query);
}
