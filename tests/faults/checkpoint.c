/* Two programs that start again from what they kept: a training loop, which prints its last gradient, and a solver. Each writes its state to
 * a file of its rank after every step and begins with the newest step that all ranks have. Word 1: training or solver; word 2: the
 * folder; word 3, "torn": what a rank has kept is used whether or not the others have it, too. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4, VALUES = 3 };

static int rank, size;
static const char *folder;

struct state {
    int step;
    double values[VALUES];
};

static void path_of(char path[500], int step)
{
    snprintf(path, 500, "%s/rank%d.step%d", folder, rank, step);
}

/* Whole or not at all. */
static void keep(const struct state *state)
{
    char path[500], other[510];
    path_of(path, state->step);
    snprintf(other, sizeof other, "%s.new", path);
    FILE *file = fopen(other, "wb");
    if (!file || fwrite(state, sizeof *state, 1, file) != 1 || fclose(file) || rename(other, path))
        MPI_Abort(MPI_COMM_WORLD, 3);
}

static void load(struct state *state, int torn)
{
    char path[500];
    int mine = 0, newest;
    FILE *file;
    for (int step = 1; step <= STEPS; step++) {
        path_of(path, step);
        file = fopen(path, "rb");
        if (file)
            mine = step;
        if (file)
            fclose(file);
    }
    newest = mine;
    if (!torn)
        MPI_Allreduce(&mine, &newest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!newest)
        return;
    path_of(path, newest);
    file = fopen(path, "rb");
    if (!file || fread(state, sizeof *state, 1, file) != 1)
        MPI_Abort(MPI_COMM_WORLD, 4);
    fclose(file);
}

/* w -= rate * gradient of sum over ranks of (w . x - 1)^2, every rank with data x of its own. */
static void train(struct state *state)
{
    double x[VALUES], error = -1, gradient[VALUES], all[VALUES];
    for (int i = 0; i < VALUES; i++) {
        x[i] = 0.1 * (rank + 1) + 0.2 * i;
        error += state->values[i] * x[i];
    }
    for (int i = 0; i < VALUES; i++)
        gradient[i] = 2 * error * x[i];
    MPI_Allreduce(gradient, all, VALUES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < VALUES; i++)
        state->values[i] -= 0.05 * all[i];
    if (state->step == STEPS - 1)
        printf("gradient on rank %d: %.17g %.17g %.17g\n", rank, all[0], all[1], all[2]);
}

/* A relaxation on a ring. */
static void relax(struct state *state)
{
    double left, right, *v = state->values;
    MPI_Sendrecv(&v[VALUES - 1], 1, MPI_DOUBLE, (rank + 1) % size, 0, &left, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&v[0], 1, MPI_DOUBLE, (rank + size - 1) % size, 1, &right, 1, MPI_DOUBLE,
                 (rank + 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double next[VALUES] = {(left + v[1]) / 2, (v[0] + v[2]) / 2, (v[1] + right) / 2};
    memcpy(v, next, sizeof next);
    if (state->step == STEPS - 1)
        printf("solution on rank %d: %.17g %.17g %.17g\n", rank, v[0], v[1], v[2]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = argv[2];
    struct state state = {0, {1.0 + rank, 0.5, -0.25 * rank}};
    if (!strcmp(argv[1], "training"))
        state = (struct state){0, {1.0, 0.5, -0.25}};
    load(&state, argc > 3);
    while (state.step < STEPS) {
        if (!strcmp(argv[1], "training"))
            train(&state);
        else
            relax(&state);
        state.step++;
        keep(&state);
    }
    MPI_Finalize();
}
