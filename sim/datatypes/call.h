/* call.h: what the constructors of datatypes share: arguments that come as int or as
 * MPI_Count, their checks, and handing the new type out.
 */
#ifndef SIM_DATATYPES_CALL_H
#define SIM_DATATYPES_CALL_H

#include "sim/datatypes/layout.h"
#include "sim/worlds/error.h"

_Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "large counts and addresses are one width");

/* An array of counts or displacements in either width; neither pointer set: a null argument. */
struct sim_counts {
    const int *narrow;
    const int64_t *wide;
};
#define SIM_NARROW(array) ((struct sim_counts){.narrow = (array)})
#define SIM_WIDE(array)   ((struct sim_counts){.wide = (array)})

static inline int64_t sim_counts_at(struct sim_counts counts, int64_t i)
{
    return counts.narrow ? counts.narrow[i] : counts.wide[i];
}
static inline bool sim_counts_missing(struct sim_counts counts, int64_t count)
{
    return count > 0 && !counts.narrow && !counts.wide;
}

/* One call of a constructor. */
struct sim_type_call {
    const char *function; /* "Type_vector" */
    bool large;           /* the _c form */
    MPI_Datatype *newtype;
};

/* Raises an error of this class about a constructor's or query's arguments. */
#define sim_type_raise(function, error_class, ...)                                                 \
    sim_error_raise(MPI_COMM_NULL, error_class, function, __VA_ARGS__)

/* Checks the datatype that a query asks about, and that all its results have a place. */
int sim_type_query_check(const char *function, MPI_Datatype datatype, bool pointers);

/* Checks newtype and count (>= 0), and the old type, which is stored; MPI_SUCCESS or an error
 * already raised. */
int sim_type_call_check(const struct sim_type_call *call, int64_t count, MPI_Datatype oldtype,
                        const struct sim_datatype **old);
/* Checks that the array is there and, if asked, that none of its entries is negative. */
int sim_type_call_check_array(const struct sim_type_call *call, const char *name,
                              struct sim_counts array, int64_t count, bool lengths);

/* Finishes the layout and hands the type out. Takes `contents` over; NULL means out of memory. */
int sim_type_call_finish(const struct sim_type_call *call, struct sim_layout *layout,
                         struct sim_contents *contents);

/* Gives a duplicate, already handed out, the attributes of the original. On failure it is freed. */
int sim_type_copy_attributes(const struct sim_type_call *call, MPI_Datatype oldtype);

#endif
