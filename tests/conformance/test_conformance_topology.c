/* Grids, graphs, distributed graphs, and the collectives among their neighbours. */
#include "tests/world_harness.h"

/* gcc takes the constant for the address of an array of no elements. */
static int *volatile unweighted = MPI_UNWEIGHTED;

/* ---- grids ---- */

/* A grid of two dimensions, periodic in the second, of all ranks but what is left over. */
static MPI_Comm grid_of(int size, int *extents)
{
    int periods[2] = {0, 1};
    MPI_Comm grid;
    extents[0] = extents[1] = 0;
    MPI_Dims_create(size, 2, extents);
    expect_ok(MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, 0, &grid));
    return grid;
}

static void coordinates_and_ranks_agree(int rank, int size)
{
    int extents[2], periods[2], own[2], dimensions = -1, kind = -1;
    MPI_Comm grid = grid_of(size, extents);
    expect_ok(MPI_Cartdim_get(grid, &dimensions));
    MPI_Topo_test(grid, &kind);
    expect(dimensions == 2 && kind == MPI_CART, "%d dimensions, kind %d", dimensions, kind);
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    expect(kind == MPI_UNDEFINED, "the world's kind is %d", kind);
    int got[2];
    expect_ok(MPI_Cart_get(grid, 2, got, periods, own));
    expect(got[0] == extents[0] && got[1] == extents[1], "extents %d %d", got[0], got[1]);
    expect(periods[0] == 0 && periods[1] == 1, "periods %d %d", periods[0], periods[1]);
    expect(own[0] == rank / extents[1] && own[1] == rank % extents[1], "at %d %d", own[0], own[1]);
    for (int r = 0; r < size; r++) {
        int at[2], back = -1;
        MPI_Cart_coords(grid, r, 2, at);
        at[1] += extents[1] * (r - 2); /* once and more around */
        MPI_Cart_rank(grid, at, &back);
        expect(back == r, "rank %d came back as %d", r, back);
    }
    MPI_Comm_free(&grid);
}

static void shifts_stop_at_borders_and_wrap_around(int rank, int size)
{
    int extents[2], own[2] = {0}, source = -9, destination = -9;
    MPI_Comm grid = grid_of(size, extents);
    MPI_Cart_coords(grid, rank, 2, own);
    for (int by = -3; by <= 3; by++) {
        expect_ok(MPI_Cart_shift(grid, 0, by, &source, &destination));
        int up = own[0] + by, down = own[0] - by, n = extents[0], m = extents[1];
        expect(destination == (up < 0 || up >= n ? MPI_PROC_NULL : rank + by * m),
               "%d by %d goes to %d", rank, by, destination);
        expect(source == (down < 0 || down >= n ? MPI_PROC_NULL : rank - by * m),
               "%d by %d comes from %d", rank, by, source);
        expect_ok(MPI_Cart_shift(grid, 1, by, &source, &destination));
        expect(destination == own[0] * m + ((own[1] + by) % m + m) % m, "around by %d to %d", by,
               destination);
        expect(source == own[0] * m + ((own[1] - by) % m + m) % m, "around by %d from %d", by,
               source);
    }
    MPI_Comm_free(&grid);
}

static void a_smaller_grid_leaves_ranks_out(int rank, int size)
{
    int extent = size > 1 ? size - 1 : 1, period = 0, mapped = -7;
    MPI_Comm line;
    expect_ok(MPI_Cart_create(MPI_COMM_WORLD, 1, &extent, &period, 1, &line));
    expect((line == MPI_COMM_NULL) == (rank >= extent), "rank %d of a line of %d", rank, extent);
    expect_ok(MPI_Cart_map(MPI_COMM_WORLD, 1, &extent, &period, &mapped));
    expect(mapped == (rank < extent ? rank : MPI_UNDEFINED), "mapped to %d", mapped);
    if (line != MPI_COMM_NULL) {
        int count = -1;
        MPI_Comm_size(line, &count);
        expect(count == extent, "size %d", count);
        MPI_Comm_free(&line);
    }
    MPI_Comm point;
    expect_ok(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &point));
    expect((point == MPI_COMM_NULL) == (rank > 0), "no dimensions: one rank, not %d", rank);
    if (point != MPI_COMM_NULL)
        MPI_Comm_free(&point);
}

