/* Steps of random differentiable programs that communicate: each takes a vector of `count` values to
 * another one on every rank; all ranks take the same step. */
#ifndef TESTS_GRADIENTS_GENERATED_CALLS_H
#define TESTS_GRADIENTS_GENERATED_CALLS_H

#include "tests/gradients/generated.h"

enum { CALL_RANKS = 5 };

struct calls {
    struct diff_tape *tape;
    enum diff_type type;
    size_t count;
    int rank, size, right, left;
    MPI_Comm halves, graph, two, shared; /* parts, a topology, two groups, another order */
    MPI_Op user;
    bool first; /* of the two groups */
};

static inline struct diff_tensor *call_head(struct diff_tensor *y, struct diff_tensor *x)
{
    size_t count = diff_count(x), got = diff_count(y);
    if (got >= count)
        return diff_slice(y, got - count, count);
    return got == 0 ? x
                    : diff_concat(2, (struct diff_tensor *[]){diff_reshape(y, 1, &got),
                                                              diff_slice(x, got, count - got)});
}

/* x as many times as this, each time weighed otherwise. */
static inline struct diff_tensor *call_wide(struct diff_tensor *x, int times)
{
    struct diff_tensor *parts[2 * CALL_RANKS];
    for (int i = 0; i < times; i++)
        parts[i] = diff_scale(x, 1 - 0.3 * i);
    return times > 0 ? diff_concat((size_t)times, parts) : x;
}

static inline void user_combine(enum diff_type type, size_t count, const void *a, const void *b,
                                void *y)
{
    for (size_t i = 0; i < count; i++)
        if (type == DIFF_DOUBLE)
            ((double *)y)[i] = ((const double *)a)[i] + ((const double *)b)[i] +
                               0.5 * ((const double *)a)[i] * ((const double *)b)[i];
        else
            ((float *)y)[i] = ((const float *)a)[i] + ((const float *)b)[i] +
                              0.5f * ((const float *)a)[i] * ((const float *)b)[i];
}

static inline void user_mpi(void *in, void *inout, int *length, MPI_Datatype *type)
{
    user_combine(*type == MPI_DOUBLE ? DIFF_DOUBLE : DIFF_FLOAT, (size_t)*length, in, inout, inout);
}

static inline void user_partials(enum diff_type type, size_t count, const void *a, const void *b,
                                 void *by_a, void *by_b)
{
    for (size_t i = 0; i < count; i++)
        if (type == DIFF_DOUBLE) {
            if (by_a)
                ((double *)by_a)[i] = 1 + 0.5 * ((const double *)b)[i];
            if (by_b)
                ((double *)by_b)[i] = 1 + 0.5 * ((const double *)a)[i];
        } else {
            if (by_a)
                ((float *)by_a)[i] = 1 + 0.5f * ((const float *)b)[i];
            if (by_b)
                ((float *)by_b)[i] = 1 + 0.5f * ((const float *)a)[i];
        }
}

static inline void user_second(enum diff_type type, size_t count, const void *a, const void *b,
                               void *aa, void *ab, void *bb)
{
    size_t size = type == DIFF_DOUBLE ? sizeof(double) : sizeof(float);
    (void)a, (void)b;
    if (aa)
        memset(aa, 0, count * size);
    if (bb)
        memset(bb, 0, count * size);
    for (size_t i = 0; ab && i < count; i++)
        if (type == DIFF_DOUBLE)
            ((double *)ab)[i] = 0.5;
        else
            ((float *)ab)[i] = 0.5f;
}

static const struct diff_op_rules user_rules = {user_combine, user_partials, user_second};

/* Communicators that steps may use: as collective as they are. */
static inline void calls_begin(struct calls *calls)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &calls->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &calls->size);
    calls->right = (calls->rank + 1) % calls->size;
    calls->left = (calls->rank + calls->size - 1) % calls->size;
    calls->first = calls->rank < (calls->size + 1) / 2;
    int nobody = calls->size - 1;
    /* The ring, a second edge to the right, an edge to itself; one rank has no edges but these. */
    int to[] = {calls->right, calls->right, calls->rank},
        from[] = {calls->left, calls->left, calls->rank};
    int out = calls->rank == nobody ? 1 : 3, in = calls->left == nobody ? 1 : 3;
    MPI_Comm_split(MPI_COMM_WORLD, calls->rank % 2, -calls->rank, &calls->halves);
    MPI_Comm_split(MPI_COMM_WORLD, 0, (calls->rank * 3) % 5, &calls->shared);
    int weights[] = {1, 1, 1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from + 3 - in, weights, out, to + 3 - out,
                                   weights, MPI_INFO_NULL, 0, &calls->graph);
    calls->two = MPI_COMM_NULL;
    if (calls->size > 1) {
        MPI_Comm own;
        MPI_Comm_split(MPI_COMM_WORLD, calls->first, calls->rank, &own);
        MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, calls->first ? (calls->size + 1) / 2 : 0, 3,
                             &calls->two);
        MPI_Comm_free(&own);
    }
    MPI_Op_create(user_mpi, 1, &calls->user);
    diff_op_register(calls->user, &user_rules);
}

