/* about: matrices gathered and scattered by columns, and a handle on which two branches depend
 * ranks: 1,2,5,7
 * arguments: columns
 * expect: OK
 * variant: handles; arguments: handles; ranks: 1,2,5,7; expect: OK
 * variant: handles-data; arguments: handles; options: --order data; ranks: 2,5; expect: OK
 *
 * MPI concatenates memory, that is rows. Gathering along columns is transposing, gathering, transposing; scattering
 * likewise. Handles: both the receive and a computation depend on one send's handle, which is still waited for
 * once; the adjoints of the two join before its own. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <words.h>

enum { ROWS = 2, COLUMNS = 3 };

static int rank, size;

static struct diff_tensor *weights(struct diff_tape *tape, size_t count)
{
    double values[ROWS * COLUMNS * 16];
    for (size_t i = 0; i < count; i++)
        values[i] = cos(0.4 + rank + 1.1 * (double)i);
    return diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){count}, values);
}

static struct diff_tensor *flat(struct diff_tensor *x)
{
    return diff_reshape(x, 1, (size_t[]){diff_count(x)});
}

static struct diff_tensor *columns(struct diff_tape *tape, struct diff_tensor *x)
{
    size_t all = (size_t)(COLUMNS * size);
    struct diff_tensor *turned = diff_transpose(diff_reshape(x, 2, (size_t[]){ROWS, COLUMNS}));
    struct diff_tensor *gathered = diff_gather(flat(turned), size - 1, MPI_COMM_WORLD), *wide = x;
    if (rank == size - 1) { /* [ROWS, all], squared */
        wide = diff_transpose(diff_reshape(gathered, 2, (size_t[]){all, ROWS}));
        wide = flat(diff_transpose(diff_mul(wide, wide)));
    }
    struct diff_tensor *mine = diff_scatter(wide, ROWS * COLUMNS, size - 1, MPI_COMM_WORLD);
    struct diff_tensor *back = diff_transpose(diff_reshape(mine, 2, (size_t[]){COLUMNS, ROWS}));
    return diff_dot(flat(back), weights(tape, ROWS * COLUMNS));
}

static struct diff_tensor *handles(struct diff_tape *tape, struct diff_tensor *x)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    struct diff_tensor *room = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){ROWS * COLUMNS});
    struct diff_tensor *sending = diff_isend(x, right, 3, MPI_COMM_WORLD);
    struct diff_tensor *receiving = diff_irecv(diff_join(room, 1, &sending), left, 3, MPI_COMM_WORLD);
    struct diff_tensor *first = diff_mul(diff_join(x, 1, &sending), x);
    struct diff_tensor *came = diff_wait(receiving);
    struct diff_tensor *sent = diff_wait(diff_join_handle(sending, 2, (struct diff_tensor *[]){came, first}));
    struct diff_tensor *both = diff_join(diff_mul(first, came), 1, &sent);
    return diff_dot(both, weights(tape, ROWS * COLUMNS));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double values[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = sin(0.2 + 0.9 * rank + i);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){ROWS * COLUMNS}, values);
    diff_backward(switch_alone(argc, argv, "form", "columns", "handles") ? handles(tape, x) : columns(tape, x));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
