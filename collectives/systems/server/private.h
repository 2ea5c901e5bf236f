/* The inside of a server: what its files share.
 *
 * Rules:
 *  1. A launch is one exchange of one parameter's gradient; launches are finished in the order in
 *     which they were started.
 *  2. `sum` holds the gradient of the step in progress, in the order of the ranks, so that every
 *     replica gets the same bits.
 *  3. Everything a rank sends is on `comm`, the duplicate. */
#ifndef COLLECTIVES_SYSTEMS_SERVER_PRIVATE_H
#define COLLECTIVES_SYSTEMS_SERVER_PRIVATE_H

#include <server.h>

#include "recorder/recorder.h"

struct parameter {
    char name[64];
    double *values;
    size_t count;
    double *ready;    /* local gradient, summed over the calls of server_ready */
    double *sum;      /* of all ranks */
    double *residual; /* of this rank: what its coder has lost, where that is fed back */
    bool is_ready;
    size_t slot; /* of the padded framing */
    struct server_moments moments;
};

struct launch {
    size_t parameter;
    unsigned char *out, *in;
    size_t out_size; /* bytes of the gradient, without what the framing adds */
    size_t slot;     /* padded framings */
    int own_size;
    int *sizes, *places;
    MPI_Request request;
};

enum stage {
    STAGE_ENCODE,
    STAGE_SIZES,
    STAGE_BYTES,
    STAGE_DECODE,
    STAGE_SUM,
    STAGE_STEP,
    STAGE_COUNT
};

/* Messages under way with the buffers they are sent from: nobody waits for them before the end. */
struct outbox {
    struct outbox_entry *entries;
    size_t count, room;
    uint64_t *numbers; /* messages to each rank so far */
};

struct reader; /* asynchronous: a worker's side */

struct server {
    struct server_options options;
    char name[64];
    MPI_Comm comm;
    int rank, size;
    int *world; /* world rank of each rank */
    struct parameter *parameters;
    size_t parameter_count;
    struct launch **launches; /* stay where they are: messages are sent out of them */
    size_t launch_count;
    double *scratch; /* of the largest parameter */
    size_t scratch_count;
    uint64_t version;
    uint64_t sequence; /* of messages this rank sent */
    bool is_done;      /* central: this worker has no more gradients */
    uint64_t encoded;  /* gradients this rank coded: the coder's seed */
    double seconds[STAGE_COUNT];
    struct outbox outbox;
    struct reader *reader;
    struct server *next; /* of the rank */
};

/* Ends the rank: the program used the library wrongly, or what it got cannot be right. */
_Noreturn void server_fail(const char *code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Zeroed memory; ends the rank when there is none. */
void *server_take(size_t count, size_t size);
/* As an MPI count; ends the rank when it is too large for one. */
int server_int(const struct server *server, size_t bytes);

/* Wall time in seconds, and the time since `since` added to a stage; returns now. */
double server_clock(void);
double server_stage(struct server *server, enum stage stage, double since);

/* Codes one gradient with the next seed, and what was lost before where that is fed back; returns
 * the number of bytes. */
size_t server_encode(struct server *server, struct parameter *parameter, const double *gradient,
                     void *bytes);
/* feedback.c: codes the gradient and the residual, and keeps what that loses. */
size_t feedback_encode(struct server *server, struct parameter *parameter, const double *gradient,
                       uint64_t seed, void *bytes);
/* Ends the rank with S004 when the bytes are not a coded gradient of this parameter. */
void server_decode(struct server *server, const struct parameter *parameter, int source,
                   const void *bytes, size_t size, double *values);
/* Ends the rank (M009) when a setting is none. */
void server_optimizer_check(const struct server_optimizer *optimizer);
/* The optimizer's step on every parameter with what `sum` holds, and a new version. */
void server_apply(struct server *server);

/* Every message from a worker to rank 0: this head, then the packed gradients. */
enum message_kind { MESSAGE_GRADIENTS = 1, MESSAGE_DONE };
struct message_head {
    uint64_t kind, sequence, version;
    uint64_t taken; /* messages with values that the sender has got so far */
};
enum { TAG_GRADIENTS = 1, TAG_VALUES };

/* operations/message.c: all parameters' coded gradients one after the other, each with its size in
 * front. */
size_t message_room(const struct server *server);
/* A new message, and its size. */
unsigned char *message_pack(struct server *server, struct message_head head,
                            const double *const *gradients, size_t *size);
/* Receives the next message from anybody into `buffer`; returns its size. */
size_t message_receive(struct server *server, unsigned char *buffer, int *source,
                       struct message_head *head);
/* Adds the gradients of a message to the sums. */
void message_add(struct server *server, int source, const unsigned char *message, size_t size);
/* Takes part in the tally: applied or dropped by the options' bound. True when it is applied. */
bool message_judge(struct server *server, struct server_tally *tally, int source,
                   const struct message_head *head);
void server_sums_clear(struct server *server);
/* A step with the sums of `count` gradients; clears them. */
void server_apply_sums(struct server *server, size_t count);

/* outbox.c: takes over the buffer (from server_take) and sends it. */
void outbox_send(struct server *server, unsigned char *buffer, size_t size, int to, int tag);
/* That rank has taken the first `count` messages sent to it. */
void outbox_taken(struct server *server, int by, uint64_t count);
void outbox_finish(struct server *server);
void outbox_release(struct outbox *outbox);

/* exchange.c: a launch starts with the sizes (two phases) or the slots, and goes on. */
void exchange_start(struct server *server, struct launch *launch, const double *gradient);
void exchange_finish_all(struct server *server);
void launch_release(struct launch *launch);

/* reader.c */
void reader_free(struct reader *reader);

/* Everything until leave is recorded at the place of the caller's caller. */
#define SERVER_ENTER() record_site_enter(__builtin_return_address(0))
#define SERVER_LEAVE() record_site_leave()

#endif
