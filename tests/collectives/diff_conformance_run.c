/* Conformance suite: the differentiable run of a case. */
#include "tests/collectives/diff_conformance_internal.h"

#include "collectives/tape/tensor.h"

#include <stdlib.h>
#include <string.h>

struct diff_tensor *conf_tensor(struct diff_tape *tape, enum diff_type type, const double *parts,
                                size_t count, const char *name)
{
    size_t n = count * diff_type_parts(type);
    double *wide = conf_memory(n, sizeof *wide);
    memcpy(wide, parts, n * sizeof *wide);
    float *narrow = conf_memory(n, sizeof *narrow);
    for (size_t i = 0; i < n; i++)
        narrow[i] = (float)wide[i];
    const void *values = diff_type_is_single(type) ? (const void *)narrow : wide;
    struct diff_tensor *tensor = name ? diff_input(tape, name, type, 1, &count, values)
                                      : diff_constant(tape, type, 1, &count, values);
    free(wide);
    free(narrow);
    return tensor;
}

/* The buffer IN_PLACE starts from: the own block within what will be received. */
static void buffer_in_place(const struct conf_world *world, struct conf_run *run)
{
    int rank = world->rank;
    const struct conf_side *send = &world->send[rank], *receive = &world->receive[rank];
    int kind = world->at->kind;
    bool gathers = kind == DIFF_GATHER || kind == DIFF_GATHERV || kind == DIFF_ALLGATHER ||
                   kind == DIFF_ALLGATHERV;
    bool gets = !conf_kinds[kind].rooted || rank == conf_root(world);
    if (!gathers || !gets)
        return;
    size_t begin = 0, width = world->parts * sizeof(double);
    double *buffer = conf_memory(receive->full, width);
    memcpy(buffer, world->into[rank], receive->full * width);
    for (int p = 0; p < rank; p++)
        begin += (size_t)receive->counts[p];
    for (size_t i = 0; i < send->full; i++) {
        run->place[i] = receive->index[begin + i];
        memcpy(buffer + run->place[i] * world->parts, world->x[rank] + i * world->parts, width);
    }
    run->buffered = true;
    run->x = conf_tensor(run->tape, world->at->type, buffer, receive->full, "x");
    free(buffer);
}

static void types_w(struct conf_run *run, const struct conf_world *world, int side_number,
                    const struct conf_side *side, bool receives)
{
    int width = (int)diff_type_size(world->at->type);
    MPI_Datatype basic = diff_type_mpi(world->at->type);
    for (int i = 0; i < side->peers; i++) {
        run->w_counts[side_number][i] = side->counts[i];
        run->w_begins[side_number][i] = side->begins[i] * width;
        run->w_types[side_number][i] = basic;
        if (!receives || side->counts[i] == 0)
            continue;
        MPI_Datatype strided;
        MPI_Type_vector(side->counts[i], 1, 2, basic, &strided);
        MPI_Type_commit(&strided);
        run->w_counts[side_number][i] = 1;
        run->w_types[side_number][i] = strided;
        run->types[run->type_count++] = strided;
    }
}

/* By the function of that name where there is one and the case is a plain one on the world, else by
 * the general call. */
