/* A wrong gradient never passes: for every operation, one term of its adjoint after the other gets
 * its sign turned round, and the gradient check must notice each of them. */
#include "tests/collectives/diff_public.h"
#include "tests/diff_world.h"

#include <math.h>
#include <stdlib.h>

enum { N = 4, RANKS = 3 };

struct here {
    struct diff_tape *tape;
    int rank, size;
    struct diff_tensor *x, *w;
};

/* The node whose adjoint is spoiled is the one the body makes next after begin: number 1. */
static struct here begin(size_t count)
{
    struct here here;
    double values[32], weights[32];
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.size);
    for (size_t i = 0; i < 32; i++) {
        values[i] = 0.7 + 0.13 * (double)i - 0.21 * here.rank;
        weights[i] = 1.1 + 0.3 * here.rank - 0.17 * (double)i;
    }
    here.tape = diff_tape_new(MPI_COMM_WORLD);
    here.x = diff_input(here.tape, "x", DIFF_DOUBLE, 1, &count, values);
    here.w = diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){32}, weights);
    return here;
}

static void end(struct here *here, struct diff_tensor *y)
{
    size_t count = diff_count(y);
    struct diff_tensor *flat = diff_reshape(y, 1, &count);
    diff_backward(diff_dot(flat, diff_slice(here->w, 0, count)));
    diff_tape_free(here->tape);
}

#define BODY(name, count, ...)                                                                     \
    static void name(void)                                                                         \
    {                                                                                              \
        struct here here = begin(count);                                                           \
        struct diff_tensor *x = here.x;                                                            \
        int rank = here.rank, size = here.size;                                                    \
        (void)rank, (void)size;                                                                    \
        end(&here, __VA_ARGS__);                                                                   \
    }
#define RIGHT ((rank + 1) % size)
#define LEFT  ((rank + size - 1) % size)
#define WORLD MPI_COMM_WORLD

BODY(add, N, diff_add(x, x))
BODY(sub, N, diff_sub(x, diff_slice(here.w, 0, N)))
BODY(mul, N,
     diff_mul(x, diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1, 2, 3, 4})))
BODY(div_, N,
     diff_div(x, diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1, 2, 3, 4})))
BODY(neg, N, diff_neg(x))
BODY(scale, N, diff_scale(x, 3))
BODY(shift, N, diff_shift(x, 3))
BODY(sum, N, diff_sum(x))
BODY(mean, N, diff_mean(x))
BODY(dot, N,
     diff_dot(x, diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1, 2, 3, 4})))
BODY(exp_, N, diff_exp(x))
BODY(log_, N, diff_log(x))
BODY(tanh_, N, diff_tanh(x))
BODY(sigmoid, N, diff_sigmoid(x))
BODY(relu, N, diff_relu(x))
BODY(reshape, N, diff_reshape(x, 2, (size_t[]){2, 2}))
BODY(slice, N, diff_slice(x, 1, 2))
BODY(gather_rows, N, diff_gather_rows(x, 3, (size_t[]){1, 3, 1}))
/* ---- messages: round a ring, except where a blocking send needs its receive elsewhere ---- */

/* A short message, so that the tail of the buffer has terms of its own. */
#define SHORT diff_slice(x, 0, N - 1)
#define ROOM  diff_scale(x, 0.5)
/* Along a line: the last rank sends to nobody, the first receives from nobody. */
#define NEXT     (rank + 1 < size ? rank + 1 : MPI_PROC_NULL)
#define PREVIOUS (rank > 0 ? rank - 1 : MPI_PROC_NULL)

typedef struct diff_tensor *send_function(struct diff_tensor *x, int destination, int tag,
                                          MPI_Comm comm);

/* Receives, then sends: along a line. */
static struct diff_tensor *line(struct diff_tensor *x, struct diff_tensor *buffer,
                                send_function *send, int next, int previous, int tag)
{
    struct diff_tensor *y = diff_recv(buffer, previous, tag, WORLD);
    send(x, next, 1, WORLD);
    return y;
}

static struct diff_tensor *both(struct diff_tensor *receive, struct diff_tensor *send, bool any)
{
    struct diff_tensor *handles[] = {receive, send}, *results[2], *got;
    size_t index;
    if (!any) {
        diff_waitall(2, handles, results);
        return results[0];
    }
    while ((got = diff_waitany(2, handles, &index)) != NULL)
        results[index] = got;
    return results[0];
}

