#include "counter.h"

int counter_calls;
static int total;

int counter_add(int value)
{
    counter_calls++;
    return total += value;
}
