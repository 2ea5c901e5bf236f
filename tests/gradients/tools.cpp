/* A program as others write it, with plain calls of MPI on the active arrays of a tool that differentiates by overloading: ADOL-C,
 * or with -DRAD Sacado's Rad. `tools OPERATION [passive]`: heat, a time loop of halo exchanges, cg, a conjugate gradient step with
 * global dot products, or a single operation; passive: one call moves the numbers alone, and their derivatives stay behind. */
#ifdef RAD
#include <Sacado_trad.hpp>

#include <diff_rad.hpp>
typedef diff_rad Active;
#else
#include <adolc/adolc.h>

#include <diff_adolc.hpp>
typedef adouble Active;
#endif
#include <cmath>
#include <cstring>
#include <mpi.h>

enum { N = 4, MOST = 64 };
static int rank, size;
static bool passive;

static double number_of(const Active &x)
{
#ifdef RAD
    return x.val();
#else
    return x.value();
#endif
}

static Active total_of(Active own)
{
    Active total;
    double value = number_of(own), sum;
    if (passive) {
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total = sum;
    } else {
        MPI_Allreduce(&own, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return total;
}

static void heat(Active *u)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    Active next[N], ends[2];
    for (int step = 0; step < 4; step++) {
        ends[0] = ends[1] = 0;
        MPI_Sendrecv(&u[N - 1], 1, MPI_DOUBLE, right, 1, &ends[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&u[0], 1, MPI_DOUBLE, left, 2, &ends[1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++) {
            Active before = i ? u[i - 1] : ends[0], after = i + 1 < N ? u[i + 1] : ends[1];
            next[i] = u[i] + 0.2 * (before - 2 * u[i] + after) - 0.1 * u[i] * u[i] * u[i];
        }
        for (int i = 0; i < N; i++)
            u[i] = next[i];
    }
    Active own = 0;
    for (int i = 0; i < N; i++)
        own += u[i] * u[i];
    u[0] *= total_of(own);
}

/* Each rank adds to what comes from the one before, and hands it on. */
static void chain(Active *u)
{
    Active got = 0;
    if (rank > 0)
        MPI_Recv(&got, 1, MPI_DOUBLE, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    got = got * 0.5 + u[0] * u[1];
    double value = number_of(got);
    if (rank + 1 < size && passive)
        MPI_Send(&value, 1, MPI_DOUBLE, rank + 1, 3, MPI_COMM_WORLD);
    else if (rank + 1 < size)
        MPI_Send(&got, 1, MPI_DOUBLE, rank + 1, 3, MPI_COMM_WORLD);
    u[2] *= got;
}

/* Two steps for a diagonal matrix that differs between ranks, and b = u. */
static void cg(Active *u)
{
    Active x[N], r[N], p[N], q[N], rr = 0;
    for (int i = 0; i < N; i++) {
        x[i] = 0;
        r[i] = p[i] = u[i];
        rr += r[i] * r[i];
    }
    rr = total_of(rr);
    for (int step = 0; step < 2; step++) {
        Active pq = 0, next = 0;
        for (int i = 0; i < N; i++) {
            q[i] = (2 + i + 0.5 * rank) * p[i];
            pq += p[i] * q[i];
        }
        Active alpha = rr / total_of(pq);
        for (int i = 0; i < N; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            next += r[i] * r[i];
        }
        next = total_of(next);
        for (int i = 0; i < N; i++)
            p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
    for (int i = 0; i < N; i++)
        u[i] = x[i];
}

static void one(const char *name, Active *u)
{
    Active all[MOST], got[MOST];
    int root = size - 1, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < MOST; i++) {
        all[i] = i < N * size ? Active(u[i % N] * (1 + 0.1 * i)) : Active(u[0]);
        got[i] = 0;
    }
    if (!strcmp(name, "allreduce"))
        MPI_Allreduce(u, got, N, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
    else if (!strcmp(name, "reduce"))
        MPI_Reduce(u, got, N, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    else if (!strcmp(name, "bcast")) {
        for (int i = 0; i < N; i++)
            got[i] = u[i];
        MPI_Bcast(got, N, MPI_DOUBLE, root, MPI_COMM_WORLD);
    } else if (!strcmp(name, "mixed")) { /* of different lengths, one after the other */
        MPI_Scatter(all, N, MPI_DOUBLE, got, N, MPI_DOUBLE, root, MPI_COMM_WORLD);
        MPI_Sendrecv(got, 2, MPI_DOUBLE, left, 1, got + 1, 2, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Reduce(got, got + 5, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Bcast(got + 5, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(got + 2, 1, MPI_DOUBLE, root, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == root)
            MPI_Send(got, 1, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD);
        MPI_Allgather(got, 2, MPI_DOUBLE, got + 8, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    } else if (!strcmp(name, "gather"))
        MPI_Gather(u, N, MPI_DOUBLE, got, N, MPI_DOUBLE, root, MPI_COMM_WORLD);
    else if (!strcmp(name, "scatter"))
        MPI_Scatter(all, N, MPI_DOUBLE, got, N, MPI_DOUBLE, root, MPI_COMM_WORLD);
    else if (!strcmp(name, "allgather"))
        MPI_Allgather(u, N, MPI_DOUBLE, got, N, MPI_DOUBLE, MPI_COMM_WORLD);
    else if (!strcmp(name, "alltoall"))
        MPI_Alltoall(all, 2, MPI_DOUBLE, got, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    else if (rank % 2) { /* messages */
        MPI_Recv(got, N, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(u, N, MPI_DOUBLE, right, 3, MPI_COMM_WORLD);
    } else {
        MPI_Send(u, N, MPI_DOUBLE, right, 3, MPI_COMM_WORLD);
        MPI_Recv(got, N, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < MOST; i++)
        u[i % N] += (1 + rank - 0.05 * i) * got[i] * got[i];
    if (passive)
        u[1] *= total_of(u[0]);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "heat";
    double start[N], bar[N], loss;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    passive = argc > 2;
    for (int i = 0; i < N; i++)
        start[i] = 0.3 + 0.1 * i - 0.07 * rank;
    diff_mark_input("u", start, N);
#ifdef RAD
    diff_rad_begin(); /* in a chain whose sends are passive rank 0 makes no active call */
#else
    diff_adolc_begin();
    trace_on(1, 1);
#endif
    {
        Active u[N], x[N], sum = 0;
        for (int i = 0; i < N; i++) {
#ifdef RAD
            x[i] = start[i];
#else
            x[i] <<= start[i];
#endif
            u[i] = x[i];
        }
        if (!strcmp(name, "heat"))
            heat(u);
        else if (!strcmp(name, "cg"))
            cg(u);
        else if (!strcmp(name, "chain"))
            chain(u);
        else
            one(name, u);
        for (int i = 0; i < N; i++)
            sum += (1 + rank + 0.2 * i) * u[i] * u[i];
#ifdef RAD
        loss = sum.val();
        diff_mark_objective(loss);
        diff_rad_gradient(sum);
        for (int i = 0; i < N; i++)
            bar[i] = x[i].adj();
        diff_rad_free();
#else
        double one = 1;
        sum >>= loss;
        trace_off();
        diff_mark_objective(loss);
        fos_reverse(1, 1, N, &one, bar);
        diff_adolc_free();
#endif
    }
    diff_mark_gradient("u", bar, N);
    MPI_Finalize();
    return 0;
}
