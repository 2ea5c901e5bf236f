/* Allreduces of a few bytes and barriers, one after the other: which of them a machine may do the short way is no business of the caller's.
 * Results against loops over the ranks' numbers, permissions against the standard's table of operations and groups of types, and
 * what is beyond the buffers stays as it is. In place or not, of predefined types, of duplicates and with gaps; members of one call may differ
 * in what is equal. */
#include "tests/world_harness.h"

#include <stdatomic.h>
#include <stdint.h>

enum group { INTEGER, FLOATING, LOGICAL, BYTES, CHARACTER, PAIR, GROUPS };

struct kind {
    MPI_Datatype type; /* MPI_DATATYPE_NULL: made by the test */
    size_t size, extent;
    enum group group;
    char form; /* how a number lies in it */
};

enum { KINDS = 16, DUPLICATE = KINDS, GAPS, MADE };
static const struct kind kinds[KINDS] = {
    {MPI_SIGNED_CHAR, 1, 1, INTEGER, 'c'}, {MPI_UINT8_T, 1, 1, INTEGER, 'b'},
    {MPI_SHORT, 2, 2, INTEGER, 's'},       {MPI_UINT16_T, 2, 2, INTEGER, 'S'},
    {MPI_INT, 4, 4, INTEGER, 'i'},         {MPI_UNSIGNED, 4, 4, INTEGER, 'u'},
    {MPI_INT64_T, 8, 8, INTEGER, 'l'},     {MPI_UINT64_T, 8, 8, INTEGER, 'L'},
    {MPI_FLOAT, 4, 4, FLOATING, 'f'},      {MPI_DOUBLE, 8, 8, FLOATING, 'd'},
    {MPI_C_BOOL, 1, 1, LOGICAL, 'B'},      {MPI_BYTE, 1, 1, BYTES, 'b'},
    {MPI_CHAR, 1, 1, CHARACTER, 'c'},      {MPI_2INT, 8, 8, PAIR, 'i'},
    {MPI_FLOAT_INT, 8, 8, PAIR, 'f'},      {MPI_SHORT_INT, 6, 8, PAIR, 's'},
};

enum { OPS = 15 };
static const struct {
    MPI_Op op;
    unsigned groups; /* bits: that it may be used with */
} ops[OPS] = {
    {MPI_SUM, 1 << INTEGER | 1 << FLOATING},
    {MPI_PROD, 1 << INTEGER | 1 << FLOATING},
    {MPI_MAX, 1 << INTEGER | 1 << FLOATING},
    {MPI_MIN, 1 << INTEGER | 1 << FLOATING},
    {MPI_LAND, 1 << INTEGER | 1 << LOGICAL},
    {MPI_LOR, 1 << INTEGER | 1 << LOGICAL},
    {MPI_LXOR, 1 << INTEGER | 1 << LOGICAL},
    {MPI_BAND, 1 << INTEGER | 1 << BYTES},
    {MPI_BOR, 1 << INTEGER | 1 << BYTES},
    {MPI_BXOR, 1 << INTEGER | 1 << BYTES},
    {MPI_MAXLOC, 1 << PAIR},
    {MPI_MINLOC, 1 << PAIR},
    {MPI_REPLACE, 0},
    {MPI_NO_OP, 0},
    {MPI_OP_NULL, 0},
};

enum { ELEMENTS = 12, EXTENT_MAX = 16, ROOM = ELEMENTS * EXTENT_MAX, CALLS = 120 };

static void put(unsigned char *at, const struct kind *kind, long long value, int place)
{
    switch (kind->form) {
    case 'c':
    case 'b':
        *at = (unsigned char)value;
        break;
    case 'B':
        *at = value != 0;
        break;
    case 's':
    case 'S':
        memcpy(at, &(int16_t){(int16_t)value}, 2);
        break;
    case 'i':
    case 'u':
        memcpy(at, &(int32_t){(int32_t)value}, 4);
        break;
    case 'f':
        memcpy(at, &(float){(float)value}, 4);
        break;
    case 'd':
        memcpy(at, &(double){(double)value}, 8);
        break;
    default:
        memcpy(at, &(int64_t){value}, 8);
    }
    if (kind->group == PAIR)
        memcpy(at + 4, &(int32_t){place}, 4); /* a short's number begins there, too */
}

/* Small enough for every type, and for products of sixteen. */
static long long number_of(const struct kind *kind, int rank, int element, int call)
{
    if (kind->group == LOGICAL)
        return (rank * 5 + element + call) % 3 > 0;
    return (rank * 7 + element * 3 + call) % 2 + 1;
}

static long long join(int op, long long a, long long b)
{
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a * b;
    case 2:
    case 10:
        return a > b ? a : b;
    case 3:
    case 11:
        return a < b ? a : b;
    case 4:
        return a && b;
    case 5:
        return a || b;
    case 6:
        return !a != !b;
    case 7:
        return a & b;
    case 8:
        return a | b;
    default:
        return a ^ b;
    }
}

/* What every rank gets: of equal extremes the first. */
static void expect_element(unsigned char *at, const struct kind *kind, int op, int size,
                           int element, int call)
{
    long long value = number_of(kind, 0, element, call);
    int place = 0;
    for (int r = 1; r < size; r++) {
        long long other = number_of(kind, r, element, call), both = join(op, value, other);
        place = kind->group == PAIR && both != value ? r : place;
        value = both;
    }
    put(at, kind, value, place);
}

