/* Intercommunicators: two groups that talk to each other. */
#include "tests/conformance/intercomm_sides.h"

static void each_side_knows_both(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    int inter = -1, count = -1, own = -1, result = -1;
    MPI_Comm_test_inter(sides.across, &inter);
    MPI_Comm_size(sides.across, &count);
    MPI_Comm_rank(sides.across, &own);
    expect(inter == 1 && count == sides.size && own == sides.rank, "inter %d, %d of %d", inter, own,
           count);
    expect(sides.remote == size - sides.size, "remote %d", sides.remote);
    MPI_Group far, all;
    MPI_Comm_remote_group(sides.across, &far);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int r = 0; r < sides.remote; r++) {
        int world = -1;
        MPI_Group_translate_ranks(far, 1, &r, all, &world);
        expect(world == world_across(&sides, r), "remote %d is %d", r, world);
    }
    MPI_Group_free(&far);
    MPI_Group_free(&all);
    MPI_Comm_test_inter(sides.local, &inter);
    expect(inter == 0, "the local one is inter %d", inter);
    MPI_Comm_compare(sides.across, sides.local, &result);
    expect(result == MPI_UNEQUAL, "compared with the local one: %d", result);
    sides_free(&sides);
}

static void messages_go_across(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    MPI_Request *requests = malloc((size_t)sides.remote * sizeof(MPI_Request));
    for (int r = 0; r < sides.remote; r++)
        MPI_Isend(&rank, 1, MPI_INT, r, 3, sides.across, &requests[r]);
    for (int i = 0; i < sides.remote; i++) {
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, sides.across, &status);
        expect(got == world_across(&sides, status.MPI_SOURCE), "got %d from %d", got,
               status.MPI_SOURCE);
    }
    MPI_Waitall(sides.remote, requests, MPI_STATUSES_IGNORE);
    free(requests);
    MPI_Comm_set_errhandler(sides.across, MPI_ERRORS_RETURN);
    expect_class(MPI_Send(&rank, 1, MPI_INT, sides.remote, 0, sides.across), MPI_ERR_RANK);
    sides_free(&sides);
}

static void merging_orders_by_high(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    for (int odd_high = 0; odd_high < 2; odd_high++) {
        MPI_Comm all;
        int own = -1, count = -1, sum = -1, inter = -1;
        expect_ok(MPI_Intercomm_merge(sides.across, sides.odd == odd_high, &all));
        MPI_Comm_rank(all, &own);
        MPI_Comm_size(all, &count);
        MPI_Comm_test_inter(all, &inter);
        int wanted = sides.rank + (sides.odd == odd_high ? sides.remote : 0);
        expect(count == size && own == wanted && !inter, "%d is %d of %d", rank, own, count);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
        expect(sum == size * (size - 1) / 2, "sum %d", sum);
        MPI_Comm_free(&all);
    }
    sides_free(&sides);
}

static void duplicates_are_apart(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    MPI_Comm copy;
    int result = -1, got = -1, sum = -1;
    expect_ok(MPI_Comm_dup(sides.across, &copy));
    MPI_Comm_compare(copy, sides.across, &result);
    expect(result == MPI_CONGRUENT, "compared with its copy: %d", result);
    if (sides.rank == 0) {
        int first = 100 + rank, second = 200 + rank;
        MPI_Request requests[2];
        MPI_Isend(&first, 1, MPI_INT, 0, 0, sides.across, &requests[0]);
        MPI_Isend(&second, 1, MPI_INT, 0, 0, copy, &requests[1]);
        MPI_Recv(&got, 1, MPI_INT, 0, 0, copy, MPI_STATUS_IGNORE);
        expect(got == 200 + world_across(&sides, 0), "the copy brought %d", got);
        MPI_Recv(&got, 1, MPI_INT, 0, 0, sides.across, MPI_STATUS_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    int wanted = 0;
    for (int r = 0; r < sides.remote; r++)
        wanted += world_across(&sides, r);
    expect(sum == wanted, "the other side sums to %d", sum);
    MPI_Comm_free(&copy);
    sides_free(&sides);
}

/* Every rank of both sides is root in turn. */
static void roots_reach_the_other_side(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    int most = sides.size > sides.remote ? sides.size : sides.remote;
    for (int turn = 0; turn < 2 * most; turn++) {
        bool ours = (turn % 2 == 1) == sides.odd;
        int who = turn / 2, group = ours ? sides.size : sides.remote;
        if (who >= group)
            continue;
        int root = !ours ? who : sides.rank == who ? MPI_ROOT : MPI_PROC_NULL;
        int value = ours && sides.rank == who ? 500 + rank : -1, all[16], one = -1, sum = -1;
        expect_ok(MPI_Bcast(&value, 1, MPI_INT, root, sides.across));
        int giver = ours ? -1 : world_across(&sides, who);
        expect(ours || value == 500 + giver, "bcast gave %d", value);
        for (int i = 0; i < 16; i++)
            all[i] = -1;
        expect_ok(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, sides.across));
        for (int i = 0; root == MPI_ROOT && i < sides.remote; i++)
            expect(all[i] == world_across(&sides, i), "gathered %d from %d", all[i], i);
        expect(root == MPI_ROOT || all[0] == -1, "others were touched");
        for (int i = 0; i < 16; i++)
            all[i] = rank * 100 + i;
        MPI_Request request;
        expect_ok(MPI_Iscatter(all, 1, MPI_INT, &one, 1, MPI_INT, root, sides.across, &request));
        expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
        expect(one == (ours ? -1 : giver * 100 + sides.rank), "scattered %d", one);
        expect_ok(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, sides.across));
        int wanted = 0;
        for (int r = 0; r < sides.remote; r++)
            wanted += world_across(&sides, r);
        expect(sum == (root == MPI_ROOT ? wanted : -1), "reduced to %d", sum);
    }
    sides_free(&sides);
}

