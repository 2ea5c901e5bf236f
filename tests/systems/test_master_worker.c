/* Master and workers: errors find their way, loops forget, locks take turns, and all of it works
 * between processes too. The scenarios worker-*.c hold the rest. */
#include "tests/systems/tcp_world.h"
#include "tests/world_harness.h"

#include <diff.h>
#include <master_worker.h>
#include <math.h>
#include <process_group.h>

int worker_gradient_main(int argc, char **argv);
#define main worker_gradient_main
#include "scenarios/worker-gradient.c"
#undef main

/* Runs `drive` on the master of a session with these functions. */
static void with_session(struct data_channel *channel, int masters,
                         const struct master_function *table, size_t count,
                         void (*act)(struct diff_tape *tape, struct master *master))
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, masters, table, count);
    if (master) {
        act(tape, master);
        master_stop(master);
    }
    process_group_free(world);
    diff_tape_free(tape);
}

/* Called by a worker that should not. */
static struct diff_tensor *shout(struct diff_tape *tape, size_t count,
                                 struct diff_tensor *const *arguments)
{
    (void)tape, (void)count, (void)arguments;
    expect(false, "a worker that has failed goes on");
    return NULL;
}
static const struct master_function tested[] = {{"shout", shout, NULL}};

#define SESSION_BODY(name, masters)                                                                \
    static void name##_body(int rank, int size)                                                    \
    {                                                                                              \
        struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);                           \
        with_session(channel, masters, tested, 1, name);                                           \
        expect(rank >= 0 && size > 0, "a rank");                                                   \
        data_channel_free(channel);                                                                \
    }

/* ---- errors ---- */

static void expect_error(const struct master *master, const char *words)
{
    expect(strcmp(master_error(master), words) == 0, "wanted \"%s\", got \"%s\"", words,
           master_error(master));
}

static void different_counts(struct diff_tape *tape, struct master *master)
{
    struct remote two = master_constant(master, 1, 2, (double[]){1, 2});
    struct remote three = master_constant(master, 1, 3, (double[]){1, 2, 3});
    (void)tape;
    master_tells(master);
    master_apply_two(master, REMOTE_MUL, two, three);
    expect(!master_sync(master, 1), "the worker should have failed");
    expect_error(master, "worker 1: mul: tensors of 2 and 3 values");
    /* Nothing is done any more, and nothing hangs. */
    master_call(master, 1, "shout", 1, &two);
    expect(!master_copy_from(master, two), "values of a worker that has failed");
}
SESSION_BODY(different_counts, 1)

static void unknown_function(struct diff_tape *tape, struct master *master)
{
    (void)tape;
    master_tells(master);
    struct remote x = master_call(master, 1, "cubes", 0, NULL);
    master_apply(master, REMOTE_NEG, x);
    expect(!master_sync(master, 1), "the worker should have failed");
    expect_error(master, "worker 1: call of cubes: there is no function of this name in the table");
}
SESSION_BODY(unknown_function, 1)

/* The error of worker 1 travels to worker 2 with the copy, and is seen at the next command. */
static void error_at_next_command(struct diff_tape *tape, struct master *master)
{
    struct remote x = master_constant(master, 1, 1, (double[]){1});
    (void)tape;
    master_tells(master);
    master_free(master, x);
    struct remote moved = master_copy_between(master, x, 2);
    expect(!master_sync(master, 2), "worker 2 should have failed");
    expect_error(master, "worker 2: copy_between: worker 1: copy_from: there is no tensor 1: it "
                         "was freed, or never made");
    (void)moved;
}
SESSION_BODY(error_at_next_command, 1)

static void wrong_backward(struct diff_tape *tape, struct master *master)
{
    struct remote x = master_input(master, 1, "x", 2, (double[]){1, 2});
    double gradient[3];
    (void)tape;
    master_tells(master);
    master_backward(master, NULL, 1, &x);
    expect(!master_gradient(master, x, 2, gradient), "the worker should have failed");
    expect_error(master, "worker 1: backward: a loss of 2 values");
}
SESSION_BODY(wrong_backward, 1)

/* ---- loops ---- */

static void loop(struct diff_tape *tape, struct master *master)
{
    for (int i = 0; i < 3; i++) {
        expect(drive(tape, master) == 0, "pass %d is wrong", i);
        master_clear(master);
    }
}
static void loop_body(int rank, int size)
{
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    with_session(channel, 1, functions, 1, loop);
    expect(rank < size, "a rank");
    data_channel_free(channel);
}

static void cleared(struct diff_tape *tape, struct master *master)
{
    struct remote x = master_constant(master, 1, 1, (double[]){1});
    (void)tape;
    master_tells(master);
    expect(master_copy_from(master, x) != NULL, "%s", master_error(master));
    master_clear(master);
    expect(!master_copy_from(master, x), "a tensor that was cleared");
    expect_error(master, "worker 1: copy_from: there is no tensor 1: it was freed, or never made");
}
SESSION_BODY(cleared, 1)

/* ---- locks ---- */

static struct diff_tensor *append(struct diff_tape *tape, size_t count,
                                  struct diff_tensor *const *arguments)
{
    (void)tape, (void)count;
    return diff_add(diff_scale(arguments[0], 10), arguments[1]);
}
static const struct master_function appenders[] = {{"append", append, NULL}};

