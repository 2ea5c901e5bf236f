/* What a call of the differentiable library may not be given, each next to what it may: the same program once at the border, which ends well,
 * and once past it, which ends the rank with a sentence. */
#include "tests/diff_world.h"

#include "collectives/arithmetic/local.h"
#include "collectives/tape/layout.h"

#if SANITIZED_ADDRESS
#include <sanitizer/lsan_interface.h>
#endif

enum { ROWS = 2, COLUMNS = 3, N = ROWS * COLUMNS, RANKS = 2 };

static int past; /* 1: past the border */
static struct diff_tape *tapes[RANKS];
static struct diff_tensor *numbers[RANKS]; /* N of them */

static int rank(void)
{
    int own;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    return own;
}

static struct diff_tape *tape(void)
{
    return tapes[rank()];
}

static struct diff_tensor *x(void)
{
    return numbers[rank()];
}

/* ---- operands ---- */

static struct diff_tensor *of(enum diff_type type, size_t dims, const size_t *shape)
{
    return diff_leaf(tape(), type, dims, shape, NULL);
}

static struct diff_tensor *vector(enum diff_type type, size_t count)
{
    return of(type, 1, &count);
}

static struct diff_tensor *matrix(enum diff_type type, size_t rows, size_t columns)
{
    return of(type, 2, (size_t[]){rows, columns});
}

static struct diff_tensor *cube(size_t batch, size_t rows, size_t columns)
{
    return of(DIFF_DOUBLE, 3, (size_t[]){batch, rows, columns});
}

/* Of another type where it is past the border. */
static enum diff_type other(enum diff_type type)
{
    return past ? type : DIFF_DOUBLE;
}

/* ---- the calls: `past` makes each wrong ---- */

static void reshape(void)
{
    diff_reshape(x(), 2, (size_t[]){ROWS, COLUMNS + (size_t)past});
}

static void concat(void)
{
    diff_concat(3, (struct diff_tensor *[]){x(), x(), vector(other(DIFF_FLOAT), 1)});
}

static void slice_begin(void)
{
    diff_slice(x(), N + (size_t)past, 0);
}

static void slice_count(void)
{
    diff_slice(x(), 2, N - 2 + (size_t)past);
}

static void row(void)
{
    diff_gather_rows(matrix(DIFF_DOUBLE, ROWS, COLUMNS), 2, (size_t[]){0, ROWS - 1 + (size_t)past});
}

static void row_of_none(void)
{
    diff_gather_rows(of(DIFF_DOUBLE, past ? 0 : 1, (size_t[]){1}), 0, NULL);
}

static void take(void)
{
    diff_take(x(), 2, (size_t[]){0, N - 1 + (size_t)past});
}

static void put(void)
{
    diff_put(vector(DIFF_DOUBLE, 2), (size_t[]){0, 3 + (size_t)past}, 4);
}

static void stack_shapes(void)
{
    diff_stack(2, (struct diff_tensor *[]){x(), vector(DIFF_DOUBLE, N + (size_t)past)});
}

static void stack_types(void)
{
    diff_stack(2, (struct diff_tensor *[]){x(), vector(other(DIFF_FLOAT), N)});
}

static void split(void)
{
    struct diff_tensor *parts[2];
    diff_split(matrix(DIFF_DOUBLE, 3, 2), 2, (size_t[]){1, 2 - (size_t)past}, parts);
}

static void sum_axis(void)
{
    diff_sum_axis(matrix(DIFF_DOUBLE, ROWS, COLUMNS), 1 + (size_t)past);
}

static void max_axis_empty(void)
{
    diff_max_axis(matrix(DIFF_DOUBLE, ROWS, 1 - (size_t)past), 1);
}

static void max_axis_complex(void)
{
    diff_max_axis(matrix(other(DIFF_COMPLEX_DOUBLE), ROWS, COLUMNS), 1);
}

