#include "collectives/systems/process_group/process_group_parts.h"

#include <stdarg.h>
#include <stdio.h>

void process_group_misuse(const struct process_group *group, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    state_fail(group->tape->state, "M009", "%s", text);
}

void process_group_expect(const struct process_group *group, bool right)
{
    if (!right)
        state_fail(group->tape->state, "M009", "%s", data_channel_error(group->channel));
}

void process_group_check(const struct process_group *group, const struct diff_tensor *x)
{
    if (x->tape != group->tape)
        process_group_misuse(group, "a tensor of another tape than the process group's");
    if (x->type == DIFF_HANDLE)
        process_group_misuse(group, "a process group's operation on a handle: wait for it first");
}

void process_group_check_peer(const struct process_group *group, const char *what, int peer,
                              bool any)
{
    if (!(any && peer == PROCESS_ANY) && (peer < 0 || peer >= group->size))
        process_group_misuse(group, "the %s %d is not one of the process group's ranks 0..%d", what,
                             peer, group->size - 1);
}

void *process_group_take(const struct process_group *group, size_t size)
{
    return arena_take_zeroed(&group->tape->arena, size);
}

enum data_type process_group_type(const struct diff_tensor *x)
{
    static const enum data_type types[] = {[DIFF_FLOAT] = DATA_FLOAT,
                                           [DIFF_DOUBLE] = DATA_DOUBLE,
                                           [DIFF_COMPLEX_FLOAT] = DATA_COMPLEX_FLOAT,
                                           [DIFF_COMPLEX_DOUBLE] = DATA_COMPLEX_DOUBLE};
    return types[x->type];
}

size_t process_group_total(const struct process_group *group, const size_t *counts)
{
    size_t total = 0;
    for (int i = 0; i < group->size; i++)
        total += counts[i];
    return total;
}

MPI_Op process_op_mpi(struct process_op op)
{
    switch (op.kind) {
    case PROCESS_OP_AVG:
        return DIFF_AVG;
    case PROCESS_OP_PRODUCT:
        return MPI_PROD;
    case PROCESS_OP_MIN:
        return MPI_MIN;
    case PROCESS_OP_MAX:
        return MPI_MAX;
    default:
        return MPI_SUM;
    }
}