static struct diff_tensor *tested(struct diff_tensor *x, struct diff_tensor *buffer, int right,
                                  int left)
{
    struct diff_tensor *receive = diff_irecv(buffer, left, 1, WORLD), *y;
    struct diff_tensor *send = diff_issend(x, right, 1, WORLD);
    while (!(y = diff_test(receive)))
        ;
    diff_wait(send);
    return y;
}

/* Starts to receive, then sends: round a ring. */
static struct diff_tensor *round_ring(struct diff_tensor *x, struct diff_tensor *buffer,
                                      send_function *send, int right, int left, int tag,
                                      bool starts)
{
    struct diff_tensor *receive = diff_irecv(buffer, left, tag, WORLD);
    MPI_Barrier(WORLD); /* a ready send needs the receive to be posted */
    struct diff_tensor *sent = send(x, right, 1, WORLD);
    return starts ? both(receive, sent, tag != 1) : diff_wait(receive);
}

static struct diff_tensor *mprobed(struct diff_tensor *x, struct diff_tensor *buffer, int right)
{
    MPI_Message message;
    struct diff_tensor *send = diff_isend(x, right, 1, WORLD);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &message, MPI_STATUS_IGNORE);
    struct diff_tensor *y = diff_mrecv(buffer, &message, WORLD);
    diff_wait(send);
    return y;
}

static struct diff_tensor *started(struct diff_tape *tape, struct diff_tensor *x,
                                   struct diff_tensor *buffer, int right, int source)
{
    struct diff_persistent *out = diff_send_init(tape, DIFF_DOUBLE, N, right, 5, WORLD);
    struct diff_persistent *in = diff_recv_init(tape, DIFF_DOUBLE, N, source, 5, WORLD);
    struct diff_tensor *handles[2];
    if (source == MPI_ANY_SOURCE) {
        diff_startall(2, (struct diff_persistent *[]){in, out}, (struct diff_tensor *[]){buffer, x},
                      handles);
    } else {
        handles[0] = diff_start(in, buffer);
        handles[1] = diff_start(out, x);
    }
    struct diff_tensor *y = both(handles[0], handles[1], false);
    diff_persistent_free(out);
    diff_persistent_free(in);
    return y;
}

/* Buffered sends need a buffer. */
static struct diff_tensor *buffered(struct diff_tensor *x, struct diff_tensor *buffer, int right,
                                    int left, bool starts)
{
    char *room = calloc(1, 4096);
    void *back;
    int size;
    MPI_Buffer_attach(room, 4096);
    struct diff_tensor *y = starts ? round_ring(x, buffer, diff_ibsend, right, left, 1, true)
                                   : line(x, buffer, diff_bsend, right, left, 1);
    MPI_Buffer_detach(&back, &size);
    free(room);
    return y;
}

static struct diff_tensor *after_barrier(struct diff_tape *tape, struct diff_tensor *x)
{
    diff_barrier(tape, WORLD);
    return diff_scale(x, 2);
}

BODY(send, N, line(SHORT, ROOM, diff_send, NEXT, PREVIOUS, 1))
BODY(ssend, N, line(SHORT, ROOM, diff_ssend, NEXT, PREVIOUS, 1))
BODY(bsend, N, buffered(SHORT, ROOM, NEXT, PREVIOUS, false))
BODY(recv, N, line(SHORT, ROOM, diff_send, NEXT, PREVIOUS, 1))
BODY(recv_any, N,
     line(SHORT, ROOM, diff_send, NEXT, rank ? MPI_ANY_SOURCE : MPI_PROC_NULL, MPI_ANY_TAG))
BODY(rsend, N, round_ring(SHORT, ROOM, diff_rsend, RIGHT, LEFT, 1, false))
BODY(irsend, N, round_ring(SHORT, ROOM, diff_irsend, RIGHT, LEFT, 1, true))
BODY(ibsend, N, buffered(SHORT, ROOM, RIGHT, LEFT, true))
BODY(isend, N, round_ring(SHORT, ROOM, diff_isend, RIGHT, LEFT, 1, true))
BODY(issend, N, tested(SHORT, ROOM, RIGHT, LEFT))
BODY(irecv, N, round_ring(SHORT, ROOM, diff_isend, RIGHT, LEFT, 1, true))
BODY(irecv_any, N, round_ring(SHORT, ROOM, diff_isend, RIGHT, MPI_ANY_SOURCE, MPI_ANY_TAG, true))
BODY(mrecv, N, mprobed(SHORT, ROOM, RIGHT))
BODY(persistent, N, started(here.tape, x, ROOM, RIGHT, LEFT))
BODY(persistent_any, N, started(here.tape, x, ROOM, RIGHT, MPI_ANY_SOURCE))
BODY(sendrecv, N, diff_sendrecv(SHORT, RIGHT, 1, ROOM, LEFT, 1, WORLD))
BODY(sendrecv_any, N, diff_sendrecv(SHORT, RIGHT, 1, ROOM, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD))
BODY(sendrecv_replace, N, diff_sendrecv_replace(x, RIGHT, 1, LEFT, 1, WORLD))

