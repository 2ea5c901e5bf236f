#include "cli/processes/exit_status.h"

#include <stddef.h>

int exit_status_worse(int left, int right)
{
    static const int order[] = {EXIT_PASSED,   EXIT_NOTHING,    EXIT_REQUIREMENT, EXIT_UNCOVERED,
                                EXIT_TIMEOUT,  EXIT_FINDINGS,   EXIT_USAGE,       EXIT_INPUT,
                                EXIT_INTERNAL, EXIT_TERMINATED, EXIT_INTERRUPTED};
    for (size_t i = sizeof order / sizeof *order; i-- > 0;)
        if (order[i] == left || order[i] == right)
            return order[i];
    return EXIT_INTERNAL;
}
