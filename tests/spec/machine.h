/* machine.h: runs a program of program.h on the machine under test and writes down what was seen.
 */
#ifndef SPEC_MACHINE_H
#define SPEC_MACHINE_H

#include "tests/spec/program.h"
#include "tests/world_harness.h"

struct spec_world {
    const struct spec_program *program;
    struct spec_run *run;
    MPI_Request requests[SPEC_RANKS][SPEC_OPS];
};

static int spec_from(int peer)
{
    return peer == SPEC_ANY ? MPI_ANY_SOURCE : peer;
}

static int spec_tag(int tag)
{
    return tag == SPEC_ANY ? MPI_ANY_TAG : tag;
}

static void spec_saw(struct spec_seen *seen, const MPI_Status *status)
{
    int cancelled = 0;
    MPI_Test_cancelled(status, &cancelled);
    seen->cancelled = cancelled;
    if (!cancelled && status->MPI_SOURCE >= 0) {
        seen->source = status->MPI_SOURCE;
        seen->tag = status->MPI_TAG;
    }
}

static void spec_start(const struct spec_op *op, const int *number, int *message, MPI_Comm comm,
                       MPI_Request *request)
{
    int from = spec_from(op->from), tag = spec_tag(op->tag);
    if (!op->persistent) {
        if (op->kind == SPEC_ISEND)
            MPI_Isend(number, 1, MPI_INT, op->to, op->send_tag, comm, request);
        else if (op->kind == SPEC_ISSEND)
            MPI_Issend(number, 1, MPI_INT, op->to, op->send_tag, comm, request);
        else
            MPI_Irecv(message, 1, MPI_INT, from, tag, comm, request);
        return;
    }
    if (op->kind == SPEC_ISEND)
        MPI_Send_init(number, 1, MPI_INT, op->to, op->send_tag, comm, request);
    else if (op->kind == SPEC_ISSEND)
        MPI_Ssend_init(number, 1, MPI_INT, op->to, op->send_tag, comm, request);
    else
        MPI_Recv_init(message, 1, MPI_INT, from, tag, comm, request);
    MPI_Start(request);
}

static void spec_some(const struct spec_op *op, MPI_Request *requests, int count,
                      struct spec_seen *seen)
{
    MPI_Status statuses[SPEC_OPS];
    int done = 0, indices[SPEC_OPS];
    if (op->kind == SPEC_WAITSOME)
        MPI_Waitsome(count, requests, &done, indices, statuses);
    else
        MPI_Testsome(count, requests, &done, indices, statuses);
    seen[count].flag = done == MPI_UNDEFINED;
    for (int k = 0; k < done; k++) {
        seen[count].some |= 1u << indices[k];
        spec_saw(&seen[indices[k]], &statuses[k]);
    }
}

static void spec_complete(struct spec_world *world, int rank, int i)
{
    const struct spec_op *op = &world->program->ops[rank][i];
    struct spec_seen *seen = world->run->seen[rank];
    MPI_Request *requests = world->requests[rank];
    MPI_Status statuses[SPEC_OPS];
    int flag = 0, index;
    if (op->kind == SPEC_WAIT) {
        MPI_Wait(&requests[op->request], statuses);
        spec_saw(&seen[op->request], statuses);
    } else if (op->kind == SPEC_TEST) {
        MPI_Test(&requests[op->request], &flag, statuses);
        if (flag)
            spec_saw(&seen[op->request], statuses);
        seen[i].flag = flag;
    } else if (op->kind == SPEC_WAITANY || op->kind == SPEC_TESTANY) {
        if (op->kind == SPEC_WAITANY)
            MPI_Waitany(i, requests, &index, statuses);
        else
            MPI_Testany(i, requests, &index, &flag, statuses);
        seen[i].flag = flag;
        seen[i].index = index == MPI_UNDEFINED ? SPEC_NONE : index;
        if (index != MPI_UNDEFINED)
            spec_saw(&seen[index], statuses);
    } else if (op->kind == SPEC_WAITSOME || op->kind == SPEC_TESTSOME) {
        spec_some(op, requests, i, seen);
    } else if (op->kind == SPEC_TESTALL) {
        MPI_Testall(i, requests, &flag, statuses);
        seen[i].flag = flag;
        for (int k = 0; k < i && flag; k++)
            spec_saw(&seen[k], &statuses[k]);
    } else {
        MPI_Waitall(i, requests, statuses);
        for (int k = 0; k < i; k++)
            spec_saw(&seen[k], &statuses[k]);
    }
}

