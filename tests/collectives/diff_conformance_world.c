/* Conformance suite: the values of all ranks, and the reference as a function of them. */
#include "tests/collectives/diff_conformance_internal.h"

#include "collectives/tape/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static double input_value(const struct conf_world *world, int rank, size_t i)
{
    const struct conf_case *at = world->at;
    double plain = conf_number((uint64_t)rank + 1, i, 7);
    switch (at->values) {
    case CONF_ONE_ZERO:
        return rank == world->size / 2 ? 0 : plain;
    case CONF_TWO_ZEROS:
        return rank == 0 || rank == world->size - 1 ? 0 : plain;
    case CONF_TIES_2:
    case CONF_TIES_3:
    case CONF_TIES_ALL: {
        int ties = at->values == CONF_TIES_2 ? 2 : at->values == CONF_TIES_3 ? 3 : world->size;
        bool low = at->op == CONF_MIN || at->op == CONF_MINLOC;
        /* The last `ties` ranks hold the extremum. */
        return rank >= world->size - ties ? (low ? -2.0 : 2.0) : plain;
    }
    default:
        return plain;
    }
}

static double **values_make(const struct conf_world *world, const struct conf_side *sides,
                            uint64_t salt)
{
    double **all = conf_memory((size_t)world->size, sizeof(double *));
    for (int r = 0; r < world->size; r++) {
        size_t parts = sides[r].full * world->parts;
        all[r] = conf_memory(parts, sizeof(double));
        for (size_t i = 0; i < parts; i++)
            all[r][i] =
                salt == 0 ? input_value(world, r, i) : conf_number((uint64_t)r + 1, i, salt);
    }
    return all;
}

/* ---- the user's operation: a + b + ab, for all four types ---- */

#define USER_LOOP(EXPRESSION)                                                                      \
    TYPE_SWITCH(type, {                                                                            \
        const T *a = left;                                                                         \
        const T *b = right;                                                                        \
        for (size_t i = 0; i < count; i++) {                                                       \
            EXPRESSION;                                                                            \
        }                                                                                          \
    })

static void user_combine(enum diff_type type, size_t count, const void *left, const void *right,
                         void *result)
{
    USER_LOOP(((T *)result)[i] = a[i] + b[i] + a[i] * b[i])
}

static void user_partials(enum diff_type type, size_t count, const void *left, const void *right,
                          void *by_a, void *by_b)
{
    USER_LOOP(if (by_a)((T *)by_a)[i] = 1 + b[i]; if (by_b)((T *)by_b)[i] = 1 + a[i])
}

static void user_second(enum diff_type type, size_t count, const void *left, const void *right,
                        void *aa, void *ab, void *bb)
{
    USER_LOOP((void)a; (void)b; if (aa)((T *)aa)[i] = 0; if (ab)((T *)ab)[i] = 1;
              if (bb)((T *)bb)[i] = 0)
}

const struct diff_op_rules conf_user_rules = {user_combine, user_partials, user_second};

void conf_user_mpi(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    enum diff_type type = DIFF_DOUBLE;
    if (*datatype == MPI_FLOAT)
        type = DIFF_FLOAT;
    else if (*datatype == MPI_C_FLOAT_COMPLEX)
        type = DIFF_COMPLEX_FLOAT;
    else if (*datatype == MPI_C_DOUBLE_COMPLEX)
        type = DIFF_COMPLEX_DOUBLE;
    size_t bytes = (size_t)*length * diff_type_size(type);
    void *result = conf_memory(bytes, 1);
    user_combine(type, (size_t)*length, in, inout, result);
    memcpy(inout, result, bytes);
    free(result);
}

MPI_Op conf_mpi_op(const struct conf_shared *shared, enum conf_op op)
{
    switch (op) {
    case CONF_AVG:
        return DIFF_AVG;
    case CONF_PROD:
        return MPI_PROD;
    case CONF_MAX:
        return MPI_MAX;
    case CONF_MIN:
        return MPI_MIN;
    case CONF_MINLOC:
        return MPI_MINLOC;
    case CONF_MAXLOC:
        return MPI_MAXLOC;
    case CONF_USER:
        return shared->user;
    default:
        return MPI_SUM;
    }
}

/* ---- the reference as a function of everything ---- */

/* Ties are decided for the lowest rank: where later ranks hold the extremum too, they are moved a
 * little away from it. */
static double bias(const struct conf_world *world, int rank, double value)
{
    bool low = world->at->op == CONF_MIN || world->at->op == CONF_MINLOC;
    bool tied = world->at->values >= CONF_TIES_2 && fabs(fabs(value) - 2) < 0x1p-12;
    return !tied ? 0 : (low ? 1 : -1) * rank * 0x1p-6;
}

