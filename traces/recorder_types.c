/* Datatypes and reductions as the recorder knows them: what basic type, how many of it, which
 * signature.
 *
 * A derived type is opened with envelope and contents, once; the answer is kept per rank until the
 * type is freed. The signature is a hash of the sequence of basic types with repetitions folded, so
 * that counts do not matter: one element type gives the same signature in a vector, an array or
 * alone. */
#include "traces/recorder_rank.h"

#include <stdlib.h>

struct named {
    uint64_t key;
    uint32_t number;
};

static const struct recorder_type byte_type = {
    .basic = 0x247, .unit = 1, .signature = 0x247, .elements = 1, .size = 1, .extent = 1};

#ifdef MPI_ABI_VERSION
uint32_t recorder_type_number(MPI_Datatype type)
{
    uint64_t key = HANDLE_KEY(type);
    return key > 0x200 && key < 0x300 ? (uint32_t)key : 0;
}

uint32_t recorder_reduction_number(MPI_Op op)
{
    uint64_t key = HANDLE_KEY(op);
    return key < 0x40 ? (uint32_t)key : 1;
}
#else
uint32_t recorder_type_number(MPI_Datatype type)
{
    /* Handles are addresses or computed values here: no constant expressions. */
    const struct {
        MPI_Datatype type;
        uint32_t number;
    } table[] = {
        {MPI_DOUBLE, 0x214},
        {MPI_INT, 0x209},
        {MPI_FLOAT, 0x210},
        {MPI_BYTE, 0x247},
        {MPI_CHAR, 0x243},
        {MPI_LONG, 0x20a},
        {MPI_SHORT, 0x208},
        {MPI_LONG_LONG, 0x20b},
        {MPI_UNSIGNED, 0x20d},
        {MPI_UNSIGNED_LONG, 0x20e},
        {MPI_UNSIGNED_SHORT, 0x20c},
        {MPI_UNSIGNED_LONG_LONG, 0x20f},
        {MPI_UNSIGNED_CHAR, 0x245},
        {MPI_SIGNED_CHAR, 0x244},
        {MPI_LONG_DOUBLE, 0x220},
        {MPI_C_BOOL, 0x238},
        {MPI_WCHAR, 0x23c},
        {MPI_PACKED, 0x207},
        {MPI_AINT, 0x201},
        {MPI_OFFSET, 0x203},
        {MPI_COUNT, 0x202},
        {MPI_INT8_T, 0x240},
        {MPI_UINT8_T, 0x241},
        {MPI_INT16_T, 0x248},
        {MPI_UINT16_T, 0x249},
        {MPI_INT32_T, 0x250},
        {MPI_UINT32_T, 0x251},
        {MPI_INT64_T, 0x258},
        {MPI_UINT64_T, 0x259},
        {MPI_C_FLOAT_COMPLEX, 0x212},
        {MPI_C_DOUBLE_COMPLEX, 0x216},
        {MPI_C_LONG_DOUBLE_COMPLEX, 0x224},
        {MPI_FLOAT_INT, 0x228},
        {MPI_DOUBLE_INT, 0x229},
        {MPI_LONG_INT, 0x22a},
        {MPI_2INT, 0x22b},
        {MPI_SHORT_INT, 0x22c},
        {MPI_LONG_DOUBLE_INT, 0x22d},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == type)
            return table[i].number;
    return 0;
}

uint32_t recorder_reduction_number(MPI_Op op)
{
    const struct {
        MPI_Op op;
        uint32_t number;
    } table[] = {
        {MPI_SUM, 0x21},     {MPI_MIN, 0x22},   {MPI_MAX, 0x23},    {MPI_PROD, 0x24},
        {MPI_BAND, 0x28},    {MPI_BOR, 0x29},   {MPI_BXOR, 0x2a},   {MPI_LAND, 0x30},
        {MPI_LOR, 0x31},     {MPI_LXOR, 0x32},  {MPI_MINLOC, 0x38}, {MPI_MAXLOC, 0x39},
        {MPI_REPLACE, 0x3c}, {MPI_NO_OP, 0x3d},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].op == op)
            return table[i].number;
    return 1;
}
#endif

/* What a derived type is made of, gathered over its parts. */
struct parts {
    uint32_t basic, signature;
    int64_t elements;
    bool mixed, any;
};

static uint32_t mix(uint32_t signature, uint32_t value)
{
    return (signature ^ value) * 0x9e3779b1u + 1;
}

static void parts_add(struct parts *parts, const struct recorder_type *type, int64_t repeated)
{
    if (repeated <= 0 || type->elements == 0)
        return;
    if (!parts->any) {
        parts->basic = type->basic;
        parts->signature = type->signature;
        parts->any = true;
    } else if (parts->signature != type->signature) {
        parts->signature = mix(parts->signature, type->signature);
        parts->mixed = true;
    }
    if (type->basic == 0)
        parts->mixed = true;
    parts->elements += repeated * type->elements;
}

