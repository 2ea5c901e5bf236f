/* predefined.c: the predefined types, as a table of constants indexed by handle number.
 *
 * Sizes and alignments are those of the C types the ABI maps a type to; Fortran's default INTEGER,
 * REAL and LOGICAL have 4 bytes. Types without a C type here (REAL2, INTEGER16, REAL16 and their
 * complex forms) have the interchange formats of IEEE 754 and two's complement.
 */
#include <complex.h>
#include <stdbool.h>
#include <wchar.h>

#include "sim/datatypes/datatype.h"
#include "sim/datatypes/signature_hash.h"

/* A basic type of `bytes` bytes. */
#define BASIC_ROW(number, text, kind_, group_, bytes, align)                                       \
    [(number)-SIM_DATATYPE_FIRST] = {                                                              \
        .magic = SIM_MAGIC_DATATYPE,                                                               \
        .predefined = true,                                                                        \
        .committed = true,                                                                         \
        .contiguous = true,                                                                        \
        .kind = SIM_KIND_##kind_,                                                                  \
        .group = SIM_CLASS_##group_,                                                               \
        .basic = (number),                                                                         \
        .unit = (number),                                                                          \
        .alignment = (align),                                                                      \
        .references = 1,                                                                           \
        .handles = 1,                                                                              \
        .size = (bytes),                                                                           \
        .extent = (bytes),                                                                         \
        .true_extent = (bytes),                                                                    \
        .elements = 1,                                                                             \
        .hash = SIM_HASH_ONE(number),                                                              \
        .hash_power = SIM_HASH_BASE,                                                               \
        .run_count = 1,                                                                            \
        .runs = &sim_datatype_predefined[(number)-SIM_DATATYPE_FIRST].run,                         \
        .run = {0, (bytes), 1, 0, 0},                                                              \
        .label = text,                                                                             \
    }
#define BASIC(number, text, c_type, kind, group)                                                   \
    BASIC_ROW(number, text, kind, group, sizeof(c_type), _Alignof(c_type))

/* A pair of a value and an index, laid out as a C struct of the two. */
#define PAIR(number, text, value_type, index_type, value_number, index_number, kind_)              \
    [(number)-SIM_DATATYPE_FIRST] = {                                                              \
        .magic = SIM_MAGIC_DATATYPE,                                                               \
        .predefined = true,                                                                        \
        .committed = true,                                                                         \
        .contiguous = PAIR_DENSE(value_type, index_type),                                          \
        .kind = SIM_KIND_##kind_,                                                                  \
        .group = SIM_CLASS_PAIR,                                                                   \
        .basic = (value_number) == (index_number) ? (value_number) : 0,                            \
        .unit = (number),                                                                          \
        .alignment = _Alignof(PAIR_STRUCT(value_type, index_type)),                                \
        .references = 1,                                                                           \
        .handles = 1,                                                                              \
        .size = sizeof(value_type) + sizeof(index_type),                                           \
        .extent = sizeof(PAIR_STRUCT(value_type, index_type)),                                     \
        .true_extent = PAIR_INDEX(value_type, index_type) + sizeof(index_type),                    \
        .elements = 2,                                                                             \
        .hash = SIM_HASH_TWO(value_number, index_number),                                          \
        .hash_power = SIM_HASH_BASE_SQUARED,                                                       \
        .run_count = PAIR_CLOSE(value_type, index_type) ? 1 : 2,                                   \
        .runs = PAIR_CLOSE(value_type, index_type)                                                 \
                    ? &sim_datatype_predefined[(number)-SIM_DATATYPE_FIRST].run                    \
                    : short_int_runs,                                                              \
        .run = {0, sizeof(value_type) + sizeof(index_type), 1, 0, 0},                              \
        .label = text,                                                                             \
    }
#define PAIR_STRUCT(value_type, index_type)                                                        \
    struct {                                                                                       \
        value_type value;                                                                          \
        index_type index;                                                                          \
    }
#define PAIR_INDEX(value_type, index_type)                                                         \
    ((sizeof(value_type) + _Alignof(index_type) - 1) / _Alignof(index_type) * _Alignof(index_type))
#define PAIR_CLOSE(value_type, index_type)                                                         \
    (PAIR_INDEX(value_type, index_type) == sizeof(value_type))
