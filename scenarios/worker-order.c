/* about: a worker obeys in the order of its commands; two workers obey in none
 * ranks: 2,3
 * arguments: fifo
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: across; arguments: across; ranks: 3,4; expect: eager=R003 rendezvous=R003 batch=R003
 *
 * A remote function tells the master its number, and the master takes what comes. Of one worker the numbers come in the
 * order of the commands, however they are carried. Of two workers either may be first. */
#include <diff.h>
#include <master_worker.h>
#include <mpi.h>
#include <words.h>

static struct diff_tensor *tell(struct diff_tape *tape, size_t count, struct diff_tensor *const *arguments)
{
    (void)tape, (void)count;
    MPI_Send(diff_values(arguments[0]), 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    return NULL;
}

static const struct master_function functions[] = {{"tell", tell, NULL}};

static int drive(struct master *master, int across)
{
    enum { CALLS = 4 };
    int first = master_first_worker(master), wrong = 0;
    for (int i = 0; i < CALLS; i++) {
        int worker = first + (across ? i % 2 : 0);
        struct remote number = master_constant(master, worker, 1, (double[]){i});
        master_call(master, worker, "tell", 1, &number);
    }
    for (int i = 0; i < CALLS; i++) {
        double got;
        MPI_Recv(&got, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong |= !across && got != i;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_Init(&argc, &argv);
    bool across = switch_alone(argc, argv, "order", "fifo", "across");
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, 1, functions, 1);
    if (master) {
        wrong = drive(master, across);
        master_stop(master);
    }
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
