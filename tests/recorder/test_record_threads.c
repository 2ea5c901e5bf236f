/* Threads of a rank have numbers in its trace, in the order in which they come; those beyond the last number share it. One thread
 * after the other calls MPI, all of them live until the end, and their calls say who they are. Some fail in a call, and the
 * error's handler calls MPI in its middle, more than once. */
#include "recorder/recording.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/world.h"
#include "tests/tap.h"

#include <mpi.h>
#include <pthread.h>

enum { NUMBERS = 64, MOST = 80, CALLS = 3, DEEP = 3, FAILS = 1000 };

static struct recording *recording;
static struct sim_world *world;
static int threads, turn, over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static _Thread_local int number, depth;

static void tell(int tag)
{
    int value = 0, got;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request);
    MPI_Recv(&got, 1, MPI_INT, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void handle(MPI_Comm *comm, int *class, ...)
{
    (void)comm, (void)class;
    tell(FAILS + number);
    if (++depth < DEEP)
        MPI_Send(NULL, 0, MPI_INT, 7, 1, MPI_COMM_SELF);
}

static void call(void)
{
    for (int i = 0; i < CALLS; i++)
        tell(number);
    depth = 0;
    if (number % 5 == 1)
        MPI_Send(NULL, 0, MPI_INT, 7, 1, MPI_COMM_SELF); /* there is no such rank */
    tell(number);
}

static void await(const int *what, int value)
{
    while (*what != value)
        pthread_cond_wait(&moved, &mutex);
}

static void *as_rank(void *context)
{
    number = *(int *)context;
    sim_world_impersonate(world, 0);
    pthread_mutex_lock(&mutex);
    await(&turn, number);
    pthread_mutex_unlock(&mutex);
    call();
    pthread_mutex_lock(&mutex);
    turn++;
    pthread_cond_broadcast(&moved);
    await(&over, 1);
    pthread_mutex_unlock(&mutex);
    sim_threads_changed(sim_current_rank, -1, 0);
    sim_world_impersonate(world, -1);
    return NULL;
}

static int body(void *context, int rank)
{
    pthread_t ids[MOST];
    int provided, numbers[MOST];
    MPI_Errhandler handler;
    (void)context, (void)rank;
    recording_rank_begin(recording);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    sim_threads_changed(sim_current_rank, threads - 1, 0);
    number = turn = over = 0;
    for (int i = 1; i < threads; i++) {
        numbers[i] = i;
        pthread_create(&ids[i], NULL, as_rank, &numbers[i]);
    }
    call();
    pthread_mutex_lock(&mutex);
    turn = 1;
    pthread_cond_broadcast(&moved);
    await(&turn, threads);
    over = 1;
    pthread_cond_broadcast(&moved);
    pthread_mutex_unlock(&mutex);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    tell(0);
    MPI_Finalize();
    return 0;
}

static void test(int count)
{
    struct failure failure = {0};
    struct sim_world_options options;
    threads = count;
    recording = recording_new(1, RECORD_LEVEL_OPS, &failure);
    sim_world_options_init(&options);
    options.ranks = 1;
    options.executor = SIM_THREADS;
    world = sim_world_new(&options, &failure);
    struct recording_result result = {.outcome = sim_world_run(world, body, NULL),
                                      .program = "threads"};
    recording_rank_end(recording, 0, sim_world_rank_state(world, 0), 0, NULL);
    sim_world_free(world);
    struct trace *trace = recording_load(recording, &result, &failure);
    recording_free(recording);
    int wrong = 0, calls = 0, within = 0;
    for (size_t i = 0; trace && i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        int who = op->tag % FAILS;
        if (op->kind != OP_RECV)
            continue;
        calls += op->tag < FAILS;
        within += op->tag >= FAILS;
        wrong += (int)op->form->thread != (who < NUMBERS ? who : NUMBERS - 1) ||
                 op->state != STATE_COMPLETE;
    }
    tap_ok(trace && trace->outcome == OUTCOME_FINISHED && trace_check(trace, &failure),
           "%d threads leave a trace: %s", count, failure.text);
    tap_is_int(calls, count * (CALLS + 1) + 1, "... with all their calls");
    tap_is_int(within, (count + 3) / 5 * DEEP, "... and those of handlers");
    tap_is_int(wrong, 0, "... and each is its thread's");
    trace_free(trace);
}

int main(void)
{
    static const int counts[] = {1, 2, 3, NUMBERS - 1, NUMBERS, NUMBERS + 1, MOST};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        test(counts[i]);
    return tap_done();
}
