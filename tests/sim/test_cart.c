/* test_cart.c: Cartesian arithmetic against its definition, on whole grids. */
#include <limits.h>

#include <mpi.h>

#include "sim/communicators/cart.h"
#include "tests/tap.h"

static int test_grid(const struct sim_cart *cart)
{
    int failures = 0, coordinates[3], moved[3];
    for (int rank = 0; rank < sim_cart_size(cart); rank++) {
        sim_cart_coordinates(cart, rank, coordinates);
        failures += sim_cart_rank(cart, coordinates) != rank;
        for (int d = 0; d < 3; d++)
            for (int distance = -7; distance <= 7; distance++) {
                memcpy(moved, coordinates, sizeof moved);
                moved[d] += distance;
                int expected = sim_cart_rank(cart, moved);
                failures += sim_cart_neighbour(cart, rank, d, distance) !=
                            (expected < 0 ? MPI_PROC_NULL : expected);
            }
    }
    return failures;
}

static void test_ranks(void)
{
    int extents[] = {3, 4, 2}, periods[] = {1, 0, 1}, coordinates[3];
    struct sim_cart cart = {3, extents, periods}, point = {0, NULL, NULL};
    tap_is_int(sim_cart_size(&cart), 24, "the size of a grid is the product of its extents");
    tap_is_int(sim_cart_size(&point), 1, "a grid of no dimensions has one rank");
    tap_is_int(sim_cart_rank(&point, NULL), 0, "its rank is 0");
    sim_cart_coordinates(&cart, 13, coordinates);
    tap_ok(coordinates[0] == 1 && coordinates[1] == 2 && coordinates[2] == 1,
           "the last coordinate varies fastest");
    tap_is_int(sim_cart_rank(&cart, (int[]){-1, 2, 3}), 21, "periodic dimensions wrap around");
    tap_is_int(sim_cart_rank(&cart, (int[]){0, 4, 0}), -1, "other dimensions end");
    tap_is_int(sim_cart_rank(&cart, (int[]){0, -1, 0}), -1, "other dimensions end below, too");
    tap_is_int(test_grid(&cart), 0, "every neighbour is where its coordinates say");
    int huge[] = {65536, 65536};
    tap_is_int(sim_cart_size(&(struct sim_cart){2, huge, huge}), -1,
               "a grid of more ranks than an int holds is refused");
}

static void test_subgrids(void)
{
    int extents[] = {3, 4, 2}, periods[3] = {0}, remain[] = {1, 0, 1}, all[] = {1, 1, 1};
    int subgrid, subrank, coordinates[3], failures = 0;
    struct sim_cart cart = {3, extents, periods};
    for (int rank = 0; rank < 24; rank++) {
        sim_cart_coordinates(&cart, rank, coordinates);
        sim_cart_subgrid(&cart, rank, remain, &subgrid, &subrank);
        failures += subgrid != coordinates[1] || subrank != coordinates[0] * 2 + coordinates[2];
        sim_cart_subgrid(&cart, rank, all, &subgrid, &subrank);
        failures += subgrid != 0 || subrank != rank;
    }
    tap_is_int(failures, 0,
               "a subgrid is numbered by the dimensions dropped, its ranks by those kept");
}

/* The smallest spread max - min of `count` factors of n, by trying all. */
static int smallest_spread(int n, int count, int low, int high)
{
    int best = INT_MAX;
    if (count == 1) {
        low = n < low ? n : low;
        high = n > high ? n : high;
        return high - low;
    }
    for (int factor = 1; factor <= n; factor++)
        if (n % factor == 0) {
            int spread = smallest_spread(n / factor, count - 1, factor < low ? factor : low,
                                         factor > high ? factor : high);
            best = spread < best ? spread : best;
        }
    return best;
}

static bool balanced(int nodes, int count)
{
    int extents[4] = {0}, product = 1;
    if (!sim_cart_balance(nodes, count, extents))
        return false;
    for (int d = 0; d < count; d++) {
        product *= extents[d];
        if (d > 0 && extents[d] > extents[d - 1])
            return false;
    }
    return product == nodes &&
           extents[0] - extents[count - 1] == smallest_spread(nodes, count, nodes, 1);
}

static void test_balance(void)
{
    int unbalanced = 0;
    for (int count = 1; count <= 4; count++)
        for (int nodes = 1; nodes <= 200; nodes++)
            if (!balanced(nodes, count) && unbalanced++ < 5)
                tap_note("%d nodes in %d dimensions", nodes, count);
    tap_is_int(unbalanced, 0, "extents multiply to the nodes, fall, and are as close as possible");
    int some[] = {0, 3, 0}, fixed[] = {2, 3}, many[40] = {0}, none[] = {0, 5};
    PMPI_Dims_create(24, 3, some);
    tap_ok(some[0] == 4 && some[1] == 3 && some[2] == 2, "extents given are kept");
    tap_is_int(PMPI_Dims_create(6, 2, fixed), MPI_SUCCESS, "all extents may be given");
    tap_is_int(PMPI_Dims_create(12, 2, fixed), MPI_ERR_DIMS, "given extents must give the nodes");
    tap_is_int(PMPI_Dims_create(12, 2, none), MPI_ERR_DIMS, "given extents must divide the nodes");
    tap_ok(none[0] == 0 && none[1] == 5, "a failing call leaves the extents alone");
    tap_is_int(PMPI_Dims_create(12, 2, (int[]){-1, 0}), MPI_ERR_DIMS,
               "a negative extent is refused");
    tap_is_int(PMPI_Dims_create(0, 2, (int[]){0, 0}), MPI_ERR_ARG, "no nodes are refused");
    PMPI_Dims_create(1 << 30, 40, many);
    tap_ok(many[0] == 2 && many[29] == 2 && many[30] == 1 && many[39] == 1,
           "more dimensions than prime factors get extent 1");
    int prime[] = {0, 0};
    PMPI_Dims_create(2147483647, 2, prime);
    tap_ok(prime[0] == 2147483647 && prime[1] == 1, "a large prime is one long row");
}

int main(void)
{
    test_ranks();
    test_subgrids();
    test_balance();
    return tap_done();
}
