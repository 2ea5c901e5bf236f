/* test_op.c: every predefined operation on every type against scalar references, the order of
 * operands. Operations of a program: test_op_user.c.
 */
#include <math.h>

#include <mpi.h>

#include "sim/operators/op.h"
#include "tests/sim/datatype_naive.h"
#include "tests/tap.h"

enum { COUNT = 67 };

/* ---- The standard's table of which operation takes which type ---- */

static const MPI_Datatype c_integers[] = {
    MPI_INT,         MPI_LONG,          MPI_SHORT,        MPI_UNSIGNED_SHORT,
    MPI_UNSIGNED,    MPI_UNSIGNED_LONG, MPI_LONG_LONG,    MPI_UNSIGNED_LONG_LONG,
    MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_INT8_T,       MPI_INT16_T,
    MPI_INT32_T,     MPI_INT64_T,       MPI_UINT8_T,      MPI_UINT16_T,
    MPI_UINT32_T,    MPI_UINT64_T,      MPI_DATATYPE_NULL};
static const MPI_Datatype fortran_integers[] = {MPI_INTEGER,      MPI_INTEGER1, MPI_INTEGER2,
                                                MPI_INTEGER4,     MPI_INTEGER8, MPI_INTEGER16,
                                                MPI_DATATYPE_NULL};
static const MPI_Datatype floating[] = {
    MPI_FLOAT, MPI_DOUBLE, MPI_REAL,  MPI_DOUBLE_PRECISION, MPI_LONG_DOUBLE,
    MPI_REAL2, MPI_REAL4,  MPI_REAL8, MPI_REAL16,           MPI_DATATYPE_NULL};
static const MPI_Datatype logical[] = {MPI_LOGICAL,  MPI_C_BOOL,    MPI_CXX_BOOL,
                                       MPI_LOGICAL1, MPI_LOGICAL2,  MPI_LOGICAL4,
                                       MPI_LOGICAL8, MPI_LOGICAL16, MPI_DATATYPE_NULL};
static const MPI_Datatype complexes[] = {MPI_COMPLEX,
                                         MPI_C_FLOAT_COMPLEX,
                                         MPI_C_DOUBLE_COMPLEX,
                                         MPI_C_LONG_DOUBLE_COMPLEX,
                                         MPI_CXX_FLOAT_COMPLEX,
                                         MPI_CXX_DOUBLE_COMPLEX,
                                         MPI_CXX_LONG_DOUBLE_COMPLEX,
                                         MPI_DOUBLE_COMPLEX,
                                         MPI_COMPLEX4,
                                         MPI_COMPLEX8,
                                         MPI_COMPLEX16,
                                         MPI_COMPLEX32,
                                         MPI_DATATYPE_NULL};
static const MPI_Datatype bytes[] = {MPI_BYTE, MPI_DATATYPE_NULL};
static const MPI_Datatype multi_language[] = {MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_DATATYPE_NULL};
static const MPI_Datatype pairs[] = {
    MPI_FLOAT_INT,       MPI_DOUBLE_INT, MPI_LONG_INT,          MPI_2INT,     MPI_SHORT_INT,
    MPI_LONG_DOUBLE_INT, MPI_2REAL,      MPI_2DOUBLE_PRECISION, MPI_2INTEGER, MPI_DATATYPE_NULL};

struct takes {
    const char *name;
    MPI_Op op;
    const MPI_Datatype *groups[6];
};
static const struct takes table[] = {
    {"MAX", MPI_MAX, {c_integers, fortran_integers, floating, multi_language}},
    {"MIN", MPI_MIN, {c_integers, fortran_integers, floating, multi_language}},
    {"SUM", MPI_SUM, {c_integers, fortran_integers, floating, complexes, multi_language}},
    {"PROD", MPI_PROD, {c_integers, fortran_integers, floating, complexes, multi_language}},
    {"LAND", MPI_LAND, {c_integers, logical, multi_language}},
    {"LOR", MPI_LOR, {c_integers, logical, multi_language}},
    {"LXOR", MPI_LXOR, {c_integers, logical, multi_language}},
    {"BAND", MPI_BAND, {c_integers, fortran_integers, bytes, multi_language}},
    {"BOR", MPI_BOR, {c_integers, fortran_integers, bytes, multi_language}},
    {"BXOR", MPI_BXOR, {c_integers, fortran_integers, bytes, multi_language}},
    {"MINLOC", MPI_MINLOC, {pairs}},
    {"MAXLOC", MPI_MAXLOC, {pairs}},
};
enum { OPERATIONS = sizeof table / sizeof *table };