static void spec_do(struct spec_world *world, int rank, int i, MPI_Comm comm, const int *number)
{
    const struct spec_op *op = &world->program->ops[rank][i];
    struct spec_seen *seen = &world->run->seen[rank][i];
    MPI_Status status = {.MPI_SOURCE = MPI_ANY_SOURCE};
    int from = spec_from(op->from), tag = spec_tag(op->tag), flag = 0;
    MPI_Message message;
    switch (op->kind) {
    case SPEC_SEND:
        MPI_Send(number, 1, MPI_INT, op->to, op->send_tag, comm);
        break;
    case SPEC_SSEND:
        MPI_Ssend(number, 1, MPI_INT, op->to, op->send_tag, comm);
        break;
    case SPEC_RECV:
        MPI_Recv(&seen->message, 1, MPI_INT, from, tag, comm, &status);
        break;
    case SPEC_MRECV:
        MPI_Mprobe(from, tag, comm, &message, &status);
        MPI_Mrecv(&seen->message, 1, MPI_INT, &message, &status);
        break;
    case SPEC_SENDRECV:
        MPI_Sendrecv(number, 1, MPI_INT, op->to, op->send_tag, &seen->message, 1, MPI_INT, from,
                     tag, comm, &status);
        break;
    case SPEC_PROBE:
        MPI_Probe(from, tag, comm, &status);
        break;
    case SPEC_IPROBE:
        MPI_Iprobe(from, tag, comm, &flag, &status);
        seen->flag = flag;
        break;
    case SPEC_CANCEL:
        if (world->requests[rank][op->request] != MPI_REQUEST_NULL)
            MPI_Cancel(&world->requests[rank][op->request]);
        break;
    case SPEC_BARRIER:
        MPI_Barrier(comm);
        break;
    default: /* starts and waits */
        if (spec_starts(op->kind))
            spec_start(op, number, &seen->message, comm, &world->requests[rank][i]);
        else
            spec_complete(world, rank, i);
        return;
    }
    if (op->kind != SPEC_IPROBE || flag)
        spec_saw(seen, &status);
}

static int spec_rank(void *context, int rank)
{
    struct spec_world *world = context;
    int numbers[SPEC_OPS];
    MPI_Comm comms[SPEC_COMMS] = {MPI_COMM_WORLD, MPI_COMM_NULL};
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    for (int i = 0; i < world->program->count[rank]; i++) {
        const struct spec_op *op = &world->program->ops[rank][i];
        numbers[i] = spec_number(rank, i);
        world->run->seen[rank][i].begun = true;
        spec_do(world, rank, i, comms[op->comm], &numbers[i]);
        world->run->seen[rank][i].ended = true;
    }
    for (int i = 0; i < world->program->count[rank]; i++)
        if (world->requests[rank][i] != MPI_REQUEST_NULL)
            MPI_Request_free(&world->requests[rank][i]);
    MPI_Comm_free(&comms[1]);
    MPI_Finalize();
    return 0;
}

/* Runs the program in a world with these options; false where it ended in any other way than
 * finished or deadlocked. */
static bool spec_run(const struct spec_program *program, struct sim_world_options options,
                     struct spec_run *run)
{
    struct spec_world context = {.program = program, .run = run};
    struct failure failure = {0};
    memset(run, 0, sizeof *run);
    for (int rank = 0; rank < SPEC_RANKS; rank++)
        for (int i = 0; i < SPEC_OPS; i++) {
            run->seen[rank][i].message = run->seen[rank][i].source = SPEC_NONE;
            run->seen[rank][i].tag = run->seen[rank][i].index = SPEC_NONE;
            context.requests[rank][i] = MPI_REQUEST_NULL;
        }
    options.ranks = program->ranks;
    options.send_model = program->sends_wait ? SIM_SEND_RENDEZVOUS : SIM_SEND_EAGER;
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return false;
    enum trace_outcome outcome = sim_world_run(world, spec_rank, &context);
    sim_world_free(world);
    run->finished = outcome == OUTCOME_FINISHED;
    return outcome == OUTCOME_FINISHED || outcome == OUTCOME_DEADLOCK;
}

#endif