static void subgrids_keep_what_remains(int rank, int size)
{
    int extents[2], own[2], dimensions = -1;
    MPI_Comm grid = grid_of(size, extents), row, cell;
    MPI_Cart_coords(grid, rank, 2, own);
    expect_ok(MPI_Cart_sub(grid, (int[]){0, 1}, &row));
    int sum = -1, position = -1, extent = -1, period = -1, at = -1;
    MPI_Comm_rank(row, &position);
    expect(position == own[1], "column %d is rank %d of its row", own[1], position);
    MPI_Cartdim_get(row, &dimensions);
    MPI_Cart_get(row, 1, &extent, &period, &at);
    expect(dimensions == 1 && extent == extents[1] && period == 1 && at == own[1],
           "row of %d dimensions, %d long, period %d, at %d", dimensions, extent, period, at);
    MPI_Allreduce(&own[0], &sum, 1, MPI_INT, MPI_SUM, row);
    expect(sum == own[0] * extents[1], "a row sums to %d", sum);
    expect_ok(MPI_Cart_sub(grid, (int[]){0, 0}, &cell));
    MPI_Cartdim_get(cell, &dimensions);
    MPI_Comm_size(cell, &sum);
    expect(dimensions == 0 && sum == 1, "a cell of %d dimensions and %d ranks", dimensions, sum);
    MPI_Comm copy;
    MPI_Comm_dup(row, &copy);
    MPI_Comm_free(&row);
    MPI_Cart_get(copy, 1, &extent, &period, &at);
    expect(extent == extents[1] && at == own[1], "the copy has the topology: %d", extent);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&cell);
    MPI_Comm_free(&grid);
}

/* ---- graphs ---- */

/* A star: 0 knows everybody, everybody knows 0. */
static MPI_Comm star_of(int size, int *index, int *edges)
{
    MPI_Comm star;
    for (int r = 0; r < size; r++)
        index[r] = size - 1 + r;
    for (int r = 1; r < size; r++) {
        edges[r - 1] = r;
        edges[size - 2 + r] = 0;
    }
    expect_ok(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &star));
    return star;
}

static void graphs_are_given_back(int rank, int size)
{
    int index[16], edges[32], got_index[16], got_edges[32], nodes = -1, count = -1, kind = -1;
    MPI_Comm star = star_of(size, index, edges);
    MPI_Topo_test(star, &kind);
    expect(kind == MPI_GRAPH, "kind %d", kind);
    expect_ok(MPI_Graphdims_get(star, &nodes, &count));
    expect(nodes == size && count == 2 * size - 2, "%d nodes, %d edges", nodes, count);
    expect_ok(MPI_Graph_get(star, 16, 32, got_index, got_edges));
    expect(!memcmp(index, got_index, (size_t)size * sizeof(int)), "the indices differ");
    expect(!memcmp(edges, got_edges, (size_t)count * sizeof(int)), "the edges differ");
    expect_ok(MPI_Graph_neighbors_count(star, rank, &count));
    expect(count == (rank ? 1 : size - 1), "%d neighbours", count);
    expect_ok(MPI_Graph_neighbors(star, 0, 16, got_edges));
    for (int i = 0; i < size - 1; i++)
        expect(got_edges[i] == i + 1, "neighbour %d is %d", i, got_edges[i]);
    expect_ok(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &count));
    expect(count == rank, "mapped to %d", count);
    MPI_Comm_free(&star);
}

static void distributed_graphs_are_put_together(int rank, int size)
{
    /* Rank r says what leaves its successor: edges to r and to its predecessor, weights by place.
     */
    int source = (rank + 1) % size, degree = 2, weights[2] = {100 + rank, 200 + rank};
    int destinations[2] = {rank, (rank + size - 1) % size};
    MPI_Comm graph;
    expect_ok(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, destinations, weights,
                                    MPI_INFO_NULL, 0, &graph));
    int in = -1, out = -1, weighted = -1, kind = -1;
    MPI_Topo_test(graph, &kind);
    expect(kind == MPI_DIST_GRAPH, "kind %d", kind);
    expect_ok(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    expect(in == 2 && out == 2 && weighted, "%d in, %d out, weighted %d", in, out, weighted);
    int sources[2], in_weights[2], targets[2], out_weights[2];
    expect_ok(MPI_Dist_graph_neighbors(graph, 2, sources, in_weights, 2, targets, out_weights));
    int teller = (rank + size - 1) % size;
    expect(targets[0] == teller && targets[1] == (teller + size - 1) % size, "to %d and %d",
           targets[0], targets[1]);
    expect(out_weights[0] == 100 + teller && out_weights[1] == 200 + teller, "weights %d and %d",
           out_weights[0], out_weights[1]);
    int seen = 0;
    for (int i = 0; i < 2; i++) {
        bool near = in_weights[i] == 100 + rank && sources[i] == (rank + 1) % size;
        bool far = in_weights[i] == 200 + (rank + 1) % size && sources[i] == (rank + 2) % size;
        expect(near || far, "an edge from %d of weight %d", sources[i], in_weights[i]);
        seen |= near ? 1 : 2;
    }
    expect(seen == 3, "one edge came twice");
    MPI_Comm_free(&graph);
    expect_ok(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, destinations, unweighted,
                                    MPI_INFO_NULL, 0, &graph));
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    expect(in == 2 && out == 2 && !weighted, "%d in, %d out, weighted %d", in, out, weighted);
    MPI_Comm_free(&graph);
}