/* How often each part of a derived type stands in it; combiners differ only in where their counts
 * are. */
static void parts_gather(struct recorder_rank *me, struct parts *parts, int combiner,
                         const int *integers, int integer_count, const MPI_Datatype *types,
                         int type_count)
{
    if (type_count == 0)
        return;
    const struct recorder_type *first = recorder_type(me, types[0]);
    if (combiner == MPI_COMBINER_STRUCT) {
        for (int i = 0; i < integers[0] && i < type_count; i++)
            parts_add(parts, recorder_type(me, types[i]), integers[1 + i]);
    } else if (combiner == MPI_COMBINER_CONTIGUOUS) {
        parts_add(parts, first, integers[0]);
    } else if (combiner == MPI_COMBINER_VECTOR || combiner == MPI_COMBINER_HVECTOR ||
               combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK) {
        parts_add(parts, first, (int64_t)integers[0] * integers[1]);
    } else if (combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_HINDEXED) {
        for (int i = 0; i < integers[0] && 1 + i < integer_count; i++)
            parts_add(parts, first, integers[1 + i]);
    } else {
        parts_add(parts, first,
                  1); /* dup, resized, subarray, darray: the count follows from the size */
    }
}

static void release_types(MPI_Datatype *types, int count)
{
    for (int i = 0; i < count; i++) {
        int integers, addresses, inner, combiner;
        if (PMPI_Type_get_envelope(types[i], &integers, &addresses, &inner, &combiner) ==
                MPI_SUCCESS &&
            combiner != MPI_COMBINER_NAMED) {
            recorder_type_forget(recorder_me(), types[i]);
            PMPI_Type_free(&types[i]);
        }
    }
}

static void open_derived(struct recorder_rank *me, MPI_Datatype type, struct parts *parts)
{
    int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
    if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
        combiner == MPI_COMBINER_NAMED)
        return;
    int *numbers = calloc((size_t)integers + 1, sizeof *numbers);
    MPI_Aint *places = calloc((size_t)addresses + 1, sizeof *places);
    MPI_Datatype *inner = calloc((size_t)types + 1, sizeof *inner);
    if (numbers && places && inner &&
        PMPI_Type_get_contents(type, integers, addresses, types, numbers, places, inner) ==
            MPI_SUCCESS) {
        parts_gather(me, parts, combiner, numbers, integers, inner, types);
        release_types(inner, types);
    }
    free(numbers);
    free(places);
    free(inner);
}

static void fill(struct recorder_rank *me, MPI_Datatype handle, struct recorder_type *type)
{
    int size = 0;
    MPI_Aint lower = 0, extent = 0;
    PMPI_Type_size(handle, &size);
    PMPI_Type_get_extent(handle, &lower, &extent);
    type->size = size;
    type->extent = (int64_t)extent;
    type->lower = (int64_t)lower;
    type->basic = recorder_type_number(handle);
    if (type->basic) {
        type->signature = type->basic;
        type->unit = (uint32_t)(size > 0 ? size : 1);
        type->elements = size > 0;
        return;
    }
    struct parts parts = {0};
    open_derived(me, handle, &parts);
    type->basic = parts.mixed ? 0 : parts.basic;
    type->signature = parts.signature;
    size_t unit = type->basic ? trace_type_size(type->basic) : 1;
    type->unit = (uint32_t)(unit ? unit : 1);
    type->elements = type->size / type->unit;
}

static const struct recorder_type *look_up(struct recorder_rank *me, MPI_Datatype handle,
                                           uint64_t key)
{
    const struct recorder_type *known = handle_map_find(&me->types, key);
    if (known)
        return known;
    struct recorder_type *type =
        handle == MPI_DATATYPE_NULL || !key ? NULL : calloc(1, sizeof *type);
    if (!type)
        return &byte_type;
    fill(me, handle, type);
    if (handle_map_add(&me->types, key, type))
        return type;
    free(type);
    return &byte_type;
}

const struct recorder_type *recorder_type(struct recorder_rank *me, MPI_Datatype handle)
{
    uint64_t key = HANDLE_KEY(handle);
    size_t slot = (size_t)(key ^ key >> 4 ^ key >> 8) % RECORDER_CACHE;
    if (me->type_cache[slot].key == key && key)
        return me->type_cache[slot].type;
    const struct recorder_type *type = look_up(me, handle, key);
    if (type != &byte_type) {
        me->type_cache[slot].key = key;
        me->type_cache[slot].type = type;
    }
    return type;
}

void recorder_type_forget(struct recorder_rank *me, MPI_Datatype handle)
{
    uint64_t key = HANDLE_KEY(handle);
    size_t slot = (size_t)(key ^ key >> 4 ^ key >> 8) % RECORDER_CACHE;
    if (me->type_cache[slot].key == key)
        me->type_cache[slot].key = 0;
    free(handle_map_find(&me->types, key));
    handle_map_remove(&me->types, key);
}
