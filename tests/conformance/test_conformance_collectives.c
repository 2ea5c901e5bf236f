/* Collectives that move data, each in its blocking, nonblocking and persistent form and with large
 * counts, against what the standard says must lie where, with derived types and every root. */
#include "tests/world_harness.h"

enum { PEERS = 16, BLOCK = 3 };

/* What rank `from` sends to rank `to` as its i-th word. */
static int word(int from, int to, int i)
{
    return from * 1000 + to * 10 + i + 1;
}

/* The forms every collective has. A request that is started is waited for; a persistent one is run
 * twice, so that whatever it leaves behind shows. */
enum { BLOCKING, NONBLOCKING, PERSISTENT, LARGE, FORMS };

static void finish(int form, MPI_Request *request)
{
    if (form == NONBLOCKING)
        expect_ok(MPI_Wait(request, MPI_STATUS_IGNORE));
    if (form != PERSISTENT)
        return;
    for (int round = 0; round < 2; round++) {
        expect_ok(MPI_Start(request));
        expect_ok(MPI_Wait(request, MPI_STATUS_IGNORE));
    }
    expect_ok(MPI_Request_free(request));
}

/* Calls one of the forms of `name`; arguments in brackets. */
#define IN_FORM(form, name, iname, ...)                                                            \
    do {                                                                                           \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                   \
        if ((form) == LARGE)                                                                       \
            expect_ok(MPI_##name##_c(__VA_ARGS__));                                                \
        else                                                                                       \
            IN_SMALL_FORM(form, name, iname, __VA_ARGS__);                                         \
        finish(form, &request_);                                                                   \
    } while (0)

/* The forms with int counts only; the request is the caller's `request_`. */
#define IN_SMALL_FORM(form, name, iname, ...)                                                      \
    do {                                                                                           \
        if ((form) == BLOCKING)                                                                    \
            expect_ok(MPI_##name(__VA_ARGS__));                                                    \
        else if ((form) == NONBLOCKING)                                                            \
            expect_ok(MPI_##iname(__VA_ARGS__, &request_));                                        \
        else                                                                                       \
            expect_ok(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_));                   \
    } while (0)

#define IN_VECTOR_FORM(form, name, iname, ...)                                                     \
    do {                                                                                           \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                   \
        IN_SMALL_FORM(form, name, iname, __VA_ARGS__);                                             \
        finish(form, &request_);                                                                   \
    } while (0)

static void clear(int *words, int count)
{
    for (int i = 0; i < count; i++)
        words[i] = -1;
}

static void expect_block(const int *block, int from, int to, const char *what)
{
    for (int i = 0; i < BLOCK; i++)
        expect(block[i] == word(from, to, i), "%s: word %d from %d is %d, not %d", what, i, from,
               block[i], word(from, to, i));
}

/* Every second int of a line: BLOCK ints spread over 2 * BLOCK. */
static MPI_Datatype spread_type(void)
{
    MPI_Datatype vector, spread;
    MPI_Type_vector(BLOCK, 1, 2, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 2 * BLOCK * (MPI_Aint)sizeof(int), &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&vector);
    return spread;
}

static void barriers_hold_everybody(int rank, int size)
{
    for (int late = 0; late < size; late++) {
        MPI_Request request;
        int flag = 1;
        if (rank == late) {
            for (int r = 0; r < size - 1; r++)
                MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, late, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
        } else {
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            expect(!flag, "%d went through before %d came", rank, late);
            MPI_Send(NULL, 0, MPI_INT, late, late, MPI_COMM_WORLD);
        }
        expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    expect_ok(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Request again;
    expect_ok(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &again));
    finish(PERSISTENT, &again);
}

static void everybody_has_the_roots_data(int rank, int size)
{
    for (int root = 0; root < size; root++)
        for (int form = 0; form < FORMS; form++) {
            int words[BLOCK];
            clear(words, BLOCK);
            for (int i = 0; rank == root && i < BLOCK; i++)
                words[i] = word(root, 0, i);
            IN_FORM(form, Bcast, Ibcast, words, BLOCK, MPI_INT, root, MPI_COMM_WORLD);
            expect_block(words, root, 0, "bcast");
        }
    /* One type at the root, another elsewhere. */
    MPI_Datatype spread = spread_type();
    int words[2 * BLOCK];
    clear(words, 2 * BLOCK);
    for (int i = 0; rank == 0 && i < BLOCK; i++)
        words[2 * i] = word(0, 0, i);
    expect_ok(MPI_Bcast(words, rank ? BLOCK : 1, rank ? MPI_INT : spread, 0, MPI_COMM_WORLD));
    for (int i = 0; i < BLOCK; i++)
        expect(words[rank ? i : 2 * i] == word(0, 0, i), "word %d is %d", i, words[i]);
    MPI_Type_free(&spread);
}

static void the_root_has_everybodys_data(int rank, int size)
{
    int own[BLOCK], all[PEERS * BLOCK];
    for (int root = 0; root < size; root++)
        for (int form = 0; form < FORMS; form++) {
            for (int i = 0; i < BLOCK; i++)
                own[i] = word(rank, root, i);
            clear(all, PEERS * BLOCK);
            IN_FORM(form, Gather, Igather, own, BLOCK, MPI_INT, all, BLOCK, MPI_INT, root,
                    MPI_COMM_WORLD);
            for (int r = 0; rank == root && r < size; r++)
                expect_block(all + r * BLOCK, r, root, "gather");
            expect(rank == root || all[0] == -1, "others were touched");
            clear(all, PEERS * BLOCK);
            memcpy(all + rank * BLOCK, own, sizeof own);
            IN_FORM(form, Gather, Igather, rank == root ? MPI_IN_PLACE : own, BLOCK, MPI_INT, all,
                    BLOCK, MPI_INT, root, MPI_COMM_WORLD);
            for (int r = 0; rank == root && r < size; r++)
                expect_block(all + r * BLOCK, r, root, "gather in place");
        }
    MPI_Datatype spread = spread_type();
    int wide[2 * PEERS * BLOCK];
    clear(wide, 2 * PEERS * BLOCK);
    for (int i = 0; i < BLOCK; i++)
        own[i] = word(rank, 0, i);
    expect_ok(MPI_Gather(own, BLOCK, MPI_INT, wide, 1, spread, 0, MPI_COMM_WORLD));
    for (int r = 0; rank == 0 && r < size; r++)
        for (int i = 0; i < BLOCK; i++)
            expect(wide[2 * (r * BLOCK + i)] == word(r, 0, i) &&
                       wide[2 * (r * BLOCK + i) + 1] == -1,
                   "spread word %d of %d is %d", i, r, wide[2 * (r * BLOCK + i)]);
    MPI_Type_free(&spread);
}

static void everybody_has_its_part_of_the_roots_data(int rank, int size)
{
    int all[PEERS * BLOCK], own[BLOCK];
    for (int root = 0; root < size; root++)
        for (int form = 0; form < FORMS; form++) {
            for (int k = 0; k < size * BLOCK; k++)
                all[k] = rank == root ? word(root, k / BLOCK, k % BLOCK) : -1;
            clear(own, BLOCK);
            IN_FORM(form, Scatter, Iscatter, all, BLOCK, MPI_INT, own, BLOCK, MPI_INT, root,
                    MPI_COMM_WORLD);
            expect_block(own, root, rank, "scatter");
            clear(own, BLOCK);
            IN_FORM(form, Scatter, Iscatter, all, BLOCK, MPI_INT, rank == root ? MPI_IN_PLACE : own,
                    BLOCK, MPI_INT, root, MPI_COMM_WORLD);
            if (rank == root)
                expect_block(all + rank * BLOCK, root, rank, "scatter in place");
            else
                expect_block(own, root, rank, "scatter beside in place");
        }
}

static void everybody_has_everybodys_data(int rank, int size)
{
    int own[BLOCK], all[PEERS * BLOCK];
    for (int i = 0; i < BLOCK; i++)
        own[i] = word(rank, 0, i);
    for (int form = 0; form < FORMS; form++) {
        clear(all, PEERS * BLOCK);
        IN_FORM(form, Allgather, Iallgather, own, BLOCK, MPI_INT, all, BLOCK, MPI_INT,
                MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            expect_block(all + r * BLOCK, r, 0, "allgather");
        clear(all, PEERS * BLOCK);
        memcpy(all + rank * BLOCK, own, sizeof own);
        IN_FORM(form, Allgather, Iallgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, BLOCK,
                MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            expect_block(all + r * BLOCK, r, 0, "allgather in place");
    }
}

static void everybody_exchanges_with_everybody(int rank, int size)
{
    int send[PEERS * BLOCK], got[PEERS * BLOCK];
    for (int form = 0; form < FORMS; form++) {
        for (int k = 0; k < size * BLOCK; k++)
            send[k] = word(rank, k / BLOCK, k % BLOCK);
        clear(got, PEERS * BLOCK);
        IN_FORM(form, Alltoall, Ialltoall, send, BLOCK, MPI_INT, got, BLOCK, MPI_INT,
                MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            expect_block(got + r * BLOCK, r, rank, "alltoall");
        /* In place a persistent request would exchange twice: back to what was sent. */
        IN_FORM(form, Alltoall, Ialltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, send, BLOCK, MPI_INT,
                MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            if (form == PERSISTENT)
                expect_block(send + r * BLOCK, rank, r, "alltoall in place, twice");
            else
                expect_block(send + r * BLOCK, r, rank, "alltoall in place");
    }
    MPI_Datatype spread = spread_type();
    int wide[2 * PEERS * BLOCK];
    for (int k = 0; k < size * BLOCK; k++)
        send[k] = word(rank, k / BLOCK, k % BLOCK);
    clear(wide, 2 * PEERS * BLOCK);
    expect_ok(MPI_Alltoall(send, BLOCK, MPI_INT, wide, 1, spread, MPI_COMM_WORLD));
    for (int k = 0; k < size * BLOCK; k++)
        expect(wide[2 * k] == word(k / BLOCK, rank, k % BLOCK) && wide[2 * k + 1] == -1,
               "spread word %d is %d", k, wide[2 * k]);
    MPI_Type_free(&spread);
}

/* ---- blocks of different sizes ---- */

/* How many words go from one rank to another; none for many. */
static int words_between(int from, int to)
{
    return (from * 2 + to) % 4;
}

/* Blocks of a rank's buffer for each peer, laid out from the last to the first with a hole of one
 * word between them. */
struct layout {
    int counts[PEERS], at[PEERS], bytes[PEERS], total;
    MPI_Count wide_counts[PEERS];
    MPI_Aint wide_at[PEERS], wide_bytes[PEERS];
    MPI_Datatype types[PEERS];
};

static struct layout layout_of(int size, int (*count)(int rank, int peer), int rank)
{
    struct layout layout = {.total = 0};
    for (int r = size - 1; r >= 0; r--) {
        layout.counts[r] = count(rank, r);
        layout.at[r] = layout.total;
        layout.bytes[r] = layout.total * (int)sizeof(int);
        layout.wide_counts[r] = layout.counts[r];
        layout.wide_at[r] = layout.at[r];
        layout.wide_bytes[r] = layout.bytes[r];
        layout.types[r] = MPI_INT;
        layout.total += layout.counts[r] + 1;
    }
    return layout;
}

static int sent_by(int rank, int peer)
{
    return words_between(rank, peer);
}

static int received_by(int rank, int peer)
{
    return words_between(peer, rank);
}

static void expect_layout(const int *words, const struct layout *layout, int size, int rank,
                          const char *what)
{
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < layout->counts[r]; i++)
            expect(words[layout->at[r] + i] == word(r, rank, i), "%s: word %d from %d is %d", what,
                   i, r, words[layout->at[r] + i]);
        expect(words[layout->at[r] + layout->counts[r]] == -1, "%s: the hole after %d is filled",
               what, r);
    }
}

static void gathers_and_scatters_of_any_size(int rank, int size)
{
    int own[4], all[PEERS * 5];
    for (int root = 0; root < size; root++) {
        struct layout layout = layout_of(size, received_by, root);
        int mine = words_between(rank, root), given = words_between(root, rank);
        for (int form = 0; form < LARGE; form++) {
            for (int i = 0; i < 4; i++)
                own[i] = word(rank, root, i);
            clear(all, PEERS * 5);
            IN_VECTOR_FORM(form, Gatherv, Igatherv, own, mine, MPI_INT, all, layout.counts,
                           layout.at, MPI_INT, root, MPI_COMM_WORLD);
            if (rank == root)
                expect_layout(all, &layout, size, root, "gatherv");
        }
        clear(all, PEERS * 5);
        expect_ok(MPI_Gatherv_c(own, mine, MPI_INT, all, layout.wide_counts, layout.wide_at,
                                MPI_INT, root, MPI_COMM_WORLD));
        if (rank == root)
            expect_layout(all, &layout, size, root, "gatherv_c");
        layout = layout_of(size, sent_by, root);
        clear(all, PEERS * 5);
        for (int r = 0; rank == root && r < size; r++)
            for (int i = 0; i < layout.counts[r]; i++)
                all[layout.at[r] + i] = word(root, r, i);
        for (int form = 0; form < LARGE; form++) {
            clear(own, 4);
            IN_VECTOR_FORM(form, Scatterv, Iscatterv, all, layout.counts, layout.at, MPI_INT, own,
                           given, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < 4; i++)
                expect(own[i] == (i < given ? word(root, rank, i) : -1), "scatterv: word %d is %d",
                       i, own[i]);
        }
    }
}

static int sent_to_all(int rank, int peer)
{
    (void)rank;
    return peer % 4;
}

static void allgathers_of_any_size(int rank, int size)
{
    struct layout layout = layout_of(size, sent_to_all, rank);
    int own[4], all[PEERS * 5];
    for (int i = 0; i < 4; i++)
        own[i] = word(rank, 0, i);
    for (int form = 0; form < 2 * LARGE; form++) {
        bool in_place = form >= LARGE;
        clear(all, PEERS * 5);
        if (in_place)
            memcpy(all + layout.at[rank], own, (size_t)layout.counts[rank] * sizeof(int));
        IN_VECTOR_FORM(form % LARGE, Allgatherv, Iallgatherv, in_place ? MPI_IN_PLACE : own,
                       rank % 4, MPI_INT, all, layout.counts, layout.at, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            for (int i = 0; i <= r % 4; i++)
                expect(all[layout.at[r] + i] == (i < r % 4 ? word(r, 0, i) : -1),
                       "form %d: word %d of %d is %d", form, i, r, all[layout.at[r] + i]);
    }
}

static void exchanges_of_any_size(int rank, int size)
{
    struct layout out = layout_of(size, sent_by, rank), in = layout_of(size, received_by, rank);
    int send[PEERS * 5], got[PEERS * 5];
    for (int r = 0; r < size; r++)
        for (int i = 0; i < out.counts[r]; i++)
            send[out.at[r] + i] = word(rank, r, i);
    for (int form = 0; form < LARGE; form++) {
        clear(got, PEERS * 5);
        IN_VECTOR_FORM(form, Alltoallv, Ialltoallv, send, out.counts, out.at, MPI_INT, got,
                       in.counts, in.at, MPI_INT, MPI_COMM_WORLD);
        expect_layout(got, &in, size, rank, "alltoallv");
        clear(got, PEERS * 5);
        IN_VECTOR_FORM(form, Alltoallw, Ialltoallw, send, out.counts, out.bytes, out.types, got,
                       in.counts, in.bytes, in.types, MPI_COMM_WORLD);
        expect_layout(got, &in, size, rank, "alltoallw");
    }
    clear(got, PEERS * 5);
    expect_ok(MPI_Alltoallv_c(send, out.wide_counts, out.wide_at, MPI_INT, got, in.wide_counts,
                              in.wide_at, MPI_INT, MPI_COMM_WORLD));
    expect_layout(got, &in, size, rank, "alltoallv_c");
    clear(got, PEERS * 5);
    expect_ok(MPI_Alltoallw_c(send, out.wide_counts, out.wide_bytes, out.types, got, in.wide_counts,
                              in.wide_bytes, in.types, MPI_COMM_WORLD));
    expect_layout(got, &in, size, rank, "alltoallw_c");
}

static int symmetric(int rank, int peer)
{
    return (rank + peer) % 3;
}

static void exchanges_in_place(int rank, int size)
{
    struct layout layout = layout_of(size, symmetric, rank);
    int words[PEERS * 5];
    for (int kind = 0; kind < 2; kind++) {
        clear(words, PEERS * 5);
        for (int r = 0; r < size; r++)
            for (int i = 0; i < layout.counts[r]; i++)
                words[layout.at[r] + i] = word(rank, r, i);
        if (kind)
            expect_ok(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, words, layout.counts,
                                    layout.bytes, layout.types, MPI_COMM_WORLD));
        else
            expect_ok(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, words,
                                    layout.counts, layout.at, MPI_INT, MPI_COMM_WORLD));
        expect_layout(words, &layout, size, rank, kind ? "w in place" : "v in place");
    }
}

/* ---- order ---- */

static void nothing_at_all_may_be_moved(int rank, int size)
{
    int counts[PEERS] = {0};
    (void)rank, (void)size;
    expect_ok(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    expect_ok(MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    expect_ok(MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    expect_ok(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    expect_ok(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    expect_ok(MPI_Alltoallv(NULL, counts, counts, MPI_INT, NULL, counts, counts, MPI_INT,
                            MPI_COMM_WORLD));
    expect_ok(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    expect_ok(MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
    expect_ok(MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

static void many_may_be_under_way(int rank, int size)
{
    enum { COUNT = 12 };
    int values[COUNT], sums[COUNT], roots[COUNT];
    MPI_Request requests[2 * COUNT];
    for (int i = 0; i < COUNT; i++) {
        values[i] = rank + i;
        roots[i] = rank == i % size ? 100 + i : -1;
        MPI_Iallreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Ibcast(&roots[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    for (int i = COUNT - 1; i >= 0; i--) { /* completed in another order than begun */
        MPI_Wait(&requests[2 * i + 1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[2 * i], MPI_STATUS_IGNORE);
        expect(sums[i] == size * (size - 1) / 2 + size * i && roots[i] == 100 + i,
               "%d: sum %d, root's %d", i, sums[i], roots[i]);
    }
}

static void two_communicators_do_not_interfere(int rank, int size)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    int first = -1, second = -1;
    MPI_Request requests[2];
    int order = rank % 2;
    for (int i = 0; i < 2; i++) {
        if ((i ^ order) == 0)
            MPI_Iallreduce(&rank, &first, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        else
            MPI_Iallreduce(&rank, &second, 1, MPI_INT, MPI_MAX, copy, &requests[1]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(first == size * (size - 1) / 2 && second == size - 1, "%d and %d", first, second);
    MPI_Comm_free(&copy);
}

int main(void)
{
    tap_plan(13);
    world_test("a barrier holds everybody until the last has come", barriers_hold_everybody,
               WORLD_ANY);
    world_test("Bcast gives everybody the root's data", everybody_has_the_roots_data, WORLD_ANY);
    world_test("Gather gives the root everybody's data", the_root_has_everybodys_data, WORLD_ANY);
    world_test("Scatter gives everybody its part of the root's data",
               everybody_has_its_part_of_the_roots_data, WORLD_ANY);
    world_test("Allgather gives everybody everybody's data", everybody_has_everybodys_data,
               WORLD_ANY);
    world_test("Alltoall exchanges a block between any two", everybody_exchanges_with_everybody,
               WORLD_ANY);
    world_test("Gatherv and Scatterv move blocks of any size from and to any place",
               gathers_and_scatters_of_any_size, WORLD_ANY);
    world_test("Allgatherv moves blocks of any size", allgathers_of_any_size, WORLD_ANY);
    world_test("Alltoallv and Alltoallw exchange blocks of any size", exchanges_of_any_size,
               WORLD_ANY);
    world_test("Alltoallv and Alltoallw exchange in place", exchanges_in_place, WORLD_ANY);
    world_test("collectives of nothing need no buffers", nothing_at_all_may_be_moved, WORLD_ANY);
    world_test("many collectives may be under way and complete in any order", many_may_be_under_way,
               WORLD_ANY);
    world_test("collectives of two communicators do not interfere",
               two_communicators_do_not_interfere, WORLD_ANY);
    return tap_done();
}
