/* test_pack.c: MPI_Pack, MPI_Unpack, external32, and the accessors of a status. */
#include <mpi.h>

#include "sim/datatypes/datatype.h"
#include "sim/messages/status.h"
#include "tests/sim/datatype_naive.h"
#include "tests/tap.h"

/* ---- Pack and unpack ---- */

static void test_pack(void)
{
    const double vector[5] = {1, 2, 3, 4, 5};
    const int number = 42;
    double columns[5] = {0};
    int got = 0, position = 0, size = 0;
    char buffer[64];
    MPI_Datatype every_other;
    PMPI_Type_vector(3, 1, 2, MPI_DOUBLE, &every_other);
    tap_is_int(PMPI_Pack(vector, 1, every_other, buffer, 64, &position, MPI_COMM_WORLD),
               MPI_ERR_TYPE, "a type must be committed before it is packed");
    PMPI_Type_commit(&every_other);
    PMPI_Pack_size(1, every_other, MPI_COMM_WORLD, &size);
    tap_is_int(size, 24, "the packed size is that of the data");
    PMPI_Pack(&number, 1, MPI_INT, buffer, 64, &position, MPI_COMM_WORLD);
    PMPI_Pack(vector, 1, every_other, buffer, 64, &position, MPI_COMM_WORLD);
    tap_is_int(position, 28, "packing moves the position behind what was packed");
    position = 0;
    PMPI_Unpack(buffer, 28, &position, &got, 1, MPI_INT, MPI_COMM_WORLD);
    PMPI_Unpack(buffer, 28, &position, columns, 3, MPI_DOUBLE, MPI_COMM_WORLD);
    tap_ok(position == 28 && got == 42 && columns[0] == 1 && columns[1] == 3 && columns[2] == 5,
           "what was packed as one type is unpacked as another of the same signature");
    tap_is_int(PMPI_Unpack(buffer, 28, &position, &got, 1, MPI_INT, MPI_COMM_WORLD),
               MPI_ERR_TRUNCATE, "unpacking behind the end is an error");
    tap_is_int(position, 28, "a position stays where it was after an error");
    position = 60;
    tap_is_int(PMPI_Pack(vector, 1, MPI_DOUBLE, buffer, 64, &position, MPI_COMM_WORLD),
               MPI_ERR_TRUNCATE, "packing behind the end is an error");
    position = -1;
    tap_is_int(PMPI_Pack(vector, 1, MPI_DOUBLE, buffer, 64, &position, MPI_COMM_WORLD), MPI_ERR_ARG,
               "a negative position is an error");
    tap_is_int(PMPI_Pack_size(-1, MPI_INT, MPI_COMM_WORLD, &size), MPI_ERR_COUNT,
               "a negative count is an error");
    tap_is_int(PMPI_Pack_size(1, MPI_INT, MPI_COMM_NULL, &size), MPI_ERR_COMM,
               "a null communicator is an error");
    PMPI_Type_free(&every_other);
}

static void test_bottom(void)
{
    int numbers[4] = {1, 2, 3, 4}, position = 0;
    MPI_Aint addresses[2];
    MPI_Datatype absolute;
    char buffer[8];
    PMPI_Get_address(&numbers[3], &addresses[0]);
    PMPI_Get_address(&numbers[1], &addresses[1]);
    PMPI_Type_create_hindexed_block(2, 1, addresses, MPI_INT, &absolute);
    PMPI_Type_commit(&absolute);
    PMPI_Pack(MPI_BOTTOM, 1, absolute, buffer, 8, &position, MPI_COMM_WORLD);
    memset(numbers, 0, sizeof numbers);
    position = 0;
    PMPI_Unpack(buffer, 8, &position, MPI_BOTTOM, 1, absolute, MPI_COMM_WORLD);
    tap_ok(numbers[0] == 0 && numbers[1] == 2 && numbers[3] == 4,
           "absolute addresses count from MPI_BOTTOM");
    tap_ok(PMPI_Aint_add(addresses[1], PMPI_Aint_diff(addresses[0], addresses[1])) == addresses[0],
           "addresses are added and subtracted");
    PMPI_Type_free(&absolute);
}

/* ---- external32 ---- */

