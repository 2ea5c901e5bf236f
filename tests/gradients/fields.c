/* Solvers as people write them, with adjoints by hand: `fields PROGRAM DEFECT`, 0 is right.
 *
 * Halos by persistent requests, an implicit step, a Fourier transform over an exchange of all with all, neighbours of a torus,
 * two groups, a collective made once, messages in parts, a tree, a recurrence over ranks, windows, columns of a matrix. */
#include <complex.h>
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define W MPI_COMM_WORLD
#define D MPI_DOUBLE
enum { N = 4, STEPS = 3, MOST = 8 };

static int rank, ranks, defect;

static double number(int what, int i)
{
    return 0.7 * sin(1.7 * i + 2.3 * rank + 0.9 * what + 0.3) + 0.1 * what;
}

static void fill(double *x, int count, int what)
{
    for (int i = 0; i < count; i++)
        x[i] = number(what, i);
}

/* x is marked, y = PROGRAM(x), J = sum of squares with weights: what most of the programs have in common. */
static void judged(void (*forward)(const double *, double *),
                   void (*back)(const double *, double *, double *), int count, int results)
{
    double x[64], y[64] = {0}, y_bar[64] = {0}, x_bar[64] = {0}, loss = 0;
    fill(x, count, 1);
    diff_mark_input("x", x, (size_t)count);
    forward(x, y);
    for (int i = 0; i < results; i++)
        loss += (1 + 0.3 * i) * y[i] * y[i], y_bar[i] = 2 * (1 + 0.3 * i) * y[i];
    diff_mark_objective(loss);
    back(x, y_bar, x_bar);
    diff_mark_gradient("x", x_bar, (size_t)count);
}

/* ---- an explicit step, its halo by requests that are made once; the adjoint's are others ---- */

static double kept[STEPS + 1][N + 2];

static void halo_forward(const double *x, double *y)
{
    double u[N + 2] = {0};
    int low = rank ? rank - 1 : MPI_PROC_NULL, high = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request requests[4];
    MPI_Recv_init(&u[0], 1, D, low, 0, W, &requests[0]);
    MPI_Recv_init(&u[N + 1], 1, D, high, 1, W, &requests[1]);
    MPI_Send_init(&u[N], 1, D, high, 0, W, &requests[2]);
    MPI_Send_init(&u[1], 1, D, low, 1, W, &requests[3]);
    memcpy(u + 1, x, N * sizeof *x);
    for (int step = 0; step < STEPS; step++) {
        MPI_Startall(4, requests);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        memcpy(kept[step], u, sizeof u);
        for (int i = 1; i <= N; i++) {
            const double *v = kept[step];
            u[i] = v[i] + 0.1 * (v[i - 1] - 2 * v[i] + v[i + 1]) - 0.2 * v[i] * v[i] * v[i];
        }
    }
    memcpy(y, u + 1, N * sizeof *y);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
}

static void halo_back(const double *x, double *y_bar, double *x_bar)
{
    double bar[N + 2] = {0}, from[2] = {0, 0};
    int low = rank ? rank - 1 : MPI_PROC_NULL, high = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Request requests[4];
    (void)x;
    MPI_Recv_init(&from[1], 1, D, high, 2, W, &requests[0]);
    MPI_Recv_init(&from[0], 1, D, low, 3, W, &requests[1]);
    MPI_Send_init(&bar[0], 1, D, low, 2, W, &requests[2]);
    MPI_Send_init(&bar[N + 1], 1, D, high, 3, W, &requests[3]);
    memcpy(bar + 1, y_bar, N * sizeof *y_bar);
    for (int step = STEPS - 1; step >= 0; step--) {
        const double *v = kept[defect == 1 && step ? step - 1 : step]; /* 1: of another step */
        double new[N + 2] = {0};
        if (defect == 2 && step < STEPS - 1) /* 2: what was handed over stays */
            new[0] = bar[0], new[N + 1] = bar[N + 1];
        for (int i = 1; i <= N; i++) {
            new[i] += bar[i] * (1 - 0.2 - 0.6 * v[i] * v[i]);
            new[i - 1] += 0.1 * bar[i], new[i + 1] += 0.1 * bar[i];
        }
        memcpy(bar, new, sizeof bar);
        MPI_Startall(4, requests);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        bar[1] += from[defect == 3], bar[N] += from[defect != 3]; /* 3: the sides exchanged */
    }
    memcpy(x_bar, bar + 1, N * sizeof *x_bar);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
}

/* ---- an implicit step: sweeps of Jacobi, whose adjoint sweeps with the transpose ---- */

enum { SWEEPS = 40 };