#define PAIR_DENSE(value_type, index_type)                                                         \
    (sizeof(value_type) + sizeof(index_type) == sizeof(PAIR_STRUCT(value_type, index_type)))

/* The only pair with a gap between value and index. */
static const struct sim_run short_int_runs[2] = {
    {0, sizeof(short), 1, 0, 0},
    {sizeof(int), sizeof(int), 1, 0, sizeof(short)},
};

/* clang-format off */
const struct sim_datatype sim_datatype_predefined[SIM_DATATYPE_LAST - SIM_DATATYPE_FIRST + 1] = {
    BASIC(0x201, "MPI_AINT", MPI_Aint, INT64, MULTI_LANGUAGE),
    BASIC(0x202, "MPI_COUNT", MPI_Count, INT64, MULTI_LANGUAGE),
    BASIC(0x203, "MPI_OFFSET", MPI_Offset, INT64, MULTI_LANGUAGE),
    BASIC(0x207, "MPI_PACKED", char, NONE, NONE),
    BASIC(0x208, "MPI_SHORT", short, INT16, C_INTEGER),
    BASIC(0x209, "MPI_INT", int, INT32, C_INTEGER),
    BASIC(0x20a, "MPI_LONG", long, INT64, C_INTEGER),
    BASIC(0x20b, "MPI_LONG_LONG_INT", long long, INT64, C_INTEGER),
    BASIC(0x20c, "MPI_UNSIGNED_SHORT", unsigned short, UINT16, C_INTEGER),
    BASIC(0x20d, "MPI_UNSIGNED", unsigned, UINT32, C_INTEGER),
    BASIC(0x20e, "MPI_UNSIGNED_LONG", unsigned long, UINT64, C_INTEGER),
    BASIC(0x20f, "MPI_UNSIGNED_LONG_LONG", unsigned long long, UINT64, C_INTEGER),
    BASIC(0x210, "MPI_FLOAT", float, FLOAT, FLOATING),
    BASIC(0x212, "MPI_C_COMPLEX", float _Complex, COMPLEX_FLOAT, COMPLEX),
    BASIC(0x213, "MPI_CXX_FLOAT_COMPLEX", float _Complex, COMPLEX_FLOAT, COMPLEX),
    BASIC(0x214, "MPI_DOUBLE", double, DOUBLE, FLOATING),
    BASIC(0x216, "MPI_C_DOUBLE_COMPLEX", double _Complex, COMPLEX_DOUBLE, COMPLEX),
    BASIC(0x217, "MPI_CXX_DOUBLE_COMPLEX", double _Complex, COMPLEX_DOUBLE, COMPLEX),
    BASIC(0x218, "MPI_LOGICAL", int32_t, INT32, LOGICAL),
    BASIC(0x219, "MPI_INTEGER", int32_t, INT32, FORTRAN_INTEGER),
    BASIC(0x21a, "MPI_REAL", float, FLOAT, FLOATING),
    BASIC(0x21b, "MPI_COMPLEX", float _Complex, COMPLEX_FLOAT, COMPLEX),
    BASIC(0x21c, "MPI_DOUBLE_PRECISION", double, DOUBLE, FLOATING),
    BASIC(0x21d, "MPI_DOUBLE_COMPLEX", double _Complex, COMPLEX_DOUBLE, COMPLEX),
    BASIC(0x21e, "MPI_CHARACTER", char, NONE, NONE),
    BASIC(0x220, "MPI_LONG_DOUBLE", long double, LONG_DOUBLE, FLOATING),
    BASIC(0x224, "MPI_C_LONG_DOUBLE_COMPLEX", long double _Complex, COMPLEX_LONG_DOUBLE, COMPLEX),
    BASIC(0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", long double _Complex, COMPLEX_LONG_DOUBLE, COMPLEX),
    PAIR(0x228, "MPI_FLOAT_INT", float, int, 0x210, 0x209, FLOAT_INT),
    PAIR(0x229, "MPI_DOUBLE_INT", double, int, 0x214, 0x209, DOUBLE_INT),
    PAIR(0x22a, "MPI_LONG_INT", long, int, 0x20a, 0x209, LONG_INT),
    PAIR(0x22b, "MPI_2INT", int, int, 0x209, 0x209, 2INT),
    PAIR(0x22c, "MPI_SHORT_INT", short, int, 0x208, 0x209, SHORT_INT),
    PAIR(0x22d, "MPI_LONG_DOUBLE_INT", long double, int, 0x220, 0x209, LONG_DOUBLE_INT),
    PAIR(0x230, "MPI_2REAL", float, float, 0x21a, 0x21a, 2FLOAT),
    PAIR(0x231, "MPI_2DOUBLE_PRECISION", double, double, 0x21c, 0x21c, 2DOUBLE),
    PAIR(0x232, "MPI_2INTEGER", int32_t, int32_t, 0x219, 0x219, 2INT),
    BASIC(0x238, "MPI_C_BOOL", bool, BOOL, LOGICAL),
    BASIC(0x239, "MPI_CXX_BOOL", bool, BOOL, LOGICAL),
    BASIC(0x23c, "MPI_WCHAR", wchar_t, NONE, NONE),
    BASIC(0x240, "MPI_INT8_T", int8_t, INT8, C_INTEGER),
    BASIC(0x241, "MPI_UINT8_T", uint8_t, UINT8, C_INTEGER),
    BASIC(0x243, "MPI_CHAR", char, NONE, NONE),
    BASIC(0x244, "MPI_SIGNED_CHAR", signed char, INT8, C_INTEGER),
    BASIC(0x245, "MPI_UNSIGNED_CHAR", unsigned char, UINT8, C_INTEGER),
    BASIC(0x247, "MPI_BYTE", unsigned char, UINT8, BYTE),
    BASIC(0x248, "MPI_INT16_T", int16_t, INT16, C_INTEGER),
    BASIC(0x249, "MPI_UINT16_T", uint16_t, UINT16, C_INTEGER),
    BASIC(0x250, "MPI_INT32_T", int32_t, INT32, C_INTEGER),
    BASIC(0x251, "MPI_UINT32_T", uint32_t, UINT32, C_INTEGER),
    BASIC(0x258, "MPI_INT64_T", int64_t, INT64, C_INTEGER),
    BASIC(0x259, "MPI_UINT64_T", uint64_t, UINT64, C_INTEGER),
    BASIC(0x2c0, "MPI_LOGICAL1", int8_t, INT8, LOGICAL),
    BASIC(0x2c1, "MPI_INTEGER1", int8_t, INT8, FORTRAN_INTEGER),
    BASIC(0x2c8, "MPI_LOGICAL2", int16_t, INT16, LOGICAL),
    BASIC(0x2c9, "MPI_INTEGER2", int16_t, INT16, FORTRAN_INTEGER),
    BASIC_ROW(0x2ca, "MPI_REAL2", HALF, FLOATING, 2, 2),
    BASIC(0x2d0, "MPI_LOGICAL4", int32_t, INT32, LOGICAL),
    BASIC(0x2d1, "MPI_INTEGER4", int32_t, INT32, FORTRAN_INTEGER),
    BASIC(0x2d2, "MPI_REAL4", float, FLOAT, FLOATING),
    BASIC_ROW(0x2d3, "MPI_COMPLEX4", COMPLEX_HALF, COMPLEX, 4, 2),
    BASIC(0x2d8, "MPI_LOGICAL8", int64_t, INT64, LOGICAL),
    BASIC(0x2d9, "MPI_INTEGER8", int64_t, INT64, FORTRAN_INTEGER),
    BASIC(0x2da, "MPI_REAL8", double, DOUBLE, FLOATING),
    BASIC(0x2db, "MPI_COMPLEX8", float _Complex, COMPLEX_FLOAT, COMPLEX),
    BASIC_ROW(0x2e0, "MPI_LOGICAL16", INT128, LOGICAL, 16, 16),
    BASIC_ROW(0x2e1, "MPI_INTEGER16", INT128, FORTRAN_INTEGER, 16, 16),
    BASIC_ROW(0x2e2, "MPI_REAL16", QUAD, FLOATING, 16, 16),
    BASIC(0x2e3, "MPI_COMPLEX16", double _Complex, COMPLEX_DOUBLE, COMPLEX),
    BASIC_ROW(0x2eb, "MPI_COMPLEX32", COMPLEX_QUAD, COMPLEX, 32, 16),
};
