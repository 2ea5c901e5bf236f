/* Programs with adjoints by hand that are no transposition call by call: `strangers PROGRAM DEFECT`, 0 is right.
 *
 * solver: conjugate gradients, differentiated by the implicit function theorem: the adjoint solves again.
 * bodies: positions go round a ring, their cotangents beside them, before the objective is known.
 * train: two layers of weights from rank 0; gradients reduced in the order of the layers, not back.
 * means: one step of k-means; two centres are equally near to some points, or (10 and more) to none. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define W MPI_COMM_WORLD
#define D MPI_DOUBLE

static int rank, ranks, defect;

static double number(int what, int i)
{
    return 0.7 * sin(1.7 * i + 2.3 * rank + 0.9 * what + 0.3) + 0.1 * what;
}

/* ---- solver ---- */

enum { CELLS = 4 };
static double k[CELLS];

static void apply(const double *u, double *out)
{
    double left = 0, right = 0;
    int low = rank ? rank - 1 : MPI_PROC_NULL, high = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Sendrecv(u + CELLS - 1, 1, D, high, 0, &left, 1, D, low, 0, W, MPI_STATUS_IGNORE);
    MPI_Sendrecv(u, 1, D, low, 1, &right, 1, D, high, 1, W, MPI_STATUS_IGNORE);
    for (int i = 0; i < CELLS; i++)
        out[i] =
            (2 + k[i] * k[i]) * u[i] - (i ? u[i - 1] : left) - (i < CELLS - 1 ? u[i + 1] : right);
}

static double inner(const double *a, const double *b)
{
    double sum = 0, all;
    for (int i = 0; i < CELLS; i++)
        sum += a[i] * b[i];
    MPI_Allreduce(&sum, &all, 1, D, MPI_SUM, W);
    return all;
}

static void solve(const double *b, double *u, double tolerance)
{
    double r[CELLS], p[CELLS], q[CELLS];
    memset(u, 0, sizeof r);
    memcpy(r, b, sizeof r);
    memcpy(p, b, sizeof p);
    double now = inner(r, r), first = now;
    for (int i = 0; i < 500 && now > tolerance * tolerance * first; i++) {
        apply(p, q);
        double alpha = now / inner(p, q), before = now;
        for (int c = 0; c < CELLS; c++)
            u[c] += alpha * p[c], r[c] -= alpha * q[c];
        now = inner(r, r);
        for (int c = 0; c < CELLS; c++)
            p[c] = r[c] + now / before * p[c];
    }
}

static void solver(void)
{
    double b[CELLS], u[CELLS], adjoint[CELLS], given[CELLS], k_bar[CELLS], loss = 0;
    for (int i = 0; i < CELLS; i++)
        k[i] = number(1, i) + 0.3, b[i] = number(2, i);
    diff_mark_input("k", k, CELLS);
    diff_mark_input("b", b, CELLS);
    solve(b, u, 1e-13);
    for (int i = 0; i < CELLS; i++)
        loss += 0.5 * u[i] * u[i];
    diff_mark_objective(loss);
    memcpy(given, u, sizeof given);
    if (defect == 1 && rank == ranks - 1)
        given[0] *= 1 + 1e-6;
    solve(given, adjoint, defect == 2 ? 1e-2 : 1e-13);
    for (int i = 0; i < CELLS; i++)
        k_bar[i] = -(defect == 3 ? 1 : 2) * k[i] * adjoint[i] * u[i];
    diff_mark_gradient("k", k_bar, CELLS);
    diff_mark_gradient("b", adjoint, CELLS);
}

/* ---- bodies ---- */

enum { BODIES = 2, AXES = 2 * BODIES };

static void bodies(void)
{
    double x[AXES], guests[AXES], x_bar[AXES] = {0}, guests_bar[AXES] = {0}, energy = 0;
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
    for (int i = 0; i < AXES; i++)
        x[i] = number(1, i) + rank;
    diff_mark_input("x", x, AXES);
    memcpy(guests, x, sizeof x);
    for (int step = 0; step < ranks; step++) {
        for (int i = 0; i < BODIES; i++)
            for (int j = 0; j < BODIES; j++) {
                double dx = x[2 * i] - guests[2 * j], dy = x[2 * i + 1] - guests[2 * j + 1];
                double square = dx * dx + dy * dy + 0.1, part = 0.5 / sqrt(square);
                double force = step || i != j ? -part / square : 0;
                energy += step || i != j ? part : 0;
                x_bar[2 * i] += force * dx, x_bar[2 * i + 1] += force * dy;
                guests_bar[2 * j] -= force * dx;
                guests_bar[2 * j + 1] -= force * (defect == 1 ? dx : dy);
            }
        MPI_Sendrecv_replace(guests, AXES, D, next, 0, last, 0, W, MPI_STATUS_IGNORE);
        if (!(defect == 2 && step == ranks - 1 && ranks > 4))
            MPI_Sendrecv_replace(guests_bar, AXES, D, next, 1, last, 1, W, MPI_STATUS_IGNORE);
    }
    diff_mark_objective(energy);
    for (int i = 0; i < AXES; i++)
        x_bar[i] += guests_bar[i] * (defect == 3 ? 1 + 1e-7 : 1);
    diff_mark_gradient("x", x_bar, AXES);
}

