/* What a user's reduction function, or the query or free function of a generalised request, must not
 * do, and what becomes of a world in which it does: see rank.h.
 *
 * It is called in the middle of a call. It may not communicate, and it has to return. A call
 * of MPI from within ends the world with a finding that names it; so does an exception that leaves
 * the function, at once, and a jump out of it, at the rank's next call, with a finding that names the
 * call that was left. A rank that ends within leaves the others as any rank does that does not come.
 *
 * What the program's other functions leave by an exception (error handlers, those of attributes, a
 * reduction in MPI_Reduce_local) is the program's affair: the call has failed, the rank goes on. */
#include "sim/worlds/rank.h"

#include "recorder/recorder.h"
#include "sim/worlds/fault.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The calling thread's: its rank may have others, which are not in the function. */
static _Thread_local const char *op_frame; /* of the call that is under way, NULL: none */
static _Thread_local enum sim_guard_kind op_kind;
static _Thread_local const void *op_site; /* that call's place, and operation */
static _Thread_local uint32_t op_position;
static _Thread_local bool held; /* left it for good: the monitor is still ours */

void sim_guard_begin(struct sim_rank *rank, const char *frame, enum sim_guard_kind kind)
{
    op_frame = frame;
    op_kind = kind;
    op_site = sim_libc_call_site();
    op_position = record_position();
    if (rank->world->threaded) /* always guarded there, and never plain */
        return;
    rank->plain = false;
    rank->world->guarded = true;
}

static void let_go(struct sim_rank *rank)
{
    op_frame = NULL;
    if (!rank->world->threaded)
        rank->world->guarded = sim_world_always_guarded(rank->world);
}

void sim_guard_end(struct sim_rank *rank)
{
    let_go(rank);
    if (!rank->world->threaded)
        rank->plain = sim_rank_plain(rank);
}

/* A rank may die within the machine, in a copy from or to memory that is not there: then it holds
 * the monitor, which it will need to end. */
static bool has_monitor(const struct sim_world *world)
{
#ifdef __GLIBC__
    return world->threaded && world->monitor.__data.__owner == (int)syscall(SYS_gettid);
#else
    return false;
#endif
}

void sim_guard_abandon(struct sim_rank *rank)
{
    held = op_frame ? rank->world->threaded : has_monitor(rank->world);
    if (op_frame)
        let_go(rank);
}

enum how { JUMPED, THROWN, WITHIN };

static const char *const texts[][3] = {
    [SIM_GUARD_OP] = {"a user's reduction function was left by a jump; it has to return, the "
                      "collective that called it cannot go on",
                      "a user's reduction function was left by an exception; it has to return, the "
                      "collective that called it cannot go on",
                      "called within a user's reduction function; no communication is allowed "
                      "there"},
    [SIM_GUARD_REQUEST] = {"a generalised request's function was left by a jump; it has to "
                           "return, the call that completes the request cannot go on",
                           "a generalised request's function was left by an exception; it has to "
                           "return, the call that completes the request cannot go on",
                           "called within a generalised request's function; no communication "
                           "is allowed there"}};

static _Noreturn void refuse(struct sim_rank *rank, enum how how)
{
    const char *text = texts[op_kind][how];
    sim_guard_abandon(rank);
    fprintf(stderr, "rank %d: %s\n", rank->id, text);
    if (how == WITHIN) {
        record_site_enter(sim_libc_call_site());
        record_note("M009", "%s", text);
    } else {
        record_note_of(op_position, op_site, "M009", text);
    }
    sim_rank_abort(rank, MPI_ERR_OTHER);
}

void sim_guard_unwound(struct sim_rank **guarded)
{
    if (*guarded && op_frame)
        refuse(*guarded, THROWN);
}

void sim_callback_unwound(struct sim_callback *callback)
{
    struct sim_rank *rank = callback->rank;
    if (!rank)
        return;
    rank->within_op -= callback->within_op;
    rank->error_depth = callback->error_depth;
    record_failure(callback->error_class, NULL);
}

void sim_guard_enter(struct sim_world *world)
{
    struct sim_rank *rank = sim_current_rank;
    if (rank && rank->world == world && held) {
        held = false;
        return;
    }
    if (rank && rank->world == world && op_frame) {
        const char *frame = sim_libc_call_frame();
        bool within = (frame ? frame : (const char *)__builtin_frame_address(0)) < op_frame;
        refuse(rank, within ? WITHIN : JUMPED);
    }
    if (rank && rank->world == world)
        sim_rank_stray_check(rank);
    if (rank && rank->world == world && world->options.fault_count)
        sim_fault_enter(rank);
    if (rank && rank->world == world && rank->libc.late && world->rooms->is_pending(rank))
        sim_libc_team_pause(&rank->libc);
    if (world->threaded)
        sim_threads_enter(world);
}

bool sim_guard_in_op(void)
{
    return op_frame != NULL;
}
