/* about: an all-reduce over a process group of every second rank, in reverse order, under a weighted loss
 * ranks: 4,5,2
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: channel; arguments: channel; expect: eager=OK rendezvous=OK batch=OK
 *
 * Ranks that are not in the group call its making too and get NULL. The channel variant takes the operations that
 * process groups use where there is no MPI. */
#include <data_channel.h>
#include <diff.h>
#include <mpi.h>
#include <process_group.h>
#include <words.h>

enum { RANKS_MAX = 16 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bool plain = switch_alone(argc, argv, "way", "group", "channel");
    int rank, size, count = 0, ranks[RANKS_MAX];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    for (int r = (size - 1) / 2 * 2; r >= 0; r -= 2)
        ranks[count++] = r;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world =
        plain ? process_group_plain(tape, channel) : process_group_world(tape, channel);
    struct process_group *even = process_group_new(world, count, ranks);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *y = even ? process_group_all_reduce(even, x, PROCESS_SUM) : x;
    diff_backward(diff_dot(y, w));

    double expected = even ? 0 : weights[0];
    for (int i = 0; even && i < count; i++)
        expected += 1.0 + ranks[i];
    int wrong = ((const double *)diff_gradient(x))[0] != expected;
    process_group_free(even);
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