static inline void calls_end(struct calls *calls)
{
    MPI_Comm_free(&calls->halves);
    MPI_Comm_free(&calls->shared);
    MPI_Comm_free(&calls->graph);
    if (calls->two != MPI_COMM_NULL)
        MPI_Comm_free(&calls->two);
    MPI_Op_free(&calls->user);
}

/* ---- collectives ---- */

/* Counts and displacements of v and w forms: of each peer some values, of one none, gaps between. */
struct call_layout {
    int send_counts[2 * CALL_RANKS], send_places[2 * CALL_RANKS];
    int receive_counts[2 * CALL_RANKS], receive_places[2 * CALL_RANKS];
    MPI_Datatype types[2 * CALL_RANKS];
    size_t sent, received;
};

static inline int call_part(int from, int to, uint64_t what)
{
    return (int)((uint64_t)(from * 2 + to * 3) + what) % 3;
}

static inline void call_layout_fill(struct call_layout *layout, const struct calls *calls,
                                    MPI_Comm comm, enum diff_collective kind, uint64_t what)
{
    int rank, size, in, out, weighted, sources[3], targets[3], weights[3];
    bool w = kind == DIFF_ALLTOALLW || kind == DIFF_NEIGHBOR_ALLTOALLW;
    int unit = w ? calls->type == DIFF_DOUBLE ? 8 : 4 : 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    in = out = size;
    bool graph = kind >= DIFF_NEIGHBOR_ALLGATHER;
    if (graph) {
        MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
        MPI_Dist_graph_neighbors(comm, in, sources, weights, out, targets, weights);
    }
    /* What one rank sends to all of them is as much for each. */
    bool own = kind == DIFF_ALLGATHERV || kind == DIFF_GATHERV || kind == DIFF_NEIGHBOR_ALLGATHERV;
    bool alike = kind == DIFF_SCATTERV || kind == DIFF_REDUCE_SCATTER; /* all tell of all */
    *layout = (struct call_layout){.sent = 0};
    for (int i = 0; i < (in > out ? in : out); i++) {
        layout->types[i] = calls->type == DIFF_DOUBLE ? MPI_DOUBLE : MPI_FLOAT;
        if (i < out) {
            int to = own ? 0 : graph ? targets[i] : i;
            layout->send_counts[i] = call_part(alike ? 0 : rank, to, what);
            layout->send_places[i] = (int)layout->sent * unit;
            layout->sent += (size_t)layout->send_counts[i] + what % 2;
        }
        if (i < in) {
            int from = graph ? sources[i] : i;
            layout->receive_counts[i] =
                alike ? call_part(0, i, what) : call_part(from, own ? 0 : rank, what);
            layout->receive_places[i] = (int)layout->received * unit;
            layout->received += (size_t)layout->receive_counts[i] + what / 2 % 2;
        }
    }
}

static inline MPI_Op call_op(const struct calls *calls, uint64_t which)
{
    const MPI_Op ops[] = {MPI_SUM, DIFF_AVG,   MPI_PROD,   MPI_MAX,
                          MPI_MIN, MPI_MINLOC, MPI_MAXLOC, calls->user};
    bool complex_type = calls->type > DIFF_DOUBLE;
    return ops[complex_type ? which % 3 : which];
}

static inline bool call_reduces(enum diff_collective kind)
{
    return kind == DIFF_REDUCE || kind == DIFF_ALLREDUCE || kind == DIFF_REDUCE_SCATTER ||
           kind == DIFF_REDUCE_SCATTER_BLOCK || kind == DIFF_SCAN || kind == DIFF_EXSCAN;
}

static inline struct diff_tensor *call_zeros(const struct calls *calls, size_t count)
{
    return diff_zeros(calls->tape, calls->type, 1, &count);
}

