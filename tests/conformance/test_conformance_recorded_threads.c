/* The recorder when several threads of every rank call MPI at the same time: each thread's
 * operations are there in its own order, complete and matched, and the checker finds nothing wrong
 * with their interleaving. Part of what runs under ThreadSanitizer. */
#include "tests/tap.h"

#include "checker/check.h"
#include "recorder/recording.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/world.h"

#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

enum { RANKS = 3, THREADS = 4, ROUNDS = 60, MANY = 100 };

struct worker {
    int rank, number;
    MPI_Comm comm;
    pthread_t thread;
};

static int tag_of(int number, int round)
{
    return number * 10000 + round;
}

/* A type and a communicator handle of its own each time: what the recorder keeps comes and goes
 * while the other threads use what they have. */
static void send_derived(const struct worker *worker, int to, int from)
{
    MPI_Datatype pairs;
    int out[4] = {1, 2, 3, 4}, in[4];
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Sendrecv(out, 1, pairs, to, 1, in, 2, MPI_INT, from, 1, worker->comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&pairs);
}

static void talk(const struct worker *worker)
{
    int to = (worker->rank + 1) % RANKS, from = (worker->rank + RANKS - 1) % RANKS, got = 0;
    MPI_Request requests[2];
    for (int i = 0; i < ROUNDS; i++) {
        int tag = tag_of(worker->number, i);
        MPI_Irecv(&got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&i, 1, MPI_INT, to, tag, MPI_COMM_WORLD, &requests[1]);
        if (i % 3 == 0) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
            int done = 0;
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            while (!done)
                MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
        }
        if (i % 4 == 0)
            send_derived(worker, to, from);
        MPI_Allreduce(&i, &got, 1, MPI_INT, MPI_MAX, worker->comm);
        MPI_Comm copy;
        if (i % 16 == 0) {
            MPI_Comm_dup(worker->comm, &copy);
            MPI_Barrier(copy);
            MPI_Comm_free(&copy);
        }
    }
}

/* More requests at a time than fit on the stack of a wait. */
static void burst(const struct worker *worker)
{
    int to = (worker->rank + 1) % RANKS, from = (worker->rank + RANKS - 1) % RANKS;
    int out[MANY] = {0}, in[MANY];
    MPI_Request requests[2 * MANY];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            int tag = tag_of(worker->number, i);
            MPI_Irecv(&in[i], 1, MPI_INT, from, tag, MPI_COMM_WORLD, &requests[i]);
            MPI_Isend(&out[i], 1, MPI_INT, to, tag, MPI_COMM_WORLD, &requests[MANY + i]);
        }
        MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    }
}

static struct recording *recording;
static struct sim_world *world;
static void (*work)(const struct worker *);

/* A thread that speaks for its rank, as the machine makes those that programs start. */
static void *as_rank(void *context)
{
    const struct worker *worker = context;
    sim_world_impersonate(world, worker->rank);
    work(worker);
    sim_threads_changed(sim_current_rank, -1, 0);
    sim_world_impersonate(world, -1);
    return NULL;
}

static int body(void *context, int rank)
{
    (void)context;
    int provided;
    struct worker workers[THREADS];
    recording_rank_begin(recording);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.rank = rank, .number = i};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    sim_threads_changed(sim_current_rank, THREADS - 1, 0);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, as_rank, &workers[i]);
    work(&workers[0]);
    for (int i = 1; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&workers[i].comm);
    MPI_Finalize();
    return 0;
}

static struct trace *record(void (*what)(const struct worker *), enum record_level level)
{
    struct failure failure = {0};
    struct sim_world_options options;
    work = what;
    recording = recording_new(RANKS, level, &failure);
    sim_world_options_init(&options);
    options.ranks = RANKS;
    options.executor = SIM_THREADS;
    world = sim_world_new(&options, &failure);
    struct recording_result result = {.outcome = sim_world_run(world, body, NULL),
                                      .program = "threads"};
    for (int i = 0; i < RANKS; i++)
        recording_rank_end(recording, (uint32_t)i, sim_world_rank_state(world, i), 0, NULL);
    sim_world_free(world);
    struct trace *trace = recording_load(recording, &result, &failure);
    recording_free(recording);
    tap_ok(trace && trace->outcome == OUTCOME_FINISHED && trace_check(trace, &failure),
           "what many threads did is a trace: %s", failure.text);
    return trace;
}

/* Tags tell who sent and in which order; a thread's number in the trace is as it came. */
static void judge_starts(const struct trace *trace, int per_thread)
{
    int wrong = 0, starts = 0;
    int next[RANKS][THREADS][2] = {0}, names[RANKS][THREADS];
    memset(names, 0xff, sizeof names);
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        bool send = op->kind == OP_ISEND;
        if ((!send && op->kind != OP_IRECV) || op->flags & OP_COMPOUND ||
            op->form->thread >= THREADS)
            continue;
        int *name = &names[op->rank][op->form->thread], *at = next[op->rank][op->form->thread];
        if (*name < 0)
            *name = op->tag / 10000;
        const struct trace_op *end = op->request < trace->op_count ? &trace->ops[op->request] : op;
        bool right = op->tag == tag_of(*name, at[send] % (per_thread < MANY ? ROUNDS : MANY)) &&
                     op->state == STATE_COMPLETE && end != op && end->rank == op->rank &&
                     end->form->thread == op->form->thread && end > op &&
                     op->match < trace->op_count && trace->ops[op->match].tag == op->tag;
        at[send]++;
        wrong += !right;
        starts++;
    }
    tap_is_int(starts, 2 * RANKS * THREADS * per_thread, "no operation of any thread is lost");
    tap_is_int(wrong, 0, "each is its thread's next, complete, matched, and ended by its thread");
}

static void judge_collectives(const struct trace *trace)
{
    int wrong = 0, found = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->kind != OP_ALLREDUCE)
            continue;
        found++;
        wrong += op->form->comm >= trace->comm_count ||
                 trace->comms[op->form->comm].size != RANKS || op->state != STATE_COMPLETE;
    }
    tap_is_int(found, RANKS * THREADS * ROUNDS, "every collective is there");
    tap_is_int(wrong, 0, "on a communicator that is known");
}

static void judge_verdict(const struct trace *trace)
{
    struct check_options options;
    struct findings findings;
    findings_init(&findings);
    check_options_init(&options);
    check_trace(trace, &options, &findings);
    for (size_t i = 0; i < findings.count; i++)
        tap_note("%s %s: %s", findings.items[i].code, findings.items[i].title,
                 findings.items[i].detail);
    tap_is_int(findings.count, 0, "threads side by side are no fault under any progress model");
    findings_release(&findings);
}

int main(void)
{
    const enum record_level levels[] = {RECORD_LEVEL_OPS, RECORD_LEVEL_EVENTS};
    for (int i = 0; i < 2; i++) {
        struct trace *trace = record(talk, levels[i]);
        judge_starts(trace, ROUNDS);
        judge_collectives(trace);
        judge_verdict(trace);
        trace_free(trace);
    }
    struct trace *trace = record(burst, RECORD_LEVEL_OPS);
    judge_starts(trace, 3 * MANY);
    trace_free(trace);
    return tap_done();
}