static void maximum_complex(void)
{
    struct diff_tensor *z = vector(other(DIFF_COMPLEX_DOUBLE), 2);
    diff_maximum(z, z);
}

static void minimum_types(void)
{
    diff_minimum(x(), vector(other(DIFF_FLOAT), N));
}

static void where_shapes(void)
{
    const bool first[N + 1] = {true};
    diff_where(first, x(), vector(DIFF_DOUBLE, N + (size_t)past));
}

static void broadcast(void)
{
    diff_broadcast(matrix(DIFF_DOUBLE, 1 + (size_t)past, 2), 2, (size_t[]){3, 2});
}

static void power_complex(void)
{
    diff_power(vector(other(DIFF_COMPLEX_FLOAT), 2), 2);
}

static void relu_complex(void)
{
    diff_relu(vector(other(DIFF_COMPLEX_FLOAT), 2));
}

static void cast_complex(void)
{
    diff_cast(x(), past ? DIFF_COMPLEX_FLOAT : DIFF_FLOAT);
}

static void cast_back(void)
{
    diff_cast(vector(other(DIFF_COMPLEX_DOUBLE), 2), DIFF_FLOAT);
}

static void dot_counts(void)
{
    diff_dot(x(), vector(DIFF_DOUBLE, N - (size_t)past));
}

static void dot_types(void)
{
    diff_dot(x(), vector(other(DIFF_FLOAT), N));
}

static void scale_by_many(void)
{
    diff_scale_by(x(), vector(DIFF_DOUBLE, 1 + (size_t)past));
}

static void scale_by_type(void)
{
    diff_scale_by(x(), vector(other(DIFF_FLOAT), 1));
}

static void add_shapes(void)
{
    diff_add(x(), past ? matrix(DIFF_DOUBLE, ROWS, COLUMNS) : x());
}

static void mul_types(void)
{
    diff_mul(x(), vector(other(DIFF_FLOAT), N));
}

static void matmul_inner(void)
{
    diff_matmul(matrix(DIFF_DOUBLE, 2, 3), matrix(DIFF_DOUBLE, 3 + (size_t)past, 2));
}

static void matmul_types(void)
{
    diff_matmul(matrix(DIFF_DOUBLE, 2, 3), matrix(other(DIFF_FLOAT), 3, 2));
}

static void matmul_left(void)
{
    diff_matmul(past ? cube(1, 2, 3) : matrix(DIFF_DOUBLE, 2, 3), matrix(DIFF_DOUBLE, 3, 1));
}

static void matmul_right(void)
{
    diff_matmul(matrix(DIFF_DOUBLE, 2, N), past ? x() : matrix(DIFF_DOUBLE, N, 1));
}

static void transpose_vector(void)
{
    diff_transpose(past ? x() : matrix(DIFF_DOUBLE, ROWS, COLUMNS));
}

static void softmax_complex(void)
{
    diff_softmax(matrix(other(DIFF_COMPLEX_DOUBLE), ROWS, COLUMNS));
}

static void batch_number(void)
{
    diff_matmul_batched(cube(2, 1, 3), cube(2 + (size_t)past, 3, 1));
}

static void batch_inner(void)
{
    diff_matmul_batched(cube(2, 1, 3), cube(2, 3 + (size_t)past, 1));
}

static void batch_left(void)
{
    diff_matmul_batched(past ? matrix(DIFF_DOUBLE, 1, 3) : cube(1, 1, 3), cube(1, 3, 1));
}

static void batch_right(void)
{
    diff_matmul_batched(cube(3, 1, 3), past ? matrix(DIFF_DOUBLE, 3, 3) : cube(3, 3, 3));
}

static void norm_vector(void)
{
    diff_layer_norm(past ? x() : matrix(DIFF_DOUBLE, ROWS, COLUMNS), 1);
}

