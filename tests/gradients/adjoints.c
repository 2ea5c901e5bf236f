/* Wrong adjoints as they are written, each beside the right one: `adjoints OPERATION DEFECT`, 0 is right.
 *
 * x -> sin(x) -> OPERATION -> weighted squares. Only x is marked, so that the marks say nothing of where the adjoint is wrong.
 * Defects from 90 on are in the local computations: of the cotangent that OPERATION's adjoint is given, and of the gradient after. */
#include <complex.h>
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6, MOST = 64 };
#define W MPI_COMM_WORLD
#define D MPI_DOUBLE

/* Of each rank: test_adjoint_calls.c says where, as it runs all ranks in one process. */
struct here {
    int own_rank, ranks, wrong, at;
};
#ifndef HERE
static struct here this_rank;
#define HERE (&this_rank)
#endif
#define rank   (HERE->own_rank)
#define size   (HERE->ranks)
#define defect (HERE->wrong)
#define root   (HERE->at)

static void allreduce(int back, double *in, double *out)
{
    double narrow[N];
    float single[N], singles[N];
    memcpy(narrow, in, sizeof narrow);
    for (int i = 0; i < N && back; i++)
        single[i] = (float)in[i], narrow[i] *= defect == 2                ? 1 + 1e-6 * (rank == 1)
                                               : defect == 3 && rank >= 4 ? 0
                                                                          : 1;
    if (back && defect == 1)
        memcpy(out, in, sizeof narrow);
    else if (back && defect == 4) {
        MPI_Allreduce(single, singles, N, MPI_FLOAT, MPI_SUM, W);
        for (int i = 0; i < N; i++)
            out[i] = singles[i];
    } else
        MPI_Allreduce(narrow, out, N, D, back && defect == 5 ? MPI_MAX : MPI_SUM, W);
    for (int i = 0; i < N && back; i++)
        out[i] *= defect == 6 ? 1.0 / size : defect == 7 && i == N - 1 ? 1 + 1e-7 : 1;
}

static void bcast(int back, double *in, double *out)
{
    memset(out, 0, N * sizeof *out);
    if (!back) {
        memcpy(out, in, N * sizeof *out);
        MPI_Bcast(out, N, D, root, W);
    } else if (defect == 1)
        memcpy(out, in, N * sizeof *out);
    else {
        MPI_Reduce(in, out, N, D, defect == 2 ? MPI_MAX : MPI_SUM,
                   defect == 3 ? (root + 1) % size : root, W);
        for (int i = 0; i < N && rank == root; i++)
            out[i] += defect == 4 ? in[i] : 0;
    }
}

static void reduce(int back, double *in, double *out)
{
    memset(out, 0, N * sizeof *out);
    if (!back) {
        MPI_Reduce(in, out, N, D, MPI_SUM, root, W);
        return;
    }
    memcpy(out, in, N * sizeof *out);
    if (defect != 1)
        MPI_Bcast(out, N, D, defect == 2 ? (root + 1) % size : root, W);
    for (int i = 0; i < N; i++)
        out[i] *= defect == 3 && rank != root ? 0 : defect == 4 ? size : 1;
}

static void gather(int back, double *in, double *out)
{
    double all[MOST] = {0};
    if (!back) {
        MPI_Gather(in, N, D, out, N, D, root, W);
        return;
    }
    memcpy(all, in, (size_t)(N * size) * sizeof *all);
    if (defect == 1)
        memmove(all, in + 1, (size_t)(N * size - 1) * sizeof *all);
    MPI_Scatter(all, N, D, out, N, D, defect == 2 ? (root + 1) % size : root, W);
    for (int i = 0; i < N; i++)
        out[i] *= defect == 3 && rank == root ? 0 : 1;
}

static void scatter(int back, double *in, double *out)
{
    if (!back)
        MPI_Scatter(in, 1, D, out, 1, D, root, W);
    else
        MPI_Gather(in, 1, D, out, 1, D, defect == 1 ? (root + 1) % size : root, W);
    for (int i = 0; i < size && back; i++)
        out[i] *= defect == 2 && i == 0 ? -1 : rank == root ? 1 : 0;
}

