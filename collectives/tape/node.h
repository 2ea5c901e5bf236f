/* What tapes, nodes and channels are; who may do what with them is said in tape.h and channel.h. */
#ifndef COLLECTIVES_TAPE_NODE_H
#define COLLECTIVES_TAPE_NODE_H

#include "collectives/tape/arena.h"

#include <diff.h>
#include <stddef.h>
#include <stdint.h>

struct diff_graph;
struct diff_operation;
struct diff_request;
struct diff_state;
struct diff_window;
struct key_slot;
struct late_send;

/* How far the adjoint of a communication is in the running pass. */
enum adjoint_state { ADJOINT_IDLE, ADJOINT_HELD, ADJOINT_LAUNCHED };

/* A communication's place among those of the same key: messages between the same two ranks, one
 * way, with one tag, on one channel; collectives on one channel. */
struct key_link {
    struct diff_node *node;
    struct key_link *earlier, *later;
    uint32_t ordinal; /* how many of this key came before */
    bool used, sends;
    int32_t peer, tag; /* messages: as matched; -1 */
};

enum { NODE_LINKS = 2 }; /* a Sendrecv is two messages */

struct diff_node {
    const struct diff_operation *operation;
    struct diff_tape *tape;
    struct diff_channel *channel;
    const void *site;
    void *extra;       /* the operation's own */
    const char *label; /* what the program calls it, NULL: nothing */
    struct diff_tensor **inputs, **outputs;
    uint32_t *versions; /* of inputs, then outputs */
    uint32_t input_count, output_count;
    unsigned saves; /* which values the adjoint reads: the operation's, or fewer */
    uint32_t sequence, record;
    bool active, on_tape, released;
    bool order_only; /* its first input carries the value, the others are dependencies */
    struct diff_node *previous, *next; /* on the tape */
    /* communication */
    struct key_link links[NODE_LINKS];
    enum adjoint_state adjoint_state;
    struct diff_request *adjoint_request;
    /* of the running pass */
    uint32_t pending;     /* dependents that have not run */
    uint32_t pass_record; /* recorder's number of the backward node */
    size_t trace;         /* its entry in the probe + 1, 0 for none */
    bool in_pass;         /* runs in the running pass */
    bool expected;        /* program order, recorded: the pass may reach it */
};

struct diff_tape {
    struct diff_state *state;
    struct arena arena; /* nodes and tensors: emptied by diff_tape_clear */
    struct arena fixed; /* channels */
    MPI_Comm comm;
    enum diff_order order;
    bool in_backward;
    struct diff_node *first, *last;
    uint32_t sequence;
    struct diff_channel *channels, *channels_tail;
    struct diff_window *windows; /* in order of creation */
    struct key_slot *keys;       /* newest node of each point to point key */
    size_t key_room, key_count;
    struct diff_tensor *retained; /* tensors with a gradient of their own */
    uint32_t epoch;               /* of its inputs and objectives in the probe */
    uint64_t pass;                /* counter of backward passes */
    uint64_t backwards;           /* the same of calls: they count where no pass runs, too */
    struct late_send *late;       /* sends that complete when the running pass ends */
    uint32_t recorded_passes;     /* with DIFF_GRAPH, since it was cleared */
    uint64_t tangents;            /* counter of diff_jvp */
    struct diff_tape *inner;      /* that of checkpointed steps; made when one is asked for */
    struct diff_tape *outer;      /* of such a tape; NULL */
    struct diff_tape *next;       /* of the rank */
};

struct diff_channel {
    struct diff_tape *tape;
    MPI_Comm comm;
    bool owned; /* made by us: freed with the tape */
    bool freed; /* the user has freed it */
    bool intercomm;
    int rank, size; /* in the own group, whose contributions meet */
    int peers;      /* whom a collective reaches: `size`, or the other group's ranks */
    uint64_t id;    /* the same on every member, different for every channel of the world */
    struct diff_graph *graph; /* of a topology, else NULL */
    struct diff_channel *adjoint;
    struct diff_channel *own;  /* of an intercommunicator's duplicate: its group; else NULL */
    struct diff_channel *twin; /* of a topology: the same graph once more, for tangents */
    struct key_link *last_collective; /* newest collective, for the order of initiation */
    uint32_t collectives;             /* how many so far */
    struct diff_channel *next;        /* in order of registration */
    int *world;                       /* world rank of each peer, only when tracing */
    int keyval;                       /* of the attribute that tells of its end */
};

#endif
