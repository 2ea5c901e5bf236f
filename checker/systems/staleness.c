/* S001: a parameter server applied an update that was made from parameters more than T versions
 * old. Both versions are read from the trace: the worker says what it read, the server where it
 * was. */
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/systems/server_notes.h"

static double staleness_of(const struct server_update *update)
{
    return update->times ? update->applied - update->read : 0;
}

static void judge(const struct trace *trace, const struct server_account *account,
                  struct findings *findings)
{
    struct finding *finding = NULL;
    const struct server_update *worst = NULL;
    uint32_t stale = 0, applied = 0;
    for (size_t i = 0; i < account->count; i++) {
        const struct server_update *update = &account->updates[i];
        applied += update->times > 0;
        if (!(staleness_of(update) > account->bound))
            continue;
        stale++;
        if (!worst || staleness_of(update) > staleness_of(worst))
            worst = update;
    }
    if (!worst)
        return;
    char place[PLACE_TEXT];
    uint32_t send = server_update_send(trace, account, worst);
    finding =
        findings_add(findings, "S001", "%s applied an update staler than its bound", account->name);
    finding_detail(finding, "%u of %u updates are staler than T = %g.\n", stale, applied,
                   account->bound);
    finding_detail(finding,
                   "Worst: update %llu of rank %u, made from version %g, was applied by rank %u "
                   "at version %g",
                   (unsigned long long)worst->number, worst->rank, worst->read, worst->by,
                   worst->applied);
    if (send != TRACE_NO)
        finding_detail(finding, "; it came by %s", check_place(trace, send, place, sizeof place));
    finding_detail(finding, ".\n");
    finding->confirmation = CONFIRM_HAPPENED;
    server_update_name(finding, trace, account, worst);
    finding_seal(finding, trace);
}

void check_staleness(const struct check_context *context, struct findings *findings)
{
    struct server_accounts accounts;
    server_accounts_read(&accounts, context->trace);
    for (size_t i = 0; i < accounts.count; i++)
        judge(context->trace, &accounts.items[i], findings);
    server_accounts_release(&accounts);
}