/* Two masters change one number in turn: the digits are the order. */
static void turns_body(int rank, int size)
{
    enum { MASTERS = 2, ROUNDS = 3 };
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, MASTERS, appenders, 1);
    for (int round = 0; master && round < ROUNDS; round++)
        for (int worker = MASTERS; worker < size; worker++) {
            master_lock(master, worker);
            /* What the other master made is known by its id, which goes round as a message. */
            struct remote number = {worker, 0};
            if (rank == 0 && round == 0)
                number = master_constant(master, worker, 1, (double[]){0});
            else
                MPI_Recv(&number.id, 1, MPI_UINT64_T, 1 - rank, worker, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            struct remote digit = master_constant(master, worker, 1, (double[]){1 + rank});
            number = master_call(master, worker, "append", 2, (struct remote[]){number, digit});
            struct diff_tensor *got = master_copy_from(master, number);
            if (rank == 1 && round == ROUNDS - 1)
                expect(diff_scalar(got) == 121212, "the digits are %g", diff_scalar(got));
            master_unlock(master, worker);
            if (rank == 0 || round < ROUNDS - 1)
                MPI_Send(&number.id, 1, MPI_UINT64_T, 1 - rank, worker, MPI_COMM_WORLD);
        }
    expect(master || rank >= MASTERS, "a master");
    if (master)
        master_stop(master);
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
}

/* ---- over TCP ---- */

struct over_tcp {
    struct data_channel *channel;
    struct tcp_report *report;
    const struct master_function *table;
    void (*act)(struct diff_tape *tape, struct master *master);
};

static struct tcp_report *tcp_told;

static void tcp_gradient(struct diff_tape *tape, struct master *master)
{
    if (drive(tape, master))
        snprintf(tcp_told->text, sizeof tcp_told->text, "a gradient is wrong");
}

static struct diff_tensor *die(struct diff_tape *tape, size_t count,
                               struct diff_tensor *const *arguments)
{
    (void)tape, (void)count, (void)arguments;
    tcp_say(&(struct tcp_report){.looked_at = 1});
    _exit(0);
}
static const struct master_function deaths[] = {{"squares_plus", die, NULL}};

static void tcp_death(struct diff_tape *tape, struct master *master)
{
    (void)tape;
    struct remote x = master_call(master, 1, "squares_plus", 0, NULL);
    master_copy_from(master, x);
    snprintf(tcp_told->text, sizeof tcp_told->text, "values of a dead worker");
}

static int tcp_rank_enter(void *context, int unused)
{
    const struct over_tcp *over = context;
    (void)unused;
    MPI_Init(NULL, NULL);
    with_session(over->channel, 1, over->table, 1, over->act);
    MPI_Finalize();
    return 0;
}

static enum trace_outcome tcp_run(struct over_tcp *over)
{
    struct sim_world_options options = world_options(1);
    struct failure failure = {0};
    struct sim_world *world = sim_world_new(&options, &failure);
    tcp_told = over->report;
    over->report->looked_at++;
    enum trace_outcome outcome =
        world ? sim_world_run(world, tcp_rank_enter, over) : OUTCOME_INTERRUPTED;
    sim_world_free(world);
    return outcome;
}

static void gradient_between_processes(struct data_channel *channel, struct tcp_report *report,
                                       void *context)
{
    struct over_tcp over = {channel, report, functions, tcp_gradient};
    (void)context;
    if (tcp_run(&over) != OUTCOME_FINISHED)
        snprintf(report->text, sizeof report->text, "%s", data_channel_error(channel));
}

/* Silent workers learn from the connection that the master is gone. */
static void death_between_processes(struct data_channel *channel, struct tcp_report *report,
                                    void *context)
{
    struct over_tcp over = {channel, report, deaths, tcp_death};
    bool is_master = data_group_rank(data_channel_world(channel)) == 0;
    (void)context;
    if (!freopen("/dev/null", "w", stderr) || tcp_run(&over) == OUTCOME_FINISHED)
        snprintf(report->text, sizeof report->text, "came to its end");
    else if (is_master && !strstr(data_channel_error(channel), "rank 1 closed the connection"))
        snprintf(report->text, sizeof report->text, "%.200s", data_channel_error(channel));
}

static void between_processes(const char *name, tcp_body *body)
{
    static const int sizes[] = {2, 3, 5};
    char text[400] = "right";
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!tcp_world(sizes[i], TCP_NET_MILLISECONDS, body, NULL, text, sizeof text))
            break;
    tap_is_str(text, "right", "%s", name);
}

int main(void)
{
    world_test_sizes("tensors that do not fit are an error of the worker, told by name",
                     different_counts_body, WORLD_ANY, WORLD_SIZES(2, 3));
    world_test_sizes("a function that is not in the table is named", unknown_function_body,
                     WORLD_ANY, WORLD_SIZES(2, 3));
    world_test_sizes("a copy from a worker that has failed tells its error",
                     error_at_next_command_body, WORLD_ANY, WORLD_SIZES(3, 5));
    world_test_sizes("a loss that is no scalar is refused", wrong_backward_body, WORLD_ANY,
                     WORLD_SIZES(2, 3));
    world_test_sizes("passes in a loop start from nothing", loop_body, WORLD_ANY,
                     WORLD_SIZES(2, 3, 5));
    world_test_sizes("what was cleared is gone from the workers too", cleared_body, WORLD_ANY,
                     WORLD_SIZES(2, 3));
    world_test_sizes("masters take turns with a worker's lock", turns_body, WORLD_ANY,
                     WORLD_SIZES(3));
    world_test_sizes("masters take turns with every worker's lock", turns_body, WORLD_BUFFERS,
                     WORLD_SIZES(4, 5));
    between_processes("gradients go through workers in other processes",
                      gradient_between_processes);
    between_processes("a worker that dies is named, not waited for", death_between_processes);
    return tap_done();
}