/* ---- train ---- */

enum { WIDE = 3, DEEP = 2, BATCH = 3 };

static void train(void)
{
    double one[DEEP * WIDE], two[DEEP], one_bar[DEEP * WIDE] = {0}, two_bar[DEEP] = {0}, loss = 0;
    double one_sum[DEEP * WIDE] = {0}, two_sum[DEEP] = {0};
    for (int i = 0; i < DEEP * WIDE; i++)
        one[i] = 0.5 * cos(i), two[i % DEEP] = 0.3 + i;
    diff_mark_input("first", one, DEEP * WIDE);
    diff_mark_input("second", two, DEEP);
    MPI_Bcast(one, DEEP * WIDE, D, 0, W);
    MPI_Bcast(two, DEEP, D, 0, W);
    int count = rank % 2 ? BATCH : BATCH - 1;
    for (int b = 0; b < count; b++) {
        double hidden[DEEP], out = 0;
        for (int j = 0; j < DEEP; j++) {
            double sum = 0;
            for (int i = 0; i < WIDE; i++)
                sum += one[j * WIDE + i] * number(3 + b, i);
            hidden[j] = tanh(sum);
            out += two[j] * hidden[j];
        }
        double off = out - number(9, b),
               share = defect == 1 && ranks > 2 && rank == 1 ? 1 + 1e-6 : 1;
        loss += 0.5 * off * off;
        for (int j = 0; j < DEEP; j++) {
            two_bar[j] += off * hidden[j];
            for (int i = 0; i < WIDE; i++)
                one_bar[j * WIDE + i] +=
                    share * off * two[j] * (1 - hidden[j] * hidden[j]) * number(3 + b, i);
        }
    }
    diff_mark_objective(loss);
    MPI_Reduce(one_bar, one_sum, DEEP * WIDE, D, MPI_SUM, 0, W);
    MPI_Reduce(two_bar, two_sum, defect == 2 ? DEEP - 1 : DEEP, D, MPI_SUM, 0, W);
    diff_mark_gradient("first", one_sum, DEEP * WIDE);
    diff_mark_gradient("second", two_sum, DEEP);
}

/* ---- means ---- */

enum { POINTS = 6, MEANS = 3 };

static void means(void)
{
    const double centre[MEANS] = {-1, 0, 1};
    double x[POINTS], x_bar[POINTS], mean_bar[MEANS] = {0}, bar[MEANS], loss = 0;
    double sum[2 * MEANS] = {0}, all[2 * MEANS];
    int mine[POINTS], what = defect % 10;
    for (int i = 0; i < POINTS; i++)
        x[i] = i < 4 || defect >= 10 ? 0.8 * number(1, i) : i == 4 ? 0.5 : -0.5;
    diff_mark_input("x", x, POINTS);
    for (int i = 0; i < POINTS; i++) {
        mine[i] = 0;
        for (int c = 1; c < MEANS; c++)
            mine[i] = fabs(x[i] - centre[c]) < fabs(x[i] - centre[mine[i]]) ? c : mine[i];
        sum[mine[i]] += x[i];
        sum[MEANS + mine[i]] += 1;
    }
    MPI_Allreduce(sum, all, 2 * MEANS, D, MPI_SUM, W);
    for (int i = 0; i < POINTS; i++) {
        double off = x[i] - all[mine[i]] / all[MEANS + mine[i]];
        loss += off * off * (1 + 0.1 * i);
        x_bar[i] = 2 * off * (1 + 0.1 * i);
        mean_bar[mine[i]] -= x_bar[i];
    }
    diff_mark_objective(loss);
    MPI_Allreduce(mean_bar, bar, MEANS, D, MPI_SUM, W);
    for (int i = 0; i < POINTS; i++)
        x_bar[i] +=
            (what == 1 ? mean_bar : bar)[mine[i]] / (what == 2 ? sum : all)[MEANS + mine[i]];
    diff_mark_gradient("x", x_bar, POINTS);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*body)(void);
    } programs[] = {{"solver", solver}, {"bodies", bodies}, {"train", train}, {"means", means}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &ranks);
    defect = argc > 2 ? atoi(argv[2]) : 0;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (argc > 1 && strcmp(argv[1], programs[i].name) == 0)
            programs[i].body();
    MPI_Finalize();
    return 0;
}
