/* On a real MPI: what of mpix.h the recorder asks the machine, as its sensible nothing. The recorder
 * preloaded there and the programs of collectives/peers have the same. Empty under the simulator,
 * which has the real ones. */
#include <mpi.h>

#if defined(OPEN_MPI) || defined(MPICH)

#include <mpix.h>

static void *slots[MPIX_SLOTS]; /* a process is one rank here, with all its threads */

void **MPIX_Rank_slots(void)
{
    return slots;
}

int MPIX_Type_known(MPI_Datatype type)
{
    (void)type;
    return 1;
}

int64_t MPIX_Status_bytes(const MPI_Status *status)
{
    MPI_Count bytes = -1;
    return PMPI_Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS ? (int64_t)bytes : -1;
}

bool MPIX_Pace(struct mpix_pace *pace)
{
    (void)pace;
    return false;
}

void MPIX_Turn(void)
{
}

bool MPIX_Alone(void)
{
    return false;
}

bool MPIX_Ahead(void)
{
    return false;
}

#else

typedef int machine_absent_is_empty_under_the_simulator;

#endif
