/* test_datatype.c: every constructor against a brute-force map of bytes.
 *
 * usage: test_datatype [SEED]
 */
#include <mpi.h>

#include "sim/datatypes/datatype.h"
#include "tests/sim/datatype_naive.h"
#include "tests/tap.h"

enum { ROUNDS = 300, DEPTH = 3 };

/* A buffer with room around it for whatever displacements a type has. */
struct buffer {
    unsigned char *memory;
    unsigned char *origin; /* what is passed as buffer */
    size_t room;
};

static struct buffer buffer_new(const ptrdiff_t *bytes, size_t count, bool random)
{
    ptrdiff_t low = 0, high = 1;
    for (size_t i = 0; i < count; i++) {
        low = bytes[i] < low ? bytes[i] : low;
        high = bytes[i] >= high ? bytes[i] + 1 : high;
    }
    struct buffer buffer = {.room = (size_t)(high - low)};
    buffer.memory = malloc(buffer.room);
    buffer.origin = buffer.memory - low;
    for (size_t i = 0; i < buffer.room; i++)
        buffer.memory[i] = random ? (unsigned char)naive_random() : 0xee;
    return buffer;
}

/* ---- What is tested of one type; each answers whether it holds ---- */

static bool bounds_agree(const struct naive *naive)
{
    struct naive_bounds expected = naive_bounds(naive);
    MPI_Aint lb, extent, true_lb, true_extent;
    int size;
    PMPI_Type_get_extent(naive->handle, &lb, &extent);
    PMPI_Type_get_true_extent(naive->handle, &true_lb, &true_extent);
    PMPI_Type_size(naive->handle, &size);
    return lb == expected.lb && extent == expected.extent && true_lb == expected.true_lb &&
           true_extent == expected.true_extent && (size_t)size == expected.size;
}

static bool copy_out_agrees(const struct naive *naive, int count)
{
    const struct sim_datatype *type = sim_datatype_get(naive->handle);
    size_t n;
    ptrdiff_t *bytes = naive_bytes(naive, count, &n);
    struct buffer buffer = buffer_new(bytes, n, true);
    unsigned char *packed = malloc(n + 1);
    packed[n] = 0x5a;
    sim_datatype_copy_out(type, buffer.origin, (size_t)count, packed);
    bool same = packed[n] == 0x5a;
    for (size_t i = 0; i < n; i++)
        same = same && packed[i] == buffer.origin[bytes[i]];
    for (int k = 0; n && k < 5; k++) {
        size_t from = naive_random() % n, length = naive_random() % (n - from + 1);
        memset(packed, 0x5a, n + 1);
        sim_datatype_copy_out_range(type, buffer.origin, from, length, packed);
        for (size_t i = 0; i < length; i++)
            same = same && packed[i] == buffer.origin[bytes[from + i]];
        same = same && packed[length] == 0x5a;
    }
    free(bytes);
    free(packed);
    free(buffer.memory);
    return same;
}

static bool copy_in_agrees(const struct naive *naive, int count)
{
    const struct sim_datatype *type = sim_datatype_get(naive->handle);
    size_t n;
    ptrdiff_t *bytes = naive_bytes(naive, count, &n);
    struct buffer got = buffer_new(bytes, n, false), expected = buffer_new(bytes, n, false);
    unsigned char *packed = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        packed[i] = (unsigned char)naive_random();
    size_t from = n ? naive_random() % n : 0;
    size_t length = naive_between(0, 1) ? n - from : naive_random() % (n - from + 1);
    sim_datatype_copy_in_range(type, got.origin, from, length, packed + from);
    for (size_t i = from; i < from + length; i++)
        expected.origin[bytes[i]] = packed[i];
    bool same = memcmp(got.memory, expected.memory, got.room) == 0;
    if (from == 0 && length == n) {
        sim_datatype_copy_in(type, got.origin, (size_t)count, packed);
        same = same && memcmp(got.memory, expected.memory, got.room) == 0;
    }
    free(bytes);
    free(packed);
    free(got.memory);
    free(expected.memory);
    return same;
}