void conf_reference_run(struct conf_world *world, double *const *x, enum diff_type type,
                        bool biased)
{
    world->reference.type = type;
    for (int r = 0; r < world->size; r++) {
        const struct conf_side *side = &world->send[r];
        for (size_t i = 0; i < side->dense; i++)
            for (size_t p = 0; p < world->parts; p++) {
                double value = x[r][side->index[i] * world->parts + p];
                world->rx[r].values[i * world->parts + p] =
                    value + (biased ? bias(world, r, value) : 0);
            }
    }
    int kind = world->at->kind;
    if (conf_is_message(kind)) {
        conf_message_reference(&world->reference, world);
        return;
    }
    if (world->at->comm == CONF_INTER) {
        conf_inter_reference(world);
        return;
    }
    reference_function *reference =
        reference_find(diff_collective_name((enum diff_collective)kind));
    reference(&world->reference);
    if (kind == DIFF_EXSCAN && world->at->in_place) /* rank 0's buffer stays as it was */
        memcpy(world->ry[0].values, world->rx[0].values,
               world->rx[0].count * world->parts * sizeof(double));
}

/* Rank r's whole result: what was received over what was there. */
void conf_result_of(const struct conf_world *world, int r, double *const *into, double *y)
{
    const struct conf_side *side = &world->receive[r];
    memcpy(y, into[r], side->full * world->parts * sizeof *y);
    for (size_t i = 0; i < side->dense; i++)
        memcpy(y + side->index[i] * world->parts, world->ry[r].values + i * world->parts,
               world->parts * sizeof *y);
}

/* sum over ranks of <w_r, y_r> */
double conf_objective(struct conf_world *world, double *const *x, double *const *into)
{
    double sum = 0;
    enum diff_type wide = world->parts == 2 ? DIFF_COMPLEX_DOUBLE : DIFF_DOUBLE;
    conf_reference_run(world, x, wide, true);
    for (int r = 0; r < world->size; r++) {
        size_t parts = world->receive[r].full * world->parts;
        double *y = conf_memory(parts, sizeof *y);
        conf_result_of(world, r, into, y);
        for (size_t i = 0; i < parts; i++)
            sum += world->w[r][i] * y[i];
        free(y);
    }
    return sum;
}

/* ---- a world of a case ---- */

void conf_world_make(struct conf_world *world, const struct conf_case *at,
                     const struct conf_shared *shared, MPI_Comm comm)
{
    *world = (struct conf_world){.at = at, .parts = diff_type_parts(at->type)};
    if (at->comm == CONF_INTER) /* both groups */
        comm = MPI_COMM_WORLD;
    MPI_Comm_size(comm, &world->size);
    MPI_Comm_rank(comm, &world->rank);
    size_t size = (size_t)world->size;
    world->send = conf_memory(size, sizeof *world->send);
    world->receive = conf_memory(size, sizeof *world->receive);
    world->send_matrix = conf_memory(size * (size + 4), sizeof(int));
    world->receive_matrix = conf_memory(size * (size + 4), sizeof(int));
    conf_graph_make(world, shared->steps);
    conf_sides_fill(world);
    world->x = values_make(world, world->send, 0);
    world->one_buffer = at->in_place && conf_is_alltoall(at->kind);
    world->into = world->one_buffer ? world->x : values_make(world, world->receive, 11);
    world->w = values_make(world, world->receive, 13);
    world->v = values_make(world, world->send, 17);
    world->rx = conf_memory(size, sizeof *world->rx);
    world->ry = conf_memory(size, sizeof *world->ry);
    for (size_t r = 0; r < size; r++) {
        world->rx[r] = (struct reference_values){
            conf_memory(world->send[r].dense * world->parts, sizeof(double)), world->send[r].dense};
        world->ry[r] = (struct reference_values){
            conf_memory(world->receive[r].dense * world->parts, sizeof(double)),
            world->receive[r].dense};
    }
    bool v = at->kind == DIFF_ALLTOALLV || at->kind == DIFF_ALLTOALLW || at->in_place;
    world->reference =
        (struct reference_case){.ranks = world->size,
                                .root = conf_root(world),
                                .parts = world->parts,
                                .op = conf_mpi_op(shared, at->op),
                                .rules = at->op == CONF_USER ? &conf_user_rules : NULL,
                                .x = world->rx,
                                .y = world->ry,
                                .send_counts = v ? world->send_matrix : NULL,
                                .sources = (const int *const *)world->sources,
                                .destinations = (const int *const *)world->destinations,
                                .edge_counts = (const int *const *)world->edge_counts,
                                .source_counts = world->source_counts,
                                .destination_counts = world->destination_counts};
}

static void values_free(double **all, int size)
{
    for (int r = 0; r < size; r++)
        free(all[r]);
    free(all);
}

void conf_world_free(struct conf_world *world)
{
    int size = world->size;
    values_free(world->x, size);
    if (!world->one_buffer)
        values_free(world->into, size);
    values_free(world->w, size);
    values_free(world->v, size);
    for (int r = 0; r < size; r++) {
        free(world->rx[r].values);
        free(world->ry[r].values);
        free(world->sources[r]);
        free(world->destinations[r]);
        free(world->edge_counts[r]);
        struct conf_side *sides[] = {&world->send[r], &world->receive[r]};
        for (int s = 0; s < 2; s++) {
            free(sides[s]->index);
            free(sides[s]->counts);
            free(sides[s]->begins);
        }
    }
    void *lists[] = {world->rx,
                     world->ry,
                     world->sources,
                     world->destinations,
                     world->edge_counts,
                     world->source_counts,
                     world->destination_counts,
                     world->send,
                     world->receive,
                     world->send_matrix,
                     world->receive_matrix};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
}
