/* Arguments of type constructors and packing at their borders: what is refused in the first, a
 * middle and the last place of an array, and what just is not. */
#include "tests/world_harness.h"

enum { COUNT = 3, BYTES = 16 };

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

/* Makes the type anew and frees it: 0 where it was made. */
static int made(int error, MPI_Datatype *type)
{
    if (!error)
        MPI_Type_free(type);
    return class_of(error);
}

static void lengths(int rank, int size)
{
    (void)rank, (void)size;
    for (int bad = -1; bad < COUNT; bad++)
        for (int length = -1; length < 2; length++) {
            int blocks[COUNT] = {1, 1, 1}, places[COUNT] = {0, 4, 8};
            MPI_Aint bytes[COUNT] = {0, 16, 32};
            MPI_Datatype types[COUNT] = {MPI_INT, MPI_INT, MPI_INT}, type = MPI_DATATYPE_NULL;
            if (bad >= 0)
                blocks[bad] = length;
            int wanted = bad >= 0 && length < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
            expect(made(MPI_Type_indexed(COUNT, blocks, places, MPI_INT, &type), &type) == wanted,
                   "indexed with %d in %d", length, bad);
            expect(made(MPI_Type_create_hindexed(COUNT, blocks, bytes, MPI_INT, &type), &type) ==
                       wanted,
                   "hindexed with %d in %d", length, bad);
            expect(made(MPI_Type_create_struct(COUNT, blocks, bytes, types, &type), &type) ==
                       wanted,
                   "struct with %d in %d", length, bad);
            blocks[bad < 0 ? 0 : bad] = 1;
            types[bad < 0 ? 0 : bad] = bad < 0 ? MPI_CHAR : MPI_DATATYPE_NULL;
            expect(made(MPI_Type_create_struct(COUNT, blocks, bytes, types, &type), &type) ==
                       (bad < 0 ? MPI_SUCCESS : MPI_ERR_TYPE),
                   "struct without a type in %d", bad);
        }
    for (int count = -1; count < 2; count++) {
        int none = 0, wanted = count < 0 ? MPI_ERR_COUNT : count ? MPI_ERR_ARG : MPI_SUCCESS;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        expect(made(MPI_Type_indexed(count, NULL, &none, MPI_INT, &type), &type) == wanted,
               "%d blocks without lengths", count);
        expect(made(MPI_Type_indexed(count, &none, NULL, MPI_INT, &type), &type) == wanted,
               "%d blocks without places", count);
        wanted = count < 0 ? MPI_ERR_COUNT : MPI_SUCCESS;
        expect(made(MPI_Type_contiguous(count, MPI_INT, &type), &type) == wanted, "%d in a row",
               count);
        expect(made(MPI_Type_vector(count, 1, 2, MPI_INT, &type), &type) == wanted, "%d blocks",
               count);
        wanted = count < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
        expect(made(MPI_Type_vector(2, count, 2, MPI_INT, &type), &type) == wanted, "blocks of %d",
               count);
        expect(made(MPI_Type_create_indexed_block(1, count, &none, MPI_INT, &type), &type) ==
                   wanted,
               "indexed blocks of %d", count);
    }
}

/* A part of a grid of 4 in each direction: from `start`, `extent` long. */
static void subarrays(int rank, int size)
{
    (void)rank, (void)size;
    for (int at = 0; at < 2; at++)
        for (int start = -1; start <= 5; start++)
            for (int extent = -1; extent <= 5; extent++) {
                int sizes[2] = {4, 4}, parts[2] = {2, 2}, starts[2] = {1, 1};
                MPI_Datatype type = MPI_DATATYPE_NULL;
                parts[at] = extent;
                starts[at] = start;
                bool inside = extent >= 1 && start >= 0 && start + extent <= 4;
                int error =
                    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type);
                expect(made(error, &type) == (inside ? MPI_SUCCESS : MPI_ERR_ARG),
                       "%d from %d in direction %d of a grid of 4", extent, start, at);
            }
}

static void positions(int rank, int size)
{
    char packed[BYTES], external[BYTES];
    int values[8] = {0};
    (void)rank, (void)size;
    for (int count = 0; count <= 4; count++)
        for (int position = -1; position <= BYTES + 1; position++) {
            int bytes = count * (int)sizeof(int), at = position;
            bool within = position >= 0 && position <= BYTES;
            bool fits = within && bytes <= BYTES - position;
            int wanted = !within ? MPI_ERR_ARG : fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
            int after = fits ? position + bytes : position;
            MPI_Aint far = position;
            int got = MPI_Pack(values, count, MPI_INT, packed, BYTES, &at, MPI_COMM_SELF);
            expect(class_of(got) == wanted && at == after, "packing %d at %d: %d, then %d", count,
                   position, got, at);
            at = position;
            got = MPI_Unpack(packed, BYTES, &at, values, count, MPI_INT, MPI_COMM_SELF);
            expect(class_of(got) == wanted && at == after, "unpacking %d at %d: %d, then %d", count,
                   position, got, at);
            got = MPI_Pack_external("external32", values, count, MPI_INT, external, BYTES, &far);
            expect(class_of(got) == wanted && far == after, "external %d at %d: %d, then %ld",
                   count, position, got, (long)far);
            far = position;
            got = MPI_Unpack_external("external32", external, BYTES, &far, values, count, MPI_INT);
            expect(class_of(got) == wanted && far == after, "from external %d at %d: %d, then %ld",
                   count, position, got, (long)far);
        }
}

static void returned(void (*body)(int, int), int rank, int size)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    body(rank, size);
}

static void all_lengths(int rank, int size)
{
    returned(lengths, rank, size);
}

static void all_subarrays(int rank, int size)
{
    returned(subarrays, rank, size);
}

static void all_positions(int rank, int size)
{
    returned(positions, rank, size);
}

int main(void)
{
    world_test_sizes("lengths, counts and types are refused wherever they stand", all_lengths,
                     WORLD_FIBERS, WORLD_SIZES(1));
    world_test_sizes("a part of a grid lies inside it", all_subarrays, WORLD_FIBERS,
                     WORLD_SIZES(1));
    world_test_sizes("packing stays inside its buffer, and moves only by what it did",
                     all_positions, WORLD_FIBERS, WORLD_SIZES(1));
    return tap_done();
}