static bool table_allows(const struct takes *row, MPI_Datatype type)
{
    for (size_t g = 0; g < 6 && row->groups[g]; g++)
        for (const MPI_Datatype *t = row->groups[g]; *t != MPI_DATATYPE_NULL; t++)
            if (*t == type)
                return true;
    return false;
}

static void test_allowed(const struct takes *row)
{
    bool same = true;
    int allowed = 0;
    for (int number = 0x200; number <= 0x2eb; number++) {
        MPI_Datatype handle = (MPI_Datatype)(uintptr_t)number;
        const struct sim_datatype *type = sim_datatype_get(handle);
        if (!type)
            continue;
        int expected = table_allows(row, handle) ? MPI_SUCCESS : MPI_ERR_OP;
        char in[64] = {0}, inout[64] = {0};
        same = same && sim_op_allowed(sim_op_get(row->op), type) == expected &&
               PMPI_Reduce_local(in, inout, 1, handle, row->op) == expected;
        allowed += expected == MPI_SUCCESS;
    }
    tap_ok(same && allowed > 5, "%s takes just the types that the standard lists", row->name);
}

/* ---- Scalar references ---- */

/* out = left op right for one element. */
typedef void reference(MPI_Op op, const void *left, const void *right, void *out);

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

#define INTEGER(name, type, unsigned_type)                                                         \
    static void name(MPI_Op op, const void *left, const void *right, void *out)                    \
    {                                                                                              \
        type a, b, c = 0;                                                                          \
        memcpy(&a, left, sizeof a);                                                                \
        memcpy(&b, right, sizeof b);                                                               \
        unsigned_wide ua = (unsigned_type)a, ub = (unsigned_type)b;                                \
        if (op == MPI_SUM)                                                                         \
            c = (type)(ua + ub);                                                                   \
        if (op == MPI_PROD)                                                                        \
            c = (type)(ua * ub);                                                                   \
        if (op == MPI_MAX)                                                                         \
            c = a > b ? a : b;                                                                     \
        if (op == MPI_MIN)                                                                         \
            c = a < b ? a : b;                                                                     \
        if (op == MPI_LAND)                                                                        \
            c = a && b;                                                                            \
        if (op == MPI_LOR)                                                                         \
            c = a || b;                                                                            \
        if (op == MPI_LXOR)                                                                        \
            c = !a != !b;                                                                          \
        if (op == MPI_BAND)                                                                        \
            c = (type)(ua & ub);                                                                   \
        if (op == MPI_BOR)                                                                         \
            c = (type)(ua | ub);                                                                   \
        if (op == MPI_BXOR)                                                                        \
            c = (type)(ua ^ ub);                                                                   \
        memcpy(out, &c, sizeof c);                                                                 \
    }
INTEGER(reference_int8, int8_t, uint8_t)
INTEGER(reference_int16, int16_t, uint16_t)
INTEGER(reference_int32, int32_t, uint32_t)
INTEGER(reference_int64, int64_t, uint64_t)
INTEGER(reference_int128, wide, unsigned_wide)
INTEGER(reference_uint8, uint8_t, uint8_t)
INTEGER(reference_uint16, uint16_t, uint16_t)
INTEGER(reference_uint32, uint32_t, uint32_t)
INTEGER(reference_uint64, uint64_t, uint64_t)

