/* Collectives: each is one rendezvous, not a tree of messages.
 *
 * The n-th collective of every member of a communicator is one sim_collective; persistent ones are
 * counted apart, each request's starts for themselves: they match in the order of their _init
 * calls, whatever the order of their starts (MPI-4, 6.13). Members leave their arguments (a call)
 * and the data are moved between the members' buffers in rank order, so results are the same bits
 * every time. When a member may go on is the kind's synchronisation: by default only as far as the
 * data flow forces, with strict collectives always all together.
 *
 * Invariants: a collective is in its context's list while a member is missing or not complete;
 * calls[r] is NULL before r has come and must not be followed once r is complete, unless it is a
 * stashed copy, which owns its data. */
#ifndef SIM_COLLECTIVES_COLLECTIVE_H
#define SIM_COLLECTIVES_COLLECTIVE_H

#include "sim/messages/request.h"
#include "sim/operators/op.h"

enum sim_synchronisation {
    SIM_NEEDS_ALL, /* everybody waits for everybody */
    SIM_FROM_ROOT, /* others wait for the root */
    SIM_TO_ROOT,   /* the root waits for the others */
    SIM_PREFIX     /* rank i waits for ranks below i */
};

/* Counts or displacements of a v-form, in either width; both NULL when the form has none. */
struct sim_counts {
    const int *narrow;
    const MPI_Count *wide;
};

static inline size_t sim_counts_at(struct sim_counts counts, int i)
{
    return counts.narrow ? (size_t)counts.narrow[i] : (size_t)counts.wide[i];
}

static inline ptrdiff_t sim_displacement_at(struct sim_counts displacements, int i)
{
    return displacements.narrow ? displacements.narrow[i] : (ptrdiff_t)displacements.wide[i];
}

struct sim_side { /* one side of the data: a buffer in blocks per peer, or one block */
    void *buffer;
    size_t count;
    const struct sim_datatype *type;
    bool vectored,
        typed; /* whether what follows is set: a call is cleared often, and this keeps it short */
    struct sim_counts counts,
        displacements;         /* v-forms; displacements in extents, in bytes for w-forms */
    const MPI_Datatype *types; /* w-forms */
};

struct sim_collective;
struct sim_collective_call;

struct sim_collective_kind {
    const char *name; /* "Allreduce" */
    enum sim_synchronisation synchronisation;
    /* Moves the data once everybody (NEEDS_ALL, TO_ROOT) has come; errors go to calls[r]->error. */
    void (*execute)(struct sim_collective *collective);
    /* FROM_ROOT: moves the root's data to one member. PREFIX: extends the running result by the
     * next member. */
    void (*advance)(struct sim_collective *collective, int rank);
    bool uniform; /* all members must give the same amount of data */
    bool reduces; /* and the same op */
    bool rooted;
    bool sends_each, receives_each; /* that side holds one block for every peer */
    const struct sim_collective_kind
        *across; /* the same between the groups of an intercommunicator */
};

/* How a collective was called: this and its kind give the function's name. */
enum sim_collective_form { SIM_FORM_BLOCKING, SIM_FORM_NONBLOCKING, SIM_FORM_PERSISTENT };

struct sim_collective_call {
    const struct sim_collective_kind *kind;
    struct sim_comm *comm;
    struct sim_side send, receive;
    bool in_place;
    const struct sim_op *op;
    int root;
    int error;
    bool done, stashed;
    struct sim_rank *waiter;     /* blocked in the blocking form */
    struct sim_rank *brief;      /* blocked in the short way: see fastpath.c */
    struct sim_request *request; /* the nonblocking form's request */
    char *remark;                /* a finding's code and sentence, to be noted by its owner; NULL */
    void *result;                /* what a constructor hands to this member */
    const void *argument;        /* what a constructor needs from it */
    struct sim_collective_call *next_stashed;
    struct sim_dependences causes; /* exploration: what led to its completion */
    uint8_t form;                  /* enum sim_collective_form */
    uint32_t series, starts; /* persistent: the n-th made on its communicator, from 1; its starts */
};

