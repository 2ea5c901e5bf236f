/* Runs a program of hunt_program.h in a world, and keeps its result. */
#ifndef TESTS_CHECKER_HUNT_RUN_H
#define TESTS_CHECKER_HUNT_RUN_H

#include "recorder/recording.h"
#include "sim/worlds/world.h"
#include "tests/checker/hunt_program.h"

#include <mpi.h>
#include <mpix.h>

enum { BUFFER = 4096 };

struct result {
    int values[RANKS_MAX][OPS_MAX];
    uint32_t seen[RANKS_MAX]; /* a hash of what calls reported that look */
};

struct scene {
    const struct program *program;
    struct recording *recording; /* NULL: nothing is recorded */
    struct result result;
    int sent[RANKS_MAX][OPS_MAX], started[RANKS_MAX][SLOTS_MAX];
    bool persistent[RANKS_MAX][SLOTS_MAX];
    int last[RANKS_MAX];                        /* what the last look saw: 0 nothing */
    char buffers[RANKS_MAX][BUFFER];            /* of buffered sends */
    MPI_Request requests[RANKS_MAX][SLOTS_MAX]; /* all of them, where the steps want them */
};

static void saw(struct scene *scene, int rank, int what)
{
    scene->last[rank] = what;
    scene->result.seen[rank] = scene->result.seen[rank] * 31u + (uint32_t)what + 2u;
}

static int rank_in(uint8_t comm, int8_t peer)
{
    return peer < 0                          ? MPI_ANY_SOURCE
           : comm == HALF || comm == BETWEEN ? (comm == HALF ? peer % 2 : peer / 2)
                                             : peer;
}

