/* Requests: everything that can be waited for. States: inactive (persistent only), posted, matched,
 * complete, cancelled.
 *
 * A blocking call uses a request on its own stack; a nonblocking one takes it from the world's pool
 * and its address is the handle. */
#ifndef SIM_MESSAGES_REQUEST_H
#define SIM_MESSAGES_REQUEST_H

#include "sim/communicators/comm.h"
#include "sim/datatypes/datatype.h"

enum sim_request_kind {
    SIM_REQUEST_SEND,
    SIM_REQUEST_RECEIVE,
    SIM_REQUEST_COLLECTIVE,
    SIM_REQUEST_GENERAL
};
enum sim_request_state { SIM_INACTIVE, SIM_POSTED, SIM_MATCHED, SIM_COMPLETE, SIM_CANCELLED };
enum sim_send_mode { SIM_STANDARD, SIM_SYNCHRONOUS, SIM_BUFFERED, SIM_READY_MODE };

struct sim_message;
struct sim_collective_call;

struct sim_request;

/* What a request with a `call` leaves to the room that made it. */
enum { SIM_NAME_MAX = 40 };
struct sim_request_work {
    void (*release)(struct sim_request *request);
    uint64_t (*checksum)(const struct sim_request *request);   /* of all its buffers and arrays */
    bool (*arrays_changed)(const struct sim_request *request); /* that it was called with */
    /* "Iallreduce", into `name`, returned. */
    const char *(*name)(const struct sim_request *request, char name[static SIM_NAME_MAX]);
    void (*tell)(struct sim_request *request); /* notes what was found on the way */
    /* Its results go so far from where they went. */
    void (*move)(struct sim_request *request, ptrdiff_t distance);
};

struct sim_request {
    /* What a sender looks at, and what it leaves, are together. */
    uint32_t magic;
    uint8_t kind, state, mode;
    bool from_any; /* persistent, and from any source whatever the peer of this start is */
    bool persistent, freed, on_stack, delayed, status_cancelled;
    bool listed;     /* while a list of requests is looked through: it stands in it already */
    bool at_once;    /* exploration: delayed, but the rank knew of a message for it when it began */
    bool cancelling; /* exploration: marked, and not yet decided whether it was in time */
    int peer, tag;   /* as posted */
    struct sim_request *next; /* in a mailbox's queue */
    const struct sim_datatype *type;
    void *buffer;
    size_t count;
    struct sim_rank *waiter;
    size_t bytes; /* sent or received */
    int source_matched, tag_matched, error;
    uint32_t number; /* of this receive on its rank */
    uint64_t order;  /* when it was posted to its mailbox */
    struct sim_rank *owner;
    struct sim_comm *comm;
    struct sim_context *context; /* whose mailboxes it uses */
    struct sim_request *delayed_next;
    struct sim_message *message; /* a send that waits to be matched */
    struct sim_batch *batch;
    struct sim_request *batch_next, *partner;
    struct sim_request *whole;        /* Isendrecv's request, of which this is a part */
    struct sim_request *part[2];      /* of a whole, which owns them */
    int parts;                        /* of these: how many are not complete */
    struct sim_collective_call *call; /* NULL: a message; else `work` knows it */
    const struct sim_request_work *work;
    void (*start)(struct sim_request *request); /* persistent: begins it again; in the monitor */
    void *aside;                                /* a part's own copy of what it sends */
    struct sim_held *held; /* not NULL: what fills `buffer` goes to the program's later (held.h) */
    struct sim_partitioned *partitioned; /* NULL: an ordinary message */
    void (*partitioned_release)(struct sim_partitioned *side);
    void (*partitioned_fill)(struct sim_partitioned *side); /* NULL: its parts are not held back */
    void *general;                                          /* generalised request's callbacks */
    /* A pending receive's buffer, while something is recorded: see sim_request_guard. */
    uint64_t guard;
    bool guarded, touched;
    struct sim_dependences causes; /* exploration: choices that led to its start, then to its end */
    uint32_t event;                /* and the event of a delayed wildcard */
    uint32_t items;                /* and the newest event of a Waitany for it, plus 1 */
    uint32_t met;                  /* and the event of the message a receive took, plus 1 */
    size_t noted;                  /* 1 + its number in struct sim_answers; 0: it has none */
};

