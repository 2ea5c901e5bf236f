/* Giving commands to workers, and hearing of their errors. See master_parts.h. */
#include "collectives/systems/master_worker/master_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

/* A worker's first error: ends the rank unless the program asked for errors. */
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

void master_give_with(struct master *master, int worker, const struct command *command,
                      const void *values)
{
    struct process_group *group = master->session.group;
    size_t count = values ? (size_t)command->count : 0;
    size_t bytes = count * data_type_size(command->type);
    error_look(master, worker);
    struct giving *giving = malloc(sizeof *giving + bytes);
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
    memcpy(giving->values, values, bytes);
    process_group_expect(group, data_group_isend(group->data, giving->values, count, command->type,
                                                 worker, TAG_VALUES, &giving->values_request));
}

void master_give(struct master *master, int worker, const struct command *command)
{
    master_give_with(master, worker, command, NULL);
}

void master_check(const struct master *master, int worker)
{
    const struct process_group *group = master->session.group;
    if (worker < master->session.masters || worker >= group->size)
        process_group_misuse(group, "rank %d is no worker: they are %d..%d", worker,
                             master->session.masters, group->size - 1);
}

struct remote master_remote(struct master *master, int worker)
{
    master_check(master, worker);
    uint64_t number = ++master->seats[worker].made;
    return (struct remote){worker,
                           (uint64_t)master->session.group->rank << REMOTE_ID_BITS | number};
}

void command_name_put(const struct master *master, struct command *command, const char *name)
{
    if (strlen(name) >= sizeof command->name)
        process_group_misuse(master->session.group, "the name %.20s... is longer than %zu letters",
                             name, sizeof command->name - 1);
    memcpy(command->name, name, strlen(name) + 1);
}

/* The answer to a command; false when the worker has failed. */
bool master_answer(struct master *master, int worker, struct answer *told)
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
