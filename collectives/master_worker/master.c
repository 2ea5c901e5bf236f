/* Masters: giving commands, copying, and hearing of errors. See master_worker.h. */
#include "collectives/master_worker/master_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A command on its way, and the values that belong to it. */
struct giving {
    struct giving *next;
    int worker;
    struct data_request *request, *values_request;
    struct command command;
    double values[];
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

/* ---- errors ---- */

/* A worker's first error: ends the rank unless errors are told. */
static void error_keep(struct master *master, int worker, const char *text)
{
    if (master->seats[worker].failed)
        return;
    master->seats[worker].failed = true;
    if (!master->tells)
        state_fail(master->session.tape->state, "M009", "%.*s", REMOTE_ERROR_ROOM, text);
    if (!master->error[0])
        snprintf(master->error, sizeof master->error, "%.*s", REMOTE_ERROR_ROOM - 1, text);
}

/* Takes the sentence that a worker has sent. */
static void error_take(struct master *master, int worker)
{
    struct process_group *group = master->session.group;
    char text[REMOTE_ERROR_ROOM] = "";
    process_group_expect(group, data_group_receive(group->data, text, sizeof text, DATA_BYTE,
                                                   worker, TAG_ERROR, NULL));
    master->seats[worker].heard = true;
    error_keep(master, worker, text);
}

static void error_look(struct master *master, int worker)
{
    struct process_group *group = master->session.group;
    bool there = false;
    if (master->seats[worker].heard)
        return;
    process_group_expect(group,
                         data_group_look(group->data, DATA_BYTE, worker, TAG_ERROR, &there, NULL));
    if (there)
        error_take(master, worker);
}

void master_tells(struct master *master)
{
    master->tells = true;
}

const char *master_error(const struct master *master)
{
    return master->error;
}

/* ---- giving commands ---- */

/* Once a worker has answered, it has taken all that was given to it before. */
static void givings_settle(struct master *master, int worker)
{
    const struct process_group *group = master->session.group;
    struct giving **link = &master->givings;
    while (*link) {
        struct giving *giving = *link;
        if (giving->worker != worker) {
            link = &giving->next;
            continue;
        }
        process_group_expect(group, data_request_wait(giving->request, NULL));
        if (giving->values_request)
            process_group_expect(group, data_request_wait(giving->values_request, NULL));
        *link = giving->next;
        free(giving);
    }
}

static void give_with(struct master *master, int worker, const struct command *command,
                      size_t count, const double *values)
{
    struct process_group *group = master->session.group;
    error_look(master, worker);
    struct giving *giving = malloc(sizeof *giving + count * sizeof *values);
    if (!giving)
        state_fail(master->session.tape->state, "X002", "no memory for a command");
    *giving = (struct giving){.next = master->givings, .worker = worker, .command = *command};
    master->givings = giving;
    master->seats[worker].used = true;
    process_group_expect(group,
                         data_group_isend(group->data, &giving->command, sizeof giving->command,
                                          DATA_BYTE, worker, TAG_COMMAND, &giving->request));
    if (!values)
        return;
    memcpy(giving->values, values, count * sizeof *values);
    process_group_expect(group, data_group_isend(group->data, giving->values, count, DATA_DOUBLE,
                                                 worker, TAG_VALUES, &giving->values_request));
}

static void give(struct master *master, int worker, const struct command *command)
{
    give_with(master, worker, command, 0, NULL);
}

static void check_worker(const struct master *master, int worker)
{
    const struct process_group *group = master->session.group;
    if (worker < master->session.masters || worker >= group->size)
        process_group_misuse(group, "rank %d is no worker: they are %d..%d", worker,
                             master->session.masters, group->size - 1);
}

static struct remote remote_new(struct master *master, int worker)
{
    check_worker(master, worker);
    uint64_t number = ++master->seats[worker].made;
    return (struct remote){worker,
                           (uint64_t)master->session.group->rank << REMOTE_ID_BITS | number};
}

static void name_put(const struct master *master, struct command *command, const char *name)
{
    if (strlen(name) >= sizeof command->name)
        process_group_misuse(master->session.group, "the name %.20s... is longer than %zu letters",
                             name, sizeof command->name - 1);
    memcpy(command->name, name, strlen(name) + 1);
}

/* The answer to a command; false when the worker has failed. */
static bool answer_take(struct master *master, int worker, struct answer *told)
{
    struct process_group *group = master->session.group;
    process_group_expect(group, data_group_receive(group->data, told, sizeof *told, DATA_BYTE,
                                                   worker, TAG_ANSWER, NULL));
    givings_settle(master, worker);
    if (told->told && !master->seats[worker].heard)
        error_take(master, worker);
    if (told->failed)
        error_keep(master, worker, told->error);
    return !told->failed;
}

#define ENTER_MASTER(master) ENTER((master)->session.tape->state)
#define LEAVE_MASTER(master) state_leave((master)->session.tape->state)

/* ---- the session ---- */

struct master *master_start(struct process_group *world, int masters,
                            const struct master_function *functions, size_t function_count)
{
    struct diff_tape *tape = world->tape;
    ENTER(tape->state);
    if (masters < 1 || masters >= world->size)
        process_group_misuse(world, "master_start: %d masters among %d ranks leave no worker",
                             masters, world->size);
    int *ranks = process_group_take(world, (size_t)world->size * sizeof *ranks);
    for (int i = 0; i < world->size; i++)
        ranks[i] = i;
    struct master *master = arena_take_zeroed(&tape->fixed, sizeof *master);
    master->session = (struct master_session){
        .group = process_group_new(world, world->size, ranks),
        .workers = process_group_new(world, world->size - masters, ranks + masters),
        .tape = tape,
        .masters = masters,
        .functions = functions,
        .function_count = function_count};
    master->seats = arena_take_zeroed(&tape->fixed, (size_t)world->size * sizeof *master->seats);
    bool obeys = world->rank >= masters;
    if (obeys) {
        worker_obey(&master->session);
        process_group_free(master->session.workers);
        process_group_free(master->session.group);
    }
    state_leave(tape->state);
    return obeys ? NULL : master;
}

static void empty_send(struct process_group *group, int to, int tag)
{
    process_group_expect(group, data_group_send(group->data, NULL, 0, DATA_BYTE, to, tag));
}

static void empty_receive(struct process_group *group, int from, int tag)
{
    process_group_expect(group,
                         data_group_receive(group->data, NULL, 0, DATA_BYTE, from, tag, NULL));
}

static void token_settle(struct master *master, struct seat *seat)
{
    if (seat->token)
        process_group_expect(master->session.group, data_request_wait(seat->token, NULL));
    seat->token = NULL;
}

/* One master after the other waits for the workers it has used; rank 0, which begins, is also the
 * last to hear: then nobody has a command on its way. */
static void masters_end(struct master *master)
{
    struct process_group *group = master->session.group;
    int masters = master->session.masters;
    for (int worker = masters; group->rank == 0 && worker < group->size; worker++)
        if (master->seats[worker].locks > 0)
            empty_receive(group, masters - 1, TAG_TOKEN + worker);
    for (int worker = masters; worker < group->size; worker++)
        token_settle(master, &master->seats[worker]);
    if (group->rank > 0)
        empty_receive(group, group->rank - 1, TAG_TURN);
    for (int worker = masters; worker < group->size; worker++)
        if (master->seats[worker].used)
            master_sync(master, worker);
    empty_send(group, (group->rank + 1) % masters, TAG_TURN);
    if (group->rank == 0)
        empty_receive(group, masters - 1, TAG_TURN);
}

void master_stop(struct master *master)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    if (master->session.masters > 1)
        masters_end(master);
    for (int worker = master->session.masters; group->rank == 0 && worker < group->size; worker++)
        give(master, worker, &(struct command){.kind = COMMAND_STOP});
    for (int worker = master->session.masters; group->rank == 0 && worker < group->size; worker++) {
        struct answer told;
        answer_take(master, worker, &told);
    }
    process_group_free(group);
    LEAVE_MASTER(master);
}

