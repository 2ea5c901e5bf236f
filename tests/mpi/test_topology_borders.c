/* Arguments of grids and graphs, and members whose arguments differ: see borders.h. */
#include "tests/mpi/borders.h"

/* gcc would look at what they point to. */
static const int *volatile plain = MPI_UNWEIGHTED, *volatile empty = MPI_WEIGHTS_EMPTY;

static void topologies_have_borders(int rank, int size)
{
    returning();
    MPI_Comm grid = MPI_COMM_NULL, made = MPI_COMM_NULL;
    int number = -1, other = -1, two[2], zero[2] = {0, 0}, periods[2] = {0, 1};
    int extents[2] = {size, 1}, large[2] = {size, 2}, bad[2] = {size, 0}, minus = -1, plus = size;
    expect_class(MPI_Dims_create(0, 1, zero), MPI_ERR_ARG);
    expect_class(MPI_Dims_create(1, -1, zero), MPI_ERR_ARG);
    expect_class(MPI_Dims_create(1, 1, NULL), MPI_ERR_ARG);
    expect_class(MPI_Dims_create(1, 1, &minus), MPI_ERR_DIMS);
    expect_class(MPI_Dims_create(5, 2, (int[]){0, 2}), MPI_ERR_DIMS);
    expect_class(MPI_Dims_create(6, 1, (int[]){3}), MPI_ERR_DIMS);
    expect_ok(MPI_Dims_create(6, 1, (int[]){6}));
    expect_ok(MPI_Dims_create(7, 0, NULL));
    expect_class(MPI_Cart_create(world, -1, extents, periods, 0, &grid), MPI_ERR_DIMS);
    expect_class(MPI_Cart_create(world, 2, NULL, periods, 0, &grid), MPI_ERR_ARG);
    expect_class(MPI_Cart_create(world, 2, extents, NULL, 0, &grid), MPI_ERR_ARG);
    expect_class(MPI_Cart_create(world, 2, bad, periods, 0, &grid), MPI_ERR_DIMS);
    expect_class(MPI_Cart_create(world, 2, large, periods, 0, &grid), MPI_ERR_DIMS);
    expect_class(MPI_Cart_create(world, 2, (int[]){65536, 65536}, periods, 0, &grid), MPI_ERR_DIMS);
    expect_class(MPI_Cart_map(world, 2, large, periods, &number), MPI_ERR_DIMS);
    expect_ok(MPI_Cart_map(world, 1, (int[]){size > 1 ? size - 1 : 1}, periods, &number));
    expect(number == (size > 1 && rank == size - 1 ? MPI_UNDEFINED : rank), "mapped to %d", number);
    expect_ok(MPI_Cart_create(world, 0, NULL, NULL, 0, &grid));
    expect((grid != MPI_COMM_NULL) == (rank == 0), "a point is of rank 0 alone");
    if (grid != MPI_COMM_NULL) {
        expect_ok(MPI_Cartdim_get(grid, &number));
        expect(number == 0, "a point has %d dimensions", number);
        expect_ok(MPI_Cart_get(grid, 0, NULL, NULL, NULL));
        MPI_Comm_free(&grid);
    }
    expect_ok(MPI_Cart_create(world, 2, extents, periods, 0, &grid));
    expect_class(MPI_Cart_get(grid, 1, two, two, two), MPI_ERR_ARG);
    expect_class(MPI_Cart_coords(grid, rank, 1, two), MPI_ERR_ARG);
    expect_class(MPI_Cart_coords(grid, minus, 2, two), MPI_ERR_RANK);
    expect_class(MPI_Cart_coords(grid, plus, 2, two), MPI_ERR_RANK);
    expect_ok(MPI_Cart_coords(grid, size - 1, 2, two));
    expect(two[0] == size - 1 && two[1] == 0, "the last is at %d, %d", two[0], two[1]);
    expect_class(MPI_Cart_rank(grid, (int[]){size, 0}, &number), MPI_ERR_ARG);
    expect_class(MPI_Cart_rank(grid, (int[]){-1, 0}, &number), MPI_ERR_ARG);
    expect_ok(MPI_Cart_rank(grid, (int[]){size - 1, -7}, &number));
    expect(number == size - 1, "it is %d", number);
    expect_class(MPI_Cart_shift(grid, -1, 1, &number, &other), MPI_ERR_DIMS);
    expect_class(MPI_Cart_shift(grid, 2, 1, &number, &other), MPI_ERR_DIMS);
    static const int far[] = {INT_MIN, -2, -1, 0, 1, 2, INT_MAX};
    for (int i = 0; i < 7; i++) {
        long long to = (long long)rank + far[i], from = (long long)rank - far[i];
        expect_ok(MPI_Cart_shift(grid, 0, far[i], &number, &other));
        expect(other == (to >= 0 && to < size ? to : MPI_PROC_NULL) &&
                   number == (from >= 0 && from < size ? from : MPI_PROC_NULL),
               "by %d: from %d to %d", far[i], number, other);
        expect_ok(MPI_Cart_shift(grid, 1, far[i], &number, &other));
        expect(number == rank && other == rank, "round: from %d to %d", number, other);
    }
    expect_class(MPI_Graphdims_get(grid, &number, &other), MPI_ERR_TOPOLOGY);
    expect_class(MPI_Dist_graph_neighbors_count(grid, &number, &other, two), MPI_ERR_TOPOLOGY);
    expect_class(MPI_Cartdim_get(world, &number), MPI_ERR_TOPOLOGY);
    expect_class(MPI_Cart_sub(world, two, &made), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&grid);
    still_works(rank, size);
}

