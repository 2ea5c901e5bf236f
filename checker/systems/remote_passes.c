/* Invariants of passes: each operation once, one end, a tree of contacts, nothing after the root.
 */
#include "checker/systems/remote_query.h"

#include <stdlib.h>

static int by_rank_vertex(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(rank)
    REMOTE_COMPARE(pass)
    REMOTE_COMPARE(number)
    return 0;
}

static int by_rank_function(const struct remote_event *a, const struct remote_event *b)
{
    REMOTE_COMPARE(rank)
    REMOTE_COMPARE(before)
    REMOTE_COMPARE(hash)
    return 0;
}

/* A003: a vertex runs once, when as many gradients have arrived as it depends on. */
static void check_vertices(struct remote_query *query)
{
    remote_query_take(query, REMOTE_BIT(RUN), by_rank_vertex);
    for (size_t i = 0, end; i < query->count; i = end) {
        end = remote_run_end(query, i, by_rank_vertex);
        for (size_t k = i; k < end; k++)
            if (remote_at(query, k)->dependencies != remote_at(query, k)->arrived)
                remote_breach(query, "A003", remote_at(query, k),
                              "an operation ran backward after %u of %u gradients",
                              remote_at(query, k)->arrived, remote_at(query, k)->dependencies);
        if (end - i > 1)
            remote_breach(query, "A003", remote_at(query, i),
                          "an operation ran backward %zu times in a pass", end - i);
    }
}

/* A004: what is outstanding reaches zero once. */
static void check_idle(struct remote_query *query)
{
    remote_query_take(query, REMOTE_BIT(IDLE) | REMOTE_BIT(OVER), remote_by_rank_pass);
    for (size_t i = 0, end; i < query->count; i = end) {
        size_t idle = 0;
        bool over = false;
        end = remote_run_end(query, i, remote_by_rank_pass);
        for (size_t k = i; k < end; k++) {
            idle += remote_at(query, k)->kind == REMOTE_IDLE;
            over = over || (remote_at(query, k)->kind == REMOTE_OVER && remote_at(query, k)->flag);
        }
        if (idle > 1 || (over && !idle))
            remote_breach(query, "A004", remote_at(query, i),
                          "the gradients outstanding in a pass reached zero %zu times", idle);
    }
}

/* A005: first contacts form a tree, and its answer is the last a worker does in a pass. */
static void check_tree(struct remote_query *query)
{
    char id[REMOTE_ID_TEXT];
    remote_query_take(query,
                      REMOTE_BIT(CONTACT) | REMOTE_BIT(ANSWER) | REMOTE_BIT(GRAD_IN) |
                          REMOTE_BIT(GRAD_OUT) | REMOTE_BIT(RUN) | REMOTE_BIT(LEAF) |
                          REMOTE_BIT(ANSWERED),
                      remote_by_rank_pass);
    for (size_t i = 0, end; i < query->count; i = end) {
        size_t contacts = 0;
        bool answered = false;
        end = remote_run_end(query, i, remote_by_rank_pass);
        for (size_t k = i; k < end; k++) {
            const struct remote_event *event = remote_at(query, k);
            contacts += event->kind == REMOTE_CONTACT;
            if (answered)
                remote_breach(query, "A005", event,
                              "a worker went on in pass %s after it had answered its first contact",
                              remote_id(event->pass, id));
            answered = answered || event->kind == REMOTE_ANSWER;
        }
        if (contacts > 1)
            remote_breach(query, "A005", remote_at(query, i),
                          "pass %s contacted a worker first %zu times",
                          remote_id(remote_at(query, i)->pass, id), contacts);
    }
    remote_query_take(query, REMOTE_BIT(CONTACT), remote_by_rank_pass);
    for (size_t i = 0; i < query->count; i++) { /* up to the root */
        const struct remote_event *event = remote_at(query, i);
        uint32_t steps = 0, root = (uint32_t)(event->pass >> 48);
        while (event && event->rank != root && event->peer >= 0 &&
               (uint32_t)event->peer < query->remote->trace->ranks &&
               steps++ <= query->remote->trace->ranks)
            event = (uint32_t)event->peer == root ? NULL
                                                  : remote_pass_event(query, (uint32_t)event->peer,
                                                                      REMOTE_CONTACT, event->pass);
        if (event)
            remote_breach(query, "A005", remote_at(query, i),
                          "the contacts of pass %s do not lead to its root",
                          remote_id(event->pass, id));
    }
}

static bool retained(const struct remote_query *query, uint64_t pass)
{
    const struct remote_event *begin =
        remote_pass_event(query, (uint32_t)(pass >> 48), REMOTE_PASS_BEGIN, pass);
    return !begin || begin->flag;
}

/* A010: without retain, nothing runs in two passes that both succeed. */
static void check_retain(struct remote_query *query)
{
    remote_query_take(query, REMOTE_BIT(RUN), by_rank_function);
    for (size_t i = 0; i + 1 < query->count; i++) {
        const struct remote_event *first = remote_at(query, i), *second = remote_at(query, i + 1);
        enum { LEAF_KIND = 2 };
        if (by_rank_function(first, second) != 0 || first->before == LEAF_KIND ||
            first->pass == second->pass || retained(query, first->pass))
            continue;
        if (!remote_pass_event(query, first->rank, REMOTE_FAIL, first->pass) &&
            !remote_pass_event(query, first->rank, REMOTE_FAIL, second->pass))
            remote_breach(query, "A010", second,
                          "an operation ran in a second pass although the first did not retain it");
    }
}

/* A011: after an error nothing accumulates, and every worker leaves the pass. */
static void check_errors(struct remote_query *query, const struct check_context *context)
{
    char id[REMOTE_ID_TEXT];
    remote_query_take(query,
                      REMOTE_BIT(FAIL) | REMOTE_BIT(LEAF) | REMOTE_BIT(CONTACT) |
                          REMOTE_BIT(PASS_BEGIN) | REMOTE_BIT(PASS_END) | REMOTE_BIT(OVER),
                      remote_by_rank_pass);
    for (size_t i = 0, end; i < query->count; i = end) {
        bool failed = false, over = false;
        end = remote_run_end(query, i, remote_by_rank_pass);
        for (size_t k = i; k < end; k++) {
            if (failed && remote_at(query, k)->kind == REMOTE_LEAF)
                remote_breach(query, "A011", remote_at(query, k),
                              "a leaf accumulated after pass %s had failed",
                              remote_id(remote_at(query, k)->pass, id));
            failed = failed || remote_at(query, k)->kind == REMOTE_FAIL;
            over = over || remote_at(query, k)->kind == REMOTE_OVER ||
                   remote_at(query, k)->kind == REMOTE_PASS_END;
        }
        if (!over && !context->cut_short && remote_at(query, i)->pass)
            remote_breach(query, "A011", remote_at(query, i), "a worker never left pass %s",
                          remote_id(remote_at(query, i)->pass, id));
    }
}

void remote_check_passes(struct remote_query *query, const struct check_context *context)
{
    check_vertices(query);
    check_idle(query);
    check_tree(query);
    check_retain(query);
    check_errors(query, context);
}
