/* The inside of a server: what its files share.
 *
 * Rules:
 *  1. A launch is one exchange of one parameter's gradient; launches are finished in the order in
 *     which they were started.
 *  2. `sum` holds the gradient of the step in progress, in the order of the ranks, so that every
 *     replica gets the same bits.
 *  3. Everything a rank sends is on `comm`, the duplicate. */
#ifndef COLLECTIVES_SERVER_PRIVATE_H
#define COLLECTIVES_SERVER_PRIVATE_H

#include <server.h>

struct parameter {
    char name[64];
    double *values;
    size_t count;
    double *ready; /* local gradient, summed over the calls of server_ready */
    double *sum;   /* of all ranks */
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
    uint64_t encoded;  /* gradients this rank coded: the coder's seed */
    double seconds[STAGE_COUNT];
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

/* Codes one gradient with the next seed; returns the number of bytes. */
size_t server_encode(struct server *server, const double *values, size_t count, void *bytes);
/* Ends the rank with S004 when the bytes are not a coded gradient of this parameter. */
void server_decode(struct server *server, const struct parameter *parameter, int source,
                   const void *bytes, size_t size, double *values);
/* The optimizer's step on every parameter with what `sum` holds, and a new version. */
void server_apply(struct server *server);
/* Bytes that all parameters need when coded one after the other, each with its size in front. */
size_t server_packed_room(const struct server *server);
size_t server_pack(struct server *server, const double *const *gradients, unsigned char *bytes);
/* Adds what server_pack wrote to the sums. */
void server_unpack(struct server *server, int source, const unsigned char *bytes, size_t size);

/* exchange.c: a launch starts with the sizes (two phases) or the slots, and goes on. */
void exchange_start(struct server *server, struct launch *launch, const double *gradient);
void exchange_finish_all(struct server *server);
void launch_release(struct launch *launch);

/* asynchronous.c */
void reader_free(struct reader *reader);

/* Everything until leave is recorded at the place of the caller's caller. */
#define SERVER_ENTER() record_site_enter(__builtin_return_address(0))
#define SERVER_LEAVE() record_site_leave()

#endif
