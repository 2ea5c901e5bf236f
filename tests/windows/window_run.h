/* Runs a program of window_program.h on the machine, recorded; the trace's sites are the calls. */
#ifndef TESTS_WINDOWS_WINDOW_RUN_H
#define TESTS_WINDOWS_WINDOW_RUN_H

#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/world.h"
#include "tests/change_op.h"
#include "tests/windows/window_program.h"

#include <mpi.h>

enum { REQUESTS_MAX = 16, SITELESS = 5 };

struct scene {
    const struct program *program;
    struct recording *recording;
    int memory[RANKS_MAX][PLACES];
    int *parts[RANKS_MAX][RANKS_MAX]; /* as a rank sees the others' */
    int data[RANKS_MAX][4], results[RANKS_MAX][4], gathered[RANKS_MAX][RANKS_MAX];
    MPI_Request requests[RANKS_MAX][REQUESTS_MAX];
    int started[RANKS_MAX];
    uint32_t operation[RANKS_MAX][CALLS_MAX]; /* how many were recorded before the call */
    uint32_t op_of[RANKS_MAX][CALLS_MAX];     /* in the trace */
};

struct actor {
    struct scene *scene;
    int rank;
    MPI_Win win;
    MPI_Datatype gap;
    MPI_Comm lanes[2];
};

static MPI_Request *new_request(struct actor *actor)
{
    return &actor->scene->requests[actor->rank][actor->scene->started[actor->rank]++];
}

static void act_remotely(struct actor *actor, const struct call *call)
{
    int *from = actor->scene->data[actor->rank], *to = actor->scene->results[actor->rank];
    int n = call->shape == ONE ? 1 : 2, m = call->shape == GAP ? 1 : n, t = call->peer;
    MPI_Datatype type = call->shape == GAP ? actor->gap : MPI_INT;
    MPI_Win win = actor->win;
    MPI_Aint at = call->place;
    MPI_Datatype floats;
    switch ((enum verb)call->verb) {
    case PUT:
        MPI_Put(from, n, MPI_INT, t, at, m, type, win);
        break;
    case GET:
        MPI_Get(to, n, MPI_INT, t, at, m, type, win);
        break;
    case SUM:
    case PRODUCT:
    case REPLACE:
        MPI_Accumulate(from, n, MPI_INT, t, at, m, type,
                       call->verb == SUM       ? MPI_SUM
                       : call->verb == PRODUCT ? MPI_PROD
                                               : MPI_REPLACE,
                       win);
        break;
    case SUM_OF_FLOATS:
        MPI_Type_vector(2, 1, 2, MPI_FLOAT, &floats);
        MPI_Type_commit(&floats);
        MPI_Accumulate(from, n, MPI_FLOAT, t, at, m, call->shape == GAP ? floats : MPI_FLOAT,
                       MPI_SUM, win);
        MPI_Type_free(&floats);
        break;
    case FETCH_SUM:
    case FETCH:
        MPI_Get_accumulate(from, n, MPI_INT, to, n, MPI_INT, t, at, m, type,
                           call->verb == FETCH ? MPI_NO_OP : MPI_SUM, win);
        break;
    case FETCH_AND_ADD:
        MPI_Fetch_and_op(from, to, MPI_INT, t, at, MPI_SUM, win);
        break;
    case SWAP:
        MPI_Compare_and_swap(from, from + 1, to, MPI_INT, t, at, win);
        break;
    case RPUT:
        MPI_Rput(from, n, MPI_INT, t, at, m, type, win, new_request(actor));
        break;
    case RGET:
        MPI_Rget(to, n, MPI_INT, t, at, m, type, win, new_request(actor));
        break;
    default:
        MPI_Raccumulate(from, n, MPI_INT, t, at, m, type, MPI_SUM, win, new_request(actor));
    }
}

/* Each call has a place of its own in what is recorded, where no function is. */
static void touch(struct actor *actor, const struct call *call, uint32_t number)
{
    int *part = actor->scene->parts[actor->rank][call->peer] + call->place;
    const char *site = (const char *)64 + (uint32_t)actor->rank * CALLS_MAX + number;
    sim_pending_access(sim_current_rank, (uintptr_t)part, call->shape == TWO ? 8 : 4,
                       call->verb == STORE, site);
    if (call->shape == GAP)
        sim_pending_access(sim_current_rank, (uintptr_t)(part + 2), 4, call->verb == STORE, site);
}