/* Rank r sends r % 3 values: some are empty. */
static void gatherv(int back, double *in, double *out)
{
    int counts[MOST], places[MOST], total = 0;
    for (int r = 0; r < size; r++) {
        bool moved = back && defect == 3 && r < 4; /* 0 1 2 0 -> 1 0 1 1 */
        counts[r] = r % 3 + (moved ? r == 0 || r == 3 ? 1 : -1 : 0);
        places[r] = total;
        total += counts[r] + 1;
    }
    if (!back) {
        MPI_Gatherv(in, counts[rank], D, out, counts, places, D, root, W);
        return;
    }
    for (int r = 2; r < size; r++)
        places[r] += defect == 1 && r == 2;
    memset(out, 0, N * sizeof *out);
    MPI_Scatterv(in, counts, places, D, out, counts[rank], D,
                 defect == 2 ? (root + 1) % size : root, W);
}

static void allgather(int back, double *in, double *out)
{
    double swapped[MOST];
    if (!back) {
        MPI_Allgather(in, N, D, out, N, D, W);
        return;
    }
    memcpy(swapped, in, (size_t)(N * size) * sizeof *in);
    if (defect == 1)
        memcpy(out, in + N * rank, N * sizeof *out);
    else if (defect == 2) {
        MPI_Allreduce(in, swapped, N, D, MPI_SUM, W);
        memcpy(out, swapped, N * sizeof *out);
    } else {
        if (defect == 3) {
            memcpy(swapped, in + N, N * sizeof *in);
            memcpy(swapped + N, in, N * sizeof *in);
        }
        MPI_Reduce_scatter_block(swapped, out, N, D, defect == 4 ? MPI_MIN : MPI_SUM, W);
    }
}

static void alltoall(int back, double *in, double *out)
{
    if (back && defect == 1)
        memcpy(out, in, (size_t)size * sizeof *out);
    else
        MPI_Alltoall(in, 1, D, out, 1, D, W);
    if (back && defect == 2)
        out[0] = out[1];
}

static void alltoallv(int back, double *in, double *out)
{
    int there[MOST], here[MOST], to[MOST], from[MOST], sent = 0, got = 0;
    for (int r = 0; r < size; r++) {
        there[r] = 1 + (rank + r) % 2;
        here[r] = 1 + (r + rank) % 2;
        to[r] = sent;
        from[r] = got;
        sent += there[r];
        got += here[r] + 1;
    }
    if (!back) {
        MPI_Alltoallv(in, there, to, D, out, here, from, D, W);
        return;
    }
    if (defect == 1)
        to[size - 1]++;
    from[size - 1] += defect == 2;
    memset(out, 0, MOST * sizeof *out);
    MPI_Alltoallv(in, here, from, D, out, there, to, D, W);
}

static void ring(int back, double *in, double *out)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, turned = back && defect != 1;
    memcpy(out, in, N * sizeof *out);
    if (back && defect == 2)
        return;
    MPI_Sendrecv(in, N, D, turned ? left : right, 3, out, N, D, turned ? right : left, 3, W,
                 MPI_STATUS_IGNORE);
    out[1] *= back && defect == 3 ? 2 : 1;
}

/* The same into buffers with room for more, in which something else stands. */
static void room(int back, double *in, double *out)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, turned = back && defect != 1;
    double wide[N + 3];
    MPI_Request request;
    memcpy(out, in, N * sizeof *out);
    if (back && defect == 2)
        return;
    for (int i = 0; i < N + 3; i++)
        wide[i] = 1e30;
    MPI_Irecv(wide, N + 3, D, turned ? right : left, 3, W, &request);
    MPI_Send(in, N, D, turned ? left : right, 3, W);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memcpy(out, wide, N * sizeof *out);
    out[1] *= back && defect == 3 ? 2 : 1;
}

/* Both neighbours' first values, to the right and to the left of one's own. */
static void halo(int back, double *in, double *out)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double buffers[2] = {0, 0};
    MPI_Request requests[4];
    MPI_Irecv(buffers, 1, D, back ? right : left, back ? 8 : 7, W, requests);
    MPI_Irecv(buffers + 1, 1, D, back ? left : right, back ? 7 : 8, W, requests + 1);
    if (!back) {
        MPI_Isend(in, 1, D, right, 7, W, requests + 2);
        MPI_Isend(in, 1, D, left, 8, W, requests + 3);
    } else {
        MPI_Isend(in + (defect == 1 ? 2 : 0), 1, D, left, 8, W, requests + 2);
        MPI_Isend(in + (defect == 1 ? 0 : 2), 1, D, right, 7, W, requests + 3);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (!back) {
        out[0] = buffers[0];
        out[1] = in[0];
        out[2] = buffers[1];
    } else {
        memset(out, 0, N * sizeof *out);
        out[0] = in[1] + buffers[0] + (defect == 2 ? 0 : buffers[1]) + (defect == 3 ? in[1] : 0);
    }
}

