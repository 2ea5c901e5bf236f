/* What one-sided accesses do to memory, against a model of it that every rank keeps: every verb with
 * every operation, on windows of every flavour, under every synchronization, with target datatypes
 * that have gaps or run backwards. One access at a time, so that the model knows what each fetches.
 * Then what windows say of themselves, and which calls are refused with which class. */
#include "tests/dice.h"
#include "tests/world_harness.h"

enum { N = 12, MOST = 3, ROUNDS = 120 };

enum verb { PUT, GET, ACCUMULATE, FETCH_MANY, FETCH, SWAP, RPUT, RGET, RACCUMULATE, RFETCH, VERBS };
enum flavour { CREATED, ALLOCATED, SHARED, DYNAMIC, FLAVOURS };
enum sync {
    FENCE,
    STARTED,
    TESTED,
    LOCKED,
    ALONE,
    FLUSHED,
    LOCALLY,
    ALL,
    ALL_FLUSHED,
    ALL_LOCALLY,
    SYNCS
};
/* Of the last two both sides have the same type: numbers, or pairs of them. */
enum shape { DENSE, GAPS, BACKWARDS, NUMBERS, PAIRS, SHAPES };

static int combine(int op, int there, int value)
{
    const int all[] = {there + value,
                       there * value,
                       there > value ? there : value,
                       there < value ? there : value,
                       there & value,
                       there | value,
                       there ^ value,
                       there && value,
                       there || value,
                       !there != !value,
                       value,
                       there};
    return all[op];
}

enum { REPLACE = 10, NO_OP = 11, OPS };

static MPI_Op op_of(int op)
{
    const MPI_Op all[] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_BAND,    MPI_BOR,
                          MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_REPLACE, MPI_NO_OP};
    return all[op];
}

struct access {
    enum verb verb;
    enum sync sync;
    enum shape shape;
    int op, origin, target, disp, count;
    int values[2], compared, result[2];
};

struct here {
    int rank, size, unit;
    MPI_Win win;
    int *memory, model[MOST][N];
    MPI_Aint places[MOST]; /* of the others' memory, in a dynamic window */
    enum flavour flavour;
};

static int place(const struct access *a, int k)
{
    return a->shape == GAPS        ? a->disp + 2 * k
           : a->shape == BACKWARDS ? a->disp + 1 - k
                                   : a->disp + k;
}

static struct access access_random(uint64_t *dice, int size)
{
    struct access a = {.verb = (enum verb)dice_below(dice, VERBS),
                       .sync = (enum sync)dice_below(dice, SYNCS),
                       .shape = (enum shape)dice_below(dice, SHAPES),
                       .op = (int)dice_below(dice, OPS),
                       .origin = (int)dice_below(dice, (uint32_t)size),
                       .target = (int)dice_below(dice, (uint32_t)size),
                       .disp = (int)dice_below(dice, N - 3),
                       .count = 1 + (int)dice_below(dice, 2),
                       .compared = (int)dice_below(dice, 4),
                       .result = {-1, -1}};
    for (int k = 0; k < 2; k++)
        a.values[k] = (int)dice_below(dice, 4);
    if (a.verb >= RPUT && a.sync < LOCKED) /* with requests in passive epochs alone */
        a.sync = LOCKED;
    if (a.verb == FETCH || a.verb == SWAP) {
        a.count = 1;
        a.shape = DENSE;
    }
    if (a.shape != DENSE && a.shape != NUMBERS)
        a.count = 2;
    bool plain = a.verb == ACCUMULATE || a.verb == RACCUMULATE;
    if (a.op == NO_OP && plain)
        a.op = REPLACE;
    return a;
}

static bool fetches(const struct access *a)
{
    return a->verb != PUT && a->verb != ACCUMULATE && a->verb != RPUT && a->verb != RACCUMULATE;
}

