/* Loops as programs have them, for bench_loops.pl: loops PATTERN CALLS. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ring {
    int rank, size, left, right;
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

/* The same on every rank, and nothing in it repeats (splitmix64). */
static uint64_t drawn(uint64_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Partners, lengths and tags of no pattern: no two iterations alike. */
static void irregular(struct ring *ring, int i)
{
    uint64_t draw = drawn((uint64_t)i);
    int away = ring->size > 1 ? 1 + (int)(draw % (uint64_t)(ring->size - 1)) : 0;
    int count = 1 + (int)(draw >> 20 & 63), tag = (int)(draw >> 40 & 32767);
    MPI_Sendrecv(ring->out, count, MPI_DOUBLE, (ring->rank + away) % ring->size, tag, ring->in,
                 count, MPI_DOUBLE, (ring->rank + ring->size - away) % ring->size, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*step)(struct ring *ring, int i);
    } patterns[] = {
        {"sendrecv", sendrecv}, {"halo", halo}, {"allreduce", allreduce}, {"irregular", irregular}};
    struct ring ring = {0};
    int steps = argc > 2 ? atoi(argv[2]) : 0;
    size_t pattern = 0, count = sizeof patterns / sizeof *patterns;
    while (pattern < count && argc > 1 && strcmp(patterns[pattern].name, argv[1]) != 0)
        pattern++;
    if (argc != 3 || pattern == count) {
        fprintf(stderr, "usage: loops sendrecv|halo|allreduce|irregular STEPS\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ring.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ring.size);
    ring.right = (ring.rank + 1) % ring.size;
    ring.left = (ring.rank + ring.size - 1) % ring.size;
    for (int i = 0; i < steps; i++)
        patterns[pattern].step(&ring, i);
    MPI_Finalize();
    return 0;
}
