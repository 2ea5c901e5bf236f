/* Workers: values that come and go, all-reduces, backward passes. See master_parts.h. */
#include "collectives/systems/master_worker/master_parts.h"

#include <string.h>

/* What a command is about; NULL when the worker has failed, now or before. */
static const struct remote_values *argument(struct worker *worker, const struct command *command)
{
    return worker->failed ? NULL : worker_find(worker, command, command->arguments[0]);
}

/* Ends the worker's good days unless the values are as many and of the type that the master says.
 */
static const struct remote_values *as_told(struct worker *worker, const struct command *command,
                                           const struct remote_values *found)
{
    if (found && found->count != command->count)
        worker_fail(worker, command, "%zu values where the master says %llu", found->count,
                    (unsigned long long)command->count);
    else if (found && found->type != command->type)
        worker_fail(worker, command, "%s values where the master says %s",
                    data_type_name(found->type), data_type_name(command->type));
    return worker->failed ? NULL : found;
}

struct remote_values worker_data(struct worker *worker, const struct remote_values *values)
{
    const struct process_group *group = worker->session->group;
    size_t bytes = values->count * data_type_size(values->type);
    if (!values->values && values->count == 0)
        return (struct remote_values){0};
    void *copy = process_group_take(group, bytes + 1);
    if (values->values)
        memcpy(copy, values->values, bytes);
    return (struct remote_values){NULL, values->type, values->count, copy};
}

/* Room for so many zeros. */
static struct remote_values zeros(struct worker *worker, enum data_type type, size_t count)
{
    size_t bytes = count * data_type_size(type);
    return (struct remote_values){NULL, type, count,
                                  process_group_take(worker->session->group, bytes + 1)};
}

static void *room_of(const struct remote_values *values)
{
    union {
        const void *read;
        void *written;
    } room = {values->values}; /* made by zeros, above */
    return room.written;
}

static struct remote_values data_take(struct worker *worker, enum data_type type, size_t count,
                                      int from)
{
    struct process_group *group = worker->session->group;
    struct remote_values data = zeros(worker, type, count);
    process_group_expect(group, data_group_receive(group->data, room_of(&data), count, type, from,
                                                   TAG_VALUES, NULL));
    return data;
}

struct remote_values worker_take_values(struct worker *worker, const struct command *command)
{
    struct diff_tape *tape = worker->session->tape;
    size_t count = (size_t)command->count;
    struct remote_values data = data_take(worker, command->type, count, worker->from);
    if (command->kind == COMMAND_DATA)
        return data;
    enum diff_type type = tensor_type(command->type);
    if (command->kind == COMMAND_INPUT)
        return values_of(diff_input(tape, command->name, type, 1, &count, data.values));
    return values_of(diff_constant(tape, type, 1, &count, data.values));
}

struct remote_values worker_take_tensor(struct worker *worker, enum data_type type, size_t count,
                                        int from)
{
    struct diff_tensor *buffer = diff_zeros(worker->session->tape, tensor_type(type), 1, &count);
    return values_of(process_group_receive(worker->session->group, buffer, from, TAG_PIECE));
}

static void data_give(struct worker *worker, const struct remote_values *data, int to)
{
    struct process_group *group = worker->session->group;
    process_group_expect(
        group, data_group_send(group->data, data->values, data->count, data->type, to, TAG_VALUES));
}

void worker_give(struct worker *worker, const struct command *command)
{
    const struct remote_values *found = argument(worker, command);
    if (found && !found->tensor && command->peer < worker->session->masters)
        worker_fail(worker, command, "%s data are no tensor: master_fetch gets them",
                    data_type_name(found->type));
    found = worker->failed ? NULL : found;
    worker_answer(worker, command->peer, found);
    if (found && found->tensor)
        process_group_send(worker->session->group, found->tensor, command->peer, TAG_PIECE);
    else if (found)
        data_give(worker, found, command->peer);
}

struct remote_values worker_take_piece(struct worker *worker, const struct command *command)
{
    struct process_group *group = worker->session->group;
    struct answer told;
    process_group_expect(group, data_group_receive(group->data, &told, sizeof told, DATA_BYTE,
                                                   command->peer, TAG_ANSWER, NULL));
    if (!told.failed && told.data)
        return data_take(worker, told.type, (size_t)told.count, command->peer);
    if (!told.failed)
        return worker_take_tensor(worker, told.type, (size_t)told.count, command->peer);
    told.error[sizeof told.error - 1] = '\0';
    worker_fail(worker, command, "%.120s", told.error);
    return (struct remote_values){0};
}

/* A tensor times one, which passes its gradient on; data never change. */
struct remote_values worker_copy(struct worker *worker, const struct command *command)
{
    const struct remote_values *found = argument(worker, command);
    if (!found)
        return (struct remote_values){0};
    return found->tensor ? values_of(diff_scale(found->tensor, 1)) : *found;
}

void worker_give_values(struct worker *worker, const struct command *command)
{
    const struct remote_values *found = as_told(worker, command, argument(worker, command));
    if (found && !found->tensor && command->kind == COMMAND_GRADIENT)
        worker_fail(worker, command, "data have no gradient");
    found = worker->failed ? NULL : found;
    worker_answer(worker, worker->from, found);
    if (!found)
        return;
    struct remote_values given = *found;
    if (command->kind == COMMAND_GRADIENT)
        given.values = diff_gradient(found->tensor);
    data_give(worker, &given, worker->from);
}

static struct remote_values all_reduce_data(struct worker *worker, const struct command *command,
                                            const struct remote_values *x)
{
    struct process_group *workers = worker->session->workers;
    struct remote_values y = zeros(worker, command->type, (size_t)command->count);
    enum data_operator op = command->peer == PROCESS_OP_PRODUCT ? DATA_PRODUCT
                            : command->peer == PROCESS_OP_MIN   ? DATA_MIN
                            : command->peer == PROCESS_OP_MAX   ? DATA_MAX
                                                                : DATA_SUM;
    process_group_expect(
        workers, data_group_all_reduce(workers->data, x->values, room_of(&y), y.count, y.type, op));
    return y;
}

/* All workers come, so one that has failed takes part with zeros. */
struct remote_values worker_all_reduce(struct worker *worker, const struct command *command)
{
    struct master_session *session = worker->session;
    size_t count = (size_t)command->count;
    bool data = !is_tensor_type(command->type);
    const struct remote_values *x = as_told(worker, command, argument(worker, command));
    struct remote_values y, nothing = zeros(worker, command->type, count);
    if (x && !data && !x->tensor) {
        worker_fail(worker, command, "%s data are no tensor", data_type_name(x->type));
        x = NULL;
    }
    if (data) {
        y = all_reduce_data(worker, command, x ? x : &nothing);
    } else {
        struct process_op op = {(enum process_op_kind)command->peer, command->factor, NULL};
        enum diff_type type = tensor_type(command->type);
        y = values_of(process_group_all_reduce(
            session->workers, x ? x->tensor : diff_zeros(session->tape, type, 1, &count), op));
    }
    return x ? y : (struct remote_values){0};
}

void worker_backward(struct worker *worker, const struct command *command)
{
    bool named = command->count > 0 && !worker->failed;
    struct diff_tensor *loss = named ? worker_tensor(worker, command, command->arguments[0]) : NULL;
    if (loss && loss->count != 1) {
        worker_fail(worker, command, "a loss of %zu values", loss->count);
        loss = NULL;
    }
    if (loss)
        diff_backward(loss);
    else
        diff_backward_none(worker->session->tape);
}