#define REAL(name, type)                                                                           \
    static void name(MPI_Op op, const void *left, const void *right, void *out)                    \
    {                                                                                              \
        type a, b, c = 0;                                                                          \
        memcpy(&a, left, sizeof a);                                                                \
        memcpy(&b, right, sizeof b);                                                               \
        if (op == MPI_SUM)                                                                         \
            c = a + b;                                                                             \
        if (op == MPI_PROD)                                                                        \
            c = a * b;                                                                             \
        if (op == MPI_MAX)                                                                         \
            c = a > b ? a : b;                                                                     \
        if (op == MPI_MIN)                                                                         \
            c = a < b ? a : b;                                                                     \
        memcpy(out, &c, sizeof c);                                                                 \
    }
#define COMPLEX(name, type)                                                                        \
    static void name(MPI_Op op, const void *left, const void *right, void *out)                    \
    {                                                                                              \
        type a[2], b[2], c[2];                                                                     \
        memcpy(a, left, sizeof a);                                                                 \
        memcpy(b, right, sizeof b);                                                                \
        c[0] = op == MPI_SUM ? a[0] + b[0] : a[0] * b[0] - a[1] * b[1];                            \
        c[1] = op == MPI_SUM ? a[1] + b[1] : a[0] * b[1] + a[1] * b[0];                            \
        memcpy(out, c, sizeof c);                                                                  \
    }
#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif
REAL(reference_float, float)
REAL(reference_double, double)
REAL(reference_long_double, long double)
REAL(reference_quad, quad)
COMPLEX(reference_complex_float, float)
COMPLEX(reference_complex_double, double)
COMPLEX(reference_complex_long_double, long double)
COMPLEX(reference_complex_quad, quad)

#define PAIR(name, value_type, index_type)                                                         \
    static void name(MPI_Op op, const void *left, const void *right, void *out)                    \
    {                                                                                              \
        struct {                                                                                   \
            value_type value;                                                                      \
            index_type index;                                                                      \
        } a, b, c;                                                                                 \
        memcpy(&a, left, sizeof a);                                                                \
        memcpy(&b, right, sizeof b);                                                               \
        memcpy(&c, out, sizeof c);                                                                 \
        c.value = (op == MPI_MINLOC) == (a.value < b.value) ? a.value : b.value;                   \
        c.index = a.value == c.value ? a.index : b.index;                                          \
        if (a.value == b.value)                                                                    \
            c.index = a.index < b.index ? a.index : b.index;                                       \
        memcpy(out, &c, sizeof c);                                                                 \
    }
PAIR(reference_float_int, float, int)
PAIR(reference_double_int, double, int)
PAIR(reference_long_int, long, int)
PAIR(reference_2int, int, int)
PAIR(reference_short_int, short, int)
PAIR(reference_long_double_int, long double, int)
PAIR(reference_2real, float, float)
PAIR(reference_2double, double, double)

/* ---- Random operands ---- */

enum filling {
    FILL_BITS,
    FILL_BOOL,
    FILL_FLOAT,
    FILL_DOUBLE,
    FILL_LONG_DOUBLE,
    FILL_QUAD,
    FILL_PAIR
};

