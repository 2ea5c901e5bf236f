// ranks: 3..4
// early: B003
// nowait: B005
// reuse: B001
// both: B003
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static char inbox[2][64], outbox[64];
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Win win;
    MPI_Group world, before, after;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &left, &before);
    MPI_Group_incl(world, 1, &right, &after);
    MPI_Win_create(inbox, sizeof inbox, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int turn = 0; turn < 4; turn++) {
        snprintf(outbox, sizeof outbox, "from %d in turn %d", rank, turn);
        MPI_Win_post(before, 0, win); // @nowait
        MPI_Win_start(after, 0, win);
        MPI_Put(outbox, (int)strlen(outbox) + 1, MPI_CHAR, right, 64 * (turn & 1), (int)strlen(outbox) + 1, MPI_CHAR, win); // @reuse @early @both
        strcpy(outbox, "used again"); // +reuse @reuse
        if (turn) // +both
            printf("%s\n", inbox[turn & 1]); // +both @both
        MPI_Put(outbox, 8, MPI_CHAR, right, 64 * (turn & 1), 8, MPI_CHAR, win); // +both @both
        MPI_Win_complete(win);
        if (turn == 2) printf("%s\n", inbox[turn & 1]); // +early @early
        if (turn < 3) // +nowait
        MPI_Win_wait(win); // @nowait
        printf("%s\n", inbox[turn & 1]);
    }
    MPI_Group_free(&world), MPI_Group_free(&before), MPI_Group_free(&after);
    MPI_Win_free(&win); // @nowait
    MPI_Finalize();
}
