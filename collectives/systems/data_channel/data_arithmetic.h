/* Reductions of values, for backends that compute themselves. */
#ifndef COLLECTIVES_SYSTEMS_DATA_CHANNEL_DATA_ARITHMETIC_H
#define COLLECTIVES_SYSTEMS_DATA_CHANNEL_DATA_ARITHMETIC_H

#include "collectives/systems/data_channel/data_channel.h"

/* into[i] = into[i] op more[i]; an average is summed. The operator suits the type. */
void data_combine(enum data_operator op, enum data_type type, void *into, const void *more,
                  size_t count);
/* The end of an average over `size` ranks; nothing for other operators. */
void data_finish(enum data_operator op, enum data_type type, void *values, size_t count, int size);

#endif
