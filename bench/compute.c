/* Programs that compute between their messages, as they are written for any MPI: bodies that attract each
 * other, a Jacobi iteration with halos, and a hydrodynamics-like stencil in three dimensions whose receives
 * are posted before it computes. Prints a sum over all ranks and the seconds of the loop.
 *
 *     compute bodies|jacobi|hydro SIZE STEPS
 *
 * The whole of the work is the same on any number of ranks. */
#include <math.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

static void *zeroed(size_t count)
{
    void *memory = calloc(count, sizeof(double));
    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

static double sum_of(double mine)
{
    double sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* --- bodies: everybody's places are gathered, each rank moves its own --- */

static void attract(const double *place, double *speed, int first, int own, int all)
{
    for (int i = first; i < first + own; i++) {
        double x = 0, y = 0, z = 0;
        for (int j = 0; j < all; j++) {
            double dx = place[3 * j] - place[3 * i], dy = place[3 * j + 1] - place[3 * i + 1],
                   dz = place[3 * j + 2] - place[3 * i + 2];
            double square = dx * dx + dy * dy + dz * dz + 1e-3, pull = 1 / (square * sqrt(square));
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
        speed[3 * (i - first)] += 1e-6 * x;
        speed[3 * (i - first) + 1] += 1e-6 * y;
        speed[3 * (i - first) + 2] += 1e-6 * z;
    }
}

static double bodies(int size, int steps)
{
    int own = size / ranks, all = own * ranks, first = rank * own;
    double *place = zeroed(3 * (size_t)all), *speed = zeroed(3 * (size_t)own), sum = 0;
    for (int i = 0; i < 3 * all; i++)
        place[i] = sin(i * 0.7) + cos(i * 1.3);
    for (int step = 0; step < steps; step++) {
        attract(place, speed, first, own, all);
        for (int i = 0; i < 3 * own; i++)
            place[3 * first + i] += speed[i];
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, 3 * own, MPI_DOUBLE,
                      MPI_COMM_WORLD);
    }
    for (int i = 0; i < 3 * own; i++)
        sum += fabs(place[3 * first + i]);
    free(place);
    free(speed);
    return sum_of(sum);
}

/* --- jacobi: rows of a square, neighbours' rows above and below --- */

static double jacobi(int size, int steps)
{
    int rows = size / ranks, up = rank ? rank - 1 : MPI_PROC_NULL,
        down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    size_t width = (size_t)size;
    double *old = zeroed((size_t)(rows + 2) * width), *new = zeroed((size_t)(rows + 2) * width),
           sum = 0;
    for (int row = 1; row <= rows; row++)
        old[(size_t)row * width] = new[(size_t)row * width] = 1;
    for (int step = 0; step < steps; step++) {
        MPI_Sendrecv(old + width, size, MPI_DOUBLE, up, 0, old + (size_t)(rows + 1) * width, size,
                     MPI_DOUBLE, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(old + (size_t)rows * width, size, MPI_DOUBLE, down, 1, old, size, MPI_DOUBLE,
                     up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int row = 1; row <= rows; row++)
            for (size_t i = 1; i + 1 < width; i++) {
                const double *at = old + (size_t)row * width + i;
                new[(size_t)row * width + i] =
                    0.25 * (at[-1] + at[1] + at[-(ptrdiff_t)width] + at[width]);
            }
        double *swap = old;
        old = new;
        new = swap;
    }
    for (size_t i = width; i < (size_t)(rows + 1) * width; i++)
        sum += old[i];
    free(old);
    free(new);
    return sum_of(sum);
}

/* --- hydro: layers of a cube; an equation of state for each cell, and the shortest step of all --- */

enum { FIELDS = 3 };

static double cells(double *const *field, double *const *next, size_t layer, int layers,
                    size_t width, double dt)
{
    double fastest = 0;
    for (size_t i = layer + width + 1; i + layer + width + 1 < (size_t)(layers + 2) * layer; i++) {
        double energy = field[0][i], volume = 1 + field[1][i] * 1e-3, speed = field[2][i];
        double pressure = (energy + 1e-9) / (volume * sqrt(volume)),
               sound = sqrt(fabs(1.4 * pressure / volume));
        double flow = field[0][i - 1] + field[0][i + 1] + field[0][i - width] +
                      field[0][i + width] + field[0][i - layer] + field[0][i + layer] - 6 * energy;
        next[0][i] = energy + dt * (flow - 0.01 * pressure * speed);
        next[1][i] = field[1][i] + dt * speed;
        next[2][i] = speed + dt * (pressure - 0.1 * sound * speed);
        fastest = sound > fastest ? sound : fastest;
    }
    return fastest;
}

static double hydro(int size, int steps)
{
    size_t width = (size_t)size, layer = width * width;
    int layers = size / ranks, up = rank ? rank - 1 : MPI_PROC_NULL,
        down = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, part = FIELDS * (int)layer;
    double *field[FIELDS], *next[FIELDS], dt = 1e-3, sum = 0;
    double *halo[4]; /* received from above and below, sent to them */
    for (int i = 0; i < FIELDS; i++) {
        field[i] = zeroed((size_t)(layers + 2) * layer);
        next[i] = zeroed((size_t)(layers + 2) * layer);
    }
    for (int i = 0; i < 4; i++)
        halo[i] = zeroed((size_t)part);
    if (!rank)
        field[0][layer + layer / 2 + width / 2] = 1e3;
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[4];
        MPI_Irecv(halo[0], part, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(halo[1], part, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
        double fastest = cells(field, next, layer, layers, width, dt);
        for (int i = 0; i < FIELDS; i++) {
            memcpy(halo[2] + (size_t)i * layer, next[i] + layer, layer * sizeof(double));
            memcpy(halo[3] + (size_t)i * layer, next[i] + (size_t)layers * layer,
                   layer * sizeof(double));
        }
        MPI_Isend(halo[2], part, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(halo[3], part, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < FIELDS; i++) {
            memcpy(next[i], halo[0] + (size_t)i * layer, layer * sizeof(double));
            memcpy(next[i] + (size_t)(layers + 1) * layer, halo[1] + (size_t)i * layer,
                   layer * sizeof(double));
            double *swap = field[i];
            field[i] = next[i];
            next[i] = swap;
        }
        MPI_Allreduce(MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        dt = 1e-3 / (1 + fastest * 1e-3);
    }
    for (size_t i = layer; i < (size_t)(layers + 1) * layer; i++)
        sum += field[0][i];
    for (int i = 0; i < FIELDS; i++) {
        free(field[i]);
        free(next[i]);
    }
    for (int i = 0; i < 4; i++)
        free(halo[i]);
    return sum_of(sum);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *kind = argc > 1 ? argv[1] : "bodies";
    int size = argc > 2 ? atoi(argv[2]) : 2048, steps = argc > 3 ? atoi(argv[3]) : 20;
    double from = MPI_Wtime();
    double sum = !strcmp(kind, "bodies")   ? bodies(size, steps)
                 : !strcmp(kind, "jacobi") ? jacobi(size, steps)
                                           : hydro(size, steps);
    double seconds = MPI_Wtime() - from;
    if (!rank)
        printf("%s %d ranks: sum %.12g, %.3f s\n", kind, ranks, sum, seconds);
    MPI_Finalize();
    return 0;
}
