/* The recorder: what a world of ranks does becomes a trace. */
#include "tests/tap.h"

#include "recorder/recorder.h"
#include "recorder/recording.h"
#include "sim/worlds/world.h"

#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void rank_body(int rank);

struct run {
    struct recording *recording;
    rank_body *body;
};

static int enter(void *context, int rank)
{
    struct run *run = context;
    recording_rank_begin(run->recording);
    MPI_Init(NULL, NULL);
    run->body(rank);
    MPI_Finalize();
    return 0;
}

static enum trace_outcome run_world(struct run *run, int ranks)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = ranks;
    options.livelock_rounds = 50;
    struct sim_world *world = sim_world_new(&options, NULL);
    enum trace_outcome outcome = sim_world_run(world, enter, run);
    for (int i = 0; i < ranks; i++)
        recording_rank_end(run->recording, (uint32_t)i, sim_world_rank_state(world, i),
                           sim_world_exit_code(world, i), NULL);
    sim_world_free(world);
    return outcome;
}

static struct trace *record(rank_body *body, int ranks, enum record_level level)
{
    struct failure failure = {0};
    struct run run = {.recording = recording_new((uint32_t)ranks, level, &failure), .body = body};
    if (!run.recording) {
        tap_note("%s", failure.text);
        return NULL;
    }
    struct recording_result result = {.program = "test", .model = "eager"};
    result.outcome = run_world(&run, ranks);
    struct trace *trace = recording_load(run.recording, &result, &failure);
    recording_free(run.recording);
    if (!trace || !trace_check(trace, &failure))
        tap_note("%s", failure.text);
    return trace;
}

/* The n-th operation of this kind on a rank; a static "none" if there is none, so that tests fail
 * instead of crash. */
static const struct trace_op *nth(const struct trace *trace, uint32_t rank, enum op_kind kind,
                                  int n)
{
    static const struct trace_form form = {.comm = TRACE_NO,
                                           .site = TRACE_NO,
                                           .peer_matched = FORM_AS_POSTED,
                                           .tag_matched = FORM_AS_POSTED};
    static const struct trace_op none = {.form = &form,
                                         .state = STATE_COMPLETE,
                                         .peer = TRACE_NONE,
                                         .tag = TRACE_NONE,
                                         .request = TRACE_NO,
                                         .node = TRACE_NO,
                                         .match = TRACE_NO};
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++)
        if (trace->ops[i].kind == kind && n-- == 0)
            return &trace->ops[i];
    return &none;
}

static uint32_t index_of(const struct trace *trace, const struct trace_op *op)
{
    return op->kind ? (uint32_t)(op - trace->ops) : TRACE_NO;
}

