/* S002: what was sent is not what was applied plus what is in flight.
 *
 * An update is lost when its message was received and, although the server said that it is closed
 * or the run ended by itself, it was neither applied nor left out on purpose. An update that
 * replaces the parameters loses those applied since the version it was made from. An update
 * applied twice, or one that nobody sent, breaks the same sum. A message that nobody received is
 * in flight: that is L002. */
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/systems/server_notes.h"

#include <math.h>

enum fault { FAULT_NONE, FAULT_FORGOTTEN, FAULT_OVERWRITTEN, FAULT_TWICE, FAULT_UNSENT, FAULTS };

static const char *const titles[FAULTS] = {
    [FAULT_FORGOTTEN] = "%s received an update and never applied it",
    [FAULT_OVERWRITTEN] = "%s overwrote updates that came in between",
    [FAULT_TWICE] = "%s applied an update more than once",
    [FAULT_UNSENT] = "%s applied an update that nobody sent",
};

struct judge {
    const struct check_context *context;
    const struct server_account *account;
    bool ended; /* nothing more can be applied */
};

static bool is_received(const struct judge *judge, const struct server_update *update)
{
    const struct trace *trace = judge->context->trace;
    uint32_t send = server_update_send(trace, judge->account, update);
    if (send == TRACE_NO)
        return true; /* no message of its own: the notes are all there is */
    uint32_t receive = trace->ops[send].match;
    return receive != TRACE_NO && trace->ops[receive].state == STATE_COMPLETE;
}

static enum fault fault_of(const struct judge *judge, const struct server_update *update)
{
    if (update->times > 1)
        return FAULT_TWICE;
    if (update->times && isnan(update->read))
        return FAULT_UNSENT;
    if (update->times && update->written && update->applied > update->read)
        return FAULT_OVERWRITTEN;
    if (!update->times && !update->dropped && judge->ended && is_received(judge, update))
        return FAULT_FORGOTTEN;
    return FAULT_NONE;
}

static void describe(struct finding *finding, const struct judge *judge,
                     const struct server_update *update, enum fault fault)
{
    char place[PLACE_TEXT];
    uint32_t send = server_update_send(judge->context->trace, judge->account, update);
    finding_detail(finding, "Update %llu of rank %u", (unsigned long long)update->number,
                   update->rank);
    if (send != TRACE_NO)
        finding_detail(finding, " (%s)",
                       check_place(judge->context->trace, send, place, sizeof place));
    if (fault == FAULT_OVERWRITTEN)
        finding_detail(finding, " was made from version %g and replaced version %g: %g lost.\n",
                       update->read, update->applied, update->applied - update->read);
    else if (fault == FAULT_TWICE)
        finding_detail(finding, " was applied %u times.\n", update->times);
    else if (fault == FAULT_UNSENT)
        finding_detail(finding, " was applied at version %g.\n", update->applied);
    else
        finding_detail(finding, ", made from version %g, was never applied.\n", update->read);
}

static void report(const struct judge *judge, enum fault fault, struct findings *findings)
{
    const struct server_account *account = judge->account;
    struct finding *finding = NULL;
    unsigned found = 0;
    for (size_t i = 0; i < account->count; i++) {
        const struct server_update *update = &account->updates[i];
        if (fault_of(judge, update) != fault)
            continue;
        if (!finding) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            finding = findings_add(findings, "S002", titles[fault], account->name);
#pragma GCC diagnostic pop
            finding->confirmation = CONFIRM_HAPPENED;
        }
        if (found++ < PLACES_LISTED_MAX) {
            describe(finding, judge, update, fault);
            server_update_name(finding, judge->context->trace, account, update);
        }
    }
    if (!finding)
        return;
    if (found > PLACES_LISTED_MAX)
        finding_detail(finding, "And %u more.\n", found - PLACES_LISTED_MAX);
    finding_seal(finding, judge->context->trace);
}

void check_updates(const struct check_context *context, struct findings *findings)
{
    struct server_accounts accounts;
    server_accounts_read(&accounts, context->trace);
    for (size_t i = 0; i < accounts.count; i++) {
        struct judge judge = {context, &accounts.items[i],
                              accounts.items[i].closed || !context->cut_short};
        for (int fault = FAULT_NONE + 1; fault < FAULTS; fault++)
            report(&judge, (enum fault)fault, findings);
    }
    server_accounts_release(&accounts);
}
