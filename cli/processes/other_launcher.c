#include "cli/processes/other_launcher.h"

#include <stdlib.h>

int other_launcher_starts(void)
{
    static const char *const launchers[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                               {"PMI_SIZE", "PMI_RANK"}};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *size = getenv(launchers[i][0]), *rank = getenv(launchers[i][1]);
        if (size && rank && atoi(size) > 1 && atoi(rank) == 0)
            return atoi(size);
    }
    return 0;
}
