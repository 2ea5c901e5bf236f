/* Inputs of reductions in the layout of one datatype: see alike.h. */
#include "sim/collectives/alike.h"

#include "sim/memory/region.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool sim_alike_apart(struct sim_block one, struct sim_block other)
{
    const struct sim_datatype *a = one.type, *b = other.type;
    if (one.count * a->size != other.count * b->size)
        return false;
    if (a->contiguous && b->contiguous)
        return true;
    return one.count == other.count && a->extent == b->extent && a->run_count == b->run_count &&
           !memcmp(a->runs, b->runs, a->run_count * sizeof *a->runs);
}

struct sim_inputs sim_inputs_new(int count)
{
    struct sim_inputs inputs = {malloc((size_t)count * sizeof *inputs.data), NULL, count};
    assert(inputs.data && "out of memory for a reduction");
    return inputs;
}

void sim_inputs_free(struct sim_inputs *inputs)
{
    for (int i = 0; inputs->copies && i < inputs->count; i++)
        free(inputs->copies[i]);
    free(inputs->copies);
    free(inputs->data);
}

void sim_inputs_copy(struct sim_inputs *inputs, int i, struct sim_block given,
                     const struct sim_datatype *type, size_t elements)
{
    struct sim_hull hull = sim_region_hull(&(struct sim_region){.type = type, .count = elements});
    if (!inputs->copies)
        inputs->copies = calloc((size_t)inputs->count, sizeof *inputs->copies);
    assert(inputs->copies && "out of memory for a reduction");
    char *copy = inputs->copies[i] = calloc(1, hull.high - hull.low + 1);
    assert(copy && "out of memory for a reduction");
    inputs->data[i] = copy - (ptrdiff_t)hull.low;
    sim_datatype_transfer(given.data, given.type, given.count, copy - (ptrdiff_t)hull.low, type,
                          elements);
}
