/* Arguments of windows at their borders: what is refused, and what just is not. Memory that is attached piece by piece, against a map
 * of its bytes; shared memory, whose parts lie where the standard says. */
#include "tests/dice.h"
#include "tests/world_harness.h"

enum { BYTES = 48, PIECES = 4 };

static void making(int rank, int size)
{
    char memory[BYTES];
    MPI_Win win;
    void *base;
    (void)rank, (void)size;
    for (int bytes = -1; bytes <= 1; bytes++)
        for (int unit = -1; unit <= 2; unit++)
            for (int there = 0; there < 2; there++) {
                int wanted = bytes < 0 ? MPI_ERR_SIZE : unit <= 0 ? MPI_ERR_DISP : MPI_SUCCESS;
                int created = !wanted && bytes && !there ? MPI_ERR_BASE : wanted;
                win = MPI_WIN_NULL;
                expect_class(MPI_Win_create(there ? memory : NULL, bytes, unit, MPI_INFO_NULL,
                                            MPI_COMM_WORLD, &win),
                             created);
                if (!created)
                    expect_ok(MPI_Win_free(&win));
                expect_class(
                    MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
                    wanted);
                if (!wanted)
                    expect_ok(MPI_Win_free(&win));
                expect_class(MPI_Win_allocate_shared_c(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD,
                                                       &base, &win),
                             wanted);
                if (!wanted)
                    expect_ok(MPI_Win_free(&win));
            }
}

