/* What a member says to a collective, and what the collective keeps while it is under way: the types
 * that all of this room looks at. See collective.h. */
#ifndef SIM_COLLECTIVES_CALL_H
#define SIM_COLLECTIVES_CALL_H

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
    bool at_null; /* some block would begin in the first page of memory */
    struct sim_counts counts,
        displacements;         /* v-forms; displacements in extents, in bytes for w-forms */
    const MPI_Datatype *types; /* w-forms */
    struct sim_kept *kept; /* v- and w-forms: the arrays are copies (kept.h), NULL: they are not */
    int arrays;            /* v- and w-forms: how long they are */
};

struct sim_collective;
struct sim_collective_call;

struct sim_collective_kind {
    const char *name; /* "Allreduce" */
    enum sim_synchronisation synchronisation;
    enum sim_synchronisation flow; /* across: for whom its data would have it wait */
    /* Moves the data once everybody (NEEDS_ALL, TO_ROOT) has come; errors go to calls[r]->error. */
    void (*execute)(struct sim_collective *collective);
    /* FROM_ROOT: moves the root's data to one member. PREFIX: extends the running result by the
     * next member. */
    void (*advance)(struct sim_collective *collective, int rank);
    bool uniform; /* all members must give the same amount of data */
    bool reduces; /* and the same op */
    bool rooted;
    bool sends_each, receives_each; /* that side holds one block for every peer */
    bool neighborly;                /* the peers are the neighbours of a topology */
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
    struct sim_dependences causes;    /* exploration: what led to the arrivals */
    struct sim_dependences *arrivals; /* exploration: to each of them; NULL: nobody explores */
    int error;
    bool broken;                           /* its root has given up: nobody gets anything */
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

/* Address of the block for (or from) peer i on a side, its count and type. */
struct sim_block {
    char *data;
    size_t count;
    const struct sim_datatype *type;
};
struct sim_block sim_side_block(const struct sim_side *side, int peer);
/* Elements of what a member gives to a reduction whose result is scattered: everybody's shares, one
 * behind the other. */
size_t sim_call_all_shares(const struct sim_collective_call *call);
/* The whole side as one block. */
static inline struct sim_block sim_side_whole(const struct sim_side *side)
{
    return (struct sim_block){side->buffer, side->count, side->type};
}
/* An intercommunicator's members act across: the call runs on the bridge, its peers are the other
 * group, and of a rooted operation only the root and that group take part. */
static inline bool sim_call_is_intercomm(const struct sim_collective_call *call)
{
    return call->comm->face != NULL;
}
static inline int sim_call_peers(const struct sim_collective_call *call)
{
    return sim_call_is_intercomm(call) ? call->comm->face->context->remote->size : call->comm->size;
}
/* In the topology of its communicator: whom it receives from, or sends to. */
int sim_call_neighbors(const struct sim_collective_call *call, bool receives);
/* How many blocks a side has that holds one for each peer. */
static inline int sim_call_side_peers(const struct sim_collective_call *call, bool receives)
{
    return call->kind->neighborly ? sim_call_neighbors(call, receives) : sim_call_peers(call);
}
static inline bool sim_call_is_root(const struct sim_collective_call *call)
{
    return sim_call_is_intercomm(call) ? call->root == MPI_ROOT : call->root == call->comm->rank;
}
static inline bool sim_call_is_member(const struct sim_collective_call *call)
{
    return !sim_call_is_intercomm(call) || call->root >= 0;
}

#endif