struct subject {
    MPI_Datatype type;
    reference *compute;
    enum filling filling;
};
static const struct subject subjects[] = {
    {MPI_INT, reference_int32, FILL_BITS},
    {MPI_LONG, reference_int64, FILL_BITS},
    {MPI_SHORT, reference_int16, FILL_BITS},
    {MPI_UNSIGNED_SHORT, reference_uint16, FILL_BITS},
    {MPI_UNSIGNED, reference_uint32, FILL_BITS},
    {MPI_UNSIGNED_LONG, reference_uint64, FILL_BITS},
    {MPI_LONG_LONG, reference_int64, FILL_BITS},
    {MPI_UNSIGNED_LONG_LONG, reference_uint64, FILL_BITS},
    {MPI_SIGNED_CHAR, reference_int8, FILL_BITS},
    {MPI_UNSIGNED_CHAR, reference_uint8, FILL_BITS},
    {MPI_INT8_T, reference_int8, FILL_BITS},
    {MPI_INT16_T, reference_int16, FILL_BITS},
    {MPI_INT32_T, reference_int32, FILL_BITS},
    {MPI_INT64_T, reference_int64, FILL_BITS},
    {MPI_UINT8_T, reference_uint8, FILL_BITS},
    {MPI_UINT16_T, reference_uint16, FILL_BITS},
    {MPI_UINT32_T, reference_uint32, FILL_BITS},
    {MPI_UINT64_T, reference_uint64, FILL_BITS},
    {MPI_INTEGER, reference_int32, FILL_BITS},
    {MPI_INTEGER1, reference_int8, FILL_BITS},
    {MPI_INTEGER2, reference_int16, FILL_BITS},
    {MPI_INTEGER4, reference_int32, FILL_BITS},
    {MPI_INTEGER8, reference_int64, FILL_BITS},
    {MPI_INTEGER16, reference_int128, FILL_BITS},
    {MPI_AINT, reference_int64, FILL_BITS},
    {MPI_OFFSET, reference_int64, FILL_BITS},
    {MPI_COUNT, reference_int64, FILL_BITS},
    {MPI_BYTE, reference_uint8, FILL_BITS},
    {MPI_LOGICAL, reference_int32, FILL_BOOL},
    {MPI_LOGICAL1, reference_int8, FILL_BOOL},
    {MPI_LOGICAL2, reference_int16, FILL_BOOL},
    {MPI_LOGICAL4, reference_int32, FILL_BOOL},
    {MPI_LOGICAL8, reference_int64, FILL_BOOL},
    {MPI_LOGICAL16, reference_int128, FILL_BOOL},
    {MPI_C_BOOL, reference_uint8, FILL_BOOL},
    {MPI_CXX_BOOL, reference_uint8, FILL_BOOL},
    {MPI_FLOAT, reference_float, FILL_FLOAT},
    {MPI_REAL, reference_float, FILL_FLOAT},
    {MPI_REAL4, reference_float, FILL_FLOAT},
    {MPI_DOUBLE, reference_double, FILL_DOUBLE},
    {MPI_DOUBLE_PRECISION, reference_double, FILL_DOUBLE},
    {MPI_REAL8, reference_double, FILL_DOUBLE},
    {MPI_LONG_DOUBLE, reference_long_double, FILL_LONG_DOUBLE},
    {MPI_REAL16, reference_quad, FILL_QUAD},
    {MPI_COMPLEX, reference_complex_float, FILL_FLOAT},
    {MPI_COMPLEX8, reference_complex_float, FILL_FLOAT},
    {MPI_C_FLOAT_COMPLEX, reference_complex_float, FILL_FLOAT},
    {MPI_CXX_FLOAT_COMPLEX, reference_complex_float, FILL_FLOAT},
    {MPI_DOUBLE_COMPLEX, reference_complex_double, FILL_DOUBLE},
    {MPI_COMPLEX16, reference_complex_double, FILL_DOUBLE},
    {MPI_C_DOUBLE_COMPLEX, reference_complex_double, FILL_DOUBLE},
    {MPI_CXX_DOUBLE_COMPLEX, reference_complex_double, FILL_DOUBLE},
    {MPI_C_LONG_DOUBLE_COMPLEX, reference_complex_long_double, FILL_LONG_DOUBLE},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, reference_complex_long_double, FILL_LONG_DOUBLE},
    {MPI_COMPLEX32, reference_complex_quad, FILL_QUAD},
    {MPI_FLOAT_INT, reference_float_int, FILL_PAIR},
    {MPI_DOUBLE_INT, reference_double_int, FILL_PAIR},
    {MPI_LONG_INT, reference_long_int, FILL_PAIR},
    {MPI_2INT, reference_2int, FILL_PAIR},
    {MPI_SHORT_INT, reference_short_int, FILL_PAIR},
    {MPI_LONG_DOUBLE_INT, reference_long_double_int, FILL_PAIR},
    {MPI_2REAL, reference_2real, FILL_PAIR},
    {MPI_2DOUBLE_PRECISION, reference_2double, FILL_PAIR},
    {MPI_2INTEGER, reference_2int, FILL_PAIR},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* A number as the value or the index of a pair; returns its size. */
