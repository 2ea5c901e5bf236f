/* An access to a window, what completes it, and when the memory of both sides is looked at: OPERATION EPOCH after|before; see
 * late_windows.t. Rank 0 accesses the window of rank 1. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_Win win;
static MPI_Request request;
static int origin[2] = {5, 6}, result[2] = {-1, -1}, compared = 10;

static void start(const char *how, MPI_Datatype apart)
{
    request = MPI_REQUEST_NULL;
    if (!strcmp(how, "put"))
        MPI_Put(origin, 2, MPI_INT, 1, 0, 1, apart, win);
    else if (!strcmp(how, "get"))
        MPI_Get(result, 2, MPI_INT, 1, 0, 1, apart, win);
    else if (!strcmp(how, "sum"))
        MPI_Accumulate(origin, 2, MPI_INT, 1, 0, 1, apart, MPI_SUM, win);
    else if (!strcmp(how, "replace"))
        MPI_Accumulate(origin, 2, MPI_INT, 1, 0, 1, apart, MPI_REPLACE, win);
    else if (!strcmp(how, "getsum"))
        MPI_Get_accumulate(origin, 2, MPI_INT, result, 2, MPI_INT, 1, 0, 1, apart, MPI_SUM, win);
    else if (!strcmp(how, "fetch"))
        MPI_Fetch_and_op(origin, result, MPI_INT, 1, 0, MPI_SUM, win);
    else if (!strcmp(how, "swap"))
        MPI_Compare_and_swap(origin, &compared, result, MPI_INT, 1, 0, win);
    else if (!strcmp(how, "rput"))
        MPI_Rput(origin, 2, MPI_INT, 1, 0, 1, apart, win, &request);
    else if (!strcmp(how, "rsum"))
        MPI_Raccumulate(origin, 2, MPI_INT, 1, 0, 1, apart, MPI_SUM, win, &request);
    else if (!strcmp(how, "rget"))
        MPI_Rget(result, 2, MPI_INT, 1, 0, 1, apart, win, &request);
    else if (!strcmp(how,
                     "sums")) { /* of one origin and place, in their order; the last one fetches */
        MPI_Accumulate(origin, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Accumulate(origin, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Fetch_and_op(origin, result, MPI_INT, 1, 0, MPI_SUM, win);
    }
}

static void look(const char *when, int rank, volatile int *base)
{
    volatile int *mine = result;
    if (rank == 0)
        printf("%s: result %d %d\n", when, mine[0], mine[1]);
    else if (rank == 1)
        printf("%s: window %d %d %d\n", when, base[0], base[1], base[2]);
    fflush(stdout);
}

static void pass_on(int rank)
{
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, *base, other;
    MPI_Datatype apart;
    MPI_Group all, peer;
    MPI_Init(&argc, &argv);
    const char *epoch = argc > 3 ? argv[2] : "fence";
    int before = argc > 3 && !strcmp(argv[3], "before"), locked = !strncmp(epoch, "flush", 5);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &peer);
    MPI_Win_allocate(3 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    base[0] = 10, base[1] = 11, base[2] = 12;
    MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(epoch, "fence"))
        MPI_Win_fence(0, win);
    if (!strcmp(epoch, "complete"))
        rank ? MPI_Win_post(peer, 0, win) : MPI_Win_start(peer, 0, win);
    if (!strcmp(epoch, "unlock") && rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    if (locked || !strcmp(epoch, "unlock_all"))
        MPI_Win_lock_all(0, win);
    if (rank == 0)
        start(argc > 3 ? argv[1] : "put", apart);
    MPI_Type_free(&apart);
    if (before) {
        pass_on(rank);
        look("before", rank, base);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0 && request != MPI_REQUEST_NULL) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        look("waited", rank, base);
        origin[0] = origin[1] = 77;
    }
    if (!strcmp(epoch, "flush_local") && rank == 0) {
        MPI_Win_flush_local(1, win);
        look("local", rank, base);
        origin[0] = origin[1] = 88;
    }
    if (locked && rank == 0)
        !strcmp(epoch, "flush_all") ? MPI_Win_flush_all(win) : MPI_Win_flush(1, win);
    if (!strcmp(epoch, "fence"))
        MPI_Win_fence(0, win);
    if (!strcmp(epoch, "complete"))
        rank ? MPI_Win_wait(win) : MPI_Win_complete(win);
    if (!strcmp(epoch, "unlock") && rank == 0)
        MPI_Win_unlock(1, win);
    if (!strcmp(epoch, "unlock_all"))
        MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    look("after", rank, base);
    MPI_Barrier(MPI_COMM_WORLD);
    if (locked)
        MPI_Win_unlock_all(win);
    MPI_Group_free(&all);
    MPI_Group_free(&peer);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