static void norm_complex(void)
{
    diff_layer_norm(matrix(other(DIFF_COMPLEX_DOUBLE), ROWS, COLUMNS), 1);
}

static void label_high(void)
{
    diff_cross_entropy(matrix(DIFF_DOUBLE, 2, 3), (int[]){0, 2 + past});
}

static void label_low(void)
{
    diff_cross_entropy(matrix(DIFF_DOUBLE, 2, 3), (int[]){0 - past, 2});
}

static void empty_value(void)
{
    diff_scalar(vector(DIFF_DOUBLE, 1 - (size_t)past));
}

/* ---- layouts ---- */

static void blocks(int count, int displacement)
{
    struct layout layout = layout_blocks(tape(), 2, (int[]){1, count}, (int[]){0, displacement});
    (void)layout_take(x(), &layout);
}

static void block_count(void)
{
    blocks(-past, 3);
}

static void block_count_dense(void)
{
    layout_blocks(tape(), 2, (int[]){1, -past}, NULL);
}

static void block_displacement(void)
{
    blocks(2, -past);
}

static void block_reach(void)
{
    blocks(2, N - 2 + past);
}

static void block_reach_received(void)
{
    struct layout layout = layout_blocks(tape(), 1, (int[]){1}, (int[]){N - 1 + past});
    layout_put(vector(DIFF_DOUBLE, 1), &layout, x());
}

static void block_twice(void)
{
    struct layout layout = layout_blocks(tape(), 2, (int[]){2, 1}, (int[]){3, 5 - past});
    layout_put(vector(DIFF_DOUBLE, 3), &layout, x());
}

/* `count` of a derived datatype, which is used up. */
static void packed_of(struct diff_tensor *of, int count, MPI_Datatype datatype)
{
    MPI_Type_commit(&datatype);
    diff_pack(of, count, datatype);
    MPI_Type_free(&datatype);
}

static void packed(int count, MPI_Datatype datatype)
{
    packed_of(x(), count, datatype);
}

static void datatype_count(void)
{
    diff_pack(x(), -past, MPI_DOUBLE);
}

static void datatype_small(void)
{
    diff_pack(x(), 1, past ? MPI_FLOAT : MPI_DOUBLE);
}

static MPI_Datatype at_byte(MPI_Aint byte)
{
    MPI_Datatype datatype;
    MPI_Type_create_hindexed(1, (int[]){1}, &byte, MPI_DOUBLE, &datatype);
    return datatype;
}

static void datatype_before(void)
{
    packed(1, at_byte(-8 * past));
}

static void datatype_between(void)
{
    packed(1, at_byte(8 + 4 * past));
}

static void datatype_between_by_one(void)
{
    packed(1, at_byte(8 + past));
}

static void datatype_extent(MPI_Aint extent)
{
    MPI_Datatype datatype;
    MPI_Type_create_resized(MPI_DOUBLE, 0, extent, &datatype);
    packed(2, datatype);
}

static void datatype_backwards(void)
{
    datatype_extent(past ? -8 : 0);
}

static void datatype_drifts(void)
{
    datatype_extent(8 + 4 * past);
}

/* Two floats, which are the halves of one double or of two. */
static void datatype_halves(void)
{
    MPI_Datatype datatype;
    MPI_Type_vector(2, 1, 1 + past, MPI_FLOAT, &datatype);
    packed(1, datatype);
}

/* The real parts of two complex numbers are not one. */
static void datatype_real_parts(void)
{
    MPI_Datatype datatype;
    MPI_Type_vector(2, 1, 1 + past, MPI_DOUBLE, &datatype);
    packed_of(vector(DIFF_COMPLEX_DOUBLE, 3), 1, datatype);
}

static void datatype_reach(void)
{
    diff_pack(x(), N + past, MPI_DOUBLE);
}

static void unpack_count(void)
{
    diff_unpack(vector(DIFF_DOUBLE, 2 + (size_t)past), 2, MPI_DOUBLE, NULL);
}

