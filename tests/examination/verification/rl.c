#include <mpi.h>
#include <stdlib.h>
int main(int c, char **v)
{
    int r, x = 1, y;
    MPI_Request a = MPI_REQUEST_NULL, b;
    MPI_Init(&c, &v);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm_rank(w, &r);
    int k = atoi(v[1]);
    if (k == 0) { /* persistent request never freed */
        MPI_Send_init(&x, 1, MPI_INT, 1 - r, 0, w, &a);
        MPI_Start(&a);
        MPI_Recv(&y, 1, MPI_INT, 1 - r, 0, w, MPI_STATUS_IGNORE);
        MPI_Wait(&a, MPI_STATUS_IGNORE);
    }
    if (k == 1) { /* Isend freed, never waited for */
        MPI_Isend(&x, 1, MPI_INT, 1 - r, 0, w, &a);
        MPI_Recv(&y, 1, MPI_INT, 1 - r, 0, w, MPI_STATUS_IGNORE);
        MPI_Request_free(&a);
    }
    if (k == 2) { /* persistent started, freed, never waited for */
        MPI_Send_init(&x, 1, MPI_INT, 1 - r, 0, w, &a);
        MPI_Start(&a);
        MPI_Recv(&y, 1, MPI_INT, 1 - r, 0, w, MPI_STATUS_IGNORE);
        MPI_Request_free(&a);
    }
    if (k == 3) { /* wait on never started */
        MPI_Send_init(&x, 1, MPI_INT, 1 - r, 0, w, &a);
        MPI_Irecv(&y, 1, MPI_INT, 1 - r, 0, w, &b);
        MPI_Wait(&a, MPI_STATUS_IGNORE);
        MPI_Wait(&b, MPI_STATUS_IGNORE);
    }
    if (k == 4) { /* wait on never started, harmless */
        MPI_Send_init(&x, 1, MPI_INT, 1 - r, 0, w, &a);
        MPI_Wait(&a, MPI_STATUS_IGNORE);
        MPI_Request_free(&a);
    }
    if (k == 5) { /* Isend never waited for, never freed */
        MPI_Isend(&x, 1, MPI_INT, 1 - r, 0, w, &a);
        MPI_Recv(&y, 1, MPI_INT, 1 - r, 0, w, MPI_STATUS_IGNORE);
    }
    if (k == 6) { /* recv_init never freed, never started */
        MPI_Recv_init(&x, 1, MPI_INT, 1 - r, 0, w, &a);
    }
    if (k == 7) { /* freed under way, buffer changed */
        MPI_Isend(&x, 1, MPI_INT, 1 - r, 0, w, &a);
        MPI_Request_free(&a);
        x = 99;
        MPI_Recv(&y, 1, MPI_INT, 1 - r, 0, w, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
}
