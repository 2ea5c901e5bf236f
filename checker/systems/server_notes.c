/* Reading of the servers' notes: see server_notes.h. */
#include "checker/systems/server_notes.h"

#include "checker/memory.h"
#include "checker/places.h"
#include "traces/base/identity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "server/";

enum event_kind {
    EVENT_BOUND,
    EVENT_CLOSED,
    EVENT_SENT,
    EVENT_APPLIED,
    EVENT_WRITTEN,
    EVENT_DROPPED
};

struct event {
    enum event_kind kind;
    char name[64]; /* of the server */
    uint32_t worker;
};

/* "server/NAME what" or "server/NAME what from W"; false for the name of another metric. */
static bool event_parse(const char *text, struct event *event)
{
    static const char *const alone[] = {
        [EVENT_BOUND] = "bound", [EVENT_CLOSED] = "closed", [EVENT_SENT] = "sent"};
    static const char *const from[] = {[EVENT_APPLIED] = "applied from %u%n",
                                       [EVENT_WRITTEN] = "written from %u%n",
                                       [EVENT_DROPPED] = "dropped from %u%n"};
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return false;
    text += sizeof prefix - 1;
    const char *blank = strchr(text, ' ');
    if (!blank || blank == text || (size_t)(blank - text) >= sizeof event->name)
        return false;
    snprintf(event->name, sizeof event->name, "%.*s", (int)(blank - text), text);
    const char *what = blank + 1;
    for (int kind = EVENT_BOUND; kind <= EVENT_SENT; kind++)
        if (strcmp(what, alone[kind]) == 0) {
            event->kind = (enum event_kind)kind;
            return true;
        }
    for (int kind = EVENT_APPLIED; kind <= EVENT_DROPPED; kind++) {
        int used = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        if (sscanf(what, from[kind], &event->worker, &used) == 1 && used && !what[used]) {
#pragma GCC diagnostic pop
            event->kind = (enum event_kind)kind;
            return true;
        }
    }
    return false;
}

static struct server_account *account_of(struct server_accounts *accounts, const char *name)
{
    for (size_t i = 0; i < accounts->count; i++)
        if (strcmp(accounts->items[i].name, name) == 0)
            return &accounts->items[i];
    accounts->items =
        check_grow(accounts->items, &accounts->room, accounts->count + 1, sizeof *accounts->items);
    struct server_account *account = &accounts->items[accounts->count++];
    *account = (struct server_account){.bound = NAN};
    snprintf(account->name, sizeof account->name, "%s", name);
    return account;
}

/* Every event is a row of its own first; rows of one update are joined afterwards. */
static void take(struct server_account *account, const struct event *event,
                 const struct trace_metric *metric)
{
    struct server_update update = {.rank = event->worker, .read = NAN, .applied = NAN};
    switch (event->kind) {
    case EVENT_BOUND:
        account->bound = metric->value;
        return;
    case EVENT_CLOSED:
        account->closed = true;
        return;
    case EVENT_SENT:
        update.rank = (uint32_t)metric->rank;
        update.read = metric->value;
        break;
    case EVENT_APPLIED:
    case EVENT_WRITTEN:
        update.applied = metric->value;
        update.by = (uint32_t)metric->rank;
        update.times = 1;
        update.written = event->kind == EVENT_WRITTEN;
        break;
    case EVENT_DROPPED:
        update.dropped = true;
        break;
    }
    if (!(metric->step >= 1 && metric->step < 0x1p53))
        return;
    update.number = (uint64_t)metric->step;
    account->updates =
        check_grow(account->updates, &account->room, account->count + 1, sizeof *account->updates);
    account->updates[account->count++] = update;
}

static int update_order(const void *a, const void *b)
{
    const struct server_update *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return isnan(x->applied) || isnan(y->applied) ? 0
           : x->applied == y->applied             ? 0
           : x->applied < y->applied              ? -1
                                                  : 1;
}

static void join(struct server_account *account)
{
    size_t kept = 0;
    qsort(account->updates, account->count, sizeof *account->updates, update_order);
    for (size_t i = 0; i < account->count; i++) {
        struct server_update *update = &account->updates[i];
        struct server_update *last = kept ? &account->updates[kept - 1] : NULL;
        if (!last || last->rank != update->rank || last->number != update->number) {
            account->updates[kept++] = *update;
            continue;
        }
        if (isnan(last->read))
            last->read = update->read;
        if (update->times && !(last->applied <= update->applied)) {
            last->applied = update->applied;
            last->by = update->by;
        }
        last->times += update->times;
        last->written = last->written || update->written;
        last->dropped = last->dropped || update->dropped;
    }
    account->count = kept;
}

void server_accounts_read(struct server_accounts *accounts, const struct trace *trace)
{
    *accounts = (struct server_accounts){0};
    for (size_t i = 0; i < trace->metric_count; i++) {
        struct event event;
        const struct trace_metric *metric = &trace->metrics[i];
        if (metric->rank >= 0 && event_parse(trace_string(trace, metric->name), &event))
            take(account_of(accounts, event.name), &event, metric);
    }
    for (size_t i = 0; i < accounts->count; i++)
        if (accounts->items[i].count)
            join(&accounts->items[i]);
}

void server_accounts_release(struct server_accounts *accounts)
{
    for (size_t i = 0; i < accounts->count; i++)
        free(accounts->items[i].updates);
    free(accounts->items);
}

uint32_t server_update_send(const struct trace *trace, const struct server_account *account,
                            const struct server_update *update)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s sent", prefix, account->name);
    uint32_t identity = trace_identity(name, strlen(name));
    uint64_t seen = 0;
    if (update->rank >= trace->ranks)
        return TRACE_NO;
    for (size_t i = trace->rank_begin[update->rank]; i < trace->rank_begin[update->rank + 1]; i++)
        if (trace->ops[i].form->identity == identity && ++seen == update->number)
            return (uint32_t)i;
    return TRACE_NO;
}

void server_update_name(struct finding *finding, const struct trace *trace,
                        const struct server_account *account, const struct server_update *update)
{
    uint32_t send = server_update_send(trace, account, update);
    if (send == TRACE_NO)
        return;
    finding_op_add(finding, send, "culprit");
    if (trace->ops[send].match != TRACE_NO)
        finding_op_add(finding, trace->ops[send].match, "partner");
}