static void bytes(int displacement)
{
    int sizes[1];
    layout_blocks_w(tape(), DIFF_DOUBLE, 1, (int[]){1}, &displacement, (MPI_Datatype[]){MPI_DOUBLE},
                    sizes);
}

static void byte_between(void)
{
    bytes(8 + 4 * past);
}

static void byte_before(void)
{
    bytes(-8 * past);
}

/* ---- passes ---- */

static void inner_forward(size_t count, const void *from, void *to, void *context)
{
    (void)context;
    memcpy(to, from, count * sizeof(double));
}

static void inner_vjp(size_t count, const void *from, const void *y_bar, void *x_bar, void *context)
{
    (void)from, (void)context;
    memcpy(x_bar, y_bar, count * sizeof(double));
    if (past)
        diff_backward_none(tape());
}

static void pass_within(void)
{
    static const struct diff_custom_rules rules = {
        .name = "inner", .forward = inner_forward, .vjp = inner_vjp};
    diff_backward(diff_sum(diff_custom(x(), &rules, NULL)));
    diff_backward_none(tape());
}

static void root_type(void)
{
    struct diff_tensor *one = diff_sum(x()), *seed = vector(other(DIFF_FLOAT), 1);
    diff_backward_from(tape(), 1, &one, &seed, 0);
}

static void root_count(void)
{
    struct diff_tensor *seed = vector(DIFF_DOUBLE, N + (size_t)past);
    diff_backward_from(tape(), 1, (struct diff_tensor *[]){x()}, &seed, 0);
}

static void loss_handle(void)
{
    struct diff_tensor *handle = diff_iallreduce(diff_sum(x()), MPI_SUM, MPI_COMM_WORLD);
    diff_backward(past ? handle : diff_wait(handle));
}

static void loss_empty(void)
{
    diff_backward(vector(DIFF_DOUBLE, 1 - (size_t)past));
}

/* ---- messages and collectives ---- */

static void wait_on_values(void)
{
    struct diff_tensor *handle = diff_iallreduce(x(), MPI_SUM, MPI_COMM_WORLD);
    diff_wait(past ? x() : handle);
}

static void wait_all_on_values(void)
{
    struct diff_tensor *waited = diff_iallreduce(x(), MPI_SUM, MPI_COMM_WORLD);
    waited = past ? x() : waited;
    diff_waitall(1, &waited, NULL);
}

static void join_of_handle(void)
{
    struct diff_tensor *handle = diff_iallreduce(x(), MPI_SUM, MPI_COMM_WORLD);
    diff_join(past ? handle : x(), 0, NULL);
    diff_wait(handle);
}

static void sent_handle(void)
{
    struct diff_tensor *handle = diff_iallreduce(x(), MPI_SUM, MPI_COMM_WORLD);
    diff_send(past ? handle : diff_wait(handle), MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

static void reduced_handle(void)
{
    struct diff_tensor *handle = diff_iallreduce(x(), MPI_SUM, MPI_COMM_WORLD);
    diff_allreduce(past ? handle : diff_wait(handle), MPI_SUM, MPI_COMM_WORLD);
}

static void exchanged_types(void)
{
    struct diff_tensor *into = vector(other(DIFF_FLOAT), N);
    diff_sendrecv(x(), 1 - rank(), 0, into, 1 - rank(), 0, MPI_COMM_WORLD);
}

static void scattered_count(void)
{
    diff_scatter(x(), N / RANKS - (size_t)past, 0, MPI_COMM_WORLD);
}

static void blocks_of_ranks(void)
{
    diff_alltoall(vector(DIFF_DOUBLE, 2 * RANKS + (size_t)past), MPI_COMM_WORLD);
}

static void counts_of_ranks(void)
{
    diff_reduce_scatter(x(), (int[]){2, 4 - past}, MPI_SUM, MPI_COMM_WORLD);
}

static void neighbors_without(void)
{
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){RANKS}, (int[]){1}, 0, &ring);
    diff_neighbor_allgather(x(), past ? MPI_COMM_WORLD : ring);
    MPI_Comm_free(&ring);
}

