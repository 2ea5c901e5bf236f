/* The variables of a program that was compiled to have them apart from its code
 * (sim/compile/privatize_globals.h): a block for each rank, beside the one image whose code all
 * ranks run.
 *
 * A block is the program's two sections of variables, one behind the other. Pointers in it that the
 * compiler initialised lead to the image, except those to variables, which lead into the block
 * itself. Blocks lie close together: a few hundred bytes a rank share pages. */
#ifndef SIM_PROGRAMS_VARIABLES_H
#define SIM_PROGRAMS_VARIABLES_H

#include "sim/programs/image.h"
#include "sim/programs/relocate.h"

struct variables {
    char *first;   /* block of rank 0; NULL: the program keeps its variables by its code */
    size_t stride; /* to the next */
    struct image_separate sections;
    const char *filled; /* in the image: what a block begins with */
    size_t *pointers;   /* offsets in a block of words that lead into it */
    size_t pointer_count;
    size_t reserved;
};

/* Plans `count` blocks for the image made at `base`. True, and all zero, if the program keeps its
 * variables by its code. Owner: the caller, variables_release. False: out of memory. */
bool variables_open(struct variables *variables, const struct image *image,
                    const struct relocate_plan *plan, uintptr_t base, int count);
void variables_release(struct variables *variables);

/* Makes block `index` pristine; `used`: it may hold what a rank left. */
void variables_make(const struct variables *variables, int index, bool used);

char *variables_block(const struct variables *variables, int index);

#endif
