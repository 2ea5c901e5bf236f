/* Partitions of a message, and when the receiver looks at one: TYPE CUT HOW WHEN; see
 * late_partitioned.t. Rank 0 sends 24 ints, 1 to 24, in 4 partitions; rank 1 has them cut in CUT, is
 * told of one by HOW, and prints it before or after that. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTS = 24 };

static int buffer[2 * INTS], cut, gap;

static void show(const char *when, int part)
{
    int count = INTS / cut;
    printf("%s part %d:", when, part);
    for (int i = part * count; i < (part + 1) * count; i++)
        printf(" %d", buffer[gap * i]);
    printf("\n");
}

static void learn(const char *how, int part, MPI_Request *request)
{
    int flag = 0;
    if (!strcmp(how, "parrived"))
        while (!flag)
            MPI_Parrived(*request, part, &flag);
    else if (!strcmp(how, "wait"))
        MPI_Wait(request, MPI_STATUS_IGNORE);
    else if (!strcmp(how, "waitall"))
        MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
    else
        while (!flag)
            MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Datatype type = MPI_INT, apart;
    MPI_Request request;
    if (argc != 5)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &apart);
    MPI_Type_commit(&apart);
    gap = strcmp(argv[1], "gaps") ? 1 : 2;
    type = gap == 2 ? apart : MPI_INT;
    cut = rank ? atoi(argv[2]) : 4;
    for (int i = 0; i < 2 * INTS; i++)
        buffer[i] = rank ? -1 : i / gap + 1;
    if (rank == 0)
        MPI_Psend_init(buffer, 4, INTS / 4, type, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(buffer, cut, INTS / cut, type, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&request);
        for (int part = 0; rank == 0 && part < 4; part++)
            MPI_Pready(part, request);
        MPI_Barrier(MPI_COMM_WORLD);
        int looked = round ? 0 : cut - 1;
        if (rank == 1 && !strcmp(argv[4], "before"))
            show("before", looked);
        if (rank == 1)
            learn(argv[3], looked, &request);
        if (rank == 1 && !strcmp(argv[4], "other"))
            show("other", (looked + 1) % cut);
        if (rank == 1 && !strcmp(argv[4], "after"))
            show("after", looked);
        if (rank == 0 || !strcmp(argv[3], "parrived"))
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int part = 0; rank == 1 && part < cut; part++)
            show("end", part);
        for (int i = 0; gap == 2 && i < INTS; i++)
            if (buffer[2 * i + 1] != (rank ? -1 : buffer[2 * i]))
                printf("between the elements: %d\n", buffer[2 * i + 1]);
    }
    MPI_Request_free(&request);
    MPI_Type_free(&apart);
    MPI_Finalize();
    return 0;
}
