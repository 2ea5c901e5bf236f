/* Where attributes hang: the calling rank's keyvals and its lists on objects of any kind. */
#ifndef SIM_COMMUNICATOR_CALLS_ATTRIBUTE_LISTS_H
#define SIM_COMMUNICATOR_CALLS_ATTRIBUTE_LISTS_H

#include "sim/base/attributes.h"

/* The calling rank's keyvals; NULL outside a rank. */
struct sim_keyvals *sim_attributes_keyvals(void);
/* Its list on an object; NULL: the handle is not valid. */
struct sim_attributes *sim_attributes_of(enum sim_attribute_kind kind, void *handle);
/* The value of a predefined attribute such as MPI_TAG_UB, as MPI_*_get_attr hands it out; false:
 * this object has none of this number. */
bool sim_attributes_predefined(enum sim_attribute_kind kind, void *handle, int number,
                               void **value);

#endif
