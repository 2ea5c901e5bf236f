/* Where debug information says that a variable of a frame is. */
#ifndef SIM_DEBUG_EXPRESSION_H
#define SIM_DEBUG_EXPRESSION_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function under way, stopped in a call. */
struct debug_frame {
    uintptr_t pc;   /* behind the call */
    uintptr_t bias; /* of its image: where the linker's address 0 lies */
    uintptr_t cfa;  /* its stack pointer before it was called */
    uintptr_t registers[32];
    uint32_t known;                  /* bits: the registers that a call preserves */
    uintptr_t stack_low, stack_high; /* may be read */
};

struct debug_expression {
    Dwarf_Op *ops;
    size_t count;
};

enum debug_place {
    DEBUG_NOWHERE,  /* it has no place at this moment, or one that is not understood */
    DEBUG_MEMORY,   /* at this address */
    DEBUG_REGISTER, /* in the register of this number, which the call does not preserve */
    DEBUG_VALUE     /* it is nowhere, but has this value */
};

enum debug_place debug_evaluate(const struct debug_expression *expression,
                                const struct debug_expression *frame_base,
                                const struct debug_frame *frame, uintptr_t *result);

#endif
