/* The tape: nodes in order of creation, the arena they live in, the channels they talk over.
 *
 * Rules:
 *  1. A node's sequence number is its place in program order, from 1; its inputs were made earlier.
 *  2. A node is on the tape when an input requires a gradient, or when it communicates (whatever
 * its inputs: in program order every rank runs every adjoint). Others are computed and forgotten.
 *  3. A node is active when the cotangents of its outputs matter: in data order if an input
 * requires a gradient, in program order also if it communicates.
 *  4. Versions of saved values are noted at creation and compared when the adjoint runs. */
#ifndef COLLECTIVES_TAPE_TAPE_H
#define COLLECTIVES_TAPE_TAPE_H

#include "collectives/tape/arena.h"
#include "collectives/tape/channel.h"
#include "collectives/tape/operation.h"
#include "collectives/tape/state.h"
#include "collectives/tape/tensor.h"

#include <stddef.h>

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
    void *extra; /* the operation's own */
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

struct key_slot;
struct late_send;

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
    struct key_slot *keys; /* newest node of each point to point key */
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

/* Builds a node: begin, then outputs, then run. */
struct diff_node *node_begin(const struct diff_operation *operation, uint32_t input_count,
                             struct diff_tensor *const *inputs);
/* With more outputs than the two that others have. */
struct diff_node *node_begin_many(struct diff_tape *tape, const struct diff_operation *operation,
                                  uint32_t output_most, uint32_t input_count,
                                  struct diff_tensor *const *inputs);
/* For operations whose first input may be absent. */
struct diff_node *node_begin_on(struct diff_tape *tape, const struct diff_operation *operation,
                                uint32_t input_count, struct diff_tensor *const *inputs);
struct diff_tensor *node_output(struct diff_node *node, struct diff_tensor *tensor);
/* Puts it on the tape if it belongs there, records it and runs its forward function. */
void node_run(struct diff_node *node);
void *node_take(struct diff_node *node, size_t size);
/* Forgets nodes and tensors, as diff_tape_clear does, within one filling of the tape. */
void tape_empty(struct diff_tape *tape);
/* Frees the tape's memory and nothing else: for ranks that have ended. */
void tape_release_memory(struct diff_tape *tape);

/* One input, one output of the same shape and type. */
struct diff_tensor *node_unary(const struct diff_operation *operation, struct diff_tensor *x);
struct diff_tensor *node_binary(const struct diff_operation *operation, struct diff_tensor *a,
                                struct diff_tensor *b);

/* Notes the order of initiation of a collective, or of a message once its peer and tag are known.
 */
void node_collective(struct diff_node *node);
enum key_direction { KEY_SEND, KEY_RECEIVE };
void node_message(struct diff_node *node, int link, enum key_direction direction, int peer,
                  int tag);

/* "Allreduce at ring.c" is the finding's business; this is "node 7 (Allreduce)". */
const char *node_text(const struct diff_node *node, char *text, size_t size);
/* Ends the rank: the program is wrong at this node. */
void node_fail(const struct diff_node *node, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The operation has no tangent: ends the rank, or tells the probe that only tries. */
void node_tangent_missing(const struct diff_node *node, const char *why);

#endif
