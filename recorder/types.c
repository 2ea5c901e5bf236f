/* Datatypes and reductions as the recorder knows them: what basic type, how many of it, which
 * signature.
 *
 * A derived type is opened with envelope and contents, once; the answer is kept per rank until the
 * type is freed. The signature is a hash of the shortest word of basic types of whose repetitions
 * the type consists, so that neither counts nor the way of construction matter: one element type
 * gives the same signature in a vector, an array or alone. A sequence too long to be written out
 * has signature 0: unknown. */
#include "recorder/rank.h"

#include <stdlib.h>
#include <string.h>

struct named {
    uint64_t key;
    uint32_t number;
};

static uint16_t byte_word[] = {0x247};
static const struct recorder_type byte_type = {.word = byte_word,
                                               .word_length = 1,
                                               .word_bytes = 1,
                                               .basic = 0x247,
                                               .unit = 1,
                                               .signature = 0x247,
                                               .elements = 1,
                                               .size = 1,
                                               .extent = 1};

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

enum { WORD_MAX = 1024 };

/* What a derived type is made of, gathered over its parts: its basic types in order, as repetitions
 * of one word while the parts allow, else written out. */
struct parts {
    uint32_t basic;
    bool mixed, any, unknown;
    uint16_t word[WORD_MAX];
    size_t length;
    int64_t times;
};

static bool word_append(struct parts *parts, const uint16_t *word, size_t length, int64_t times)
{
    if (times > WORD_MAX || parts->length + length * (size_t)times > WORD_MAX)
        return false;
    for (int64_t i = 0; i < times; i++) {
        memmove(parts->word + parts->length, word, length * sizeof *word);
        parts->length += length;
    }
    return true;
}

static void parts_add(struct parts *parts, const struct recorder_type *type, int64_t repeated)
{
    if (repeated <= 0 || type->size <= 0)
        return;
    if (!parts->any)
        parts->basic = type->basic;
    parts->mixed |= type->basic == 0 || type->basic != parts->basic;
    parts->any = true;
    parts->unknown |= !type->word;
    if (parts->unknown)
        return;
    size_t length = parts->length;
    int64_t times = type->size / type->word_bytes * repeated;
    if (!length)
        parts->unknown = !word_append(parts, type->word, type->word_length, 1);
    else if (length != type->word_length ||
             memcmp(parts->word, type->word, length * sizeof *type->word) != 0) {
        parts->unknown = !word_append(parts, parts->word, length, parts->times - 1) ||
                         !word_append(parts, type->word, type->word_length, times);
        parts->times = 1;
        return;
    }
    parts->times += times;
}

/* The shortest word of which this one is a repetition. */
static size_t root_length(const uint16_t *word, size_t length)
{
    for (size_t period = 1; period <= length / 2; period++)
        if (length % period == 0 &&
            memcmp(word, word + period, (length - period) * sizeof *word) == 0)
            return period;
    return length;
}

/* Types of equal sequences get equal words, however they were made and whatever the counts. */
static void set_word(struct recorder_type *type, const uint16_t *word, size_t length)
{
    length = root_length(word, length);
    type->word = malloc((length + 1) * sizeof *type->word);
    if (!type->word)
        return;
    memcpy(type->word, word, length * sizeof *word);
    type->word_length = (uint32_t)length;
    type->word_bytes = 0;
    type->signature = word[0];
    for (size_t i = 0; i < length; i++) {
        size_t bytes = trace_type_size(word[i]);
        type->word_bytes += (uint32_t)(bytes ? bytes : 1);
        if (i)
            type->signature =
                (type->signature << 7 ^ type->signature >> 25 ^ word[i]) * 0x9e3779b1u;
    }
}

/* The pair types are two basic types each. */
static void set_basic_word(struct recorder_type *type)
{
    static const uint16_t pairs[][3] = {{0x228, 0x210, 0x209}, {0x229, 0x214, 0x209},
                                        {0x22a, 0x20a, 0x209}, {0x22b, 0x209, 0x209},
                                        {0x22c, 0x208, 0x209}, {0x22d, 0x220, 0x209}};
    uint16_t basic = (uint16_t)type->basic;
    type->signature = basic;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == basic) {
            set_word(type, pairs[i] + 1, 2);
            return;
        }
    set_word(type, &basic, 1);
}

/* Called, as all that asks MPI, outside the recorder. How often each part of a derived type stands
 * in it; combiners differ only in where their counts are. */
static void parts_gather(struct recorder_rank *me, struct parts *parts, int combiner,
                         const int *integers, int integer_count, const MPI_Datatype *types,
                         int type_count)
{
    if (type_count == 0)
        return;
    recorder_reenter(me);
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
    recorder_leave(me);
}

static void release_types(struct recorder_rank *me, MPI_Datatype *types, int count)
{
    for (int i = 0; i < count; i++) {
        int integers, addresses, inner, combiner;
        if (PMPI_Type_get_envelope(types[i], &integers, &addresses, &inner, &combiner) ==
                MPI_SUCCESS &&
            combiner != MPI_COMBINER_NAMED) {
            recorder_reenter(me);
            recorder_type_forget(me, types[i]);
            recorder_leave(me);
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
        release_types(me, inner, types);
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
        set_basic_word(type);
        type->unit = (uint32_t)(size > 0 ? size : 1);
        type->elements = size > 0;
        return;
    }
    struct parts parts = {0};
    open_derived(me, handle, &parts);
    type->basic = parts.mixed ? 0 : parts.basic;
    if (parts.any && !parts.unknown)
        set_word(type, parts.word, parts.length);
    size_t unit = type->basic ? trace_type_size(type->basic) : 1;
    type->unit = (uint32_t)(unit ? unit : 1);
    type->elements = type->size / type->unit;
}

void recorder_type_free(struct recorder_type *type)
{
    if (type)
        free(type->word);
    free(type);
}

static const struct recorder_type *look_up(struct recorder_rank *me, MPI_Datatype handle,
                                           uint64_t key)
{
    const struct recorder_type *known = handle_map_find(&me->types, key);
    if (known)
        return known;
    struct recorder_type *type = handle == MPI_DATATYPE_NULL || !key || !MPIX_Type_known(handle)
                                     ? NULL
                                     : calloc(1, sizeof *type);
    if (!type)
        return &byte_type;
    recorder_leave(me); /* MPI may raise an error */
    fill(me, handle, type);
    recorder_reenter(me);
    known = handle_map_find(&me->types, key);
    if (known) { /* another thread met it at the same time */
        recorder_type_free(type);
        return known;
    }
    if (handle_map_add(&me->types, key, type))
        return type;
    recorder_type_free(type);
    return &byte_type;
}

const struct recorder_type *recorder_type_find(struct recorder_rank *me, MPI_Datatype handle)
{
    uint64_t key = HANDLE_KEY(handle);
    size_t slot = recorder_type_slot(key);
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
    size_t slot = recorder_type_slot(key);
    if (me->type_cache[slot].key == key)
        me->type_cache[slot].key = 0;
    recorder_type_free(handle_map_find(&me->types, key));
    handle_map_remove(&me->types, key);
}
