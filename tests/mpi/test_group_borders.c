/* Arguments of groups and communicators: see borders.h. */
#include "tests/mpi/borders.h"

static int range_of(MPI_Group all, int first, int last, int stride, bool includes)
{
    int range[1][3] = {{first, last, stride}}, members = -1;
    MPI_Group made = MPI_GROUP_NULL;
    int error = includes ? MPI_Group_range_incl(all, 1, range, &made)
                         : MPI_Group_range_excl(all, 1, range, &made);
    if (error)
        return -error;
    MPI_Group_size(made, &members);
    MPI_Group_free(&made);
    return members;
}

static void groups_have_borders(int rank, int size)
{
    returning();
    MPI_Group all, made, none = MPI_GROUP_NULL;
    MPI_Comm comm;
    int last = size - 1, number = -1, out = -1, range[1][3] = {{0, 0, 1}};
    const int same[] = {last, last}, null = MPI_PROC_NULL, minus = -1;
    MPI_Comm_group(world, &all);
    expect_class(MPI_Group_size(none, &number), MPI_ERR_GROUP);
    expect_class(MPI_Group_size(all, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_rank(none, &number), MPI_ERR_GROUP);
    expect_class(MPI_Group_rank(all, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_compare(all, none, &number), MPI_ERR_GROUP);
    expect_class(MPI_Group_compare(none, all, &number), MPI_ERR_GROUP);
    expect_class(MPI_Group_compare(all, all, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_union(all, none, &made), MPI_ERR_GROUP);
    expect_class(MPI_Group_intersection(none, all, &made), MPI_ERR_GROUP);
    expect_class(MPI_Group_difference(all, all, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_free(NULL), MPI_ERR_GROUP);
    expect_class(MPI_Group_free(&none), MPI_ERR_GROUP);
    expect_class(MPI_Group_incl(all, -1, same, &made), MPI_ERR_ARG);
    expect_class(MPI_Group_incl(all, 1, NULL, &made), MPI_ERR_ARG);
    expect_class(MPI_Group_incl(all, 1, &size, &made), MPI_ERR_RANK);
    expect_class(MPI_Group_incl(all, 1, &minus, &made), MPI_ERR_RANK);
    expect_class(MPI_Group_incl(all, 2, same, &made), MPI_ERR_RANK);
    expect_class(MPI_Group_excl(all, 2, same, &made), MPI_ERR_RANK);
    expect_class(MPI_Group_incl(all, 1, same, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_incl(none, 1, same, &made), MPI_ERR_GROUP);
    expect_ok(MPI_Group_incl(all, 0, NULL, &made));
    expect(made == MPI_GROUP_EMPTY, "nobody is not the empty group");
    expect_ok(MPI_Group_incl(all, 1, same, &made));
    MPI_Group_rank(made, &number);
    expect(number == (rank == last ? 0 : MPI_UNDEFINED), "rank %d", number);
    expect_class(MPI_Group_translate_ranks(all, -1, same, made, &out), MPI_ERR_ARG);
    expect_class(MPI_Group_translate_ranks(all, 1, NULL, made, &out), MPI_ERR_ARG);
    expect_class(MPI_Group_translate_ranks(all, 1, same, made, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_translate_ranks(all, 1, &size, made, &out), MPI_ERR_RANK);
    expect_class(MPI_Group_translate_ranks(all, 1, &minus, made, &out), MPI_ERR_RANK);
    expect_class(MPI_Group_translate_ranks(none, 1, same, made, &out), MPI_ERR_GROUP);
    expect_class(MPI_Group_translate_ranks(all, 1, same, none, &out), MPI_ERR_GROUP);
    expect_ok(MPI_Group_translate_ranks(all, 0, NULL, made, NULL));
    expect_ok(MPI_Group_translate_ranks(all, 1, &null, made, &out));
    expect(out == MPI_PROC_NULL, "nobody becomes %d", out);
    expect_ok(MPI_Group_translate_ranks(all, 1, same, made, &out));
    expect(out == 0, "the last becomes %d", out);
    MPI_Group_free(&made);
    for (int includes = 0; includes < 2; includes++)
        for (int first = -1; first <= size; first++)
            for (int to = -1; to <= size; to++)
                for (int stride = -3; stride <= 3; stride++) {
                    int members = 0, wrong = stride == 0 || (to - first) * stride < 0;
                    for (int r = first; !wrong && (stride > 0 ? r <= to : r >= to); r += stride) {
                        members++;
                        wrong |= r < 0 || r >= size ? 2 : 0;
                    }
                    int got = range_of(all, first, to, stride, includes);
                    int wanted = includes ? members : size - members;
                    expect(wrong ? got == -(wrong == 1 ? MPI_ERR_ARG : MPI_ERR_RANK)
                                 : got == wanted,
                           "%d to %d by %d: %d", first, to, stride, got);
                }
    expect_class(MPI_Group_range_incl(all, -1, range, &made), MPI_ERR_ARG);
    expect_class(MPI_Group_range_incl(all, 1, NULL, &made), MPI_ERR_ARG);
    expect_class(MPI_Group_range_incl(none, 1, range, &made), MPI_ERR_GROUP);
    expect_class(MPI_Group_range_incl(all, 1, range, NULL), MPI_ERR_ARG);
    expect_class(MPI_Comm_create(world, none, &comm), MPI_ERR_GROUP);
    expect_class(MPI_Comm_create_group(world, none, 0, &comm), MPI_ERR_GROUP);
    expect_class(MPI_Comm_create_group(world, all, -1, &comm), MPI_ERR_TAG);
    expect_class(MPI_Comm_create_from_group(none, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                 MPI_ERR_GROUP);
    expect_class(MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                 MPI_ERR_ARG);
    expect_class(MPI_Comm_create_from_group(all, "x", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &comm),
                 MPI_ERR_ERRHANDLER);
    if (size > 1) {
        MPI_Group_incl(all, 1, &(int){(rank + 1) % size}, &made);
        expect_class(MPI_Comm_create_from_group(made, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                     MPI_ERR_GROUP);
        expect_class(MPI_Comm_create(MPI_COMM_SELF, made, &comm), MPI_ERR_GROUP);
        expect_ok(MPI_Comm_create_group(world, made, 0, &comm));
        expect(comm == MPI_COMM_NULL, "who is not in it has a communicator");
        MPI_Group_free(&made);
    }
    MPI_Group_free(&all);
    still_works(rank, size);
}

static void communicators_have_borders(int rank, int size)
{
    returning();
    MPI_Comm made = MPI_COMM_NULL, none = MPI_COMM_NULL, both = MPI_COMM_NULL;
    int number = -1, last = size - 1;
    MPI_Comm predefined[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    expect_class(MPI_Comm_free(&predefined[0]), MPI_ERR_COMM);
    expect_class(MPI_Comm_free(&predefined[1]), MPI_ERR_COMM);
    expect_class(MPI_Comm_free(&none), MPI_ERR_COMM);
    expect_class(MPI_Comm_split(world, -1, 0, &made), MPI_ERR_ARG);
    expect_class(MPI_Comm_split_type(world, 12345, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    static const int types[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED,
                                MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED,
                                MPI_UNDEFINED};
    for (int i = 0; i < 5; i++) {
        expect_ok(MPI_Comm_split_type(world, types[i], -rank, MPI_INFO_NULL, &made));
        expect((made != MPI_COMM_NULL) == (i == 0), "type %d", i);
        if (made != MPI_COMM_NULL) {
            MPI_Comm_rank(made, &number);
            expect(number == last - rank, "rank %d", number);
            MPI_Comm_free(&made);
        }
    }
    static const struct {
        int type;
        const char *key, *value;
        bool all;
    } guides[] = {
        {MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory", true},
        {MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "socket", false},
        {MPI_COMM_TYPE_HW_GUIDED, "hw_resource_type", "mpi_shared_memory", false},
        {MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://WORLD", false},
        {MPI_COMM_TYPE_HW_UNGUIDED, "mpi_hw_resource_type", "mpi_shared_memory", false},
        {MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory", true},
        {MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://world", true},
        {MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://OTHERS", false}};
    for (size_t i = 0; i < sizeof guides / sizeof guides[0]; i++) {
        MPI_Info guide;
        MPI_Info_create(&guide);
        MPI_Info_set(guide, guides[i].key, guides[i].value);
        bool asks = rank % 2 == 0; /* the others want none */
        expect_ok(
            MPI_Comm_split_type(world, asks ? guides[i].type : MPI_UNDEFINED, -rank, guide, &made));
        expect((made != MPI_COMM_NULL) == (asks && guides[i].all), "%s", guides[i].value);
        if (made != MPI_COMM_NULL) {
            MPI_Comm_rank(made, &number);
            expect(number == (last - rank) / 2, "%s: rank %d", guides[i].value, number);
            MPI_Comm_free(&made);
        }
        MPI_Info_free(&guide);
    }
    made = MPI_COMM_WORLD;
    expect_ok(MPI_Comm_get_parent(&made));
    expect(made == MPI_COMM_NULL, "nobody spawned this rank, but it has a parent");
    expect_class(MPI_Comm_remote_size(world, &number), MPI_ERR_COMM);
    expect_class(MPI_Comm_remote_group(world, &(MPI_Group){MPI_GROUP_NULL}), MPI_ERR_COMM);
    expect_class(MPI_Intercomm_merge(world, 0, &made), MPI_ERR_COMM);
    expect_class(MPI_Intercomm_create(world, -1, world, 0, 0, &made), MPI_ERR_RANK);
    expect_class(MPI_Intercomm_create(world, size, world, 0, 0, &made), MPI_ERR_RANK);
    MPI_Comm half;
    MPI_Comm_split(world, rank == last, 0, &half);
    if (size > 1) {
        bool leads = rank == 0 || rank == last; /* the others' peers and tags mean nothing */
        if (rank == last) {
            expect_class(MPI_Intercomm_create(half, 0, world, size, 0, &both), MPI_ERR_RANK);
            expect_class(MPI_Intercomm_create(half, 0, world, -1, 0, &both), MPI_ERR_RANK);
            expect_class(MPI_Intercomm_create(half, 0, world, 0, -1, &both), MPI_ERR_TAG);
            expect_class(MPI_Intercomm_create(half, 0, none, 0, 0, &both), MPI_ERR_COMM);
        }
        expect_ok(MPI_Intercomm_create(half, 0, leads ? world : none,
                                       rank == last ? 0
                                       : leads      ? last
                                                    : -5,
                                       leads ? 0 : -1, &both));
        expect_ok(MPI_Comm_remote_size(both, &number));
        expect(number == (rank == last ? last : 1), "%d across", number);
        expect_class(MPI_Intercomm_create(both, 0, world, 0, 0, &made), MPI_ERR_COMM);
        expect_class(MPI_Comm_create_group(both, MPI_GROUP_EMPTY, 0, &made), MPI_ERR_COMM);
        expect_class(MPI_Cart_create(both, 1, &(int){1}, &(int){0}, 0, &made), MPI_ERR_COMM);
        MPI_Comm_free(&both);
    }
    MPI_Comm_free(&half);
    expect_class(MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    still_works(rank, size);
}

int main(void)
{
    borders("groups are made of members", groups_have_borders);
    borders("communicators are made of communicators", communicators_have_borders);
    return tap_done();
}
