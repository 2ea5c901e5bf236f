/* Intercommunicators out of intercommunicators: split, create, duplicates now and later. */
#include "tests/conformance/intercomm_sides.h"

/* The world ranks of the side's members, in order, are these; messages go to and fro, and the other
 * side's sum comes across. */
static void expect_members(MPI_Comm made, const int *own, int own_count, const int *far,
                           int far_count)
{
    int inter = 0, count = -1, remote = -1, own_rank = -1, sum = -1, wanted = 0, all[16];
    expect_ok(MPI_Comm_test_inter(made, &inter));
    expect_ok(MPI_Comm_size(made, &count));
    expect_ok(MPI_Comm_rank(made, &own_rank));
    if (!expect(inter && count == own_count, "inter %d, %d members, not %d", inter, count,
                own_count))
        return;
    expect_ok(MPI_Comm_remote_size(made, &remote));
    int mine = MPIX_World_rank();
    expect(own[own_rank] == mine, "rank %d of the new one is %d", own_rank, own[own_rank]);
    if (!expect(remote == far_count, "%d across, not %d", remote, far_count))
        return;
    expect_ok(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, made));
    expect_ok(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, made));
    for (int i = 0; i < far_count; i++) {
        expect(all[i] == far[i], "rank %d across is %d, not %d", i, all[i], far[i]);
        wanted += far[i];
    }
    expect(sum == wanted, "the other side sums to %d, not %d", sum, wanted);
}

/* World ranks of the members of a side that have this parity of their rank in it, forwards or
 * backwards. */
static int members(bool odd_side, int count, int parity, bool backwards, int *ranks)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        int at = backwards ? count - 1 - i : i;
        if (at % 2 == parity)
            ranks[n++] = 2 * at + odd_side;
    }
    return n;
}

static void a_color_on_both_sides_makes_one(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    for (int backwards = 0; backwards < 2; backwards++) {
        MPI_Comm made = sides.local;
        int key = backwards ? -sides.rank : 7, own[16], far[16];
        expect_ok(MPI_Comm_split(sides.across, sides.rank % 2, key, &made));
        int own_count = members(sides.odd, sides.size, sides.rank % 2, backwards, own);
        int far_count = members(!sides.odd, sides.remote, sides.rank % 2, backwards, far);
        if (!far_count) {
            expect(made == MPI_COMM_NULL, "rank %d has one, with nobody across", rank);
            continue;
        }
        if (!expect(made != MPI_COMM_NULL, "rank %d has none", rank))
            continue;
        expect_members(made, own, own_count, far, far_count);
        MPI_Comm_free(&made);
    }
    sides_free(&sides);
}

/* Odd ranks have no color; the sides' first have one that nobody across has. */
static void without_a_color_across_there_is_none(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    MPI_Comm made = sides.local;
    int color = sides.rank == 0 ? 10 + sides.odd : sides.rank % 2 ? MPI_UNDEFINED : 3;
    expect_ok(MPI_Comm_split(sides.across, color, 0, &made));
    bool both = color == 3 && sides.size > 2 && sides.remote > 2;
    expect((made != MPI_COMM_NULL) == both, "rank %d, color %d", rank, color);
    if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    MPI_Comm_set_errhandler(sides.across, MPI_ERRORS_RETURN);
    expect_class(MPI_Comm_split(sides.across, -5, 0, &made), MPI_ERR_ARG);
    sides_free(&sides);
}

/* The last rank of each side is left out, when it is not the only one; order is the group's. */
static void create_takes_a_group_of_each_side(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    MPI_Comm made = sides.local;
    MPI_Group all, part;
    int own[16], far[16], ranks[16];
    int own_count = sides.size > 1 ? sides.size - 1 : 1;
    int far_count = sides.remote > 1 ? sides.remote - 1 : 1;
    for (int i = 0; i < own_count; i++) {
        ranks[i] = own_count - 1 - i;
        own[i] = 2 * ranks[i] + sides.odd;
    }
    for (int i = 0; i < far_count; i++)
        far[i] = 2 * (far_count - 1 - i) + !sides.odd;
    MPI_Comm_group(sides.across, &all);
    MPI_Group_incl(all, own_count, ranks, &part);
    expect_ok(MPI_Comm_create(sides.across, part, &made));
    bool member = sides.rank < own_count;
    if (expect((made != MPI_COMM_NULL) == member, "rank %d of %d", sides.rank, sides.size) &&
        member) {
        expect_members(made, own, own_count, far, far_count);
        MPI_Comm_free(&made);
    }
    /* With nobody on one side there is none for the other either. */
    expect_ok(MPI_Comm_create(sides.across, sides.odd ? MPI_GROUP_EMPTY : all, &made));
    expect(made == MPI_COMM_NULL, "rank %d has one, with nobody across", rank);
    MPI_Group_free(&part);
    MPI_Group_free(&all);
    sides_free(&sides);
}

static void create_refuses_other_groups(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    MPI_Comm made = sides.local;
    MPI_Group far, own, part;
    MPI_Comm_set_errhandler(sides.across, MPI_ERRORS_RETURN);
    MPI_Comm_remote_group(sides.across, &far);
    MPI_Comm_group(sides.across, &own);
    expect_class(MPI_Comm_create(sides.across, far, &made), MPI_ERR_GROUP);
    expect_class(MPI_Comm_create_group(sides.across, own, 0, &made), MPI_ERR_COMM);
    int dims = 1, periods = 0;
    expect_class(MPI_Cart_create(sides.across, 1, &dims, &periods, 0, &made), MPI_ERR_COMM);
    if (sides.size > 1 && sides.remote > 1) { /* each a group of its own */
        MPI_Group_incl(own, 1, &sides.rank, &part);
        expect_class(MPI_Comm_create(sides.across, part, &made), MPI_ERR_GROUP);
        MPI_Group_free(&part);
    }
    expect(made == MPI_COMM_NULL, "rank %d has one", rank);
    MPI_Group_free(&own);
    MPI_Group_free(&far);
    sides_free(&sides);
}

