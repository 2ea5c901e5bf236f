/* A hand-written adjoint of a ring, with complex numbers in place of real ones, or (PLAIN) with marks of
 * doubles. The loss is computed so that differences of it are noise in their last seven digits.
 *
 * Arguments: a relative error of the adjoint (0: right), and "abs": what is not analytic. */
#include <complex.h>
#include <diff.h>
#include <mpi.h>
#include <stdlib.h>

enum { N = 3 };

#ifdef PLAIN
typedef double number;
#define NUMBER  MPI_DOUBLE
#define REAL(x) (x)
#define SIN(x)  creal(csin(x))
#else
typedef double complex number;
#define NUMBER  MPI_C_DOUBLE_COMPLEX
#define REAL(x) creal(x)
#define SIN(x)  csin(x)
#endif

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double factor = 1 + (argc > 1 ? atof(argv[1]) : 0);
    volatile double large = 1000; /* (large + y)^2 - large^2 - 2 large y is y^2 */
    number x[N], left[N], loss = 0;
    double bar[N], own[N], got[N];
    for (int i = 0; i < N; i++)
        x[i] = 0.3 + 0.2 * i + 0.1 * rank;
#ifdef PLAIN
    diff_mark_input("x", x, N);
#else
    diff_mark_complex("x", x, N);
#endif
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Sendrecv(x, N, NUMBER, next, 0, left, N, NUMBER, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) {
        number y = SIN(x[i]) * left[i];
        loss += argc > 2 ? cabs(y) * cabs(y)
                         : (large + y) * (large + y) - large * large - 2 * large * y;
        own[i] = 2 * REAL(y) * creal(ccos(x[i])) * REAL(left[i]) * factor;
        bar[i] = 2 * REAL(y) * REAL(SIN(x[i]));
    }
#ifdef PLAIN
    diff_mark_objective(loss);
#else
    diff_mark_complex_objective(creal(loss), cimag(loss));
#endif
    MPI_Sendrecv(bar, N, MPI_DOUBLE, previous, 1, got, N, MPI_DOUBLE, next, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++)
        own[i] += got[i];
    diff_mark_gradient("x", own, N);
    MPI_Finalize();
    return 0;
}
