/* test_pack.c: MPI_Pack, MPI_Unpack, external32, and the accessors of a status. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <wchar.h>

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

/* The bytes outside of one number by the standard's table of external32 (MPI-4.1, 14.5.2): big-endian, a long of four bytes, a
 * wide character of two, a long double as IEEE's binary128. What has two parts is both, one behind the other. */
static size_t expected_outside(MPI_Datatype type, const unsigned char *native, size_t size,
                               unsigned char *outside)
{
    bool is_long = type == MPI_LONG || type == MPI_UNSIGNED_LONG, wide = type == MPI_WCHAR;
    size_t bytes = is_long ? 4 : wide ? 2 : size;
    if (type == MPI_LONG_DOUBLE || type == MPI_C_LONG_DOUBLE_COMPLEX) {
        long double number;
        int exponent;
        memcpy(&number, native, sizeof number);
        long double fraction = frexpl(fabsl(number), &exponent);
        uint64_t digits = (uint64_t)ldexpl(fraction, 64) << 1; /* the first is not written */
        unsigned head =
            (signbit(number) ? 0x8000u : 0) | (number != 0 ? (unsigned)(exponent + 16382) : 0);
        memset(outside, 0, 16);
        outside[0] = (unsigned char)(head >> 8);
        outside[1] = (unsigned char)head;
        for (int i = 0; i < 8; i++)
            outside[2 + i] = (unsigned char)(digits >> (56 - 8 * i));
        return 16;
    }
    for (size_t i = 0; i < bytes; i++)
        outside[i] = native[bytes - 1 - i];
    return bytes;
}

static void test_external_table(void)
{
    static const struct {
        MPI_Datatype type;
        size_t size; /* of a part */
        int parts;
    } rows[] = {{MPI_CHAR, 1, 1},
                {MPI_BYTE, 1, 1},
                {MPI_SHORT, 2, 1},
                {MPI_UNSIGNED, 4, 1},
                {MPI_LONG, sizeof(long), 1},
                {MPI_UNSIGNED_LONG, sizeof(long), 1},
                {MPI_LONG_LONG, 8, 1},
                {MPI_WCHAR, sizeof(wchar_t), 1},
                {MPI_INT64_T, 8, 1},
                {MPI_FLOAT, 4, 1},
                {MPI_DOUBLE, 8, 1},
                {MPI_LONG_DOUBLE, sizeof(long double), 1},
                {MPI_C_COMPLEX, 4, 2},
                {MPI_C_DOUBLE_COMPLEX, 8, 2},
                {MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double), 2},
                {MPI_C_BOOL, 1, 1}};
    enum { COUNT = 5 };
    int wrong = 0;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
        for (int round = 0; round < 20; round++) {
            unsigned char native[2 * 16 * COUNT] = {0}, again[2 * 16 * COUNT] = {0},
                                          wanted[2 * 16 * COUNT], got[2 * 16 * COUNT + 1];
            size_t bytes = 0, part = rows[row].size, parts = COUNT * (size_t)rows[row].parts;
            MPI_Aint position = 0, size = -1, back = 0;
            MPI_Count wide_position = 0, wide_size = -1, wide_back = 0;
            for (size_t i = 0; i < parts; i++) {
                uint64_t number = naive_random();
                if (part == 16) {
                    long double value =
                        ldexpl((long double)number, naive_between(-200, 200)) * (i % 2 ? 1 : -1);
                    value = naive_between(0, 9) ? value : 0;
                    memcpy(native + i * part, &value, LDBL_MANT_DIG == 64 ? 10 : 16);
                } else if (rows[row].type == MPI_LONG) {
                    int64_t value = (int32_t)number; /* what has room outside */
                    memcpy(native + i * part, &value, part);
                } else {
                    number >>= rows[row].type == MPI_UNSIGNED_LONG ? 32
                               : rows[row].type == MPI_WCHAR       ? 48
                                                                   : 0;
                    memcpy(native + i * part, &number, part);
                }
                bytes += expected_outside(rows[row].type, native + i * part, part, wanted + bytes);
            }
            bool right = true;
            for (int wide = 0; wide < 2; wide++) {
                memset(got, 0x5a, sizeof got);
                memset(again, 0, sizeof again);
                if (wide) {
                    PMPI_Pack_external_size_c("external32", COUNT, rows[row].type, &wide_size);
                    PMPI_Pack_external_c("external32", native, COUNT, rows[row].type, got,
                                         sizeof got, &wide_position);
                    PMPI_Unpack_external_c("external32", got, sizeof got, &wide_back, again, COUNT,
                                           rows[row].type);
                } else {
                    PMPI_Pack_external_size("external32", COUNT, rows[row].type, &size);
                    PMPI_Pack_external("external32", native, COUNT, rows[row].type, got, sizeof got,
                                       &position);
                    PMPI_Unpack_external("external32", got, sizeof got, &back, again, COUNT,
                                         rows[row].type);
                }
                right = right && !memcmp(got, wanted, bytes) && got[bytes] == 0x5a &&
                        !memcmp(native, again, sizeof native);
            }
            right = right && size == (MPI_Aint)bytes && position == size && back == size &&
                    wide_size == size && wide_position == size && wide_back == size;
            if (!right && wrong++ < 5)
                tap_note("row %zu, round %d", row, round);
        }
    tap_is_int(wrong, 0, "each predefined type has the bytes outside that the standard says");
}