static void displaced(bool sends, bool bytes_given)
{
    static const int ones[RANKS] = {1, 1}, begins[RANKS] = {0, 8};
    static const MPI_Datatype doubles[RANKS] = {MPI_DOUBLE, MPI_DOUBLE};
    struct diff_call call = {.kind = DIFF_ALLTOALLW,
                             .x = x(),
                             .comm = MPI_COMM_WORLD,
                             .send_counts = ones,
                             .receive_counts = ones,
                             .send_displacements = sends && !bytes_given ? NULL : begins,
                             .receive_displacements = !sends && !bytes_given ? NULL : begins,
                             .send_types = doubles,
                             .receive_types = doubles};
    diff_collective(&call);
}

static void send_bytes_missing(void)
{
    displaced(true, !past);
}

static void receive_bytes_missing(void)
{
    displaced(false, !past);
}

/* ---- the table ---- */

static const struct refusal {
    void (*call)(void);
    const char *words; /* of the sentence, past the border */
} refusals[] = {
    {reshape, "reshape of 6 values into 8"},
    {concat, "concat of double and float tensors"},
    {slice_begin, "a slice of 0 values from 7 on, of 6"},
    {slice_count, "a slice of 5 values from 2 on, of 6"},
    {row, "row 2 of 2"},
    {row_of_none, "rows of a tensor without dimensions"},
    {take, "element 6 of 6"},
    {put, "element 4 of 4"},
    {stack_shapes, "stack of tensors of different shapes (6 and 7 values)"},
    {stack_types, "stack of tensors of different shapes (6 and 6 values)"},
    {split, "split of 3 rows into 2"},
    {sum_axis, "sum along axis 2 of a tensor with 2 dimensions"},
    {max_axis_empty, "maximum of no values"},
    {max_axis_complex, "maximum of complex numbers, which have no order"},
    {maximum_complex, "maximum of complex numbers, which have no order"},
    {minimum_types, "minimum of tensors of different shapes (6 and 6 values)"},
    {where_shapes, "of tensors of different shapes (6 and 7 values)"},
    {broadcast, "broadcast"},
    {power_complex, "power of complex numbers: use exp and log"},
    {relu_complex, "relu of complex numbers, which have no order"},
    {cast_complex, "cast of double values: only the precision can change"},
    {cast_back, "cast of complex double values: only the precision can change"},
    {dot_counts, "dot of 6 double and 5 double values"},
    {dot_types, "dot of 6 double and 6 float values"},
    {scale_by_many, "the factor of diff_scale_by is one real number"},
    {scale_by_type, "the factor of diff_scale_by is one real number"},
    {add_shapes, "add of tensors of different shapes (6 and 6 values)"},
    {mul_types, "mul of double and float tensors"},
    {matmul_inner, "matmul of [2, 3] double and [4, 2] double"},
    {matmul_types, "matmul of [2, 3] double and [3, 2] float"},
    {matmul_left, "matmul of a tensor with 3 dimensions"},
    {matmul_right, "matmul of a tensor with 1 dimensions"},
    {transpose_vector, "transpose of a tensor with 1 dimensions"},
    {softmax_complex, "softmax of complex numbers"},
    {batch_number, "a batch of products needs"},
    {batch_inner, "a batch of products needs"},
    {batch_left, "a batch of products needs"},
    {batch_right, "a batch of products needs"},
    {norm_vector, "layer norm of what is no matrix of real numbers"},
    {norm_complex, "layer norm of what is no matrix of real numbers"},
    {label_high, "label 3 of row 1, of 3 classes"},
    {label_low, "label -1 of row 0, of 3 classes"},
    {empty_value, "the value of an empty tensor"},
    {block_count, "block 1 has count -1 and displacement 3"},
    {block_count_dense, "block 1 has count -1 and displacement 0"},
    {block_displacement, "block 1 has count 2 and displacement -1"},
    {block_reach, "the layout reaches element 6 of 6"},
    {block_reach_received, "the layout reaches element 6 of 6"},
    {block_twice, "element 4 is received twice"},
    {datatype_count, "-1 of a datatype"},
    {datatype_small, "the datatype does not consist of double values"},
    {datatype_before, "the datatype does not consist of double values"},
    {datatype_between, "the datatype does not consist of whole double values"},
    {datatype_between_by_one, "the datatype does not consist of whole double values"},
    {datatype_backwards, "the datatype does not consist of double values"},
    {datatype_drifts, "the datatype does not consist of whole double values"},
    {datatype_halves, "the datatype does not consist of whole double values"},
    {datatype_real_parts, "the datatype does not consist of whole complex double values"},
    {datatype_reach, "the layout reaches element 6 of 6"},
    {unpack_count, "unpacking 3 values into a layout of 2"},
    {byte_between, "byte displacement 12 is not a multiple of 8"},
    {byte_before, "byte displacement -8 is not a multiple of 8"},
    {pass_within, "backward inside a backward pass"},
    {root_type, "root 0 and its cotangent differ in type or count"},
    {root_count, "root 0 and its cotangent differ in type or count"},
    {loss_handle, "values: a loss is one number"},
    {loss_empty, "backward of a tensor with 0 values: a loss is one number"},
    {wait_on_values, "diff_wait needs a handle and got a double tensor"},
    {wait_all_on_values, "a wait on a double tensor"},
    {join_of_handle, "diff_join of a handle: use diff_join_handle"},
    {sent_handle, "Send of a handle"},
    {reduced_handle, "Allreduce: its operand is a handle: wait for it first"},
    {exchanged_types, "Sendrecv of double into float values"},
    {scattered_count, "Scatter: the root has not as many values as all ranks receive"},
    {blocks_of_ranks, "Alltoall: the number of values is not a multiple of the number of blocks"},
    {counts_of_ranks, "Reduce_scatter: the counts do not add up to the number of values"},
    {neighbors_without, "Neighbor_allgather: the communicator has no topology"},
    {send_bytes_missing, "datatypes stand at displacements in bytes, and there are none"},
    {receive_bytes_missing, "datatypes stand at displacements in bytes, and there are none"},
};

