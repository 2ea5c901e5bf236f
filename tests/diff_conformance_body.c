/* The body of the conformance suite: see diff_conformance.h. */
#include "tests/diff_conformance.h"

#include "collectives/reference.h"
#include "collectives/tensor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DELTA_TIES = 1 }; /* biases that decide ties, see bias() */

/* ---- a case as every rank sees it ---- */

/* One side of a collective on one rank: the tensor, and which of its elements travel in what order.
 */
struct side {
    size_t full, dense;
    size_t *index;        /* dense -> full */
    int *counts, *begins; /* per peer; begins in elements, or bytes for w */
    int peers;
};

struct world {
    const struct conf_case *at;
    int size, rank; /* of the communicator */
    size_t parts;
    struct side *send, *receive;  /* [size] */
    double **x, **into, **w, **v; /* [size], full, as parts */
    struct reference_case reference;
    struct reference_values *rx, *ry; /* dense */
    int *send_matrix, *receive_matrix;
    int **sources, **destinations, **edge_counts, *source_counts, *destination_counts;
};

static const struct {
    bool rooted, reduces, v;
} kinds[DIFF_COLLECTIVES] = {
    [DIFF_BCAST] = {.rooted = true},
    [DIFF_REDUCE] = {.rooted = true, .reduces = true},
    [DIFF_ALLREDUCE] = {.reduces = true},
    [DIFF_GATHER] = {.rooted = true},
    [DIFF_GATHERV] = {.rooted = true, .v = true},
    [DIFF_SCATTER] = {.rooted = true},
    [DIFF_SCATTERV] = {.rooted = true, .v = true},
    [DIFF_ALLGATHERV] = {.v = true},
    [DIFF_REDUCE_SCATTER] = {.reduces = true, .v = true},
    [DIFF_REDUCE_SCATTER_BLOCK] = {.reduces = true},
    [DIFF_ALLTOALLV] = {.v = true},
    [DIFF_ALLTOALLW] = {.v = true},
    [DIFF_SCAN] = {.reduces = true},
    [DIFF_EXSCAN] = {.reduces = true},
    [DIFF_NEIGHBOR_ALLGATHERV] = {.v = true},
    [DIFF_NEIGHBOR_ALLTOALLV] = {.v = true},
    [DIFF_NEIGHBOR_ALLTOALLW] = {.v = true},
};

static bool is_neighbor(enum diff_collective kind)
{
    return kind >= DIFF_NEIGHBOR_ALLGATHER;
}

static bool is_w(enum diff_collective kind)
{
    return kind == DIFF_ALLTOALLW || kind == DIFF_NEIGHBOR_ALLTOALLW;
}

static int root_of(const struct world *world)
{
    static const int none = 0;
    int size = world->size;
    const int roots[] = {none, size - 1, size / 2};
    return roots[world->at->root];
}

/* Values of rank i's block for rank j. */
static int block(const struct conf_case *at, int i, int j)
{
    switch (at->counts) {
    case CONF_ZERO:
        return 0;
    case CONF_UNEQUAL:
    case CONF_GAPS:
        return (2 * i + 3 * j + 1) % 4;
    default:
        return 2;
    }
}

static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu + 1;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Between 0.5 and 1.5 in absolute value, and exactly a float. */
static double number(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t z = mixed(a, b, c);
    float value = 0.5f + (float)(z >> 41) * 0x1p-23f;
    return z & 1 ? (double)value : -(double)value;
}

static void *memory(size_t count, size_t size)
{
    void *piece = calloc(count + 1, size);
    if (!piece)
        abort();
    return piece;
}

/* ---- layouts ---- */

static void side_blocks(struct side *side, int peers, bool strided)
{
    side->peers = peers;
    side->counts = memory((size_t)peers, sizeof(int));
    side->begins = memory((size_t)peers, sizeof(int));
    (void)strided;
}

/* Lists the elements of the blocks; `stride` 2 for a vector datatype. */
static void side_close(struct side *side, size_t stride)
{
    for (int i = 0; i < side->peers; i++)
        side->dense += (size_t)side->counts[i];
    side->index = memory(side->dense, sizeof(size_t));
    size_t at = 0;
    for (int i = 0; i < side->peers; i++)
        for (int k = 0; k < side->counts[i]; k++) {
            size_t place = (size_t)side->begins[i] + (size_t)k * stride;
            side->index[at++] = place;
            side->full = place + 1 > side->full ? place + 1 : side->full;
        }
}

static struct side side_dense(size_t count)
{
    struct side side = {.full = count, .dense = count};
    side.index = memory(count, sizeof(size_t));
    for (size_t i = 0; i < count; i++)
        side.index[i] = i;
    return side;
}

/* Blocks one after the other; with gaps: received ones one apart (and strided for w), sent ones
 * overlap. */
