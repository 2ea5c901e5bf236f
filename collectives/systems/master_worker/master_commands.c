/* What masters tell workers to do: tensors, operations, copies, the backward pass. See
 * master_worker.h. */
#include "collectives/systems/master_worker/master_parts.h"

#include <string.h>

/* ---- commands ---- */

static struct remote values_give(struct master *master, int worker, struct command command,
                                 const char *name, const void *values, const void *site)
{
    state_enter(master->session.tape->state, site);
    struct remote made = master_remote(master, worker);
    bool known = (unsigned)command.type < DATA_TYPES;
    if (!known || (command.kind != COMMAND_DATA && !is_tensor_type(command.type)))
        process_group_misuse(master->session.group, "%s: there is no such type of values: %d",
                             command_name(&command), (int)command.type);
    command.result = made.id;
    command_name_put(master, &command, name);
    master_give_with(master, worker, &command, values);
    LEAVE_MASTER(master);
    return made;
}

struct remote master_input_of(struct master *master, int worker, const char *name,
                              enum diff_type type, size_t count, const void *values)
{
    struct command command = {COMMAND_INPUT, .count = count, .type = data_type_of(type)};
    return values_give(master, worker, command, name, values, __builtin_return_address(0));
}

struct remote master_input(struct master *master, int worker, const char *name, size_t count,
                           const double *values)
{
    struct command command = {COMMAND_INPUT, .count = count, .type = DATA_DOUBLE};
    return values_give(master, worker, command, name, values, __builtin_return_address(0));
}

struct remote master_constant_of(struct master *master, int worker, enum diff_type type,
                                 size_t count, const void *values)
{
    struct command command = {COMMAND_CONSTANT, .count = count, .type = data_type_of(type)};
    return values_give(master, worker, command, "", values, __builtin_return_address(0));
}

struct remote master_constant(struct master *master, int worker, size_t count, const double *values)
{
    struct command command = {COMMAND_CONSTANT, .count = count, .type = DATA_DOUBLE};
    return values_give(master, worker, command, "", values, __builtin_return_address(0));
}

struct remote master_data(struct master *master, int worker, enum data_type type, size_t count,
                          const void *values)
{
    struct command command = {COMMAND_DATA, .count = count, .type = type};
    return values_give(master, worker, command, "", values, __builtin_return_address(0));
}

/* A command with arguments of one worker and a result there. */
static struct remote operate(struct master *master, struct command command, size_t count,
                             const struct remote *arguments, int worker)
{
    struct remote made = master_remote(master, worker);
    if (count > REMOTE_ARGUMENTS_MAX)
        process_group_misuse(master->session.group, "%s: %zu arguments, and there is room for %d",
                             command_name(&command), count, REMOTE_ARGUMENTS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].worker != worker)
            process_group_misuse(master->session.group,
                                 "%s on worker %d of a tensor of worker %d: copy it first",
                                 command_name(&command), worker, arguments[i].worker);
        command.arguments[i] = arguments[i].id;
    }
    command.result = made.id;
    command.count = count;
    master_give(master, worker, &command);
    return made;
}

static struct remote apply(struct master *master, enum remote_operation operation, size_t count,
                           const struct remote *arguments, const void *site)
{
    state_enter(master->session.tape->state, site);
    struct command command = {.kind = COMMAND_APPLY, .peer = (int)operation};
    if ((unsigned)operation >= REMOTE_OPERATIONS || (operation >= REMOTE_ADD) != (count == 2))
        process_group_misuse(master->session.group, "operation %d does not take %zu tensors",
                             (int)operation, count);
    struct remote made = operate(master, command, count, arguments, arguments[0].worker);
    LEAVE_MASTER(master);
    return made;
}

struct remote master_apply(struct master *master, enum remote_operation operation, struct remote a)
{
    return apply(master, operation, 1, &a, __builtin_return_address(0));
}

struct remote master_apply_two(struct master *master, enum remote_operation operation,
                               struct remote a, struct remote b)
{
    return apply(master, operation, 2, (struct remote[]){a, b}, __builtin_return_address(0));
}

struct remote master_scale(struct master *master, struct remote a, double factor)
{
    ENTER_MASTER(master);
    struct command command = {.kind = COMMAND_SCALE, .factor = factor};
    struct remote made = operate(master, command, 1, &a, a.worker);
    LEAVE_MASTER(master);
    return made;
}

struct remote master_call(struct master *master, int worker, const char *function, size_t count,
                          const struct remote *arguments)
{
    ENTER_MASTER(master);
    struct command command = {.kind = COMMAND_CALL};
    command_name_put(master, &command, function);
    struct remote made = operate(master, command, count, arguments, worker);
    LEAVE_MASTER(master);
    return made;
}

static void all_reduce(struct master *master, enum data_type type, size_t count,
                       const struct remote *x, struct process_op op, struct remote *results,
                       const void *site)
{
    state_enter(master->session.tape->state, site);
    struct master_session *session = &master->session;
    if (session->masters > 1 || op.factor_tensor)
        process_group_misuse(session->group, "all_reduce: by one master, and factors as numbers");
    if ((unsigned)type >= DATA_TYPES || type == DATA_BYTE)
        process_group_misuse(session->group, "all_reduce: there is no such type of numbers: %d",
                             (int)type);
    if (!is_tensor_type(type) && (op.kind == PROCESS_OP_AVG || op.kind == PROCESS_OP_PREMUL_SUM))
        process_group_misuse(session->group, "all_reduce: %s values have no average and no factor",
                             data_type_name(type));
    for (int i = 0; i < master_workers(master); i++) {
        struct command command = {
            .kind = COMMAND_ALL_REDUCE, .peer = (int)op.kind, .factor = op.factor, .type = type};
        int worker = session->masters + i;
        struct remote made = master_remote(master, worker);
        if (x[i].worker != worker)
            process_group_misuse(session->group, "all_reduce: tensor %d is not worker %d's", i,
                                 worker);
        command.arguments[0] = x[i].id;
        command.result = made.id;
        command.count = count;
        master_give(master, worker, &command);
        results[i] = made;
    }
    LEAVE_MASTER(master);
}

