/* about: objects whose size only their owners know go to everybody
 * ranks: 2,3
 * arguments: guessed
 * expect: eager=M005 rendezvous=M005 batch=M005
 * variant: slot; arguments: slot; expect: eager=M005 rendezvous=M005 batch=M005
 * variant: two-phase; arguments: two-phase; expect: eager=OK rendezvous=OK batch=OK
 *
 * Who takes its own object's size for that of the root's, or a slot for large enough, receives another number of bytes than
 * is sent. In two phases the size goes first. */
#include <data_channel.h>
#include <diff.h>
#include <mpi.h>
#include <process_group.h>
#include <stdlib.h>
#include <words.h>

enum { SLOT = 16, ROOM = 64 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, wrong = 0;
    const char *how = word_alone(argc, argv, "form", "two-phase", "two-phase guessed slot");
    char text[ROOM] = "short";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        strcpy(text, "an object that is longer than the slot");
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct process_group *world = process_group_world(tape, channel);
    struct process_object mine = {text, strlen(text) + 1};
    if (!strcmp(how, "guessed")) {
        wrong = !data_group_broadcast(data_channel_world(channel), text, mine.size, DATA_BYTE, 0);
    } else if (!strcmp(how, "slot")) {
        size_t size = rank == 0 ? mine.size : SLOT;
        wrong = !data_group_broadcast(data_channel_world(channel), text, size, DATA_BYTE, 0);
    } else {
        struct process_object got = process_group_broadcast_object(world, mine, 0);
        wrong = strcmp(got.bytes, "an object that is longer than the slot") != 0;
        if (rank > 0)
            free(got.bytes);
    }
    process_group_free(world);
    data_channel_free(channel);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