static int compare_offsets(const void *left, const void *right)
{
    ptrdiff_t a = *(const ptrdiff_t *)left, b = *(const ptrdiff_t *)right;
    return (a > b) - (a < b);
}

static bool naive_overlaps(const struct naive *naive, int count)
{
    size_t n;
    bool overlap = false;
    ptrdiff_t *bytes = naive_bytes(naive, count, &n);
    qsort(bytes, n, sizeof *bytes, compare_offsets);
    for (size_t i = 1; i < n; i++)
        overlap = overlap || bytes[i] == bytes[i - 1];
    free(bytes);
    return overlap;
}

static bool overlap_agrees(const struct naive *naive, int count)
{
    return sim_datatype_overlaps(sim_datatype_get(naive->handle), (size_t)count) ==
           naive_overlaps(naive, count);
}

/* ---- Rounds ---- */

struct verdict {
    bool bounds, out, in, overlap;
    int types, received;
};

static void try_type(const struct naive *naive, struct verdict *verdict)
{
    int count = naive_between(0, 3);
    verdict->types++;
    verdict->bounds = verdict->bounds && bounds_agree(naive);
    verdict->out = verdict->out && copy_out_agrees(naive, count);
    verdict->overlap = verdict->overlap && overlap_agrees(naive, count);
    if (naive_overlaps(naive, count))
        return;
    verdict->received++;
    verdict->in = verdict->in && copy_in_agrees(naive, count);
}

static void test_kind(enum naive_kind kind, bool large)
{
    struct verdict verdict = {true, true, true, true, 0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        struct naive naive = naive_make(kind, i % DEPTH + 1, large);
        if (naive.count <= NAIVE_ENTRIES_MAX)
            try_type(&naive, &verdict);
        naive_free(&naive);
    }
    const char *form = large ? "_c" : "";
    tap_ok(verdict.bounds, "%s%s: size, bounds and true bounds are those of the type map",
           naive_kinds[kind], form);
    tap_ok(verdict.out, "%s%s: every byte is sent from where the type map says", naive_kinds[kind],
           form);
    tap_ok(verdict.in && verdict.received > 20,
           "%s%s: every byte is received to where the type map says and no other is touched",
           naive_kinds[kind], form);
    tap_ok(verdict.overlap, "%s%s: overlapping elements are recognised", naive_kinds[kind], form);
}

/* From one random type straight into another. */
static bool transfer_agrees(const struct naive *from, const struct naive *to)
{
    int from_count = naive_between(0, 3), to_count = naive_between(0, 3);
    if (naive_overlaps(to, to_count))
        return true;
    size_t from_n, to_n;
    ptrdiff_t *from_bytes = naive_bytes(from, from_count, &from_n);
    ptrdiff_t *to_bytes = naive_bytes(to, to_count, &to_n);
    size_t n = from_n < to_n ? from_n : to_n;
    struct buffer source = buffer_new(from_bytes, from_n, true);
    struct buffer got = buffer_new(to_bytes, to_n, false);
    struct buffer expected = buffer_new(to_bytes, to_n, false);
    for (size_t i = 0; i < n; i++)
        expected.origin[to_bytes[i]] = source.origin[from_bytes[i]];
    size_t moved =
        sim_datatype_transfer(source.origin, sim_datatype_get(from->handle), (size_t)from_count,
                              got.origin, sim_datatype_get(to->handle), (size_t)to_count);
    bool same = moved == n && memcmp(got.memory, expected.memory, got.room) == 0;
    free(from_bytes);
    free(to_bytes);
    free(source.memory);
    free(got.memory);
    free(expected.memory);
    return same;
}

static void test_transfer(void)
{
    bool same = true;
    for (int i = 0; i < 4 * ROUNDS; i++) {
        struct naive from = naive_make_any(i % 3), to = naive_make_any(i / 3 % 3);
        same = same && transfer_agrees(&from, &to);
        naive_free(&from);
        naive_free(&to);
    }
    tap_ok(same, "elements of one type move straight into elements of any other");
}

/* Strided to strided with every block length that has a loop of its own, and some that have none.
 */
