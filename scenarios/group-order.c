/* about: ranks make the same two process groups in different orders
 * ranks: 3,4,18
 * arguments: crossed
 * expect: M009
 * variant: same; arguments: same; expect: OK
 *
 * Making a group is an operation of all ranks of its parent, also of those that will not be in it: the first of one rank
 * meets the first of the others, whatever list it names. */
#include <data_channel.h>
#include <diff.h>
#include <mpi.h>
#include <process_group.h>
#include <words.h>

int main(int argc, char **argv)
{
    static const int lists[2][2] = {{0, 1}, {1, 2}};
    MPI_Init(&argc, &argv);
    int rank, crossed = switch_alone(argc, argv, "order", "same", "crossed");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel), *groups[2];
    int first = crossed && rank == 2;
    groups[first] = process_group_new(world, 2, lists[first]);
    groups[!first] = process_group_new(world, 2, lists[!first]);
    double value = 1 + rank;
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    for (int i = 0; i < 2; i++)
        if (groups[i])
            x = process_group_all_reduce(groups[i], x, PROCESS_SUM);
    diff_backward(diff_sum(x));
    process_group_free(groups[0]);
    process_group_free(groups[1]);
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
