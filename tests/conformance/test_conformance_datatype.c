/* Datatypes in communication: what arrives where, counts of what arrived, errors, lifetimes. */
#include "tests/sim/datatype_naive.h"
#include "tests/world_harness.h"

static int next_of(int rank, int size)
{
    return (rank + 1) % size;
}

static int previous_of(int rank, int size)
{
    return (rank + size - 1) % size;
}

/* One message round the ring. */
struct side {
    void *buffer;
    int count;
    MPI_Datatype type;
};

static MPI_Status shift(struct side out, struct side in, int rank, int size)
{
    MPI_Status status;
    MPI_Request request;
    MPI_Irecv(in.buffer, in.count, in.type, previous_of(rank, size), 1, MPI_COMM_WORLD, &request);
    MPI_Send(out.buffer, out.count, out.type, next_of(rank, size), 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    return status;
}

/* ---- Layouts ---- */

static void a_column_becomes_a_row(int rank, int size)
{
    double matrix[6][5], row[6] = {0};
    MPI_Datatype column;
    for (int i = 0; i < 30; i++)
        matrix[i / 5][i % 5] = rank * 100 + i;
    MPI_Type_vector(6, 1, 5, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    shift((struct side){&matrix[0][2], 1, column}, (struct side){row, 6, MPI_DOUBLE}, rank, size);
    for (int i = 0; i < 6; i++)
        expect(row[i] == previous_of(rank, size) * 100 + i * 5 + 2, "row[%d] is %g", i, row[i]);
    MPI_Type_free(&column);
}

static void a_negative_stride_reverses(int rank, int size)
{
    int numbers[8], got[8] = {0};
    MPI_Datatype backwards;
    for (int i = 0; i < 8; i++)
        numbers[i] = rank * 10 + i;
    MPI_Type_vector(8, 1, -1, MPI_INT, &backwards);
    MPI_Type_commit(&backwards);
    shift((struct side){numbers, 8, MPI_INT}, (struct side){&got[7], 1, backwards}, rank, size);
    for (int i = 0; i < 8; i++)
        expect(got[i] == previous_of(rank, size) * 10 + 7 - i, "got[%d] is %d", i, got[i]);
    MPI_Type_free(&backwards);
}

static void absolute_addresses_need_no_buffer(int rank, int size)
{
    int number = rank, got_number = -1;
    double real = rank + 0.5, got_real = -1;
    MPI_Aint out[2], in[2];
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, out_type, in_type;
    MPI_Get_address(&number, &out[0]);
    MPI_Get_address(&real, &out[1]);
    MPI_Get_address(&got_number, &in[0]);
    MPI_Get_address(&got_real, &in[1]);
    MPI_Type_create_struct(2, (int[]){1, 1}, out, types, &out_type);
    MPI_Type_create_struct(2, (int[]){1, 1}, in, types, &in_type);
    MPI_Type_commit(&out_type);
    MPI_Type_commit(&in_type);
    shift((struct side){MPI_BOTTOM, 1, out_type}, (struct side){MPI_BOTTOM, 1, in_type}, rank,
          size);
    expect(got_number == previous_of(rank, size) && got_real == got_number + 0.5, "%d and %g",
           got_number, got_real);
    MPI_Type_free(&out_type);
    MPI_Type_free(&in_type);
}

/* The same random type on both sides: every byte of it arrives, no other changes. */
static void random_types_arrive(int rank, int size)
{
    for (int round = 0; round < 12; round++) {
        naive_state = (uint64_t)round * 977 + (uint64_t)size;
        struct naive naive = naive_make_any(1 + round % 2);
        size_t n;
        ptrdiff_t *bytes = naive_bytes(&naive, 2, &n), low = 0, high = 1;
        bool *owned;
        bool overlap = false;
        for (size_t i = 0; i < n; i++) {
            low = bytes[i] < low ? bytes[i] : low;
            high = bytes[i] >= high ? bytes[i] + 1 : high;
        }
        size_t room = (size_t)(high - low);
        owned = calloc(room, sizeof *owned);
        for (size_t i = 0; i < n; i++) {
            overlap = overlap || owned[bytes[i] - low];
            owned[bytes[i] - low] = true;
        }
        unsigned char *out = malloc(room), *in = malloc(room);
        for (size_t i = 0; i < room; i++)
            out[i] = (unsigned char)(rank * 31 + (int)i * 7);
        memset(in, 0xee, room);
        if (!overlap) {
            MPI_Type_commit(&naive.handle);
            shift((struct side){out - low, 2, naive.handle},
                  (struct side){in - low, 2, naive.handle}, rank, size);
            bool same = true;
            for (size_t i = 0; i < room; i++)
                same =
                    same &&
                    in[i] == (owned[i] ? (unsigned char)(previous_of(rank, size) * 31 + (int)i * 7)
                                       : 0xee);
            expect(same, "round %d", round);
        }
        free(bytes);
        free(owned);
        free(out);
        free(in);
        naive_free(&naive);
    }
}

/* Longer than anybody buffers; both sides full of gaps, of different sizes. */
static void large_strided_messages_arrive(int rank, int size)
{
    enum { COUNT = 20000 };
    double *out = malloc(3 * COUNT * sizeof *out), *in = malloc(2 * COUNT * sizeof *in);
    MPI_Datatype wide, narrow;
    for (int i = 0; i < COUNT; i++)
        out[3 * i] = rank * 1e6 + i;
    MPI_Type_vector(COUNT, 1, 3, MPI_DOUBLE, &wide);
    MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &narrow);
    MPI_Type_commit(&wide);
    MPI_Type_commit(&narrow);
    shift((struct side){out, 1, wide}, (struct side){in, 1, narrow}, rank, size);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += in[2 * i] != previous_of(rank, size) * 1e6 + i;
    expect(wrong == 0, "%d of %d are wrong", wrong, COUNT);
    MPI_Type_free(&wide);
    MPI_Type_free(&narrow);
    free(out);
    free(in);
}

static void packed_data_matches_typed_data(int rank, int size)
{
    char packed[64], got_packed[64];
    int position = 0, number = rank, got_number = -1;
    double real = rank / 4.0, got_real = -1;
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, structure;
    struct {
        int number;
        double real;
    } got = {-1, -1};
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, types, &structure);
    MPI_Type_commit(&structure);
    MPI_Pack(&number, 1, MPI_INT, packed, 64, &position, MPI_COMM_WORLD);
    MPI_Pack(&real, 1, MPI_DOUBLE, packed, 64, &position, MPI_COMM_WORLD);
    shift((struct side){packed, position, MPI_PACKED}, (struct side){&got, 1, structure}, rank,
          size);
    int from = previous_of(rank, size);
    expect(got.number == from && got.real == from / 4.0, "%d and %g", got.number, got.real);
    shift((struct side){&got, 1, structure}, (struct side){got_packed, 64, MPI_PACKED}, rank, size);
    position = 0;
    MPI_Unpack(got_packed, 64, &position, &got_number, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(got_packed, 64, &position, &got_real, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    from = previous_of(from, size);
    expect(got_number == from && got_real == from / 4.0, "%d and %g", got_number, got_real);
    MPI_Type_free(&structure);
}

static void replacing_keeps_the_layout(int rank, int size)
{
    int numbers[6] = {rank, -1, rank + 1, -2, rank + 2, -3};
    MPI_Datatype every_other;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Sendrecv_replace(numbers, 1, every_other, next_of(rank, size), 4, previous_of(rank, size),
                         4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int from = previous_of(rank, size);
    expect(numbers[0] == from && numbers[2] == from + 1 && numbers[4] == from + 2, "%d %d %d",
           numbers[0], numbers[2], numbers[4]);
    expect(numbers[1] == -1 && numbers[3] == -2 && numbers[5] == -3, "the gaps changed");
    MPI_Type_free(&every_other);
}

/* ---- Counts ---- */

static void a_short_message_counts_its_elements(int rank, int size)
{
    int numbers[10] = {0}, got[10], count = -1, elements = -1;
    MPI_Datatype triple;
    MPI_Type_contiguous(3, MPI_INT, &triple);
    MPI_Type_commit(&triple);
    MPI_Status status =
        shift((struct side){numbers, 7, MPI_INT}, (struct side){got, 3, triple}, rank, size);
    MPI_Get_count(&status, triple, &count);
    MPI_Get_elements(&status, triple, &elements);
    expect(count == MPI_UNDEFINED && elements == 7, "%d triples, %d elements", count, elements);
    status = shift((struct side){numbers, 6, MPI_INT}, (struct side){got, 3, triple}, rank, size);
    MPI_Get_count(&status, triple, &count);
    expect(count == 2, "%d triples", count);
    MPI_Type_free(&triple);
}

static void nothing_can_be_sent(int rank, int size)
{
    int number = 7, count = -1;
    MPI_Datatype empty, no_data;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_create_resized(empty, 0, 16, &no_data);
    MPI_Type_commit(&empty);
    MPI_Type_commit(&no_data);
    const struct side sides[] = {
        {&number, 0, MPI_INT}, {&number, 3, empty}, {&number, 2, no_data}, {NULL, 0, MPI_DOUBLE}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            MPI_Status status = shift(sides[i], sides[k], rank, size);
            MPI_Get_count(&status, sides[k].type, &count);
            expect(count == 0, "%d into %d gives %d", i, k, count);
        }
    expect(number == 7, "nothing wrote %d", number);
    MPI_Type_free(&empty);
    MPI_Type_free(&no_data);
}

static void a_probe_counts_what_would_come(int rank, int size)
{
    double numbers[4] = {1, 2, 3, 4};
    MPI_Request request;
    MPI_Status status;
    int count = -1;
    MPI_Isend(numbers, 4, MPI_DOUBLE, next_of(rank, size), 6, MPI_COMM_WORLD, &request);
    MPI_Probe(previous_of(rank, size), 6, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    expect(count == 4, "%d doubles", count);
    MPI_Recv(numbers, count, MPI_DOUBLE, previous_of(rank, size), 6, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- Errors ---- */

static void wrong_types_are_refused(int rank, int size)
{
    int numbers[8] = {0};
    MPI_Datatype raw, stale, overlapping, interlocked, column;
    (void)size;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    expect_class(MPI_Send(numbers, 1, raw, 0, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    expect_class(MPI_Bcast(numbers, 1, raw, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    MPI_Type_commit(&raw);
    stale = raw;
    MPI_Type_free(&raw);
    expect_class(MPI_Send(numbers, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    (void)stale;
    MPI_Type_vector(2, 2, 1, MPI_INT, &overlapping);
    MPI_Type_commit(&overlapping);
    expect_class(
        MPI_Recv(numbers, 1, overlapping, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE),
        MPI_ERR_TYPE);
    expect_class(MPI_Send(numbers, 1, overlapping, MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_SUCCESS);
    MPI_Type_vector(2, 1, 3, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &interlocked);
    MPI_Type_commit(&interlocked);
    expect_class(
        MPI_Recv(numbers, 3, interlocked, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE),
        MPI_SUCCESS);
    expect_class(
        MPI_Recv(numbers, 4, interlocked, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE),
        MPI_ERR_TYPE);
    MPI_Type_free(&overlapping);
    MPI_Type_free(&column);
    MPI_Type_free(&interlocked);
    expect(rank >= 0, "rank %d", rank);
}

static void too_long_a_message_is_truncated(int rank, int size)
{
    int numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8] = {0};
    MPI_Datatype pair;
    MPI_Request request;
    (void)rank, (void)size;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Isend(numbers, 8, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
    expect_class(MPI_Recv(got, 1, pair, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    expect(got[1] == 0 && got[3] == 0, "gaps hold %d and %d", got[1], got[3]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
}

/* ---- Lifetimes ---- */

static void a_type_may_be_freed_while_in_use(int rank, int size)
{
    int numbers[4] = {rank, -1, rank + 1, -1}, got[4] = {0};
    MPI_Datatype out, in, again;
    MPI_Request requests[2];
    MPI_Type_vector(2, 1, 2, MPI_INT, &in);
    MPI_Type_commit(&in);
    MPI_Type_dup(in, &out);
    MPI_Irecv(got, 1, in, previous_of(rank, size), 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Type_free(&in);
    MPI_Issend(numbers, 1, out, next_of(rank, size), 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&out);
    MPI_Type_contiguous(1, MPI_CHAR, &again); /* takes the memory, if it was given back */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(got[0] == previous_of(rank, size) && got[2] == got[0] + 1 && got[1] == 0, "%d %d %d",
           got[0], got[1], got[2]);
    MPI_Type_free(&again);
}

static int copies, deletions; /* per process; counted only where one rank runs at a time */

static int copy_attribute(MPI_Datatype type, int keyval, void *extra, void *in, void *out,
                          int *flag)
{
    (void)type, (void)keyval, (void)extra;
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void)type, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void attributes_follow_types(int rank, int size)
{
    static char values[2];
    int keyval, flag = -1;
    char *value = NULL;
    MPI_Datatype type, copy;
    (void)rank, (void)size;
    copies = deletions = 0;
    MPI_Type_create_keyval(copy_attribute, delete_attribute, &keyval, NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, keyval, values);
    MPI_Type_dup(type, &copy);
    MPI_Type_get_attr(copy, keyval, &value, &flag);
    expect(flag && value == values + 1 && copies == 1, "flag %d, %d copies", flag, copies);
    MPI_Type_free(&type);
    expect(deletions == 1, "%d deletions", deletions);
    MPI_Type_free(&copy);
    expect(deletions == 2, "%d deletions", deletions);
    MPI_Type_set_attr(MPI_INT, keyval, values);
    MPI_Type_get_attr(MPI_INT, keyval, &value, &flag);
    expect(flag && value == values, "a predefined type keeps an attribute");
    MPI_Type_get_attr(MPI_FLOAT, keyval, &value, &flag);
    expect(!flag, "another type has it not");
    MPI_Type_free_keyval(&keyval);
}

/* ---- Collectives ---- */

static void a_broadcast_may_have_many_layouts(int rank, int size)
{
    int numbers[6] = {1, -1, 2, -1, 3, -1}, packed[3] = {0};
    MPI_Datatype every_other;
    (void)size;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    if (rank == 0)
        MPI_Bcast(numbers, 1, every_other, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(packed, 3, MPI_INT, 0, MPI_COMM_WORLD);
    expect(rank == 0 || (packed[0] == 1 && packed[1] == 2 && packed[2] == 3), "%d %d %d", packed[0],
           packed[1], packed[2]);
    MPI_Type_free(&every_other);
}

/* Each rank contributes a row; the root receives it as a column. */
static void a_gather_transposes(int rank, int size)
{
    enum { LENGTH = 4 };
    double row[LENGTH], *matrix = calloc((size_t)(LENGTH * size), sizeof *matrix);
    MPI_Datatype column, resized;
    for (int i = 0; i < LENGTH; i++)
        row[i] = rank * 10 + i;
    MPI_Type_vector(LENGTH, 1, size, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &resized);
    MPI_Type_commit(&resized);
    MPI_Gather(row, LENGTH, MPI_DOUBLE, matrix, 1, resized, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < LENGTH * size; i++)
        expect(matrix[i] == i % size * 10 + i / size, "matrix[%d] is %g", i, matrix[i]);
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
    free(matrix);
}

/* A square matrix, distributed by rows, transposed with a subarray type per peer. */
static void alltoallw_transposes(int rank, int size)
{
    enum { MOST = 16 };
    int row[MOST], column[MOST], counts[MOST], displacements[MOST];
    MPI_Datatype out[MOST], in[MOST];
    for (int i = 0; i < size; i++) {
        row[i] = rank * 100 + i;
        column[i] = -1;
        counts[i] = 1;
        displacements[i] = 0;
        MPI_Type_create_subarray(1, &size, &counts[i], &i, MPI_ORDER_C, MPI_INT, &out[i]);
        MPI_Type_commit(&out[i]);
        in[i] = out[i];
    }
    MPI_Alltoallw(row, counts, displacements, out, column, counts, displacements, in,
                  MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        expect(column[i] == i * 100 + rank, "column[%d] is %d", i, column[i]);
    for (int i = 0; i < size; i++)
        MPI_Type_free(&out[i]);
}

static void scatter_takes_interleaved_parts(int rank, int size)
{
    enum { LENGTH = 3 };
    int *all = calloc((size_t)(LENGTH * size), sizeof *all), part[LENGTH] = {0};
    MPI_Datatype strided, resized;
    for (int i = 0; i < LENGTH * size; i++)
        all[i] = i;
    MPI_Type_vector(LENGTH, 1, size, MPI_INT, &strided);
    MPI_Type_create_resized(strided, 0, sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Scatter(all, 1, resized, part, LENGTH, MPI_INT, size - 1, MPI_COMM_WORLD);
    for (int i = 0; i < LENGTH; i++)
        expect(part[i] == i * size + rank, "part[%d] is %d", i, part[i]);
    MPI_Type_free(&strided);
    MPI_Type_free(&resized);
    free(all);
}

/* Reduces pairs that lie apart. */
static void add_pairs(void *in, void *inout, int *length, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *length; i++) {
        const int *a = (const int *)((char *)in + i * extent);
        int *b = (int *)((char *)inout + i * extent);
        b[0] += a[0];
        b[2] = b[2] * 2 + a[2];
    }
}

static void reductions_of_derived_types(int rank, int size)
{
    int numbers[8], got[8];
    MPI_Datatype pair, resized;
    MPI_Op op;
    for (int i = 0; i < 8; i++) {
        numbers[i] = rank + i;
        got[i] = -9;
    }
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &resized);
    MPI_Type_commit(&resized);
    MPI_Op_create(add_pairs, 0, &op);
    MPI_Allreduce(numbers, got, 2, resized, op, MPI_COMM_WORLD);
    int sum = 0, folded = size - 1 + 2;
    for (int r = 0; r < size; r++)
        sum += r;
    int expected[2] = {2, 6};
    for (int r = 1; r < size; r++) /* the left operand is the ranks before */
        for (int k = 0; k < 2; k++)
            expected[k] = (r + 2 + 4 * k) * 2 + expected[k];
    (void)folded;
    expect(got[0] == sum && got[4] == sum + 4 * size, "sums %d and %d", got[0], got[4]);
    expect(got[2] == expected[0] && got[6] == expected[1], "folds %d and %d, not %d and %d", got[2],
           got[6], expected[0], expected[1]);
    expect(got[1] == -9 && got[3] == -9 && got[5] == -9 && got[7] == -9, "the gaps changed");
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Type_free(&resized);
}

/* The parts of a distributed array cover it once, whatever the distribution. */
static void a_distributed_array_is_whole(int rank, int size)
{
    enum { ROWS = 7, COLUMNS = 9, ALL = ROWS * COLUMNS };
    static const int distributions[][2] = {{MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
                                           {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE},
                                           {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK}};
    for (int d = 0; d < 3; d++) {
        int grid[2] = {0, 0}, arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
        int array[ALL], part[ALL], seen[ALL] = {0}, part_size;
        const int sizes[2] = {ROWS, COLUMNS};
        MPI_Datatype mine;
        for (int i = 0; i < 2; i++) {
            grid[i] = distributions[d][i] == MPI_DISTRIBUTE_NONE;
            if (distributions[d][i] == MPI_DISTRIBUTE_CYCLIC)
                arguments[i] = 2;
        }
        MPI_Dims_create(size, 2, grid);
        MPI_Type_create_darray(size, rank, 2, sizes, distributions[d], arguments, grid, MPI_ORDER_C,
                               MPI_INT, &mine);
        MPI_Type_commit(&mine);
        MPI_Type_size(mine, &part_size);
        for (int i = 0; i < ALL; i++)
            array[i] = i;
        MPI_Sendrecv(array, 1, mine, rank, 8, part, ALL, MPI_INT, rank, 8, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < part_size / (int)sizeof(int); i++)
            seen[part[i]]++;
        MPI_Allreduce(MPI_IN_PLACE, seen, ALL, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < ALL; i++)
            expect(seen[i] == 1, "distribution %d: element %d is there %d times", d, i, seen[i]);
        MPI_Type_free(&mine);
    }
}

int main(void)
{
    world_test("a column is received as a row", a_column_becomes_a_row, WORLD_BUFFERS);
    world_test("a negative stride reverses what it receives", a_negative_stride_reverses,
               WORLD_ANY);
    world_test("types with absolute addresses work with MPI_BOTTOM",
               absolute_addresses_need_no_buffer, WORLD_ANY);
    world_test("random types arrive byte by byte and touch nothing else", random_types_arrive,
               WORLD_ANY);
    world_test("large messages go from one strided layout to another",
               large_strided_messages_arrive, WORLD_ANY);
    world_test("packed and typed data match", packed_data_matches_typed_data, WORLD_ANY);
    world_test("Sendrecv_replace keeps gaps as they are", replacing_keeps_the_layout, WORLD_ANY);
    world_test("the elements of a short message are counted", a_short_message_counts_its_elements,
               WORLD_ANY);
    world_test("zero counts, empty types and types without data match each other",
               nothing_can_be_sent, WORLD_ANY);
    world_test("a probe tells the count of what would be received", a_probe_counts_what_would_come,
               WORLD_ANY);
    world_test("uncommitted, null and overlapping types are refused", wrong_types_are_refused,
               WORLD_ANY);
    world_test("a message longer than a strided receive is truncated",
               too_long_a_message_is_truncated, WORLD_ANY);
    world_test("a type may be freed while messages use it", a_type_may_be_freed_while_in_use,
               WORLD_ANY);
    world_test_sizes("attributes are copied and deleted with their types", attributes_follow_types,
                     WORLD_FIBERS, WORLD_SIZES(1));
    world_test("a broadcast may be sent and received in different layouts",
               a_broadcast_may_have_many_layouts, WORLD_ANY);
    world_test("a gather into resized columns transposes", a_gather_transposes, WORLD_ANY);
    world_test("Alltoallw with subarrays transposes", alltoallw_transposes, WORLD_ANY);
    world_test("a scatter takes interleaved parts", scatter_takes_interleaved_parts, WORLD_ANY);
    world_test("reductions of derived types keep rank order and gaps", reductions_of_derived_types,
               WORLD_ANY);
    world_test("the parts of a distributed array cover it once", a_distributed_array_is_whole,
               WORLD_ANY);
    return tap_done();
}
