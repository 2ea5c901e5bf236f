#include <mpi.h>
#include <stdlib.h>
/* rank 0 blocks in call number k for ever */
int main(int c, char **v)
{
    int r, x[4] = {1}, y[8], f, k = atoi(v[1]);
    MPI_Request q, qs[2];
    MPI_Comm d;
    MPI_Status s;
    MPI_Message m;
    MPI_Group g;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm w = MPI_COMM_WORLD;
    if (r == 0)
        switch (k) {
        case 1:
            MPI_Mprobe(1, 0, w, &m, &s);
            break;
        case 2:
            MPI_Probe(1, 0, w, &s);
            break;
        case 3:
            MPI_Comm_dup(w, &d);
            break;
        case 4:
            MPI_Comm_split(w, 0, 0, &d);
            break;
        case 5:
            MPI_Cart_create(w, 1, (int[]){2}, (int[]){0}, 0, &d);
            break;
        case 6:
            MPI_Comm_group(w, &g);
            MPI_Comm_create(w, g, &d);
            break;
        case 7:
            MPI_Comm_group(w, &g);
            MPI_Comm_create_group(w, g, 0, &d);
            break;
        case 8:
            MPI_Comm_idup(w, &d, &q);
            MPI_Wait(&q, &s);
            break;
        case 9:
            MPI_Intercomm_create(MPI_COMM_SELF, 0, w, 1, 0, &d);
            break;
        case 10:
            MPI_Comm_split_type(w, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &d);
            break;
        case 11:
            MPI_Dist_graph_create_adjacent(w, 0, x, x, 0, x, x, MPI_INFO_NULL, 0, &d);
            break;
        case 12:
            MPI_Ssend(x, 1, MPI_INT, 1, 0, w);
            break;
        case 13:
            MPI_Irecv(y, 1, MPI_INT, 1, 0, w, &q);
            MPI_Waitany(1, &q, &f, &s);
            break;
        case 14:
            MPI_Irecv(y, 1, MPI_INT, 1, 0, w, &q);
            MPI_Waitsome(1, &q, &f, y + 1, &s);
            break;
        case 15:
            MPI_Irecv(y, 1, MPI_INT, 1, 0, w, &q);
            for (f = 0; !f;)
                MPI_Test(&q, &f, &s);
            break;
        case 16:
            for (f = 0; !f;)
                MPI_Iprobe(1, 0, w, &f, &s);
            break;
        case 17:
            MPI_Comm_dup(w, &d);
            MPI_Comm_disconnect(&d);
            break;
        case 18:
            MPI_Irecv(y, 1, MPI_INT, 1, 0, w, &q);
            for (f = 0; !f;)
                MPI_Request_get_status(q, &f, &s);
            break;
        case 19:
            MPI_Recv_init(y, 1, MPI_INT, 1, 0, w, &q);
            MPI_Start(&q);
            MPI_Wait(&q, &s);
            break;
        case 20:
            MPI_Sendrecv(x, 1, MPI_INT, 1, 0, y, 1, MPI_INT, 1, 0, w, &s);
            break;
        case 21:
            MPI_Sendrecv_replace(x, 1, MPI_INT, 1, 0, 1, 0, w, &s);
            break;
        case 22:
            for (f = 0; !f;)
                MPI_Improbe(1, 0, w, &f, &m, &s);
            break;
        }
    MPI_Finalize();
    return 0;
}