static void talk(int rank)
{
    double x[4] = {1, 2, 3, 4}, y[8];
    if (rank == 0) {
        MPI_Send(x, 4, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
        MPI_Request request;
        MPI_Isend(x, 2, MPI_DOUBLE, 1, 9, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(y, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Request request;
        MPI_Irecv(y, 8, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, &request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
}

static void point_to_point(void)
{
    struct trace *trace = record(talk, 2, RECORD_LEVEL_OPS);
    const struct trace_op *send = nth(trace, 0, OP_SEND, 0), *receive = nth(trace, 1, OP_RECV, 0);
    tap_is_int(send->peer, 1, "a send keeps its destination");
    tap_is_int(send->count, 4, "a send keeps its count");
    tap_is_int(send->form->type, 0x214, "a send keeps its basic type");
    tap_is_int(receive->peer, TRACE_ANY, "a receive keeps the source it was posted with");
    tap_is_int(trace_op_peer_matched(receive), 0, "a receive keeps the source it matched");
    tap_is_int(trace_op_tag_matched(receive), 7, "a receive keeps the tag it matched");
    tap_is_int(trace_op_count_matched(receive), 4, "a receive keeps how much came");
    tap_is_int(receive->count, 8, "a receive keeps its room");
    tap_ok(receive->match == index_of(trace, send), "send and receive are matched");
    const struct trace_op *start = nth(trace, 0, OP_ISEND, 0), *wait = nth(trace, 0, OP_WAIT, 0);
    tap_ok(start->request == index_of(trace, wait) && wait->request == index_of(trace, start),
           "a start and its wait know each other");
    tap_is_int(start->state, STATE_COMPLETE, "a start is complete once it was waited for");
    const struct trace_op *late = nth(trace, 1, OP_IRECV, 0);
    tap_is_int(trace_op_count_matched(late), 2, "a started receive learns what came from the wait");
    tap_ok(late->request == index_of(trace, nth(trace, 1, OP_WAITALL, 0)),
           "a wait on several completes its requests");
    tap_is_int(trace->rank_info[0].messages_sent, 2, "messages are counted");
    tap_is_int(trace->rank_info[0].bytes_sent, 48, "bytes are counted");
    tap_is_int(trace->rank_info[0].state, RANK_FINISHED, "a rank that ended is finished");
    tap_ok(trace->rank_info[0].finalized, "finalize is noted");
    char text[512];
    trace_site_text(trace, send->form->site, text, sizeof text);
    tap_ok(strstr(text, "test_recorder.c:"), "a call site is a file and line: %s", text);
    tap_is_str(send->form->site < trace->site_count ? trace->sites[send->form->site].function : "",
               "talk", "a call site knows its function");
    trace_free(trace);
}

static void ring_deadlock(int rank)
{
    int x;
    MPI_Recv(&x, 1, MPI_INT, (rank + 1) % 3, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&x, 1, MPI_INT, (rank + 2) % 3, 5, MPI_COMM_WORLD);
}

static void blocked(void)
{
    struct trace *trace = record(ring_deadlock, 3, RECORD_LEVEL_OPS);
    tap_is_int(trace->outcome, OUTCOME_DEADLOCK, "a deadlock is the outcome");
    int stuck = 0;
    for (uint32_t rank = 0; rank < 3; rank++)
        stuck += nth(trace, rank, OP_RECV, 0)->state == STATE_BLOCKED &&
                 trace->rank_info[rank].state == RANK_BLOCKED;
    tap_is_int(stuck, 3, "the calls the ranks stand in are blocked");
    tap_is_int(nth(trace, 0, OP_SEND, 0)->kind, OP_NONE, "what was never reached is not there");
    trace_free(trace);
}

static void poll_for_ever(int rank)
{
    int flag = 0, x;
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(&x, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    } else {
        while (!flag)
            MPI_Iprobe(0, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

static void polling(void)
{
    struct trace *trace = record(poll_for_ever, 2, RECORD_LEVEL_OPS);
    tap_is_int(trace->outcome, OUTCOME_LIVELOCK, "polling for ever is a livelock");
    const struct trace_op *test = nth(trace, 0, OP_TEST, 0), *probe = nth(trace, 1, OP_IPROBE, 0);
    tap_is_int(test->state, STATE_BLOCKED, "a rank that polls stands in its poll");
    tap_ok(test->request == index_of(trace, nth(trace, 0, OP_IRECV, 0)),
           "the poll names what it waits for");
    tap_is_int(probe->tag, 4, "a polled probe keeps its tag");
    tap_is_int(nth(trace, 1, OP_IPROBE, 1)->kind, OP_NONE, "polls in vain are one operation");
    trace_free(trace);
}

static void gather_round(int rank)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm half, again;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &again);
    double x = rank, sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, again);
    MPI_Request request;
    MPI_Ibarrier(half, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast(&x, 1, MPI_DOUBLE, 0, half); /* its root is the highest rank of the half */
    int counts[4], places[4], mine[4] = {0}, all[16];
    for (int i = 0; i < size; i++) {
        counts[i] = i;
        places[i] = 4 * i;
    }
    MPI_Allgatherv(mine, rank, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Comm_free(&again);
    MPI_Comm_free(&half);
}

static void communicators(void)
{
    struct trace *trace = record(gather_round, 4, RECORD_LEVEL_OPS);
    tap_is_int(trace->comms[0].id, 1, "the world is communicator 1");
    tap_is_int(trace->comm_count, 5, "members agree on communicators without talking");
    const struct trace_op *sum = nth(trace, 3, OP_ALLREDUCE, 0);
    tap_ok(sum->form->comm == nth(trace, 1, OP_ALLREDUCE, 0)->form->comm,
           "members name the same communicator");
    tap_ok(sum->form->comm != nth(trace, 0, OP_ALLREDUCE, 0)->form->comm,
           "other colors are another one");
    const struct trace_comm *comm =
        &trace->comms[sum->form->comm < trace->comm_count ? sum->form->comm : 0];
    tap_ok(comm->size == 2 && comm->members && comm->members[0] == 3 && comm->members[1] == 1,
           "members stand in the order of the communicator");
    tap_is_int(sum->form->reduce_op, 0x21, "a reduction keeps its operation");
    tap_is_int(nth(trace, 1, OP_BCAST, 0)->peer, 3, "a root is a world rank");
    const struct trace_op *barrier = nth(trace, 2, OP_BARRIER, 0);
    tap_ok(barrier->flags & OP_NONBLOCKING, "a nonblocking collective says so");
    tap_ok(barrier->request == index_of(trace, nth(trace, 2, OP_WAIT, 0)), "and knows its wait");
    tap_is_int(nth(trace, 2, OP_BCAST, 0)->comm_seq, 2,
               "collectives are numbered per communicator");
    const struct trace_op *varying = nth(trace, 2, OP_ALLGATHERV, 0);
    const struct trace_counts *counts = trace_op_counts(trace, index_of(trace, varying));
    tap_is_int(varying->count, 6, "a v-form counts all ranks together");
    tap_ok(counts && counts->n == 4 && counts->receive && counts->receive[3] == 3,
           "a v-form keeps the count of every peer");
    trace_free(trace);
}

static void twice(int rank)
{
    MPI_Comm copies[2], inter, whole;
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    MPI_Barrier(copies[0]);
    int remote = 0, x = 0;
    MPI_Bcast(&x, 1, MPI_INT, 0, copies[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &whole);
    MPI_Intercomm_create(whole, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    MPI_Comm_remote_size(inter, &remote);
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, 1, 5, inter); /* world rank 3 */
    else if (rank == 3)
        MPI_Recv(&x, 1, MPI_INT, 0, 5, inter, MPI_STATUS_IGNORE);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&whole);
    MPI_Comm_free(&copies[0]);
    MPI_Comm_free(&copies[1]);
}

static void alike(void)
{
    struct trace *trace = record(twice, 4, RECORD_LEVEL_OPS);
    tap_ok(nth(trace, 0, OP_BARRIER, 0)->form->comm != nth(trace, 0, OP_BCAST, 0)->form->comm,
           "two duplicates of one communicator are two");
    tap_ok(nth(trace, 0, OP_BARRIER, 0)->form->comm == nth(trace, 3, OP_BARRIER, 0)->form->comm,
           "and the same on every rank");
    const struct trace_op *send = nth(trace, 0, OP_SEND, 0), *receive = nth(trace, 3, OP_RECV, 0);
    tap_is_int(send->peer, 3, "a rank of the other side of an intercommunicator is a world rank");
    tap_ok(send->kind && send->form->comm == receive->form->comm &&
               send->match == index_of(trace, receive),
           "both sides agree on an intercommunicator");
    trace_free(trace);
}

static void mixed(int rank)
{
    MPI_Datatype vector, record_type;
    MPI_Type_vector(3, 2, 4, MPI_FLOAT, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                           (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &record_type);
    MPI_Type_commit(&record_type);
    char buffer[256] = {0};
    int other = 1 - rank;
    MPI_Sendrecv(buffer, 2, vector, other, 1, buffer + 128, 12, MPI_FLOAT, other, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(buffer, 1, record_type, other, 2, other, 2, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    MPI_Type_free(&vector);
    MPI_Type_free(&record_type);
}

static void datatypes(void)
{
    struct trace *trace = record(mixed, 2, RECORD_LEVEL_OPS);
    const struct trace_op *send = nth(trace, 0, OP_ISEND, 0), *receive = nth(trace, 1, OP_IRECV, 0);
    tap_is_int(send->form->type, 0x210, "a vector's basic type is that of its parts");
    tap_is_int(send->count, 12, "elements of a derived type are counted");
    tap_ok(send->form->signature == receive->form->signature && send->form->signature,
           "one element type gives one signature, in a vector or alone");
    tap_ok(send->flags & OP_COMPOUND && nth(trace, 0, OP_WAITALL, 0)->flags & OP_COMPOUND,
           "a Sendrecv is three operations of one compound");
    tap_is_int(trace_op_count_matched(receive), 12, "its receive knows what came");
    char text[80];
    tap_is_str(trace_op_text(trace, (uint32_t)(nth(trace, 0, OP_WAITALL, 0) - trace->ops), text,
                             sizeof text),
               "Sendrecv to 1 tag 1 from 1 tag 1", "and it is told as the call it was");
    tap_is_str(trace_op_text(trace, (uint32_t)(receive - trace->ops), text, sizeof text),
               "Sendrecv from 0 tag 1", "as are its parts");
    const struct trace_op *pair = nth(trace, 0, OP_ISEND, 1);
    tap_is_int(pair->form->type, 0, "a struct of different types has no basic type");
    tap_is_int(pair->count, 12, "it is counted in bytes");
    tap_ok(pair->form->signature != send->form->signature, "its signature is its own");
    trace_free(trace);
}

static void persistent_and_any(int rank)
{
    int x[3] = {0};
    MPI_Request requests[3];
    if (rank == 0) {
        MPI_Send_init(x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&requests[0]);
        MPI_Isend(x, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]);
        x[0] = 1; /* while it is under way */
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else {
        int index;
        for (int i = 0; i < 2; i++)
            MPI_Recv(x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(&x[0], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&x[1], 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

static void requests(void)
{
    struct trace *trace = record(persistent_and_any, 2, RECORD_LEVEL_OPS);
    const struct trace_op *first = nth(trace, 0, OP_ISEND, 0), *second = nth(trace, 0, OP_ISEND, 1);
    tap_ok(first->flags & OP_PERSISTENT && second->flags & OP_PERSISTENT,
           "each start of a persistent request is an operation");
    tap_ok(first->state == STATE_COMPLETE && second->request > first->request,
           "each is completed by its own wait");
    tap_is_int(second->match, index_of(trace, nth(trace, 1, OP_RECV, 1)), "and matched in order");
    tap_ok(nth(trace, 0, OP_ISEND, 2)->flags & OP_BUFFER_CHANGED,
           "a send buffer changed while pending is noticed");
    tap_ok(!(first->flags & OP_BUFFER_CHANGED), "one that was left alone is not");
    const struct trace_op *any = nth(trace, 1, OP_WAITANY, 0);
    uint32_t starts[2];
    tap_is_int(trace_op_requests(trace, index_of(trace, any), starts, 2), 2,
               "a Waitany keeps all its requests");
    tap_is_int(nth(trace, 1, OP_IRECV, 1)->request, index_of(trace, any),
               "the one it completed knows it");
    tap_is_int(nth(trace, 1, OP_IRECV, 0)->state, STATE_CANCELLED, "a cancelled receive says so");
    trace_free(trace);
}

static void matched_probes(int rank)
{
    int x = 0;
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Send(&x, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
        return;
    }
    MPI_Message message;
    MPI_Mprobe(0, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Recv(&x, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mrecv(&x, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

static void probes(void)
{
    struct trace *trace = record(matched_probes, 2, RECORD_LEVEL_OPS);
    tap_is_int(nth(trace, 1, OP_MRECV, 0)->match, index_of(trace, nth(trace, 0, OP_SEND, 0)),
               "a matched receive is matched where its probe stood");
    tap_is_int(nth(trace, 1, OP_RECV, 0)->match, index_of(trace, nth(trace, 0, OP_SEND, 1)),
               "the receive between gets the next message");
    trace_free(trace);
}

static void dag(int rank)
{
    uint32_t forward = record_node("send", OP_ISEND, 0, 0, NULL),
             wait = record_node("wait", OP_WAIT, 0, 0, NULL);
    record_edge(forward, wait, EDGE_DATA);
    double x = 1;
    MPI_Request request;
    MPI_Comm adjoint;
    MPI_Comm_dup(MPI_COMM_WORLD, &adjoint);
    record_adjoint_comm(adjoint, MPI_COMM_WORLD);
    record_node_enter(forward);
    record_identity("x");
    if (rank == 0)
        MPI_Isend(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
    record_node_leave(forward);
    record_node_enter(wait);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    record_node_leave(wait);
    uint32_t pass = record_pass_begin(PASS_DATA);
    uint32_t back = record_node("wait*", OP_ISEND, pass, wait, NULL);
    record_node("never*", OP_ISEND, pass, forward, NULL);
    record_node_enter(back);
    if (rank == 1)
        MPI_Send(&x, 1, MPI_DOUBLE, 0, 0, adjoint);
    else
        MPI_Recv(&x, 1, MPI_DOUBLE, 1, 0, adjoint, MPI_STATUS_IGNORE);
    record_node_leave(back);
    record_pass_end(pass);
    record_objective(rank + 0.5);
    record_metric("loss", rank, "unit");
    for (int step = 0; step < 3; step++)
        SIM_Metric("norm", step, 1.0 / (1 + step));
    record_note("G005", "cotangents differ on rank %d", rank);
    record_gradient_check(
        &(struct trace_gradient){.index = 3, .method = "central", .analytic = NAN, .ok = false},
        "x");
    MPI_Comm_free(&adjoint);
}

static void nodes(void)
{
    struct trace *trace = record(dag, 2, RECORD_LEVEL_OPS);
    tap_is_int(trace->node_count, 8, "nodes of all ranks are there");
    const struct trace_op *send = nth(trace, 0, OP_ISEND, 0), *receive = nth(trace, 0, OP_RECV, 0);
    tap_ok(send->node < trace->node_count && trace->nodes[send->node].id == 1,
           "an operation belongs to the node it was issued in");
    tap_ok(trace_op_adjoint_of(trace, receive) == index_of(trace, send),
           "an adjoint receive mirrors the send whose wait it is the adjoint of");
    tap_ok(receive->flags & OP_ADJOINT && !(send->flags & OP_ADJOINT),
           "adjoint operations are marked, forward ones are not");
    tap_is_int(receive->form->pass, 1, "operations know their pass");
    tap_is_int(trace->passes[1].mode, PASS_DATA, "a pass keeps its mode");
    tap_ok(trace->passes[1].complete, "a pass that ended is complete");
    tap_ok(receive->form->comm < trace->comm_count &&
               trace->comms[receive->form->comm].adjoint_of == 0,
           "an adjoint communicator knows its original");
    tap_ok(send->form->identity != 0 &&
               nth(trace, 1, OP_IRECV, 0)->form->identity == send->form->identity &&
               receive->form->identity == 0,
           "an identity belongs to one operation");
    char text[80];
    tap_is_str(trace_op_text(trace, (uint32_t)(send - trace->ops), text, sizeof text),
               "Isend to 1 tag 0 (\"x\")", "and keeps its name");
    tap_is_int(trace->nodes[3].state, STATE_NEVER, "a node never entered says so");
    tap_is_str(trace_string(trace, trace->nodes[2].name), "wait*", "a node keeps its name");
    tap_is_double(trace->objective, 2.0, 0, "objectives are summed over ranks");
    tap_is_str(trace->note_count ? trace->notes[0].text : "", "cotangents differ on rank 0",
               "a note is kept");
    size_t steps = 0;
    for (size_t i = 0; i < trace->metric_count; i++) {
        const struct trace_metric *metric = &trace->metrics[i];
        steps += !strcmp(trace_string(trace, metric->name), "norm") &&
                 metric->value == 1 / (1 + metric->step) && metric->step == (double)(steps % 3);
    }
    tap_is_int((long)steps, 6, "what a program measured is kept with its step");
    tap_ok(trace->gradient_count == 2 && isnan(trace->gradients[0].analytic) &&
               !trace->gradients[1].ok,
           "a gradient that is not a number is kept as it is");
    trace_free(trace);
}

static void errors_return(int rank)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int x = 0;
    MPI_Send(&x, 1, MPI_INT, 17, 1, MPI_COMM_WORLD);
    (void)rank;
}

static void failures(void)
{
    struct trace *trace = record(errors_return, 2, RECORD_LEVEL_OPS);
    const struct trace_op *send = nth(trace, 0, OP_SEND, 0);
    tap_is_int(send->state, STATE_FAILED, "a call that returned an error failed");
    tap_is_int(send->form->error, MPI_ERR_RANK, "its class is kept");
    trace_free(trace);
}

static void fatal(int rank)
{
    int x = 0;
    SIM_Batch_begin();
    MPI_Request request;
    MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    SIM_Batch_end();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(&x, -1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void fatal_errors(void)
{
    struct trace *trace = record(fatal, 2, RECORD_LEVEL_OPS);
    const struct trace_op *send = nth(trace, 0, OP_SEND, 0);
    tap_is_int(trace->outcome, OUTCOME_ABORTED, "an error with the default handler ends the world");
    tap_ok(send->state == STATE_FAILED && send->form->error == MPI_ERR_COUNT,
           "the call that found it failed with its class");
    tap_is_int(nth(trace, 1, OP_RECV, 0)->state, STATE_BLOCKED, "the other stands in its call");
    tap_ok(nth(trace, 0, OP_IRECV, 0)->form->batch == 1 && send->form->batch == 0,
           "operations know their batch");
    trace_free(trace);
}

static void many(int rank)
{
    for (int i = 0; i < 3000; i++) {
        if (rank == 0)
            MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        else
            MPI_Recv(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void killed(int rank)
{
    many(rank);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void survives(void)
{
    struct failure failure = {0};
    struct run run = {.recording = recording_new(2, RECORD_LEVEL_OPS, &failure), .body = killed};
    pid_t child = fork();
    if (child == 0) {
        run_world(&run, 2);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the child was killed");
    struct recording_result result = {.outcome = OUTCOME_CRASHED};
    struct trace *trace = recording_load(run.recording, &result, &failure);
    tap_ok(trace && trace_check(trace, &failure), "what it wrote is loaded: %s", failure.text);
    tap_is_int(nth(trace, 1, OP_RECV, 2999)->state, STATE_COMPLETE, "to the last operation");
    tap_is_int(nth(trace, 1, OP_RECV, 2999)->match, index_of(trace, nth(trace, 0, OP_SEND, 2999)),
               "and matched");
    trace_free(trace);
    recording_free(run.recording);
}

static void started(int rank)
{
    int value = 0;
    MPI_Request request;
    for (int i = 0; i < 3000; i++) {
        MPI_Irecv(&value, 1, MPI_INT, 1 - rank, i * 7919 % 1000, MPI_COMM_WORLD, &request);
        MPI_Send(&rank, 1, MPI_INT, 1 - rank, i * 7919 % 1000, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static bool over_soon(void *context)
{
    return --*(int *)context < 0;
}

/* Where loading ends early, rows name no others that are not there. */
static void cut_off(void)
{
    struct failure failure = {0};
    struct run run = {.recording = recording_new(2, RECORD_LEVEL_OPS, &failure), .body = started};
    struct recording_result result = {.outcome = run_world(&run, 2)};
    for (size_t most = 1000; most < 1003; most++) { /* a start, and not the wait that it names */
        result.ops_max = 2 * most;
        struct trace *trace = recording_load(run.recording, &result, &failure);
        tap_ok(trace && trace_check(trace, &failure), "the first %zu operations are whole: %s",
               most, failure.text);
        tap_ok(trace && trace->op_count == 2 * most, "of each rank");
        trace_free(trace);
    }
    int asked = 2;
    result = (struct recording_result){.over = over_soon, .over_context = &asked};
    struct trace *part = recording_load(run.recording, &result, &failure);
    tap_ok(part && trace_check(part, &failure), "so are those until time is over: %s",
           failure.text);
    tap_ok(part && part->op_count > 0 && part->op_count < 9000, "which are not all");
    tap_ok(part && part->rank_info[1].state == RANK_FINISHED, "every rank has its end");
    trace_free(part);
    recording_free(run.recording);
}

static void levels(void)
{
    struct trace *timed = record(many, 2, RECORD_LEVEL_EVENTS),
                 *plain = record(many, 2, RECORD_LEVEL_OPS);
    struct trace *none = record(many, 2, RECORD_LEVEL_NONE);
    struct trace_times times = trace_op_times(timed, nth(timed, 0, OP_SEND, 9));
    tap_ok(times.end_ns >= times.begin_ns && times.begin_ns > 0, "events know the wall time");
    tap_is_int(trace_op_times(plain, nth(plain, 0, OP_SEND, 9)).begin_ns, 0, "operations do not");
    tap_is_int(none->op_count, 0, "nothing is recorded at level none");
    tap_ok(trace_hash(timed) == trace_hash(plain), "the same run has the same hash at both levels");
    trace_free(timed);
    trace_free(plain);
    trace_free(none);
}

int main(void)
{
    point_to_point();
    blocked();
    polling();
    communicators();
    alike();
    datatypes();
    requests();
    probes();
    nodes();
    failures();
    fatal_errors();
    survives();
    cut_off();
    levels();
    return tap_done();
}