/* What it does to the model; `old` is what it must fetch. */
static void model_apply(int *memory, const struct access *a, int *old)
{
    for (int k = 0; k < a->count; k++) {
        int *at = &memory[place(a, k)];
        old[k] = *at;
        if (a->verb == PUT || a->verb == RPUT)
            *at = a->values[k];
        else if (a->verb == SWAP)
            *at = *at == a->compared ? a->values[0] : *at;
        else if (a->verb != GET && a->verb != RGET)
            *at = combine(a->op, *at, a->values[k]);
    }
}

static MPI_Datatype type_of(const struct access *a)
{
    const int lengths[] = {1, 1}, backwards[] = {1, 0};
    MPI_Datatype type;
    if (a->shape == GAPS)
        MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    else if (a->shape == BACKWARDS)
        MPI_Type_indexed(2, lengths, backwards, MPI_INT, &type);
    else
        MPI_Type_contiguous(a->shape == NUMBERS ? 1 : a->count, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void access_do(const struct here *at, struct access *a)
{
    MPI_Datatype made = type_of(a), type = a->shape == NUMBERS ? MPI_INT : made;
    MPI_Datatype own = a->shape == PAIRS ? made : MPI_INT;
    MPI_Aint disp = at->flavour == DYNAMIC ? at->places[a->target] + 4 * a->disp
                                           : (MPI_Aint)a->disp * 4 / at->unit;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Op op = op_of(a->op);
    MPI_Win win = at->win;
    const int *v = a->values;
    int t = a->target, n = a->shape == PAIRS ? 1 : a->count, m = a->shape == NUMBERS ? n : 1;
    int *got = a->result;
    switch (a->verb) {
    case PUT:
        expect_ok(MPI_Put(v, n, own, t, disp, m, type, win));
        break;
    case GET:
        expect_ok(MPI_Get(got, n, own, t, disp, m, type, win));
        break;
    case ACCUMULATE:
        expect_ok(MPI_Accumulate(v, n, own, t, disp, m, type, op, win));
        break;
    case FETCH_MANY:
        expect_ok(MPI_Get_accumulate(v, n, own, got, n, own, t, disp, m, type, op, win));
        break;
    case FETCH:
        expect_ok(MPI_Fetch_and_op(v, got, MPI_INT, t, disp, op, win));
        break;
    case SWAP:
        expect_ok(MPI_Compare_and_swap(v, &a->compared, got, MPI_INT, t, disp, win));
        break;
    case RPUT:
        expect_ok(MPI_Rput(v, n, own, t, disp, m, type, win, &request));
        break;
    case RGET:
        expect_ok(MPI_Rget(got, n, own, t, disp, m, type, win, &request));
        break;
    case RACCUMULATE:
        expect_ok(MPI_Raccumulate(v, n, own, t, disp, m, type, op, win, &request));
        break;
    default:
        expect_ok(MPI_Rget_accumulate(v, n, own, got, n, own, t, disp, m, type, op, win, &request));
    }
    MPI_Type_free(&made);
    if (a->verb >= RPUT) {
        MPI_Status status = {.MPI_TAG = 77};
        expect(request != MPI_REQUEST_NULL, "no request");
        expect_ok(MPI_Wait(&request, &status));
        expect(request == MPI_REQUEST_NULL, "the request is still there");
    }
}

static void fetched_right(const struct access *a, const int *old, const char *when)
{
    for (int k = 0; k < a->count && fetches(a); k++)
        expect(a->result[k] == old[k], "verb %d, op %d, sync %d, shape %d: got %d, not %d, %s",
               a->verb, a->op, a->sync, a->shape, a->result[k], old[k], when);
}

/* Between post and wait, start and complete. */
static void started(const struct here *at, struct access *a)
{
    MPI_Group all, target, origin;
    int flag = 0;
    MPI_Win_get_group(at->win, &all);
    MPI_Group_incl(all, 1, &a->target, &target);
    MPI_Group_incl(all, 1, &a->origin, &origin);
    if (at->rank == a->target)
        expect_ok(MPI_Win_post(origin, 0, at->win));
    if (at->rank == a->origin) {
        expect_ok(MPI_Win_start(target, 0, at->win));
        access_do(at, a);
        expect_ok(MPI_Win_complete(at->win));
    }
    if (at->rank == a->target && a->sync == STARTED)
        expect_ok(MPI_Win_wait(at->win));
    while (at->rank == a->target && a->sync == TESTED && !flag)
        expect_ok(MPI_Win_test(at->win, &flag));
    MPI_Group_free(&all);
    MPI_Group_free(&target);
    MPI_Group_free(&origin);
}

static void locked(const struct here *at, struct access *a, const int *old)
{
    bool all = a->sync >= ALL;
    if (all)
        expect_ok(MPI_Win_lock_all(0, at->win));
    else
        expect_ok(MPI_Win_lock(a->sync == ALONE ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, a->target,
                               0, at->win));
    access_do(at, a);
    if (a->verb >= RPUT)
        fetched_right(a, old, "when its request was complete");
    if (a->sync == FLUSHED)
        expect_ok(MPI_Win_flush(a->target, at->win));
    else if (a->sync == LOCALLY)
        expect_ok(MPI_Win_flush_local(a->target, at->win));
    else if (a->sync == ALL_FLUSHED)
        expect_ok(MPI_Win_flush_all(at->win));
    else if (a->sync == ALL_LOCALLY)
        expect_ok(MPI_Win_flush_local_all(at->win));
    if (a->sync != LOCKED && a->sync != ALONE && a->sync != ALL)
        fetched_right(a, old, "after the flush");
    if (all)
        expect_ok(MPI_Win_unlock_all(at->win));
    else
        expect_ok(MPI_Win_unlock(a->target, at->win));
}

static void access_synchronized(struct here *at, struct access *a)
{
    int old[2];
    for (int i = 0; i < N; i++)
        if (at->model[a->target][i] > 1 << 20) /* or products overflow */
            a->op = REPLACE;
    model_apply(at->model[a->target], a, old);
    if (a->sync == FENCE) {
        expect_ok(MPI_Win_fence(MPI_MODE_NOPRECEDE, at->win));
        if (at->rank == a->origin)
            access_do(at, a);
        expect_ok(MPI_Win_fence(MPI_MODE_NOSUCCEED, at->win));
    } else if (a->sync == STARTED || a->sync == TESTED) {
        started(at, a);
    } else if (at->rank == a->origin) {
        locked(at, a, old);
    }
    if (at->rank == a->origin)
        fetched_right(a, old, "after the epoch");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, at->rank, 0, at->win);
    for (int i = 0; i < N; i++)
        expect(at->memory[i] == at->model[at->rank][i],
               "verb %d, op %d, sync %d, shape %d, of %d at %d + %d: [%d] is %d, not %d", a->verb,
               a->op, a->sync, a->shape, a->origin, a->target, a->disp, i, at->memory[i],
               at->model[at->rank][i]);
    MPI_Win_unlock(at->rank, at->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void window_make(struct here *at, enum flavour flavour, int rank, int size)
{
    MPI_Aint place = 0;
    *at = (struct here){.rank = rank, .size = size, .flavour = flavour, .unit = 4};
    if (flavour == CREATED || flavour == DYNAMIC)
        MPI_Alloc_mem(N * 4, MPI_INFO_NULL, &at->memory);
    if (flavour == CREATED)
        expect_ok(
            MPI_Win_create(at->memory, N * 4, at->unit, MPI_INFO_NULL, MPI_COMM_WORLD, &at->win));
    else if (flavour == ALLOCATED)
        expect_ok(MPI_Win_allocate(N * 4, at->unit = 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at->memory,
                                   &at->win));
    else if (flavour == SHARED)
        expect_ok(MPI_Win_allocate_shared(N * 4, at->unit = 2, MPI_INFO_NULL, MPI_COMM_WORLD,
                                          &at->memory, &at->win));
    else {
        expect_ok(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &at->win));
        expect_ok(MPI_Win_attach(at->win, at->memory, N * 4));
        MPI_Get_address(at->memory, &place);
        at->unit = 1;
    }
    MPI_Allgather(&place, 1, MPI_AINT, at->places, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, at->win);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N; i++)
            at->model[r][i] = (r + i) % 4;
    for (int i = 0; i < N; i++)
        at->memory[i] = at->model[rank][i];
    MPI_Win_unlock(rank, at->win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void window_free(struct here *at)
{
    if (at->flavour == DYNAMIC)
        expect_ok(MPI_Win_detach(at->win, at->memory));
    expect_ok(MPI_Win_free(&at->win));
    expect(at->win == MPI_WIN_NULL, "the handle stays");
    if (at->flavour == CREATED || at->flavour == DYNAMIC)
        MPI_Free_mem(at->memory);
}

static void accesses_do_what_the_model_says(int rank, int size)
{
    uint64_t dice = 5 + (uint64_t)size;
    for (int flavour = 0; flavour < FLAVOURS; flavour++) {
        struct here at;
        window_make(&at, (enum flavour)flavour, rank, size);
        for (int i = 0; i < ROUNDS; i++) {
            struct access a = access_random(&dice, size);
            access_synchronized(&at, &a);
        }
        window_free(&at);
    }
}

/* All at once, where the order does not matter. */
static void sums_of_all_arrive(int rank, int size)
{
    struct here at;
    int value = rank + 1, got = -1, total = size * (size + 1) / 2;
    window_make(&at, CREATED, rank, size);
    MPI_Win_fence(0, at.win);
    for (int r = 0; r < size; r++)
        MPI_Accumulate(&value, 1, MPI_INT, r, 3, 1, MPI_INT, MPI_SUM, at.win);
    MPI_Win_fence(0, at.win);
    expect(at.memory[3] == (rank + 3) % 4 + total, "the sum is %d", at.memory[3]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, at.win);
    MPI_Fetch_and_op(&value, &got, MPI_INT, 0, 0, MPI_SUM, at.win);
    MPI_Win_flush(0, at.win);
    expect(got >= 0 && got <= total - value, "fetched %d", got);
    MPI_Win_unlock_all(at.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, at.win);
    expect(rank || at.memory[0] == total, "in all it is %d", at.memory[0]);
    MPI_Win_unlock(rank, at.win);
    window_free(&at);
}

static void windows_say_what_they_are(int rank, int size)
{
    static const int flavours[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                   MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC};
    for (int flavour = 0; flavour < FLAVOURS; flavour++) {
        struct here at;
        int flag = 0, *number, members = 0, length = 0;
        MPI_Aint *bytes;
        void *base;
        char name[MPI_MAX_OBJECT_NAME];
        MPI_Group group;
        window_make(&at, (enum flavour)flavour, rank, size);
        expect_ok(MPI_Win_get_attr(at.win, MPI_WIN_BASE, &base, &flag));
        expect(flag && base == (flavour == DYNAMIC ? MPI_BOTTOM : (void *)at.memory), "base of %d",
               flavour);
        expect_ok(MPI_Win_get_attr(at.win, MPI_WIN_SIZE, &bytes, &flag));
        expect(flag && *bytes == (flavour == DYNAMIC ? 0 : N * 4), "%ld bytes", (long)*bytes);
        expect_ok(MPI_Win_get_attr(at.win, MPI_WIN_DISP_UNIT, &number, &flag));
        expect(flag && *number == at.unit, "a unit of %d", *number);
        expect_ok(MPI_Win_get_attr(at.win, MPI_WIN_CREATE_FLAVOR, &number, &flag));
        expect(flag && *number == flavours[flavour], "flavour %d", *number);
        expect_ok(MPI_Win_get_attr(at.win, MPI_WIN_MODEL, &number, &flag));
        expect(flag && *number == MPI_WIN_UNIFIED, "model %d", *number);
        expect_ok(MPI_Win_get_group(at.win, &group));
        MPI_Group_size(group, &members);
        expect(members == size, "%d members", members);
        MPI_Group_free(&group);
        expect_ok(MPI_Win_set_name(at.win, "a window"));
        expect_ok(MPI_Win_get_name(at.win, name, &length));
        expect(length == 8 && !strcmp(name, "a window"), "its name is %s", name);
        for (int r = -1; r < size && flavour == SHARED; r++) {
            MPI_Aint there = -1;
            int unit = -1, *memory = NULL;
            expect_ok(
                MPI_Win_shared_query(at.win, r < 0 ? MPI_PROC_NULL : r, &there, &unit, &memory));
            expect(there == N * 4 && unit == 2 && memory[1] == ((r < 0 ? 0 : r) + 1) % 4,
                   "of rank %d: %ld bytes, unit %d", r, (long)there, unit);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        window_free(&at);
    }
}

static void calls_out_of_place_are_refused(int rank, int size)
{
    struct here at;
    int value = 7, old = -1, flag;
    MPI_Group all;
    MPI_Request request;
    window_make(&at, CREATED, rank, size);
    MPI_Win win = at.win;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_get_group(win, &all);
#define PUT_AT(target, disp, count)                                                                \
    MPI_Put(&value, count, MPI_INT, target, disp, count, MPI_INT, win)
    expect_class(PUT_AT(0, 0, 1), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Get(&old, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Fetch_and_op(&value, &old, MPI_INT, 0, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Compare_and_swap(&value, &value, &old, MPI_INT, 0, 0, win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_ok(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    expect_class(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    expect_class(MPI_Win_start(all, 0, win), MPI_ERR_RMA_SYNC);
    expect_class(PUT_AT(0, N, 1), MPI_ERR_RMA_RANGE);
    expect_class(PUT_AT(0, N - 1, 2), MPI_ERR_RMA_RANGE);
    expect_class(PUT_AT(0, -1, 1), MPI_ERR_DISP);
    expect_class(PUT_AT(size, 0, 1), MPI_ERR_RANK);
    expect_class(PUT_AT(-5, 0, 1), MPI_ERR_RANK);
    expect_class(PUT_AT(0, 0, -1), MPI_ERR_COUNT);
    expect_class(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP);
    expect_class(MPI_Rput(&value, 1, MPI_INT, 0, N, 1, MPI_INT, win, &request), MPI_ERR_RMA_RANGE);
    expect_ok(MPI_Get(&old, 1, MPI_INT, 0, N - 1, 1, MPI_INT, win));
    expect_ok(MPI_Get(&old, 0, MPI_INT, 0, 0, 0, MPI_INT, win));
    expect_ok(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, win));
    expect_ok(MPI_Win_unlock(0, win));
    expect(old == (N - 1) % 4, "the last is %d", old);
    expect_class(MPI_Win_lock(99, 0, 0, win), MPI_ERR_LOCKTYPE);
    expect_class(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_free(&all);
    window_free(&at);
}

int main(void)
{
    world_test_sizes("accesses do to memory what the model says", accesses_do_what_the_model_says,
                     WORLD_ANY, WORLD_SIZES(1, 2, 3));
    world_test_sizes("sums of all arrive", sums_of_all_arrive, WORLD_ANY, WORLD_SIZES(1, 2, 3));
    world_test_sizes("windows say what they are", windows_say_what_they_are, WORLD_ANY,
                     WORLD_SIZES(1, 2, 3));
    world_test_sizes("calls out of place are refused", calls_out_of_place_are_refused, WORLD_ANY,
                     WORLD_SIZES(1, 3));
    return tap_done();
}