/* What a rank gives to a collective of this kind. */
static inline struct diff_tensor *call_given(const struct calls *calls, enum diff_collective kind,
                                             struct diff_tensor *x, int size,
                                             const struct call_layout *layout)
{
    struct diff_tensor *wide = call_wide(x, 2 * CALL_RANKS);
    switch (kind) {
    case DIFF_SCATTER:
    case DIFF_REDUCE_SCATTER_BLOCK:
    case DIFF_ALLTOALL:
        return diff_slice(wide, 0, calls->count * (size_t)size);
    case DIFF_NEIGHBOR_ALLTOALL:
        return diff_slice(wide, 0, calls->count * (calls->rank == calls->size - 1 ? 1 : 3));
    case DIFF_GATHERV:
    case DIFF_ALLGATHERV:
    case DIFF_NEIGHBOR_ALLGATHERV:
        return diff_slice(wide, 1, (size_t)layout->send_counts[0]);
    case DIFF_SCATTERV:
    case DIFF_ALLTOALLV:
    case DIFF_ALLTOALLW:
    case DIFF_NEIGHBOR_ALLTOALLV:
    case DIFF_NEIGHBOR_ALLTOALLW:
        return diff_slice(wide, 1, layout->sent);
    case DIFF_REDUCE_SCATTER: {
        size_t sum = 0;
        for (int i = 0; i < size; i++)
            sum += (size_t)layout->receive_counts[i];
        return diff_slice(wide, 1, sum);
    }
    default:
        return x;
    }
}

static inline struct diff_tensor *call_made(const struct calls *calls, struct diff_tensor *x,
                                            uint64_t what)
{
    enum diff_collective kind =
        (enum diff_collective)(1 + choice(what, (uint64_t)DIFF_COLLECTIVES - 1));
    bool graph = kind >= DIFF_NEIGHBOR_ALLGATHER;
    bool scan = kind == DIFF_SCAN || kind == DIFF_EXSCAN;
    const MPI_Comm comms[] = {MPI_COMM_WORLD, calls->halves, calls->shared};
    struct diff_call call = {.kind = kind,
                             .comm = graph ? calls->graph : comms[choice(what + 1, 3)]};
    struct call_layout layout;
    int rank, size;
    MPI_Comm_rank(call.comm, &rank);
    MPI_Comm_size(call.comm, &size);
    if (calls->type > DIFF_DOUBLE && (kind == DIFF_ALLTOALLW || kind == DIFF_NEIGHBOR_ALLTOALLW))
        return x; /* its types would be others */
    call_layout_fill(&layout, calls, call.comm, kind, choice(what + 2, 12));
    call.root = (int)choice(what + 3, 60) % size;
    call.op = call_op(calls, scan && choice(what + 4, 8) == 1 ? 0 : choice(what + 4, 8));
    if (scan && call.op == DIFF_AVG)
        call.op = MPI_SUM;
    call.flags = choice(what + 5, 2) ? DIFF_NONBLOCKING : 0;
    call.send_counts = layout.send_counts, call.receive_counts = layout.receive_counts;
    call.send_displacements = layout.send_places;
    call.receive_displacements = layout.receive_places;
    call.count = kind == DIFF_SCATTERV ? (size_t)layout.send_counts[rank] : calls->count;
    if (kind == DIFF_ALLTOALLW || kind == DIFF_NEIGHBOR_ALLTOALLW)
        call.send_types = call.receive_types = layout.types;
    if (call_reduces(kind)) /* products of more than two stay small */
        x = diff_scale(x, 0.6);
    call.x = call_given(calls, kind, x, size, &layout);
    bool v = kind == DIFF_GATHERV || kind == DIFF_ALLGATHERV || kind == DIFF_ALLTOALLV ||
             kind == DIFF_NEIGHBOR_ALLGATHERV || kind == DIFF_NEIGHBOR_ALLTOALLV ||
             kind == DIFF_ALLTOALLW || kind == DIFF_NEIGHBOR_ALLTOALLW;
    if (v && choice(what + 6, 2))
        call.into = diff_slice(call_wide(x, 2 * CALL_RANKS), 0, layout.received);
    else if (v)
        call.into = call_zeros(calls, layout.received);
    bool alone = kind == DIFF_ALLREDUCE || scan;
    if (alone && choice(what + 7, 3) == 0) {
        call.flags |= DIFF_IN_PLACE;
        call.x = diff_scale(call.x, 1);
    }
    struct diff_tensor *y = diff_collective(&call);
    return call_head(call.flags & DIFF_NONBLOCKING ? diff_wait(y) : y, x);
}

/* ---- messages ---- */

