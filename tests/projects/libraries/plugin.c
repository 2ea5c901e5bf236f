/* Opened by the program while it runs: variables of its own, thread-locals, a constructor, and what it needs itself. */
#include "kinds.h"

static int total, built;
static __thread int local;
int helper(int value); /* each plugin has its own function of this name */

__attribute__((constructor)) static void build(void)
{
    built = 1;
}

int helper(int value)
{
    return value * FACTOR;
}

int plugin_add(int value)
{
    local += value;
    total += helper(value);
    return total + local + built + hidden_add(0);
}
