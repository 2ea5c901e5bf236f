/* test_group.c: groups against a naive list of world ranks, and the checks of MPI_Group_*. */
#include <stdlib.h>

#include <mpi.h>

#include "sim/base/handle.h"
#include "sim/communicators/group.h"
#include "tests/tap.h"

/* A fixed sequence of numbers below n, so that every run tests the same groups. */
static int next_below(unsigned *state, int n)
{
    *state = *state * 1103515245u + 12345u;
    return (int)((*state >> 16) % (unsigned)n);
}

/* Fills `ranks` with a random subset of 0..universe-1 in random order; returns its size. */
static int random_ranks(unsigned *state, int universe, int *ranks)
{
    int size = 0;
    for (int i = 0; i < universe; i++)
        if (next_below(state, 2))
            ranks[size++] = i;
    for (int i = size - 1; i > 0; i--) {
        int k = next_below(state, i + 1), swap = ranks[i];
        ranks[i] = ranks[k];
        ranks[k] = swap;
    }
    return size;
}

static int list_find(const int *list, int size, int value)
{
    for (int i = 0; i < size; i++)
        if (list[i] == value)
            return i;
    return MPI_UNDEFINED;
}

static bool group_is(const struct sim_group *group, int size, const int *ranks)
{
    if (!group || group->size != size)
        return false;
    for (int i = 0; i < size; i++)
        if (sim_group_world_rank(group, i) != ranks[i] || sim_group_rank(group, ranks[i]) != i)
            return false;
    return true;
}

enum { UNIVERSE = 40 };

/* How many of the checks fail for two random groups: sizes, lookups and the three combinations. */
static int combination_failures(unsigned *state)
{
    int a[UNIVERSE], b[UNIVERSE], expected[3][2 * UNIVERSE], counts[3] = {0, 0, 0}, failures = 0;
    int size_a = random_ranks(state, UNIVERSE, a), size_b = random_ranks(state, UNIVERSE, b);
    for (int i = 0; i < size_a; i++) {
        bool both = list_find(b, size_b, a[i]) >= 0;
        expected[0][counts[0]++] = a[i];
        expected[both ? 1 : 2][counts[both ? 1 : 2]++] = a[i];
    }
    for (int i = 0; i < size_b; i++)
        if (list_find(a, size_a, b[i]) < 0)
            expected[0][counts[0]++] = b[i];
    struct sim_group *groups[5] = {sim_group_new(size_a, a), sim_group_new(size_b, b)};
    groups[2] = sim_group_union(groups[0], groups[1]);
    groups[3] = sim_group_intersection(groups[0], groups[1]);
    groups[4] = sim_group_difference(groups[0], groups[1]);
    for (int world_rank = -1; world_rank <= UNIVERSE; world_rank++)
        failures += sim_group_rank(groups[0], world_rank) != list_find(a, size_a, world_rank);
    for (int i = 0; i < 3; i++)
        failures += !group_is(groups[2 + i], counts[i], expected[i]);
    for (int i = 0; i < 5; i++)
        sim_group_release(groups[i]);
    return failures;
}

static void test_combinations(void)
{
    unsigned state = 1;
    int failures = 0;
    for (int i = 0; i < 500; i++)
        failures += combination_failures(&state);
    tap_is_int(failures, 0, "lookup, union, intersection and difference agree with naive lists");
}

static void test_representation(void)
{
    int odd[] = {1, 3, 5, 7}, down[] = {7, 4, 1}, any[] = {4, 0, 1}, *all;
    struct sim_group *group = sim_group_new(4, odd);
    tap_ok(group_is(group, 4, odd) && !group->ranks, "odd ranks need no array");
    tap_is_int(sim_group_rank(group, 4), MPI_UNDEFINED, "a rank between two members is no member");
    tap_is_int(sim_group_rank(group, 9), MPI_UNDEFINED, "a rank beyond the last is no member");
    tap_is_int(sim_group_rank(group, -1), MPI_UNDEFINED, "a rank before the first is no member");
    sim_group_release(group);
    group = sim_group_new(3, down);
    tap_ok(group_is(group, 3, down) && !group->ranks, "a falling sequence needs no array");
    sim_group_release(group);
    group = sim_group_new(3, any);
    tap_ok(group_is(group, 3, any) && group->ranks, "ranks in any order are kept in their order");
    sim_group_release(group);
    enum { MANY = 65536 };
    all = malloc(MANY * sizeof *all);
    for (int i = 0; all && i < MANY; i++)
        all[i] = i * 7919 % MANY; /* a permutation, 7919 being odd */
    group = all ? sim_group_new(MANY, all) : NULL;
    tap_ok(group_is(group, MANY, all), "65,536 ranks in any order are found");
    sim_group_release(group);
    free(all);
}

