/* about: two masters give one worker commands with values, with and without the worker's lock
 * ranks: 3
 * arguments: unlocked
 * expect: eager=R003 rendezvous=R003 batch=R003
 * variant: locked; arguments: locked; expect: eager=OK rendezvous=OK batch=OK
 *
 * Each master has the worker take a value into a sum in which the order shows. Without the lock the worker may obey either
 * first. The lock of a worker covers a command and its values, and whatever belongs together for the program; it goes round
 * among the masters, so that every run is the same. */
#include <diff.h>
#include <master_worker.h>
#include <mpi.h>
#include <words.h>

static double total; /* the worker's: total = 2 total + value, so the order shows */

static struct diff_tensor *shift_in(struct diff_tape *tape, size_t count, struct diff_tensor *const *arguments)
{
    (void)tape, (void)count;
    total = 2 * total + diff_scalar(arguments[0]);
    return NULL;
}

static const struct master_function functions[] = {{"shift_in", shift_in, NULL}};

int main(int argc, char **argv)
{
    enum { WORKER = 2 };
    int rank, wrong = 0, locked = switch_alone(argc, argv, "form", "unlocked", "locked");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, 2, functions, 1);
    if (master) {
        if (locked)
            master_lock(master, WORKER);
        struct remote value = master_constant(master, WORKER, 1, (double[]){1 + rank});
        master_call(master, WORKER, "shift_in", 1, &value);
        if (locked)
            master_unlock(master, WORKER);
        master_stop(master);
    } else {
        wrong = locked && total != 2 * 1 + 2;
    }
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
