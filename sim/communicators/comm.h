/* Communicators. A rank holds a `sim_comm` (its handle: its own rank, attributes, error handler);
 * what all members share is the `sim_context`: mailboxes and collectives under way. Traffic of
 * different contexts never meets.
 *
 * Invariants: comm->context->references counts the handles of all its ranks that are not freed and
 * the operations that still use it; a context is kept until the world ends, so that a late message
 * finds its mailbox. */
#ifndef SIM_COMMUNICATORS_COMM_H
#define SIM_COMMUNICATORS_COMM_H

#include "sim/base/attributes.h"
#include "sim/base/handle.h"
#include "sim/communicators/group.h"
#include "sim/worlds/rank.h"

struct sim_mailbox;
struct sim_collective;
struct sim_meeting;
struct sim_topology;

struct sim_context {
    struct sim_world *world;
    struct sim_context *next;
    uint32_t id;
    int size; /* ranks that have a mailbox here; an intercommunicator has two contexts, see `remote`
               */
    struct sim_group *group; /* world rank of each */
    struct sim_mailbox *mailboxes;
    struct sim_collective *first_collective; /* under way, in order of their sequence numbers */
    struct sim_collective *spare_collective; /* the last one finished, for use again */
    struct sim_context *remote; /* intercommunicator: the other side's context, else NULL */
    struct sim_context *bridge; /* intercommunicator: both sides together, for collectives */
    int first_side;             /* of a bridge: how many ranks of it are the first side, else 0 */
    bool revoked;
    int unmet; /* half of an intercommunicator: why the other did not come; MPI_SUCCESS: it may */
    struct sim_meeting *meetings;  /* agreements under way: failures/agreement.h */
    struct sim_topology *topology; /* owned by the context; NULL for none */
};

struct sim_errhandler;

struct sim_comm {
    /* What the short ways touch is one line of the cache, at least of WORLD's. */
    uint32_t magic;
    uint32_t collectives; /* how many this rank has started here */
    struct sim_rank *owner;
    struct sim_context *context;
    int rank, size;

    uint32_t persistents;               /* how many persistent ones it has made */
    uint32_t meetings;                  /* how many agreements it has come to */
    int acknowledged;                   /* of the members that have failed, so many of the first */
    _Atomic(MPI_Errhandler) errhandler; /* one thread of the rank may set it while others look */
    struct sim_attributes attributes;
    char *name;
    MPI_Info info;
    struct sim_complaint *complaints; /* why collectives under way here have failed; complaints.h */
    struct sim_comm *next;            /* of the rank's handles, for the leak report */
    const void *site;                 /* of the call that made it */
    uint32_t session;                 /* that it comes from, by number from 1; 0: from MPI_Init */
    bool predefined, errhandler_set;  /* by the program */
    bool no_any_source, no_any_tag;   /* promised by hints */
    int inside;                       /* threads of the rank in blocking collectives here */
    struct sim_team_call *last_of_team; /* its last collective by a thread of a team; NULL: none */
    struct sim_collective *last_collective; /* it came to, perhaps over by now; NULL: none yet */
    /* An intercommunicator's collectives run on a handle of its bridge, which no program sees. */
    struct sim_comm *bridge, *face;
    void *window; /* whose hidden communicator this is, NULL: nobody's; see windows/window.h */
};
enum { SIM_COMM_HOT = 32 };
_Static_assert(offsetof(struct sim_comm, persistents) == SIM_COMM_HOT,
               "what the short ways touch of a communicator is half a line of the cache");

/* WORLD for every rank; SELF is made at first use. False: out of memory. */
bool sim_comm_make_predefined(struct sim_world *world);
void sim_comm_release_all(struct sim_world *world);

/* A new shared part for this group, whose reference it takes over. In the monitor. NULL: out of
 * memory. */
struct sim_context *sim_context_new(struct sim_world *world, struct sim_group *group);
/* A handle of `rank` onto it, as comm rank `position`. In the monitor. */
struct sim_comm *sim_comm_new(struct sim_rank *rank, struct sim_context *context, int position);
/* Frees the handle; the context stays with the world. */
void sim_comm_delete(struct sim_comm *comm);

struct sim_comm *sim_comm_of_self(struct sim_rank *rank);

/* The handle of a group of a communicator's for its rank: it comes from the same session. */
MPI_Group sim_comm_hand_out_group(const struct sim_comm *comm, struct sim_group *group);
/* Objects of two sessions, or of one and of MPI_Init, in one call are told; the call goes on. */
void sim_sessions_meet(const char *function, uint32_t one, uint32_t other);
/* The same for a group, which is not told where it is empty: that one is predefined. */
void sim_sessions_meet_group(const char *function, uint32_t one, const struct sim_group *group);

/* The caller's communicator behind a handle, NULL when it is not one. */
static inline struct sim_comm *sim_comm_get(struct sim_rank *rank, MPI_Comm handle)
{
    if (handle == MPI_COMM_WORLD)
        return rank->comm_world;
    if (handle == MPI_COMM_SELF)
        return sim_comm_of_self(rank);
    struct sim_comm *comm = (struct sim_comm *)(void *)handle;
    if ((uintptr_t)handle < SIM_HANDLE_LOWEST || ((uintptr_t)handle & 7) ||
        comm->magic != SIM_MAGIC_COMM || comm->owner != rank)
        return NULL;
    return comm;
}

/* The error handler that answers for a handle of the rank's (no communicator: the world's), and
 * the handle that it is called with. */
MPI_Errhandler sim_comm_error_target(struct sim_rank *rank, MPI_Comm *handle);
/* The caller's communicator, or NULL with what the MPI function must return in *error (the error is
 * raised). */
struct sim_comm *sim_comm_check(MPI_Comm handle, const char *function, int *error);
/* The same without the communicator. */
int sim_comm_verify(MPI_Comm handle, const char *function);
/* Raises the error of a handle that is no communicator of the caller's; of one that was, the
 * finding says so. What the MPI function must return. */
int sim_comm_refuse(MPI_Comm handle, const char *function);
/* Deletes all attributes (their callbacks run); the class a callback returned. */
int sim_comm_attributes_delete(struct sim_comm *comm);

/* Of the calling rank's handle, which becomes MPI_COMM_NULL. Waits for nobody. */
int sim_comm_free(MPI_Comm *handle, const char *function);
void sim_topology_release(struct sim_topology *topology);

/* The handle of a comm: its constant for a predefined one, the intercommunicator's for a bridge. */
MPI_Comm sim_comm_handle(struct sim_comm *comm);

static inline int sim_context_world_rank(const struct sim_context *context, int rank)
{
    return sim_group_world_rank(context->group, rank);
}

/* The context in which a peer's mailbox lies: its own, or the remote side's for an
 * intercommunicator. */
static inline struct sim_context *sim_context_peers(struct sim_context *context)
{
    return context->remote ? context->remote : context;
}

#endif