static void exchange(struct actor *actor, const struct call *call)
{
    int *part = actor->scene->parts[actor->rank][actor->rank] + call->place;
    int *data = actor->scene->data[actor->rank], n = call->shape == ONE ? 1 : 2, peer = call->peer;
    int m = call->shape == GAP ? 1 : n;
    MPI_Datatype type = call->shape == GAP ? actor->gap : MPI_INT;
    MPI_Comm comm = actor->lanes[call->lane >> 1];
    int tag = call->lane & 1;
    switch ((enum verb)call->verb) {
    case SEND_FROM:
        MPI_Send(part, m, type, peer, tag, comm);
        break;
    case RECEIVE_INTO:
        MPI_Recv(part, m, type, peer, tag, comm, MPI_STATUS_IGNORE);
        break;
    case IRECEIVE_INTO:
        MPI_Irecv(part, m, type, peer, tag, comm, new_request(actor));
        break;
    case SEND:
        MPI_Send(data, n, MPI_INT, peer, tag, comm);
        break;
    case SSEND:
        MPI_Ssend(data, n, MPI_INT, peer, tag, comm);
        break;
    case ISSEND:
        MPI_Issend(data, n, MPI_INT, peer, tag, comm, new_request(actor));
        break;
    case PROBE:
        MPI_Probe(peer, tag, comm, MPI_STATUS_IGNORE);
        break;
    case RECEIVE:
        MPI_Recv(actor->scene->results[actor->rank], n, MPI_INT, peer, tag, comm,
                 MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Waitall(actor->scene->started[actor->rank], actor->scene->requests[actor->rank],
                    MPI_STATUSES_IGNORE);
        actor->scene->started[actor->rank] = 0;
    }
}

static void join_in(struct actor *actor, const struct call *call)
{
    int *one = actor->scene->data[actor->rank], *all = actor->scene->gathered[actor->rank], got;
    static const int ones[RANKS_MAX] = {1, 1, 1, 1}, places[RANKS_MAX] = {0, 1, 2, 3};
    MPI_Comm comm = MPI_COMM_WORLD;
    switch ((enum verb)call->verb) {
    case FENCE:
        MPI_Win_fence(0, actor->win);
        break;
    case BARRIER:
        MPI_Barrier(comm);
        break;
    case IBARRIER:
        MPI_Ibarrier(comm, new_request(actor));
        break;
    case BROADCAST:
        MPI_Bcast(one, 1, MPI_INT, call->peer, comm);
        break;
    case SCATTER:
        MPI_Scatter(all, 1, MPI_INT, one, 1, MPI_INT, call->peer, comm);
        break;
    case SCATTERV:
        MPI_Scatterv(all, ones, places, MPI_INT, one, 1, MPI_INT, call->peer, comm);
        break;
    case GATHERV:
        MPI_Gatherv(one, 1, MPI_INT, all, ones, places, MPI_INT, call->peer, comm);
        break;
    case REDUCE:
        MPI_Reduce(one, &got, 1, MPI_INT, MPI_SUM, call->peer, comm);
        break;
    case GATHER:
        MPI_Gather(one, 1, MPI_INT, all, 1, MPI_INT, call->peer, comm);
        break;
    case ALLREDUCE:
        MPI_Allreduce(one, &got, 1, MPI_INT, MPI_SUM, comm);
        break;
    case SCAN:
        MPI_Scan(one, &got, 1, MPI_INT, MPI_SUM, comm);
        break;
    default:
        MPI_Exscan(one, &got, 1, MPI_INT, MPI_SUM, comm);
    }
}

static MPI_Group group_of(uint8_t mask)
{
    MPI_Group world, group;
    int ranks[RANKS_MAX], n = 0;
    for (int rank = 0; rank < RANKS_MAX; rank++)
        if (mask >> rank & 1)
            ranks[n++] = rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

static void expose(struct actor *actor, const struct call *call)
{
    MPI_Group group =
        call->verb == POST || call->verb == START ? group_of(call->group) : MPI_GROUP_EMPTY;
    if (call->verb == POST)
        MPI_Win_post(group, 0, actor->win);
    else if (call->verb == START)
        MPI_Win_start(group, 0, actor->win);
    else if (call->verb == COMPLETE)
        MPI_Win_complete(actor->win);
    else
        MPI_Win_wait(actor->win);
    if (group != MPI_GROUP_EMPTY)
        MPI_Group_free(&group);
}

static void lock_or_flush(struct actor *actor, const struct call *call)
{
    switch ((enum verb)call->verb) {
    case LOCK_EXCLUSIVE:
    case LOCK_SHARED:
        MPI_Win_lock(call->verb == LOCK_SHARED ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, call->peer,
                     0, actor->win);
        break;
    case UNLOCK:
        MPI_Win_unlock(call->peer, actor->win);
        break;
    case LOCK_ALL:
        MPI_Win_lock_all(0, actor->win);
        break;
    case UNLOCK_ALL:
        MPI_Win_unlock_all(actor->win);
        break;
    case FLUSH:
        MPI_Win_flush(call->peer, actor->win);
        break;
    case FLUSH_ALL:
        MPI_Win_flush_all(actor->win);
        break;
    case FLUSH_LOCAL:
        MPI_Win_flush_local(call->peer, actor->win);
        break;
    case FLUSH_LOCAL_ALL:
        MPI_Win_flush_local_all(actor->win);
        break;
    default:
        MPI_Win_sync(actor->win);
    }
}

static void act(struct actor *actor, const struct call *call, uint32_t number)
{
    if (is_remote(call->verb))
        act_remotely(actor, call);
    else if (call->verb == LOAD || call->verb == STORE)
        touch(actor, call, number);
    else if (call->verb <= WAIT_ALL)
        exchange(actor, call);
    else if (call->verb <= EXSCAN)
        join_in(actor, call);
    else if (call->verb <= WAIT_EXPOSED)
        expose(actor, call);
    else
        lock_or_flush(actor, call);
}

static void make_window(struct actor *actor)
{
    struct scene *scene = actor->scene;
    MPI_Info info;
    MPI_Info_create(&info);
    if (scene->program->unordered)
        MPI_Info_set(info, "accumulate_ordering", "none");
    if (scene->program->same_op)
        MPI_Info_set(info, "accumulate_ops", "same_op");
    if (!scene->program->shared) {
        scene->parts[actor->rank][actor->rank] = scene->memory[actor->rank];
        MPI_Win_create(scene->memory[actor->rank], sizeof scene->memory[0], sizeof(int), info,
                       MPI_COMM_WORLD, &actor->win);
    } else {
        void *base;
        MPI_Aint size;
        int unit;
        MPI_Win_allocate_shared(sizeof scene->memory[0], sizeof(int), info, MPI_COMM_WORLD, &base,
                                &actor->win);
        for (int rank = 0; rank < (int)scene->program->ranks; rank++) {
            MPI_Win_shared_query(actor->win, rank, &size, &unit, &base);
            scene->parts[actor->rank][rank] = base;
        }
    }
    MPI_Info_free(&info);
}

static int run_rank(void *context, int rank)
{
    struct actor actor = {.scene = context, .rank = rank};
    const struct program *program = actor.scene->program;
    recording_rank_begin(actor.scene->recording);
    MPI_Init(NULL, NULL);
    MPI_Type_vector(2, 1, 2, MPI_INT, &actor.gap);
    MPI_Type_commit(&actor.gap);
    actor.lanes[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &actor.lanes[1]);
    make_window(&actor);
    MPI_Barrier(MPI_COMM_WORLD);
    for (uint32_t i = 0; i < program->length[rank]; i++) {
        actor.scene->operation[rank][i] = record_position();
        act(&actor, &program->calls[rank][i], i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&actor.win);
    MPI_Comm_free(&actor.lanes[1]);
    MPI_Type_free(&actor.gap);
    MPI_Finalize();
    return 0;
}

/* The lines of this file say nothing, and it takes long to find them. */
static bool nowhere(void *context, uint32_t rank, uint64_t pc, const char **file, uint64_t *address)
{
    (void)context, (void)rank, (void)pc, (void)address;
    *file = NULL;
    return true;
}

static int call_line(uint32_t rank, uint32_t call)
{
    return 100 * (int)(rank + 1) + (int)call;
}

/* Each call a line of w.c. Every fifth load and store does not know where it is. */
static void name_places(struct scene *scene, struct trace *trace)
{
    const struct program *program = scene->program;
    uint32_t next[RANKS_MAX] = {0}, left[RANKS_MAX] = {0}; /* rows of the touch that comes next */
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        uint32_t start = (uint32_t)trace->rank_begin[rank] + scene->operation[rank][0] - 1;
        CHANGE_OP(trace, start, site,
                  trace_add_site(trace, "w.c", call_line(rank, CALLS_MAX), "f"));
        for (uint32_t i = 0; i < program->length[rank]; i++) {
            uint32_t op = (uint32_t)trace->rank_begin[rank] + scene->operation[rank][i];
            bool touches =
                program->calls[rank][i].verb == LOAD || program->calls[rank][i].verb == STORE;
            scene->op_of[rank][i] = touches ? op - 1 : op;
            if (!touches)
                CHANGE_OP(trace, op, site, trace_add_site(trace, "w.c", call_line(rank, i), "f"));
        }
    }
    for (size_t i = 0; i < trace->access_count; i++) {
        struct trace_access *access = &trace->accesses[i];
        uint32_t rank = access->rank, *at = &next[rank];
        if (access->done != UINT32_MAX)
            continue;
        const struct call *calls = program->calls[rank];
        for (; !left[rank] && calls[*at].verb != LOAD && calls[*at].verb != STORE; ++*at) {
        }
        left[rank] = left[rank] ? left[rank] - 1 : calls[*at].shape == GAP ? 1 : 0;
        access->site = *at % SITELESS == 0
                           ? TRACE_NO
                           : trace_add_site(trace, "w.c", call_line(rank, *at), "f");
        *at += !left[rank];
    }
}

/* Rows in any order, and every rank with a clock of its own: nothing may depend on either. */
static void mix(struct trace *trace, uint64_t seed)
{
    uint64_t dice = seed, later[RANKS_MAX];
    for (size_t i = trace->access_count; i > 1; i--) {
        size_t other = dice_below(&dice, (uint32_t)i);
        struct trace_access access = trace->accesses[i - 1];
        trace->accesses[i - 1] = trace->accesses[other];
        trace->accesses[other] = access;
    }
    for (size_t i = trace->sync_count; i > 1; i--) {
        size_t other = dice_below(&dice, (uint32_t)i);
        struct trace_sync sync = trace->syncs[i - 1];
        trace->syncs[i - 1] = trace->syncs[other];
        trace->syncs[other] = sync;
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        later[rank] = dice_below(&dice, 1000);
    for (size_t i = 0; i < trace->op_count; i++) {
        trace->ops[i].begin += later[trace->ops[i].rank];
        trace->ops[i].end += later[trace->ops[i].rank];
    }
}

/* NULL, with a note, where there is none. */
static struct trace *scene_trace(struct scene *scene, uint64_t seed)
{
    struct failure failure = {.text = "it did not finish"};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = (int)scene->program->ranks;
    options.memory = true;
    options.driver = SIM_CHOOSE_SEED;
    options.seed = seed;
    scene->recording = recording_new(scene->program->ranks, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    enum trace_outcome outcome = sim_world_run(world, run_rank, scene);
    for (uint32_t r = 0; r < scene->program->ranks; r++)
        recording_rank_end(scene->recording, r, sim_world_rank_state(world, (int)r), 0, NULL);
    struct trace *trace = recording_load(
        scene->recording,
        &(struct recording_result){
            .outcome = outcome, .program = "windows", .model = "eager", .locate = nowhere},
        &failure);
    sim_world_free(world);
    recording_ranks_release(scene->recording);
    recording_free(scene->recording);
    if (trace && outcome != OUTCOME_FINISHED) {
        trace_free(trace);
        trace = NULL;
    }
    if (trace) {
        name_places(scene, trace);
        mix(trace, seed);
    } else {
        tap_note("no trace: %s", failure.text);
    }
    return trace;
}

#endif