static inline struct diff_tensor *call_message(const struct calls *calls, struct diff_tensor *x,
                                               uint64_t what)
{
    int right = calls->right, left = calls->left;
    MPI_Comm world = MPI_COMM_WORLD;
    bool any = choice(what + 1, 2);
    struct diff_tensor *room = diff_scale(x, -0.5), *results[2];
    struct diff_tensor *part = choice(what + 2, 2) ? diff_slice(x, 0, calls->count - 1) : x;
    struct diff_tensor *handles[2];
    size_t indices[2], got = 0;
    if (choice(what, 6) == 0)
        return diff_sendrecv(part, right, 1, room, any ? MPI_ANY_SOURCE : left, 1, world);
    if (choice(what, 6) == 1)
        return diff_sendrecv_replace(x, right, 1, left, 1, world);
    if (choice(what, 6) == 2) { /* along a line, blocking */
        struct diff_tensor *y =
            diff_recv(room, calls->rank ? left : MPI_PROC_NULL, any ? MPI_ANY_TAG : 2, world);
        diff_ssend(part, calls->rank + 1 < calls->size ? right : MPI_PROC_NULL, 2, world);
        return y;
    }
    if (choice(what, 6) == 3) {
        struct diff_persistent *both[] = {
            diff_recv_init(calls->tape, calls->type, calls->count, left, 4, world),
            diff_send_init(calls->tape, calls->type, calls->count, right, 4, world)};
        for (int i = 0; i < 2; i++) {
            diff_startall(2, both, (struct diff_tensor *[]){room, x}, handles);
            diff_waitall(2, handles, results);
            x = diff_tanh(results[0]);
            room = diff_scale(x, -0.5);
        }
        diff_persistent_free(both[0]);
        diff_persistent_free(both[1]);
        return x;
    }
    handles[0] = diff_irecv(room, any ? MPI_ANY_SOURCE : left, 3, world);
    handles[1] = choice(what + 3, 2) ? diff_issend(part, right, 3, world)
                                     : diff_isend(part, right, 3, world);
    if (choice(what, 6) == 4) {
        diff_waitall(2, handles, results);
        return results[0];
    }
    struct diff_tensor *some[2], *y = NULL;
    while ((got = diff_waitsome(2, handles, indices, some)) > 0)
        for (size_t i = 0; i < got; i++)
            if (indices[i] == 0)
                y = some[i];
    return y;
}

/* ---- windows, two groups, replicated values ---- */

static inline struct diff_tensor *call_window(const struct calls *calls, struct diff_tensor *x,
                                              uint64_t what)
{
    struct diff_window *window = diff_win_create(diff_scale(x, 0.7), MPI_COMM_WORLD);
    struct diff_tensor *half = diff_slice(x, 0, calls->count / 2), *got = NULL;
    diff_win_fence(window);
    switch (choice(what, 5)) {
    case 0:
        diff_win_put(window, half, calls->right, 1);
        break;
    case 1:
        diff_win_accumulate(window, half, calls->right, 1, MPI_SUM);
        diff_win_accumulate(window, half, 0, 0, MPI_SUM);
        break;
    case 2:
        got = diff_win_get(window, calls->count / 2, 0, 1);
        break;
    case 3:
        got = diff_win_get_accumulate(window, half, calls->left, 1, MPI_SUM);
        break;
    default:
        got = diff_win_get_accumulate(window, half, calls->left, 0, MPI_REPLACE);
    }
    diff_win_fence(window);
    struct diff_tensor *y = diff_scale(diff_win_memory(window), 1);
    return got ? call_head(got, y) : y;
}

static inline struct diff_tensor *call_between(const struct calls *calls, struct diff_tensor *x,
                                               uint64_t what)
{
    static const enum diff_collective kinds[] = {DIFF_BCAST, DIFF_REDUCE, DIFF_GATHER,
                                                 DIFF_ALLREDUCE, DIFF_ALLGATHER};
    int rank, own;
    if (calls->two == MPI_COMM_NULL)
        return x;
    MPI_Comm_rank(calls->two, &rank);
    MPI_Comm_size(calls->two, &own);
    struct diff_call call = {.kind = kinds[choice(what, 5)],
                             .x = diff_scale(x, 0.6),
                             .comm = calls->two,
                             .op = choice(what + 1, 2) ? MPI_SUM : MPI_PROD};
    if (call.kind <= DIFF_REDUCE || call.kind == DIFF_GATHER)
        call.root = !calls->first ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    call.flags = choice(what + 2, 2) ? DIFF_NONBLOCKING : 0;
    struct diff_tensor *y = diff_collective(&call);
    y = call.flags & DIFF_NONBLOCKING ? diff_wait(y) : y;
    return call_head(y, x);
}

#endif
