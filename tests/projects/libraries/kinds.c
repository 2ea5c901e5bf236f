#include "kinds.h"

#include <stdlib.h>

int plain;
static int hidden;
static __thread int local;
static int built;
static int chosen;
__attribute__((weak)) int weak_alone;
__attribute__((weak)) int overridden = 1000; /* the program has one, too */
int common;                                  /* compiled with -fcommon */
__attribute__((visibility("protected"))) int guarded;
int interposed = 1000; /* the program has one, too */
static int *heap;

__attribute__((constructor)) static void build(void)
{
    built += 1;
    heap = calloc(1, sizeof *heap);
}

static int chosen_one(int value)
{
    return chosen += value;
}
static int (*choose(void))(int)
{
    return chosen_one;
}
int chosen_add(int) __attribute__((ifunc("choose")));

int plain_add(int value)
{
    return plain += value;
}
int hidden_add(int value)
{
    return hidden += value;
}
int local_add(int value)
{
    return local += value;
}
int built_add(int value)
{
    return (built += value) - 1;
}
int weak_add(int value)
{
    return (weak_alone += value) + (overridden += value) - overridden;
}
int common_add(int value)
{
    return common += value;
}
int guarded_add(int value)
{
    return guarded += value;
}
int interposed_add(int value)
{
    return interposed += value;
}
int heap_add(int value)
{
    return *heap += value;
}
int function_static_add(int value)
{
    static int calls;
    return calls += value;
}
