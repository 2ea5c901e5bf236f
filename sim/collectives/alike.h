/* Members of a reduction whose elements lie otherwise in memory than those of the member that combines. MPI wants one
 * datatype and one count of all; where they give others of as many bytes, nobody's buffer is read or written but where its
 * own datatype has data. */
#ifndef SIM_COLLECTIVES_ALIKE_H
#define SIM_COLLECTIVES_ALIKE_H

#include "sim/collectives/call.h"

/* Of two blocks that are not of one datatype and count. */
bool sim_alike_apart(struct sim_block one, struct sim_block other);
/* Whether both have their data at the same places, counted from where they begin. */
static inline bool sim_alike(struct sim_block one, struct sim_block other)
{
    return (one.type == other.type && one.count == other.count) || sim_alike_apart(one, other);
}

/* What members give, as elements of one datatype. */
struct sim_inputs {
    const char **data;
    char **copies; /* of those that are laid out otherwise; NULL where there is none */
    int count;
};
struct sim_inputs sim_inputs_new(int count);
void sim_inputs_free(struct sim_inputs *inputs);
/* A copy of `given` as elements of the datatype, which is input i. */
void sim_inputs_copy(struct sim_inputs *inputs, int i, struct sim_block given,
                     const struct sim_datatype *type, size_t elements);
/* Input i is `given`, read as `elements` elements of the datatype. */
static inline void sim_inputs_set(struct sim_inputs *inputs, int i, struct sim_block given,
                                  const struct sim_datatype *type, size_t elements)
{
    inputs->data[i] = given.data;
    if (!sim_alike(given, (struct sim_block){NULL, elements, type}))
        sim_inputs_copy(inputs, i, given, type, elements);
}

#endif
