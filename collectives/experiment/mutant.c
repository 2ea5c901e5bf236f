/* The table of mutants: see mutant.h. */
#include "collectives/experiment/mutant.h"

#include <string.h>

const struct diff_mutant_row diff_mutants[DIFF_MUTANT_COUNT] = {
#define X(enumerator, name, text) {name, text},
    DIFF_MUTANTS(X)
#undef X
};

int diff_mutant_number(const char *name)
{
    if (!name)
        return MUTANT_NONE;
    for (int i = 0; i < DIFF_MUTANT_COUNT; i++)
        if (strcmp(diff_mutants[i].name, name) == 0)
            return i;
    return -1;
}