/* ---- exchanges ---- */

/* An irregular graph with edges to oneself, parallel edges and ranks without any: from r to s there
 * are as many edges as this. */
static int edges_between(int from, int to)
{
    return (from * 7 + to * 3) % 5 == 0 ? 2 : (from + 2 * to) % 4 == 1;
}

struct irregular {
    MPI_Comm comm;
    int in, out, sources[64], destinations[64];
    int in_order[64], out_order[64]; /* the n-th of parallel edges */
};

/* Lists the neighbours upwards, or where `mixed` outgoing ones downwards. */
static struct irregular irregular_of(int rank, int size, bool mixed)
{
    struct irregular graph = {.comm = MPI_COMM_NULL};
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < edges_between(i, rank); k++) {
            graph.in_order[graph.in] = k;
            graph.sources[graph.in++] = i;
        }
        int to = mixed ? size - 1 - i : i;
        for (int k = 0; k < edges_between(rank, to); k++) {
            graph.out_order[graph.out] = k;
            graph.destinations[graph.out++] = to;
        }
    }
    expect_ok(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, graph.in, graph.sources, unweighted,
                                             graph.out, graph.destinations, unweighted,
                                             MPI_INFO_NULL, 0, &graph.comm));
    return graph;
}

static int word(int from, int to, int order, int i)
{
    return from * 10000 + to * 100 + order * 10 + i;
}

