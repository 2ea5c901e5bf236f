/* Layouts: displacements with gaps and overlaps, and MPI datatypes, as lists of element numbers.
 *
 * What is sent is taken from the tensor into dense blocks (an element may be taken twice: its
 * cotangents add up); what is received is put from dense blocks over the old content (gaps keep it,
 * so their cotangents pass through). */
#ifndef COLLECTIVES_TAPE_LAYOUT_H
#define COLLECTIVES_TAPE_LAYOUT_H

#include "collectives/arithmetic/local.h"

struct layout {
    size_t *index; /* element numbers in message order; NULL: 0, 1, 2 ... */
    size_t count;
    size_t span; /* one past the largest element number */
};

/* Blocks of counts[i] elements at displacements[i]; displacements NULL: dense. */
struct layout layout_blocks(struct diff_tape *tape, int blocks, const int *counts,
                            const int *displacements);
/* `count` of an MPI datatype over values of `type`; every basic element must be such a value. */
struct layout layout_datatype(struct diff_tape *tape, enum diff_type type, int count,
                              MPI_Datatype datatype);
/* Appends a datatype layout at a byte displacement. */
struct layout layout_blocks_w(struct diff_tape *tape, enum diff_type type, int blocks,
                              const int *counts, const int *displacements,
                              const MPI_Datatype *datatypes, int *sizes);
/* `x` itself when the layout is dense and covers it. */
struct diff_tensor *layout_take(struct diff_tensor *x, const struct layout *layout);
/* The values of `dense` over `into`; `into` NULL: over zeros. */
struct diff_tensor *layout_put(struct diff_tensor *dense, const struct layout *layout,
                               struct diff_tensor *into);

#endif
