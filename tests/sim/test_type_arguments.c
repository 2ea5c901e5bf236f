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

/* Arrays that are not there, and sizes and orders of a grid that are none. */
static void grids(int rank, int size)
{
    (void)rank, (void)size;
    for (int missing = -1; missing < 4; missing++) {
        int sizes[2] = {4, 4}, parts[2] = {2, 2}, starts[2] = {1, 1}, *arrays[4];
        int ways[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, with[2] = {2, 1},
            grid[2] = {2, 1};
        int wanted = missing < 0 ? MPI_SUCCESS : MPI_ERR_ARG;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        int *given[2][4] = {{sizes, parts, starts, sizes}, {sizes, ways, with, grid}};
        for (int distributed = 0; distributed < 2; distributed++) {
            for (int i = 0; i < 4; i++)
                arrays[i] = i == missing ? NULL : given[distributed][i];
            if (distributed)
                expect(made(MPI_Type_create_darray(2, 1, 2, arrays[0], arrays[1], arrays[2],
                                                   arrays[3], MPI_ORDER_C, MPI_INT, &type),
                            &type) == wanted,
                       "a distributed array without its array %d", missing);
            else if (missing < 3)
                expect(made(MPI_Type_create_subarray(2, arrays[0], arrays[1], arrays[2],
                                                     MPI_ORDER_C, MPI_INT, &type),
                            &type) == wanted,
                       "a part without its array %d", missing);
        }
    }
    for (int way = 0; way < 3; way++)
        for (int length = -1; length <= 5; length++)
            for (int owners = -1; owners <= 4; owners++)
                for (int extent = 0; extent <= 7; extent++) {
                    static const int ways[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK,
                                               MPI_DISTRIBUTE_CYCLIC};
                    int argument = length < 0 ? MPI_DISTRIBUTE_DFLT_DARG : length;
                    bool fits = length != 0;
                    MPI_Datatype type = MPI_DATATYPE_NULL;
                    if (ways[way] == MPI_DISTRIBUTE_NONE)
                        fits = owners == 1;
                    else if (ways[way] == MPI_DISTRIBUTE_BLOCK && length > 0)
                        fits = length * owners >= extent;
                    bool right = fits && extent > 0 && owners == 2;
                    int error = MPI_Type_create_darray(2, 1, 1, &extent, &ways[way], &argument,
                                                       &owners, MPI_ORDER_FORTRAN, MPI_INT, &type);
                    expect(made(error, &type) == (right ? MPI_SUCCESS : MPI_ERR_ARG),
                           "way %d with %d of %d among %d", way, length, extent, owners);
                }
}

/* A process of a grid of so many, and of another number of them. */
static void grid_members(int rank, int size)
{
    (void)rank, (void)size;
    for (int members = -1; members <= 5; members++)
        for (int member = -2; member <= 6; member++) {
            int sizes[2] = {4, 4}, ways[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
                with[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {2, 2};
            MPI_Datatype type = MPI_DATATYPE_NULL;
            bool right = members == 4 && member >= 0 && member < 4;
            int error = MPI_Type_create_darray(members, member, 2, sizes, ways, with, grid,
                                               MPI_ORDER_C, MPI_INT, &type);
            expect(made(error, &type) == (right ? MPI_SUCCESS : MPI_ERR_ARG),
                   "process %d of %d in a grid of 4", member, members);
        }
    for (int order = -1; order <= 3; order++)
        for (int dimensions = -1; dimensions <= 2; dimensions++) {
            int sizes[2] = {4, 4}, parts[2] = {2, 2}, starts[2] = {1, 1},
                ways[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_NONE}, grid[2] = {1, 1};
            int orders[] = {MPI_ORDER_C, MPI_ORDER_FORTRAN, MPI_ORDER_C - 1, MPI_ORDER_FORTRAN + 1,
                            -99};
            MPI_Datatype type = MPI_DATATYPE_NULL;
            int way = orders[order + 1];
            bool known = way == MPI_ORDER_C || way == MPI_ORDER_FORTRAN;
            int wanted = dimensions < 1 ? MPI_ERR_DIMS : known ? MPI_SUCCESS : MPI_ERR_ARG;
            expect(made(MPI_Type_create_subarray(dimensions, sizes, parts, starts, way, MPI_INT,
                                                 &type),
                        &type) == wanted,
                   "a part in %d dimensions, order %d", dimensions, way);
            expect(made(MPI_Type_create_darray(1, 0, dimensions, sizes, ways, parts, grid, way,
                                               MPI_INT, &type),
                        &type) == wanted,
                   "a distributed array in %d dimensions, order %d", dimensions, way);
        }
}

/* ---- where there is no place for what is asked ---- */

enum { PLACES = 5 };

struct places {
    MPI_Datatype type;
    bool missing[PLACES];
};

static char room[PLACES][MPI_MAX_OBJECT_NAME + 64];
/* The k-th place, or none. */
#define AT(k, to) ((to *)(void *)(p->missing[k] ? NULL : room[k]))

#define ASKS(ASK)                                                                                  \
    ASK(1, true, Type_size(p->type, AT(0, int)))                                                   \
    ASK(1, true, Type_size_c(p->type, AT(0, MPI_Count)))                                           \
    ASK(1, true, Type_size_x(p->type, AT(0, MPI_Count)))                                           \
    ASK(2, true, Type_get_extent(p->type, AT(0, MPI_Aint), AT(1, MPI_Aint)))                       \
    ASK(2, true, Type_get_extent_c(p->type, AT(0, MPI_Count), AT(1, MPI_Count)))                   \
    ASK(2, true, Type_get_extent_x(p->type, AT(0, MPI_Count), AT(1, MPI_Count)))                   \
    ASK(2, true, Type_get_true_extent(p->type, AT(0, MPI_Aint), AT(1, MPI_Aint)))                  \
    ASK(2, true, Type_get_true_extent_c(p->type, AT(0, MPI_Count), AT(1, MPI_Count)))              \
    ASK(2, true, Type_get_true_extent_x(p->type, AT(0, MPI_Count), AT(1, MPI_Count)))              \
    ASK(4, true, Type_get_envelope(p->type, AT(0, int), AT(1, int), AT(2, int), AT(3, int)))       \
    ASK(5, true,                                                                                   \
        Type_get_envelope_c(p->type, AT(0, MPI_Count), AT(1, MPI_Count), AT(2, MPI_Count),         \
                            AT(3, MPI_Count), AT(4, int)))                                         \
    ASK(2, false, Type_get_name(p->type, AT(0, char), AT(1, int)))                                 \
    ASK(1, true, Type_set_name(p->type, AT(0, char)))                                              \
    ASK(1, true, Type_get_value_index(p->type, MPI_INT, AT(0, MPI_Datatype)))                      \
    ASK(1, true, Type_get_value_index(MPI_INT, p->type, AT(0, MPI_Datatype)))                      \
    ASK(1, false, Type_match_size(MPI_TYPECLASS_REAL, 8, AT(0, MPI_Datatype)))                     \
    ASK(1, false, Type_create_f90_real(6, 30, AT(0, MPI_Datatype)))                                \
    ASK(1, false, Type_create_f90_complex(6, 30, AT(0, MPI_Datatype)))                             \
    ASK(1, false, Type_create_f90_integer(6, AT(0, MPI_Datatype)))                                 \
    ASK(1, false, Get_address(room, AT(0, MPI_Aint)))

static void missing_places(int rank, int size)
{
    (void)rank, (void)size;
#define ASK(n, by_type, ...)                                                                       \
    for (int gone = -1; gone < (n); gone++)                                                        \
        for (int null = 0; null < 2; null++) {                                                     \
            struct places all = {null ? MPI_DATATYPE_NULL : MPI_INT, {false}}, *p = &all;          \
            memset(room, 0, sizeof room);                                                          \
            if (gone >= 0)                                                                         \
                all.missing[gone] = true;                                                          \
            int got = class_of(MPI_##__VA_ARGS__);                                                 \
            bool typeless = (by_type) && null;                                                     \
            expect(gone < 0 && !typeless                                                           \
                       ? got == MPI_SUCCESS                                                        \
                       : (gone >= 0 && got == MPI_ERR_ARG) ||                                      \
                             ((typeless || (null && gone >= 0)) && got == MPI_ERR_TYPE),           \
                   "%s: %d without place %d, type %d", #__VA_ARGS__, got, gone, null);             \
        }
    ASKS(ASK)
#undef ASK
}

/* Arrays for contents that have less room than the envelope says, or are not there. */
static void contents_without_room(int rank, int size)
{
    enum { C = 2 };
    int blocks[C] = {1, 2};
    MPI_Aint bytes[C] = {0, 16};
    MPI_Count wide_blocks[C] = {1, 2}, wide_bytes[C] = {0, 16};
    MPI_Datatype types[C] = {MPI_INT, MPI_DOUBLE}, made_of[2];
    (void)rank, (void)size;
    MPI_Type_create_struct(C, blocks, bytes, types, &made_of[0]);
    MPI_Type_create_struct_c(C, wide_blocks, wide_bytes, types, &made_of[1]);
    for (int large = 0; large < 2; large++)
        for (int form = large; form < 2; form++) { /* the other is refused */
            MPI_Count envelope[4];
            int combiner;
            expect_ok(MPI_Type_get_envelope_c(made_of[large], &envelope[0], &envelope[1],
                                              &envelope[2], &envelope[3], &combiner));
            for (int which = 0; which < 4; which++)
                for (int way = -2; way <= 2; way++) { /* less, not there, and more */
                    int integers[9];
                    MPI_Aint addresses[9];
                    MPI_Count counts[9], rooms[4];
                    MPI_Datatype got[9];
                    void *arrays[4] = {integers, addresses, counts, got};
                    memcpy(rooms, envelope, sizeof rooms);
                    if (form == 0 && which == 2)
                        continue;
                    rooms[which] += way == -2 ? -1 : way == -1 ? -envelope[which] - 1 : way == 1;
                    if (way == 2)
                        arrays[which] = NULL;
                    int error =
                        form ? MPI_Type_get_contents_c(made_of[large], rooms[0], rooms[1], rooms[2],
                                                       rooms[3],
                                                       integers == arrays[0] ? integers : NULL,
                                                       addresses == arrays[1] ? addresses : NULL,
                                                       counts == arrays[2] ? counts : NULL,
                                                       got == arrays[3] ? got : NULL)
                             : MPI_Type_get_contents(made_of[large], (int)rooms[0], (int)rooms[1],
                                                     (int)rooms[3],
                                                     integers == arrays[0] ? integers : NULL,
                                                     addresses == arrays[1] ? addresses : NULL,
                                                     got == arrays[3] ? got : NULL);
                    bool fits = way == 0 || way == 1 || !envelope[which];
                    expect(class_of(error) == (fits ? MPI_SUCCESS : MPI_ERR_ARG),
                           "contents %d, form %d, array %d, way %d: %d", large, form, which, way,
                           error);
                }
        }
    for (int large = 0; large < 2; large++)
        MPI_Type_free(&made_of[large]);
}

/* Each rank names types by itself, those of MPI too; the last name counts, as much of it as there is room for. */
static void names(int rank, int size)
{
    MPI_Datatype own;
    char text[MPI_MAX_OBJECT_NAME + 20], got[MPI_MAX_OBJECT_NAME], wanted[MPI_MAX_OBJECT_NAME];
    MPI_Type_contiguous(2, MPI_INT, &own);
    MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE_INT, own};
    static const char *const before[3] = {"MPI_INT", "MPI_DOUBLE_INT", ""};
    for (int i = 0; i < 3; i++)
        for (int named = 0; named <= 4; named++) {
            int length = -1, many = named == 4 ? MPI_MAX_OBJECT_NAME + 10 : named * 7;
            snprintf(wanted, sizeof wanted, "%s", before[i]);
            if (named) {
                memset(text, 'a' + rank, (size_t)many);
                text[many] = '\0';
                expect_ok(MPI_Type_set_name(types[i], text));
                memcpy(wanted, text, sizeof wanted);
                wanted[sizeof wanted - 1] = '\0';
            }
            if (named < 4)
                MPI_Barrier(MPI_COMM_WORLD); /* others have named theirs */
            memset(got, 0x5a, sizeof got);
            expect_ok(MPI_Type_get_name(types[i], got, &length));
            expect(!strcmp(got, wanted) && length == (int)strlen(wanted),
                   "type %d of %d ranks, name %d: %s", i, size, named, got);
        }
    MPI_Type_free(&own);
}

/* What an envelope says, by the standard's table: in the forms of ints and of large counts. */
static void envelope_is(MPI_Datatype *type, bool large, const MPI_Count wanted[4], int combiner)
{
    MPI_Count numbers[4] = {-1, -1, -1, -1};
    int small[3] = {-1, -1, -1}, got = -1, also = -1;
    expect_ok(
        MPI_Type_get_envelope_c(*type, &numbers[0], &numbers[1], &numbers[2], &numbers[3], &got));
    expect(got == combiner && !memcmp(numbers, wanted, sizeof numbers),
           "%s combiner %d: %d, %d, %d, %d", large ? "large" : "small", combiner, (int)numbers[0],
           (int)numbers[1], (int)numbers[2], (int)numbers[3]);
    int error = MPI_Type_get_envelope(*type, &small[0], &small[1], &small[2], &also);
    bool narrow = wanted[2] == 0;
    expect((error == MPI_SUCCESS) == narrow, "combiner %d of ints: %d", combiner, error);
    expect(!narrow || (small[0] == wanted[0] && small[1] == wanted[1] && small[2] == wanted[3] &&
                       also == combiner),
           "combiner %d of ints", combiner);
    MPI_Type_free(type);
}

static void envelopes(int rank, int size)
{
    enum { C = 3, D = 2 };
    int blocks[C] = {1, 2, 1}, places[C] = {0, 4, 8}, sizes[D] = {4, 4}, parts[D] = {2, 2},
        starts[D] = {1, 1}, ways[D] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK},
        with[D] = {2, 4}, grid[D] = {2, 1};
    MPI_Aint bytes[C] = {0, 16, 32};
    MPI_Count wide_blocks[C] = {1, 2, 1}, wide_places[C] = {0, 4, 8}, wide_bytes[C] = {0, 16, 32},
              wide_sizes[D] = {4, 4}, wide_parts[D] = {2, 2}, wide_starts[D] = {1, 1};
    MPI_Datatype types[C] = {MPI_INT, MPI_INT, MPI_INT}, type;
    (void)rank, (void)size;
#define ENVELOPE(large, combiner, integers, addresses, counts, made_of, call)                      \
    expect_ok(call);                                                                               \
    envelope_is(&type, large, (MPI_Count[]){integers, addresses, counts, made_of}, combiner)
    ENVELOPE(false, MPI_COMBINER_DUP, 0, 0, 0, 1, MPI_Type_dup(MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_CONTIGUOUS, 1, 0, 0, 1, MPI_Type_contiguous(3, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_CONTIGUOUS, 0, 0, 1, 1, MPI_Type_contiguous_c(3, MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_VECTOR, 3, 0, 0, 1, MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_VECTOR, 0, 0, 3, 1, MPI_Type_vector_c(2, 1, 2, MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_HVECTOR, 2, 1, 0, 1,
             MPI_Type_create_hvector(2, 1, 8, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_HVECTOR, 0, 0, 3, 1,
             MPI_Type_create_hvector_c(2, 1, 8, MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_INDEXED, 2 * C + 1, 0, 0, 1,
             MPI_Type_indexed(C, blocks, places, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_INDEXED, 0, 0, 2 * C + 1, 1,
             MPI_Type_indexed_c(C, wide_blocks, wide_places, MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_HINDEXED, C + 1, C, 0, 1,
             MPI_Type_create_hindexed(C, blocks, bytes, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_HINDEXED, 0, 0, 2 * C + 1, 1,
             MPI_Type_create_hindexed_c(C, wide_blocks, wide_bytes, MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_INDEXED_BLOCK, C + 2, 0, 0, 1,
             MPI_Type_create_indexed_block(C, 1, places, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_INDEXED_BLOCK, 0, 0, C + 2, 1,
             MPI_Type_create_indexed_block_c(C, 1, wide_places, MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_HINDEXED_BLOCK, 2, C, 0, 1,
             MPI_Type_create_hindexed_block(C, 1, bytes, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_HINDEXED_BLOCK, 0, 0, C + 2, 1,
             MPI_Type_create_hindexed_block_c(C, 1, wide_bytes, MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_STRUCT, C + 1, C, 0, C,
             MPI_Type_create_struct(C, blocks, bytes, types, &type));
    ENVELOPE(true, MPI_COMBINER_STRUCT, 0, 0, 2 * C + 1, C,
             MPI_Type_create_struct_c(C, wide_blocks, wide_bytes, types, &type));
    ENVELOPE(false, MPI_COMBINER_SUBARRAY, 3 * D + 2, 0, 0, 1,
             MPI_Type_create_subarray(D, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_SUBARRAY, 2, 0, 3 * D, 1,
             MPI_Type_create_subarray_c(D, wide_sizes, wide_parts, wide_starts, MPI_ORDER_C,
                                        MPI_INT, &type));
    ENVELOPE(false, MPI_COMBINER_DARRAY, 4 * D + 4, 0, 0, 1,
             MPI_Type_create_darray(2, 1, D, sizes, ways, with, grid, MPI_ORDER_C, MPI_INT, &type));
    ENVELOPE(true, MPI_COMBINER_DARRAY, 3 * D + 4, 0, D, 1,
             MPI_Type_create_darray_c(2, 1, D, wide_sizes, ways, with, grid, MPI_ORDER_C, MPI_INT,
                                      &type));
    ENVELOPE(false, MPI_COMBINER_RESIZED, 0, 2, 0, 1,
             MPI_Type_create_resized(MPI_INT, 0, 8, &type));
    ENVELOPE(true, MPI_COMBINER_RESIZED, 0, 0, 2, 1,
             MPI_Type_create_resized_c(MPI_INT, 0, 8, &type));
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

static void all_grids(int rank, int size)
{
    returned(grids, rank, size);
}

static void all_members(int rank, int size)
{
    returned(grid_members, rank, size);
}

static void all_places(int rank, int size)
{
    returned(missing_places, rank, size);
}

static void all_contents(int rank, int size)
{
    returned(contents_without_room, rank, size);
}

static void all_names(int rank, int size)
{
    returned(names, rank, size);
}

static void all_envelopes(int rank, int size)
{
    returned(envelopes, rank, size);
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
    world_test_sizes("arrays of a grid are there, and its distributions cover it", all_grids,
                     WORLD_FIBERS, WORLD_SIZES(1));
    world_test_sizes("a process is one of its grid", all_members, WORLD_FIBERS, WORLD_SIZES(1));
    world_test_sizes("there is a place for each answer", all_places, WORLD_FIBERS, WORLD_SIZES(1));
    world_test_sizes("there is room for what a type was made of", all_contents, WORLD_FIBERS,
                     WORLD_SIZES(1));
    world_test_sizes("types have the names that their rank gave them", all_names, WORLD_ANY,
                     WORLD_SIZES(1, 3));
    world_test_sizes("an envelope says what the standard's table says", all_envelopes, WORLD_FIBERS,
                     WORLD_SIZES(1));
    world_test_sizes("packing stays inside its buffer, and moves only by what it did",
                     all_positions, WORLD_FIBERS, WORLD_SIZES(1));
    return tap_done();
}
