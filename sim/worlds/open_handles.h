/* What a rank has made and not freed: handles with the place of the call that made them. Communicators are told from the rank's own list of
 * them; everything else is kept here. What is left is reported: interface/leaks.h. */
#ifndef SIM_WORLDS_OPEN_HANDLES_H
#define SIM_WORLDS_OPEN_HANDLES_H

#include "traces/trace/handle_map.h"

#include <stdbool.h>
#include <stdint.h>

enum sim_handle_kind {
    SIM_LIVE_GROUP,
    SIM_LIVE_DATATYPE,
    SIM_LIVE_OP,
    SIM_LIVE_INFO,
    SIM_LIVE_ERRHANDLER,
    SIM_LIVE_KEYVAL,
    SIM_LIVE_SESSION,
    SIM_LIVE_WINDOW,
    SIM_LIVE_PERSISTENT,
    SIM_LIVE_KINDS
};

struct sim_open_handles {
    struct handle_map handles[SIM_LIVE_KINDS]; /* to the place that made them */
};
/* The place of a handle whose maker is not known. */
extern const char sim_open_handles_nowhere;

/* The calling rank was given a handle, or freed one. A handle may be given several times. Outside a
 * rank nothing happens; without memory the handle is forgotten. */
void sim_open_handles_add(enum sim_handle_kind kind, uint64_t handle);
void sim_open_handles_remove(enum sim_handle_kind kind, uint64_t handle);
/* Whether the calling rank holds it; outside a rank, always. */
bool sim_open_handles_has(enum sim_handle_kind kind, uint64_t handle);

void sim_open_handles_release(struct sim_open_handles *live);

#endif
