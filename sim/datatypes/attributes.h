/* attributes.h: the attribute lists of datatypes, as the calling rank sees them. */
#ifndef SIM_DATATYPES_ATTRIBUTES_H
#define SIM_DATATYPES_ATTRIBUTES_H

#include <mpi.h>

#include <stdbool.h>

struct sim_attributes;
struct sim_datatype;
struct sim_rank;

/* The list of this datatype; NULL: the handle is not valid, or predefined and the caller no rank.
 */
struct sim_attributes *sim_type_attributes(MPI_Datatype handle);
/* Where the calling rank keeps the name that it gave to this datatype; NULL: nowhere yet, or no
 * memory. */
char **sim_type_own_name(const struct sim_datatype *type, bool create);
/* Frees what a rank kept for predefined datatypes. */
void sim_type_attributes_release(struct sim_rank *rank);

#endif