static struct diff_tensor *call_by_name(const struct diff_call *call, const struct conf_case *at)
{
    struct diff_tensor *x = call->x;
    MPI_Comm comm = call->comm;
    bool starts = at->nonblocking;
    if (at->in_place || conf_is_w(at->kind) || at->comm == CONF_REVERSED ||
        at->comm == CONF_HALVES || at->comm == CONF_INTER || at->op == CONF_MINLOC ||
        at->op == CONF_MAXLOC)
        return diff_collective(call);
    switch (call->kind) {
    case DIFF_BARRIER:
        return starts || x->type != DIFF_DOUBLE ? diff_collective(call)
                                                : diff_barrier(x->tape, comm);
    case DIFF_BCAST:
        return starts ? diff_ibcast(x, call->root, comm) : diff_bcast(x, call->root, comm);
    case DIFF_REDUCE:
        return starts ? diff_ireduce(x, call->op, call->root, comm)
                      : diff_reduce(x, call->op, call->root, comm);
    case DIFF_ALLREDUCE:
        return starts ? diff_iallreduce(x, call->op, comm) : diff_allreduce(x, call->op, comm);
    case DIFF_GATHER:
        return starts ? diff_igather(x, call->root, comm) : diff_gather(x, call->root, comm);
    case DIFF_SCATTER:
        return starts ? diff_iscatter(x, call->count, call->root, comm)
                      : diff_scatter(x, call->count, call->root, comm);
    case DIFF_ALLGATHER:
        return starts ? diff_iallgather(x, comm) : diff_allgather(x, comm);
    case DIFF_ALLTOALL:
        return starts ? diff_ialltoall(x, comm) : diff_alltoall(x, comm);
    default:
        break;
    }
    if (starts)
        return diff_collective(call);
    switch (call->kind) {
    case DIFF_GATHERV:
        return diff_gatherv(x, call->into, call->receive_counts, call->receive_displacements,
                            call->root, comm);
    case DIFF_SCATTERV:
        return diff_scatterv(x, call->send_counts, call->send_displacements, call->count,
                             call->root, comm);
    case DIFF_ALLGATHERV:
        return diff_allgatherv(x, call->into, call->receive_counts, call->receive_displacements,
                               comm);
    case DIFF_ALLTOALLV:
        return diff_alltoallv(x, call->send_counts, call->send_displacements, call->into,
                              call->receive_counts, call->receive_displacements, comm);
    case DIFF_REDUCE_SCATTER:
        return diff_reduce_scatter(x, call->receive_counts, call->op, comm);
    case DIFF_REDUCE_SCATTER_BLOCK:
        return diff_reduce_scatter_block(x, call->op, comm);
    case DIFF_SCAN:
        return diff_scan(x, call->op, comm);
    case DIFF_EXSCAN:
        return diff_exscan(x, call->op, comm);
    case DIFF_NEIGHBOR_ALLGATHER:
        return diff_neighbor_allgather(x, comm);
    case DIFF_NEIGHBOR_ALLTOALL:
        return diff_neighbor_alltoall(x, comm);
    default:
        return diff_collective(call);
    }
}

/* Started twice with other values in between, and waited for when its buffers have others again. */
static struct diff_tensor *started(struct diff_call *call)
{
    struct diff_persistent *made = diff_collective_init(call);
    struct diff_tensor *other = diff_scale(call->x, 3);
    diff_wait(diff_start(made, other));
    struct diff_tensor *y = diff_wait(diff_start(made, call->x));
    if (call->op != MPI_MINLOC && call->op != MPI_MAXLOC) /* which are told where, late */
        diff_wait(diff_start(made, diff_scale(call->x, -2)));
    diff_persistent_free(made);
    return y;
}

static MPI_Datatype type_of(struct conf_run *run, const struct conf_side *side, bool receives,
                            enum diff_type type)
{
    int *places = conf_memory(side->elements, sizeof *places);
    for (size_t i = 0; i < side->elements; i++)
        places[i] = (int)conf_typed_place(i, receives);
    MPI_Datatype *made = &run->types[run->type_count++];
    MPI_Type_create_indexed_block((int)side->elements, 1, places, diff_type_mpi(type), made);
    MPI_Type_commit(made);
    free(places);
    return *made;
}

struct diff_tensor *conf_packed(struct conf_run *run, struct diff_tensor *x,
                                const struct conf_side *side, bool receives)
{
    return side->elements ? diff_pack(x, 1, type_of(run, side, receives, diff_type_of(x))) : x;
}

struct diff_tensor *conf_unpacked(struct conf_run *run, struct diff_tensor *dense,
                                  const struct conf_side *side)
{
    return side->elements
               ? diff_unpack(dense, 1, type_of(run, side, true, diff_type_of(dense)), run->into)
               : dense;
}

