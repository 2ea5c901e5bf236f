/* layout.h: a datatype under construction.
 *
 * Every constructor of MPI says the same thing in other words: put copies of an old type at
 * displacements. So each begins a layout, adds blocks in the order of the type map, and finishes.
 * Bounds follow the standard's definition over the whole type map: explicit bounds of any part
 * outrank the data; without any, lb and ub are those of the data, the extent being rounded up to
 * the strictest alignment of a basic type.
 *
 * Errors are remembered, not raised: sim_layout_finish reports the first.
 */
#ifndef SIM_DATATYPES_LAYOUT_H
#define SIM_DATATYPES_LAYOUT_H

#include "sim/datatypes/datatype.h"

struct sim_layout {
    struct sim_datatype *type;
    struct sim_run *runs;
    size_t run_count, run_room;
    bool empty;   /* no data yet */
    bool bounded; /* an explicit bound was seen */
    MPI_Aint data_lb, data_ub;
    MPI_Aint explicit_lb, explicit_ub;
    int error; /* MPI error class of the first thing that went wrong */
};

void sim_layout_begin(struct sim_layout *layout);

/* Where copies of an old type go: `count` blocks of `block` copies each; blocks are `stride` bytes
 * apart, the copies within a block an extent. */
struct sim_blocks {
    MPI_Aint displacement;
    size_t block;
    size_t count;
    MPI_Aint stride;
};
void sim_layout_add(struct sim_layout *layout, const struct sim_datatype *old,
                    struct sim_blocks blocks);

/* Sets explicit bounds in place of all others. */
void sim_layout_set_bounds(struct sim_layout *layout, MPI_Aint lb, MPI_Aint extent);

/* Ends the construction: the new type with one reference, and one handle, or NULL and the error
 * class. Takes `contents` over, also on failure; NULL is allowed for a type no program will see. */
struct sim_datatype *sim_layout_finish(struct sim_layout *layout, struct sim_contents *contents,
                                       int *error);

/* Empty contents with room for these numbers of entries; NULL: out of memory. The counts are filled
 * by the put functions, which retain types. */
struct sim_contents *sim_contents_new(int combiner, bool large, size_t numbers, size_t types);
void sim_contents_put_integer(struct sim_contents *contents, int value);
void sim_contents_put_address(struct sim_contents *contents, MPI_Aint value);
void sim_contents_put_count(struct sim_contents *contents,
                            MPI_Count value); /* large: a count, else an integer */
void sim_contents_put_type(struct sim_contents *contents, const struct sim_datatype *type);

#endif
