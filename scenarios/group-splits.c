/* about: an all-to-all of a process group with splits that every rank chooses for itself
 * ranks: 2,3
 * arguments: guessed
 * expect: eager=M005 rendezvous=M005 batch=M005
 * variant: uneven; arguments: uneven; expect: eager=M009 rendezvous=M009 batch=M009
 * variant: exchanged; arguments: exchanged; expect: eager=OK rendezvous=OK batch=OK
 * variant: channel; arguments: exchanged channel; expect: eager=OK rendezvous=OK batch=OK
 *
 * Rank a sends b a + 2 b + 1 values. That b expects as many as it sends itself is wrong; so are equal splits of a number that
 * is no multiple of the ranks. The sizes must travel first. */
#include <data_channel.h>
#include <diff.h>
#include <mpi.h>
#include <process_group.h>
#include <words.h>

enum { RANKS_MAX = 4, ROOM = 64 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *how = word_of(argc, argv, 1, "form", "exchanged", "exchanged guessed uneven");
    bool plain = switch_of(argc, argv, 2, "way", "group", "channel");
    words_end(argc, argv, 2);
    int rank, size;
    size_t out[RANKS_MAX], in[RANKS_MAX] = {0}, total = 0;
    double values[ROOM], weights[ROOM];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    for (int i = 0; i < size; i++)
        total += out[i] = (size_t)(rank + 2 * i + 1);
    for (int i = 0; i < ROOM; i++) {
        values[i] = 0.1 * i + rank;
        weights[i] = 1.0 / (1 + i + rank);
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world =
        plain ? process_group_plain(tape, channel) : process_group_world(tape, channel);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, &total, values), *y;
    if (!strcmp(how, "guessed"))
        y = process_group_all_to_all(world, x, out, out);
    else if (!strcmp(how, "uneven"))
        y = process_group_all_to_all(world, diff_slice(x, 0, 2 * (size_t)size + 1), NULL, NULL);
    else
        y = process_group_all_to_all_sized(world, x, out, in);
    size_t count = diff_count(y);
    diff_backward(diff_dot(y, diff_constant(tape, DIFF_DOUBLE, 1, &count, weights)));
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
