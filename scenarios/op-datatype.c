/* about: derived datatypes with gaps, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Packing takes every other value; unpacking lays them over a buffer whose gaps keep their
 * values. */
#include "op.h"

int main(int argc, char **argv)
{
    struct op op = op_begin(&argc, &argv);
    struct diff_tensor *x = op_input(&op, 3), *square = diff_mul(x, x);

    MPI_Datatype strided;
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    struct diff_tensor *packed = diff_pack(square, 1, strided);
    struct diff_tensor *sum = diff_allreduce(packed, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_unpack(sum, 1, strided, x);
    MPI_Type_free(&strided);

    return op_end(&op, y);
}