/* ---- collectives by their functions ---- */

BODY(bcast, N, diff_bcast(x, 1, WORLD))
BODY(reduce, N, diff_reduce(x, MPI_SUM, 1, WORLD))
BODY(allreduce_sum, N, diff_allreduce(x, MPI_SUM, WORLD))
BODY(allreduce_avg, N, diff_allreduce(x, DIFF_AVG, WORLD))
BODY(allreduce_prod, N, diff_allreduce(x, MPI_PROD, WORLD))
BODY(allreduce_max, N, diff_allreduce(x, MPI_MAX, WORLD))
BODY(allreduce_min, N, diff_allreduce(x, MPI_MIN, WORLD))
BODY(gather, N, diff_gather(x, 2, WORLD))
BODY(scatter, N *RANKS, diff_scatter(x, N, 1, WORLD))
BODY(allgather, N, diff_allgather(x, WORLD))
BODY(reduce_scatter, 6, diff_reduce_scatter(x, (int[]){1, 3, 2}, MPI_SUM, WORLD))
BODY(reduce_scatter_block, 6, diff_reduce_scatter_block(x, MPI_SUM, WORLD))
BODY(alltoall, 6, diff_alltoall(x, WORLD))
BODY(scan_sum, N, diff_scan(x, MPI_SUM, WORLD))
BODY(scan_prod, N, diff_scan(x, MPI_PROD, WORLD))
BODY(scan_max, N, diff_scan(x, MPI_MAX, WORLD))
BODY(exscan_sum, N, diff_exscan(x, MPI_SUM, WORLD))
BODY(exscan_prod, N, diff_exscan(x, MPI_PROD, WORLD))
BODY(gatherv, 2, diff_gatherv(x, NULL, (int[]){2, 2, 2}, (int[]){0, 3, 6}, 0, WORLD))
BODY(scatterv, 7, diff_scatterv(x, (int[]){2, 2, 2}, (int[]){0, 1, 4}, 2, 1, WORLD))
BODY(allgatherv, 2, diff_allgatherv(x, NULL, (int[]){2, 2, 2}, NULL, WORLD))
BODY(alltoallv, 6,
     diff_alltoallv(x, (int[]){2, 2, 2}, (int[]){0, 1, 4}, NULL, (int[]){2, 2, 2}, (int[]){0, 2, 4},
                    WORLD))
BODY(barrier, N, after_barrier(here.tape, x))
BODY(ibcast, N, diff_wait(diff_ibcast(x, 1, WORLD)))
BODY(ireduce, N, diff_wait(diff_ireduce(x, MPI_SUM, 1, WORLD)))
BODY(iallreduce, N, diff_wait(diff_iallreduce(x, MPI_SUM, WORLD)))
BODY(igather, N, diff_wait(diff_igather(x, 2, WORLD)))
BODY(iscatter, N *RANKS, diff_wait(diff_iscatter(x, N, 1, WORLD)))
BODY(iallgather, N, diff_wait(diff_iallgather(x, WORLD)))
BODY(ialltoall, 6, diff_wait(diff_ialltoall(x, WORLD)))
BODY(replicate, N, diff_replicate(x, WORLD))

/* The cotangents of g must be alike on all ranks: so are those of a sum over ranks. */
BODY(reduce_invariant, N, diff_allreduce(diff_reduce_invariant(x, WORLD), MPI_SUM, WORLD))

/* ---- every collective of the library's table, by the general call ---- */

/* A ring in which every rank also has an edge to itself. */
static MPI_Comm ring(int right, int left, int rank)
{
    MPI_Comm comm;
    int weights[] = {1, 1};
    MPI_Dist_graph_create_adjacent(WORLD, 2, (int[]){left, rank}, weights, 2, (int[]){right, rank},
                                   weights, MPI_INFO_NULL, 0, &comm);
    return comm;
}

