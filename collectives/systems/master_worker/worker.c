/* Workers: the loop that obeys commands. See master_worker.h. */
#include "collectives/systems/master_worker/master_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
        [COMMAND_STOP] = "stop",         [COMMAND_DATA] = "data",
        [COMMAND_COPY] = "copy_between", [COMMAND_FETCH] = "fetch",
    };
    if (command->kind == COMMAND_APPLY && (unsigned)command->peer < REMOTE_OPERATIONS)
        return operation_names[command->peer];
    return (unsigned)command->kind < COMMANDS ? names[command->kind] : "unknown command";
}

/* ---- errors ---- */

/* The first one counts, and goes to whoever gave the command. */
void worker_fail(struct worker *worker, const struct command *command, const char *format, ...)
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

void worker_answer(struct worker *worker, int to, const struct remote_values *values)
{
    struct process_group *group = worker->session->group;
    struct answer told = {.failed = !values, .told = worker->telling && worker->told == to};
    if (values) {
        told.count = values->count;
        told.type = values->type;
        told.data = !values->tensor;
    }
    memcpy(told.error, worker->error, sizeof told.error);
    process_group_expect(
        group, data_group_send(group->data, &told, sizeof told, DATA_BYTE, to, TAG_ANSWER));
}

/* ---- tensors ---- */

static struct remote_values *place(struct worker *worker, uint64_t id, bool make)
{
    uint64_t master = id >> REMOTE_ID_BITS, number = id & (((uint64_t)1 << REMOTE_ID_BITS) - 1);
    if (master >= (uint64_t)worker->session->masters || number == 0)
        return NULL;
    struct shelf *shelf = &worker->shelves[master];
    if (number >= shelf->room && !make)
        return NULL;
    if (number >= shelf->room) {
        size_t room = 2 * (size_t)number + 64;
        struct remote_values *items =
            arena_take_zeroed(&worker->session->tape->fixed, room * sizeof *items);
        for (size_t i = 0; i < shelf->room; i++)
            items[i] = shelf->items[i];
        *shelf = (struct shelf){items, room};
    }
    return &shelf->items[number];
}

const struct remote_values *worker_find(struct worker *worker, const struct command *command,
                                        uint64_t id)
{
    const struct remote_values *at = place(worker, id, false);
    if (at && (at->tensor || at->values))
        return at;
    worker_fail(worker, command, "there is no tensor %llu: it was freed, or never made",
                (unsigned long long)(id & (((uint64_t)1 << REMOTE_ID_BITS) - 1)));
    return NULL;
}

struct diff_tensor *worker_tensor(struct worker *worker, const struct command *command, uint64_t id)
{
    const struct remote_values *found = worker_find(worker, command, id);
    if (found && !found->tensor)
        worker_fail(worker, command, "%s data are no tensor: functions take them",
                    data_type_name(found->type));
    return found ? found->tensor : NULL;
}

struct remote_values values_of(struct diff_tensor *x)
{
    if (!x)
        return (struct remote_values){0};
    return (struct remote_values){x, process_group_type(x), x->count, diff_values(x)};
}

static void keep(struct worker *worker, const struct command *command, struct remote_values made)
{
    struct remote_values *at =
        made.tensor || made.values ? place(worker, command->result, true) : NULL;
    if (at)
        *at = made;
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
    struct diff_tensor *a = worker_tensor(worker, command, command->arguments[0]);
    struct diff_tensor *b = two && a ? worker_tensor(worker, command, command->arguments[1]) : NULL;
    if (!a || (two && !b))
        return NULL;
    if (!two)
        return apply_one(operation, a);
    if (a->count != b->count)
        worker_fail(worker, command, "tensors of %zu and %zu values", a->count, b->count);
    else if (a->type != b->type)
        worker_fail(worker, command, "tensors of %s and %s values", diff_type_name(a->type),
                    diff_type_name(b->type));
    return worker->failed ? NULL : apply_two(operation, a, b);
}

static struct remote_values call(struct worker *worker, const struct command *command)
{
    struct remote_values arguments[REMOTE_ARGUMENTS_MAX], none = {0};
    struct diff_tensor *tensors[REMOTE_ARGUMENTS_MAX];
    const struct master_session *session = worker->session;
    const struct master_function *function = NULL;
    for (size_t i = 0; i < session->function_count && !function; i++)
        if (!strcmp(session->functions[i].name, command->name))
            function = &session->functions[i];
    if (!function)
        worker_fail(worker, command, "there is no function of this name in the table");
    for (size_t i = 0; i < command->count && !worker->failed; i++) {
        const struct remote_values *found = worker_find(worker, command, command->arguments[i]);
        arguments[i] = found ? *found : none;
        tensors[i] = arguments[i].tensor;
        if (found && !found->tensor && function->run)
            worker_fail(worker, command, "argument %zu are %s data, and it takes tensors", i + 1,
                        data_type_name(found->type));
    }
    if (worker->failed)
        return none;
    if (function->run)
        return values_of(function->run(session->tape, command->count, tensors));
    struct remote_values made = function->run_any(session->tape, command->count, arguments);
    return made.tensor ? values_of(made.tensor) : worker_data(worker, &made);
}

/* ---- the loop ---- */

static void forget(struct worker *worker)
{
    for (int m = 0; m < worker->session->masters; m++)
        for (size_t i = 0; i < worker->shelves[m].room; i++)
            worker->shelves[m].items[i] = (struct remote_values){0};
    diff_tape_clear(worker->session->tape);
}

/* Values are taken, answers given and collectives joined whatever has happened before. */
static void obey(struct worker *worker, const struct command *command)
{
    struct remote_values made = {0};
    struct diff_tensor *x;
    bool able = !worker->failed;
    switch (command->kind) {
    case COMMAND_INPUT:
    case COMMAND_CONSTANT:
    case COMMAND_DATA:
        made = worker_take_values(worker, command);
        break;
    case COMMAND_APPLY:
        made = values_of(able ? apply(worker, command) : NULL);
        break;
    case COMMAND_SCALE:
        x = able ? worker_tensor(worker, command, command->arguments[0]) : NULL;
        made = values_of(x ? diff_scale(x, command->factor) : NULL);
        break;
    case COMMAND_CALL:
        if (able)
            made = call(worker, command);
        break;
    case COMMAND_ALL_REDUCE:
        made = worker_all_reduce(worker, command);
        break;
    case COMMAND_FREE:
        if (able && worker_find(worker, command, command->arguments[0]))
            *place(worker, command->arguments[0], false) = made;
        break;
    case COMMAND_COPY:
        made = worker_copy(worker, command);
        break;
    case COMMAND_TAKE:
        made = worker_take_tensor(worker, command->type, (size_t)command->count, worker->from);
        break;
    case COMMAND_GIVE:
        worker_give(worker, command);
        break;
    case COMMAND_TAKE_PIECE:
        made = worker_take_piece(worker, command);
        break;
    case COMMAND_FETCH:
    case COMMAND_GRADIENT:
        worker_give_values(worker, command);
        break;
    case COMMAND_SYNC:
        worker_answer(worker, worker->from, able ? &made : NULL);
        break;
    case COMMAND_BACKWARD:
        worker_backward(worker, command);
        break;
    case COMMAND_CLEAR:
        forget(worker);
        break;
    case COMMAND_STOP:
        worker_answer(worker, worker->from, able ? &made : NULL);
        worker->stopped = true;
        break;
    case COMMANDS:
        break;
    }
    keep(worker, command, made);
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