/* A receive of what a probe saw. */
static void receive_probed(const struct step *step, MPI_Comm comm, int source, int tag, int *value)
{
    MPI_Message message;
    MPI_Status status;
    int flag = 0;
    if (step->verb == PROBE_RECV)
        MPI_Probe(source, tag, comm, &status);
    while (step->verb == IPROBE_RECV && !flag)
        MPI_Iprobe(source, tag, comm, &flag, &status);
    if (step->verb == PROBE_RECV || step->verb == IPROBE_RECV) {
        MPI_Recv(value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
        return;
    }
    if (step->verb == MRECV)
        MPI_Mprobe(source, tag, comm, &message, &status);
    while (step->verb == IMPROBE_MRECV && !flag)
        MPI_Improbe(source, tag, comm, &flag, &message, &status);
    MPI_Mrecv(value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void run_blocking(struct scene *scene, int rank, const struct step *step, MPI_Comm comm,
                         int *out, int *value)
{
    int peer = rank_in(step->comm, step->peer), tag = step->tag < 0 ? MPI_ANY_TAG : step->tag, flag;
    MPI_Status status;
    switch ((enum verb)step->verb) {
    case SEND:
        MPI_Send(out, 1, MPI_INT, peer, tag, comm);
        break;
    case SSEND:
        MPI_Ssend(out, 1, MPI_INT, peer, tag, comm);
        break;
    case BSEND:
        MPI_Bsend(out, 1, MPI_INT, peer, tag, comm);
        break;
    case RECV:
        MPI_Recv(value, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
        break;
    case SENDRECV:
        MPI_Sendrecv(out, 1, MPI_INT, peer, tag, value, 1, MPI_INT, peer, tag, comm,
                     MPI_STATUS_IGNORE);
        break;
    case IPROBE:
        MPI_Iprobe(peer, tag, comm, &flag, &status);
        saw(scene, rank, flag ? 1 + status.MPI_SOURCE : 0);
        break;
    case ALLREDUCE:
        MPI_Allreduce(out, value, 1, MPI_INT, MPI_SUM, comm);
        break;
    case BCAST:
        *value = *out;
        MPI_Bcast(value, 1, MPI_INT, 0, comm);
        break;
    case REDUCE:
        MPI_Reduce(out, value, 1, MPI_INT, MPI_SUM, 0, comm);
        break;
    case BARRIER:
        MPI_Barrier(comm);
        break;
    default:
        receive_probed(step, comm, peer, tag, value);
    }
}

static void start(struct scene *scene, int rank, const struct step *step, MPI_Comm comm,
                  const int *out, int *value)
{
    int peer = rank_in(step->comm, step->peer), tag = step->tag < 0 ? MPI_ANY_TAG : step->tag;
    MPI_Request *request = &scene->requests[rank][step->slot];
    MPI_Message message;
    switch ((enum verb)step->verb) {
    case ISEND:
        MPI_Isend(out, 1, MPI_INT, peer, tag, comm, request);
        break;
    case ISSEND:
        MPI_Issend(out, 1, MPI_INT, peer, tag, comm, request);
        break;
    case IBSEND:
        MPI_Ibsend(out, 1, MPI_INT, peer, tag, comm, request);
        break;
    case IRECV:
        MPI_Irecv(value, 1, MPI_INT, peer, tag, comm, request);
        break;
    case IMRECV:
        MPI_Mprobe(peer, tag, comm, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(value, 1, MPI_INT, &message, request);
        break;
    case IALLREDUCE:
        MPI_Iallreduce(out, value, 1, MPI_INT, MPI_SUM, comm, request);
        break;
    case IBARRIER:
        MPI_Ibarrier(comm, request);
        break;
    default:
        if (step->verb == SEND_INIT)
            MPI_Send_init(out, 1, MPI_INT, peer, tag, comm, request);
        else if (step->verb == RECV_INIT)
            MPI_Recv_init(value, 1, MPI_INT, peer, tag, comm, request);
        else
            MPI_Allreduce_init(out, value, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
        scene->persistent[rank][step->slot] = true;
        MPI_Start(request);
    }
}

/* Everything that is open, by ones or by some; the order is shown where the program looks. */
static void complete_all(struct scene *scene, int rank, uint8_t verb, bool shows)
{
    MPI_Request *requests = scene->requests[rank];
    int index = 0, flag = 0, count = 0, indices[SLOTS_MAX];
    bool some = verb == WAITSOME_ALL || verb == TESTSOME_ALL;
    while (verb != TESTALL_UNTIL && index != MPI_UNDEFINED && count != MPI_UNDEFINED) {
        flag = 1;
        if (verb == WAITANY_ALL)
            MPI_Waitany(SLOTS_MAX, requests, &index, MPI_STATUS_IGNORE);
        else if (verb == TESTANY_ALL)
            MPI_Testany(SLOTS_MAX, requests, &index, &flag, MPI_STATUS_IGNORE);
        else if (verb == WAITSOME_ALL)
            MPI_Waitsome(SLOTS_MAX, requests, &count, indices, MPI_STATUSES_IGNORE);
        else
            MPI_Testsome(SLOTS_MAX, requests, &count, indices, MPI_STATUSES_IGNORE);
        if (!flag) {
            index = 0; /* nothing yet: that is not the end */
            continue;
        }
        if (shows && !some)
            saw(scene, rank, index);
        for (int i = 0; shows && some && count != MPI_UNDEFINED && i < count; i++)
            saw(scene, rank, indices[i]);
    }
    while (verb == TESTALL_UNTIL && !flag)
        MPI_Testall(SLOTS_MAX, requests, &flag, MPI_STATUSES_IGNORE);
}

static void run_completion(struct scene *scene, int rank, const struct step *step)
{
    MPI_Request *requests = scene->requests[rank], *request = &requests[step->slot];
    int flag = 0, index;
    switch ((enum verb)step->verb) {
    case WAIT:
        MPI_Wait(request, MPI_STATUS_IGNORE);
        break;
    case TEST_UNTIL:
        while (!flag)
            MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        break;
    case CANCEL:
        if (*request != MPI_REQUEST_NULL)
            MPI_Cancel(request);
        break;
    case WAITALL:
        MPI_Waitall(SLOTS_MAX, requests, MPI_STATUSES_IGNORE);
        break;
    case WAITANY:
        MPI_Waitany(SLOTS_MAX, requests, &index, MPI_STATUS_IGNORE);
        saw(scene, rank, index == MPI_UNDEFINED ? 0 : index);
        break;
    case TEST:
        MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        saw(scene, rank, flag);
        break;
    case TESTANY:
        MPI_Testany(SLOTS_MAX, requests, &index, &flag, MPI_STATUS_IGNORE);
        saw(scene, rank, flag && index != MPI_UNDEFINED ? index + 1 : 0);
        break;
    case BATCH:
        SIM_Batch_begin();
        break;
    case END_BATCH:
        SIM_Batch_end();
        break;
    default:
        complete_all(scene, rank, step->verb, scene->program->looks);
    }
}

static void make_comms(int rank, MPI_Comm comms[COMMS])
{
    MPI_Comm side;
    comms[WORLD] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[COPY]);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comms[HALF]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &comms[BETWEEN]);
    MPI_Comm_free(&side);
}

static int run_rank(void *context, int rank)
{
    struct scene *scene = context;
    const struct program *program = scene->program;
    MPI_Comm comms[COMMS];
    void *detached;
    int size;
    for (int i = 0; i < SLOTS_MAX; i++)
        scene->requests[rank][i] = MPI_REQUEST_NULL;
    if (scene->recording)
        recording_rank_begin(scene->recording);
    MPI_Init(NULL, NULL);
    make_comms(rank, comms);
    MPI_Buffer_attach(scene->buffers[rank], BUFFER);
    for (uint32_t at = 0; at < program->length[rank]; at++) {
        const struct step *step = &program->steps[rank][at];
        int *out = &scene->sent[rank][at], *value = &scene->result.values[rank][at];
        *out = rank * 100 + (int)at;
        if (step->verb == SKIP_UNLESS)
            at += scene->last[rank] == 0;
        else if (is_started(step->verb))
            start(scene, rank, step, comms[step->comm], out, value);
        else if (step->verb <= SENDRECV || step->verb == IPROBE || step->verb >= ALLREDUCE)
            run_blocking(scene, rank, step, comms[step->comm], out, value);
        else
            run_completion(scene, rank, step);
    }
    for (int i = 0; i < SLOTS_MAX; i++)
        if (scene->persistent[rank][i] && scene->requests[rank][i] != MPI_REQUEST_NULL)
            MPI_Request_free(&scene->requests[rank][i]);
    MPI_Buffer_detach(&detached, &size);
    for (int which = COPY; which < COMMS; which++)
        MPI_Comm_free(&comms[which]);
    MPI_Finalize();
    return 0;
}

/* The world is the caller's to free. */
static struct sim_world *scene_run(struct scene *scene, struct sim_world_options *options,
                                   enum trace_outcome *outcome)
{
    struct failure failure;
    options->ranks = (int)scene->program->ranks;
    memset(&scene->result, 0, sizeof scene->result);
    memset(scene->persistent, 0, sizeof scene->persistent);
    memset(scene->last, 0, sizeof scene->last);
    struct sim_world *world = sim_world_new(options, &failure);
    if (!world)
        return NULL;
    *outcome = sim_world_run(world, run_rank, scene);
    for (int r = 0; scene->recording && r < options->ranks; r++)
        recording_rank_end(scene->recording, (uint32_t)r, sim_world_rank_state(world, r), 0, NULL);
    return world;
}

/* One run, recorded; NULL, with a note, where it could not be. */
static struct trace *scene_trace(struct scene *scene, struct sim_world_options *options,
                                 enum trace_outcome *outcome)
{
    static const char *const names[] = {"eager", "rendezvous", "batch"};
    struct failure failure = {0};
    scene->recording = recording_new(scene->program->ranks, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = scene_run(scene, options, outcome);
    struct trace *trace = recording_load(
        scene->recording,
        &(struct recording_result){
            .outcome = *outcome, .program = "hunt", .model = names[options->send_model]},
        &failure);
    sim_world_free(world);
    recording_ranks_release(scene->recording);
    recording_free(scene->recording);
    scene->recording = NULL;
    if (!trace)
        tap_note("not recorded: %s", failure.text);
    return trace;
}

#endif