static double diagonal(int i)
{
    return 2.5 + 0.1 * i + 0.2 * rank;
}

static void sides(const double *u, double *left, double *right)
{
    int low = rank ? rank - 1 : MPI_PROC_NULL, high = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    *left = *right = 0;
    MPI_Sendrecv(u + N - 1, 1, D, high, 0, left, 1, D, low, 0, W, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u, 1, D, low, 1, right, 1, D, high, 1, W, MPI_STATUS_IGNORE);
}

static void implicit_forward(const double *x, double *y)
{
    memset(y, 0, N * sizeof *y);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double left, right, new[N];
        sides(y, &left, &right);
        for (int i = 0; i < N; i++)
            new[i] =
                (x[i] + 0.5 * (i ? y[i - 1] : left) + (i < N - 1 ? y[i + 1] : right)) / diagonal(i);
        memcpy(y, new, sizeof new);
    }
}

static void implicit_back(const double *x, double *y_bar, double *x_bar)
{
    double solved[N] = {0};
    (void)x;
    for (int sweep = 0; sweep < (defect == 2 ? 2 : SWEEPS); sweep++) {
        double left, right, new[N];
        sides(solved, &left, &right);
        for (int i = 0; i < N; i++) { /* 1: not the transpose */
            double before = i ? solved[i - 1] : left, behind = i < N - 1 ? solved[i + 1] : right;
            new[i] =
                (y_bar[i] + (defect == 1 ? 0.5 : 1) * before + (defect == 1 ? 1 : 0.5) * behind) /
                diagonal(i);
        }
        memcpy(solved, new, sizeof new);
    }
    memcpy(x_bar, solved, sizeof solved);
}

/* ---- a Fourier transform: of the rows, all with all, of the columns ---- */

static void rows(double complex *x, int length, int count, double sign)
{
    for (int k = 0; k < count; k++) {
        double complex sums[MOST * MOST] = {0};
        for (int f = 0; f < length; f++)
            for (int i = 0; i < length; i++)
                sums[f] += x[k * length + i] * cexp(sign * 2 * M_PI * I * f * i / length);
        memcpy(x + k * length, sums, (size_t)length * sizeof *x);
    }
}

/* One row on each rank becomes one column. */
static void exchange(double complex *x)
{
    double complex got[MOST];
    MPI_Alltoall(x, 1, MPI_C_DOUBLE_COMPLEX, got, 1, MPI_C_DOUBLE_COMPLEX, W);
    memcpy(x, got, (size_t)ranks * sizeof *x);
}

static void fourier(void)
{
    double x[MOST], x_bar[MOST], loss = 0;
    double complex z[MOST], bar[MOST];
    fill(x, ranks, 1);
    diff_mark_input("x", x, (size_t)ranks);
    for (int i = 0; i < ranks; i++)
        z[i] = x[i];
    rows(z, ranks, 1, -1);
    exchange(z);
    rows(z, ranks, 1, -1);
    for (int i = 0; i < ranks; i++) {
        double weight = 1 + 0.2 * i + 0.1 * rank;
        loss += weight * creal(z[i]) * cimag(z[i]);
        bar[i] = weight * (cimag(z[i]) + I * creal(z[i]));
    }
    diff_mark_objective(loss);
    rows(bar, ranks, 1, defect == 1 ? -1 : 1); /* 1: not the conjugate */
    if (defect != 2)
        exchange(bar);
    rows(bar, ranks, 1, 1);
    for (int i = 0; i < ranks; i++)
        x_bar[i] = creal(bar[i]) / (defect == 3 ? ranks : 1); /* 3: as of the inverse */
    diff_mark_gradient("x", x_bar, (size_t)ranks);
}

/* ---- neighbours of a torus ---- */

static MPI_Comm torus_make(void)
{
    int sizes[2] = {0, 0}, turns[2] = {1, 1};
    MPI_Comm torus;
    MPI_Dims_create(ranks, 2, sizes);
    MPI_Cart_create(W, 2, sizes, turns, 0, &torus);
    return torus;
}

/* To the four sides 0..3, what the others gave from theirs. */
static void torus_forward(const double *x, double *y)
{
    MPI_Comm torus = torus_make();
    double sent[4], got[4];
    for (int i = 0; i < 4; i++)
        sent[i] = sin(x[i]);
    MPI_Neighbor_alltoall(sent, 1, D, got, 1, D, torus);
    for (int i = 0; i < 4; i++)
        y[i] = got[i] * (1 + i) + x[i];
    MPI_Comm_free(&torus);
}

