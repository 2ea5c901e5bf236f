/* Loops as programs have them, for bench_loops.pl: loops PATTERN CALLS. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ring {
    int left, right;
    double out[64], in[64];
};

static void sendrecv(struct ring *ring, int i)
{
    (void)i;
    MPI_Sendrecv(ring->out, 1, MPI_DOUBLE, ring->right, 0, ring->in, 1, MPI_DOUBLE, ring->left, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void halo(struct ring *ring, int i)
{
    MPI_Request requests[2];
    (void)i;
    MPI_Irecv(ring->in, 1, MPI_DOUBLE, ring->left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(ring->out, 1, MPI_DOUBLE, ring->right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void allreduce(struct ring *ring, int i)
{
    (void)i;
    MPI_Allreduce(ring->out, ring->in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* No two iterations alike. */
static void irregular(struct ring *ring, int i)
{
    unsigned draw = (unsigned)i * 2654435761u;
    int count = 1 + (int)(draw >> 26), tag = (int)(draw >> 8 & 1023);
    MPI_Sendrecv(ring->out, count, MPI_DOUBLE, ring->right, tag, ring->in, count, MPI_DOUBLE,
                 ring->left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*step)(struct ring *ring, int i);
    } patterns[] = {{"sendrecv", sendrecv},
                    {"halo", halo},
                    {"allreduce", allreduce},
                    {"irregular", irregular}};
    struct ring ring = {0};
    int rank, size, steps = argc > 2 ? atoi(argv[2]) : 0;
    size_t pattern = 0, count = sizeof patterns / sizeof *patterns;
    while (pattern < count && argc > 1 && strcmp(patterns[pattern].name, argv[1]) != 0)
        pattern++;
    if (argc != 3 || pattern == count) {
        fprintf(stderr, "usage: loops sendrecv|halo|allreduce|irregular STEPS\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ring.right = (rank + 1) % size;
    ring.left = (rank + size - 1) % size;
    for (int i = 0; i < steps; i++)
        patterns[pattern].step(&ring, i);
    MPI_Finalize();
    return 0;
}