static struct side side_make(const struct conf_case *at, int peers, const int *counts,
                             bool receives)
{
    struct side side = {0};
    side_blocks(&side, peers, false);
    bool gaps = at->counts == CONF_GAPS;
    int next = gaps && receives ? 1 : 0;
    size_t stride = is_w(at->kind) && receives ? 2 : 1;
    for (int i = 0; i < peers; i++) {
        side.counts[i] = counts[i];
        side.begins[i] = gaps && !receives ? i : next;
        next += counts[i] * (int)stride + (gaps ? 1 : 0);
    }
    side_close(&side, stride);
    if (gaps)
        side.full += 1;
    return side;
}

static struct side side_of_list(const struct world *world, int rank, bool receives,
                                const int *counts)
{
    (void)rank;
    return side_make(world->at, world->size, counts, receives);
}

static void sides_alltoall(struct world *world)
{
    int size = world->size;
    for (int r = 0; r < size; r++) {
        int *out = world->send_matrix + r * size, *in = world->receive_matrix + r * size;
        for (int p = 0; p < size; p++) {
            out[p] = block(world->at, r, p);
            in[p] = block(world->at, p, r);
        }
        if (world->at->in_place &&
            kinds[world->at->kind].v) /* the standard wants the same counts both ways */
            for (int p = 0; p < size; p++)
                out[p] = in[p] = world->at->counts == CONF_ZERO ? 0 : r == p ? 1 : 1 + (r + p) % 3;
        world->send[r] = side_of_list(world, r, false, out);
        world->receive[r] = side_of_list(world, r, true, in);
    }
}

/* A rank's outgoing edges: to its next twice, to the one after in between. */
static void graph_make(struct world *world, const int *steps)
{
    enum { EDGES = 3 };
    int size = world->size;
    world->sources = memory((size_t)size, sizeof(int *));
    world->destinations = memory((size_t)size, sizeof(int *));
    world->edge_counts = memory((size_t)size, sizeof(int *));
    world->source_counts = memory((size_t)size, sizeof(int));
    world->destination_counts = memory((size_t)size, sizeof(int));
    for (int r = 0; r < size; r++) {
        world->sources[r] = memory(EDGES, sizeof(int));
        world->destinations[r] = memory(EDGES, sizeof(int));
        world->edge_counts[r] = memory(EDGES, sizeof(int));
        world->source_counts[r] = world->destination_counts[r] = EDGES;
        for (int i = 0; i < EDGES; i++) {
            world->destinations[r][i] = (r + steps[i]) % size;
            world->sources[r][i] = (r + size * 2 - steps[i]) % size;
        }
    }
}

/* Edges of a pair match in order: which of the sender's edges feeds this slot. */
static int edge_of_slot(const struct world *world, int to, int slot)
{
    int from = world->sources[to][slot], before = 0;
    for (int i = 0; i < slot; i++)
        before += world->sources[to][i] == from;
    for (int i = 0; i < world->destination_counts[from]; i++)
        if (world->destinations[from][i] == to && before-- == 0)
            return i;
    return -1;
}

static void sides_neighbor(struct world *world)
{
    enum diff_collective kind = world->at->kind;
    bool same = kind == DIFF_NEIGHBOR_ALLGATHER || kind == DIFF_NEIGHBOR_ALLGATHERV;
    for (int r = 0; r < world->size; r++) {
        int out[4], in[4], edges = world->destination_counts[r];
        for (int i = 0; i < edges; i++) {
            int from = world->sources[r][i], number_ = edge_of_slot(world, r, i);
            out[i] = block(world->at, r, i);
            in[i] = same ? block(world->at, from, 0) : block(world->at, from, number_);
            world->edge_counts[r][i] = out[i];
        }
        world->send[r] = same ? side_dense((size_t)block(world->at, r, 0))
                              : side_make(world->at, edges, out, false);
        world->receive[r] = side_make(world->at, edges, in, true);
    }
}

static void sides_fill(struct world *world)
{
    const struct conf_case *at = world->at;
    int size = world->size, root = root_of(world);
    int *counts = memory((size_t)size, sizeof(int));
    size_t total = 0;
    for (int p = 0; p < size; p++)
        total += (size_t)(counts[p] = block(at, p, 0));
    if (is_neighbor(at->kind))
        sides_neighbor(world);
    else if (at->kind == DIFF_ALLTOALL || at->kind == DIFF_ALLTOALLV || at->kind == DIFF_ALLTOALLW)
        sides_alltoall(world);
    else
        for (int r = 0; r < size; r++) {
            bool gets = !kinds[at->kind].rooted || r == root;
            size_t own = (size_t)counts[r];
            struct side *send = &world->send[r], *receive = &world->receive[r];
            switch (at->kind) {
            case DIFF_GATHER:
            case DIFF_GATHERV:
            case DIFF_ALLGATHER:
            case DIFF_ALLGATHERV:
                *send = side_dense(own);
                *receive = gets ? side_of_list(world, r, true, counts) : side_dense(0);
                break;
            case DIFF_SCATTER:
            case DIFF_SCATTERV:
                *send = r == root ? side_of_list(world, r, false, counts) : side_dense(0);
                *receive = side_dense(own);
                break;
            case DIFF_REDUCE_SCATTER:
            case DIFF_REDUCE_SCATTER_BLOCK:
                *send = side_dense(total);
                *receive = side_dense(own);
                break;
            case DIFF_REDUCE:
                *send = side_dense(own);
                *receive = side_dense(r == root ? own : 0);
                break;
            default:
                *send = side_dense(own);
                *receive = side_dense(at->kind == DIFF_BARRIER ? 0 : own);
            }
        }
    free(counts);
}