static struct diff_tensor *neighbors(struct diff_tensor *x, int right, int left, int rank,
                                     struct diff_tensor *(*operation)(struct diff_tensor *x,
                                                                      MPI_Comm comm))
{
    MPI_Comm comm = ring(right, left, rank);
    struct diff_tensor *y = operation(x, comm);
    MPI_Comm_free(&comm);
    return y;
}

BODY(neighbor_allgather, N, neighbors(x, RIGHT, LEFT, rank, diff_neighbor_allgather))
BODY(neighbor_alltoall, N, neighbors(x, RIGHT, LEFT, rank, diff_neighbor_alltoall))

/* All have blocks of two values per rank or neighbor; what is received lies two apart, or with
 * byte displacements. */
static struct diff_tensor *called(struct diff_tensor *x, enum diff_collective kind, unsigned flags,
                                  MPI_Op op)
{
    static const int twos[] = {2, 2, 2}, begins[] = {0, 2, 4}, bytes[] = {0, 16, 32};
    int rank, size;
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    bool neighbor = kind >= DIFF_NEIGHBOR_ALLGATHER;
    bool w = kind == DIFF_ALLTOALLW || kind == DIFF_NEIGHBOR_ALLTOALLW;
    const MPI_Datatype doubles[] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
    struct diff_call call = {.kind = kind,
                             .x = x,
                             .comm = neighbor ? ring(RIGHT, LEFT, rank) : WORLD,
                             .op = op,
                             .root = 1,
                             .flags = flags,
                             .count = 2,
                             .send_counts = twos,
                             .receive_counts = twos,
                             .send_displacements = w ? bytes : begins,
                             .receive_displacements = w ? bytes : begins};
    if (w)
        call.send_types = call.receive_types = doubles;
    struct diff_tensor *y = diff_collective(&call);
    if (neighbor)
        MPI_Comm_free(&call.comm);
    return flags & DIFF_NONBLOCKING ? diff_wait(y) : y;
}

/* How many values a rank has for this. */
static size_t values_of(enum diff_collective kind, unsigned flags)
{
    switch (kind) {
    case DIFF_GATHER:
    case DIFF_GATHERV:
    case DIFF_ALLGATHER:
    case DIFF_ALLGATHERV:
        return flags & DIFF_IN_PLACE ? 6 : 2;
    case DIFF_SCATTER:
    case DIFF_SCATTERV:
    case DIFF_REDUCE_SCATTER:
    case DIFF_REDUCE_SCATTER_BLOCK:
    case DIFF_ALLTOALL:
    case DIFF_ALLTOALLV:
    case DIFF_ALLTOALLW:
        return 6;
    case DIFF_NEIGHBOR_ALLTOALL:
    case DIFF_NEIGHBOR_ALLTOALLV:
    case DIFF_NEIGHBOR_ALLTOALLW:
        return 4;
    default:
        return 2;
    }
}

/* The body is a function without arguments: what it is to run is here. */
static struct {
    enum diff_collective kind;
    unsigned flags;
    MPI_Op op;
} general;

static void general_body(void)
{
    struct here here = begin(values_of(general.kind, general.flags));
    struct diff_tensor *x = here.x;
    if (general.flags & DIFF_IN_PLACE && here.rank != 1 &&
        (general.kind == DIFF_GATHER || general.kind == DIFF_GATHERV))
        x = diff_slice(x, 0, 2);
    end(&here, called(x, general.kind, general.flags, general.op));
}