int master_workers(const struct master *master)
{
    return master->session.group->size - master->session.masters;
}

int master_first_worker(const struct master *master)
{
    return master->session.masters;
}

void master_clear(struct master *master)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    for (int worker = master->session.masters; worker < group->size; worker++)
        give(master, worker, &(struct command){.kind = COMMAND_CLEAR});
    diff_tape_clear(master->session.tape);
    LEAVE_MASTER(master);
}

/* ---- locks ----
 *
 * The token of a worker is a message from master to master. Rank 0 has it at first, so its first
 * lock needs none. */

void master_lock(struct master *master, int worker)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    int masters = master->session.masters, last = (group->rank + masters - 1) % masters;
    struct seat *seat = &master->seats[worker];
    check_worker(master, worker);
    if (seat->locked)
        process_group_misuse(group, "worker %d is locked twice", worker);
    if (masters > 1 && (group->rank > 0 || seat->locks > 0))
        empty_receive(group, last, TAG_TOKEN + worker);
    token_settle(master, seat);
    seat->locked = true;
    seat->locks++;
    LEAVE_MASTER(master);
}

void master_unlock(struct master *master, int worker)
{
    ENTER_MASTER(master);
    struct seat *seat = &master->seats[worker];
    check_worker(master, worker);
    if (!seat->locked)
        process_group_misuse(master->session.group, "worker %d is not locked", worker);
    master_sync(master, worker);
    seat->locked = false;
    struct process_group *group = master->session.group;
    int next = (group->rank + 1) % master->session.masters;
    if (master->session.masters > 1) /* the next one may be in no hurry */
        process_group_expect(group, data_group_isend(group->data, NULL, 0, DATA_BYTE, next,
                                                     TAG_TOKEN + worker, &seat->token));
    LEAVE_MASTER(master);
}

/* ---- commands ---- */

static struct remote values_give(struct master *master, int worker, enum command_kind kind,
                                 const char *name, size_t count, const double *values)
{
    struct command command = {.kind = kind, .count = count};
    struct remote made = remote_new(master, worker);
    command.result = made.id;
    name_put(master, &command, name);
    give_with(master, worker, &command, count, values);
    return made;
}

