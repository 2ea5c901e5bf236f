/* Names and sizes of the MPI ABI's types and reductions. See trace.h. */
#include "traces/trace/trace.h"

struct number_name {
    uint32_t number;
    uint32_t size;
    const char *name;
};

/* Numbers and names of the MPI ABI, with this platform's sizes. */
static const struct number_name types[] = {
    {0x000, 1, "mixed"},
    {0x201, sizeof(void *), "aint"},
    {0x202, 8, "count"},
    {0x203, 8, "offset"},
    {0x207, 1, "packed"},
    {0x208, sizeof(short), "short"},
    {0x209, sizeof(int), "int"},
    {0x20a, sizeof(long), "long"},
    {0x20b, sizeof(long long), "long long"},
    {0x20c, sizeof(short), "unsigned short"},
    {0x20d, sizeof(int), "unsigned"},
    {0x20e, sizeof(long), "unsigned long"},
    {0x20f, sizeof(long long), "unsigned long long"},
    {0x210, sizeof(float), "float"},
    {0x212, 2 * sizeof(float), "complex float"},
    {0x213, 2 * sizeof(float), "complex float"},
    {0x214, sizeof(double), "double"},
    {0x216, 2 * sizeof(double), "complex double"},
    {0x217, 2 * sizeof(double), "complex double"},
    {0x218, sizeof(int), "logical"},
    {0x219, sizeof(int), "integer"},
    {0x21a, sizeof(float), "real"},
    {0x21b, 2 * sizeof(float), "complex"},
    {0x21c, sizeof(double), "double precision"},
    {0x21d, 2 * sizeof(double), "double complex"},
    {0x21e, 1, "character"},
    {0x220, sizeof(long double), "long double"},
    {0x224, 2 * sizeof(long double), "complex long double"},
    {0x225, 2 * sizeof(long double), "complex long double"},
    {0x228, 8, "float_int"},
    {0x229, sizeof(double) + sizeof(int), "double_int"},
    {0x22a, sizeof(long) + sizeof(int), "long_int"},
    {0x22b, 8, "2int"},
    {0x22c, sizeof(short) + sizeof(int), "short_int"},
    {0x22d, sizeof(long double) + sizeof(int), "long_double_int"},
    {0x230, 8, "2real"},
    {0x231, 16, "2double precision"},
    {0x232, 8, "2integer"},
    {0x238, 1, "bool"},
    {0x239, 1, "bool"},
    {0x23c, sizeof(__WCHAR_TYPE__), "wchar"},
    {0x240, 1, "int8"},
    {0x241, 1, "uint8"},
    {0x243, 1, "char"},
    {0x244, 1, "signed char"},
    {0x245, 1, "unsigned char"},
    {0x247, 1, "byte"},
    {0x248, 2, "int16"},
    {0x249, 2, "uint16"},
    {0x250, 4, "int32"},
    {0x251, 4, "uint32"},
    {0x258, 8, "int64"},
    {0x259, 8, "uint64"},
    {0x2c0, 1, "logical1"},
    {0x2c1, 1, "integer1"},
    {0x2c8, 2, "logical2"},
    {0x2c9, 2, "integer2"},
    {0x2ca, 2, "real2"},
    {0x2d0, 4, "logical4"},
    {0x2d1, 4, "integer4"},
    {0x2d2, 4, "real4"},
    {0x2d3, 4, "complex4"},
    {0x2d8, 8, "logical8"},
    {0x2d9, 8, "integer8"},
    {0x2da, 8, "real8"},
    {0x2db, 8, "complex8"},
    {0x2e0, 16, "logical16"},
    {0x2e1, 16, "integer16"},
    {0x2e2, 16, "real16"},
    {0x2e3, 16, "complex16"},
    {0x2eb, 32, "complex32"},
};

static const struct number_name reductions[] = {
    {0x00, 0, ""},       {0x01, 0, "user op"}, {0x21, 0, "sum"},     {0x22, 0, "min"},
    {0x23, 0, "max"},    {0x24, 0, "prod"},    {0x28, 0, "band"},    {0x29, 0, "bor"},
    {0x2a, 0, "bxor"},   {0x30, 0, "land"},    {0x31, 0, "lor"},     {0x32, 0, "lxor"},
    {0x38, 0, "minloc"}, {0x39, 0, "maxloc"},  {0x3c, 0, "replace"}, {0x3d, 0, "no_op"},
};

static const struct number_name *number_find(const struct number_name *table, size_t count,
                                             uint32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].number == number)
            return &table[i];
    return NULL;
}

const char *trace_type_name(uint32_t type)
{
    const struct number_name *row = number_find(types, sizeof types / sizeof *types, type);
    return row ? row->name : "?";
}

size_t trace_type_size(uint32_t type)
{
    const struct number_name *row = number_find(types, sizeof types / sizeof *types, type);
    return row ? row->size : 1;
}

size_t trace_type_extent(uint32_t type)
{
    switch (type) {
    case 0x229: /* double_int */
    case 0x22a: /* long_int */
        return 16;
    case 0x22c: /* short_int */
        return 8;
    case 0x22d: /* long_double_int */
        return 32;
    default:
        return trace_type_size(type);
    }
}

const char *trace_reduce_name(uint32_t reduce_op)
{
    const struct number_name *row =
        number_find(reductions, sizeof reductions / sizeof *reductions, reduce_op);
    return row ? row->name : "?";
}