static const struct operation {
    const char *name;
    const char *flipped; /* the operation whose adjoint is spoiled; NULL: node 1's */
    const char *partner; /* what else may be told instead: the message's other end */
    void (*body)(void);
    size_t count; /* terms of the adjoint on every rank */
} operations[] = {
#define ROW(name, count)                                                                           \
    {                                                                                              \
#name, NULL, NULL, name, count                                                             \
    }
#define MESSAGE(name, flipped, partner, count)                                                     \
    {                                                                                              \
#name, flipped, partner, name, count                                                       \
    }
    ROW(add, N),
    ROW(sub, N),
    ROW(mul, N),
    ROW(div_, N),
    ROW(neg, N),
    ROW(scale, N),
    ROW(shift, N),
    ROW(sum, N),
    ROW(mean, N),
    ROW(dot, N),
    ROW(exp_, N),
    ROW(log_, N),
    ROW(tanh_, N),
    ROW(sigmoid, N),
    ROW(relu, N),
    ROW(reshape, N),
    ROW(slice, N),
    ROW(gather_rows, N),
    ROW(bcast, N),
    ROW(reduce, N),
    ROW(allreduce_sum, N),
    ROW(allreduce_avg, N),
    ROW(allreduce_prod, N),
    ROW(allreduce_max, N),
    ROW(allreduce_min, N),
    ROW(gather, N),
    ROW(scatter, N *RANKS),
    ROW(allgather, N),
    ROW(reduce_scatter, 6),
    ROW(reduce_scatter_block, 6),
    ROW(alltoall, 6),
    ROW(scan_sum, N),
    ROW(scan_prod, N),
    ROW(scan_max, N),
    ROW(exscan_sum, N),
    ROW(exscan_prod, N),
    ROW(gatherv, 2),
    ROW(scatterv, 7),
    ROW(allgatherv, 2),
    ROW(alltoallv, 6),
    ROW(ibcast, N),
    ROW(ireduce, N),
    ROW(iallreduce, N),
    ROW(igather, N),
    ROW(iscatter, N *RANKS),
    ROW(iallgather, N),
    ROW(ialltoall, 6),
    ROW(neighbor_allgather, N),
    ROW(neighbor_alltoall, N),
    ROW(replicate, N),
    ROW(reduce_invariant, N),
    MESSAGE(send, "Send", "Recv", N - 1),
    MESSAGE(ssend, "Ssend", "Recv", N - 1),
    MESSAGE(bsend, "Bsend", "Recv", N - 1),
    MESSAGE(rsend, "Rsend", "Irecv", N - 1),
    MESSAGE(isend, "Isend", "Irecv", N - 1),
    MESSAGE(issend, "Issend", "Irecv", N - 1),
    MESSAGE(ibsend, "Ibsend", "Irecv", N - 1),
    MESSAGE(irsend, "Irsend", "Irecv", N - 1),
    MESSAGE(recv, "Recv", "Send", N),
    MESSAGE(recv_any, "Recv", "Send", N),
    MESSAGE(mrecv, "Recv", "Isend", N),
    MESSAGE(irecv, "Irecv", "Isend", N),
    MESSAGE(irecv_any, "Irecv", "Isend", N),
    MESSAGE(persistent, "Isend", "Irecv", N),
    MESSAGE(persistent_any, "Isend", "Irecv", N),
    MESSAGE(sendrecv, "Sendrecv", NULL, N - 1),
    MESSAGE(sendrecv_any, "Sendrecv", NULL, N - 1),
    MESSAGE(sendrecv_replace, "Sendrecv", NULL, N),
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* A term that is zero on every rank stays right whatever its sign is: no finding is expected. */
static bool is_zero(const double *terms, int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (terms[r] != 0)
            return false;
    return true;
}

struct score {
    int tried, noticed, told, zero_wrong;
};

static bool is_reported(const struct operation *operation, const struct gradcheck_culprit *culprit)
{
    if (!culprit->found)
        return false;
    if (!operation->flipped)
        return culprit->sequence <= 2;
    return strcmp(culprit->name, operation->flipped) == 0 ||
           (operation->partner && strcmp(culprit->name, operation->partner) == 0);
}

/* What the flip is told to turn: term `part` (from 1) of the operation on every rank. */
static struct score flips(const struct operation *operation)
{
    struct score score = {0};
    for (size_t part = 1; part <= operation->count; part++) {
        struct gradcheck_options options = gradcheck_options_default();
        double terms[RANKS] = {0};
        options.flip = 1;
        options.flip_name = operation->flipped;
        options.flip_part = part;
        options.flipped = terms;
        struct gradcheck_result result = diff_world_check(operation->body, RANKS, &options);
        bool wrong = !result.base_failed && result.row_count > 0 && result.failed > 0;
        if (is_zero(terms, RANKS)) {
            score.zero_wrong += wrong;
        } else {
            score.tried++;
            score.noticed += wrong;
            score.told += is_reported(operation, &result.culprit);
        }
        gradcheck_release(&result);
    }
    return score;
}

/* ---- who took part: the public functions and operations that ran in the bodies ---- */

enum { NAMES = 400 };
struct names {
    char name[NAMES][40];
    int count;
};

static bool has(const struct names *names, const char *name)
{
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->name[i], name) == 0)
            return true;
    return false;
}

static void add_name(struct names *names, const char *name)
{
    if (name && !has(names, name) && names->count < NAMES)
        snprintf(names->name[names->count++], sizeof names->name[0], "%s", name);
}