/* Sums over the ranks so far; its adjoint sums over those that follow. */
static void scan(int back, double *in, double *out)
{
    MPI_Comm turned;
    MPI_Comm_split(W, 0, back && defect != 1 ? -rank : rank, &turned);
    MPI_Scan(in, out, N, D, MPI_SUM, turned);
    MPI_Comm_free(&turned);
}

/* Complex numbers, turned and sent round. */
static void turn(int back, double *in, double *out)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, to = back ? left : right;
    double complex by = 0.6 + (0.8 + 0.1 * rank) * I, values[N / 2], got[N / 2];
    float complex narrow[N / 2], single[N / 2];
    memcpy(values, in, sizeof values);
    for (int i = 0; i < N / 2; i++)
        narrow[i] = (float complex)(values[i] *= back ? 1 : by);
    if (back && defect == 3) {
        MPI_Sendrecv(narrow, N / 2, MPI_C_FLOAT_COMPLEX, to, 3, single, N / 2, MPI_C_FLOAT_COMPLEX,
                     right, 3, W, MPI_STATUS_IGNORE);
        for (int i = 0; i < N / 2; i++)
            got[i] = single[i];
    } else {
        to = back && defect == 2 ? right : to;
        MPI_Sendrecv(values, N / 2, MPI_C_DOUBLE_COMPLEX, to, 3, got, N / 2, MPI_C_DOUBLE_COMPLEX,
                     to == left ? right : left, 3, W, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < N / 2 && back; i++)
        got[i] *= defect == 1 ? by : conj(by);
    memcpy(out, got, sizeof got);
}

static const struct {
    const char *name;
    void (*run)(int back, double *in, double *out);
} operations[] = {{"allreduce", allreduce}, {"bcast", bcast},       {"reduce", reduce},
                  {"gather", gather},       {"scatter", scatter},   {"gatherv", gatherv},
                  {"allgather", allgather}, {"alltoall", alltoall}, {"alltoallv", alltoallv},
                  {"ring", ring},           {"room", room},         {"halo", halo},
                  {"scan", scan},           {"turn", turn}};

/* The cotangent of b[i], which the adjoint is given. */
static double cotangent(int i, double b)
{
    bool last = rank == size - 1 && i < 2, uneven = size & (size - 1);
    double weight = 1 + rank + 0.1 * (i + (defect == 91)), value = 2 * weight * b;
    if (defect == 94)
        return (float)value;
    if (defect == 95 && last)
        return 2 * value;
    if (defect == 96 && uneven)
        return value * (1 + 1e-4);
    return value * (defect == 98 && last ? 1 - 1e-4 : 1);
}

/* What the gradient of x[i] is made with. */
static double slope(int i, double x, double a)
{
    if (defect == 90 && size >= 5)
        return cos(x) * (1 + 1e-5);
    if (defect == 92)
        return cos(0.999 * x);
    if (defect == 93 && rank == size - 1)
        return 0;
    if (defect == 97 && rank == size - 1)
        return i == 0 ? 2 * cos(x) : cos(x);
    return defect == 99 ? cos(a) : cos(x);
}

int main(int argc, char **argv)
{
    double x[MOST], a[MOST], b[MOST] = {0}, bar[MOST] = {0}, a_bar[MOST] = {0}, loss = 0;
    void (*run)(int back, double *in, double *out) = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    root = size - 1;
    defect = argc > 2 ? atoi(argv[2]) : 0;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (argc > 1 && !strcmp(argv[1], operations[i].name))
            run = operations[i].run;
    int n = run == alltoallv ? 2 * size : run == alltoall || run == scatter ? size : N;
    for (int i = 0; i < n; i++)
        x[i] = 0.6 * sin(1.3 * i + 2.1 * rank + 0.4);
    diff_mark_input("x", x, (size_t)n);
    for (int i = 0; i < n; i++)
        a[i] = sin(x[i]);
    run(0, a, b);
    for (int i = 0; i < MOST; i++)
        loss += (1 + rank + 0.1 * i) * b[i] * b[i];
    diff_mark_objective(loss);
    for (int i = 0; i < MOST; i++)
        bar[i] = cotangent(i, b[i]);
    run(1, bar, a_bar);
    for (int i = 0; i < n; i++)
        a_bar[i] *= slope(i, x[i], a[i]);
    diff_mark_gradient("x", a_bar, (size_t)n);
    MPI_Finalize();
    return 0;
}
