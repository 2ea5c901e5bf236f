#include <mpi.h>
#include <stdio.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Comm k;
    MPI_Comm_dup(MPI_COMM_SELF, &k);
    MPI_Datatype t;
    MPI_Type_contiguous(2, MPI_INT, &t);
    MPI_Group g;
    MPI_Comm_group(MPI_COMM_SELF, &g);
    MPI_Info in;
    MPI_Info_create(&in);
    int x;
    MPI_Request q;
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &q);
    printf("comm %d %d\n", MPI_Comm_toint(k), MPI_Comm_fromint(MPI_Comm_toint(k)) == k);
    printf("type %d %d\n", MPI_Type_toint(t), MPI_Type_fromint(MPI_Type_toint(t)) == t);
    printf("group %d %d\n", MPI_Group_toint(g), MPI_Group_fromint(MPI_Group_toint(g)) == g);
    printf("info %d %d\n", MPI_Info_toint(in), MPI_Info_fromint(MPI_Info_toint(in)) == in);
    printf("request %d %d\n", MPI_Request_toint(q), MPI_Request_fromint(MPI_Request_toint(q)) == q);
    MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Comm_free(&k);
    MPI_Type_free(&t);
    MPI_Group_free(&g);
    MPI_Info_free(&in);
    MPI_Info ai;
    int n = -1;
    MPI_Abi_get_info(&ai);
    MPI_Info_get_nkeys(ai, &n);
    printf("abi info keys: %d\n", n);
    MPI_Info_free(&ai);
    MPI_Finalize();
}
