/* about: a worker dies of a command while the master waits for its values
 * ranks: 3,2
 * arguments: dies
 * expect: eager=X001 rendezvous=X001 batch=X001
 * variant: lives; arguments: lives; expect: eager=OK rendezvous=OK batch=OK
 *
 * The crash is what is reported, with its place; that the master waits for the dead is a consequence. */
#include <diff.h>
#include <master_worker.h>
#include <mpi.h>
#include <signal.h>
#include <words.h>

static struct diff_tensor *harm(struct diff_tape *tape, size_t count, struct diff_tensor *const *arguments)
{
    (void)tape, (void)count;
    if (diff_scalar(arguments[0]) < 0)
        raise(SIGSEGV);
    return arguments[0];
}

static const struct master_function functions[] = {{"harm", harm, NULL}};

int main(int argc, char **argv)
{
    double value = switch_alone(argc, argv, "end", "lives", "dies") ? -1 : 1;
    MPI_Init(&argc, &argv);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, 1, functions, 1);
    if (master) {
        int worker = master_first_worker(master) + master_workers(master) - 1;
        struct remote x = master_constant(master, worker, 1, &value);
        x = master_call(master, worker, "harm", 1, &x);
        master_copy_from(master, x);
        master_stop(master);
    }
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
