/* The block of the program that a buffer's variable belongs to.
 *
 * A variable of a block, or of a function whose call was inlined, is gone when control leaves the
 * block, though the memory stays the frame's: no callback tells. The debug information does: which
 * addresses of the code are the block's, and at which one the frame stands. */
#ifndef SIM_MEMORY_SCOPE_H
#define SIM_MEMORY_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

struct sim_scope {
    const char *file; /* NULL: the variable lives as long as its function, or nothing is known */
    const char *variable;
    uint64_t block; /* in the file's debug information */
    uintptr_t cfa;  /* of the frame */
};

/* Whether the frame is under way, and its block is not. Looks at the calling stack. */
bool sim_scope_left(const struct sim_scope *scope);

#endif