/* ---- Arguments ---- */

enum form { PACK, PACK_C, UNPACK, UNPACK_C, EXTERNAL, EXTERNAL_C, FROM, FROM_C, FORMS };

/* One call, from or to a buffer of 16 bytes at `place`; the position it leaves. */
struct argument {
    MPI_Count count, position;
    MPI_Datatype type;
    bool no_position, no_buffer;
    const char *representation;
};

static int call(enum form form, const struct argument *a, MPI_Count *after)
{
    static char packed[16], typed[64];
    char *buffer = a->no_buffer ? NULL : packed;
    int small = (int)a->position, count = (int)a->count, error = 0;
    MPI_Aint address = a->position;
    MPI_Count wide = a->position;
    int *s = a->no_position ? NULL : &small;
    MPI_Aint *p = a->no_position ? NULL : &address;
    MPI_Count *w = a->no_position ? NULL : &wide;
    switch (form) {
    case PACK:
        error = PMPI_Pack(typed, count, a->type, buffer, 16, s, MPI_COMM_WORLD);
        break;
    case PACK_C:
        error = PMPI_Pack_c(typed, a->count, a->type, buffer, 16, w, MPI_COMM_WORLD);
        break;
    case UNPACK:
        error = PMPI_Unpack(buffer, 16, s, typed, count, a->type, MPI_COMM_WORLD);
        break;
    case UNPACK_C:
        error = PMPI_Unpack_c(buffer, 16, w, typed, a->count, a->type, MPI_COMM_WORLD);
        break;
    case EXTERNAL:
        error = PMPI_Pack_external(a->representation, typed, count, a->type, buffer, 16, p);
        break;
    case EXTERNAL_C:
        error = PMPI_Pack_external_c(a->representation, typed, a->count, a->type, buffer, 16, w);
        break;
    case FROM:
        error = PMPI_Unpack_external(a->representation, buffer, 16, p, typed, count, a->type);
        break;
    default:
        error = PMPI_Unpack_external_c(a->representation, buffer, 16, w, typed, a->count, a->type);
    }
    *after = form == PACK || form == UNPACK     ? small
             : form == EXTERNAL || form == FROM ? address
                                                : wide;
    return error;
}

static void test_arguments(void)
{
    MPI_Datatype raw;
    int wrong = 0;
    PMPI_Type_contiguous(1, MPI_INT, &raw);
    for (int form = PACK; form < FORMS; form++) {
        bool outside = form >= EXTERNAL, large = form % 2;
        const MPI_Count most = PTRDIFF_MAX / 4;
        const struct {
            struct argument a;
            int error;
            MPI_Count moves;
            bool asked;
        } rows[] = {
            {{4, 0, MPI_INT, false, false, "external32"}, MPI_SUCCESS, 16, true},
            {{3, 4, MPI_INT, false, false, "external32"}, MPI_SUCCESS, 12, true},
            {{3, 5, MPI_INT, false, false, "external32"}, MPI_ERR_TRUNCATE, 0, true},
            {{0, 16, MPI_INT, false, false, "external32"}, MPI_SUCCESS, 0, true},
            {{0, 17, MPI_INT, false, false, "external32"}, MPI_ERR_ARG, 0, true},
            {{0, -1, MPI_INT, false, false, "external32"}, MPI_ERR_ARG, 0, true},
            {{-1, 0, MPI_INT, false, false, "external32"}, MPI_ERR_COUNT, 0, true},
            {{1, 0, MPI_DATATYPE_NULL, false, false, "external32"}, MPI_ERR_TYPE, 0, true},
            {{1, 0, raw, false, false, "external32"}, MPI_ERR_TYPE, 0, true},
            {{1, 0, MPI_INT, true, false, "external32"}, MPI_ERR_ARG, 0, true},
            {{1, 0, MPI_INT, false, true, "external32"}, MPI_ERR_BUFFER, 0, true},
            {{0, 0, MPI_INT, false, true, "external32"}, MPI_SUCCESS, 0, true},
            {{1, 0, MPI_INT, false, false, "external"}, MPI_ERR_ARG, 0, outside},
            {{1, 0, MPI_INT, false, false, NULL}, MPI_ERR_ARG, 0, outside},
            {{most, 0, MPI_INT, false, false, "external32"}, MPI_ERR_TRUNCATE, 0, large},
            {{most + 1, 0, MPI_INT, false, false, "external32"}, MPI_ERR_COUNT, 0, large},
            {{4 * most, 0, MPI_DOUBLE, false, false, "external32"}, MPI_ERR_COUNT, 0, large},
        };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            MPI_Count after = -9;
            int error = rows[i].asked ? call((enum form)form, &rows[i].a, &after) : 0;
            bool right = error == rows[i].error && after == rows[i].a.position + rows[i].moves;
            if (rows[i].asked && !right && wrong++ < 5)
                tap_note("form %d, row %zu: error %d, position %lld", form, i, error,
                         (long long)after);
        }
    }
    tap_is_int(wrong, 0, "eight forms of packing refuse what is wrong, and nothing else");
    PMPI_Type_free(&raw);
}