static void allgathers_follow_the_edges(int rank, int size)
{
    struct irregular graph = irregular_of(rank, size, true);
    int mine[2] = {rank, rank + 50}, got[128], late[128], counts[64], displacements[64];
    MPI_Request request;
    expect_ok(MPI_Neighbor_allgather(mine, 2, MPI_INT, got, 2, MPI_INT, graph.comm));
    expect_ok(MPI_Ineighbor_allgather(mine, 2, MPI_INT, late, 1, MPI_2INT, graph.comm, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < graph.in; k++) {
        int from = graph.sources[k];
        expect(got[2 * k] == from && got[2 * k + 1] == from + 50, "edge %d gave %d", k, got[2 * k]);
        expect(late[2 * k + 1] == from + 50, "later edge %d gave %d", k, late[2 * k + 1]);
        counts[k] = 2;
        displacements[k] = 2 * (graph.in - 1 - k);
    }
    expect_ok(MPI_Neighbor_allgatherv(mine, 2, MPI_INT, late, counts, displacements, MPI_INT,
                                      graph.comm));
    for (int k = 0; k < graph.in; k++)
        expect(late[displacements[k]] == graph.sources[k], "block %d is %d", k,
               late[displacements[k]]);
    MPI_Comm_free(&graph.comm);
}

static void alltoalls_follow_the_edges(int rank, int size)
{
    for (int mixed = 0; mixed < 2; mixed++) {
        struct irregular graph = irregular_of(rank, size, mixed);
        int send[128], got[128], late[128];
        for (int k = 0; k < graph.out; k++)
            for (int i = 0; i < 2; i++)
                send[2 * k + i] = word(rank, graph.destinations[k], graph.out_order[k], i);
        MPI_Request request;
        expect_ok(MPI_Neighbor_alltoall(send, 2, MPI_INT, got, 2, MPI_INT, graph.comm));
        expect_ok(MPI_Neighbor_alltoall_init_c(send, 2, MPI_INT, late, 2, MPI_INT, graph.comm,
                                               MPI_INFO_NULL, &request));
        for (int round = 0; round < 2; round++) {
            memset(late, 0, sizeof late);
            expect_ok(MPI_Start(&request));
            expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
            for (int k = 0; k < graph.in; k++)
                for (int i = 0; i < 2; i++) {
                    int wanted = word(graph.sources[k], rank, graph.in_order[k], i);
                    expect(got[2 * k + i] == wanted, "edge %d gave %d, not %d", k, got[2 * k + i],
                           wanted);
                    expect(late[2 * k + i] == wanted, "again edge %d gave %d, not %d", k,
                           late[2 * k + i], wanted);
                }
        }
        MPI_Request_free(&request);
        MPI_Comm_free(&graph.comm);
    }
}

/* Each edge carries as many words as its order and ends say. */
static int words_on(int from, int to, int order)
{
    return (from + to + order) % 3;
}

static void vector_alltoalls_follow_the_edges(int rank, int size)
{
    struct irregular graph = irregular_of(rank, size, true);
    int send[256], got[256], send_counts[64], send_at[64], counts[64], at[64], used = 0;
    MPI_Aint send_bytes[64], bytes[64];
    MPI_Datatype types[64];
    for (int k = 0; k < graph.out; k++) {
        send_counts[k] = words_on(rank, graph.destinations[k], graph.out_order[k]);
        send_at[k] = used;
        send_bytes[k] = used * (int)sizeof(int);
        types[k] = MPI_INT;
        for (int i = 0; i < send_counts[k]; i++)
            send[used++] = word(rank, graph.destinations[k], graph.out_order[k], i);
    }
    used = 0;
    for (int k = graph.in - 1; k >= 0; k--) {
        counts[k] = words_on(graph.sources[k], rank, graph.in_order[k]);
        at[k] = used;
        bytes[k] = used * (int)sizeof(int);
        types[k] = MPI_INT;
        used += counts[k];
    }
    for (int k = 0; k < graph.out; k++)
        types[k] = MPI_INT;
    for (int form = 0; form < 3; form++) {
        MPI_Request request = MPI_REQUEST_NULL;
        memset(got, 0, sizeof got);
        if (form == 0)
            expect_ok(MPI_Neighbor_alltoallv(send, send_counts, send_at, MPI_INT, got, counts, at,
                                             MPI_INT, graph.comm));
        else if (form == 1)
            expect_ok(MPI_Neighbor_alltoallw(send, send_counts, send_bytes, types, got, counts,
                                             bytes, types, graph.comm));
        else
            expect_ok(MPI_Ineighbor_alltoallw(send, send_counts, send_bytes, types, got, counts,
                                              bytes, types, graph.comm, &request));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int k = 0; k < graph.in; k++)
            for (int i = 0; i < counts[k]; i++)
                expect(got[at[k] + i] == word(graph.sources[k], rank, graph.in_order[k], i),
                       "form %d, edge %d, word %d is %d", form, k, i, got[at[k] + i]);
    }
    MPI_Comm_free(&graph.comm);
}

/* In a grid a message sent downwards arrives from above, also where both are the same rank; beyond
 * the border nothing is touched. */
static void grids_exchange_with_the_opposite_side(int rank, int size)
{
    int extents[2], send[4], got[4] = {-1, -1, -1, -1}, near[4] = {-1, -1, -1, -1};
    MPI_Comm grid = grid_of(size, extents);
    for (int k = 0; k < 4; k++)
        send[k] = rank * 10 + k;
    expect_ok(MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, grid));
    expect_ok(MPI_Neighbor_allgather(&rank, 1, MPI_INT, near, 1, MPI_INT, grid));
    for (int d = 0; d < 2; d++) {
        int down, up;
        MPI_Cart_shift(grid, d, 1, &down, &up);
        int wanted[2] = {down == MPI_PROC_NULL ? -1 : down * 10 + 2 * d + 1,
                         up == MPI_PROC_NULL ? -1 : up * 10 + 2 * d};
        for (int side = 0; side < 2; side++)
            expect(got[2 * d + side] == wanted[side], "dimension %d side %d brought %d, not %d", d,
                   side, got[2 * d + side], wanted[side]);
        expect(near[2 * d] == (down == MPI_PROC_NULL ? -1 : down), "below is %d", near[2 * d]);
        expect(near[2 * d + 1] == (up == MPI_PROC_NULL ? -1 : up), "above is %d", near[2 * d + 1]);
    }
    MPI_Comm_free(&grid);
}

static void graphs_exchange_with_their_neighbours(int rank, int size)
{
    int index[16], edges[32], send[16], got[16];
    MPI_Comm star = star_of(size, index, edges);
    for (int k = 0; k < 16; k++)
        send[k] = rank * 100 + k;
    expect_ok(MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, star));
    for (int k = 0; k < (rank ? 1 : size - 1); k++) {
        int wanted = rank ? rank - 1 : (k + 1) * 100;
        expect(got[k] == wanted, "neighbour %d gave %d, not %d", k, got[k], wanted);
    }
    MPI_Comm_free(&star);
}

