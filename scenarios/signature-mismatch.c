/* about: a message of four floats is received as four ints
 * ranks: 2,3,18
 * expect: M008
 * variant: struct; arguments: struct; expect: M008
 * variant: persistent; arguments: persistent; expect: M008
 * variant: same; arguments: same; expect: OK
 * variant: prefix; arguments: prefix; expect: OK
 * variant: not-prefix; arguments: not-prefix; expect: M008
 *
 * As many bytes arrive as are expected, so nothing fails; on another machine, or tomorrow, they
 * mean something else. A datatype made of the same basic types in the same order matches, however
 * it was made (same), and a message may fill the first part of a receive (prefix) as long as that
 * is made of the same types. */
#include <mpi.h>
#include <words.h>

struct point {
    int index;
    float weight;
};

static void commit_struct(int *lengths, MPI_Datatype first, MPI_Datatype second, MPI_Datatype *type)
{
    MPI_Aint places[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {first, second};
    MPI_Type_create_struct(2, lengths, places, types, type);
    MPI_Type_commit(type);
}

int main(int argc, char **argv)
{
    int rank, lengths[2] = {1, 1};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *how =
        word_alone(argc, argv, "form", "count", "count struct persistent same prefix not-prefix");
    float floats[4] = {1, 2, 3, 4};
    int ints[4];
    struct point points[2] = {{1, 0.5F}, {2, 0.25F}};
    MPI_Datatype ordered, turned;
    commit_struct(lengths, MPI_INT, MPI_FLOAT, &ordered);
    commit_struct(lengths, MPI_FLOAT, MPI_INT, &turned);
    if (!strcmp(how, "struct")) {
        if (rank == 0)
            MPI_Send(points, 2, ordered, 1, 0, MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(points, 2, turned, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "persistent") && rank < 2) {
        MPI_Request request;
        if (rank == 0)
            MPI_Send_init(floats, 4, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Recv_init(ints, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else if (!strcmp(how, "same")) {
        MPI_Datatype four, both;
        int pairs[4] = {1, 2, 3, 4};
        MPI_Type_create_struct(4, (int[]){1, 1, 1, 1}, (MPI_Aint[]){0, 4, 8, 12},
                               (MPI_Datatype[]){MPI_INT, MPI_FLOAT, MPI_INT, MPI_FLOAT}, &both);
        MPI_Type_commit(&both);
        MPI_Type_contiguous(4, MPI_FLOAT, &four);
        MPI_Type_commit(&four);
        if (rank == 0) {
            MPI_Send(floats, 4, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
            MPI_Send(points, 2, ordered, 1, 1, MPI_COMM_WORLD);
            MPI_Send(NULL, 0, MPI_FLOAT, 1, 2, MPI_COMM_WORLD);
            MPI_Send(&pairs, 2, MPI_2INT, 1, 3, MPI_COMM_WORLD);
        }
        if (rank == 1) {
            MPI_Recv(floats, 1, four, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(points, 1, both, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(ints, 4, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(ints, 4, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Type_free(&four);
        MPI_Type_free(&both);
    } else if (strstr(how, "prefix")) { /* an int and two floats, of an int and five */
        MPI_Datatype sent, room;
        union { /* of the sent type, of the receive's, and plain */
            struct point first;
            float all[6];
        } many = {.all = {0}};
        commit_struct((int[]){1, 2}, MPI_INT, MPI_FLOAT, &sent);
        commit_struct((int[]){1, 5}, MPI_INT, MPI_FLOAT, &room);
        if (rank == 0)
            MPI_Send(&many, 1, sent, 1, 0, MPI_COMM_WORLD);
        if (rank == 1 && !strcmp(how, "prefix"))
            MPI_Recv(&many, 1, room, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (rank == 1)
            MPI_Recv(&many, 6, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&sent);
        MPI_Type_free(&room);
    } else if (!strcmp(how, "count")) {
        if (rank == 0)
            MPI_Send(floats, 4, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(ints, 4, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&ordered);
    MPI_Type_free(&turned);
    MPI_Finalize();
    return 0;
}