static void test_compare(void)
{
    int a[] = {2, 0, 1}, b[] = {0, 1, 2}, c[] = {0, 1, 3}, d[] = {0, 1};
    struct sim_group *groups[] = {sim_group_new(3, a), sim_group_new(3, b), sim_group_new(3, c),
                                  sim_group_new(2, d)};
    tap_is_int(sim_group_compare(groups[0], groups[0]), MPI_IDENT, "a group is itself");
    tap_is_int(sim_group_compare(groups[0], groups[1]), MPI_SIMILAR, "another order is similar");
    tap_is_int(sim_group_compare(groups[1], groups[2]), MPI_UNEQUAL, "other members are unequal");
    tap_is_int(sim_group_compare(groups[1], groups[3]), MPI_UNEQUAL, "fewer members are unequal");
    for (int i = 0; i < 4; i++)
        sim_group_release(groups[i]);
}

static void test_calls(MPI_Group world)
{
    MPI_Group group = MPI_GROUP_NULL, rest = MPI_GROUP_NULL, common = MPI_GROUP_NULL;
    int ranks[] = {3, 1}, translated[3], result, ranges[][3] = {{0, 6, 3}, {5, 4, -1}};
    int from[] = {0, MPI_PROC_NULL, 2}, range_expected[] = {10, 13, 16, 15, 14};
    PMPI_Group_incl(world, 2, ranks, &group);
    tap_ok(group_is(sim_group_from_handle(group), 2, (int[]){13, 11}),
           "incl keeps the order given");
    PMPI_Group_excl(world, 2, ranks, &rest);
    tap_ok(group_is(sim_group_from_handle(rest), 6, (int[]){10, 12, 14, 15, 16, 17}),
           "excl keeps the order of the group");
    PMPI_Group_translate_ranks(rest, 3, from, world, translated);
    tap_ok(translated[0] == 0 && translated[1] == MPI_PROC_NULL && translated[2] == 4,
           "ranks are translated, MPI_PROC_NULL to itself");
    PMPI_Group_translate_ranks(rest, 1, from, group, translated);
    tap_is_int(translated[0], MPI_UNDEFINED, "a rank that is no member becomes MPI_UNDEFINED");
    PMPI_Group_intersection(group, rest, &common);
    tap_ok(common == MPI_GROUP_EMPTY, "an empty result is MPI_GROUP_EMPTY");
    PMPI_Group_size(common, &result);
    tap_is_int(result, 0, "MPI_GROUP_EMPTY has size 0");
    PMPI_Group_free(&group);
    PMPI_Group_free(&rest);
    PMPI_Group_range_incl(world, 2, ranges, &group);
    tap_ok(group_is(sim_group_from_handle(group), 5, range_expected), "ranges may rise and fall");
    PMPI_Group_free(&group);
    tap_ok(group == MPI_GROUP_NULL, "free leaves MPI_GROUP_NULL");
}

static void test_errors(MPI_Group world)
{
    MPI_Group group = MPI_GROUP_NULL;
    int size, twice[] = {1, 1}, outside[] = {8}, still[][3] = {{0, 4, 0}}, away[][3] = {{2, 1, 2}};
    int beyond[][3] = {{6, 8, 1}};
    uint32_t foreign[16] = {SIM_MAGIC_INFO};
    tap_is_int(PMPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP, "a null group is refused");
    tap_is_int(PMPI_Group_size((MPI_Group)(void *)foreign, &size), MPI_ERR_GROUP,
               "a handle of another kind is refused");
    tap_is_int(PMPI_Group_size(world, NULL), MPI_ERR_ARG, "a null result is refused");
    tap_is_int(PMPI_Group_incl(world, 2, twice, &group), MPI_ERR_RANK, "a double rank is refused");
    tap_is_int(PMPI_Group_excl(world, 1, outside, &group), MPI_ERR_RANK,
               "a rank outside the group is refused");
    tap_is_int(PMPI_Group_incl(world, -1, twice, &group), MPI_ERR_ARG,
               "a negative count is refused");
    tap_is_int(PMPI_Group_range_incl(world, 1, still, &group), MPI_ERR_ARG, "stride 0 is refused");
    tap_is_int(PMPI_Group_range_excl(world, 1, away, &group), MPI_ERR_ARG,
               "a stride that leads away is refused");
    tap_is_int(PMPI_Group_range_incl(world, 1, beyond, &group), MPI_ERR_RANK,
               "a range beyond the group is refused");
    tap_is_int(PMPI_Group_translate_ranks(world, 1, outside, world, &size), MPI_ERR_RANK,
               "a rank outside the group is not translated");
    tap_ok(group == MPI_GROUP_NULL, "a failing call leaves the result alone");
}

static void test_references(void)
{
    struct sim_group *group = sim_group_new_sequence(3, 0, 1);
    tap_ok(sim_group_retain(group) == group, "retain returns the group");
    sim_group_release(group);
    tap_is_int(group->size, 3, "a group lives while somebody holds it");
    sim_group_release(group);
}

int main(void)
{
    MPI_Group world = sim_group_handle(sim_group_new_sequence(8, 10, 1));
    test_combinations();
    test_representation();
    test_compare();
    test_calls(world);
    test_errors(world);
    test_references();
    PMPI_Group_free(&world);
    return tap_done();
}