static void test_external_bytes(void)
{
    unsigned char buffer[64] = {0};
    MPI_Aint position = 0, size;
    const int number = -2;
    const long l = 0x01020304;
    const double one = 1;
    const long double two = 2;
    static const unsigned char expected[] = {0xff, 0xff, 0xff, 0xfe, 1, 2,    3, 4, 0x3f, 0xf0, 0,
                                             0,    0,    0,    0,    0, 0x40, 0, 0, 0,    0,    0,
                                             0,    0,    0,    0,    0, 0,    0, 0, 0,    0};
    PMPI_Pack_external("external32", &number, 1, MPI_INT, buffer, 64, &position);
    PMPI_Pack_external("external32", &l, 1, MPI_LONG, buffer, 64, &position);
    PMPI_Pack_external("external32", &one, 1, MPI_DOUBLE, buffer, 64, &position);
    PMPI_Pack_external("external32", &two, 1, MPI_LONG_DOUBLE, buffer, 64, &position);
    tap_ok(position == sizeof expected && memcmp(buffer, expected, sizeof expected) == 0,
           "external32 is big-endian with a long of four bytes and a quadruple long double");
    PMPI_Pack_external_size("external32", 3, MPI_LONG_INT, &size);
    tap_is_int(size, 24, "the external size counts external bytes");
    tap_is_int(PMPI_Pack_external_size("internal", 3, MPI_INT, &size), MPI_ERR_ARG,
               "no other representation is known");
    long back = 0;
    position = 0;
    PMPI_Unpack_external("external32", buffer, 4, &position, &back, 1, MPI_LONG);
    tap_is_int(back, -2, "a long regains its sign");
}

/* Random types there and back; values of types that lose nothing on the way. */
static void test_external_round_trip(void)
{
    bool same = true;
    for (int i = 0; i < 300; i++) {
        struct naive naive = naive_make_any(2);
        const struct sim_datatype *type = sim_datatype_get(naive.handle);
        size_t n = 2 * type->size;
        PMPI_Type_commit(&naive.handle);
        char *packed = calloc(n + 1, 1), *external = malloc(2 * n + 1);
        bool long_double = false;
        for (size_t k = 0; k < naive.count; k++)
            long_double = long_double || (naive.entries[k].basic >= 0 &&
                                          naive_basics[naive.entries[k].basic].size == 16);
        for (size_t k = 0; k < n; k++)
            packed[k] = long_double ? 0 : (char)naive_random();
        ptrdiff_t span = type->true_extent + (type->extent < 0 ? -type->extent : type->extent);
        char *memory = calloc((size_t)span + 1, 1), *again = calloc((size_t)span + 1, 1);
        ptrdiff_t low = type->true_lb + (type->extent < 0 ? type->extent : 0);
        MPI_Aint position = 0, size;
        PMPI_Pack_external_size("external32", 2, naive.handle, &size);
        sim_datatype_copy_in(type, memory - low, 2, packed);
        PMPI_Pack_external("external32", memory - low, 2, naive.handle, external, size, &position);
        same = same && position == size;
        position = 0;
        PMPI_Unpack_external("external32", external, size, &position, again - low, 2, naive.handle);
        same = same && position == size && memcmp(memory, again, (size_t)span) == 0;
        free(packed);
        free(external);
        free(memory);
        free(again);
        naive_free(&naive);
    }
    tap_ok(same, "elements of any type survive the way through external32");
}

/* ---- Status ---- */

static void test_status(void)
{
    MPI_Status status;
    int value = 0;
    sim_status_set_empty(&status);
    PMPI_Status_get_source(&status, &value);
    tap_is_int(value, MPI_ANY_SOURCE, "an empty status comes from any source");
    sim_status_set_bytes(&status, (size_t)1 << 40);
    MPI_Count large = 0;
    PMPI_Get_count(&status, MPI_INT, &value);
    PMPI_Get_count_c(&status, MPI_INT, &large);
    tap_ok(value == MPI_UNDEFINED && large == (MPI_Count)1 << 38,
           "a count too large for an int is undefined and told in full by the _c form");
    PMPI_Status_set_source(&status, 3);
    PMPI_Status_set_tag(&status, 4);
    PMPI_Status_set_error(&status, 5);
    tap_ok(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == 5,
           "a status holds what is set");
    tap_is_int((long long)(sim_status_bytes(&status) >> 30), 1024, "and keeps its bytes");
    PMPI_Test_cancelled(&status, &value);
    tap_is_int(value, 0, "nothing is cancelled at first");
    PMPI_Status_set_cancelled(&status, 1);
    PMPI_Test_cancelled(&status, &value);
    tap_is_int(value, 1, "a status can be marked as cancelled");
    tap_is_int(PMPI_Get_count(&status, MPI_DATATYPE_NULL, &value), MPI_ERR_TYPE,
               "a count of no type is an error");
    tap_is_int(PMPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &value), MPI_ERR_ARG,
               "an ignored status has no count");
}

int main(int argc, char **argv)
{
    naive_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 11;
    tap_note("seed %llu", (unsigned long long)naive_state);
    test_pack();
    test_bottom();
    test_external_bytes();
    test_external_round_trip();
    test_status();
    return tap_done();
}