struct remote master_input(struct master *master, int worker, const char *name, size_t count,
                           const double *values)
{
    ENTER_MASTER(master);
    struct remote made = values_give(master, worker, COMMAND_INPUT, name, count, values);
    LEAVE_MASTER(master);
    return made;
}

struct remote master_constant(struct master *master, int worker, size_t count, const double *values)
{
    ENTER_MASTER(master);
    struct remote made = values_give(master, worker, COMMAND_CONSTANT, "", count, values);
    LEAVE_MASTER(master);
    return made;
}

/* A command with arguments of one worker and a result there. */
static struct remote operate(struct master *master, struct command command, size_t count,
                             const struct remote *arguments, int worker)
{
    struct remote made = remote_new(master, worker);
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
    give(master, worker, &command);
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
    name_put(master, &command, function);
    struct remote made = operate(master, command, count, arguments, worker);
    LEAVE_MASTER(master);
    return made;
}

void master_all_reduce(struct master *master, size_t count, const struct remote *x,
                       struct process_op op, struct remote *results)
{
    ENTER_MASTER(master);
    struct master_session *session = &master->session;
    if (session->masters > 1 || op.factor_tensor)
        process_group_misuse(session->group, "all_reduce: by one master, and factors as numbers");
    for (int i = 0; i < master_workers(master); i++) {
        struct command command = {
            .kind = COMMAND_ALL_REDUCE, .peer = (int)op.kind, .factor = op.factor};
        int worker = session->masters + i;
        struct remote made = remote_new(master, worker);
        if (x[i].worker != worker)
            process_group_misuse(session->group, "all_reduce: tensor %d is not worker %d's", i,
                                 worker);
        command.arguments[0] = x[i].id;
        command.result = made.id;
        command.count = count;
        give(master, worker, &command);
        results[i] = made;
    }
    LEAVE_MASTER(master);
}

void master_free(struct master *master, struct remote x)
{
    ENTER_MASTER(master);
    struct command command = {.kind = COMMAND_FREE, .arguments = {x.id}};
    check_worker(master, x.worker);
    give(master, x.worker, &command);
    LEAVE_MASTER(master);
}

/* ---- copies ---- */

struct remote master_copy_to(struct master *master, int worker, struct diff_tensor *x)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    struct remote made = remote_new(master, worker);
    process_group_check(group, x);
    if (x->type != DIFF_DOUBLE)
        process_group_misuse(group, "copy_to: workers hold doubles, not %s values",
                             diff_type_name(x->type));
    give(master, worker,
         &(struct command){.kind = COMMAND_TAKE, .count = x->count, .result = made.id});
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
    check_worker(master, x.worker);
    give(master, x.worker,
         &(struct command){.kind = COMMAND_GIVE, .peer = group->rank, .arguments = {x.id}});
    if (answer_take(master, x.worker, &told)) {
        size_t count = (size_t)told.count;
        struct diff_tensor *buffer = diff_zeros(master->session.tape, DIFF_DOUBLE, 1, &count);
        y = process_group_receive(group, buffer, x.worker, TAG_PIECE);
    }
    LEAVE_MASTER(master);
    return y;
}

struct remote master_copy_between(struct master *master, struct remote x, int worker)
{
    ENTER_MASTER(master);
    struct remote made = remote_new(master, worker);
    check_worker(master, x.worker);
    if (x.worker == worker) /* a copy of its own is the tensor times one */
        give(master, worker,
             &(struct command){
                 .kind = COMMAND_SCALE, .factor = 1, .arguments = {x.id}, .result = made.id});
    else {
        give(master, x.worker,
             &(struct command){.kind = COMMAND_GIVE, .peer = worker, .arguments = {x.id}});
        give(master, worker,
             &(struct command){.kind = COMMAND_TAKE_PIECE, .peer = x.worker, .result = made.id});
    }
    LEAVE_MASTER(master);
    return made;
}

bool master_sync(struct master *master, int worker)
{
    ENTER_MASTER(master);
    struct answer told;
    check_worker(master, worker);
    give(master, worker, &(struct command){.kind = COMMAND_SYNC});
    bool right = answer_take(master, worker, &told);
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
        give(master, worker, &command);
    }
    if (loss)
        diff_backward(loss);
    else
        diff_backward_none(master->session.tape);
    LEAVE_MASTER(master);
}

bool master_gradient(struct master *master, struct remote x, size_t count, double *values)
{
    ENTER_MASTER(master);
    struct process_group *group = master->session.group;
    struct answer told;
    check_worker(master, x.worker);
    give(master, x.worker,
         &(struct command){.kind = COMMAND_GRADIENT, .count = count, .arguments = {x.id}});
    bool right = answer_take(master, x.worker, &told);
    if (right)
        process_group_expect(group, data_group_receive(group->data, values, count, DATA_DOUBLE,
                                                       x.worker, TAG_VALUES, NULL));
    LEAVE_MASTER(master);
    return right;
}
