#include "inline.hpp"
#include "kinds.h"
int inline_first_add(int value)
{
    holder<int>::value += value;
    return everywhere += value;
}
