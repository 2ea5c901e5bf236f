/* Every collective in every form from one set of arguments, for tests that ask what is taken of them; on a
 * communicator, between two groups, and along a topology. What these calls refuse they refuse on the caller's
 * rank alone, before anybody waits. */
#ifndef TESTS_MPI_COLLECTIVE_CALLS_H
#define TESTS_MPI_COLLECTIVE_CALLS_H

#include "tests/collective_kinds.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { RANKS = 5, EVEN = 3 };
static const char *const kind_names[KINDS] = {"Bcast",          "Gather",
                                              "Gatherv",        "Scatter",
                                              "Scatterv",       "Allgather",
                                              "Allgatherv",     "Alltoall",
                                              "Alltoallv",      "Alltoallw",
                                              "Reduce",         "Allreduce",
                                              "Reduce_scatter", "Reduce_scatter_block",
                                              "Scan",           "Exscan"};

enum place { WITHIN, ACROSS, ALONG, PLACES };
enum form {
    AGAIN,
    AGAIN_C,
    BLOCKING,
    STARTED,
    BLOCKING_C,
    STARTED_C,
    FORMS
}; /* the first two begin nothing */

struct buffer {
    const void *at;
    int count;
    MPI_Datatype type;
    const int *counts, *places; /* of v- and w-forms; NULL is given as it is */
    const MPI_Datatype *types;
};

struct arguments {
    struct buffer send, receive;
    MPI_Op op;
    int root;
    MPI_Info info;
    MPI_Comm comm;
    int starts; /* of a persistent one */
};

static inline bool is_rooted(enum kind kind)
{
    return kind <= SCATTERV || kind == REDUCE;
}

static inline bool is_reduction(enum kind kind)
{
    return kind >= REDUCE;
}

/* Each rank gets its own part of the result. */
static inline bool has_shares(enum kind kind)
{
    return kind == REDUCE_SCATTER || kind == REDUCE_SCATTER_BLOCK;
}

static inline bool exists(enum kind kind, enum place place)
{
    return place == WITHIN || (place == ACROSS ? kind != SCAN && kind != EXSCAN
                                               : kind >= ALLGATHER && kind <= ALLTOALLW);
}

/* The side has a block of its own for each peer; arrays say where. */
static inline bool has_blocks(enum kind kind, bool takes)
{
    return kind == ALLTOALL || kind == ALLTOALLV || kind == ALLTOALLW ||
           (takes ? kind == GATHER || kind == GATHERV || kind == ALLGATHER || kind == ALLGATHERV
                  : kind == SCATTER || kind == SCATTERV);
}

static inline bool has_arrays(enum kind kind, bool takes)
{
    return kind == ALLTOALLV || kind == ALLTOALLW ||
           (takes ? kind == GATHERV || kind == ALLGATHERV : kind == SCATTERV);
}

static inline int peers_of(enum place place, int rank)
{
    return place == WITHIN ? RANKS : place == ALONG ? 2 : rank % 2 ? EVEN : RANKS - EVEN;
}

/* What a rank gives as the root where it is rank `root` of the world. */
static inline int root_seen(enum place place, int rank, int root)
{
    if (place != ACROSS)
        return root;
    return rank == root ? MPI_ROOT : rank % 2 == root % 2 ? MPI_PROC_NULL : root / 2;
}

/* Whether the side counts on that rank. Bcast has one buffer: the root's is given, the others' taken. */
static inline bool counts(enum kind kind, enum place place, int rank, int root, bool takes)
{
    bool is_root = rank == root, member = place != ACROSS || rank % 2 != root % 2;
    if (!is_rooted(kind))
        return !(kind == EXSCAN && rank == 0 && takes);
    if (kind == GATHER || kind == GATHERV || kind == REDUCE)
        return takes ? is_root : member;
    if (kind == BCAST)
        return takes ? member && !is_root : is_root;
    return takes ? member : is_root;
}

