/* Functions of which debug information says that they are of the program's own, or of a header of the system. Each calls the next, of the
 * kind that the test drew. Compiled by test_callers.c. */
#include "callers.h"

#include <stdlib.h>

#define STEP                                                                                       \
    {                                                                                              \
        char kind = callers->kinds[depth];                                                         \
        callers->sites[depth] = __builtin_return_address(0);                                       \
        if (kind)                                                                                  \
            callers->next[kind == 'o'   ? 0                                                        \
                          : kind == 'h' ? 1                                                        \
                          : kind == 'b' ? 2                                                        \
                                        : 3](callers, depth + 1);                                  \
        else                                                                                       \
            callers->ask(callers);                                                                 \
        __asm__ volatile("" : : "r"(&depth) : "memory");                                           \
    }

#ifdef CALLERS_BARE
void callers_bare(struct callers *callers, int depth) STEP
#else
int (*callers_compare)(const void *, const void *);
/* clang-format off */
const int callers_own_line = __LINE__; void callers_own(struct callers *callers, int depth) STEP
    /* clang-format on */
    void callers_sorts(struct callers *callers, int depth)
{
    int two[2] = {0};
    (void)callers, (void)depth;
    qsort(two, 2, sizeof *two, callers_compare);
    __asm__ volatile("" : : "r"(two) : "memory");
}
/* What the first call returns to belongs to the line of the second. */
int callers_two_lines(int (*call)(int))
{
    call(__LINE__); /* here */
    return call(__LINE__);
}
#line 77 "/usr/include/c++/12/bits/any_header.h"
void callers_header(struct callers *callers, int depth) STEP
#endif
