/* Stands in for the launcher when executables are linked, under the name of the MPI library. */
#include <stdlib.h>

void launcher_waits(void);
void launcher_waits(void)
{
    abort();
}