struct sim_collective {
    struct sim_collective *next;
    struct sim_context *context;
    const struct sim_collective_kind *kind;
    uint64_t number; /* the n-th on this communicator; above 32 bits a persistent one's series */
    int size, arrived, completed;
    int first, first_root; /* who came first, and what the others are compared with */
    const struct sim_op *first_op;
    size_t first_amount;
    unsigned first_unit; /* of a reduction: its basic type; 0: several, or none */
    int next_prefix;
    struct sim_dependences causes; /* exploration: what led to the arrivals that matter */
    int error;
    bool guarded;                          /* some member's buffers are watched */
    int shortly;                           /* members that came the short way */
    const struct sim_datatype *short_type; /* what they brought; NULL: nothing */
    size_t short_count;
    uint64_t *values;    /* of each, kept for the next time; NULL: none yet */
    char complaint[160]; /* why error is set */
    void *running;       /* PREFIX: the running result */
    struct sim_collective_call **calls;
    struct sim_collective_call
        *stashed; /* copies of calls whose members have gone on, freed with the collective */
};

/* Takes part: blocks until this member may go on. Returns the error class to hand back (already
 * raised). */
int sim_collective_run(struct sim_collective_call *call);
/* Takes part without blocking; the call is copied into the request. */
int sim_collective_start(const struct sim_collective_call *call, MPI_Request *handle);
/* A persistent request for this call, inactive. */
int sim_collective_init(const struct sim_collective_call *call, MPI_Request *handle);
/* Frees the call of a request. */
void sim_collective_call_delete(struct sim_request *request);
/* The n-th collective of this context, made by whoever comes first. */
struct sim_collective *sim_collective_find(struct sim_context *context, uint64_t number);
/* Everybody has gone on. */
void sim_collective_retire(struct sim_collective *collective);
/* What sim_collective_raise will say for this call. In the monitor. */
void sim_collective_complain(struct sim_collective_call *call, const char *complaint);
/* "Allreduce", "Iallreduce", "Allreduce_init"; into `name`, returned. */
enum { SIM_NAME_MAX = 40 };
const char *sim_call_name(const struct sim_collective_call *call, char name[static SIM_NAME_MAX]);
/* Raises what went wrong for the caller, who has seen it in its call; the error class to hand back.
 */
int sim_collective_raise(struct sim_comm *comm, const char *function, int error);
/* Makes ordinary calls of the members that came the short way. */
void sim_collective_unfold(struct sim_collective *collective);
/* Lets one of them go on. */
void sim_collective_release_brief(struct sim_collective_call *call);
/* The blocking forms whatever their arguments are. */
int sim_barrier_long(MPI_Comm handle);
int sim_allreduce_long(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm handle);
/* Frees a context's collectives, under way or kept for use again. */
void sim_collectives_end(struct sim_context *context);

/* Address of the block for (or from) peer i on a side, its count and type. */
struct sim_block {
    char *data;
    size_t count;
    const struct sim_datatype *type;
};
struct sim_block sim_side_block(const struct sim_side *side, int peer);
/* The whole side as one block. */
struct sim_block sim_side_whole(const struct sim_side *side);
/* Compares what a member gives with what another takes of it: other amounts are an error of the
 * taker, and like other types a remark to it. */
void sim_block_compare(const struct sim_collective *collective, int sender, struct sim_block from,
                       int receiver, struct sim_block to);
/* And copies it. */
void sim_block_move(const struct sim_collective *collective, int sender, struct sim_block from,
                    int receiver, struct sim_block to);
/* A member of a reduction combines another basic type than the first to come. */
void sim_call_remark_units(const struct sim_collective *collective, int rank);
/* Notes a remark on behalf of the calling rank, whose call it is. */
void sim_call_remark_tell(struct sim_collective_call *call);

#endif
