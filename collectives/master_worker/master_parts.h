/* What masters and workers say to each other; nobody else includes this.
 *
 * A command is one message of fixed size. Values that belong to it follow with their own tag from
 * the same sender. An answer is one message of fixed size too; where it promises values they
 * follow. A worker that fails sends its sentence at once, without waiting, and exactly one. */
#ifndef COLLECTIVES_MASTER_WORKER_MASTER_PARTS_H
#define COLLECTIVES_MASTER_WORKER_MASTER_PARTS_H

#include "collectives/master_worker/master_worker.h"
#include "collectives/process_group/process_group_parts.h"

enum { TAG_COMMAND, TAG_VALUES, TAG_ANSWER, TAG_ERROR, TAG_PIECE, TAG_TURN, TAG_TOKEN };
enum { REMOTE_ARGUMENTS_MAX = 8, REMOTE_NAME_ROOM = 40, REMOTE_ERROR_ROOM = 200 };
/* Ids: the master that gave it above, its number below, counted for each worker from 1. */
enum { REMOTE_ID_BITS = 40 };

enum command_kind {
    COMMAND_INPUT,
    COMMAND_CONSTANT,
    COMMAND_APPLY,
    COMMAND_SCALE,
    COMMAND_CALL,
    COMMAND_ALL_REDUCE,
    COMMAND_FREE,
    COMMAND_TAKE,       /* values of the master */
    COMMAND_GIVE,       /* values to the master, or to a worker */
    COMMAND_TAKE_PIECE, /* values of a worker */
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
    char name[REMOTE_NAME_ROOM];
};

struct answer {
    bool failed;
    bool told; /* the error was sent to the same rank before */
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

const char *command_name(const struct command *command);
/* The worker's life: obeys until rank 0 says stop. */
void worker_obey(struct master_session *session);

#endif