/* How many bytes are needed: what an int cannot hold is undefined. */
static void test_sizes(void)
{
    static const struct {
        MPI_Count count;
        MPI_Datatype type;
        int error;
        MPI_Count bytes, outside;
    } rows[] = {{0, MPI_INT, MPI_SUCCESS, 0, 0},
                {3, MPI_LONG, MPI_SUCCESS, 3 * sizeof(long), 12},
                {(1 << 29) - 1, MPI_INT, MPI_SUCCESS, 0x7ffffffc, 0x7ffffffc},
                {1 << 29, MPI_INT, MPI_SUCCESS, (MPI_Count)1 << 31, (MPI_Count)1 << 31},
                {INT_MAX, MPI_CHAR, MPI_SUCCESS, INT_MAX, INT_MAX},
                {(MPI_Count)PTRDIFF_MAX / 8, MPI_DOUBLE, MPI_SUCCESS, PTRDIFF_MAX / 8 * 8,
                 PTRDIFF_MAX / 8 * 8},
                {(MPI_Count)PTRDIFF_MAX / 8 + 1, MPI_DOUBLE, MPI_ERR_COUNT, 0, 0},
                {PTRDIFF_MAX, MPI_DOUBLE, MPI_ERR_COUNT, 0, 0},
                {-1, MPI_INT, MPI_ERR_COUNT, 0, 0},
                {1, MPI_DATATYPE_NULL, MPI_ERR_TYPE, 0, 0}};
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        MPI_Count count = rows[i].count, large = -1, wide = -1;
        MPI_Aint address = -1;
        int small = -1, good = rows[i].error == MPI_SUCCESS, want = rows[i].error;
        bool right = PMPI_Pack_size_c(count, rows[i].type, MPI_COMM_WORLD, &large) == want &&
                     large == (good ? rows[i].bytes : -1) &&
                     PMPI_Pack_external_size_c("external32", count, rows[i].type, &wide) == want &&
                     wide == (good ? rows[i].outside : -1);
        if (count <= INT_MAX)
            right =
                right && PMPI_Pack_size((int)count, rows[i].type, MPI_COMM_WORLD, &small) == want &&
                small == (!good                     ? -1
                          : rows[i].bytes > INT_MAX ? MPI_UNDEFINED
                                                    : (int)rows[i].bytes) &&
                PMPI_Pack_external_size("external32", (int)count, rows[i].type, &address) == want &&
                address == (good ? rows[i].outside : -1);
        if (!right && wrong++ < 5)
            tap_note("row %zu: %lld, %lld, %d, %ld", i, (long long)large, (long long)wide, small,
                     (long)address);
    }
    wrong += PMPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, NULL) != MPI_ERR_ARG;
    wrong += PMPI_Pack_size_c(1, MPI_INT, MPI_COMM_WORLD, NULL) != MPI_ERR_ARG;
    wrong += PMPI_Pack_size_c(1, MPI_INT, MPI_COMM_NULL, &(MPI_Count){0}) != MPI_ERR_COMM;
    wrong += PMPI_Pack_external_size("external32", 1, MPI_INT, NULL) != MPI_ERR_ARG;
    wrong += PMPI_Pack_external_size_c("external32", 1, MPI_INT, NULL) != MPI_ERR_ARG;
    tap_is_int(wrong, 0, "four forms tell how many bytes that is");
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
    test_external_table();
    test_arguments();
    test_sizes();
    test_status();
    return tap_done();
}
