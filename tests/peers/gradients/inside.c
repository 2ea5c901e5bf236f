/* diff_gradcheck on a real MPI: the check that a program makes of itself.
 *
 *   inside right|vjp|root|float|twice|lone|lone-vjp
 *
 * Cubes of every rank's three values are summed over the ranks and weighted. `vjp`: the derivative
 * of the cube is wrong on the last rank alone. `root`: a broadcast's root is the only one that has
 * the input. `float`: in single precision. `twice`: one backward pass after another. `lone`: the cube
 * that has no tangent is that of the last rank; the others multiply. Rank 0 prints what was found
 * wrong, and every rank must say the same. */
#include <diff.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 3 };

static int rank, ranks, calls;
static const char *way;

static void cube(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = ((const double *)x)[i] * ((const double *)x)[i] * ((const double *)x)[i];
}

static void cube_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    double factor = strstr(context, "vjp") && rank == ranks - 1 ? 3.001 : 3;
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] =
            factor * ((const double *)x)[i] * ((const double *)x)[i] * ((const double *)y_bar)[i];
}

static void pass(struct diff_tape *tape, const char *name)
{
    struct diff_custom_rules rules = {.name = "cube", .forward = cube, .vjp = cube_vjp};
    double values[COUNT], weights[COUNT];
    float narrow[COUNT];
    bool single = !strcmp(way, "float"), root = !strcmp(way, "root");
    for (int i = 0; i < COUNT; i++) {
        values[i] = 0.5 + 0.25 * i + 0.125 * rank;
        narrow[i] = (float)values[i];
        weights[i] = 1.0 / (1 + i + rank);
    }
    struct diff_tensor *x = diff_input(tape, name, single ? DIFF_FLOAT : DIFF_DOUBLE, 1,
                                       (size_t[]){COUNT}, single ? (void *)narrow : (void *)values);
    bool cubes = !single && (strncmp(way, "lone", 4) != 0 || rank == ranks - 1);
    struct diff_tensor *y = cubes ? diff_custom(x, &rules, (void *)way) : diff_mul(x, x);
    y = root ? diff_bcast(y, ranks - 1, MPI_COMM_WORLD)
             : diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *loss =
        single ? diff_sum(y)
               : diff_dot(y, diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){COUNT}, weights));
    diff_backward(loss);
}

static void objective(void *context)
{
    calls++;
    for (int i = 0; i < (!strcmp(context, "twice") ? 2 : 1); i++) {
        struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
        pass(tape, i ? "second" : "x");
        diff_tape_free(tape);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    way = argc > 1 ? argv[1] : "right";
    int wrong = diff_gradcheck(objective, (void *)way), least, most;
    MPI_Allreduce(&wrong, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!rank)
        printf("wrong: %d, alike: %s, called again: %s\n", wrong, least == most ? "yes" : "no",
               calls > 1 ? "yes" : "no");
    MPI_Finalize();
    return 0;
}
