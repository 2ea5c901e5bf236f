/* Workers: the loop that obeys commands. See master_worker.h. */
#include "collectives/master_worker/master_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One master's tensors, by number; NULL: freed, or never made. */
struct shelf {
    struct diff_tensor **tensors;
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

static const char *const operation_names[REMOTE_OPERATIONS] = {
    [REMOTE_NEG] = "neg", [REMOTE_TANH] = "tanh", [REMOTE_EXP] = "exp", [REMOTE_SUM] = "sum",
    [REMOTE_ADD] = "add", [REMOTE_SUB] = "sub",   [REMOTE_MUL] = "mul", [REMOTE_DOT] = "dot"};

const char *command_name(const struct command *command)
{
    static const char *const names[COMMANDS] = {
        [COMMAND_INPUT] = "input",       [COMMAND_CONSTANT] = "constant",
        [COMMAND_APPLY] = "apply",       [COMMAND_SCALE] = "scale",
        [COMMAND_CALL] = "call",         [COMMAND_ALL_REDUCE] = "all_reduce",
        [COMMAND_FREE] = "free",         [COMMAND_TAKE] = "copy_to",
        [COMMAND_GIVE] = "copy_from",    [COMMAND_TAKE_PIECE] = "copy_between",
        [COMMAND_SYNC] = "sync",         [COMMAND_BACKWARD] = "backward",
        [COMMAND_GRADIENT] = "gradient", [COMMAND_CLEAR] = "clear",
        [COMMAND_STOP] = "stop",
    };
    if (command->kind == COMMAND_APPLY && (unsigned)command->peer < REMOTE_OPERATIONS)
        return operation_names[command->peer];
    return (unsigned)command->kind < COMMANDS ? names[command->kind] : "unknown command";
}

/* ---- errors ---- */

/* The first one counts, and goes to whoever gave the command. */
static void __attribute__((format(printf, 3, 4)))
fail(struct worker *worker, const struct command *command, const char *format, ...)
{
    struct process_group *group = worker->session->group;
    va_list arguments;
    if (worker->failed)
        return;
    int used = snprintf(worker->error, sizeof worker->error, "worker %d: %s%s%s: ", group->rank,
                        command_name(command), command->kind == COMMAND_CALL ? " of " : "",
                        command->kind == COMMAND_CALL ? command->name : "");
    va_start(arguments, format);
    vsnprintf(worker->error + used, sizeof worker->error - (size_t)used, format, arguments);
    va_end(arguments);
    worker->failed = true;
    worker->told = worker->from;
    process_group_expect(group,
                         data_group_isend(group->data, worker->error, sizeof worker->error,
                                          DATA_BYTE, worker->from, TAG_ERROR, &worker->telling));
}

static void answer(struct worker *worker, int to, bool failed, size_t count)
{
    struct process_group *group = worker->session->group;
    struct answer told = {
        .failed = failed, .told = worker->telling && worker->told == to, .count = count};
    memcpy(told.error, worker->error, sizeof told.error);
    process_group_expect(
        group, data_group_send(group->data, &told, sizeof told, DATA_BYTE, to, TAG_ANSWER));
}

/* ---- tensors ---- */

static struct diff_tensor **place(struct worker *worker, uint64_t id, bool make)
{
    uint64_t master = id >> REMOTE_ID_BITS, number = id & (((uint64_t)1 << REMOTE_ID_BITS) - 1);
    if (master >= (uint64_t)worker->session->masters || number == 0)
        return NULL;
    struct shelf *shelf = &worker->shelves[master];
    if (number >= shelf->room && !make)
        return NULL;
    if (number >= shelf->room) {
        size_t room = 2 * (size_t)number + 64;
        struct diff_tensor **tensors =
            arena_take_zeroed(&worker->session->tape->fixed, room * sizeof *tensors);
        for (size_t i = 0; i < shelf->room; i++)
            tensors[i] = shelf->tensors[i];
        *shelf = (struct shelf){tensors, room};
    }
    return &shelf->tensors[number];
}

static struct diff_tensor *find(struct worker *worker, const struct command *command, uint64_t id)
{
    struct diff_tensor **at = place(worker, id, false);
    if (at && *at)
        return *at;
    fail(worker, command, "there is no tensor %llu: it was freed, or never made",
         (unsigned long long)(id & (((uint64_t)1 << REMOTE_ID_BITS) - 1)));
    return NULL;
}

static void keep(struct worker *worker, const struct command *command, struct diff_tensor *x)
{
    struct diff_tensor **at = x ? place(worker, command->result, true) : NULL;
    if (at)
        *at = x;
}

/* ---- operations ---- */

static struct diff_tensor *apply_one(enum remote_operation operation, struct diff_tensor *a)
{
    switch (operation) {
    case REMOTE_NEG:
        return diff_neg(a);
    case REMOTE_TANH:
        return diff_tanh(a);
    case REMOTE_EXP:
        return diff_exp(a);
    default:
        return diff_sum(a);
    }
}

static struct diff_tensor *apply_two(enum remote_operation operation, struct diff_tensor *a,
                                     struct diff_tensor *b)
{
    switch (operation) {
    case REMOTE_ADD:
        return diff_add(a, b);
    case REMOTE_SUB:
        return diff_sub(a, b);
    case REMOTE_MUL:
        return diff_mul(a, b);
    default:
        return diff_dot(a, b);
    }
}

static struct diff_tensor *apply(struct worker *worker, const struct command *command)
{
    enum remote_operation operation = (enum remote_operation)command->peer;
    bool two = operation >= REMOTE_ADD;
    struct diff_tensor *a = find(worker, command, command->arguments[0]);
    struct diff_tensor *b = two && a ? find(worker, command, command->arguments[1]) : NULL;
    if (!a || (two && !b))
        return NULL;
    if (!two)
        return apply_one(operation, a);
    if (a->count == b->count)
        return apply_two(operation, a, b);
    fail(worker, command, "tensors of %zu and %zu values", a->count, b->count);
    return NULL;
}

static struct diff_tensor *call(struct worker *worker, const struct command *command)
{
    struct diff_tensor *arguments[REMOTE_ARGUMENTS_MAX];
    const struct master_session *session = worker->session;
    for (size_t i = 0; i < command->count; i++)
        if (!(arguments[i] = find(worker, command, command->arguments[i])))
            return NULL;
    for (size_t i = 0; i < session->function_count; i++)
        if (!strcmp(session->functions[i].name, command->name))
            return session->functions[i].run(session->tape, command->count, arguments);
    fail(worker, command, "there is no function of this name in the table");
    return NULL;
}

/* All workers come, so one that has failed takes part with zeros. */
static struct diff_tensor *all_reduce(struct worker *worker, const struct command *command)
{
    struct master_session *session = worker->session;
    struct diff_tensor *x = worker->failed ? NULL : find(worker, command, command->arguments[0]);
    if (x && x->count != command->count) {
        fail(worker, command, "%zu values where the master says %llu", x->count,
             (unsigned long long)command->count);
        x = NULL;
    }
    size_t count = (size_t)command->count;
    struct process_op op = {(enum process_op_kind)command->peer, command->factor, NULL};
    struct diff_tensor *y = process_group_all_reduce(
        session->workers, x ? x : diff_zeros(session->tape, DIFF_DOUBLE, 1, &count), op);
    return x ? y : NULL;
}

/* ---- values ---- */

static struct diff_tensor *values_take(struct worker *worker, const struct command *command)
{
    struct process_group *group = worker->session->group;
    size_t count = (size_t)command->count;
    double *values = process_group_take(group, (count + 1) * sizeof *values);
    process_group_expect(group, data_group_receive(group->data, values, count, DATA_DOUBLE,
                                                   worker->from, TAG_VALUES, NULL));
    if (command->kind == COMMAND_INPUT)
        return diff_input(worker->session->tape, command->name, DIFF_DOUBLE, 1, &count, values);
    return diff_constant(worker->session->tape, DIFF_DOUBLE, 1, &count, values);
}

static struct diff_tensor *tensor_take(struct worker *worker, size_t count, int from)
{
    struct diff_tensor *buffer = diff_zeros(worker->session->tape, DIFF_DOUBLE, 1, &count);
    return process_group_receive(worker->session->group, buffer, from, TAG_PIECE);
}

static void tensor_give(struct worker *worker, const struct command *command)
{
    struct diff_tensor *x = worker->failed ? NULL : find(worker, command, command->arguments[0]);
    answer(worker, command->peer, x == NULL, x ? x->count : 0);
    if (x)
        process_group_send(worker->session->group, x, command->peer, TAG_PIECE);
}

static struct diff_tensor *piece_take(struct worker *worker, const struct command *command)
{
    struct process_group *group = worker->session->group;
    struct answer told;
    process_group_expect(group, data_group_receive(group->data, &told, sizeof told, DATA_BYTE,
                                                   command->peer, TAG_ANSWER, NULL));
    if (!told.failed)
        return tensor_take(worker, (size_t)told.count, command->peer);
    told.error[sizeof told.error - 1] = '\0';
    fail(worker, command, "%.120s", told.error);
    return NULL;
}

static void gradient_give(struct worker *worker, const struct command *command)
{
    struct process_group *group = worker->session->group;
    struct diff_tensor *x = worker->failed ? NULL : find(worker, command, command->arguments[0]);
    if (x && x->count != command->count) {
        fail(worker, command, "%llu values asked for, and there are %zu",
             (unsigned long long)command->count, x->count);
        x = NULL;
    }
    answer(worker, worker->from, x == NULL, x ? x->count : 0);
    if (x)
        process_group_expect(group, data_group_send(group->data, diff_gradient(x), x->count,
                                                    DATA_DOUBLE, worker->from, TAG_VALUES));
}

static void backward(struct worker *worker, const struct command *command)
{
    bool named = command->count > 0 && !worker->failed;
    struct diff_tensor *loss = named ? find(worker, command, command->arguments[0]) : NULL;
    if (loss && loss->count != 1) {
        fail(worker, command, "a loss of %zu values", loss->count);
        loss = NULL;
    }
    if (loss)
        diff_backward(loss);
    else
        diff_backward_none(worker->session->tape);
}

static void forget(struct worker *worker)
{
    for (int m = 0; m < worker->session->masters; m++)
        for (size_t i = 0; i < worker->shelves[m].room; i++)
            worker->shelves[m].tensors[i] = NULL;
    diff_tape_clear(worker->session->tape);
}

/* Values are taken, answers given and collectives joined whatever has happened before. */
static void obey(struct worker *worker, const struct command *command)
{
    struct diff_tensor *y = NULL;
    bool able = !worker->failed;
    switch (command->kind) {
    case COMMAND_INPUT:
    case COMMAND_CONSTANT:
        y = values_take(worker, command);
        break;
    case COMMAND_APPLY:
        y = able ? apply(worker, command) : NULL;
        break;
    case COMMAND_SCALE: {
        struct diff_tensor *x = able ? find(worker, command, command->arguments[0]) : NULL;
        y = x ? diff_scale(x, command->factor) : NULL;
        break;
    }
    case COMMAND_CALL:
        y = able ? call(worker, command) : NULL;
        break;
    case COMMAND_ALL_REDUCE:
        y = all_reduce(worker, command);
        break;
    case COMMAND_FREE:
        if (able && find(worker, command, command->arguments[0]))
            *place(worker, command->arguments[0], false) = NULL;
        break;
    case COMMAND_TAKE:
        y = tensor_take(worker, (size_t)command->count, worker->from);
        break;
    case COMMAND_GIVE:
        tensor_give(worker, command);
        break;
    case COMMAND_TAKE_PIECE:
        y = piece_take(worker, command);
        break;
    case COMMAND_SYNC:
        answer(worker, worker->from, worker->failed, 0);
        break;
    case COMMAND_BACKWARD:
        backward(worker, command);
        break;
    case COMMAND_GRADIENT:
        gradient_give(worker, command);
        break;
    case COMMAND_CLEAR:
        forget(worker);
        break;
    case COMMAND_STOP:
        answer(worker, worker->from, worker->failed, 0);
        worker->stopped = true;
        break;
    case COMMANDS:
        break;
    }
    keep(worker, command, y);
}

void worker_obey(struct master_session *session)
{
    struct process_group *group = session->group;
    struct worker worker = {.session = session};
    worker.shelves =
        arena_take_zeroed(&session->tape->fixed, (size_t)session->masters * sizeof(struct shelf));
    while (!worker.stopped) {
        struct command command;
        struct data_status status;
        process_group_expect(
            group, data_group_receive(group->data, &command, sizeof command, DATA_BYTE,
                                      session->masters > 1 ? DATA_ANY : 0, TAG_COMMAND, &status));
        worker.from = status.source;
        obey(&worker, &command);
    }
    if (worker.telling)
        process_group_expect(group, data_request_wait(worker.telling, NULL));
}
