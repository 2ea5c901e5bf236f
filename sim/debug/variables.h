/* What debug information says of a program's variables: which there are at a place of the code, or
 * at an address of its data, and of what type they are.
 *
 * One file is read once and kept for the life of the process; its answers, too. The debug library
 * is not made for threads: callers hold the lock of this object (debug_lock) while they call it and
 * while they evaluate. Variables of other languages than C and C++ are not listed. */
#ifndef SIM_DEBUG_VARIABLES_H
#define SIM_DEBUG_VARIABLES_H

#include "sim/debug/expression.h"
#include "sim/debug/type.h"

/* How long a dimension is, where only the run tells. */
struct debug_bound {
    struct debug_expression value;
    bool held; /* in a variable that the expression places */
    bool last; /* the number of the last element, not of elements */
};
enum { DEBUG_BOUNDS_MAX = 3 };

struct debug_variable {
    const char *name;
    struct debug_expression place, frame_base;
    bool still;   /* it lies at one place while its scope lasts */
    bool moves;   /* its place is another elsewhere: what is there now may be another's by then */
    bool pointer; /* then `type` is what it points to */
    const struct debug_type *type; /* of an array its element; NULL: none, as of a void pointer */
    /* of an array, in elements, without the dimensions that bounds tell; 0: not known */
    size_t count;
    struct debug_bound bounds[DEBUG_BOUNDS_MAX];
    int bound_count;
    int level; /* of the functions whose calls were inlined there: 1 is the frame's own */
    /* that it lives in, see debug_block_left; 0: as long as its frame, or unknown */
    uint64_t block;
    uint64_t address; /* of a variable that has one for good, as the linker sees it */
};

struct debug_scope {
    struct debug_variable *variables;
    size_t count;
    int levels;
    uint64_t function; /* whose code it is; 0: not known */
};

struct debug_file;

void debug_lock(void);
void debug_unlock(void);

/* The file at `path`; NULL: it has no debug information. */
struct debug_file *debug_file_get(const char *path);
Dwarf *debug_file_dwarf(const struct debug_file *file);

/* What a leaf's target describes, of an array its element; NULL: nothing that has a size. */
const struct debug_type *debug_type_at(struct debug_file *file, uint64_t target);
/* The elements of a variable of a frame; 0: not known. */
size_t debug_count(const struct debug_variable *variable, const struct debug_frame *frame);

/* The variables that can be named at an address of the code, as the linker sees it, from the
 * innermost block outwards, those of functions whose call was inlined there included. Never NULL. */
const struct debug_scope *debug_variables_at(struct debug_file *file, uint64_t pc);
/* Whether an address of the code is outside a variable's block. */
bool debug_block_left(struct debug_file *file, uint64_t block, uint64_t pc);
/* Those that have one address for good, in its order. */
const struct debug_scope *debug_statics(struct debug_file *file);
/* The variable that holds an address of the data, as the linker sees it; NULL: none known. */
const struct debug_variable *debug_variable_holding(struct debug_file *file, uint64_t address);

#endif