static void test_block_lengths(void)
{
    static const int lengths[] = {1, 2, 3, 4, 7, 8, 12, 16, 24, 40, 64, 72, 100};
    bool same = true;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int length = lengths[k];
        struct naive byte = {MPI_CHAR, 0, NULL}, types[2] = {{0}, {0}};
        naive_put(&byte, 0, 0);
        for (int side = 0; side < 2; side++) {
            int stride = length + 1 + 3 * side, count = 9;
            for (int i = 0; i < count; i++)
                naive_block(&types[side], &byte, i * stride, length);
            PMPI_Type_vector(count, length, stride, MPI_CHAR, &types[side].handle);
            same = same && copy_out_agrees(&types[side], 2) && copy_in_agrees(&types[side], 2);
        }
        for (int i = 0; i < 20; i++)
            same = same && transfer_agrees(&types[0], &types[1]);
        naive_free(&types[0]);
        naive_free(&types[1]);
        free(byte.entries);
    }
    tap_ok(same, "blocks of every length are copied whole");
}

/* ---- Elements that are interlocked ---- */

/* Whether `count` elements may be received: where they share no byte. */
static bool receivable_agrees(struct naive *naive, int count)
{
    PMPI_Type_commit(&naive->handle);
    return sim_datatype_receivable(sim_datatype_get(naive->handle), (size_t)count) ==
           !naive_overlaps(naive, count);
}

/* Columns of matrices and their like: every block, stride and extent. */
static void test_interlocked(void)
{
    int wrong = 0, shared = 0, apart = 0;
    for (int blocks = 1; blocks <= 3; blocks++)
        for (int length = 1; length <= 2; length++)
            for (int stride = -5; stride <= 5; stride++)
                for (int extent = -7; extent <= 7; extent++) {
                    struct naive byte = {MPI_CHAR, 0, NULL}, type = {0};
                    MPI_Datatype vector;
                    naive_put(&byte, 0, 0);
                    for (int i = 0; i < blocks; i++)
                        naive_block(&type, &byte, i * stride, length);
                    naive_put(&type, NAIVE_LOWER, 0);
                    naive_put(&type, NAIVE_UPPER, extent);
                    PMPI_Type_vector(blocks, length, stride, MPI_CHAR, &vector);
                    PMPI_Type_create_resized(vector, 0, extent, &type.handle);
                    for (int count = 1; count <= 5; count++) {
                        *(naive_overlaps(&type, count) ? &shared : &apart) += 1;
                        if (!receivable_agrees(&type, count) && wrong++ < 5)
                            tap_note("%d elements of extent %d: %d blocks of %d, %d apart", count,
                                     extent, blocks, length, stride);
                    }
                    PMPI_Type_free(&vector);
                    naive_free(&type);
                    free(byte.entries);
                }
    tap_ok(!wrong && shared > 1000 && apart > 1000,
           "elements of vectors that share a byte are recognised (%d do, %d do not)", shared,
           apart);
    for (int kind = KIND_CONTIGUOUS; kind < KINDS; kind++)
        for (int i = 0; i < ROUNDS / 10; i++) {
            struct naive type = naive_make((enum naive_kind)kind, 1 + i % 2, false);
            if (type.count < 40 && !receivable_agrees(&type, naive_between(1, 5)) && wrong++ < 5)
                tap_note("%s", naive_kinds[kind]);
            naive_free(&type);
        }
    tap_is_int(wrong, 0, "... and those of any other type of few blocks");
}

/* Two elements of so many blocks without order, of which the last of the first is the first of the
 * second: with many, who looks briefly does not see it, and who looks long does, up to a limit. */
static bool seen(int blocks, bool long_look)
{
    MPI_Datatype scattered, type;
    int *at = malloc((size_t)blocks * sizeof *at);
    for (int i = 0; i < blocks; i++) /* no two steps are alike */
        at[i] = 3 * i + i % 2 * (i % 3 == 0);
    PMPI_Type_create_indexed_block(blocks, 1, at, MPI_CHAR, &scattered);
    PMPI_Type_create_resized(scattered, 0, at[blocks - 1], &type);
    PMPI_Type_commit(&type);
    const struct sim_datatype *made = sim_datatype_get(type);
    bool found =
        long_look ? sim_datatype_overlaps(made, 2) : sim_datatype_interlock_overlaps(made, 2);
    PMPI_Type_free(&scattered);
    PMPI_Type_free(&type);
    free(at);
    return found;
}