static void graphs_have_borders(int rank, int size)
{
    returning();
    MPI_Comm graph = MPI_COMM_NULL, made = MPI_COMM_NULL;
    int index[17], edges[16], number = -1, in, out, weighted, back[17] = {0}, minus = -1;
    const int one = 1, last = size - 1;
    const MPI_Info no_info = MPI_INFO_NULL;
    for (int r = 0; r <= size; r++) {
        index[r] = r + 1;
        edges[r % 16] = (r + 1) % size;
    }
    expect_class(MPI_Graph_create(world, -1, index, edges, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, size + 1, index, edges, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, size, NULL, edges, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, 1, &minus, edges, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, 1, &one, &one, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, 1, &one, &minus, 0, &graph), MPI_ERR_ARG);
    if (size > 1)
        expect_class(MPI_Graph_create(world, 2, (int[]){2, 1}, (int[]){0, 0}, 0, &graph),
                     MPI_ERR_ARG);
    expect_ok(MPI_Graph_create(world, 0, NULL, NULL, 0, &graph));
    expect(graph == MPI_COMM_NULL, "a graph of nobody");
    expect_ok(MPI_Graph_map(world, last ? last : 1, index, (int[16]){0}, &number));
    expect(number == (last && rank == last ? MPI_UNDEFINED : rank), "mapped to %d", number);
    expect_ok(MPI_Graph_create(world, size, index, edges, 0, &graph));
    expect_class(MPI_Graph_get(graph, -1, 0, back, back), MPI_ERR_ARG);
    expect_class(MPI_Graph_get(graph, 0, -1, back, back), MPI_ERR_ARG);
    for (int room = 0; room <= size; room++) { /* no more than there is room for */
        int indices[17], ends[17];
        memset(indices, 99, sizeof indices);
        memset(ends, 99, sizeof ends);
        expect_ok(MPI_Graph_get(graph, room, room, indices, ends));
        for (int r = 0; r < 17; r++)
            expect(r < room ? indices[r] == index[r] && ends[r] == edges[r]
                            : indices[r] == 0x63636363 && ends[r] == 0x63636363,
                   "room for %d, %d: %d, %d", room, r, indices[r], ends[r]);
    }
    expect_class(MPI_Graph_neighbors_count(graph, -1, &number), MPI_ERR_RANK);
    expect_class(MPI_Graph_neighbors_count(graph, size, &number), MPI_ERR_RANK);
    expect_ok(MPI_Graph_neighbors_count(graph, last, &number));
    expect(number == 1, "%d neighbours", number);
    expect_class(MPI_Graph_neighbors(graph, size, 1, back), MPI_ERR_RANK);
    expect_class(MPI_Graph_neighbors(graph, last, -1, back), MPI_ERR_ARG);
    back[0] = 77;
    expect_ok(MPI_Graph_neighbors(graph, last, 0, back));
    expect(back[0] == 77, "no room was written");
    expect_ok(MPI_Graph_neighbors(graph, last, 1, back));
    expect(back[0] == 0, "the last one's neighbour is %d", back[0]);
    expect_class(MPI_Cartdim_get(graph, &number), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&graph);

#define ADJACENT(ins, from, of_from, outs, to, of_to)                                              \
    MPI_Dist_graph_create_adjacent(world, ins, from, of_from, outs, to, of_to, no_info, 0, &made)
    expect_class(ADJACENT(-1, &rank, plain, 1, &rank, plain), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, plain, -1, &rank, plain), MPI_ERR_ARG);
    expect_class(ADJACENT(1, NULL, plain, 1, &rank, plain), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, plain, 1, NULL, plain), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &size, plain, 1, &rank, plain), MPI_ERR_RANK);
    expect_class(ADJACENT(1, &rank, plain, 1, &minus, plain), MPI_ERR_RANK);
    expect_class(ADJACENT(1, &rank, &minus, 1, &rank, &one), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, &one, 1, &rank, &minus), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, empty, 1, &rank, &one), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, NULL, 1, &rank, &one), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, plain, 1, &rank, &one), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, &one, 1, &rank, plain), MPI_ERR_ARG);
