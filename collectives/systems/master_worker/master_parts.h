/* What masters and workers say to each other; nobody else includes this.
 *
 * A command is one message of fixed size. Values that belong to it follow with their own tag from
 * the same sender. An answer is one message of fixed size too; where it promises values they
 * follow. A worker that fails sends its sentence at once, without waiting, and exactly one. */
#ifndef COLLECTIVES_SYSTEMS_MASTER_WORKER_MASTER_PARTS_H
#define COLLECTIVES_SYSTEMS_MASTER_WORKER_MASTER_PARTS_H

#include "collectives/systems/data_channel/data_backend.h"
#include "collectives/systems/master_worker/master_worker.h"
#include "collectives/systems/process_group/process_group_parts.h"

#include <stddef.h>

enum { TAG_COMMAND, TAG_VALUES, TAG_ANSWER, TAG_ERROR, TAG_PIECE, TAG_TURN, TAG_TOKEN };
enum { REMOTE_ARGUMENTS_MAX = 8, REMOTE_NAME_ROOM = 40, REMOTE_ERROR_ROOM = 200 };
/* Ids: the master that gave it above, its number below, counted for each worker from 1. */
enum { REMOTE_ID_BITS = 40 };

enum command_kind {
    COMMAND_INPUT,
    COMMAND_CONSTANT,
    COMMAND_DATA,
    COMMAND_APPLY,
    COMMAND_SCALE,
    COMMAND_CALL,
    COMMAND_ALL_REDUCE,
    COMMAND_FREE,
    COMMAND_COPY,       /* on one worker */
    COMMAND_TAKE,       /* a tensor of the master */
    COMMAND_GIVE,       /* a tensor to the master, or anything to a worker */
    COMMAND_TAKE_PIECE, /* what a worker gives */
    COMMAND_FETCH,      /* values to the master */
    COMMAND_SYNC,
    COMMAND_BACKWARD,
    COMMAND_GRADIENT,
    COMMAND_CLEAR,
    COMMAND_STOP,
    COMMANDS
};

struct command {
    enum command_kind kind;
    int peer; /* GIVE: to whom; TAKE_PIECE: of whom; APPLY: which operation; ALL_REDUCE: which op */
    double factor;
    uint64_t result, arguments[REMOTE_ARGUMENTS_MAX];
    uint64_t count; /* of arguments or of values */
    enum data_type type;
    char name[REMOTE_NAME_ROOM];
};

struct answer {
    bool failed;
    bool told; /* the error was sent to the same rank before */
    bool data; /* what follows is no tensor */
    enum data_type type;
    uint64_t count;
    char error[REMOTE_ERROR_ROOM];
};

/* Both sides know all of this. */
struct master_session {
    struct process_group *group;   /* of all, for this session alone */
    struct process_group *workers; /* NULL on masters */
    struct diff_tape *tape;
    int masters;
    const struct master_function *functions;
    size_t function_count;
};

/* Which values tensors can have; the types of diff.h come in the same order. */
static inline bool is_tensor_type(enum data_type type)
{
    return type >= DATA_FLOAT && type <= DATA_COMPLEX_DOUBLE;
}
static inline enum diff_type tensor_type(enum data_type type)
{
    return (enum diff_type)(type - DATA_FLOAT + DIFF_FLOAT);
}
static inline enum data_type data_type_of(enum diff_type type)
{
    return (enum data_type)(type - DIFF_FLOAT + DATA_FLOAT);
}

const char *command_name(const struct command *command);
/* The worker's life: obeys until rank 0 says stop. */
void worker_obey(struct master_session *session);

/* ---- the masters' side ---- */

/* A command on its way, and the values that belong to it. */
struct giving {
    struct giving *next;
    int worker;
    struct data_request *request, *values_request;
    struct command command;
    max_align_t values[];
};

struct seat {
    uint64_t made; /* ids given so far */
    bool used;     /* it has got a command of this master */
    bool failed;   /* its error is known */
    bool heard;    /* what it sends of its own accord has come */
    bool locked;
    struct data_request *token; /* on its way to the next master */
    uint64_t locks;             /* taken so far */
};

struct master {
    struct master_session session;
    struct seat *seats; /* by rank */
    struct giving *givings;
    bool tells;
    char error[REMOTE_ERROR_ROOM];
};

/* Queues the command; it waits for nobody. Values that belong to it (count and type are the
 * command's) are copied. */
void master_give(struct master *master, int worker, const struct command *command);
void master_give_with(struct master *master, int worker, const struct command *command,
                      const void *values);
/* The answer to a command; false when the worker has failed. */
bool master_answer(struct master *master, int worker, struct answer *told);
/* Ends the rank unless this is a worker. */
void master_check(const struct master *master, int worker);
/* The next id of this worker. */
struct remote master_remote(struct master *master, int worker);
void command_name_put(const struct master *master, struct command *command, const char *name);

#define ENTER_MASTER(master) ENTER((master)->session.tape->state)
#define LEAVE_MASTER(master) state_leave((master)->session.tape->state)

/* ---- the workers' side ---- */

/* What one master made, by number; without values: freed, or never made. Data are copies in the
 * tape's memory. */
struct shelf {
    struct remote_values *items;
    size_t room;
};

struct worker {
    struct master_session *session;
    struct shelf *shelves; /* one for each master */
    int from;              /* who gave the running command */
    bool failed, stopped;
    char error[REMOTE_ERROR_ROOM];
    struct data_request *telling; /* the error, under way */
    int told;                     /* to whom */
};

/* The first error counts, and goes to whoever gave the command. */
void worker_fail(struct worker *worker, const struct command *command, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* NULL: that the worker has failed. */
void worker_answer(struct worker *worker, int to, const struct remote_values *values);
/* NULL, and the worker has failed, when there is nothing of this id, or data. */
const struct remote_values *worker_find(struct worker *worker, const struct command *command,
                                        uint64_t id);
struct diff_tensor *worker_tensor(struct worker *worker, const struct command *command,
                                  uint64_t id);
/* A tensor as an item of a shelf; NULL: nothing. */
struct remote_values values_of(struct diff_tensor *x);
/* Data as an item of a shelf: a copy. */
struct remote_values worker_data(struct worker *worker, const struct remote_values *values);

/* Commands: they return what was made. */
struct remote_values worker_take_values(struct worker *worker, const struct command *command);
struct remote_values worker_take_tensor(struct worker *worker, enum data_type type, size_t count,
                                        int from);
struct remote_values worker_take_piece(struct worker *worker, const struct command *command);
struct remote_values worker_copy(struct worker *worker, const struct command *command);
struct remote_values worker_all_reduce(struct worker *worker, const struct command *command);
void worker_give(struct worker *worker, const struct command *command);
void worker_give_values(struct worker *worker, const struct command *command);
void worker_backward(struct worker *worker, const struct command *command);

#endif
