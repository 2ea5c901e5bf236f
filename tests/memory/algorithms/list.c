// ranks: 2..3
// noflush: B003 B006 (any line)
// plain: B003
// detach: B003 B006
// A list grows across ranks in a dynamic window: who wins the swap of the tail hangs its node there.
#include <mpi.h>
#include <stdlib.h>
#include <stddef.h>
struct node { MPI_Aint next; int next_rank, value; };
struct where { int rank; MPI_Aint at; };
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    struct node *mine;
    MPI_Alloc_mem(sizeof *mine, MPI_INFO_NULL, &mine);
    mine->next = 0, mine->next_rank = -1, mine->value = 100 + rank;
    MPI_Win_attach(win, mine, sizeof *mine);
    MPI_Aint at, heads[8];
    MPI_Get_address(mine, &at);
    MPI_Allgather(&at, 1, MPI_AINT, heads, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (rank > 0) { /* the first rank's node is the head */
        struct where tail = {0, heads[0]};
        for (;;) {
            int none = -1, was;
            MPI_Compare_and_swap(&rank, &none, &was, MPI_INT, tail.rank, MPI_Aint_add(tail.at, offsetof(struct node, next_rank)), win); // @plain
            MPI_Win_flush(tail.rank, win);
            if (was == -1) {
                MPI_Accumulate(&at, 1, MPI_AINT, tail.rank, MPI_Aint_add(tail.at, offsetof(struct node, next)), 1, MPI_AINT, MPI_REPLACE, win); // -plain
                MPI_Put(&at, 1, MPI_AINT, tail.rank, MPI_Aint_add(tail.at, offsetof(struct node, next)), 1, MPI_AINT, win); // +plain @plain
                MPI_Win_flush(tail.rank, win); // -noflush
                break;
            }
            MPI_Aint next;
            do {
                MPI_Aint zero = 0;
                MPI_Fetch_and_op(&zero, &next, MPI_AINT, tail.rank, MPI_Aint_add(tail.at, offsetof(struct node, next)), MPI_NO_OP, win); // @plain
                MPI_Win_flush(tail.rank, win);
            } while (!next);
            tail.rank = was, tail.at = next;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD); // -noflush
    if (rank == 0) {
        MPI_Aint next = mine->next; // @noflush
        int where = mine->next_rank, sum = mine->value; // @noflush
        while (where >= 0) {
            struct node copy;
            MPI_Get(&copy, sizeof copy, MPI_BYTE, where, next, sizeof copy, MPI_BYTE, win); // @noflush @detach
            MPI_Win_flush(where, win);
            sum += copy.value, next = copy.next, where = copy.next_rank;
        }
        if (sum <= 0) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD); // -detach
    MPI_Win_detach(win, mine); // @detach
    MPI_Free_mem(mine); // @detach
    MPI_Win_free(&win);
    MPI_Finalize();
}
