/* Every collective in every form with one fault at a time, and right.
 *
 * Arguments: COLLECTIVE FORM FAULT. With "list" rank 0 prints what there is, one a line, and behind
 * a colon the code that must be found, "-" for none. All calls have the same shape: one int for
 * each peer, root 0, sum; the fault is rank 1's, or everybody's where it has no other side. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEERS = 16 };

/* What one call is given. */
struct given {
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
    int *send, *receive;
    int counts[PEERS], places[PEERS];
    MPI_Count wide_counts[PEERS];
    MPI_Aint wide_places[PEERS], byte_places[PEERS];
    int narrow_byte_places[PEERS];
    MPI_Datatype types[PEERS];
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT, LARGE, LARGE_NONBLOCKING, LARGE_PERSISTENT, FORMS };
static const char *const forms[FORMS] = {"blocking", "nonblocking",       "persistent",
                                         "large",    "large-nonblocking", "large-persistent"};

#define FORM(name, iname, ARGUMENTS, WIDE)                                                         \
    static int call_##name(enum form form, struct given *g, MPI_Request *request)                  \
    {                                                                                              \
        (void)g;                                                                                   \
        switch (form) {                                                                            \
        case BLOCKING:                                                                             \
            return MPI_##name(LIST ARGUMENTS);                                                     \
        case NONBLOCKING:                                                                          \
            return MPI_##iname(LIST ARGUMENTS, request);                                           \
        case PERSISTENT:                                                                           \
            return MPI_##name##_init(LIST ARGUMENTS, MPI_INFO_NULL, request);                      \
        case LARGE:                                                                                \
            return MPI_##name##_c(LIST WIDE);                                                      \
        case LARGE_NONBLOCKING:                                                                    \
            return MPI_##iname##_c(LIST WIDE, request);                                            \
        default:                                                                                   \
            return MPI_##name##_init_c(LIST WIDE, MPI_INFO_NULL, request);                         \
        }                                                                                          \
    }

#define MPI_Barrier_c(comm)                     MPI_Barrier(comm)
#define MPI_Ibarrier_c(comm, request)           MPI_Ibarrier(comm, request)
#define MPI_Barrier_init_c(comm, info, request) MPI_Barrier_init(comm, info, request)
#define BARRIER                                 g->comm
#define BCAST                                   g->receive, g->count, g->type, g->root, g->comm
#define EACH                                    g->send, g->count, g->type, g->receive, g->count, g->type
#define REDUCE                                  g->send, g->receive, g->count, g->type, g->op
#define FROM_EACH                               g->send, g->count, g->type, g->receive, g->counts, g->places, g->type
#define FROM_EACH_C                             g->send, g->count, g->type, g->receive, g->wide_counts, g->wide_places, g->type
#define TO_EACH                                 g->send, g->counts, g->places, g->type, g->receive, g->count, g->type
#define TO_EACH_C                               g->send, g->wide_counts, g->wide_places, g->type, g->receive, g->count, g->type
#define V                                       g->send, g->counts, g->places, g->type, g->receive, g->counts, g->places, g->type
#define V_C                                                                                        \
    g->send, g->wide_counts, g->wide_places, g->type, g->receive, g->wide_counts, g->wide_places,  \
        g->type
#define W                                                                                          \
    g->send, g->counts, g->narrow_byte_places, g->types, g->receive, g->counts,                    \
        g->narrow_byte_places, g->types
#define W_A                                                                                        \
    g->send, g->counts, g->byte_places, g->types, g->receive, g->counts, g->byte_places, g->types
#define W_C                                                                                        \
    g->send, g->wide_counts, g->byte_places, g->types, g->receive, g->wide_counts, g->byte_places, \
        g->types
#define SHARES    g->send, g->receive, g->counts, g->type, g->op
#define SHARES_C  g->send, g->receive, g->wide_counts, g->type, g->op
#define ROOTED    g->root, g->comm
#define ALL       g->comm
#define LIST(...) __VA_ARGS__

/* name, I-form, arguments, those of the large form, and what it has: R(oot), O(p), T(ype), S(end
 * buffer), N(eighbours) */
