/* integers.c: see integers.h. */
#include "sim/base/integers.h"

#include <stdint.h>
#include <stdlib.h>

#include "sim/base/handle.h"

int sim_integers_number(struct sim_integers *integers, void *handle)
{
    if (sim_handle_is_predefined(handle))
        return (int)(uintptr_t)handle;
    for (int i = 0; integers && i < integers->count; i++)
        if (integers->handles[i] == handle)
            return SIM_HANDLE_PREDEFINED + i;
    if (!integers)
        return -1;
    if (integers->count == integers->capacity) {
        int capacity = integers->capacity ? 2 * integers->capacity : 16;
        void **handles = realloc(integers->handles, (size_t)capacity * sizeof *handles);
        if (!handles)
            return -1;
        integers->handles = handles;
        integers->capacity = capacity;
    }
    integers->handles[integers->count] = handle;
    return SIM_HANDLE_PREDEFINED + integers->count++;
}

void *sim_integers_handle(const struct sim_integers *integers, int number, void *null)
{
    if (number >= 0 && number < SIM_HANDLE_PREDEFINED)
        return (void *)(uintptr_t)number;
    int row = number - SIM_HANDLE_PREDEFINED;
    return integers && number >= 0 && row < integers->count ? integers->handles[row] : null;
}

void sim_integers_release(struct sim_integers *integers)
{
    free(integers->handles);
    *integers = (struct sim_integers){0};
}
