/* The queries by which the invariants of remote calls read a trace: events of some kinds, sorted by
 * what is compared. */
#ifndef CHECKER_SYSTEMS_REMOTE_QUERY_H
#define CHECKER_SYSTEMS_REMOTE_QUERY_H

#include "checker/systems/remote_events.h"

struct remote_query {
    const struct remote_trace *remote;
    struct findings *findings;
    uint32_t *order; /* event numbers, sorted for the query */
    size_t count;
    uint32_t *steps; /* of passes as a whole: by rank, kind and pass */
    size_t step_count;
};

#define REMOTE_BIT(name) (1u << REMOTE_##name)

/* Compares one field after the other, in functions of the type below. */
#define REMOTE_COMPARE(field)                                                                      \
    if (a->field != b->field)                                                                      \
        return a->field < b->field ? -1 : 1;
typedef int remote_compare(const struct remote_event *a, const struct remote_event *b);
remote_compare remote_by_message, remote_by_pass_message, remote_by_rank_pass;

void remote_query_init(struct remote_query *query, const struct remote_trace *remote,
                       struct findings *findings);
void remote_query_release(struct remote_query *query);
/* Takes the events of these kinds, sorted; equal ones stay in the order of rank and step. */
void remote_query_take(struct remote_query *query, unsigned kinds, remote_compare *compare);
/* Event `i` of what was taken. */
const struct remote_event *remote_at(const struct remote_query *query, size_t i);
/* The end of the run of equal events that begins at `first`. */
size_t remote_run_end(const struct remote_query *query, size_t first, remote_compare *compare);
/* What this rank recorded of that kind for the pass, NULL for nothing: OVER, PASS_BEGIN, FAIL,
 * ROLLBACK, CONTACT. */
const struct remote_event *remote_pass_event(const struct remote_query *query, uint32_t rank,
                                             enum remote_kind kind, uint64_t pass);
/* A finding about this event, unless there is one of its code. */
void remote_breach(struct remote_query *query, const char *code, const struct remote_event *event,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- the invariants, by the file they stand in ---- */

void remote_check_messages(struct remote_query *query, const struct check_context *context);
void remote_check_passes(struct remote_query *query, const struct check_context *context);
void remote_check_order(struct remote_query *query);
void remote_check_contexts(struct remote_query *query);
/* What a pass that hangs waits for: details of the deadlock. */
void remote_hang_explain(struct remote_query *query);

#endif