#define COLLECTIVES(X)                                                                             \
    X(Barrier, Ibarrier, (BARRIER), (BARRIER), "")                                                 \
    X(Bcast, Ibcast, (BCAST), (BCAST), "RT")                                                       \
    X(Gather, Igather, (EACH, ROOTED), (EACH, ROOTED), "RTS")                                      \
    X(Gatherv, Igatherv, (FROM_EACH, ROOTED), (FROM_EACH_C, ROOTED), "RTS")                        \
    X(Scatter, Iscatter, (EACH, ROOTED), (EACH, ROOTED), "RTS")                                    \
    X(Scatterv, Iscatterv, (TO_EACH, ROOTED), (TO_EACH_C, ROOTED), "RTS")                          \
    X(Allgather, Iallgather, (EACH, ALL), (EACH, ALL), "TS")                                       \
    X(Allgatherv, Iallgatherv, (FROM_EACH, ALL), (FROM_EACH_C, ALL), "TS")                         \
    X(Alltoall, Ialltoall, (EACH, ALL), (EACH, ALL), "TS")                                         \
    X(Alltoallv, Ialltoallv, (V, ALL), (V_C, ALL), "TS")                                           \
    X(Alltoallw, Ialltoallw, (W, ALL), (W_C, ALL), "TS")                                           \
    X(Reduce, Ireduce, (REDUCE, ROOTED), (REDUCE, ROOTED), "ROTS")                                 \
    X(Allreduce, Iallreduce, (REDUCE, ALL), (REDUCE, ALL), "OTS")                                  \
    X(Reduce_scatter, Ireduce_scatter, (SHARES, ALL), (SHARES_C, ALL), "OTS")                      \
    X(Reduce_scatter_block, Ireduce_scatter_block, (REDUCE, ALL), (REDUCE, ALL), "OTS")            \
    X(Scan, Iscan, (REDUCE, ALL), (REDUCE, ALL), "OTS")                                            \
    X(Exscan, Iexscan, (REDUCE, ALL), (REDUCE, ALL), "OTS")                                        \
    X(Neighbor_allgather, Ineighbor_allgather, (EACH, ALL), (EACH, ALL), "TSN")                    \
    X(Neighbor_allgatherv, Ineighbor_allgatherv, (FROM_EACH, ALL), (FROM_EACH_C, ALL), "TSN")      \
    X(Neighbor_alltoall, Ineighbor_alltoall, (EACH, ALL), (EACH, ALL), "TSN")                      \
    X(Neighbor_alltoallv, Ineighbor_alltoallv, (V, ALL), (V_C, ALL), "TSN")                        \
    X(Neighbor_alltoallw, Ineighbor_alltoallw, (W_A, ALL), (W_C, ALL), "TSN")

#define DEFINE(name, iname, arguments, wide, has) FORM(name, iname, arguments, wide)
COLLECTIVES(DEFINE)

static const struct collective {
    const char *name, *has;
    int (*call)(enum form, struct given *, MPI_Request *);
} collectives[] = {
#define ROW(name, iname, arguments, wide, has) {#name, has, call_##name},
    COLLECTIVES(ROW)
#undef ROW
};
enum { COLLECTIVE_COUNT = sizeof collectives / sizeof *collectives };

/* What must be there: R, O, T, S as above; q: a request, p: a persistent one. And the code that
 * must be found. */
static const struct fault {
    const char *name, *needs, *code;
} faults[] = {
    {"right", "", "-"},
    {"twice", "", "-"},
    {"other-root", "R", "M002"},
    {"other-op", "O", "M003"},
    {"other-type", "T", "M004"},
    {"other-count", "T", "M005"},
    {"other-call", "", "M001|D001"},
    {"absent", "", "D001|D002|M010"},
    {"other-comm", "", "M006|D001"},
    {"bad-root", "R", "M009"},
    {"bad-count", "T", "M009"},
    {"bad-type", "T", "M009"},
    {"freed-type", "T", "M009"},
    {"uncommitted", "T", "M009"},
    {"bad-op", "O", "M009"},
    {"op-type", "O", "M009"},
    {"bad-comm", "", "M009"},
    {"unwaited", "q", "X006"},
    {"unfreed", "p", "L001"},
    {"unstarted", "p", "D001|M010 L009"},
    {"started-twice", "p", "L010"},
    {"written-send", "qS", "B001"},
    {"written-receive", "qT", "B001"},
    {"same-buffer", "S", "B002"},
};
enum { FAULT_COUNT = sizeof faults / sizeof *faults };

static int has(const char *set, char letter)
{
    return strchr(set, letter) != NULL;
}

static int fits(const struct collective *collective, enum form form, const struct fault *fault)
{
    int persistent = form == PERSISTENT || form == LARGE_PERSISTENT,
        request = form != BLOCKING && form != LARGE;
    for (const char *need = fault->needs; *need; need++)
        if (*need == 'q' ? !request : *need == 'p' ? !persistent : !has(collective->has, *need))
            return 0;
    if (form >= LARGE && !*collective->has)
        return 0; /* a barrier has no count */
    return 1;
}

static void list(void)
{
    for (int c = 0; c < COLLECTIVE_COUNT; c++)
        for (int form = 0; form < FORMS; form++)
            for (int f = 0; f < FAULT_COUNT; f++)
                if (fits(&collectives[c], (enum form)form, &faults[f]))
                    printf("%s %s %s : %s\n", collectives[c].name, forms[form], faults[f].name,
                           faults[f].code);
}