/* A request from the pool, zeroed but for the given fields. In the monitor. NULL: out of memory. */
struct sim_request *sim_request_new(struct sim_rank *owner, enum sim_request_kind kind);
/* One that is what a check has filled (point.h), which stays its caller's; it holds the type. */
struct sim_request *sim_request_new_as(const struct sim_request *checked);
void sim_request_delete(struct sim_request *request);
/* The only way to completion: wakes the waiter. In the monitor. */
void sim_request_complete(struct sim_request *request);
/* A receive or blocking probe from any source begins: from whom it has to be instead, as the world's
 * options say, else MPI_ANY_SOURCE. `number` is what a note of its sender needs; 0: it needs none. */
int sim_request_sender(struct sim_rank *rank, size_t *number);
void sim_request_sender_note(struct sim_rank *rank, size_t number, int source);
/* Whether the world's options say what the rank learns here, and what. */
bool sim_request_answered(struct sim_rank *rank, enum sim_asked asked, int *answer);
/* What it learned, for the worlds that follow this one. */
void sim_request_answer_note(struct sim_rank *rank, enum sim_asked asked, int answer);
/* What a poll is told: what it finds; where another run is followed, that it found nothing, or what it waits for. */
bool sim_request_poll(struct sim_rank *rank, bool (*look)(void *at), void *at);
/* A receive has its message, of so many bytes. In the monitor. */
void sim_request_matched(struct sim_request *receive, int source, int tag, size_t bytes);
/* Copies a matched send into its receive and completes both. In the monitor. */
void sim_request_transfer(struct sim_request *send, struct sim_request *receive);
/* Blocks the owner until the request is complete, or stands back; false: it was complete. In the
 * monitor. */
bool sim_request_wait(struct sim_request *request);
/* A nonblocking receive from any source stays posted, but whoever waits for it is told of a failure
 * that is not acknowledged: failures.h. */
bool sim_request_stands_back(const struct sim_request *request);
static inline bool sim_request_done(const struct sim_request *request)
{
    return request->state == SIM_COMPLETE || request->state == SIM_CANCELLED ||
           request->state == SIM_INACTIVE;
}
/* From here on nobody but the transfer may write to the buffer of this nonblocking operation: a
 * checksum is kept, and compared when data arrive and when the program completes it. Messages of up
 * to SIM_REGION_GUARDED bytes, collectives of any size. */
void sim_request_guard(struct sim_request *request);
/* A send or receive starts, called `name` in what is reported: its buffer is pending from now on,
 * and compared with what is pending. */
void sim_request_pending(struct sim_request *request, const char *name);
/* What sim_request_pending does beside the list of what is pending: a buffer that nobody else compares
 * is guarded, one that is too large for it is counted. */
void sim_request_watch(struct sim_request *request);
/* With --delivery late: what a receive that starts brings is held back. */
void sim_request_hold(struct sim_request *request);
/* The program learns that it is complete: what was held back (--delivery late) fills its buffer. */
void sim_request_fill(struct sim_request *request);
/* Compares; remembers in `touched` that they differ. */
void sim_request_inspect(struct sim_request *request);
/* The caller's request behind a handle; NULL when it is none. */
struct sim_request *sim_request_get(struct sim_rank *rank, MPI_Request handle);
void sim_request_status(const struct sim_request *request, MPI_Status *status);

/* Generalised requests, which share the wait functions. */
int sim_general_finish(struct sim_request *request, MPI_Status *status);
/* Calls the program's free function and forgets the callbacks. */
int sim_general_release(struct sim_request *request);
void sim_general_cancel(struct sim_request *request);

#endif