static size_t put_number(char *at, MPI_Datatype type, int number)
{
    union {
        float f;
        double d;
        long double ld;
        long l;
        short s;
        int i;
    } value = {0};
    if (type == MPI_FLOAT)
        value.f = (float)number;
    else if (type == MPI_DOUBLE)
        value.d = number;
    else if (type == MPI_LONG_DOUBLE)
        value.ld = number;
    else if (type == MPI_LONG)
        value.l = number;
    else if (type == MPI_SHORT)
        value.s = (short)number;
    else
        value.i = number;
    size_t size = sim_datatype_get(type)->size;
    memcpy(at, &value, size);
    return size;
}

/* Few different values, so that pairs tie often. */
static void fill_pairs(const struct subject *subject, char *array, size_t extent)
{
    static const MPI_Datatype parts[][3] = {
        {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT}, {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
        {MPI_LONG_INT, MPI_LONG, MPI_INT},   {MPI_2INT, MPI_INT, MPI_INT},
        {MPI_SHORT_INT, MPI_SHORT, MPI_INT}, {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
        {MPI_2REAL, MPI_FLOAT, MPI_FLOAT},   {MPI_2DOUBLE_PRECISION, MPI_DOUBLE, MPI_DOUBLE},
        {MPI_2INTEGER, MPI_INT, MPI_INT}};
    size_t row = 0;
    while (parts[row][0] != subject->type)
        row++;
    for (size_t i = 0; i < COUNT; i++) {
        char *pair = array + i * extent;
        size_t size = put_number(pair, parts[row][1], naive_between(-1, 1));
        size_t index_size = sim_datatype_get(parts[row][2])->size;
        put_number(pair + (size < index_size ? index_size : size), parts[row][2],
                   naive_between(0, 3));
    }
}

static void fill(const struct subject *subject, char *array, size_t extent)
{
    memset(array, 0, COUNT * extent);
    if (subject->filling == FILL_PAIR)
        fill_pairs(subject, array, extent);
    for (size_t i = 0; subject->filling == FILL_BITS && i < COUNT * extent; i++)
        array[i] = (char)(naive_between(0, 3) ? naive_random() : 0);
    for (size_t i = 0; subject->filling == FILL_BOOL && i < COUNT; i++)
        array[i * extent] = (char)naive_between(0, 1); /* little-endian: an integer of any width */
    for (size_t i = 0; i < COUNT * extent; i += 4) {
        float f = (float)naive_between(-999, 999) / 7;
        double d = (double)f;
        long double ld = (long double)d / 3;
        quad q = (quad)d / 3;
        if (subject->filling == FILL_FLOAT)
            memcpy(array + i, &f, sizeof f);
        if (subject->filling == FILL_DOUBLE && i % sizeof d == 0)
            memcpy(array + i, &d, sizeof d);
        if (subject->filling == FILL_LONG_DOUBLE && i % sizeof ld == 0)
            memcpy(array + i, &ld, 10); /* what lies behind is no part of the number */
        if (subject->filling == FILL_QUAD && i % sizeof q == 0)
            memcpy(array + i, &q, sizeof q);
    }
}

/* Equal as far as the type's data goes; of a long double only the ten bytes that count. */
static bool same_data(const struct subject *subject, const char *got, const char *expected)
{
    const struct sim_datatype *type = sim_datatype_get(subject->type);
    char a[64], b[64];
    for (size_t i = 0; i < COUNT; i++) {
        sim_datatype_copy_out(type, got + i * (size_t)type->extent, 1, a);
        sim_datatype_copy_out(type, expected + i * (size_t)type->extent, 1, b);
        for (size_t k = 0; k < type->size; k++)
            if (a[k] != b[k] &&
                !((subject->filling == FILL_LONG_DOUBLE || subject->type == MPI_LONG_DOUBLE_INT) &&
                  sizeof(long double) == 16 && k % 16 >= 10 && k < type->size / 16 * 16))
                return false;
    }
    return true;
}

/* Operands of one type, 16-byte aligned. */
struct operands {
    _Alignas(32) char left[COUNT * 32], right[COUNT * 32], got[COUNT * 32], expected[COUNT * 32];
};

static void expect(const struct subject *subject, MPI_Op op, struct operands *o, size_t extent)
{
    memset(o->expected, 0, sizeof o->expected);
    for (size_t i = 0; i < COUNT; i++)
        subject->compute(op, o->left + i * extent, o->right + i * extent, o->expected + i * extent);
}

static bool subject_agrees(const struct subject *subject, MPI_Op handle)
{
    const struct sim_op *op = sim_op_get(handle);
    const struct sim_datatype *type = sim_datatype_get(subject->type);
    size_t extent = (size_t)type->extent;
    struct operands o;
    fill(subject, o.left, extent);
    fill(subject, o.right, extent);
    expect(subject, handle, &o, extent);
    memcpy(o.got, o.right, sizeof o.got);
    bool same = PMPI_Reduce_local(o.left, o.got, COUNT, subject->type, handle) == MPI_SUCCESS;
    same = same && same_data(subject, o.got, o.expected);
    memcpy(o.got, o.left, sizeof o.got);
    sim_op_apply_right(op, o.got, o.right, COUNT, type);
    same = same && same_data(subject, o.got, o.expected);
    memset(o.got, 0, sizeof o.got);
    sim_op_reduce_many(op, type, COUNT, (const void *[]){o.left, o.right}, 2, o.got);
    return same && same_data(subject, o.got, o.expected);
}

static void test_subjects(const struct takes *row)
{
    int tried = 0;
    bool same = true;
    for (size_t i = 0; i < SUBJECTS; i++)
        if (table_allows(row, subjects[i].type)) {
            bool agrees = subject_agrees(&subjects[i], row->op);
            if (!agrees)
                tap_note("%s", sim_datatype_name(sim_datatype_get(subjects[i].type)));
            same = same && agrees;
            tried++;
        }
    tap_ok(same && tried >= 9, "%s agrees with its definition on %d types", row->name, tried);
}

/* ---- Half precision ---- */

static uint16_t half_op(MPI_Op op, uint16_t left, uint16_t right)
{
    uint16_t result = right;
    PMPI_Reduce_local(&left, &result, 1, MPI_REAL2, op);
    return result;
}

static void test_half(void)
{
    bool identity = true, same = true;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        bool nan = (bits & 0x7fff) > 0x7c00;
        uint16_t got = half_op(MPI_PROD, (uint16_t)bits, 0x3c00);
        identity = identity && (nan ? (got & 0x7fff) > 0x7c00 : got == bits);
    }
    tap_ok(identity, "every number of half precision times one is itself");
#if defined(__FLT16_MAX__) && !defined(__clang__)
    __extension__ typedef _Float16 half;
    for (int i = 0; i < 20000; i++) {
        uint16_t a = (uint16_t)naive_random(), b = (uint16_t)naive_random(), sum, product;
        half x, y, s, p;
        if ((a & 0x7c00) == 0x7c00 || (b & 0x7c00) == 0x7c00)
            continue;
        memcpy(&x, &a, 2);
        memcpy(&y, &b, 2);
        s = x + y;
        p = x * y;
        memcpy(&sum, &s, 2);
        memcpy(&product, &p, 2);
        same = same && half_op(MPI_SUM, a, b) == sum && half_op(MPI_PROD, a, b) == product;
    }
    tap_ok(same, "sums and products of half precision are rounded as the compiler does");
#else
    (void)same;
    tap_skip(1, "the compiler has no half precision");
#endif
    uint16_t left[2] = {0x4000, 0x3c00}, right[2] = {0x4200, 0xbc00}; /* (2 + i)(3 - i) = 7 + i */
    PMPI_Reduce_local(left, right, 1, MPI_COMPLEX4, MPI_PROD);
    tap_ok(right[0] == 0x4700 && right[1] == 0x3c00, "complex numbers of half precision multiply");
}

/* ---- NaN, ties, aliasing ---- */

static void test_nan(void)
{
    bool kept = true;
    for (int i = 0; i < 4; i++) {
        double left = i & 1 ? NAN : 1, right = i & 1 ? 1 : NAN;
        float narrow_left = (float)left, narrow_right = (float)right;
        PMPI_Reduce_local(&left, &right, 1, MPI_DOUBLE, i & 2 ? MPI_MAX : MPI_MIN);
        PMPI_Reduce_local(&narrow_left, &narrow_right, 1, MPI_FLOAT, i & 2 ? MPI_MAX : MPI_MIN);
        kept = kept && isnan(right) && isnan(narrow_right);
    }
    tap_ok(kept, "the maximum or minimum of a number and NaN is NaN either way");
}

static void test_ties(void)
{
    struct {
        double value;
        int index;
    } first = {1, 5}, second = {1, 2}, third = {3, 9};
    const void *inputs[3] = {&first, &second, &third};
    struct sim_datatype const *type = sim_datatype_get(MPI_DOUBLE_INT);
    sim_op_reduce_many(sim_op_get(MPI_MINLOC), type, 1, inputs, 3, &third);
    tap_ok(third.value == 1 && third.index == 2, "of equal minima the smallest index is told");
}

static void test_aliased_result(void)
{
    enum { N = 5, LENGTH = 3000 };
    bool same = true;
    for (int target = 0; target < N; target++) {
        static double data[N][LENGTH];
        const void *inputs[N];
        for (int i = 0; i < N; i++) {
            inputs[i] = data[i];
            for (int k = 0; k < LENGTH; k++)
                data[i][k] = i * 1000 + k;
        }
        sim_op_reduce_many(sim_op_get(MPI_SUM), sim_datatype_get(MPI_DOUBLE), LENGTH, inputs, N,
                           data[target]);
        for (int k = 0; k < LENGTH; k++)
            same = same && data[target][k] == 10000 + 5 * k;
    }
    tap_ok(same, "the result of a reduction may be any of its inputs");
}

/* Summing in rank order loses the ones, any other association keeps some. */
static void test_association(void)
{
    double big = 0x1p53, one = 1, result;
    const void *inputs[4] = {&big, &one, &one, &one};
    sim_op_reduce_many(sim_op_get(MPI_SUM), sim_datatype_get(MPI_DOUBLE), 1, inputs, 4, &result);
    tap_ok(result == 0x1p53, "a reduction associates from the left");
}

/* ---- Windows ---- */

static void test_window(void)
{
    MPI_Datatype vector, mixed;
    double target[6] = {1, 2, 3, 4, 5, 6}, origin[6] = {10, 20, 30, 40, 50, 60};
    PMPI_Type_vector(3, 1, 2, MPI_DOUBLE, &vector);
    PMPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                            (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &mixed);
    const struct sim_datatype *type = sim_datatype_get(vector);
    const struct sim_op *sum = sim_op_get(MPI_SUM);
    tap_is_int(sim_op_allowed(sum, type), MPI_ERR_OP, "a reduction refuses a derived type");
    tap_is_int(sim_op_allowed_in_window(sum, type), MPI_SUCCESS,
               "an accumulation takes one that is made of doubles");
    tap_is_int(sim_op_allowed_in_window(sum, sim_datatype_get(mixed)), MPI_ERR_TYPE,
               "an accumulation refuses one that is made of several");
    sim_op_apply_right(sum, target, origin, 1, type);
    tap_ok(target[0] == 11 && target[1] == 2 && target[2] == 33 && target[4] == 55,
           "an accumulation adds where the type has data");
    sim_op_apply_right(sim_op_get(MPI_REPLACE), target, origin, 1, type);
    tap_ok(target[0] == 10 && target[1] == 2 && target[4] == 50, "MPI_REPLACE takes the origin's");
    sim_op_apply_right(sim_op_get(MPI_NO_OP), target, (double[6]){0}, 1, type);
    tap_ok(target[0] == 10 && target[5] == 6, "MPI_NO_OP keeps the target's");
    PMPI_Type_free(&vector);
    PMPI_Type_free(&mixed);
}

int main(int argc, char **argv)
{
    naive_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 3;
    tap_note("seed %llu", (unsigned long long)naive_state);
    for (size_t i = 0; i < OPERATIONS; i++) {
        test_allowed(&table[i]);
        test_subjects(&table[i]);
    }
    test_half();
    test_nan();
    test_ties();
    test_aliased_result();
    test_association();
    test_window();
    return tap_done();
}