static void torus_back(const double *x, double *y_bar, double *x_bar)
{
    MPI_Comm torus = torus_make();
    double sent[4], got[4];
    for (int i = 0; i < 4; i++)
        sent[i] = y_bar[i] * (1 + i);
    MPI_Neighbor_alltoall(sent, 1, D, got, 1, D, torus);
    for (int i = 0; i < 4; i++)
        x_bar[i] = y_bar[i] + cos(x[i]) * got[defect == 1 ? i ^ 1 : defect == 2 ? i ^ 2 : i];
    MPI_Comm_free(&torus);
}

/* ---- two groups: the one's sum for all of the other ---- */

static MPI_Comm groups_make(void)
{
    MPI_Comm own, two;
    MPI_Comm_split(W, rank % 2, rank, &own);
    MPI_Intercomm_create(own, 0, W, rank % 2 ? 0 : 1, 4, &two);
    MPI_Comm_free(&own);
    return two;
}

static void groups_forward(const double *x, double *y)
{
    MPI_Comm two = groups_make();
    MPI_Allreduce(x, y, N, D, MPI_SUM, two);
    MPI_Comm_free(&two);
}

static void groups_back(const double *x, double *y_bar, double *x_bar)
{
    MPI_Comm two = groups_make(), own = two;
    (void)x;
    if (defect == 1) /* the sum over the own group */
        MPI_Comm_split(W, rank % 2, rank, &own);
    for (int i = 0; i < N; i++)
        y_bar[i] *= defect == 2 && rank == 2 ? 1 + 1e-7 : 1;
    MPI_Allreduce(y_bar, x_bar, N, D, MPI_SUM, own);
    if (own != two)
        MPI_Comm_free(&own);
    MPI_Comm_free(&two);
}

/* ---- a collective made once and started in each step ---- */

static void started_forward(const double *x, double *y)
{
    double in[N], out[N];
    MPI_Request request;
    memcpy(y, x, N * sizeof *y);
    MPI_Allreduce_init(in, out, N, D, MPI_SUM, W, MPI_INFO_NULL, &request);
    for (int step = 0; step < STEPS; step++) {
        memcpy(kept[step], y, N * sizeof *y);
        memcpy(in, y, sizeof in);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++)
            y[i] = tanh(y[i] + 0.3 * out[i]);
        memcpy(kept[step] + 1, y, N * sizeof *y);
    }
    MPI_Request_free(&request);
}

static void started_back(const double *x, double *y_bar, double *x_bar)
{
    double in[N] = {0}, out[N];
    MPI_Request request;
    (void)x;
    memcpy(x_bar, y_bar, N * sizeof *x_bar);
    MPI_Allreduce_init(in, out, N, D, MPI_SUM, W, MPI_INFO_NULL, &request);
    for (int step = STEPS - 1; step >= 0; step--) {
        for (int i = 0; i < N; i++)
            x_bar[i] *= 1 - kept[step][i + 1] * kept[step][i + 1];
        if (!(defect == 1 && step == 0)) /* 1: the last one starts with what the one before had */
            memcpy(in, x_bar, sizeof in);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++)
            x_bar[i] += (defect == 2 && i == 1 ? 0.3 + 1e-8 : 0.3) * out[i];
    }
    MPI_Request_free(&request);
}

/* ---- a message in parts ---- */