static int copy_twice(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    *(void **)out = (char *)in + (intptr_t)in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void handled(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    *code = 0;
}

/* Everything is as it was when the duplication began, whatever changes before it ends. */
static void later_duplicates_are_of_the_moment(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    MPI_Comm sources[2] = {sides.across, sides.local};
    MPI_Errhandler handler, found;
    MPI_Comm_create_errhandler(handled, &handler);
    int keyval = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(copy_twice, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Info info, kept;
    MPI_Info_create(&info);
    MPI_Info_set(info, "flavour", "sour");
    for (int s = 0; s < 2; s++) {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Request request;
        MPI_Comm_set_attr(sources[s], keyval, (void *)(intptr_t)(rank + 1));
        MPI_Comm_set_errhandler(sources[s], handler);
        expect_ok(MPI_Comm_idup_with_info(sources[s], info, &copy, &request));
        MPI_Comm_set_errhandler(sources[s], MPI_ERRORS_RETURN);
        MPI_Comm_delete_attr(sources[s], keyval);
        MPI_Info_set(info, "flavour", "sour");
        expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
        int result = -1, flag = 0;
        void *value = NULL;
        MPI_Comm_compare(sources[s], copy, &result);
        expect(result == MPI_CONGRUENT, "compared with its copy: %d", result);
        expect_ok(MPI_Comm_get_attr(copy, keyval, &value, &flag));
        expect(flag && (intptr_t)value == 2 * (rank + 1), "attribute %d: %d", flag,
               (int)(intptr_t)value);
        MPI_Comm_get_errhandler(copy, &found);
        expect(found == handler, "another error handler: rank %d", rank);
        MPI_Errhandler_free(&found);
        char flavour[16] = "";
        MPI_Comm_get_info(copy, &kept);
        MPI_Info_get(kept, "flavour", 15, flavour, &flag);
        expect(flag && strcmp(flavour, "sour") == 0, "hint '%s'", flavour);
        MPI_Info_free(&kept);
        expect_ok(MPI_Barrier(copy));
        MPI_Comm_free(&copy);
    }
    MPI_Info_free(&info);
    MPI_Comm_free_keyval(&keyval);
    MPI_Errhandler_free(&handler);
    sides_free(&sides);
}

/* Without any communicator: the sides know each other's groups, and meet under a name. */
static void groups_meet_under_a_name(int rank, int size)
{
    MPI_Group all, sides[2];
    MPI_Comm made[2];
    int ranks[2][16], counts[2] = {0, 0}, odd = rank % 2;
    for (int r = 0; r < size; r++)
        ranks[r % 2][counts[r % 2]++] = r;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int s = 0; s < 2; s++)
        MPI_Group_incl(all, counts[s], ranks[s], &sides[s]);
    for (int i = 0; i < 2; i++) {
        expect_ok(MPI_Intercomm_create_from_groups(sides[odd], odd ? 0 : counts[0] - 1, sides[!odd],
                                                   odd ? counts[0] - 1 : 0, i ? "second" : "first",
                                                   MPI_INFO_NULL, MPI_ERRORS_RETURN, &made[i]));
        expect_members(made[i], ranks[odd], counts[odd], ranks[!odd], counts[!odd]);
    }
    expect_class(MPI_Send(&rank, 1, MPI_INT, counts[!odd], 0, made[0]), MPI_ERR_RANK);
    MPI_Comm_free(&made[0]);
    MPI_Comm_free(&made[1]);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_class(MPI_Intercomm_create_from_groups(sides[odd], counts[odd], sides[!odd], 0, "none",
                                                  MPI_INFO_NULL, MPI_ERRORS_RETURN, &made[0]),
                 MPI_ERR_RANK);
    expect_class(MPI_Intercomm_create_from_groups(sides[!odd], 0, sides[odd], 0, "none",
                                                  MPI_INFO_NULL, MPI_ERRORS_RETURN, &made[0]),
                 MPI_ERR_GROUP);
    expect(made[0] == MPI_COMM_NULL, "rank %d has one", rank);
    MPI_Group_free(&sides[0]);
    MPI_Group_free(&sides[1]);
    MPI_Group_free(&all);
}

int main(void)
{
    tap_plan(6);
    world_test_pairs("a color on both sides makes an intercommunicator, ordered by key",
                     a_color_on_both_sides_makes_one, WORLD_ANY);
    world_test_pairs("a color that nobody across has makes none",
                     without_a_color_across_there_is_none, WORLD_ANY);
    world_test_pairs("create takes a group of each side", create_takes_a_group_of_each_side,
                     WORLD_ANY);
    world_test_pairs("create refuses groups of others, and those that differ",
                     create_refuses_other_groups, WORLD_ANY);
    world_test_pairs("a nonblocking duplicate has attributes, handler and hints of its call",
                     later_duplicates_are_of_the_moment, WORLD_ANY);
    world_test_pairs("two groups without a communicator meet under a name",
                     groups_meet_under_a_name, WORLD_ANY);
    return tap_done();
}
