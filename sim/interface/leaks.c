/* What a rank has not freed: see leaks.h. */
#include "sim/interface/leaks.h"

#include "recorder/recorder.h"
#include "sim/communicators/comm.h"
#include "sim/messages/generalized.h"
#include "sim/messages/request.h"
#include "sim/windows/epoch.h"
#include "sim/worlds/open_handles.h"

#include <stdio.h>
#include <stdlib.h>

/* Handles made at one place. */
struct leak {
    const void *site;
    size_t count;
};
enum { LEAKS_MAX = 64 };

static void count_at(struct leak *leaks, const void *site)
{
    for (size_t i = 0; i < LEAKS_MAX; i++)
        if (!leaks[i].count || leaks[i].site == site) {
            leaks[i].site = site;
            leaks[i].count++;
            return;
        }
}

static int by_site(const void *a, const void *b)
{
    const struct leak *x = a, *y = b;
    return (x->site > y->site) - (x->site < y->site);
}

/* In the order of places, whatever the addresses of the handles are. */
static void note_leaks(const char *code, const char *what, struct leak *leaks)
{
    size_t count = 0;
    while (count < LEAKS_MAX && leaks[count].count)
        count++;
    qsort(leaks, count, sizeof *leaks, by_site);
    for (size_t i = 0; i < count; i++) {
        char text[160];
        const void *site = leaks[i].site == &sim_open_handles_nowhere ? NULL : leaks[i].site;
        int length = snprintf(text, sizeof text, "%s is never freed", what);
        if (leaks[i].count > 1)
            snprintf(text + length, sizeof text - (size_t)length, ", nor are %zu others made there",
                     leaks[i].count - 1);
        record_note_of(record_position_last(), site, code, text);
    }
}

static void report_comms(const struct sim_rank *rank)
{
    struct leak leaks[LEAKS_MAX] = {0};
    for (const struct sim_comm *comm = rank->comms; comm; comm = comm->next)
        if (!comm->predefined && !comm->window)
            count_at(leaks, comm->site ? comm->site : (const void *)&sim_open_handles_nowhere);
    note_leaks("L003", "a communicator", leaks);
}

static void report_generals(const struct sim_rank *rank)
{
    struct leak leaks[LEAKS_MAX] = {0};
    for (const struct sim_general *general = rank->generals; general; general = general->next)
        count_at(leaks, general->site ? general->site : (const void *)&sim_open_handles_nowhere);
    note_leaks("L001", "a generalised request", leaks);
}

static void report_epochs(const struct sim_rank *rank)
{
    const struct handle_map *map = rank->live ? &rank->live->handles[SIM_LIVE_WINDOW] : NULL;
    for (size_t i = 0; map && i < map->slots && map->count; i++)
        if (map->entries[i].key)
            sim_epoch_check_end((struct sim_win *)(uintptr_t)map->entries[i].key);
}

/* An active persistent request is reported as a pending operation. */
static bool is_told(struct sim_rank *rank, int kind, uint64_t handle)
{
    const struct sim_request *request =
        kind == SIM_LIVE_PERSISTENT ? sim_request_get(rank, (MPI_Request)(void *)(uintptr_t)handle)
                                    : NULL;
    return request && request->state != SIM_INACTIVE;
}

static const struct {
    const char *code, *what;
    bool lasts; /* may be freed after Finalize (MPI-4.1, 11.4.1) */
} kinds[SIM_LIVE_KINDS] = {
    [SIM_LIVE_GROUP] = {"L004", "a group", false},
    [SIM_LIVE_DATATYPE] = {"L005", "a datatype", false},
    [SIM_LIVE_OP] = {"L006", "a reduction operation", false},
    [SIM_LIVE_INFO] = {"L011", "an info object", true},
    [SIM_LIVE_ERRHANDLER] = {"L011", "an error handler", true},
    [SIM_LIVE_KEYVAL] = {"L011", "an attribute key", false},
    [SIM_LIVE_SESSION] = {"L011", "a session", true},
    [SIM_LIVE_WINDOW] = {"L007", "a window", false},
    [SIM_LIVE_PERSISTENT] = {"L001", "a persistent request", false},
};

static void report_kinds(struct sim_rank *rank, bool lasting)
{
    for (int kind = 0; rank->live && kind < SIM_LIVE_KINDS; kind++) {
        const struct handle_map *map = &rank->live->handles[kind];
        struct leak leaks[LEAKS_MAX] = {0};
        for (size_t i = 0; kinds[kind].lasts == lasting && i < map->slots && map->count; i++)
            if (map->entries[i].key && !is_told(rank, kind, map->entries[i].key))
                count_at(leaks, map->entries[i].value);
        note_leaks(kinds[kind].code, kinds[kind].what, leaks);
    }
}

void sim_leaks_report(struct sim_rank *rank)
{
    if (!record_active())
        return;
    report_comms(rank);
    report_generals(rank);
    report_epochs(rank);
    report_kinds(rank, false);
}

/* Who called MPI_Init and not MPI_Finalize is told that, and who failed on his own is told his exit code. */
void sim_leaks_report_end(struct sim_rank *rank)
{
    if (!rank->initialized && rank->used_session && !rank->sessions)
        sim_leaks_report(rank); /* nothing else ends what sessions made */
    if (record_active() && (rank->finalized || (!rank->initialized && !rank->exit_code)))
        report_kinds(rank, true);
}