static void make_types(MPI_Datatype made[])
{
    MPI_Type_dup(MPI_INT, &made[DUPLICATE - KINDS]);
    MPI_Type_create_resized(MPI_INT, 0, 8, &made[GAPS - KINDS]);
    for (int i = 0; i < MADE - KINDS; i++)
        MPI_Type_commit(&made[i]);
}

static void reduce(int rank, int size, MPI_Datatype made[], uint64_t *state, int call)
{
    static const struct kind of_made[] = {{MPI_DATATYPE_NULL, 4, 4, INTEGER, 'i'},
                                          {MPI_DATATYPE_NULL, 4, 8, INTEGER, 'i'}};
    unsigned char send[ROOM], receive[ROOM], expected[ROOM];
    int number = (int)dice_below(state, MADE), op = (int)dice_below(state, OPS),
        count = (int)dice_below(state, ELEMENTS - 1) - 1;
    bool fits = dice_below(state, 3), in_place = (dice_next(state) >> rank) & 1,
         backwards = dice_below(state, 2), buffers = dice_below(state, 8);
    const struct kind *kind = number < KINDS ? &kinds[number] : &of_made[number - KINDS];
    MPI_Datatype type = number < KINDS ? kind->type : made[number - KINDS];
    while (fits && !(ops[op].groups >> kind->group & 1) &&
           kind->group != CHARACTER) /* most calls are right */
        op = (op + 1) % OPS;
    count =
        kind->size * (size_t)(count < 0 ? 0 : count) > 8 && fits ? (int)(8 / kind->size) : count;
    bool allowed = ops[op].groups >> kind->group & 1 && number < KINDS;
    memset(send, 0x55, sizeof send);
    memset(receive, 0x55, sizeof receive);
    memset(expected, 0x55, sizeof expected);
    for (int i = 0; i < count; i++) {
        put((in_place ? receive : send) + (size_t)i * kind->extent, kind,
            number_of(kind, rank, i, call), rank);
        expect_element(expected + (size_t)i * kind->extent, kind, op, size, i, call);
    }
    /* Two bytes of another rank's gap may come with a short pair: nobody looks at them. */
    int class = count < 0 ? MPI_ERR_COUNT : !allowed ? MPI_ERR_OP : MPI_SUCCESS;
    if (!buffers && count > 0 && allowed &&
        kind->size == kind->extent) { /* the two share some bytes */
        size_t by = kind->extent * dice_below(state, (uint32_t)count) +
                    (kind->size > 1 ? dice_below(state, 2) : 0); /* in no gap */
        void *other = backwards ? receive + by : send + by;
        expect_class(MPI_Allreduce(backwards ? receive : send, other, count, type, ops[op].op,
                                   MPI_COMM_WORLD),
                     MPI_ERR_BUFFER);
        return;
    }
    int error = MPI_Allreduce(in_place ? MPI_IN_PLACE : send, receive, count, type, ops[op].op,
                              MPI_COMM_WORLD),
        got;
    MPI_Error_class(error, &got);
    expect(got == class, "type %d, operation %d, %d elements: class %d, not %d", number, op, count,
           got, class);
    if (error)
        return;
    for (int i = 0; i < count && kind->form == 's' && kind->group == PAIR; i++)
        memcpy(receive + i * 8 + 2, expected + i * 8 + 2, 2);
    expect(!memcmp(receive, expected, sizeof receive), "type %d, operation %d, %d elements%s",
           number, op, count, in_place ? " in place" : "");
}

static void calls(int rank, int size)
{
    uint64_t state = (uint64_t)size; /* the same on all ranks */
    MPI_Datatype made[MADE - KINDS];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    make_types(made);
    for (int i = 0; i < CALLS; i++) {
        uint64_t own = state;
        reduce(rank, size, made, &own, i);
        dice_next(&state);
        if (i % 7 == 0)
            expect_ok(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int i = 0; i < MADE - KINDS; i++)
        MPI_Type_free(&made[i]);
}

/* ---- nobody goes on before all have come ---- */

static void meet(int rank, int size)
{
    MPI_Comm turned;
    atomic_int *came = rank ? NULL : calloc(CALLS, sizeof *came);
    MPI_Bcast(&came, sizeof came, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned);
    for (int i = 0; i < CALLS; i++) {
        int in = rank + i, out = -1;
        MPI_Comm comm = i % 3 ? MPI_COMM_WORLD : turned;
        atomic_fetch_add(&came[i], 1);
        if (i % 2)
            expect_ok(MPI_Barrier(comm));
        else
            expect_ok(MPI_Allreduce(&in, &out, 1, rank % 2 && i % 4 ? MPI_INT32_T : MPI_INT,
                                    i % 8 ? MPI_SUM : MPI_MAX, comm));
        expect(atomic_load(&came[i]) == size, "call %d", i);
        if (i % 2 == 0)
            expect(out == (i % 8 ? size * (size - 1) / 2 + size * i : size - 1 + i),
                   "the result of call %d is %d", i, out);
    }
    MPI_Comm_free(&turned);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank)
        free(came);
}

int main(void)
{
    tap_plan(2);
    world_test("allreduces of a few bytes are right, or refused as the standard says", calls,
               WORLD_ANY);
    world_test("nobody leaves a barrier or an allreduce before all have come", meet, WORLD_ANY);
    return tap_done();
}