#undef ADJACENT
#define ANYWHERE(count, from, degrees, to, weights)                                                \
    MPI_Dist_graph_create(world, count, from, degrees, to, weights, no_info, 0, &made)
    expect_class(ANYWHERE(-1, &rank, &one, &rank, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, NULL, &one, &rank, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &rank, NULL, &rank, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &rank, &minus, &rank, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &rank, &one, NULL, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &size, &one, &rank, plain), MPI_ERR_RANK);
    expect_class(ANYWHERE(1, &rank, &one, &size, plain), MPI_ERR_RANK);
    expect_class(ANYWHERE(1, &rank, &one, &rank, &minus), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &rank, &one, &rank, NULL), MPI_ERR_ARG);
    /* Weights of 0 are allowed, and some may have no edges at all. */
    int zero = 0, of_in[2] = {55, 55}, of_out[2] = {55, 55}, from[2] = {55, 55}, to[2] = {55, 55};
    expect_ok(ANYWHERE(rank == 0, &last, &one, &zero, rank == 0 ? &zero : empty));
#undef ANYWHERE
    expect_ok(MPI_Dist_graph_neighbors_count(made, &in, &out, &weighted));
    expect(in == (rank == 0) && out == (rank == last) && weighted, "%d in, %d out, %d", in, out,
           weighted);
    expect_class(MPI_Dist_graph_neighbors(made, -1, from, of_in, 0, to, of_out), MPI_ERR_ARG);
    expect_class(MPI_Dist_graph_neighbors(made, 0, from, of_in, -1, to, of_out), MPI_ERR_ARG);
    expect_ok(MPI_Dist_graph_neighbors(made, 0, from, of_in, 0, to, of_out));
    expect(from[0] == 55 && to[0] == 55 && of_in[0] == 55 && of_out[0] == 55, "no room was used");
    expect_ok(MPI_Dist_graph_neighbors(made, 2, from, of_in, 2, to, of_out));
    expect(from[0] == (in ? last : 55) && of_in[0] == (in ? 0 : 55) && from[1] == 55, "from %d",
           from[0]);
    expect(to[0] == (out ? 0 : 55) && of_out[0] == (out ? 0 : 55) && to[1] == 55, "to %d", to[0]);
    MPI_Comm_free(&made);
    still_works(rank, size);
}

enum { DISSENTS = 13 };