/* Starts a persistent request so often, -1: waits for one that is started. Of starts that fail the last one says how. */
static inline int finished(MPI_Request *request, int error, int starts)
{
    if (error)
        return *request == MPI_REQUEST_NULL ? error : -1;
    for (int i = 0; i < starts; i++) {
        MPI_Start(request);
        error = MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (starts >= 0)
        MPI_Request_free(request);
    else
        error = MPI_Wait(request, MPI_STATUS_IGNORE);
    return error;
}

/* Arguments in brackets: with int counts, with large ones. */
#define ARGUMENTS(...) __VA_ARGS__
#define IN_FORM(name, iname, narrow, wide)                                                         \
    switch (form) {                                                                                \
    case BLOCKING:                                                                                 \
        return MPI_##name(ARGUMENTS narrow, a->comm);                                              \
    case STARTED:                                                                                  \
        return finished(&request, MPI_##iname(ARGUMENTS narrow, a->comm, &request), -1);           \
    case AGAIN:                                                                                    \
        return finished(&request, MPI_##name##_init(ARGUMENTS narrow, a->comm, a->info, &request), \
                        a->starts);                                                                \
    case BLOCKING_C:                                                                               \
        return MPI_##name##_c(ARGUMENTS wide, a->comm);                                            \
    case STARTED_C:                                                                                \
        return finished(&request, MPI_##iname##_c(ARGUMENTS wide, a->comm, &request), -1);         \
    default:                                                                                       \
        return finished(&request, MPI_##name##_init_c(ARGUMENTS wide, a->comm, a->info, &request), \
                        a->starts);                                                                \
    }
#define IN_SAME_FORM(name, iname, ...) IN_FORM(name, iname, (__VA_ARGS__), (__VA_ARGS__))

struct wide {
    MPI_Count counts[RANKS], *counts_given;
    MPI_Aint places[RANKS], *places_given;
};

static inline void widen(struct wide *wide, const struct buffer *buffer, int peers)
{
    for (int i = 0; i < peers && buffer->counts; i++)
        wide->counts[i] = buffer->counts[i];
    for (int i = 0; i < peers && buffer->places; i++)
        wide->places[i] = buffer->places[i];
    wide->counts_given = buffer->counts ? wide->counts : NULL;
    wide->places_given = buffer->places ? wide->places : NULL;
}

static inline int call_along(enum kind kind, enum form form, const struct arguments *a)
{
    const struct buffer *s = &a->send, *r = &a->receive;
    MPI_Request request = MPI_REQUEST_NULL;
    struct wide out, in;
    widen(&out, s, 2);
    widen(&in, r, 2);
    void *to = (void *)(uintptr_t)r->at;
    switch (kind) {
    case ALLGATHER:
        IN_SAME_FORM(Neighbor_allgather, Ineighbor_allgather, s->at, s->count, s->type, to,
                     r->count, r->type)
    case ALLGATHERV:
        IN_FORM(Neighbor_allgatherv, Ineighbor_allgatherv,
                (s->at, s->count, s->type, to, r->counts, r->places, r->type),
                (s->at, s->count, s->type, to, in.counts_given, in.places_given, r->type))
    case ALLTOALL:
        IN_SAME_FORM(Neighbor_alltoall, Ineighbor_alltoall, s->at, s->count, s->type, to, r->count,
                     r->type)
    case ALLTOALLV:
        IN_FORM(Neighbor_alltoallv, Ineighbor_alltoallv,
                (s->at, s->counts, s->places, s->type, to, r->counts, r->places, r->type),
                (s->at, out.counts_given, out.places_given, s->type, to, in.counts_given,
                 in.places_given, r->type))
    default:
        IN_FORM(Neighbor_alltoallw, Ineighbor_alltoallw,
                (s->at, s->counts, out.places_given, s->types, to, r->counts, in.places_given,
                 r->types),
                (s->at, out.counts_given, out.places_given, s->types, to, in.counts_given,
                 in.places_given, r->types))
    }
}

static inline int call_reduction(enum kind kind, enum form form, const struct arguments *a,
                                 const struct wide *in)
{
    const struct buffer *s = &a->send, *r = &a->receive;
    MPI_Request request = MPI_REQUEST_NULL;
    void *to = (void *)(uintptr_t)r->at;
    switch (kind) {
    case REDUCE:
        IN_SAME_FORM(Reduce, Ireduce, s->at, to, s->count, s->type, a->op, a->root)
    case ALLREDUCE:
        IN_SAME_FORM(Allreduce, Iallreduce, s->at, to, s->count, s->type, a->op)
    case REDUCE_SCATTER:
        IN_FORM(Reduce_scatter, Ireduce_scatter, (s->at, to, r->counts, s->type, a->op),
                (s->at, to, in->counts_given, s->type, a->op))
    case REDUCE_SCATTER_BLOCK:
        IN_SAME_FORM(Reduce_scatter_block, Ireduce_scatter_block, s->at, to, s->count, s->type,
                     a->op)
    case SCAN:
        IN_SAME_FORM(Scan, Iscan, s->at, to, s->count, s->type, a->op)
    default:
        IN_SAME_FORM(Exscan, Iexscan, s->at, to, s->count, s->type, a->op)
    }
}

/* Its error code. Of Bcast the buffer is what the caller gives where it is the root, else what it takes. */
static inline int call_collective(enum kind kind, enum place place, enum form form, bool is_root,
                                  const struct arguments *a)
{
    const struct buffer *s = &a->send, *r = &a->receive, *both = is_root ? s : r;
    MPI_Request request = MPI_REQUEST_NULL;
    struct wide out, in;
    widen(&out, s, RANKS);
    widen(&in, r, RANKS);
    void *to = (void *)(uintptr_t)r->at;
    if (place == ALONG)
        return call_along(kind, form, a);
    switch (kind) {
    case BCAST:
        IN_SAME_FORM(Bcast, Ibcast, (void *)(uintptr_t)both->at, both->count, both->type, a->root)
    case GATHER:
        IN_SAME_FORM(Gather, Igather, s->at, s->count, s->type, to, r->count, r->type, a->root)
    case GATHERV:
        IN_FORM(Gatherv, Igatherv,
                (s->at, s->count, s->type, to, r->counts, r->places, r->type, a->root),
                (s->at, s->count, s->type, to, in.counts_given, in.places_given, r->type, a->root))
    case SCATTER:
        IN_SAME_FORM(Scatter, Iscatter, s->at, s->count, s->type, to, r->count, r->type, a->root)
    case SCATTERV:
        IN_FORM(
            Scatterv, Iscatterv,
            (s->at, s->counts, s->places, s->type, to, r->count, r->type, a->root),
            (s->at, out.counts_given, out.places_given, s->type, to, r->count, r->type, a->root))
    case ALLGATHER:
        IN_SAME_FORM(Allgather, Iallgather, s->at, s->count, s->type, to, r->count, r->type)
    case ALLGATHERV:
        IN_FORM(Allgatherv, Iallgatherv,
                (s->at, s->count, s->type, to, r->counts, r->places, r->type),
                (s->at, s->count, s->type, to, in.counts_given, in.places_given, r->type))
    case ALLTOALL:
        IN_SAME_FORM(Alltoall, Ialltoall, s->at, s->count, s->type, to, r->count, r->type)
    case ALLTOALLV:
        IN_FORM(Alltoallv, Ialltoallv,
                (s->at, s->counts, s->places, s->type, to, r->counts, r->places, r->type),
                (s->at, out.counts_given, out.places_given, s->type, to, in.counts_given,
                 in.places_given, r->type))
    case ALLTOALLW:
        IN_FORM(Alltoallw, Ialltoallw,
                (s->at, s->counts, s->places, s->types, to, r->counts, r->places, r->types),
                (s->at, out.counts_given, out.places_given, s->types, to, in.counts_given,
                 in.places_given, r->types))
    default:
        return call_reduction(kind, form, a, &in);
    }
}

/* The communicator of a place; it returns its errors. */
static inline MPI_Comm comm_of(enum place place, int rank)
{
    MPI_Comm side, made;
    int before[2] = {(rank + RANKS - 1) % RANKS, (rank + RANKS - 2) % RANKS};
    int behind[2] = {(rank + 1) % RANKS, (rank + 2) % RANKS};
    const int equal[2] = {1, 1};
    if (place == WITHIN) {
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    } else if (place == ACROSS) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
        MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &made);
        MPI_Comm_free(&side);
    } else {
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, before, equal, 2, behind, equal,
                                       MPI_INFO_NULL, 0, &made);
    }
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

static inline void comms_make(MPI_Comm comms[PLACES], int rank)
{
    for (int place = 0; place < PLACES; place++)
        comms[place] = comm_of((enum place)place, rank);
}

static inline void comms_drop(MPI_Comm comms[PLACES])
{
    for (int i = 0; i < PLACES; i++)
        MPI_Comm_free(&comms[i]);
}

#endif
