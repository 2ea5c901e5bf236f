/* MPI's calls for Cartesian grids, and Topo_test. The arithmetic is in communicators/cart.h, the
 * object in communicators/topology.h. Ranks are never reordered. */
#include "sim/communicators/topology.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Topo_test(MPI_Comm handle, int *status)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Topo_test", &error);
    if (comm)
        *status = comm->context->topology ? comm->context->topology->kind : MPI_UNDEFINED;
    return error;
}

/* A grid as a program gives it: its size, or -1 with the error that was raised. */
static int checked_size(const struct sim_comm *comm, const char *function,
                        const struct sim_cart *cart, int *error)
{
    MPI_Comm handle = sim_comm_handle((struct sim_comm *)(uintptr_t)comm);
    *error = MPI_SUCCESS;
    if (cart->dimensions < 0)
        *error = sim_error_raise(handle, MPI_ERR_DIMS, function,
                                 "%d dimensions: there must be 0 or more", cart->dimensions);
    else if (cart->dimensions && (!cart->extents || !cart->periods))
        *error = sim_error_raise(handle, MPI_ERR_ARG, function, "the array of %s is NULL",
                                 cart->extents ? "periods" : "extents");
    if (*error)
        return -1;
    for (int d = 0; d < cart->dimensions; d++) {
        if (cart->extents[d] >= 1)
            continue;
        *error = sim_error_raise(handle, MPI_ERR_DIMS, function, "the extent of dimension %d is %d",
                                 d, cart->extents[d]);
        return -1;
    }
    int size = sim_cart_size(cart);
    if (size >= 0 && size <= comm->size)
        return size;
    *error =
        sim_error_raise(handle, MPI_ERR_DIMS, function,
                        "the grid has more ranks than the communicator, which has %d", comm->size);
    return -1;
}

int PMPI_Cart_create(MPI_Comm handle, int dimensions, const int extents[], const int periods[],
                     int reorder, MPI_Comm *made)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Cart_create", &error);
    if (!comm)
        return error;
    struct sim_topology_plan plan = {
        .kind = MPI_CART, .reorder = reorder, .cart = {dimensions, extents, periods}};
    plan.size = checked_size(comm, "Cart_create", &plan.cart, &error);
    return error ? error : sim_comm_create_topology(comm, SIM_CART_CREATE, &plan, made);
}

int PMPI_Cart_map(MPI_Comm handle, int dimensions, const int extents[], const int periods[],
                  int *rank)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Cart_map", &error);
    if (!comm)
        return error;
    int size =
        checked_size(comm, "Cart_map", &(struct sim_cart){dimensions, extents, periods}, &error);
    if (!error)
        *rank = comm->rank < size ? comm->rank : MPI_UNDEFINED;
    return error;
}

int PMPI_Cartdim_get(MPI_Comm handle, int *dimensions)
{
    int error;
    struct sim_comm *comm = sim_topology_check(handle, MPI_CART, "Cartdim_get", &error);
    if (comm)
        *dimensions = comm->context->topology->dimensions;
    return error;
}

/* Whether an array of the program has room for one number per dimension. */
static int check_room(MPI_Comm handle, const char *function, int room, int dimensions)
{
    if (room >= dimensions)
        return MPI_SUCCESS;
    return sim_error_raise(handle, MPI_ERR_ARG, function,
                           "room for %d numbers, but the grid has %d dimensions", room, dimensions);
}

int PMPI_Cart_get(MPI_Comm handle, int room, int extents[], int periods[], int coordinates[])
{
    int error;
    struct sim_comm *comm = sim_topology_check(handle, MPI_CART, "Cart_get", &error);
    if (!comm)
        return error;
    struct sim_cart cart = sim_topology_cart(comm->context->topology);
    error = check_room(handle, "Cart_get", room, cart.dimensions);
    if (error || !cart.dimensions)
        return error;
    memcpy(extents, cart.extents, (size_t)cart.dimensions * sizeof *extents);
    memcpy(periods, cart.periods, (size_t)cart.dimensions * sizeof *periods);
    sim_cart_coordinates(&cart, comm->rank, coordinates);
    return MPI_SUCCESS;
}

int PMPI_Cart_rank(MPI_Comm handle, const int coordinates[], int *rank)
{
    int error;
    struct sim_comm *comm = sim_topology_check(handle, MPI_CART, "Cart_rank", &error);
    if (!comm)
        return error;
    struct sim_cart cart = sim_topology_cart(comm->context->topology);
    int found = sim_cart_rank(&cart, coordinates);
    if (found < 0)
        return sim_error_raise(handle, MPI_ERR_ARG, "Cart_rank",
                               "a coordinate lies outside the grid in a dimension that is not "
                               "periodic");
    *rank = found;
    return MPI_SUCCESS;
}

int PMPI_Cart_coords(MPI_Comm handle, int rank, int room, int coordinates[])
{
    int error;
    struct sim_comm *comm = sim_topology_check(handle, MPI_CART, "Cart_coords", &error);
    if (!comm)
        return error;
    struct sim_cart cart = sim_topology_cart(comm->context->topology);
    if (rank < 0 || rank >= comm->size)
        return sim_error_raise(handle, MPI_ERR_RANK, "Cart_coords",
                               "rank %d is not in a grid of %d", rank, comm->size);
    error = check_room(handle, "Cart_coords", room, cart.dimensions);
    if (!error)
        sim_cart_coordinates(&cart, rank, coordinates);
    return error;
}

int PMPI_Cart_shift(MPI_Comm handle, int dimension, int distance, int *source, int *destination)
{
    int error;
    struct sim_comm *comm = sim_topology_check(handle, MPI_CART, "Cart_shift", &error);
    if (!comm)
        return error;
    struct sim_cart cart = sim_topology_cart(comm->context->topology);
    if (dimension < 0 || dimension >= cart.dimensions)
        return sim_error_raise(handle, MPI_ERR_DIMS, "Cart_shift",
                               "dimension %d is not in a grid of %d dimensions", dimension,
                               cart.dimensions);
    /* The negative of the most negative distance cannot be written; nothing lies that far. */
    int back = distance == INT32_MIN ? INT32_MAX : -distance;
    *source = sim_cart_neighbour(&cart, comm->rank, dimension, back);
    *destination = sim_cart_neighbour(&cart, comm->rank, dimension, distance);
    return MPI_SUCCESS;
}

int PMPI_Cart_sub(MPI_Comm handle, const int remain[], MPI_Comm *made)
{
    int error;
    struct sim_comm *comm = sim_topology_check(handle, MPI_CART, "Cart_sub", &error);
    if (!comm)
        return error;
    struct sim_cart cart = sim_topology_cart(comm->context->topology);
    int *kept = malloc(((size_t)cart.dimensions * 2 + 1) * sizeof *kept);
    assert(kept && "out of memory for a topology");
    int *periods = kept + cart.dimensions, n = 0;
    uint64_t which = 0;
    for (int d = 0; d < cart.dimensions; d++) {
        if (!remain[d])
            continue;
        which |= UINT64_C(1) << (d % 64);
        kept[n] = cart.extents[d];
        periods[n++] = cart.periods[d];
    }
    struct sim_topology_plan plan = {
        .kind = MPI_CART, .whole = true, .kept = which, .cart = {n, kept, periods}};
    plan.size = sim_cart_size(&plan.cart);
    int subgrid, subrank;
    sim_cart_subgrid(&cart, comm->rank, remain, &subgrid, &subrank);
    error = sim_comm_split_topology(comm, subgrid, subrank, &plan, made);
    free(kept);
    return error;
}