/* Pieces are attached and detached; an access is right just where each of its bytes is attached. */
static void attaching(int rank, int size)
{
    static char all[16][BYTES];
    char *memory = all[rank], byte[BYTES] = {0};
    uint64_t dice = 7 + (uint64_t)size;
    int owner[BYTES] = {0}, from[PIECES + 1] = {0}, length[PIECES + 1] = {0};
    MPI_Win win;
    expect_ok(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    expect_ok(MPI_Win_lock_all(0, win));
    expect_class(MPI_Win_attach(win, memory, -1), MPI_ERR_SIZE);
    for (int step = 0; step < 120; step++) {
        int piece = 1 + (int)dice_below(&dice, PIECES), low = (int)dice_below(&dice, BYTES - 12),
            count = 1 + (int)dice_below(&dice, 12);
        bool taken = false, held = true;
        for (int i = low; i < low + count; i++) {
            taken = taken || owner[i];
            held = held && owner[i];
        }
        MPI_Aint place;
        MPI_Get_address(memory + low, &place);
        expect_class(MPI_Put(byte, count, MPI_CHAR, rank, place, count, MPI_CHAR, win),
                     held ? MPI_SUCCESS : MPI_ERR_RMA_RANGE);
        expect_class(MPI_Get(byte, count, MPI_CHAR, rank, place, count, MPI_CHAR, win),
                     held ? MPI_SUCCESS : MPI_ERR_RMA_RANGE);
        MPI_Win_flush(rank, win);
        if (length[piece]) {
            expect_ok(MPI_Win_detach(win, memory + from[piece]));
            expect_class(MPI_Win_detach(win, memory + from[piece]), MPI_ERR_BASE);
            for (int i = 0; i < BYTES; i++)
                owner[i] = owner[i] == piece ? 0 : owner[i];
            length[piece] = 0;
        } else {
            expect_class(MPI_Win_attach(win, memory + low, count),
                         taken ? MPI_ERR_RMA_ATTACH : MPI_SUCCESS);
            for (int i = low; i < low + count && !taken; i++)
                owner[i] = piece;
            from[piece] = low;
            length[piece] = taken ? 0 : count;
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_ok(MPI_Win_free(&win));
    expect_ok(MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    expect_class(MPI_Win_attach(win, memory, 1), MPI_ERR_RMA_FLAVOR);
    expect_class(MPI_Win_detach(win, memory), MPI_ERR_BASE);
    MPI_Aint bytes;
    int unit;
    char *base;
    expect_ok(MPI_Win_shared_query(win, rank, &bytes, &unit, &base));
    expect(bytes == BYTES && base == (char *)memory, "its own memory is not its own");
    expect_ok(MPI_Win_free(&win));
    expect_ok(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    expect_class(MPI_Win_shared_query(win, rank, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR);
    expect_ok(MPI_Win_free(&win));
}

/* MPI 4.1: any window but a dynamic one is asked; what is not shared has no bytes for others. */
static void not_shared(int rank, int size)
{
    for (int given = 0; given < 2; given++) {
        int memory[6], *own = memory, *base = memory;
        MPI_Aint mine = 8 * (MPI_Aint)(rank % 3), bytes, units;
        int unit;
        MPI_Win win;
        if (given)
            expect_ok(MPI_Win_create(memory, mine, rank + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        else
            expect_ok(MPI_Win_allocate(mine, rank + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win));
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        for (int r = 0; r < size; r++) {
            expect_ok(MPI_Win_shared_query(win, r, &bytes, &unit, &base));
            expect(bytes == (r == rank ? mine : 0), "of %d: %ld bytes", r, (long)bytes);
            expect(base == (bytes ? own : NULL), "of %d: other memory", r);
            expect(r != rank || unit == rank + 1, "unit %d", unit);
        }
        expect_ok(MPI_Win_shared_query_c(win, MPI_PROC_NULL, &bytes, &units, &base));
        expect(bytes == (rank == 1 ? 8 : 0), "the first that has memory: %ld bytes", (long)bytes);
        expect_class(MPI_Win_shared_query(win, size, &bytes, &unit, &base), MPI_ERR_RANK);
        expect_ok(MPI_Win_free(&win));
    }
}

/* Rank r brings r % 3 times 20 bytes: so the first has none. */
static void sharing(int rank, int size)
{
    for (int apart = 0; apart < 2; apart++) {
        MPI_Aint mine = 20 * (rank % 3), bytes, units;
        char *base, *own, *end = NULL;
        int unit;
        MPI_Win win;
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
        expect_ok(MPI_Win_allocate_shared(mine, rank + 1, info, MPI_COMM_WORLD, &own, &win));
        MPI_Info_free(&info);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        for (int r = 0; r < size; r++) {
            expect_ok(MPI_Win_shared_query(win, r, &bytes, &unit, &base));
            expect(bytes == 20 * (r % 3) && unit == r + 1, "of %d: %ld bytes, unit %d", r,
                   (long)bytes, unit);
            expect((base != NULL) == (bytes != 0), "of %d: memory %d", r, base != NULL);
            expect(r != rank || !bytes || base == own, "its own lies elsewhere");
            if (end && bytes && !apart)
                expect(base == end, "%d begins %ld bytes behind the one before", r,
                       (long)(base - end));
            if (bytes && apart)
                expect((uintptr_t)base % 64 == 0 && (!end || base >= end), "%d is not apart", r);
            end = bytes ? base + bytes : end;
        }
        expect_ok(MPI_Win_shared_query_c(win, MPI_PROC_NULL, &bytes, &units, &base));
        int first = size > 1 ? 1 : 0;
        expect(bytes == 20 * first && units == first + 1, "the first: %ld bytes, unit %ld",
               (long)bytes, (long)units);
        expect_class(MPI_Win_shared_query(win, size, &bytes, &unit, &base), MPI_ERR_RANK);
        expect_class(MPI_Win_shared_query(win, -5, &bytes, &unit, &base), MPI_ERR_RANK);
        MPI_Barrier(MPI_COMM_WORLD);
        expect_ok(MPI_Win_free(&win));
    }
}

/* Of a window of `own` bytes on each rank in units of 4. */
static void accesses(int rank, int size)
{
    int memory[4] = {0}, value[4] = {0}, got[4];
    char few[3];
    MPI_Datatype gap, raw;
    MPI_Win win;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gap);
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    MPI_Type_commit(&gap);
    expect_ok(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    expect_ok(MPI_Win_lock_all(0, win));
    for (int target = -1; target <= size; target++)
        for (int place = -1; place <= 5; place++)
            for (int count = -1; count <= 2; count++)
                for (int strided = 0; strided < 2; strided++) {
                    MPI_Datatype type = strided ? gap : MPI_INT;
                    int reach = !count    ? 0
                                : strided ? 3 * count
                                          : count,
                        mine = strided ? 2 * count : count;
                    int wanted = MPI_SUCCESS;
                    if (target < 0 && target != MPI_PROC_NULL)
                        wanted = MPI_ERR_RANK;
                    else if (target == size)
                        wanted = MPI_ERR_RANK;
                    else if (count < 0)
                        wanted = MPI_ERR_COUNT;
                    else if (place < 0)
                        wanted = MPI_ERR_DISP;
                    else if (reach && place + reach > 4)
                        wanted = MPI_ERR_RMA_RANGE;
                    int from = target == MPI_PROC_NULL ? rank : target;
                    expect_class(MPI_Put(value, mine, MPI_INT, from, place, count, type, win),
                                 wanted);
                    expect_class(MPI_Get(got, mine, MPI_INT, from, place, count, type, win),
                                 wanted);
                    expect_class(MPI_Accumulate(value, mine, MPI_INT, from, place, count, type,
                                                MPI_SUM, win),
                                 wanted);
                    expect_class(MPI_Get_accumulate(value, mine, MPI_INT, got, mine, MPI_INT, from,
                                                    place, count, type, MPI_NO_OP, win),
                                 wanted);
                    MPI_Win_flush_all(win);
                }
    expect_class(MPI_Put(value, 1, MPI_INT, 0, 0, 2, MPI_INT, win), MPI_ERR_TRUNCATE);
    expect_class(MPI_Put(few, 3, MPI_CHAR, 0, 0, 1, MPI_INT, win), MPI_ERR_TRUNCATE);
    expect_class(MPI_Put(value, 1, MPI_FLOAT, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    expect_ok(MPI_Put(value, 4, MPI_BYTE, 0, 0, 1, MPI_INT, win));
    expect_class(MPI_Put(value, 1, raw, 0, 0, 1, raw, win), MPI_ERR_TYPE);
    expect_class(MPI_Put(value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    expect_class(MPI_Put(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
    expect_ok(MPI_Put(NULL, 0, MPI_INT, 0, 0, 0, MPI_INT, win));
    expect_class(MPI_Get(NULL, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
    expect_class(MPI_Fetch_and_op(value, NULL, MPI_INT, 0, 0, MPI_SUM, win), MPI_ERR_BUFFER);
    expect_ok(MPI_Fetch_and_op(NULL, got, MPI_INT, 0, 0, MPI_NO_OP, win));
    expect_class(MPI_Fetch_and_op(value, got, gap, 0, 0, MPI_SUM, win), MPI_ERR_TYPE);
    expect_class(MPI_Compare_and_swap(value, value, got, MPI_FLOAT, 0, 0, win), MPI_ERR_TYPE);
    expect_class(MPI_Compare_and_swap(value, NULL, got, MPI_INT, 0, 0, win), MPI_ERR_BUFFER);
    expect_ok(MPI_Compare_and_swap(value, value, got, MPI_INT, 0, 0, win));
    expect_class(MPI_Accumulate(value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    expect_class(MPI_Accumulate(value, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BAND, win),
                 MPI_ERR_OP);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_ok(MPI_Win_free(&win));
    expect_class(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    MPI_Type_free(&gap);
    MPI_Type_free(&raw);
}

/* ---- which operation takes which type: the standard's table of predefined operations ---- */

enum class { C_INTEGER, FORTRAN_INTEGER, FLOATING, LOGICAL, COMPLEX, BYTE, LANGUAGES, PAIR, NONE };
enum { ALL_CLASSES = (1 << (NONE + 1)) - 1 };

static const struct {
    MPI_Datatype type;
    enum class of;
} basics[] = {{MPI_INT, C_INTEGER},
              {MPI_LONG, C_INTEGER},
              {MPI_SHORT, C_INTEGER},
              {MPI_UNSIGNED_SHORT, C_INTEGER},
              {MPI_UNSIGNED, C_INTEGER},
              {MPI_UNSIGNED_LONG, C_INTEGER},
              {MPI_LONG_LONG_INT, C_INTEGER},
              {MPI_UNSIGNED_LONG_LONG, C_INTEGER},
              {MPI_SIGNED_CHAR, C_INTEGER},
              {MPI_UNSIGNED_CHAR, C_INTEGER},
              {MPI_INT8_T, C_INTEGER},
              {MPI_UINT64_T, C_INTEGER},
              {MPI_INTEGER, FORTRAN_INTEGER},
              {MPI_FLOAT, FLOATING},
              {MPI_DOUBLE, FLOATING},
              {MPI_LONG_DOUBLE, FLOATING},
              {MPI_REAL, FLOATING},
              {MPI_DOUBLE_PRECISION, FLOATING},
              {MPI_LOGICAL, LOGICAL},
              {MPI_C_BOOL, LOGICAL},
              {MPI_COMPLEX, COMPLEX},
              {MPI_C_FLOAT_COMPLEX, COMPLEX},
              {MPI_C_DOUBLE_COMPLEX, COMPLEX},
              {MPI_BYTE, BYTE},
              {MPI_AINT, LANGUAGES},
              {MPI_OFFSET, LANGUAGES},
              {MPI_COUNT, LANGUAGES},
              {MPI_FLOAT_INT, PAIR},
              {MPI_DOUBLE_INT, PAIR},
              {MPI_2INT, PAIR},
              {MPI_LONG_DOUBLE_INT, PAIR},
              {MPI_CHAR, NONE},
              {MPI_WCHAR, NONE}};

static void first_of(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void operations(int rank, int size)
{
    enum {
        WHOLE = 1 << C_INTEGER | 1 << FORTRAN_INTEGER | 1 << LANGUAGES,
        TRUTH = 1 << C_INTEGER | 1 << LOGICAL | 1 << LANGUAGES,
        EQUAL = WHOLE | 1 << LOGICAL | 1 << BYTE
    };
    MPI_Op own;
    MPI_Op_create(first_of, 1, &own);
    const struct {
        MPI_Op op;
        int classes;
    } rows[] = {{MPI_MAX, WHOLE | 1 << FLOATING},
                {MPI_MIN, WHOLE | 1 << FLOATING},
                {MPI_SUM, WHOLE | 1 << FLOATING | 1 << COMPLEX},
                {MPI_PROD, WHOLE | 1 << FLOATING | 1 << COMPLEX},
                {MPI_LAND, TRUTH},
                {MPI_LOR, TRUTH},
                {MPI_LXOR, TRUTH},
                {MPI_BAND, WHOLE | 1 << BYTE},
                {MPI_BOR, WHOLE | 1 << BYTE},
                {MPI_BXOR, WHOLE | 1 << BYTE},
                {MPI_MAXLOC, 1 << PAIR},
                {MPI_MINLOC, 1 << PAIR},
                {MPI_REPLACE, ALL_CLASSES},
                {MPI_NO_OP, ALL_CLASSES},
                {own, 0}};
    static _Alignas(16) char memory[8][64], values[64], got[8][64];
    char *result = got[rank];
    MPI_Win win;
    (void)size;
    expect_ok(MPI_Win_create(memory[rank], 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    expect_ok(MPI_Win_lock_all(0, win));
    for (size_t t = 0; t < sizeof basics / sizeof *basics; t++) {
        MPI_Datatype type = basics[t].type, two, same;
        MPI_Request request;
        int in = 1 << basics[t].of, gets, adds, swaps = EQUAL & in ? MPI_SUCCESS : MPI_ERR_TYPE;
        MPI_Type_contiguous(2, type, &two);
        MPI_Type_commit(&two);
        MPI_Type_dup(type, &same);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            MPI_Op op = rows[i].op;
            gets = rows[i].classes & in ? MPI_SUCCESS : MPI_ERR_OP;
            adds = op == MPI_NO_OP ? MPI_ERR_OP : gets;
            expect_class(MPI_Accumulate(values, 1, type, rank, 0, 1, type, op, win), adds);
            expect_class(MPI_Accumulate(values, 2, type, rank, 0, 1, two, op, win), adds);
            expect_class(MPI_Accumulate(values, 1, same, rank, 0, 1, type, op, win), adds);
            request = MPI_REQUEST_NULL;
            expect_class(MPI_Raccumulate(values, 1, type, rank, 0, 1, type, op, win, &request),
                         adds);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            expect_class(
                MPI_Get_accumulate(values, 1, type, result, 1, type, rank, 0, 1, type, op, win),
                gets);
            expect_class(MPI_Fetch_and_op(values, result, type, rank, 0, op, win), gets);
            MPI_Win_flush(rank, win);
        }
        expect_class(MPI_Fetch_and_op(values, result, two, rank, 0, MPI_REPLACE, win),
                     MPI_ERR_TYPE);
        expect_class(MPI_Compare_and_swap(values, values, result, type, rank, 0, win), swaps);
        expect_class(MPI_Compare_and_swap(values, values, result, two, rank, 0, win), MPI_ERR_TYPE);
        expect_class(MPI_Compare_and_swap(values, values, result, same, rank, 0, win),
                     MPI_ERR_TYPE);
        MPI_Win_flush(rank, win);
        MPI_Type_free(&two);
        MPI_Type_free(&same);
    }
    MPI_Win_unlock_all(win);
    MPI_Op_free(&own);
    expect_ok(MPI_Win_free(&win));
}

/* A window is freed when no epoch is open on it. */
static void freeing(int rank, int size)
{
    enum { NOTHING, FENCED, USED, POSTED, STARTED, LOCKED, ALL, STATES };
    (void)rank, (void)size;
    for (int state = NOTHING; state < STATES; state++) {
        int memory = 0, value = 1;
        MPI_Group self;
        MPI_Win win;
        expect_ok(MPI_Win_create(&memory, 4, 4, MPI_INFO_NULL, MPI_COMM_SELF, &win));
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Win_get_group(win, &self);
        if (state == FENCED || state == USED)
            expect_ok(MPI_Win_fence(0, win));
        if (state == USED)
            expect_ok(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        if (state == POSTED || state == STARTED)
            expect_ok(MPI_Win_post(self, 0, win));
        if (state == STARTED)
            expect_ok(MPI_Win_start(self, 0, win));
        if (state == LOCKED)
            expect_ok(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        if (state == ALL)
            expect_ok(MPI_Win_lock_all(0, win));
        if (state > FENCED)
            expect_class(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
        if (state == USED)
            expect_ok(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        if (state == POSTED)
            expect_ok(MPI_Win_start(self, 0, win));
        if (state == POSTED || state == STARTED) {
            expect_ok(MPI_Win_complete(win));
            expect_class(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
            expect_ok(MPI_Win_wait(win));
        }
        if (state == LOCKED)
            expect_ok(MPI_Win_unlock(0, win));
        if (state == ALL)
            expect_ok(MPI_Win_unlock_all(win));
        MPI_Group_free(&self);
        expect_ok(MPI_Win_free(&win));
        expect(win == MPI_WIN_NULL, "a handle of state %d is left", state);
    }
}

#define RETURNING(name)                                                                            \
    static void all_##name(int rank, int size)                                                     \
    {                                                                                              \
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);                                \
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);                                 \
        name(rank, size);                                                                          \
    }
RETURNING(making)
RETURNING(attaching)
RETURNING(sharing)
RETURNING(not_shared)
RETURNING(accesses)
RETURNING(operations)
RETURNING(freeing)

int main(void)
{
    world_test_sizes("windows have a size, a unit and a place", all_making, WORLD_FIBERS,
                     WORLD_SIZES(1, 3));
    world_test_sizes("of a dynamic window just what is attached is accessed", all_attaching,
                     WORLD_FIBERS, WORLD_SIZES(1, 3));
    world_test_sizes("shared memory lies where the standard says", all_sharing, WORLD_FIBERS,
                     WORLD_SIZES(1, 3, 5));
    world_test_sizes("what is not shared has no bytes for others", all_not_shared, WORLD_FIBERS,
                     WORLD_SIZES(1, 3, 5));
    world_test_sizes("accesses stay within their window, and have what they need", all_accesses,
                     WORLD_FIBERS, WORLD_SIZES(1, 3));
    world_test_sizes("each operation takes the types of the standard's table", all_operations,
                     WORLD_FIBERS, WORLD_SIZES(1, 3));
    world_test_sizes("no window is freed in an epoch", all_freeing, WORLD_FIBERS,
                     WORLD_SIZES(1, 2));
    return tap_done();
}