static void fill(struct given *g)
{
    for (int i = 0; i < PEERS; i++) {
        g->counts[i] = g->count;
        g->wide_counts[i] = g->count;
        g->places[i] = 2 * i;
        g->wide_places[i] = 2 * i;
        g->narrow_byte_places[i] = 8 * i;
        g->byte_places[i] = 8 * i;
        g->types[i] = g->type;
    }
}

static int is(const char *fault, const char *name)
{
    return strcmp(fault, name) == 0;
}

static MPI_Datatype derived(int committed)
{
    MPI_Datatype made;
    MPI_Type_contiguous(1, MPI_INT, &made);
    if (committed)
        MPI_Type_commit(&made);
    return made;
}

/* The fault in the arguments; those of one rank only where the others show what it differs from. */
static void spoil(struct given *g, const char *fault, int rank)
{
    if (is(fault, "bad-root"))
        g->root = 99;
    if (is(fault, "bad-count"))
        g->count = -1;
    if (is(fault, "bad-type"))
        g->type = MPI_DATATYPE_NULL;
    if (is(fault, "uncommitted"))
        g->type = derived(0);
    if (is(fault, "freed-type")) {
        MPI_Datatype freed = g->type = derived(1);
        MPI_Type_free(&freed);
    }
    if (is(fault, "bad-op"))
        g->op = MPI_OP_NULL;
    if (is(fault, "op-type")) {
        g->op = MPI_BAND;
        g->type = MPI_FLOAT;
    }
    if (is(fault, "bad-comm"))
        g->comm = MPI_COMM_NULL;
    if (is(fault, "same-buffer"))
        g->receive = g->send;
    if (rank == 1) {
        g->root = is(fault, "other-root") ? 1 : g->root;
        g->op = is(fault, "other-op") ? MPI_MAX : g->op;
        g->type = is(fault, "other-type") ? MPI_FLOAT : g->type;
        g->count = is(fault, "other-count") ? 2 : g->count;
    }
    fill(g);
}

static void finish(const char *fault, enum form form, struct given *g, MPI_Request *request,
                   int rank)
{
    int persistent = form == PERSISTENT || form == LARGE_PERSISTENT;
    if (form == BLOCKING || form == LARGE)
        return;
    if (persistent && !(is(fault, "unstarted") && rank == 1))
        MPI_Start(request);
    if (is(fault, "started-twice"))
        MPI_Start(request);
    if (is(fault, "written-send"))
        g->send[0]++;
    if (is(fault, "written-receive"))
        g->receive[0] -= 7;
    if (is(fault, "unwaited"))
        return;
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (persistent && !is(fault, "unfreed"))
        MPI_Request_free(request);
}

static MPI_Comm ring(int size)
{
    MPI_Comm made;
    int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &made);
    return made;
}

static void run(const struct collective *collective, enum form form, const char *fault)
{
    int rank, size, send[2 * PEERS] = {1, 2, 3, 4, 5}, receive[2 * PEERS] = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm comm = has(collective->has, 'N') ? ring(size) : MPI_COMM_WORLD, other;
    MPI_Comm_dup(comm, &other);
    static struct given g; /* arrays of counts and types must stay as long as the operation */
    g = (struct given){
        .count = 1, .type = MPI_INT, .op = MPI_SUM, .comm = comm, .send = send, .receive = receive};
    spoil(&g, fault, rank);
    MPI_Request request = MPI_REQUEST_NULL;
    if (is(fault, "other-comm") && rank == 1)
        g.comm = other;
    if (is(fault, "other-call") && rank == 1) {
        if (*collective->has)
            collective = &collectives[0];
        else
            MPI_Allreduce(send, receive, 1, MPI_INT, MPI_SUM, comm);
    }
    if (!is(fault, "absent") || rank != 1) {
        collective->call(form, &g, &request);
        finish(fault, form, &g, &request, rank);
    }
    if (is(fault, "twice")) {
        collective->call(form, &g, &request);
        finish(fault, form, &g, &request, rank);
    }
    if (is(fault, "uncommitted"))
        MPI_Type_free(&g.type);
    MPI_Comm_free(&other);
    if (comm != MPI_COMM_WORLD)
        MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 2 && rank == 0)
        list();
    for (int c = 0; argc == 4 && c < COLLECTIVE_COUNT; c++)
        for (int form = 0; form < FORMS; form++)
            if (is(argv[1], collectives[c].name) && is(argv[2], forms[form]))
                run(&collectives[c], (enum form)form, argv[3]);
    MPI_Finalize();
}
