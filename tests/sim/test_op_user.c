/* test_op_user.c: operations of a program in reductions: those that do not commute, large counts,
 * derived types, handles that were freed. */
#include <mpi.h>

#include "sim/operators/op.h"
#include "tests/sim/datatype_naive.h"
#include "tests/tap.h"

/* Products of 2x2 matrices do not commute. */
static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const int(*a)[4] = in;
    int(*b)[4] = inout;
    (void)type;
    for (int i = 0; i < *length; i++) {
        int c[4] = {a[i][0] * b[i][0] + a[i][1] * b[i][2], a[i][0] * b[i][1] + a[i][1] * b[i][3],
                    a[i][2] * b[i][0] + a[i][3] * b[i][2], a[i][2] * b[i][1] + a[i][3] * b[i][3]};
        memcpy(b[i], c, sizeof c);
    }
}
static void multiply_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    int n = (int)*length;
    multiply(in, inout, &n, type);
}

static bool products_agree(MPI_Op handle, MPI_Datatype datatype)
{
    enum { N = 6, LENGTH = 4 };
    int matrices[N][LENGTH][4], original[N][LENGTH][4], expected[LENGTH][4], result[LENGTH][4];
    const void *inputs[N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < LENGTH * 4; k++)
            matrices[i][k / 4][k % 4] = naive_between(-3, 3);
    memcpy(original, matrices, sizeof original);
    memcpy(expected, matrices[N - 1], sizeof expected);
    for (int i = N - 2, n = LENGTH; i >= 0; i--)
        multiply(matrices[i], expected, &n, NULL);
    for (int i = 0; i < N; i++)
        inputs[i] = matrices[i];
    const struct sim_op *op = sim_op_get(handle);
    const struct sim_datatype *type = sim_datatype_get(datatype);
    sim_op_reduce_many(op, type, LENGTH, inputs, N, result);
    bool same = memcmp(result, expected, sizeof result) == 0;
    same = same && memcmp(matrices, original, sizeof original) == 0;
    for (int i = 1; i < N; i++)
        sim_op_apply_right(op, matrices[0], matrices[i], LENGTH, type);
    return same && memcmp(matrices[0], expected, sizeof expected) == 0;
}

static void test_user_operations(void)
{
    MPI_Op op, large;
    MPI_Datatype matrix;
    int commutes;
    PMPI_Type_contiguous(4, MPI_INT, &matrix);
    PMPI_Type_commit(&matrix);
    PMPI_Op_create(multiply, 0, &op);
    PMPI_Op_create_c(multiply_large, 0, &large);
    tap_ok(products_agree(op, matrix), "a program's operation is applied in rank order");
    tap_ok(products_agree(large, matrix), "a program's large operation is applied in rank order");
    PMPI_Op_commutative(op, &commutes);
    tap_is_int(commutes, 0, "an operation is as commutative as its program says");
    PMPI_Op_commutative(MPI_SUM, &commutes);
    tap_ok(commutes, "predefined operations commute");
    MPI_Op stale = op;
    PMPI_Op_free(&op);
    PMPI_Op_free(&large);
    PMPI_Type_free(&matrix);
    tap_ok(op == MPI_OP_NULL && !sim_op_get(MPI_OP_NULL), "freeing an operation nulls its handle");
    (void)stale;
    tap_is_int(PMPI_Op_free(&(MPI_Op){MPI_SUM}), MPI_ERR_OP, "a predefined one cannot be freed");
}

/* Elements with a gap before and between them. */
static void add_at_four(void *in, void *inout, int *length, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    PMPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *length; i++)
        *(int *)((char *)inout + i * extent + 4) += *(int *)((char *)in + i * extent + 4);
}

static void test_user_operation_on_gaps(void)
{
    int values[3][8], result[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const void *inputs[3] = {values[0], values[1], values[2]};
    MPI_Datatype shifted, type;
    MPI_Op op;
    for (int i = 0; i < 24; i++)
        values[i / 8][i % 8] = i;
    PMPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]){4}, MPI_INT, &shifted);
    PMPI_Type_create_resized(shifted, 0, 8, &type);
    PMPI_Op_create(add_at_four, 1, &op);
    sim_op_reduce_many(sim_op_get(op), sim_datatype_get(type), 4, inputs, 3, result);
    bool same = true;
    for (int i = 0; i < 8; i++)
        same = same && result[i] == (i % 2 ? 3 * i + 24 : -1);
    tap_ok(same, "a program's operation sees derived types as they lie and gaps stay untouched");
    PMPI_Op_free(&op);
    PMPI_Type_free(&type);
    PMPI_Type_free(&shifted);
}

int main(int argc, char **argv)
{
    naive_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 3;
    tap_note("seed %llu", (unsigned long long)naive_state);
    test_user_operations();
    test_user_operation_on_gaps();
    return tap_done();
}
