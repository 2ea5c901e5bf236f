/* cart.c: Cartesian grids, and the one MPI function that needs nothing else. */
#include "sim/communicators/cart.h"

#include <limits.h>
#include <stdint.h>

#include <mpi.h>

#include "sim/worlds/error.h"

int sim_cart_size(const struct sim_cart *cart)
{
    int64_t size = 1;
    for (int d = 0; d < cart->dimensions; d++)
        if ((size *= cart->extents[d]) > INT_MAX)
            return -1;
    return (int)size;
}

static int wrap(int64_t coordinate, int extent)
{
    int64_t rest = coordinate % extent;
    return (int)(rest < 0 ? rest + extent : rest);
}

int sim_cart_rank(const struct sim_cart *cart, const int *coordinates)
{
    int rank = 0;
    for (int d = 0; d < cart->dimensions; d++) {
        int extent = cart->extents[d];
        if (!cart->periods[d] && (coordinates[d] < 0 || coordinates[d] >= extent))
            return -1;
        rank = rank * extent + wrap(coordinates[d], extent);
    }
    return rank;
}

void sim_cart_coordinates(const struct sim_cart *cart, int rank, int *coordinates)
{
    for (int d = cart->dimensions - 1; d >= 0; d--) {
        coordinates[d] = rank % cart->extents[d];
        rank /= cart->extents[d];
    }
}

int sim_cart_neighbour(const struct sim_cart *cart, int rank, int dimension, int distance)
{
    int step = 1, extent = cart->extents[dimension];
    for (int d = dimension + 1; d < cart->dimensions; d++)
        step *= cart->extents[d];
    int own = rank / step % extent;
    int64_t other = (int64_t)own + distance;
    if (!cart->periods[dimension] && (other < 0 || other >= extent))
        return MPI_PROC_NULL;
    return rank + (wrap(other, extent) - own) * step;
}

void sim_cart_subgrid(const struct sim_cart *cart, int rank, const int *remain, int *subgrid,
                      int *subrank)
{
    int steps[2] = {1, 1}, *results[2] = {subgrid, subrank};
    *subgrid = *subrank = 0;
    for (int d = cart->dimensions - 1; d >= 0; d--) {
        int kept = remain[d] != 0, extent = cart->extents[d];
        *results[kept] += rank % extent * steps[kept];
        steps[kept] *= extent;
        rank /= extent;
    }
}

static int largest_prime_factor(int n)
{
    int largest = 1;
    for (int p = 2; (int64_t)p * p <= n; p++)
        for (; n % p == 0; n /= p)
            largest = p;
    return n > largest ? n : largest;
}

/* True when base to the power of exponent is at least n. */
static bool power_reaches(int base, int exponent, int n)
{
    int64_t product = 1;
    for (int i = 0; i < exponent && product < n; i++)
        product *= base;
    return product >= n;
}

/* Writes `count` factors of n, falling, none above `limit`, the first as small as possible, then
 * the second, and so on; false when there are none. */
static bool factorise(int n, int count, int limit, int *factors)
{
    int prime = largest_prime_factor(n);
    if (count == 1 && n <= limit)
        factors[0] = n;
    if (count == 1 || prime > limit || !power_reaches(limit, count, n))
        return count == 1 && n <= limit;
    for (int factor = prime; factor <= limit && factor <= n; factor++) {
        if (n % factor != 0 || !power_reaches(factor, count, n))
            continue;
        factors[0] = factor;
        if (factorise(n / factor, count - 1, factor, factors + 1))
            return true;
    }
    return false;
}

enum { FREE_MAX = 32 }; /* an int has at most 31 prime factors: further extents are 1 */

bool sim_cart_balance(int nodes, int dimensions, int *extents)
{
    int factors[FREE_MAX], rest = nodes, wanted = 0;
    for (int d = 0; d < dimensions; d++) {
        if (extents[d] == 0) {
            wanted++;
        } else {
            if (rest % extents[d] != 0)
                return false;
            rest /= extents[d];
        }
    }
    if (wanted == 0)
        return rest == 1 || dimensions == 0;
    factorise(rest, wanted < FREE_MAX ? wanted : FREE_MAX, rest, factors);
    for (int d = 0, i = 0; d < dimensions; d++)
        if (extents[d] == 0)
            extents[d] = i < FREE_MAX ? factors[i++] : 1;
    return true;
}

int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
    if (sim_point_outside("Dims_create"))
        return MPI_ERR_OTHER;
    if (nnodes < 1 || ndims < 0 || (ndims > 0 && !dims))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, "Dims_create",
                               "%d nodes cannot be laid out in %d dimensions", nnodes, ndims);
    for (int d = 0; d < ndims; d++)
        if (dims[d] < 0)
            return sim_error_raise(MPI_COMM_NULL, MPI_ERR_DIMS, "Dims_create",
                                   "the extent %d of dimension %d is negative", dims[d], d);
    if (!sim_cart_balance(nnodes, ndims, dims))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_DIMS, "Dims_create",
                               "the extents given do not divide %d nodes", nnodes);
    return MPI_SUCCESS;
}