static void each_side_gets_what_the_other_gives(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    int all[16], send[16], got[16], counts[16], at[16], sum = -1, wanted = 0;
    expect_ok(MPI_Barrier(sides.across));
    expect_ok(MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, sides.across));
    for (int r = 0; r < sides.remote; r++) {
        expect(all[r] == world_across(&sides, r), "allgather: %d is %d", r, all[r]);
        wanted += world_across(&sides, r);
        send[r] = rank * 100 + r;
        counts[r] = 1;
        at[r] = sides.remote - 1 - r;
    }
    expect_ok(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, sides.across));
    expect(sum == wanted, "allreduce: %d", sum);
    expect_ok(MPI_Alltoall(send, 1, MPI_INT, got, 1, MPI_INT, sides.across));
    for (int r = 0; r < sides.remote; r++)
        expect(got[r] == world_across(&sides, r) * 100 + sides.rank, "alltoall: %d is %d", r,
               got[r]);
    expect_ok(MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, at, MPI_INT, sides.across));
    for (int r = 0; r < sides.remote; r++)
        expect(all[at[r]] == world_across(&sides, r), "allgatherv: %d is %d", r, all[at[r]]);
    MPI_Comm_set_errhandler(sides.across, MPI_ERRORS_RETURN);
    expect_class(MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, sides.across), MPI_ERR_COMM);
    expect_class(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, sides.across),
                 MPI_ERR_BUFFER);
    expect_class(
        MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, got, counts, at, MPI_INT, sides.across),
        MPI_ERR_BUFFER);
    expect_class(MPI_Bcast(&sum, 1, MPI_INT, sides.remote, sides.across), MPI_ERR_ROOT);
    sides_free(&sides);
}

/* What each rank gets of the sum over the other side: (its rank + 1) elements, or two each. */
static void sums_are_scattered_over_the_other_side(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    int own = sides.size, far = sides.remote, total = 2 * own * far, before = 0;
    int counts[16], blocks[2], *send = malloc(((size_t)total + 16) * sizeof *send),
                               *got = malloc(((size_t)total + 16) * sizeof *got);
    for (int i = 0; i < total; i++)
        send[i] = 1000 * rank + i;
    for (int r = 0; r < own; r++)
        counts[r] = r == own - 1 ? total - r * far : far; /* one far each, the rest to the last */
    before = sides.rank * far;
    expect_ok(MPI_Reduce_scatter(send, got, counts, MPI_INT, MPI_SUM, sides.across));
    int ranks = 0;
    for (int r = 0; r < far; r++)
        ranks += world_across(&sides, r);
    for (int i = 0; i < counts[sides.rank]; i++)
        expect(got[i] == 1000 * ranks + far * (before + i), "element %d is %d", i, got[i]);
    /* As many in all on both sides: size elements for each of the two, in blocks. */
    bool even = own == far;
    if (even)
        expect_ok(MPI_Reduce_scatter_block(send, blocks, 2, MPI_INT, MPI_SUM, sides.across));
    for (int i = 0; even && i < 2; i++)
        expect(blocks[i] == 1000 * ranks + far * (2 * sides.rank + i), "block %d is %d", i,
               blocks[i]);
    MPI_Comm_set_errhandler(sides.across, MPI_ERRORS_RETURN);
    counts[0] += sides.odd;
    expect_class(MPI_Reduce_scatter(send, got, counts, MPI_INT, MPI_SUM, sides.across),
                 MPI_ERR_TRUNCATE);
    free(send);
    free(got);
    sides_free(&sides);
}

static void groups_with_a_common_rank_are_refused(int rank, int size)
{
    MPI_Comm copy, across = MPI_COMM_NULL;
    (void)size;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    expect_class(MPI_Intercomm_merge(copy, 0, &across), MPI_ERR_COMM);
    expect_class(MPI_Intercomm_create(copy, -1, MPI_COMM_WORLD, 0, 0, &across), MPI_ERR_RANK);
    expect(across == MPI_COMM_NULL, "rank %d has one", rank);
    MPI_Comm_free(&copy);
}

int main(void)
{
    tap_plan(8);
    world_test_pairs("each side of an intercommunicator knows both groups", each_side_knows_both,
                     WORLD_ANY);
    world_test_pairs("messages go across", messages_go_across, WORLD_ANY);
    world_test_pairs("merging puts the low side before the high one", merging_orders_by_high,
                     WORLD_ANY);
    world_test_pairs("a duplicate's traffic is apart from the original's", duplicates_are_apart,
                     WORLD_ANY);
    world_test_pairs("roots give to and take from the other side", roots_reach_the_other_side,
                     WORLD_ANY);
    world_test_pairs("each side gets what the other gives", each_side_gets_what_the_other_gives,
                     WORLD_ANY);
    world_test_pairs("sums of one side are scattered over the other",
                     sums_are_scattered_over_the_other_side, WORLD_ANY);
    world_test_pairs("what is no intercommunicator, or no leader, is refused",
                     groups_with_a_common_rank_are_refused, WORLD_ANY);
    return tap_done();
}