static void parts_pass(double *sent, double *got, int to, int from, int tag)
{
    MPI_Request requests[2];
    MPI_Psend_init(sent, N, 1, D, to, tag, W, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(got, N, 1, D, from, tag, W, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    for (int i = N - 1; i >= 0; i--)
        MPI_Pready(i, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void parts_forward(const double *x, double *y)
{
    double sent[N];
    for (int i = 0; i < N; i++)
        sent[i] = x[i] * x[i];
    parts_pass(sent, y, (rank + 1) % ranks, (rank + ranks - 1) % ranks, 0);
}

static void parts_back(const double *x, double *y_bar, double *x_bar)
{
    double sent[N], got[N];
    for (int i = 0; i < N; i++)
        sent[i] = y_bar[defect == 1 ? N - 1 - i : i]; /* 1: in the order they were ready */
    parts_pass(sent, got, (rank + ranks - 1) % ranks, (rank + 1) % ranks, 1);
    for (int i = 0; i < N; i++)
        x_bar[i] = 2 * x[i] * got[i] * (defect == 2 && i == 2 ? -1 : 1);
}

/* ---- a tree of messages to rank 0 ---- */

static void tree_forward(const double *x, double *y)
{
    double sum[N], got[N];
    memcpy(sum, x, sizeof sum);
    for (int far = 1; far < ranks; far *= 2)
        if (rank % (2 * far) == far) {
            MPI_Send(sum, N, D, rank - far, far, W);
            break;
        } else if (rank + far < ranks) {
            MPI_Recv(got, N, D, rank + far, far, W, MPI_STATUS_IGNORE);
            for (int i = 0; i < N; i++)
                sum[i] += got[i];
        }
    for (int i = 0; i < N; i++)
        y[i] = rank ? 0 : sin(sum[i]);
    memcpy(kept[0], sum, sizeof sum);
}

static void tree_back(const double *x, double *y_bar, double *x_bar)
{
    int far = 1, top = 1;
    (void)x;
    while (far < ranks && rank % (2 * far) == 0)
        far *= 2;
    if (rank)
        MPI_Recv(x_bar, N, D, rank - far, 100 + far, W, MPI_STATUS_IGNORE);
    for (int i = 0; i < N && rank == 0; i++)
        x_bar[i] = y_bar[i] * cos(kept[0][i]);
    for (top = far / 2; top >= 1; top /= 2)
        if (rank + top < ranks) {
            double sent[N];
            for (int i = 0; i < N; i++) /* 1: forgets the one without a partner; 2: a share */
                sent[i] = x_bar[i] * (defect == 1 && top > 1 && rank + 2 * top > ranks ? 0
                                      : defect == 2                                    ? 0.5
                                                                                       : 1);
            MPI_Send(sent, N, D, rank + top, 100 + top, W);
        }
}

/* ---- a recurrence over the ranks: what comes from those before ---- */

static void before_forward(const double *x, double *y)
{
    double sums[N] = {0};
    MPI_Exscan(x, sums, N, D, MPI_SUM, W);
    for (int i = 0; i < N; i++)
        y[i] = rank ? sums[i] * x[i] : x[i];
    memcpy(kept[0], sums, sizeof sums);
}

static void before_back(const double *x, double *y_bar, double *x_bar)
{
    double all[N * MOST], bar[N];
    for (int i = 0; i < N; i++) {
        x_bar[i] = rank ? y_bar[i] * kept[0][i] : y_bar[i];
        bar[i] = rank ? y_bar[i] * x[i] : 0;
    }
    MPI_Allgather(bar, N, D, all, N, D, W);
    for (int r = rank + (defect != 1); r < ranks - (defect == 2);
         r++) /* 1: itself, too; 2: one less */
        for (int i = 0; i < N; i++)
            x_bar[i] += all[N * r + i];
}

/* ---- a window: everybody reads of the next, everybody adds to it ---- */

static void window_forward(const double *x, double *y)
{
    double memory[N];
    MPI_Win window;
    memcpy(memory, x, sizeof memory);
    MPI_Win_create(memory, sizeof memory, sizeof(double), MPI_INFO_NULL, W, &window);
    MPI_Win_fence(0, window);
    MPI_Get(y, N, D, (rank + 1) % ranks, 0, N, D, window);
    MPI_Get(y + N, 2, D, 0, 1, 2, D, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static void window_back(const double *x, double *y_bar, double *x_bar)
{
    MPI_Win window;
    (void)x;
    MPI_Win_create(x_bar, N * sizeof *x_bar, sizeof(double), MPI_INFO_NULL, W, &window);
    MPI_Win_fence(0, window);
    MPI_Accumulate(y_bar, N, D, (rank + (defect == 3 ? ranks - 1 : 1)) % ranks, 0, N, D, MPI_SUM,
                   window);
    if (defect == 1)
        MPI_Win_fence(0, window);
    MPI_Accumulate(y_bar + N, 2, D, 0, defect == 2 ? 0 : 1, 2, D,
                   defect == 1 ? MPI_REPLACE : MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*forward)(const double *, double *);
        void (*back)(const double *, double *, double *);
        int count, results;
    } programs[] = {{"halo", halo_forward, halo_back, N, N},
                    {"implicit", implicit_forward, implicit_back, N, N},
                    {"torus", torus_forward, torus_back, N, N},
                    {"groups", groups_forward, groups_back, N, N},
                    {"started", started_forward, started_back, N, N},
                    {"parts", parts_forward, parts_back, N, N},
                    {"tree", tree_forward, tree_back, N, N},
                    {"before", before_forward, before_back, N, N},
                    {"window", window_forward, window_back, N, N + 2}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &ranks);
    defect = argc > 2 ? atoi(argv[2]) : 0;
    if (argc > 1 && strcmp(argv[1], "fourier") == 0)
        fourier();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc > 1 && strcmp(argv[1], programs[i].name) == 0)
            judged(programs[i].forward, programs[i].back, programs[i].count, programs[i].results);
    MPI_Finalize();
    return 0;
}
