/* Invariants of remote calls and distributed autograd, each a query over the steps of a trace.
 *
 * One function per invariant, in files by what they are about. Each looks at an index of the events
 * sorted by what it compares, so that all are linear but for the sorting. */
#include "checker/properties.h"
#include "checker/systems/remote_query.h"

void check_remote(const struct check_context *context, struct findings *findings)
{
    struct remote_trace remote;
    if (remote_read(&remote, context->trace)) {
        struct remote_query query;
        remote_query_init(&query, &remote, findings);
        remote_check_messages(&query, context);
        remote_check_passes(&query, context);
        remote_check_order(&query);
        remote_check_contexts(&query);
        remote_hang_explain(&query);
        remote_query_release(&query);
    }
    remote_release(&remote);
}