void master_all_reduce(struct master *master, size_t count, const struct remote *x,
                       struct process_op op, struct remote *results)
{
    all_reduce(master, DATA_DOUBLE, count, x, op, results, __builtin_return_address(0));
}

void master_all_reduce_of(struct master *master, enum data_type type, size_t count,
                          const struct remote *x, struct process_op op, struct remote *results)
{
    all_reduce(master, type, count, x, op, results, __builtin_return_address(0));
}

void master_free(struct master *master, struct remote x)
{
    ENTER_MASTER(master);
    struct command command = {.kind = COMMAND_FREE, .arguments = {x.id}};
    master_check(master, x.worker);
    master_give(master, x.worker, &command);
    LEAVE_MASTER(master);
}

/* ---- copies ---- */

struct remote master_copy_to(struct master *master, int worker, struct diff_tensor *x)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    struct remote made = master_remote(master, worker);
    process_group_check(group, x);
    master_give(master, worker,
                &(struct command){.kind = COMMAND_TAKE,
                                  .count = x->count,
                                  .type = process_group_type(x),
                                  .result = made.id});
    process_group_send(group, x, worker, TAG_PIECE);
    LEAVE_MASTER(master);
    return made;
}

struct diff_tensor *master_copy_from(struct master *master, struct remote x)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    struct answer told;
    struct diff_tensor *y = NULL;
    master_check(master, x.worker);
    master_give(master, x.worker,
                &(struct command){.kind = COMMAND_GIVE, .peer = group->rank, .arguments = {x.id}});
    if (master_answer(master, x.worker, &told)) {
        size_t count = (size_t)told.count;
        struct diff_tensor *buffer =
            diff_zeros(master->session.tape, tensor_type(told.type), 1, &count);
        y = process_group_receive(group, buffer, x.worker, TAG_PIECE);
    }
    LEAVE_MASTER(master);
    return y;
}

struct remote master_copy_between(struct master *master, struct remote x, int worker)
{
    ENTER_MASTER(master);
    struct remote made = master_remote(master, worker);
    master_check(master, x.worker);
    if (x.worker == worker)
        master_give(
            master, worker,
            &(struct command){.kind = COMMAND_COPY, .arguments = {x.id}, .result = made.id});
    else {
        master_give(master, x.worker,
                    &(struct command){.kind = COMMAND_GIVE, .peer = worker, .arguments = {x.id}});
        master_give(
            master, worker,
            &(struct command){.kind = COMMAND_TAKE_PIECE, .peer = x.worker, .result = made.id});
    }
    LEAVE_MASTER(master);
    return made;
}

bool master_sync(struct master *master, int worker)
{
    ENTER_MASTER(master);
    struct answer told;
    master_check(master, worker);
    master_give(master, worker, &(struct command){.kind = COMMAND_SYNC});
    bool right = master_answer(master, worker, &told);
    LEAVE_MASTER(master);
    return right;
}

/* ---- backward ---- */

void master_backward(struct master *master, struct diff_tensor *loss, size_t count,
                     const struct remote *losses)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (losses[i].worker == losses[k].worker)
                process_group_misuse(group, "backward: two losses of worker %d: add them first",
                                     losses[i].worker);
    for (int worker = master->session.masters; group->rank == 0 && worker < group->size; worker++) {
        struct command command = {.kind = COMMAND_BACKWARD};
        for (size_t i = 0; i < count; i++)
            if (losses[i].worker == worker) {
                command.count = 1;
                command.arguments[0] = losses[i].id;
            }
        master_give(master, worker, &command);
    }
    if (loss)
        diff_backward(loss);
    else
        diff_backward_none(master->session.tape);
    LEAVE_MASTER(master);
}

/* What the worker answers to this command, as values. */
static bool values_get(struct master *master, struct remote x, struct command command, void *values,
                       const void *site)
{
    state_enter(master->session.tape->state, site);
    struct process_group *group = master->session.group;
    struct answer told;
    master_check(master, x.worker);
    command.arguments[0] = x.id;
    master_give(master, x.worker, &command);
    bool right = master_answer(master, x.worker, &told);
    if (right)
        process_group_expect(group, data_group_receive(group->data, values, (size_t)command.count,
                                                       command.type, x.worker, TAG_VALUES, NULL));
    LEAVE_MASTER(master);
    return right;
}

bool master_fetch(struct master *master, struct remote x, enum data_type type, size_t count,
                  void *values)
{
    struct command command = {COMMAND_FETCH, .count = count, .type = type};
    return values_get(master, x, command, values, __builtin_return_address(0));
}

bool master_gradient(struct master *master, struct remote x, size_t count, double *values)
{
    struct command command = {COMMAND_GRADIENT, .count = count, .type = DATA_DOUBLE};
    return values_get(master, x, command, values, __builtin_return_address(0));
}

bool master_gradient_of(struct master *master, struct remote x, enum diff_type type, size_t count,
                        void *values)
{
    struct command command = {COMMAND_GRADIENT, .count = count, .type = data_type_of(type)};
    return values_get(master, x, command, values, __builtin_return_address(0));
}
