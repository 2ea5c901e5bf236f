/* What an operation says of its buffer, compared with the variable that is there.
 *
 * The debug information of the program tells which variable of a frame, or which static one, holds
 * the buffer, and what of an allocated object a pointer to it says: of a function under way, a static
 * one, the one that the allocation's result went to, or any that those lead to. A number that is none
 * of the datatype's is M011; a buffer that begins in a variable and ends behind it is B006.
 * What is a character, a pointer or a union to the compiler may hold anything. Where nothing tells
 * what numbers are there, or where the memory ends, that is the answer. Signed and unsigned numbers
 * of one size are alike here. */
#ifndef SIM_MEMORY_TYPED_H
#define SIM_MEMORY_TYPED_H

#include "sim/memory/region.h"
#include "sim/memory/scope.h"

enum sim_typed {
    SIM_TYPED_NOT_KNOWN,
    SIM_TYPED_RIGHT,
    SIM_TYPED_UNBOUNDED, /* right, as far as it goes: nothing says where the memory ends */
    SIM_TYPED_UNTOLD,    /* numbers of which nothing says what they are */
    SIM_TYPED_WRONG,     /* and it was noted */
    SIM_TYPED_NO_DEBUG   /* of the program: it was compiled without debug information */
};

/* A region of an operation called `name` of the calling rank; "reads" or "writes" is the verb. Where
 * it lies in a variable of a block, that is told, too. */
enum sim_typed sim_typed_check(struct sim_rank *rank, const struct sim_region *region,
                               const char *name, const char *verb, struct sim_scope *scope);

#endif
