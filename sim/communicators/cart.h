/* cart.h: the arithmetic of Cartesian grids. Pure functions of numbers; knows no communicator.
 *
 * Ranks run through a grid in row-major order: the last coordinate varies fastest. A grid of no
 * dimensions has one rank.
 */
#ifndef SIM_COMMUNICATORS_CART_H
#define SIM_COMMUNICATORS_CART_H

#include <stdbool.h>

struct sim_cart {
    int dimensions;
    const int *extents; /* each at least 1 */
    const int *periods; /* not 0: the dimension wraps around */
};

/* Number of ranks; -1 when it is beyond INT_MAX. */
int sim_cart_size(const struct sim_cart *cart);

/* Rank at these coordinates, wrapped around in periodic dimensions; -1 when one lies outside in
 * another dimension. */
int sim_cart_rank(const struct sim_cart *cart, const int *coordinates);

/* Coordinates of a rank, which must be in range. */
void sim_cart_coordinates(const struct sim_cart *cart, int rank, int *coordinates);

/* The rank `distance` steps from `rank` along one dimension; MPI_PROC_NULL beyond the end. */
int sim_cart_neighbour(const struct sim_cart *cart, int rank, int dimension, int distance);

/* Which subgrid `rank` belongs to when only dimensions with `remain` not 0 are kept, and its rank
 * there. */
void sim_cart_subgrid(const struct sim_cart *cart, int rank, const int *remain, int *subgrid,
                      int *subrank);

/* Fills the zeros of `extents` so that the product is `nodes` and the numbers filled in are as
 * close to each other as possible, none smaller than a later one. False, and nothing changed, when
 * the fixed extents do not divide `nodes`. */
bool sim_cart_balance(int nodes, int dimensions, int *extents);

#endif
