/* What parameter servers wrote into the trace (collectives/systems/server/account.c tells the
 * names), collected by server: the updates of every rank and what became of them. */
#ifndef CHECKER_SYSTEMS_SERVER_NOTES_H
#define CHECKER_SYSTEMS_SERVER_NOTES_H

#include "checker/context.h"

/* One update: made by a rank from a version, and applied some times (usually once). */
struct server_update {
    uint32_t rank;
    uint64_t number; /* on its rank, from 1 */
    double read;     /* the version it was made from; NaN: never said to be sent */
    double applied;  /* the version before it was applied the first time; NaN: never */
    uint32_t times;  /* applied or written */
    uint32_t by;     /* the rank that applied it */
    bool written, dropped;
};

struct server_account {
    char name[64];
    double bound; /* NaN: none declared */
    bool closed;
    struct server_update *updates; /* by rank, by number */
    size_t count, room;
};

struct server_accounts {
    struct server_account *items;
    size_t count, room;
};

void server_accounts_read(struct server_accounts *accounts, const struct trace *trace);
void server_accounts_release(struct server_accounts *accounts);

/* The operation that sent the update, TRACE_NO where it cannot be told; its match received it. */
uint32_t server_update_send(const struct trace *trace, const struct server_account *account,
                            const struct server_update *update);
/* Names sender and receiver of the update in the finding, and its site. */
void server_update_name(struct finding *finding, const struct trace *trace,
                        const struct server_account *account, const struct server_update *update);

#endif
