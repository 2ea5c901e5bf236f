/* The machine as a whole: which room does what for a world (worlds/rank.h, struct sim_rooms). */
#include "sim/collectives/collective.h"
#include "sim/communicator_calls/creation.h"
#include "sim/communicators/comm.h"
#include "sim/communicators/group.h"
#include "sim/datatypes/attributes.h"
#include "sim/failures/agreement.h"
#include "sim/failures/failures.h"
#include "sim/interface/leaks.h"
#include "sim/memory/memory.h"
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/messages/causes.h"
#include "sim/messages/deferred.h"
#include "sim/messages/lossy.h"
#include "sim/messages/mailbox.h"
#include "sim/messages/point.h"
#include "sim/windows/history.h"
#include "sim/windows/window.h"
#include "sim/worlds/open_handles.h"
#include "sim/worlds/timeout.h"

static void rank_end(struct sim_rank *rank)
{
    sim_type_attributes_release(rank);
    sim_keyvals_release(&rank->keyvals);
    sim_integers_release(&rank->integers);
    sim_error_codes_release(&rank->error_codes);
    sim_groups_end(rank->live);
    sim_open_handles_release(rank->live);
    sim_pending_release(rank);
    sim_objects_release(rank);
    sim_history_release(rank);
}

static void world_end(struct sim_world *world)
{
    sim_lossy_forget(world);
    sim_partitioned_world_end(world);
    sim_windows_world_end(world);
    sim_gatherings_end(world);
    sim_comm_release_all(world);
    for (int i = 0; world->ranks && i < world->size; i++)
        rank_end(&world->ranks[i]);
}

/* What only quiescence allows: a message held back, a delayed wildcard, then a limit that passes, then a poll that was
 * told "not yet". */
static bool quiescent(struct sim_world *world)
{
    return (world->late_messages && sim_lossy_release(world)) || sim_deferred_go(world) ||
           sim_timeout_go(world) || sim_deferred_spin(world);
}

static void context_end(struct sim_context *context)
{
    sim_mailboxes_end(context);
    sim_meetings_end(context);
    sim_collectives_end(context);
}

static const struct sim_rooms rooms = {.begin = sim_comm_make_predefined,
                                       .end = world_end,
                                       .quiescent = quiescent,
                                       .send_lossy = sim_lossy_send,
                                       .receive_delayed = sim_deferred_post,
                                       .request_completed = sim_causes_completed,
                                       .request_seen = sim_deferred_seen,
                                       .context_begin = sim_mailboxes_begin,
                                       .context_end = context_end,
                                       .window_outside = sim_history_outside,
                                       .window_touch = sim_history_touch,
                                       .window_atomic = sim_history_touch_atomically,
                                       .window_used = sim_history_used,
                                       .window_waited = sim_history_waited,
                                       .window_flush = sim_history_flush,
                                       .buffers_used = sim_pending_used,
                                       .threads_begin = sim_pending_threads,
                                       .is_pending = sim_pending_any,
                                       .error_target = sim_comm_error_target,
                                       .rank_over = sim_leaks_report_end,
                                       .rank_failed = sim_failures_rank_failed,
                                       .comm_check = sim_comm_verify};

struct sim_world *sim_world_new(const struct sim_world_options *options, struct failure *failure)
{
    sim_world_serves_libc();
    sim_memory_watch_recorder();
    return sim_world_compose(options, &rooms, failure);
}