static void (*called)(void);

static void program(void)
{
    struct diff_tape *own = diff_tape_new(MPI_COMM_WORLD);
    tapes[rank()] = own;
    numbers[rank()] = diff_leaf(own, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1, 2, 3, 4, 5, 6});
    called();
    diff_tape_free(own);
}

/* A rank that is ended keeps what it has not freed. */
static int heard(char *text, size_t size)
{
#if SANITIZED_ADDRESS
    if (past)
        __lsan_disable();
#endif
    int outcome = diff_world_heard(program, text, size);
#if SANITIZED_ADDRESS
    if (past)
        __lsan_enable();
#endif
    return outcome;
}

int main(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        char text[4096], wanted[200];
        called = refusals[i].call;
        past = 0;
        int outcome = heard(text, sizeof text);
        tap_test_str(outcome == OUTCOME_FINISHED ? "finished" : text, "finished", TAP_HERE,
                     "the border of: %s", refusals[i].words);
        past = 1;
        outcome = heard(text, sizeof text);
        snprintf(wanted, sizeof wanted, "%s", refusals[i].words);
        const char *said = strstr(text, ": M009: ");
        bool good = outcome == OUTCOME_ABORTED && said && strstr(said, wanted);
        tap_test_str(good ? wanted : text, wanted, TAP_HERE, "refused: %s", refusals[i].words);
    }
    return tap_done();
}
