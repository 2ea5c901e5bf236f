/* Entering an executable to learn where its main is: see find_main.h. */
#include "sim/programs/find_main.h"

#include "sim/programs/relocate.h"
#include "sim/programs/resolve.h"

#include <stdlib.h>
#include <ucontext.h>

enum { STACK_SIZE = 64 << 10 };

/* One catch at a time in a thread; set only while start_main waits. */
static _Thread_local struct {
    ucontext_t *back;
    uintptr_t entry, found;
    uint64_t *stack;
} catching;

/* Leaves a stack that the address sanitizer knows nothing of. */
#define UNCHECKED __attribute__((no_sanitize("address")))

UNCHECKED int catch_libc_start_main(int (*main_function)(int, char **, char **), int argc,
                                    char **argv, void (*init)(void), void (*fini)(void),
                                    void (*runtime_fini)(void), void *stack_end)
{
    (void)argc, (void)argv, (void)init, (void)fini, (void)runtime_fini, (void)stack_end;
    if (!catching.back)
        abort(); /* a program that starts itself again */
    catching.found = (uintptr_t)main_function;
    setcontext(catching.back);
    abort();
}

UNCHECKED static void enter(void)
{
    relocate_enter(catching.entry, catching.stack);
}

uintptr_t start_main(uintptr_t entry)
{
    ucontext_t back, inside;
    char *stack = aligned_alloc(16, STACK_SIZE);
    if (!stack || getcontext(&inside)) {
        free(stack);
        return 0;
    }
    /* Above the room for entering lies what a kernel leaves: argc, argv, environment, auxiliary
     * values, all empty. */
    catching.stack = (uint64_t *)(void *)(stack + STACK_SIZE - 256);
    for (int i = 0; i < 32; i++)
        catching.stack[i] = 0;
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = STACK_SIZE / 2;
    inside.uc_link = NULL;
    catching.back = &back;
    catching.entry = entry;
    catching.found = 0;
    makecontext(&inside, enter, 0);
    swapcontext(&back, &inside);
    catching.back = NULL;
    free(stack);
    return catching.found;
}
