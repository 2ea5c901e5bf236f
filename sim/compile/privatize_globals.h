/* Programs whose variables lie apart from their code.
 *
 * Position-independent code finds its variables at a fixed distance from itself, so private
 * variables mean private code: thousands of ranks then run thousands of copies, none of which is in
 * the caches or the branch predictor when its turn comes. The remedy is one copy of the code that
 * finds its variables through a segment register, which the machine sets at each switch of ranks.
 *
 * The compiler's assembly is changed on its way to the assembler: variables go into the two
 * sections below, and `x(%rip)` for a variable x becomes `%gs:offset of x`; an address is the
 * segment's base plus that offset. Nothing else changes. Code that cannot be changed so (inline
 * assembly that names variables, thread-locals, constructors) is refused, and the caller compiles
 * the usual way. That no reference was missed is not taken on trust: separate_proved looks at every
 * relocation of the assembled file. */
#ifndef SIM_COMPILE_PRIVATIZE_GLOBALS_H
#define SIM_COMPILE_PRIVATIZE_GLOBALS_H

#include <stdbool.h>
#include <stddef.h>

/* Initialised variables, and those that are zero: offsets run through the first and on through the
 * second. */
#define SEPARATE_FILLED ".simrun.filled"
#define SEPARATE_ZERO   ".simrun.zero"

/* Can this processor and kernel run such programs? */
bool separate_possible(void);

/* Sets the calling thread's segment; only where separate_possible. */
static inline void separate_enter(const void *variables)
{
#if defined __x86_64__
    __asm__ volatile("wrgsbase %0" ::"r"(variables));
#else
    (void)variables;
#endif
}

/* Changes the compiler's output of one source file. Owner of the new text: the caller, free. NULL
 * when the program cannot be changed so, or has no variables and need not be. */
char *separate_assembly(const char *assembly);

/* Of the assembled file: do the sections and relocations show that code and constants name none of
 * its variables, that it has no others, and that nothing it asks of the system leads back into it
 * on another thread or in another rank's turn? */
bool separate_proved(const char *path);

#endif