/* The dissenter's arguments differ from all others' in one thing. */
static int dissent(int what, bool differs, int size, MPI_Comm grid, MPI_Comm *made)
{
    MPI_Group all, some;
    MPI_Comm_group(world, &all);
    int n = size, error = MPI_SUCCESS, extents[3] = {n, 1, 1}, periods[3] = {0, 0, 1};
    int index[8], edges[16], order[8], at = 0, weights[8] = {0};
    for (int r = 0; r < n; r++) {
        edges[at++] = (r + 1) % n;
        edges[at++] = (r + 2) % n;
        index[r] = at;
        order[r] = r;
    }
    int last = edges[at - 1], extent = differs && what == 1 ? 1 : n;
    switch (what) {
    case 0: /* dimensions */
        return MPI_Cart_create(world, differs ? 2 : 3, extents, periods, 0, made);
    case 1: /* extents */
        return MPI_Cart_create(world, 2, (int[]){extent, n / extent}, periods, 0, made);
    case 2: /* periods, of the last dimension */
        periods[2] = differs ? 0 : 5;
        return MPI_Cart_create(world, 3, extents, periods, 0, made);
    case 3: /* ranks */
        return MPI_Cart_create(world, 1, (int[]){differs ? n - 1 : n}, periods, 0, made);
    case 4: /* indices, of the last node */
        index[n - 1] -= differs;
        return MPI_Graph_create(world, n, index, edges, 0, made);
    case 5: /* edges, the last one */
        edges[at - 1] = differs ? (last + 1) % n : last;
        return MPI_Graph_create(world, n, index, edges, 0, made);
    case 6: /* nodes */
        return MPI_Graph_create(world, differs ? 1 : n, index, (int[16]){0}, 0, made);
    case 7: /* weights */
        return MPI_Dist_graph_create(world, 1, &(int){0}, &(int){1}, &(int){0},
                                     differs ? MPI_UNWEIGHTED : weights, MPI_INFO_NULL, 0, made);
    case 8: /* which dimensions are kept */
        return MPI_Cart_sub(grid, (int[]){!differs, differs}, made);
    case 9: /* the same members, in another order at the end */
    case 10:
        order[0] = 1; /* no sequence */
        order[1] = 0;
        if (differs && what == 10) {
            order[n - 1] = n - 2;
            order[n - 2] = n - 1;
        }
        MPI_Group_incl(all, differs && what == 9 ? n - 1 : n, order, &some);
        error = MPI_Comm_create(world, some, made);
        MPI_Group_free(&some);
        break;
    case 11: /* a sequence of another step: the first two are the same */
        MPI_Group_range_incl(
            all, 1, (int[][3]){{differs ? n - 1 : 0, differs ? 0 : n - 1, differs ? -1 : 1}},
            &some);
        error = MPI_Comm_create(world, some, made);
        MPI_Group_free(&some);
        break;
    default: /* an edge that only one end lists */
        error = MPI_Dist_graph_create_adjacent(world, differs, &(int){0}, plain, 0, NULL, plain,
                                               MPI_INFO_NULL, 0, made);
    }
    MPI_Group_free(&all);
    return error;
}

static void everybody_is_told_of_dissent(int rank, int size)
{
    static const int classes[DISSENTS] = {
        MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME,
        MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_ARG,      MPI_ERR_GROUP,
        MPI_ERR_GROUP,    MPI_ERR_GROUP,    MPI_ERR_TOPOLOGY};
    MPI_Comm grid, made;
    returning();
    MPI_Cart_create(world, 2, (int[]){size, 1}, (int[]){0, 0}, 0, &grid);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    for (int dissenter = -1; dissenter < size; dissenter++)
        for (int what = 0; what < DISSENTS; what++) {
            made = MPI_COMM_WORLD;
            int error = dissent(what, rank == dissenter, size, grid, &made);
            bool out = what == 9 && rank == dissenter && rank == size - 1; /* of its own group */
            expect(error == (dissenter < 0 || out ? MPI_SUCCESS : classes[what]),
                   "%d, rank %d differs: %d", what, dissenter, error);
            expect((made == MPI_COMM_NULL) == (out || error != MPI_SUCCESS), "%d: a communicator",
                   what);
            if (made != MPI_COMM_NULL && made != MPI_COMM_WORLD)
                MPI_Comm_free(&made);
        }
    MPI_Comm_free(&grid);
    still_works(rank, size);
}

int main(void)
{
    borders("grids fit into their communicator", topologies_have_borders);
    borders("graphs are of ranks and edges", graphs_have_borders);
    world_test_sizes("everybody is told where a member differs", everybody_is_told_of_dissent,
                     WORLD_FIBERS | WORLD_DEFAULT, WORLD_SIZES(4, 6));
    return tap_done();
}