void conf_run_make(const struct conf_world *world, const struct conf_shared *shared, MPI_Comm comm,
                   struct diff_tape *tape, struct conf_run *run)
{
    const struct conf_case *at = world->at;
    int rank = world->rank;
    const struct conf_side *send = &world->send[rank], *receive = &world->receive[rank];
    *run = (struct conf_run){.tape = tape};
    bool gappy = at->counts == CONF_GAPS || conf_is_w(at->kind);
    run->place = conf_memory(send->full, sizeof *run->place);
    for (size_t i = 0; i < send->full; i++)
        run->place[i] = i;
    run->x_parts = send->full * world->parts;
    run->y_parts = receive->full * world->parts;
    if (at->in_place)
        buffer_in_place(world, run);
    if (!run->x)
        run->x = conf_tensor(tape, at->type, world->x[rank], send->full, "x");
    if (conf_is_message(at->kind)) {
        run->y = conf_message_run(world, run, comm);
        return;
    }
    run->indices = conf_memory(receive->full, sizeof(int));
    struct diff_call call = {.kind = (enum diff_collective)at->kind,
                             .x = conf_packed(run, run->x, send, false),
                             .comm = comm,
                             .op = conf_mpi_op(shared, at->op),
                             .root = conf_root(world),
                             .count = receive->dense,
                             .index_out = run->indices,
                             .flags = (at->nonblocking ? DIFF_NONBLOCKING : 0u) |
                                      (at->in_place ? DIFF_IN_PLACE : 0u)};
    call.send_counts = send->counts;
    call.receive_counts = receive->counts;
    bool across = at->comm == CONF_INTER;
    if (across) {
        call.root = conf_inter_root(world);
        call.count = conf_inter_count(world);
    }
    if (at->kind == DIFF_REDUCE_SCATTER) {
        int *counts = conf_memory((size_t)world->size, sizeof(int));
        int base = across ? conf_inter_base(world->size, rank) : 0;
        for (int p = base; p < world->size; p++)
            counts[p - base] = across ? conf_inter_part(world, p) : conf_block(at, p, 0);
        call.receive_counts = counts;
    }
    if (gappy) {
        call.send_displacements = send->begins;
        call.receive_displacements = receive->begins;
        if (receive->peers > 0 && !at->in_place && !at->persistent)
            call.into = run->into =
                conf_tensor(tape, at->type, world->into[rank], receive->full, "into");
    }
    if (conf_is_w(at->kind)) {
        types_w(run, world, 0, send, false);
        types_w(run, world, 1, receive, true);
        call.send_counts = run->w_counts[0];
        call.send_displacements = run->w_begins[0];
        call.send_types = run->w_types[0];
        call.receive_counts = run->w_counts[1];
        call.receive_displacements = run->w_begins[1];
        call.receive_types = run->w_types[1];
    }
    run->y = at->persistent ? started(&call) : call_by_name(&call, at);
    if (at->nonblocking)
        run->y = diff_wait(run->y);
    if (receive->elements)
        run->into = conf_tensor(tape, at->type, world->into[rank], receive->full, "into");
    run->y = conf_unpacked(run, run->y, receive);
    if (at->kind == DIFF_REDUCE_SCATTER)
        free((void *)(uintptr_t)call.receive_counts);
}

void conf_run_free(struct conf_run *run)
{
    for (int i = 0; i < run->type_count; i++)
        MPI_Type_free(&run->types[i]);
    free(run->indices);
    free(run->place);
    diff_tape_clear(run->tape);
}

size_t conf_part_at(const struct conf_world *world, const struct conf_run *run, size_t i)
{
    return run->place[i / world->parts] * world->parts + i % world->parts;
}

double conf_gradient_part(struct diff_tensor *x, size_t i)
{
    const void *gradient = diff_gradient(x);
    return diff_type_is_single(diff_type_of(x)) ? (double)((const float *)gradient)[i]
                                                : ((const double *)gradient)[i];
}

struct diff_tensor *conf_own_v(const struct conf_world *world, struct conf_run *run)
{
    size_t count = diff_count(run->x), parts = count * world->parts;
    double *values = conf_memory(parts, sizeof *values);
    for (size_t i = 0; i < run->x_parts; i++)
        values[conf_part_at(world, run, i)] = world->v[world->rank][i];
    struct diff_tensor *v = conf_tensor(run->tape, world->at->type, values, count, NULL);
    free(values);
    return v;
}
