/* M007, M008, M009 and R005: messages that do not fit their receives, and arguments MPI refused. */
#include "checker/places.h"
#include "checker/properties.h"

#include <stdio.h>
#include <string.h>

enum { ABI_PACKED = 0x207 };

/* MPI error classes that say an argument is wrong, and which. */
static const struct {
    int class;
    const char *argument;
} arguments[] = {
    {1, "buffer"},       {2, "count"},
    {3, "datatype"},     {4, "tag"},
    {5, "communicator"}, {6, "rank"},
    {7, "request"},      {8, "root"},
    {9, "group"},        {10, "operation"},
    {11, "topology"},    {12, "dimensions"},
    {13, "argument"},    {40, "argument, which is another on another rank"},
};
enum { ERROR_TRUNCATE = 15 };

static int64_t bytes_of(const struct trace_op *op)
{
    return op->count * (int64_t)trace_type_size(op->form->type);
}

/* The finding of this code and place, new or already there; `title` gets the place. */
static struct finding *finding_for(struct findings *findings, size_t first, const char *code,
                                   const struct trace *trace, uint32_t op, const char *title)
{
    char place[PLACE_TEXT];
    struct finding *finding = check_at_place(findings, first, code, trace, op);
    if (finding)
        return finding;
    finding = findings_add(findings, code, "%s: %s", title,
                           check_short_place(trace, op, place, sizeof place));
    finding->site = trace->ops[op].form->site; /* is_told asks for it */
    finding->confirmation = CONFIRM_HAPPENED;
    return finding;
}

static void add_pair(struct finding *finding, const struct trace *trace, uint32_t send,
                     uint32_t receive)
{
    char one[PLACE_TEXT], other[PLACE_TEXT];
    if (finding->op_count < PLACES_LISTED_MAX)
        finding_detail(finding, "%s met %s.\n", check_place(trace, send, one, sizeof one),
                       check_place(trace, receive, other, sizeof other));
    finding_op_add(finding, receive, "culprit");
    finding_op_add(finding, send, "partner");
}

static void add_long(struct finding *finding, const struct trace *trace, uint32_t send,
                     uint32_t receive)
{
    if (finding->op_count < PLACES_LISTED_MAX && bytes_of(&trace->ops[send]) >= 0)
        finding_detail(finding, "%lld bytes were sent, there is room for %lld.\n",
                       (long long)bytes_of(&trace->ops[send]),
                       (long long)bytes_of(&trace->ops[receive]));
    add_pair(finding, trace, send, receive);
}

/* The types by name; both may be called mixed. */
static struct finding *differing_types(struct findings *findings, size_t first,
                                       const struct trace *trace, uint32_t send, uint32_t receive)
{
    char title[120];
    uint32_t sent = trace->ops[send].form->type, received = trace->ops[receive].form->type;
    if (sent == received)
        snprintf(title, sizeof title, "sent and received data types differ");
    else
        snprintf(title, sizeof title, "a message of %s is received as %s", trace_type_name(sent),
                 trace_type_name(received));
    return finding_for(findings, first, "M008", trace, receive, title);
}

/* A message may be shorter than its receive's room: of a room of mixed types it must fill the first
 * part, and what that looks like cannot be told from the hash of all of it. */
static bool surely_differ(const struct trace_op *sent, const struct trace_op *received)
{
    if (sent->count <= 0 || sent->form->type == ABI_PACKED || received->form->type == ABI_PACKED ||
        !check_signatures_differ(sent, received))
        return false;
    return received->form->type != 0 || bytes_of(sent) == bytes_of(received);
}

/* What MPI refused met nobody. */
static bool is_refused(const struct trace_op *op)
{
    return op->form->error && op->form->error != ERROR_TRUNCATE;
}

static void judge_pair(const struct trace *trace, uint32_t send, uint32_t receive, size_t first,
                       struct findings *findings)
{
    const struct trace_op *sent = &trace->ops[send], *received = &trace->ops[receive];
    if ((sent->flags ^ received->flags) & OP_ADJOINT)
        add_pair(
            finding_for(findings, first, "R005", trace, receive, "adjoint and forward traffic met"),
            trace, send, receive);
    else if (bytes_of(sent) > bytes_of(received) || received->form->error == ERROR_TRUNCATE)
        add_long(finding_for(findings, first, "M007", trace, receive,
                             "the message is longer than the receive has room for"),
                 trace, send, receive);
    else if (surely_differ(sent, received))
        add_pair(differing_types(findings, first, trace, send, receive), trace, send, receive);
}

/* A Sendrecv is refused as one, and recorded as three. */
static bool is_told(const struct trace *trace, uint32_t op, const struct findings *findings)
{
    for (size_t i = 0; trace->ops[op].flags & OP_COMPOUND && i < findings->count; i++)
        if (strcmp(findings->items[i].code, "M009") == 0 &&
            findings->items[i].site == trace->ops[op].form->site)
            return true;
    return false;
}

static void judge_arguments(const struct trace *trace, uint32_t op, size_t first,
                            struct findings *findings)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        if (arguments[i].class != trace->ops[op].form->error || is_told(trace, op, findings))
            continue;
        char title[64], place[PLACE_TEXT];
        snprintf(title, sizeof title, "invalid %s", arguments[i].argument);
        struct finding *finding = finding_for(findings, first, "M009", trace, op, title);
        if (finding->op_count < PLACES_LISTED_MAX)
            finding_detail(finding, "%s: MPI refused the %s.\n",
                           check_place(trace, op, place, sizeof place), arguments[i].argument);
        finding_op_add(finding, op, "culprit");
    }
}

void check_p2p(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    size_t first = findings->count;
    for (size_t at = 0; at < context->odd_count; at++) {
        uint32_t i = context->odd[at];
        const struct trace_op *op = &trace->ops[i];
        if (op->match != TRACE_NO && check_class(op) == CLASS_RECEIVE && !is_refused(op) &&
            !is_refused(&trace->ops[op->match]))
            judge_pair(trace, op->match, i, first, findings);
        if (op->form->error)
            judge_arguments(trace, i, first, findings);
    }
    for (size_t i = first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
}
