/* Masters: the session and the locks of workers. See master_worker.h. */
#include "collectives/systems/master_worker/master_parts.h"

/* ---- the session ---- */

struct master *master_start(struct process_group *world, int masters,
                            const struct master_function *functions, size_t function_count)
{
    struct diff_tape *tape = world->tape;
    ENTER(tape->state);
    if (masters < 1 || masters >= world->size)
        process_group_misuse(world, "master_start: %d masters among %d ranks leave no worker",
                             masters, world->size);
    int *ranks = process_group_take(world, (size_t)world->size * sizeof *ranks);
    for (int i = 0; i < world->size; i++)
        ranks[i] = i;
    struct master *master = arena_take_zeroed(&tape->fixed, sizeof *master);
    master->session = (struct master_session){
        .group = process_group_new(world, world->size, ranks),
        .workers = process_group_new(world, world->size - masters, ranks + masters),
        .tape = tape,
        .masters = masters,
        .functions = functions,
        .function_count = function_count};
    master->seats = arena_take_zeroed(&tape->fixed, (size_t)world->size * sizeof *master->seats);
    bool obeys = world->rank >= masters;
    if (obeys) {
        worker_obey(&master->session);
        process_group_free(master->session.workers);
        process_group_free(master->session.group);
    }
    state_leave(tape->state);
    return obeys ? NULL : master;
}

static void empty_send(struct process_group *group, int to, int tag)
{
    process_group_expect(group, data_group_send(group->data, NULL, 0, DATA_BYTE, to, tag));
}

static void empty_receive(struct process_group *group, int from, int tag)
{
    process_group_expect(group,
                         data_group_receive(group->data, NULL, 0, DATA_BYTE, from, tag, NULL));
}

static void token_settle(struct master *master, struct seat *seat)
{
    if (seat->token)
        process_group_expect(master->session.group, data_request_wait(seat->token, NULL));
    seat->token = NULL;
}

/* One master after the other waits for the workers it has used; rank 0, which begins, is also the
 * last to hear: then nobody has a command on its way. */
static void masters_end(struct master *master)
{
    struct process_group *group = master->session.group;
    int masters = master->session.masters;
    for (int worker = masters; group->rank == 0 && worker < group->size; worker++)
        if (master->seats[worker].locks > 0)
            empty_receive(group, masters - 1, TAG_TOKEN + worker);
    for (int worker = masters; worker < group->size; worker++)
        token_settle(master, &master->seats[worker]);
    if (group->rank > 0)
        empty_receive(group, group->rank - 1, TAG_TURN);
    for (int worker = masters; worker < group->size; worker++)
        if (master->seats[worker].used)
            master_sync(master, worker);
    empty_send(group, (group->rank + 1) % masters, TAG_TURN);
    if (group->rank == 0)
        empty_receive(group, masters - 1, TAG_TURN);
}

void master_stop(struct master *master)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    if (master->session.masters > 1)
        masters_end(master);
    for (int worker = master->session.masters; group->rank == 0 && worker < group->size; worker++)
        master_give(master, worker, &(struct command){.kind = COMMAND_STOP});
    for (int worker = master->session.masters; group->rank == 0 && worker < group->size; worker++) {
        struct answer told;
        master_answer(master, worker, &told);
    }
    process_group_free(group);
    LEAVE_MASTER(master);
}

int master_workers(const struct master *master)
{
    return master->session.group->size - master->session.masters;
}

int master_first_worker(const struct master *master)
{
    return master->session.masters;
}

void master_clear(struct master *master)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    for (int worker = master->session.masters; worker < group->size; worker++)
        master_give(master, worker, &(struct command){.kind = COMMAND_CLEAR});
    diff_tape_clear(master->session.tape);
    LEAVE_MASTER(master);
}

/* ---- locks ----
 *
 * The token of a worker is a message from master to master. Rank 0 has it at first, so its first
 * lock needs none. */

void master_lock(struct master *master, int worker)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    int masters = master->session.masters, last = (group->rank + masters - 1) % masters;
    struct seat *seat = &master->seats[worker];
    master_check(master, worker);
    if (seat->locked)
        process_group_misuse(group, "worker %d is locked twice", worker);
    if (masters > 1 && (group->rank > 0 || seat->locks > 0))
        empty_receive(group, last, TAG_TOKEN + worker);
    token_settle(master, seat);
    seat->locked = true;
    seat->locks++;
    LEAVE_MASTER(master);
}

void master_unlock(struct master *master, int worker)
{
    ENTER_MASTER(master);
    struct seat *seat = &master->seats[worker];
    master_check(master, worker);
    if (!seat->locked)
        process_group_misuse(master->session.group, "worker %d is not locked", worker);
    master_sync(master, worker);
    seat->locked = false;
    struct process_group *group = master->session.group;
    int next = (group->rank + 1) % master->session.masters;
    if (master->session.masters > 1) /* the next one may be in no hurry */
        process_group_expect(group, data_group_isend(group->data, NULL, 0, DATA_BYTE, next,
                                                     TAG_TOKEN + worker, &seat->token));
    LEAVE_MASTER(master);
}