/* ---- values ---- */

static double input_value(const struct world *world, int rank, size_t i)
{
    const struct conf_case *at = world->at;
    double plain = number((uint64_t)rank + 1, i, 7);
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

static double **values_make(const struct world *world, const struct side *sides, uint64_t salt)
{
    double **all = memory((size_t)world->size, sizeof(double *));
    for (int r = 0; r < world->size; r++) {
        size_t parts = sides[r].full * world->parts;
        all[r] = memory(parts, sizeof(double));
        for (size_t i = 0; i < parts; i++)
            all[r][i] = salt == 0 ? input_value(world, r, i) : number((uint64_t)r + 1, i, salt);
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

static const struct diff_op_rules user_rules = {user_combine, user_partials, user_second};

static void user_mpi(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    enum diff_type type = DIFF_DOUBLE;
    if (*datatype == MPI_FLOAT)
        type = DIFF_FLOAT;
    else if (*datatype == MPI_C_FLOAT_COMPLEX)
        type = DIFF_COMPLEX_FLOAT;
    else if (*datatype == MPI_C_DOUBLE_COMPLEX)
        type = DIFF_COMPLEX_DOUBLE;
    size_t bytes = (size_t)*length * diff_type_size(type);
    void *result = memory(bytes, 1);
    user_combine(type, (size_t)*length, in, inout, result);
    memcpy(inout, result, bytes);
    free(result);
}

struct shared {
    MPI_Comm comms[CONF_COMMS];
    MPI_Op user;
    int steps[3]; /* of the graph's edges */
};

static MPI_Op mpi_op(const struct shared *shared, enum conf_op op)
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
static double bias(const struct world *world, int rank, double value)
{
    bool low = world->at->op == CONF_MIN || world->at->op == CONF_MINLOC;
    bool tied = world->at->values >= CONF_TIES_2 && fabs(fabs(value) - 2) < 0x1p-12;
    return !tied ? 0 : (low ? 1 : -1) * rank * 0x1p-6;
}

static void reference_run(struct world *world, double *const *x, enum diff_type type, bool biased)
{
    world->reference.type = type;
    for (int r = 0; r < world->size; r++) {
        const struct side *side = &world->send[r];
        for (size_t i = 0; i < side->dense; i++)
            for (size_t p = 0; p < world->parts; p++) {
                double value = x[r][side->index[i] * world->parts + p];
                world->rx[r].values[i * world->parts + p] =
                    value + (biased ? bias(world, r, value) : 0);
            }
    }
    reference_function *reference = reference_find(diff_collective_name(world->at->kind));
    reference(&world->reference);
}

/* Rank r's whole result: what was received over what was there. */
static void result_of(const struct world *world, int r, double *const *into, double *y)
{
    const struct side *side = &world->receive[r];
    memcpy(y, into[r], side->full * world->parts * sizeof *y);
    for (size_t i = 0; i < side->dense; i++)
        memcpy(y + side->index[i] * world->parts, world->ry[r].values + i * world->parts,
               world->parts * sizeof *y);
}

/* sum over ranks of <w_r, y_r> */
static double objective(struct world *world, double *const *x, double *const *into)
{
    double sum = 0;
    enum diff_type wide = world->parts == 2 ? DIFF_COMPLEX_DOUBLE : DIFF_DOUBLE;
    reference_run(world, x, wide, true);
    for (int r = 0; r < world->size; r++) {
        size_t parts = world->receive[r].full * world->parts;
        double *y = memory(parts, sizeof *y);
        result_of(world, r, into, y);
        for (size_t i = 0; i < parts; i++)
            sum += world->w[r][i] * y[i];
        free(y);
    }
    return sum;
}

/* ---- a world of a case ---- */

static void world_make(struct world *world, const struct conf_case *at, const struct shared *shared,
                       MPI_Comm comm)
{
    *world = (struct world){.at = at, .parts = diff_type_parts(at->type)};
    MPI_Comm_size(comm, &world->size);
    MPI_Comm_rank(comm, &world->rank);
    size_t size = (size_t)world->size;
    world->send = memory(size, sizeof *world->send);
    world->receive = memory(size, sizeof *world->receive);
    world->send_matrix = memory(size * (size + 4), sizeof(int));
    world->receive_matrix = memory(size * (size + 4), sizeof(int));
    graph_make(world, shared->steps);
    sides_fill(world);
    world->x = values_make(world, world->send, 0);
    world->into = values_make(world, world->receive, 11);
    world->w = values_make(world, world->receive, 13);
    world->v = values_make(world, world->send, 17);
    world->rx = memory(size, sizeof *world->rx);
    world->ry = memory(size, sizeof *world->ry);
    for (size_t r = 0; r < size; r++) {
        world->rx[r] = (struct reference_values){
            memory(world->send[r].dense * world->parts, sizeof(double)), world->send[r].dense};
        world->ry[r] = (struct reference_values){
            memory(world->receive[r].dense * world->parts, sizeof(double)),
            world->receive[r].dense};
    }
    bool v = at->kind == DIFF_ALLTOALLV || at->kind == DIFF_ALLTOALLW || at->in_place;
    world->reference =
        (struct reference_case){.ranks = world->size,
                                .root = root_of(world),
                                .parts = world->parts,
                                .op = mpi_op(shared, at->op),
                                .rules = at->op == CONF_USER ? &user_rules : NULL,
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

static void world_free(struct world *world)
{
    int size = world->size;
    values_free(world->x, size);
    values_free(world->into, size);
    values_free(world->w, size);
    values_free(world->v, size);
    for (int r = 0; r < size; r++) {
        free(world->rx[r].values);
        free(world->ry[r].values);
        free(world->sources[r]);
        free(world->destinations[r]);
        free(world->edge_counts[r]);
        struct side *sides[] = {&world->send[r], &world->receive[r]};
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

/* ---- the differentiable run ---- */

struct run {
    struct diff_tape *tape;
    struct diff_tensor *x, *into, *y;
    size_t x_parts, y_parts, offset; /* IN_PLACE: where the own block starts in the buffer */
    int *indices;
    MPI_Datatype types[16];
    int type_count, w_counts[2][16], w_begins[2][16];
    MPI_Datatype w_types[2][16];
};

static struct diff_tensor *tensor_of(struct diff_tape *tape, enum diff_type type,
                                     const double *parts, size_t count, const char *name)
{
    size_t n = count * diff_type_parts(type);
    double *wide = memory(n, sizeof *wide);
    memcpy(wide, parts, n * sizeof *wide);
    float *narrow = memory(n, sizeof *narrow);
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
static void buffer_in_place(const struct world *world, struct run *run)
{
    int rank = world->rank;
    const struct side *send = &world->send[rank], *receive = &world->receive[rank];
    enum diff_collective kind = world->at->kind;
    bool gathers = kind == DIFF_GATHER || kind == DIFF_GATHERV || kind == DIFF_ALLGATHER ||
                   kind == DIFF_ALLGATHERV;
    bool gets = !kinds[kind].rooted || rank == root_of(world);
    if (!gathers || !gets)
        return;
    double *buffer = memory(receive->full * world->parts, sizeof *buffer);
    for (int p = 0; p < rank; p++)
        run->offset += (size_t)receive->counts[p];
    memcpy(buffer + run->offset * world->parts, world->x[rank],
           send->full * world->parts * sizeof *buffer);
    run->x = tensor_of(run->tape, world->at->type, buffer, receive->full, "x");
    free(buffer);
}

static void types_w(struct run *run, const struct world *world, int side_number,
                    const struct side *side, bool receives)
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

static void run_make(const struct world *world, const struct shared *shared, MPI_Comm comm,
                     struct diff_tape *tape, struct run *run)
{
    const struct conf_case *at = world->at;
    int rank = world->rank;
    const struct side *send = &world->send[rank], *receive = &world->receive[rank];
    *run = (struct run){.tape = tape};
    bool gappy = at->counts == CONF_GAPS || is_w(at->kind);
    if (at->in_place)
        buffer_in_place(world, run);
    if (!run->x)
        run->x = tensor_of(tape, at->type, world->x[rank], send->full, "x");
    run->indices = memory(receive->full, sizeof(int));
    struct diff_call call = {.kind = at->kind,
                             .x = run->x,
                             .comm = comm,
                             .op = mpi_op(shared, at->op),
                             .root = root_of(world),
                             .count = receive->dense,
                             .index_out = run->indices,
                             .flags = (at->nonblocking ? DIFF_NONBLOCKING : 0u) |
                                      (at->in_place ? DIFF_IN_PLACE : 0u)};
    call.send_counts = send->counts;
    call.receive_counts = receive->counts;
    if (at->kind == DIFF_REDUCE_SCATTER) {
        int *counts = memory((size_t)world->size, sizeof(int));
        for (int p = 0; p < world->size; p++)
            counts[p] = block(at, p, 0);
        call.receive_counts = counts;
    }
    if (gappy) {
        call.send_displacements = send->begins;
        call.receive_displacements = receive->begins;
        if (receive->peers > 0)
            call.into = run->into =
                tensor_of(tape, at->type, world->into[rank], receive->full, "into");
    }
    if (is_w(at->kind)) {
        types_w(run, world, 0, send, false);
        types_w(run, world, 1, receive, true);
        call.send_counts = run->w_counts[0];
        call.send_displacements = run->w_begins[0];
        call.send_types = run->w_types[0];
        call.receive_counts = run->w_counts[1];
        call.receive_displacements = run->w_begins[1];
        call.receive_types = run->w_types[1];
    }
    run->y = diff_collective(&call);
    if (at->nonblocking)
        run->y = diff_wait(run->y);
    if (at->kind == DIFF_REDUCE_SCATTER)
        free((void *)(uintptr_t)call.receive_counts);
    run->x_parts = send->full * world->parts;
    run->y_parts = receive->full * world->parts;
}

static void run_free(struct run *run)
{
    for (int i = 0; i < run->type_count; i++)
        MPI_Type_free(&run->types[i]);
    free(run->indices);
    diff_tape_clear(run->tape);
}

/* ---- checks ---- */

struct checker {
    const struct conf_options *options;
    struct conf_result *result;
    const struct conf_case *at;
    int rank;
};

static void check(struct checker *checker, const char *what, double got, double expected,
                  double tolerance)
{
    struct conf_result *result = checker->result;
    uint64_t bits;
    memcpy(&bits, &got, sizeof bits);
    result->hash = (result->hash ^ bits) * 0x100000001b3u;
    result->checks++;
    if (fabs(got - expected) <= tolerance)
        return;
    if (result->failed++ > 0)
        return;
    result->first =
        (struct conf_failure){*checker->at, "", checker->rank, got, expected, tolerance};
    snprintf(result->first.what, sizeof result->first.what, "%s", what);
}

static double epsilon_of(const struct conf_case *at)
{
    return diff_type_is_single(at->type) ? FLT_EPSILON : DBL_EPSILON;
}

/* Growth of rounding with the number of ranks: sums of P terms, products of up to 1.5^P. */
static double growth(const struct world *world)
{
    bool grows = world->at->op == CONF_PROD || world->at->op == CONF_USER;
    return 16 * (world->size + 4) * (grows ? pow(2.5, world->size) : 4);
}

static void check_forward(struct checker *checker, struct world *world, const struct run *run)
{
    int rank = world->rank;
    double *y = memory(run->y_parts, sizeof *y);
    reference_run(world, world->x, world->at->type, false);
    result_of(world, rank, world->into, y);
    bool compares = run->into || world->receive[rank].full == world->receive[rank].dense;
    double slack = checker->options->exact_forward ? 0 : epsilon_of(world->at) * growth(world);
    check(checker, "count", (double)diff_count(run->y) * (double)world->parts, (double)run->y_parts,
          0);
    for (size_t i = 0; compares && i < run->y_parts; i++)
        check(checker, "forward", tensor_part(run->y, i), y[i], slack * fmax(1, fabs(y[i])));
    free(y);
}

static double gradient_part(struct diff_tensor *x, size_t i)
{
    const void *gradient = diff_gradient(x);
    return diff_type_is_single(diff_type_of(x)) ? (double)((const float *)gradient)[i]
                                                : ((const double *)gradient)[i];
}

/* Of whose results extrema decide: the step must be smaller than any distance between two values.
 */
static bool is_ordered(enum conf_op op)
{
    return op >= CONF_MAX && op <= CONF_MAXLOC;
}

/* Finite differences cost a reference run each: of many elements some are looked at, which ones
 * depends on the rank; the dot products see all of them. */
static bool looked_at(const struct world *world, size_t i, size_t parts)
{
    enum { MOST = 4 };
    return parts <= MOST || i % (parts / MOST) == (size_t)world->rank % (parts / MOST);
}

static double slope(struct world *world, double *place, double *const *x, double *const *into)
{
    /* Multilinear in every operation here, or piecewise linear: central differences are exact. */
    double before = *place, h = is_ordered(world->at->op) ? 0x1p-24 : 0x1p-8;
    *place = before + h;
    double above = objective(world, x, into);
    *place = before - h;
    double below = objective(world, x, into);
    *place = before;
    return (above - below) / (2 * h);
}

static void check_gradient(struct checker *checker, struct world *world, const struct run *run)
{
    int rank = world->rank;
    double noise = is_ordered(world->at->op) ? 1e-9 : 1e-12;
    double tolerance = (epsilon_of(world->at) + noise) * growth(world);
    size_t shift = run->offset * world->parts;
    for (size_t i = 0; i < run->x_parts; i++) {
        if (!looked_at(world, i, run->x_parts))
            continue;
        double expected = slope(world, &world->x[rank][i], world->x, world->into);
        check(checker, "fd", gradient_part(run->x, i + shift), expected,
              tolerance * fmax(1, fabs(expected)));
    }
    for (size_t i = 0; run->into && i < run->y_parts; i++) {
        if (!looked_at(world, i, run->y_parts))
            continue;
        double expected = slope(world, &world->into[rank][i], world->x, world->into);
        check(checker, "fd-into", gradient_part(run->into, i), expected, tolerance);
    }
}

/* ---- the dense Jacobian: every result's part by every own input's part ---- */

enum { DENSE_RANKS = 4, DENSE_PARTS = 64 };

/* All results, one after the other. */
static void results_of(struct world *world, double *y)
{
    enum diff_type wide = world->parts == 2 ? DIFF_COMPLEX_DOUBLE : DIFF_DOUBLE;
    reference_run(world, world->x, wide, true);
    for (int r = 0; r < world->size; r++) {
        result_of(world, r, world->into, y);
        y += world->receive[r].full * world->parts;
    }
}

/* Columns of the Jacobian that belong to this rank's inputs, by central differences. */
static double *dense_columns(struct world *world, size_t columns, size_t rows)
{
    double *dense = memory(columns * rows, sizeof *dense), *above = memory(2 * rows, sizeof *above),
           *below = above + rows, h = is_ordered(world->at->op) ? 0x1p-24 : 0x1p-8;
    for (size_t i = 0; i < columns; i++) {
        double *place = &world->x[world->rank][i], before = *place;
        *place = before + h;
        results_of(world, above);
        *place = before - h;
        results_of(world, below);
        *place = before;
        for (size_t j = 0; j < rows; j++)
            dense[i * rows + j] = (above[j] - below[j]) / (2 * h);
    }
    free(above);
    return dense;
}

/* One backward pass for each result's part: rank `owner` alone starts from one. */
static void dense_row(struct checker *checker, const struct world *world, struct run *run,
                      int owner, size_t part, const double *dense, size_t row, size_t rows)
{
    size_t parts = world->receive[world->rank].full * world->parts;
    double *unit = memory(parts, sizeof *unit), noise = is_ordered(world->at->op) ? 1e-9 : 1e-12;
    if (owner == world->rank)
        unit[part] = 1;
    struct diff_tensor *y_bar =
        tensor_of(run->tape, world->at->type, unit, world->receive[world->rank].full, NULL);
    diff_gradient_clear(run->x);
    diff_backward_from(run->tape, 1, &run->y, &y_bar, DIFF_RETAIN);
    for (size_t i = 0; i < run->x_parts; i++) {
        double expected = dense[i * rows + row];
        check(checker, "dense", gradient_part(run->x, i + run->offset * world->parts), expected,
              (epsilon_of(world->at) + noise) * growth(world) * fmax(1, fabs(expected)));
    }
    free(unit);
}

static void check_dense(struct checker *checker, struct world *world, struct run *run)
{
    size_t rows = 0, row = 0;
    for (int r = 0; r < world->size; r++)
        rows += world->receive[r].full * world->parts;
    if (world->size > DENSE_RANKS || rows > DENSE_PARTS)
        return;
    double *dense = dense_columns(world, run->x_parts, rows);
    for (int owner = 0; owner < world->size; owner++)
        for (size_t part = 0; part < world->receive[owner].full * world->parts; part++)
            dense_row(checker, world, run, owner, part, dense, row++, rows);
    free(dense);
}

static struct diff_tensor *own_v(const struct world *world, struct run *run)
{
    size_t count = diff_count(run->x), parts = count * world->parts;
    double *values = memory(parts, sizeof *values);
    memcpy(values + run->offset * world->parts, world->v[world->rank],
           run->x_parts * sizeof *values);
    struct diff_tensor *v = tensor_of(run->tape, world->at->type, values, count, NULL);
    free(values);
    return v;
}

static void check_dot(struct checker *checker, struct world *world, struct run *run, MPI_Comm comm)
{
    struct diff_tensor *v = own_v(world, run);
    int rank = world->rank;
    double sums[4] = {0}, all[4];
    diff_no_grad_begin(run->tape);
    diff_jvp(run->tape, 1, &run->x, &v);
    diff_no_grad_end(run->tape);
    const struct diff_tensor *y_dot = diff_tangent(run->y);
    for (size_t i = 0; i < run->y_parts; i++) {
        double term = world->w[rank][i] * tensor_part(y_dot, i);
        sums[0] += term;
        sums[2] += fabs(term);
    }
    for (size_t i = 0; i < diff_count(run->x) * world->parts; i++) {
        double term = tensor_part(v, i) * gradient_part(run->x, i);
        sums[1] += term;
        sums[3] += fabs(term);
    }
    MPI_Allreduce(sums, all, 4, MPI_DOUBLE, MPI_SUM, comm);
    check(checker, "dot", all[0], all[1],
          epsilon_of(world->at) * growth(world) * (1 + all[2] + all[3]));
}

/* A mixed second difference of the objective. */
static double curvature_at(struct world *world, double *place, double h)
{
    double before = *place, sum = 0;
    for (int s = -1; s <= 1; s += 2)
        for (int t = -1; t <= 1; t += 2) {
            for (int r = 0; r < world->size; r++)
                for (size_t i = 0; i < world->send[r].full * world->parts; i++)
                    world->x[r][i] += t * h * world->v[r][i];
            *place += s * h;
            sum += s * t * objective(world, world->x, world->into);
            *place -= s * h;
            for (int r = 0; r < world->size; r++)
                for (size_t i = 0; i < world->send[r].full * world->parts; i++)
                    world->x[r][i] -= t * h * world->v[r][i];
        }
    *place = before;
    return sum / (4 * h * h);
}

/* d/dx_i of <J(x)^T w, v>, extrapolated: products of many factors have large fourth derivatives. */
static double curvature(struct world *world, double *place)
{
    double coarse = curvature_at(world, place, 0x1p-7), fine = curvature_at(world, place, 0x1p-8);
    return (4 * fine - coarse) / 3;
}

static void check_second(struct checker *checker, struct world *world, const struct shared *shared,
                         MPI_Comm comm, struct diff_tape *tape)
{
    struct run run;
    int rank = world->rank;
    double epsilon = epsilon_of(world->at), slack = growth(world);
    run_make(world, shared, comm, tape, &run);
    struct diff_tensor *w =
        tensor_of(tape, world->at->type, world->w[rank], world->receive[rank].full, "w");
    diff_backward_from(tape, 1, &run.y, &w, DIFF_GRAPH);
    struct diff_tensor *gradient = diff_gradient_tensor(run.x), *v = own_v(world, &run);
    if (!gradient)
        gradient = diff_scale(run.x, 0);
    struct diff_tensor *product = diff_dot(gradient, v);
    /* Forward over reverse: the tangent of the gradient. */
    diff_no_grad_begin(tape);
    diff_jvp(tape, 1, &run.x, &v);
    diff_no_grad_end(tape);
    struct diff_tensor *hv = diff_tangent(gradient), *y_dot = diff_tangent(run.y);
    diff_gradient_clear(run.x);
    diff_backward(product);
    for (size_t i = 0; i < run.y_parts; i++) {
        double expected = tensor_part(y_dot, i);
        check(checker, "second-w", gradient_part(w, i), expected,
              epsilon * slack * fmax(1, fabs(expected)));
    }
    bool curved = world->at->op == CONF_PROD || world->at->op == CONF_USER;
    for (size_t i = 0; i < run.x_parts; i++) {
        size_t at = i + run.offset * world->parts;
        double over = tensor_part(hv, at);
        check(checker, "second-same", gradient_part(run.x, at), over,
              epsilon * slack * slack * fmax(1, fabs(over)));
        if (!curved || !kinds[world->at->kind].reduces) {
            check(checker, "second-x", over, 0, 0);
            continue;
        }
        if (!looked_at(world, i, run.x_parts))
            continue;
        double expected = curvature(world, &world->x[rank][i]);
        double tolerance =
            (epsilon * slack + 1e-3) * fmax(1, fabs(expected)) * pow(1.2, world->size);
        check(checker, "second-x", over, expected, tolerance);
    }
    run_free(&run);
}

/* ---- enumeration ---- */

static bool op_fits(const struct conf_case *at)
{
    bool complex_type = diff_type_is_complex(at->type);
    bool ordered = at->op >= CONF_MAX && at->op <= CONF_MAXLOC;
    if (!kinds[at->kind].reduces)
        return at->op == CONF_SUM;
    if ((at->op == CONF_MINLOC || at->op == CONF_MAXLOC) && at->in_place)
        return false;
    if (at->op == CONF_AVG && (at->kind == DIFF_SCAN || at->kind == DIFF_EXSCAN))
        return false;
    return !(complex_type && ordered);
}

static bool values_fit(const struct conf_case *at)
{
    bool ordered = at->op >= CONF_MAX && at->op <= CONF_MAXLOC;
    if (at->values == CONF_RANDOM)
        return true;
    if (!kinds[at->kind].reduces || at->counts == CONF_ZERO)
        return false;
    return at->values <= CONF_TWO_ZEROS ? at->op == CONF_PROD : ordered;
}

static bool form_fits(const struct conf_case *at)
{
    enum diff_collective kind = at->kind;
    bool v = kinds[kind].v;
    if ((at->counts >= CONF_UNEQUAL && !v) ||
        (at->counts == CONF_GAPS && kind == DIFF_REDUCE_SCATTER))
        return false;
    if ((at->comm == CONF_GRAPH) != is_neighbor(kind))
        return false;
    if (at->root > 0 && !kinds[kind].rooted)
        return false;
    if (!at->in_place)
        return true;
    return !is_neighbor(kind) && kind != DIFF_BARRIER && at->counts != CONF_GAPS &&
           kind != DIFF_ALLTOALLW;
}

/* IN_PLACE exscan leaves rank 0's buffer, which the plain reference does not know. */
static bool reference_fits(const struct conf_case *at)
{
    return !(at->in_place && (at->kind == DIFF_EXSCAN || at->kind == DIFF_REDUCE_SCATTER ||
                              at->kind == DIFF_REDUCE_SCATTER_BLOCK)) ||
           at->kind != DIFF_EXSCAN;
}

static void case_run(struct checker *checker, const struct shared *shared, struct diff_tape *tape)
{
    const struct conf_case *at = checker->at;
    MPI_Comm comm = shared->comms[at->comm];
    struct world world;
    struct run run;
    world_make(&world, at, shared, comm);
    checker->rank = world.rank;
    run_make(&world, shared, comm, tape, &run);
    check_forward(checker, &world, &run);
    struct diff_tensor *w =
        tensor_of(tape, at->type, world.w[world.rank], world.receive[world.rank].full, NULL);
    diff_backward_from(tape, 1, &run.y, &w, DIFF_RETAIN);
    check_gradient(checker, &world, &run);
    check_dot(checker, &world, &run, comm);
    check_dense(checker, &world, &run);
    run_free(&run);
    if (at->values < CONF_TIES_2)
        check_second(checker, &world, shared, comm, tape);
    world_free(&world);
    checker->result->cases++;
}

static MPI_Comm graph_comm(const int *steps)
{
    int rank, size, sources[3], destinations[3], weights[3] = {1, 1, 1};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++) {
        destinations[i] = (rank + steps[i]) % size;
        sources[i] = (rank + 2 * size - steps[i]) % size;
    }
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, weights, 3, destinations, weights,
                                   MPI_INFO_NULL, 0, &comm);
    return comm;
}

static void shared_make(struct shared *shared, bool multiple)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shared->comms[CONF_WORLD] = MPI_COMM_WORLD;
    shared->steps[0] = 1;
    shared->steps[1] = 2;
    shared->steps[2] = multiple ? 1 : 3; /* an edge twice, which not every MPI pairs in order */
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &shared->comms[CONF_REVERSED]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank * 7 % 5, &shared->comms[CONF_HALVES]);
    shared->comms[CONF_GRAPH] = graph_comm(shared->steps);
    MPI_Op_create(user_mpi, 0, &shared->user);
    diff_op_register(shared->user, &user_rules);
}

static void shared_free(struct shared *shared)
{
    for (int i = CONF_REVERSED; i < CONF_COMMS; i++)
        MPI_Comm_free(&shared->comms[i]);
    MPI_Op_free(&shared->user);
}

/* Calls `visit` for every case of the matrix; one loop, nothing sampled. */
static void cases_enumerate(void (*visit)(const struct conf_case *at, void *context), void *context)
{
    enum { FORMS = 4, ROOTS = 3, TYPES = 4 };
    for (int kind = 0; kind < DIFF_COLLECTIVES; kind++)
        for (long i = 0;
             i < (long)CONF_OPS * TYPES * CONF_COMMS * CONF_COUNTS * CONF_VALUES * ROOTS * FORMS;
             i++) {
            long rest = i;
            struct conf_case at = {.kind = (enum diff_collective)kind};
            at.op = (enum conf_op)(rest % CONF_OPS), rest /= CONF_OPS;
            at.type = (enum diff_type)(rest % TYPES), rest /= TYPES;
            at.comm = (enum conf_comm)(rest % CONF_COMMS), rest /= CONF_COMMS;
            at.counts = (enum conf_counts)(rest % CONF_COUNTS), rest /= CONF_COUNTS;
            at.values = (enum conf_values)(rest % CONF_VALUES), rest /= CONF_VALUES;
            at.root = (int)(rest % ROOTS), rest /= ROOTS;
            at.nonblocking = rest % 2, at.in_place = rest / 2;
            if (op_fits(&at) && values_fit(&at) && form_fits(&at) && reference_fits(&at))
                visit(&at, context);
        }
}

struct visitor {
    struct checker checker;
    struct shared shared;
    struct diff_tape *tape;
    unsigned long number;
};

static void visit(const struct conf_case *at, void *context)
{
    struct visitor *visitor = context;
    if (mixed(visitor->number++, 5, 5) % visitor->checker.options->thin != 0)
        return;
    visitor->checker.at = at;
    if (getenv("CONFORMANCE_VERBOSE")) {
        char text[200];
        conformance_text(at, text, sizeof text);
        fprintf(stderr, "case %lu: %s\n", visitor->number, text);
    }
    case_run(&visitor->checker, &visitor->shared, visitor->tape);
}

void conformance_run(const struct conf_options *options, struct conf_result *result)
{
    struct visitor visitor = {.checker = {.options = options, .result = result}};
    *result = (struct conf_result){.hash = 0xcbf29ce484222325u};
    shared_make(&visitor.shared, options->exact_forward);
    visitor.tape = diff_tape_new(MPI_COMM_WORLD);
    cases_enumerate(visit, &visitor);
    diff_tape_free(visitor.tape);
    shared_free(&visitor.shared);
}

int conformance_text(const struct conf_case *at, char *text, size_t size)
{
    static const char *const ops[] = {"sum", "avg",    "prod",   "max",
                                      "min", "minloc", "maxloc", "user"};
    static const char *const comms[] = {"world", "reversed", "halves", "graph"};
    static const char *const counts[] = {"two", "zero", "unequal", "gaps"};
    static const char *const values[] = {"random", "one zero", "two zeros",
                                         "2 ties", "3 ties",   "all tied"};
    return snprintf(text, size, "%s%s %s %s on %s, counts %s, values %s, root %d%s",
                    at->nonblocking ? "I" : "", diff_collective_name(at->kind), ops[at->op],
                    diff_type_name(at->type), comms[at->comm], counts[at->counts],
                    values[at->values], at->root, at->in_place ? ", in place" : "");
}
