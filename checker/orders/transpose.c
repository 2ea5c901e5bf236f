/* R004: the backward messages of this run must be the transpose of the forward ones.
 *
 * A backward message goes from the adjoint of a receive to the adjoint of a send; those two must
 * have met in the forward pass. Where they did not, each gets the other's cotangent, in every run.
 */
#include "checker/places.h"
#include "checker/properties.h"

static void report(const struct trace *trace, uint32_t send, uint32_t receive,
                   uint32_t forward_receive, uint32_t forward_send, size_t first,
                   struct findings *findings)
{
    char one[PLACE_TEXT], other[PLACE_TEXT];
    struct finding *finding = check_at_place(findings, first, "R004", trace, receive);
    if (finding) {
        finding_op_add(finding, receive, "culprit");
        return;
    }
    finding = findings_add(findings, "R004", "a cotangent goes to another message: %s",
                           check_short_place(trace, receive, one, sizeof one));
    finding->confirmation = CONFIRM_HAPPENED;
    finding_detail(finding, "%s got the cotangent that %s sent.\n",
                   check_place(trace, receive, one, sizeof one),
                   check_place(trace, send, other, sizeof other));
    finding_detail(finding, "They are the adjoints of %s",
                   check_place(trace, forward_send, one, sizeof one));
    finding_detail(finding, " and of %s, which did not meet.\n",
                   check_place(trace, forward_receive, one, sizeof one));
    finding_op_add(finding, receive, "culprit");
    finding_op_add(finding, send, "partner");
    finding_op_add(finding, forward_send, "forward");
    finding_op_add(finding, forward_receive, "forward");
}

/* The forward message whose cotangent this op carries: of a send the receive, of a receive the
 * send. */
static uint32_t forward_message(const struct trace *trace, uint32_t op)
{
    uint32_t forward = trace_op_adjoint_of(trace, &trace->ops[op]);
    enum op_class wanted = check_class(&trace->ops[op]) == CLASS_SEND ? CLASS_RECEIVE : CLASS_SEND;
    return forward != TRACE_NO && check_class(&trace->ops[forward]) == wanted ? forward : TRACE_NO;
}

void check_transpose(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    size_t first = findings->count;
    for (uint32_t op = 0; context->has_passes && op < trace->op_count; op++) {
        uint32_t send = trace->ops[op].match;
        if (trace->ops[op].form->pass == 0 || send == TRACE_NO ||
            check_class(&trace->ops[op]) != CLASS_RECEIVE)
            continue;
        uint32_t forward_send = forward_message(trace, op),
                 forward_receive = forward_message(trace, send);
        if (forward_send != TRACE_NO && forward_receive != TRACE_NO &&
            trace->ops[forward_send].match != forward_receive)
            report(trace, send, op, forward_receive, forward_send, first, findings);
    }
    for (size_t i = first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
}
