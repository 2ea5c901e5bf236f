// ranks: 2..2
// early: B001
// any: B001
// twice: B002
// some: OK
// lost: L001 (any line)
// Sparse reads with request-based gets.
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size;
    double *part;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(16 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    for (int i = 0; i < 16; i++)
        part[i] = rank * 16 + i;
    MPI_Barrier(MPI_COMM_WORLD);
    enum { N = 3 };
    double got[N], sum = 0;
    MPI_Request requests[N];
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < N; i++)
        MPI_Rget(&got[i], 1, MPI_DOUBLE, (rank + i) % size, (5 * i) % 16, 1, MPI_DOUBLE, win, &requests[i]); // -twice @early @any
    for (int i = 0; i < N; i++) // +twice
        MPI_Rget(&got[i / 2], 1, MPI_DOUBLE, (rank + i) % size, (5 * i) % 16, 1, MPI_DOUBLE, win, &requests[i]); // +twice @twice
    for (int left = N; left > 0; left--) { // -some -lost
        int which; // -some -lost
        sum += got[N - left]; // +early @early
        MPI_Waitany(N, requests, &which, MPI_STATUS_IGNORE); // -some -lost
        sum += got[which]; // -early -any -some -lost
        sum += got[left - 1]; // +any @any
    } // -some -lost
    for (int i = 0; i < N - 1; i++) { // +lost
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE); // +lost
        sum += got[i]; // +lost
    } // +lost
    int done = 0; // +some
    while (done < N) { // +some
        int n, at[N]; // +some
        MPI_Waitsome(N, requests, &n, at, MPI_STATUSES_IGNORE); // +some
        for (int k = 0; k < n; k++) // +some
            sum += got[at[k]]; // +some
        done += n; // +some
    } // +some
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return sum < 0;
}