/* Columns are told at once, however long: element k has a block at k * extent + j * stride. */
static bool columns_meet(int blocks, int stride, int extent, int count)
{
    MPI_Datatype vector, type;
    PMPI_Type_vector(blocks, 1, stride, MPI_CHAR, &vector);
    PMPI_Type_create_resized(vector, 0, extent, &type);
    PMPI_Type_commit(&type);
    bool meet = !sim_datatype_receivable(sim_datatype_get(type), (size_t)count);
    PMPI_Type_free(&vector);
    PMPI_Type_free(&type);
    return meet;
}

static void test_long_columns(void)
{
    tap_ok(!columns_meet(1000, 8, 1, 8) && columns_meet(1000, 8, 1, 9),
           "columns beside each other meet where there are more of them than a line has room for");
    tap_ok(!columns_meet(1000, 2, 2000, 3) && columns_meet(1001, 2, 2000, 3),
           "lines behind each other meet where they are longer than they are apart");
}

static void test_limits_of_looking(void)
{
    tap_ok(seen(128, false) && !seen(129, false), "a brief look is at 256 blocks");
    tap_ok(seen(1 << 19, true) && !seen((1 << 19) + 1, true), "a long look is at a million");
}

/* ---- The flat form stays small ---- */

static void test_runs(void)
{
    MPI_Datatype vector, matrix, cube, dense;
    const int sizes[3] = {40, 50, 60}, subsizes[3] = {40, 50, 1}, starts[3] = {0, 0, 7};
    PMPI_Type_vector_c(1 << 28, 1, 2, MPI_DOUBLE, &vector);
    tap_is_int(sim_datatype_get(vector)->run_count, 1, "a vector is one run, however long");
    PMPI_Type_contiguous_c((MPI_Count)1 << 40, MPI_DOUBLE, &dense);
    tap_ok(sim_datatype_get(dense)->contiguous && sim_datatype_get(dense)->size == (size_t)1 << 43,
           "a terabyte of doubles is one contiguous block");
    PMPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &cube);
    tap_is_int(sim_datatype_get(cube)->run_count, 1, "a plane through a cube is one run");
    PMPI_Type_vector(50, 60, 60, MPI_INT, &matrix);
    tap_ok(sim_datatype_get(matrix)->contiguous, "a vector without gaps is contiguous");
    /* Blocks that go on as far apart as before are of the same run. */
    static const struct {
        int at[6], runs;
    } rows[] = {{{0, 2, 4, 6, 8, 10}, 1}, {{10, 8, 6, 4, 2, 0}, 1},   {{0, 2, 4, 7, 10, 13}, 2},
                {{0, 1, 2, 3, 4, 5}, 1},  {{0, 2, 9, 11, 18, 20}, 3}, {{0, 5, 10, 11, 12, 13}, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Datatype row;
        PMPI_Type_create_indexed_block(6, 1, rows[i].at, MPI_INT, &row);
        tap_is_int((long)sim_datatype_get(row)->run_count, rows[i].runs, "row %zu: runs", i);
        PMPI_Type_free(&row);
    }
    PMPI_Type_free(&vector);
    PMPI_Type_free(&dense);
    PMPI_Type_free(&cube);
    PMPI_Type_free(&matrix);
}

int main(int argc, char **argv)
{
    naive_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261120;
    tap_note("seed %llu", (unsigned long long)naive_state);
    for (enum naive_kind kind = KIND_BASIC; kind < KINDS; kind++) {
        test_kind(kind, false);
        if (kind > KIND_PAIR && kind != KIND_DUP)
            test_kind(kind, true);
    }
    test_transfer();
    test_block_lengths();
    test_interlocked();
    test_long_columns();
    test_limits_of_looking();
    test_runs();
    return tap_done();
}
