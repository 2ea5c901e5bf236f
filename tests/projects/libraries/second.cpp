// Sees what first.cpp, in another library, did to the same variables; and points at a third library's.
#include "inline.hpp"
#include "kinds.h"
static int *where = &plain;
int inline_second_add(int value)
{
    return everywhere + holder<int>::value + value;
}
int pointed_add(int value)
{
    return *where + value;
}