/* Both what the node is and who made it. */
static void names_collect(void (*body)(void), struct names *functions, struct names *nodes)
{
    struct diff_world world = {RANKS, body, SIM_SEND_EAGER, 0};
    struct diff_probe probe;
    diff_probe_init(&probe, RANKS);
    probe.trace = true;
    diff_world_run(&world, &probe, 0);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < probe.rows[r].node_count; i++) {
            add_name(functions, probe.rows[r].nodes[i].function);
            add_name(nodes, probe.rows[r].nodes[i].name);
        }
    diff_probe_release(&probe);
}

static struct names functions, nodes;
static int terms_tried;

static void operation_test(const struct operation *operation)
{
    if (!checked_takes())
        return;
    struct score score = flips(operation);
    tap_ok(score.tried > 0 && score.noticed == score.tried && score.zero_wrong == 0,
           "%s: %d of %d wrong terms are noticed, %d that are zero on all ranks change nothing",
           operation->name, score.noticed, score.tried, (int)operation->count - score.tried);
    tap_ok(score.told == score.tried, "%s: and told as the first wrong adjoint", operation->name);
    names_collect(operation->body, &functions, &nodes);
    terms_tried += score.tried;
}

static bool takes_in_place(enum diff_collective kind)
{
    return kind != DIFF_BARRIER && kind < DIFF_NEIGHBOR_ALLGATHER;
}

static bool reduces(enum diff_collective kind)
{
    return kind == DIFF_REDUCE || kind == DIFF_ALLREDUCE || kind == DIFF_REDUCE_SCATTER ||
           kind == DIFF_REDUCE_SCATTER_BLOCK || kind == DIFF_SCAN || kind == DIFF_EXSCAN;
}

/* Every collective of the library's table: blocking, nonblocking and in place. */
static void general_tests(void)
{
    for (int kind = 0; kind < DIFF_COLLECTIVES; kind++)
        for (unsigned flags = 0; flags <= (DIFF_NONBLOCKING | DIFF_IN_PLACE); flags++) {
            const char *plain = diff_collective_name((enum diff_collective)kind);
            bool in_place = flags & DIFF_IN_PLACE, starts = flags & DIFF_NONBLOCKING;
            char name[60], flipped[40];
            if (kind == DIFF_BARRIER || (in_place && !takes_in_place((enum diff_collective)kind)))
                continue;
            general.kind = (enum diff_collective)kind;
            general.flags = flags;
            general.op = MPI_SUM;
            snprintf(flipped, sizeof flipped, "%s%s", starts ? "I" : "", plain);
            snprintf(name, sizeof name, "%s%s", flipped, in_place ? " in place" : "");
            struct operation operation = {name, flipped, NULL, general_body,
                                          values_of(general.kind, flags)};
            operation_test(&operation);
            if (!reduces((enum diff_collective)kind) || starts)
                continue;
            general.op = in_place ? MPI_MAXLOC : MPI_MINLOC;
            snprintf(name, sizeof name, "%s %s%s", flipped, in_place ? "maxloc" : "minloc",
                     in_place ? " in place" : "");
            operation_test(&operation);
        }
}

/* A barrier has no terms: it only has to be there, and to run. */
static void barrier_tests(void)
{
    names_collect(barrier, &functions, &nodes);
    general.kind = DIFF_BARRIER;
    for (general.flags = 0; general.flags <= DIFF_NONBLOCKING; general.flags++)
        names_collect(general_body, &functions, &nodes);
}

static void coverage_test(void)
{
    struct diff_public list = diff_public_read();
    char missing[2000] = "";
    for (int i = 0; i < list.count; i++)
        if (!has(&functions, list.name[i]))
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s ",
                     list.name[i]);
    tap_is_str(missing, "", "all %d functions that communicate ran with a flip", list.count);
    tap_ok(list.count > 40, "%d functions that communicate stand in diff.h", list.count);
    missing[0] = '\0';
    for (int kind = 0; kind < DIFF_COLLECTIVES; kind++)
        for (int starts = 0; starts <= 1; starts++) {
            char name[40];
            snprintf(name, sizeof name, "%s%s", starts ? "I" : "",
                     diff_collective_name((enum diff_collective)kind));
            if (!has(&nodes, name))
                snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s ", name);
        }
    tap_is_str(missing, "", "and both forms of all %d collectives", (int)DIFF_COLLECTIVES);
}

int main(void)
{
    (void)checked_open("diff_flips");
    for (int i = 0; i < OPERATIONS; i++)
        operation_test(&operations[i]);
    general_tests();
    barrier_tests();
    if (dice_part().of == 1)
        coverage_test();
    tap_note("%d terms turned round", terms_tried);
    checked_close();
    return tap_done();
}