/* ---- wrong use ---- */

static void wrong_topologies_are_refused(int rank, int size)
{
    MPI_Comm made = MPI_COMM_NULL;
    int number = 0, extents[2], at[2] = {99, 0};
    MPI_Comm grid = grid_of(size, extents);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    expect_class(MPI_Cart_create(MPI_COMM_WORLD, -1, extents, at, 0, &made), MPI_ERR_DIMS);
    expect_class(MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){0}, at, 0, &made), MPI_ERR_DIMS);
    expect_class(MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){size + 1}, at, 0, &made), MPI_ERR_DIMS);
    expect_class(MPI_Cartdim_get(MPI_COMM_WORLD, &number), MPI_ERR_TOPOLOGY);
    expect_class(MPI_Graphdims_get(grid, &number, &number), MPI_ERR_TOPOLOGY);
    expect_class(MPI_Cart_rank(grid, at, &number), MPI_ERR_ARG);
    expect_class(MPI_Cart_coords(grid, size, 2, at), MPI_ERR_RANK);
    expect_class(MPI_Cart_coords(grid, rank, 1, at), MPI_ERR_ARG);
    expect_class(MPI_Cart_shift(grid, 2, 1, &number, &number), MPI_ERR_DIMS);
    expect_class(MPI_Neighbor_allgather(&rank, 1, MPI_INT, at, 1, MPI_INT, MPI_COMM_WORLD),
                 MPI_ERR_TOPOLOGY);
    expect_class(MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){7}, 0, &made),
                 MPI_ERR_ARG);
    expect_class(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, (int[]){size}, unweighted, 0,
                                                NULL, unweighted, MPI_INFO_NULL, 0, &made),
                 MPI_ERR_RANK);
    expect_class(MPI_Comm_rank(MPI_COMM_NULL, &number), MPI_ERR_COMM);
    MPI_Comm_free(&grid);
}

static void disagreement_is_told(int rank, int size)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int period = rank == 1;
    expect_class(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &made), MPI_ERR_NOT_SAME);
    /* Rank 0 expects an edge nobody sends along. */
    int source = 1, weight = 5;
    expect_class(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0, &source, &weight, 0,
                                                NULL, &weight, MPI_INFO_NULL, 0, &made),
                 MPI_ERR_TOPOLOGY);
    expect(made == MPI_COMM_NULL, "a communicator was made all the same");
    int sum = 0;
    expect_ok(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    expect(sum == size * (size - 1) / 2, "afterwards the sum is %d", sum);
}

int main(void)
{
    tap_plan(13);
    world_test("coordinates and ranks of a grid agree, once and more around",
               coordinates_and_ranks_agree, WORLD_ANY);
    world_test("shifts end in MPI_PROC_NULL at borders and wrap around where periodic",
               shifts_stop_at_borders_and_wrap_around, WORLD_ANY);
    world_test("ranks beyond a grid get MPI_COMM_NULL", a_smaller_grid_leaves_ranks_out, WORLD_ANY);
    world_test("subgrids and duplicates have the topology that remains", subgrids_keep_what_remains,
               WORLD_ANY);
    world_test("a graph is given back as it was made", graphs_are_given_back, WORLD_ANY);
    world_test("a distributed graph is put together from what each rank says",
               distributed_graphs_are_put_together, WORLD_ANY);
    world_test("neighbourhood allgathers follow the edges of an irregular graph",
               allgathers_follow_the_edges, WORLD_ANY);
    world_test("neighbourhood alltoalls match parallel edges in order", alltoalls_follow_the_edges,
               WORLD_ANY);
    world_test("neighbourhood alltoallv and alltoallw move what each edge says",
               vector_alltoalls_follow_the_edges, WORLD_ANY);
    world_test("in a grid what is sent one way arrives from the other",
               grids_exchange_with_the_opposite_side, WORLD_ANY);
    world_test("a star exchanges with its points", graphs_exchange_with_their_neighbours,
               WORLD_ANY);
    world_test("wrong topologies and questions have their error classes",
               wrong_topologies_are_refused, WORLD_ANY);
    world_test_pairs("members that disagree about a topology are told so", disagreement_is_told,
                     WORLD_ANY);
    return tap_done();
}
