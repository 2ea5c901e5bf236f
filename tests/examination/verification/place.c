#include <mpi.h>
#include <stdlib.h>
int main(int c, char **v)
{
    int x[8] = {0}, y[8], n, flag, k = atoi(v[1]);
    MPI_Request q, q2[2];
    MPI_Datatype t;
    MPI_Group g;
    MPI_Comm d;
    MPI_Status s;
    MPI_Op o;
    MPI_Init(&c, &v);
    MPI_Barrier(MPI_COMM_WORLD);
    switch (k) {
    case 1:
        MPI_Send_init(x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, &q);
        break;
    case 2:
        MPI_Recv_init(x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, &q);
        break;
    case 3:
        MPI_Type_contiguous(-1, MPI_INT, &t);
        break;
    case 4:
        MPI_Type_commit((t = MPI_DATATYPE_NULL, &t));
        break;
    case 5:
        MPI_Type_vector(-1, 1, 1, MPI_INT, &t);
        break;
    case 6:
        MPI_Comm_rank(MPI_COMM_NULL, &n);
        break;
    case 7:
        MPI_Comm_size(MPI_COMM_NULL, &n);
        break;
    case 8:
        MPI_Comm_group(MPI_COMM_NULL, &g);
        break;
    case 9:
        MPI_Group_incl((MPI_Comm_group(MPI_COMM_WORLD, &g), g), 1, (int[]){99}, &g);
        break;
    case 10:
        MPI_Comm_split(MPI_COMM_WORLD, -77, 0, &d);
        break;
    case 11:
        MPI_Comm_dup(MPI_COMM_NULL, &d);
        break;
    case 12:
        MPI_Comm_free((d = MPI_COMM_NULL, &d));
        break;
    case 13:
        MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){-2}, (int[]){0}, 0, &d);
        break;
    case 14:
        MPI_Cart_get(MPI_COMM_WORLD, 1, x, y, y + 1);
        break;
    case 15:
        MPI_Cart_shift(MPI_COMM_WORLD, 0, 1, x, y);
        break;
    case 16:
        MPI_Get_count((s.MPI_ERROR = 0, &s), MPI_DATATYPE_NULL, &n);
        break;
    case 17:
        MPI_Op_free((o = MPI_SUM, &o));
        break;
    case 18:
        MPI_Start((q = MPI_REQUEST_NULL, &q));
        break;
    case 19:
        MPI_Request_free((q = MPI_REQUEST_NULL, &q));
        break;
    case 20:
        MPI_Isend(x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &q);
        break;
    case 21:
        MPI_Irecv(x, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &q);
        break;
    case 22:
        MPI_Probe(99, 0, MPI_COMM_WORLD, &s);
        break;
    case 23:
        MPI_Iprobe(99, 0, MPI_COMM_WORLD, &flag, &s);
        break;
    case 24:
        MPI_Buffer_attach(x, -1);
        break;
    case 25:
        MPI_Bsend(x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        break;
    case 26:
        MPI_Sendrecv(x, 1, MPI_INT, 99, 0, y, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &s);
        break;
    case 27:
        MPI_Barrier(MPI_COMM_NULL);
        break;
    case 28:
        MPI_Ibarrier(MPI_COMM_NULL, &q);
        break;
    case 29:
        MPI_Type_free((t = MPI_INT, &t));
        break;
    case 30:
        MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &d);
        break;
    case 31:
        MPI_Pack(x, 1, MPI_DATATYPE_NULL, y, 8, &n, MPI_COMM_WORLD);
        break;
    case 32:
        MPI_Reduce_local(x, y, 1, MPI_INT, MPI_OP_NULL);
        break;
    case 33:
        MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 99, 0, &d);
        break;
    case 34:
        MPI_Graph_create(MPI_COMM_WORLD, -1, x, y, 0, &d);
        break;
    case 35:
        MPI_Comm_set_name(MPI_COMM_NULL, "x");
        break;
    case 36:
        MPI_Type_size(MPI_DATATYPE_NULL, &n);
        break;
    case 37:
        MPI_Error_string(-5, (char *)x, &n);
        break;
    case 38:
        MPI_Ssend_init(x, 1, MPI_INT, 99, 0, MPI_COMM_WORLD, &q);
        break;
    case 39:
        MPI_Bcast_init(x, 1, MPI_INT, 99, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
        break;
    case 40:
        MPI_Type_create_struct(1, (int[]){-1}, (MPI_Aint[]){0}, (MPI_Datatype[]){MPI_INT}, &t);
        break;
    }
    MPI_Finalize();
    return 0;
}
