// ranks: 2..2
// unflushed: B003
// flagput: B003
// sumflag: OK
// nosync: OK
// local: B003
// back: B003
// Data, then a flag, of one window; the reader polls the flag with atomics and reads with a get or a load.
#include <mpi.h>
#include <string.h>
typedef struct { int flag, pad; double payload[6]; } slot;
static void post_data(MPI_Win win, double *data)
{
    MPI_Put(data, 6, MPI_DOUBLE, 1, 8, 6, MPI_DOUBLE, win); // @unflushed @local @back @flagput
    MPI_Win_flush(1, win); // -unflushed -local
    MPI_Win_flush_local(1, win); // +local
}
int main(int argc, char **argv)
{
    slot *box;
    int rank, one = 1;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof(slot), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &box, &win);
    memset(box, 0, sizeof *box);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double data[6] = {1, 2, 3, 4, 5, 6};
        post_data(win, data);
        MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_REPLACE, win); // -flagput -sumflag
        MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win); // +sumflag
        MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win); // +flagput @flagput
        MPI_Win_flush(1, win);
        post_data(win, data); // +back
    } else {
        int seen;
        do {
            MPI_Fetch_and_op(NULL, &seen, MPI_INT, 1, 0, MPI_NO_OP, win); // @flagput
            MPI_Win_flush(1, win);
        } while (!seen);
        MPI_Win_sync(win); // -nosync
        double sum = 0;
        for (const double *p = box->payload; p < box->payload + 6; p++)
            sum += *p; // @unflushed @local @back @flagput
        if (sum < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
}
