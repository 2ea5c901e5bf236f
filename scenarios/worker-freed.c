/* about: the id of a remote tensor is used after it was freed
 * ranks: 3,2
 * arguments: ends
 * expect: eager=M009 rendezvous=M009 batch=M009
 * variant: told; arguments: told; expect: eager=OK rendezvous=OK batch=OK
 *
 * The worker finds it out, and the master hears of it where it next speaks to that worker or waits for it: the error ends
 * the run there, or is told to a program that has asked for that. */
#include <diff.h>
#include <master_worker.h>
#include <mpi.h>
#include <words.h>

static int drive(struct master *master, int told)
{
    int worker = master_first_worker(master);
    struct remote x = master_constant(master, worker, 2, (double[]){1, 2});
    struct remote y = master_apply(master, REMOTE_TANH, x);
    if (told)
        master_tells(master);
    master_free(master, x);
    struct remote z = master_apply_two(master, REMOTE_ADD, x, y);
    int lost = master_copy_from(master, z) == NULL;
    return !(lost && !strcmp(master_error(master), "worker 1: add: there is no tensor 1: it was freed, or never made"));
}

int main(int argc, char **argv)
{
    int wrong = 0;
    MPI_Init(&argc, &argv);
    bool told = switch_alone(argc, argv, "error", "ends", "told");
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct master *master = master_start(world, 1, NULL, 0);
    if (master) {
        wrong = drive(master, told);
        master_stop(master);
    }
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
